# SPDX-License-Identifier: Apache-2.0
"""The layer in PyTorch: gradients of every mechanism, graphs, parameters, copies, refusals."""
import copy
import io
import pickle
import re
import unittest

import orthant

try:
    import torch
except ImportError:
    raise unittest.SkipTest("torch is not installed")
import torch.nn.functional as F
import torch.nn.utils.prune
from orthant.torch import Attention
from torch.utils.checkpoint import checkpoint


def made(spec="softmax", dtype=torch.float64, width=8, heads=2, **arguments):
    return Attention(spec, width, heads, 6, **{"causal": True, "dtype": dtype, "seed": 3,
                                               "threads": 1, **arguments})


def drawn(*shape, dtype=torch.float64, seed=1, **arguments):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_(
        arguments.get("requires_grad", False))


def every_mechanism():
    """Names of the registry and the short forms that a message lists; a mixture is of two."""
    try:
        orthant.explain("nothing at all")
    except orthant.Error as error:
        names = re.search(r"Valid: ([a-z0-9, -]*)", str(error)).group(1).split(", ")
    assert {m["name"] for m in orthant.list()} <= set(names)
    return ["mix(random, softmax)" if name == "mix" else name for name in names]


class Gradients(unittest.TestCase):
    def test_the_call_without_gradients_is_the_same(self):
        attend, x = made(), drawn(2, 5, 8)
        turned = x.transpose(0, 1).contiguous().transpose(0, 1)
        for given, lengths in ((x, None), (turned, None), (torch._neg_view(-x), None), (x, [3, 5])):
            expected = attend(x, lengths=lengths).detach()
            with torch.no_grad():
                self.assertTrue(torch.equal(attend(given, lengths=lengths), expected))
        with torch.no_grad():
            for wrong in (x[..., :6], x[0], x.new_zeros(2, 7, 8)):
                self.assertRaises(orthant.Error, attend, wrong)

    def test_gradcheck_of_every_mechanism(self):
        checked, refused = {}, []
        for spec in every_mechanism():
            width = 32 if spec == "raganato" else 8  # seven fixed heads and one that learns
            for causal, cross in ((True, False), (False, False), (False, True)):
                try:
                    layer = made(spec, causal=causal, cross=cross, width=width, heads=width // 4)
                except orthant.Error as error:
                    refused.append((spec, str(error)))
                    continue
                with torch.no_grad():
                    for i, p in enumerate(layer.parameters()):
                        p.copy_(drawn(*p.shape, seed=i + 10) * 0.5)
                x = drawn(2, 6, width, requires_grad=True)
                memory = drawn(2, 5, width, seed=2, requires_grad=True) if cross else None
                self.assertTrue(torch.autograd.gradcheck(
                    lambda x, memory, *p: layer(x, memory), (x, memory, *layer.parameters()),
                    atol=1e-6, rtol=1e-4, fast_mode=True), (spec, causal, cross))
                checked[spec] = checked.get(spec, 0) + 1
        self.assertGreaterEqual(len(checked), 30)
        for spec, sentence in refused:
            self.assertRegex(sentence, "self-attention only|no causal form")
            self.assertTrue(checked.get(spec), (spec, sentence))

    def test_softmax_is_that_of_torch(self):
        layer, x = made(), drawn(2, 6, 8, requires_grad=True)
        q, k, v = ((x @ layer.get_parameter(n + ".weight").T).unflatten(2, (2, 4)).transpose(1, 2)
                   for n in ("query", "key", "value"))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        theirs = y @ layer.get_parameter("output.weight").T
        ours = layer(x)
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
        inputs = (x, *layer.parameters())
        for a, b in zip(torch.autograd.grad(ours.square().sum(), inputs),
                        torch.autograd.grad(theirs.square().sum(), inputs)):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)

    def test_padding_is_not_read(self):
        layer, x = made(causal=False), drawn(2, 6, 8)
        lengths = torch.tensor([6, 2])
        poisoned = x.clone()
        poisoned[1, 2:] = float("nan")
        y = layer(poisoned, lengths=lengths)
        torch.testing.assert_close(y[1:, :2], layer(x[1:, :2]))
        self.assertEqual(y[1, 2:].abs().max(), 0)


