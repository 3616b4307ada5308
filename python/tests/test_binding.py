# SPDX-License-Identifier: Apache-2.0
"""The binding is that of the headers, and its structures are those of the compiler."""
import os
import shutil
import subprocess
import sys
import unittest

from support import SOURCE

TOOL = os.path.join(SOURCE, "tools/python_binding.py")


class Binding(unittest.TestCase):
    def test_module_is_that_of_the_headers(self):
        done = subprocess.run([sys.executable, TOOL, "--check"], stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr.decode())

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_structures_are_those_of_the_compiler(self):
        program = subprocess.run([sys.executable, TOOL, "--layout"], stdout=subprocess.PIPE,
                                 check=True).stdout
        self.assertGreater(program.count(b"_Static_assert"), 100)
        compile_it = ["cc", "-I", os.path.join(SOURCE, "include"), "-I",
                      os.path.join(SOURCE, "src"), "-fsyntax-only", "-x", "c", "-"]
        self.assertEqual(subprocess.run(compile_it, input=program).returncode, 0)
        wrong = program.replace(b" == ", b" == 1 + ", 1)
        self.assertNotEqual(subprocess.run(compile_it, input=wrong,
                                           stderr=subprocess.DEVNULL).returncode, 0)


if __name__ == "__main__":
    unittest.main()
