# SPDX-License-Identifier: Apache-2.0
# Every task and every measure of it: what eval reports is what score gives for what translate or classify wrote, with
# blank rows, several references, unbalanced classes, and numbers whose relation is monotone and not linear.
. "$2/tests/cli/common"
awk 'BEGIN { srand(11); split("red blue green gold teal the a in on at so it", n, " ")
  split("rot blau grün gold petrol der ein in auf zu so es", m, " ")
  for (i = 0; i < 700; i++) { k = 2 + int(rand() * 6); s = t = u = ""
    for (j = 0; j < k; j++) { w = 1 + int(rand() * 12)
      s = s (j ? " " : "") n[w]; t = t (j ? " " : "") m[w]; u = (j % 2 ? u " " m[w] : m[w] (j ? " " : "") u) }
    print s "\t" t "\t" u } }' >all.tsv
head -n 620 all.tsv | cut -f 1,2 >pairs.tsv
{ tail -n 80 all.tsv; printf '\tder ein\tein\n   \tgold\tso\n'; } >references.tsv
awk 'BEGIN { srand(5); split("red blue green gold teal the a in on at so it", n, " ")
  for (i = 0; i < 500; i++) { k = 3 + int(rand() * 6); r = rand(); c = r < 0.75 ? 1 : r < 0.95 ? 2 : 3; s = ""; sum = 0
    for (j = 0; j < k; j++) { w = 1 + int(rand() * 12); sum += w < 4; s = s (j ? " " : "") n[w] }
    if (rand() < 0.7) s = s (c == 1 ? " bad" : c == 2 ? " good" : " fine")
    print (c == 1 ? "no" : c == 2 ? "yes" : "maybe") "\t" s >"classes.tsv"
    print exp(1.2 * sum) / 30 "\t" s >"numbers.tsv" } }'
for name in classes numbers; do
    { tail -n 90 $name.tsv; tail -n 2 $name.tsv | sed 's/\t.*/\t/'; head -n 1 $name.tsv | sed 's/\t.*/\t   /'; } >test_$name.tsv
    head -n 410 $name.tsv >train_$name.tsv
done
model="--model.layers 1 --model.width 32 --model.heads 4 --model.context 32 --data.tokenizer word:40 --train.batch 16"
model="$model --train.warmup 10 --train.lr 3e-3 --train.eval_every 0 --decode.beam 3 --quiet"

field() { # NAME: of the object in the file out
    sed -n "s/^  \"$1\": \\([-0-9.e+]*\\),\\{0,1\\}\$/\\1/p" out
}
near() { # A B BOUND WHAT
    awk -v a="$1" -v b="$2" -v bound="$3" 'BEGIN { d = a - b; exit !(a != "" && b != "" && d <= bound && -d <= bound) }' ||
        fail "$4: $1 and $2"
}
scored() { # MEASURE: what score gives for the files written and right*
    case $1 in
    bleu | chrf) words=$1 factor=1 ;;
    bleu1) words="bleu --max-order 1" factor=1 ;;
    f1) words="f1 --average macro" factor=100 ;;
    *) words=$1 factor=100 ;;
    esac
    "$orthant" score $words $references --hyp written --decimals 10 --json >scores 2>err || fail "score $words" >&2
    awk -v f=$factor '/"score":/ { split($0, x, /[:,] */); printf "%.8f\n", f * x[2] }' scores
}
# What a task wrote and what is right for it are in files of these names.
writes() { # TASK
    expect 0 train --task "$1" --data.train pairs.tsv $model --train.steps 250 --out "$1"
    cut -f 1 references.tsv | "$orthant" translate "$1" >written 2>err || fail "$1 writes"
    cut -f 2 references.tsv >right
    cut -f 3 references.tsv >right2
    references="--ref right --ref right2"
    expect 0 eval "$1" --data references.tsv --columns 1,2,3 --json
}
answers() { # TASK NAME
    expect 0 train --task "$1" --data.train "train_$2.tsv" $model --train.steps 120 --out "$1"
    "$orthant" classify "$1" --data "test_$2.tsv" --columns 2 >written 2>err || fail "$1 answers"
    cut -f 2 "test_$2.tsv" | "$orthant" classify "$1" >lines 2>err || fail "$1 answers lines"
    same lines written
    cut -f 1 "test_$2.tsv" >right
    references="--ref right"
    expect 0 eval "$1" --data "test_$2.tsv" --json
}
loss_of() { # TASK
    case $1 in
    classify)
        "$orthant" classify classify --data test_classes.tsv --columns 2 --scores 2>err >probabilities
        sed 1d probabilities | paste right - | awk -F'\t' -v names="$(head -n 1 probabilities)" '
            BEGIN { count = split(names, name, "\t") }
            { for (i = 2; i <= count; i++) if (name[i] == $1) sum -= log($(i + 1)) }
            END { printf "%.8f\n", sum / NR }' ;;
    regress) paste right written | awk -F'\t' '{ sum += ($1 - $2) ^ 2 } END { printf "%.8f\n", sum / NR }' ;;
    esac
}

