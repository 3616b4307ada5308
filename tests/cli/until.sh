# SPDX-License-Identifier: Apache-2.0
# A comparison that stops by itself: seeds where a question is open, to the end, the most seeds or the budget; killed and
# stopped at any moment it comes to the same decisions.
. "$2/tests/cli/common"
text 30000
options="--config tiny.yaml --train.steps 12 --quiet"
three="--attention softmax --attention linear --attention local(window=4)"

# field FILE PATTERN: the first match of a results.json
field() {
    grep -o -m 1 "$2" "$1" || fail "there is no $2 in $1"
}

runs() { # FOLDER: runs that were made, "attention-01/seed-1" …
    (cd "$1/runs" && for run in */*/result.json; do echo "${run%/result.json}"; done)
}

# Resolved at once: losses differ by much less than this margin, as soon as an interval has an end.
expect 0 compare $options $three --until-resolved --baseline softmax --margin 2 --out early
says_wrapped out 'linear and local(window=4) are equivalent to the baseline, softmax: within 2 nats'
says_wrapped out 'All comparisons are resolved after'
field early/results.json '"ending": "resolved"' >/dev/null
[ "$(runs early | grep -c attention-04)" -ge 3 ] || fail "the uniform baseline does not have three seeds"
made=$(runs early | grep -c attention-01)
[ "$made" -gt 3 ] && [ "$made" -lt 8 ] || fail "an easy question took $made seeds"
says early/report.html 'id="trajectories"'
says early/report.html 'id="pairs"'

# The same call again trains nothing and says the same, but for the time.
cp early/results.json before.json
expect 0 compare $options $three --until-resolved --baseline softmax --margin 2 --out early
grep -v -e spent_seconds -e '"date"' before.json >before
grep -v -e spent_seconds -e '"date"' early/results.json >after
same before after

# Not resolved: a margin of next to nothing, and few seeds. Without a baseline it is about the lowest loss.
expect 0 compare $options $three --until-resolved --margin 0.000001 --compare.max_seeds 6 --budget 2min --out most
says_wrapped out 'unresolved after 6 seeds, the limit set by compare.max_seeds'
field most/results.json '"ending": "seeds used up"' >/dev/null
field most/results.json '"budget_seconds": 120,' >/dev/null
[ "$(field most/results.json '"baseline": null')" ] || fail "there is a baseline"
# Rounds are predicted by the time that they took for each second of training: that of all runs.
training=$(field most/spending.json '"training":[0-9.e-]*')
cat most/runs/*/*/result.json | grep -o '"seconds":[0-9.e-]*' | awk -F : -v all="${training#*:}" \
    '{ sum += $2 } END { exit !(NR == 24 && (all - sum) ^ 2 < 1e-12 * sum ^ 2) }' || fail "the training is not that of the runs: $training"

# A budget is what its seconds, minutes or hours are; no time is spent that a clock next to it did not see, and all that its
# runs took.
cp most/results.json before.json
while read -r seconds budget; do
    began=$(date +%s%N)
    expect 0 compare $options $three --until-resolved --margin 0.000001 --compare.max_seeds 6 --budget "$budget" --out most
    took=$((($(date +%s%N) - began) / 1000000))
    field most/results.json "\"budget_seconds\": $seconds,\$" >/dev/null
    old=$(field before.json '"spent_seconds": [0-9.e-]*' | sed 's/.* //')
    new=$(field most/results.json '"spent_seconds": [0-9.e-]*' | sed 's/.* //')
    echo "$old $new $took" | awk '{ exit !($2 > $1 && 1000 * ($2 - $1) <= $3) }' || fail "$old s, then $new s, and $took ms between"
    cp most/results.json before.json
done <<END
90 90s
120 2 min
5400 1.5h
30 0.5min
1000 1e3 s
END
first=$(field most/results.json '"spent_seconds": [0-9.e-]*' | sed 's/.* //')
cat most/runs/*/*/result.json | grep -o '"seconds":[0-9.e-]*' | awk -F : -v spent="$first" '{ sum += $2 } END { exit !(sum > 0 && spent >= sum / 2) }' ||
    fail "less was spent than the runs took"

# Killed without warning and stopped in the middle, again and again: the same runs, the same numbers.
go_on() { # until it is done; in $round sittings
    round=0 status=137
    while [ $status -ne 0 ]; do
        round=$((round + 1))
        before=$( [ -d killed/runs ] && runs killed | wc -l || echo 0)
        "$orthant" compare $options $three --until-resolved --margin 0.000001 --compare.max_seeds 6 --out killed \
            >out 2>err &
        pid=$!
        while kill -0 $pid 2>/dev/null && [ "$( [ -d killed/runs ] && runs killed 2>/dev/null | wc -l || echo 0)" -lt $((before + 3)) ]; do
            sleep 0.01
        done
        [ $((round % 2)) -eq 0 ] && signal=KILL || signal=INT
        kill -$signal $pid 2>/dev/null || true
        status=0
        wait $pid || status=$?
        case $status in 0 | 130 | 137) ;; *) fail "ended with $status after SIG$signal" ;; esac
        [ $round -lt 60 ] || fail "never ends"
    done
}
killed_again_and_again() {
    tries=0 round=0
    while [ $round -le 2 ]; do # one of each, at least; a busy machine lets a comparison come far between two looks
        tries=$((tries + 1))
        [ $tries -lt 10 ] || fail "killed only $((round - 1)) times"
        rm -rf killed
        go_on
    done
    echo "killed or stopped $((round - 1)) times"
    runs most >one
    runs killed >two
    same one two
    for name in one two; do
        [ $name = one ] && folder=most || folder=killed
        awk '/"(step|speed)": \{/ { timed = 1 } !timed; /}/ { timed = 0 }' $folder/results.json |
            grep -o '"\(valid_loss\|weights\|low\|high\|mean\|verdict\|ending\|seeds_needed_low\)": [^[]*$' >$name
    done
    same one two
}
[ -n "$slow" ] || killed_again_and_again # compare.sh has a stop and a kill there

