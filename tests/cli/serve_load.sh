# SPDX-License-Identifier: Apache-2.0
# serve under load: the bits of a request alone, at any load; bad clients harm nobody else (tests/serve/load.py).
. "$2/tests/cli/common"
command -v python3 >/dev/null || { echo "there is no python3, which is the clients"; exit 77; }
text 30000
expect 0 train --config tiny.yaml --model.context 64 --out run
expect 0 train --config tiny.yaml --model.context 64 --model.attention "linear ; softmax" --data.tokenizer bpe:300 \
    --model.position rotary --out other
expect 0 train --config tiny.yaml --model.context 256 --train.steps 2 --out long
awk 'BEGIN { srand(7); for (i = 0; i < 60; i++) { c = int(rand() * 2); printf "%s\t%s\n", c ? "yes" : "no",
    c ? "to be or not to be" : "the end of the question" } }' >classes.tsv
expect 0 train --config tiny.yaml --task classify --data.train classes.tsv --data.valid "" --model.context 256 --train.steps 2 \
    --out classes
"$orthant" serve run other long classes --port 0 --timeout 3 --connections 64 --sequences 8 --body 1024 >started 2>err &
server=$!
for i in 1 2 3 4 5 6 7 8 9 10; do [ -s started ] || sleep 0.3; done
if grep -q libmicrohttpd err; then
    echo "this program was built without libmicrohttpd"
    exit 77
fi
await $server grep -q "serving .* at http" started
timeout 300 python3 "$source/tests/serve/load.py" "$(sed 's/.* at //' started)" $server >out 2>&1 || fail "under load"
kill -TERM $server
ended 143 $server "the server"
