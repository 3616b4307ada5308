# SPDX-License-Identifier: Apache-2.0
# judge: forms of files on the command line, what the report has and has not, folders, invalid use.
. "$2/tests/cli/common"

runs=$source/data/runs

# One table, a baseline, a folder: the report speaks of systems, and of nothing that is not known.
expect 0 judge "$runs/optimizers.csv" --baseline adamw --margin 0.01 --out verdict --quiet
says out '^system .*val_loss'
says out '^adafactor .* better'
says out '^report   verdict/report.html$'
grep -q 'The last value of each run counts, at step 300\.' out || fail "no remark on the last value"
cp out verdict/out
expect 0 judge "$runs/optimizers.csv" --out all --quiet
cp out all/out
expect 0 judge "$runs/speedrun.csv" --metric loss --out samples --quiet
cp out samples/out
for folder in verdict all samples; do
    sed '/<script/,/<\/script>/d; /<style/,/<\/style>/d' $folder/report.html >$folder/page
    for file in $folder/out $folder/report.md $folder/page $folder/report.svg; do
        [ -s $file ] || fail "$file is empty"
        ! grep -q -i 'attention' $file || fail "$file speaks of attentions: $(grep -i attention $file | head -c 300)"
        ! grep -q -i 'NaN\|tokens/s\|parameters\|FLOPs\|perplexity\|memory' $file ||
            fail "$file has what is not known: $(grep -i 'NaN\|tokens/s\|parameters\|FLOPs\|perplexity\|memory' $file | head -c 300)"
    done
done
says verdict/report.html 'val_loss during training'
says verdict/results.json '"name": "val_loss"'

# All forms of the same numbers give the same statistics.
expect 0 judge "$runs/wandb_export.csv" --json --quiet
sed -n '/"pairs"/,/^  \]/p' out >pairs
[ -s pairs ] || fail "there are no pairs"
expect 0 judge "$runs/optimizers.csv" --json --quiet
sed -n '/"pairs"/,/^  \]/p' out | cmp - pairs || fail "the export and the table differ"
"$orthant" judge - --json --quiet <"$runs/optimizers.csv" >out
sed -n '/"pairs"/,/^  \]/p' out | cmp - pairs || fail "the standard input differs"
gzip -c "$runs/optimizers.csv" >runs.CSV.gz
expect 0 judge runs.CSV.gz --json --quiet
sed -n '/"pairs"/,/^  \]/p' out | cmp - pairs || fail "the packed file differs"
expect 0 judge "$runs/optimizers.csv" --json --quiet --threads 1
sed -n '/"pairs"/,/^  \]/p' out | cmp - pairs || fail "one thread differs"

# What is asked for is what is judged.
expect 0 judge "$runs/optimizers.csv" --baseline adamw --margin 0.01 --test two-way --level 0.01 --json --quiet
for field in '"margin": 0.01,' '"kind": "baseline",' '"level": 0.01,' '"test": "two-way",'; do
    says out "$field"
done
expect 0 judge "$runs/optimizers.csv" --baseline adamw --family pairs --sequential --threshold 2.5 --json --quiet
for field in '"kind": "pairs",' '"comparisons": 3,' '"detectable": null' '"by": "threshold",' '"value": 2.5,'; do
    says out "$field"
done

# Without seeds: independent samples.
expect 0 judge "$runs/speedrun.csv" --metric loss --quiet
says out 'Runs are independent samples'
! grep -q 'seed' out || [ "$(grep -c 'seed' out)" -eq "$(grep -c 'no seeds are given' out)" ] ||
    fail "speaks of seeds: $(grep seed out)"

# Failed runs; where all failed, the command fails, too.
printf 'system,seed,loss\na,1,1\na,2,nan\nb,1,2\nb,2,3\nb,3,4\nb,4,4\nb,5,5\nc,1,1\nc,2,1.5\nc,3,1.25\nc,4,1\nc,5,1\n' >failed.csv
expect 0 judge failed.csv --quiet
says out '^a, seed 2: loss has no finite value (failed.csv:3)$'
says out '^a .*failed 1 of 2'
printf 'system,seed,loss\na,1,nan\nb,1,\n' >all.csv
expect 4 judge all.csv --quiet
says err 'no system can be judged: 2 of 2 runs'

# A threshold: shares (p by scipy.stats.boschloo_exact 1.17.1: 0.0215) and, where they are known, steps (p of the log-rank
# statistic over all 252 exchanges of runs: 0.0397).
{
    echo model,seed,step,acc
    for run in a,1,40,97 a,2,96,98 a,3,41,97 a,4,50,97.5 a,5,50,96 b,1,40,43 b,2,46,48 b,3,41,47 b,4,50,97.5 b,5,50,46; do
        echo "$run" | awk -F, '{ print $1 "," $2 ",100," $3; print $1 "," $2 ",200," $4 }'
    done
} >steps.csv
expect 0 judge steps.csv --threshold 95 --quiet
says out '^a  *5 of 5  48–100 %   5 of 5     200'
says out '^b  *1 of 5    1–72 %   1 of 5   never'
says out '^a  *b  *0\.021  0\.040$'
says out '4 of 5 runs of b did not solve the task (acc of at least 95)'
grep -v ',100,' steps.csv | cut -d, -f 1,2,4 >ends.csv
expect 0 judge ends.csv --threshold acc=95 --quiet --out shares
says out '^b  *1 of 5    1–72 %$'
says out '^a  *b  *0\.021$'
! grep -q '"median"' shares/results.json || fail "steps that are not known"
! grep -q -i 'attention' out shares/report.md || fail "a threshold speaks of attentions"
expect 0 judge ends.csv --quiet
says out 'a system has runs in both'
expect 2 judge ends.csv --threshold loss=95
says err "is of 'loss', but the metric is acc"
expect 2 judge ends.csv --threshold high
says err "\-\-threshold is 'high'; give a number"

