#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A foreign attention for 'orthant verify --foreign' (docs/foreign.md): a layer of this program, whose files of tensors
# are those of 'orthant attend'.
while [ $# -gt 0 ]; do
    header=$(head -c 400 "$1" | tr -d '\0')
    case $header in *'"F64"'*) precision=f64 ;; *) precision=f32 ;; esac
    case $header in *'"causal":"true"'*) causal=--causal ;; *) causal= ;; esac
    case $header in *'"mode":"steps"'*) steps=--steps ;; *) steps= ;; esac
    orthant attend softmax --heads 2 --precision $precision $causal $steps --quiet --in "$1" --out "$2" || exit
    shift 2
done
