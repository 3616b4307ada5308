# SPDX-License-Identifier: Apache-2.0
# Scores of files: sacreBLEU's lines and JSON, files of all kinds, and what is refused.
. "$2/tests/cli/common"

cat >ref <<'END'
The quick brown fox jumps over the lazy dog.
It's 3,000.5 metres; "really"?

The end of the story is near, he said.
END
cat >hyp <<'END'
The fast brown fox jumped over the lazy dog.
It is 3,000.5 metres; "really"!

The end of the story, he said, is near.
END
cat >other <<'END'
A quick brown fox jumps over a lazy dog.
It's 3000 metres, really?

He said the end of the story is near.
END

# What `sacrebleu ref -i hyp -m bleu chrf ter -f text` and `-m bleu` of version 2.6.0 print (tests/metrics/score.txt and
# score.json), but for our name behind the version.
sacrebleu() {
    sed 's/+orthant\.[0-9.]*[0-9]//g' "$1"
}
expect 0 score bleu chrf ter --ref ref --hyp hyp
cp out plain
sacrebleu plain >bare
same bare "$source/tests/metrics/score.txt"
expect 0 score bleu --ref ref --hyp hyp --json
sacrebleu out >bare
same bare "$source/tests/metrics/score.json"

# The same text in other files: CRLF, gzip, the standard input, no end of the last line.
sed 's/$/\r/' hyp >crlf
gzip -c hyp >packed.gz
printf '%s' "$(cat hyp)" >open
for file in crlf packed.gz open; do
    expect 0 score bleu chrf ter --ref ref --hyp $file
    same out plain
done
"$orthant" score bleu chrf ter --ref ref --hyp - <hyp >out || fail "the standard input"
same out plain
expect 0 score bleu chrf ter --ref ref --hyp hyp --threads 3
same out plain

# Line by line, several references, several systems.
expect 0 score bleu --ref ref --ref other --hyp hyp --sentence-level
[ "$(wc -l <out)" -eq 4 ] || fail "not a line for each line"
says out '^BLEU|nrefs:2|case:mixed|eff:yes|'
expect 0 score chrf --ref ref --hyp hyp --sentence-level --json
says out '"scores"'
expect 0 score bleu chrf --ref ref --hyp hyp --hyp other --paired-bs
says out 'bs:1000|seed:12345'
says out 'p = 0\.'
expect 0 score ter --ref ref --hyp hyp --hyp other --paired-ar --samples 200 --json
says out '"p_value": 0\.'
expect 0 score bleu --ref ref --hyp hyp --hyp other
says out 'hyp  *[0-9]'

# Of the tests sacreBLEU makes 1,000 resamples and 10,000 trials, too; both p are printed as JSON has them, and a star
# goes with the p that counts ties.
for way in bs:1000 ar:10000; do
    expect 0 score bleu ter rougeL --ref ref --hyp hyp --hyp other --paired-${way%:*}
    [ "$(grep -c "|$way|seed:12345|" out)" -eq 3 ] || fail "not three metrics with $way by default"
    grep '^  other' out | sed 's/.*(p = \([0-9.]*\))\(\**\)/\1 \2/; s/(sacreBLEU: \([0-9.]*\))/\1/; s/  */ /g; s/ $//' >printed
    expect 0 score bleu ter rougeL --ref ref --hyp hyp --hyp other --paired-${way%:*} --json
    awk -F'[:,]' '/"system":/ { other = $2 ~ /other/ } !other { next } /"p_value":/ { theirs = $2 + 0 }
        /"p_with_ties":/ { p = $2 + 0 } /"significant":/ { star = $2 ~ /true/ ? " *" : "" }
        /"signature":/ { printf "%.4f%s%s\n", p, star, /rouge-score/ ? "" : sprintf(" %.4f", theirs) }' out >wanted
    [ "$(wc -l <wanted)" -eq 3 ] || fail "not three tests: $(cat out)"
    same printed wanted
done
# All of the eight metrics that may be given.
printf 'yes\nno\n' >labels
expect 0 score bleu chrf ter rouge1 rouge2 rougeL rougeLsum accuracy --ref labels --hyp labels
[ "$(wc -l <out)" -eq 8 ] || fail "not eight metrics"
expect 0 score bleu --ref ref --hyp hyp --confidence
says out '= [0-9.]* (μ = [0-9.]* ± [0-9.]*)'
expect 0 score rouge --ref ref --hyp hyp --stemmer
says out 'ROUGE-L|nrefs:1|tok:rouge-score|stem:porter'
expect 0 score rouge --ref ref --hyp hyp --newline .
says out 'ROUGE-Lsum'

