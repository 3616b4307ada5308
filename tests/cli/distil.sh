# SPDX-License-Identifier: Apache-2.0
# distil: what it reports is what eval says of the runs; one that was killed in either stage ends with the same bits.
. "$2/tests/cli/common"
text 30000
expect 0 train --config tiny.yaml --quiet --model.dropout 0 --train.steps 150 --train.lr 5e-3 --out teacher
cat >distil.yaml <<'END'
data: {train: text.txt}
train: {batch: 4, steps: 40, eval_every: 0, final_tokens: 0, log_every: 1}
distil: {attention_steps: 60}
END
loss_of() { # RUN
    expect 0 eval "$1" --json
    sed -n 's/.*"loss": \([0-9.]*[0-9]\).*/\1/p' out
}
member() { # NAME: the first with this name in out
    sed -n "s/.*\"$1\": \(-\{0,1\}[0-9.e-]*[0-9]\).*/\1/p" out | head -n 1
}
is_near() { # A B
    echo "$1 $2" | awk '{ exit !($1 > 1 && ($1 - $2) ^ 2 < 1e-9) }' || fail "$1 is not $2"
}

expect 0 distil --config distil.yaml --teacher teacher --student "hedgehog ; softmax" --out d --json
json out
cp out report
[ "$(tr -d ' \n' <report)" = "$(tr -d ' \n' <d/distil.json)" ] || fail "distil.json is not what was printed"
before=$(member exchanged_loss) teacher=$(member teacher_loss)
sed -n 's/.*"loss": \([0-9.]*[0-9]\).*/\1/p' report >losses
sed -n 's/.*"recovered": \([0-9.-]*[0-9]\).*/\1/p' report >shares
paste losses shares | awk -v a="$before" -v t="$teacher" '{ exit !(($2 - (a - $1) / (a - t)) ^ 2 < 1e-12) }' ||
    fail "the recovered share is not that of the losses"
[ "$(wc -l <losses)" = 2 ] || fail "there are not two stages"
is_near "$(loss_of teacher)" "$teacher"
is_near "$(loss_of d/attention)" "$(sed -n 1p losses)"
is_near "$(loss_of d)" "$(sed -n 2p losses)"
expect 0 swap teacher --attention "hedgehog ; softmax" --out swapped
is_near "$(loss_of swapped)" "$before"
sort -g losses | head -n 1 | awk -v a="$before" '{ exit !($1 < a) }' || fail "nothing was learned"
expect 0 distil --config distil.yaml --teacher teacher --student "hedgehog ; softmax" --out d
says out '^after attention  *[0-9.]*  *-\{0,1\}[0-9.]* %  *60  '
says out '^after output  *[0-9.]*  *-\{0,1\}[0-9.]* %  *40  '
expect 0 generate d --prompt "O" --tokens 3

# Killed once in each stage.
for log in e/attention/log.jsonl e/log.jsonl; do
    "$orthant" distil --config distil.yaml --train.checkpoint_every 1 --teacher teacher --student "hedgehog ; softmax" --out e >out 2>err &
    process=$!
    lines() { [ -s $log ] && [ "$(wc -l <$log)" -ge 5 ]; }
    await $process lines
    kill -9 $process
    wait $process || true
done
expect 0 distil --config distil.yaml --teacher teacher --student "hedgehog ; softmax" --out e
says err 'resuming after step'
same d/model.safetensors e/model.safetensors
same d/attention/model.safetensors e/attention/model.safetensors
expect 0 distil --config distil.yaml --threads 1 --teacher teacher --student "hedgehog ; softmax" --out f --quiet
same d/model.safetensors f/model.safetensors

# A part of the model, and what is refused.
expect 0 distil --config distil.yaml --teacher teacher --student "hedgehog ; softmax" --train.only "*.0.attention.*" --out part --quiet
expect 2 distil --config distil.yaml --teacher teacher --student "hedgehog ; softmax" --train.only "*.atention.*" --out x --quiet
says err 'train.only: no parameter has a name like'
[ ! -e x ] || fail "a wrong train.only was noticed after the first stage"
expect 1 distil --config distil.yaml --teacher nowhere --student hedgehog --out x
says err 'nowhere'
for same in softmax 'softmax(init=haar)'; do
    expect 2 distil --config distil.yaml --teacher teacher --student "$same" --out x
    says err 'the student has the attention of the teacher in every layer'
done
expect 2 distil --config distil.yaml --teacher teacher --student hedgehog --out teacher
says err 'choose another folder\|the folder of the new run'
expect 2 distil --config distil.yaml --teacher teacher --student hedgehog --out d
says err 'begun with'
expect 2 distil --config distil.yaml --teacher teacher --out x
says err 'distil needs --teacher RUN, --student SPEC and --out FOLDER'
# A classifier; its classes are those of the teacher.
awk 'BEGIN { srand(3); for (i = 0; i < 200; i++) { s = ""; n = 0
    for (j = 0; j < 8; j++) { y = rand() < 0.5; n += y; s = s (y ? "a" : "b") } print (n > 4 ? "many" : n < 4 ? "few" : "half") "\t" s } }' >counts.tsv
