# SPDX-License-Identifier: Apache-2.0
"""verify_callable: attentions with mistakes that published code had, each found by its claim, and
right ones in which nothing is found."""
import unittest

import numpy as np
import orthant

try:
    import torch
except ImportError:
    torch = None

verify = orthant.verify_callable


def normalised(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def logits(q, k):
    return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]).astype(q.dtype)


def visible(s, lengths=None):
    """-inf where a key is later than its query, or padding."""
    n = s.shape[-1]
    s = np.where(np.tril(np.ones((n, n), bool)), s, -np.inf)
    if lengths is not None:
        s = np.where((np.arange(n) < lengths[:, None])[:, None, None], s, -np.inf)
    return s


def right(q, k, v, lengths=None):
    return normalised(visible(logits(q, k), lengths)) @ v


def right_step(q, k, v, state):
    k, v = (np.concatenate(pair, -2) for pair in zip(state, (k, v))) if state else (k, v)
    return normalised(logits(q, k)) @ v, (k, v)


def mask_dropped(q, k, v, mask=None):
    """Takes a mask and forgets it, as wrappers around fused kernels did."""
    return normalised(logits(q, k)) @ v


def normaliser_sees_future(q, k, v):
    """Weights are masked after the softmax: the sum over later keys stays in the denominator."""
    n = q.shape[-2]
    return (normalised(logits(q, k)) * np.tril(np.ones((n, n), q.dtype))) @ v


def maximum_sees_future(q, k, v):
    """The maximum is of all keys: with a large later one all visible weights are 0."""
    s = logits(q, k)
    e = np.exp(s - s.max(-1, keepdims=True)) * np.tril(np.ones(s.shape[-2:], q.dtype))
    return e / np.maximum(e.sum(-1, keepdims=True), 1e-30) @ v


def weak_mask(q, k, v, lengths=None):
    """Adds -10 where it should add minus infinity."""
    s = logits(q, k)
    return normalised(np.where(np.isinf(visible(s, lengths)), s - s.dtype.type(10), s)) @ v


def step_without_scale(q, k, v, state):
    """The decoding path is another function: it forgets the scale of the logits."""
    k, v = (np.concatenate(pair, -2) for pair in zip(state, (k, v))) if state else (k, v)
    return normalised(q @ k.swapaxes(-1, -2)) @ v, (k, v)


def step_that_forgets(q, k, v, state):
    """A cache of four keys that is written in a ring, where the model attends to all."""
    out, (k, v) = right_step(q, k, v, state)
    return out, (k[..., -4:, :], v[..., -4:, :])


def over_the_batch(q, k, v):
    """Normalises over the batch: the wrong axis."""
    s = visible(logits(q, k))
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / np.maximum(e.sum(0, keepdims=True), 1e-30) @ v


class Right(unittest.TestCase):
    def test_nothing_is_found_in_a_right_one(self):
        proof = verify(right, ["pure", "deterministic", "dtype", "batch", "causal", "padding",
                               "decoding"], inputs="qkv", step=right_step)
        self.assertTrue(proof, proof)
        self.assertIs(proof.require(), proof)
        self.assertEqual(len(proof.checks), 7)
        self.assertTrue(verify(mask_dropped, "permutation", inputs="qkv"))

    def test_nothing_is_found_in_layers_of_the_library(self):
        layers = {t: orthant.Layer("local(window=3) | softmax", 16, 2, 12, causal=True, dtype=t,
                                   threads=1) for t in (np.float32, np.float64)}
        for name, values in layers[np.float64].parameters.items():
            values[...] = layers[np.float32].parameters[name]
        layers[np.float64].changed()

        def layer(x, lengths=None):
            return layers[x.dtype.type](x, lengths=lengths)

        def step(x, state):
            state = state or [layers[x.dtype.type].decode() for _ in x]
            return np.concatenate([s.step(x[i:i + 1]) for i, s in enumerate(state)]), state

        def gradient(x, dy):
            _, p = layers[np.float64].forward(x)
            return layers[np.float64].backward(p, dy)[0]

        proof = verify(layer, ["pure", "deterministic", "dtype", "batch", "causal", "padding",
                               "decoding", "gradient"], step=step, gradient=gradient)
        self.assertTrue(proof, proof)


