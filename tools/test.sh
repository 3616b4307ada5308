#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test.sh [STAGE]...: everything `make test` runs, stage by stage, each with its time by the clock and of the processor
# (`bare` and `mpi`, which mostly wait, go on next to the others, whose processor time then has theirs). What was skipped
# comes last but one and says why; the last line is the result. It counts the tests of ctest, and of a stage without any
# the stage. Build folders (build, build-asan, …) are kept, so a second run is quick; ccache is used where there is one.
set -u
cd "$(dirname "$0")/.."
jobs=$(nproc)
passed=0 failed=0 skipped=0 broken= beside=
scratch=$(mktemp -d)
trap 'for group in $beside; do kill -TERM -$group 2>/dev/null; done; rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM HUP
: >"$scratch/skipped"
export CLICOLOR=0 CTEST_OUTPUT_ON_FAILURE=1
! command -v ccache >/dev/null || export CMAKE_C_COMPILER_LAUNCHER=ccache

configure() { # FOLDER COMPILER [CMAKE OPTION]...
    folder=$1 compiler=$2
    shift 2
    compiled_by "$compiler" || rm -rf "$folder"
    CC=$compiler cmake -S . -B "$folder" -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DORTHANT_TESTS=ON "$@" \
        >"$scratch/configure" 2>&1 || { cat "$scratch/configure"; rm -rf "$folder/CMakeCache.txt"; return 1; }
}

# What another compiler was chosen for once is begun anew: cmake would stay with that one. `build` belongs to `make`.
compiled_by() { # COMPILER
    [ "$folder" = build ] || grep -qs "^CMAKE_C_COMPILER:.*/$(basename "$1")\$" "$folder/CMakeCache.txt"
}

build() { # FOLDER [TARGET]...: all of it, or only these
    folder=$1
    shift
    cmake --build "$folder" -j "$jobs" ${1:+--target} "$@" >"$scratch/build" 2>&1 ||
        { grep -E -A6 'error|warning' "$scratch/build" || tail -n 20 "$scratch/build"; return 1; }
}

# The programs that these tests are, or are given: what a stage does not run it need not build. CTest tells the command of
# a test whose program was built before, and of another one where it looked for the program.
programs() { # FOLDER [CTEST OPTION]...
    folder=$1
    shift
    ctest --test-dir "$folder" -N -V "$@" 2>&1 |
        sed -n -E 's/^([0-9]+: Test command|Could not find executable):? .*\/tests\/(test_[a-z_]*|failing_program)"*$/\2/p' | sort -u
}

# Runs the tests of a folder, the long ones first, and adds what ctest counted.
tests() { # FOLDER [CTEST OPTION]...
    folder=$1
    shift
    { ctest --test-dir "$folder" -j "$jobs" "$@" 2>&1; echo $? >"$scratch/status"; } | tee "$scratch/ctest" |
        grep --line-buffered -E 'Test +#'
    status=$(cat "$scratch/status")
    [ "$status" -eq 0 ] || cat "$scratch/ctest"
    skipped_in "$scratch/ctest" "$folder/Testing/Temporary/LastTest.log" >"$scratch/notes"
    sed "s/^/$stage: /" "$scratch/notes" >>"$scratch/skipped"
    total=$(sed -n 's/.*tests passed, .* tests failed out of \([0-9]*\).*/\1/p' "$scratch/ctest")
    wrong=$(sed -n 's/.*tests passed, \([0-9]*\) tests failed.*/\1/p' "$scratch/ctest")
    whole=$(grep -c '\*\*\*Skipped' "$scratch/ctest")
    passed=$((passed + ${total:-0} - ${wrong:-0} - whole))
    failed=$((failed + ${wrong:-0}))
    skipped=$((skipped + $(grep -c . "$scratch/notes")))
    [ "${total:-0}" -gt 0 ] || echo "  no test ran"
    [ "$status" -eq 0 ] && [ "${total:-0}" -gt 0 ]
}

# What was not tried, with the reason: tests that ended with 77, which say why in their last line, and the functions of a
# cmocka program that skipped themselves.
skipped_in() { # OUTPUT OF CTEST, ITS LOG
    awk '
        FNR == NR { if (/\*\*\*Skipped/) whole[$4] = 1; next }
        /^[0-9]+\/[0-9]+ Test: / { name = $3; reason = "no reason given"; next }
        /^<end of output>/ { if (whole[name]) print name ": " reason; next }
        /^\[  SKIPPED \] [a-z_0-9]+$/ && !seen[name $4]++ { print name ": " $4 }
        NF && !/^(-+$|Output:|Command:|Directory:)/ { reason = $0 }
    ' "$1" "$2"
}

need() { # COMMAND: false when it is not there; the stage is then skipped
    command -v "$1" >/dev/null || { reason="$1 is not installed"; return 1; }
}

