# SPDX-License-Identifier: Apache-2.0
# Steps of the published optimisers, which tests/test_golden_optimizers.c repeats:
#     pip install torch==2.15.0 lion-pytorch==0.2.5 safetensors numpy
#     python tests/golden-optimizers/make.py tests/golden-optimizers/steps.safetensors
# Tensors: start.NAME and gradient.STEP.NAME, then CASE.STEP.NAME, the values after the step. Muon
# has the matrices, AdamW what is no matrix of a block. In the cases in float64 the one line of
# torch.optim.Muon that rounds to bfloat16 does not; in `published` it is torch's own.
import sys

import lion_pytorch
import numpy as np
import torch
import torch.optim._muon as published
from safetensors.torch import save_file

STEPS = 6
SHAPES = {"wide": (4, 10), "tall": (12, 5), "square": (6, 6), "embedding": (7, 4), "vector": (5,)}
HIDDEN = ("wide", "tall", "square")
draw = np.random.default_rng(20261126)
start = {n: draw.normal(size=s) * 0.3 for n, s in SHAPES.items()}
gradient = [{n: draw.normal(size=s) * 10.0 ** draw.integers(-3, 2) for n, s in SHAPES.items()}
            for _ in range(STEPS)]
out = {f"start.{n}": torch.tensor(x) for n, x in start.items()}
for t, g in enumerate(gradient):
    out |= {f"gradient.{t + 1}.{n}": torch.tensor(x) for n, x in g.items()}


def run(case, kind, optimisers):
    p = {n: torch.nn.Parameter(torch.tensor(x, dtype=kind)) for n, x in start.items()}
    steps = optimisers(p)
    for t in range(STEPS):
        for n in p:
            p[n].grad = torch.tensor(gradient[t][n], dtype=kind)
        for o in steps:
            o.step()
        out.update({f"{case}.{t + 1}.{n}": p[n].detach().double().clone() for n in p})


def muon(p, scale):
    hidden = [p[n] for n in HIDDEN]
    return [torch.optim.Muon(hidden, lr=0.02, momentum=0.95, weight_decay=0.1, nesterov=True,
                             adjust_lr_fn=scale),
            torch.optim.AdamW([p["embedding"]], lr=0.003, betas=(0.9, 0.95), weight_decay=0.1),
            torch.optim.AdamW([p["vector"]], lr=0.003, betas=(0.9, 0.95), weight_decay=0)]


def lion(p):
    matrices = [p[n] for n in p if n != "vector"]
    return [lion_pytorch.Lion(matrices, lr=0.003, betas=(0.9, 0.99), weight_decay=0.1),
            lion_pytorch.Lion([p["vector"]], lr=0.003, betas=(0.9, 0.99), weight_decay=0)]


def unrounded(grad, coefficients, steps, eps):
    keep = torch.bfloat16
    try:
        torch.bfloat16 = grad.dtype
        return rounded(grad, coefficients, steps, eps)
    finally:
        torch.bfloat16 = keep


rounded = published._zeropower_via_newtonschulz
run("published", torch.float32, lambda p: muon(p, "original"))
published._zeropower_via_newtonschulz = unrounded
run("original", torch.float64, lambda p: muon(p, "original"))
run("match-rms", torch.float64, lambda p: muon(p, "match_rms_adamw"))
run("lion", torch.float64, lion)
save_file(out, sys.argv[1], metadata={"torch": torch.__version__, "lion-pytorch": "0.2.5"})
