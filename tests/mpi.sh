#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mpi.sh ORTHANT SOURCE [--all]: several ranks on this machine, started by mpirun, against one. ORTHANT is built with
# -DORTHANT_MPI=ON. --all: every mechanism in both precisions on 2, 4 and 8 ranks, with and without shards, and 20
# kills.
# Exits 0 (passed), 77 (cannot be run here, the last line says why) or otherwise.
all=
[ "${3:-}" != --all ] || all=1
command -v mpirun >/dev/null || { echo "mpirun is not installed (openmpi-bin)"; exit 77; }
. "$2/tests/cli/common"
"$orthant" doctor | grep -q 'ranks *Open MPI' || { echo "$orthant was built without Open MPI"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
text 20000
began=$(date +%s)

# ranks N CODE WORD...: N ranks of the program
ranks() {
    n=$1 code=$2
    shift 2
    status=0
    mpirun --oversubscribe -n "$n" "$orthant" "$@" >out 2>err </dev/null || status=$?
    [ $status -eq "$code" ] || fail "$n ranks of orthant $* ended with $status instead of $code"
}

part() { # NAME: of what comes
    echo "$(($(date +%s) - began)) s: $1"
}

quickly="--threads 1 --quiet"

# ---- bits

part "every mechanism"
"$orthant" list --json | awk -F'"' '$2 == "name" && /^    "/ { name = $4 } $2 == "causal" && /true/ { print name }' |
    sed 's/^mix$/mix(softmax, random, dense)/' >specs
[ "$(wc -l <specs)" -ge 8 ] || fail "orthant list --json names too few mechanisms"
echo 'performer(kernel=favor++, redraw=2)' >>specs
count=0
while read -r spec; do
    precisions="f32 bf16" sizes="2 4 8" shards="off on"
    count=$((count + 1))
    if [ -z "$all" ]; then # one of each, in turn
        precisions=$([ $((count % 2)) -eq 0 ] && echo f32 || echo bf16)
        sizes=$([ $((count % 8)) -eq 0 ] && echo 4 || echo 2)
        shards=$([ $((count % 3)) -eq 0 ] && echo on || echo off)
    fi
    for precision in $precisions; do
        options="--config tiny.yaml --train.steps 3 --train.accumulate 8 --train.batch 1 --model.layers 1 \
            --train.precision $precision $quickly"
        expect 0 train $options --attention "$spec" --out one
        for n in $sizes; do
            for shard in $shards; do
                ranks "$n" 0 train $options --attention "$spec" --cluster.shard $shard --out several
                same one/model.safetensors several/model.safetensors
                cut -d, -f1-4 one/log.jsonl >a
                cut -d, -f1-4 several/log.jsonl >b
                same a b
                rm -r several
            done
        done
        rm -r one
    done
done <specs
echo "$count mechanisms: same bits"

part "optimiser state in shards"
options="--config tiny.yaml --train.steps 4 --train.accumulate 4 --train.batch 1 --model.layers 2 --model.width 128 \
    --train.checkpoint_every 2 --train.eval_every 2 --train.clip 0.1 $quickly"
for rule in adamw sgd lion; do
    expect 0 train $options --train.optimizer $rule --out one
    rm one/checkpoint-000000004.safetensors one/model.safetensors
    cp -r one resumed
    ranks 4 0 train $options --train.optimizer $rule --cluster.shard on --out several
    ranks 2 0 train $options --train.optimizer $rule --cluster.shard on --out resumed --resume
    ranks 2 0 train $options --train.optimizer $rule --out one --resume
    same one/model.safetensors several/model.safetensors
    same one/model.safetensors resumed/model.safetensors
    rm several/checkpoint-000000004.safetensors several/model.safetensors
    expect 0 train $options --train.optimizer $rule --out several --resume
    same one/model.safetensors several/model.safetensors
    rm -r one several resumed
done
for rule in muon adafactor; do # whole tensors: every rank updates all of them
    expect 0 train $options --train.optimizer $rule --out one
    rm one/checkpoint-000000004.safetensors one/model.safetensors
    cp -r one resumed
    ranks 4 0 train $options --train.optimizer $rule --out several
    ranks 2 0 train $options --train.optimizer $rule --out resumed --resume
    expect 0 train $options --train.optimizer $rule --out one --resume
    same one/model.safetensors several/model.safetensors
    same one/model.safetensors resumed/model.safetensors
    rm -r one several resumed
done
ranks 2 2 train $options --train.optimizer adafactor --cluster.shard on --out refused
says err 'train.optimizer adafactor, which needs whole tensors'
ranks 2 2 train $options --train.optimizer muon --cluster.shard on --out refused
says err 'train.optimizer muon, which needs whole tensors'
if "$orthant" doctor --device opencl >/dev/null 2>&1; then
    ranks 2 1 train $options --device opencl --out refused
    says err 'several ranks compute on processors'
fi
[ ! -e refused ] || fail "a start that was refused left a folder"

part "stretches that are no nodes, another precision, validations, patience"
options="--config tiny.yaml --train.steps 8 --train.accumulate 6 --train.batch 1 --train.eval_every 2 --train.eval_tokens 300 \
    --train.patience 3 --train.keep_best on --train.lr 0.3 $quickly"
for precision in f32 f64; do
    expect 0 train $options --train.precision $precision --out one
    for n in 2 3; do
        ranks $n 0 train $options --train.precision $precision --out several
        same one/model.safetensors several/model.safetensors
        sed 's/"lr".*//' one/log.jsonl >a # the losses of validations, too
        sed 's/"lr".*//' several/log.jsonl >b
        same a b
        rm -r several
    done
    rm -r one
done

part "orders of packed corpora"
expect 0 tokenizer train --kind bpe:300 --data text.txt --out packed.json --quiet
expect 0 data pack --data text.txt --documents lines --tokenizer packed.json --out wiki --shard-tokens 2000 --quiet
head -c 7000 text.txt >books.txt
expect 0 data pack --data books.txt --documents lines --tokenizer packed.json --out books --quiet
options="--model.layers 1 --model.width 32 --model.context 24 --train.steps 12 --train.accumulate 6 --train.batch 2 \
    --train.eval_every 6 --train.checkpoint_every 5 $quickly"
for order in "--data.train wiki" "--data.train wiki --data.order epoch" "--data.train wiki --data.documents separate" \
    "--data.train wiki,books --data.order epoch --data.mix wiki:0.7,books:0.3" \
    "--data.train wiki,books --data.order epoch --data.mix wiki:1,books:1 --data.documents separate"; do
    expect 0 train $options $order --out one
    for n in 2 3; do
        ranks $n 0 train $options $order --out several
        same one/model.safetensors several/model.safetensors
        sed 's/"lr".*//' one/log.jsonl >a
        sed 's/"lr".*//' several/log.jsonl >b
        same a b
        rm several/model.safetensors several/checkpoint-000000012.safetensors several/checkpoint-000000010.safetensors
        ranks $((5 - n)) 0 train $options $order --out several --resume
        same one/model.safetensors several/model.safetensors
        rm -r several
    done
    rm -r one
done

# ---- the log is of all

part "log and output"
options="--config tiny.yaml --train.steps 20 --train.accumulate 2 --train.log_every 5 --threads 1"
ranks 2 0 train $options --out logged
says logged/log.jsonl '"tokens_per_second": [0-9.]*, "communication": 0\.[0-9]*, "communication_hidden": [01]\.[0-9]*}'
[ "$(wc -l <logged/log.jsonl)" -eq 4 ] || fail "log.jsonl does not have 4 lines"
[ "$(grep -c '^run ' out)" -eq 1 ] || fail "more than one rank printed"
[ "$(grep -c 'trained and 0 frozen' err)" -eq 1 ] || fail "more than one rank spoke"

# ---- refusals

part "refusals"
ranks 2 2 train --config tiny.yaml --train.accumulate 3 --out refused
says err 'train.accumulate = 3 is not a multiple of the 2 ranks'
[ "$(grep -c '^orthant: ' err)" -eq 1 ] || fail "more than one rank gave the reason"
[ ! -e refused ] || fail "a start that was refused left a folder"
ranks 2 2 train --config tiny.yaml --train.accumulate 2 --train.seconds 1 --out refused
says err 'processor time needs a single rank'

# differ CODE SENTENCE WORD...: rank 1 has other words than rank 0, of the command in $told
differ() {
    code=$1 sentence=$2
    shift 2
    status=0
    mpirun --oversubscribe -n 1 "$orthant" $told --out refused : -n 1 "$orthant" $told --out refused "$@" >out 2>err || status=$?
    [ $status -eq "$code" ] || fail "ranks that differ ended with $status instead of $code: $told, and $*"
    says err "orthant: rank 1 on .*: $sentence"
    [ "$(grep -c '^orthant: ' err)" -eq 1 ] || fail "more than one rank gave the reason"
    [ ! -e refused ] || fail "ranks that differ left a folder: $told, and $*"
}
{ printf A; tail -c +2 text.txt; } >other.txt
for told in "train --config tiny.yaml --train.accumulate 2 --quiet" \
    "compare --config tiny.yaml --attention softmax --attention random --seeds 2 --quiet"; do
    differ 2 'the SHA-256 of the training text is ".*" here and ".*" on rank 0; copy the same file' --data.train other.txt
    differ 2 'train.lr is "0.002" here and "0.001" on rank 0; give every rank the same options' --train.lr 2e-3
    differ 2 '--out is "elsewhere" here and "refused" on rank 0' --out elsewhere
    if "$orthant" doctor | grep -q 'set *avx'; then
        differ 2 'the instruction set is "ref" here' --isa ref
    fi
done
differ 2 'the number of attentions is "3" here and "2" on rank 0' --attention dense
differ 2 'compare.seeds is "3" here and "2" on rank 0' --seeds 3
status=0
mpirun --oversubscribe -n 1 "$orthant" compare --config tiny.yaml --attention softmax --out refused : \
    -n 1 "$orthant" compare --config tiny.yaml --attention random --out refused >out 2>err || status=$?
[ $status -eq 2 ] || fail "ranks with two attentions ended with $status"
says err 'orthant: rank 1 on .*: --attention is "random" here and "softmax" on rank 0'
[ ! -e refused ] || fail "ranks with two attentions left a folder"
told="train --config tiny.yaml --train.accumulate 2 --quiet"
differ 2 '--resume is "on" here and "off" on rank 0' --resume
differ 2 'the SHA-256 of the tokenizer is ' --data.tokenizer byte
differ 2 'cluster.shard is "true" here and "false" on rank 0' --cluster.shard on
differ 1 'cannot read missing.txt' --data.train missing.txt
status=0
mpirun --oversubscribe -n 1 "$orthant" train --config tiny.yaml --out refused : \
    -n 1 "$orthant" compare --config tiny.yaml --out refused >out 2>err || status=$?
[ $status -eq 2 ] || fail "ranks with two commands ended with $status"
says err 'orthant: rank 1 on .*: the command is "compare" here and "train" on rank 0'
[ ! -e refused ] || fail "ranks with two commands left a folder"
status=0 began_waiting=$(date +%s)
mpirun --oversubscribe -n 1 "$orthant" $told --cluster.timeout 1 --out refused : -n 1 "$orthant" doctor >out 2>err || status=$?
[ $status -ne 0 ] || fail "a rank beside another command ended well"
# Which of the two notices it depends on who comes first: the rank that waits, or mpirun, where the other has gone.
grep -qE 'orthant: MPI_Init timed out after 10 s|did not call "init"' err ||
    fail "a rank that meets nobody is not reported"
[ $(($(date +%s) - began_waiting)) -le 60 ] || fail "a rank beside another command waited for long"
expect 0 $told --train.steps 1 --out there
ranks 2 2 $told --out there
says err 'there contains a run already'

# ---- faults

# workers: processes of the ranks below mpirun, number $pid
workers() {
    for stat in /proc/[0-9]*/stat; do
        awk -v parent="$pid" '$4 == parent && $2 == "(orthant)" { print $1 }' "$stat" 2>/dev/null || true
    done | sort -n
}

checkpointed() { # FOLDER STEP: is there a checkpoint of that step or a later one?
    newest=$(ls "$1" 2>/dev/null | sed -n 's/^checkpoint-0*\([0-9]*\)\.safetensors$/\1/p' | sort -n | tail -n 1)
    [ "${newest:-0}" -ge "$2" ]
}

# gives_up RANK FOLDER SENTENCE: that rank of those below mpirun, number $pid, hangs, and the others end
gives_up() {
    victim=$(workers | sed -n $(($1 + 1))p)
    kill -STOP "$victim"
    stopped=$(date +%s)
    status=0
    wait $pid || status=$?
    kill -KILL "$victim" 2>/dev/null || true
    [ $status -ne 0 ] || fail "$2: ranks that waited for ever ended well"
    [ $(($(date +%s) - stopped)) -le 120 ] || fail "$2: the wait for a rank that stands still had no end"
    says err "$3"
    ! grep -q 'rank \([0-9]*\) on [^ ]*: rank \1 ' err || fail "$2: a rank is named twice"
}

part "killed ranks"
options="--config tiny.yaml --train.accumulate 4 --train.batch 1 --train.steps 60 --train.checkpoint_every 1 $quickly"
expect 0 train $options --out whole
kills=0 wanted=${all:+20}
wanted=${wanted:-3}
draw=$(date +%N | sed 's/^0*//')
while [ $kills -lt "$wanted" ]; do
    folder=killed status=1 step=0
    rm -rf $folder
    mkdir $folder
    while [ $status -ne 0 ]; do
        draw=$(((draw * 1103515245 + 12345) % 2147483648))
        n=$((1 << draw / 65536 % 3))
        step=$((step + 1 + draw / 16777216 % 12))
        shard=$([ $((draw / 4096 % 2)) -eq 0 ] && echo on || echo off)
        mpirun --oversubscribe -n $n "$orthant" train $options --cluster.shard $shard --out $folder --resume >out 2>err </dev/null &
        pid=$!
        while kill -0 $pid 2>/dev/null && ! checkpointed $folder $step; do
            sleep 0.01
        done
        victim=$(workers | sed -n "$((draw / 1024 % n + 1))p")
        killed=$(date +%s)
        [ -z "$victim" ] || ! kill -KILL "$victim" 2>/dev/null || kills=$((kills + 1))
        status=0
        wait $pid || status=$?
        [ $(($(date +%s) - killed)) -le 10 ] || fail "a killed rank held up the others"
        [ $status -eq 0 ] || says err 'rank [0-9].* exited on signal 9'
        step=$(ls $folder | sed -n 's/^checkpoint-0*\([0-9]*\)\.safetensors$/\1/p' | sort -n | tail -n 1)
        step=${step:-0}
    done
    same $folder/model.safetensors whole/model.safetensors
done
echo "$kills kills: same bits"

part "a rank that hangs"
options="--config tiny.yaml --train.accumulate 2 --train.steps 1000000 --cluster.timeout 2 $quickly"
mpirun --oversubscribe -n 2 "$orthant" train $options --train.checkpoint_every 1 --out still >out 2>err </dev/null &
pid=$!
await $pid checkpointed still 2
gives_up 1 still '^orthant: rank 0 on [^:]* timed out after 2 s waiting for .* from rank 1:'

part "a job that is suspended, and goes on"
# Patience for a busy machine, on which a rank may stand still by itself.
options="--config tiny.yaml --train.accumulate 2 --train.steps 400 --train.checkpoint_every 100 --cluster.timeout 6 $quickly"
expect 0 train $options --out undisturbed
mpirun --oversubscribe -n 2 "$orthant" train $options --out suspended >out 2>err </dev/null &
pid=$!
await $pid checkpointed suspended 100
everyone=$(workers)
kill -STOP $everyone
sleep 8
kill -CONT $everyone
ended 0 $pid "a job that was suspended"
same undisturbed/model.safetensors suspended/model.safetensors

part "no room for the first rank's files"
status=0
mpirun --oversubscribe -n 2 sh -c 'ulimit -f 100; exec "$@"' sh "$orthant" train --config tiny.yaml --train.accumulate 2 \
    --train.checkpoint_every 5 --out full --quiet >out 2>err </dev/null || status=$?
[ $status -eq 1 ] || fail "a full disk ended with $status"
says err 'orthant: .*full/checkpoint.*safetensors'
[ "$(grep -c '^orthant: ' err)" -eq 1 ] || fail "a full disk is told more than once"

part "a stop"
options="--config tiny.yaml --train.accumulate 2 --train.steps 1000000 $quickly"
mpirun --oversubscribe -n 2 "$orthant" train $options --out stopped >out 2>err </dev/null &
pid=$!
until [ "$(workers | wc -l)" -eq 2 ] && [ -s stopped/log.jsonl ]; do
    kill -0 $pid || fail "ended before it was stopped"
    sleep 0.05
done
kill -TERM "$(workers | sed -n 2p)" # which tells the others
status=0
wait $pid || status=$?
[ $status -eq 143 ] || fail "a run that was stopped by SIGTERM ended with $status"
checkpointed stopped 1 || fail "a run that was stopped left no checkpoint"
part "whoever is told of a stop ends by the signal that it was"
cat >told.sh <<'END'
"$@" &
echo $! >pid.$OMPI_COMM_WORLD_RANK
wait $!
echo $? >>codes
END
catches() { # PID FILE: has it come so far that it catches SIGTERM?
    [ -s "$1" ] && caught=$(sed -n 's/^SigCgt:.*\(.\)...$/\1/p' "/proc/$(cat "$1")/status" 2>/dev/null) &&
        case $caught in [4567cdef]) ;; *) false ;; esac
}
told() { # RANK SIGNAL CODE DELAY WORD...: of three ranks that one gets the signal, all have the code
    rank=$1 signal=$2 code=$3 delay=$4
    shift 4
    rm -rf codes pid.* told
    mpirun --oversubscribe -n 3 sh told.sh "$orthant" "$@" --out told >out 2>err </dev/null &
    pid=$!
    await $pid catches pid.0
    await $pid catches pid.1
    await $pid catches pid.2
    await $pid [ -e told ] # all have joined: one that is stopped before is lost to the others, and mpirun ends the job
    sleep "$delay"
    kill "-$signal" "$(cat "pid.$rank")"
    ended 0 $pid "the script around three ranks"
    [ "$(grep -c "^$code\$" codes)" -eq 3 ] || fail "ranks ended with $(tr '\n' ' ' <codes)after SIG$signal to rank $rank"
}
forever="train --config tiny.yaml --train.accumulate 3 --train.steps 1000000 $quickly"
all="compare --config tiny.yaml --train.accumulate 3 --train.steps 100000 --attention softmax --attention linear --seeds 2 $quickly"
told 1 TERM 143 0 $forever
told 2 INT 130 1.5 $forever
told 0 HUP 129 0.2 $forever
told 0 TERM 143 0.2 $all
told 2 TERM 143 1.5 $all
told 1 INT 130 2 $all