"$orthant" list tasks --json >tasks
sed -n 's/^    "name": "\(.*\)",$/\1/p' tasks >names
for task in $(cat names); do
    sed -n "/^    \"name\": \"$task\",/,/^  }/s/^        \"name\": \"\\(.*\\)\",\$/\\1/p" tasks >measures
    [ "$(head -n 1 measures)" = loss ] || fail "the first measure of $task is not the loss"
    case $task in
    translate | summarize | dialogue) writes $task ;;
    classify) answers $task classes ;;
    regress) answers $task numbers ;;
    lm | mlm | span) continue ;; # measured on running text: nothing is written
    answer) continue ;; # cli_answer: exact answers are those that generate writes
    *) fail "the task $task was not tried" ;;
    esac
    loss=$(loss_of $task)
    [ -z "$loss" ] || near "$(field loss)" "$loss" "$(awk -v l="$loss" 'BEGIN { print 2e-5 * l + 2e-6 }')" "the loss of $task"
    : >values
    for measure in $(sed 1d measures); do
        value=$(scored $measure)
        near "$(field $measure)" "$value" 0.0005 "$measure of $task"
        awk -v x="$value" 'BEGIN { exit !(x > 1 && x < 99) }' || fail "$measure of $task is $value, which tells little"
        echo "$value" >>values
    done
    [ -z "$(sort values | uniq -d)" ] || fail "two measures of $task are equal: one could stand for the other"
done

# With one reference the scores are others; averages of F1 differ on these classes.
expect 0 eval translate --data references.tsv --columns 1,2,3 --json
both=$(field bleu)
expect 0 eval translate --data references.tsv --columns 1,2 --json
one=$(field bleu)
[ "$both" != "$one" ] || fail "the second reference makes no difference"
references="--ref right"
cut -f 2 references.tsv >right
cut -f 1 references.tsv | "$orthant" translate translate >written 2>err
near "$one" "$(scored bleu)" 0.0005 "bleu of one reference"
[ "$(sed -n 81,82p written)" = "" ] || fail "something is written for a blank line"

# Rows may have different numbers of references: those that a row lacks change nothing, as if its first were repeated. (These
# are twice as long as what is written: the brevity of BLEU tells a reference that is none.)
sed 's/\t\([^\t]*\)\t/\t\1 \1\t/' references.tsv >long.tsv
cut -f 2 long.tsv >right
awk -F'\t' '{ printf "{\"source\": \"%s\", \"target\": [\"%s\"%s]}\n", $1, $2, NR % 3 ? ", \"" $3 "\"" : "" }' long.tsv >ragged.jsonl
awk -F'\t' '{ print NR % 3 ? $3 : $2 }' long.tsv >right2
references="--ref right --ref right2"
expect 0 eval translate --data ragged.jsonl --json
for measure in bleu chrf; do
    near "$(field $measure)" "$(scored $measure)" 0.0005 "$measure of rows with one or two references"
done

# Parts by length have the scores of their rows, in the unit of the measure: texts of words, each a token, and an end.
if command -v python3 >/dev/null; then
    for task in translate summarize dialogue; do
        expect 0 eval $task --data references.tsv --columns 1,2 --json
        cp out answer
        cut -f 1 references.tsv | "$orthant" translate $task >all 2>err
        python3 -c 'import json
for p in json.load(open("answer"))["details"]["breakdown"]: print(p["by"], p["measure"], p["n"], p["value"], p["name"])' >parts
        [ "$(grep -c '^length' parts)" -ge 3 ] || fail "not three parts by length: $(cat parts)"
        references="--ref right"
        while read -r _ measure n value low rest; do
            high=$(echo "$low $rest" | sed 's/^[0-9]* to \([0-9]*\) tokens$/\1/; s/^\([0-9]*\) tokens$/\1/')
            awk -F'\t' -v low="$low" -v high="$high" '{ n = split($1, w, " ") + 1 } n >= low && n <= high { print NR }' references.tsv >rows
            [ "$(wc -l <rows)" -eq "$n" ] || fail "$n rows of $low to $high tokens, but there are $(wc -l <rows)"
            cut -f 2 references.tsv | awk 'FNR == NR { take[$1]; next } FNR in take' rows - >right
            awk 'FNR == NR { take[$1]; next } FNR in take' rows all >written
            near "$value" "$(scored $measure)" 0.0005 "$measure of $task from $low to $high tokens"
        done <parts
    done
fi
