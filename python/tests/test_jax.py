# SPDX-License-Identifier: Apache-2.0
"""Attention on queries, keys and values in JAX: against its own, gradients, jit, vmap, refusals."""
import unittest

import numpy as np

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    raise unittest.SkipTest("jax is not installed") from None

import orthant
import orthant.jax

jax.config.update("jax_enable_x64", True)
TOLERANCE = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 3e-2}


def drawn(dtype="float64", queries=5):
    random = np.random.default_rng(1)
    return [jnp.asarray(random.standard_normal((2, n, heads, 4)), dtype)
            for n, heads in ((queries, 4), (5, 2), (5, 2))]


def largest(a, b):
    return float(jnp.abs(a.astype("float64") - b).max() / jnp.abs(b).max())


def softmax(q, k, v, causal, scale):
    k, v = (jnp.repeat(x, 2, 2) for x in (k, v))
    s = scale * jnp.einsum("bthk,bshk->bhts", q, k)
    s = jnp.where(jnp.tril(jnp.ones(s.shape[2:], bool)), s, -jnp.inf) if causal else s
    return jnp.einsum("bhts,bshk->bthk", jax.nn.softmax(s), v)


class TestAttend(unittest.TestCase):
    def test_equals_softmax(self):
        for dtype, tolerance in TOLERANCE.items():
            for causal in (False, True):
                arrays = drawn(dtype)

                def mine(q, k, v, causal=causal):
                    return orthant.jax.attend("softmax", q, k, v, causal=causal, scale=0.3)

                def theirs(q, k, v, causal=causal):
                    return softmax(q, k, v, causal, 0.3)
                exact = [x.astype("float64") for x in arrays]
                o = jax.jit(mine)(*arrays)
                self.assertEqual(o.dtype, dtype)
                self.assertLess(largest(o, theirs(*exact)), tolerance)
                gradients = [jax.grad(lambda *x, f=f: jnp.sin(f(*x)).sum(), (0, 1, 2))
                             for f in (mine, theirs)]
                for a, b in zip(jax.jit(gradients[0])(*arrays), gradients[1](*exact)):
                    self.assertEqual(a.dtype, dtype)
                    self.assertLess(largest(a, b), 2 * tolerance)

    def test_is_the_core(self):
        for spec, lengths, queries in (("linear", None, 2), ("performer", [3, 5], 5)):
            q, k, v = drawn(queries=queries)
            core = orthant.Core(spec, 4, 4, 8, key_heads=2, causal=True, seed=3)
            o = orthant.jax.attend(spec, q, k, v, causal=True, lengths=lengths, seed=3)
            expected, p = core.forward(*[np.asarray(x) for x in (q, k, v)], lengths)
            self.assertLess(largest(o, expected), 1e-12)  # the past is computed otherwise
            gradients = jax.grad(lambda *x, s=spec, n=lengths: orthant.jax.attend(
                s, *x, causal=True, lengths=n, seed=3).sum(), (0, 1, 2))(q, k, v)
            for a, b in zip(gradients, core.backward(p, np.ones_like(expected))):
                self.assertTrue(np.array_equal(a, b))

    def test_vmap(self):
        q, k, v = (jnp.stack([x, 2 * x]) for x in drawn())

        def run(q, k, v):
            return orthant.jax.attend("linear", q, k, v)
        for i, o in enumerate(jax.vmap(run)(q, k, v)):
            self.assertTrue(np.array_equal(o, run(q[i], k[i], v[i])))

    def test_core_reads_arrays_of_jax(self):
        q, k, v = drawn("bfloat16")
        core = orthant.Core("softmax", 4, 4, 8, key_heads=2, causal=True)
        o = core(q, k, v)
        self.assertEqual(o.dtype, q.dtype)
        expected = orthant.jax.attend("softmax", q, k, v, causal=True)
        self.assertTrue(np.array_equal(o, np.asarray(expected)))
        read = orthant._library.as_array(q, "q")
        self.assertEqual(read.ctypes.data, q.unsafe_buffer_pointer())

    def test_wrong_arrays_are_refused(self):
        q, k, v = drawn()
        with self.assertRaisesRegex(TypeError, "k is float32; give three arrays of one of"):
            orthant.jax.attend("softmax", q, k.astype("float32"), v)
        with self.assertRaisesRegex(orthant.Error, "q has the shape"):
            orthant.jax.attend("softmax", q[0], k, v)
        with self.assertRaisesRegex(orthant.Error, "trained parameters"):
            orthant.jax.attend("softmax(normalise=sink)", q, k, v)
        with self.assertRaisesRegex(orthant.Error, "heads is 4 and key_heads is 3"):
            orthant.jax.attend("softmax", q, jnp.tile(k, (1, 1, 2, 1))[:, :, :3], v)


