# SPDX-License-Identifier: Apache-2.0
# classify: labels stay with the model; lines, pairs, numbers and pictures; the same bits in any batch; bad lines.
. "$2/tests/cli/common"
awk 'BEGIN { srand(7); split("red blue green the a of to in it is was on at", n, " ");
  for (i = 0; i < 460; i++) { c = int(rand() * 3); s = ""; w = 3 + int(rand() * 9); k = int(rand() * w);
    for (j = 0; j < w; j++) s = s (j ? " " : "") (j == k ? (c == 0 ? "good" : c == 1 ? "bad" : "so so") : n[1 + int(rand() * 13)]);
    if (rand() < 0.2) c = int(rand() * 3); print (c == 0 ? "likes it" : c == 1 ? "no" : "\303\251h") "\t" s } }' >all.tsv
head -n 400 all.tsv >train.tsv
tail -n 60 all.tsv >test.tsv
cut -f 2 test.tsv >in
cut -f 1 test.tsv >right
model="--model.layers 1 --model.width 32 --model.heads 4 --model.context 32 --train.batch 16 --train.warmup 10 --quiet"
model="$model --train.eval_every 0 --train.lr 3e-3"
expect 0 train --task classify --data.train train.tsv --data.tokenizer bpe:300 $model --train.steps 40 --out c

# Without the training data.
says c/config.json '"labels": \["likes it", "no", "éh"\]'
mv train.tsv away
expect 0 eval c --data test.tsv
says err 'cannot check whether the training examples contain some of these: cannot read train.tsv'
accuracy=$(awk '/^accuracy/ { print $2 }' out)
"$orthant" classify c <in >labels 2>err || fail "classify"
! grep -q "^orthant" err || fail "notices about nothing"
paste labels right | awk -F'\t' '{ n += $1 == $2 } END { printf "%.2f\n", 100 * n / NR }' >mine
[ "$(cat mine)" = "$accuracy" ] || fail "eval counts $accuracy %, the labels $(cat mine) %"
awk -v a="$accuracy" 'BEGIN { exit !(a > 70 && a < 100) }' || fail "an accuracy of $accuracy tells little"
expect 0 eval c --data test.tsv --json
# By class: the share of its rows that are found, and 2·both / (expected + found).
awk -F'"' '/"by":/ { by = $4 } /"name":/ { name = $4 } /"measure":/ { measure = $4 } /"value":/ { split($0, x, /[:,] */); value = x[2] }
    /"n":/ { split($0, x, /[:,] */); if (by == "class") printf "%s\t%s\t%.4f\t%d\n", name, measure, value, x[2] }' out | sort >said
paste labels right | awk -F'\t' '{ f[$1]++; e[$2]++; if ($1 == $2) b[$1]++ }
    END { for (c in e) { printf "%s\taccuracy\t%.4f\t%d\n", c, 100 * b[c] / e[c], e[c];
          printf "%s\tf1\t%.4f\t%d\n", c, 200 * b[c] / (e[c] + f[c]), e[c] } }' | sort >counted
[ "$(wc -l <said)" -eq 6 ] || fail "three classes have two parts each"
same said counted
grep -c '"row":' out >rows
[ "$(cat rows)" -eq 50 ] || fail "not 50 examples"
awk -F'"' '/"row":/ { split($0, x, /[:,] */); r = x[2] + 1 } /"reference":/ { want = $4 } /"output":/ { print r "\t" want "\t" $4 }' out >shown
awk -F'\t' 'FILENAME == "labels" { l[FNR] = $0; next } FILENAME == "right" { r[FNR] = $0; next }
    $1 <= before || r[$1] != $2 || l[$1] != $3 { exit 1 } { before = $1 }' labels right shown || fail "examples are not of the rows they name"

