# SPDX-License-Identifier: Apache-2.0
# compare --init RUN: every attention starts from one run, whose loss before any training is that of 'orthant eval', and
# the share of it that an attention retains is the quotient of differences of results.json.
. "$2/tests/cli/common"
text 20000
expect 0 train --config tiny.yaml --quiet --train.steps 600 --train.lr 3e-3 --out run
same_text="--config tiny.yaml --init run --train.steps 8 --train.warmup 1 --seeds 5"
expect 0 compare $same_text --attention softmax --attention "local(window=2)" --attention orthogonal --out c
cp out first
tr '\n' ' ' <first >out
says out 'Teacher: run, valid loss [0-9.]* nats a token before any training\. Of what it gains over the uniform baseline '
says out 'keeps [0-9.]* % (95 % interval [-0-9.]* to [0-9.]* %) after [0-9.]*k* tokens, from [0-9]* of [0-9]* tensors'
says c/report.html '<p id="teacher">Teacher: run'
expect 0 eval run --json --quiet
cp out eval.json
json c/results.json
command -v python3 >/dev/null || exit 77
python3 - <<'END' || fail "the shares are not those of the losses"
import json
import re
r = json.load(open("c/results.json"))
printed = " ".join(open("first").read().split())
teacher = json.load(open("eval.json"))["loss"]
assert r["teacher"]["run"] == "run", r["teacher"]
assert abs(r["teacher"]["loss"] - teacher) < 1e-9 and r["teacher"]["score"] == r["teacher"]["loss"], (r["teacher"], teacher)
losses = {e["attention"]: [run["valid_loss"] for run in e["runs"]] for e in r["entries"]}
uniform = next(e["attention"] for e in r["entries"] if e["floor"])
mean = lambda x: sum(x) / len(x)
seen = 0
for e in r["entries"]:
    share = e["teacher_share"]
    if e["floor"]:
        assert share is None
        continue
    wanted = (mean(losses[uniform]) - mean(losses[e["attention"]])) / (mean(losses[uniform]) - teacher)
    assert abs(share["value"] - wanted) < 1e-9, (e["attention"], share, wanted)
    assert share["n"] == 5 and share["low"] < share["value"] < share["high"], share
    # Frozen queries and keys do not come from the run.
    assert (share["tensors_taken"] == share["tensors"]) == (e["attention"] != "orthogonal"), share
    assert share["tensors_taken"] <= share["tensors"], share
    words = re.escape(e["attention"]) + r" keeps ([-0-9.]+) % .*? from ([0-9]+) of ([0-9]+) tensors"
    found = re.search(words, printed).groups()
    assert abs(float(found[0]) - 100 * share["value"]) < 0.051, (found, share)
    assert (int(found[1]), int(found[2])) == (share["tensors_taken"], share["tensors"]), (found, share)
    seen += 1
assert seen == 3
END
# The same command again trains nothing and says the same.
expect 0 compare $same_text --attention softmax --attention "local(window=2)" --attention orthogonal --out c
sed -n '/^Teacher/,/^Over/p' out >again
sed -n '/^Teacher/,/^Over/p' first | cmp - again || fail "another teacher"
# A run of another task is no teacher: its output layer does not fit.
expect 0 compare --config tiny.yaml --init run --task mlm --train.steps 2 --train.warmup 1 --seeds 2 --attention softmax --out other
grep -q 'Teacher' out && fail "a model of another task is a teacher"
says other/results.json '"schema"'