class Graphs(unittest.TestCase):
    def gradients(self, loss, layer):
        return torch.autograd.grad(loss, list(layer.parameters()))

    def test_several_graphs_are_alive(self):
        layer = made("random + softmax")
        inputs = [drawn(n, 6, 8, seed=n) for n in (1, 2, 3)]
        alone = [self.gradients(layer(x).square().sum(), layer) for x in inputs]
        losses = [layer(x).square().sum() for x in inputs]
        for i in (1, 2, 0):
            for a, b in zip(self.gradients(losses[i], layer), alone[i]):
                self.assertTrue(torch.equal(a, b))

    def test_a_layer_may_occur_twice_in_a_graph(self):
        layer, x = made(), drawn(1, 6, 8, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(lambda x, *p: layer(layer(x)),
                                                 (x, *layer.parameters()), fast_mode=True))

    def test_a_retained_graph_gives_the_same_again(self):
        layer = made()
        loss = layer(drawn(2, 6, 8)).square().sum()
        first = torch.autograd.grad(loss, list(layer.parameters()), retain_graph=True)
        layer(drawn(2, 6, 8, seed=9)).sum().backward()
        for a, b in zip(self.gradients(loss, layer), first):
            self.assertTrue(torch.equal(a, b))

    def test_checkpointing_gives_the_same(self):
        layer, x = made(), drawn(2, 6, 8, requires_grad=True)
        plain = torch.autograd.grad(layer(x).square().sum(), x)[0]
        again = torch.autograd.grad(checkpoint(layer, x, use_reentrant=False).square().sum(), x)[0]
        self.assertTrue(torch.equal(plain, again))

    def test_graphs_that_are_dropped_give_their_memory_back(self):
        layer = made()
        for _ in range(20):
            layer(drawn(2, 6, 8, requires_grad=True))
        self.assertLessEqual(len(layer._home._spare), 2)

    def test_a_change_in_place_is_noticed(self):
        layer = made()
        loss = layer(drawn(2, 6, 8)).sum()
        with torch.no_grad():
            next(layer.parameters()).add_(1)
        with self.assertRaisesRegex(RuntimeError, "inplace operation"):
            loss.backward()

    def test_other_parameters_by_a_functional_call(self):
        layer, other, x = made(seed=3), made(seed=4), drawn(1, 6, 8)
        theirs = dict(other.named_parameters())
        first = layer(x)
        loss = torch.func.functional_call(layer, theirs, (x,)).square().sum()
        self.assertTrue(torch.equal(layer(x), first))
        expected = self.gradients(other(x).square().sum(), other)
        for a, b in zip(torch.autograd.grad(loss, list(theirs.values())), expected):
            self.assertTrue(torch.equal(a, b))


