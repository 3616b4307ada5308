# SPDX-License-Identifier: Apache-2.0
# eval --stride, --pairs, --choices: losses and log-probabilities are those of transformers 5.24.0 (torch 2.15.0) on the
# same model, which tests/golden-hf/evaluation.py printed; what has no answer is refused.
. "$2/tests/cli/common"

expect 0 import "$source/tests/golden-hf/gpt2" --out run --quiet
head -c 1500 "$source/data/tinyshakespeare.txt" >text.txt

# value KEY: the number at a key of the JSON in out.
value() { sed -n 's/.*"'"$1"'": \([-0-9.e+]*\).*/\1/p' out | head -n 1; }
# near NUMBER WANTED TOLERANCE
near() { echo "$1 $2 $3" | awk '{ d = $1 - $2; exit !(NF == 3 && d < $3 && d > -$3) }' || fail "$1 is not $2"; }

# windows CONTEXT STRIDE LOSS WINDOWS TARGETS; the library sums losses of windows in float32.
windows() {
    expect 0 eval run --data text.txt --context "$1" --stride "$2" --json --quiet
    near "$(value loss)" "$3" 2e-6
    near "$(value windows)" "$4" 0.5
    near "$(value tokens)" "$5" 0.5
}
windows 64 32 8.051040674982941 34 1096
near "$(value token_loss)" 8.051886885705656 2e-6
# Bits a byte: over the bytes of the targets, all 1,500 of the text but its first token, "F".
near "$(echo "$(value token_loss) $(value bits_per_byte)" | awk '{ print $1 * 1096 / log(2) / $2 }')" 1499 0.01
windows 64 64 8.055280935996324 18 1079
windows 48 7 8.021037991404786 151 1096
windows 16 1 8.072330474853516 1082 1096
expect 0 eval run --data text.txt --stride 32 --quiet
says out '^windows         34 of up to 64 tokens, which begin 32 apart$'
says out '^loss            8.0510 nats a token (bpe)$'
says out '^by token        8.0519 nats, perplexity'
# Two tokens have one target, which the guide weighs with 1.
printf To >two.txt
expect 0 eval run --data two.txt --stride 1 --json --quiet
near "$(value loss)" 6.802977561950684 2e-6
near "$(value tokens)" 1 0.5
# Windows that do not overlap are what eval does by itself, with the tokens between windows.
expect 0 eval run --data text.txt --context 16 --json --quiet
near "$(value tokens)" 1096 0.5

cat >pairs.jsonl <<'END'
{"sentence_good": "The king is dead and gone.", "sentence_bad": "The king are dead and gone.", "UID": "agreement"}
{"sentence_good": "We are accounted poor citizens.", "sentence_bad": "We is accounted poor citizens."}

