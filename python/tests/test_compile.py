# SPDX-License-Identifier: Apache-2.0
"""The layer as one operation of torch.compile, torch.export and traces."""
import gc
import io
import unittest
import warnings

import orthant

try:
    import torch
    from torch import library
except ImportError:
    raise unittest.SkipTest("torch is not installed")
from orthant import _torch_core, _torch_passes
from orthant import torch as ours
from orthant.torch import attend

from test_torch import drawn, made


def names_of(graph):
    return [str(node.target) for node in graph.nodes if node.op == "call_function"]


class Compiled(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()

    def same(self, layer, x, *others, **arguments):
        """Bits of the result and of all gradients, compiled without a break, against the layer."""
        model = torch.nn.Sequential(torch.nn.Linear(8, 8).double(), layer)
        inputs = [x, *(t for t in others if t is not None), *model.parameters()]

        def run(x, *others):
            return model[1](model[0](x), *others, **arguments).square()

        compiled = torch.compile(run, backend="aot_eager", fullgraph=True)
        y, expected = compiled(x, *others), run(x, *others)
        self.assertTrue(torch.equal(y, expected))
        for a, b in zip(torch.autograd.grad(y.sum(), inputs),
                        torch.autograd.grad(expected.sum(), inputs)):
            self.assertTrue(torch.equal(a, b))

    def test_results_and_gradients_have_the_same_bits(self):
        x = drawn(2, 6, 8, requires_grad=True)
        self.same(made(), x)
        self.same(made("random(frozen) + softmax"), x)
        self.same(made(causal=False), x, lengths=torch.tensor([6, 2]))
        self.same(made(causal=False, cross=True), x, drawn(2, 5, 8, requires_grad=True))

    def test_training_has_the_same_bits(self):
        ends = []
        for compiled in (False, True):
            layer, x = made(), drawn(2, 6, 8)
            call = torch.compile(layer, backend="aot_eager", fullgraph=True) if compiled else layer
            optimizer = torch.optim.SGD(layer.parameters(), 0.1)
            for _ in range(5):
                optimizer.zero_grad()
                (call(x) - x).square().mean().backward()
                optimizer.step()
            ends.append(layer.query.weight.detach().clone())
        self.assertTrue(torch.equal(*ends))

    def test_the_operation_fulfils_the_contract_of_torch(self):
        layer = made(causal=False, cross=True, dtype=torch.float64)
        x, memory = drawn(2, 6, 8, requires_grad=True), drawn(2, 5, 8, requires_grad=True)
        library.opcheck(
            ours._attention, (x, memory, torch.tensor([5, 2]), layer._weights(), 4, layer._form),
            test_utils=("test_schema", "test_faketensor", "test_autograd_registration"))

    def test_a_pass_that_is_lost_is_computed_again(self):
        layer, x = made(), drawn(2, 6, 8, requires_grad=True)
        loss = ours._attention(x, None, None, layer._weights(), 4, layer._form)[0].square().sum()
        _torch_passes.passes.clear()
        first = torch.autograd.grad(loss, x, retain_graph=True)[0]
        expected = torch.autograd.grad(layer(x).square().sum(), x)[0]
        self.assertTrue(torch.equal(first, expected))
        self.assertTrue(torch.equal(torch.autograd.grad(loss, x)[0], expected))

    def test_a_pass_computed_again_has_the_lengths(self):
        layer, x = made(causal=False), drawn(2, 6, 8, requires_grad=True)
        lengths = torch.tensor([6, 2])
        y = ours._attention(x, None, lengths, layer._weights(), 4, layer._form)[0]
        _torch_passes.passes.clear()
        expected = torch.autograd.grad(layer(x, lengths=lengths).square().sum(), x)[0]
        self.assertTrue(torch.equal(torch.autograd.grad(y.square().sum(), x)[0], expected))
        self.assertEqual(float(expected[1, 2:].abs().sum()), 0)

    def test_passes_go_with_their_graphs(self):
        layer, x = made(), drawn(2, 6, 8, requires_grad=True)
        call = torch.compile(layer, backend="aot_eager", fullgraph=True)
        for _ in range(10):
            call(x).sum().backward()
            call(x)
        gc.collect()
        self.assertEqual(len(_torch_passes.passes), 0)
        self.assertLessEqual(len(layer._home._spare), 2)


class CompiledAttend(unittest.TestCase):
    """attend, on given queries, keys and values."""

    def setUp(self):
        torch._dynamo.reset()

    def tensors(self, queries=5, dtype=torch.float64):
        torch.manual_seed(1)
        return [torch.randn(2, heads, n, 4, dtype=dtype, requires_grad=True)
                for heads, n in ((4, queries), (2, 5), (2, 5))]

    def same(self, spec, tensors, backend="aot_eager", sink=None, **arguments):
        if sink:
            tensors.append(torch.tensor(sink, dtype=torch.float64, requires_grad=True))

        def run(q, k, v, *sink):
            weights = {"sink.logit": sink[0]} if sink else None
            return attend(spec, q + 1, k, v, weights=weights, **arguments).square()

        torch._dynamo.reset()
        compiled = torch.compile(run, backend=backend, fullgraph=True)
        o, expected = compiled(*tensors), run(*tensors)
        self.assertEqual((o.shape, o.stride()), (expected.shape, expected.stride()))
        self.assertTrue(torch.equal(o, expected))
        for a, b in zip(torch.autograd.grad(o.sum(), tensors),
                        torch.autograd.grad(expected.sum(), tensors)):
            self.assertTrue(torch.equal(a, b))
        return compiled, run

    def test_results_and_gradients_have_the_same_bits(self):
        for dtype in (torch.float32, torch.bfloat16):
            self.same("linear", self.tensors(dtype=dtype), causal=True)
        tensors = self.tensors(2)
        compiled, run = self.same("softmax", tensors, causal=True, scale=0.3)
        with torch.no_grad():  # only the last queries are computed
            self.assertTrue(torch.equal(compiled(*tensors), run(*tensors)))
        self.same("softmax", self.tensors(3))
        self.same("softmax", self.tensors(), logit_cap=2.0, lengths=[3, 5], cross=False)
        self.same("performer", self.tensors(), lengths=torch.tensor([5, 2]), cross=False, seed=3,
                  context=16)
        self.same("softmax(normalise=sink)", self.tensors(), sink=[0.5, 1, -1, 0.1])

    def test_the_default_backend(self):
        try:
            torch.compile(lambda x: x + 1)(torch.ones(3))
        except Exception as exception:  # of any kind where there is no compiler
            self.skipTest("torch.compile has no compiler here: %s" % exception)
        self.same("linear", self.tensors(), backend="inductor", causal=True)

    def test_one_graph_has_any_number_of_keys(self):
        graphs = []

        def count(graph, _):
            graphs.append(graph)
            return graph
        run = torch.compile(lambda q, k, v: attend("linear", q, k, v, causal=True),
                            backend=count, fullgraph=True, dynamic=True)
        q, k, v = (t.detach() for t in self.tensors(2))
        for keys in (3, 4, 5):
            at = k[:, :, :keys], v[:, :, :keys]
            self.assertTrue(torch.equal(run(q, *at), attend("linear", q, *at, causal=True)))
        self.assertEqual(len(graphs), 1)

    def test_the_operation_fulfils_the_contract_of_torch(self):
        q, k, v = self.tensors()
        sink = torch.rand(4, dtype=torch.float64, requires_grad=True)
        for tensors, lengths, weights, names, spec in (
                ((q, k, v), None, [], "", "softmax"),
                ((q[:, :, 3:], k, v), torch.tensor([5, 2]), [sink], "sink.logit",
                 "softmax(normalise=sink)")):
            library.opcheck(
                _torch_core._attend, (*tensors, lengths, weights, names, spec, True, 0, None, 1, 0,
                                      0.0, True),
                test_utils=("test_schema", "test_faketensor", "test_autograd_registration"))

    def test_a_pass_that_is_lost_or_used_is_computed_again(self):
        q, k, v = self.tensors()
        o = attend("linear", q, k, v, lengths=[4, 2], cross=False)
        expected = torch.autograd.grad(o.sin().sum(), v)[0]
        for backward in (True, False):  # of an exported program: traced without gradients
            o = _torch_core._attend(q, k, v, torch.tensor([4, 2]), [], "", "linear", False, 0, None,
                                    1, 0, 0.0, backward)[0].sin().sum()
            _torch_passes.passes.clear()
            for _ in range(2):
                self.assertTrue(torch.equal(torch.autograd.grad(o, v, retain_graph=True)[0],
                                            expected))

    def test_passes_go_with_their_graphs(self):
        call = torch.compile(lambda q, k, v: attend("softmax", q, k, v), backend="aot_eager",
                             fullgraph=True)
        tensors = self.tensors()
        for _ in range(10):
            call(*tensors).sum().backward()
            call(*tensors)
        gc.collect()
        self.assertEqual(len(_torch_passes.passes), 0)

    def test_an_exported_program_has_one_operation(self):
        class Core(torch.nn.Module):
            def forward(self, q, k, v):
                return attend("local(window=3)", q, k, v, causal=True)
        tensors = [t.detach() for t in self.tensors()]
        program, file = torch.export.export(Core(), tuple(tensors)), io.BytesIO()
        self.assertEqual([n for n in names_of(program.graph) if "getitem" not in n],
                         ["orthant.attend.default"])
        torch.export.save(program, file)
        file.seek(0)
        loaded = torch.export.load(file).module()
        self.assertTrue(torch.equal(loaded(*tensors), Core()(*tensors)))


class Exported(unittest.TestCase):
    def test_an_exported_program_has_one_operation(self):
        layer, x = made("local(window=3)"), drawn(2, 6, 8)
        program = torch.export.export(layer, (x,))
        self.assertEqual([n for n in names_of(program.graph) if "getitem" not in n],
                         ["orthant.attention.default"])
        file = io.BytesIO()
        torch.export.save(program, file)
        file.seek(0)
        loaded = torch.export.load(file).module()
        self.assertTrue(torch.equal(loaded(x), layer(x)))

    def test_a_trace_computes(self):
        layer, x = made(), drawn(1, 6, 8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            traced = torch.jit.trace(layer, (x,))
        self.assertTrue(torch.equal(traced(2 * x), layer(2 * x)))


if __name__ == "__main__":
    unittest.main()
