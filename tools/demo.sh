#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# demo.sh ORTHANT OUT [OPTION]...: two comparisons, five seeds each, with reports in OUT/recall and OUT/characters; the options are
# added to both. First: what has to be learned to look up a value where the places of keys and values vary? Frozen orthogonal
# heads next to one that reads the previous token, random maps in their place, learned and frozen heads alone
# (data/demo-recall.yaml). Then five attentions on tiny Shakespeare (data/demo.yaml). A frozen random map (fixed-random) is not
# among them: with its usual initial values it is within a percent of the uniform baseline here.
# Run again it makes the same data, continues or reports the comparisons in OUT, and refuses those of another version or of other
# options.
set -eu
cd "$(dirname "$0")/.."
orthant=$1
folder=$2
shift 2
mkdir -p "$folder"
start=$(date +%s)
"$orthant" data scattered-recall --min-length 8 --max-length 12 --pairs 3 --alphabet 6 --values 6 --train 20000 --valid 1000 \
    --out "$folder/data" --quiet
"$orthant" compare --config data/demo-recall.yaml --data.train "$folder/data/train.tsv" --data.valid "$folder/data/valid.tsv" \
    --out "$folder/recall" "$@"
"$orthant" compare --config data/demo.yaml --out "$folder/characters" "$@"
echo "time     $(($(date +%s) - start)) s"
