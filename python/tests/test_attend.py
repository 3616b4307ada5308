# SPDX-License-Identifier: Apache-2.0
"""Attention on queries, keys and values on tensors: against PyTorch, gradients, graphs, refusals."""
import unittest

import orthant

try:
    import torch
except ImportError:
    raise unittest.SkipTest("torch is not installed")
import orthant.torch


def largest(a, b):
    return float(((a - b).abs().max() / b.abs().max()).detach())


class TestAttend(unittest.TestCase):
    def tensors(self, dtype=torch.float64, queries=5, keys=5):
        torch.manual_seed(1)
        return [torch.randn(2, heads, n, 4, dtype=dtype, requires_grad=True)
                for heads, n in ((4, queries), (2, keys), (2, keys))]

    def test_equals_scaled_dot_product_attention(self):
        for dtype, tolerance in ((torch.float32, 1e-5), (torch.float64, 1e-12),
                                 (torch.bfloat16, 3e-2)):
            for causal in (False, True):
                for scale in (None, 0.3):
                    q, k, v = self.tensors(dtype)
                    o = orthant.torch.attend("softmax", q, k, v, causal=causal, scale=scale)
                    e = torch.nn.functional.scaled_dot_product_attention(
                        q.float() if dtype == torch.bfloat16 else q, *[
                            t.float() if dtype == torch.bfloat16 else t for t in (k, v)],
                        is_causal=causal, scale=scale, enable_gqa=True)
                    self.assertEqual((o.dtype, o.shape), (dtype, e.shape))
                    self.assertLess(largest(o.to(e.dtype), e), tolerance)
                    mine = torch.autograd.grad(o.sin().sum(), (q, k, v))
                    theirs = torch.autograd.grad(e.sin().sum(), (q, k, v))
                    for a, b in zip(mine, theirs):
                        self.assertLess(largest(a.float(), b.float()), 2 * tolerance + 1e-7)

    def test_gradients(self):
        for spec in ("softmax", "linear", "performer", "softmax:2 | local(window=2):2"):
            for queries in (5, 2):
                q, k, v = self.tensors(queries=queries)
                self.assertTrue(torch.autograd.gradcheck(
                    lambda *x, s=spec: orthant.torch.attend(s, *x, causal=True), (q, k, v)))

    def test_several_graphs_are_alive(self):
        q, k, v = self.tensors()
        first = orthant.torch.attend("softmax", q, k, v)
        second = orthant.torch.attend("softmax", 2 * q, k, v)
        expected = torch.autograd.grad(second.sum(), k, retain_graph=True)[0]
        torch.autograd.grad(first.sum(), k)
        self.assertTrue(torch.equal(torch.autograd.grad(second.sum(), k)[0], expected))

    def test_a_compiled_function_calls_it(self):
        def function(q, k, v):
            return (orthant.torch.attend("linear", q + 1, k, v, causal=True) * 2).sum()
        x = self.tensors()
        mine = torch.autograd.grad(torch.compile(function, backend="eager")(*x), x)
        for a, b in zip(mine, torch.autograd.grad(function(*x), x)):
            self.assertTrue(torch.equal(a, b))

    def test_wrong_tensors_are_refused(self):
        q, k, v = self.tensors()
        with self.assertRaisesRegex(orthant.Error, "k is torch.float32 and q is torch.float64"):
            orthant.torch.attend("softmax", q, k.float(), v)
        with self.assertRaisesRegex(orthant.Error, "q is on meta"):
            orthant.torch.attend("softmax", q.to("meta"), k, v)
        with self.assertRaisesRegex(orthant.Error, "has the shape"):
            orthant.torch.attend("softmax", q[0], k, v)
        with self.assertRaisesRegex(orthant.Error, "mixture"):
            orthant.torch.attend("random + softmax", q, k, v)


if __name__ == "__main__":
    unittest.main()
