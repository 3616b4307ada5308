#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# prove_the_prover.sh ORTHANT SOURCE: the program of a build with ORTHANT_BUGS. Every bug of bugs.def is turned on, one
# at a time, and `orthant verify` must find it: exit code 5. Without a bug the same checks must pass.
set -eu
orthant=$1
table=$2/src/base/bugs.def
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
found=0 missed=0
: >"$work/passed"

# ends_with CODE BUG SPEC
ends_with() {
    status=0
    ORTHANT_BUG=$2 "$orthant" verify "$3" --quick --quiet >"$work/out" 2>"$work/err" || status=$?
    [ $status -eq "$1" ]
}

# passes SPEC: once for each.
passes() {
    grep -qxF "$1" "$work/passed" && return
    ends_with 0 '' "$1" && echo "$1" >>"$work/passed"
}

sed -n 's/^BUG(\([A-Z_]*\), "\([^"]*\)", .*/\1:\2/p' "$table" >"$work/bugs"
while IFS=: read -r bug spec; do
    if ! passes "$spec"; then
        echo "without a bug, verify '$spec' ends with $status:"
        tail -n 5 "$work/out" "$work/err"
        missed=$((missed + 1))
    elif ends_with 5 "$bug" "$spec"; then
        echo "$bug: found by $(sed -n '/^Failures/,$s/^\([a-z]*\): .*/\1/p' "$work/out" | sort -u | tr '\n' ' ')"
        found=$((found + 1))
    else
        echo "$bug: NOT FOUND, verify '$spec' ended with $status"
        missed=$((missed + 1))
    fi
done <"$work/bugs"
echo "$found bugs found, $missed missed"
[ $missed -eq 0 ] && [ "$found" -eq "$(grep -c '^BUG(' "$table")" ] && [ "$found" -eq 43 ]
