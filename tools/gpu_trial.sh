#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a card does, for docs/benchmarks.md: in about four minutes the speed of training and of layers, beside PyTorch
# where a Python with it is given. The card's settings are left as they are.
#
#     tools/gpu_trial.sh PROGRAM FOLDER [PYTHON]          e.g. build/orthant /tmp/trial python3
#
# FOLDER gets the output of each part and a summary. DEVICE (default cuda) names the device.
cd "$(dirname "$0")/.." || exit 1
PROGRAM=$1 FOLDER=$2 PYTHON=$3 DEVICE=${DEVICE:-cuda}
[ -x "$PROGRAM" ] && [ -n "$FOLDER" ] || { sed -n 's/^# \{0,1\}//p' "$0" | sed -n 2,7p; exit 2; }
mkdir -p "$FOLDER"
TEXT=$PWD/data/tinyshakespeare.txt
GPT2="--model.layers 12 --model.width 768 --model.heads 12 --model.context 1024 --model.vocabulary 50257"
NANO="--model.layers 4 --model.width 128 --model.heads 4 --model.context 64 --train.batch 12"

part() { # NAME COMMAND...: its output in the folder, its last lines here
    name=$1
    shift
    "$@" >"$FOLDER/$name.txt" 2>&1 || echo "$name: exit status $?"
    echo "== $name"
    tail -"${LINES_SHOWN:-4}" "$FOLDER/$name.txt"
}
ours() { name=$1; shift; part "$name" "$PROGRAM" "$@" --device "$DEVICE"; }
peer() { name=$1; shift; [ -z "$PYTHON" ] || part "$name" "$PYTHON" bench/pytorch_peer.py "$@" --device cuda; }
train() { # NAME STEPS OPTION...
    name=$1 steps=$2
    shift 2
    rm -rf "$FOLDER/run-$name"
    ours "$name" train --data.train "$TEXT" --train.steps "$steps" --train.eval_every 0 --out "$FOLDER/run-$name" "$@"
}

command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,memory.total --format=csv
ours doctor doctor
LINES_SHOWN=30 ours gpt2-step bench --step --data.train "$TEXT" $GPT2 --train.batch 16 --train.precision bf16
peer gpt2-torch gpt2 --batch 16 --precision bf16 --steps 10
peer gpt2-torch-compiled gpt2 --batch 16 --precision bf16 --steps 10 --compile
LINES_SHOWN=40 ours layers bench --precision bf16 --width 512 --heads 8 --tokens 65536 --lengths 1024,4096,16384,65536 \
    --attention softmax --attention "local(window=256)" --attention linear --attention retention --attention pattern
peer layers-torch layer --precision bf16 --tokens 65536 --lengths 1024,4096,16384,65536
train nano-f32 1000 $NANO
peer nano-torch nanogpt --steps 200
start=$(date +%s%N)
ours nano-eight compare --data.train "$TEXT" --attention softmax --attention "local(window=16)" --compare.seeds 4 \
    --compare.jobs 8 --compare.uniform_baseline false --train.steps 1000 $NANO --out "$FOLDER/compare"
echo "eight runs in one comparison: $((($(date +%s%N) - start) / 1000000)) ms"
