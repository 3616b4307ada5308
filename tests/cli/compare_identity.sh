# SPDX-License-Identifier: Apache-2.0
# What defines a comparison is held to what lies in its folder: another text, tokenizer or option is refused by name, files
# that were changed are noticed, and more seeds or attentions use the runs that are there.
. "$2/tests/cli/common"
text 30000
cp text.txt first.txt
options="--config tiny.yaml --train.steps 6 --train.log_every 3 --compare.uniform_baseline off --quiet"
pair="--attention softmax --attention random"

compare() { # CODE WORD...: a comparison of softmax and random in the folder a
    wanted=$1
    shift
    expect "$wanted" compare $options $pair --seeds 2 --out a "$@"
}

# The texts, by content: the same name with another text is another comparison, another name with the same text is none.
compare 0
head -c 60000 "$source/data/tinyshakespeare.txt" | tail -c 30000 >text.txt
compare 2
says err 'training text was sha256:[0-9a-f]*, but it is sha256:'
says err 'another comparison'
cp first.txt text.txt
compare 0
head -c 29000 first.txt >text.txt
tail -c 1000 first.txt | tr 'a-m' 'n-z' >>text.txt
compare 2
says err 'validation text was'
rm text.txt
gzip -c first.txt >renamed.gz
compare 0 --data.train renamed.gz
cp first.txt text.txt

# Everything else that decides numbers.
compare 2 --train.lr 0.002
says err 'train.lr was 0.001, but it is 0.002 now'
compare 2 --data.tokenizer byte
says err 'tokenizer was sha256:'
compare 2 --train.precision bf16
says err 'train.precision was f32, but it is bf16 now'
compare 2 --equal flops
says err 'compare.equal was tokens, but it is flops now'
compare 0 --train.checkpoint_every 3

# Going on with more of both trains only what is missing.
find a -name result.json | sort >before
expect 0 compare $options --seeds 3 --attention linear $pair --out a
find a -name result.json -newer before | sort >trained
cat >wanted <<'LIST'
a/runs/attention-01/seed-3/result.json
a/runs/attention-02/seed-3/result.json
a/runs/attention-03/seed-1/result.json
a/runs/attention-03/seed-2/result.json
a/runs/attention-03/seed-3/result.json
LIST
same trained wanted
expect 0 compare $options --seeds 3 --attention random --attention linear --attention softmax --out b
losses() {
    grep -o '"\(attention\|valid_loss\)": *["a-z0-9.e+-]*' "$1/results.json" | sort
}
losses a >one
losses b >two
same one two
expect 0 compare $options --equal flops --seeds 2 $pair --out flops
expect 2 compare $options --equal flops --seeds 2 --attention random --attention softmax --out flops
says err 'it was "softmax" and is now "random"'

# A checksum is what sha256sum says of the rest.
result=a/runs/attention-01/seed-1/result.json
cp -r a keep
seal=$(sed 's/"seal":"[0-9a-f]\{64\}",\{0,1\}//; s/,}$/}/' $result | sha256sum | cut -d ' ' -f 1)
says $result "\"seal\":\"$seal\""

restore() {
    rm -r a
    cp -r keep a
}
for file in a/contest.json $result; do
    sed 's/"seal":"[^"]*",*//; s/,}$/}/' $file >x
    mv x $file
    compare 1
    says err 'checksum missing'
    restore
done
sed 's/"valid_loss":[0-9.]*/"valid_loss":0.001/' $result >x
mv x $result
compare 1
says err "$result was changed after it was written"
restore
sed 's/"steps":6/"steps":5/' a/contest.json >x
mv x a/contest.json
compare 1
says err 'a/contest.json was changed'
restore
echo '{"valid_loss": 0.001}' >$result
compare 1
says err 'checksum missing'
restore
head -c 100 $result >x
mv x $result
compare 1
says err "$result:1:"
restore

