# SPDX-License-Identifier: Apache-2.0
# Several ranks where the program was built without MPI, and what plan says of them. tests/mpi.sh has those with MPI.
. "$2/tests/cli/common"
text 20000

expect 0 doctor
if grep -q 'ranks *one: built without MPI' out; then
    for name in OMPI_COMM_WORLD_SIZE PMI_SIZE SLURM_STEP_NUM_TASKS; do
        export $name=3
        expect 1 train --config tiny.yaml --out several
        says err '3 ranks were started, but this program was built without MPI'
        [ ! -e several ] || fail "a start that was refused left a folder"
        expect 1 compare --config tiny.yaml --out several
        expect 0 list
        export $name=1
        expect 0 train --config tiny.yaml --train.steps 1 --out one --quiet
        rm -r one
        unset $name
    done
fi
expect 2 train --config tiny.yaml --cluster.ranks 2 --out several
says err 'cluster.ranks = 2, but there is 1: start as many'

# Of R ranks each sends 2 (R-1)/R of the gradients (half of that in each of two rounds), at so many bits a second; the
# rest of the waiting is latency, and a little for each message.
plan="plan --config tiny.yaml --train.accumulate 8 --json"
expect 0 $plan --ranks 8 --cluster.bandwidth 1 --cluster.latency 1000
"$orthant" $plan >one
! grep -q bytes_sent one || fail "ranks nobody asked for"
tr -d ' \n' <out | tr '{}' '\n\n' |
    sed -n 's/^"ranks":\([0-9]*\),.*"seconds_waiting":\([^,]*\),"bytes_sent":\([^,]*\),.*/\1 \2 \3/p' >rows
[ "$(cut -d' ' -f1 rows | tr '\n' ' ')" = "1 2 4 8 " ] || fail "not 1, 2, 4 and 8 ranks: $(cat rows)"
awk '
    function off(x, y) { return x > y ? x - y > 0.01 * y : y - x > 0.01 * y }
    NR == 1 { wrong = $2 != 0 || $3 != 0 }
    NR == 2 { gradients = $3 }
    NR > 1 && (off($3, 2 * ($1 - 1) / $1 * gradients) || off($2, 8 * $3 / 1e9 + (2 + NR - 1) * 1e-3)) { wrong = 1 }
    END { exit wrong }' rows || fail "what plan says of ranks: $(cat rows)"

# A network a second away is all that ranks wait for: nearly all of a step and never more. A rate is that of its time.
expect 0 plan --config tiny.yaml --train.accumulate 8 --ranks 8 --cluster.latency 1e6
tokens=$((4 * 32 * 8))
awk -v tokens=$tokens '$1 ~ /^[1248]$/ && $2 == 8 / $1 { rows++
        seconds = $3 * ($4 == "ms" ? 1e-3 : $4 == "µs" ? 1e-6 : 1); rate = $5 * ($5 ~ /k$/ ? 1000 : 1); share = $6
        if (rate * seconds < 0.98 * tokens || rate * seconds > 1.02 * tokens) wrong = 1
        if ($1 == 1 ? share != 0 : share < 50 || share > 100) wrong = 1 }
    END { exit wrong || rows != 4 }' out || fail "shares or rates of ranks: $(cat out)"
says out '^Fastest: 1 rank, of those that divide train.accumulate = 8'
expect 0 plan --config tiny.yaml --model.width 128 --train.accumulate 8 --ranks 8 --cluster.latency 0 --cluster.bandwidth 1000
says out '^Fastest: 8 ranks, of those'

# A number of ranks that train would refuse is said to be one.
expect 0 plan --config tiny.yaml --ranks 7 --train.accumulate 1
says out '^7 ranks do not divide it: give train.accumulate a multiple of 7'
expect 0 plan --config tiny.yaml --ranks 7 --train.accumulate 14
! grep -q 'ranks do not' out || fail "7 ranks do not divide 14 micro-batches"

# 10080 has 72 divisors: the plans are those of the largest 64.
expect 0 plan --config tiny.yaml --train.batch 1 --train.accumulate 10080 --ranks 10080 --json
grep -o '"ranks": [0-9][0-9]*' out | sed 's/.* //' >listed
awk 'BEGIN { for (n = 1; n <= 10080; n++) if (10080 % n == 0) print n }' | tail -n 64 >divisors
same listed divisors

# Runs of a comparison are trained by compare.ranks ranks, however many there are.
plan="plan --config tiny.yaml --train.accumulate 4 --json"
of_ranks() {
    expect 0 $plan "$@"
    tr -d ' \n' <out | tr '{}' '\n\n' | sed -n 's/^"ranks":\([0-9]*\),.*/\1/p' | tr '\n' ' '
}
printf '\ncompare: {ranks: 2}\ncluster: {ranks: 4}\n' | cat tiny.yaml - >comparison.yaml
[ "$(of_ranks --compare.ranks 4)" = "1 2 4 " ] || fail "a plan for compare.ranks"
[ "$(of_ranks --config comparison.yaml)" = "1 2 " ] || fail "a plan for the runs of a comparison"

# With shards the first of four ranks has the moments, 8 bytes a number, of one run of 65,536 numbers; how many all have is
# in a checkpoint. Of the second bucket, which is shorter than four runs, it has no shard, and so three shards less come in.
plan="plan --config tiny.yaml --model.width 128 --train.accumulate 4"
memory_of() { # WORD...: of each of four ranks
    "$orthant" $plan --ranks 4 --json "$@" | tr -d ' \n' | tr '{}' '\n\n' | sed -n 's/^"ranks":4,.*"memory":\([0-9]*\).*/\1/p'
}
expect 0 train --config tiny.yaml --model.width 128 --train.steps 1 --train.checkpoint_every 1 --out whole --quiet
numbers=$(head -c 20000 whole/checkpoint-000000001.safetensors | tr -cd '[:print:]' | sed -n 's/.*"moment1":{"dtype":"F32","shape":\[\([0-9]*\)\].*/\1/p')
saved=$(($(memory_of) - $(memory_of --cluster.shard on)))
[ "$saved" -eq $((8 * (numbers - 65536) + 3 * 4 * ((numbers - 4 * 65536) / 4))) ] || fail "shards of $numbers numbers save $saved bytes"
expect 2 $plan --ranks 4 --cluster.shard on --train.optimizer adafactor
says err 'train.optimizer adafactor, which needs whole tensors'
expect 2 $plan --ranks 4 --cluster.shard on --train.optimizer muon
says err 'train.optimizer muon, which needs whole tensors'
expect 2 compare --config tiny.yaml --compare.ranks 2 --train.accumulate 2 --out several
says err 'compare.ranks = 2 needs several ranks'
