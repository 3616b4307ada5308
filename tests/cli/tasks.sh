# SPDX-License-Identifier: Apache-2.0
# Tasks: classification by a keyword and a translation of short words are learnt, measured and used.
. "$2/tests/cli/common"
expect 0 list tasks
says out '^translate '
expect 2 train --task classfy --out x
says err 'did you mean classify?'
awk 'BEGIN { srand(7); split("red blue green the a of to in it is was on at", n, " ");
  for (i = 0; i < 400; i++) { c = int(rand() * 2); s = ""; k = int(rand() * 4);
    for (j = 0; j < 4; j++) s = s (j ? " " : "") (j == k ? (c ? "good" : "bad") : n[1 + int(rand() * 13)]);
    print (c ? "pos" : "neg") "\t" s } }' >class.tsv
awk 'BEGIN { srand(3); for (i = 0; i < 600; i++) { n = 2 + int(rand() * 3); s = ""; t = "";
    for (j = 0; j < n; j++) { w = sprintf("%c%c", 97 + int(rand() * 5), 97 + int(rand() * 5)); s = s (j ? " " : "") w; t = t (j ? " " : "") toupper(w) }
    print s "\t" t } }' >copy.tsv
model="--model.layers 1 --model.width 32 --model.heads 4 --model.context 32 --train.batch 16 --train.warmup 10"
model="$model --train.eval_every 0 --train.lr 3e-3 --data.tokenizer char --model.dropout 0 --model.pool cls --train.label_smoothing 0"
steps=100 more_steps=300 # in which it is learnt
[ -z "$slow" ] || steps=10 more_steps=10
expect 0 train --task classify --data.train class.tsv $model --train.steps $steps --out c
says out '^loss .* nats an example$'
! grep -q perplexity out || fail "classes have no perplexity"
expect 0 eval c
says out ', 40 examples$'
[ -n "$slow" ] || awk '/^accuracy/ { ok = $2 > 90 } END { exit !ok }' out || fail "the keyword is not learnt"
# By words: as in training, so in eval, classify and inspect. Running text has none.
words="pattern(start, unit=word):2 | softmax:2"
expect 0 train --task classify --data.train class.tsv $model --train.steps $((steps / 2)) --model.attention "$words" --out w --quiet
expect 0 eval w --data class.tsv
accuracy=$(awk '/^accuracy/ { print $2 }' out)
cut -f 2 class.tsv >in
"$orthant" classify w <in >said 2>err || fail "classify by words"
paste said class.tsv | awk -F'\t' '{ n += $1 == $2 } END { printf "%.2f\n", 100 * n / NR }' >mine
[ "$(cat mine)" = "$accuracy" ] || fail "eval counts $accuracy %, classify $(cat mine) %"
expect 0 inspect w --text "the good blue"
says out 'pattern(start, unit=word)'
expect 0 plan --task classify --data.train class.tsv $model --attention "$words"
expect 2 train --task mlm --data.train in $model --train.steps 2 --model.attention "$words" --out m
says err 'pattern(start, unit=word) needs word indices, which the running text of task mlm does not have; use'
! grep -q 'step 1/' err || fail "a step was tried"

# What hides tokens has no loss of the text.
for task in mlm span; do
    expect 0 train --task $task --data.train in $model --train.steps 2 --out hidden-$task
    says out '^bits/character  none: the loss is of hidden tokens, not of the text$'
done

# What a plan says of batches of so many tokens is what a run then reads.
for accumulate in 1 3; do
    batches="--task translate --data.train copy.tsv $model --train.batch_tokens 100 --train.steps 100"
    batches="$batches --train.accumulate $accumulate"
    expect 0 train $batches --out batches-$accumulate
    awk '/^steps/ { print $3 / $2 }' out >read
    expect 0 plan $batches --json
    awk -F'[:,]' 'FNR == NR { real = $1 } /tokens_per_step/ { x = $2 / real } END { exit x < 0.99 || x > 1.01 }' read out ||
        fail "a plan has other tokens a step than the run: $(cat read), $(grep tokens_per out)"
done

expect 0 train --task translate --data.train copy.tsv $model --train.steps $more_steps --out t
[ -n "$slow" ] || awk '/^bleu/ { ok = $2 > 50 } END { exit !ok }' out || fail "copying is not learnt"
printf 'ab cd\n\n\377x\nzz ab\ncc\n' >in
"$orthant" translate t <in >out 2>err || fail "translate"
[ "$(wc -l <out)" -eq 5 ] || fail "not a line for each"
[ -n "$slow" ] || [ "$(sed -n 1p out)" = "AB CD" ] || fail "the first line"
says err 'line 3 is not UTF-8'
"$orthant" translate t --nbest 2 <in >out 2>err || fail "nbest"
[ -n "$slow" ] || says out '^0 ||| AB CD ||| -'
expect 2 translate c
says err 'needs a run of'

# A comparison on examples: where scores come from, and all of it again from the folder.
head -n 300 class.tsv >train.tsv
tail -n 100 class.tsv >valid.tsv
comparison="compare --task classify --data.train train.tsv --data.valid valid.tsv $model --train.steps 20 --seeds 2 --attention softmax --attention random --out k --quiet"
expect 0 $comparison
says k/report.md '^accuracy by class, %, mean over the seeds:$'
says k/report.md '^| neg | [0-9]* | [0-9.]* ±'
says k/report.md '^macro F1 by class, %'
says k/report.md '^accuracy by length, %'
says k/report.html '<section id="examples">'
says k/results.json '"breakdown"'
cp k/report.md before.md
expect 0 $comparison
same before.md k/report.md
