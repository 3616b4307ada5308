#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_speed.py: what a call of a layer costs in Python, and a layer against that of PyTorch.

Processor time of one thread, the least of several rounds: other programs disturb it little. Prints
the rows of the table in docs/python.md. Takes half a minute."""
import time

import numpy as np
import orthant
import torch
from orthant.torch import Attention, attend

torch.set_num_threads(1)


def seconds(call, times, rounds=7):
    call()
    best = float("inf")
    for _ in range(rounds):
        begin = time.process_time()
        for _ in range(times):
            call()
        best = min(best, (time.process_time() - begin) / times)
    return best


class Reference(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.maps = torch.nn.ModuleList(torch.nn.Linear(width, width, bias=False)
                                        for _ in range(4))

    def forward(self, x):
        q, k, v = (f(x).unflatten(2, (self.heads, -1)).transpose(1, 2) for f in self.maps[:3])
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.maps[3](y.transpose(1, 2).flatten(2))


def main():
    layer = orthant.Layer("softmax", 8, 2, 1, causal=True, threads=1)
    x = np.ones((1, 1, 8), np.float32)
    print("a call of Layer: %.1f µs" % (1e6 * seconds(lambda: layer(x), 3000)))
    module, tensor = Attention("softmax", 8, 2, 1, causal=True, threads=1), torch.ones(1, 1, 8)
    with torch.no_grad():
        print("a call of Attention: %.1f µs" % (1e6 * seconds(lambda: module(tensor), 3000)))
    print("the same with gradients: %.1f µs" % (1e6 * seconds(lambda: module(tensor), 3000)))
    q = torch.ones(1, 4, 1, 8)
    print("a call of attend: %.1f µs" % (1e6 * seconds(
        lambda: attend("softmax", q, q, q, causal=True, threads=1), 3000)))
    q.requires_grad_()
    print("the same with gradients: %.1f µs" % (1e6 * seconds(
        lambda: attend("softmax", q, q, q, causal=True, threads=1), 3000)))
    print("\n| width, heads, tokens, batch | Orthant | PyTorch |\n|---|---|---|")
    for width, heads, tokens, batch in ((256, 4, 256, 8), (512, 8, 512, 4), (512, 8, 1024, 2)):
        x = torch.randn(batch, tokens, width, requires_grad=True)
        ours = Attention("softmax", width, heads, tokens, causal=True, threads=1)
        theirs = Reference(width, heads)
        print("| %d, %d, %d, %d | %.0f ms | %.0f ms |" % (
            width, heads, tokens, batch, 1e3 * seconds(lambda: ours(x).sum().backward(), 2),
            1e3 * seconds(lambda: theirs(x).sum().backward(), 2)))


if __name__ == "__main__":
    main()
