# SPDX-License-Identifier: Apache-2.0
# doctor, list, explain, plan, bench, attend: they say what they should, as text and as JSON.
. "$2/tests/cli/common"
text 20000

both() { # PATTERN WORD...
    pattern=$1
    shift
    if [ "$quick" != threads ]; then
        expect 0 "$@"
        says out "$pattern"
    fi
    expect 0 "$@" --json
    json out
}
both 'processor' doctor
both 'lowered by --isa ref\|does not offer' doctor --isa ref

# What is used is not listed as not used, and what is not is: with its reason, in text as in JSON.
for isa in auto ref avx2; do
    [ $isa != avx2 ] || "$orthant" doctor --isa avx2 | grep -q '^set  *avx2' || continue
    expect 0 doctor --isa $isa
    sed -n 's/^ *not \([a-z0-9]*\): \(.*\)/\1 \2/p' out | sort >printed
    expect 0 doctor --isa $isa --json
    sed -n '/"not_used": {/,/}/s/^    "\([a-z0-9]*\)": "\(.*\)",*$/\1 \2/p' out | sort >listed
    same printed listed
    used=$(sed -n 's/^  "isa": "\(.*\)",$/\1/p' out)
    { cut -d ' ' -f 1 listed; printf 'ref avx2 avx512 amx' | sed "s/$used.*/$used/" | tr ' ' '\n'; } | sort >all
    [ "$(tr '\n' ' ' <all)" = "amx avx2 avx512 ref " ] || fail "with --isa $isa, which is $used: $(tr '\n' ' ' <all)"
done

# One core that the process may run on: so many cores, and threads by default.
if command -v taskset >/dev/null && core=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/') && taskset -c "$core" true; then
    taskset -c "$core" "$orthant" doctor >out
    says out '^cores  *1 usable'
    says out '^threads  *1$'
    [ "$(nproc)" -eq 1 ] || says out '^cores .* affinity mask of the process has 1 of '
    taskset -c "$core" "$orthant" doctor --threads 2 >out
    says out '^threads  *2, more than the usable cores'
    # Two threads on one core take turns, so each waits for half of the time: that is reported, and nothing is twice as
    # fast as on one thread. (Of one product's peak both tell: what other programs do there would be in both.)
    if [ -z "$quick" ]; then
        taskset -c "$core" "$orthant" bench --peak --threads 2 --json >out
        awk -F'[:,]' '/"f32_one":/ { one = $2 } /"f32_all":/ { all = $2 } END { exit !(one > 0 && all < 1.4 * one) }' out ||
            fail "two threads on one core have $(cat out)"
        taskset -c "$core" "$orthant" bench --step --config tiny.yaml --model.width 128 --threads 2 --json >out 2>err
        says out '"busy": true'
        says out '"clock": "processor"'
        taskset -c "$core" "$orthant" bench --step --config tiny.yaml --model.width 128 --threads 2 --clock wall \
            --json >out 2>err
        says out '"busy": true'
        says out '"clock": "wall"'
        taskset -c "$core" "$orthant" plan --config tiny.yaml --model.width 128 --threads 2 >out 2>err
        says out '^The machine is busy: '
        says out 'with 2 threads'
    fi
    taskset -c "$core" "$orthant" doctor --json >out
    says out '"cores": 1,'
    says out '"cores_affinity": 1,'
fi
both 'softmax' list
both 'Random Synthesizer' explain 'random + softmax'
both 'vocabulary 96' plan --config tiny.yaml --model.vocabulary 96 --attention softmax --quiet
if [ "$quick" != threads ]; then
    expect 0 plan --config tiny.yaml --attention softmax --attention random --attention polysketch --quiet
    says out 'no.faster.than.softmax'
fi
both 'GFLOP/s' bench --peak
"$orthant" bench --peak >out 2>err &
pid=$!
sleep 0.3 # of the second that it takes: earlier a signal would end it by itself
kill -TERM $pid
ended 143 $pid "bench --peak after SIGTERM"
"$orthant" bench --kernels >out 2>err &
pid=$!
await $pid grep -q -s ', f32, ' err
kill -TERM $pid
ended 143 $pid "bench --kernels after SIGTERM"
says out '^kernel '
says out 'Stopped by signal 15: kernels are missing'
! grep -q ' bf16 ' out || fail "kernels in f32 were all measured before the bench ended"
rm out err # or what the last bench printed would be read
"$orthant" bench --kernels --json >out 2>err &
pid=$!
await $pid grep -q -s ', f32, ' err
kill -INT $pid
ended 130 $pid "bench --kernels --json after SIGINT"
json out
tail -n 5 out | tr -d ' \n' | grep -q '{"interrupted":true,"signal":2}\]$' || fail "rows that are missing are not reported"
both 'softmax' bench --attention softmax --attention linear --lengths 16,32,64 --tokens 128 --width 32 --heads 2 --quiet
says out '"interrupted": false'

