#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The models of docs/benchmarks.md in PyTorch, for the rows of a peer. No part of the build or of the tests.

    python3 -m venv venv && venv/bin/pip install torch
    venv/bin/python bench/pytorch_peer.py nanogpt --precision bf16

The decoder is that of `orthant train` with its defaults: norms before the branches, no biases, learned positions, GELU by
tanh, no dropout, the output layer tied to the embedding, mean cross-entropy; a step ends with clipping at 1 and AdamW, with
weight decay for matrices only. The learning rate stays what it is, and tokens are random: neither changes the work.

It runs eagerly, with scaled_dot_product_attention and fused AdamW; --compile runs torch.compile over model or layer. bf16
is autocast over f32 parameters in a step, and parameters and inputs of bf16 in a layer, where there is nothing to update.
The first step warms up and is left out; of the others the median is printed, and in brackets the least and the most.
"""

import argparse
import math
import os
import statistics
import time

import torch
from torch import nn
from torch.nn import functional

CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


def linear(inputs, outputs, scale=1.0):
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.normal_(layer.weight, std=scale / math.sqrt(inputs))
    return layer


class Attention(nn.Module):
    """Causal softmax attention with its projections; those of queries, keys and values in one product."""

    def __init__(self, width, heads, scale=1.0):
        super().__init__()
        self.heads = heads
        self.project_in = linear(width, 3 * width)
        self.project_out = linear(width, width, scale)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.project_in(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.project_out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, scale):
        super().__init__()
        self.attention_norm = nn.LayerNorm(width, bias=False)
        self.attention = Attention(width, heads, scale)
        self.ffn_norm = nn.LayerNorm(width, bias=False)
        self.ffn_in = linear(width, 4 * width)
        self.ffn_out = linear(4 * width, width, scale)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        hidden = functional.gelu(self.ffn_in(self.ffn_norm(x)), approximate="tanh")
        return x + self.ffn_out(hidden)


class Decoder(nn.Module):
    def __init__(self, layers, width, heads, context, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(context, width)
        for table in (self.embedding, self.position):
            nn.init.normal_(table.weight, std=0.02)
        self.blocks = nn.ModuleList(Block(width, heads, (2 * layers) ** -0.5) for _ in range(layers))
        self.norm = nn.LayerNorm(width, bias=False)

    def forward(self, ids, targets):
        """The loss; ids and targets [batch, length]."""
        x = self.embedding(ids) + self.position.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = functional.linear(self.norm(x), self.embedding.weight)
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def optimizer_of(model):
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99), eps=1e-8, fused=True)


def wait_for(device):
    if device == "cuda":
        torch.cuda.synchronize()


def time_steps(step, options):
    """Seconds of each step but the first ones: a card's compiler and libraries need a few."""
    clock = CLOCKS[options.clock]
    warm = 5 if options.device == "cuda" else 1
    seconds = []
    for _ in range(options.steps + warm):
        wait_for(options.device)
        start = clock()
        step()
        wait_for(options.device)
        seconds.append(clock() - start)
    return seconds[warm:]


def print_row(name, options, seconds, tokens):
    median = statistics.median(seconds)
    unit, factor = ("s", 1.0) if median >= 1 else ("ms", 1e3)
    least, most = factor * min(seconds), factor * max(seconds)
    print(
        f"{name}, {options.precision}: {factor * median:.3g} {unit} ({least:.3g}–{most:.3g}), "
        f"{tokens / median:.0f} tokens/s",
        flush=True,
    )


def train_model(options):
    """Training steps of one of the presets in main()."""
    shape = options.shape
    model = Decoder(**shape).to(options.device)
    parameters = sum(p.numel() for p in model.parameters())
    run = torch.compile(model) if options.compile else model
    optimizer = optimizer_of(model)
    tokens = torch.randint(shape["vocabulary"], (options.batch, shape["context"] + 1), device=options.device)

    def step():
        with torch.autocast(options.device, torch.bfloat16, enabled=options.precision == "bf16"):
            loss = run(tokens[:, :-1], tokens[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    name = f"a step of {options.command}, {parameters} parameters"
    print_row(name, options, time_steps(step, options), options.batch * shape["context"])


def run_layer(options):
    """One attention layer forward and backward, as `orthant bench` runs it: gradients of weights and input."""
    dtype = torch.bfloat16 if options.precision == "bf16" else torch.float32
    layer = Attention(options.width, options.heads).to(options.device, dtype)
    run = torch.compile(layer) if options.compile else layer
    for length in options.lengths:
        shape = (max(1, options.tokens // length), length, options.width)
        x = torch.randn(shape, dtype=dtype, device=options.device, requires_grad=True)
        gradient = torch.randn(shape, dtype=dtype, device=options.device)

        def step():
            layer.zero_grad()
            x.grad = None
            run(x).backward(gradient)

        name = f"a layer, {shape[0]} x {length} tokens, {options.width} wide, {options.heads} heads"
        print_row(name, options, time_steps(step, options), shape[0] * length)


def add_command(commands, common, name, text, steps, **defaults):
    """A command with its own default of --steps: arguments of a parent are shared, and so are their defaults."""
    command = commands.add_parser(name, parents=[common], help=text)
    command.add_argument("--steps", type=int, default=steps, help="steps that count; one more warms up")
    command.set_defaults(**defaults)
    return command


def parse_arguments():
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    common.add_argument("--threads", type=int, default=os.cpu_count())
    common.add_argument("--clock", choices=CLOCKS, default="wall", help="processor: time of all threads")
    common.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    common.add_argument("--compile", action="store_true", help="with torch.compile")
    parser = argparse.ArgumentParser(description="PyTorch at the work of docs/benchmarks.md")
    commands = parser.add_subparsers(dest="command", required=True)

    shape = {"layers": 4, "width": 128, "heads": 4, "context": 64, "vocabulary": 65}
    text = "a training step of nanoGPT's CPU preset"
    nanogpt = add_command(commands, common, "nanogpt", text, 60, run=train_model, shape=shape)
    nanogpt.add_argument("--batch", type=int, default=12, help="sequences")

    shape = {"layers": 12, "width": 768, "heads": 12, "context": 1024, "vocabulary": 50257}
    text = "a training step of GPT-2 124M"
    gpt2 = add_command(commands, common, "gpt2", text, 3, run=train_model, shape=shape)
    gpt2.add_argument("--batch", type=int, default=4, help="sequences")

    text = "an attention layer, forward and backward, over lengths"
    layer = add_command(commands, common, "layer", text, 5, run=run_layer)
    layer.add_argument("--lengths", type=lambda text: [int(n) for n in text.split(",")], default=[512, 2048, 8192])
    layer.add_argument("--tokens", type=int, default=4096, help="of a pass: as many sequences as fit, at least one")
    layer.add_argument("--width", type=int, default=512)
    layer.add_argument("--heads", type=int, default=8)
    return parser.parse_args()


def main():
    options = parse_arguments()
    if min(options.steps, options.threads, getattr(options, "batch", 1)) < 1:
        raise SystemExit("--steps, --threads and --batch are at least 1")
    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    how = "torch.compile" if options.compile else "eager"
    where = torch.cuda.get_device_name() if options.device == "cuda" else f"{options.threads} threads"
    print(f"PyTorch {torch.__version__}, {how}, {where}, {options.clock} time", flush=True)
    options.run(options)


if __name__ == "__main__":
    main()
