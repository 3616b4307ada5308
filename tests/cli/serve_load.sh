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
serve started run other long classes --timeout 3 --connections 64 --sequences 8 --body 1024
timeout 300 python3 "$source/tests/serve/load.py" "$at" $server >out 2>&1 || fail "under load"
stop
