# SPDX-License-Identifier: Apache-2.0
"""Training speed of PyTorch's nn.Transformer on parallel text, for docs/benchmarks.md.

    python3 bench/pytorch_translation_peer.py RUN/tokenizer.json train.en train.de [--steps 60] [--threads 1] [--bf16]

The shape, the tokens of a step (4,096 of the target and at most as many of the source, padding included, sentences of like
length together), dropout, label smoothing and AdamW are those of the `orthant train` beside it. Needs the packages torch and
tokenizers. Prints the seconds of processor time and of the clock that a step takes, the mean after warm-up, and tokens/s.
"""
import argparse
import math
import random
import time

import tokenizers
import torch
from torch import nn

PAD = 0


def batches(tokenizer, source, target, budget, seed):
    pairs = []
    with open(source, encoding="utf-8") as s, open(target, encoding="utf-8") as t:
        for a, b in zip(s, t):
            pairs.append(([i + 1 for i in tokenizer.encode(a.strip()).ids], [i + 1 for i in tokenizer.encode(b.strip()).ids]))
    random.Random(seed).shuffle(pairs)
    pairs.sort(key=lambda p: (len(p[1]), len(p[0])))
    out, rows, longest = [], [], 0
    for pair in pairs:
        longest = max(longest, len(pair[1]) + 1, len(pair[0]))
        if rows and longest * (len(rows) + 1) > budget:
            out.append(rows)
            rows, longest = [], max(len(pair[1]) + 1, len(pair[0]))
        rows.append(pair)
    out.append(rows)
    random.Random(seed).shuffle(out)
    return out


def padded(rows):
    longest = max(map(len, rows))
    return torch.tensor([r + [PAD] * (longest - len(r)) for r in rows])


class Translator(nn.Module):
    def __init__(self, vocabulary, width, layers, heads, ffn, dropout, context):
        super().__init__()
        self.width = width
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=PAD)
        self.transformer = nn.Transformer(width, heads, layers, layers, ffn, dropout, activation="gelu", batch_first=True,
                                          norm_first=True, bias=False)
        self.dropout = nn.Dropout(dropout)
        position = torch.arange(context)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(1e4) / width))
        table = torch.zeros(context, width)
        table[:, 0::2], table[:, 1::2] = torch.sin(position), torch.cos(position)
        self.register_buffer("positions", table)

    def embed(self, ids):
        return self.dropout(self.embedding(ids) * math.sqrt(self.width) + self.positions[: ids.shape[1]])

    def forward(self, source, target):
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1]).isinf()
        hidden = self.transformer(self.embed(source), self.embed(target), tgt_mask=causal, tgt_is_causal=True,
                                  src_key_padding_mask=source == PAD, tgt_key_padding_mask=target == PAD,
                                  memory_key_padding_mask=source == PAD)
        return hidden @ self.embedding.weight.t()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("tokenizer"), p.add_argument("source"), p.add_argument("target")
    p.add_argument("--steps", type=int, default=60)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--bf16", action="store_true")
    for name, value in ("width", 128), ("layers", 4), ("heads", 4), ("ffn", 256), ("tokens", 4096), ("context", 128):
        p.add_argument("--" + name, type=int, default=value)
    a = p.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(a.threads)
    tokenizer = tokenizers.Tokenizer.from_file(a.tokenizer)
    vocabulary = tokenizer.get_vocab_size() + 3
    begin, end = vocabulary - 2, vocabulary - 1
    model = Translator(vocabulary, a.width, a.layers, a.heads, a.ffn, 0.3, a.context)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, (0.9, 0.98), weight_decay=1e-4)
    loss = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)
    all_batches = batches(tokenizer, a.source, a.target, a.tokens, 1)
    warm_up, tokens = 10, 0
    for step in range(warm_up + a.steps):
        if step == warm_up:
            wall, processor, tokens = time.perf_counter(), time.process_time(), 0
        rows = all_batches[step % len(all_batches)]
        source = padded([r[0] for r in rows])
        given = padded([[begin] + r[1] for r in rows])
        wanted = padded([r[1] + [end] for r in rows])
        tokens += sum(len(r[0]) + len(r[1]) + 1 for r in rows)
        with torch.autocast("cpu", torch.bfloat16, enabled=a.bf16):
            logits = model(source, given)
        value = loss(logits.float().flatten(0, 1), wanted.flatten())
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"torch {torch.__version__}, {'bf16' if a.bf16 else 'f32'}, {a.threads} threads, loss {value.item():.3f}: "
          f"{processor / a.steps:.3f} s processor, {wall / a.steps:.3f} s wall a step, "
          f"{tokens / processor:.0f} tokens a processor second, {tokens / wall:.0f} tokens/s")


main()
