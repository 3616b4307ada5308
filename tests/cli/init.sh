# SPDX-License-Identifier: Apache-2.0
# Fine-tuning (--init): what is said and written, runs that go on, comparisons, refusals; and means of weights on the
# command line (train.average).
. "$2/tests/cli/common"
text 30000
steps=400 more_steps=900
[ -z "$slow" ] || steps=80 more_steps=120
awk 'BEGIN { split("good bad fine poor", n, " "); for (i = 0; i < 120; i++) {
    w = n[1 + int(i * 7 / 3) % 4]; print ((w == "good" || w == "fine") ? "pos" : "neg") "\tthe " w " thing " i % 5 } }' >class.tsv
tr -d '0-9' <class.tsv >plain.tsv
classify="--config tiny.yaml --task classify --data.train plain.tsv"
expect 0 train --config tiny.yaml --task mlm --out m
expect 0 train $classify --init m --out c
says out '^started from    m: 19 of 21 tensors (init.json)$'
says err '19 of 21 tensors start with the values of m; not taken: classifier.weight, classifier.bias (not there)$'
says c/init.json '"from": "m"'
says c/init.json "\"model\": \"sha256:$(sha256sum <m/model.safetensors | cut -d ' ' -f 1)\""
[ "$(grep -c '"tensor"' c/init.json)" -eq 21 ] || fail "init.json has not every tensor"
[ "$(grep -c '"because": "not there"' c/init.json)" -eq 2 ] || fail "init.json has not two that are not there"
same m/tokenizer.json c/tokenizer.json
says c/config.json '"init": "m"'
expect 0 eval c

# The same model by its file, as an option of the table, and from a configuration: the same run.
expect 0 train $classify --train.init m/model.safetensors --out d --json
says out '"started_from": {"run": "m/model.safetensors", "tensors_taken": 19, "tensors": 21}\|"tensors_taken": 19'
same c/model.safetensors d/model.safetensors
printf 'train: {init: m}\n' >init.yaml
expect 0 train $classify --config init.yaml --out e
same c/model.safetensors e/model.safetensors
"$orthant" train $classify --init m --threads 3 --out f >out 2>err || fail "three threads"
same c/model.safetensors f/model.safetensors

# Other options of the model are said, what is another stack is not taken.
expect 0 train $classify --init m --model.heads 2 --train.steps 1 --out h
says err 'm was trained with model.heads = 4, but it is 2 here'
expect 0 train --config tiny.yaml --init m --train.steps 1 --out l
says err 'not taken: 17 (there in another stack)$'

# A run that began without one does not go on with one, and that is the reason that is given: the vocabulary of the
# other one has no digits.
expect 0 train --config tiny.yaml --train.steps 1 --out letters
expect 0 train --config tiny.yaml --task classify --data.train class.tsv --data.tokenizer char --train.steps 5 --out own
expect 2 train --resume --init letters --out own
says err 'own was begun without train.init, but now one is given'

# A run that was killed goes on with the same bits; without the model it started from, or with another, it does not.
"$orthant" train $classify --init m --out g --train.steps $steps --train.checkpoint_every 1 >out 2>err &
pid=$!
checkpointed() {
    ls g/checkpoint-*.safetensors >/dev/null 2>&1
}
await $pid checkpointed
kill -KILL $pid
ended 137 $pid "a run after SIGKILL"
mv m kept
expect 1 train --resume --out g
says err 'train.init = m: no such run'
expect 0 train --config tiny.yaml --task mlm --train.seed 2 --out m
cp g/config.json before
expect 2 train --resume --out g
says err 'g was begun with another model to start from (train.init) (SHA-256 .*nothing was changed'
same before g/config.json
rm -r m
expect 0 train --resume --init kept --out g --train.checkpoint_every 0 # at another place
mv kept m
expect 0 train $classify --init m --out whole --train.steps $steps
same g/model.safetensors whole/model.safetensors

# A comparison: every attention starts from the run, which is said once for each; it goes on with no other.
comparison="--config tiny.yaml --task classify --data.train plain.tsv --seeds 2 --compare.uniform_baseline off --out comparison"
pair="--attention softmax --attention softmax(qk=haar)"
expect 0 compare $comparison --init m $pair
[ "$(grep -c 'tensors start with the values of m' err)" -eq 2 ] || fail "what fits is not said once for each"
says err 'softmax(qk=haar): 15 of 21 tensors .*attention.key.weight (frozen here and learnt there)'
[ "$(find comparison -name init.json | wc -l)" -eq 4 ] || fail "not every run has an init.json"
says comparison/contest.json '"first values":"sha256:'
touch mark
expect 0 compare $comparison --init m $pair
[ -z "$(find comparison -newer mark -name result.json)" ] || fail "runs were made again"
expect 2 compare $comparison --data.tokenizer m/tokenizer.json $pair
says err 'first values was sha256:.*, but it is not given now'
expect 2 compare $comparison --init c $pair
says err 'first values was sha256:'
expect 2 compare $comparison --init comparison/runs/attention-01/seed-1 $pair --overwrite
says err 'is in comparison, the folder of the new run'
expect 0 compare $comparison --init m --attention softmax --compare.tune train.lr=1e-3,1e-2 \
    --compare.tune_per once --compare.tune_extend 0 --overwrite
