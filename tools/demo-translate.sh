#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# demo-translate.sh ORTHANT OUT [OPTION]...: a comparison between two attentions on short German and English sentences, softmax
# everywhere against fixed patterns in the encoder (Raganato et al. 2020: seven of eight heads), by BLEU of a beam search;
# then some sentences by the better one. Further options go to the comparison. OUT is replaced, and below the source folder
# unless it begins with /.
set -eu
cd "$(dirname "$0")/.."
orthant=$1
out=$2
shift 2
rm -rf "$out"
start=$(date +%s)
"$orthant" compare --config data/translate.yaml --out "$out" --attention softmax --attention "encoder: raganato" "$@"
echo "time     $(($(date +%s) - start)) s"

# The first of the order, which counts members from 0; their folders count from 01.
first=$(sed -n 's/^ *"order": *\[\([0-9]*\).*/\1/p' "$out/results.json")
run=$out/runs/attention-$(printf %02d $((first + 1)))/seed-1
head -n 12 data/tatoeba/test.de >"$out/sentences.de"
head -n 12 data/tatoeba/test.en >"$out/sentences.en"
"$orthant" translate "$run" --quiet <"$out/sentences.de" >"$out/translated.en"
echo
echo "Sentences of the test, which the model has not seen: what it writes, and in brackets what a person wrote."
paste -d '\t' "$out/sentences.de" "$out/translated.en" "$out/sentences.en" | awk -F '\t' '{ printf "  %s\n    %s  (%s)\n", $1, $2, $3 }'
echo
echo "Your own, a sentence a line, short and plain ones as these:"
echo "  echo \"Ich habe keine Zeit.\" | $orthant translate $run"
