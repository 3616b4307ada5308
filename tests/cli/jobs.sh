# SPDX-License-Identifier: Apache-2.0
# Runs side by side: the same losses, one line of progress for all, a stop within a second; speeds next to them.
. "$2/tests/cli/common"
text 30000
pair="--attention softmax --attention random --attention linear --compare.uniform_baseline false"
options="--config tiny.yaml --seeds 2 --train.steps 12 $pair --threads 2"
losses() {
    grep -o '"\(valid_loss\|weights\)": *[^,]*' "$1/results.json"
}
expect 0 compare $options --compare.jobs 1 --out one --quiet
expect 0 compare $options --compare.jobs 2 --out two
losses one >a
losses two >b
[ "$(grep -c weights a)" -eq 6 ] || fail "results.json has not the weights of six runs"
same a b
says err '^[0-9] of 6 runs.*; \[[1-6]/6\] [a-z]* [0-9]* %'
says two/runs/attention-01/seed-1/result.json ', 1 of 2 threads"'
says one/runs/attention-01/seed-1/result.json ', 2 threads"'
for file in config.json tokenizer.json model.safetensors; do
    same one/runs/attention-03/seed-2/$file two/runs/attention-03/seed-2/$file
done

# Automatic: this model is small.
expect 0 compare $options --out automatic --quiet
says automatic/runs/attention-01/seed-1/result.json ', 1 of 2 threads"'

# Speeds are measured once, on all threads, and in all forms of the report.
says two/speed.json ', 2 threads"'
says_wrapped out 'tokens/s and ms/step: medians of [0-9]* timing rounds'
says out 'speedup over'
says two/report.md 'speedup over'
says two/report.html 'signed ranks'
says two/results.json '"step_seconds": \[[0-9]'
cp two/speed.json speed
cp two/results.json before
expect 0 compare $options --compare.jobs 2 --out two --quiet
same speed two/speed.json
sed '/"date"/d' before >a
sed '/"date"/d' two/results.json >b
same a b
sed -i 's/"rounds":/"rounds" :/; s/softmax/softmox/' two/speed.json
expect 1 compare $options --out two
says err 'two/speed.json.*remove the file to measure speeds again'

# What is less than was asked is said.
expect 0 compare $options --compare.jobs 3 --out three
says err 'compare.jobs = 3, but there are 2 threads: 2 runs at a time'
expect 2 compare $options --compare.jobs -1 --out four
says err 'jobs'

# Stopped, all are saved in the middle of their runs; then on to the same end.
longer="--config tiny.yaml --seeds 2 --train.steps $([ -n "$slow" ] && echo 80 || echo 400) $pair --threads 2 --quiet"
expect 0 compare $longer --compare.jobs 1 --out whole
"$orthant" compare $longer --compare.jobs 2 --out parts >out 2>err &
pid=$!
await $pid [ -f parts/runs/attention-01/seed-1/result.json ]
kill -INT $pid
ended 130 $pid "a comparison side by side after SIGINT"
[ "$(ls parts/runs/*/seed-*/result.json | wc -l)" -lt "$(ls whole/runs/*/seed-*/result.json | wc -l)" ] || fail "the stop waited for all runs"
ls parts/runs/*/seed-*/checkpoint-*.safetensors >/dev/null || { find parts | head -40; fail "nothing was saved"; }
expect 0 compare $longer --compare.jobs 2 --out parts
losses whole >a
losses parts >b
same a b
