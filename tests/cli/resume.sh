# SPDX-License-Identifier: Apache-2.0
# A run that is stopped and goes on ends with the bits of one that was not stopped.
. "$2/tests/cli/common"

# A run takes the layout file of its attention along: moved to a folder without the file, it is read and resumed.
text 6000
printf '1\n' >layout.txt
laid="--data.train $work/text.txt --model.attention block-sparse(block=16,layout=layout.txt) --model.layers 1 --model.width 16"
laid="$laid --model.heads 2 --model.context 16 --train.batch 2 --train.warmup 1 --train.schedule constant --data.tokenizer char --quiet"
expect 0 train $laid --train.steps 6 --out laid
rm laid/model.safetensors
mkdir moved
mv laid moved/laid
expect 0 generate moved/laid --tokens 5
cp out written
mv layout.txt aside
expect 0 generate moved/laid --tokens 5
same out written
expect 0 train --resume --out moved/laid --train.steps 9 --quiet
mv aside layout.txt
expect 0 train $laid --train.steps 9 --out whole
cmp -s whole/model.safetensors moved/laid/model.safetensors || fail "a moved run is resumed with another layout"
rm moved/laid/layout-*.txt moved/laid/model.safetensors # as older programs left it
expect 1 generate moved/laid --tokens 5
says err 'no copy of the layout file'
expect 0 train --resume --out moved/laid --quiet
rm -r moved whole layout.txt

# Going on with other arithmetic is reported, with the same it is not.
plain=$(echo "$laid" | sed 's/--model.attention [^ ]* //; s/ --quiet//')
expect 0 train $plain --train.steps 3 --isa ref --out begun
expect 0 train --resume --isa ref --train.steps 6 --out begun
says err 'begun: resuming after step 3 of 6'
! grep -q 'made with' err || fail "the same arithmetic is reported as another"
expect 0 train --resume --train.steps 9 --out begun
says err 'begun: the first 6 steps were made with .*, ref.*, the others are made with .*: they round differently'
rm -r begun
text 30000

expect 0 train --config tiny.yaml --out whole
[ -f whole/config.json ] && [ -f whole/tokenizer.json ] && [ -f whole/log.jsonl ] || fail "files of a run are missing"

# In two sittings: the first is told to stop at half the way by a signal.
checkpointed() {
    ls "$1"/checkpoint-*.safetensors >/dev/null 2>&1
}
stopped() { # SIGNAL CODE
    "$orthant" train --config tiny.yaml --out "$1" --train.checkpoint_every 1 --train.steps 100000 >out 2>err &
    pid=$!
    await $pid checkpointed "$1"
    kill "-$1" $pid
    ended "$2" $pid "a run after SIG$1"
    checkpointed "$1" || fail "SIG$1 left no checkpoint"
    [ ! -f "$1/model.safetensors" ] || fail "SIG$1 left a model that is not ready"
}
stopped INT 130
stopped TERM 143
stopped PIPE 141

# The time left is that of the steps that are left at the pace of this sitting: at its first step, one step's time for each.
expect 0 train --config tiny.yaml --train.steps 60 --out paced
rm -f out err # of the last command
"$orthant" train --resume --out paced --train.steps 5000000 >out 2>err &
pid=$!
await $pid grep -q ' left' err
kill -INT $pid
ended 130 $pid "a lengthened run after SIGINT"
grep -m 1 ' left' err | sed 's|.*step \([0-9]*\)/\([0-9]*\), .*, \([0-9]*\) tokens/s, \([0-9]*\):\([0-9]*\) left|\1 \2 \3 \4 \5|' |
    awk '{ wanted = ($2 - $1) * 4 * 32 / $3; left = 60 * $4 + $5; exit !(wanted > 60 && left > wanted / 3 && left < 3 * wanted) }' ||
    fail "the time left of a lengthened run: $(grep -m 1 ' left' err)"

