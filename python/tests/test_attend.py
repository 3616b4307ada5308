# SPDX-License-Identifier: Apache-2.0
"""Attention on queries, keys and values on tensors: against PyTorch, gradients, graphs, refusals."""
import subprocess
import sys
import unittest

import numpy as np
import orthant

try:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
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
                    e = torch.nn.functional.scaled_dot_product_attention(*[
                        t.float() if dtype == torch.bfloat16 else t for t in (q, k, v)],
                        is_causal=causal, scale=scale, enable_gqa=True)
                    self.assertEqual((o.dtype, o.shape), (dtype, e.shape))
                    self.assertLess(largest(o.to(e.dtype), e), tolerance)
                    mine = torch.autograd.grad(o.sin().sum(), (q, k, v))
                    theirs = torch.autograd.grad(e.sin().sum(), (q, k, v))
                    for a, b in zip(mine, theirs):
                        self.assertLess(largest(a.float(), b.float()), 2 * tolerance + 1e-7)

    def test_bfloat16_is_float32_computed_in_it(self):
        """The same bits without a copy, with strides, lengths and a past."""
        for queries, lengths in ((5, None), (5, [3, 5]), (2, None)):
            tensors = self.tensors(torch.bfloat16, queries)
            o = orthant.torch.attend("linear", *tensors, causal=True, lengths=lengths)
            gradients = torch.autograd.grad(o, tensors, torch.ones_like(o))
            core = orthant.Core("linear", 4, 4, 8, key_heads=2, causal=True, bfloat16=True)
            arrays = [t.detach().float().transpose(1, 2).numpy() for t in tensors]
            expected, p = core.forward(*arrays, lengths)
            for a, b in zip((o, *gradients),
                            (expected, *core.backward(p, np.ones_like(expected)))):
                self.assertEqual(a.dtype, torch.bfloat16)
                self.assertTrue(torch.equal(a, torch.from_numpy(b).transpose(1, 2).bfloat16()))

    def test_bfloat16_is_not_converted(self):
        tensors, names = self.tensors(torch.bfloat16), set()
        do = torch.ones_like(tensors[0])

        class Watch(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
                names.add(function.overloadpacket.__name__)
                return function(*arguments, **(keywords or {}))
        with Watch():
            o = orthant.torch.attend("linear", *tensors, causal=True)
            torch.autograd.grad(o, tensors, do)
        self.assertIn("transpose", names)
        self.assertFalse(names & {"_to_copy", "copy_", "clone"})

    def test_trained_parameters(self):
        q, k, v = self.tensors()
        for spec in ("softmax(normalise=sink)", "linear(map=hedgehog)"):
            core = orthant.Core(spec, 4, 4, 8, key_heads=2, dtype="float64", causal=True)
            names = [*core.parameters]
            weights = [torch.rand(p.shape, dtype=torch.float64, requires_grad=True)
                       for p in core.parameters.values()]

            def run(q, k, v, *weights, spec=spec, names=names):
                return orthant.torch.attend(spec, q, k, v, causal=True,
                                            weights=dict(zip(names, weights)))
            self.assertTrue(torch.autograd.gradcheck(run, (q, k, v, *weights)))
            first = run(q, k, v, *weights)
            other = run(q, k, v, *[2 * w.detach() for w in weights])  # of another module
            self.assertFalse(torch.equal(first, other))
            o = run(q, k, v, *weights)
            expected = torch.autograd.grad(o.sum(), weights, retain_graph=True)
            run(q, k, v, *[2 * w.detach() for w in weights])
            for a, b in zip(torch.autograd.grad(o.sum(), weights), expected):
                self.assertTrue(torch.equal(a, b))
            with self.assertRaisesRegex(orthant.Error, "trained parameters"):
                run(q, k, v, names=[])
            with self.assertRaisesRegex(orthant.Error, "has the shape"):
                run(q, k, v, *[w[:1].repeat(2, *[1] * (w.dim() - 1)) for w in weights])

    def test_logit_cap(self):
        q, k, v = self.tensors()
        logits = 20 * q @ k.repeat_interleave(2, 1).transpose(2, 3) / 2
        e = (0.5 * (logits / 0.5).tanh()).softmax(-1) @ v.repeat_interleave(2, 1)
        self.assertLess(largest(orthant.torch.attend("softmax", 20 * q, k, v, logit_cap=0.5), e),
                        1e-12)

    def test_seed(self):
        q, k, v = self.tensors()
        def run(**arguments):
            return orthant.torch.attend("performer", q, k, v, **arguments)
        core = orthant.Core("performer", 4, 4, 8, key_heads=2, dtype="float64", seed=7)
        e = core(*[t.detach().transpose(1, 2).numpy() for t in (q, k, v)])
        self.assertTrue(torch.equal(run(seed=7), torch.from_numpy(e).transpose(1, 2)))
        self.assertTrue(torch.equal(run(seed=1), run()))
        self.assertFalse(torch.equal(run(seed=7), run()))

    def test_explicit_cross(self):
        q, k, v = self.tensors()
        o = orthant.torch.attend("softmax", q, k, v, lengths=[3, 5], cross=True)
        e = torch.nn.functional.scaled_dot_product_attention(
            q[:1], k[:1, :, :3], v[:1, :, :3], enable_gqa=True)
        self.assertLess(largest(o[:1], e), 1e-12)  # rows past the keys' length are no padding
        o = orthant.torch.attend("softmax", q, k, v, lengths=[3, 5], cross=False)
        self.assertFalse(o[0, :, 3:].any())
        with self.assertRaisesRegex(orthant.Error, "add cross=False where they are of one sequence"):
            orthant.torch.attend("softmax", q, k, v, lengths=[3, 5])
        e = orthant.torch.attend("softmax", q[:, :, :4], k, v, lengths=[3, 5])  # others are told
        self.assertLess(largest(o[1:, :, :4], e[1:]), 1e-12)
        with self.assertRaisesRegex(orthant.Error, "as many"):
            orthant.torch.attend("softmax", q[:, :, :2], k, v, cross=False)

    def test_an_empty_batch(self):
        q, k, v = self.tensors()
        o = orthant.torch.attend("softmax", q[:0], k[:0], v[:0])
        self.assertEqual(o.shape, (0, *q.shape[1:3], v.shape[3]))
        for g, t in zip(torch.autograd.grad(o.sum(), (q, k, v)), (q, k, v)):
            self.assertTrue(torch.equal(g, torch.zeros_like(t)))

    def test_second_derivatives_are_refused(self):
        q, k, v = self.tensors()
        for y in (lambda o: o.sum(), lambda o: o.square().sum()):
            g, = torch.autograd.grad(y(orthant.torch.attend("softmax", q, k, v)), q,
                                     create_graph=True)
            e, = torch.autograd.grad(y(orthant.torch.attend("softmax", q, k, v)), q)
            self.assertTrue(torch.equal(g, e))
            with self.assertRaisesRegex(orthant.Error, "differentiable once"):
                g.square().sum().backward()

    def test_gradients(self):
        for spec in ("softmax", "linear", "performer", "softmax:2 | local(window=2):2"):
            for queries in (5, 2):
                q, k, v = self.tensors(queries=queries)
                self.assertTrue(torch.autograd.gradcheck(
                    lambda *x, s=spec: orthant.torch.attend(s, *x, causal=True), (q, k, v)))

    def test_tensors_with_any_strides(self):
        q, k, v = (t.detach() for t in self.tensors())
        def run(*tensors):
            return orthant.torch.attend("softmax", *tensors, causal=True)
        expected = run(q, k, v)
        turned = [t.permute(2, 3, 0, 1).contiguous().permute(2, 3, 0, 1) for t in (q, k, v)]
        self.assertTrue(torch.equal(run(*turned), expected))
        heads = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in (q, k, v)]
        self.assertTrue(torch.equal(run(*heads), expected))
        self.assertTrue(torch.equal(run(q, k, torch._neg_view(-v)), expected))
        for v in (v[:1].expand(2, 2, 5, 4), v[:1, :1, :1].expand(2, 2, 5, 4)):
            self.assertTrue(torch.equal(run(q, k, v), run(q, k, v.contiguous())))
        with self.assertRaisesRegex(orthant.Error, "have the shapes"):
            run(q, k[:1], v[:1])
        with self.assertRaisesRegex(orthant.Error, "have the shapes"):
            run(q, k, v[:, :1])

    def test_several_graphs_are_alive(self):
        q, k, v = self.tensors()
        first = orthant.torch.attend("softmax", q, k, v)
        second = orthant.torch.attend("softmax", 2 * q, k, v)
        expected = torch.autograd.grad(second.sum(), k, retain_graph=True)[0]
        torch.autograd.grad(first.sum(), k)
        self.assertTrue(torch.equal(torch.autograd.grad(second.sum(), k)[0], expected))

    def test_a_retained_graph_has_a_second_backward_call(self):
        q, k, v = self.tensors()
        o = orthant.torch.attend("linear", q, k, v, causal=True, lengths=[3, 5]).sin().sum()
        first = torch.autograd.grad(o, (q, k, v), retain_graph=True)
        for a, b in zip(torch.autograd.grad(o, (q, k, v)), first):
            self.assertTrue(torch.equal(a, b))

    def test_the_interpreter_ends_with_live_graphs_and_after_a_fork(self):
        code = """if True:
            import os, torch, orthant.torch
            q = torch.ones(1, 2, 3, 4, requires_grad=True)
            live = [orthant.torch.attend("linear", q, q, q, causal=True) for _ in range(5)]
            if os.fork() == 0:
                again = orthant.torch.attend("linear", q, q, q, causal=True)
                os._exit(0 if torch.equal(again, live[0]) else 1)
            raise SystemExit(os.waitstatus_to_exitcode(os.wait()[1]))"""
        end = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((end.returncode, end.stderr), (0, b""))

    def test_wrong_tensors_are_refused(self):
        q, k, v = self.tensors()
        with self.assertRaisesRegex(orthant.Error, "k is torch.float32 and q is torch.float64"):
            orthant.torch.attend("softmax", q, k.float(), v)
        with self.assertRaisesRegex(orthant.Error, "q is on meta"):
            orthant.torch.attend("softmax", q.to("meta"), k, v)
        with self.assertRaisesRegex(orthant.Error, "k is on meta"):
            orthant.torch.attend("softmax", q, k.to("meta"), v)
        with self.assertRaisesRegex(orthant.Error, "v is on meta"):
            orthant.torch.attend("softmax", q, k, v.to("meta"))
        with self.assertRaisesRegex(orthant.Error, "has the shape"):
            orthant.torch.attend("softmax", q[0], k, v)
        with self.assertRaisesRegex(orthant.Error, "q is torch.float16; give torch.float32, float64"):
            orthant.torch.attend("softmax", q.half(), k.half(), v.half())
        three = k.repeat(1, 2, 1, 1)[:, :3]
        for k_or_v in ((three, three), (k[..., :3].contiguous(), v), (k, v[:, :1]), (k[:1], v[:1]), (k[:, :, 1:], v)):
            with self.assertRaisesRegex(orthant.Error, r"shapes \[2, 4, 5, 4\].*give .batch, heads"):
                orthant.torch.attend("softmax", q, *k_or_v)
        with self.assertRaisesRegex(orthant.Error, "mixture"):
            orthant.torch.attend("random + softmax", q, k, v)


