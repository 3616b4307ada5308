# SPDX-License-Identifier: Apache-2.0
"""The shared library in the package: that of $ORTHANT_LIBRARY, else built with CMake from the
sources, which are in the folder above (a checkout) or in csource/ (a source distribution)."""
import os
import re
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = next((f for f in (os.path.join(HERE, "csource"), os.path.dirname(HERE))
               if os.path.exists(os.path.join(f, "include/orthant/orthant.h"))), None)
SOURCES = ["CMakeLists.txt", "LICENSE", "cmake", "include", "src", "data/tinyshakespeare.txt"]


def read_version():
    with open(os.path.join(HERE, "orthant/_binding.py"), encoding="utf-8") as file:
        return re.search(r'^VERSION = "(.*)"', file.read(), re.M).group(1)


def build_library(folder):
    """Builds liborthant.so in a folder and returns its path."""
    if SOURCE is None:
        raise SystemExit("setup.py: there are no sources of the library: set ORTHANT_LIBRARY to "
                         "a liborthant.so")
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))
    subprocess.check_call(["cmake", "-S", SOURCE, "-B", folder, "-DORTHANT_TESTS=OFF"])
    subprocess.check_call(["cmake", "--build", folder, "--target", "orthant-shared", "-j", jobs])
    return os.path.join(folder, "liborthant.so")


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        if self.editable_mode:
            return
        library = os.environ.get("ORTHANT_LIBRARY") or build_library(
            os.path.abspath(os.path.join(self.build_lib, "..", "cmake")))
        folder = os.path.join(self.build_lib, "orthant", "lib")
        os.makedirs(folder, exist_ok=True)
        shutil.copyfile(os.path.realpath(library), os.path.join(folder, "liborthant.so.0"))


class WheelForAnyPython(bdist_wheel):
    """The library is called through ctypes: one wheel for all versions of Python on a platform."""

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


class SourceWithLibrary(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for name in SOURCES if SOURCE else []:
            source, target = os.path.join(SOURCE, name), os.path.join(base_dir, "csource", name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if os.path.isdir(source):
                shutil.copytree(source, target, dirs_exist_ok=True)
            else:
                shutil.copyfile(source, target)


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True  # the wheel is of one platform


setup(version=read_version(), distclass=WithLibrary,
      cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelForAnyPython,
                "sdist": SourceWithLibrary})
