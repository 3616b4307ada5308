# SPDX-License-Identifier: Apache-2.0
"""What is distributed: a wheel works alone, and a source distribution has all sources."""
import os
import shutil
import subprocess
import sys
import tarfile
import unittest
import zipfile

import numpy as np
import orthant
from orthant import library_path

from support import SOURCE, InFolder

try:
    import setuptools
    OLD = int(setuptools.__version__.split(".")[0]) < 66
    if int(setuptools.__version__.split(".")[0]) < 70:
        import wheel  # noqa: F401
except ImportError:
    OLD = True

ALONE = """
import numpy as np, orthant
from orthant import library_path
assert orthant.__file__.startswith(%r) and library_path.startswith(%r)
print(orthant.Layer("softmax", 8, 2, 4, seed=3, threads=1)(np.ones((1, 4, 8), np.float32)).tobytes().hex())
"""


@unittest.skipIf(OLD, "no setuptools from 66 on with wheel (Debian: python3-setuptools, python3-wheel)")
class Package(InFolder):
    def make(self, kind):
        """Runs setup.py on a copy of python/, since it writes next to itself. The folder above it
        has the sources, as a checkout."""
        os.mkdir("checkout")
        for name in ("CMakeLists.txt", "LICENSE", "cmake", "include", "src", "data"):
            os.symlink(os.path.join(SOURCE, name), os.path.join("checkout", name))
        shutil.copytree(os.path.join(SOURCE, "python"), "checkout/python",
                        ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        subprocess.run([sys.executable, "setup.py", "-q", kind, "-d", os.path.abspath("dist")],
                       cwd="checkout/python", check=True, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT,
                       env={**os.environ, "ORTHANT_LIBRARY": os.path.abspath(library_path)})
        (name,) = os.listdir("dist")
        return os.path.join("dist", name)

    def test_a_wheel_needs_nothing_of_the_checkout(self):
        path = self.make("bdist_wheel")
        self.assertRegex(path, r"orthant-%s-py3-none-linux_" % orthant.__version__.replace(".", "."))
        with zipfile.ZipFile(path) as file:
            file.extractall("installed")
            names = set(file.namelist())
        for name in os.listdir(os.path.join(SOURCE, "python/orthant")):
            if name.endswith(".py") or name == "py.typed":
                self.assertIn("orthant/" + name, names)
        self.assertIn("orthant/lib/liborthant.so.0", names)
        self.assertFalse([n for n in names if "test" in n or n.endswith(".pyc")])
        place = os.path.abspath("installed")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ORTHANT")}
        program = [sys.executable, "-c", ALONE % (place, place)]
        alone = subprocess.run(program, env={**environment, "PYTHONPATH": place}, cwd="/",
                               check=True, stdout=subprocess.PIPE).stdout
        layer = orthant.Layer("softmax", 8, 2, 4, seed=3, threads=1)
        self.assertEqual(alone.decode().strip(),
                         layer(np.ones((1, 4, 8), np.float32)).tobytes().hex())

    def test_a_source_distribution_has_what_the_library_is_made_of(self):
        with tarfile.open(self.make("sdist")) as file:
            names = {n.split("/", 1)[1] for n in file.getnames() if "/" in n}
        for folder in ("src", "include", "cmake"):
            for place, _, files in os.walk(os.path.join(SOURCE, folder)):
                for name in files:
                    self.assertIn("csource/" + os.path.relpath(os.path.join(place, name), SOURCE),
                                  names)
        self.assertLessEqual({"setup.py", "pyproject.toml", "README.md", "csource/LICENSE",
                              "csource/CMakeLists.txt", "csource/data/tinyshakespeare.txt"}, names)


if __name__ == "__main__":
    unittest.main()