# Labels and numbers.
printf '1\n0\n1\n1\n' >labels
printf '1\n1\n0\n1\n' >guesses
expect 0 score accuracy f1 mcc --ref labels --hyp guesses
says out 'accuracy|.* = 0\.5000 (2 of 4)'
says out 'F1|.*positive:1|.* = 0\.6667 (P = 0\.6667 R = 0\.6667)'
says out 'MCC|.* = -0\.3333'
expect 0 score f1 --average macro --ref labels --hyp guesses
says out '= 0\.3333'
expect 0 score pearson spearman --ref labels --hyp guesses
says out 'Pearson|n:4|.* = -0\.3333'
printf '2\n2\n2\n2\n' >constant
expect 0 score pearson --ref labels --hyp constant
says out '= nan (not defined: one side is constant)'
expect 0 score pearson --ref labels --hyp constant --json
says out '"score": null'
printf '3\n1\n2\n2\n' >close
expect 0 score pearson --ref close --hyp labels --hyp guesses --paired-bs
says out 'labels  *0\.8165 (no interval: the score of some resamples is not defined)'
expect 0 score pearson --ref close --hyp labels --confidence
says out '= 0\.8165 (no interval'
expect 0 score mcc --ref labels --hyp constant
says out '= 0\.0000 (not defined'

# Classes that one side lacks are told apart: c, d and e were never expected, b never predicted.
printf 'a\na\nb\na\nb\n' >expected
printf 'a\nc\nd\na\ne\n' >found
expect 0 score f1 --average macro --ref expected --hyp found
says out '1 without a hypothesis, 3 without a reference; counted as 0)$'

# Of references with the same F the first gives precision and recall, as Python's max takes the first.
printf 'a b\n' >pair
printf 'a b c d\n' >longer
printf 'a\n' >shorter
expect 0 score rouge1 --ref longer --ref shorter --hyp pair
says out '= 0\.6667 (P = 1\.0000 R = 0\.5000)$'
expect 0 score rouge1 --ref shorter --ref longer --hyp pair
says out '= 0\.6667 (P = 0\.5000 R = 1\.0000)$'

# The ends of ranges belong to them.
expect 0 score bleu chrf --ref ref --hyp hyp --max-order 16 --char-order 16 --word-order 16 --beta 1000 --decimals 12
says out 'nc:16|nw:16'
for words in '--max-order 17' '--char-order 17' '--word-order 17' '--beta 1001' '--decimals 13' '--max-order 0'; do
    expect 2 score bleu chrf --ref ref --hyp hyp $words
    says err "^orthant: ${words% *} is "
done

# Of an option that is given twice the last value counts.
expect 0 score accuracy --decimals 2 --decimals 6 --ref expected --hyp found
says out ' = 0\.400000 (2 of 5)$'

# Text that is tokenised is noticed.
yes 'a b c .' | head -n 100 >tokenised
expect 0 score bleu --ref tokenised --hyp tokenised
says err '100 lines of tokenised end in a tokenised full stop'
expect 0 score bleu --ref tokenised --hyp tokenised --force
[ ! -s err ] || fail "--force does not silence the notice"

# Text without spaces, or in a script that ROUGE does not read.
printf '東京都の大学で日本語を勉強しています。\n' >japanese
expect 0 score bleu --ref japanese --hyp japanese
says out 'tok:char|.* = 100\.0 '
says err 'most of japanese has no spaces between words: BLEU is of characters'
expect 0 score ter --ref japanese --hyp japanese
says out '|asian:no|units:unsplit|'
says err 'most of japanese has no spaces between words: TER counts whole lines'
expect 0 score ter --ref japanese --hyp japanese --normalized --asian-support
says out '|asian:yes|version'
expect 0 score ter --ref ref --hyp hyp
says out '|asian:no|version'
# All references tell, not the first: a word in one among many lines without spaces.
cp japanese japanese2
printf 'I learn Japanese at a university of Tokyo, as many other people from all countries do these days.\n' >english
expect 0 score bleu --ref japanese --ref english --hyp japanese
says out 'nrefs:2|.*tok:13a'
expect 0 score bleu --ref english --ref japanese --ref japanese2 --hyp japanese
first=$(sed 's/.*tok:\([a-z0-9]*\).*/\1/' out)
expect 0 score bleu --ref japanese --ref english --ref japanese2 --hyp japanese
says out "tok:$first"
printf 'cat\ninternational\ncooperation\nDonaudampfschifffahrt\nyes\n' >one_word_per_line
expect 0 score bleu --ref one_word_per_line --hyp one_word_per_line
says out 'tok:13a'
[ ! -s err ] || fail "English words of a line each were taken for text without spaces"
expect 0 score rouge1 --ref japanese --hyp japanese
says err 'ROUGE ignores all but letters a to z and digits'
expect 0 score rouge1 bleu --ref ref --hyp hyp
[ ! -s err ] || fail "there are notices of English text"