class Wrong(unittest.TestCase):
    def expect(self, claim, f, **arguments):
        proof = verify(f, claim, **{"inputs": "qkv", **arguments})
        self.assertFalse(proof.passed, proof)
        self.assertEqual([check["claim"] for check in proof.failures], [claim])
        with self.assertRaises(orthant.Error) as caught:
            proof.require()
        self.assertEqual(caught.exception.kind, "DISPROVED")
        return proof.failures[0]["where"]

    def test_a_dropped_mask(self):
        self.assertRegex(self.expect("causal", mask_dropped), "row .* changes with the tokens from")

    def test_a_normaliser_that_sees_the_future(self):
        self.expect("causal", normaliser_sees_future)
        self.assertIn("if these are large", self.expect("causal", maximum_sees_future))

    def test_a_mask_that_is_too_weak(self):
        self.expect("causal", weak_mask)
        self.assertIn("padding", self.expect("padding", weak_mask))

    def test_decoding_that_differs(self):
        self.assertIn("decoded", self.expect("decoding", right, step=step_without_scale))
        self.expect("decoding", right, step=step_that_forgets)

    def test_a_wrong_axis(self):
        self.assertIn("batch", self.expect("batch", over_the_batch))

    def test_a_row_of_a_batch_is_named(self):
        def spoiled(x):
            y = x.copy()
            y[1:2, 5:6] += len(x) == 3
            return y

        self.assertEqual(self.expect("batch", spoiled, inputs="x"),
                         "row 5 of sequence 1 of 3 differs alone and in a batch")

    def test_the_batch_has_as_many_sequences_as_asked(self):
        sizes = set()

        def last(x):
            sizes.add(len(x))
            return x * (1 + (len(x) == 5))

        self.assertEqual(self.expect("batch", last, inputs="x", batch=5).split(" differs")[0][-4:],
                         "of 5")
        self.assertEqual(sizes, {1, 5})

    def test_padding_that_is_seen_when_it_is_large(self):
        def leaks(x, lengths=None):
            """Padding of the size of tokens changes the rows by less than the bound."""
            if lengths is None:
                return x
            pad = np.arange(x.shape[1]) >= lengths[:, None]
            return x + x.dtype.type(1e-11) * (np.abs(x) * pad[..., None]).max((1, 2), keepdims=True)

        self.assertRegex(self.expect("padding", leaks, inputs="x"),
                         r"row \d+ of a sequence of \d+ tokens padded to \d+ changes with the ")

    def test_positions_in_what_should_have_none(self):
        self.expect("permutation", right)

    def test_arguments_and_types(self):
        def scales_in_place(q, k, v):
            q *= 0.5
            return right(q, k, v)

        def always_double(q, k, v):
            return right(*(a.astype(np.float64) for a in (q, k, v)))

        state = np.random.default_rng(1)

        def drops(q, k, v):
            return right(q, k, v) * (state.random(v.shape) > 0.1)

        self.expect("pure", scales_in_place)
        self.assertIn("float64", self.expect("dtype", always_double))
        self.expect("deterministic", drops)

    def test_what_cannot_be_judged_does_not_pass(self):
        self.assertIn("TypeError", self.expect("padding", lambda q, k, v: right(q, k, v)))
        self.assertIn("step", self.expect("decoding", right))
        self.assertIn("gradient", self.expect("gradient", right))
        self.assertIn("shape", self.expect("batch", lambda q, k, v: right(q, k, v)[:1]))
        for arguments, sentence in ((("no claim", "qkv"), "choose from pure, "),
                                    (("batch", "kqv"), '"qkv"')):
            with self.assertRaisesRegex(orthant.Error, sentence):
                verify(right, *arguments)

    @unittest.skipUnless(torch, "torch is not installed")
    def test_gradients_of_torch(self):
        class Detached(torch.nn.Module):
            """The maximum is right to detach, the denominator is not."""

            def forward(self, q, k, v):
                s = (q @ k.mT / q.shape[-1] ** 0.5)
                s = s.masked_fill(torch.ones(s.shape[-2:]).triu(1).bool(), -torch.inf)
                e = (s - s.amax(-1, keepdim=True).detach()).exp()
                return e / e.sum(-1, keepdim=True).detach() @ v

        self.assertIn("slope", self.expect("gradient", Detached()))

        def good(q, k, v):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

        proof = verify(good, ["gradient", "causal", "batch"], inputs="qkv", framework="torch")
        self.assertTrue(proof, proof)
        self.assertIn("gradient", [c["claim"] for c in verify(good, inputs="qkv").checks])


