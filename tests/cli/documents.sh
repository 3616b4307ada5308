# SPDX-License-Identifier: Apache-2.0
# Documents and comments name only what exists: source files, documents, commands and options. docs/history
# and the lists of faults are left out.
. "$2/tests/cli/common"

cd "$source"
sources=$(find src include tests bench examples -name '*.[ch]' -o -name '*.def')
documents=$(find . -maxdepth 2 -name '*.md' -not -path './build*' -not -path './docs/headline.md')
cd "$work"

# Names of files end as ours do. Names of the system's headers, of those of examples and of a kind (NAME, *) are none.
find "$source" -path "$source/build*" -prune -o -type f -print | sed 's,.*/,,' | sort -u >there
(cd "$source" && sed -e '/^# *include/d' -e 's/<[a-z/_]*\.h>//g' -e 's/"transformer\.h\.//g' $sources $documents) |
    grep -oE '[A-Za-z0-9_/.*-]*[A-Za-z0-9_*]\.(c|h|def|md)\b' | sed 's,.*/,,' | sort -u |
    grep -vE '^(|.*[*A-Z].*|..?\.[ch]|(one|two|six|zero|own|out|up|name|file|test_add|test_wrong)\.[ch])$' |
    grep -vE '^(llm\.c|dnnl.*\.h|jansson.*\.h|(utf8proc|pcre2|yaml|zlib|zconf|sha2|sha256|asan_interface|libc-version)\.h)$' |
    grep -vE '^(report|before|elsewhere|moved|page|starts|stopped|table|timed|whole)\.md$' >named
comm -13 there named >missing
[ ! -s missing ] || fail "documents or comments name files that are not there: $(tr '\n' ' ' <missing)"
[ "$(wc -l <named)" -ge 300 ] || fail "only $(wc -l <named) names of files were found"

# Commands and options, where a line of a document is code: `orthant COMMAND ... --option`.
expect 0 --help
sed -n '/^Commands/,/^Options/s/^  \([a-z]*\) .*/\1/p' out >commands
echo man >>commands
for command in $(cat commands); do
    expect 0 "$command" --help
    grep -oE -e '--[a-z][a-z_.-]*' out
done | sort -u >options
(cd "$source" && grep -ohE '(^|[`/ ])orthant [a-z]+( [^`|#]*)?' $documents) >lines
sed -n 's,.*orthant \([a-z]*\).*,\1,p' lines | sort -u >words
grep -vxF -f commands words >unknown || true
[ ! -s unknown ] || fail "documents name commands that do not exist: $(tr '\n' ' ' <unknown)"
# Options of other programs are in lines with the names of these.
(cd "$source" && grep -hE -e '--[a-z]' $documents) |
    grep -vE 'cmake|ctest|pkg-config|mpirun|srun|faults\.sh|fuzz|chromium|perf |git |python|pip |llama|valgrind|make |mmdebstrap|sacrebleu|apt|SBATCH|--signal|Slurm|--oversubscribe|_peer|--compile|tensorboard|lm_eval|mpi_hosts|--mpi=|--compute-type' |
    grep -oE -e '(^|[`" (])--[a-z][a-z_-]*(\.[a-z_]+)?' | grep -oE -e '--.*' | sort -u >used
grep -vxF -f options used >unknown || true
[ ! -s unknown ] || fail "documents name options that do not exist: $(tr '\n' ' ' <unknown)"
[ "$(wc -l <used)" -ge 50 ] || fail "only $(wc -l <used) options were found in documents"

# Lengths: what is longer is split, or moved to docs/history. attention.md and evidence.md are written by the program.
words() {
    wc -w <"$source/$1"
}
[ "$(words README.md)" -le 1500 ] || fail "README.md has $(words README.md) words, more than 1500"
[ "$(words docs/architecture.md)" -le 2000 ] || fail "docs/architecture.md has $(words docs/architecture.md) words, more than 2000"
for document in $(cd "$source" && find . -path './build*' -prune -o -path './docs/*.md' -print); do
    case $document in */attention.md | */evidence.md | */headline.md) continue ;; esac
    [ "$(wc -l <"$source/$document")" -le 300 ] || fail "$document has more than 300 lines"
    [ "$document" = ./docs/README.md ] || grep -q "$(basename "$document")" "$source/docs/README.md" ||
        fail "docs/README.md does not name $document"
done
