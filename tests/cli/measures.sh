# SPDX-License-Identifier: Apache-2.0
# What runs are measured by: the tokenizer of BLEU is one and the same in train, compare, eval and score, follows from the
# text where nobody names it, and stays when a run goes on; the measure that chooses a model; confusion matrices of eval.
. "$2/tests/cli/common"
model="--model.layers 1 --model.width 16 --model.heads 2 --model.context 16 --train.batch 8 --train.warmup 1"
model="$model --data.tokenizer char --train.lr 0.01 --decode.beam 1"
awk 'BEGIN { split("東 京 の 日 本 語 を 学", w, " "); srand(1); for (i = 0; i < 60; i++) { n = 3 + int(rand() * 6); s = ""; t = "";
    for (j = 0; j < n; j++) { k = 1 + int(rand() * 8); s = s " " k; t = t w[k] } print substr(s, 2) "\t" t } }' >japanese.tsv
awk -F '\t' '{ print $1 "\t" $1 " ok" }' japanese.tsv >spaced.tsv

tokens_of() { # RUN NAME: what config.json says, and what eval prints and writes
    says "$1/config.json" "\"bleu_tokenize\": \"$2\""
    expect 0 eval "$1"
    says out "^signature  *BLEU|nrefs:1|case:mixed|eff:no|tok:$2|smooth:exp|version:2"
    says out '^signature  *chrF2|nrefs:1|case:mixed|eff:yes|nc:6'
    expect 0 eval "$1" --json
    json out
    says out "\"bleu\": \"nrefs:1|case:mixed|eff:no|tok:$2|"
}

# Chosen by the targets, said, recorded, and the same when the run goes on.
expect 0 train --task translate --data.train japanese.tsv $model --train.steps 4 --out j
says err 'scripts without spaces between words: BLEU counts characters'
tokens_of j char
expect 0 train --resume --out j --train.steps 6
tokens_of j char
expect 2 train --resume --out j --train.steps 8 --data.bleu_tokenize 13a
says err 'begun with data.bleu_tokenize = char, but it is 13a now'
expect 0 train --task translate --data.train spaced.tsv $model --train.steps 2 --out s
! grep -q 'no spaces' err || fail "a text with spaces is said to have none"
tokens_of s 13a
expect 0 train --task translate --data.train japanese.tsv $model --train.steps 2 --data.bleu_tokenize intl --out i
! grep -q 'no spaces' err || fail "the text decides although an option does"
tokens_of i intl
# Of other data the run's tokenizer counts, so that two evaluations can be compared; `score` agrees when it is told so.
cut -f 1 spaced.tsv >lines
cp lines targets
"$orthant" translate j <lines >written 2>err || fail "translate"
paste lines targets >other.tsv
expect 0 eval j --data other.tsv --json
json out
expected=$(sed -n 's/^  "bleu": \([0-9.e-]*\),*$/\1/p' out)
expect 0 score bleu --tokenize char --ref targets --hyp written --json --decimals 9
found=$(sed -n 's/^ "score": \([0-9.e-]*\),*$/\1/p' out)
awk -v x="$expected" -v y="$found" 'BEGIN { exit !(x != "" && y != "" && x - y < 1e-8 && y - x < 1e-8) }' ||
    fail "eval has BLEU $expected, score $found"
expect 2 train --task translate --data.train japanese.tsv $model --data.bleu_tokenize zh --out z
says err 'data.bleu_tokenize is "zh"; .*choose one of auto|13a|intl|char|none'

expect 0 train --task summarize --data.train japanese.tsv $model --train.steps 1 --out r
says err 'ROUGE ignores all but letters a to z and digits'

# A comparison: one tokenizer for all runs; another one is another comparison.
comparison="--task translate --data.train japanese.tsv $model --train.steps 3 --attention softmax --compare.uniform_baseline off"
expect 0 compare $comparison --seeds 1 --out c
says c/runs/attention-01/seed-1/config.json '"bleu_tokenize": "char"'
says c/results.json '"bleu_tokenize": "char"'
expect 0 compare $comparison --seeds 1 --out c
expect 2 compare $comparison --seeds 1 --out c --data.bleu_tokenize 13a
says err 'data.bleu_tokenize was char, but it is 13a now'
# One that began with another tokenizer than the text would have now, as of an older version, goes on with it.
comparison=$(echo "$comparison" | sed 's/japanese/spaced/')
expect 0 compare $comparison --seeds 1 --out older --data.bleu_tokenize char
expect 0 compare $comparison --seeds 2 --out older
says older/runs/attention-01/seed-2/config.json '"bleu_tokenize": "char"'
says older/results.json '"bleu_tokenize": "char"'

# The measure that the best model is chosen by.
expect 0 train --task translate --data.train spaced.tsv $model --train.steps 6 --train.eval_every 2 --train.keep_best on \
    --metric chrf --out m
says m/config.json '"metric": "chrf"'
says err 'the final model is that of step [246], with the highest chrF2'
expect 2 train --resume --out m --train.steps 8 --metric bleu
says err 'm was begun with compare.metric = "chrf", but it is "bleu" now'
expect 2 train --resume --out m --train.steps 8 --train.eval_tokens 7
says err 'm was begun with train.eval_tokens = '
expect 0 train --task translate --data.train spaced.tsv $model --train.steps 2 --metric chrf --out n
says err 'compare.metric has no effect without train.keep_best or train.patience'
expect 2 train --task translate --data.train spaced.tsv $model --metric ter --out z
says err 'the task translate has no measure "ter"; it has: loss, bleu, chrf'

