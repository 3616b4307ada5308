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
model="$model --train.eval_every 0 --train.lr 3e-3 --data.tokenizer char"
expect 0 train --task classify --data.train class.tsv $model --train.steps 100 --out c
says out '^loss .* nats an example$'
! grep -q perplexity out || fail "classes have no perplexity"
expect 0 eval c
says out ', 40 examples$'
awk '/^accuracy/ { ok = $2 > 90 } END { exit !ok }' out || fail "the keyword is not learnt"
expect 0 train --task translate --data.train copy.tsv $model --train.steps 300 --out t
awk '/^bleu/ { ok = $2 > 50 } END { exit !ok }' out || fail "copying is not learnt"
printf 'ab cd\n\n\377x\nzz ab\ncc\n' >in
"$orthant" translate t <in >out 2>err || fail "translate"
[ "$(wc -l <out)" -eq 5 ] || fail "not a line for each"
[ "$(sed -n 1p out)" = "AB CD" ] || fail "the first line"
says err 'line 3 is not UTF-8'
"$orthant" translate t --nbest 2 <in >out 2>err || fail "nbest"
says out '^0 ||| AB CD ||| -'
expect 2 translate c
says err 'takes runs of'

# A contest on examples: where scores come from, and all of it again from the folder.
head -n 300 class.tsv >train.tsv
tail -n 100 class.tsv >valid.tsv
contest="compare --task classify --data.train train.tsv --data.valid valid.tsv $model --train.steps 20 --seeds 2 --attention softmax --attention random --out k --quiet"
expect 0 $contest
says k/report.md '^accuracy by class, %, mean over the seeds:$'
says k/report.md '^| neg | [0-9]* | [0-9.]* ±'
says k/report.md '^macro F1 by class, %'
says k/report.md '^accuracy by length, %'
says k/report.html '<section id="examples">'
says k/results.json '"breakdown"'
cp k/report.md before.md
expect 0 $contest
same before.md k/report.md
