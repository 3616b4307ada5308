#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# python.sh PROGRAM SOURCE LIBRARY: the tests of the Python package (python/tests) with the program and the shared library of a build.
# ORTHANT_PYTHON: the interpreter; otherwise the first of python3 and /usr/bin/python3 that has NumPy.
set -eu
[ -f "$3" ] || { echo "this build has no shared library"; exit 77; }
for python in ${ORTHANT_PYTHON:-python3 /usr/bin/python3} ''; do
    [ -n "$python" ] || { echo "no python3 with NumPy (Debian: python3-numpy)"; exit 77; }
    "$python" -c 'import sys, numpy; sys.exit(sys.version_info < (3, 9))' 2>/dev/null && break
done
export ORTHANT_PROGRAM="$1" ORTHANT_LIBRARY="$3" PYTHONPATH="$2/python" PYTHONDONTWRITEBYTECODE=1
export OMP_NUM_THREADS=1 # threads of PyTorch and NumPy wait actively: slow where several tests run
cd "$2/python/tests"
exec "$python" -m unittest