classes="--task classify --data.train counts.tsv --data.tokenizer char --model.layers 2 --model.width 16 --model.heads 2 --model.context 16 \
    --model.pool mean --train.batch 8 --quiet"
expect 0 train $classes --train.steps 100 --train.lr 5e-3 --out classifier
expect 0 distil $classes --teacher classifier --student hedgehog --distil.attention_steps 20 --train.steps 10 --out taught
says out '^validated       20 examples, loss in nats an example$'
after=$(sed -n 's/^after output *\([0-9.]*\) .*/\1/p' out)
expect 0 eval taught --json
sed -n 's/.*"loss": \([0-9.]*[0-9]\).*/\1/p' out | awk -v after="$after" '{ exit !(($1 - after) ^ 2 < 1e-8) }' || fail "eval has not the loss $after"
sed -i 's/^half/much/' counts.tsv
expect 2 distil $classes --teacher classifier --student hedgehog --out x
says err 'class'
[ ! -e x ] || fail "a refused distillation made a folder"

# The task is the teacher's where none is given.
sed -i 's/^much/half/' counts.tsv
plain=$(echo "$classes" | sed 's/--task classify//')
expect 0 distil $plain --teacher classifier --student hedgehog --distil.attention_steps 20 --train.steps 10 --out untold
same taught/model.safetensors untold/model.safetensors

# Shares of an exchange that cost nearly nothing are marked.
seen=
for student in "softmax ; local(window=1)" "hedgehog" "random(frozen)"; do
    rm -rf near
    expect 0 distil --config distil.yaml --teacher teacher --student "$student" --distil.attention_steps 2 --train.steps 2 --quiet --out near
    marked=0
    if grep -q '^The exchange cost [0-9.]* only: shares of so little are mostly noise.$' out; then marked=1; fi
    nothing=0
    if grep -q '^The exchange cost nothing: there is nothing to recover (–).$' out; then nothing=1; fi
    cp near/distil.json out
    echo "$(member teacher_loss) $(member exchanged_loss) $(member validation_tokens)" |
        awk -v marked=$marked -v nothing=$nothing '{ lost = $2 - $1; noise = 1 / sqrt($3) > 0.005 ? 1 / sqrt($3) : 0.005
            exit marked != (lost > 0 && lost < noise * $1) || nothing != (lost <= 0) }' || fail "$student: $marked $nothing"
    seen=$seen$marked
done
case $seen in *0*1* | *1*0*) ;; *) fail "exchanges of one kind only: $seen" ;; esac

# A model of a number; one of images that was imported reads no files of pictures.
awk 'BEGIN { for (i = 0; i < 40; i++) print 0.1 * (i % 7) "\t" substr("abcdefgh", 1 + i % 7, 2) }' >numbers.tsv
numbers="--task regress --data.train numbers.tsv --data.tokenizer char --model.layers 2 --model.width 16 --model.heads 2 --model.context 16 --train.batch 8 --quiet"
expect 0 train $numbers --train.steps 20 --out number
expect 0 distil $numbers --teacher number --student hedgehog --distil.attention_steps 10 --train.steps 10 --out nearer
says out '^validated       4 examples, loss in squared error$'
after=$(sed -n 's/^after output *\([0-9.]*\) .*/\1/p' out)
expect 0 eval nearer --json
sed -n 's/.*"loss": \([0-9.]*[0-9]\).*/\1/p' out | awk -v after="$after" '{ exit !(($1 - after) ^ 2 < 1e-8) }' || fail "eval has not the loss $after"
expect 0 import "$source/tests/golden-hf/vit" --out vit
head -c 3075 /dev/zero >pictures.bin
expect 1 distil --task classify --teacher vit --student hedgehog --data.train pictures.bin --out x
says_wrapped err 'vit reads images of 32 x 32 pixels in 3 channels as tensors, and there are no files of such pictures to train on'
[ ! -e x ] || fail "a refused distillation made a folder"

mv teacher gone # a plan does not need it
expect 0 plan d
says_wrapped err 'the run learned from a teacher, which is not counted here'
expect 0 bench d --decode --sequences 1
! grep -q 'a teacher' err || fail 'decoding has no teacher'
mv gone teacher
echo 'distil: {teacher: teacher}' >with-teacher.yaml
expect 2 plan --config with-teacher.yaml --data.train text.txt
says err "plan counts training without a teacher"
[ ! -e x ] || fail "a refused distillation made a folder"
