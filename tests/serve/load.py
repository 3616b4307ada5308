# SPDX-License-Identifier: Apache-2.0
# load.py ADDRESS PROCESS: what a server does under load and under clients that misbehave (tests/cli/serve_load.sh).
# An answer is that of the request alone, to the bit, whatever else is computed; nobody waits for a bad client.
import json, os, random, socket, sys, threading, time, urllib.error, urllib.request

address, process = sys.argv[1], sys.argv[2]
PATIENCE = 40 if os.environ.get("ORTHANT_QUICK") else 5  # seconds; sanitizers are slow
host, port = address.split("//")[1].rsplit(":", 1)


def post(path, body):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(address + path, data=data), timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def completion(i):
    """Requests of all kinds and lengths: two models, sampled and greedy, with and without echo."""
    words = "To be or not to be that is the question".split()
    body = {"model": ["run", "other"][i % 2], "prompt": " ".join(words[: 1 + i % 7]), "seed": i, "logprobs": i % 4,
            "max_tokens": 1 + i * 7 % 24, "temperature": [1, 0, 0.7][i % 3], "echo": i % 5 == 0}
    if i % 6 == 1:
        body.update(n=3, top_p=0.9)
    if i % 7 == 2:
        body["prompt"] = [body["prompt"], "who"]
    return body


def choices(body):
    status, answer = post("/v1/completions", body)
    assert status == 200, (status, answer)
    return json.loads(answer)["choices"]


# ---- batch invariance

COUNT = 24
alone = [choices(completion(i)) for i in range(COUNT)]
for others in (1, 3, 8):
    found = [None] * COUNT
    waiting = list(range(COUNT))
    random.Random(others).shuffle(waiting)
    lock = threading.Lock()

    def client():
        while True:
            with lock:
                if not waiting:
                    return
                i = waiting.pop()
            found[i] = choices(completion(i))

    clients = [threading.Thread(target=client) for _ in range(others + 1)]
    for c in clients:
        c.start()
    for c in clients:
        c.join()
    for i in range(COUNT):
        assert found[i] == alone[i], f"with {others} others request {i} has other bits: {found[i]} {alone[i]}"
metrics = urllib.request.urlopen(address + "/metrics").read().decode()
numbers = dict(line.rsplit(" ", 1) for line in metrics.splitlines() if not line.startswith("#"))
steps, rows = float(numbers["orthant_decoding_steps_total"]), float(numbers["orthant_decoding_rows_total"])
assert rows > 1.2 * steps, f"{rows} rows in {steps} steps: nothing was decoded together"
print(f"{rows:.0f} rows in {steps:.0f} steps")

# ---- a long score: it lets others through, and has the numbers of its windows alone

words = "To be or not to be that is the question "
ids = json.loads(post("/tokenize", {"model": "run", "prompt": words * 5000})[1])["tokens"]
scored = {}


class HeldUp(Exception):
    pass


def in_time(condition, sentence):
    if not condition:
        raise HeldUp(sentence)


def one_of_three(check):
    """Conditions on times must hold in one of three tries: other programs may hold up a try."""
    for tries_left in (2, 1, 0):
        try:
            return check()
        except HeldUp:
            if not tries_left:
                raise


def score_long():
    began = time.monotonic()
    scored["long"] = json.loads(post("/v1/score", {"model": "run", "input": words * 5000})[1])["data"][0]
    scored["seconds"] = time.monotonic() - began


@one_of_three
def completions_do_not_wait_for_a_score():
    scorer = threading.Thread(target=score_long)
    scorer.start()
    time.sleep(0.05)
    slowest = 0
    while scorer.is_alive():
        sent = time.monotonic()
        assert choices(completion(0)) == alone[0]
        slowest = max(slowest, time.monotonic() - sent)
    scorer.join()
    in_time(slowest < scored["seconds"] / 3, f"a completion waits {slowest:.2f} of {scored['seconds']:.2f} s of a score")


