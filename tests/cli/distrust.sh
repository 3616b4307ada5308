# SPDX-License-Identifier: Apache-2.0
# What a reader who trusts nothing tries: comparisons whose numbers would say less than they seem to.
. "$2/tests/cli/common"
text 30000
options="--config tiny.yaml --seeds 2 --train.steps 6 --quiet"
pair="--attention softmax --attention random"

refused() { # PATTERN OPTION...
    pattern=$1
    shift
    expect 2 compare $options "$@" --out refused
    says err "$pattern"
    [ ! -e refused ] || fail "$* left a folder"
}

# A source of chance that is held is not in the spread: said before the training, and wherever there is a verdict.
expect 0 compare $options $pair --train.seed_init 5 --out held
says err 'train.seed_init = 5: initial values will be the same with every seed, and not in the spread'
held='Fixed for all seeds: initial values (train.seed_init is 5). Intervals and verdicts are conditional on these'
for file in out held/report.html held/results.json; do
    says_wrapped $file "$held"
done
says held/report.md 'Fixed for all seeds: initial values'
expect 0 compare $options $pair --train.seed_dropout 5 --out dropout
says dropout/results.json 'Fixed for all seeds: dropout (train.seed_dropout is 5)'
expect 0 compare $options $pair --train.seed_dropout 5 --model.dropout 0 --out no-dropout
! grep -q 'Fixed for all seeds' no-dropout/results.json || fail "a dropout that there is not is held"
expect 0 compare $options $pair --seeds 1 --train.seed_init 5 --out one
! grep -q 'with every seed\|Fixed for all seeds' out err || fail "one seed varies nothing"

# Seeds that a reader of JSON could not tell apart.
last=9007199254740991
refused "train.seed = $last with 2 seeds exceeds $last" $pair --train.seed $last
refused "train.seed = $last with 30 seeds" $pair --train.seed $last --until-resolved --seeds 3
expect 0 compare $options --attention softmax --compare.uniform_baseline off --train.seed $((last - 1)) --out far
says far/results.json "\"seed\": $last,"
expect 2 generate far/runs/attention-01/seed-$last --seed $last --samples 2 --tokens 3
says err "generate.seed = $last and 2 samples: the last seed would be above $last"
expect 0 generate far/runs/attention-01/seed-$last --seed $last --tokens 3

# Questions that nobody can be asked.
refused 'the baseline "softmax" is the only attention: add another --attention' --attention softmax --baseline softmax
refused 'compare.until_resolved needs at least two attentions' --attention softmax --seeds 3 \
    --until-resolved

# An option that does nothing for an attention is not at the edge of what was tried.
expect 0 compare $options $pair --train.optimizer sgd --compare.tune "train.beta2=0.9,0.99" \
    --compare.tune_per once --compare.tune_extend 0 --out idle
for file in out err idle/report.md idle/report.html; do
    says_wrapped $file 'train.beta2 makes no difference to softmax: the loss is the same with every value'
    ! tr '\n' ' ' <$file | grep -q 'that was tried: try' || fail "$file advises to try more of what does nothing"
done
says idle/results.json '"edges": {},'
expect 0 compare $options --attention softmax --attention linear \
    --compare.tune "model.attention_dropout=0,0.5;train.lr=0.001,0.01" --compare.tune_per once --compare.tune_extend 0 --out half
says err 'model.attention_dropout makes no difference to linear'
! grep -q 'makes no difference to softmax' err || fail "softmax has weights to drop"
says err 'The best train.lr of linear, 0.01, is the largest that was tried'

# A folder holds one thing.
expect 0 train --config tiny.yaml --quiet --out run
expect 2 compare $options $pair --out run
says err 'run contains a run, and a comparison needs a folder of its own: give another --out'
[ ! -e run/contest.json ] || fail "a comparison was begun in the folder of a run"
expect 2 train --config tiny.yaml --quiet --out held
says err 'held contains a comparison, and a run needs a folder of its own: give another --out'
[ ! -e held/config.json ] || fail "a run was begun in the folder of a comparison"

# Options that do nothing next to the others.
expect 0 train --config tiny.yaml --train.eval_tokens 9 --quiet --out remark
says err 'train.eval_tokens has no effect: train.eval_every is 0'
rm -rf remark
expect 0 train --config tiny.yaml --train.clock wall --quiet --out remark
says err 'train.clock has no effect: '
expect 0 compare $options --attention softmax --equal time --train.clock wall --out clock
! grep -q 'train.clock' err || fail "equal time goes by the clock"

# A validation text that was trained on.
wc -c <text.txt >length
expect 0 train --config tiny.yaml --quiet --data.valid text.txt --out leak
pieces=$(($(cat length) / 64))
says err "warning: of the $pieces pieces of 64 tokens of the validation text $pieces occur verbatim in the training text"
