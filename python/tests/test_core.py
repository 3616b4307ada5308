# SPDX-License-Identifier: Apache-2.0
"""Attention on arrays of queries, keys and values: strides, passes, a past, threads, a fork."""
import gc
import os
import threading
import unittest

import numpy as np

import orthant


def made(spec="softmax", dtype=np.float64, **arguments):
    return orthant.Core(spec, 4, 6, 8, **{"causal": True, "dtype": dtype, "threads": 1,
                                          **arguments})


def drawn(tokens=5, key_heads=4, dtype=np.float64, seed=1):
    random = np.random.default_rng(seed)
    return [random.standard_normal((2, tokens, h, 6)).astype(dtype)
            for h in (4, key_heads, key_heads)]


def softmax(q, k, v):
    """Causal, in plain NumPy; fewer queries than keys are the last ones."""
    k, v = (np.repeat(x, q.shape[2] // x.shape[2], 2) for x in (k, v))
    s = np.einsum("bthk,bshk->bhts", q, k) / np.sqrt(q.shape[3])
    past = k.shape[1] - q.shape[1]
    s = np.where(np.tril(np.ones(s.shape[2:], bool), past), s, -np.inf)
    w = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("bhts,bshk->bthk", w / w.sum(-1, keepdims=True), v)


class TestCore(unittest.TestCase):
    def test_equals_numpy(self):
        for key_heads in (4, 2, 1):
            q, k, v = drawn(key_heads=key_heads)
            core = made(key_heads=key_heads)
            self.assertLess(abs(core(q, k, v) - softmax(q, k, v)).max(), 1e-13)
            self.assertLess(abs(core(q[:, 3:], k, v) - softmax(q[:, 3:], k, v)).max(), 1e-13)

    def test_a_cross_form_has_a_number_of_keys_of_its_own(self):
        q, k, v = drawn(11)
        core = made(causal=False, cross=True, key_context=11)
        s = np.exp(np.einsum("bthk,bshk->bhts", q[:, :5], k) / np.sqrt(6))
        expected = np.einsum("bhts,bshk->bthk", s / s.sum(-1, keepdims=True), v)
        self.assertLess(abs(core(q[:, :5], k, v) - expected).max(), 1e-13)
        with self.assertRaisesRegex(orthant.Error, "q has 11 tokens and context is 8"):
            core(q, k, v)

    def test_gradients_are_central_differences(self):
        core, arrays = made("linear", key_heads=2), drawn(key_heads=2)
        o, p = core.forward(*arrays)
        gradients = core.backward(p, np.cos(o))
        for i, (x, g) in enumerate(zip(arrays, gradients)):
            for place in np.ndindex(x.shape[0], 2, 1, 3):
                moved = [a.copy() for a in arrays]
                moved[i][place] += 1e-6
                above = np.sin(core(*moved)).sum()
                moved[i][place] -= 2e-6
                slope = (above - np.sin(core(*moved)).sum()) / 2e-6
                self.assertAlmostEqual(g[place], slope, delta=1e-7)

    def test_arrays_with_strides_are_read_in_place(self):
        q, k, v = drawn()
        turned = [np.ascontiguousarray(x.transpose(2, 0, 1, 3)).transpose(1, 2, 0, 3)
                  for x in (q, k, v)]
        core = made()
        self.assertTrue(np.array_equal(core(*turned), core(q, k, v)))
        self.assertTrue(np.array_equal(core(q, k, np.broadcast_to(v[:1], v.shape)),
                                       core(q, k, np.repeat(v[:1], 2, 0))))
        self.assertTrue(np.array_equal(core(q, k, np.broadcast_to(v[:1, :1, :1], v.shape)),
                                       core(q, k, np.broadcast_to(v[:1, :1, :1], v.shape).copy())))

    def test_lengths(self):
        q, k, v = drawn()
        o = made()(q, k, v, lengths=[2, 5])
        self.assertFalse(o[0, 2:].any())
        self.assertLess(abs(o[0, :2] - softmax(q[:1, :2], k[:1, :2], v[:1, :2])).max(), 1e-13)
        self.assertLess(abs(o[1] - softmax(q, k, v)[1]).max(), 1e-13)

    def test_passes_are_independent(self):
        core, x, y = made("performer"), drawn(), drawn(seed=2)
        o, p = core.forward(*x)
        expected = core.backward(p, o)
        (a, first), (b, second) = core.forward(*x), core.forward(*y)
        core.backward(second, b)
        for g, e in zip(core.backward(first, a), expected):
            self.assertTrue(np.array_equal(g, e))

    def test_parameters(self):
        core = made("softmax(normalise=sink)")
        self.assertEqual(list(core.parameters), ["sink.logit"])
        before = core(*drawn())
        core.parameters["sink.logit"][:] = 2
        core.changed()
        self.assertGreater(abs(core(*drawn()) - before).max(), 1e-3)
        o, p = core.forward(*drawn())
        core.backward(p, o)
        self.assertTrue(core.gradients["sink.logit"].all())
        core.zero_gradients()
        self.assertFalse(core.gradients["sink.logit"].any())
        self.assertIn("omega", " ".join(made("performer").frozen).lower())

    def test_steps_are_the_whole(self):
        for spec in ("linear", "softmax", "local(window=2)", "performer", "linear(decay=fixed)",
                     "linear(conv=2)", "linear(map=hedgehog)"):
            core, (q, k, v) = made(spec, key_heads=2), drawn(8, key_heads=2)
            expected, state, at = core(q, k, v), core.decode(2), 0
            for n in (3, 1, 1, 2, 1):
                now = [x[:, at:at + n] for x in (q, k, v)]
                turned = state.reorder([1, 0, 1])
                self.assertLess(abs(state.step(*now) - expected[:, at:at + n]).max(), 1e-12)
                rows = turned.step(*[x[[1, 0, 1]] for x in now])
                self.assertLess(abs(rows - expected[[1, 0, 1], at:at + n]).max(), 1e-12)
                at += n
            with self.assertRaisesRegex(orthant.Error, "room for 8 tokens"):
                state.step(*now)
            with self.assertRaisesRegex(orthant.Error, "give 2 sequences"):
                state.step(*[x[:1] for x in now])
        state = made("linear", dtype=None).decode()
        arrays = [x[:1, :1].astype(np.float32) for x in drawn()]
        self.assertEqual(state.step(*arrays).dtype, np.float32)
        with self.assertRaisesRegex(orthant.Error, "batch is 0"):
            made().decode(0)
        with self.assertRaisesRegex(orthant.Error, "needs causal"):
            made(causal=False).decode().step(*[x[:1, :1] for x in drawn()])

    def test_bfloat16_rounds(self):
        q, k, v = drawn(dtype=np.float32)
        exact, rough = made(dtype=np.float32)(q, k, v), made(dtype=np.float32, bfloat16=True)(q, k, v)
        self.assertTrue(1e-4 < abs(exact - rough).max() < 3e-2)

    def test_the_dtype_is_that_of_the_first_arrays(self):
        for dtype in (np.float32, np.float64):
            arrays = drawn(dtype=dtype)
            core = made("performer", dtype=None)
            o, p = core.forward(*arrays)
            gradients = core.backward(p, o)
            expected, q = made("performer", dtype=dtype).forward(*arrays)
            self.assertTrue(np.array_equal(o, expected))
            self.assertEqual({x.dtype for x in (o, *gradients, *core.frozen.values())},
                             {np.dtype(dtype)})
        self.assertLess(abs(core(*drawn(dtype=np.float32)) - o).max(), 1e-6)  # nothing is rounded
        for given, dtype in ((np.float16, np.float32), (np.int64, np.float64)):
            o = made(dtype=None)(*[x.astype(given) for x in arrays])
            self.assertEqual(o.dtype, dtype)

    def test_what_would_be_rounded_is_refused(self):
        single, double = drawn(dtype=np.float32), drawn()
        core = made(dtype=None)
        o, p = core.forward(*single)
        for core in (core, made(dtype=np.float32), made(dtype=np.float32, bfloat16=True),
                     made(dtype=None, bfloat16=True), made("softmax(normalise=sink)", dtype=None)):
            for i, name in enumerate("qkv"):
                arrays = [*single[:i], double[i], *single[i + 1:]]
                with self.assertRaisesRegex(orthant.Error, name + " is float64, which the core"):
                    core(*arrays)
        core = made(dtype=np.float32)
        o, p = core.forward(*single)
        with self.assertRaisesRegex(orthant.Error, "do is float64"):
            core.backward(p, o.astype(np.float64))
        whole = np.round(5 * single[0])
        np.testing.assert_array_equal(core(whole.astype(np.int64), *single[1:]),
                                      core(whole, *single[1:]))
        with self.assertRaisesRegex(orthant.Error, "q is int64"):
            core(whole.astype(np.int64) + 2**24 + 1, *single[1:])

    def test_wrong_arrays_are_refused(self):
        q, k, v = drawn()
        for arguments, sentence in (((q[0], k, v), "give .batch, tokens, 4, 6"),
                                    ((q, k[:1], v), "one batch"), ((q, k[:, :3], v), "as many keys"),
                                    ((q, k, v.astype(complex)), "real numbers"),
                                    ((q, k, v, [1]), "lengths has the shape"),
                                    ((q, k, v, [1, 6]), "lengths.1. is 6: give 0 to 5"),
                                    ((q, k[:, 1:], v[:, 1:]),
                                     "q has 5 tokens and k has 4: with causal=True"),
                                    ((q, np.tile(k, (1, 2, 1, 1)), np.tile(v, (1, 2, 1, 1))),
                                     "k has 10 tokens and context is 8"),
                                    ((q[:, :0], k, v), "give at least one")):
            with self.assertRaisesRegex(orthant.Error, sentence):
                made()(*arguments)
        with self.assertRaisesRegex(orthant.Error, "dtype is float16; choose"):
            made(dtype=np.float16)
        for kind, arguments, sentence in (
                (orthant.Error, dict(key_heads=3), "heads is 4 and key_heads is 3: give"),
                (orthant.Error, dict(key_heads=-1), "key_heads is -1; give"),
                (orthant.Error, dict(key_context=9), "key_context is 9 and cross is False: give 0"),
                (orthant.Error, dict(cross=True), "causal and cross are both True: give one"),
                (orthant.Error, dict(logit_cap=-1), "logit_cap is -1: give 0"),
                (orthant.Error, dict(dtype=np.float64, bfloat16=True), "dtype is float64; give"),
                (orthant.Error, dict(seed=-1), "seed is -1, which is out of range"),
                (TypeError, dict(key_context=1.5), "key_context is 1.5; give a whole number"),
                (TypeError, dict(spec=None), "spec is None; give a text")):
            with self.assertRaisesRegex(kind, sentence):
                orthant.Core(**{"spec": "softmax", "heads": 4, "head_width": 6, "context": 8,
                                "causal": True, **arguments})
        with self.assertRaisesRegex(orthant.Error, "context is 0; give a number of at least 1"):
            orthant.Core("softmax", 4, 6, 0)
        with self.assertRaisesRegex(orthant.Error, "no core on queries, keys and values"):
            made("dense")
        core = made()
        o, p = core.forward(q, k, v, backward=False)
        with self.assertRaisesRegex(orthant.Error, "forward again, with backward=True"):
            core.backward(p, o)
        o, p = core.forward(q, k, v)
        core.backward(p, o)
        with self.assertRaisesRegex(orthant.Error, "no backward call left"):
            core.backward(p, o)
        o, p = core.forward(q, k, v)
        with self.assertRaisesRegex(orthant.Error, "another core"):
            made().backward(p, o)
        with self.assertRaisesRegex(orthant.Error, "do has the shape"):
            core.backward(p, o[0])

    def test_threads(self):
        core, results = made("linear"), []
        expected = [core(*drawn(seed=s)) for s in range(4)]

        def run(seed):
            results.extend(np.array_equal(core(*drawn(seed=seed)), expected[seed])
                           for _ in range(20))
        threads = [threading.Thread(target=run, args=(s,)) for s in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(results, [True] * 80)

    def test_a_core_of_the_parent_is_refused_after_a_fork(self):
        core = made()
        child = os.fork()
        if child == 0:
            try:
                core(*drawn())
            except orthant.Error as error:
                fresh = made()(*drawn()).shape == (2, 5, 4, 6)
                os._exit(0 if "before a fork" in str(error) and fresh else 2)
            os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_a_thousand_cores_leave_no_memory(self):
        def resident():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        def open_and_use(count):
            for _ in range(count):
                core = made("performer", dtype=np.float32)
                o, p = core.forward(*drawn(dtype=np.float32))
                core.backward(p, o)
            del core, o, p
            gc.collect()
        open_and_use(100)
        before = resident()
        open_and_use(1000)
        self.assertLess(resident() - before, 4 << 20)


if __name__ == "__main__":
    unittest.main()
