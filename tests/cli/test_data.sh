# SPDX-License-Identifier: Apache-2.0
# data.test: what a run says of it at its end is what eval says of its model on the same file, for every kind of data;
# that there are test data changes no model; reports of a comparison have the means of its runs.
. "$2/tests/cli/common"
command -v python3 >/dev/null || { echo "no python3 to read JSON with"; exit 77; }
text 30000
tail -c +40001 "$source/data/tinyshakespeare.txt" | head -c 3000 | tr A-Z a-z | tr -c 'a-z \n' e >test.txt
awk 'BEGIN { split("good bad fine poor", n, " "); for (i = 0; i < 90; i++) {
    w = n[1 + int(i * 7 / 3) % 4]; print ((w == "good" || w == "fine") ? "pos" : "neg") "\tthe " w " thing " i } }' >rows.tsv
head -n 70 rows.tsv >class.tsv
tail -n 20 rows.tsv >test.tsv
awk -F '\t' '{ print length($2) % 7 "\t" $2 }' class.tsv >value.tsv
awk -F '\t' '{ print length($2) % 7 "\t" $2 }' test.tsv >test-value.tsv
awk -F '\t' '{ print $2 "\t" $1 " " $2 }' class.tsv >pairs.tsv
awk -F '\t' '{ print $2 "\t" $1 " " $2 }' test.tsv >test-pairs.tsv
small="--config tiny.yaml --quiet --data.tokenizer char --train.steps 8 --decode.beam 1"

# What train printed as JSON (trained.json) against eval's (out): every number of "test".
agree() { # WHAT
    python3 - <<'END' || fail "$1: train and eval do not agree"
import json
test, found = json.load(open("trained.json"))["test"], json.load(open("out"))
flat = {**{k: v for k, v in test.items() if k != "scores"}, **test.get("scores", {})}
pairs = {k: (v, found[k]) for k, v in flat.items() if k in found}
assert "loss" in pairs and set(test.get("scores", {})) <= set(pairs), (test, found)
assert all(a == b for a, b in pairs.values()), pairs
END
}
both() { # NAME TEST WORD...: trains with the test data, and compares with eval on them, and without
    name=$1 test=$2
    shift 2
    expect 0 train $small "$@" --data.test "$test" --json --out "$name"
    cp out trained.json
    expect 0 eval "$name" --data "$test" --json
    agree "$name"
    expect 0 eval "$name" --json
    agree "$name by itself"
}
both lm test.txt
expect 0 train $small --out plain
same lm/model.safetensors plain/model.safetensors
# Bits of a character and of a byte are those of the loss, which is of so many tokens: in a text where they differ.
sed 's/e/é/g; s/ a / — /g' test.txt >accents.txt
both accents accents.txt --data.tokenizer byte
awk -F'[:,]' -v characters="$(tail -c +2 accents.txt | LC_ALL=C.UTF-8 wc -m)" -v bytes="$(tail -c +2 accents.txt | wc -c)" '
    /"tokens":/ { tokens = $2 } /"loss":/ { loss = $2 } /"bits_per_character":/ { c = $2 } /"bits_per_byte":/ { b = $2 }
    function near(x, y) { return x > 0.999999 * y && x < 1.000001 * y }
    END { bits = loss * tokens / log(2); exit !(tokens == bytes && near(c * characters, bits) && near(b * bytes, bits) && bytes > 1.05 * characters) }' out ||
    fail "bits of characters and bytes: $(cat out)"
both mlm test.txt --task mlm
both span test.txt --task span --model.source_context 32
both classify test.tsv --task classify --data.train class.tsv
both regress test-value.tsv --task regress --data.train value.tsv
both translate test-pairs.tsv --task translate --data.train pairs.tsv
both dry test.txt --data.valid_fraction 0

# The model that is kept is measured, whichever that is; also by a sitting in which nothing was left to do.
both best test.txt --train.keep_best true --train.eval_every 2 --train.lr 0.5
# What it was selected on is no test of it: said once wherever that score is, and nowhere else.
expect 0 eval best
! grep -q optimistic out || fail "test data are said to have selected the model"
expect 0 train $small --train.keep_best true --train.eval_every 2 --out selected
says out '^validated .* of the validation text, on which the model was selected: optimistic$'
[ "$(grep -c optimistic out)" -eq 1 ] || fail "train says it more than once"
expect 0 eval selected
says out '^text .*its validation text, .*, on which the model was selected: optimistic$'
expect 0 eval selected --json
says out '"selected_on_validation": true'
expect 0 eval selected --data test.txt
! grep -q optimistic out || fail "other data are said to have selected the model"
expect 0 eval plain
! grep -q optimistic out || fail "nothing was selected"
both mean test.txt --train.average 3 --train.eval_every 2
expect 0 train --resume --json --out mean
python3 -c 'import json; assert json.load(open("out"))["test"] == json.load(open("trained.json"))["test"]' ||
    fail "a sitting without a step says something else of the test data"
expect 0 train $small --data.test test.txt --out said
says out '^tested          [0-9]* tokens of the test text, not used for any selection$'
says out '^test loss       [0-9.]* nats a token$'
expect 1 train $small --data.test nowhere.txt --out refused
head -c 1 test.txt >one.txt
expect 2 train $small --data.test one.txt --out refused
says err 'data.test = one.txt has fewer than 2 tokens'
[ ! -e refused ] || fail "a refused start left a folder"
head -c 2 test.txt >two.txt # an input and a target
expect 0 train $small --data.test two.txt --out two
says out '^tested          1 token'

# A comparison: means of what its models get from eval; it goes on with the same test data alone.
compare="compare $small --attention softmax --attention linear --seeds 2 --compare.uniform_baseline off --out c"
expect 0 $compare --data.test test.txt --compare.tune train.lr=1e-3,1e-2
says_wrapped out 'On the test data, 2999 tokens, used for no choice'
says c/report.md 'On the test data, 2999 tokens'
says c/report.html 'On the test data, 2999 tokens'
grep -q '"test":' c/tune/attention-01/*/seed-*/result.json && fail "trials looked at the test data"
cp out table
for entry in 1 2; do
    for seed in 1 2; do
        expect 0 eval c/runs/attention-0$entry/seed-$seed --data test.txt --json
        cp out eval-$entry-$seed
    done
done
python3 - <<'END' || fail "the report has other test scores than eval"
import json, re
results = json.load(open("c/results.json"))
assert results["test_targets"] == 2999
for i, e in enumerate(results["entries"], 1):
    losses = [json.load(open(f"eval-{i}-{s}"))["loss"] for s in (1, 2)]
    assert [r["test"]["loss"] for r in e["runs"]] == losses
    mean, half = sum(losses) / 2, 12.706204736 * abs(losses[0] - losses[1]) / 2
    assert abs(e["test"]["loss"]["mean"] - mean) < 1e-12 and abs(e["test"]["loss"]["high"] - mean - half) < 1e-6
    row = f"{mean:.4f} ±{half:.4f}"
    assert re.search(rf"^{e['attention']} +{re.escape(row)}$", open("table").read(), re.M), row
END
touch mark
expect 0 $compare --data.test test.txt --compare.tune train.lr=1e-3,1e-2
[ -z "$(find c -newer mark -name result.json)" ] || fail "runs were made again"
expect 2 $compare --data.test text.txt --compare.tune train.lr=1e-3,1e-2
says err 'test data was sha256:'
expect 2 $compare --compare.tune train.lr=1e-3,1e-2
says err 'test data was sha256:.*not given'