# The log tells the same story, the runs are where they belong, and their seeds are theirs.
sed -i '$ s/"valid_loss": [0-9.]*/"valid_loss": 1.5/' a/runs/attention-02/seed-2/log.jsonl
compare 1
says err 'line 2 of a/runs/attention-02/seed-2/log.jsonl'
restore
cp a/runs/attention-02/seed-1/result.json $result
compare 2
says err 'model.attention was random, but it is softmax now'
restore
cp a/runs/attention-01/seed-2/result.json $result
compare 2
says err 'train.seed was 2, but it is 1 now'
restore
rm a/contest.json
compare 2 --train.lr 0.002
says err 'train.lr was 0.001, but it is 0.002 now'
[ ! -e a/contest.json ] || fail "a refused start wrote contest.json"
compare 0

# Models and run.json are those of their results, and a finished model is not trained over by another comparison.
restore
cp a/runs/attention-01/seed-2/model.safetensors a/runs/attention-01/seed-1/model.safetensors
compare 1
says err 'model.safetensors is not the model of this result'
restore
printf x >>a/runs/attention-01/seed-1/model.safetensors
compare 1
restore
cp a/runs/attention-01/seed-2/run.json a/runs/attention-01/seed-1/run.json
compare 2
says err 'run.json: train.seed was 2, but it is 1 now'
restore
rm a/runs/attention-01/seed-1/model.safetensors a/runs/attention-01/seed-1/run.json
compare 0
restore
find a -name result.json -delete
rm a/contest.json
sums() {
    find a -type f ! -name .lock -exec sha256sum {} + | sort
}
sums >before.sums
compare 2 --train.lr 0.002
sums >after.sums
same before.sums after.sums

# A checkpoint without its run.json belongs to nothing.
restore
rm $result
cp a/runs/attention-01/seed-1/model.safetensors a/runs/attention-01/seed-1/checkpoint-000000003.safetensors
rm a/runs/attention-01/seed-1/run.json
compare 1
says err 'run.json is missing'

# Another instruction set is another machine: its losses are as good, its seconds are not.
restore
"$orthant" doctor | grep -q avx2 || exit 0
expect 0 compare $options $pair --seeds 4 --out a --isa ref
says err 'another machine'
says_wrapped out 'trained on 2 machines: their losses are comparable'
says a/results.json '"machine": .*, ref, '
expect 0 compare $options $pair --seeds 2 --equal time --out time
expect 2 compare $options $pair --seeds 2 --equal time --out time --isa ref
says err 'where the same time is another budget'

# So are other instructions of the library that makes matrix products, which its environment may choose: its bits differ.
products() { "$orthant" doctor | sed -n 's/^f32 .*matrix products \(.*\)/\1/p'; }
here=$(products)
other=$(DNNL_MAX_CPU_ISA=AVX2 products)
case $here in onednn*) ;; *) exit 0 ;; esac
[ "$here" != "$other" ] || exit 0
restore
says a/runs/attention-01/seed-1/result.json ", $here, [0-9 of]* threads\""
DNNL_MAX_CPU_ISA=AVX2
export DNNL_MAX_CPU_ISA
expect 0 compare $options $pair --seeds 4 --out a
says err "another machine (.*, $here, .*; this one: .*, $other, "
says_wrapped out 'trained on 2 machines: their losses are comparable'
expect 2 compare $options $pair --seeds 2 --equal time --out time
says err 'where the same time is another budget'
unset DNNL_MAX_CPU_ISA

# A run of an older program, which did not say what made its products, is not taken for one of another machine.
restore
for file in run.json result.json; do
    path=a/runs/attention-01/seed-1/$file
    sed -i "s/, $here, /, /" $path
    seal=$(sed 's/"seal":"[0-9a-f]\{64\}",\{0,1\}//; s/,}$/}/' $path | sha256sum | cut -d ' ' -f 1)
    sed -i "s/\"seal\":\"[0-9a-f]*\"/\"seal\":\"$seal\"/" $path
done
! grep -q onednn a/runs/attention-01/seed-1/run.json || fail "the products are still named"
compare 0
! grep -q 'another machine' err || fail "an older run is said to be of another machine"
! grep -q 'trained on' out || fail "an older run is counted as one of another machine"
