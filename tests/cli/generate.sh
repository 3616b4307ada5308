# SPDX-License-Identifier: Apache-2.0
# eval and generate: a model that was trained is of use, and the same words give the same text.
. "$2/tests/cli/common"
text 30000
expect 0 train --config tiny.yaml --train.steps 60 --out run
cp out trained
expect 0 eval run
says out 'perplexity'
for line in loss bits/character; do
    [ "$(grep "^$line" trained)" = "$(grep "^$line" out)" ] || fail "train and eval do not agree about $line"
done
expect 0 eval run --data text.txt --json
says out '"bits_per_byte"'
expect 1 eval run --data nowhere.txt
printf 'a \316\261 b' >greek.txt
expect 1 eval run --data greek.txt
says err 'vocabulary'

expect 0 generate run --prompt "To be" --tokens 100 --seed 1
cp out first
[ "$(head -c 5 first)" = "To be" ] || fail "the prompt is not printed first"
[ "$(wc -m <first)" -eq 106 ] || fail "$(wc -m <first) characters instead of 5 + 100 + 1"
expect 0 generate run --prompt "To be" --tokens 100 --seed 1 --threads 1
same out first
expect 0 generate run --prompt "To be" --tokens 40 --seed 1
head -c 45 first >a
head -c 45 out >b
same a b
expect 0 generate run --prompt "To be" --tokens 100 --seed 2
! cmp -s out first || fail "the seed makes no difference"

expect 0 generate run --prompt "To be" --tokens 50 --temperature 0
cp out greedy
for options in "--top-k 1" "--top-p 0" "--temperature 0 --seed 9"; do
    expect 0 generate run --prompt "To be" --tokens 50 $options
    same out greedy
done
expect 0 generate run --tokens 5
expect 0 generate run --tokens 0 --prompt "To be"
[ "$(cat out)" = "To be" ] || fail "no tokens, but text"
expect 0 generate run --prompt "To be, or not" --tokens 20 --json
says out '"text"'
says out '"tokens": 20,'
expect 1 generate run --prompt "α"
says err 'vocabulary'

for kind in byte bpe:300; do
    expect 0 train --config tiny.yaml --data.tokenizer $kind --out run-$kind
    expect 0 generate run-$kind --prompt "Ωmega" --tokens 30 --json
    says out '"text"'
    expect 0 eval run-$kind --data greek.txt
done

# A prompt of any length, from the command line, a file, or the standard input: the same bytes, the same text.
head -c 5000 text.txt >long.txt
expect 0 generate run --prompt "$(cat long.txt; echo x)" --tokens 0
expect 0 generate run --prompt-file long.txt --tokens 20
cp out from-file
head -c 5000 out >a
same a long.txt
[ "$(wc -c <out)" -eq 5021 ] || fail "$(wc -c <out) bytes instead of 5000 + 20 + 1"
"$orthant" generate run --prompt-file - --tokens 20 <long.txt >out 2>err || fail "a prompt from the standard input"
same out from-file
expect 1 generate run --prompt-file nowhere.txt
says err 'nowhere.txt'
expect 2 generate run --prompt-file long.txt --prompt a
says err 'give one of --prompt'

# A stop text ends the text before it; the bytes before it are those without it.
expect 0 generate run --prompt "To be" --tokens 60 --seed 3
cp out whole
stop=$(tail -c +7 whole | grep -o '[A-Za-z][a-z]' | sed -n 3p)
awk -v s="$stop" 'BEGIN { RS = "\001" } { i = index(substr($0, 6), s); printf "%s\n", substr($0, 1, 4 + i) }' whole >wanted
expect 0 generate run --prompt "To be" --tokens 60 --seed 3 --stop "$stop" --stop nowhere-in-it
same out wanted
expect 0 generate run --prompt "To be" --tokens 60 --seed 3 --stop "$stop" --json
says out "\"stop\": \"$stop\""
expect 0 generate run --prompt "To be" --tokens 60 --seed 3 --stop nowhere-in-it --json
says out '"stop": null'
expect 2 generate run --stop ""

# Sample n of several is the text of the seed plus n; so is prompt n of several.
start="To be, or not to be: that is"
for seed in 4 5 6; do
    expect 0 generate run --prompt "$start" --tokens 60 --seed $seed
    [ $seed = 4 ] || echo >>wanted.samples
    echo "==> sample $((seed - 3)) of 3, seed $seed <==" >>wanted.samples
    cat out >>wanted.samples
    cat out >>wanted.prompts
