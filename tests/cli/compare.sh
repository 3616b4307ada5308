# SPDX-License-Identifier: Apache-2.0
# A comparison: its files, equal budgets, and going on after it was interrupted.
. "$2/tests/cli/common"
text 30000
options="--config tiny.yaml --seeds 2 --train.steps 12 --quiet"

expect 0 compare $options --attention softmax --attention 'random + softmax' --out whole
says out 'random + softmax'
says out 'verdict'
for file in results.json report.html report.md; do
    [ -s whole/$file ] || fail "there is no whole/$file"
done
says whole/report.html 'random + softmax'
expect 0 compare $options --attention softmax --attention 'random + softmax' --out whole --json
says out '"valid_loss"'

# Stopped in the middle, by a request and by force, and started again: the same losses, and what was done is kept.
longer="--config tiny.yaml --seeds 2 --train.steps $([ -n "$slow" ] && echo 40 || echo 150) --quiet --attention softmax"
losses() {
    grep -o '"valid_loss": *[0-9.e+-]*' "$1/results.json"
}
expect 0 compare $longer --attention 'random + softmax' --out not-stopped
losses not-stopped >a
[ "$(grep -c . a)" -ge 4 ] || fail "results.json has not four losses"
for signal in INT KILL; do
    first=$signal/runs/attention-01/seed-1/result.json
    "$orthant" compare $longer --attention 'random + softmax' --out $signal >out 2>err &
    pid=$!
    await $pid [ -f $first ]
    kill -$signal $pid
    code=137
    [ $signal = KILL ] || code=130
    ended $code $pid "a comparison after SIG$signal"
    [ ! -f $signal/results.json ] || fail "SIG$signal came too late: the comparison had its results"
    cp $first first
    expect 0 compare $longer --attention 'random + softmax' --out $signal
    same $first first
    losses $signal >b
    same a b
done

[ "$quick" != threads ] || exit 0 # what follows shares nothing else

# A window as wide as the context is softmax: the same model, said and not tested.
expect 0 compare $options --attention softmax --attention 'local(window=32)' --attention random --out twins
says_wrapped out 'local(window=32) is identical to softmax'
says twins/results.json '"identical_with": 0'

# The detectable difference is printed before anything is trained.
brief="--config tiny.yaml --train.steps 2 --attention softmax --attention linear --out announced"
expect 0 compare $brief --seeds 2
says err '^2 seeds give estimates and no verdicts: use at least 5'
expect 0 compare $brief --seeds 5
says err '^5 seeds and 3 comparisons: true differences above [0-9.]* standard deviations .*, judged by the last report above'

# Another comparison in the same folder is refused.
expect 2 compare $options --attention softmax --attention linear --train.lr 0.5 --out whole
says err 'another comparison'
expect 2 compare $options --attention softmax --attention 'softmax(qk=learned)' --out twice
says err 'twice'

# Equal budgets: what is equal, and what differs for it. `random` has more parameters and takes fewer FLOPs than softmax.
of() { # ATTENTION NAME: a number of its entry in results.json
    awk -v attention="\"attention\": \"$1\"," -v name="\"$2\":" '
        /"entries"/ { entries = 1 }
        entries && /"attention":/ { here = index($0, attention) }
        here && $1 == name { sub(/,$/, "", $2); print $2; exit }
    ' "equal-$equal/results.json"
}
holds() { # EXPRESSION of s and r, the numbers named after it of softmax and of random
    awk -v s="$(of softmax "$2")" -v r="$(of random "$2")" -v step="$(of random flops_per_step)" \
        "BEGIN { exit !(s > 0 && r > 0 && ($1)) }" ||
        fail "equal $equal: $2 are $(of softmax "$2") of softmax and $(of random "$2") of random, not $1"
}
for equal in tokens time params flops; do
    expect 0 compare $options --equal $equal --attention softmax --attention random --out equal-$equal
    says equal-$equal/results.json "\"equal\": \"$equal\""
    case $equal in
    tokens) holds 's == 12 && r == 12' steps; holds 's < r' trainable; holds 's > r + step' flops ;;
    time) says_wrapped out 'the same.* time'; holds 's < r' trainable ;;
    params) holds 's == 12 && r == 12' steps; holds 's == r' trainable ;;
    flops) holds 's == 12 && r > 12' steps; holds 's < r' trainable; holds 's - r < step && r - s < step' flops ;;
    esac
done
# Which feed-forward layers were changed for it, and by how much; from a quarter on that is a notice. Softmax attention has
# two matrices of 16 × 16 where random attention has two maps of 64 × 64 (heads: 2): 7680 parameters are 240 columns of
# a feed-forward layer of two matrices 16 wide.
says_wrapped equal-params/report.md 'Parameters were made equal by the width of the feed-forward layers: softmax [0-9]*, random [0-9]* ([−+]'
expect 0 compare $options --equal params --model.width 16 --model.heads 2 --model.context 64 --attention random \
    --attention softmax --compare.uniform_baseline off --out widened
says err 'the feed-forward layers of "softmax" are 304 wide, those of "random" 64 (+375 %)'
for file in out widened/report.md widened/report.html; do
    says_wrapped $file 'width of the feed-forward layers: random 64, softmax 304 (+375 %)'
done
[ "$(grep -o '"ffn": [1-9][0-9]*' widened/results.json | tr -dc '0-9\n' | tr '\n' ' ')" = "64 304 " ] || fail "results.json has other widths"
expect 0 compare $options --equal tokens --attention softmax --attention random --out equal-tokens
! grep -q 'feed-forward' out err || fail "nothing was changed"
expect 0 compare $options --equal time --train.seconds 0.05 --attention softmax --out time
says out 'CPU'
says time/runs/attention-01/seed-1/pace.json '"seconds":0.05'
expect 2 compare $options --train.seconds 1 --attention softmax --out other
says err 'equal time'

# The uniform baseline is trained by default; reports say how much of the text a loss covers.
says whole/report.html 'uniform baseline'
says whole/results.json '"floor": true'
says whole/report.md 'Losses are measured on all 2999 tokens of the validation text but its first'
expect 0 compare $options --compare.uniform_baseline off --train.final_tokens 64 --attention softmax --out bare
grep -q 'floor' bare/report.md && fail "a comparison without a uniform baseline mentions one"
says_wrapped out 'Losses are measured on 64 of the 3000 tokens'
