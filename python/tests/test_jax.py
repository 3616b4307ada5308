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


if __name__ == "__main__":
    unittest.main()
