# SPDX-License-Identifier: Apache-2.0
# numbers.py ADDRESS MODE: every number that a server sends, against another source (tests/cli/serve_numbers.sh): what this
# client counted itself, and a softmax in Python of the logits of `orthant forward`.
# MODE ask writes the input of forward and the answers; MODE compare holds them against its output.
import http.client
import json
import math
import re
import struct
import sys
import time

TEXTS = ["To be, or not", "that is", "question?"]
host = sys.argv[1].split("//")[1]
counts = dict.fromkeys("requests connections refused failures prompt made completions".split(), 0)
durations = []
connection = http.client.HTTPConnection(host, timeout=60)


def ask(path, body=None, status=200):
    counts["connections"] += connection.sock is None
    connection.request("GET" if body is None else "POST", path, body if body is None else json.dumps(body))
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == status, (path, answer.status, text)
    counts["requests"] += 1
    return text.decode()


def complete(**body):
    began = time.monotonic()
    answer = json.loads(ask("/v1/completions", dict(body, model="run")))
    durations.append(time.monotonic() - began)
    usage, prompts = answer["usage"], body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
    n, tokens = body.get("n", 1), sum(len(p) for p in prompts)  # a token of this model is a character
    made = sum(len(c["text"]) - (len(prompts[c["index"] // n]) if body.get("echo") else 0) for c in answer["choices"])
    assert usage == {"prompt_tokens": tokens, "completion_tokens": made, "total_tokens": tokens + made}, (body, usage)
    assert [c["index"] for c in answer["choices"]] == list(range(len(prompts) * n))
    assert abs(answer["created"] - time.time()) < 5, answer["created"]
    counts["completions"] += 1
    counts["prompt"] += tokens
    counts["made"] += made
    return answer


def metrics():
    """{name: value} and {name: type}, by the text format of Prometheus."""
    values, types = {}, {}
    for line in ask("/metrics").splitlines():
        if line.startswith("# TYPE "):
            name, kind = line.split()[2:]
            types[name] = kind
        elif not line.startswith("#"):
            assert re.fullmatch(r'[a-z_]+(\{le="[0-9.+Inf]+"\})? [-+.e0-9]+', line), line
            name, value = line.rsplit(" ", 1)
            values[name] = float(value)
    for name, kind in types.items():
        assert kind == ("histogram" if name.endswith("_seconds") else "counter" if name.endswith("_total") else "gauge"), (name, kind)
        assert name in values or name + "_count" in values, name
    return values


def softmax(row):
    top = max(row)
    total = sum(math.exp(x - top) for x in row)
    return [x - top - math.log(total) for x in row]


def tensor(path, name):
    raw = open(path, "rb").read()
    n = struct.unpack("<Q", raw[:8])[0]
    t = json.loads(raw[8:8 + n])[name]
    begin, end = t["data_offsets"]
    values = struct.unpack(f"<{(end - begin) // 4}f", raw[8 + n + begin:8 + n + end])
    width = t["shape"][-1]
    return [values[i:i + width] for i in range(0, len(values), width)]


def compare():
    vocabulary = json.load(open("vocabulary"))
    for i, text in enumerate(TEXTS):
        rows = [softmax(row) for row in tensor(f"out{i}.safetensors", "logits")]
        ids = [vocabulary.index(c) for c in text]
        answer = json.load(open("answers"))[i]
        logs = answer["echo"]["logprobs"]
        assert logs["tokens"] == list(text) and logs["text_offset"] == list(range(len(text)))
        for k in range(1, len(text)):
            row, tops = rows[k - 1], logs["top_logprobs"][k]
            assert abs(logs["token_logprobs"][k] - row[ids[k]]) < 1e-5, (text, k)
            assert set(tops) == set(vocabulary) and abs(sum(math.exp(x) for x in tops.values()) - 1) < 1e-6
            assert all(abs(tops[c] - row[j]) < 1e-5 for j, c in enumerate(vocabulary)), (text, k)
        assert abs(answer["score"]["log_p"] - sum(rows[k - 1][ids[k]] for k in range(1, len(text)))) < 1e-4
        few = answer["few"]["logprobs"]  # the 3 most likely, and what was drawn
        best = sorted(rows[-1], reverse=True)[:3]
        assert all(abs(x - y) < 1e-5 for x, y in zip(sorted(few["top_logprobs"][0].values(), reverse=True), best)), (few, best)
        assert abs(few["token_logprobs"][0] - rows[-1][vocabulary.index(few["tokens"][0])]) < 1e-5


if sys.argv[2] == "compare":
    compare()
    sys.exit()

first = metrics()
assert first["orthant_http_requests_total"] == 1 and first["orthant_http_connections"] == 1
info = json.loads(ask("/tokenizer_info?model=run"))
vocabulary = [json.loads(ask("/detokenize", {"model": "run", "tokens": [i]}))["prompt"] for i in range(info["vocab_size"])]
json.dump(vocabulary, open("vocabulary", "w"))
answers = []
for i, text in enumerate(TEXTS):
    found = json.loads(ask("/tokenize", {"model": "run", "prompt": text}))
    assert found == {"tokens": [vocabulary.index(c) for c in text], "count": len(text), "max_model_len": 32}
    header = json.dumps({"input_ids": {"dtype": "I32", "shape": [1, len(text)], "data_offsets": [0, 4 * len(text)]}}).encode()
    with open(f"in{i}.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(header)) + header + struct.pack(f"<{len(text)}i", *found["tokens"]))
    echo = complete(prompt=text, max_tokens=0, echo=True, logprobs=len(vocabulary))["choices"][0]
    few = complete(prompt=text, max_tokens=1, logprobs=3, temperature=2, seed=i)["choices"][0]
    score = json.loads(ask("/v1/score", {"model": "run", "input": text}))["data"][0]
    counts["prompt"] += len(text)
    answers.append({"echo": echo, "few": few, "score": score})
json.dump(answers, open("answers", "w"))
complete(prompt=TEXTS, n=2, max_tokens=5, seed=3, echo=True)
complete(prompt="To be", max_tokens=9, n=3)
embedded = json.loads(ask("/v1/embeddings", {"model": "run", "input": TEXTS}))
length = sum(len(t) for t in TEXTS)
assert embedded["usage"] == {"prompt_tokens": length, "total_tokens": length}, embedded["usage"]
counts["prompt"] += length

# Many short prompts of one request are read together: 16 in two passes of the 8 sequences.
before = metrics()
complete(prompt=["To be"] * 16, max_tokens=1)
after = metrics()
passes, rows = (after[f"orthant_decoding_{k}_total"] - before[f"orthant_decoding_{k}_total"] for k in ("steps", "rows"))
assert rows == 16 and passes <= 4, f"16 prompts were {rows} rows in {passes} passes"

# A pass has at most as many tokens of prompts as a chunk, 128, and the rest of the last one: 5 prompts of 31 tokens, then 3.
before = after
complete(prompt=["To be, or not that is question?"] * 8, max_tokens=1)
after = metrics()
passes, rows = (after[f"orthant_decoding_{k}_total"] - before[f"orthant_decoding_{k}_total"] for k in ("steps", "rows"))
assert (passes, rows) == (2, 8), f"8 prompts of 31 tokens were {rows} rows in {passes} passes"

for i in range(3):
    ask("/v1/completions", {"model": "run", "prompt": 7}, 400)
    counts["failures"] += 1
for path, status in (("/nothing", 404), ("/v1/completions", 405)):
    ask(path, status=status)
    counts["refused"] += 1
last = metrics()
assert last["orthant_http_requests_total"] == counts["requests"]
assert last["orthant_http_requests_refused_total"] == counts["refused"]
assert last["orthant_failures_total"] == counts["failures"]
assert last["orthant_http_connections_total"] == counts["connections"], (last, counts)
assert last["orthant_prompt_tokens_total"] == counts["prompt"], (last["orthant_prompt_tokens_total"], counts)
assert last["orthant_completion_tokens_total"] == counts["made"]
assert last["orthant_sequences_running"] == last["orthant_sequences_waiting"] == 0
assert last["orthant_prompt_tokens_reused_total"] == last["orthant_prefix_bytes"] == 0
assert last["orthant_decoding_rows_total"] >= counts["made"] - 1

# Durations in seconds: the client sees more than the server, and of the same order; the histogram has the same sum.
name = "orthant_completion_seconds"
assert last[f"{name}_count"] == last[f'{name}_bucket{{le="+Inf"}}'] == counts["completions"]
assert 0.01 * sum(durations) < last[f"{name}_sum"] <= sum(durations), (last[f"{name}_sum"], sum(durations))
buckets = sorted((float(k.split('"')[1]), v) for k, v in last.items() if "_bucket" in k)
assert [le for le, v in buckets[:-1]] == [round(0.01 * 2**i, 2) for i in range(12)]
assert all(a[1] <= b[1] for a, b in zip(buckets, buckets[1:]))
for le, v in buckets[:-1]:
    assert v >= sum(d <= le for d in durations), (le, v, durations)
edges, inside = [0] + [le for le, v in buckets], [b[1] - a[1] for a, b in zip([(0, 0)] + buckets, buckets)]
assert sum(a * k for a, k in zip(edges, inside)) <= last[f"{name}_sum"], buckets
assert sum(b * k for b, k in zip(edges[1:], inside) if k) >= last[f"{name}_sum"], buckets
print(f"{counts['requests']} requests, {counts['prompt']} + {counts['made']} tokens")
