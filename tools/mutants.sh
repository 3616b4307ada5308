#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mutants.sh: does a test notice? Puts mistakes into copies of the source one at a time and runs tests until one fails.
#
#     tools/mutants.sh patches [DIR [N [SEED]]]   the patches of DIR (tests/faults), or N of them drawn by SEED
#     tools/mutants.sh bugs                       the known bugs of tests/bugs, which `orthant verify` must report
#     tools/mutants.sh check                      only that every patch of tests/faults and tests/bugs applies and compiles
#     tools/mutants.sh random N [SEED]            N mistakes made by operators (tools/mutator.c) anywhere in src
#     tools/mutants.sh changed N [REVISION]       the same in the lines that changed since REVISION (HEAD~1)
#     tools/mutants.sh kernels N [SEED]           the same in the GPU device's kernels, src/device/gpu/*.cl
#     tools/mutants.sh NAME.patch...              these patches
#
# SEED is the commit where it is not given. A patch begins with what is wrong, and a line "tests: NAME..." with the tests that should
# notice it: test_NAME, cli_NAME, verify:SPEC, or proof:SPEC (`orthant verify SPEC` must end with 5). A line "same: REASON" marks one that
# cannot be noticed. Other tests run only for mistakes made by operators, those that share most with the file first.
#
# Ends with 0 when every patch applies and enough were noticed: all bugs, 95 of 100 patches, and of mistakes made by
# operators, of which some change nothing, 70 of 100. An interrupted call goes on where it was. The checkout is only read: altered files are copies,
# compiled with the flags of the build and linked before the library, whose own objects of those files the linker then passes over.
#
# BUILD: the build with tests (build; made when it is not there). JOBS: how many at a time (2, or the cores there are).
# MINUTES: after so many no further mistake is begun. What only a sanitizer sees is in tests/faults/memory and tests/faults/races:
#     BUILD=$PWD/build-asan ORTHANT_QUICK=memory tools/mutants.sh patches tests/faults/memory
#     BUILD=$PWD/build-tsan ORTHANT_QUICK=threads tools/mutants.sh patches tests/faults/races
set -eu
cd "$(dirname "$0")/.."
root=$PWD
build=${BUILD:-$root/build}
jobs=${JOBS:-$(($(nproc) < 2 ? 1 : 2))}
limit=600 # seconds a test may take: endless loops are noticed too

# ---- mutants: a patch is PATH.patch, a mistake made by an operator FILE@INDEX@LINE

field() { # PATCH FIELD
    sed -n "/^--- /q; s/^$2: *//p" "$1"
}

files_of() { # MUTANT
    case $1 in
    *.patch) sed -n 's|^+++ b/\([^	 ]*\).*|\1|p' "$1" ;;
    *) echo "${1%%@*}" ;;
    esac
}

# Copies the files of a mutant, altered, into FOLDER.
alter() { # MUTANT FOLDER
    for file in $(files_of "$1"); do
        mkdir -p "$2/$(dirname "$file")"
        cp "$file" "$2/$file" || return 1
    done
    case $1 in
    *.patch) patch --quiet --forward --no-backup-if-mismatch -r - -p1 -d "$2" <"$1" ;;
    *)
        index=${1#*@}
        "$build/mutator" apply "$file" "${index%@*}" >"$2/mutated" && mv "$2/mutated" "$2/$file"
        ;;
    esac
}

# ---- building: only what the altered file is part of

# Files that are compiled from FILE: itself, or what includes it, tests too. Kernels are compiled for the host, once for each
# precision (tests/emulated_kernels.cpp).
units() { # FILE
    case $mode-$1 in
    *.c) echo "$1" ;;
    check-*.h | check-*.def) includer "$1" ;;
    *.cl) for precision in f32 bf16 f64; do echo "tests/emulated_$precision.dir/emulated_kernels.cpp"; done ;;
    *) find "$build/CMakeFiles" "$build/tests/CMakeFiles" -name '*.c.o.d' -exec grep -l -e "/$1\( \|\$\)" {} + |
        sed "s|^$build/CMakeFiles/[^/]*\.dir/||; s|^$build/tests/CMakeFiles/[^/]*\.dir/|tests/|; s|\.o\.d$||" | sort -u |
        while read -r unit; do [ ! -f "$unit" ] || echo "$unit"; done ;; # an old build has objects of files that are gone
    esac
}