# ---- comparisons

weights() { # FOLDER: digests of all runs, trials too, and of the items of those that have some
    (cd "$1" && find . -name result.json | sort | xargs grep -o '"weights": *"[0-9a-f]*"' &&
        find . -name items.safetensors | sort | xargs sha256sum)
}

results() { # FOLDER
    find "$1" -name result.json 2>/dev/null | wc -l
}

results_above() { # FOLDER COUNT
    [ "$(results "$1")" -gt "$2" ]
}

part "a comparison on 3 ranks"
comparison="compare --config tiny.yaml --attention softmax --attention random --seeds 2 --threads 1 --quiet \
    --compare.tune train.lr=1e-3,3e-3 --compare.tune_steps 10 --compare.vary split --compare.vary_seeds 2"
expect 0 $comparison --out alone
ranks 3 0 $comparison --out farmed
weights alone >a
weights farmed >b
[ "$(wc -l <a)" -ge 12 ] || fail "the comparison has too few runs"
same a b
[ "$(grep -c '^report ' out)" -eq 1 ] || fail "more than one rank printed the comparison"
cp text.txt copy.txt # a text may lie elsewhere on each host
comparison="compare --config tiny.yaml --attention softmax --seeds 2 --train.steps 5 $quickly --out own-paths"
mpirun --oversubscribe -n 1 "$orthant" $comparison : -n 1 "$orthant" $comparison --data.train copy.txt >out 2>err </dev/null ||
    fail "a rank whose text lies elsewhere took no part"

