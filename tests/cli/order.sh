# SPDX-License-Identifier: Apache-2.0
# The order of training text on packed corpora (data.order, data.mix, data.documents): the same weights with any number of
# threads and after kills, what is printed, what is refused.
. "$2/tests/cli/common"
text 30000
expect 0 tokenizer train --kind bpe:300 --data text.txt --out tokenizer.json --quiet
expect 0 data pack --data text.txt --documents lines --tokenizer tokenizer.json --out wiki --shard-tokens 3000 --quiet
head -c 9000 text.txt >books.txt
expect 0 data pack --data books.txt --documents lines --tokenizer tokenizer.json --out books --quiet
steps=60
[ -z "$slow" ] || steps=20
tiny="--model.layers 1 --model.width 32 --model.heads 2 --model.context 24 --train.batch 3 --train.accumulate 2
    --train.warmup 5 --train.steps $steps --train.checkpoint_every 1 --train.eval_every 20 --quiet"

kinds() { # the options of the number $1; fails after the last
    case $1 in
    1) echo "--data.train wiki" ;;
    2) echo "--data.train wiki --data.order epoch" ;;
    3) echo "--data.train wiki --data.documents separate" ;;
    4) echo "--data.train wiki --data.order epoch --data.documents separate" ;;
    5) echo "--data.train wiki,books --data.order epoch --data.mix wiki:0.7,books:0.3" ;;
    6) echo "--data.train wiki,books --data.order epoch --data.mix wiki:2,books:1 --data.documents separate" ;;
    7) echo "--data.train wiki,books" ;;
    *) return 1 ;;
    esac
}

newest() { # the step of the newest checkpoint of killed/
    step=0
    for file in killed/checkpoint-?????????.safetensors; do
        [ ! -e "$file" ] || step=${file##*-}
    done
    step=$((1${step%.safetensors} % 1000000000))
}

n=1
while options=$(kinds $n); do
    expect 0 train $options $tiny --threads 1 --out whole
    expect 0 train $options $tiny --threads 2 --out threads
    same whole/model.safetensors threads/model.safetensors
    sittings=0 status=137
    mkdir killed
    while [ $status -eq 137 ]; do
        sittings=$((sittings + 1))
        "$orthant" train $options $tiny --out killed --resume >out 2>err &
        pid=$!
        newest
        after=$((step + 3 + 7 * n % 11))
        while kill -0 $pid 2>/dev/null && [ "$step" -lt $after ] && [ $sittings -lt 4 ]; do
            sleep 0.005
            newest
        done
        [ $sittings -ge 4 ] || kill -KILL $pid 2>/dev/null || true
        status=0
        wait $pid || status=$?
    done
    [ $status -eq 0 ] || fail "a resumed run ended with $status: $options"
    same whole/model.safetensors killed/model.safetensors
    sed 's/"seconds": [0-9.]*//' whole/log.jsonl >a
    sed 's/"seconds": [0-9.]*//' killed/log.jsonl >b
    same a b
    rm -r whole threads killed
    n=$((n + 1))
done
[ $n -eq 8 ] || fail "$n kinds"

# ---- what is printed

tokens=$("$orthant" train $(kinds 2) $tiny --json --out counted | sed -n 's/.*"tokens": \([0-9]*\),.*/\1/p')
rows=$(((tokens - 1 + 23) / 24))
awk -v read=$((6 * steps)) -v rows=$rows 'BEGIN { printf "%.4g", read / rows }' >epochs
rm -r counted
expect 0 train $(kinds 2) $tiny --out printed
says printed/log.jsonl "\"epochs\": \[$(awk -v read=$((6 * steps)) -v rows=$rows 'BEGIN { printf "%.6g", read / rows }')\]"
says out "^read            $(cat epochs) epochs of $tokens tokens$"
rm -r printed
expect 0 train $(kinds 5) $tiny --out printed
says out '^read            wiki: 70.00 % of the rows, .* epochs of '
says out '^read            books: 30.00 % of the rows, '
says printed/config.json '"mix": "wiki:0.7,books:0.3"'
rm -r printed
expect 0 train $(kinds 4) $tiny --out printed
says out '^padding         [0-9.]* % of the places of all rows$'

# ---- what is refused

refused() { # WORDS OPTION...
    words=$1
    shift
    expect 2 train $tiny "$@" --out refused
    says err "$words"
    [ ! -e refused ] || fail "a start that was refused left a folder"
}
refused 'data.mix draws the rows of each corpus without replacement' --data.train wiki,books --data.mix wiki:1,books:1
refused 'data.mix has no weight for books' --data.train wiki,books --data.order epoch --data.mix wiki:1
refused '"book" is the name of no corpora' --data.train wiki,books --data.order epoch --data.mix wiki:1,book:1
refused 'data.documents = separate: the training text has no documents' --data.train text.txt --data.documents separate
expect 2 train $tiny --data.train wiki --data.order random --data.documents separate --out printed --resume
says err 'printed was begun with data.order = epoch, but it is random now'
expect 0 train $tiny $(kinds 4) --out printed --resume

# ---- a model of documents is measured on documents

expect 0 eval printed --data books --quiet
expect 2 eval printed --data books.txt --quiet
says err 'data.documents = separate: the text has no documents'

# ---- a comparison is of one mixture, and its tuning holds out the end of each corpus

compared="--seeds 1 --attention softmax --attention linear $tiny --data.train wiki,books --data.order epoch
    --compare.tune train.lr=0.001,0.003 --train.eval_every 0"
expect 0 compare $compared --data.mix wiki:0.7,books:0.3 --out compared
expect 2 compare $compared --data.mix wiki:0.6,books:0.4 --out compared
says err 'data.mix was wiki:0.7,books:0.3, but it is wiki:0.6,books:0.4 now'
expect 2 compare $compared --data.mix wiki:1,books:1 --compare.tune data.documents=join,separate --out refused
says err 'data.documents cannot be tuned: it changes the tokens of a step'
