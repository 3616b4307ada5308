# SPDX-License-Identifier: Apache-2.0
# A contest: its files, equal budgets, and going on after it was interrupted.
. "$2/tests/cli/common"
text 30000
options="--config tiny.yaml --seeds 2 --train.steps 12 --quiet"

expect 0 compare $options --attention softmax --attention 'random + softmax' --out whole
says out 'random + softmax'
says out 'verdict'
for file in results.json report.html report.md; do
    [ -s whole/$file ] || fail "there is no whole/$file"
done
says whole/report.html 'random + softmax'
expect 0 compare $options --attention softmax --attention 'random + softmax' --out whole --json
says out '"valid_loss"'

# Stopped, by a request and by force, and started again: the same losses.
losses() {
    grep -o '"valid_loss": *[0-9.e+-]*' "$1/results.json"
}
for signal in INT KILL; do
    "$orthant" compare $options --attention softmax --attention 'random + softmax' --out $signal >out 2>err &
    pid=$!
    until [ -f $signal/runs/attention-01/seed-1/result.json ]; do sleep 0.02; done
    kill -$signal $pid
    status=0
    wait $pid || status=$?
    [ $status -eq 130 ] || [ $status -eq 137 ] || [ $status -eq 0 ] || fail "ended with $status after SIG$signal"
    expect 0 compare $options --attention softmax --attention 'random + softmax' --out $signal
    losses whole >a
    losses $signal >b
    [ -s a ] || fail "results.json has no losses"
    same a b
done

# Another contest in the same folder is refused.
expect 2 compare $options --attention softmax --attention linear --out whole
says err 'another contest'
expect 2 compare $options --attention softmax --attention 'softmax(qk=learned)' --out twice
says err 'twice'

for equal in time params flops; do
    expect 0 compare $options --equal $equal --attention softmax --attention random --out equal-$equal
    says equal-$equal/results.json "$equal"
done
