# SPDX-License-Identifier: Apache-2.0
# make demo: its script, with so few steps that nothing is learned.
. "$2/tests/cli/common"
demo()
{
    sh "$source/tools/demo.sh" "$orthant" "$work/demo" --train.steps 4 --train.warmup 2 --train.eval_every 2 --model.width 16 \
        --train.batch 4 --train.eval_tokens 500 --train.final_tokens 500 --seeds 2 --quiet "$@"
}
demo >out 2>err || fail "demo.sh"
for attention in softmax orthogonal 'pattern(previous):1 | orthogonal:3'; do
    [ "$(grep -c "^$attention  " out)" -ge 4 ] || fail "$attention is not in both comparisons"
done
says out '^pattern(previous):1 | random:3  '
says out '^time     [0-9]* s$'
for file in recall characters; do
    [ -s demo/$file/report.html ] || fail "there is no report of $file"
done

# Again: a lost run is trained, all others are left as they are.
files() { find demo/*/runs -name result.json -exec ls -i {} + | sort -k 2; }
lost=demo/characters/runs/attention-02/seed-1
files | grep -v "$lost" >before
rm -r "$lost"
demo >again 2>err || fail "demo.sh, again"
[ -s "$lost/result.json" ] || fail "the lost run was not trained"
files | grep -v "$lost" >after
cmp before after || fail "runs were trained again"
[ "$(grep -c '^softmax  ' again)" -ge 4 ] || fail "the second call has no tables"
demo --model.layers 1 >other 2>err && fail "another model was taken for the same comparison"
says err 'remove the folder'
