# SPDX-License-Identifier: Apache-2.0
# translate: what is written for a line does not depend on those next to it, on threads, or on how it is asked for; its
# log p is the loss that `eval` finds by teacher forcing; bad lines are named, and a signal leaves whole lines.
. "$2/tests/cli/common"
awk 'BEGIN { srand(3); for (i = 0; i < 400; i++) { n = 2 + int(rand() * 3); s = ""; t = "";
    for (j = 0; j < n; j++) { w = sprintf("%c%c", 97 + int(rand() * 5), 97 + int(rand() * 5)); s = s (j ? " " : "") w; t = t (j ? " " : "") toupper(w) }
    print s "\t" t } }' >copy.tsv
cut -f 1 copy.tsv | head -n 75 >lines
model="--model.layers 1 --model.width 32 --model.heads 4 --model.context 24 --train.batch 16 --train.warmup 10"
model="$model --train.eval_every 0 --train.lr 3e-3 --data.tokenizer char"
expect 0 train --task translate --data.train copy.tsv $model --train.steps 120 --out t \
    --model.attention "encoder: pattern(previous):1 | pattern(left, unit=word, edge=self):1 | softmax:2 & decoder: random + softmax"

translate() { # NAME IN OPTION...: the lines of IN into NAME
    name=$1 in=$2
    shift 2
    "$orthant" translate t "$@" <"$in" >"$name" 2>err || fail "translate $*"
}

# ---- one line, one line: alone, in another order, with any number of threads
translate all lines --threads 2
[ "$(wc -l <all)" -eq 75 ] || fail "not a line for each"
[ "$(sort -u all | wc -l)" -gt 20 ] || fail "the model says the same whatever it reads"
translate other lines --threads 1
same all other
translate other lines --threads 3
same all other
sed -n '1!G;h;$p' lines >backwards
translate other backwards
sed -n '1!G;h;$p' other >again
same all again
for i in 1 33 75; do
    sed -n "${i}p" lines >one
    translate other one
    [ "$(cat other)" = "$(sed -n "${i}p" all)" ] || fail "line $i is another one alone"
done
printf %s "$(head -n 1 lines)" >one
translate other one
[ "$(cat other)" = "$(head -n 1 all)" ] || fail "a last line without its end is another one"
head -n 1 lines | sed 's/$/\r/' >one
translate other one
[ "$(cat other)" = "$(head -n 1 all)" ] || fail "a carriage return is read as text"
{ printf '\357\273\277'; cat lines; } >marked
translate other marked
same all other

# ---- scores and lists
translate scores lines --scores
grep -qvE '^-[0-9]+\.[0-9]{4}	' scores && fail "a line of --scores without log p and a tab"
cut -f 2 scores >other
same all other
translate list lines --nbest 3
[ "$(grep -cE '^[0-9]+ \|\|\| .* \|\|\| -[0-9]+\.[0-9]{4}$' list)" -eq "$(wc -l <list)" ] || fail "a line of --nbest has another form"
awk -F ' [|][|][|] ' '{ n[$1]++ } END { for (i = 0; i < 75; i++) if (n[i] != 3) exit 1 }' list || fail "not three for each line"
awk -F ' [|][|][|] ' 'NR == 1 || $1 != last { last = $1; print $3 "\t" $2 }' list >other
same scores other
awk -F ' [|][|][|] ' 'NR > 1 && $1 == last && $3 / (length($2) + 1) > rank + 1e-4 { exit 1 } { last = $1; rank = $3 / (length($2) + 1) }' list ||
    fail "a list is not in the order of log p a token"
translate objects lines --nbest 3 --json
[ "$(wc -l <objects)" -eq 75 ] || fail "not an object a line"
if command -v python3 >/dev/null; then
    python3 -c 'import json, sys
listed = [line.rstrip("\n").split(" ||| ") for line in open("list")]
found = [(o["line"] - 1, h["text"], h["log_p"]) for o in map(json.loads, open("objects")) for h in o["hypotheses"]]
assert len(found) == len(listed)
assert all(int(a[0]) == b[0] and a[1] == b[1] and abs(float(a[2]) - b[2]) <= 5.1e-5 for a, b in zip(listed, found))' ||
        fail "--json says something else than --nbest"
fi

