# SPDX-License-Identifier: Apache-2.0
# serve: every number that it sends has another source (tests/serve/numbers.py), and the memory that it announces bounds
# what it takes (tests/serve/memory.py).
. "$2/tests/cli/common"
command -v python3 >/dev/null || { echo "there is no python3, which is the client"; exit 77; }
text 30000
expect 0 train --config tiny.yaml --data.tokenizer char --out run
expect 0 train --config tiny.yaml --model.width 256 --model.context 1024 --train.batch 1 --train.steps 1 --out large

serve started run --sequences 8
python3 "$source/tests/serve/numbers.py" "$at" ask >out 2>&1 || fail "numbers"
stop
for i in 0 1 2; do
    expect 0 forward run --in in$i.safetensors --out out$i.safetensors
done
python3 "$source/tests/serve/numbers.py" "$at" compare >out 2>&1 || fail "numbers are not those of forward"

# A failure is counted, also in the middle of a stream: position 20 of this model is no number.
python3 - <<'END' || fail "no position"
import json, math, struct
path = "run/model.safetensors"
raw = open(path, "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
header, data = json.loads(raw[8 : 8 + n]), bytearray(raw[8 + n :])
del header["__metadata__"]["orthant.seal"]
struct.pack_into("<f", data, header["position.weight"]["data_offsets"][0] + 20 * 32 * 4, math.nan)
head = json.dumps(header).encode()
open(path, "wb").write(struct.pack("<Q", len(head)) + head + data)
END
serve started run --sequences 8
python3 - "$at" >out 2>&1 <<'END' || fail "failures"
import json, sys, urllib.request
body = {"model": "run", "prompt": "To be", "max_tokens": 25, "stream": True}
stream = urllib.request.urlopen(urllib.request.Request(sys.argv[1] + "/v1/completions", json.dumps(body).encode())).read().decode()
assert stream.count('"text"') > 3 and stream.count("are not finite") == 1, stream
assert "orthant_failures_total 1\n" in urllib.request.urlopen(sys.argv[1] + "/metrics").read().decode()
END
stop
[ -n "$slow" ] && exit 0 # sanitizers take memory of their own
serve started large run --sequences 8 # the bound is that of the larger one, whichever comes last
python3 "$source/tests/serve/memory.py" "$at" $server started.err >out 2>&1 || fail "memory"
stop
# A quarter of the sequences may be stored. A token of `large` has 2 layers of keys and values of 256 numbers of 4 bytes.
serve many large run --sequences 256
says many.err "at most 1024 for the states of 256 sequences, 256 for stored beginnings of prompts"
stop
