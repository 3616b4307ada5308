# SPDX-License-Identifier: Apache-2.0
"""Speed of writing in llama.cpp with a decoder of random weights, for docs/benchmarks.md.

    python3 -m venv venv && venv/bin/pip install --no-binary llama-cpp-python llama-cpp-python gguf
    venv/bin/python bench/llama_cpp_peer.py [--threads 1] [--sequences 1,4,8] [--after 0] [--type bf16]

Makes a model of GPT-2's shape as a GGUF file (pre-norm, GELU in its tanh form, learned positions, one embedding for
input and output, no words but their number), and writes --tokens tokens after --after others, all sequences side by side:
a step is one llama_decode of a token of each sequence, and the next token is the greatest of its logits, looked for
with NumPy within the time measured. What is printed is the difference of a long and a short text, so that what
happens once is left out: milliseconds of the clock and of the processor for a step (a token of each sequence), and
tokens of all sequences a second.

Built from source as above, llama.cpp is compiled for the processor at hand; the first line has the instructions it
uses. --type is the type of the matrices, and what they are multiplied with is rounded to it too; vectors are f32. The
rest is llama.cpp's default: keys and values are kept in f16, attention is the fused one where it can be, each
sequence has its own part of the cache, and the file is mapped to memory.
"""
import argparse
import ctypes
import os
import tempfile
import time
from importlib.metadata import version

import gguf
import llama_cpp
import numpy as np

NO_LOG = llama_cpp.llama_log_callback(lambda level, text, data: None)  # llama.cpp holds it to the end


def make_model(a, path):
    generator, kind = np.random.default_rng(a.seed), gguf.GGMLQuantizationType[a.type.upper()]
    w = gguf.GGUFWriter(path, "gpt2")
    w.add_block_count(a.layers)
    w.add_context_length(a.context)
    w.add_embedding_length(a.width)
    w.add_feed_forward_length(4 * a.width)
    w.add_head_count(a.heads)
    w.add_layer_norm_eps(1e-5)
    w.add_tokenizer_model("none")
    w.add_vocab_size(a.vocabulary)

    def matrix(name, rows, columns):
        values = generator.standard_normal((rows, columns), dtype=np.float32) * np.float32(0.02)
        w.add_tensor(name + ".weight", gguf.quants.quantize(values, kind), raw_dtype=kind)

    def linear(name, rows, columns):
        matrix(name, rows, columns)
        w.add_tensor(name + ".bias", np.zeros(rows, np.float32))

    def norm(name):
        w.add_tensor(name + ".weight", np.ones(a.width, np.float32))
        w.add_tensor(name + ".bias", np.zeros(a.width, np.float32))

    matrix("token_embd", a.vocabulary, a.width)  # without output.weight, it is the output's too
    matrix("position_embd", a.context, a.width)
    norm("output_norm")
    for i in range(a.layers):
        norm(f"blk.{i}.attn_norm")
        linear(f"blk.{i}.attn_qkv", 3 * a.width, a.width)
        linear(f"blk.{i}.attn_output", a.width, a.width)
        norm(f"blk.{i}.ffn_norm")
        linear(f"blk.{i}.ffn_up", 4 * a.width, a.width)
        linear(f"blk.{i}.ffn_down", a.width, 4 * a.width)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def open_context(a, model, sequences):
    params = llama_cpp.llama_context_default_params()
    params.n_ctx, params.n_seq_max = sequences * (a.after + a.tokens + 4), sequences
    params.n_threads = params.n_threads_batch = a.threads  # the second is for more than one token in a batch
    context = llama_cpp.llama_init_from_model(model, params)
    assert context, "llama.cpp made no context"
    return context


def read_before(a, context, sequences):
    """The --after tokens that every sequence has in front of those that are timed."""
    batch = llama_cpp.llama_batch_init(max(a.after, 1), 0, 1)
    batch.n_tokens = a.after
    for n in range(sequences if a.after else 0):
        for i in range(a.after):
            batch.token[i], batch.pos[i], batch.n_seq_id[i] = 1, i, 1
            batch.seq_id[i][0], batch.logits[i] = n, 0
        result = llama_cpp.llama_decode(context, batch)
        assert result == 0, f"llama_decode gave {result}"
    llama_cpp.llama_batch_free(batch)


def seconds(a, context, batch, tokens):
    n = batch.n_tokens
    token, pos = (np.ctypeslib.as_array(x, (n,)) for x in (batch.token, batch.pos))
    for sequence in range(n):
        llama_cpp.llama_memory_seq_rm(llama_cpp.llama_get_memory(context), sequence, a.after, -1)
    processor, clock = time.process_time(), time.perf_counter()
    token[:] = 1
    for i in range(tokens):
        pos[:] = a.after + i
        result = llama_cpp.llama_decode(context, batch)
        assert result == 0, f"llama_decode gave {result}"
        logits = np.ctypeslib.as_array(llama_cpp.llama_get_logits(context), (n, a.vocabulary))
        token[:] = logits.argmax(axis=1)
    return np.array([time.perf_counter() - clock, time.process_time() - processor])


def main():
    p = argparse.ArgumentParser()
    for name, value in (("threads", 1), ("tokens", 32), ("after", 0), ("rounds", 5), ("layers", 12), ("width", 768), ("heads", 12),
                        ("context", 1024), ("vocabulary", 50257), ("seed", 1)):
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--sequences", default="1,4,8")
    p.add_argument("--type", default="bf16", choices=("bf16", "f16", "f32"))
    a = p.parse_args()
    assert a.after + a.tokens + 4 <= a.context, "more tokens than the model has positions"
    llama_cpp.llama_log_set(NO_LOG, ctypes.c_void_p())
    llama_cpp.llama_backend_init()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.gguf")
        make_model(a, path)
        model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        assert model, "llama.cpp did not take the model"
    print(f"llama-cpp-python {llama_cpp.__version__}, gguf {version('gguf')}, {a.type}, {a.threads} threads, "
          f"{llama_cpp.llama_print_system_info().decode().strip(' |')}", flush=True)
    for n in map(int, a.sequences.split(",")):
        context, batch = open_context(a, model, n), llama_cpp.llama_batch_init(n, 0, 1)
        batch.n_tokens = n
        for i in range(n):
            batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = 1, i, 1
        read_before(a, context, n)
        seconds(a, context, batch, 2)
        steps = np.array([seconds(a, context, batch, a.tokens + 4) - seconds(a, context, batch, 4)
                          for _ in range(a.rounds)])
        clock, processor = np.median(steps, axis=0) / a.tokens
        print(f"{n} sequences: {1e3 * clock:.2f} ms clock, {1e3 * processor:.2f} ms processor a step, "
              f"{n / clock:.1f} tokens/s", flush=True)
        llama_cpp.llama_batch_free(batch)
        llama_cpp.llama_free(context)


main()
