# SPDX-License-Identifier: Apache-2.0
"""Speed of beam search in CTranslate2 on a Transformer with random weights, for docs/benchmarks.md.

    python3 -m venv venv && venv/bin/pip install ctranslate2
    venv/bin/python bench/ctranslate2_peer.py [--threads 1] [--rounds 3]

Makes a model of the wanted shape in the converter's own format (pre-norm, GELU in its tanh form, no biases beside those
that the format demands, sinusoids, one embedding for source, target and output), whose lengths are forced: every
hypothesis gets --tokens tokens, as those of an untrained model in `orthant translate` get as many as its context allows.
All sentences are one batch in float32. Prints, for each round, the seconds of processor time and of the clock that the
batch took, and tokens of best hypotheses per second; loading is not counted, and one short batch warms up.
"""
import argparse
import os
import tempfile
import time

import ctranslate2
import numpy as np
from ctranslate2 import specs


def matrix(generator, rows, columns):
    return (generator.standard_normal((rows, columns), dtype=np.float32) / np.sqrt(columns)).astype(np.float32)


def fill_linear(generator, spec, rows, columns):
    spec.weight = matrix(generator, rows, columns)
    spec.bias = np.zeros(rows, np.float32)


def fill_norm(spec, width):
    spec.gamma, spec.beta = np.ones(width, np.float32), np.zeros(width, np.float32)


def fill_attention(generator, spec, width, parts):
    """parts: outputs of the joint products, in the order of the format (queries, keys and values; output)."""
    fill_norm(spec.layer_norm, width)
    for linear, times in zip(spec.linear, parts):
        fill_linear(generator, linear, times * width, width)


def fill_layer(generator, layer, width, ffn, cross):
    fill_attention(generator, layer.self_attention, width, (3, 1))
    if cross:
        fill_attention(generator, layer.attention, width, (1, 2, 1))
    fill_norm(layer.ffn.layer_norm, width)
    fill_linear(generator, layer.ffn.linear_0, ffn, width)
    fill_linear(generator, layer.ffn.linear_1, width, ffn)


def sinusoids(length, width):
    angle = np.arange(length)[:, None] * np.exp(np.arange(0, width, 2) * (-np.log(1e4) / width))
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1).astype(np.float32)


def make_model(a, folder):
    generator = np.random.default_rng(a.seed)
    spec = specs.TransformerSpec.from_config((a.layers, a.layers), a.heads, activation=specs.Activation.GELUTanh)
    embedding = matrix(generator, a.vocabulary, a.width)
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = embedding
    spec.decoder.projection.weight = embedding
    for stack, cross in (spec.encoder, False), (spec.decoder, True):
        stack.scale_embeddings = np.dtype("float32").type(np.sqrt(a.width))
        stack.position_encodings.encodings = sinusoids(max(a.source, a.tokens) + 2, a.width)
        fill_norm(stack.layer_norm, a.width)
        for layer in stack.layer:
            fill_layer(generator, layer, a.width, a.ffn, cross)
    words = ["<unk>", "<s>", "</s>"] + [f"w{i}" for i in range(a.vocabulary - 3)]
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.validate()
    spec.optimize()
    spec.save(folder)


def translate(translator, a, sentences, tokens):
    return translator.translate_batch(sentences, beam_size=a.beam, max_batch_size=a.lines, min_decoding_length=tokens,
                                      max_decoding_length=tokens, length_penalty=1)


def main():
    p = argparse.ArgumentParser()
    for name, value in (("threads", 1), ("rounds", 3), ("lines", 32), ("source", 16), ("tokens", 128), ("beam", 4),
                        ("layers", 6), ("width", 512), ("heads", 8), ("ffn", 2048), ("vocabulary", 32000), ("seed", 1)):
        p.add_argument("--" + name, type=int, default=value)
    a = p.parse_args()
    random = np.random.default_rng(a.seed + 1)
    sentences = [[f"w{i}" for i in random.integers(0, a.vocabulary - 3, a.source)] for _ in range(a.lines)]
    with tempfile.TemporaryDirectory() as folder:
        make_model(a, folder)
        translator = ctranslate2.Translator(folder, device="cpu", compute_type="float32", inter_threads=1,
                                            intra_threads=a.threads)
    translate(translator, a, sentences, 4)
    print(f"ctranslate2 {ctranslate2.__version__}, {translator.compute_type}, {a.threads} threads, {a.lines} lines of "
          f"{a.source} tokens to {a.tokens} tokens, beam {a.beam}, vocabulary {a.vocabulary}", flush=True)
    for _ in range(a.rounds):
        processor, clock = time.process_time(), time.perf_counter()
        results = translate(translator, a, sentences, a.tokens)
        processor, clock = time.process_time() - processor, time.perf_counter() - clock
        lengths = {len(r.hypotheses[0]) for r in results}
        assert lengths == {a.tokens}, lengths
        tokens = a.lines * a.tokens
        print(f"{processor:.2f} s processor, {clock:.2f} s clock, {tokens / processor:.0f} tokens a processor second, "
              f"{tokens / clock:.0f} tokens/s", flush=True)


main()
