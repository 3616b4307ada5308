# SPDX-License-Identifier: Apache-2.0
"""Layers on arrays: the bits of 'orthant attend', memory, threads, forks, the end of Python."""
import os
import resource
import subprocess
import sys
import threading
import unittest

import numpy as np
import orthant

from support import InFolder, read_tensors, run_program, write_tensors


def made(spec="softmax", dtype=np.float32, **arguments):
    return orthant.Layer(spec, 16, 2, 8, **{"causal": True, "dtype": dtype, "threads": 1,
                                            **arguments})


def drawn(*shape, dtype=np.float32, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


class AsTheProgram(InFolder):
    def compare(self, layer, x, memory=None, lengths=None, causal=True):
        dy = drawn(*x.shape, dtype=x.dtype, seed=2)
        arrays = {"x": x, "dy": dy, **layer.parameters, **layer.frozen}
        arrays.update({} if memory is None else {"memory": memory})
        arrays.update({} if lengths is None else {"lengths": lengths})
        write_tensors("in.safetensors", arrays, {"heads": "2"})
        run_program("attend", layer.spec, "--in", "in.safetensors", "--out", "out.safetensors",
                    "--precision", "f64" if x.dtype == np.float64 else "f32",
                    *["--causal"] * causal)
        expected = read_tensors("out.safetensors")
        y, p = layer.forward(x, memory, lengths)
        dx, dmemory = layer.backward(p, dy)
        np.testing.assert_array_equal(y, expected["y"])
        np.testing.assert_array_equal(dx, expected["grad.x"])
        if memory is not None:
            np.testing.assert_array_equal(dmemory, expected["grad.memory"])
        for name, gradient in layer.gradients.items():
            np.testing.assert_array_equal(gradient, expected["grad." + name])

    def test_rows_and_gradients_are_those_of_attend(self):
        for dtype in (np.float32, np.float64):
            x = drawn(2, 8, 16, dtype=dtype)
            for spec in ("softmax", "random + softmax", "local(window=2) | linear"):
                self.compare(made(spec, dtype), x)
        lengths = np.array([8, 3], np.int32)
        self.compare(made(causal=False), drawn(2, 8, 16), lengths=lengths, causal=False)
        self.compare(made(causal=False, cross=True), drawn(2, 8, 16), drawn(2, 5, 16, seed=3),
                     np.array([5, 2], np.int32), causal=False)


class Passes(unittest.TestCase):
    def test_backward_calls_come_in_any_order(self):
        layer = made("random + softmax")
        inputs = [drawn(n, 8, 16, seed=n) for n in (1, 2, 3)]
        alone = []
        for x in inputs:
            y, p = layer.forward(x)
            alone.append(layer.backward(p, y)[0])
            layer.release(p)
        together = [layer.forward(x) for x in inputs]
        for i in (1, 0, 2):
            y, p = together[i]
            np.testing.assert_array_equal(layer.backward(p, y)[0], alone[i])

    def test_decoding_is_the_whole_sequence(self):
        layer = made("gaussian", np.float64)
        x = drawn(1, 8, 16, dtype=np.float64)
        state = layer.decode()
        rows = [state.step(x[:, t:t + 1]) for t in range(8)]
        np.testing.assert_allclose(np.concatenate(rows, 1), layer(x), atol=1e-12)

    def test_refusals(self):
        layer = made()
        for sentence, arguments in (("one of 1 to 8", (drawn(1, 9, 16),)),
                                    ("give \\[batch, tokens, 16\\]", (drawn(1, 8, 12),)),
                                    ("no memory", (drawn(1, 8, 16), drawn(1, 8, 16)))):
            with self.assertRaisesRegex(orthant.Error, sentence):
                layer(*arguments)
        y, p = layer.forward(drawn(1, 8, 16))
        layer.backward(p, y)
        with self.assertRaisesRegex(orthant.Error, "needs a forward call"):
            layer.backward(p, y)
        with self.assertRaisesRegex(orthant.Error, "float32 or float64"):
            made(dtype=np.float16)
        layer(drawn(1, 8, 16))  # the refusals are forgotten


class Resources(unittest.TestCase):
    def test_a_thousand_layers_leave_nothing(self):
        x = drawn(2, 8, 16)

        def open_and_close(count):
            for i in range(count):
                layer = made(seed=i)
                y, p = layer.forward(x)
                layer.backward(p, y)

        open_and_close(100)
        before = resident()
        open_and_close(1000)
        self.assertLess(resident() - before, 4 << 20)

    def test_parameters_keep_their_layer_open(self):
        weight = made(seed=5).parameters["query.weight"]
        others = [made(seed=6) for _ in range(20)]
        np.testing.assert_array_equal(weight, made(seed=5).parameters["query.weight"])
        self.assertEqual(len(others), 20)

    def test_threads_give_the_same_bits(self):
        x, layer, found = drawn(2, 8, 16), made(), []
        expected = layer(x)

        def work():
            own = made()
            for _ in range(50):
                found.append(np.array_equal(layer(x), expected)
                             and np.array_equal(own(x), expected))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [True] * 200)

    def test_a_fork_opens_layers_of_its_own(self):
        layer, x = made(threads=2), drawn(2, 8, 16)
        expected = layer(x)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                layer(x)
            except orthant.Error as error:
                code = 0 if "fork" in str(error) and np.array_equal(
                    made(threads=2)(x), expected) else 2
            os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_opencl_is_refused_after_a_fork(self):
        code = """if True:
            import os, orthant
            def made():
                return orthant.Layer("softmax", 8, 2, 4, device="opencl")
            try:
                made()
            except orthant.Error:
                raise SystemExit(77)
            if os.fork() == 0:
                try:
                    made()
                except orthant.Error as error:
                    os._exit(0 if "only after the fork" in str(error) else 2)
                os._exit(1)
            raise SystemExit(os.waitstatus_to_exitcode(os.wait()[1]))"""
        end = subprocess.run([sys.executable, "-c", code], timeout=300).returncode
        if end == 77:
            self.skipTest("no OpenCL device")
        self.assertEqual(end, 0)

    def test_the_interpreter_ends_with_layers_open(self):
        code = ("import orthant, numpy as np\n"
                "layer = orthant.Layer('softmax', 16, 2, 8, causal=True)\n"
                "y, p = layer.forward(np.ones((1, 8, 16), np.float32))\n"
                "state, weight = layer.decode(), layer.parameters['key.weight']\n"
                "import builtins; builtins.kept = (layer, p, state, weight)\n")
        done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, b""))


if __name__ == "__main__":
    unittest.main()
