#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check_isa.sh LIBRARY: no instruction newer than a file's name says may be in its object. One binary runs on every
# x86-64, so AVX belongs into *_avx2.c, *_avx512*.c and *_amx.c only, AVX-512 into the last two, tiles into *_amx.c; and
# those files may define no function for others but oa_…, since the linker could take an inline function from them for
# everybody.
# Exit status: 0 clean, 1 not, 77 cannot look (no objdump, another processor).
library=$1
command -v objdump >/dev/null && command -v nm >/dev/null || { echo "objdump and nm are not installed"; exit 77; }
objdump -f "$library" 2>/dev/null | grep -q x86-64 || { echo "$library is not for x86-64"; exit 77; }

instructions() {
    objdump -d --no-show-raw-insn "$library" | awk -F '\t' '
        /file format/ { split($0, part, ":"); object = part[1]; next }
        /^[0-9a-f]+ </ { label = $0; next }
        NF < 2 || object ~ /_amx\.c\.o$/ { next }
        /%tmm|tilecfg|tilerelease/ { print object ": " label " " $2; if (++found == 20) exit }
        object ~ /_avx512[a-z0-9]*\.c\.o$/ { next }
        {
            op = $2; sub(/ .*/, "", op)
            avx512 = $2 ~ /%zmm|%k[0-7]|%[xy]mm(1[6-9]|2[0-9]|3[01])/
            avx = op ~ /^v/ || $2 ~ /%ymm/ || op ~ /^(mulx|rorx|sarx|shlx|shrx|pdep|pext|bzhi|andn|bextr|bls.*|lzcnt|popcnt)$/
        }
        avx512 || (avx && object !~ /_avx2\.c\.o$/) { print object ": " label " " $2; if (++found == 20) exit }
    '
}

symbols() {
    nm --defined-only --extern-only "$library" 2>/dev/null | awk '
        /\.o:$/ { object = $0; next }
        object ~ /_avx|_amx/ && NF == 3 && $3 !~ /^oa_/ && $3 !~ /^__(asan|odr_asan|ubsan|tsan)/ { print object " " $3 }
    '
}

found=$(instructions; symbols)
[ -z "$found" ] && { echo "clean: $library"; exit 0; }
echo "newer than the name of the file allows:"
echo "$found"
exit 1
