# SPDX-License-Identifier: Apache-2.0
# Exit codes, the same for every command: 0 done, 1 failed, 2 used wrongly, 4 diverged, 5 disproved, 128 + signal.
. "$2/tests/cli/common"
text 20000
small="--config tiny.yaml --train.steps 2 --train.warmup 1 --quiet"
golden=$source/tests/golden/softmax-causal.safetensors

# Every command of the table is tried below with what it should do, with a word too many and with an unknown option.
done_well() { # WORD...
    expect 0 "$@"
    tried="${tried:-} $1"
    expect 2 "$@" --no-such-option
    expect 0 "$1" --help
}
done_well train $small --out run
done_well compare $small --seeds 2 --attention softmax --attention random --out comparison
done_well plan $small
done_well eval run
done_well generate run --tokens 3
for i in 1 2 3 4 5 6 7 8 9 10; do echo "word $i"; done >pairs.txt
expect 0 train --task translate --data.train pairs.txt,pairs.txt --data.tokenizer byte --model.layers 1 --model.width 8 \
    --model.heads 2 --model.context 16 --train.batch 2 --train.steps 2 --train.warmup 1 --decode.beam 1 --out written --quiet
done_well translate written
sed 's/^/a\t/; 2s/a/b/' pairs.txt >labelled.tsv
expect 0 train --task classify --data.train labelled.tsv --data.tokenizer byte --model.layers 1 --model.width 8 \
    --model.heads 2 --model.context 16 --train.batch 2 --train.steps 2 --train.warmup 1 --data.valid_fraction 0 --out labelled --quiet
done_well classify labelled
done_well inspect run --text To --quiet
done_well score bleu --ref text.txt --hyp text.txt
done_well tokenizer train --kind byte --data text.txt --out t.json
done_well data copy --train 5 --valid 5 --test 5 --quiet --out copies
done_well verify --quick 'pattern(previous)' --quiet
done_well bench --attention softmax --lengths 16 --tokens 16 --width 8 --heads 2 --quiet
cp -r "$source/experiments" experiments
done_well evidence --list
done_well list
done_well explain softmax
done_well judge "$source/data/runs/speedrun.csv" --metric loss
done_well theory --model.width 16 --model.heads 2 --quiet
done_well attend softmax --in "$golden" --out y.safetensors --causal
model=$source/tests/golden-hf/gpt2
expect 0 import "$model" --out imported
tried="${tried:-} import export swap" # each makes a folder that it does not make twice
expect 0 export imported --out exported
expect 0 swap imported --attention "softmax:1 | local(window=4)" --out swapped
for command in "import $model --out x" "export imported --out x" "swap imported --attention softmax --out x"; do
    expect 2 $command --no-such-option
    expect 0 ${command%% *} --help
done
done_well forward imported --in "$model/expect.safetensors" --out logits.safetensors
done_well distil $small --teacher run --student local --distil.attention_steps 2 --out taught
done_well doctor
expect 2 serve run --no-such-option
expect 0 serve --help
tried="$tried serve" # it runs until it is stopped: cli_serve
done_well completion bash
done_well man train
"$orthant" --help | sed -n '/^Commands/,/^Options/s/^  \([a-z]*\) .*/\1/p' >commands
for command in $(cat commands); do
    case " $tried " in *" $command "*) ;; *) fail "$command was not tried" ;; esac
    [ "$command" = judge ] || [ "$command" = serve ] || # their words are files and runs
        expect 2 "$command" some words that nobody expects
done

for command in eval generate "inspect --text To" translate classify; do
    expect 1 ${command%% *} comparison $(echo "$command" | cut -s -d ' ' -f 2-)
    says err 'comparison is a comparison; give one of its runs, a folder in comparison/runs$'
done
expect 0 eval comparison/runs/attention-01/seed-1
expect 2 eval run --unknown-labels refuse
says err 'unknown_labels has no effect'

# What fails at a file: 1.
for words in "train $small --data.train nowhere.txt --out x" \
    "compare $small --data.train nowhere.txt --out x" "plan $small --data.train nowhere.txt" \
    "inspect nowhere --text To" "translate nowhere" "classify nowhere" "eval nowhere" "eval run --data nowhere.txt" "generate nowhere" "generate run --prompt-file nowhere.txt" \
    "tokenizer encode nowhere.json --text a" "tokenizer encode t.json --data nowhere.txt" \
    "data copy --out text.txt" "tokenizer train --data nowhere.txt --out x" \
    "attend softmax --in nowhere --out x" "import nowhere --out x" "export nowhere --out x" \
    "swap nowhere --attention softmax --out x" "distil $small --teacher nowhere --student local --out x" \
    "forward run --in nowhere --out x" "judge nowhere.csv" "serve nowhere" "man --out no/such/folder"; do
    expect 1 $words
    says err '^orthant: '
    [ ! -s out ] || fail "orthant $words printed results"
done
# What is said wrongly: 2.
for words in "train $small --model.attention sofmax --out x" "plan $small --attention sofmax" "verify sofmax" \
    "explain sofmax" "attend sofmax --in $golden --out x" "bench --attention sofmax --lengths 16" \
    "bench --lengths 0" "generate run --tokens much" "man nothing" "inspect run" "translate run" "classify run" "classify written" "compare $small --seeds 0 --out x" \
    "train $small --model.heads 3 --out x" "plan $small --model.heads 3" "bench --attention softmax --lengths 16 --width 32 --heads 3" "explain softmax --model.width 32 --model.heads 3" \
    "compare $small --model.heads 3 --attention softmax --out x" "theory --model.width 33 --model.heads 2" "import nowhere" "export run" "swap run --out x" "swap run --attention sofmax --out x" "distil $small --teacher run --out x" "distil $small --teacher run --student sofmax --out x" "forward run" "judge" "serve" "judge text.txt --level 1"; do
    expect 2 $words
    says err '^orthant: '
done
expect 4 train $small --train.optimizer sgd --train.lr 1000 --train.clip 0 --train.steps 50 --out diverged
says err 'step '

# Stopped while it works: 128 + the signal.
stopped() { # FILE WORD...: when something is in FILE
    file=$1
    shift
    rm -f out err
    "$orthant" "$@" >out 2>err &
    pid=$!
    await $pid [ -s "$file" ]
    kill -TERM $pid
    status=0
    wait $pid || status=$?
    [ $status -eq 143 ] || fail "orthant $* ended with $status instead of 143"
    [ "$(grep -c '^orthant: .*stopped' err)" = 1 ] || fail "orthant $* does not say once that it was stopped: $(cat err)"
}
stopped err train --config tiny.yaml --train.steps 100000 --out stopped
stopped err distil --config tiny.yaml --teacher run --student local --distil.attention_steps 100000 --out stopped-student
stopped err compare --config tiny.yaml --train.steps 100000 --out stopped-comparison
stopped err verify
stopped err theory
stopped err bench
for copy in $(seq 100); do cat text.txt; done >long.txt
stopped err eval run --data long.txt
says err 'stopped by signal 15 before the whole text was read'
stopped out generate run --tokens 100000000
