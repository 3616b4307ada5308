# SPDX-License-Identifier: Apache-2.0
# Tuning before a comparison: stopped and gone on with, extended, refused when it would be another one, and told about.
. "$2/tests/cli/common"
text 30000
bare="--config tiny.yaml --seeds 2 --train.steps 20 --compare.uniform_baseline off"
once="--compare.tune_per once --compare.tune_extend 0"
options="$bare $once"
rates="train.lr=0.001,0.01,0.003"

# What is written where: a trial has its own folder, with the values in its name and a seed that is far away.
expect 0 compare $options --attention softmax --attention random --compare.tune "$rates" --out whole
for folder in whole/tune/attention-02/train.lr=0.003/seed-1000001 whole/runs/attention-02/seed-2; do
    [ -s $folder/result.json ] || fail "there is no $folder/result.json"
done
[ "$(find whole/tune -name result.json | wc -l)" -eq 6 ] || fail "there are not six trials"
[ -z "$(find whole/tune -name model.safetensors)" ] || fail "models of trials were kept"
says whole/contest.json '"tuned":{"train.lr":"0.01"}'
says whole/runs/attention-01/seed-1/config.json '"lr": 0.01'
grep -q '"lr": 0.001,' whole/results.json && fail "a tuned option stands among those that are shared"

# Everybody is told: what was tuned, how, at what cost, and that a better value may lie beyond.
says err 'The best train.lr of softmax, 0.01, is the largest that was tried: try larger ones'
for file in out whole/report.md whole/report.html; do
    says $file 'lr=0.01'
    says_wrapped $file 'Tuned for each attention: train.lr, the best of 3 settings on a held-out part of the training text'
    says_wrapped $file '6 runs with [0-9.]*[MG] FLOPs, in addition to the [0-9.]*[MG] of the comparison'
    says_wrapped $file 'other than those of the comparison, on the last 10 % of the training text (2700 tokens)'
    says_wrapped $file 'Cost of tuning: 6 runs, 120 steps, '
    says_wrapped $file 'is the largest that was tried'
done
# What was announced is what it cost.
trials=$(sed -n 's/^tuning: 3 values or combinations × 2 attentions = 6 runs with \([0-9.]*[MG]\) FLOPs; the comparison: 4 runs with .*/\1/p' err)
runs=$(sed -n 's/^tuning: .*; the comparison: 4 runs with \([0-9.]*[MG]\) FLOPs$/\1/p' err)
[ -n "$trials" ] && [ -n "$runs" ] || fail "the plan of the tuning was not announced: $(cat err)"
says_wrapped out "6 runs with $trials FLOPs, in addition to the $runs of the comparison"
says whole/report.html 'Sensitivity to train.lr'
says whole/results.json '"grid": "train.lr=0.001,0.01,0.003"'
# A pipe gets its first line once something runs: of which trial is a matter of speed.
expect 0 compare $options --attention softmax --compare.tune "train.lr=0.01,0.001" --compare.tune_steps 400 --out lines
says err '\[[12]/2\] tuning softmax, train.lr=0.0'
says err '^tuning: about [0-9.]* [a-zµ ]*, and [0-9.]* [a-zµ ]* for the 2 runs of the comparison, by the first 2 runs$'
says lines/runs/attention-01/seed-1/config.json '"lr": 0.01' # the first value is a choice, too

# The same again makes nothing anew.
touch before
expect 0 compare $options --attention softmax --attention random --compare.tune "$rates" --out whole --quiet
[ -z "$(find whole -newer before -name result.json -o -newer before -name contest.json)" ] || fail "runs were made again"

# Another attention tunes and trains itself alone.
expect 0 compare $options --attention linear --attention softmax --attention random --compare.tune "$rates" --out whole
find whole -name result.json -newer before | sort >made
cat >wanted <<'LIST'
whole/runs/attention-03/seed-1/result.json
whole/runs/attention-03/seed-2/result.json
whole/tune/attention-03/train.lr=0.001/seed-1000001/result.json
whole/tune/attention-03/train.lr=0.003/seed-1000001/result.json
whole/tune/attention-03/train.lr=0.01/seed-1000001/result.json
LIST
same made wanted

# Stopped in the middle of the tuning, by a request and by force: the same losses, and what was done is kept.
longer="$once --config tiny.yaml --seeds 1 --train.steps $([ -n "$slow" ] && echo 40 || echo 150) --quiet --attention softmax --attention random"
losses() {
    sed -n 's/^ *\("valid_loss": [0-9.e+-]*\|"chosen": [0-9]*\|"loss": [0-9.e+-]*\),$/\1/p' "$1/results.json"
}
expect 0 compare $longer --compare.tune "$rates" --out not-stopped
losses not-stopped >a
[ "$(grep -c valid_loss a)" -ge 12 ] || fail "results.json has no losses of trials"
for signal in INT KILL; do
    first=$signal/tune/attention-01/train.lr=0.001/seed-1000001/result.json
    "$orthant" compare $longer --compare.tune "$rates" --out $signal >out 2>err &
    pid=$!
    await $pid [ -f $first ]
    kill -$signal $pid
    code=137
    [ $signal = KILL ] || code=130
    ended $code $pid "a tuning after SIG$signal"
    [ ! -e $signal/runs ] || fail "SIG$signal came too late: the comparison had begun"
    cp $first first
    expect 2 compare $longer --compare.tune "train.lr=0.1,0.2" --out $signal
    expect 0 compare $longer --compare.tune "$rates" --out $signal
    same $first first
    losses $signal >b
    same a b
done