# Where a step's time goes: parts and what is between them are the whole, and a floor is that of its operations.
both 'decoder..attention\|"decoder: attention"' bench --step --config tiny.yaml --quiet
says out '"interrupted": false'
says out '"schema": "orthant.step/1"'
if command -v python3 >/dev/null; then
    python3 - <<'EOF' || fail "the parts of a step are not the step"
import json
s = json.load(open("out"))
time = lambda rows: sum(p["forward"] + p["backward"] for p in rows)
close = lambda a, b: abs(a - b) <= 1e-9 * abs(b)
assert s["busy"] == (s["held_up"] > 0.15) and 0 <= s["held_up"] < 1 and s["wall_seconds"] > 0
assert s["clock"] == ("processor" if s["busy"] else "wall")
assert close(time(s["parts"]), time(s["operations"]))
assert close(max(0, s["seconds"] - time(s["parts"])) + 1, s["between"] + 1)
assert close(sum(p["floor"] for p in s["parts"]), s["floor"])
assert close(sum(p["traffic"] for p in s["parts"]), sum(p["bytes"] for p in s["parts"]) / s["peak_bytes"])
for p in s["operations"]:
    assert max(p["arithmetic"], p["traffic"]) <= p["floor"] * (1 + 1e-9) <= (p["arithmetic"] + p["traffic"]) * (1 + 2e-9)
EOF
fi
expect 2 bench --model.layers 2
says err 'need --step'
expect 2 bench --step --width 64
says err 'has no effect: --step times the run'
expect 0 bench --step --config tiny.yaml --clock processor --train.precision f64 --quiet
says out 'processor time'

# Writing: a step's bytes are those of the weights, once for all sequences, and of what grows with these; rates are
# those of the times.
both 'sequences' bench --decode --config tiny.yaml --sequences 1,2,3 --train.precision bf16 --quiet
says out '"schema": "orthant.decode/1"'
expect 0 bench --decode --config tiny.yaml --sequences 1,2,3 --train.precision bf16 --model.layers 3 --model.width 64 \
    --model.heads 2 --model.context 32 --model.vocabulary 4096 --attention softmax --attention linear --quiet --json
if command -v python3 >/dev/null; then
    python3 - <<'EOF' || fail "bench --decode counts otherwise"
import json
s = json.load(open("out"))
rows = s["rows"]
close = lambda a, b: abs(a - b) <= 1e-9 * abs(b)
assert [(r["attention"], r["sequences"]) for r in rows] == [(a, n) for a in ("softmax", "linear") for n in (1, 2, 3)]
weights = 2 * (3 * 12 * 64 * 64 + 4096 * 64)
for one, two, three in (rows[:3], rows[3:]):
    own = two["bytes"] - one["bytes"]
    assert 0 < one["flops"] - weights < 0.1 * weights, (one["flops"], weights) # 2 FLOPs for each number of 2 bytes
    assert close(three["flops"], 3 * one["flops"])
    assert close(three["bytes"] - two["bytes"], own) and own > 4 * 4096, own
    assert abs(one["bytes"] - own - weights) < 0.02 * weights, (one["bytes"], own, weights)
state = 3 * 2 * (32 * 32 + 32 + 1) * 2 * 4 # layers, heads, S and z and a scale, read and written as floats
assert rows[4]["bytes"] - rows[3]["bytes"] > state + 4 * 4096
for r in rows:
    assert close(r["tokens_per_second"], r["sequences"] / r["seconds"])
    assert close(r["floor"], max(r["bytes"] / r["bytes_per_second"], r["flops"] / r["flops_per_second"]))
EOF
fi
expect 0 bench --decode --config tiny.yaml --sequences 64 --train.precision f32 --model.layers 2 --model.width 128 \
    --model.heads 2 --model.context 32 --quiet --json
if command -v python3 >/dev/null; then
    python3 - <<'EOF' || fail "many sequences have a floor that arithmetic does not reach"
import json
(r,) = json.load(open("out"))["rows"]
assert r["floor"] * r["flops_per_second"] >= r["flops"] * (1 - 1e-9), r
EOF
fi
# A query reads the keys that it sees, and so many products are counted.
expect 0 bench --decode --config tiny.yaml --sequences 1 --after 70 --train.precision bf16 --model.layers 3 --model.width 64 \
    --model.heads 2 --model.context 128 --attention softmax --attention 'bigbird(block=8, random=1)' --quiet --json
