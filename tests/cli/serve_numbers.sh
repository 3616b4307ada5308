# SPDX-License-Identifier: Apache-2.0
# serve: every number that it sends has another source (tests/serve/numbers.py), and the memory that it announces bounds
# what it takes (tests/serve/memory.py).
. "$2/tests/cli/common"
command -v python3 >/dev/null || { echo "there is no python3, which is the client"; exit 77; }
text 30000
expect 0 train --config tiny.yaml --data.tokenizer char --out run
expect 0 train --config tiny.yaml --model.width 256 --model.context 1024 --train.batch 1 --train.steps 1 --out large

# start ARGUMENT...: $server is its process, $at its address
start() {
    : >started
    "$orthant" serve "$@" --port 0 --sequences 8 >started 2>err &
    server=$!
    for i in 1 2 3 4 5 6 7 8 9 10; do [ -s started ] || sleep 0.3; done
    if grep -q libmicrohttpd err; then
        echo "this program was built without libmicrohttpd"
        exit 77
    fi
    await $server grep -q "serving .* at http" started
    at=$(sed 's/.* at //' started)
}

stop() {
    kill -TERM $server
    ended 143 $server "the server"
}

start run
python3 "$source/tests/serve/numbers.py" "$at" ask >out 2>&1 || fail "numbers"
stop
for i in 0 1 2; do
    expect 0 forward run --in in$i.safetensors --out out$i.safetensors
done
python3 "$source/tests/serve/numbers.py" "$at" compare >out 2>&1 || fail "numbers are not those of forward"
[ -n "${ORTHANT_QUICK-}" ] && exit 0 # sanitizers take memory of their own
start large
python3 "$source/tests/serve/memory.py" "$at" $server err >out 2>&1 || fail "memory"
stop
