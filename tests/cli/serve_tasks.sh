# SPDX-License-Identifier: Apache-2.0
# serve: models of other tasks answer what classify, translate and forward print.
. "$2/tests/cli/common"
command -v python3 >/dev/null || { echo "there is no python3, which is the client"; exit 77; }
awk 'BEGIN { srand(7); for (i = 0; i < 200; i++) { c = int(rand() * 3); printf "%s\t", c == 0 ? "yes" : c == 1 ? "no" : "\303\251h";
    for (j = 0; j < 3 + int(rand() * 9); j++) printf "%s ", rand() < .3 ? (c == 0 ? "good" : c == 1 ? "bad" : "so") : "the"; print "end" } }' >train.tsv
awk 'BEGIN { srand(3); for (i = 0; i < 200; i++) { w = sprintf("%c%c %c", 97 + int(rand() * 5), 97 + int(rand() * 5), 97 + int(rand() * 5))
    print w "\t" toupper(w) } }' >copy.tsv
awk 'BEGIN { srand(3); for (i = 0; i < 200; i++) { a = int(rand() * 4); b = int(rand() * 4);
    printf "%.1f\t%s\t%s\n", (a == b) * 4 + rand(), substr("redbluegreyteal", 4 * a + 1, 3), substr("redbluegreyteal", 4 * b + 1, 3) } }' >similar.tsv
awk -F'\t' -v OFS='\t' '{ $1 = $1 > 2 ? "same" : "other"; print }' similar.tsv >pairs.tsv
text 30000
model="--model.layers 1 --model.width 32 --model.heads 4 --model.context 64 --train.batch 16 --train.warmup 5 --quiet"
model="$model --train.eval_every 0 --train.lr 3e-3"
expect 0 train --task classify --data.train train.tsv --data.tokenizer bpe:300 $model --train.steps 30 --out c
expect 0 train --task translate --data.train copy.tsv --data.tokenizer char $model --train.steps 60 --out t
expect 0 train --data.train text.txt --data.tokenizer byte $model --train.steps 20 --out m
expect 0 train --task regress --data.train similar.tsv --data.tokenizer char $model --train.steps 40 --out r
expect 0 train --task classify --data.train pairs.tsv --data.tokenizer char $model --train.steps 40 --out p
expect 0 import "$source/tests/golden-hf/marian" --out ids # sources are ids, with </s> at their end
cp -r "$source/tests/golden-hf/bert-cls" model
chmod -R u+w model
cp "$source/tests/golden-hf/pairs/bert.json" model/tokenizer.json
expect 0 import model --out bert
printf 'the word\tin the end\n' >pair
"$orthant" classify bert --columns 1,2 --scores --json <pair >classes_of_pair 2>err || fail "classify a pair"
cut -f 2 train.tsv | head -n 20 >texts
cut -f 1 copy.tsv | head -n 10 >sources
"$orthant" classify c --scores --json <texts >classes 2>err || fail "classify"
cut -f 2,3 similar.tsv | head -n 20 >columns
"$orthant" classify r --json <columns >numbers 2>err || fail "numbers of pairs"
"$orthant" classify p --scores --json <columns >paired 2>err || fail "classes of pairs"
"$orthant" translate t --json <sources >translations 2>err || fail "translate"
printf '3 4 5\n10 11\n' | "$orthant" translate ids --json --beam 2 --max-tokens 2 >translated 2>err || fail "translate ids"
serve started c t m ids bert r p
python3 - "$at" <<'END' >out 2>&1 || fail "a task"
import base64, json, struct, sys, urllib.request

def post(path, **body):
    data = json.dumps(body).encode()
    return json.load(urllib.request.urlopen(urllib.request.Request(sys.argv[1] + path, data=data), timeout=60))["data"]

texts = open("texts").read().splitlines()
printed = [json.loads(line) for line in open("classes")]
for together in (post("/v1/classify", model="c", input=texts), [post("/v1/classify", model="c", input=t)[0] for t in texts]):
    assert len({p["label"] for p in printed}) > 1
    for got, want in zip(together, printed):
        assert got["label"] == want["label"] and got["scores"] == want["scores"], (got, want)