windows = [ids[i : i + 65] for i in range(0, len(ids) - 1, 64)]
parts = [json.loads(post("/v1/score", {"model": "run", "input": w})[1])["data"][0] for w in windows[:3] + windows[-1:]]
got = scored["long"]["token_logprobs"]
assert len(got) == scored["long"]["tokens"] == len(ids)
for first, part in zip((0, 64, 128, 64 * (len(windows) - 1)), parts):
    assert got[first + 1 : first + 65] == part["token_logprobs"][1:], "a window has other numbers than alone"
assert abs(sum(got[1:]) - scored["long"]["log_p"]) < 1e-6 * -scored["long"]["log_p"]

# ---- maps, embeddings and classes take turns with other requests: a completion of 40 steps that comes later ends earlier

LONG = [("/v1/attention", {"model": "long", "prompt": words * 6}), ("/v1/embeddings", {"model": "long", "input": [words * 6] * 400}),
        ("/v1/embeddings", {"model": "long", "input": words * 6}), ("/v1/classify", {"model": "classes", "input": [words * 6] * 400}),
        ("/v1/attention", {"model": "long", "prompt": "To be"}), ("/v1/embeddings", {"model": "long", "input": "To be"})]
whole = [post(*request) for request in LONG]
assert all(status == 200 for status, answer in whole), [answer[:200] for status, answer in whole]
short = {"model": "run", "prompt": "who", "max_tokens": 40, "logprobs": 2}
expected, ended = choices(short), []


def ask(name, path, body):
    answer = post(path, body)
    ended.append((name, answer))


for request in LONG[:2] + LONG[3:4]:

    @one_of_three
    def a_short_request_ends_earlier():
        ended.clear()
        long = threading.Thread(target=ask, args=("long", *request))
        long.start()
        time.sleep(0.02)
        ask("short", "/v1/completions", short)
        long.join()
        found = dict(ended)["short"]
        assert json.loads(found[1])["choices"] == expected, f"next to {request[0]} a completion has other bits"
        in_time(ended[0][0] == "short", f"{request[0]}: others wait until it has ended")


# All of them at the same time, of the same model: a pass has nothing of another one.
ended.clear()
clients = [threading.Thread(target=ask, args=(i, *request)) for i, request in enumerate(LONG)]
clients.append(threading.Thread(target=ask, args=("short", "/v1/completions", short)))
clients.append(threading.Thread(target=ask, args=("same model", "/v1/score", {"model": "long", "input": words * 6})))
for c in clients:
    c.start()
for c in clients:
    c.join()
found = dict(ended)
for i in range(len(LONG)):
    assert found[i] == whole[i], f"{LONG[i][0]} has other bits next to others"
assert found["same model"] == post("/v1/score", {"model": "long", "input": words * 6})

# Long requests do not hold up short ones, of other paths or of their own.
batches = [(path, {"model": model, "input": [words * 6] * 400}) for path, model in
           (("/v1/classify", "classes"), ("/v1/embeddings", "long")) for i in range(4)]


@one_of_three
def short_requests_of_these_paths_end_earlier():
    ended.clear()
    clients = [threading.Thread(target=ask, args=("long", *request)) for request in LONG[:1] * 4 + batches]
    for c in clients:
        c.start()
    time.sleep(0.1)
    few = [threading.Thread(target=ask, args=("short", path, {"model": model, "input": "To be"})) for path, model in
           (("/v1/classify", "classes"), ("/v1/embeddings", "long"))]
    for c in few:
        c.start()
    for c in clients + few:
        c.join()
    assert all(answer[0] == 200 for name, answer in ended)
    order = [name for name, answer in ended]
    in_time("short" not in order[-8:], f"short requests wait for long ones: {order}")


