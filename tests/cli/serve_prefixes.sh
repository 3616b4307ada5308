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

# start NAME: $server is its process; its address is in the file NAME
start() {
    : >"$1"
    "$orthant" serve softmax rotary local mixed whole --port 0 >"$1" 2>"$1.err" &
    server=$!
    for i in 1 2 3 4 5 6 7 8 9 10; do [ -s "$1" ] || sleep 0.3; done
    if grep -q libmicrohttpd "$1.err"; then
        echo "this program was built without libmicrohttpd"
        exit 77
    fi
    await $server grep -q "serving .* at http" "$1"
}
start first
one=$server
start second
# Of softmax a token has 2 layers of keys and values of 32 numbers of 4 bytes: 16 sequences of 400 tokens.
says first.err "at most 4 for the states of 16 sequences, 64 for stored beginnings of prompts"
python3 "$source/tests/serve/prefixes.py" "$(sed 's/.* at //' first)" "$(sed 's/.* at //' second)" >out 2>&1 || fail "prefixes"
kill -TERM $one $server
ended 143 $one "the server"
ended 143 $server "the second server"
