# SPDX-License-Identifier: Apache-2.0
"""docs/python.md: the example is that of examples/, and the checks print what is shown."""
import contextlib
import io
import os
import re
import unittest

import numpy as np
import orthant

from support import SOURCE


def read_text(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
        return file.read()


class Document(unittest.TestCase):
    def setUp(self):
        self.blocks = re.findall(r"^```(\w*)\n(.*?)^```", read_text("docs/python.md"), re.S | re.M)

    def test_the_example_is_that_of_the_file(self):
        example = read_text("examples/attentions_in_torch.py")
        self.assertEqual(self.blocks[0], ("python", example.split("\n", 1)[1]))
        self.assertEqual(len([line for line in self.blocks[0][1].split("\n") if line]), 15)

    def test_the_checks_print_what_is_shown(self):
        at = next(i for i, (_, text) in enumerate(self.blocks) if "verify_callable" in text)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(self.blocks[at][1], {"np": np, "orthant": orthant})
        shown = self.blocks[at + 1][1]
        self.assertEqual([line.split()[:2] for line in out.getvalue().splitlines()],
                         [line.split()[:2] for line in shown.splitlines()])
        self.assertIn("FAILS", shown)


if __name__ == "__main__":
    unittest.main()