if command -v python3 >/dev/null; then
    python3 - <<'EOF' || fail "what a query of bigbird does not see is counted"
import json
all, some = json.load(open("out"))["rows"]
heads, width = 3 * 2, 32
unseen = (all["flops"] - some["flops"]) / (heads * (2 * width + 2 * width + 5))
unread = (all["bytes"] - some["bytes"]) / (heads * 2 * width * 2)
assert abs(unseen - unread) < 1e-6 and 20 < unseen < 70, (unseen, unread)
EOF
fi
expect 2 bench --decode --config tiny.yaml --sequences 1,2 --attention softmax --attention sofmax
says err 'sofmax'
! grep -q timing err || fail "an attention that does not exist is found after others were timed"
expect 2 bench --decode --config tiny.yaml --width 64
says err 'has no effect: --decode times the model'
expect 2 bench --sequences 3
says err 'it needs --decode'
expect 2 bench --decode --config tiny.yaml --sequences 3,5000
says err 'give 1 to 4096'
expect 2 bench --decode --config tiny.yaml --after 100000
says err 'is too short for .* give --after 0 to'
expect 2 bench --decode --config tiny.yaml --model.context 16
says err 'model.context = 16 is too short for the 26 tokens that bench --decode reads; give at least 26'
expect 0 bench --decode --config tiny.yaml --model.context 64 --after 30 --clock processor --sequences 1 --quiet
says out 'after 30 tokens.*processor time'

# A bench that is stopped shows what it has, be it nothing yet, and says that it is not all.
stopped_bench() { # SIGNAL CODE SECONDS WORD...
    signal=$1 code=$2 delay=$3
    shift 3
    rm -f err
    "$orthant" bench --attention linear --attention softmax --lengths 16,24,32,40,48,56,64,72,80,88,96,104,112,120,128 \
        --tokens 4096 --width 64 --heads 2 "$@" >out 2>err &
    pid=$!
    await $pid grep -q -s peaks err
    sleep "$delay"
    kill -$signal $pid
    ended "$code" $pid "a bench after SIG$signal"
}

# How long the first measurement takes is not known: each try waits longer, until the output shows one.
seconds=1
stopped_after_one() { # PATTERN WORD...
    pattern=$1
    shift
    stopped_bench INT 130 $seconds "$@"
    until grep -q "$pattern" out; do
        seconds=$((seconds * 2))
        [ $seconds -le 256 ] || fail "no measurement in $((seconds / 2)) seconds"
        stopped_bench INT 130 $seconds "$@"
    done
}
# At once; on a busy machine the signal may come after the first measurement.
stopped_before_one() { # PATTERN OF A MEASUREMENT, WORD...
    pattern=$1 tries=0
    shift
    stopped_bench TERM 143 0 "$@"
    while grep -q "$pattern" out; do
        tries=$((tries + 1))
        [ $tries -lt 20 ] || fail "there are measurements however early it is stopped"
        stopped_bench TERM 143 0 "$@"
    done
}
stopped_before_one 'Stopped after [1-9]'
says out 'Stopped after 0 of 30 measurements'
stopped_before_one '"length": ' --json
json out
says out '"interrupted": true'
! grep -q 'exponent": [0-9]' out || fail "an exponent without a measurement"
if [ -z "$quick" ]; then
    stopped_after_one 'Stopped after [1-9][0-9]* of 30'
    says out '^linear  *16 .* –'
    stopped_after_one '"length": 16' --json
    json out
    says out '"time_of_softmax": null'
fi

# Time is measured with the instruction set that is asked for: plain C takes several times as long as vectors.
of_plan() { # FIELD WORD...: of the plan for one attention
    field=$1
    shift
    expect 0 plan --config tiny.yaml --model.width 128 --threads 1 --json "$@"
    grep -o "\"$field\": [0-9.e+-]*" out | head -n 1 | sed 's/.*: //'
}
if [ -z "$quick" ] && "$orthant" doctor | grep -q '^set  *a'; then
    plain=$(of_plan processor --isa ref)
    says out '"isa": "ref"'
    vectors=$(of_plan processor)
    awk -v p="$plain" -v v="$vectors" 'BEGIN { exit !(p > 1.5 * v && v > 0) }' ||
        fail "a step takes $plain s in plain C and $vectors s with vectors"
    awk -v a="$(of_plan processor --train.batch 4)" -v b="$(of_plan processor --train.batch 32)" \
        'BEGIN { exit !(b > 2 * a) }' || fail "eight times as many rows take as long"
    # What plan measures is what train takes, by processor time: the wall's is other programs' affair.
    measured=$(of_plan processor --train.batch 32)
    says out '"source": "measured"'
    expect 0 train --config tiny.yaml --model.width 128 --threads 1 --train.batch 32 --train.steps 40 \
        --train.eval_every 40 --out timed --json
    awk -v p="$measured" -v t="$(grep -o '"processor_seconds": [0-9.e+-]*' out | head -n 1 | sed 's/.*: //')" \
        'BEGIN { exit !(t / 40 > p / 2 && t / 40 < 3 * p) }' || fail "planned $measured s of processor time: $(cat out)"
