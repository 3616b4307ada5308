# SPDX-License-Identifier: Apache-2.0
# What an attention does not have or bear is said before a training and in its report: attention dropout without weights
# to drop, and bf16 where it decides the result. And an explanation of a very long context ends, and stops when asked to.
. "$2/tests/cli/common"
text 20000
options="--config tiny.yaml --train.steps 2 --model.attention_dropout 0.5 --train.precision bf16 --threads 2"
idle='linear(map=cos) has no attention weights to drop: model.attention_dropout = 0.5 has no effect on it'
signs='linear(map=cos) divides weights of both signs by their sum'

expect 0 train $options --model.attention 'linear(map=cos)' --out run
says err "$idle"
says err "$signs"
# A run of single precision that generates in bf16 has the same note, and no other.
expect 0 train --config tiny.yaml --train.steps 2 --model.attention 'linear(map=cos)' --model.attention_dropout 0.5 --quiet --out fine
expect 0 generate fine --prompt "O" --tokens 3
! grep -q 'both signs' err || fail "a note without bf16"
expect 0 generate fine --prompt "O" --tokens 3 --precision bf16
says_wrapped err "$signs.* use f32"
! grep -q 'to drop' err || fail "nothing is dropped when text is generated"
expect 0 generate run --prompt "O" --tokens 3 --precision bf16 # was trained so
! grep -q 'both signs' err || fail "the note of the training was repeated"
expect 0 train $options --model.attention softmax --out other
! grep -q 'to drop\|both signs' err || fail "softmax has weights to drop, and none of both signs"

# A warm-up of all steps reaches the learning rate with the last of them; a longer one does not.
expect 0 train --config tiny.yaml --train.steps 3 --train.warmup 3 --out warm
! grep -q warmup err || fail "a warm-up that ends with the run is said not to"
says warm/log.jsonl '"step": 3, .*"lr": 0.001,'
expect 0 train --config tiny.yaml --train.steps 3 --train.warmup 4 --out cool
says err 'train.warmup = 4 exceeds train.steps = 3: the learning rate ends at 0.00075 and never reaches train.lr = 0.001$'
says cool/log.jsonl '"step": 3, .*"lr": 0.00075,'

# Where none is given it is a tenth of the steps, as help says, and at most 100.
small="--data.train text.txt --model.layers 1 --model.width 16 --model.heads 2 --model.context 16 --train.batch 2 --quiet"
for steps in 9:0 40:4 1030:100; do
    expect 0 train $small --train.steps ${steps%:*} --train.eval_every 0 --out warm-$steps
    says warm-$steps/config.json "\"warmup\": ${steps#*:},"
done

expect 0 compare $options --seeds 1 --attention softmax --attention 'linear(map=cos)' --out comparison
says err "$idle"
says err "$signs"
says_wrapped out "$idle"
says comparison/report.html "$idle"
[ "$(grep -c 'to drop' out)" -eq 1 ] || fail "softmax is in the footnote"

expect 0 plan $options --attention 'linear(map=cos)'
says out "^$idle"
says out "^$signs"
expect 0 explain 'linear(map=cos)'
says out '^    dropout  *no softmax weights to drop'
says out '^    bf16  *ill-conditioned: weights have both signs'
expect 0 explain softmax
! grep -q '^    dropout\|^    bf16' out || fail "softmax drops weights, and has none of both signs"

[ -z "$quick" ] || exit 0
"$orthant" list | sed -n '2,/^$/p' | cut -d' ' -f1 | grep . | grep -v '^mix$' >names
[ "$(wc -l <names)" -eq 24 ] || fail "there are $(wc -l <names) mechanisms in the list"
for name in $(cat names) 'random+softmax'; do
    status=0
    (ulimit -v 2000000 && timeout -k 5 60 "$orthant" explain "$name" --model.context 1048576 --threads 1) >out 2>err || status=$?
    if [ "$name" = bigbird ]; then
        [ $status -eq 1 ] || fail "explain bigbird at a million tokens ended with $status"
        says err 'more than 67 million'
    else
        [ $status -eq 0 ] || fail "explain $name at a million tokens ended with $status"
    fi
done

# A signal ends it: 124 says that it was still at work when it came, and was not killed for good (137).
status=0
timeout -k 60 1 "$orthant" explain 'block-sparse(block=1)' --model.context 1048576 >out 2>err || status=$?
[ $status -eq 124 ] || fail "a stopped explanation ended with $status"