[ "$(find comparison/tune -name init.json | wc -l)" -eq 2 ] || fail "trials do not start from the run"

# Options of the model that nobody gives are those of the run, which is said; those that are given hold. An option that
# means nothing in models of the task is left out.
bare="--task classify --data.train plain.tsv --train.batch 4 --train.steps 2 --train.warmup 1"
expect 0 train $bare --init m --out bare
says err 'using the options of m: model.layers 2, model.width 32, model.context 32$'
says out 'm: 19 of 21 tensors'
expect 0 train $bare --init m --model.context 16 --model.dropout 0 --out given
says err 'using the options of m: model.layers 2, model.width 32$'
says given/config.json '"context": 16'
expect 0 train --config tiny.yaml --attention 'local(window=8)' --model.pool mean --task classify --data.train plain.tsv --out near
expect 0 train --data.train text.txt --train.steps 1 --train.warmup 1 --init near --out language
says language/config.json '"attention": "local(window=8)"'
says language/config.json '"pool": "cls"'
expect 0 train $bare --init near --out again
says again/config.json '"pool": "mean"'
expect 0 compare $bare --init m --attention linear --seeds 2 --compare.uniform_baseline off --out bare-comparison
says err 'using the options of m: model.layers 2, model.width 32'
says err 'linear: 19 of 21 tensors'
expect 0 compare $bare --init bare-comparison --attention linear --seeds 2 --compare.uniform_baseline off --out bare-further
says err 'using the options of bare-comparison: .*model.width 32'
expect 0 plan --data.train text.txt --init m --json
grep -o '"trainable": [0-9.]*' out >one
expect 0 plan --config tiny.yaml --init m --json
grep -o '"trainable": [0-9.]*' out >two
[ -s one ] || fail "the plan says nothing of parameters"
same one two

# The plan has the vocabulary of the run.
expect 0 plan --config tiny.yaml --init m --json
says out "$(grep -o '"vocabulary": [0-9]*' m/config.json | head -n 1)"

# Refused in a sentence, and nothing is left behind.
expect 1 train $classify --init nowhere --out x
says err 'train.init = nowhere: no such run'
expect 2 train $classify --init m --data.tokenizer bpe:300 --out x
says err 'its tokenizer differs from data.tokenizer = bpe:300'
expect 2 train $classify --init m --model.width 64 --out x
says err 'none of its tensors fits this model: model.width, model.layers and model.heads are 32'
expect 2 train $classify --init c --out c --overwrite
says err 'is in c, the folder of the new run'
expect 2 train $classify --init m --out x --train.average 2
says err 'train.average = 2: weights are averaged at validations'
[ ! -e x ] || fail "a refused start left a folder"

# The mean of the last weights is what is measured and kept.
average="--config tiny.yaml --train.eval_every 10 --train.average 3"
expect 0 train $average --out a
says out '^kept            the mean of the weights at the last 3 of the validations every 10 steps$'
grep '^loss' out >one
expect 0 eval a
grep '^loss' out >two
same one two
expect 0 train --config tiny.yaml --train.eval_every 10 --out b
! cmp -s a/model.safetensors b/model.safetensors || fail "the mean is that of the last step"
expect 0 train $average --out j --json
says out '"averaged": 3'
mv j/average-000000020.safetensors away
expect 2 train --resume --out j --train.steps 40
says err 'j/average-000000020.safetensors is missing'
expect 0 train $average --out a --overwrite
rm a/model.safetensors
"$orthant" train $average --out k --train.checkpoint_every 1 --train.steps $more_steps --train.schedule constant >out 2>err &
pid=$!
reached() {
    [ -e k/average-000000030.safetensors ]
}
await $pid reached
kill -KILL $pid
ended 137 $pid "a run after SIGKILL"
expect 0 train --resume --out k --train.steps $more_steps --train.checkpoint_every 0
expect 0 train $average --out o --train.steps $more_steps --train.schedule constant
same k/model.safetensors o/model.safetensors