class TestDLPack(unittest.TestCase):
    """Tensors in Layer and Core, and their arrays as tensors."""

    def test_in_and_out_without_a_copy(self):
        x = torch.randn(2, 5, 4, 6, dtype=torch.float64)
        core = orthant.Core("linear", 4, 6, 8, causal=True, dtype="float64")
        o, p = core.forward(x, x, x)
        self.assertTrue((core(x.numpy(), x.numpy(), x.numpy()) == o).all())
        self.assertEqual(torch.from_dlpack(o).data_ptr(), o.ctypes.data)
        self.assertEqual([g.shape for g in core.backward(p, torch.from_dlpack(o))], [x.shape] * 3)
        read = orthant._library.as_array(x, "x")
        self.assertEqual(read.ctypes.data, x.data_ptr())
        layer = orthant.Layer("softmax", 24, 4, 8)
        rows = torch.randn(2, 5, 24)
        self.assertTrue((layer(rows) == layer(rows.numpy())).all())
        weight = torch.from_dlpack(layer.parameters["query.weight"])
        self.assertEqual(weight.data_ptr(), layer.parameters["query.weight"].ctypes.data)

    def test_a_core_has_the_dtype_of_the_first_tensors(self):
        for dtype in (torch.float32, torch.float64):
            x = torch.randn(2, 5, 4, 6, dtype=dtype)
            core = orthant.Core("softmax", 4, 6, 8)
            o = torch.from_dlpack(core(x, x, x)).transpose(1, 2)
            expected = orthant.torch.attend("softmax", *[x.transpose(1, 2)] * 3, context=8)
            self.assertTrue(torch.equal(o, expected))
        core = orthant.Core("softmax", 4, 6, 8)
        core(x.float(), x.float(), x.float())
        with self.assertRaisesRegex(orthant.Error, "q is float64, which the core would round"):
            core(x, x, x)

    def test_what_numpy_cannot_read_is_refused(self):
        layer, x = orthant.Layer("softmax", 24, 4, 8), torch.randn(2, 5, 24)
        bits = orthant.Core("linear", 4, 6, 8, dtype="bfloat16")
        heads = x.unflatten(2, (4, 6)).bfloat16()
        o = bits(*[heads.view(torch.uint16)] * 3)
        expected = orthant.torch.attend("linear", *[heads.transpose(1, 2)] * 3, context=8)
        self.assertTrue(torch.equal(torch.from_dlpack(o.view(np.uint16)).view(torch.bfloat16),
                                    expected.transpose(1, 2)))
        with self.assertRaisesRegex(orthant.Error, r"q is float32 .*q.view\(torch.uint16\)"):
            bits(*[heads.float()] * 3)
        for tensor, sentence in ((x.clone().requires_grad_(), "x is not given to NumPy: .*gradient"),
                                 (x.bfloat16(), "x is not given to NumPy")):
            with self.assertRaisesRegex(orthant.Error, sentence):
                layer(tensor)

        class Elsewhere:
            def __dlpack__(self, **_):
                raise AssertionError("was read")

            def __dlpack_device__(self):
                return 2, 0
        with self.assertRaisesRegex(orthant.Error, "DLPack type 2"):
            layer(Elsewhere())


if __name__ == "__main__":
    unittest.main()
