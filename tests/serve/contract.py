# SPDX-License-Identifier: Apache-2.0
# contract.py ADDRESS: every limit at its edge, every refusal word by word, every drawn token and every reused beginning, each
# against a reference in Python (tests/cli/serve_contract.sh, which names the models, the keys and the options).
import codecs
import http.client
import json
import math
import random
import socket
import sys
import threading
import time

HOST = sys.argv[1].split("//")[1]
NAME, PORT = HOST.split(":")
KEY = {"Authorization": "Bearer second key"}
BODY, CONTEXT, TIMEOUT = 96 << 10, 32, 4
JSON = "application/json"
cut = 0  # times that the server closed the connection
connection = http.client.HTTPConnection(HOST, timeout=60)
counts = dict.fromkeys("requests refused failures completions prompt made".split(), 0)


def call(method, path, body=None, headers=KEY):
    """(status, headers, text) of a request on the one connection."""
    global cut
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
    except http.client.RemoteDisconnected:  # this machine did nothing for longer than the timeout
        cut += 1
        connection.close()
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
    text = answer.read().decode()
    counts["requests"] += 1
    return answer.status, answer.headers, text


def failure(message, kind="invalid_request_error", code=None):
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def post(path, **body):
    status, headers, text = call("POST", path, json.dumps(body))
    assert status == 200 and headers["Content-Type"] == JSON, (path, body, text)
    return json.loads(text)


def refused(path, message, **body):
    status, headers, text = call("POST", path, json.dumps(body))
    assert (status, json.loads(text)) == (400, failure(message)), (path, body, status, text, message)
    counts["failures"] += 1


def metrics():
    lines = call("GET", "/metrics")[2].splitlines()
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if line[0] != "#"}


def complete(model="run", **body):
    answer = post("/v1/completions", model=model, **body)
    counts["completions"] += 1
    assert answer["id"] == f"cmpl-{counts['completions']}" and answer["object"] == "text_completion", answer
    assert answer["model"] == model and abs(answer["created"] - time.time()) < 60
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    counts["prompt"] += usage["prompt_tokens"]
    counts["made"] += usage["completion_tokens"]
    return answer


# ---- HTTP: what is refused, in this order: host, path, method, key, size