# Unknown labels, a configuration that was changed, another form of data.
{ head -n 3 test.tsv; printf 'perhaps\ta house\n'; } >odd.tsv
expect 0 eval c --data odd.tsv
says err 'test examples: 1 of 4 have labels that no training example has ("perhaps" (1); first at odd.tsv, line 4)'
sed 's/"unknown_labels": "wrong"/"unknown_labels": "refuse"/' c/config.json >changed
cp c/config.json kept
cp changed c/config.json
expect 1 eval c --data odd.tsv
says err 'odd.tsv, line 4: the label "perhaps" is not a label of the training examples; these are "likes it", "no", "éh"'
expect 0 eval c --data odd.tsv --unknown-labels wrong # overrides that of the run
cp kept c/config.json
expect 1 eval c --data odd.tsv --unknown-labels refuse
says err 'odd.tsv, line 4: the label "perhaps" is not a label of the training examples'
expect 0 eval c --data odd.tsv --unknown-labels wrong
expect 2 eval c --data odd.tsv --unknown-labels maybe
says err 'data.unknown_labels'
sed 's/"no", /"on", /' c/config.json >changed
cp c/config.json kept
cp changed c/config.json
expect 1 eval c --data test.tsv
says err 'the model was trained with labels = \["likes it", "no", '
sed 's/"labels": \[[^]]*\], //' kept >c/config.json
expect 1 classify c
sed 's/"labels": \[[^]]*\]/"labels": ["a", "b"]/' kept >c/config.json
expect 1 classify c
says err '"labels" must be a list of 3 strings'
cp kept c/config.json
awk '{ print $0 "\tand more" }' test.tsv >pairs.tsv
expect 1 eval c --data pairs.tsv
says err 'pairs.tsv has pairs of texts, but the model was trained on single texts'

# The same bits in any batch, with any number of threads, whatever is next to a line.
"$orthant" classify c --scores --json --batch 1 --threads 1 <in >one 2>err || fail "one by one"
for batch in 2 5 64 1024; do
    "$orthant" classify c --scores --json --batch $batch --threads $((batch % 3 + 1)) <in >some 2>err || fail "a batch of $batch"
    same one some
done
awk '{ line[NR] = $0 } END { for (i = NR; i; i--) print line[i] }' in >backwards
"$orthant" classify c --scores <backwards 2>err | sed 1d | awk '{ line[NR] = $0 } END { for (i = NR; i; i--) print line[i] }' >a
"$orthant" classify c --scores <in 2>err >scores
sed 1d scores >b
same a b
printf 'label\tlikes it\tno\téh\n' >header
sed -n 1p scores | cmp -s - header || fail "the first line names the classes"
cut -f 1 b >c1
same c1 labels
# Probabilities sum to 1, and the label has the largest.
awk -F'\t' 'NR == 1 { for (i = 2; i <= NF; i++) name[i] = $i; next }
    { sum = best = 0; for (i = 2; i <= NF; i++) { sum += $i; if ($i > best) { best = $i; at = i } }
      if (sum < 0.99999 || sum > 1.00001 || name[at] != $1) exit 1 }' scores || fail "no probabilities"

# Files, gzip, columns.
gzip -k in
"$orthant" classify c --data in,in.gz 2>err >twice || fail "two files"
cat labels labels | cmp -s - twice || fail "two files are not what both are"
head -c 100 in.gz >cut.gz
expect 1 classify c --data cut.gz
says err 'cut.gz: gzip data damaged or truncated after [0-9]* bytes of text: unexpected end of file'
"$orthant" classify c --data test.tsv --columns 2 2>err | cmp -s - labels || fail "column 2"
{ printf 'what\tTEXT\n'; cat test.tsv; } >named.tsv
"$orthant" classify c --data named.tsv,named.tsv --columns text 2>err | cmp -s - twice || fail "a column by its name"
for i in in named.tsv; do # a byte order mark
    { printf '\357\273\277'; cat $i; } >marked.$i