# Classes.
awk 'BEGIN { for (i = 0; i < 60; i++) print (i % 5 ? "often" : "seldom") "\t" (i % 5 ? "a b a" : "c d c") " " i % 7 }' >labels.tsv
expect 0 train --task classify --data.train labels.tsv $model --train.steps 40 --train.eval_every 0 --out k
expect 0 eval k --data labels.tsv --json
json out
[ "$(grep -c '"support": ' out)" -eq 2 ] || fail "not both classes"
says out '"labels": \["often", "seldom"\]'
expect 0 eval k --data labels.tsv
says out '^expected  *often  *seldom  *precision  *recall  *F1  *support'
cp out said
cut -f 1 labels.tsv >reference
cut -f 2 labels.tsv >texts
"$orthant" classify k <texts >guesses 2>err || fail "classify"
expect 0 score confusion accuracy --ref reference --hyp guesses --decimals 4
for class in often seldom; do # counts are the same, ratios a hundredth
    awk -v class=$class '$1 == class { print $2, $3, $NF, $4 }' said >counts
    awk -v class=$class '$1 == class { printf "%s %s %s %.2f\n", $2, $3, $NF, 100 * $4 }' out >others
    same counts others
done

# The page of eval is its JSON, number by number; what JSON has of classes is what score has, in percent; parts by class
# are recall and F1; and examples are counted on the side that is evaluated.
if command -v python3 >/dev/null; then
    awk 'BEGIN { for (i = 0; i < 141; i++) print (i % 3 ? "often" : "seldom") "\t" (i % 4 ? "a b a" : "c d c") (i % 3 ? " " : " a ") i % 7 }' >others.tsv
    expect 0 eval k --data others.tsv
    cp out page
    expect 0 eval k --data others.tsv --json
    cp out answer
    cut -f 1 others.tsv >reference
    cut -f 2 others.tsv | "$orthant" classify k >guesses 2>err || fail "classify"
    expect 0 score confusion --ref reference --hyp guesses --json --decimals 12
    python3 - <<'END' || fail "eval says of classes what score does not: $(cat page answer out)"
import json
answer, scored = json.load(open("answer")), json.load(open("out"))
page = open("page").read().splitlines()
close = lambda a, b: abs(a - b) < 1e-9
details = answer["details"]
assert answer["examples"] == 141 and page[1].endswith(", 141 examples"), page[1]
assert details["labels"] == scored["labels"] and details["confusion"] == scored["confusion"]
for a, b in zip(details["by_class"], scored["by_class"], strict=True):
    assert a["label"] == b["label"] and a["support"] == b["support"] == sum(scored["confusion"][scored["labels"].index(a["label"])])
    assert all(close(a[k], 100 * b[k]) for k in ("precision", "recall", "f1"))
    assert len({a["precision"], a["recall"], a["f1"]}) == 3, a
    parts = {p["measure"]: p for p in details["breakdown"] if p["by"] == "class" and p["name"] == a["label"]}
    assert close(parts["accuracy"]["value"], a["recall"]) and close(parts["f1"]["value"], a["f1"])
    assert parts["accuracy"]["n"] == parts["f1"]["n"] == a["support"] != sum(r[scored["labels"].index(a["label"])] for r in scored["confusion"])
examples, lines = details["examples"], [line.rstrip("\n").split("\t") for line in open("others.tsv")]
rows, guesses = [e["row"] for e in examples], open("guesses").read().splitlines()
assert rows == sorted(set(rows)) and rows[0] < 20 and rows[-1] > 120 # drawn from all
for e in examples:
    assert [e["reference"], e["source"], e["output"]] == lines[e["row"]] + [guesses[e["row"]]]
parts = [p for p in details["breakdown"] if p["by"] == "length"]
assert len(parts) == 2 and sum(p["n"] for p in parts) == 141
assert close(sum(p["n"] * p["value"] for p in parts), 141 * answer["accuracy"])
rows = {c[0]: c[1:] for c in map(str.split, page[page.index(next(l for l in page if l.startswith("expected "))):]) if c[0] in details["labels"]}
for label, counts, b in zip(details["labels"], details["confusion"], details["by_class"], strict=True):
    assert rows[label] == [str(n) for n in counts] + [f"{b[k]:.2f}" for k in ("precision", "recall", "f1")] + [str(b["support"])]
assert details["confusion"][0][1] != details["confusion"][1][0]
said = {line[:15].rstrip(): line[16:].split()[0] for line in page if line[15:16] == " "}
for key in ("loss", "accuracy", "f1", "mcc"):
    digits = len(said[key].split(".")[1])
    assert said[key] == f"{answer[key]:.{digits}f}", (key, said[key], answer[key])
END
    # Of a run's own test data the number of these is told, not that of its validation data.
    expect 0 train --task classify --data.train labels.tsv --data.valid labels.tsv --data.test others.tsv $model --train.steps 2 --out l
    expect 0 eval l
    says out '^data  *its test data, 141 examples$'
fi
