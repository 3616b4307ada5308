# SPDX-License-Identifier: Apache-2.0
# Experiments from their file to the page: run, stopped, gone on with, changed, without data, without runs.
. "$2/tests/cli/common"
mkdir experiments data docs
head -c 20000 "$source/data/tinyshakespeare.txt" >data/text.txt
cat >experiments/tiny.yaml <<'END'
claim:
  title: Any attention is better than none
  question: Is it?
  source: Nobody 2020, Table 0
  published: ["softmax 1.0, random 2.0"]
  data: {name: A text, get: "head -c 20000 of another one", licence: public domain}
  scale: none; it is a test
  predicts:
    - fixed-random better than softmax
    - softmax @ one as good as softmax @ four
  axis: heads
  variants:
    - {name: one, at: 1, set: {model.heads: 1}}
    - {name: four, at: 4, set: {model.heads: 4}}
model: {layers: 1, width: 32, context: 32}
data: {train: text.txt}
train: {batch: 4, steps: 40, warmup: 5, eval_every: 0, log_every: 10, seed: 11}
compare: {seeds: 5, baseline: softmax, margin: 0.5, floor: false, attentions: [softmax, fixed-random]}
END
sed 's/title: .*/title: Elsewhere/; s/text.txt/elsewhere.txt/' experiments/tiny.yaml >experiments/without.yaml

# Nothing was run yet: it says so, and writes nothing.
expect 0 evidence --list
says out '^tiny .* 0 of 2 .* not run$'
[ ! -e evidence ] || fail "--list made a folder"

# Data that are not there: by name an error, and otherwise a notice that does not keep the others from running.
expect 1 evidence without
says err 'data/elsewhere.txt does not exist. It needs A text: head -c 20000 of another one (licence: public domain)'
[ ! -e evidence/without ] || fail "something was declared without data"
for ending in json csv; do
    expect 2 evidence --no-run --page docs/page.$ending
    says err "page docs/page.$ending: the page is Markdown"
done
expect 2 evidence tinny
says err 'did you mean "tiny"'

# Stopped in the middle of the second comparison; what was declared stays, and the next call goes on to the same numbers.
cp -r experiments longer
[ -n "$slow" ] || sed -i 's/steps: 40/steps: 400/' longer/tiny.yaml
"$orthant" evidence tiny --experiments longer --out stopped --page docs/stopped.md --threads 1 >out 2>err &
pid=$!
await $pid test -e stopped/tiny/four/contest.json
kill -INT $pid
ended 130 $pid "the stopped call"
says err 'stopped by signal 2.*; run the same command again to continue'
[ ! -e stopped/tiny/four.json ] || fail "it was stopped too late to say anything"
[ -e stopped/tiny/declared.json ] || fail "nothing was declared"
expect 0 evidence --no-run --experiments longer --out stopped --page docs/stopped.md
says docs/stopped.md '| not finished |'
before=$(cksum <stopped/tiny/one.json)
expect 0 evidence tiny --experiments longer --out stopped --page docs/stopped.md
[ "$before" = "$(cksum <stopped/tiny/one.json)" ] || fail "what had ended was run again"
expect 0 evidence tiny --experiments longer --out whole --page docs/whole.md
numbers() { # FILE: without times
    sed 's/"\(processor_\)\{0,1\}seconds": [0-9.e-]*//' "$1"
}
numbers docs/stopped.json >one
numbers docs/whole.json >two
same one two

# All of it: a page, its charts, a file for programs.
expect 0 evidence
says err 'not run: without: data missing'
says out '^tiny .* 2 of 2 .* fails here$'
says out '^without .* not run$'
says docs/evidence.md '| fixed-random better than softmax | one | .* | equivalent, .* | fails here |'
says docs/evidence.md '| softmax @ one as good as softmax @ four | one, four | .* | equivalent, .* | holds here |'
says docs/evidence.md 'Run it with `orthant evidence without --data FOLDER`'
says docs/evidence/tiny.svg '^<svg'
says docs/evidence/tiny-over.svg '^<svg'
[ "$(head -1 docs/evidence.csv)" = experiment,comparison,attention,seed,metric,score,loss ] || fail "evidence.csv has no header"
says docs/evidence.csv '^tiny,one,softmax,11,loss,[0-9.]*,[0-9.]*$'
[ "$(wc -l <docs/evidence.csv)" = 21 ] || fail "evidence.csv does not have the 20 runs"
[ ! -e docs/evidence/tiny-map.svg ] || fail "a map of an experiment with an axis"
[ ! -e docs/evidence/without.svg ] || fail "a chart of nothing"
[ "$(grep -c '"prediction": ' docs/evidence.json)" = 4 ] || fail "evidence.json does not have four predictions"

