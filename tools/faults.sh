#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# faults.sh: does a test notice? Puts the faults of tests/faults/*.txt into the program one at a time and runs the fast
# tests until one fails.
#
#     tools/faults.sh --all               every fault; an interrupted call goes on where it was
#     tools/faults.sh --sample N [SEED]   N of them, drawn by SEED (the commit when there is none)
#     tools/faults.sh --hinted            every fault against the tests that its entry names, and no others
#     tools/faults.sh --check             only that every fault can still be put in and compiled
#     tools/faults.sh NAME...             these, whatever is known of them
#
# Ends with 0 when every fault could be put in and at least 95 of 100 were noticed; a fault that cannot be noticed, and
# says why (`same`), is not counted. The checkout is only read: the altered file is a copy, compiled with the flags of
# the build and linked before the library, whose own object of that file the linker then passes over.
#
# BUILD: the build with tests (build; made when it is not there). JOBS: how many at a time (2, or the cores there are).
# FAULTS: another folder of lists. What only a sanitizer sees is in two, and its tests in the forms of its stage find it:
#     FAULTS=tests/faults/memory BUILD=$PWD/build-asan ORTHANT_QUICK=memory tools/faults.sh --hinted
#     FAULTS=tests/faults/races BUILD=$PWD/build-tsan ORTHANT_QUICK=threads tools/faults.sh --hinted
set -eu
cd "$(dirname "$0")/.."
root=$PWD
build=${BUILD:-$root/build}
jobs=${JOBS:-$(($(nproc) < 2 ? 1 : 2))}
list=${FAULTS:-tests/faults}
patience=600 # seconds a test may take with a fault in it; endless loops are noticed too

# ---- the list

names() {
    sed -n 's/^fault  *//p' $list/*.txt
}

field() { # NAME FIELD: what the list says; nothing when it says nothing
    awk -v name="$1" -v key="$2" '
        $1 == "fault" { here = $2 == name }
        here && $1 == key { sub(/^[a-z]+ +/, ""); print; exit }' $list/*.txt
}

# Writes the altered file; fails unless `old` is there exactly once, with `in` in the first line that has it after the
# one line that holds `in`.
alter() { # NAME FILE
    OLD=$(field "$1" old) NEW=$(field "$1" new) IN=$(field "$1" in) awk '
        BEGIN { old = ENVIRON["OLD"]; anchor = ENVIRON["IN"]; open = anchor == "" }
        anchor != "" && index($0, anchor) { anchors++; open = 1 }
        open && (at = index($0, old)) {
            rest = substr($0, at + length(old))
            found += 1 + (index(rest, old) > 0)
            open = anchor == ""
            $0 = substr($0, 1, at - 1) ENVIRON["NEW"] rest
        }
        { print }
        END { exit !(old != "" && found == 1 && (anchor == "" || anchors == 1)) }' "$2"
}

# ---- building: only what the altered file is part of

# Files that are compiled from FILE: itself, or what includes it, tests too.
units() { # FILE
    case $1 in
    *.c) echo "$1" ;;
    *) find "$build/CMakeFiles" "$build/tests/CMakeFiles" -name '*.c.o.d' -exec grep -l -e "/$1\( \|\$\)" {} + |
        sed "s|^$build/CMakeFiles/[^/]*\.dir/||; s|^$build/tests/CMakeFiles/[^/]*\.dir/|tests/|; s|\.o\.d$||" | sort -u ;;
    esac
}

compile() { # FILE FOLDER: objects of the altered copy FOLDER/FILE
    for unit in $(units "$1"); do
        object=$2/$(echo "$unit" | tr / -).o
        input=$root/$unit
        [ "$unit" != "$1" ] || input=$2/$unit
        command=$(sed -n "s|^ *\"command\": \"\(.*\) -o CMakeFiles/[^ ]* -c $root/$unit\".*|\1|p" \
            "$build/compile_commands.json" | head -n 1)
        [ -n "$command" ] || { echo "nothing is known of how $unit is compiled"; return 1; }
        (cd "$build" && $command -iquote "$2/src" -iquote "$root/$(dirname "$unit")" -w -o "$object" -c "$input") ||
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
        tests/*) continue ;;
        esac
        script=$(echo "$script" | sed -e "s|\"*CMakeFiles/$own\.dir/$unit\.o\"*||" -e "s| -o $1 | $object&|")
    done
    (cd "$at" && eval "$(echo "$script" | sed "s| -o $1 | -o $2/$1 |")")
}

# ---- testing

# A test is a program test_NAME, a script cli_NAME, or verify:SPEC, the quick proof of one attention. Fast are the
# programs but the two longest, and the scripts that neither kill nor install, nor measure the machine.
fast_tests() {
    for program in "$build"/tests/test_*; do
        case $program in
        */test_kernels | */test_mechanisms | *_guarded) ;;
        *) [ ! -f "$program" ] || basename "$program" ;;
        esac
    done
    for script in tests/cli/*.sh; do
        case $script in
        */damage.sh | */disk.sh | */install.sh | */kill.sh | */measure.sh) ;;
        *) echo "cli_$(basename "$script" .sh)" ;;
        esac
    done
    echo "verify:softmax verify:linear verify:sparse"
}