def check_http():
    machine = failure("the header Host names another machine")
    unknown = failure("there is no such path; docs/serve.md lists them")
    method = failure("this path has another method: GET or POST")
    key = failure("a key of --api-key-file is needed: Authorization: Bearer KEY", "authentication_error", "invalid_api_key")
    large = failure("the body is larger than --body allows")
    evil = {"Host": "evil.example"}
    spaces = b'{"model": "run", "prompt": "a"}'
    for verb, path, headers, status, error in [
        ("GET", "/nothing", evil, 403, machine), ("GET", "/nothing", {}, 404, unknown), ("GET", "/health/", KEY, 404, unknown),
        ("GET", "/v1/completion", KEY, 404, unknown), ("GET", "/" + 70 * "a", KEY, 404, unknown),
        ("POST", "/v1/models", {}, 405, method), ("GET", "/v1/completions", {}, 405, method),
        ("PUT", "/health", {}, 405, method), ("PUT", "/v1/score", KEY, 405, method), ("GET", "/v1/models", {}, 401, key),
    ]:
        got, sent, text = call(verb, path, headers=headers)
        assert (got, json.loads(text)) == (status, error), (verb, path, headers, got, text)
        assert sent["Content-Type"] == JSON and sent["WWW-Authenticate"] == ("Bearer" if status == 401 else None)
        counts["refused"] += 1
    for path, status in (("/v1/completions", 405), ("/v1/models", 401)):
        assert call("HEAD", path, headers={})[0] == status
        counts["refused"] += 1
    for path, kind in (("/", "text/html; charset=utf-8"), ("/health", JSON)):
        whole, head = call("GET", path, headers={}), call("HEAD", path, headers={})
        for status, sent, text in (whole, head):
            assert status == 200 and sent["Content-Type"] == kind and sent["Content-Length"] == str(len(whole[2].encode()))
            assert sent["Cache-Control"] == "no-store" and sent["X-Content-Type-Options"] == "nosniff"
        assert head[2] == "" and (kind != JSON or json.loads(whole[2]) == {"status": "ok"})
    for host, allowed in [("localhost", 1), ("LOCALHOST:1", 1), (f"127.0.0.1:{PORT}", 1), ("[::1]", 1), ("[::1]:80", 1),
                          ("localhost.evil", 0), ("localhos", 0), ("127.0.0.11", 0), ("127.0.0.", 0), ("[::1]1", 0), ("::1", 0)]:
        assert call("GET", "/health", headers={"Host": host})[0] == (200 if allowed else 403), host
        counts["refused"] += not allowed
    for given, allowed in [("Bearer first-key", 1), ("bearer last", 1), ("BEARER second key", 1), ("Bearer ", 0), ("Bearer", 0),
                           ("first-key", 0), ("Basic first-key", 0), ("Bearer first-ke", 0), ("Bearer first-key2", 0),
                           ("Bearer first-kez", 0), ("Bearer firstbkey", 0), ("Bearer Last", 0), ("Bearer first-key second key", 0)]:
        assert call("GET", "/v1/models", headers={"Authorization": given})[0] == (200 if allowed else 401), given
        counts["refused"] += not allowed
    for headers in (b"Content-Length: 2\r\ncontent-length: 5\r\n", b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"):
        with socket.create_connection((NAME, int(PORT)), timeout=60) as s:
            s.sendall(b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer last\r\n" + headers + b"\r\n")
            answer = s.makefile("rb").read()
            assert answer.startswith(b"HTTP/1.1 400 ") and b"the length of the body is given twice" in answer, answer
        counts["requests"] += 1
        counts["refused"] += 1
    score = b'{"model": "run", "input": "a"}'
    for length, expected in ((BODY, 200), (BODY + 1, 413)):
        status, sent, text = call("POST", "/v1/score", score.ljust(length))
        assert status == expected, (length, status)
        counts["prompt"] += status == 200
    assert json.loads(text) == large and call("POST", "/v1/score", score.ljust(BODY + 1), {})[0] == 401
    counts["refused"] += 2
    for length in (BODY, BODY + 1):  # without its length: in chunks
        with socket.create_connection((NAME, int(PORT)), timeout=60) as s:
            s.sendall(b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer last\r\nTransfer-Encoding: chunked\r\n\r\n")
            try:
                for at in range(0, length, 50000):
                    piece = score.ljust(length)[at : at + 50000]
                    s.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
                s.sendall(b"0\r\n\r\n")
                first = s.recv(20)
            except OSError:
                first = b""
        assert first.startswith(b"HTTP/1.1 200") == (length == BODY), (length, first)
        counts["requests"] += 1
        counts["prompt"] += length == BODY


def check_models():
    listed = json.loads(call("GET", "/v1/models")[2])
    for m in listed["data"]:
        assert abs(m.pop("created") - time.time()) < 600
    common = {"object": "model", "owned_by": "orthant", "serves": "completions", "precision": "f32"}
    assert listed == {"object": "list", "data": [
        dict(common, id="run", attention="softmax", max_model_len=CONTEXT, vocabulary=len(vocabulary)),
        dict(common, id="bytes", attention="linear", max_model_len=40, vocabulary=256),
        dict(common, id="wide", attention="softmax", max_model_len=1024, vocabulary=len(vocabulary))]}, listed


# ---- members of a request at the ends of their ranges

LAST_SEED = 2**53 - 1


def check_ranges():
    few = {"model": "run", "prompt": "a", "max_tokens": 0}
    for name, kind, least, most in [
        ("temperature", float, 0, 1e6), ("top_p", float, 0, 1), ("top_k", int, 0, 10**9), ("n", int, 1, 1024),
        ("seed", int, 0, LAST_SEED - 1024), ("logprobs", int, 0, 100), ("max_tokens", int, 0, 10**9),
        ("presence_penalty", float, -2, 2), ("frequency_penalty", float, -2, 2), ("best_of", int, 1, 1024),
    ]:
        what = f"a whole number from {least} to {most}" if kind is int else f"a number from {least:g} to {most:g}"
        step = 1 if kind is int else 1e-3
        for value in (least - step, most + step, "1", [1], True if name != "logprobs" else {}, *([least + 0.5] if kind is int else [])):
            refused("/v1/completions", f"{name} must be {what}", **dict(few, **{name: value}))
        for value in (None, least, most):
            if name == "max_tokens" and value == most:
                refused("/v1/completions", "a prompt of 1 tokens and max_tokens 1000000000 are more than the context of the "
                        f"model, {CONTEXT}: shorten one of them", **dict(few, max_tokens=most))
            elif name.endswith("penalty") and value:
                refused("/v1/completions", "presence_penalty and frequency_penalty are not supported: leave them 0",
                        **dict(few, **{name: value}))
            elif name == "best_of" and value == most:
                refused("/v1/completions", "best_of is not supported: leave it out, or equal to n", **dict(few, best_of=value))
            else:
                answer = complete(**dict({k: v for k, v in few.items() if k != "model"}, **{name: value}))
                assert len(answer["choices"]) == (value or 1 if name == "n" else 1), (name, value)
    for name in ("echo", "stream"):
        for value in (0, "true"):
            refused("/v1/completions", f"{name} must be true or false", **dict(few, **{name: value}))
    # the context, and what is made without max_tokens
    for length, given, made in [(5, 27, 27), (5, 28, -1), (1, None, 16), (16, None, 16), (17, None, 15), (31, None, 1), (32, None, 0),
                                (32, 0, 0), (32, 1, -1), (33, 0, -2)]:
        prompt = "a" * length
        body = {"prompt": ["b", prompt]} if given is None else {"prompt": ["b", prompt], "max_tokens": given}
        if made == -1:
            refused("/v1/completions", f"a prompt of {length} tokens and max_tokens {given} are more than the context of the model, "
                    "32: shorten one of them", model="run", **body)
        elif made == -2:
            refused("/v1/completions", "prompt 1 has 33 tokens; the model reads 32 (its context): shorten it", model="run", **body)
        else:
            answer = complete(**body)
            assert answer["usage"] == {"prompt_tokens": length + 1, "completion_tokens": 2 * made, "total_tokens": length + 1 + 2 * made}
            assert [(len(c["text"]), c["finish_reason"]) for c in answer["choices"]] == [(made, "length")] * 2
    for model in ("run", "bytes"):  # an empty prompt begins a line
        empty, line = (complete(model, prompt=prompt, max_tokens=9, logprobs=2) for prompt in ("", "\n"))
        assert empty["choices"] == line["choices"] and empty["usage"]["prompt_tokens"] == 1
    # numbers of things
    assert len(complete(prompt=["a", "b"], n=512, max_tokens=0)["choices"]) == 1024
    refused("/v1/completions", "2 prompts with n = 513; at most 1024 choices in a request", **dict(few, prompt=["a", "b"], n=513))
    assert [c["index"] for c in complete(prompt=["a"] * 1024, max_tokens=0)["choices"]] == list(range(1024))
    refused("/v1/completions", "1025 prompts; at most 1024 in a request", **dict(few, prompt=["a"] * 1025))
    complete(prompt="a", max_tokens=1, stop=[str(i) for i in range(16)])
    refused("/v1/completions", "17 stop texts; at most 16", **dict(few, stop=[str(i) for i in range(17)]))
    scored = post("/v1/score", model="run", input=["a"] * 4096)
    assert [d["index"] for d in scored["data"]] == list(range(4096))
    counts["prompt"] += 4096
    refused("/v1/score", "4097 inputs; at most 4096 in a request", model="run", input=["a"] * 4097)
    post("/v1/score", model="run", input=[1] * 4097)  # one text of as many tokens
    counts["prompt"] += CONTEXT * 128


def check_refusals():
    stop = "stop must be a text, or a list of texts, not empty and without zero bytes"
    given = {"model": "run", "prompt": "a"}
    member = 'unexpected member "%s"; expected are: '
    for path, message, body in [
        ("/v1/completions", stop, dict(given, stop="")), ("/v1/completions", stop, dict(given, stop=["a", ""])),
        ("/v1/completions", stop, dict(given, stop="a\0b")), ("/v1/completions", stop, dict(given, stop=7)),
        ("/v1/completions", stop, dict(given, stop=["a", None])),
        ("/v1/completions", "best_of is not supported: leave it out, or equal to n", dict(given, n=2, best_of=3)),
        ("/v1/completions", "logit_bias is not supported: leave it out", dict(given, logit_bias={"1": 2})),
        ("/v1/completions", "logit_bias must be an object", dict(given, logit_bias=[1])),
        ("/v1/completions", "suffix is not supported: leave it out", dict(given, suffix="b")),
        ("/v1/completions", "suffix must be a text", dict(given, suffix=7)),
        ("/v1/completions", "stream_options must be an object", dict(given, stream_options=True)),
        ("/v1/completions", member % "usage" + "include_usage", dict(given, stream_options={"usage": True})),
        ("/v1/completions", "include_usage must be true or false", dict(given, stream_options={"include_usage": 1})),
        ("/v1/completions", "prompt must be a text, a list of token ids, or a list of these", {"model": "run"}),
        ("/v1/completions", "prompt must be a text, a list of token ids, or a list of these", dict(given, prompt=None)),
        ("/v1/completions", "prompt 1 must be a text or a list of token ids", dict(given, prompt=["a", 7])),
        ("/v1/completions", "prompt 0 has no tokens", dict(given, prompt=[])),
        ("/v1/completions", "prompt 1 has no tokens", dict(given, prompt=["a", []])),
        ("/v1/completions", f"prompt 0: element 1, {len(vocabulary)}, is no token; ids are 0 to {len(vocabulary) - 1}",
         dict(given, prompt=[len(vocabulary) - 1, len(vocabulary)])),
        ("/v1/completions", "prompt 0: element 0, -1, is no token; ids are 0 to 255", {"model": "bytes", "prompt": [-1]}),
        ("/v1/completions", "model must be the name of one of the models that /v1/models lists", {"prompt": "a"}),
        ("/v1/completions", "model must be the name of one of the models that /v1/models lists", {"prompt": "a", "model": None}),
        ("/v1/completions", 'there is no model "ru"; /v1/models lists them, the first is "run"', {"prompt": "a", "model": "ru"}),
        ("/v1/completions", 'there is no model "runs"; /v1/models lists them, the first is "run"', {"prompt": "a", "model": "runs"}),
        ("/v1/score", "input 0 has no tokens", {"model": "run", "input": ""}),
        ("/v1/score", "input 1 has no tokens", {"model": "run", "input": [[1], []]}),
        ("/v1/score", "input must be a text, a list of ids, or a list of these", {"model": "run"}),
        ("/v1/score", "input must be a text, a list of ids, or a list of these", {"model": "run", "input": []}),
        ("/v1/score", "input must be a text, a list of ids, or a list of these", {"model": "run", "input": 7}),
        ("/v1/score", member % "inputs" + "model input", {"model": "run", "inputs": "a"}),
        ("/v1/score", member % "put" + "model input", {"model": "run", "put": "a"}),
        ("/v1/score", member % "model input" + "model input", {"model": "run", "model input": "a"}),
        ("/v1/score", member % "" + "model input", {"model": "run", "": "a"}),
        ("/v1/embeddings", "input 0 has 0 tokens; the model reads 1 to 32", {"model": "run", "input": ""}),
        ("/v1/embeddings", "input 1 has 33 tokens; the model reads 1 to 32", {"model": "run", "input": ["a", [1] * 33]}),
        ("/v1/embeddings", 'pooling is "max"; expected mean, cls or last', {"model": "run", "input": "a", "pooling": "max"}),
        ("/v1/embeddings", "pooling must be a text", {"model": "run", "input": "a", "pooling": 7}),
        ("/v1/embeddings", 'encoding_format is "int8"; expected float or base64', {"model": "run", "input": "a", "encoding_format": "int8"}),
        ("/v1/embeddings", "encoding_format must be a text", {"model": "run", "input": "a", "encoding_format": ["float"]}),
        ("/v1/classify", 'run was trained for the task "lm"; this path needs a run of classify or regress on texts', {"model": "run", "input": "a"}),
        ("/v1/translate", 'run was trained for the task "lm"; this path needs a run of translate, summarize or dialogue',
         {"model": "run", "input": "a"}),
        ("/tokenize", "prompt must be a text", {"model": "run", "prompt": [1]}),
        ("/tokenize", "run and bytes have different tokenizers: name a model", {"prompt": "a"}),
        ("/detokenize", "tokens must be a list of token ids", {"model": "run", "tokens": "a"}),
        ("/detokenize", "tokens: element 1, 256, is no token; ids are 0 to 255", {"model": "bytes", "tokens": [255, 256]}),
    ]:
        refused(path, message, **body)
    for body, message in ((b"[1]", "the body is not a JSON object"),
                          (b'{\n"model": ]', "the body is not JSON: line 2, column 10: unexpected token near ']'"),
                          (b'{"model": "run", "model": "run"}', "the body is not JSON: line 1, column 24: duplicate object key near '\"model\"'")):
        status, headers, text = call("POST", "/v1/score", body)
        assert (status, json.loads(text)) == (400, failure(message)), (body, text)
        counts["failures"] += 1
    for extra in ({"suffix": ""}, {"suffix": None}, {"logit_bias": {}}, {"logit_bias": None}, {"presence_penalty": 0}, {"best_of": 1},
                  {"user": "me"}, {"metadata": {"a": 1}}, {"stream_options": None}, {"stop": None}, {"stop": []}):
        assert complete(prompt="a", max_tokens=2, temperature=0, **extra)["choices"] == plain["choices"], extra


# ---- tokens that are drawn, against a sampler in Python that reads all log-probabilities


def philox(key, counter):
    """Philox4x32-10 of Salmon et al. 2011."""
    c, k = list(counter), [key & 0xffffffff, key >> 32]
    for i in range(10):
        a, b = 0xd2511f53 * c[0], 0xcd9e8d57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & 0xffffffff, a >> 32 ^ c[3] ^ k[1], a & 0xffffffff]
        k = [k[0] + 0x9e3779b9 & 0xffffffff, k[1] + 0xbb67ae85 & 0xffffffff]
    return c


def uniform(seed, index):
    """The stream "sample" of docs/determinism.md."""
    mask, name = 2**64 - 1, 0xcbf29ce484222325
    for byte in b"sample":
        name = (name ^ byte) * 0x100000001b3 & mask
    name = (name ^ name >> 30) * 0xbf58476d1ce4e5b9 & mask
    name = (name ^ name >> 27) * 0x94d049bb133111eb & mask
    name ^= name >> 31
    block = index // 4
    return (philox(seed, (block & 0xffffffff, block >> 32, name & 0xffffffff, name >> 32))[index % 4] + 0.5) / 2**32


def drawn(row, u, temperature=1, top_k=0, top_p=1):
    """(the token, how far from the edge of its share) of log-probabilities {token: x}."""
    order = sorted(row, key=lambda t: (-row[t], vocabulary.index(t)))
    if temperature == 0:
        return order[0], 1
    if not top_k and top_p == 1:
        order = sorted(row, key=vocabulary.index)
    order = order[: top_k or None]
    top = max(row.values())
    weight = [math.exp((row[t] - top) / temperature) for t in order]
    total = sum(weight)
    if top_p < 1:
        have = count = 0
        while have < top_p * total and count < len(order):
            have += weight[count]
            count += 1
        weight, total = weight[:count], have
    rest, near = u * total, 1
    for token, w in zip(order, weight):
        near = min(near, abs(rest) / total) if token != order[0] else near
        rest -= w
        if rest < 0:
            return token, min(near, -rest / total)
    return order[len(weight) - 1], 0


def check_draws():
    compared = 0
    for how in ({}, {"temperature": 0}, {"temperature": 0.5, "seed": 9}, {"temperature": 3, "seed": 2**40}, {"top_k": 1}, {"top_k": 4, "seed": 3},
                {"top_p": 0}, {"top_p": 0.6, "seed": 5}, {"top_k": 9, "top_p": 0.8, "temperature": 2, "seed": LAST_SEED - 1024}):
        n = 3
        answer = complete(prompt=["To be", "or n"], n=n, max_tokens=17, **how)
        echoes = complete(prompt=[p + c["text"] for i, p in enumerate(("To be", "or n")) for c in answer["choices"][n * i : n * i + n]],
                          max_tokens=0, echo=True, logprobs=100)
        assert answer["usage"]["completion_tokens"] == 2 * n * 17 and echoes["usage"]["completion_tokens"] == 0
        for i, (choice, echo) in enumerate(zip(answer["choices"], echoes["choices"])):
            rows = echo["logprobs"]["top_logprobs"][-17:]
            sampling = {k: v for k, v in how.items() if k != "seed"}
            for k, (token, row) in enumerate(zip(choice["text"], rows)):
                want, margin = drawn(row, uniform(how.get("seed", 0) + i % n, k), **sampling)
                if margin > 1e-5:
                    compared += 1
                    assert token == want, (how, i, k, token, want, margin)
    assert compared > 800, compared
    choice = complete(prompt="To be", max_tokens=17, temperature=3, seed=2, logprobs=1)["choices"][0]
    rows = complete(prompt="To be" + choice["text"], max_tokens=0, echo=True, logprobs=100)["choices"][0]["logprobs"]["top_logprobs"][-17:]
    for token, top, row in zip(choice["text"], choice["logprobs"]["top_logprobs"], rows):
        best = max(row, key=row.get)
        assert set(top) == {token, best} and all(abs(top[t] - row[t]) < 1e-5 for t in top), (token, top)


# ---- stop texts, streams and log-probabilities, of greedy text whose prefix is known


def events(**body):
    connection.request("POST", "/v1/completions", json.dumps(dict(body, model="run", stream=True)), KEY)
    answer = connection.getresponse()
    counts["requests"] += 1
    counts["completions"] += 1
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream"
    lines = answer.read().decode().split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""] and all(line.startswith("data: {") for line in lines[:-2]), lines
    found = [json.loads(line[6:]) for line in lines[:-2]]
    for e in found:
        assert e["id"] == f"cmpl-{counts['completions']}" and e["object"] == "text_completion" and e["model"] == "run", e
    usage = [e.pop("usage") for e in found if "usage" in e]
    assert [len(e["choices"]) for e in found] == [1] * (len(found) - len(usage)) + [0] * len(usage)
    assert len(usage) == (body.get("stream_options", {}).get("include_usage") is True)
    return [e["choices"][0] for e in found if e["choices"]], usage


def check_stops():
    whole = complete(prompt="To be", max_tokens=27, seed=8, n=2)["choices"]
    texts, dice = [c["text"] for c in whole], random.Random(5)
    for trial in range(40):
        first = [dice.randrange(0, 27) for i in range(dice.randrange(1, 4))]
        stops = [texts[dice.randrange(2)][i : i + dice.choice([1, 2, 2, 3, 5])] for i in first] + ["\u20ac"] * (trial % 2)
        most, echo, tops = dice.choice([27, 27, 20]), trial % 3 == 0, [None, 0, 2][trial % 3]
        body = {"prompt": "To be", "max_tokens": most, "seed": 8, "n": 2, "stop": stops[0] if len(stops) == 1 else stops, "echo": echo,
                "logprobs": tops}
        answer = complete(**body)
        made = 0
        for text, choice in zip(texts, answer["choices"]):
            tokens = next((m for m in range(1, most + 1) if any(s in text[:m] for s in stops)), None)
            made += tokens or most
            shown = text[:most] if tokens is None else text[: min(text[:tokens].find(s) for s in stops if s in text[:tokens])]
            assert choice["text"] == ("To be" if echo else "") + shown, (body, choice, text)
            assert choice["finish_reason"] == ("length" if tokens is None else "stop"), (body, choice)
            logs = choice["logprobs"]
            assert (logs is None) == (tops is None)
            if logs:
                assert logs["tokens"] == list(choice["text"]) and logs["text_offset"] == list(range(len(choice["text"])))
                assert all(token in top for token, top in zip(logs["tokens"], logs["top_logprobs"]) if top)
                assert all(len(top) in (tops, tops + 1) for top in logs["top_logprobs"] if top)
                assert [p is None for p in logs["token_logprobs"]] == [echo and i == 0 for i in range(len(logs["tokens"]))]
        assert answer["usage"] == {"prompt_tokens": 5, "completion_tokens": made, "total_tokens": 5 + made}, (body, answer["usage"], made)
        if trial % 4:
            continue
        pieces, usage = events(**dict(body, stream_options={"include_usage": trial % 8 == 0}))
        assert not usage or usage == [answer["usage"]]
        counts["prompt"] += 5
        counts["made"] += made
        for i, choice in enumerate(answer["choices"]):
            own = [p for p in pieces if p["index"] == i]
            assert "".join(p["text"] for p in own) == choice["text"], (body, own)
            assert [p["finish_reason"] for p in own] == [None] * (len(own) - 1) + [choice["finish_reason"]]
            assert all(p["text"] for p in own[:-1]) and len(own) > len(choice["text"]) / 6
            for member, value in (choice["logprobs"] or {}).items():
                assert sum((p["logprobs"][member] for p in own), []) == value, (member, body)
    for value, tops in ((True, 1), (False, None), (1, 1)):
        found = complete(prompt="a", max_tokens=1, logprobs=value, temperature=0)["choices"][0]["logprobs"]
        assert (found is None) == (tops is None) and (tops is None or len(found["top_logprobs"][0]) == 1)
    pieces, usage = events(prompt="a", max_tokens=0)
    assert not usage and [(p["text"], p["finish_reason"]) for p in pieces] == [("", "length")]
    counts["prompt"] += 1


def check_bytes():
    """Text of bytes is that of Python's decoder, of whole tokens and of half ones."""
    answer = complete("bytes", prompt=["To be", [0xe2, 0x82]], max_tokens=30, n=6, temperature=4, seed=11, logprobs=3, echo=True)
    broken = 0
    for choice in answer["choices"]:
        logs, text, offsets = choice["logprobs"], b"", []
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        shown = 0
        for token in logs["tokens"]:
            raw = bytes.fromhex(token[6:].replace("\\x", "")) if token.startswith("bytes:") else token.encode()
            assert len(raw) == 1 and (raw[0] > 127) == token.startswith("bytes:"), token
            offsets.append(shown)
            shown += len(decoder.decode(raw))
            text += raw
        assert choice["text"] == text.decode("utf-8", "replace") and choice["finish_reason"] == "length", choice
        if choice["index"] < 6:
            assert offsets == logs["text_offset"], (offsets, logs["text_offset"])
        broken += "\ufffd" in choice["text"]
        for own, top in list(zip(logs["token_logprobs"], logs["top_logprobs"]))[1:]:
            values = sorted(top.values(), reverse=True)
            assert own in values and len(top) in (3, 4) and (len(top) == 3 or own == values[3])
    assert broken >= 6, broken


def check_tokenizers():
    everything = list(range(len(vocabulary)))
    assert post("/tokenize", model="run", prompt="".join(vocabulary)) == {"tokens": everything, "count": len(vocabulary), "max_model_len": 32}
    assert post("/detokenize", model="run", tokens=everything) == {"prompt": "".join(vocabulary)}
    assert post("/detokenize", model="bytes", tokens=[]) == {"prompt": ""}
    assert post("/detokenize", model="bytes", tokens=[0xe2, 0x82, 0xac, 0xe2, 65, 0]) == {"prompt": "\u20ac\ufffdA\0"}
    assert post("/tokenize", model="bytes", prompt="\u20ac\0") == {"tokens": [0xe2, 0x82, 0xac, 0], "count": 4, "max_model_len": 40}
    info = json.loads(call("GET", "/tokenizer_info?model=bytes")[2])
    assert info == {"model": "bytes", "tokenizer_class": "byte", "vocab_size": 256, "model_max_length": 40, "eos_token": "\n",
                    "bos_token": "\n", "pad_token": None, "chat_template": None}, info


def check_scores():
    """Of windows of the context: a token's number is from the tokens of its window that come before it."""
    text = "".join(random.Random(2).choice("To be or") for i in range(75))
    firsts = [0, 32, 64]
    answer = complete(prompt=[text[f : f + 31] for f in firsts], max_tokens=1, echo=True, logprobs=100, stop="T", temperature=0)
    rows = [c["logprobs"]["top_logprobs"] for c in answer["choices"]]
    for length in (1, 2, 32, 33, 34, 64, 65, 66, 75):
        given = text[:length] if length % 2 else [vocabulary.index(c) for c in text[:length]]
        (one,) = post("/v1/score", model="run", input=given)["data"]
        counts["prompt"] += sum(min(32, length - f) for f in firsts if f == 0 or f + 1 < length)
        assert one["index"] == 0 and one["tokens"] == length == len(one["token_logprobs"]) and one["token_logprobs"][0] is None
        for i, x in enumerate(one["token_logprobs"][1:], 1):
            window, at = divmod(i - 1, 32)
            if at < 31 and at + 1 < len(rows[window]):
                assert abs(x - rows[window][at + 1][text[i]]) < 1e-5, (length, i)
        assert abs(one["log_p"] - sum(one["token_logprobs"][1:])) < 1e-9


# ---- stored beginnings, against a model of what docs/serve.md promises

CHUNK, STORED, RECENT = 128, 16, 16


class Beginnings:
    def __init__(self):
        self.stored, self.recent = [], []  # (text, alternatives or -1), the last used first; the newest last

    def read(self, text, tops):
        """The number of tokens that are not read, of a prompt whose tokens are scored with `tops` alternatives (-1: not)."""
        def serves(x):
            return len(x[0]) < len(text) and text.startswith(x[0]) and x[1] >= tops

        last = (len(text) - 1) // CHUNK * CHUNK
        if not last:
            return 0
        common = [next((i for i, (a, b) in enumerate(zip(text, r)) if a != b), min(len(text), len(r))) for r in self.recent]
        shared = min(last, max(common, default=0) // CHUNK * CHUNK)
        self.recent = (self.recent + [text[:last]])[-RECENT:]
        best = max(filter(serves, self.stored), key=lambda x: len(x[0]), default=("", -1))
        if best[0]:
            self.stored.remove(best)
            self.stored.insert(0, best)
        for end in range(len(best[0]) + CHUNK, last + 1, CHUNK):
            if end in (shared, last) and not any(len(x[0]) == end and serves(x) for x in self.stored):
                rest = [x for x in self.stored if x[0] != text[:end]]
                self.stored = [(text[:end], tops)] + rest[: STORED - 1]
        return len(best[0])


def check_beginnings():
    dice, beginnings = random.Random(1), Beginnings()
    pieces = ["".join(dice.choice(vocabulary) for k in range(64)) for i in range(6)]
    reused = 0
    alone = [*range(20), 4, 3, 19, 5, 18, 3]  # texts without a common beginning: which of them have left
    for i in range(110):
        if i < len(alone):
            text = vocabulary[alone[i]] * 130 + pieces[0]
        else:
            text = "".join(dice.choice(pieces[:3]) for k in range(dice.randrange(2, 7))) + "a" * dice.choice([0, 0, 1, 2, 64])
        tops = dice.choice([-1, -1, 0, 2, 3]) if i > 50 else -1
        before = metrics()
        complete("wide", prompt=text, max_tokens=int(tops < 0), echo=tops >= 0, logprobs=None if tops < 0 else tops)
        after = metrics()
        want, name = beginnings.read(text, tops), "orthant_prompt_tokens_reused_total"
        assert after[name] - before[name] == want, (i, len(text), tops, after[name] - before[name], want)
        assert (after["orthant_prefix_bytes"] > 0) == bool(beginnings.stored)
        reused += want > 0
    assert reused > 40, reused


# ---- slots, and clients that are too slow


def try_turns():
    """1000 prompts in 3 slots: 32 of them wait for one, and another request does not wait for them. False: all had ended before."""
    with socket.create_connection((NAME, int(PORT)), timeout=60) as s:
        body = json.dumps({"model": "run", "prompt": ["a"] * 1000, "max_tokens": 31, "stream": True}).encode()
        s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer last\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        assert s.recv(300).startswith(b"HTTP/1.1 200 OK")
        seen = [metrics() for i in range(8)]
        counts["requests"] += 1
        counts["completions"] += 1
        complete(prompt="To be", max_tokens=20)
        seen.append(metrics())
    if seen[-1]["orthant_sequences_waiting"] < 29:
        return False
    running, waiting = ([m["orthant_sequences_" + name] for m in seen] for name in ("running", "waiting"))
    assert max(running) == 3 and max(waiting) == 32 and min(waiting) >= 29, (running, waiting)
    return True


def check_turns():
    assert any(try_turns() for i in range(3)), "a short request waits for a long one"
    until = time.monotonic() + 60
    while metrics()["orthant_sequences_running"] or metrics()["orthant_sequences_waiting"]:
        assert time.monotonic() < until, "the request of a client that left goes on"


def check_maps_and_waiting():
    """The largest maps; a client that does not take them is cut off after TIMEOUT seconds, not before."""
    refused("/v1/attention", "the prompt has 513 tokens; 4 maps of an answer have room for 512: shorten it, or use 'orthant inspect'",
            model="wide", prompt="a" * 513)
    body = json.dumps({"model": "wide", "prompt": "To" * 256}).encode()
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(60)
        s.connect((NAME, int(PORT)))
        s.sendall(b"POST /v1/attention HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer last\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        assert s.recv(15) == b"HTTP/1.1 200 OK"
        began, before = time.monotonic(), cuts()
        while cuts() == before:
            assert time.monotonic() - began < TIMEOUT + 30, "a client that takes no answer is not cut off"
            time.sleep(0.1)
        assert time.monotonic() - began > TIMEOUT * 0.9, "a client is cut off before its time"
    counts["requests"] += 1
    counts["prompt"] += 512


def cuts():
    return metrics()["orthant_http_connections_cut_total"]


class Slow(threading.Thread):
    """A client that sends `start` and then nothing; it must be cut off after TIMEOUT seconds, not before."""

    def __init__(self, start, answered):
        super().__init__(daemon=True)
        self.socket, self.answered, self.seconds = socket.create_connection((NAME, int(PORT)), timeout=60), answered, 0
        self.began = time.monotonic()
        self.socket.sendall(start)
        if answered:
            assert b'"ok"' in self.socket.recv(1000) + self.socket.recv(1000 if answered > 1 else 0)
            self.began = time.monotonic()
        self.start()

    def run(self):
        try:
            assert self.socket.recv(100) == b""
        except ConnectionResetError:
            pass
        self.seconds = time.monotonic() - self.began
        self.socket.close()


slow = [Slow(b"", 0), Slow(b"GET /health HTT", 0),
        Slow(b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer last\r\nContent-Length: 50\r\n\r\n{", 0),
        Slow(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", 1)]
counts["requests"] += 2
ids = json.loads(call("GET", "/tokenizer_info?model=run")[2])["vocab_size"]
vocabulary = [post("/detokenize", model="run", tokens=[i])["prompt"] for i in range(ids)]
assert len(vocabulary) == ids <= 100
plain = complete(prompt="a", max_tokens=2, temperature=0)
checks = [check_http, check_models, check_ranges, check_refusals, check_draws, check_stops, check_bytes, check_tokenizers, check_scores,
          check_beginnings]
for check in checks:
    began = time.monotonic()
    check()
    print(f"{check.__name__} {time.monotonic() - began:.2f} s", flush=True)
found = metrics()
for name, value in (("http_requests_total", "requests"), ("http_requests_refused_total", "refused"), ("failures_total", "failures"),
                    ("prompt_tokens_total", "prompt"), ("completion_tokens_total", "made"), ("completion_seconds_count", "completions")):
    assert found["orthant_" + name] == counts[value], (name, found["orthant_" + name], counts)
check_turns()
for s in slow:
    s.join()
    assert TIMEOUT * 0.99 < s.seconds < TIMEOUT + 30, f"a slow client is cut off after {s.seconds:.2f} s"
assert cuts() == len(slow) + cut, (cuts(), cut)
check_maps_and_waiting()
print(f"after {counts['requests']} requests, all answered")
