# SPDX-License-Identifier: Apache-2.0
# serve: texts that begin like earlier ones are read from there on, and their numbers are those of a server that was asked
# nothing else (tests/serve/prefixes.py).
. "$2/tests/cli/common"
command -v python3 >/dev/null || { echo "there is no python3, which is the client"; exit 77; }
text 30000
tiny="--config tiny.yaml --model.context 400 --train.batch 1 --train.steps 2 --train.warmup 1 --quiet"
expect 0 train $tiny --out softmax
expect 0 train $tiny --model.position rotary --model.attention "softmax(kv=2)" --train.precision bf16 --out rotary
expect 0 train $tiny --model.position rotary --model.attention "local(window=40) ; linear" --out local
expect 0 train $tiny --model.attention "pattern(previous):1 | orthogonal:3" --out mixed
expect 0 train $tiny --model.attention "dense" --out whole
for model in softmax rotary local mixed whole; do
    head -c 395 "$source/data/tinyshakespeare.txt" >piece.txt
    expect 0 eval $model --data piece.txt --json
    cp out $model.json
done

serve first softmax rotary local mixed whole
one=$server first=$at
serve second softmax rotary local mixed whole
# Of softmax a token has 2 layers of keys and values of 32 numbers of 4 bytes: 16 sequences of 400 tokens.
says first.err "at most 4 for the states of 16 sequences, 64 for stored beginnings of prompts"
python3 "$source/tests/serve/prefixes.py" "$first" "$at" >out 2>&1 || fail "prefixes"
stop
server=$one
stop