{"sentence_good": "Who cries on thee?", "sentence_bad": "Who cry on thee?"}
{"sentence_good": "Same.", "sentence_bad": "Same."}
END
# details LINE WANTED…: the log-probabilities of a line of out.jsonl.
details() {
    line=$1
    shift
    sed -n "${line}p" out.jsonl | sed 's/.*"log_probabilities": \[\([^]]*\)\].*/\1/; s/,//g' >got
    [ "$(wc -w <got)" = $# ] || fail "line $line has $(cat got)"
    for got in $(cat got); do
        near "$got" "$1" 5e-5
        shift
    done
}
expect 0 eval run --pairs pairs.jsonl --details out.jsonl --quiet
says out '^pairs           pairs.jsonl, 4$'
says out '^accuracy        25.00 %, 95 % interval 0.63 to 80.59 % (1 of 4; 1 ties, not right)$'
details 1 -113.74857053003745 -118.52477664538924
details 2 -158.48828621210396 -155.98119429903508
details 3 -92.40433455301441 -75.66247479414545
says out.jsonl '"line": 5, "label": 0, '
expect 0 eval run --pairs pairs.jsonl --details out.jsonl --prefix O --json --quiet
json out
details 1 -134.96154667969307 -135.66613242753138
details 3 -92.77454472945422 -81.97214601735404
near "$(value right)" 1 0.5

cat >choices.jsonl <<'END'
{"context": "First Citizen: speak, speak. We are all resolved rather to", "choices": ["die", "than to famish", "é, live"], "label": 0}
{"question": "You know the word ", "choices": ["of command", "is"], "label": "1"}
{"context": "", "choices": ["alone at last", "together"], "label": 0, "other": [1]}
END
expect 0 eval run --choices choices.jsonl --details out.jsonl --quiet
details 1 -24.29496127184179 -65.41200656012546 -54.55679540451053
details 2 -60.21191365212395 -15.01764541675485
details 3 -69.35015376313821 -49.20791598951344
# By sum 0, 1, 1; by byte -8.1 -4.7 -6.1 | -6.0 -7.5 | -5.3 -6.2: 1, 0, 0.
says out '^accuracy        66.67 %, 95 % interval 9.43 to 99.16 % (2 of 3; 0 ties, not right)$'
says out '^per byte        33.33 %, 95 % interval 0.84 to 90.57 % (1 of 3; 0 ties, not right)$'
says out.jsonl '"bytes": \[3, 14, 8\], "answer": 0, "byte_answer": 1'
expect 0 eval run --choices choices.jsonl,choices.jsonl --json --quiet
near "$(value count)" 6 0.5
echo '{"context": "To be", "choices": ["or", "or"], "label": 0}' >tie.jsonl
expect 0 eval run --choices tie.jsonl --details out.jsonl --quiet
says out '(0 of 1; 1 ties, not right)'
says out.jsonl '"answer": null, "byte_answer": null'
# A long context loses its beginning.
awk 'BEGIN { printf "{\"context\": \""; for (i = 0; i < 90; i++) printf "speak, "; print "\", \"choices\": [\"so\", \"no\"], \"label\": 1}" }' >long.jsonl
expect 0 eval run --choices long.jsonl --quiet
says out '^The contexts of 1 were shortened from the left to 64 tokens.$'
# As many tokens as the context and the last one, which is only predicted, are not too many.
many() { awk -v n="$1" 'BEGIN { printf "{\"context\": \"a"; for (i = 1; i < n; i++) printf " a"; print "\", \"choices\": [\"a\", \"b\"], \"label\": 0}" }'; }
many 64 >long.jsonl
expect 0 tokenizer encode run/tokenizer.json --text "$(sed 's/.*: "\(a[a ]*\)".*/\1/' long.jsonl) a"
[ "$(wc -w <out)" -eq 65 ] || fail "65 words are $(wc -w <out) tokens"
expect 0 eval run --choices long.jsonl --quiet
! grep shortened out || fail "65 tokens are too many"
many 65 >long.jsonl
expect 0 eval run --choices long.jsonl --quiet
says out '^The contexts of 1 were shortened'

expect 2 eval run --data text.txt --stride 65
says err 'a stride of 65 tokens: give 1 to 64, the context'
expect 2 eval run --data text.txt --stride 1 --context 1
says err 'stride needs a context of at least 2 tokens, not 1'
printf T >one.txt
expect 1 eval run --data one.txt --stride 1
says err 'the text has 1 tokens; at least 2 are needed'
expect 2 eval run --data text.txt --context 65
says err 'made for 1 to 64'
expect 2 eval run --pairs pairs.jsonl --data text.txt
says err 'data has no effect: --pairs and --choices have files of their own'
expect 2 eval run --data text.txt --prefix O
says err 'prefix has no effect: it needs --pairs or --choices'
echo '{"sentence_good": "So."}' >bad.jsonl
expect 1 eval run --pairs bad.jsonl
says err 'bad.jsonl, line 1: there is no key "sentence_bad"'
echo '{"context": "So", "choices": ["a", "b"], "label": 2}' >bad.jsonl
expect 1 eval run --choices bad.jsonl
says err 'bad.jsonl, line 1: the index of a choice, counted from 0, is expected at key "label"'
expect 0 import "$source/tests/golden-hf/bert-mlm" --out masked --quiet
expect 1 eval masked --pairs pairs.jsonl
says err 'no language model that reads from left to right'