# ---- stages: 0 is passed, 77 skipped for $reason

release() {
    configure build gcc && build build && tests build
}

# The release tests in their short forms, in the build that `make` has begun, without those that only calculate: they
# need nothing of the system that other programs do not need too.
quick() {
    configure build gcc -DCMAKE_COMPILE_WARNING_AS_ERROR=OFF &&
        build build orthant-cli orthant-shared pages $(programs build -E "$calculating") &&
        ORTHANT_QUICK=1 tests build -E "$calculating"
}
calculating='^test_(kernels|mechanisms|engine_.*|steps|train|theory|golden.*|statistics|anytime|baseline|ops|sparse)$'
calculating="$calculating|^test_(gpu|verify_gpu|emulated|transform|omega|generator|budgets|dropout|initial_values|update_rules|library)\$|^cli_faults\$"
calculating="$calculating|^test_(metrics|synthetic|variance|until|supports|stack|tuning_report)\$|_(guarded|emulated)\$"
calculating="$calculating|^test_(beam|forms|decodings|tasks|masking|measures|tiles|inspect|examples|example_rows|example_batches)\$"

# What clang says of the tests; the library it compiles whole for `no_onednn` and for the fuzzers.
clang_warnings() {
    need clang || return 77
    plain && sed -n 's/^ *"command": "\(.*\)",$/\1/p' build-plain/compile_commands.json |
        grep -v -E 'oa_(guarded|compared|waiting)_open' | grep '/tests/[a-z_]*\.c$' |
        sed 's/\\\(["\\]\)/\1/g; s/ -o [^ ]* -c / -fsyntax-only /' >"$scratch/commands"
    [ -s "$scratch/commands" ] && tr '\n' '\0' <"$scratch/commands" | xargs -0 -P "$jobs" -I '{}' sh -c '{}'
}

# What memory is touched; what is calculated there the release build has proved. What cli_threads trains test_train does,
# what cli_until, cli_tune and cli_ranks compare or plan test_until, test_tune and test_plan_counts; comparisons as those of
# cli_evidence and cli_compare_identity cli_compare runs; cli_measure and cli_progress wait for clocks, cli_foreign for Python.
asan() {
    seen="^cli_(threads|until|tune|ranks|evidence|evidence_trust|compare_identity|like_run|measure|progress|foreign)\$|$nothing_to_see"
    configure build-asan gcc -DORTHANT_SANITIZE=address,undefined &&
        build build-asan orthant-cli $(programs build-asan -E "$seen") &&
        ORTHANT_QUICK=memory UBSAN_OPTIONS=print_stacktrace=1 tests build-asan -E "$seen"
}

# Without the tests that start no threads, or (test_kernels) do nothing with them, and without those that run what others
# run to look at words and files, or (cli_threads) for bits that test_train compares; of the rest what threads share.
tsan() {
    unshared="^failing\$|^test_($threadless)\$|^cli_($words_and_files)\$|$nothing_to_see"
    configure build-tsan gcc -DORTHANT_SANITIZE=thread &&
        build build-tsan orthant-cli $(programs build-tsan -E "$unshared") &&
        ORTHANT_QUICK=threads TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp" tests build-tsan -E "$unshared"
}

threadless='language|files|tokenizers|statistics|report|explain|options|data|omega|kernels|chance|best|variance|tuning_report|until|writable'
threadless="$threadless|supports|stack|baseline|anytime|extremes|beam|examples|example_rows|example_batches|measures|masking|forms"
threadless="$threadless|families|gguf|blocks|token_models|swap|gpu|targeted|turns|golden_optimizers|encode_settled|numbers|vary|verify_gpu|speed|tune|comparison|budgets|disk|model_files|adjusted|evidence|profile|comparison_numbers|presets|normals"
words_and_files='damage|disk|help|kill|list|tokenizer|wrong_use|attentions|data|overwrite|score|until|distrust|inspect|evidence'
words_and_files="$words_and_files|init|folder|comparison_folder|exit_codes|headline|measures|notes|ids|theory|demo|demo_translate|compare_(identity|refusals)"
words_and_files="$words_and_files|import|answer|order|blocks|text_cache|written(_scores)?|strange_folder|threads|compare|tune|parents|resume|progress|ranks|tasks|verify|evidence_trust|faults"

# Tests that a sanitizer sees nothing in: a browser or a reader of object files is what runs, nothing was installed, or the
# guarded device does what sanitizers do.
nothing_to_see='_dom$|^check_isa$|^cli_(install|documents|document_commands|paper)$|_guarded$'

