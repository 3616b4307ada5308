# SPDX-License-Identifier: Apache-2.0
# compare.threshold: shares of runs that solve the task, and what is refused.
. "$2/tests/cli/common"
text 30000
options="--config tiny.yaml --train.steps 40 --train.eval_every 10 --quiet --seeds 3"
two="--attention softmax --attention linear --baseline softmax"

# Every loss is below 20 nats, and none below 0.001.
expect 0 compare $options $two --threshold loss=20 --out solved
says_wrapped out 'Runs that solve the task: validation loss of at most 20 nats a token at the end'
says out 'softmax *3 of 3 *29–100 % *3 of 3'
says solved/report.html 'id="solved-runs"'
says solved/report.md 'Runs that solve the task'
says solved/results.json '"by": "threshold"'
says solved/results.json '"threshold": "loss=20"'
# The runs are the same: another threshold trains nothing.
cp solved/runs/attention-01/seed-1/result.json before.json
expect 0 compare $options $two --threshold loss=0.001 --out solved
says out 'softmax *0 of 3 *0–71 % *0 of 3 *never'
same before.json solved/runs/attention-01/seed-1/result.json
expect 0 compare $options $two --out solved
grep -q 'Runs that solve' out && fail "solved without a threshold"

refused() { # PATTERN OPTION...
    pattern=$1
    shift
    expect 2 compare $options $two "$@" --out refused
    says err "$pattern"
    [ ! -e refused ] || fail "$* left a folder"
}
refused 'compare.threshold = "95" is no METRIC=NUMBER' --threshold 95
refused 'compare.threshold: the task lm has no measure "accuracy"; it has: loss' --threshold accuracy=95
refused 'compare.threshold = "loss=0": a threshold of loss is not above 0' --threshold loss=0
refused 'train.eval_every = 0 makes none before the end of a run' --threshold loss=2 --train.eval_every 0
refused 'train.eval_every = 40 makes none before the end of 40 steps' --threshold loss=2 --train.eval_every 40