(pair,) = map(json.loads, open("classes_of_pair"))
(got,) = post("/v1/classify", model="bert", input=[["the word", "in the end"]])
single = post("/v1/classify", model="bert", input="the word")[0]
assert got["scores"] == pair["scores"] and abs(got["scores"]["LABEL_2"] - 0.750964) < 2e-6, (got, pair)
assert abs(single["scores"]["LABEL_2"] - 0.735609) < 2e-6, single
pairs = [line.split("\t") for line in open("columns").read().splitlines()]
printed = [json.loads(line) for line in open("numbers")]
got = post("/v1/classify", model="r", input=pairs)
assert len({p["number"] for p in printed}) > 5 and [g["index"] for g in got] == list(range(20))
assert [g["number"] for g in got] == [p["number"] for p in printed], (got, printed)
printed = [json.loads(line) for line in open("paired")]
assert len({p["scores"]["same"] for p in printed}) > 5
for got, want in zip(post("/v1/classify", model="p", input=pairs), printed):
    assert (got["label"], got["scores"]) == (want["label"], want["scores"]), (got, want)
for wrong in ("red", ["red", "tea"], [["red", "tea", "blu"]], [["red", 7]]):
    try:
        raise AssertionError(post("/v1/classify", model="p", input=wrong))
    except urllib.error.HTTPError as refused:
        assert refused.code == 400 and "must be a pair of texts" in json.load(refused)["error"]["message"], wrong
try:
    raise AssertionError(post("/v1/attention", model="t", prompt="ab"))
except urllib.error.HTTPError as refused:
    assert "this path needs a language model" in json.load(refused)["error"]["message"]
sources = open("sources").read().splitlines()
for got, line in zip(post("/v1/translate", model="t", input=sources), open("translations")):
    want = json.loads(line)["hypotheses"][0]
    assert (got["text"], got["log_p"], got["ended"]) == (want["text"], want["log_p"], want["ended"]), (got, want)
for got, line in zip(post("/v1/translate", model="ids", input=["3 4 5", "10 11"], beam=2, max_tokens=2), open("translated")):
    want = json.loads(line)["hypotheses"][0]
    assert (got["text"], got["log_p"]) == (want["text"], want["log_p"]), (got, want)
wide = post("/v1/translate", model="t", input="a b c", beam=256, max_tokens=3)
assert wide[0]["log_p"] >= post("/v1/translate", model="t", input="a b c", beam=1, max_tokens=3)[0]["log_p"], wide
with_end = [post("/v1/embeddings", model="ids", input=[i])[0]["embedding"] for i in ("3 4 5", [3, 4, 5, 0])]
assert with_end[0] == with_end[1]

# Embeddings: last hidden states of forward, pooled; written without a library of tensors.
ids = list(b"To be, or not")
header = json.dumps({"input_ids": {"dtype": "I32", "shape": [1, len(ids)], "data_offsets": [0, 4 * len(ids)]}}).encode()
header += b" " * (-len(header) % 8)
open("in.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + struct.pack(f"<{len(ids)}i", *ids))
got = {p: post("/v1/embeddings", model="m", input=["To be, or not"], pooling=p)[0]["embedding"] for p in ("mean", "cls", "last")}
packed = post("/v1/embeddings", model="m", input=[ids], encoding_format="base64")[0]["embedding"]
assert [x for x in struct.unpack("<32f", base64.b64decode(packed))] == [struct.unpack("<f", struct.pack("<f", x))[0] for x in got["mean"]]
json.dump(got, open("embeddings", "w"))
END
expect 0 forward m --in in.safetensors --out out.safetensors
python3 - <<'END' >out 2>&1 || fail "embeddings are not those of forward"
import json, struct
raw = open("out.safetensors", "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
a = json.loads(raw[8:8 + n])["last_hidden_state"]
begin, end = a["data_offsets"]
x = struct.unpack(f"<{(end - begin) // 4}f", raw[8 + n + begin:8 + n + end])
rows = [x[i:i + 32] for i in range(0, len(x), 32)]
want = {"cls": rows[0], "last": rows[-1], "mean": [sum(column) / len(rows) for column in zip(*rows)]}
got = json.load(open("embeddings"))
assert len(rows) == 13
for key in want:
    assert all(abs(g - w) < 1e-6 * (1 + abs(w)) for g, w in zip(got[key], want[key])), key
END
stop
