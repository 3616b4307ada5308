#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# answer.sh ORTHANT SOURCE: the task `answer` from its files to scores, greedy answers and a comparison.
. "$2/tests/cli/common"

# Sums of two digits as messages, and the same as a table with prompts and answers.
awk 'BEGIN { for (i = 0; i < 10; i++) for (j = 0; j < 10; j++) for (k = 0; k < 4; k++) printf \
    "{\"messages\": [{\"role\": \"user\", \"content\": \"%d+%d\"}, {\"role\": \"assistant\", \"content\": \"%d\"}]}\n", i, j, i + j }' >sums.jsonl
awk 'BEGIN { print "prompt\tanswer"; for (i = 0; i < 10; i++) for (j = 0; j < 10; j++) for (k = 0; k < 4; k++) print i "+" j "\t" i + j }' >sums.tsv
small="--task answer --data.tokenizer char --model.layers 1 --model.width 32 --model.context 16 --train.seed 3"
expect 0 train $small --data.train sums.jsonl --train.steps 150 --train.lr 0.003 --out run --json
cp out a.json
expect 0 train $small --data.train sums.tsv --train.steps 150 --train.lr 0.003 --out table
cmp run/model.safetensors table/model.safetensors || fail "messages and a table of the same sums give other weights"

# Exact answers are those that greedy decoding writes.
awk 'BEGIN { for (i = 0; i < 10; i++) for (j = 0; j < 10; j++) print i "+" j "\t" i + j }' >all.tsv
expect 0 eval run --data all.tsv --columns 1,2 --json
exact=$(python3 -c 'import json; print(json.load(open("out"))["exact"])' 2>/dev/null || sed -n 's/.*"exact": \([0-9.]*\).*/\1/p' out)
cut -f 1 all.tsv >prompts
"$orthant" generate run --temperature 0 --interactive <prompts >out 2>err || fail "interactive"
grep -v '^$' out >written
cut -f 2 all.tsv | paste - written | awk -F'\t' '$1 == $2 { n++ } END { print n + 0 }' >right
[ "$(printf '%.0f' "$exact")" = "$(cat right)" ] || fail "exact is $exact, but greedy decoding writes $(cat right) of 100"
[ "$(cat right)" -gt 0 ] && [ "$(cat right)" -lt 100 ] || fail "this training tells nothing: $(cat right) of 100 are right"

# The same bits for any number of threads, and after a resume.
expect 0 train $small --data.train sums.jsonl --train.steps 30 --threads 1 --out one
expect 0 train $small --data.train sums.jsonl --train.steps 30 --threads 2 --out two
cmp one/model.safetensors two/model.safetensors || fail "two threads give other weights"

expect 0 plan $small --data.train sums.jsonl
expect 0 compare $small --data.train sums.jsonl --train.steps 20 --compare.seeds 2 --attention softmax --attention linear --out c
says out 'accuracy of targets'

printf 'tokens\ttargets\n1 2 3\t- - 1\n2 3 1\t- - 2\n3 1 2\t- - 3\n' >chosen.tsv
expect 0 train --task answer --data.train chosen.tsv --data.valid_fraction 0 --data.tokenizer ids:4 --model.layers 1 --model.width 16 \
    --model.context 4 --train.steps 5 --out chosen
expect 2 generate chosen --prompt "1 2"
says err 'trained on tokens and targets, which have no prompts'
