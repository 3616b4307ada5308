# SPDX-License-Identifier: Apache-2.0
# A comparison that starts from another comparison (compare --init COMPARISON): its runs are those of train --init RUN, it is said
# and written which started from which, it goes on after a kill, and plan and train know such a folder.
. "$2/tests/cli/common"
text 30000
awk 'BEGIN { split("good bad fine poor", n, " "); for (i = 0; i < 120; i++) {
    w = n[1 + int(i * 7 / 3) % 4]; print ((w == "good" || w == "fine") ? "pos" : "neg") "\tthe " w " thing " i % 5 } }' |
    tr -d '0-9' >class.tsv
steps=300 # of a comparison that is killed in its middle: one of 30 steps ended on a busy machine before it was looked at
[ -z "$slow" ] || steps=30
classify="--config tiny.yaml --task classify --data.train class.tsv --train.steps $steps"
expect 0 compare --config tiny.yaml --task mlm --seeds 2 --attention softmax --attention random --out pre
grep -q started_from pre/results.json && ! grep -q '"started_from": {' pre/results.json || fail "a comparison without a start"

# The order of the attentions is another one there, and seed 3 is not there.
comparison="$classify --seeds 3 --attention random --attention softmax --init pre"
expect 0 compare $comparison --out fine
says err '^orthant: Every run starts from the run of the same attention in pre, and of the same seed where there is one, else of the first (of 3 from that of 1)'
says err '^orthant: softmax: 19 of 21 tensors start with the values of pre/runs/attention-01/seed-1; not taken: classifier'
says_wrapped out 'else of the first (of 3 from that of 1): runs that share an initial run show less spread\.'
[ "$(grep -c '"started_from": {' fine/results.json)" -eq 9 ] || fail "not every run says what it started from"
says fine/results.json "\"model\": \"sha256:$(sha256sum <pre/runs/attention-02/seed-2/model.safetensors | cut -d ' ' -f 1)\""

# Each is the run that train makes of the run there.
check() { # ATTENTION PLACE PLACE-THERE SEED SEED-THERE
    expect 0 train $classify --model.attention "$1" --model.ffn 128 --train.seed "$4" \
        --init "pre/runs/attention-0$3/seed-$5" --out alone --overwrite
    same alone/model.safetensors "fine/runs/attention-0$2/seed-$4/model.safetensors"
}
check random 1 2 2 2
check random 1 2 3 1
check softmax 2 1 1 1

# Killed and gone on with, with another number of threads: the same models. With another start it does not go on.
"$orthant" compare $comparison --out killed --threads 1 --compare.jobs 1 --train.checkpoint_every 1 >out 2>err &
pid=$!
begun() {
    ls killed/runs/attention-02/seed-1/checkpoint-*.safetensors >/dev/null 2>&1
}
await $pid begun
kill -KILL $pid
ended 137 $pid "a comparison after SIGKILL"
expect 2 compare $classify --seeds 3 --attention random --attention softmax --init pre/runs/attention-01/seed-1 --out killed
says err 'first values was sha256:.*, but it is sha256:'
expect 0 compare $comparison --out killed --threads 2
for model in $(cd fine && find runs -name model.safetensors); do
    same "fine/$model" "killed/$model"
done
touch mark
expect 0 compare $comparison --out fine
[ -z "$(find fine -newer mark -name result.json)" ] || fail "runs were made again"

# More attentions when there are more of them there.
expect 2 compare $comparison --attention dense --out fine
says err 'train.init = pre: that comparison has no run of "dense" to start from; it has "softmax", "random", "random(frozen'
expect 0 compare --config tiny.yaml --task mlm --seeds 2 --attention softmax --attention random --attention dense --out pre
expect 0 compare $comparison --attention dense --out fine
says fine/runs/attention-04/seed-2/init.json '"from": "pre/runs/attention-04/seed-2"'
[ -z "$(find fine/runs/attention-01 -newer mark -name result.json)" ] || fail "runs were made again"

# A plan for attentions that are there has their tokenizer; train starts from one run.
expect 0 plan $classify --init pre --attention dense --json
says out "$(grep -o '"vocabulary": [0-9]*' pre/runs/attention-01/seed-1/config.json | head -n 1)"
expect 2 plan $classify --init pre --attention linear
says err 'train.init = pre: that comparison has no run of "linear" to start from'
expect 2 train $classify --init pre --out x
says err 'train.init = pre is a comparison: give the folder of one of its runs, such as pre/runs/attention-01/seed-1'
[ ! -e x ] || fail "a refused start left a folder"
