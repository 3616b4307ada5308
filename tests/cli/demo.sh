# SPDX-License-Identifier: Apache-2.0
# make demo: its script, with so few steps that nothing is learned.
. "$2/tests/cli/common"
sh "$source/tools/demo.sh" "$orthant" "$work/demo" --train.steps 4 --train.warmup 2 --train.eval_every 2 --model.width 16 \
    --train.batch 4 --train.eval_tokens 500 --train.final_tokens 500 --seeds 2 --quiet >out 2>err || fail "demo.sh"
for attention in softmax orthogonal 'pattern(previous):1 | orthogonal:3'; do
    [ "$(grep -c "^$attention  " out)" -ge 4 ] || fail "$attention is not in both comparisons"
done
says out '^pattern(previous):1 | random:3  '
says out '^time     [0-9]* s$'
for file in recall characters; do
    [ -s demo/$file/report.html ] || fail "there is no report of $file"
done