done
"$orthant" classify c --data marked.in,marked.in --scores 2>err >out || fail "two marked files"
{ cat header b; cat b; } | cmp -s - out || fail "a byte order mark is read as text"
"$orthant" classify c <marked.in 2>err | cmp -s - labels || fail "the mark of the standard input is read as text"
"$orthant" classify c --data marked.named.tsv --columns TEXT 2>err | cmp -s - labels || fail "a mark before the names of columns"
expect 2 classify c --data test.tsv --columns text
says err 'test.tsv, line 1 has no column "text", only'
expect 2 classify c --data test.tsv --columns 1,2
says err 'has 2 columns, but the model reads single texts'
expect 1 classify c --data nowhere.txt
says err 'nowhere.txt.*check data.train, data.valid, data.test or --data'
expect 2 classify c --data in,test.tsv
says err "data test.tsv is a table, but the model reads one text per line: give the text's column"
[ ! -s out ] || fail "classes before a refusal"
for end in csv csv.gz jsonl ndjson json; do
    cp in "in.$end"
    expect 2 classify c --data "in.$end" --columns 1
    says err "data in.$end: CSV and JSON are not supported here"
done

# Bad lines stay lines.
{ sed -n 1p in; printf '\n \t\r\n\377x\na\000b\n'; for i in 1 2 3 4 5 6 7 8; do printf 'so so good bad it was '; done; echo; sed -n 2p in; } >bad
"$orthant" classify c <bad >out 2>err || fail "bad lines end nothing"
{ sed -n 1p labels; sed -n 2,3p out; printf '\n\n'; sed -n 6p out; sed -n 2p labels; } >want
same out want
for i in 2 3 6; do # blank lines have the answer that eval counts
    grep -qxF "$(sed -n ${i}p out)" c1 || fail "line $i has no answer"
done
says err 'line 4 is not UTF-8'
says err 'line 5 has a byte 0 in it'
says err '1 of 7 lines were truncated to the 32 tokens of the context'
says err '2 of 7 lines could not be read'
"$orthant" classify c --data test.tsv,in --columns 2 >out 2>err || fail "lines without the column"
says err '60 of 120 lines could not be read'
says err 'in, line 1: 1 column, but column 2 is read'
[ "$(wc -l <out)" -eq 120 ] || fail "not a line for each"
printf '' | "$orthant" classify c >out 2>err || fail "nothing"
[ ! -s out ] || fail "nothing gives something"

# Stopped while it waits.
mkfifo lines
"$orthant" classify c <lines >out 2>err &
pid=$!
exec 9>lines
sleep 0.3
kill -TERM $pid
ended 143 $pid "classify"
exec 9>&-

# Pairs and numbers.
awk 'BEGIN { srand(3); for (i = 0; i < 200; i++) { a = int(rand() * 4); b = int(rand() * 4);
    printf "%.1f\t%s\t%s\n", (a == b) * 4 + rand(), substr("redbluegreyteal", 4 * a + 1, 3), substr("redbluegreyteal", 4 * b + 1, 3) } }' >similar.tsv
expect 0 train --task regress --data.train similar.tsv --data.tokenizer char $model --train.steps 100 --out r
! grep -q 'correlations are undefined' err || fail "different numbers were said to be one"
sed 's/^[^\t]*/1/; 20q' similar.tsv >constant.tsv
expect 0 train --task regress --data.train similar.tsv --data.valid constant.tsv --data.tokenizer char $model --train.steps 1 --out constant
says err 'constant.tsv: all 20 examples have the value 1, so correlations are undefined and count as 0'
cut -f 2,3 similar.tsv | "$orthant" classify r >numbers 2>err || fail "numbers"
"$orthant" classify r --data similar.tsv --columns 2,3 2>err | cmp -s - numbers || fail "columns of pairs"
expect 0 eval r --data similar.tsv
r=$(awk '/^pearson/ { print $2 }' out)
cut -f 1 similar.tsv | paste - numbers | awk -v r="$r" '{ n++; x += $1; y += $2; xx += $1 * $1; yy += $2 * $2; xy += $1 * $2 }
    END { p = 100 * (n * xy - x * y) / sqrt((n * xx - x * x) * (n * yy - y * y)); exit !(p - r < 0.02 && r - p < 0.02) }' || fail "the numbers correlate otherwise than $r"
expect 2 classify r --scores
says err 'which have no probabilities'
cut -f 2 similar.tsv | "$orthant" classify r >out 2>err || fail "halves of pairs"
says err '200 of 200 lines could not be read'
says err 'line 1: 1 column; a pair of texts is 2'