# Nothing is computed for clients that have left: the next request waits for none of six.
@one_of_three
def requests_do_not_wait_for_clients_that_left():
    began = time.monotonic()
    post(*batches[0])
    alone_seconds = time.monotonic() - began
    for i in range(6):
        data = json.dumps(batches[0][1]).encode()
        with socket.create_connection((host, int(port))) as s:
            s.sendall(b"POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
            time.sleep(0.02)
    began = time.monotonic()
    assert post(*batches[0])[0] == 200
    waited = time.monotonic() - began
    in_time(waited < 3 * alone_seconds + 0.5, f"{waited:.2f} s next to clients that left, {alone_seconds:.2f} s alone")


# ---- bad clients


def connect():
    s = socket.create_connection((host, int(port)), timeout=20)
    return s


def memory():
    with open(f"/proc/{process}/statm") as f:
        return int(f.read().split()[1]) * 4096


expected = alone[3]


def still_well(what):
    began = time.monotonic()
    assert choices(completion(3)) == expected, what
    assert time.monotonic() - began < PATIENCE, f"{what}: others wait {time.monotonic() - began:.1f} s"


before = memory()
bad = []
for head in (b"", b"POST /v1/comp", b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n{",
             b"\x00\xff\x16\x03\x01garbage\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"a" * 100000):
    s = connect()
    try:
        s.sendall(head)
    except OSError:
        pass
    bad.append(s)
still_well("half requests")

# Bodies that are too large: refused by their length, or cut when it is not given.
s = connect()
s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n")
assert b" 413 " in s.recv(4096), "1 GB is not refused"
s = connect()
s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
sent = 0
try:
    while sent < 300 << 20:
        s.sendall(b"100000\r\n" + b"x" * 0x100000 + b"\r\n")
        sent += 1 << 20
except OSError:
    pass
assert sent < 64 << 20, f"{sent} bytes of a body were read"
still_well("large bodies")

# Bodies that are no requests.
for body in (b"\xff\xfe{}", b'{"model": "run", "prompt": "\xc3\x28"}', b"[" * 100000, b'{"prompt": ' * 5000, b"", b"null",
             b'{"model": "run", "prompt": "a", "prompt": "b"}', b'{"model": "run", "prompt": [[], []]}',
             b'{"model": "run", "prompt": [1e400]}', b'{"model": "run", "prompt": "a", "n": 1e99}',
             b'{"model": "run", "prompt": "a\\u0000b", "max_tokens": 1}', b'{"model": "run", "stop": [[]], "prompt": "a"}'):
    status, answer = post("/v1/completions", body)
    assert status == 400 and "message" in json.loads(answer)["error"], (body[:40], status, answer)
still_well("bad bodies")

# A stream whose client leaves, and one that does not read.
for reads in (True, False):
    s = connect()
    body = json.dumps({"model": "run", "prompt": ["a"] * 20, "n": 10, "max_tokens": 60, "stream": True, "logprobs": 20}).encode()
    s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    if reads:
        s.recv(100)
        text = urllib.request.urlopen(address + "/metrics").read().decode()
        assert "orthant_sequences_running 0\n" not in text, "a stream begins when its request has ended"
        s.close()
        still_well("a request of 200 sequences")
    else:
        bad.append(s)
still_well("streams that are left")

# One byte a second is no reason to wait: --timeout cuts it.
slow = connect()
began = time.monotonic()
try:
    while time.monotonic() - began < 10 + PATIENCE:
        slow.sendall(b"G")
        time.sleep(0.5)
except OSError:
    pass
assert time.monotonic() - began < 5 + PATIENCE, "a slow client is not cut off"

# More connections than are allowed, all silent: a new client still gets through.
crowd = []
for i in range(400):
    try:
        crowd.append(connect())
    except OSError:
        break
    if i % 100 == 99:
        still_well(f"{i + 1} silent connections")
for s in bad + crowd:
    s.close()
still_well("the end")
if not os.environ.get("ORTHANT_QUICK"):  # sanitizers keep what is freed
    assert memory() - before < 100 << 20, f"{(memory() - before) >> 20} MiB more memory"
