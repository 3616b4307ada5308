#!/usr/bin/env python3
"""Repeats the comparisons of experiments/map.yaml (recall) and experiments/scattered.yaml in plain PyTorch, with another
model code.

    orthant data recall --min-length 3 --max-length 4 --alphabet 8 --values 8 --train 20000 --valid 1000 --test 1000 --out recall
    python3 tools/replicate_recall.py recall --seeds 3
    orthant data scattered-recall --min-length 12 --max-length 20 --pairs 4 --alphabet 8 --values 8 --train 40000 --valid 1000 \
        --test 1000 --out scattered
    python3 tools/replicate_recall.py scattered --seeds 3

Nothing of Orthant is used but the data. The model differs on purpose: norms after the sums, sinusoidal positions, PyTorch's
initial values and generator, float32. A result that both find is no accident of one program. Prints the validation accuracy in
percent of each seed of each attention, as JSON lines; one or two minutes a run on one core. Texts have at most MOST words.
"""
import argparse
import json
import math

import torch
from torch import nn
from torch.nn import functional as F

MOST = 32  # words of a text
KINDS = {
    "softmax": ["softmax"] * 4,
    "orthogonal": ["orthogonal"] * 4,
    "previous + orthogonal": ["previous"] + ["orthogonal"] * 3,
    "previous + softmax": ["previous"] + ["softmax"] * 3,
    "previous + random": ["previous"] + ["random"] * 3,
    "random": ["random"] * 4,
}


class Attention(nn.Module):
    """Heads of the given kinds: [batch, length, width] and a mask of true tokens [batch, length] to [batch, length, width]."""

    def __init__(self, kinds, width):
        super().__init__()
        self.kinds, self.head = kinds, width // len(kinds)
        self.value, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.query, self.key, self.maps = nn.ParameterDict(), nn.ParameterDict(), nn.ParameterDict()
        for i, kind in enumerate(kinds):
            if kind == "softmax":
                for d in (self.query, self.key):
                    d[str(i)] = nn.Parameter(torch.randn(width, self.head) / math.sqrt(width))
            elif kind == "orthogonal":  # the Q of a Gaussian matrix, signs by R: uniform
                for name in ("u", "t"):
                    q, r = torch.linalg.qr(torch.randn(width, self.head))
                    self.register_buffer(f"{name}{i}", q * torch.sign(torch.diagonal(r)))
            elif kind == "random":
                self.maps[str(i)] = nn.Parameter(torch.randn(MOST, MOST) * 0.02)

    def scores(self, i, x):
        n, kind = x.shape[1], self.kinds[i]
        if kind == "random":
            return self.maps[str(i)][:n, :n].expand(len(x), n, n)
        if kind == "softmax":
            q, k = x @ self.query[str(i)], x @ self.key[str(i)]
        else:
            q, k = x @ getattr(self, f"u{i}"), x @ getattr(self, f"t{i}")
        return q @ k.transpose(1, 2) / math.sqrt(self.head)

    def forward(self, x, real):
        n = x.shape[1]
        values = self.value(x).split(self.head, dim=2)
        previous = torch.eye(n, dtype=x.dtype).roll(1, dims=0)
        previous[0] = 0  # the first token has no previous one
        outputs = []
        for i, kind in enumerate(self.kinds):
            if kind == "previous":
                outputs.append(previous @ values[i])
                continue
            scores = self.scores(i, x).masked_fill(~real[:, None, :], -math.inf)
            outputs.append(scores.softmax(dim=2) @ values[i])
        return self.out(torch.cat(outputs, dim=2))


class Model(nn.Module):
    def __init__(self, kinds, words, classes, width=64, layers=2):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        angle = torch.arange(MOST)[:, None] * rate
        self.register_buffer("place", torch.cat([angle.sin(), angle.cos()], dim=1))
        self.attend = nn.ModuleList(Attention(kinds, width) for _ in range(layers))
        self.feed = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
            for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.head = nn.Linear(width, classes)

    def forward(self, ids):
        real = ids > 0
        x = self.embed(ids) + self.place[: ids.shape[1]]
        for i, (attend, feed) in enumerate(zip(self.attend, self.feed)):
            x = self.norms[2 * i](x + attend(x, real))
            x = self.norms[2 * i + 1](x + feed(x))
        last = real.sum(dim=1) - 1
        return self.head(x[torch.arange(len(x)), last])


def read(path, words, labels):
    rows = [line.rstrip("\n").split("\t") for line in open(path, encoding="utf-8")][1:]
    ids = [[words.setdefault(w, len(words) + 1) for w in text.split()] for _, text in rows]
    most = max(map(len, ids))
    if most > MOST:
        raise SystemExit(f"{path}: a text has {most} words, more than {MOST}")
    x = torch.tensor([row + [0] * (most - len(row)) for row in ids])
    return x, torch.tensor([labels.setdefault(label, len(labels)) for label, _ in rows])


def run(kinds, train, valid, words, classes, seed, steps, rate):
    torch.manual_seed(seed)
    model = Model(kinds, words, classes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    warm = lambda step: min(1, (step + 1) / 100) * (0.5 + 0.5 * math.cos(math.pi * step / steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warm)
    for _ in range(steps):
        rows = torch.randint(len(train[0]), (64,))
        loss = F.cross_entropy(model(train[0][rows]), train[1][rows])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    model.eval()
    with torch.no_grad():
        return 100 * (model(valid[0]).argmax(dim=1) == valid[1]).double().mean().item()


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("folder")
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--steps", type=int, default=5000)
    options.add_argument("--rate", type=float, default=1e-3)
    options.add_argument("--attention", action="append", choices=list(KINDS))
    o = options.parse_args()
    torch.set_num_threads(1)
    words, labels = {}, {}
    train = read(f"{o.folder}/train.tsv", words, labels)
    valid = read(f"{o.folder}/valid.tsv", words, labels)
    for seed in range(1, o.seeds + 1):
        for name in o.attention or KINDS:
            accuracy = run(KINDS[name], train, valid, len(words) + 1, len(labels), seed, o.steps, o.rate)
            print(json.dumps({"attention": name, "seed": seed, "accuracy": round(accuracy, 2)}), flush=True)


if __name__ == "__main__":
    main()