# log p is that of teacher forcing: eval has the mean over all characters and ends of the same pairs.
for options in "" "--beam 1" "--beam 9"; do
    translate scores lines --scores $options
    cut -f 2 scores >written
    paste lines written >pairs.tsv
    expect 0 eval t --data pairs.tsv
    awk -F '\t' -v loss="$(awk '/^loss/ { print $2 }' out)" '{ sum -= $1; n += length($2) + 1 }
        END { exit !(n > 100 && sum / n - loss < 1.1e-4 && loss - sum / n < 1.1e-4) }' scores ||
        fail "log p of ${options:-beam search} is not that of a pass over the text"
    # What is judged is what is written: against its own texts, all of it is right.
    [ "$options" ] || says out '^bleu *100\.00'
done

# ---- word numbers go with the sources to whoever reads them
expect 0 inspect t --text "ab cd" --target "AB CD" --json
says out '"nearest": "pattern(previous)"'
sed -n 's/.*"deviation": \([^,]*\),*/\1/p' out >deviations
awk '$1 > 1e-5 { exit 1 }' deviations || fail "the maps do not give what the layers gave"

# ---- alignments (test_inspect has the numbers): behind what is written, in every form; words of the line and of the text
translate linked lines --alignment
sed 's/ |||[ 0-9-]*$//' linked >other
same all other
paste lines all linked | awk -F'\t' '{ n = split($2, w, " "); m = split($1, v, " "); l = split(substr($3, length($2) + 6), link, " ")
    if (l != n) exit 1
    for (i = 1; i <= l; i++) { split(link[i], p, "-"); if (p[1] < 0 || p[1] >= m || p[2] != i - 1) exit 1 } }' ||
    fail "a word without its word"
translate list lines --alignment --nbest 2
[ "$(grep -cE '^[0-9]+ \|\|\| .* \|\|\| -[0-9.]+ \|\|\|( [0-9]+-[0-9]+)*$' list)" -eq 150 ] || fail "a list with alignments has another form"
awk -F ' [|][|][|]' 'NR % 2 { print substr($2, 2) " |||" $4 }' list >other
same linked other
printf '\nab cd\n' >in
translate scores in --alignment --scores
[ "$(sed -n 1p scores)" = "$(printf '\t')" ] || fail "an empty line has an alignment"
translate objects lines --alignment --json
if command -v python3 >/dev/null; then
    python3 -c 'import json
for line, o in zip(open("linked"), map(json.loads, open("objects"))):
    best = o["hypotheses"][0]
    assert line == best["text"] + " |||" + "".join(" %d-%d" % tuple(l) for l in best["alignment"]) + "\n"' ||
        fail "--json has another alignment"
fi
expect 0 train --task translate --data.train copy.tsv $model --train.steps 1 --out mapless --model.attention "cross: linformer(rank=4)"
! "$orthant" translate mapless --alignment <lines >out 2>err || fail "an alignment of no map"
says err 'an alignment needs the map of cross-attention, and linformer has none'

# ---- what cannot write is refused before a step is done, alone and in a comparison
fitted='cross: performer(kernel=favor++)'
expect 2 train --task translate --data.train copy.tsv $model --train.steps 120 --out f --model.attention "$fitted"
says err 'performer(kernel=favor++) as cross-attention cannot decode token by token: .* use performer(kernel=favor+)'
! grep -q 'step 1/' err || fail "what cannot write was trained"
expect 2 compare --task translate --data.train copy.tsv $model --train.steps 2 --seeds 2 --attention softmax --attention "$fitted" --out k
! grep -q 'step 1/' err || fail "a comparison began that cannot end"
expect 2 plan --task summarize --data.train copy.tsv $model --attention "$fitted"
# What decoding would refuse after the last step is refused before the first.
for wrong in "--decode.suppress 9999" "--decode.first_token zz"; do
    expect 2 train --task translate --data.train copy.tsv $model --train.steps 1 --out wrong $wrong
    says err "$(echo "$wrong" | sed 's/^--// ; s/ / = /')"
    [ ! -e wrong ] || fail "$wrong was trained"
    expect 2 compare --task translate --data.train copy.tsv $model --train.steps 1 --seeds 2 --attention softmax --attention hedgehog --out wrong $wrong
    expect 2 distil --data.train copy.tsv --teacher t --student hedgehog --train.steps 1 --out wrong $wrong
    [ ! -e wrong ] || fail "$wrong was compared or distilled"
done

# ---- bad lines
printf 'ab cd\n\n  \t\nab\377\nab zz\nab ab ab ab ab ab ab ab ab ab ab ab\ncd\n' >in
translate bad in
[ "$(wc -l <bad)" -eq 7 ] || fail "a bad line takes others with it"
for i in 2 3 4 5; do
    [ -z "$(sed -n "${i}p" bad)" ] || fail "something is written for line $i"