# The page again from the records alone, without data and without comparisons.
cp docs/evidence.md page
rm -r evidence/tiny/one evidence/tiny/four data
expect 0 evidence --no-run
same docs/evidence.md page
expect 0 evidence tiny --data nowhere --json
says out '"verdict": "fails here"'

# An answer, which is written after the runs, is on top where its experiment is the first one, and no change of the claim.
cp -r experiments answered
sed -i 's/^claim:/&\n  order: 2\n  answer: Any attention is as good as another one here./' answered/tiny.yaml
expect 0 evidence --no-run --experiments answered --page docs/answered.md
[ "$(sed -n 4p docs/answered.md)" = 'Any attention is as good as another one here.' ] || fail "the page does not begin with the answer"
[ "$(grep -c 'as good as another one here' docs/answered.md)" = 1 ] || fail "the answer is repeated"
! grep -q 'Changed since' docs/answered.md || fail "an answer is taken for a change"
sed -i 's/^claim:/&\n  order: 1.5/' answered/without.yaml
expect 0 evidence --no-run --experiments answered --page docs/answered.md
says docs/answered.md '^# Evidence'
[ "$(grep -n -o '(`[a-z]*`)' docs/answered.md | sed 's/.*`\(.*\)`.*/\1/' | tr '\n' ' ')" = 'without tiny ' ] ||
    fail "experiments are not in their order"
[ "$(grep '^## ' docs/answered.md | head -1)" = '## Any attention is better than none' ] || fail "results are not first"
says docs/answered.md '^Any attention is as good as another one here.$'
sed -i 's/order: 1.5/order: first/' answered/without.yaml
expect 2 evidence --no-run --experiments answered --page docs/answered.md
says err 'answered/without.yaml:2: claim.order must be a number'

# The file was changed after the runs.
sed 's/fixed-random better than softmax/fixed-random worse than softmax/' experiments/tiny.yaml >changed
cp experiments/tiny.yaml kept
cp changed experiments/tiny.yaml
expect 2 evidence --no-run
says err 'prediction 1 was declared as "fixed-random better than softmax" before the runs'
same docs/evidence.md page
sed 's/steps: 40/steps: 41/' kept >experiments/tiny.yaml
expect 2 evidence --list
says err 'train.steps of the comparison one was declared as 40 before the runs, and now it is 41'
cp kept experiments/tiny.yaml
sed -i 's/"baseline":0/"baseline":1/' evidence/tiny/one.json
expect 1 evidence --no-run
says err 'one.json was changed after it was written'

# Fewer seeds than a verdict takes: no advice to change what is declared.
mkdir few
sed 's/seeds: 5/seeds: 2/; s/steps: 40/steps: 2/; s/warmup: 5/warmup: 1/' kept >few/tiny.yaml
head -c 20000 "$source/data/tinyshakespeare.txt" >few/text.txt
expect 0 evidence --experiments few --data few --out few-runs --page docs/few.md
says err '2 seeds, as declared: the report of the comparison has no verdicts'
! grep -q 'use at least' err || fail "a declared number of seeds is to be changed"

# compare reads the same file where the data are, and passes over the claim.
mkdir data
head -c 20000 "$source/data/tinyshakespeare.txt" >text.txt
expect 0 compare --config experiments/tiny.yaml --train.steps 5 --seeds 2 --out comparison --quiet
says out 'random(frozen)'

expect 2 evidence --list --page x.md
expect 2 evidence --no-run tiny
expect 1 evidence --experiments data
says err 'contains no experiments'

