#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test.sh: everything `make test` runs, stage by stage, each with its time. The last line is the result. Stages can be
# named: tools/test.sh release format. Build folders (build, build-clang, …) are kept, so a second run is quick.
set -u
cd "$(dirname "$0")/.."
jobs=$(nproc)
passed=0 failed=0 broken=
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CLICOLOR=0 CTEST_OUTPUT_ON_FAILURE=1

configure() { # FOLDER COMPILER [CMAKE OPTION]...
    folder=$1 compiler=$2
    shift 2
    CC=$compiler cmake -S . -B "$folder" -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DORTHANT_TESTS=ON "$@" \
        >"$scratch/configure" 2>&1 || { cat "$scratch/configure"; return 1; }
}

build() { # FOLDER
    cmake --build "$1" -j "$jobs" >"$scratch/build" 2>&1 || { grep -E -A6 'error|warning' "$scratch/build"; return 1; }
}

# Runs the tests of a folder and adds what ctest counted.
tests() { # FOLDER [CTEST OPTION]...
    folder=$1
    shift
    { ctest --test-dir "$folder" "$@" 2>&1; echo $? >"$scratch/status"; } | tee "$scratch/ctest" |
        grep --line-buffered -E 'Test +#|Skipped'
    status=$(cat "$scratch/status")
    [ "$status" -eq 0 ] || cat "$scratch/ctest"
    total=$(sed -n 's/.*tests passed, .* tests failed out of \([0-9]*\).*/\1/p' "$scratch/ctest")
    wrong=$(sed -n 's/.*tests passed, \([0-9]*\) tests failed.*/\1/p' "$scratch/ctest")
    passed=$((passed + ${total:-0} - ${wrong:-0}))
    failed=$((failed + ${wrong:-0}))
    return "$status"
}

need() { # COMMAND: false when it is not there; the stage is then skipped
    command -v "$1" >/dev/null || { echo "  skipped: $1 is not installed"; return 1; }
}

# ---- stages

release() {
    configure build gcc && build build && tests build
}

# CLI tests run their short forms where the program is slow.
asan() {
    configure build-asan gcc -DORTHANT_SANITIZE=address,undefined && build build-asan &&
        ORTHANT_QUICK=1 UBSAN_OPTIONS=print_stacktrace=1 tests build-asan
}

# Without the tests that start no threads, or (test_kernels) do nothing with them; of the others what threads share.
tsan() {
    configure build-tsan gcc -DORTHANT_SANITIZE=thread && build build-tsan &&
        ORTHANT_QUICK=threads TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp" tests build-tsan \
            -E '^test_(language|files|statistics|report|explain|options|data|omega|kernels)$|report_dom|check_isa'
}

clang_build() {
    need clang || return 0
    configure build-clang clang && build build-clang && tests build-clang -R '^test_'
}

no_onednn() {
    configure build-plain gcc -DORTHANT_ONEDNN=OFF && build build-plain && tests build-plain -R '^test_(ops|train)'
}

header() {
    need clang || return 0
    clang++ -x c++ -std=c++11 -fsyntax-only -Wall -Wextra -Wpedantic -Werror include/orthant/orthant.h &&
        clang -x c -std=c11 -fsyntax-only -Wall -Wextra -Wpedantic -Werror include/orthant/orthant.h
}

format() {
    need clang-format || return 0
    find . -path "./build*" -prune -o -name '*.[ch]' -print0 | xargs -0 clang-format --dry-run -Werror
}

layers() {
    tools/check_layers.sh
}

# Every known bug, one at a time, is found by `orthant verify`.
bugs() {
    configure build-bugs gcc -DORTHANT_BUGS=ON -DORTHANT_TESTS=OFF && build build-bugs &&
        sh tests/prove_the_prover.sh build-bugs/orthant .
}

arm64() {
    need aarch64-linux-gnu-gcc || return 0
    tools/check_cross.sh aarch64-linux-gnu-gcc
}

fuzz() {
    need clang || return 0
    tools/fuzz.sh 10
}

# ----

run() { # STAGE
    echo "== $1"
    start=$(date +%s) before=$((passed + failed))
    if "$1"; then
        # What ctest did not count counts once.
        [ $((passed + failed)) -ne $before ] || passed=$((passed + 1))
        result=ok
    else
        [ $((passed + failed)) -ne $before ] || failed=$((failed + 1))
        [ "$failed" -gt 0 ] || failed=1
        broken="$broken $1" result=FAILED
    fi
    echo "== $1: $result, $(($(date +%s) - start)) s"
}

for stage in ${*:-format layers header release clang_build asan tsan no_onednn bugs arm64 fuzz}; do
    run "$stage"
done
[ -z "$broken" ] || echo "failed stages:$broken"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
