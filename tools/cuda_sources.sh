#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles the GPU device's kernels as CUDA C++ with nvcc, for every precision and several kinds of card, on a machine
# without one. Exit status 77 where there is no nvcc.
#
#     tools/cuda_sources.sh [PROGRAM...]          all of src/device/gpu/gpu_kernels.def, or those named
#
# Down to PTX, which takes a minute; FORM=-cubin goes on to machine code, which takes half an hour.
set -e
cd "$(dirname "$0")/.."
command -v nvcc >/dev/null || { echo "no nvcc here: the CUDA source is not compiled"; exit 77; }
CARDS=${CARDS:-compute_80 compute_90 compute_100}
FORM=${FORM:--ptx}
FOLDER=$(mktemp -d)
trap 'rm -rf "$FOLDER"' EXIT
programs=${*:-$(sed -n 's/^OA_GPU_PROGRAM(\(.*\))$/\1/p' src/device/gpu/gpu_kernels.def)}
for program in $programs; do
    for precision in ACT_F32 ACT_BF16 REAL_F64; do
        { cat src/device/gpu/cuda_language.cl; echo "#define $precision"; cat src/device/gpu/numbers.cl
          cat "src/device/gpu/$program.cl"; } > "$FOLDER/$program.cu"
        for card in $CARDS; do
            nvcc -diag-suppress 177 -arch="$card" $FORM -o "$FOLDER/out" "$FOLDER/$program.cu"
        done
    done
    echo "$program.cl: f32, bf16, f64 for $CARDS"
done