part "a comparison that starts from another one, on 3 ranks and on 2 that train together"
comparison="compare --config tiny.yaml --attention random --attention softmax --seeds 3 --threads 1 --quiet --init alone \
    --compare.tune train.lr=1e-3,3e-3 --compare.tune_steps 10 --train.accumulate 2 --train.batch 2"
expect 0 $comparison --out alone-after
ranks 3 0 $comparison --out farmed-after
ranks 2 0 $comparison --compare.ranks 2 --out group-after
says farmed-after/runs/attention-01/seed-2/init.json '"from": "alone/runs/attention-02/seed-2"'
weights alone-after >a
for folder in farmed-after group-after; do
    weights $folder >b
    same a b
done

part "a comparison that learns from a teacher, on 2 ranks and on 2 that train together"
expect 0 train --config tiny.yaml --train.steps 60 $quickly --out teacher
comparison="compare --config tiny.yaml --attention softmax --attention hedgehog --seeds 2 --threads 1 --quiet --init teacher \
    --distil.teacher teacher --distil.attention_steps 6 --train.steps 6 --train.accumulate 2 --train.batch 2"
expect 0 $comparison --out alone-taught
ranks 2 0 $comparison --out farmed-taught
ranks 2 0 $comparison --compare.ranks 2 --out group-taught
weights alone-taught >a
for folder in farmed-taught group-taught; do
    weights $folder >b
    same a b
    same alone-taught/runs/attention-02/seed-1/attention/model.safetensors $folder/runs/attention-02/seed-1/attention/model.safetensors
    [ ! -e $folder/runs/attention-01/seed-1/attention ] || fail "softmax learned its own outputs"