# Refused, with a sentence.
refused() { # CODE PATTERN WORD...
    wanted=$1 pattern=$2
    shift 2
    expect "$wanted" "$@"
    says err "^orthant: .*$pattern"
    [ ! -s out ] || fail "orthant $* printed results"
}
head -n 3 hyp >short
refused 1 'ref has 4 lines, but short has 3' score bleu --ref ref --hyp short
printf 'good\nb\374d\n\n\n' >latin
refused 1 'latin, line 2: not UTF-8 (byte 2 of the line is 0xFC)' score bleu --ref ref --hyp latin
: >nothing
refused 1 'nothing is empty' score bleu --ref nothing --hyp hyp
refused 1 'cannot .* nowhere' score bleu --ref ref --hyp nowhere
refused 1 'ref: line 3 is empty; a label is expected' score accuracy --ref ref --hyp hyp
refused 1 'hyp, line 1: "The fast' score pearson --ref labels --hyp hyp
refused 2 'did you mean "bleu"' score blue --ref ref --hyp hyp
refused 2 'did you mean "intl"' score bleu --tokenize intel --ref ref --hyp hyp
refused 2 'tokenizer ja-mecab of sacreBLEU needs' score bleu --tokenize ja-mecab --ref ref --hyp hyp
refused 2 'needs --ref FILE' score bleu --hyp hyp
refused 2 'one to eight metrics' score --ref ref --hyp hyp
refused 2 'is given twice' score bleu bleu --ref ref --hyp hyp
refused 2 'options of chrF have no effect' score bleu --word-order 2 --ref ref --hyp hyp
refused 2 'options of F1 have no effect without f1' score accuracy --average macro --ref labels --hyp guesses
refused 2 'a smoothing value' score bleu --smooth-value 2 --ref ref --hyp hyp
refused 2 'has no effect: it needs --confidence' score bleu --seed 3 --ref ref --hyp hyp
refused 2 'not both' score bleu --paired-bs --paired-ar --ref ref --hyp hyp --hyp other
refused 2 'compares systems' score bleu --paired-bs --ref ref --hyp hyp
refused 2 'for several systems' score bleu --confidence --ref ref --hyp hyp --hyp other
refused 2 'can be read only once' score bleu --ref - --hyp -
refused 2 'one reference' score accuracy --ref labels --ref labels --hyp guesses
printf 'a\nb\na\nb\n' >letters
refused 2 'no line has the positive label "1"' score f1 --ref letters --hyp letters
printf 'a\nb\nc\nb\n' >three
refused 2 'binary F1 needs two labels, but there are 3' score f1 --positive a --ref letters --hyp three

# Labels are spelled one way: as `classify` and `eval` have them, without blanks and a byte order mark around them.
printf '\357\273\2771\n2 \n 3\n' >marked
printf '1\n2.0\n3\n' >plain
expect 0 score accuracy --ref marked --hyp plain
says out '(3 of 3)$'
says err 'plain: 1 label normalised: .* (line 2: 2)$'
says err 'marked: 2 labels normalised: .* (line 1: 1)$'
# A label reaches the terminal as text, and 20 classes are shown in a matrix.
printf 'a\033[31mX\nb\n' >escape
expect 0 score confusion --ref escape --hyp escape
says out 'a\\x1b\[31mX'
seq 20 >many
expect 0 score confusion --ref many --hyp many
says out '^Confusion matrix: rows expected, columns predicted'
seq 21 >many
expect 0 score confusion --ref many --hyp many
says out '^Too many classes'

# Words that are too long to be words: more than 5 characters of a script without spaces, more than 15 of others.
tokens() { # WANT LINE
    printf '%s\n' "$2" >line
    expect 0 score bleu --ref line --hyp line --force
    says out "|tok:$1|"
}
tokens 13a 'あいうえお かきくけこ'
tokens char 'あいうえおか きくけこさし'
tokens 13a 'abcdefghijklmno ponmlkjihgfedcb'
tokens char 'abcdefghijklmnop qponmlkjihgfedcb'

# 13 unlike lines are exchanged in all 2^13 ways, two of which give as much: p is 2/2^13.
awk 'BEGIN { for (i = 0; i < 20; i++) print 1 }' >right
awk 'BEGIN { for (i = 0; i < 20; i++) print (i >= 13) }' >wrong
expect 0 score accuracy --ref right --hyp right --hyp wrong --paired-ar --json
says out '"p_with_ties": 0.000244140625'
