# SPDX-License-Identifier: Apache-2.0
"""Arguments of wrong kinds: a sentence with the name, never a crash or another number."""
import unittest

import numpy as np
import orthant

from support import QUIET, SMALL, TEXT, InFolder


def layer(**arguments):
    return orthant.Layer("softmax", **{"width": 8, "heads": 2, "context": 6, "threads": 1,
                                       **arguments})


X = np.random.default_rng(1).standard_normal((2, 6, 8)).astype(np.float32)


class Texts(InFolder):
    def test_what_is_no_text_is_refused_by_its_name(self):
        for name, call in (("attention", lambda: orthant.Layer(None, 8, 2, 6)),
                           ("attention", lambda: orthant.explain(None)),
                           ("out", lambda: orthant.train(TEXT, out=None)),
                           ("an attention", lambda: orthant.compare(TEXT, attentions=[None])),
                           ("teacher", lambda: orthant.distil(None, "softmax", "b")),
                           ("text", lambda: orthant.encode("t.json", None)),
                           ("an option has the name", lambda: orthant.train(TEXT, model={3: 4}))):
            with self.assertRaisesRegex(TypeError, "^%s.* (is None|3); give a text" % name):
                call()

    def test_advice_is_of_keywords(self):
        runs = [{"system": s, "seed": i, "foo": 1.0 * i} for i in range(3) for s in "ab"]
        for keywords, sentence in (({}, 'give better="lower" or better="higher"'),
                                   ({"metric": "bar"}, "foo")):
            with self.assertRaisesRegex(orthant.Error, sentence) as raised:
                orthant.judge(runs, **{"metric": "foo", **keywords})
            self.assertNotIn("--", str(raised.exception))
        layer().forward(X)
        with self.assertRaisesRegex(orthant.Error, "cross=True"):
            layer().forward(X, memory=X)
        orthant.train(TEXT, out="a", **SMALL, **QUIET)
        with self.assertRaisesRegex(orthant.Error, "resume=True") as raised:
            orthant.train(TEXT, out="a", **SMALL, **QUIET)
        self.assertNotIn("--", str(raised.exception))

    def test_prompts_are_texts(self):
        run = orthant.train(TEXT, out="a", **SMALL, **QUIET)
        for call in (run.generate, run.score, run.inspect):
            with self.assertRaisesRegex(TypeError, "give a text"):
                call(["To be"])

    def test_broken_files_are_named(self):
        with open("config.json", "w", encoding="utf-8") as file:
            file.write("{")
        with self.assertRaisesRegex(orthant.Error, "config.json: "):
            orthant.load(".")


class Numbers(InFolder):
    def test_numbers_that_do_not_fit_are_refused(self):
        orthant.make_tokenizer("byte", [TEXT], "t.json")
        for call in (lambda: orthant.decode("t.json", [2**40]), lambda: layer(seed=2**70),
                     lambda: layer(seed=-1), lambda: layer(width=2**64 + 8),
                     lambda: orthant.make_data("copy", "d", train=2**64),
                     lambda: layer().forward(X, lengths=[2**32 + 1, 3])):
            with self.assertRaisesRegex(orthant.Error, "out of range|32 bits"):
                call()

    def test_fractions_and_texts_are_no_whole_numbers(self):
        for call in (lambda: layer(width="8"), lambda: layer(seed=1.5),
                     lambda: orthant.decode("t.json", [1.5]),
                     lambda: layer().forward(X, lengths=[1.5, 3]),
                     lambda: layer().forward(X, lengths=[True, False])):
            with self.assertRaisesRegex(TypeError, "give .*whole number"):
                call()

    def test_booleans_of_numpy_are_booleans(self):
        self.assertEqual(orthant.explain("softmax", model__bias=np.bool_(True)),
                         orthant.explain("softmax", model__bias=True))


class Arrays(unittest.TestCase):
    def test_only_real_numbers_are_read(self):
        for x in (X.astype(complex), "hello", None, X.astype(object)):
            with self.assertRaisesRegex(orthant.Error, "real numbers"):
                layer().forward(x)

    def test_strides_and_other_types_give_the_same(self):
        net = layer()
        for view in (X[::-1, ::-1], np.asfortranarray(X), X.astype(np.float16)):
            expected = net(np.array(view, np.float32, order="C"))
            self.assertTrue(np.array_equal(net(view), expected))

    def test_what_would_be_rounded_is_refused(self):
        net, double = layer(), layer(dtype=np.float64)
        y, p = net.forward(X)
        for name, call in (("x", lambda: net(X.astype(np.float64))),
                           ("dy", lambda: net.backward(p, y.astype(float))),
                           ("memory", lambda: net(X, lengths=[6, 6], memory=X.astype(float)))):
            with self.assertRaisesRegex(orthant.Error, "^" + name + " is float64, which the layer "
                                                       "would round to float32: convert it, or "
                                                       "open the layer with dtype=numpy.float64"):
                call()
        self.assertTrue(np.array_equal(double(X), double(X.astype(np.float64))))

    def test_whole_numbers_and_lists_are_converted(self):
        net, whole = layer(), np.arange(X.size).reshape(X.shape)
        expected = net(whole.astype(np.float32))
        for given in (whole, whole.tolist(), whole.astype(np.uint64), whole.astype(float).tolist()):
            self.assertTrue(np.array_equal(net(given), expected))
        self.assertTrue(np.array_equal(net(X.tolist()), net(X)))
        for given in (whole + 2**24, list(X.astype(float))):
            with self.assertRaisesRegex(orthant.Error, "64, which the layer would round"):
                net(given)

    def test_advice_about_tensors_is_right(self):
        class Tensor:
            def __init__(self, exception):
                self.exception = exception

            def __dlpack_device__(self):
                return 1, 0

            def __dlpack__(self, **how):
                raise self.exception

        for exception, sentence in (
                (RuntimeError("Unsupported dtype in DLTensor."),
                 "Unsupported dtype in DLTensor. Convert it to float32"),
                (BufferError("Can't export tensors that require gradient, use tensor.detach()"),
                 "Can't export tensors that require gradient, use tensor.detach(). Detach it")):
            with self.assertRaises(orthant.Error) as raised:
                layer()(Tensor(exception))
            self.assertEqual(str(raised.exception), "x is not given to NumPy: " + sentence)

    def test_a_pass_of_another_layer_is_refused(self):
        net, other = layer(), layer(seed=2)
        with self.assertRaisesRegex(orthant.Error, "another layer"):
            net.backward(other.forward(X)[1], X)

    def test_arrays_of_parameters_cannot_be_replaced(self):
        net = layer()
        with self.assertRaises(TypeError):
            net.parameters["query.weight"] = np.zeros((8, 8))


class Judged(unittest.TestCase):
    def rows(self, number):
        return [{"system": s, "seed": i, "loss": number(at + 0.1 * i * i)}
                for s, at in (("a", 1.0), ("b", 3.0)) for i in range(4)]

    def test_numbers_of_other_types_are_numbers(self):
        expected = orthant.judge(self.rows(float), baseline="a").rows
        self.assertEqual(orthant.judge(self.rows(np.float64), baseline="a").rows, expected)
        self.assertEqual(orthant.judge(self.rows(np.array), baseline="a").rows, expected)

    def test_what_is_no_table_is_refused(self):
        for runs in ([], {"system": ["a"]}, [*self.rows(float), "a.csv"]):
            with self.assertRaisesRegex(orthant.Error, "^runs (is|has)"):
                orthant.judge(runs)


if __name__ == "__main__":
    unittest.main()
