# SPDX-License-Identifier: Apache-2.0
# failing.sh ORTHANT SOURCE FAILING_PROGRAM: calls that fail, of each command a sample of the places that make them. Whoever
# has the time sets ORTHANT_FAILURES=places (all of them; twenty minutes) or =all (every call).
. "$2/tests/cli/common"
program=$3
text 6000
awk 'BEGIN { srand(3); for (i = 0; i < 60; i++) { s = sprintf("%c%c %c", 97 + int(rand() * 5), 97 + int(rand() * 5), 97 + int(rand() * 5));
    print s "\t" toupper(s) } }' >pairs.tsv
awk 'BEGIN { srand(5); for (i = 0; i < 40; i++) print (i % 2 ? "good" : "bad") "\t" "a word " i " " int(rand() * 9) }' >rows.tsv
cut -f 1 pairs.tsv | head -n 2 >lines
cut -f 2 pairs.tsv >ref
sed 's/A/B/' ref >hyp
head -n 60 "$source/data/runs/optimizers.csv" >runs.csv
model="--threads 1 --isa ref --model.layers 1 --model.width 16 --model.heads 2 --model.context 16 --train.batch 2"
model="$model --train.warmup 1 --data.tokenizer char --quiet"
expect 0 train $model --data.train text.txt --train.steps 2 --out lm
expect 0 train $model --task translate --data.train pairs.tsv --train.steps 2 --out pairs
expect 0 train $model --task classify --data.train rows.tsv --train.steps 2 --out classes
expect 0 train $model --data.train text.txt --train.steps 4 --train.checkpoint_every 2 --out half
rm half/model.safetensors half/checkpoint-*4.safetensors
expect 0 tokenizer train --kind bpe:270 --data text.txt --out bpe.json

case ${ORTHANT_FAILURES:-} in
places) unset ORTHANT_FAILURES; share=1000 ;;
*) case $quick in memory | threads) share=1 ;; *) share=4 ;; esac ;;
esac

failing() { # PLACES KIND WORD...: the variables RESULT, FROM, INPUT, AGAIN and KEEPS are those of the program
    PLACES=$(($1 * share))
    export PLACES
    shift
    "$program" "$@" >said || { head -n 60 said; fail "$*"; }
    tail -n 1 said
}

failing 6 memory bpe.out -- tokenizer train --kind bpe:270 --data text.txt --out bpe.out --threads 1
failing 4 memory -- tokenizer encode bpe.json --data text.txt --threads 1
RESULT=run/model.safetensors AGAIN=--resume failing 8 memory run -- train $model --data.train text.txt --train.steps 2 --out run
RESULT=run/model.safetensors FROM=half failing 4 memory run -- \
    train $model --data.train text.txt --train.steps 4 --train.checkpoint_every 2 --resume --out run
RESULT=both/runs/attention-02/seed-2/model.safetensors failing 3 memory both -- compare $model --data.train text.txt \
    --train.steps 2 --seeds 2 --attention softmax --attention random --out both
failing 6 memory -- eval pairs --threads 1 --isa ref
INPUT=lines failing 6 memory -- translate pairs --threads 1 --isa ref --quiet
INPUT=lines failing 4 memory -- classify classes --threads 1 --isa ref --quiet
failing 5 memory -- generate lm --prompt to --tokens 3 --threads 1 --isa ref
RESULT=nothing failing 3 memory -- verify 'local(window=2)' --quick --threads 1 --isa ref --quiet
failing 5 memory -- score bleu --ref ref --hyp hyp --threads 1
RESULT=judged/results.json failing 5 memory judged -- judge runs.csv --out judged --threads 1 --quiet
KEEPS=1 RESULT=corpus/corpus.json failing 5 memory corpus -- \
    data pack --data text.txt --documents lines --tokenizer bpe.json --out corpus --threads 1 --quiet
KEEPS=1 RESULT=once/documents.jsonl failing 5 memory once -- \
    data dedup --data text.txt --documents lines --out once --threads 1 --quiet
golden=$source/tests/golden-hf
KEEPS=1 RESULT=run/model.safetensors failing 5 memory run -- import "$golden/mistral" --out run --threads 1 --isa ref
KEEPS=1 RESULT=run/model.safetensors failing 6 memory run -- import "$golden/gguf/smollm2.gguf" --out run --threads 1 --isa ref
KEEPS=1 RESULT=hf/model.safetensors failing 5 memory hf -- export lm --out hf --threads 1 --isa ref

# Reads of files and folders.
KEEPS=1 RESULT=run/model.safetensors failing 3 reads run -- import "$golden/gguf/smollm2.gguf" --out run --threads 1 --isa ref
KEEPS=1 RESULT=corpus/corpus.json failing 3 reads corpus -- \
    data pack --data text.txt --documents lines --tokenizer bpe.json --out corpus --threads 1 --quiet
RESULT=run/model.safetensors FROM=half failing 4 reads run -- \
    train $model --data.train text.txt --train.steps 4 --train.checkpoint_every 2 --resume --out run
failing 3 reads -- eval pairs --threads 1
INPUT=lines failing 3 reads -- classify classes --threads 1 --quiet
failing 3 reads bpe.out -- tokenizer train --kind bpe:270 --data text.txt --out bpe.out --threads 1
failing 3 reads -- score bleu --ref ref --hyp hyp --threads 1
failing 3 reads -- judge runs.csv --threads 1 --quiet
