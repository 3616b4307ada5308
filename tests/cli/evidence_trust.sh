# SPDX-License-Identifier: Apache-2.0
# What must not come onto a page of evidence: runs of other data, other options or another experiment than were
# declared, and declarations that are younger than the runs.
. "$2/tests/cli/common"
mkdir experiments data
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
    - fixed-random worse than softmax
    - softmax @ one worse than softmax @ two
  variants:
    - {name: one, set: {model.heads: 1}}
    - {name: two, set: {model.heads: 2}}
model: {layers: 1, width: 32, context: 32}
data: {train: text.txt}
train: {batch: 4, steps: 10, warmup: 2, eval_every: 0, log_every: 10, seed: 11}
compare: {seeds: 2, baseline: softmax, margin: 0.5, floor: false, attentions: [softmax, fixed-random]}
END
cp experiments/tiny.yaml kept
evidence() { # CODE WORD...: the experiment, with everything where it usually is
    code=$1
    shift
    expect "$code" evidence --page page.md --threads 1 "$@"
}

# A file that is refused declares nothing and leaves nothing behind, whichever comparison it is about; mended it is run.
sed '/softmax @ one/d; /variants:/d; /name: one/d; /name: two/d; s/baseline: softmax, /family: baseline, /' kept >experiments/tiny.yaml
evidence 2
says err 'compare.family = baseline needs compare.baseline'
[ ! -e evidence ] || fail "a comparison without its baseline left something behind"
sed 's/model.heads: 2/model.heads: 3/' kept >experiments/tiny.yaml
evidence 2
says err 'tiny.yaml: variant two: model.heads = 3 does not divide model.width'
[ ! -e evidence ] || fail "a second comparison that cannot be held left something behind"
cp kept experiments/tiny.yaml
evidence 0
says page.md 'Declared on '

# A text is what it was when it was declared: for a comparison that is still to be run, and where all have ended.
digest=$(sha256sum <data/text.txt | cut -d ' ' -f 1)
says evidence/tiny/declared.json '"data":{"text.txt":"sha256:'"$digest"'"}'
mkdir other
tr aeiou x <data/text.txt >other/text.txt
cp page.md saved
evidence 2 --data other
says err "text.txt was declared as sha256:$digest before the runs, and now it is sha256:"
rm -r evidence/tiny/two evidence/tiny/two.json
evidence 2 --data other
[ ! -e evidence/tiny/two ] || fail "a comparison was begun on another text"
same page.md saved
evidence 0
evidence 0 --no-run # reads no data
# Changed while the first comparison runs, it is not the second one's.
sed 's/steps: 10/steps: 600/' kept >experiments/tiny.yaml
cp -r data moving
"$orthant" evidence --data moving --out moved --page moved.md --threads 1 >out 2>err &
pid=$!
await $pid test -e moved/tiny/one/contest.json
cp other/text.txt moving/text.txt
ended 2 $pid "the call whose text was changed"
[ -e moved/tiny/one.json ] || fail "the first comparison did not come to its end"
[ ! -e moved/tiny/two ] || fail "the second comparison was begun on another text"
cp kept experiments/tiny.yaml

# A record is of the variant, the options and the declaration that it is shown under.
cp -r evidence good
again() { # everything as it was
    rm -r evidence
    cp -r good evidence
    cp kept experiments/tiny.yaml
}
refused() { # PATTERN: by every form of the command
    evidence 1
    says err "$1"
    evidence 1 --no-run
    says err "$1"
    expect 1 evidence --list
    says err "$1"
}
cp evidence/tiny/one.json evidence/tiny/two.json
refused 'two.json belongs to the comparison one; '
again
mkdir tasks
sed 's/steps: 10/steps: 11/' kept >tasks/tiny.yaml
expect 0 evidence --experiments tasks --out elsewhere --page elsewhere.md
cp elsewhere/tiny/one.json evidence/tiny/one.json
refused 'one.json: its comparison has another train.steps than declared; '
again
# Predictions that are declared when the results are there.
sed 's/fixed-random worse/fixed-random better/' kept >experiments/tiny.yaml
rm evidence/tiny/declared.json
refused 'one.json exists without evidence/tiny/declared.json'
mkdir aside
mv evidence/tiny/one.json evidence/tiny/two.json aside
evidence 1
says err 'one/contest.json exists without evidence/tiny/declared.json'
[ ! -e evidence/tiny/declared.json ] || fail "it was declared over a comparison that had been begun"
mv evidence/tiny/one evidence/tiny/two aside
evidence 0
cp aside/*.json evidence/tiny
refused 'one.json does not belong to the declared.json next to it'
again
evidence 0 --no-run

# What the claim says next to its predictions may be mended after the runs, and the page says that it was.
! grep -q 'Changed since' page.md || fail "the page says that an experiment was changed that was not"
sed 's/softmax 1.0, random 2.0/softmax 3.0/; s/name: one,/name: one, at: 7,/; s/two, set/two, at: 8, set/
    s/^  predicts:/  axis: heads\n  predicts:/' kept >experiments/tiny.yaml
evidence 0 --no-run
says err 'tiny.yaml: published and more of its claim changed since it was declared on '
says page.md 'Declared on [-0-9]*\. \*\*Changed since then\*\*: `published`, `axis`, `at`\.'
says page.json '"axis",'
evidence 0
says page.md 'Changed since then'
again
