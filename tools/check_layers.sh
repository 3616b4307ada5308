#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_layers.sh: a room of src (a folder with its own files) includes its own headers and those of rooms above it only
# (docs/architecture.md), and no header that says "Private to" of another room; the program includes the public header and
# api/commands.h, the examples only the public header; what the CPU device keeps is read in src/device only; file names
# are unique.
set -eu
cd "$(dirname "$0")/.."
order="base statistics print synthetic kernels device device/cpu device/gpu device/wrappers cluster ops tokenizers data attention attention/language attention/supports attention/projections
attention/common attention/mechanisms attention/layer explain attend model families inspect decode metrics tasks train compare import report evidence theory verify
serve api cli"

bad=$(mktemp)
trap 'rm -f "$bad"' EXIT

place() {
    n=0
    for room in $order; do
        n=$((n + 1))
        [ "$room" = "$1" ] && echo $n && return
    done
    echo 0
}

included() { # FILE: what it includes in quotes
    sed -n 's/^[ \t]*#[ \t]*include[ \t]*"\([^"]*\)".*/\1/p' "$1"
}

private() { # HEADER
    head -n 6 "src/$1" | grep -q 'Private to'
}

check() { # FILE ROOM
    included "$1" | while read -r header; do
        case "$header" in
        orthant/orthant.h) ;;
        api/commands.h) [ "$2" = cli ] || [ "$2" = api ] || echo "$1 includes $header" ;;
        */*)
            room=$(dirname "$header")
            there=$(place "$room")
            if [ "$2" = cli ] || [ "$2" = examples ] || [ "$there" = 0 ] || [ "$there" -gt "$(place "$2")" ]; then
                echo "$1 includes $header"
            elif [ "$room" != "$2" ] && private "$header"; then
                echo "$1 includes $header, which is private to src/$room"
            fi
            ;;
        *) [ "$2" != examples ] && [ -f "$(dirname "$1")/$header" ] || echo "$1 includes $header" ;;
        esac
    done >>"$bad"
}

# What the CPU keeps is the business of src/device; what is above it asks for d->numbers.
grep -rnE '(device|\<d)->cpu\>' src --include='*.[ch]' | grep -v '^src/device/' |
    sed 's/:[^:]*$/: reads what only the CPU has/' >>"$bad" || true

for folder in $(find src -mindepth 1 -type d | sort); do
    room=${folder#src/}
    [ "$(place "$room")" != 0 ] || echo "$folder is not in the list of rooms" >>"$bad"
    for file in "$folder"/*.[ch] "$folder"/*.def; do
        [ ! -f "$file" ] || check "$file" "$room"
    done
done
for file in examples/*.c; do
    [ ! -f "$file" ] || check "$file" examples
done
for file in include/orthant/*; do
    [ "$file" = include/orthant/orthant.h ] || echo "$file: there is one public header" >>"$bad"
done
find src tests examples tools bench include -name '*.[ch]' 2>/dev/null | sed 's|.*/||' | sort | uniq -d |
    sed 's/$/: two files have this name/' >>"$bad"

[ -s "$bad" ] || { echo "layers: clean"; exit 0; }
cat "$bad"
exit 1
