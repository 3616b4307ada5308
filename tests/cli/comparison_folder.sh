# SPDX-License-Identifier: Apache-2.0
# Runs of a comparison are trained by it alone: 'train' is refused in their folders, whatever its options, and changes no
# byte there; and a checkpoint of another schedule that was put there is refused before it is used.
. "$2/tests/cli/common"
text 30000
options="--config tiny.yaml --model.ffn 128 --quiet --train.steps 60 --train.checkpoint_every 10 --attention softmax --seeds 2 --compare.uniform_baseline false"
run=c/runs/attention-01/seed-1

listing() { (cd c && find . -type f ! -name .lock | sort | xargs sha256sum); }
refused() { # WORD...
    listing >before
    expect 2 train --config tiny.yaml --quiet --train.checkpoint_every 10 "$@"
    says err 'belongs to a comparison'
    listing >after
    same before after
}

# A comparison that was killed in its first run.
has_checkpoint() { ls $run/checkpoint-* >/dev/null 2>&1; }
"$orthant" compare $options --train.steps 100000 --out c >out 2>err </dev/null &
process=$!
await $process has_checkpoint
expect 1 train --config tiny.yaml --quiet --train.steps 25 --resume --out $run
says err 'in use by another process'
kill -KILL $process
wait $process || true
rm -rf c
expect 0 compare $options --out c
cp c/results.json results.json

# 1. With --resume, --overwrite or neither; by a link; a folder that is not there yet; a copy that still says whose it is.
refused --resume --train.steps 70 --out $run
refused --overwrite --out $run
refused --out $run
ln -s $run link
refused --resume --train.steps 70 --out link
refused --out c/runs/attention-01/seed-9
[ ! -e c/runs/attention-01/seed-9 ] || fail "a refused run left a folder"
cp -r $run copy
refused --resume --out copy
expect 2 compare $options --out c/runs/other
says err 'belongs to a comparison'

# 2. A run of the same seed with another schedule, whose checkpoint somebody puts into the folder of one that is not ready.
rm -rf $run/model.safetensors $run/result.json $run/checkpoint-*
mkdir other
for change in '--train.steps 40' '--train.eval_every 15' '--train.log_every 3'; do
    expect 0 train --config tiny.yaml --model.ffn 128 --quiet --train.steps 60 $change --train.checkpoint_every 10 --out other/run
    for file in other/run/checkpoint-* other/run/log.jsonl; do cp "$file" $run/; done
    expect 2 compare $options --out c
    name=${change#--}; says err "$run was begun with ${name% *} = .*of another comparison"
    rm -r $run/checkpoint-* other/run
done

# 3. A run that ended, with a config.json that was cut off.
expect 0 compare $options --out c
cp $run/config.json config.json
head -c 300 config.json >$run/config.json
expect 1 compare $options --out c
says err "$run/config.json:1:300: .*the file is damaged"
cp config.json $run/

# 4. Where nothing was measured nothing is said of how.
expect 4 compare $options --train.optimizer sgd --train.lr 1000 --train.clip 0 --train.warmup 1 --out diverged
says out 'failed 2 of 2'
! grep -q 'timing rounds' out || fail "speeds of runs that failed are said to have been measured"
! grep -q 'easured apart' diverged/report.html || fail "the page says that speeds were measured"
[ ! -e diverged/speed.json ] || fail "speeds of nothing are kept"

# 5. Without it the comparison ends as it would have.
expect 0 compare $options --out c
command -v python3 >/dev/null || { echo "losses not compared: no python3"; exit 0; }
python3 - <<'END' || fail "the comparison has other losses"
import json
losses = lambda path: [r["valid_loss"] for r in json.load(open(path))["entries"][0]["runs"]]
assert losses("results.json") == losses("c/results.json"), (losses("results.json"), losses("c/results.json"))
END
