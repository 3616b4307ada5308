# SPDX-License-Identifier: Apache-2.0
# --overwrite begins anew where a run or a comparison lies, and removes nothing else: what it does not know, what lies
# behind links, what another process is in, and what a refused start was to replace stay.
. "$2/tests/cli/common"
text 20000
short="--config tiny.yaml --train.steps 4 --quiet"
listing() { (cd "$1" && find . | sort && find . -type f | sort | xargs sha256sum); }
untouched() { # FOLDER CODE PATTERN COMMAND WORD...: refused, and every name and byte stays
    folder=$1 code=$2 pattern=$3
    shift 3
    listing "$folder" >before
    expect "$code" "$@" --overwrite --quiet --out "$folder"
    says err "$pattern"
    listing "$folder" >after
    same before after
}

# 1. A run.
expect 0 train $short --out fresh
expect 0 train $short --train.seed 2 --train.tensorboard on --train.keep_best on --train.eval_every 2 --out run
touch run/log.jsonl.1 run/config.json.12-3.tmp run/checkpoint-000000002.safetensors
expect 2 train $short --out run
says err 'overwrite to remove it'
untouched run 2 'give --resume or --overwrite, not both' train --resume
untouched run 1 'nowhere.txt' train --config tiny.yaml --data.train nowhere.txt
untouched run 2 'did you mean softmax' train --config tiny.yaml --attention sofmax
expect 0 train $short --overwrite --out run
same run/model.safetensors fresh/model.safetensors
[ "$(ls -A run | sort)" = "$(ls -A fresh | sort)" ] || fail "something of the old run is left: $(ls -A run)"
expect 0 train $short --overwrite --out new/one
same new/one/model.safetensors fresh/model.safetensors

# What is none of its files, whatever it is called, keeps all of them.
for odd in notes.txt model.safetensors.old log.jsonl.x checkpoint-.safetensors checkpoint-1a.safetensors .hidden; do
    touch run/$odd
    untouched run 2 "run/$odd does not belong to a run" train $short
    rm run/$odd
done
mkdir run/pace.json
untouched run 2 'run/pace.json does not belong' train $short
rmdir run/pace.json

# Links are not followed, and what they lead to stays.
mkdir precious
echo gold >precious/log.jsonl
ln -s ../precious/log.jsonl run/pace.json
untouched run 2 'run/pace.json does not belong' train $short
rm run/pace.json
[ "$(cat precious/log.jsonl)" = gold ] || fail "a link was followed"

# Whose folder it is must be known.
untouched precious 2 'precious contains no run (no config.json)' train $short
echo '{"name": "of another program"}' >precious/config.json
listing precious >before
status=0
"$orthant" train $short --overwrite --out precious >out 2>err || status=$?
[ $status -ne 0 ] || fail "a folder of another program was overwritten"
listing precious >after
same before after

# 2. A comparison.
options="--config tiny.yaml --train.steps 4 --seeds 2 --quiet --attention softmax --attention random"
expect 0 compare $options --out fair
expect 0 compare $options --compare.vary each --compare.vary_seeds 2 --train.seed 5 --out comparison
expect 2 compare $options --out comparison
untouched comparison 2 'heads' compare $options --model.heads 3
untouched comparison 2 'comparison contains no run (no config.json)' train $short
expect 2 compare $options --resume --overwrite --out comparison
expect 0 compare $options --overwrite --out comparison
[ ! -e comparison/vary ] || fail "runs of the old comparison are left"
same comparison/runs/attention-01/seed-1/model.safetensors fair/runs/attention-01/seed-1/model.safetensors
[ "$(cd comparison && find . | sort)" = "$(cd fair && find . | sort)" ] || fail "the comparison has other files"

touch comparison/runs/attention-01/seed-2/mine
untouched comparison 2 'comparison/runs/attention-01/seed-2/mine does not belong to a comparison' compare $options
rm comparison/runs/attention-01/seed-2/mine
mv comparison/runs/attention-02 elsewhere
ln -s ../../elsewhere comparison/runs/attention-02
untouched comparison 2 'comparison/runs/attention-02 does not belong' compare $options
[ -e elsewhere/seed-1/model.safetensors ] || fail "a link was followed out of the folder"
rm comparison/runs/attention-02

# Half of it removed, as a kill leaves it: it is known by contest.json, which goes last.
rm -r comparison/runs/attention-01/seed-1 comparison/report.html comparison/results.json
expect 0 compare $options --overwrite --out comparison
[ "$(cd comparison && find . | sort)" = "$(cd fair && find . | sort)" ] || fail "the comparison has other files"
sed -i 's/"steps":4/"steps":5/' comparison/contest.json
listing comparison >before
status=0
"$orthant" compare $options --overwrite --out comparison >out 2>err || status=$?
[ $status -ne 0 ] || fail "a contest.json that was changed is no proof"
says err 'not a folder that this program made'
listing comparison >after
same before after

# 3. In use.
"$orthant" train --config tiny.yaml --train.steps 1000000 --out busy >/dev/null 2>&1 &
process=$!
await $process test -e busy/log.jsonl
expect 1 train $short --overwrite --out busy
says err 'in use by another process'
kill -INT $process
ended 130 $process "the run that was stopped"
ls busy/checkpoint-* >/dev/null || fail "the checkpoint is gone"
