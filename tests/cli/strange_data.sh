# SPDX-License-Identifier: Apache-2.0
# Data as strangers bring them, through the program: numbers in JSON, names in capitals, classes with one example, labels
# that only evaluation has, no data at all, options that are no options.
. "$2/tests/cli/common"
model="--model.layers 1 --model.width 16 --model.heads 2 --model.context 16 --train.batch 8 --train.steps 12 --quiet"
model="$model --train.eval_every 0 --data.tokenizer byte"

# Whole numbers: the same classes with a point and without, in training, eval, classify and score.
awk 'BEGIN { for (i = 0; i < 60; i++) printf "{\"label\": %s, \"text\": \"t%d\"}\n", (i % 3 == 0 ? "10.0" : i % 3 == 1 ? "20.0" : "100.0"), i }' >real.jsonl
sed 's/\.0,/,/' real.jsonl >whole.jsonl
expect 0 train --task classify --data.train real.jsonl $model --out n
says n/config.json '"labels": \["10", "20", "100"\]'
expect 0 eval n --data whole.jsonl --json
cp out first
expect 0 eval n --data real.jsonl --json
grep -v '"data"' first >a
grep -v '"data"' out >b
grep '"accuracy"\|"loss"' a >a1
grep '"accuracy"\|"loss"' b >b1
same a1 b1
sed 's/.*"text": "\(.*\)"}/\1/' real.jsonl >in
"$orthant" classify n <in >labels 2>err || fail "classify"
sed 's/.*"label": \([0-9.]*\),.*/\1/' real.jsonl >right
expect 0 score accuracy --ref right --hyp labels --json
score=$(awk -F'[:,]' '/"score"/ { printf "%.2f", 100 * $2; exit }' out)
eval=$(awk -F'[:,]' '/"accuracy"/ { printf "%.2f", $2; exit }' first)
[ "$score" = "$eval" ] || fail "score says $score, eval $eval"
says err 'right: 60 labels normalised'

# A model of before, whose labels are spelled as an older program did.
sed 's/"10", "20", "100"/"1e+01", "2e+01", "1e+02"/' n/config.json >old
cp n/config.json kept
cp old n/config.json
expect 0 classify n --data in
sort -u out >old_labels
cp kept n/config.json
expect 0 classify n --data in
sort -u out >new_labels
same old_labels new_labels

# Numbers in messages and in the file of options.
expect 2 compare --attention softmax --attention linear --data.train whole.jsonl --train.seconds 300 --equal tokens --out c
says err 'train.seconds = 300 '
expect 0 train --train.seconds 3000000 --dump-config
says out 'seconds: 3000000 '
! grep -q '[0-9]e+' out || fail "numbers with exponents in --dump-config"

# Names in capitals, and what only looks like lines of text.
cp real.jsonl table.JSONL
expect 2 classify n --data table.JSONL
says err 'CSV and JSON are not supported here'
cp real.jsonl table.txt
expect 1 classify n --data table.txt
says err 'table.txt: the lines are JSON objects; write the texts into a file'
"$orthant" classify n <table.txt >out 2>err || fail "standard input is read as it is"
printf '1\ta b\n2\tc d\n' >table.txt
expect 1 classify n --data table.txt
says err 'table.txt: the file is a table'
expect 0 classify n --data table.txt --columns 2
printf 'a\tb\nc\n\td\n' >text
expect 0 classify n --data text
printf 'PK\003\004xx' >z.txt
expect 1 train --data.train z.txt --out z
says err 'z.txt is not a text file: it is a ZIP archive'

# Classes with one example stay in training, whatever the seed.
{ awk 'BEGIN { for (i = 0; i < 40; i++) printf "%s\ttext %d\n", i % 2 ? "yes" : "no", i }'; printf 'rare1\tlone\nrare2\tother\n'; } >rare.tsv
for seed in 0 1 2 3 4; do
    expect 0 train --task classify --data.train rare.tsv --data.split_seed $seed $model --out rare$seed
    says err 'rare.tsv: no example held out for validation of 2 of 4 classes, which have too few: "rare1", "rare2"'
done
[ "$(grep -c 'too few' err)" -eq 1 ] || fail "said more than once"

# A split that was drawn without classes, as an older program did: the run keeps it.
awk 'BEGIN { for (i = 0; i < 64; i++) printf "%s\ttext %d\n", i % 4 ? "yes" : "no", i }' >plain.tsv
expect 0 train --task classify --data.train plain.tsv --data.stratify false $model --out before
expect 0 eval before --json
cp out first
sed 's/"stratify": false, //' before/config.json >old
cp old before/config.json
expect 0 eval before --json
same first out