done

part "a comparison whose ranks are killed"
comparison="compare --config tiny.yaml --attention softmax --attention random --seeds 3 --threads 1 --quiet \
    --train.steps 600 --train.accumulate 2 --train.batch 2 --train.checkpoint_every 20"
expect 0 $comparison --out alone-long
for n in 3 2; do
    before=$(results killed-comparison)
    mpirun --oversubscribe -n $n "$orthant" $comparison --out killed-comparison >out 2>err </dev/null &
    pid=$!
    await $pid results_above killed-comparison "$before"
    kill -KILL "$(workers | sed -n 2p)"
    status=0
    wait $pid || status=$?
    [ $status -ne 0 ] || fail "a comparison whose rank was killed ended well"
    says err 'rank 1.* exited on signal 9'
done
ranks 4 0 $comparison --out killed-comparison
weights alone-long >a
weights killed-comparison >b
same a b

part "a comparison with two ranks a run"
mpirun --oversubscribe -n 4 "$orthant" $comparison --compare.ranks 2 --out groups >out 2>err </dev/null &
pid=$!
await $pid results_above groups 0
kill -KILL "$(workers | sed -n 2p)"
status=0
wait $pid || status=$?
[ $status -ne 0 ] || fail "a comparison whose rank was killed ended well"
ranks 2 0 $comparison --compare.ranks 2 --out groups
weights groups >b
same a b
ranks 3 2 $comparison --compare.ranks 2 --out refused-groups
says err '3 ranks cannot be divided into groups of compare.ranks = 2'
[ "$(grep -c '^orthant: ' err)" -eq 1 ] || fail "more than one rank refused groups"

