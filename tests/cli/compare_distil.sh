# SPDX-License-Identifier: Apache-2.0
# compare with distil.teacher: each run is what 'orthant distil' makes with its seed, also after kills in either stage;
# the report has the tokens of the first stage and the share that was kept after it.
. "$2/tests/cli/common"
text 20000
expect 0 train --config tiny.yaml --quiet --train.steps 300 --train.lr 3e-3 --out run
learn="--config tiny.yaml --distil.attention_steps 30 --train.steps 20 --train.warmup 1"
compared="$learn --init run --distil.teacher run --attention softmax --attention hedgehog --seeds 2"
expect 0 compare $compared --out c
cp out report
expect 0 compare $compared --out c # which trains nothing
sed -n '/^Teacher/,/^Over/p' out >again
sed -n '/^Teacher/,/^Over/p' report | cmp - again || fail "the report is another one when the runs are read"
for seed in 1 2; do
    expect 0 distil $learn --teacher run --student hedgehog --train.seed $seed --out d$seed --quiet
done
[ ! -e c/runs/attention-01/seed-1/attention ] || fail "softmax learned its own outputs"
expect 0 eval c/runs/attention-02/seed-2/attention --json
cp out eval.json

# Other initial values are no other attention: nothing is to be learned from the teacher's layers.
expect 0 compare $learn --init run --distil.teacher run --attention 'softmax(init=haar)' --attention hedgehog --seeds 1 --out h
[ ! -e h/runs/attention-01/seed-1/attention ] || fail "softmax(init=haar) learned its own outputs"
[ -e h/runs/attention-02/seed-1/attention ] || fail "hedgehog learned nothing of the layers"

# Killed once in each stage of a run.
for log in attention/log.jsonl log.jsonl; do
    "$orthant" compare $compared --train.log_every 10 --train.checkpoint_every 1 --compare.jobs 1 --out e >out 2>err &
    process=$!
    begun() { [ -s e/runs/attention-02/seed-1/$log ]; }
    await $process begun
    kill -9 $process
    wait $process || true
done
expect 0 compare $compared --train.log_every 10 --train.checkpoint_every 1 --compare.jobs 1 --out e
for place in 01/seed-1 02/seed-1 02/seed-2; do
    for folder in c e; do
        tr ',' '\n' <$folder/runs/attention-$place/result.json | grep '"weights"' >weights.$folder
    done
    same weights.c weights.e
done
expect 0 compare $compared --overwrite --out e
refused() { # PATTERN OPTION...
    pattern=$1
    shift
    expect 2 compare $learn --attention softmax --attention hedgehog --seeds 2 --distil.teacher run --out x "$@"
    says_wrapped err "$pattern"
    [ ! -e x ] || fail "a refused comparison made a folder"
}
refused 'learn from the run that they start from; give --init run'
refused 'learn from the run that they start from; give --init run' --init d1
refused 'is the first stage alone' --init run --distil.learn attention
refused 'compare.equal = flops cannot be combined with distil.teacher: the attention of the teacher has no first stage' --init run --compare.equal flops
refused 'compare.equal = params cannot be combined with distil.teacher: it changes model.ffn' --init run --compare.equal params
refused 'compare.equal = time cannot be combined with distil.teacher' --init run --compare.equal time --train.seconds 3
refused 'compare.tune cannot be combined with distil.teacher: trials are runs of the second stage alone' --init run --compare.tune train.lr=1e-3,3e-3
expect 2 compare $compared --distil.attention_steps 40 --out c
says err 'distil.attention_steps was 30'

command -v python3 >/dev/null || exit 77
python3 - <<'END' || fail "the runs are not those of distil"
import json
import re
read = lambda path: json.load(open(path))
r = read("c/results.json")
entry = {e["attention"]: e for e in r["entries"]}
hedgehog, softmax = entry["linear(map=hedgehog)"], entry["softmax"]
uniform = next(e for e in r["entries"] if e["floor"])
runs = [read(f"d{seed}/distil.json") for seed in (1, 2)]
near = lambda a, b: abs(a - b) < 1e-9
for run, other in zip(hedgehog["runs"], runs):
    assert near(run["valid_loss"], other["after_output"]["loss"]), (run, other)
stage, share = hedgehog["teacher_share"]["attention_stage"], hedgehog["teacher_share"]
after = [x["after_attention"]["loss"] for x in runs]
assert near(after[1], read("eval.json")["loss"])
assert near(stage["loss"], sum(after) / 2), stage
assert stage["tokens"] == runs[0]["after_attention"]["tokens"], stage
base = sum(x["valid_loss"] for x in uniform["runs"]) / 2
teacher = runs[0]["teacher_loss"]
assert near(r["teacher"]["loss"], teacher)
assert near(stage["value"], (base - stage["loss"]) / (base - teacher)), stage
assert stage["value"] < share["value"]
assert "attention_stage" not in softmax["teacher_share"]
# What counts as training is the second stage: as many tokens for all, in the table and in the runs.
second = runs[0]["after_output"]["tokens"]
assert all(x["tokens"] == second for e in r["entries"] for x in e["runs"]), second
counted = re.search(r"of the stage that learns the output: the (\d+) tokens of attention alone are in no budget",
                    " ".join(open("report").read().split()))
assert counted and int(counted[1]) == stage["tokens"], counted
printed = re.search(r"and kept ([-0-9.]+) % by the loss after (\d+) tokens of attention alone",
                    " ".join(open("report").read().split())).groups()
assert abs(float(printed[0]) - 100 * stage["value"]) < 0.051 and int(printed[1]) == stage["tokens"], printed
END
