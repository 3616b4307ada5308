# SPDX-License-Identifier: Apache-2.0
# Every mechanism, in both precisions: the same bits for any number of threads.
. "$2/tests/cli/common"
text 20000
steps=6 counts="2 3 7"
[ -z "$quick" ] || { steps=2 counts=3; }

# The model is causal: mechanisms without a causal form cannot be trained in it.
"$orthant" list --json | awk -F'"' '$2 == "name" && /^    "/ { name = $4 } $2 == "causal" && /true/ { print name }' |
    sed 's/^mix$/mix(softmax, random, dense)/' >specs
[ "$(wc -l <specs)" -ge 8 ] || fail "orthant list --json names too few mechanisms"
cat >>specs <<'END'
fixed-random
random + softmax
pattern(previous):1 | softmax:3
local(window=8) ; linear(qk=srht) ; orthogonal(tie, temperature)
performer(kernel=sderf) ; performer(kernel=aderf)
END
while read -r spec; do
    for precision in f32 bf16; do
        for threads in 1 $counts; do
            expect 0 train --config tiny.yaml --attention "$spec" --train.precision $precision --train.steps "$steps" \
                --train.batch 6 --threads "$threads" --out "run-$threads" --quiet
            [ "$threads" -eq 1 ] || same run-1/model.safetensors "run-$threads/model.safetensors"
        done
        rm -r run-*
    done
    echo "$spec: same bits"
done <specs

# Every update rule; a matrix of more numbers than one item has.
for rule in sgd adafactor muon lion; do
    for threads in 1 3; do
        expect 0 train --config tiny.yaml --model.width 128 --train.optimizer $rule --train.steps 3 --train.batch 6 \
            --threads $threads --out "run-$threads" --quiet
    done
    same run-1/model.safetensors run-3/model.safetensors
    rm -r run-*
done