fi
# Where the whole step would take too long a part of it is made, and the time is scaled.
if [ -z "$quick" ]; then
    expect 0 plan --config tiny.yaml --model.width 256 --train.batch 100000 --json
    says out '"source": "scaled"'
    expect 0 plan --config tiny.yaml --model.width 256 --train.batch 100000
    says out 'of 100000 rows'
fi

# The table of a plan is its JSON, but for the times, which are taken anew; a training by the clock takes the time it is given.
if command -v python3 >/dev/null; then
    plan="plan --config tiny.yaml --attention softmax --attention polysketch --attention random --quiet"
    expect 0 $plan --train.seconds 5400
    cp out page
    [ "$(grep -c ' 1 h 30 min$' page)" -eq 3 ] || fail "not three trainings of an hour and a half"
    expect 0 $plan --train.seconds 5400 --json
    python3 - <<'END' || fail "the table of a plan is not its JSON: $(cat page)"
import json, re
unit = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, " B": 1, " KiB": 1024, " MiB": 1024**2, " GiB": 1024**3}
rows = {r["attention"]: r for r in json.load(open("out"))["attentions"]}
seen = 0
for line in open("page"):
    cells = re.split(r"  +", line.rstrip())
    if cells[0] not in rows or len(cells) != 8:
        continue
    row, seen = rows[cells[0]], seen + 1
    for cell, key in zip(cells[1:6], ("trainable", "frozen", "flops_per_step", "memory_parameters", "memory_step")):
        number, of = re.fullmatch(r"([0-9.]+)( ?[A-Za-z]*)", cell).groups()
        assert abs(float(number) * unit[of] - row[key]) <= 0.006 * row[key], (line, key, row[key])
    assert row["seconds"] == 5400
assert seen == 3 == len({r["memory_step"] for r in rows.values()})
END
    expect 0 plan --config tiny.yaml --json
    python3 -c 'import json; r = json.load(open("out"))["attentions"][0]; assert abs(r["seconds"] / r["seconds_per_step"] - 30) < 1e-6' ||
        fail "30 steps take another time than 30 steps"
fi

# What plan says is what training takes.
expect 0 plan --config tiny.yaml --attention 'local(window=8)' --json
number() {
    grep -o "\"$2\": [0-9.e+]*" "$1" | head -n 1 | sed 's/.*: //'
}
planned=$(awk -v a="$(number out memory_parameters)" -v b="$(number out memory_step)" 'BEGIN { print a + b }')
expect 0 train --config tiny.yaml --attention 'local(window=8)' --out run --json
json out
awk -v p="$planned" -v m="$(number out peak_memory)" 'BEGIN { exit !(p > 0.9 * m && p < 1.1 * m) }' ||
    fail "planned $planned bytes, took $(number out peak_memory)"

expect 0 attend softmax --in "$source/tests/golden/softmax-causal.safetensors" --out y.safetensors --causal --weights
[ -s y.safetensors ] || fail "attend wrote nothing"

# Token by token it is the same y, and without --causal there are later tokens that cannot be seen.
values() { # FILE OF F32 TENSORS: one number to a line
    header=$(od -A n -t u8 -N 8 "$1")
    od -A n -v -t f4 -w4 -j $((header + 8)) "$1"
}
golden=$source/tests/golden/softmax-causal.safetensors
expect 0 attend softmax --in "$golden" --out whole.safetensors --causal
expect 0 attend softmax --in "$golden" --out steps.safetensors --causal --steps
values whole.safetensors >whole
values steps.safetensors >steps
[ "$(grep -c . whole)" -eq "$(grep -c . steps)" ] || fail "attend --steps writes other tensors"
paste whole steps | awk '
    { off = $1 - $2; off = off < 0 ? -off : off }
    off > worst { worst = off }
    $1 > most { most = $1 }
    END { exit !(most > 0.1 && worst < 1e-5) }' || fail "attend --steps gives another y"
expect 1 attend softmax --in "$golden" --out steps.safetensors --steps
says err 'needs causal self-attention'

# Features fitted to a sequence would see its future.
expect 1 attend 'performer(kernel=favor++, features=8)' --in "$source/tests/golden/performer-favor++.safetensors" \
    --out y.safetensors --causal
says err 'needs frozen statistics to be causal'