# Each seed tunes for itself: whether it is killed in the trials, in those of values that were added, or in the runs, the
# same comes out as without.
nested="$bare --quiet --attention softmax --attention random --compare.tune $rates"
expect 0 compare $nested --out nested
expect 0 compare $bare --attention softmax --attention random --compare.tune $rates --out nested
says err '^tuning: 3 values or combinations × 2 seeds × 2 attentions = 12 runs with [0-9.]*[MG] FLOPs, more where the best is at an edge; the comparison: 4 runs'
[ "$(find nested/tune -path '*=0.01/seed-100000[12]/result.json' | wc -l)" -eq 4 ] || fail "not each seed has its trials"
[ "$(find nested/tune -name result.json | wc -l)" -gt 12 ] || fail "no value was added, though the largest is the best"
says nested/contest.json '"tuned_by_seed":{"1":{"train.lr":"0[.0-9]*"},"2":{"train.lr":"0[.0-9]*"}}'
all() { # FOLDER: what every run got, trials too, and what was chosen
    (cd "$1" && find . -name result.json | sort | while read -r f; do
        echo "$f $(grep -o '"valid_loss":[0-9.e+-]*\|"weights":"[0-9a-f]*"' "$f" | tr '\n' ' ')"
    done)
    grep -o '"tuned_by_seed":{[^}]*}[^}]*}}' "$1/contest.json"
}
all nested >whole-nested
at_least() { # COUNT: results in the folder of the comparison that is killed
    [ "$(find killed -name result.json 2>/dev/null | wc -l)" -ge "$1" ]
}
trials=$(find nested/tune -name result.json | wc -l)
for count in 2 14 $((trials + 1)); do
    rm -rf killed
    "$orthant" compare $nested --out killed >out 2>err &
    pid=$!
    await $pid at_least $count
    kill -KILL $pid
    ended 137 $pid "a nested tuning after $count results"
    expect 0 compare $nested --out killed
    all killed >again
    same again whole-nested
done
# More seeds tune themselves and nothing else.
touch before
expect 0 compare $nested --seeds 3 --out killed
[ -z "$(find killed -newer before -name result.json | grep -v 'seed-1000003\|seed-3')" ] || fail "old seeds were made again"
[ -n "$(find killed/tune -newer before -name result.json)" ] || fail "the new seed has no trials"
expect 2 compare $nested --compare.tune_per once --out nested
says err 'compare.tune_per was seed, but it is once now'

[ "$quick" != threads ] || exit 0 # what follows shares nothing else

# Another tuning is another comparison; the same one written in another way is not.
pair="--attention softmax --attention random --out whole --quiet"
expect 0 compare $options $pair --compare.tune " train.lr = 1e-3, 1e-2 ,3e-3"
for other in "train.lr=0.001,0.01" "train.lr=0.01,0.001,0.003"; do
    expect 2 compare $options $pair --compare.tune "$other"
    says err 'compare.tune was train.lr=0.001,0.01,0.003, but it is train.*give another --out'
done
for other in "" "train.clip=1,2"; do
    expect 2 compare $bare ${other:+$once} $pair --compare.tune "$other"
    says err 'train.lr was tuned, but it is 0.001 now'
done
expect 2 compare $options $pair --compare.tune "$rates" --compare.tune_seeds 2
says err 'compare.tune_seeds was 1, but it is 2 now'
expect 2 compare $options $pair --compare.tune "$rates" --compare.tune_steps 9
expect 2 compare $options $pair --compare.tune "$rates" --compare.tune_fraction 0.2
says err 'compare.tune_fraction was 0.1, but it is 0.2 now'
expect 0 compare $options $pair --compare.tune "$rates" --train.lr 0.5
says err 'train.lr = 0.5 is ignored: overridden by compare.tune'

# Damage is noticed before anything is made.
result=whole/tune/attention-01/train.lr=0.003/seed-1000001/result.json
cp $result keep
sed 's/"valid_loss":[0-9.]*/"valid_loss":0.001/' keep >$result
expect 1 compare $options $pair --compare.tune "$rates"
says err "$result was changed after it was written"
cp whole/tune/attention-01/train.lr=0.001/seed-1000001/result.json $result
expect 2 compare $options $pair --compare.tune "$rates"
says err 'train.lr was 0.001, but it is 0.003 now'
rm -r whole/tune/attention-01/train.lr=0.003
expect 0 compare $options $pair --compare.tune "$rates"
loss() {
    grep -o '"valid_loss":[0-9.]*' "$1"
}
loss $result >a
loss keep >b
same a b

# A value that diverges is a result; an attention that diverges with every value is named.
wild="--train.optimizer sgd --train.clip 0 --quiet"
expect 0 compare $options $wild --attention softmax --compare.tune 'train.lr=1000,0.1' --out wild
says_wrapped out 'Diverged in tuning: softmax with train.lr=1000\.'
says wild/report.html '>diverged<'
says wild/results.json '"loss": null'
grep -q '"steps":[1-9][0-9]*,' wild/tune/attention-01/train.lr=1000/seed-1000001/result.json ||
    fail "a trial that diverged says that it did no step"
expect 4 compare $options $wild --attention random --attention softmax --compare.tune 'train.lr=500,1000' --out wilder
says err '"random" diverged with every value'

# By the clock: tuning is by steps.
expect 2 compare $options --attention softmax --equal time --compare.tune "$rates" --out time
says err 'needs compare.tune_steps'
[ ! -e time ] || fail "a refused start left a folder"
expect 0 compare $options --attention softmax --attention random --equal time --compare.tune "$rates" \
    --compare.tune_steps 7 --out time --quiet
says_wrapped time/report.md 'Tuning runs were shorter than those of the comparison, 7 steps instead of [0-9]*,'
! grep -q 'Tuning runs were shorter' whole/report.md || fail "runs of the same length are called shorter"
says time/tune/attention-02/train.lr=0.01/seed-1000001/result.json '"steps":7'