part "no room for the model of a group: the first one, and another"
small="compare --config tiny.yaml --attention softmax --attention random --seeds 1 --compare.ranks 2 --train.accumulate 2 \
    --train.batch 1 --train.steps 1 --model.layers 4 --model.width 256 $quickly" # of 12 MB: MPI has files of its own
full() { # RANKS RANK: of so many, that one cannot write more than 8 MiB into a file
    rank=$2
    cat >limited <<'END'
[ "$OMPI_COMM_WORLD_RANK" != "$limited" ] || ulimit -f 16384
exec "$@"
END
    status=0 began_writing=$(date +%s)
    limited=$rank mpirun --oversubscribe -n "$1" sh limited "$orthant" $small --out full-group >out 2>err </dev/null || status=$?
    [ $status -eq 1 ] || fail "no room on rank $rank of a comparison in groups ended it with $status"
    says err "^orthant: rank $rank on [^:]*: cannot write full-group/.*model.safetensors"
    [ $(($(date +%s) - began_writing)) -le 100 ] || fail "no room on rank $rank held up the others"
    rm -r full-group
}
full 2 0 # there is no other group
full 4 0
full 4 2

part "the rank that runs a comparison hangs"
mpirun --oversubscribe -n 4 "$orthant" $comparison --compare.ranks 2 --cluster.timeout 5 --out held >out 2>err </dev/null &
pid=$!
await $pid results_above held 0
gives_up 0 held 'orthant: rank [1-3] on .*rank 0'