expect 0 train --task classify --data.train plain.tsv --data.stratify false $model --train.checkpoint_every 6 --out going
sed 's/"stratify": false, //' going/config.json >old
cp old going/config.json
expect 0 train --resume --task classify --data.train plain.tsv $model --train.steps 18 --train.checkpoint_every 6 --out going
says going/config.json '"stratify": false'

# Labels that only evaluation has.
{ head -n 10 plain.tsv; printf 'new\tsomething\nnew\telse\n'; } >eval.tsv
expect 0 eval before --data eval.tsv --json
says err 'test examples: 2 of 12 have labels that no training example has ("new" (2); first at eval.tsv, line 11): counted as wrong'
cut -f 1 eval.tsv >right
cut -f 2 eval.tsv | "$orthant" classify before >labels 2>/dev/null
paste labels right | awk -F'\t' '{ n += $1 == $2 } END { printf "%.3f\n", 100 * n / NR }' >mine
awk -F'[:,]' '/"accuracy"/ { printf "%.3f\n", $2; exit }' out >said
same mine said
awk -F'[:,]' '/"loss"/ { print $2; exit }' out >loss
head -n 10 eval.tsv >known.tsv
expect 0 eval before --data known.tsv --json
awk -F'[:,]' '/"loss"/ { print $2; exit }' out >loss_of_known
same loss loss_of_known
expect 0 train --task classify --data.train plain.tsv --data.valid eval.tsv $model --out warned
says err 'validation examples: 2 of 12 have labels'
expect 1 train --task classify --data.train plain.tsv --data.valid eval.tsv --data.unknown_labels refuse $model --out refused
says err 'eval.tsv, line 11: the label "new" is not a label'

# No data, and how long the warm-up is.
expect 2 train --train.steps 5 --out none
says err 'data.train is empty: name a file to train on, e.g. --data.train text.txt'
expect 2 compare --attention softmax --attention linear --out none
says err 'data.train is empty'
[ ! -e none ] || fail "a folder for nothing"
for steps in 5 50 999 1000 5000; do
    expect 0 train --train.steps $steps --dump-config
    awk '/^  warmup:/ { print $2 }' out >warmup
    awk -v s=$steps 'BEGIN { w = int(s / 10); print (w > 100 ? 100 : w) }' >wanted
    same warmup wanted
done
expect 0 train --train.steps 50 --train.warmup 30 --dump-config
says out 'warmup: 30 '
expect 0 train --train.seconds 5 --train.steps 50 --dump-config
says out 'warmup: 100 '

# A run goes on with what it recorded, also where it is not said again.
text 4000
lm="--model.layers 1 --model.width 16 --model.heads 2 --model.context 16 --train.batch 4 --quiet"
expect 0 train --data.train text.txt $lm --train.steps 20 --train.warmup 9 --train.checkpoint_every 10 --out r
expect 0 train --resume $lm --train.steps 30 --train.checkpoint_every 10 --out r
says r/config.json '"warmup": 9'

# Options that are none: deep, many aliases, large.
awk 'BEGIN { printf "model: "; for (i = 0; i < 200000; i++) printf "["; print "" }' >deep.yaml
expect 1 train --config deep.yaml --out none
says err 'deep.yaml:1:[0-9]*: lists and maps are nested more than 32 deep here'
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "%*s- \n", i % 2 ? 0 : 2, "-"; }' >odd.yaml
expect 1 train --config odd.yaml --out none
awk 'BEGIN { print "a0: &a0 [x,x]"; for (i = 1; i < 2000; i++) printf "a%d: &a%d [*a%d,*a%d]\n", i, i, i - 1, i - 1 }' >many.yaml
expect 1 train --config many.yaml --out none
says err 'more than 1000 anchors'
head -c 5000000 /dev/zero | tr '\0' '#' >large.yaml
expect 1 train --config large.yaml --out none
says err 'a file of options has at most 4 MiB'
head -c 300 r/config.json >cut.json
cp cut.json r/config.json
expect 1 eval r
says err 'config.json:[0-9]*:[0-9]*: not valid JSON: .*the file is damaged or truncated: restore it from a copy'

# Files to score are lines.
cp real.jsonl scored.Jsonl
expect 1 score accuracy --ref scored.Jsonl --hyp right
says err 'scored.Jsonl: the lines are JSON objects; extract the field into a file'
cp plain.tsv scored.TSV
expect 1 score bleu --ref scored.TSV --hyp scored.TSV
says err 'the file is a table, but whole lines are read'
printf '{"a": 1}\n{"b": 2}\n' >objects.txt
expect 0 score bleu --ref objects.txt --hyp objects.txt
