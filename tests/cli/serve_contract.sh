# SPDX-License-Identifier: Apache-2.0
# serve: limits at their edges, refusals word by word, drawn tokens, stop texts, reused beginnings and counts, each against a
# reference in Python (tests/serve/contract.py).
. "$2/tests/cli/common"
command -v python3 >/dev/null || { echo "there is no python3, which is the client"; exit 77; }
text 30000
expect 0 train --config tiny.yaml --data.tokenizer char --quiet --out run
expect 0 train --config tiny.yaml --data.tokenizer byte --model.attention linear --model.context 40 --train.steps 2 --train.warmup 1 \
    --quiet --out bytes
expect 0 train --config tiny.yaml --data.tokenizer char --model.layers 1 --model.width 16 --model.context 1024 --train.batch 1 \
    --train.steps 2 --train.warmup 1 --quiet --out wide
printf '\nfirst-key\r\n\r\nsecond key\n\nlast' >keys
serve started run bytes wide --sequences 3 --body 96 --timeout 4 --api-key-file keys
python3 "$source/tests/serve/contract.py" "$at" >out 2>&1 || fail "the contract"
stop
says started.err "stopped by signal 15 $(tail -n 1 out)"