exists() { # TEST
    case $1 in
    test_*) [ -x "$build/tests/$1" ] ;;
    cli_*) [ -f "tests/cli/${1#cli_}.sh" ] ;;
    verify:*) true ;;
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
    case $1 in
    test_*) set -- "$3" "$2" ;;
    cli_*) set -- "$3" sh "$root/tests/cli/${1#cli_}.sh" "$2" "$root" ;;
    verify:*) set -- "$3" "$2" verify "${1#verify:}" --quick --quiet ;;
    esac
    status=0
    (cd "$1" && shift && ORTHANT_QUICK=${ORTHANT_QUICK:-1} timeout $patience "$@") >"$1/log" 2>&1 || status=$?
    [ $status -eq 0 ] || [ $status -eq 77 ]
}

# A test that fails without the fault says nothing.
passes_without() { # TEST FOLDER
    [ ! -f "$results/passes/$1" ] || return 0
    mkdir -p "$2/without" "$results/passes"
    own=$build/orthant
    [ "$(program_of "$1")" = orthant ] || own=$build/tests/$1
    passes "$1" "$own" "$2/without" || return 1
    : >"$results/passes/$1"
}

judge() { # NAME FOLDER: one line, "killed TEST", "survived" or what is wrong with the list
    file=$(field "$1" file)
    [ -f "$file" ] || { echo "stale: there is no file \"$file\""; return; }
    mkdir -p "$2/$(dirname "$file")"
    alter "$1" "$file" >"$2/$file" || { echo "stale: its line is not there exactly once in $file"; return; }
    compile "$file" "$2" >"$2/log" 2>&1 || { echo "stale: does not compile: $(grep -m 1 error "$2/log")"; return; }
    [ "$mode" != --check ] || { echo "can be put in"; return; }
    others=
    [ "$mode" = --hinted ] || others=$(fast_tests)
    for test in $(field "$1" tests) $others; do
        exists "$test" || continue
        program=$(program_of "$test")
        [ -x "$2/$program" ] || link "$program" "$2" >"$2/log" 2>&1 || { echo "stale: $program does not link"; return; }
        passes "$test" "$2/$program" "$2" && continue
        passes_without "$test" "$2" || { echo "stale: $test fails without any fault"; return; }
        echo "killed $test$(sed -n 's/^SUMMARY: \([A-Za-z]*Sanitizer: [a-z -]*\).*/, \1/p' "$2/log" | head -n 1)"
        return
    done
    echo "survived"
}

one() { # NAME: leaves its line in the results
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 130' INT TERM
    start=$(date +%s)
    verdict=$(judge "$1" "$scratch")
    echo "$verdict" >"$results/$1.new"
    mv "$results/$1.new" "$results/$1"
    echo "$1: $verdict ($(($(date +%s) - start)) s)"
}

# ---- all of it

prepare() {
    [ -f "$build/compile_commands.json" ] || cmake -S . -B "$build" -DORTHANT_TESTS=ON >/dev/null
    cmake --build "$build" -j "$jobs" >/dev/null
}

# Results hold for these sources, tests and this list.
fingerprint() {
    find src include tests tools/faults.sh -type f | LC_ALL=C sort | xargs cat | cksum | tr ' ' -
}

sample() { # N SEED
    for name in $(names); do
        echo "$(echo "$2 $name" | cksum) $name"
    done | sort -n | head -n "$1" | awk '{ print $3 }'
}

known() { # NAME: whether a call that was interrupted has left its result
    { [ "$mode" = --all ] || [ "$mode" = --sample ]; } && [ -f "$results/$1" ]
}

report() { # NAME...
    killed=0 survived=0 same=0 stale=0
    echo
    for name in "$@"; do
        verdict=$(cat "$results/$name" 2>/dev/null || echo "stale: was not tried")
        why=
        case $verdict in
        killed*) killed=$((killed + 1)) ;;
        survived*)
            why=$(field "$name" same)
            [ -n "$why" ] && same=$((same + 1)) || survived=$((survived + 1))
            why=": ${why:-$(field "$name" why)}"
            ;;
        can*) [ "$mode" = --check ] || stale=$((stale + 1)) ;;
        *) stale=$((stale + 1)) ;;
        esac
        printf '%-28s %s%s\n' "$name" "$verdict" "$why"
    done
    [ "$mode" != --check ] || { echo "$# faults, $stale stale"; [ $stale -eq 0 ]; return; }
    echo "$# faults: $killed killed, $survived survived, $same make no difference, $stale stale"
    [ $stale -eq 0 ] && [ $((100 * killed)) -ge $((95 * (killed + survived))) ]
}

main() {
    mode=names
    case ${1:-} in
    --all | --hinted | --check) mode=$1 && set -- $(names) ;;
    --sample) mode=$1 && set -- $(sample "${2:?how many?}" "${3:-$(git rev-parse HEAD)}") ;;
    '' | -*) sed -n '3,/^set/s/^# \{0,1\}//p' "$0" && exit 2 ;;
    esac
    [ -z "$(names | sort | uniq -d)" ] || { echo "two faults are called $(names | sort | uniq -d)"; exit 1; }
    prepare
    # What a check finds is no result: a call that goes on must not take it for one.
    results=$build/faults/$(fingerprint)
    [ "$mode" != --check ] || results=$build/faults/check
    mkdir -p "$results"
    export results mode
    for name in "$@"; do
        known "$name" || echo "$name"
    done | xargs -r -n 1 -P "$jobs" sh tools/faults.sh --one
    report "$@"
}

if [ "${1:-}" = --one ]; then
    one "$2"
else
    main "$@"
fi