includer() ( # FILE: the first source file that reads it, itself or in a header; without any build
    for name in "${1#src/}" "$(basename "$1")"; do
        found=$(grep -rl --include='*.c' -e "\"$name\"" src tests | LC_ALL=C sort | head -n 1)
        for header in $(grep -rl --include='*.h' -e "\"$name\"" src tests | LC_ALL=C sort); do
            [ -n "$found" ] || [ "$header" = "$1" ] || found=$(includer "$header")
        done
        [ -z "$found" ] || { echo "$found"; return; }
    done
)

# Swapped arguments of other types are no mistake that anybody makes, and a name that is gone makes a patch stale: errors. What a
# mistake leaves without use is none. (With -w gcc passes over -Werror, too.)
types="-Wno-error -Wno-unused -Wno-unused-parameter -Werror=implicit-function-declaration -Werror=int-conversion -Werror=incompatible-pointer-types"

compile() { # FILE FOLDER: objects of the altered copy FOLDER/FILE
    for unit in $(units "$1"); do
        object=$2/$(echo "$unit" | tr / -).o
        source=$root/$(echo "$unit" | sed 's|[^/]*\.dir/||') flags=$types made='-o CMakeFiles/[^ ]*'
        input=$source
        [ "$unit" != "$1" ] || input=$2/$unit
        case $unit in
        *.cpp) made="-o CMakeFiles/${unit#tests/}.o" flags= ;;
        esac
        command=$(sed -n "s|^ *\"command\": \"\(.*\) $made -c $source\".*|\1|p" \
            "$build/compile_commands.json" | head -n 1 | sed 's/\\\(.\)/\1/g') # from JSON to words of the shell
        [ -n "$command" ] || { echo "nothing is known of how $unit is compiled"; return 1; }
        [ "$mode" != check ] || flags="$flags -fsyntax-only"
        (cd "$build" && eval "$command -iquote $2/src -iquote $(dirname "$source") $flags -o $object -c $input") ||
            return 1
    done
}

link() { # PROGRAM FOLDER: FOLDER/PROGRAM with the altered objects in front of the library
    if [ "$1" = orthant ]; then
        at=$build own=orthant-cli
    else
        at=$build/tests own=$1
    fi
    script=$(cat "$at/CMakeFiles/$own.dir/link.txt")
    for object in "$2"/*.o; do
        unit=$(basename "$object" .o | tr - /)
        case $unit in
        "tests/$own.c") unit=$own.c ;;
        *.cpp)
            script=$(echo "$script" | sed "s|CMakeFiles/${unit#tests/}\.o|$object|")
            continue
            ;;
        tests/*) continue ;;
        esac
        script=$(echo "$script" | sed -e "s|\"*CMakeFiles/$own\.dir/$unit\.o\"*||" -e "s| -o $1 | $object&|")
    done
    (cd "$at" && eval "$(echo "$script" | sed "s| -o $1 | -o $2/$1 |")")
}

# ---- testing

# Fast are the programs but the longest, and the scripts that neither kill nor install, nor measure the machine.
fast_tests() {
    for program in "$build"/tests/test_*; do
        case $program in
        */test_kernels | */test_mechanisms | *_guarded) ;;
        *) [ ! -f "tests/$(basename "$program").c" ] || basename "$program" ;; # an old build has others
        esac
    done
    for script in tests/cli/*.sh; do
        case $script in
        */damage.sh | */disk.sh | */install.sh | */kill.sh | */measure.sh | */mutants.sh) ;;
        *) echo "cli_$(basename "$script" .sh)" ;;
        esac
    done
    echo "verify:softmax verify:linear verify:sparse"
}