# A hangup comes from the kernel and from the shell, one after the other; a run that nohup started hears none.
"$orthant" train --config tiny.yaml --out HUP --train.checkpoint_every 1 --train.steps 100000 >out 2>err &
pid=$!
await $pid checkpointed HUP
kill -HUP $pid
kill -HUP $pid 2>/dev/null || true
ended 129 $pid "a run after two SIGHUPs"
says err 'stopped by signal 1 after step [0-9]*; run it again with --resume to continue'
nohup "$orthant" train --config tiny.yaml --out nohup --train.checkpoint_every 1 --train.steps 100000 >out 2>err </dev/null &
pid=$!
await $pid checkpointed nohup
kill -HUP $pid
newest=$(ls nohup | sed -n 's/^checkpoint-//p' | tail -n 1)
later() { [ "$(ls nohup | sed -n 's/^checkpoint-//p' | tail -n 1)" != "$newest" ]; }
await $pid later
kill -TERM $pid
ended 143 $pid "a run of nohup after SIGTERM"

# The reader of what is printed leaves: the run is saved, and nothing is said of a broken pipe.
mkfifo pipe
"$orthant" train --config tiny.yaml --out left --train.steps 10000000 >out 2>pipe </dev/null &
pid=$!
head -n 1 <pipe >/dev/null
ended 141 $pid "a run whose reader left"
checkpointed left || fail "a run whose reader left is not saved"
mkfifo ids
cat text.txt text.txt text.txt text.txt text.txt text.txt >long.txt # more ids than a pipe holds
"$orthant" tokenizer encode whole/tokenizer.json --data long.txt >ids 2>err </dev/null &
pid=$!
head -c 1 <ids >/dev/null
ended 141 $pid "a command whose reader left"
[ ! -s err ] || fail "a reader that left is told of"

# Such a run can be used: its newest checkpoint is, and that is said. What remains of a finished run is the same model.
step=$(ls INT | sed -n 's/^checkpoint-0*\([0-9]*\).*/\1/p' | sort -n | tail -n 1)
for words in "eval INT" "generate INT --tokens 3" "inspect INT --text To"; do
    expect 0 $words
    says err "^orthant: INT has not ended: using the checkpoint of step $step"
    expect 0 $words --json
    says out "\"checkpoint\": $step"
done
for model in "f32 softmax" "bf16 softmax" "f64 performer(kernel=favor++)" "f32 orthogonal(qk=hd3)"; do
    expect 0 train --config tiny.yaml --out used --overwrite --train.precision ${model%% *} --train.steps 5 --attention "${model#* }" --quiet
    for words in "eval used" "generate used --tokens 20" "inspect used --text To"; do
        expect 0 $words
        cp out finished
        mv used/model.safetensors aside
        expect 0 $words
        same out finished
        says err 'used has not ended: using the checkpoint of step 5'
        mv aside used/model.safetensors
    done
done
ln -s nowhere moved && rm used/model.safetensors && mv moved used/model.safetensors
expect 1 eval used
says err 'used/model.safetensors: .*No such file' # and not the checkpoint: the run has ended, elsewhere
rm used/model.safetensors used/checkpoint-*
expect 1 eval used
says err 'has not ended: there is neither model.safetensors nor a checkpoint'

# The steps that a run is cut into do not matter.
expect 0 train --config tiny.yaml --out parts --train.steps 10 --train.schedule constant
expect 0 train --resume --out parts --train.steps 21
expect 0 train --resume --out parts --train.steps 30
expect 0 train --config tiny.yaml --out one --train.schedule constant
same parts/model.safetensors one/model.safetensors
grep -o '"step": [0-9]*' parts/log.jsonl >steps
[ -s steps ] || fail "no step is logged"
[ -z "$(sort steps | uniq -d)" ] || fail "a step is logged twice"

# A run by the clock can be lengthened too, and not be cut down to less than it has used.
timed="--config tiny.yaml --train.warmup 1 --train.clock wall"
expect 0 train $timed --train.seconds 0.1 --out timed
before=$(grep -c . timed/log.jsonl)
expect 0 train --resume --train.seconds 0.4 --out timed
says err 'timed: train.seconds was 0.1 and is now 0.4: the learning rate follows the new schedule'
says err 'resuming after step [0-9]*, 0[.0-9]* of 0.4 seconds'
[ "$(grep -c . timed/log.jsonl)" -gt "$before" ] || fail "a run that got more time made no step"
says timed/pace.json '"budget_changed_after_step":[1-9]'
expect 2 train --resume --train.seconds 0.2 --out timed
says err 'timed has used [0-9.]* seconds already, but train.seconds is 0.2: give at least as many'
expect 2 train --resume --train.seconds 0 --out timed
says err 'begun with train.seconds = 0.4'
expect 2 train --resume --train.seconds 1 --out whole
says err 'begun with train.seconds = 0'
expect 2 train $timed --train.pace timed/pace.json --out repeated
says err 'cannot be repeated'

