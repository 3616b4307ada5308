#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""serve_imported.py ORTHANT MODEL...: by hand, with `pip install "lm_eval[api]" openai safetensors accelerate` and torch,
transformers.

MODEL is a folder of Hugging Face's, or a GGUF file, for which transformers is given what `orthant export` writes. Each is
imported and served; lm-evaluation-harness scores the same tasks with the server (local-completions) and with transformers
(hf), both unmodified. Log-likelihoods must agree within 1e-4, is_greedy and accuracies must be equal.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import urllib.request

from serve_harness import CHOICES, PAIRS, run_harness, samples, served, write_tasks

BOUND = 1e-4


def ask(address, path, body=None):
    data = body and json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(address + path, data)) as answer:
        return json.load(answer)


def accuracies(output):
    with open(glob.glob(f"{output}/**/results_*.json", recursive=True)[0]) as f:
        return {task: values["acc,none"] for task, values in json.load(f)["results"].items()}


def check(orthant, model):
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run([orthant, "import", model, "--out", "run"], **quiet)
    reference = model
    if not os.path.isdir(model):
        reference = "exported"
        subprocess.run([orthant, "export", "run", "--out", reference], **quiet)
    server = subprocess.Popen([orthant, "serve", "run", "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().split(" at ")[1].strip()
        info = ask(address, "/tokenizer_info")
        first = ask(address, "/tokenize", {"prompt": info["eos_token"]})["tokens"]
        assert len(first) == 1, (info, first)
        length = min(info["model_max_length"], 1024)
        run_harness("local-completions", served(address, "run", length), "served")
    finally:
        server.terminate()
        server.wait()
    run_harness("hf", f"pretrained={reference},dtype=float32,max_length={length},prefix_token_id={first[0]}", "hf-out")
    worst, greedy, compared = 0.0, 0, 0
    for mine, theirs in zip(samples("served"), samples("hf-out"), strict=True):
        assert mine[:3] == theirs[:3] and mine[4] == theirs[4], (mine, theirs)
        assert abs(mine[3] - theirs[3]) <= BOUND, (mine, theirs)
        worst = max(worst, abs(mine[3] - theirs[3]))
        greedy += mine[4] == "True"
        compared += 1
    assert compared == 2 * len(PAIRS) + 3 * len(CHOICES), compared
    found = accuracies("served")
    assert found == accuracies("hf-out") and set(found) == {"pairs", "choices"}, (found, accuracies("hf-out"))
    print(f"{os.path.basename(model)}: {compared} log-likelihoods are those of transformers (largest difference {worst:.1e}), "
          f"is_greedy ({greedy} true) and accuracy ({found['pairs']:.2f}, {found['choices']:.2f}) too", flush=True)


def main():
    orthant = os.path.abspath(sys.argv[1])
    for model in map(os.path.abspath, sys.argv[2:]):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            write_tasks()
            check(orthant, model)
            os.chdir("/")


main()
