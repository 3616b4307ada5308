#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Inspections in a browser, at three widths, light and dark: inspect_dom.js compares what is drawn and what the pointer
# reads with the JSON of the same maps; nothing of a text becomes markup. Usage: inspect_dom.sh PROGRAM SOURCE.
# 77 = skipped: no browser.
made=here
. "$(dirname "$0")/dom"
orthant=$1 source=$2
cd "$folder" || exit 1
head -c 20000 "$source/data/tinyshakespeare.txt" >text.txt
for i in 1 2 3 4 5 6 7 8 9; do printf 'a b c %s\tB A %s\n' $i $i; done >pairs.tsv
printf 'a b\tB A\n' >valid.tsv
small="--model.layers 2 --model.width 32 --model.heads 4 --model.context 64 --train.steps 3 --train.warmup 1 --train.batch 2 --quiet"
"$orthant" train --data.train text.txt --data.tokenizer byte $small --out run \
    --model.attention "pattern(previous):1 | softmax:2 | mixer:1" >/dev/null || exit 1
"$orthant" train --task translate --data.train pairs.tsv --data.valid valid.tsv --data.tokenizer byte $small --out pairs \
    >/dev/null 2>err || { cat err >&2; exit 1; }

inspect() { # NAME OPTION...: NAME.html with the checks and the JSON of its maps
    page=$1
    shift
    "$orthant" inspect "$@" --json --out "$page.html" >"$page.json" || exit 1
    {
        printf '<script>const inspection = '
        sed 's,</,<\\/,g' "$page.json"
        printf ';</script>\n<script>'
        cat "$source/tests/inspect_dom.js"
        printf '</script>\n'
    } >>"$page.html"
}

look() { # NAME WIDTH LEAST OPTION...: at least so many checks
    page=$1 width=$2 least=$3
    shift 3
    dump "$page" "$@"
    sed -n '/<pre id="found">/,/<\/pre>/p' "$page.dom" | sed 's/.*<pre id="found">//; s,</pre>.*,,' >found
    grep '^wrong' found >&2 && { echo "$page at $width: $(head -n 1 found)" >&2; exit 1; }
    checks=$(sed -n 's/^checks \([0-9]*\).*/\1/p' found)
    [ "${checks:-0}" -ge "$least" ] || { echo "$page at $width: the checks did not run" >&2; exit 1; }
    echo "$page: $(head -n 1 found)"
}

inspect maps run --text '<b>a</b> "so" & on'
look maps 400 1000
look maps 1024 1000
look maps 1400 1000 --blink-settings=preferredColorScheme=0
grep -q 'width 1400 dark true' found || { echo "the page is not dark" >&2; exit 1; }
expect maps 2 'mixer has no map'
expect maps 8 'aria-sort="none"'
expect maps 0 '<b>a'
inspect long run --text "$(head -c 50 text.txt)" # too many tokens to write next to a map in a card
look long 400 3000
inspect cross pairs --text "a b c" --target "B" # 5 tokens and an end, 1 and a beginning
look cross 1024 200
