# SPDX-License-Identifier: Apache-2.0
# prefixes.py FIRST SECOND: two servers of the same models get the same requests in another order, one alone and several at
# a time, so that other beginnings are stored in each. Every answer must be the same, to the bit, and the log-probabilities
# those of `orthant eval` (MODEL.json, of piece.txt).
import json
import random
import sys
import threading
import urllib.request

MODELS = ["softmax", "rotary", "local", "mixed", "whole"]
text = open("piece.txt").read()


def post(address, path, body):
    request = urllib.request.Request(address + path, data=json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.loads(answer.read())


def metric(address, name):
    lines = urllib.request.urlopen(address + "/metrics").read().decode().splitlines()
    return next(float(l.split()[1]) for l in lines if l.startswith(f"orthant_{name} "))


def requests(model):
    """Contexts that are shared by questions, which are shared by answers; scores, echoes and completions."""
    for question in (text[250:290], text[100:130], text[:60]):
        for answer in (" yes", " no", " of course, my lord", ""):
            prompt = text[:250] + question + answer
            yield "/v1/completions", {"prompt": prompt, "max_tokens": 1, "echo": True, "logprobs": 1, "temperature": 0}
            yield "/v1/score", {"input": [prompt, text[:140] + answer + "?"]}
    for shared in (127, 128, 129, 256, 300):
        yield "/v1/completions", {"prompt": text[:shared], "max_tokens": 0, "echo": True, "logprobs": 3}
        if model != "whole":
            yield "/v1/completions", {"prompt": text[:shared], "max_tokens": 6, "n": 2, "seed": shared, "echo": shared % 2 == 0,
                                      "logprobs": 2}
    yield "/v1/score", {"input": text * 3}


def answers(address, wanted, order, clients):
    found, waiting, lock = [None] * len(wanted), list(order), threading.Lock()

    def client():
        while True:
            with lock:
                if not waiting:
                    return
                i = waiting.pop()
            path, body = wanted[i]
            answer = post(address, path, body)
            found[i] = answer["choices"] if "choices" in answer else answer["data"]

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return found


first, second = sys.argv[1:]
wanted = [(path, dict(body, model=m)) for m in MODELS for path, body in requests(m)]
order = list(range(len(wanted)))
reference = answers(first, wanted, order, 1)
assert metric(first, "prompt_tokens_reused_total") > 128 * 20
for clients in (1, 5):
    random.Random(clients).shuffle(order)
    for address in (first, second):
        for i, (one, other) in enumerate(zip(reference, answers(address, wanted, order, clients))):
            assert one is not None and one == other, (clients, wanted[i], one, other)
assert metric(second, "prompt_tokens_reused_total") > 128 * 20
assert 0 < metric(second, "prefix_bytes") <= 64 << 20

# Stored beginnings with fewer alternatives than are wanted are of no use, those with more are.
for tops, expected in ((0, None), (0, 128), (5, 0), (2, 128)):
    body = {"model": "softmax", "prompt": text[:200], "max_tokens": 0, "echo": True, "logprobs": tops}
    before, found = metric(first, "prompt_tokens_reused_total"), post(first, "/v1/completions", body)
    after = metric(first, "prompt_tokens_reused_total")
    assert expected in (None, after - before), (tops, after - before)
    assert {len(t) for t in found["choices"][0]["logprobs"]["top_logprobs"][1:]} <= {max(tops, 1), tops + 1}
    assert found["choices"] == post(second, "/v1/completions", body)["choices"]

# Long prompts do not hold up others: between two of their chunks every sequence gets a token.
stop = threading.Event()


def write():
    while not stop.is_set():
        post(second, "/v1/completions", {"model": "softmax", "prompt": text[0], "max_tokens": 390})


writers = [threading.Thread(target=write) for _ in range(2)]
for w in writers:
    w.start()
while metric(second, "sequences_running") < 2:
    pass
before = metric(second, "decoding_steps_total")
post(second, "/v1/completions", {"model": "local", "prompt": [text[i:380] + text[:i] for i in range(256)], "max_tokens": 1})
steps = metric(second, "decoding_steps_total") - before
stop.set()
for w in writers:
    w.join()
assert steps >= 400, f"{steps} steps while 768 chunks were read"

for m in MODELS:
    scored = post(second, "/v1/score", {"model": m, "input": text})["data"][0]
    loss, expected = -scored["log_p"] / (scored["tokens"] - 1), json.load(open(m + ".json"))["loss"]
    assert abs(loss / expected - 1) < (1e-3 if m == "rotary" else 1e-6), (m, loss, expected)
    echoed = post(second, "/v1/completions", {"model": m, "prompt": text, "max_tokens": 1, "echo": True, "logprobs": 0})
    assert echoed["choices"][0]["logprobs"]["token_logprobs"][:-1] == scored["token_logprobs"], m
print(f"{len(wanted)} requests, {metric(second, 'prompt_tokens_reused_total'):.0f} tokens reused")