class Modules(unittest.TestCase):
    def test_parameters_have_the_memory_of_the_library(self):
        layer = made()
        array = layer._home.parameters["query.weight"]
        self.assertEqual(layer.query.weight.data_ptr(), array.ctypes.data)
        optimizer = torch.optim.AdamW(layer.parameters(), lr=0.05)
        x, losses = drawn(4, 6, 8), []
        for _ in range(60):
            optimizer.zero_grad()
            loss = F.mse_loss(layer(x)[:, 1:], x[:, :-1].detach())
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], 0.5 * losses[0])
        self.assertEqual(layer.query.weight.data_ptr(), array.ctypes.data)

    def test_state_dict_round_trip(self):
        for spec in ("performer", "random(frozen) | dense", "bigbird"):
            layer, other, x = made(spec, seed=3, causal=False), made(spec, seed=4, causal=False), \
                drawn(1, 6, 8)
            self.assertFalse(torch.equal(layer(x), other(x)))
            file = io.BytesIO()
            torch.save(layer.state_dict(), file)
            file.seek(0)
            other.load_state_dict(torch.load(file))
            self.assertTrue(torch.equal(layer(x), other(x)), spec)

    def test_copies_are_independent(self):
        layer, x = made(), drawn(1, 6, 8)
        y = layer(x).detach()
        for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
            self.assertTrue(torch.equal(other(x), y))
            with torch.no_grad():
                other.query.weight.mul_(2)
            self.assertFalse(torch.equal(other(x), y))
            self.assertTrue(torch.equal(layer(x), y))

    def test_another_precision(self):
        layer, x = made(dtype=torch.float32), drawn(1, 6, 8)
        coarse = layer(x.float())
        fine = layer.double()(x)
        self.assertEqual((coarse.dtype, fine.dtype), (torch.float32, torch.float64))
        torch.testing.assert_close(coarse.double(), fine, rtol=1e-5, atol=1e-5)

    def test_decoding_is_the_whole_sequence(self):
        layer, x = made("local(window=3)"), drawn(1, 6, 8)
        step = layer.decode()
        torch.testing.assert_close(torch.cat([step(x[:, t:t + 1]) for t in range(6)], 1),
                                   layer(x).detach())

    def test_initial_values_follow_the_generator(self):
        def weights():
            torch.manual_seed(5)
            return [Attention("softmax", 8, 2, 6).query.weight.detach().clone() for _ in range(2)]

        first, second = weights()
        self.assertFalse(torch.equal(first, second))
        self.assertTrue(torch.equal(second, weights()[1]))

    def test_decoding_keeps_the_parameters_of_its_beginning(self):
        layer, x = made(), drawn(1, 6, 8)
        y, step = layer(x).detach(), layer.decode()
        with torch.no_grad():
            layer.query.weight.mul_(2)
            layer.value.weight.mul_(2)
        torch.testing.assert_close(step(x), y)

    def test_other_views_of_the_parameters_are_read_as_they_are(self):
        layer, other, x = made(), made(), drawn(1, 6, 8)
        with torch.no_grad():
            other.query.weight.copy_(layer.query.weight.T.clone())
        layer.query.weight = torch.nn.Parameter(layer.query.weight.detach().T)
        self.assertTrue(torch.equal(layer(x), other(x)))
        layer.query.weight = torch.nn.Parameter(layer.query.weight.detach()[:1])
        with self.assertRaisesRegex(orthant.Error, r"query.weight has the shape \[1, 8\]"):
            layer(x)

    def test_an_empty_batch(self):
        layer, x = made(), drawn(0, 5, 8, requires_grad=True)
        y = layer(x)
        y.sum().backward()
        self.assertEqual((y.shape, x.grad.shape), (x.shape, x.shape))
        for p in layer.parameters():
            self.assertTrue(torch.equal(p.grad, torch.zeros_like(p)))

    def test_second_derivatives_are_refused(self):
        layer, x = made(), drawn(2, 5, 8, requires_grad=True)
        for of in (lambda y: y.sum(), lambda y: y.square().sum()):
            g, = torch.autograd.grad(of(layer(x)), x, create_graph=True)
            self.assertTrue(torch.equal(g, torch.autograd.grad(of(layer(x)), x)[0]))
            with self.assertRaisesRegex(orthant.Error, "differentiable once"):
                ((g.norm() - 1) ** 2).backward()
        with self.assertRaisesRegex(orthant.Error, "a Hessian"):
            torch.autograd.functional.hessian(lambda x: layer(x).sum(), x)

    def test_weights_that_hooks_make(self):
        """Hooks of prune and the earlier weight_norm, which a call of the module would run."""
        for change in (lambda m: torch.nn.utils.prune.l1_unstructured(m, "weight", amount=0.5),
                       lambda m: torch.nn.utils.weight_norm(m)):
            layer, other, x = made(), made(seed=4), drawn(2, 5, 8)
            for m in (layer, other):
                change(m.query)
            other.load_state_dict(layer.state_dict())
            self.assertTrue(torch.equal(other(x), layer(x)))
            plain = made()
            with torch.no_grad():
                plain.query.weight.copy_(layer.query.weight)
            self.assertTrue(torch.equal(plain(x), layer(x)))
            for _ in range(2):
                layer(x).sum().backward()

    def test_other_modules_in_the_place_of_weights_are_refused(self):
        layer = made()
        layer.query = torch.nn.Linear(8, 8, dtype=torch.float64)
        with self.assertRaisesRegex(orthant.Error, "query is a Linear: .* hold its weights"):
            layer(drawn(2, 5, 8))
        layer = made()
        layer.query.weight = None
        with self.assertRaisesRegex(orthant.Error, "query.weight is NoneType; give a tensor"):
            layer(drawn(2, 5, 8))

    def test_autocast_computes_in_the_precision_of_the_parameters(self):
        layer, x = made(dtype=torch.float32), drawn(1, 6, 8, dtype=torch.float32)
        with torch.autocast("cpu", torch.bfloat16):
            y = layer(x.bfloat16())
        self.assertTrue(torch.equal(y, layer(x.bfloat16().float())))

    def test_refusals(self):
        layer = made()
        for sentence, call in (("convert one", lambda: layer(drawn(1, 6, 8).float())),
                               ("processor", lambda: layer(drawn(1, 6, 8).to("meta"))),
                               ("the parameters are on meta", lambda: made().to("meta")(drawn(1, 6, 8))),
                               ("dense tensor", lambda: layer(drawn(1, 6, 8).to_sparse())),
                               ("float32 or torch.float64", lambda: made(dtype=torch.bfloat16)),
                               ("no causal form", lambda: made("linformer"))):
            with self.assertRaisesRegex(orthant.Error, sentence):
                call()
        with self.assertRaisesRegex(TypeError, "x is of the type ndarray; give a torch.Tensor"):
            layer(drawn(1, 6, 8).numpy())


if __name__ == "__main__":
    unittest.main()
