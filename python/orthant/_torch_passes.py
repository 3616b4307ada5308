# SPDX-License-Identifier: Apache-2.0
"""Passes of forward calls by number: an operation of torch.compile can save nothing but tensors."""
import itertools
import weakref

import numpy as np
import torch

# As long as the tensor with the number has its memory. Without it (the tensor was copied, or comes
# from another process) the pass is computed again.
passes, _numbers = {}, itertools.count(1)


def number_of(saved):
    """A tensor [1] with a number under which find() has this pass."""
    number = np.array([next(_numbers)])
    passes[int(number[0])] = saved
    weakref.finalize(number, passes.pop, int(number[0]), None)
    return torch.from_numpy(number)


def find(number):
    return passes.get(int(number))