# Features that training draws again, and averages that it keeps, go on as well; they are part of the model.
moving='performer(kernel=sderf, features=6, redraw=4)'
expect 0 train --config tiny.yaml --attention "$moving" --out moving --train.steps 10 --train.schedule constant
expect 0 train --resume --out moving --train.steps 15
expect 0 train --config tiny.yaml --attention "$moving" --out moved --train.steps 15 --train.schedule constant
same moving/model.safetensors moved/model.safetensors
for tensor in omega mean square; do
    grep -aq "features.$tensor" moved/model.safetensors || fail "features.$tensor is not saved"
done
trained=$(grep -o '"valid_loss": [0-9.]*' moved/log.jsonl | tail -n 1 | sed 's/.*: //')
[ -n "$trained" ] || fail "the log has no validation loss"
expect 0 eval moved --json
grep -q "\"loss\": ${trained%????}" out || fail "eval does not find the loss $trained of training"
# … also without the parameters that the seed gives again.
expect 0 train --config tiny.yaml --attention "$moving" --out lean --train.steps 15 --train.schedule constant \
    --train.save_frozen false
for tensor in omega mean square; do
    grep -aq "features.$tensor" lean/model.safetensors || fail "features.$tensor is not saved without frozen parameters"
done
expect 0 eval lean --json
grep -q "\"loss\": ${trained%????}" out || fail "eval does not find the loss $trained of training without frozen parameters"
expect 0 train --config tiny.yaml --attention 'performer(kernel=sderf, features=6)' --out still --train.steps 15 \
    --train.schedule constant
cmp -s moved/model.safetensors still/model.safetensors && fail "redraw does nothing"

# A run that has ended is not begun again by accident, and does not change when it is resumed.
expect 2 train --config tiny.yaml --out whole
says err 'contains a run already'
cp whole/model.safetensors before
expect 0 train --resume --out whole
same before whole/model.safetensors

# A sitting in which nothing was left to do is as fast as the log says that the steps were: the median over its lines.
expect 0 train --resume --json --out whole
! command -v python3 >/dev/null || python3 - <<'END' || fail "tokens/s of a sitting without a step"
import json
lines = [json.loads(line) for line in open("whole/log.jsonl")]
steps = sorted((b["seconds"] - a["seconds"]) / (b["step"] - a["step"]) for a, b in zip(lines, lines[1:]))
expected = lines[-1]["tokens"] / lines[-1]["step"] / steps[len(steps) // 2]
found = json.load(open("out"))["tokens_per_second"]
assert abs(found / expected - 1) < 1e-6, (found, expected)
END

# Other options are another run.
expect 2 train --resume --config tiny.yaml --model.width 64 --out whole
says err 'model.width'
expect 2 train --resume --config tiny.yaml --attention 'local(window=8)' --out whole
says err 'model.attention'
head -c 40000 "$source/data/tinyshakespeare.txt" | tail -c 30000 >other.txt
expect 2 train --resume --config tiny.yaml --data.train other.txt --out whole
says err 'other training text'
same before whole/model.safetensors

# The event file for TensorBoard holds no step twice, however the run was cut.
for steps in 10 21 30; do
    resume=--resume
    [ $steps -ne 10 ] || resume=
    expect 0 train --config tiny.yaml --out events --train.steps $steps --train.schedule constant --train.tensorboard true $resume
    rm -f events/model.safetensors
    [ $steps -ne 21 ] || rm events/checkpoint-000000021.safetensors
done
lines=$(grep -c . events/log.jsonl)
[ "$(grep -ao loss/train events/events.out.tfevents.orthant | wc -l)" -eq "$lines" ] || fail "not $lines events"
[ ! -e whole/events.out.tfevents.orthant ] || fail "events that nobody asked for"
