#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""python_speed.py: what a call of a layer costs in Python, and a layer against that of PyTorch.

Processor time of one thread. Of calls the median and the least of 15 rounds, and what the call
costs more than its call of the library alone, which is measured in the same rounds; of layers the
least of 7. Prints the rows of the tables in docs/python.md. Takes a minute; --calls: calls only."""
import ctypes
import statistics
import sys
import time

import numpy as np
import orthant
import torch
from orthant._library import library
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


def print_calls(name, call, library_call, times=1500, rounds=15):
    both = [[], []]
    for f in (call, library_call):
        f()
    for _ in range(rounds):
        for f, found in zip((call, library_call), both):
            begin = time.process_time()
            for _ in range(times):
                f()
            found.append(1e6 * (time.process_time() - begin) / times)
    more = [a - b for a, b in zip(*both)]
    print("| %s | %.1f | %.1f | %.1f |" % (name, statistics.median(both[0]), statistics.median(more),
                                         min(both[0]) - min(both[1])))


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
    print("| call | µs, median | more than the library, median | least |\n|---|---|---|---|")
    layer = orthant.Layer("softmax", 8, 2, 1, causal=True, threads=1)
    x, y = np.ones((1, 1, 8), np.float32), np.empty((1, 1, 8), np.float32)
    p = layer.take_pass()
    with layer.context.lock:
        layer.forward_at(p, x.shape, x.ctypes.data, y.ctypes.data)
    where = ctypes.c_void_p(y.ctypes.data)

    def whole():
        library.oa_attention_pass_forward(p.handle, p.reference, where)
    print_calls("`Layer`", lambda: layer(x), whole)
    module, tensor = Attention("softmax", 8, 2, 1, causal=True, threads=1), torch.ones(1, 1, 8)
    with torch.no_grad():
        print_calls("`Attention` without gradients", lambda: module(tensor), whole)
    print_calls("`Attention` with gradients", lambda: module(tensor), whole)
    q = torch.ones(1, 4, 1, 8)
    core = orthant.Core("softmax", 4, 8, 1, causal=True, threads=1)
    given, o = q.transpose(1, 2).numpy(), np.empty((1, 1, 4, 8), np.float32)
    core_pass = core.forward(given, given, given)[1]
    output = ctypes.c_void_p(o.ctypes.data)

    def whole_core():
        library.oa_core_forward(core_pass.handle, core_pass.reference, output)
    print_calls("`attend`", lambda: attend("softmax", q, q, q, causal=True, threads=1), whole_core)
    q.requires_grad_()
    print_calls("`attend` with gradients",
                lambda: attend("softmax", q, q, q, causal=True, threads=1), whole_core)
    if sys.argv[1:] == ["--calls"]:
        return
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