class Bounds(unittest.TestCase):
    """An error of a known size holds just below the bound, and fails just above it."""

    def test_errors_around_the_bounds(self):
        def alone(x, e):
            return x * x.dtype.type(1 + (e[x.dtype.type] if len(x) == 1 else 0))

        def single(x, e):
            return x * x.dtype.type(1 + (e if x.dtype == np.float32 else 0))

        for f, claim, low, high in (
                (alone, "batch", {np.float32: 1.8e-4, np.float64: 9e-10},
                 {np.float32: 2.2e-4, np.float64: 0}),
                (alone, "batch", {np.float32: 0, np.float64: 9e-10},
                 {np.float32: 0, np.float64: 1.1e-9}),
                (single, "dtype", 9e-4, 1.1e-3)):
            self.assertTrue(verify(lambda x: f(x, low), claim), claim)
            self.assertFalse(verify(lambda x: f(x, high), claim), claim)

    def test_a_gradient_around_its_bound(self):
        for e, holds in ((9e-6, True), (1.1e-5, False)):
            proof = verify(lambda x: 100 * x, "gradient", gradient=lambda x, dy: 100 * (1 + e) * dy)
            self.assertEqual(proof.passed, holds, proof)

    def test_the_seed_chooses_the_arguments(self):
        def drawn(seed):
            seen = []
            verify(lambda x: seen.append(x) or x, "pure", seed=seed)
            return np.concatenate([x.ravel() for x in seen[1:]])  # the first is an example

        self.assertTrue(np.array_equal(drawn(1), drawn(1)))
        self.assertFalse(np.array_equal(drawn(1), drawn(2)))
        self.assertAlmostEqual(drawn(1).std(), 1, delta=0.1)

    def test_a_call_that_changes_is_noticed_in_a_second_run_too(self):
        calls = []

        def f(x):
            calls.append(x.shape)
            return x + (len(calls) > 17)  # 1 example and 2 calls of 8 cases

        self.assertIn("two runs", verify(f, "deterministic").failures[0]["where"])


class Results(unittest.TestCase):
    def test_a_proof_is_printed_as_it_is(self):
        """Its error, and FAILS only at the claim that does."""
        proof = verify(lambda x: x * x.dtype.type(1 + (4e-9 if len(x) == 1 else 0)),
                       ["pure", "batch", "dtype"])
        pure, batch, dtype = repr(proof).split("\n")
        self.assertEqual(pure.split()[:5], ["pure", "holds", "0.0e+00", "of", "5e-01"])
        self.assertEqual(batch.split()[:5], ["batch", "FAILS", "4.0e-09", "of", "1e-09"])
        self.assertRegex(batch, r"row \d+ of sequence \d of 3 differs alone and in a batch$")
        self.assertEqual(dtype.split()[:2], ["dtype", "holds"])
        self.assertNotIn("FAILS", pure + dtype)

    def test_a_constant_satisfies_all_claims_but_average(self):
        def constant(*inputs, lengths=None):
            return np.ones_like(inputs[-1])

        claims = ["pure", "deterministic", "dtype", "batch", "causal", "padding", "permutation",
                  "decoding", "gradient", "average"]
        proof = verify(constant, claims, inputs="qkv", step=lambda q, k, v, state: (
            np.ones_like(v), None), gradient=lambda *given: tuple(0 * a for a in given[:3]))
        self.assertEqual([check["claim"] for check in proof.failures], ["average"])

    def test_what_is_refused_is_an_argument(self):
        for arguments in ({"width": 15, "inputs": "qkv"}, {"tokens": (0,)}, {"tokens": (257,)},
                          {"batch": 65}, {"claims": "average"}):
            with self.assertRaises(orthant.Error) as caught:
                verify(lambda *x: x[-1], **{"claims": "batch", "framework": "numpy", **arguments})
            self.assertEqual(caught.exception.kind, "ARGUMENT", arguments)

    def failure(self, f, claim, **arguments):
        proof = orthant.verify_callable(f, [claim], **arguments)
        self.assertFalse(proof)
        return proof.checks[0]["where"]

    def test_results_of_another_form_prove_nothing(self):
        for sentence, f in ((r"the shape \[1, 16\]; give", lambda x: x[0]),
                            (r"the shape \[3, 2\]; give", lambda x: np.zeros((3, 2))),
                            ("type int64", lambda x: x.astype(int)),
                            ("type object", lambda x: None),
                            ("type complex128", lambda x: x * 1j)):
            for claim in ("causal", "permutation", "deterministic", "batch"):
                self.assertRegex(self.failure(f, claim), sentence)

    def test_results_that_are_not_finite_are_called_so(self):
        for claim in ("causal", "batch", "permutation"):
            self.assertRegex(self.failure(lambda x: x * np.nan, claim), "not finite, in row 0")

    def test_gradients_of_another_form_are_refused(self):
        for wrong in (lambda x, dy: 2.0, lambda x, dy: (dy, dy), lambda x, dy: None):
            self.assertRegex(self.failure(lambda x: 2 * x, "gradient", gradient=wrong),
                             "gradient gives the shapes")

    def test_nothing_is_not_proved(self):
        with self.assertRaisesRegex(orthant.Error, "claims is empty"):
            orthant.verify_callable(lambda x: x, [])
        with self.assertRaisesRegex(orthant.Error, "framework is 'jax'"):
            orthant.verify_callable(lambda x: x, framework="jax")


if __name__ == "__main__":
    unittest.main()
