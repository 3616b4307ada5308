#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh SECONDS [NAME]...: builds the fuzzers of tests/fuzz with clang and runs each for so long. What they find stays
# in build-fuzz/found.
set -eu
cd "$(dirname "$0")/.."
seconds=$1
shift
CC=clang cmake -S . -B build-fuzz -DORTHANT_TESTS=OFF -DORTHANT_FUZZ=ON \
    -DORTHANT_SANITIZE=fuzzer-no-link,address,undefined >/dev/null
cmake --build build-fuzz -j "$(nproc)" >/dev/null
mkdir -p build-fuzz/found
status=0
for fuzzer in build-fuzz/fuzz/fuzz_*; do
    name=$(basename "$fuzzer")
    [ $# -eq 0 ] || case " $* " in *" $name "*) ;; *) continue ;; esac
    mkdir -p "build-fuzz/corpus/$name"
    if "$fuzzer" -max_total_time="$seconds" -rss_limit_mb=4096 -artifact_prefix="build-fuzz/found/$name-" \
        "build-fuzz/corpus/$name" >"build-fuzz/$name.log" 2>&1; then
        echo "  $name: $(grep -c . "build-fuzz/$name.log") lines of log, nothing found"
    else
        echo "  $name found something:"
        tail -n 40 "build-fuzz/$name.log"
        status=1
    fi
done
exit $status