done
[ -n "$(sed -n 6p bad)" ] || fail "a long line is not cut"
says err 'line 4 is not UTF-8'
says err 'line 5.*z'
says err 'truncated'
printf 'cd\n' >one
translate other one
[ "$(cat other)" = "$(sed -n 7p bad)" ] || fail "a line is another one behind bad ones"
translate bad in --scores
[ "$(sed -n 2p bad)" = "	" ] || fail "an empty line with --scores is not a tab alone"
translate list in --nbest 2
cut -d ' ' -f 1 list | sort -un | tr '\n' ' ' >other
[ "$(cat other)" = "0 5 6 " ] || fail "lists are of the lines $(cat other)"
: >none
translate other none
[ ! -s other ] || fail "something is written for nothing"

# ---- wrong use
expect 2 generate t --prompt "ab"
says err 't was trained for the task "translate"; generate needs a run of lm; use .orthant translate.'
[ ! -s out ] || fail "a prompt is printed that nothing can follow"
expect 2 translate t --nbest 2 --scores
says err 'scores has no effect'
expect 2 translate t --nbest 5 --beam 4
says err 'need decode.beam of at least as many'
expect 2 translate t --beam 0

# ---- a signal: at once, with the exit code of the signal, after whole lines
mkfifo pipe
for signal in INT:130 TERM:143; do
    "$orthant" translate t <pipe >cut 2>err &
    process=$!
    exec 3>pipe
    cat lines lines lines >&3
    await $process test -s cut
    kill -s ${signal%:*} $process
    ended ${signal#*:} $process "translate, stopped by ${signal%:*}"
    exec 3>&-
    cat all all all | head -n "$(wc -l <cut)" >other
    same cut other
done

# ---- outputs that do not end are counted; those that do are not
expect 0 train --task translate --data.train copy.tsv $model --model.context 3 --train.steps 1 --out short
translate all lines
! grep -q 'did not end' err || fail "outputs that end are said not to"
printf 'ab cd\n\ncd ab\n' >in
"$orthant" translate short --beam 1 --json <in >out 2>err || fail "translate of a run that cannot end"
cut=$(grep -o '"ended": *false' out | wc -l)
[ "$cut" -gt 0 ] || fail "all outputs of two tokens end"
says err "^orthant: $cut of 2 outputs did not end within 2 tokens (model.context)"

# ---- summaries are written by the same command
expect 0 train --task summarize --data.train copy.tsv $model --train.steps 20 --out s
"$orthant" translate s <lines >out 2>err || fail "translate of a run of summarize"
[ "$(wc -l <out)" -eq 75 ] || fail "not a summary for each line"

# ---- dialogues: what eval says of the next turns is what score says of those that translate writes
awk 'BEGIN { srand(5); for (i = 0; i < 300; i++) { s = ""; for (j = 0; j < 2 + i % 3; j++) { t = "";
    for (k = 0; k < 3 + int(rand() * 3); k++) t = t (k ? " " : "") sprintf("%c%c", 97 + j % 2, 97 + int(rand() * 3)); s = s t " __eou__ " } print s } }' >talk.txt
head -n 260 talk.txt >talk.train.txt
tail -n 40 talk.txt >talk.valid.txt
expect 0 train --task dialogue --data.train talk.train.txt --data.valid talk.valid.txt $model --model.source_context 100 --train.steps 150 --out d
awk -F ' __eou__ ' '{ s = $1; for (i = 2; i < NF; i++) { print s; print $i >"turns"; s = s " __eou__ " $i } }' talk.valid.txt >before
"$orthant" translate d <before >after 2>err || fail "translate of a run of dialogue"
expect 0 eval d --data talk.valid.txt --json
cp out said
same_score() { # MEASURE PARTS WORD...: of the measure's 100 the score has so many
    measure=$1 parts=$2
    shift 2
    "$orthant" score "$@" --ref turns --hyp after --decimals 4 >out 2>err || fail "score $*"
    got=$(sed -n "s/.*\"$measure\": \([0-9.]*\).*/\1/p" said | head -n 1)
    [ -n "$got" ] || fail "eval says no $measure"
    grep -q -F "= $(awk -v x="$got" -v parts="$parts" 'BEGIN { printf "%.4f", x * parts / 100 }')" out || fail "eval: $measure is $got"
}
same_score bleu1 100 bleu --max-order 1
same_score bleu 100 bleu
same_score rougeL 1 rouge
