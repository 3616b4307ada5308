#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tatoeba.sh FOLDER OUT: chooses the sentences of data/tatoeba from the German–English pairs in FOLDER (train.de, train.en,
# valid.de, …: those of tatoeba.org that manythings.org/anki collects, each pair in one of the three parts). Taken are the
# first pairs of each part, in their order, that
#
#   - have 2 to 6 words on each side, all of them among those that stand 50 times or more in the training part,
#   - and share neither side, capitals and punctuation apart, with a pair that was taken before, of whatever part.
#
# The test part chooses first, so that nothing in it can have been trained on.
set -eu
export LC_ALL=C
from=$1
out=$2
rare=50
mkdir -p "$out"

for part in train valid test; do
    paste "$from/$part.de" "$from/$part.en" | tr -d '\r' >"$out/$part.pairs"
done
awk -F '\t' -v out="$out" -v rare=$rare '
    function key(text) {
        text = tolower(text)
        gsub(/[.,!?;:"]/, " ", text)
        gsub(/^ +| +$/, "", text)
        gsub(/ +/, " ", text)
        return text
    }
    function known(text, side, word, n, i) {
        n = split(text, word, " ")
        for (i = 1; i <= n; i++)
            if (count[side, word[i]] < rare)
                return 0
        return n >= 2 && n <= 6
    }
    FNR == 1 { part = FILENAME; sub(/.*\//, "", part); sub(/\.pairs$/, "", part); pass[FILENAME]++ }
    { source = key($1); target = key($2) }
    part == "train" && pass[FILENAME] == 1 {
        n = split(source, word, " "); for (i = 1; i <= n; i++) count["de", word[i]]++
        n = split(target, word, " "); for (i = 1; i <= n; i++) count["en", word[i]]++
        next
    }
    NF == 2 && taken[part] < limit && !(source in sources) && !(target in targets) && known(source, "de") && known(target, "en") {
        sources[source] = targets[target] = 1
        taken[part]++
        print $1 >(out "/" part ".de")
        print $2 >(out "/" part ".en")
    }' "$out/train.pairs" limit=500 "$out/test.pairs" limit=500 "$out/valid.pairs" limit=20000 "$out/train.pairs"
rm "$out"/*.pairs
gzip -9nf "$out/train.de" "$out/train.en"
