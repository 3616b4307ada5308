# SPDX-License-Identifier: Apache-2.0
"""The layer of Keras, on each backend that is installed: against orthant.Layer, training, saving."""
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

BACKENDS = [b for b in ("jax", "torch") if importlib.util.find_spec(b)]
if not importlib.util.find_spec("keras") or not BACKENDS:
    raise unittest.SkipTest("keras is not installed, or neither jax nor torch")


class TestBackends(unittest.TestCase):
    def test_each_backend(self):
        for backend in BACKENDS:
            run = subprocess.run([sys.executable, __file__, "--backend"], capture_output=True,
                                 text=True, env={**os.environ, "KERAS_BACKEND": backend,
                                                 "TF_CPP_MIN_LOG_LEVEL": "3"})
            self.assertEqual(run.returncode, 0, backend + "\n" + run.stderr)

    def test_another_backend_is_refused(self):
        run = subprocess.run([sys.executable, "-c", "import orthant.keras"], capture_output=True,
                             text=True, env={**os.environ, "KERAS_BACKEND": "numpy"})
        self.assertIn("computes on the backends jax and torch, and this is numpy", run.stderr)


def check_backend():
    import keras
    import orthant
    import orthant.keras
    X = np.random.default_rng(1).standard_normal((2, 6, 8)).astype(np.float32)

    class TestLayer(unittest.TestCase):
        def test_is_the_layer(self):
            for spec in ("softmax(normalise=sink)", "performer"):
                layer = orthant.keras.Attention(spec, 2, 6, causal=True, seed=3, threads=1)
                plain = orthant.Layer(spec, 8, 2, 6, causal=True, seed=3, threads=1)
                y = keras.ops.convert_to_numpy(layer(X))
                self.assertTrue(np.array_equal(y, plain(X)))
                self.assertEqual(len(layer.trainable_variables), len(plain.parameters))
                mask = np.array([[1] * 6, [1] * 4 + [0] * 2], bool)
                y = keras.ops.convert_to_numpy(layer(X, mask=mask))
                self.assertTrue(np.array_equal(y, plain(X, lengths=[6, 4])))
                for padding in ([0, 0, 1, 1, 1, 1], [1, 1, 0, 1, 1, 1]):
                    with self.assertRaisesRegex(Exception, "length -1 of sequence 1"):
                        np.asarray(layer(X, mask=np.array([[1] * 6, padding], bool)))

        def test_trains_and_is_saved(self):
            keras.utils.set_random_seed(1)
            ids = np.random.default_rng(2).integers(1, 20, (256, 6))
            model = keras.Sequential([
                keras.layers.Embedding(20, 8, mask_zero=True),
                orthant.keras.Attention("pattern(previous)", 2, 6, causal=True, threads=1),
                keras.layers.Dense(20, activation="softmax")])
            model.compile(keras.optimizers.Adam(0.03), "sparse_categorical_crossentropy")
            losses = model.fit(ids, np.roll(ids, 1, 1), epochs=8, verbose=0).history["loss"]
            self.assertLess(losses[-1], 0.6 * losses[0])  # the token before is what it sees
            with tempfile.TemporaryDirectory() as folder:
                model.save(folder + "/model.keras")
                again = keras.saving.load_model(folder + "/model.keras")
            self.assertTrue(np.array_equal(model.predict(ids[:8], verbose=0),
                                           again.predict(ids[:8], verbose=0)))

        def test_other_precisions_are_refused(self):
            for dtype in ("bfloat16", "mixed_float16"):
                with self.assertRaisesRegex(orthant.Error, "choose float32 or float64"):
                    orthant.keras.Attention("softmax", 2, 6, dtype=dtype)

    result = unittest.TextTestRunner(verbosity=0).run(
        unittest.defaultTestLoader.loadTestsFromTestCase(TestLayer))
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    if sys.argv[1:] == ["--backend"]:
        check_backend()
    unittest.main()
