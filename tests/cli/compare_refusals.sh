# SPDX-License-Identifier: Apache-2.0
# A comparison that cannot be judged does not end with 0, a start that fails does not block the next, and nothing that is
# asked for is passed over in silence.
. "$2/tests/cli/common"
text 20000
options="--config tiny.yaml --train.steps 6 --seeds 2 --quiet"

# Every run diverges: said with what to change, which depends on what is set.
wild="--train.optimizer sgd --train.lr 1000 --train.clip 0 --train.steps 30"
expect 4 compare $options $wild --attention softmax --attention random --out wild
says err 'no attention can be judged: 6 of 6 runs diverged; softmax, seed 1: step'
says err 'Lower train.lr (it is 1000), clip the gradients (train.clip is 0)'
grep -q 'precision f32' err && fail "f32 is advised to a training in f32"
says out 'failed 2 of 2'
says wild/report.md 'No attention finished all its runs'
expect 4 compare $options $wild --attention softmax --attention random --out wild
expect 4 compare $options $wild --train.precision bf16 --attention softmax --out bf16
says err 'or train with train.precision f32'

# Only softmax diverges, at step 3: a report that says so.
expect 0 compare $options $wild --train.steps 3 --attention softmax --attention random --out some
says out 'failed 2 of 2'
says_wrapped out 'softmax did not finish every run and cannot be compared'
says err 'softmax, seed 2: step 3'

# A measure that the task does not have, before any data are read.
expect 2 compare $options --attention softmax --data.train nothing.txt --compare.metric bleu --out start
says err 'compare.metric: the task lm has no measure "bleu"'

# A start that fails leaves no folder, or one that does not stand against the next.
for wrong in '--model.heads 5' '--data.train nothing.txt' '--data.valid_fraction 0' '--attention softmx'; do
    "$orthant" compare $options --attention softmax $wrong --out start >out 2>err && fail "$wrong was accepted"
    [ ! -e start ] || fail "$wrong left a folder"
done
expect 1 compare $options --attention softmax --model.context 30000 --out start
expect 0 compare $options --attention softmax --out start

# Asked for and not there.
expect 2 compare $options --attention softmax --resume --out nowhere
says err 'no comparison in nowhere'
[ ! -e nowhere ] || fail "--resume of nothing made a folder"
expect 0 compare $options --attention softmax --resume --out start
! grep -q 'reads no options' err || fail "options that were given are said not to have been"
expect 2 compare --resume --out start
says err '^orthant: --resume reads no options from the folder of the comparison'
expect 2 compare $options --attention softmax --model.attention linear --out other
says err 'model.attention'
[ ! -e other ] || fail "a refused option left a folder"
echo 'model: {attention: linear}' >own.yaml
expect 0 compare $options --config own.yaml --attention softmax --out start
says err 'model.attention = linear is ignored'
expect 0 compare $options --config own.yaml --attention softmax --attention linear --out start
grep -q 'is ignored' err && fail "linear takes part"
exit 0
