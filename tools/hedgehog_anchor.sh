#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A published claim about attention transfer at a scale of our own (docs/distil.md): a model whose softmax attention is
# replaced by Hedgehog's recovers more of what the exchange lost than one with linear attention of elu(x) + 1 (Zhang et
# al. 2024, arXiv 2402.04347), after the same steps on the same rows.
#
#     tools/hedgehog_anchor.sh PROGRAM TEACHER TRAIN VALID OUT [OPTION...]     options are those of `orthant distil`
#
# One distillation for each student and seed, then `orthant judge` of their losses, after the first stage and at the
# end. Those that have ended are not repeated. STUDENTS and SEEDS in the environment: attentions, separated by blanks,
# the baseline first, and seeds.
set -eu
[ $# -ge 5 ] || { sed -n '7,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 teacher=$2 train=$3 valid=$4 out=$5
shift 5
students=${STUDENTS:-linear hedgehog} seeds=${SEEDS:-1 2 3}
mkdir -p "$out"

# number FILE MEMBER KEY: of distil.json, where MEMBER is "" or an object in it.
number() {
    tr -d '\n' <"$1" | sed "s/.*\"$2\": *{\\([^}]*\\)}.*/\\1/" | sed "s/.*\"$3\": *\\([^,} ]*\\).*/\\1/"
}

for stage in after_attention after_output; do
    echo "attention,seed,loss" >"$out/$stage.csv"
done
printf '%-12s %4s %10s %22s %22s\n' student seed exchanged after_attention after_output
for student in $students; do
    for seed in $seeds; do
        run=$out/$(echo "$student" | tr -c 'a-z0-9\n' -)-$seed
        [ -f "$run/distil.json" ] || "$program" distil --teacher "$teacher" --student "$student" --data.train "$train" \
            --data.valid "$valid" --train.seed "$seed" --out "$run" --quiet "$@" >/dev/null
        printf '%-12s %4s %10.4f' "$student" "$seed" "$(number "$run/distil.json" '' exchanged_loss)"
        for stage in after_attention after_output; do
            loss=$(number "$run/distil.json" $stage loss)
            echo "$student,$seed,$loss" >>"$out/$stage.csv"
            printf ' %10.4f (%7.2f %%)' "$loss" "$(echo "100 * $(number "$run/distil.json" $stage recovered)" | bc -l)"
        done
        echo
    done
done
for stage in after_attention after_output; do
    echo
    echo "$stage"
    "$program" judge "$out/$stage.csv"
done
