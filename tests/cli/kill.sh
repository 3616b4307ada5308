# SPDX-License-Identifier: Apache-2.0
# kill -9 at any moment, also in the middle of writing a checkpoint, then --resume: the same bits as without.
. "$2/tests/cli/common"
text 30000
rounds=${quick:+1}
rounds=${rounds:-3}
steps=200 precisions="f32 bf16"
[ -z "$slow" ] || { steps=80 precisions=bf16; } # whose files hold numbers of both types

# The step of the newest checkpoint in $folder; its name has nine digits.
reached() {
    step=0
    for file in "$folder"/checkpoint-?????????.safetensors; do
        [ ! -e "$file" ] || step=${file##*-}
    done
    step=$((1${step%.safetensors} % 1000000000))
}

torn() { # is there a half-written checkpoint?
    [ -n "$(find "$folder" -name 'checkpoint-*.tmp')" ]
}

logged() { # FOLDER
    grep -o '"step": [0-9]*' "$1/log.jsonl"
}

# One sitting: killed as soon as there is a checkpoint of a step or a later one; in every other sitting held until it is in
# the middle of the next one, and killed there. Leaves the exit status.
sitting() { # STEP
    "$orthant" train $options --out "$folder" --resume >out 2>err &
    pid=$!
    reached
    while kill -0 $pid 2>/dev/null && [ "$step" -lt "$1" ]; do
        sleep 0.002
        reached
    done
    while [ $((sittings % 2)) -eq 0 ] && kill -STOP $pid 2>/dev/null && ! torn; do
        kill -CONT $pid
        sleep 0.001
    done
    kill -KILL $pid 2>/dev/null || true
    status=0
    wait $pid || status=$?
}

for precision in $precisions; do
    options="--config tiny.yaml --train.precision $precision --train.checkpoint_every 1 --train.steps $steps --quiet"
    expect 0 train $options --out whole-$precision
    kills=0 halves=0 round=0
    # A busy machine lets a run come far between two looks: then there are more rounds.
    while [ $round -lt "$rounds" ] || [ $kills -lt $((2 * rounds)) ] || [ $halves -lt "$rounds" ]; do
        [ $round -lt 20 ] || fail "$kills kills in $round rounds, $halves of them in the middle of a checkpoint"
        round=$((round + 1))
        folder=$precision-$round
        mkdir $folder
        sittings=0 status=137 step=0
        while [ $status -ne 0 ]; do
            sittings=$((sittings + 1))
            sitting $((step + 1 + (17 * round + 23 * sittings) % 60))
            [ $status -eq 0 ] || [ $status -eq 137 ] || fail "a resumed run ended with $status"
            [ $status -eq 0 ] || kills=$((kills + 1))
            ! torn || halves=$((halves + 1))
            [ $sittings -lt 200 ] || fail "never ends"
        done
        same "$folder/model.safetensors" whole-$precision/model.safetensors
        # A step that was logged after the last checkpoint is logged again, once.
        logged "$folder" >steps
        logged whole-$precision >all-steps
        [ -s all-steps ] || fail "no step is logged"
        same steps all-steps
        rm -r "$folder"
    done
    echo "$precision: $round rounds, $kills kills, $halves of them in the middle of a checkpoint"
done
