#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""serve_load.py ORTHANT RUN: `orthant serve RUN` under many clients and under clients that misbehave, by hand.

Every answer is compared with the answer of the same request alone. Then the decoding speed is compared with
`orthant bench --decode`, and SIGTERM comes under load: every request that the server began to read must be answered.
Prints what was measured; ends with 1 at the first difference. docs/serve.md has a dated result.
"""
import argparse
import http.client
import json
import os
import random
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORDS = "To be or not to be that is the question whether it is nobler in the mind to suffer".split()
BAD_BODIES = (b"\xff\xfe{}", b'{"prompt": "\xc3\x28"}', b"[" * 100000, b'{"prompt": ' * 5000, b"", b"null", b'{"prompt": "a"',
              b'{"prompt": "a", "prompt": "b"}', b'{"prompt": [1e400]}', b'{"prompt": "a", "n": 1e99}', b'{"prompt": "a", "x": 1}')
GARBAGE = (b"", b"POST /v1/comp", b"\x00\xff\x16\x03\x01garbage\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"a" * 100000,
           b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n{")
HEAD = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"


# ---- requests and their answers

def request(i, tokens):
    """(kind, path, body) of request i; completions make at most `tokens` tokens."""
    text = " ".join(WORDS[: 1 + i * 5 % len(WORDS)])
    body = {"prompt": text, "seed": i, "max_tokens": 1 + i * 7 % tokens, "temperature": (1, 0, 0.7)[i % 3]}
    kind = ("completion", "stream", "logprobs", "echo", "score", "tokenize", "stream", "choices")[i % 8]
    if kind == "score":
        return kind, "/v1/score", {"input": [text, "who"]}
    if kind == "tokenize":
        return kind, "/tokenize", {"prompt": text}
    if kind == "stream":
        body.update(stream=True, logprobs=i % 4)
    elif kind == "logprobs":
        body["logprobs"] = 1 + i % 5
    elif kind == "echo":
        body.update(echo=True, logprobs=2, max_tokens=i // 8 % 3)
    elif kind == "choices":
        body.update(prompt=[text, "who"], n=2, top_p=0.9)
    return kind, "/v1/completions", body


def joined(events):
    """The choices of a stream, put together as they are where nothing is streamed."""
    choices = {}
    for event in events:
        for piece in event["choices"]:
            choice = choices.setdefault(piece["index"], {"text": "", "index": piece["index"], "logprobs": None})
            choice["text"] += piece["text"]
            choice["finish_reason"] = piece["finish_reason"]
            if piece["logprobs"] and choice["logprobs"]:
                for key in choice["logprobs"]:
                    choice["logprobs"][key] += piece["logprobs"][key]
            else:
                choice["logprobs"] = piece["logprobs"] or choice["logprobs"]
    return [choices[i] for i in sorted(choices)]


def content(answer, stream):
    """What of an answer does not depend on when it was asked for."""
    if stream:
        events = answer.decode().split("\n\n")
        assert events[-2:] == ["data: [DONE]", ""], f"a stream ends with {events[-2:]}"
        return {"choices": joined(json.loads(e[len("data: "):]) for e in events[:-2])}
    found = json.loads(answer)
    return {"choices": found["choices"]} if "choices" in found else found


class Client:
    """A connection that is kept; `answered` counts its requests, `told` the answers that end their connection."""

    def __init__(self, port):
        self.port, self.answered, self.told, self.connection = port, 0, 0, None

    def ask(self, path, body):
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
            self.connection.connect()
        try:
            self.connection.request("POST" if body is not None else "GET", path, body)
            answer = self.connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        self.answered += 1
        if answer.will_close:
            self.told += 1
            self.close()
        return answer.status, data

    def answer(self, path, body):
        status, data = self.ask(path, json.dumps(body).encode())
        assert status == 200, (status, data, body)
        return content(data, body.get("stream"))

    def metrics(self):
        lines = self.ask("/metrics", None)[1].decode().splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


def check_same(expected, found, body):
    assert found == expected, f"under load {json.dumps(body)} has another answer:\n{expected}\n{found}"


# ---- the load

class Load:
    """Threads that run until `stop`; the first failure of one is kept."""

    def __init__(self, seed):
        self.seed, self.threads, self.seconds, self.failure = seed, [], {}, None
        self.stop, self.lock = threading.Event(), threading.Lock()

    def start(self, count, work, *arguments):
        for i in range(count):
            thread = threading.Thread(target=self.run, args=(work, random.Random(self.seed * 1000 + len(self.threads))) + arguments)
            self.threads.append(thread)
            thread.start()

    def run(self, work, chance, *arguments):
        try:
            work(self, chance, *arguments)
        except Exception as failure:
            self.failure = self.failure or failure
            self.stop.set()

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()
        if self.failure:
            raise self.failure

    def add(self, kind, seconds):
        with self.lock:
            self.seconds.setdefault(kind, []).append(seconds)

    def table(self, seconds):
        for kind, all_seconds in sorted(self.seconds.items()):
            ordered = sorted(all_seconds)
            p50, p99 = (1000 * ordered[min(len(ordered) - 1, int(q * len(ordered)))] for q in (0.5, 0.99))
            print(f"  {kind:<11}{len(ordered):>7} answers{len(ordered) / seconds:9.1f}/s   p50 {p50:8.1f} ms   p99 {p99:8.1f} ms")


def well_behaved(load, chance, port, expected):
    client = Client(port)
    while not load.stop.is_set():
        kind, path, body, answer = chance.choice(expected)
        began = time.monotonic()
        found = client.answer(path, body)
        load.add(kind, time.monotonic() - began)
        check_same(answer, found, body)
    client.close()


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=600)


def bad_bodies(load, chance, port):
    client = Client(port)
    while not load.stop.wait(0.1):
        body = chance.choice(BAD_BODIES)
        status, answer = client.ask("/v1/completions", body)
        assert status == 400 and "message" in json.loads(answer)["error"], (body[:40], status, answer)
        load.add("bad body", 0)
    client.close()


def large_bodies(load, chance, port):
    """1 GB: refused by its length, or cut where no length is given."""
    while not load.stop.wait(0.5):
        s = connect(port)
        s.sendall(HEAD + b"Content-Length: 1000000000\r\n\r\n")
        assert b" 413 " in s.recv(4096), "1 GB is not refused"
        s.close()
        s, sent = connect(port), 0
        try:
            s.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
            while sent < 1 << 30:
                s.sendall(b"100000\r\n" + b"x" * 0x100000 + b"\r\n")
                sent += 1 << 20
        except OSError:
            pass
        s.close()
        assert sent < 64 << 20, f"{sent} bytes of a body were taken"
        load.add("1 GB body", 0)


def broken_clients(load, chance, port):
    while not load.stop.wait(0.2):
        s = connect(port)
        try:
            s.sendall(chance.choice(GARBAGE))
            load.stop.wait(1)
        except OSError:
            pass
        s.close()
        load.add("garbage", 0)


def slow_clients(load, chance, port, timeout):
    """A byte a second, of a head or of a body, is cut after --timeout."""
    while not load.stop.is_set():
        s, began = connect(port), time.monotonic()
        try:
            if chance.random() < 0.5:
                s.sendall(HEAD + b"Content-Length: 500\r\n\r\n")
            while not load.stop.wait(1):
                s.sendall(b"G")
        except OSError:
            load.add("slow", 0)
        s.close()
        assert time.monotonic() - began < 3 * timeout + 30, "a slow client is not cut off"


def leaving_clients(load, chance, port):
    body = json.dumps({"prompt": ["a"] * 4, "n": 2, "max_tokens": 60, "stream": True, "logprobs": 5}).encode()
    while not load.stop.wait(1):
        s = connect(port)
        s.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        s.recv(100)
        s.close()
        load.add("left", 0)


def crowd(port, count):
    """A process of its own: `count` silent connections, opened again when they are closed; it prints how many it has."""
    crowd, reported = [], 0
    while True:
        while len(crowd) < count:
            try:
                crowd.append(connect(port))
            except OSError:
                break
        if len(crowd) >= count and not reported:
            reported = print(len(crowd), flush=True) or 1
        time.sleep(1)
        left = []
        for s in crowd:
            s.setblocking(False)
            try:
                open_still = s.recv(1) != b""
            except BlockingIOError:
                open_still = True
            except OSError:
                open_still = False
            left.append(s) if open_still else s.close()
        crowd = left


# ---- the server

class Server:
    def __init__(self, orthant, run, options):
        command = [orthant, "serve", run, "--port", "0"] + options
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        line = self.process.stdout.readline()
        if " at http" not in line:
            self.process.wait()
            text = self.stderr()
            print("this program was built without libmicrohttpd" if "libmicrohttpd" in text else text)
            sys.exit(77 if "libmicrohttpd" in text else 1)
        self.port = int(line.rsplit(":", 1)[1])

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read()

    def status(self, key):
        with open(f"/proc/{self.process.pid}/status") as f:
            return int(re.search(rf"^{key}:\s*(\d+)", f.read(), re.M)[1])

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# ---- what is measured

def mixed_load(server, o, expected):
    load, memory, crowded = Load(1), [], None
    if o.crowd:
        command = [sys.executable, __file__, "--silent", str(server.port), str(o.crowd)]
        crowded = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        if o.crowd < o.connections * 7 // 8:
            crowded.stdout.readline()
    before, began = Client(server.port).metrics(), time.monotonic()
    try:
        load.start(o.clients, well_behaved, server.port, expected)
        for work in (bad_bodies, large_bodies, broken_clients, leaving_clients):
            load.start(1, work, server.port)
        load.start(8, slow_clients, server.port, o.timeout)
        while not load.stop.is_set() and time.monotonic() - began < o.seconds:
            memory.append(server.status("VmRSS") / 1024)
            load.stop.wait(max(0.1, o.seconds / 600))
        middle = Client(server.port).metrics()
        seconds = time.monotonic() - began
    finally:
        if crowded:
            crowded.kill()
            crowded.wait()
        load.end()
    tokens = sum(middle[k] - before[k] for k in ("orthant_completion_tokens_total", "orthant_prompt_tokens_total"))
    print(f"{o.clients} clients for {seconds:.0f} s, {o.crowd} silent connections ({middle['orthant_http_connections']:.0f} "
          f"open, {middle['orthant_http_connections_cut_total']:.0f} cut), {tokens / seconds:.0f} tokens/s; all answers are those of the request alone")
    load.table(seconds)
    points = [memory[i * (len(memory) - 1) // 5] for i in range(6)]
    print("  resident memory " + " ".join(f"{m:.0f}" for m in points) + " MiB (at the beginning, each fifth, the end)")
    grown = points[5] - max(points[2], points[1])
    assert o.sanitizer or grown < 16 + 0.02 * points[2], f"memory grew by {grown:.0f} MiB"


class LightClient:
    """Asks for completions over one connection, and looks at nothing but the end of each answer."""

    def __init__(self, port, chance, tokens):
        self.socket, self.chance, self.tokens, self.seconds = connect(port), chance, tokens, []
        self.ask()

    def ask(self):
        stream = self.chance.random() < 0.5
        body = json.dumps({"prompt": "To", "max_tokens": self.tokens, "seed": self.chance.randrange(1 << 30), "stream": stream}).encode()
        self.answer, self.began = b"", time.monotonic()
        self.socket.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def read(self):
        """What has come; whether the answer is whole."""
        self.answer += self.socket.recv(1 << 16)
        head, _, body = self.answer.partition(b"\r\n\r\n")
        length = re.search(rb"Content-Length: (\d+)", head, re.I)
        if len(body) < int(length[1]) if length else not self.answer.endswith(b"\r\n0\r\n\r\n"):
            return False
        assert b" 200 " in head[:20], head
        self.seconds.append(time.monotonic() - self.began)
        return True


def light_clients(port, count, tokens):
    """A process of its own; a line of its input ends it. It prints the seconds of all answers, and its processor time."""
    chance, selector = random.Random(2), selectors.DefaultSelector()
    clients = [LightClient(port, chance, tokens) for _ in range(count)]
    for client in clients:
        selector.register(client.socket, selectors.EVENT_READ, client)
    selector.register(sys.stdin, selectors.EVENT_READ, None)
    while True:
        for key, _ in selector.select():
            if key.data is None:
                print(json.dumps([sum((c.seconds for c in clients), []), time.process_time()]))
                return
            if key.data.read():
                key.data.ask()


def decoding_speed(server, o, folder):
    """Streams and whole answers after a prompt of one word, against steps of bench with as many sequences."""
    command = [sys.executable, __file__, "--light", str(server.port), str(o.clients), str(o.decode_tokens)]
    clients = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    client = Client(server.port)
    time.sleep(max(2, o.decode_seconds / 3))
    first, began, used = client.metrics(), time.monotonic(), server.processor_seconds()
    time.sleep(o.decode_seconds)
    last, seconds, used = client.metrics(), time.monotonic() - began, server.processor_seconds() - used
    answers, client_used = json.loads(clients.communicate("end\n")[0])
    tokens = last["orthant_completion_tokens_total"] - first["orthant_completion_tokens_total"]
    steps = last["orthant_decoding_steps_total"] - first["orthant_decoding_steps_total"]
    rows = last["orthant_decoding_rows_total"] - first["orthant_decoding_rows_total"]
    print(f"decoding: {tokens / seconds:.1f} tokens/s, {tokens / used:.1f} a processor second, {rows / steps:.1f} sequences a step; "
          f"the server uses {used / seconds:.2f} processors, the clients {client_used / (seconds * 4 / 3):.2f}")
    with open(os.path.join(o.run, "config.json")) as f:
        config = json.load(f)
    with open(os.path.join(folder, "model.yaml"), "w") as f:
        json.dump({"model": dict(config["options"]["model"], vocabulary=config["vocabulary"]),
                   "data": {"train": os.path.join(ROOT, "data", "tinyshakespeare.txt")}}, f)
    how = (["--train.precision", o.precision] if o.precision else []) + (["--threads", str(o.threads)] if o.threads else [])
    for clock in ("wall", "processor"):
        bench = subprocess.run([o.orthant, "bench", "--decode", "--config", "model.yaml", "--sequences", str(o.sequences),
                                "--after", str(o.decode_tokens // 2), "--clock", clock, "--json"] + how,
                               check=True, stdout=subprocess.PIPE, cwd=folder, text=True)
        row = json.loads(bench.stdout)["rows"][0]
        mine = tokens / seconds if clock == "wall" else tokens / used
        print(f"  bench --decode --sequences {o.sequences} --clock {clock}: {row['tokens_per_second']:.1f} tokens/s; "
              f"serve has {100 * mine / row['tokens_per_second']:.0f} % of it")
    load = Load(2)
    load.seconds["decoding"] = answers
    load.table(seconds * 4 / 3)


def stop_under_load(server, o, expected):
    """Every request that the server counted as begun has its whole answer, and it ends although clients keep asking."""
    first = Client(server.port)
    begun = first.metrics()["orthant_http_requests_total"]
    first.close()
    load, answered, told, sent_at = Load(3), [], [], []

    def until_closed(load, chance, port):
        client = Client(port)
        while True:
            kind, path, body, answer = chance.choice(expected)
            at = time.monotonic()
            try:
                found = client.answer(path, body)
            except (OSError, http.client.HTTPException):
                break
            check_same(answer, found, body)
        with load.lock:
            answered.append(client.answered)
            told.append(client.told)
            sent_at.append(at)

    load.start(o.clients, until_closed, server.port)
    load.stop.wait(min(5, o.seconds / 3))
    stopped = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    status = server.process.wait(timeout=60)
    ended = time.monotonic() - stopped
    load.end()
    said = re.search(r"stopped by signal 15 after (\d+) requests, all answered", server.stderr())
    assert said and status == 128 + 15, (status, server.stderr())
    counted, whole = int(said[1]) - begun, sum(answered)
    lost = [stopped - at for at in sent_at if at < stopped - 0.5]
    assert counted == whole, f"the server began {counted:.0f} requests, {whole} answers came"
    assert not lost, f"{len(lost)} requests that were sent before the signal have no answer"
    assert max(told) == 1, f"{sum(told)} answers after the signal end their connection, of {o.clients} clients"
    print(f"SIGTERM: ended after {ended:.1f} s; all of {whole} requests answered, {sum(told)} clients told to ask no more")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("orthant", type=os.path.abspath)
    p.add_argument("run", type=os.path.abspath)
    for name, value in (("seconds", 30.0), ("clients", 64), ("kinds", 48), ("tokens", 24), ("crowd", 0), ("connections", 512),
                        ("sequences", 16), ("threads", 0), ("timeout", 30), ("decode-seconds", 10.0), ("decode-tokens", 64)):
        p.add_argument("--" + name, type=type(value), default=value)
    p.add_argument("--precision", default="", help="that the model is served in")
    p.add_argument("--sanitizer", action="store_true", help="a build whose memory grows, as it keeps what is freed")
    o = p.parse_args()
    options = [f"--{k}={getattr(o, k)}" for k in ("connections", "sequences", "timeout")]
    options += (["--precision", o.precision] if o.precision else []) + (["--threads", str(o.threads)] if o.threads else [])
    server = Server(o.orthant, o.run, options)
    try:
        client, expected = Client(server.port), []
        for i in range(o.kinds):
            kind, path, body = request(i, o.tokens)
            alone = {k: v for k, v in body.items() if k != "stream"}
            expected.append((kind, path, body, client.answer(path, alone)))
        client.close()
        if o.seconds > 0:
            mixed_load(server, o, expected)
        if o.decode_seconds > 0:
            with tempfile.TemporaryDirectory() as folder:
                decoding_speed(server, o, folder)
        stop_under_load(server, o, expected)
    finally:
        if server.process.poll() is None:
            server.process.kill()
        sys.stderr.write(server.stderr() if sys.exc_info()[0] else "")


if sys.argv[1:2] == ["--silent"]:
    crowd(int(sys.argv[2]), int(sys.argv[3]))
if sys.argv[1:2] == ["--light"]:
    sys.exit(light_clients(*map(int, sys.argv[2:])))
main()
