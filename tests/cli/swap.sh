# SPDX-License-Identifier: Apache-2.0
# swap: a run that the other commands use; the run that it is made of is not needed any more, nor changed.
. "$2/tests/cli/common"
text 20000
expect 0 train --config tiny.yaml --quiet --out run
cp run/model.safetensors before
expect 0 eval run --data text.txt --json
sed -n 's/.*"loss": \([0-9.]*[0-9]\).*/\1/p' out >loss

# A window as long as the context hides nothing.
expect 0 swap run --attention "local(window=32):3 | softmax:1 ; softmax" --out same
says out '^0  *local(window=32):3 | softmax:1  *4096  *4096  -$'
says out '^1  *softmax  *4096  *4096  -$'
expect 0 eval same --data text.txt --json
sed -n 's/.*"loss": \([0-9.]*[0-9]\).*/\1/p' out | paste - loss |
    awk '{ exit !($1 > 1 && ($1 - $2) ^ 2 < 1e-12) }' || fail "the same function has another loss"
same run/model.safetensors before

expect 0 swap run --attention "orthogonal ; local(window=4)" --out other --json
json out
says out '"because": "frozen here and learnt there"'
expect 0 eval other --data text.txt --json
sed -n 's/.*"loss": \([0-9.]*[0-9]\).*/\1/p' out | paste - loss |
    awk '{ exit !($1 > 1 && ($1 - $2) ^ 2 > 1e-12) }' || fail "another attention has the same loss"
says other/init.json '"from": "run"'
[ ! -e other/log.jsonl ] || fail "a swap has a log of training"

rm -r run
expect 0 generate other --prompt "O Romeo" --tokens 5
expect 0 inspect same --text "To be or not" --quiet
expect 0 train --init other --data.train text.txt --train.steps 3 --train.batch 2 --train.warmup 1 --out on --quiet
says on/config.json '"attention": "orthogonal ; local(window=4)"'
grep -q because on/init.json && fail "train --init did not take all tensors of the swapped run"
expect 2 swap other --attention softmax --out same
says err 'same/model.safetensors exists; choose another folder'
expect 1 swap other --attention raganato --out x
says err 'causal'
[ ! -e x ] || fail "a refused swap made a folder"
