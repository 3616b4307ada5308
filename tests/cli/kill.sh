# SPDX-License-Identifier: Apache-2.0
# kill -9 at any moment, also in the middle of writing a checkpoint, then --resume: the same bits as without.
. "$2/tests/cli/common"
text 30000
rounds=${quick:+2}
rounds=${rounds:-8}

for precision in f32 bf16; do
    options="--config tiny.yaml --train.precision $precision --train.checkpoint_every 1 --train.steps 60 --quiet"
    expect 0 train $options --out whole-$precision
    round=0
    while [ $round -lt "$rounds" ]; do
        round=$((round + 1))
        folder=$precision-$round
        sittings=0
        status=9
        while [ $status -ne 0 ]; do
            sittings=$((sittings + 1))
            "$orthant" train $options --out "$folder" --resume >out 2>err &
            pid=$!
            # The longer it takes, the longer it may run: it must end at last.
            sleep "$(awk -v seed="$round$sittings$$" -v n=$sittings 'BEGIN { srand(seed); print rand() * 0.15 * n + 0.01 }')"
            kill -9 $pid 2>/dev/null || true
            status=0
            wait $pid 2>/dev/null || status=$?
            [ $status -eq 0 ] || [ $status -eq 137 ] || fail "a resumed run ended with $status"
            [ $sittings -lt 100 ] || fail "never ends"
        done
        same "$folder/model.safetensors" whole-$precision/model.safetensors
        echo "$precision round $round: $sittings sittings"
        [ "$(grep -o '"step": [0-9]*' "$folder/log.jsonl" | sort | uniq -d | wc -l)" -eq 0 ] ||
            fail "a step is logged twice"
        rm -r "$folder"
    done
done
