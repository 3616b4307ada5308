#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_names.sh [BUILD]: names tell what they are of. In src no two functions, structs, unions, enums or typedefs have one name, and no
# function has the name of one of the C library. With a build, nothing uses a symbol of a room that comes after its own in
# the order of tools/check_layers.sh. Source is taken to be laid out by clang-format.
set -eu
cd "$(dirname "$0")/.."
bad=$(mktemp) names=$(mktemp) library=$(mktemp)
trap 'rm -f "$bad" "$names" "$library"' EXIT

# "KIND NAME FILE": functions begin in the first column and are followed by a line "{"; names that macros make are not seen.
# Sources that are alike on purpose: templates of kernels, included once for each precision and instruction set, and
# cluster/alone.c, tokenizers/zstd_missing.c and serve/http_missing.c, which builds without MPI, libzstd or libmicrohttpd compile instead of cluster/mpi.c,
# tokenizers/zstd_file.c and serve/http_server.c with its parts.
find src include -name '*.[ch]' ! -path 'src/kernels/*.h' ! -path src/cluster/alone.c \
    ! -name zstd_missing.c ! -name http_missing.c | LC_ALL=C sort | xargs awk '
    FNR == 1 { head = "" }
    /^[a-z].*\(/ && !/;$/ { head = $0 }
    /^\{$/ && head != "" {
        name = head
        sub(/\(.*/, "", name)
        sub(/.*[ *]/, "", name)
        if (name ~ /^[A-Za-z_][A-Za-z0-9_]*$/ && head !~ /^(struct|enum|union) [a-z_]* *\{/) print "function", name, FILENAME
        head = ""
    }
    /^[ \t]/ && !/\)$/ && !/,$/ { head = /^[ \t].*[,)]$/ ? head : "" }
    /^(typedef )?(struct|union|enum) [a-z_0-9]+ \{/ {
        for (i = 1; i <= NF; i++) if ($i == "{") print "type", $(i - 1), FILENAME
    }
    /^typedef .*;$/ && !/\{/ { name = $NF; sub(/;/, "", name); if (name !~ /[()]/) print "typedef", name, FILENAME }
' >"$names"

# typedef struct oa_x oa_x is one name for one thing.
awk '$1 != "typedef" { print $2 }' "$names" | sort | uniq -d | while read -r name; do
    echo "$name: $(awk -v n="$name" '$1 != "typedef" && $2 == n { print $3 }' "$names" | tr '\n' ' ')"
done >>"$bad"

nm -D --defined-only "$(${CC:-cc} -print-file-name=libc.so.6)" "$(${CC:-cc} -print-file-name=libm.so.6)" 2>/dev/null |
    sed -n 's/.* [TWi] \([a-z][a-z0-9_]*\)@.*/\1/p' | sort -u >"$library"
awk '$1 == "function" { print $2 }' "$names" | sort -u | comm -12 - "$library" | while read -r name; do
    echo "$name: the C library has a function of this name, and so has $(awk -v n="$name" '$2 == n { print $3 }' "$names")"
done >>"$bad"

# ---- symbols

[ $# -eq 0 ] || {
    order=$(sed -n '/^order="/,/"$/p' tools/check_layers.sh | tr '\n' ' ' | sed 's/.*order="\([^"]*\)".*/\1/')
    find src -name '*.c' | while read -r file; do
        room=${file#src/}
        echo "file $(basename "$file").o ${room%%/*}"
    done >"$names"
    nm -g "$1"/liborthant.a | cat "$names" - | awk -v order="$order" '
        BEGIN { n = split(order, rooms); for (i = 1; i <= n; i++) place[rooms[i]] = i }
        $1 == "file" { room[$2] = $3; next }
        NF == 1 { object = $1; sub(/:$/, "", object) }
        NF == 3 && $2 ~ /[TDRBV]/ { home[$3] = room[object] }
        NF == 2 && $1 == "U" && $2 ~ /^(oa|orthant)_/ { used[$2 " " object] = 1 }
        END {
            for (u in used) {
                split(u, part, " ")
                if (part[1] in home && place[home[part[1]]] > place[room[part[2]]])
                    print part[2] " uses " part[1] ", which is of src/" home[part[1]]
            }
        }' | LC_ALL=C sort -u >>"$bad"
}

[ -s "$bad" ] || { echo "names: clean"; exit 0; }
cat "$bad"
exit 1
