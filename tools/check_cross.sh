#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_cross.sh COMPILER: does the source compile for another processor? Only the files that are meant for every
# processor, only as far as the compiler's front end: the libraries need not exist for it, their headers are ours (those of
# MPI are made for one processor).
set -eu
cd "$(dirname "$0")/.."
compiler=$1
headers=$(mktemp -d)
trap 'rm -rf "$headers"' EXIT
for name in jansson.h jansson_config.h yaml.h pcre2.h utf8proc.h zlib.h zconf.h sha256.h sha2.h; do
    found=$(find /usr/include /usr/local/include -name "$name" -not -path '*/node/*' 2>/dev/null | head -n 1)
    [ -n "$found" ] && ln -s "$found" "$headers/$name"
done
# What the build defines for the files; any folder will do.
data='-DORTHANT_DATA="/usr/share/orthant"'
status=0
for file in $(find src -name '*.c' -not -name '*_avx*' -not -name '*_amx*' -not -name '*_onednn.c' -not -path src/cluster/mpi.c); do
    "$compiler" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only "$data" -Iinclude -Isrc -isystem "$headers" "$file" ||
        status=1
done
exit $status