# A budget that is used up: the first round is made in any case. What was spent is kept, and more of it goes on.
expect 0 compare $options $three --until-resolved --baseline softmax --margin 0.000001 --budget 0.001s --out budget
says_wrapped out 'another round would exceed the budget'
field budget/results.json '"ending": "budget used up"' >/dev/null
[ "$(runs budget | wc -l)" = 4 ] || fail "more than the first round was made"
spent=$(field budget/spending.json '"clock":[0-9.]*')
expect 0 compare $options $three --until-resolved --baseline softmax --margin 0.000001 --budget 0.001s --out budget
[ "$(runs budget | wc -l)" = 4 ] || fail "a spent budget was spent again"
again=$(field budget/spending.json '"clock":[0-9.]*')
awk "BEGIN { exit !(${again#*:} > ${spent#*:}) }" || fail "the time of the second call is not counted: $spent, $again"
expect 0 compare $options $three --until-resolved --baseline softmax --margin 0.000001 --budget 1h \
    --compare.max_seeds 6 --out budget
[ "$(runs budget | wc -l)" -gt 20 ] || fail "a larger budget did not go on: $(runs budget | wc -l) runs"
expect 0 compare $options $three --until-resolved --baseline softmax --margin 0.000001 --budget 0.001s \
    --compare.max_seeds 6 --out budget
says_wrapped out 'unresolved after 6 seeds, the limit set by compare.max_seeds' # what is there costs nothing
sed -i 's/"clock":/"clock":9/' budget/spending.json
expect 1 compare $options $three --until-resolved --baseline softmax --margin 0.000001 --out budget
says err 'spending.json'

# What contradicts itself or says nothing is refused before anything is trained.
refused() { # PATTERN OPTION...
    pattern=$1
    shift
    expect 2 compare $options $three "$@" --out refused
    says err "$pattern"
    [ ! -e refused ] || fail "$* left a folder"
}
refused 'compare.budget has no effect without compare.until_resolved' --budget 2h
refused 'compare.max_seeds has no effect without compare.until_resolved' --compare.max_seeds 20
refused 'compare.budget = "2" is not a time' --until-resolved --budget 2
for budget in soon 0s -1s 1d 2hours nans infs 's' '3 s s'; do
    refused "compare.budget = \"$budget\" is not a time" --until-resolved "--budget=$budget"
done
refused 'compare.budget = "-1h" is not a time' --until-resolved --compare.budget=-1h
refused 'compare.seeds = 2' --until-resolved --seeds 2
refused 'compare.max_seeds = 5 is less than compare.seeds = 6' --until-resolved --seeds 6 --compare.max_seeds 5
refused 'compare.family = baseline needs compare.baseline' --compare.family baseline
refused 'compare.family = uniform needs the uniform baseline' --compare.family uniform --compare.uniform_baseline off
refused 'the first attention sets the time' --until-resolved --equal time
refused 'the first attention sets the time' --until-resolved --equal time --baseline linear

# Any number of looks without a baseline: verdicts among all, by the same intervals.
expect 0 compare $options $three --sequential --margin 2 --seeds 6 --out looks
says_wrapped out 'Verdicts are valid at any number of interim analyses'
says_wrapped out 'equivalent to'
