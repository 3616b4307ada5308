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
expect 0 generate run --tokens 20 --json
says out '"text"'
expect 1 generate run --prompt "α"
says err 'vocabulary'

for kind in byte bpe:300; do
    expect 0 train --config tiny.yaml --data.tokenizer $kind --out run-$kind
    expect 0 generate run-$kind --prompt "Ωmega" --tokens 30 --json
    says out '"text"'
    expect 0 eval run-$kind --data greek.txt
done
