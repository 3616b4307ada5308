#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_layers.sh: a folder of src includes its own headers and those of folders above it only (docs/architecture.md);
# the program and the examples include the public header and nothing else of ours; file names are unique.
set -eu
cd "$(dirname "$0")/.."
order="base kernels device ops data attention model decode metrics train report theory verify api cli"
bad=$(mktemp)
trap 'rm -f "$bad"' EXIT

place() {
    n=0
    for folder in $order; do
        n=$((n + 1))
        [ "$folder" = "$1" ] && echo $n && return
    done
    echo 0
}

included() { # FILE: what it includes in quotes
    sed -n 's/^[ \t]*#[ \t]*include[ \t]*"\([^"]*\)".*/\1/p' "$1"
}

check() { # FILE FOLDER
    included "$1" | while read -r header; do
        case "$header" in
        orthant/orthant.h) ;;
        */*)
            there=$(place "${header%%/*}")
            if [ "$2" = cli ] || [ "$2" = examples ] || [ "$there" = 0 ] || [ "$there" -gt "$(place "$2")" ]; then
                echo "$1 includes $header"
            fi
            ;;
        *) [ "$2" != examples ] && [ -f "$(dirname "$1")/$header" ] || echo "$1 includes $header" ;;
        esac
    done >>"$bad"
}

for folder in src/*/; do
    name=$(basename "$folder")
    [ "$(place "$name")" != 0 ] || echo "src/$name is not in the list of folders" >>"$bad"
    for file in "$folder"*.[ch] "$folder"*.def; do
        [ -f "$file" ] && check "$file" "$name"
    done
done
for file in examples/*.c; do
    [ -f "$file" ] && check "$file" examples
done
for file in include/orthant/*; do
    [ "$file" = include/orthant/orthant.h ] || echo "$file: there is one public header" >>"$bad"
done
find src tests examples tools bench include -name '*.[ch]' 2>/dev/null | sed 's|.*/||' | sort | uniq -d |
    sed 's/$/: two files have this name/' >>"$bad"

[ -s "$bad" ] || { echo "layers: clean"; exit 0; }
cat "$bad"
exit 1