def of_layer(p, x, causal=True):
    """The layer written out: softmax with a sink, whose logit is in the sum alone."""
    q, k, v = ((x @ p[n + ".weight"].T).reshape(*x.shape[:2], 2, -1)
               for n in ("query", "key", "value"))
    s = jnp.einsum("bthk,bshk->bhts", q, k) / q.shape[3] ** 0.5
    e = jnp.where(jnp.tril(jnp.ones(s.shape[2:], bool)), jnp.exp(s), 0)
    w = e / (e.sum(-1, keepdims=True) + jnp.exp(p["sink.logit"])[:, None, None])
    o = jnp.einsum("bhts,bshk->bthk", w, v)
    return o.reshape(*x.shape) @ p["output.weight"].T


class TestParameters(unittest.TestCase):
    def setUp(self):
        self.layer = orthant.jax.Attention("softmax(normalise=sink)", 8, 2, 6, causal=True,
                                           dtype="float64", threads=1)
        random = np.random.default_rng(3)
        self.x = jnp.asarray(random.standard_normal((2, 6, 8)))
        self.parameters = {name: jnp.asarray(random.standard_normal(a.shape)) / 2
                           for name, a in self.layer.init().items()}

    def test_layer_and_its_gradients_equal_the_formula(self):
        def loss(f, p, x):
            return jnp.sin(f(p, x)).sum()
        self.assertLess(largest(self.layer(self.parameters, self.x),
                                of_layer(self.parameters, self.x)), 1e-12)
        mine, exact = (jax.jit(jax.grad(lambda p, x, f=f: loss(f, p, x), (0, 1)))(
            self.parameters, self.x) for f in (self.layer, of_layer))
        for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(exact)):
            self.assertLess(largest(a, b), 1e-10)

    def test_initial_parameters_are_those_of_the_layer(self):
        for spec in ("performer", "linear(map=hedgehog)"):
            layer = orthant.jax.Attention(spec, 8, 2, 6, seed=5, threads=1)
            plain = orthant.Layer(spec, 8, 2, 6, seed=5, threads=1)
            self.assertEqual([*layer.init()], [*plain.parameters])
            x = self.x.astype("float32")
            y = layer(layer.init(), x, lengths=[6, 4])
            self.assertTrue(np.array_equal(y, plain(np.asarray(x), lengths=[6, 4])))

    def test_cross_attention(self):
        layer = orthant.jax.Attention("softmax", 8, 2, 6, cross=True, dtype="float64", threads=1)
        plain = orthant.Layer("softmax", 8, 2, 6, cross=True, dtype=np.float64, threads=1)
        y, p = plain.forward(np.asarray(self.x), np.asarray(self.x[:, :3]))
        gradients = jax.grad(lambda *a: layer(*a).sum(), (1, 2))(layer.init(), self.x,
                                                                 self.x[:, :3])
        for a, b in zip(gradients, plain.backward(p, np.ones_like(y))):
            self.assertTrue(np.array_equal(a, b))

    def test_weights_of_attend(self):
        q, k, v = ((self.x @ self.parameters[n + ".weight"].T).reshape(2, 6, 2, 4)
                   for n in ("query", "key", "value"))

        def mine(sink):
            return orthant.jax.attend("softmax(normalise=sink)", q, k, v, causal=True,
                                      weights={"sink.logit": sink}).reshape(2, 6, 8)

        def exact(sink):
            return of_layer({**self.parameters, "output.weight": jnp.eye(8), "sink.logit": sink},
                            self.x)
        sink = self.parameters["sink.logit"]
        self.assertLess(largest(mine(sink), exact(sink)), 1e-12)
        a, b = (jax.grad(lambda s, f=f: jnp.sin(f(s)).sum())(sink) for f in (mine, exact))
        self.assertLess(largest(a, b), 1e-10)

    def test_other_parameters_are_refused(self):
        p = self.parameters
        with self.assertRaisesRegex(orthant.Error, "and was given .*: give all of them"):
            self.layer({n: a for n, a in p.items() if n != "sink.logit"}, self.x)
        with self.assertRaisesRegex(orthant.Error, "query.weight has the shape"):
            self.layer({**p, "query.weight": p["query.weight"][1:]}, self.x)
        with self.assertRaisesRegex(TypeError, "x is float32 and the layer has the dtype float64"):
            self.layer(p, self.x.astype("float32"))


if __name__ == "__main__":
    unittest.main()