# Tests that read a header of the file's name, then those with that name or of that room, then the others.
likely_tests() { # FILE
    name=$(basename "$1" | sed 's/\..*//') room=$(basename "$(dirname "$1")")
    near=$(grep -l "/$name\.h\"" tests/test_*.c 2>/dev/null | sed 's|.*/||; s|\.c$||')
    fast=$(fast_tests | tr ' ' '\n')
    case $1 in
    *.cl)
        echo test_golden_emulated test_verify_gpu_emulated
        return
        ;;
    src/cli/*) near= fast=$(echo "$fast" | grep -v '^test_') ;; # only the program has these files
    esac
    named=$(echo "$fast" | grep -e "_${name%%_*}" -e "_$room" || true)
    printf '%s\n' $near $named $fast | awk '!seen[$0]++'
}

exists() { # TEST
    case $1 in
    test_*) [ -x "$build/tests/$1" ] ;;
    cli_*) [ -f "tests/cli/${1#cli_}.sh" ] ;;
    verify:* | proof:*) true ;;
    *) false ;;
    esac
}

program_of() { # TEST
    case $1 in
    test_*) echo "$1" ;;
    *) echo orthant ;;
    esac
}

passes() { # TEST PROGRAM FOLDER: run in FOLDER
    test=$1
    case $1 in
    test_*) set -- "$3" "$2" ;;
    cli_*) set -- "$3" sh "$root/tests/cli/${1#cli_}.sh" "$2" "$root" ;;
    *) set -- "$3" "$2" verify "${1#*:}" --quick --quiet ;;
    esac
    status=0
    (cd "$1" && shift && ORTHANT_QUICK=${ORTHANT_QUICK:-1} timeout $limit "$@") >"$1/log" 2>&1 || status=$?
    case $test in
    proof:*) [ $status -ne 5 ] ;;
    *) [ $status -eq 0 ] || [ $status -eq 77 ] ;;
    esac
}

# A test that fails without the mistake shows nothing.
passes_without() { # TEST FOLDER
    [ ! -f "$results/passes/$1" ] || return 0
    mkdir -p "$2/without" "$results/passes"
    own=$build/orthant
    [ "$(program_of "$1")" = orthant ] || own=$build/tests/$1
    passes "$1" "$own" "$2/without" || return 1
    : >"$results/passes/$1"
}

judge() { # MUTANT FOLDER: one line, "noticed by TEST", "survived", "skipped" or "stale" and why
    alter "$1" "$2" >"$2/log" 2>&1 || { echo "stale: does not apply: $(tail -n 1 "$2/log")"; return; }
    for file in $(files_of "$1"); do
        compile "$file" "$2" >"$2/log" 2>&1 && continue
        case $1 in
        *.patch) echo "stale: does not compile: $(grep -m 1 error "$2/log")" ;;
        *) echo "skipped: does not compile" ;;
        esac
        return
    done
    [ "$mode" != check ] || { echo "applies"; return; }
    case $1 in
    *.patch) tests=$(field "$1" tests) ;;
    *) tests=$(likely_tests "$file") ;;
    esac
    for test in $tests; do
        exists "$test" || continue
        program=$(program_of "$test")
        [ -x "$2/$program" ] || link "$program" "$2" >"$2/log" 2>&1 || { echo "stale: $program does not link"; return; }
        passes "$test" "$2/$program" "$2" && continue
        passes_without "$test" "$2" || { echo "stale: $test fails without any mistake"; return; }
        echo "noticed by $test$(sed -n 's/^SUMMARY: \([A-Za-z]*Sanitizer: [a-z -]*\).*/, \1/p' "$2/log" | head -n 1)"
        return
    done
    echo "survived"
}

result_of() { # MUTANT: the file with its line
    echo "$results/$(echo "$1" | tr / ,)"
}

one() { # MUTANT: leaves its line in the results
    [ "$(date +%s)" -lt "$end" ] || return 0
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 130' INT TERM
    start=$(date +%s)
    verdict=$(judge "$1" "$scratch")
    echo "$verdict" >"$scratch/verdict"
    mv "$scratch/verdict" "$(result_of "$1")"
    echo "$1: $verdict ($(($(date +%s) - start)) s)"
}

# ---- all of it

prepare() {
    [ -f "$build/compile_commands.json" ] || cmake -S . -B "$build" -DORTHANT_TESTS=ON >/dev/null
    [ "$mode" != check ] || return 0
    echo "building what is not up to date in $build"
    targets=
    [ "$mode" != kernels ] || targets="--target test_golden_emulated test_verify_gpu_emulated"
    cmake --build "$build" -j "$jobs" $targets >/dev/null
    cc -std=c11 -D_POSIX_C_SOURCE=200809L -O1 tools/mutator.c -o "$build/mutator"
}