# The products of plain C, no libzstd, and MPI where it is installed, in one build, optimised by the second compiler.
plain() {
    configure build-plain "$(command -v clang || echo gcc)" -DORTHANT_ONEDNN=OFF -DORTHANT_ZSTD=OFF \
        -DORTHANT_MPI="$(command -v mpicc >/dev/null && echo ON || echo OFF)"
}

# What depends on how a compiler orders and fuses calculations.
no_onednn() {
    calculated='^test_(ops|train|kernels|golden|engine_.*)$'
    plain && build build-plain $(programs build-plain -R "$calculated") &&
        ORTHANT_QUICK=1 tests build-plain -R "$calculated"
}

header() {
    need clang || return 77
    clang++ -x c++ -std=c++11 -fsyntax-only -Wall -Wextra -Wpedantic -Werror include/orthant/orthant.h &&
        clang -x c -std=c11 -fsyntax-only -Wall -Wextra -Wpedantic -Werror include/orthant/orthant.h
}

format() {
    need clang-format || return 77
    find . -path "./build*" -prune -o -name '*.[ch]' -print0 | xargs -0 clang-format --dry-run -Werror
}

layers() {
    tools/check_layers.sh && tools/check_names.sh
}

# Every known bug, one at a time, is found by `orthant verify`.
bugs() {
    ! wanted mpi || { plain && build build-plain orthant-cli && begin_mpi; } || return 1
    configure build gcc && tools/mutants.sh bugs
}

# Several ranks on this machine against one: begun with `bugs`, whose program it is given, where that is wanted too.
mpi() {
    need mpirun && need mpicc || return 77
    begun mpi || { plain && build build-plain orthant-cli && begin_mpi; } || return 1
    outcome mpi
}

begin_mpi() {
    begin mpi sh tests/mpi.sh "$PWD/build-plain/orthant" "$PWD"
}

# Some of the planted mistakes of tests/faults, others with each commit, are noticed by a test.
faults() {
    configure build gcc && tools/mutants.sh patches tests/faults 10
}

arm64() {
    need aarch64-linux-gnu-gcc || return 77
    tools/check_cross.sh aarch64-linux-gnu-gcc
}

# The GPU device's kernels as CUDA C++, which no card is needed for.
cuda() {
    need nvcc || return 77
    tools/cuda_sources.sh
}

fuzz() {
    need clang || return 77
    tools/fuzz.sh 10
}

# The README's first commands on a machine that has nothing: begun before the first stage.
bare() {
    begun bare || begin bare tools/bare.sh
    outcome bare
}

# ---- what goes on next to the stages, in a group of processes that ends with this one

wanted() { # STAGE
    case " $stages " in *" $1 "*) ;; *) return 1 ;; esac
}

begun() { # STAGE
    [ -e "$scratch/$1.group" ]
}

begin() { # STAGE COMMAND...
    name=$1
    shift
    setsid "$@" >"$scratch/$name" 2>&1 </dev/null &
    echo $! >"$scratch/$name.group"
    beside="$beside $!"
}

outcome() { # STAGE: waits for its end, and says what it said
    wait "$(cat "$scratch/$1.group")"
    status=$?
    cat "$scratch/$1"
    reason=$(tail -n 1 "$scratch/$1")
    return $status
}

# ----

# Sets `spent` to the seconds of processor time of this shell and of all that it waited for: not in a shell of its own,
# which has waited for nothing.
count_time() {
    times >"$scratch/times"
    spent=$(tr ms '  ' <"$scratch/times" | awk '{ s += 60 * ($1 + $3) + $2 + $4 } END { printf "%.0f", s }')
}

run() { # STAGE
    stage=$1
    echo "== $stage"
    count_time
    start=$(date +%s) spent_before=$spent before=$((passed + failed + skipped)) counted=0
    "$stage"
    code=$?
    [ $((passed + failed + skipped)) -eq $before ] || counted=1
    case $code in
    0)
        passed=$((passed + 1 - counted)) result=ok
        ;;
    77)
        skipped=$((skipped + 1)) result="skipped, $reason"
        echo "$stage: $reason" >>"$scratch/skipped"
        ;;
    *)
        # The tests that failed are counted already; a stage that failed otherwise, e.g. to build, counts once.
        [ "${wrong:-0}" -gt 0 ] || failed=$((failed + 1))
        broken="$broken $stage" result=FAILED
        ;;
    esac
    count_time
    echo "== $stage: $result, $(($(date +%s) - start)) s, $((spent - spent_before)) s of processor time"
}

stages=${*:-format layers header release clang_warnings asan tsan no_onednn bugs faults arm64 cuda fuzz mpi bare}
! wanted bare || begin bare tools/bare.sh
for each in $stages; do
    wrong=0
    run "$each"
done
[ -z "$broken" ] || echo "failed stages:$broken"
sed 's/^/skipped: /' "$scratch/skipped"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