part "a rank of a comparison is asked to stop: one with a run, one in the tuning, one that has none, one that helps the first"
begun() { # FOLDER COUNT: that many runs are under way
    [ "$(find "$1" -name log.jsonl 2>/dev/null | wc -l)" -ge "$2" ]
}
asked() { # RANKS FOLDER COUNT SENTENCE WORD...: the last of these ranks, when that many runs are under way
    n=$1 folder=$2 count=$3 sentence=$4
    shift 4
    mpirun --oversubscribe -n "$n" "$orthant" "$@" --train.steps 2000 --out "$folder" >out 2>err </dev/null &
    pid=$!
    await $pid begun "$folder" "$count"
    kill -TERM "$(workers | sed -n "${n}p")"
    ended 143 $pid "a comparison of which a rank was asked to stop"
    says err "^orthant: ${sentence}"
    [ "$(results "$folder")" -lt 2 ] || fail "$folder: a comparison whose rank was asked to stop went on"
}
asked 3 asked 3 'rank 2 on .*: stopped by signal 15 after step' $comparison
asked 3 asked-tuning 3 'rank 2 on .*: stopped by signal 15 after step' $comparison --compare.tune train.lr=1e-3,3e-3
asked 3 asked-idle 2 'rank 2 on .*: stopped by signal 15; run the same command again' compare --config tiny.yaml --attention softmax \
    --seeds 2 --compare.uniform_baseline off --train.accumulate 2 $quickly
asked 2 asked-group 1 '.*stopped by signal 15' $comparison --compare.ranks 2

part "comparisons that are refused"
mkdir elsewhere
cp tiny.yaml elsewhere
cp other.txt elsewhere/text.txt
elsewhere() { # FOLDER SENTENCE: the second rank runs in another folder
    status=0
    mpirun --oversubscribe -n 1 "$orthant" $comparison --out "$1" : \
        -n 1 sh -c 'cd elsewhere && exec "$@"' sh "$orthant" $comparison --out "$1" >out 2>err || status=$?
    [ $status -ne 0 ] || fail "a rank elsewhere took part: $1"
    says err "orthant: rank 1 on .*: $2"
}
elsewhere "$PWD/refused-comparison" 'the SHA-256 of the training text is'
cp text.txt elsewhere
elsewhere refused-comparison-1 '.* does not exist here: a comparison on several hosts needs a folder that all of them see'
ranks 2 2 $comparison --equal time --out refused-comparison-2
says err 'equal time trains runs one after another on one machine'
[ "$(grep -c '^orthant: ' err)" -eq 1 ] || fail "more than one rank refused"
part "done"