# Results hold for these sources and tests.
fingerprint() {
    find src include tests tools/mutants.sh tools/mutator.c -type f | LC_ALL=C sort | xargs cat | cksum | tr ' ' -
}

drawn() { # N SEED NAME...
    n=$1 seed=$2
    shift 2
    for name in "$@"; do
        echo "$(echo "$seed $name" | cksum) $name"
    done | sort -n | head -n "$n" | awk '{ print $3 }'
}

changed_lines() { # REVISION: FILE:FIRST-LAST
    git diff -U0 "$1" -- 'src/*.c' | awk '
        /^\+\+\+ b\// { file = substr($2, 3) }
        /^@@/ { split($3, at, /[+,]/); n = at[3] == "" ? 1 : at[3]; if (n > 0) print file ":" at[2] "-" at[2] + n - 1 }'
}

made_by_operators() { # N SEED FILE[:FIRST-LAST]...
    "$build/mutator" list "$@" | awk '{ print $1 "@" $2 "@" $3 }' | sed 's/:$//'
}

report() { # MUTANT...
    noticed=0 survived=0 same=0 stale=0 skipped=0
    echo
    for name in "$@"; do
        verdict=$(cat "$(result_of "$name")" 2>/dev/null || echo "skipped: out of time")
        why=
        case $verdict in
        noticed*) noticed=$((noticed + 1)) ;;
        applies) ;;
        skipped*) skipped=$((skipped + 1)) ;;
        survived*)
            survived=$((survived + 1))
            case $name in
            *.patch)
                why=$(field "$name" same)
                [ -z "$why" ] || { survived=$((survived - 1)) same=$((same + 1)); }
                why=": ${why:-$(head -n 1 "$name")}"
                ;;
            *)
                index=${name#*@}
                why=": $("$build/mutator" list 1000000 1 "${name%%@*}" | sed -n "s|^[^ ]* ${index%@*} ||p" | head -n 1)"
                ;;
            esac
            ;;
        *) stale=$((stale + 1)) ;;
        esac
        printf '%-40s %s%s\n' "$(basename "$name" .patch)" "$verdict" "$why"
    done
    echo "$# mistakes: $noticed noticed, $survived survived, $same make no difference, $skipped skipped, $stale stale"
    [ $stale -eq 0 ] && [ $((100 * noticed)) -ge $((share * (noticed + survived))) ]
}

usage() {
    sed -n '3,/^set/s/^# \{0,1\}//p' "$0"
    exit 2
}

main() {
    mode=${1:-} share=95
    end=$(($(date +%s) + 60 * ${MINUTES:-100000}))
    prepare
    commit=$(git rev-parse HEAD 2>/dev/null || echo none)
    case $mode in
    patches)
        folder=${2:-tests/faults}
        set -- $(drawn "${3:-100000}" "${4:-$commit}" "$folder"/*.patch)
        ;;
    bugs) share=100 && set -- tests/bugs/*.patch ;;
    check) set -- $(find tests/faults tests/bugs -name "*.patch" | LC_ALL=C sort) ;;
    kernels) share=70 && set -- $(made_by_operators "${2:?how many?}" "${3:-$commit}" $(ls src/device/gpu/*.cl | grep -v -e _language -e _units)) ;;
    random) share=70 && set -- $(made_by_operators "${2:?how many?}" "${3:-$commit}" $(find src -name '*.c' | LC_ALL=C sort)) ;;
    changed)
        lines=$(changed_lines "${3:-HEAD~1}")
        [ -n "$lines" ] || { echo "no line of src changed since ${3:-HEAD~1}"; exit 0; }
        share=70 && set -- $(made_by_operators "${2:?how many?}" "$commit" $lines)
        ;;
    *.patch) ;;
    *) usage ;;
    esac
    # What a check finds is no result: a call that goes on must not take it for one.
    results=$build/mutants/$(fingerprint)
    [ "$mode" != check ] || results=$build/mutants/check
    mkdir -p "$results"
    export results mode end
    for name in "$@"; do
        [ "$mode" != check ] && [ -f "$(result_of "$name")" ] || echo "$name"
    done | xargs -r -n 1 -P "$jobs" sh tools/mutants.sh --one
    report "$@"
}

case ${1:-} in
--one) one "$2" ;;
'' | --help) usage ;;
*) main "$@" ;;
esac
