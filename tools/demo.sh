#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# demo.sh ORTHANT: a comparison of seven attentions and the uniform baseline on tiny Shakespeare, five seeds each. A frozen
# random map (fixed-random) is not among them: with its usual initial values it is within a percent of the uniform baseline here.
set -eu
cd "$(dirname "$0")/.."
orthant=$1
folder=build/demo
rm -rf "$folder"
start=$(date +%s)
"$orthant" compare --config data/demo.yaml --out "$folder" --baseline softmax \
    --attention "softmax" \
    --attention "orthogonal" \
    --attention "random" \
    --attention "dense" \
    --attention "random + softmax" \
    --attention "pattern(previous):1 | softmax:3" \
    --attention "local(window=16)"
echo "time     $(($(date +%s) - start)) s"