done
expect 0 generate run --prompt "$start" --tokens 60 --seed 4 --samples 3
same out wanted.samples
expect 0 generate run --prompt "To be" --tokens 3 --temperature 0 --samples 2
says err 'all 2 samples will be the same text'
printf "$start\n$start\n$start" | "$orthant" generate run --interactive --tokens 60 --seed 4 >out 2>err || fail "interactive"
same out wanted.prompts
printf 'To be\n\n' | "$orthant" generate run --interactive --tokens 9 --samples 2 --json >out 2>err || fail "interactive"
[ "$(grep -c '^{"run": "run", "prompt": ".*", "samples": \[{"seed": .*}\], "interrupted": false}$' out)" -eq 2 ] || fail "not an object a line"
says out '"prompt": "", "samples": .{"seed": 3,'
printf 'To be\n\n' | "$orthant" generate run --interactive --tokens 9 --samples 2 --seed 7 >out 2>err || fail "interactive"
[ "$(grep -c '^==> sample' out)" -eq 4 ] || fail "not four samples"
for heading in '1 of 2, seed 7' '2 of 2, seed 8' '1 of 2, seed 9' '2 of 2, seed 10'; do
    says out "^==> sample $heading <==\$"
done
# The last seed there is may be used, and no later one.
expect 0 generate run --prompt "To be" --tokens 3 --samples 2 --seed 9007199254740990
says out '^==> sample 2 of 2, seed 9007199254740991 <==$'
expect 2 generate run --prompt "To be" --tokens 3 --samples 2 --seed 9007199254740991
says err 'generate.seed = 9007199254740991 and 2 samples: the last seed would be above 9007199254740991'
expect 0 generate run --interactive
[ ! -s out ] || fail "no prompt, but text"

# A line that cannot be read is said by its number, and the others are as they are without it.
printf "$start\n" | "$orthant" generate run --interactive --tokens 9 --seed 4 >wanted 2>err || fail "interactive"
echo >>wanted
printf "$start\n" | "$orthant" generate run --interactive --tokens 9 --seed 5 >>wanted 2>err || fail "interactive"
printf "$start\nnot \377 text\n$start\n" >lines
"$orthant" generate run --interactive --tokens 9 --seed 4 <lines >out 2>err || fail "a line that cannot be read"
same out wanted
says err 'prompt 2: .*byte 0xFF.*printing an empty line'
"$orthant" generate run --interactive --tokens 9 --seed 4 --json <lines >out 2>err || fail "the same as JSON"
[ "$(wc -l <out)" -eq 3 ] || fail "not an object a line"
sed -n 2p out | grep -q '"samples": \[\], "interrupted": false}$' || fail "samples of what cannot be read"

# Stopped while it waits for a prompt.
mkfifo pipe
"$orthant" generate run --interactive <pipe >out 2>err &
pid=$!
exec 3>pipe
printf 'To be\n' >&3
whole_lines() {
    [ "$(wc -l <out)" -gt 0 ] && [ "$(tail -c 1 out | wc -l)" -eq 1 ]
}
await $pid whole_lines
kill -TERM $pid
status=0
wait $pid || status=$?
exec 3>&-
[ $status -eq 143 ] || fail "ended with $status instead of 143"

# Stopped while it writes: what there is is said, as text and as JSON, and how many tokens of all samples there are.
write_on() { # WORD...
    rm -f out err
    "$orthant" generate run --prompt "To be" --tokens 200000 --seed 3 "$@" >out 2>err &
    pid=$!
}
write_on
await $pid test -s out
kill -INT $pid
ended 130 $pid "a text after SIGINT"
says err 'stopped after [1-9][0-9]* tokens*'
! grep -q 'stopped after 200000 tokens' err || fail "it was stopped at its end"
head -c 5 out | grep -q 'To be' || fail "nothing of the text is said"
seconds=1
until write_on --samples 2 --json && sleep $seconds && kill -TERM $pid && ended 143 $pid "JSON after SIGTERM" &&
    [ -s out ]; do
    seconds=$((seconds * 2))
    [ $seconds -le 256 ] || fail "no JSON of what there was"
done
json out
says out '"interrupted": true'
says out '"text": "'

# A full disk ends it, with the reason, long before all is written.
if [ -w /dev/full ]; then
    status=0
    timeout -k 5 60 "$orthant" generate run --tokens 100000000 >/dev/full 2>err || status=$?
    [ $status -eq 1 ] || fail "a full standard output ended with $status"
    says err 'standard output: No space left'
fi