# Speeds come out of the comparison's own rounds, whatever they are here; and the order of two comparisons out of their pairs.
mkdir timed
sed 's/text.txt/data\/text.txt/; s/fixed-random better than softmax/softmax @ one faster than fixed-random @ one/
    s/softmax @ one as good as softmax @ four/ranking @ one same as ranking @ four/' kept >timed/tiny.yaml
cp text.txt data/
expect 0 evidence --experiments timed --out timed-runs --page docs/timed.md
says docs/timed.md '| softmax @ one faster than fixed-random @ one | one | [0-9.]* times as fast ([0-9.]* to [0-9.]*) |'
says docs/timed.md '| ranking @ one same as ranking @ four | one, four | pairs: 1 alike, 0 opposed, 0 inconclusive | the same order | holds here |'
says docs/timed.json '"pairs": {'

# The project's own experiments can be read.
expect 0 evidence --list --experiments "$source/experiments"
[ "$(grep -c ' not run$' out)" = "$(ls "$source/experiments/"*.yaml | wc -l)" ] || fail "not every experiment is listed"

# Pre-training and what follows it in one experiment: each attention goes on from its own runs; these must still be there.
mkdir starts
awk 'BEGIN { for (i = 0; i < 120; i++) print (i * 7 % 5 < 2 ? "pos" : "neg") "\tthe word " (i * 7 % 5 < 2 ? "good" : "bad") }' \
    >data/class.tsv
sed 's/fixed-random better than softmax/fixed-random @ fine better than softmax @ fine/; /softmax @ one/d; /axis:/d
    s/{name: one.*/{name: pre, set: {data.task: mlm}}/; s/text.txt/data\/text.txt/
    s/{name: four.*/{name: fine, from: pre, set: {data.task: classify, data.train: data\/class.tsv, train.seed: 12}}/' kept \
    >starts/tiny.yaml
expect 0 evidence --experiments starts --out start-runs --page docs/starts.md
! grep -q 'not given' err || fail "options are said to be the task's, and an experiment has the plain defaults"
says err 'of the same attention in start-runs/tiny/pre, and of the same seed where there is one, else of the first (of 16 from that of 11)'
says start-runs/tiny/fine.json '"started_from":{"model":"sha256:[0-9a-f]*","run":"start-runs/tiny/pre/runs/attention-02/seed-13","seed":13}'
says docs/starts.md 'Comparisons: `pre`: data.task = mlm; `fine`: runs start from those of `pre`, data.task = classify'
says docs/starts.md '^Scores: `pre`: loss, differences in nats a masked token, lower is better; `fine`: accuracy, '
says docs/starts.json '"from": "pre"'
expect 0 evidence --experiments starts --out start-runs --page docs/starts.md
rm -r start-runs/tiny/fine* start-runs/tiny/pre
expect 1 evidence --experiments starts --out start-runs --page docs/starts.md
says err 'tiny: the comparison fine starts from the runs of pre, and these are not there: .*; remove pre.json'
rm start-runs/tiny/pre.json
expect 0 evidence --experiments starts --out start-runs --page docs/starts.md

# compare runs what the file of an experiment says: no option of its own, though the task has other defaults.
mkdir alike
sed '/softmax @ one/d; /axis:/d; /variants:/d; /- {name:/d
    s/^data: .*/data: {task: classify, train: data\/class.tsv}/' kept >alike/tiny.yaml
expect 0 evidence --experiments alike --out alike-runs --page docs/alike.md
expect 0 compare --config alike/tiny.yaml --out alike-compare
! grep -q 'using the defaults of task' err || fail "compare adds defaults of the task"
weights_of() { # FOLDER
    (cd "$1" && grep -o '"weights":"[0-9a-f]*"' runs/*/*/result.json)
}
weights_of alike-runs/tiny/comparison >a
weights_of alike-compare >b
[ "$(wc -l <a)" -ge 6 ] || fail "the experiment has no runs"
same a b
says alike-compare/runs/attention-01/seed-11/config.json '"dropout": 0,'