# A folder of a comparison keeps its report.
mkdir comparison && : >comparison/contest.json
expect 2 judge failed.csv --out comparison
says err 'comparison has a comparison'
expect 2 judge
says err 'judge needs a file or folder of runs'
expect 2 judge failed.csv --lower --higher
expect 1 judge no-such-file.csv
says err 'no-such-file.csv'
expect 2 judge failed.csv --at worst
says err "\-\-at is 'worst'"
expect 2 judge failed.csv --baseline d
says err "no system is called 'd'"
printf 'system,seed,x\na,1,1\nb,1,2\n' >unknown.csv
expect 2 judge unknown.csv
says err 'give --lower or --higher'
expect 0 judge unknown.csv --higher --quiet

# Numbers far from 1: small ones have digits, and what squares cannot hold is refused.
table() { # METRIC FACTOR
    echo "system,seed,$1"
    awk -v f="$2" 'BEGIN { for (i = 1; i <= 6; i++) printf "a,%d,%se-%d\nb,%d,%se-%d\n", i, 1 + i / 10, f, i, 2 + i * 3 % 7 / 10, f }'
}
table mse 12 >small.csv
expect 0 judge small.csv --quiet
says out '^a  *1\.35e-12 ±1\.9[0-9]e-13 .* best$' # 1.96e-13 is t(0.975, 5) times the deviation, 1.87e-13, by the root of 6
says out '^b .* worse$'
table mse 170 >tiny.csv
expect 1 judge tiny.csv --quiet
says err 'tiny.csv:2: 1.1e-170 is out of range: judge takes sizes from 1e-100 to 1e100'

# 01 is seed 1; an empty cell is no value; what runs of no order have in common is an accident.
printf 'system,seed,loss\na,1,1\na,01,2\nb,1,3\n' >zeros.csv
expect 1 judge zeros.csv --quiet
says err 'zeros.csv:3: a second value of a, seed 1'
awk 'BEGIN { print "system,seed,loss"; for (i = 1; i < 6; i++) printf "a,%d,%s\nb,%d,%d\n", i, i == 3 ? "" : i, i, 2 * i }' >empty.csv
expect 0 judge empty.csv --quiet
says out '^a, seed 3: loss has no finite value (empty.csv:6)$'
awk 'BEGIN { print "system,score"; for (i = 1; i < 6; i++) printf "a,%d\nb,%d\n", i, i }' >alike.csv
expect 0 judge alike.csv --quiet
says out '^b .* n\.s\.$'
awk 'BEGIN { print "system,seed,score"; for (i = 1; i < 6; i++) printf "a,%d,%d\nb,%d,%d\n", i, i, i, i }' >alike.csv
expect 0 judge alike.csv --quiet
says out 'b is identical to a: bitwise the same score with every seed\.'
says out '^Take a, or b, which is identical: no system was shown to be better\.$'

# A mean that is adjusted from a single run is no better known than that run.
printf 'system,seed,acc\na,1,0.9\nb,1,0.5\nb,2,0.6\nb,3,0.55\n' >single.csv
expect 0 judge single.csv --quiet
says out '^a has the highest adjusted acc, of only one run\.$'

# Names are marked as such where they are words, and nowhere else.
awk 'BEGIN { print "system,seed,loss"; for (i = 1; i < 7; i++) printf "e,%d,%s\nb,%d,%s\n", i, i / 10, i, 2 + i * 3 % 7 / 10 }' >short.csv
expect 0 judge short.csv --baseline b --out short --quiet
says short/report.html '<h1 id="recommendation">Change to <code>e</code>: it was shown to be better than <code>b</code>, by 2'

# Seven seeds each, four of them in common: enough runs, and not of the same seeds.
awk 'BEGIN { print "system,seed,loss"; for (i = 1; i < 8; i++) printf "a,%d,%s\nb,%d,%s\n", i, 1 + i / 10, i + 3, 2 + i * 3 % 7 / 10 }' >shared.csv
expect 0 judge shared.csv --quiet
tr '\n' ' ' <out >lines
says lines 'b has fewer than 5 seeds in common with a: an estimate and no verdict\.'
says lines 'More of the same seeds are needed: every system with the same 5 or more; or judge the runs as independent ones (--unpaired)\.'
expect 0 judge shared.csv --unpaired --quiet
says out '^b .* worse$'
