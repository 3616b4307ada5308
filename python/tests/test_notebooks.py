# SPDX-License-Identifier: Apache-2.0
"""python/notebooks: each runs without an error, and shows what its text says."""
import glob
import os
import tempfile
import unittest

import support

try:
    import nbclient
    import nbformat
    import ipykernel  # noqa: F401: what runs the cells
except ImportError:
    nbclient = None

FOLDER = os.path.join(support.SOURCE, "python/notebooks")


def shown(book, kind):
    """What the cells show in this form, as texts."""
    return ["".join(out["data"][kind]) for cell in book.cells if cell.cell_type == "code"
            for out in cell.outputs if kind in out.get("data", {})]


@unittest.skipUnless(nbclient, "nbclient and ipykernel are not installed")
class Notebooks(unittest.TestCase):
    def run_book(self, name):
        book = nbformat.read(os.path.join(FOLDER, name + ".ipynb"), as_version=4)
        os.environ.update(JUPYTER_RUNTIME_DIR=tempfile.mkdtemp(), IPYTHONDIR=tempfile.mkdtemp())
        nbclient.NotebookClient(book, timeout=120, kernel_name="python3",
                                resources={"metadata": {"path": support.SOURCE}}).execute()
        return book

    def test_first_comparison(self):
        book = self.run_book("first_comparison")
        self.assertTrue(any(text.startswith("<svg") for text in shown(book, "image/svg+xml")))
        self.assertIn("<iframe", shown(book, "text/html")[-1])
        self.assertIn("pattern(previous):1 | softmax:3", shown(book, "text/plain")[0])
        self.assertIn("uniform baseline", shown(book, "text/plain")[0])

    def test_swap_attention(self):
        losses = eval(shown(self.run_book("swap_attention"), "text/plain")[-1])
        self.assertEqual(list(losses), ["softmax", "local(window=4)", "local(window=32)"])
        self.assertAlmostEqual(losses["local(window=32)"], losses["softmax"], places=4)
        self.assertNotAlmostEqual(losses["local(window=4)"], losses["softmax"], places=4)

    def test_verify_your_attention(self):
        hurried, right, passed = shown(self.run_book("verify_your_attention"), "text/plain")
        found = {line.split()[0]: line.split()[1] for line in hurried.splitlines()}
        self.assertEqual(found, {"dtype": "holds", "batch": "holds", "causal": "FAILS",
                                 "average": "FAILS"})
        self.assertEqual(right.count(" holds "), 5)
        self.assertEqual(passed, "True")

    def test_reading_a_report(self):
        book = self.run_book("reading_a_report")
        self.assertEqual(eval(shown(book, "text/plain")[1]),
                         {"b": "better", "c": "no significant difference", "a": "baseline"})
        self.assertIn("<iframe", shown(book, "text/html")[-1])

    def test_books_are_stored_without_results(self):
        for path in glob.glob(os.path.join(FOLDER, "*.ipynb")):
            for cell in nbformat.read(path, as_version=4).cells:
                self.assertFalse(cell.get("outputs") or cell.get("execution_count"), path)


if __name__ == "__main__":
    unittest.main()
