# SPDX-License-Identifier: Apache-2.0
"""Speed of writing in CTranslate2 with a decoder of random weights, for docs/benchmarks.md.

    python3 -m venv venv && venv/bin/pip install ctranslate2
    venv/bin/python bench/ctranslate2_generator_peer.py [--threads 1] [--sequences 1,8] [--compute-type float32]

Makes a model of GPT-2's shape in the converter's own format (pre-norm, GELU in its tanh form, learned positions, one
embedding for input and output), and writes --tokens tokens after one token, greedily, with forced lengths, all sequences in
one batch. What is printed is the difference of a long and a short text, so that what happens once is left out: milliseconds
of the clock and of the processor for a step (a token of each sequence), and tokens of all sequences a second. With
bfloat16, CTranslate2 says itself what it computes in; the first line has it.
"""
import argparse
import tempfile
import time

import ctranslate2
import numpy as np
from ctranslate2 import specs


def matrix(generator, rows, columns):
    return (generator.standard_normal((rows, columns), dtype=np.float32) * 0.02).astype(np.float32)


def fill_linear(generator, spec, rows, columns):
    spec.weight = matrix(generator, rows, columns)
    spec.bias = np.zeros(rows, np.float32)


def fill_norm(spec, width):
    spec.gamma, spec.beta = np.ones(width, np.float32), np.zeros(width, np.float32)


def make_model(a, folder):
    generator = np.random.default_rng(a.seed)
    spec = specs.TransformerDecoderModelSpec.from_config(a.layers, a.heads, activation=specs.Activation.GELUTanh)
    decoder = spec.decoder
    decoder.scale_embeddings = False
    decoder.embeddings.weight = decoder.projection.weight = matrix(generator, a.vocabulary, a.width)
    decoder.position_encodings.encodings = matrix(generator, a.context, a.width)
    fill_norm(decoder.layer_norm, a.width)
    for layer in decoder.layer:
        fill_norm(layer.self_attention.layer_norm, a.width)
        fill_linear(generator, layer.self_attention.linear[0], 3 * a.width, a.width)
        fill_linear(generator, layer.self_attention.linear[1], a.width, a.width)
        fill_norm(layer.ffn.layer_norm, a.width)
        fill_linear(generator, layer.ffn.linear_0, 4 * a.width, a.width)
        fill_linear(generator, layer.ffn.linear_1, a.width, 4 * a.width)
    spec.register_vocabulary(["<unk>", "<s>", "</s>"] + [f"w{i}" for i in range(a.vocabulary - 3)])
    spec.validate()
    spec.optimize()
    spec.save(folder)


def seconds(generator, sequences, tokens):
    processor, clock = time.process_time(), time.perf_counter()
    results = generator.generate_batch([["<s>"]] * sequences, min_length=tokens, max_length=tokens, sampling_topk=1,
                                       include_prompt_in_result=False, max_batch_size=sequences)
    assert {len(r.sequences_ids[0]) for r in results} == {tokens}
    return np.array([time.perf_counter() - clock, time.process_time() - processor])


def main():
    p = argparse.ArgumentParser()
    for name, value in (("threads", 1), ("tokens", 32), ("rounds", 5), ("layers", 12), ("width", 768), ("heads", 12),
                        ("context", 1024), ("vocabulary", 50257), ("seed", 1)):
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--sequences", default="1,8")
    p.add_argument("--compute-type", default="float32")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        make_model(a, folder)
        generator = ctranslate2.Generator(folder, device="cpu", compute_type=a.compute_type, inter_threads=1,
                                          intra_threads=a.threads)
    print(f"ctranslate2 {ctranslate2.__version__}, {a.compute_type} computed in {generator.compute_type}, {a.threads} "
          f"threads", flush=True)
    for n in map(int, a.sequences.split(",")):
        seconds(generator, n, 2)
        steps = np.array([seconds(generator, n, a.tokens + 4) - seconds(generator, n, 4) for _ in range(a.rounds)])
        clock, processor = np.median(steps, axis=0) / a.tokens
        print(f"{n} sequences: {1e3 * clock:.2f} ms clock, {1e3 * processor:.2f} ms processor a step, "
              f"{n / clock:.1f} tokens/s", flush=True)


main()
