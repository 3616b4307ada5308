# SPDX-License-Identifier: Apache-2.0
# distil of a Marian: the losses of both stages at their first step are those of transformers in float64
# (tests/golden-hf/distil_marian.py); one that was killed in either stage ends with the same bits; what cannot learn is refused.
. "$2/tests/cli/common"
golden=$source/tests/golden-hf
expect 0 import "$golden/marian" --out marian
cp "$golden/marian/distil.tsv" pairs.tsv
student="encoder: local(window=2) & decoder: linear & cross: linear"
learn="--task translate --data.train pairs.tsv --data.valid pairs.tsv --train.batch 100 --train.precision f64 --train.log_every 1 --quiet"
first_loss() { # LOG
    sed -n 's/^{"step": 1, "loss": \([0-9.e-]*\),.*/\1/p' "$1"
}
is_near() { # A B
    echo "$1 $2" | awk '{ d = $1 / $2 - 1; exit !($1 > 0 && d < 1e-11 && d > -1e-11) }' || fail "$1 is not $2"
}
wanted() { # NAME
    sed -n "s/^$1 //p" "$golden/marian/distil.txt"
}

expect 0 distil $learn --teacher marian --student "$student" --distil.attention_steps 1 --train.steps 1 --out a
is_near "$(first_loss a/attention/log.jsonl)" "$(wanted attention)"
# What is not given of decode.* is that of the teacher, and with train --init of the initial run.
says a/config.json '"force_end": true'
says_wrapped err 'using the options of marian: .*decode.force_end true'
expect 0 train $learn --init marian --decode.force_end false --train.steps 1 --out given
says given/config.json '"force_end": false'
expect 0 train $learn --init marian --train.steps 1 --out taken
says taken/config.json '"force_end": true'
expect 0 distil $learn --teacher marian --student "$student" --distil.attention_steps 0 --train.steps 1 --out b
is_near "$(first_loss b/log.jsonl)" "$(wanted output)"
sed -n 's/.*"exchanged_loss": \([0-9.]*\).*/\1/p' b/distil.json >exchanged
is_near "$(cat exchanged)" "$(wanted text)"

# More rows than a batch has, so that the order of the examples counts, too.
awk 'BEGIN { for (i = 1; i < 60; i++) { s = t = ""; for (j = 0; j < 1 + i % 5; j++) { s = s " " 1 + i * 7 % 130; t = t " " 2 + (i + j) * 11 % 130 }
    print substr(s, 2) "\t" substr(t, 2) } }' >pairs.tsv
learn="--task translate --data.train pairs.tsv --train.batch 8 --train.log_every 1 --train.checkpoint_every 1 --distil.attention_steps 40 --train.steps 40 --train.eval_every 0"
expect 0 distil $learn --quiet --teacher marian --student "$student" --out c
for log in e/attention/log.jsonl e/log.jsonl; do
    "$orthant" distil $learn --teacher marian --student "$student" --out e >out 2>err &
    process=$!
    lines() { [ -s $log ] && [ "$(wc -l <$log)" -ge 5 ]; }
    await $process lines
    kill -9 $process
    wait $process || true
done
expect 0 distil $learn --threads 1 --teacher marian --student "$student" --out e
[ "$(grep -c 'columns 1,2 of 2 are' err)" -eq 1 ] || fail 'the columns of one file are printed more than once'
says err 'resuming after step'
same c/model.safetensors e/model.safetensors
same c/attention/model.safetensors e/attention/model.safetensors

expect 2 distil $learn --teacher marian --student softmax --out x
says err 'the student has the attention of the teacher in every layer'
expect 2 distil $learn --teacher marian --student "$student" --train.label_smoothing 0.1 --out x
says err 'train.label_smoothing = 0.1 cannot be combined with distil.teacher'
expect 2 distil $learn --teacher marian --student "$student" --model.end_token 5 --out x
says err 'model.end_token is "0" in the teacher and "5" here'
[ ! -e x ] || fail "a refused distillation made a folder"
