# SPDX-License-Identifier: Apache-2.0
# memory.py ADDRESS PROCESS MESSAGES: eight sequences as long as the context, scored and continued; the process then has
# taken what the message at its start announces: no more, and not much less. Requests that are answered leave nothing
# (tests/cli/serve_numbers.sh).
import json
import os
import re
import sys
import threading
import urllib.request

PROGRAM = 48  # MiB: code, libraries, threads, requests
address, process, messages = sys.argv[1:]
text = open("text.txt").read()
announced = re.search(r"memory: weights (\d+) MiB; at most (\d+) for the states of 8 sequences, (\d+) for stored beginnings of "
                      r"prompts, (\d+) for a pass; in all (\d+) MiB", open(messages).read())
weights, states, prefixes, passes, total = map(int, announced.groups())
assert total == weights + states + prefixes + passes
assert states == 8 * (2 * 2 * 256 * 1024 * 4 >> 20), "keys and values of two layers are others"
assert 0 <= weights * 2**20 - os.path.getsize("large/model.safetensors") < 3 << 20, "the file of the weights has another size"


def peak():
    with open(f"/proc/{process}/status") as f:
        return int(re.search(r"VmHWM:\s*(\d+)", f.read())[1]) / 1024


def client(i):
    for k in range(4):
        prompt = text[(i * 5 + k) * 700 : (i * 5 + k) * 700 + 980]
        body = {"model": "large", "prompt": prompt, "max_tokens": 30, "echo": k % 2 == 0, "logprobs": 2}
        urllib.request.urlopen(urllib.request.Request(address + "/v1/completions", data=json.dumps(body).encode()), timeout=300).read()


def resident():
    with open(f"/proc/{process}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def embed(count):
    body = json.dumps({"model": "large", "input": "To be, or not to be", "user": "u" * 900000}).encode()
    for _ in range(count):
        urllib.request.urlopen(urllib.request.Request(address + "/v1/embeddings", data=body), timeout=300).read()


before = peak()
clients = [threading.Thread(target=client, args=(i,)) for i in range(8)]
for c in clients:
    c.start()
for c in clients:
    c.join()
print(announced[0], f"taken: {before:.0f} MiB before the first request, {peak():.0f} at most")
assert peak() <= total + PROGRAM, f"{peak():.0f} MiB were taken"
assert peak() - before >= 0.8 * states, f"only {peak() - before:.0f} MiB were taken for states of {states}"

embed(4)  # the first ones make rooms that are used again
before = resident()
embed(40)
assert resident() - before < 10, f"40 requests of 0.9 MB leave {resident() - before:.0f} MiB"