head -n 1 similar.tsv >one.tsv
expect 0 eval r --data one.tsv
says out 'pearson  *0.00 %'
awk -F '\t' '{ print $2 "\t" $3 "\t" $1 }' similar.tsv >turned.tsv
expect 0 eval r --data similar.tsv
grep pearson out >straight
expect 0 eval r --data turned.tsv --columns 3,1,2
grep pearson out >turned
same straight turned
says err 'of the 200 test examples 200 have a text that is also in the training examples, 200 with the same label'
{ printf 'first\tsecond\tdegree\n'; cat turned.tsv; } >titled.tsv
expect 0 eval r --data titled.tsv --columns degree,first,second
says err 'of the 200 test examples 200 have a text that is also in the training examples, 200 with the same label'
expect 2 eval r --columns 3,1,2
says err 'has no effect: it needs --data'

# Pictures.
i=0
while [ $i -lt 12 ]; do
    printf "\\00$((i % 2))"
    head -c 1024 /dev/zero | tr '\000' "\\$((i % 2 + 1))$((i % 8))0"
    i=$((i + 1))
done >grey.bin
expect 0 train --task classify --data.train grey.bin --data.tokenizer byte --data.valid_fraction 0.2 $model --model.context 1026 --model.width 8 --model.heads 2 \
    --train.batch 2 --train.steps 2 --out p
expect 0 classify p --data grey.bin
[ "$(wc -l <out)" -eq 12 ] || fail "not a line for each picture"
expect 2 classify p
says err 'was trained on images'
expect 0 train --task classify --data.train grey.bin --data.tokenizer patch:8 --data.valid_fraction 0.2 $model --model.context 17 --model.width 8 --model.heads 2 \
    --train.batch 2 --train.steps 40 --train.lr 0.01 --threads 2 --out v
expect 0 train --task classify --data.train grey.bin --data.tokenizer patch:8 --data.valid_fraction 0.2 $model --model.context 17 --model.width 8 --model.heads 2 \
    --train.batch 2 --train.steps 40 --train.lr 0.01 --threads 1 --out v1
cmp v/model.safetensors v1/model.safetensors || fail "patches: threads change the model"
expect 0 classify v --data grey.bin
[ "$(tr -d '\n' <out)" = 010101010101 ] || fail "patches: bright and dark are not told apart: $(cat out)"
expect 0 classify v --data grey.bin --batch 1
[ "$(tr -d '\n' <out)" = 010101010101 ] || fail "patches: alone they are of other classes"
expect 0 eval v --data grey.bin
says out 'accuracy  *100.00 %'
expect 0 eval v --data grey.bin --json
says out '"tokenizer": "patch:8"'
# A run that starts from one on pictures has its tokenizer.
few="--data.train grey.bin --data.valid_fraction 0.2 --train.batch 2 --train.steps 2 --train.warmup 1"
expect 0 train --task classify $few --init v --out taken
expect 0 train --task classify $few --init p --out pixels
expect 0 distil $few --teacher v --student hedgehog --distil.attention_steps 2 --out learned
expect 2 distil $few --teacher v --student hedgehog --data.tokenizer patch:16 --out other
says_wrapped err 'differs from data.tokenizer = patch:16, .* leave out data.tokenizer to use that of the run'
printf 'good\tyes\nbad\tno\n' >texts.tsv
expect 2 train --task classify --data.train texts.tsv --init v --train.steps 1 --out other
says_wrapped err 'is for pictures (\*.bin), but the examples are texts'
expect 2 inspect v --text abc --out v.html
says err 'the model reads images'
expect 2 classify c --data grey.bin
says err 'was trained on texts'

# Runs of other tasks.
awk '{ print $0 }' in >text.txt
expect 0 train --data.train text.txt --data.tokenizer char $model --model.context 8 --train.steps 1 --out lm
expect 2 classify lm
says err 'classify needs a run of classify or regress'
expect 2 generate c --prompt good
says err 'c was trained for the task "classify"; generate needs a run of lm$'

# A last line that does not end.
printf 'so so\nbad' >open
expect 0 classify c --data open,open
[ "$(wc -l <out)" -eq 4 ] || fail "lines run into each other"
