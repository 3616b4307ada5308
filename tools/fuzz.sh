#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh SECONDS [NAME]...: builds the fuzzers of tests/fuzz with clang and runs each for so long, one on each core. What
# they find stays in build-fuzz/found.
set -eu
cd "$(dirname "$0")/.."
seconds=$1
shift
CC=clang cmake -S . -B build-fuzz -DORTHANT_TESTS=OFF -DORTHANT_FUZZ=ON \
    -DORTHANT_SANITIZE=fuzzer-no-link,address,undefined -DCMAKE_COMPILE_WARNING_AS_ERROR=ON >/dev/null
cmake --build build-fuzz -j "$(nproc)" --target fuzzers >/dev/null
mkdir -p build-fuzz/found

fuzz() { # NAME
    mkdir -p "build-fuzz/corpus/$1"
    if "build-fuzz/fuzz/$1" -max_total_time="$seconds" -rss_limit_mb=4096 -artifact_prefix="build-fuzz/found/$1-" \
        "build-fuzz/corpus/$1" >"build-fuzz/$1.log" 2>&1; then
        echo "  $1: $(grep -c . "build-fuzz/$1.log") lines of log, nothing found"
    else
        echo "  $1 found something:"
        tail -n 40 "build-fuzz/$1.log"
        return 1
    fi
}

status=0 running=
finish() { # waits for those that run
    for process in $running; do
        wait "$process" || status=1
    done
    running=
}

for fuzzer in build-fuzz/fuzz/fuzz_*; do
    name=$(basename "$fuzzer")
    [ $# -eq 0 ] || case " $* " in *" $name "*) ;; *) continue ;; esac
    fuzz "$name" &
    running="$running $!"
    [ "$(echo "$running" | wc -w)" -lt "$(nproc)" ] || finish
done
finish
exit $status
