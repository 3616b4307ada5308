# SPDX-License-Identifier: Apache-2.0
# Folders of runs that somebody else made: numbers take no memory that the files do not need, files that they name are
# not shown, and what has no end is not waited for.
. "$2/tests/cli/common"
awk 'BEGIN { for (i = 0; i < 60; i++) print (i % 2 ? "good" : "bad") "\ta word " i }' >rows.tsv
awk 'BEGIN { for (i = 0; i < 60; i++) print "ab" i % 7 "\tBA" i % 7 }' >pairs.tsv
text 6000
model="--threads 1 --model.layers 1 --model.width 16 --model.heads 2 --model.context 16 --train.batch 2 --train.steps 2"
model="$model --train.warmup 1 --data.tokenizer char --quiet"
expect 0 train $model --task classify --data.train rows.tsv --out classes
expect 0 train $model --task translate --data.train pairs.tsv --out pairs
expect 0 train $model --data.train text.txt --out text
expect 0 eval classes
expect 0 eval pairs

# What the folder names outside itself is never shown.
echo 'secret:x:0:0:of somebody else' >secret
mkfifo fifo
names() { # FOLDER PATH: a copy of the run whose config.json names these data
    rm -rf strange
    cp -r "$1" strange
    sed "s|\"valid\": \"\"|\"valid\": \"$2\"|" "$1/config.json" >strange/config.json
    ! cmp -s "$1/config.json" strange/config.json || fail "config.json has no data.valid"
}
for run in classes pairs; do
    names $run "$work/secret"
    expect 1 eval strange
    says err "the data in strange/config.json"
    ! grep -q 'secret:x' out err || fail "a line of a file that the folder names was printed"
    names $run "$work/fifo"
    expect 1 eval strange
    says err 'not a regular file\|do not fit the task'
done
names text "$work/fifo"
expect 1 eval strange
says err 'fifo: not a regular file'
rm -rf strange
cp -r classes strange
sed "s|\"train\": \"rows.tsv\"|\"train\": \"$work/secret\"|" classes/config.json >strange/config.json
expect 0 eval strange --data rows.tsv
says err 'their format has changed'
! grep -q 'secret:x' out err || fail "a line of the training data that the folder names was printed"
printf '1\n' >layout.txt
expect 0 train $model --data.train text.txt --attention "block-sparse(block=16, layout=layout.txt)" --out laid
sed "s|layout=layout.txt|layout=$work/fifo|" laid/config.json >config.json
! cmp -s config.json laid/config.json || fail "config.json has no layout"
mv config.json laid/config.json
expect 1 generate laid --tokens 3 # its attention is not that of the weights
rm laid/model.safetensors
expect 1 generate laid --tokens 3 # the copy in the folder is not that of the fifo's name
says err 'no copy of the layout file'
rm -rf strange
cp -r classes strange
sed 's|"width": 16|"width": 461168601|' classes/config.json >strange/config.json
expect 1 eval strange # what the folder says is no wrong use
says err 'model.width is "461168601".*damaged'
rm strange/config.json
mkfifo strange/config.json
expect 1 eval strange
says err 'config.json: not a regular file'
cp -r classes link
ln -sf "$work/secret" link/config.json
expect 1 eval link
says err 'link/config.json:1:.*not valid JSON'
! grep -q 'secret:x\|near' err || fail "what a link leads to was printed"
# Final weights that are a link to nothing are missing: the older ones of a checkpoint are no answer.
expect 0 train $model --data.train text.txt --train.checkpoint_every 1 --out gone
rm gone/model.safetensors
expect 0 eval gone
ln -s nowhere gone/model.safetensors
expect 1 eval gone
says err 'cannot read gone/model.safetensors'

# Limits of memory: a sanitizer needs more than any of them.
if ! (ulimit -v 1000000 && "$orthant" --version >out 2>err); then
    echo "a limit of memory cannot be set here"
    exit 77
fi
rm -rf strange
cp -r classes strange
sed 's|"classes": 2|"classes": 2147483647|' classes/config.json >strange/config.json
status=0
(ulimit -v 1000000; "$orthant" classify strange --threads 1 <rows.tsv >out 2>err) || status=$?
[ $status -eq 1 ] || fail "2147483647 classes ended with $status"
says err '"labels" must be a list of 2147483647 strings'

# With little memory: done, or a sentence; the loader's own code is 127.
little() { # WORD...
    for kibibytes in 50000 54000 58000 62000 66000 70000 75000 80000 90000 100000 120000 150000; do
        status=0
        (ulimit -v $kibibytes; "$orthant" "$@" <lines >out 2>err) || status=$?
        case $status in
        0 | 127) ;;
        1) grep -q 'memory\|thread' err || fail "$kibibytes KiB, $*: no sentence that says so" ;;
        *) fail "$kibibytes KiB, $*: ended with $status" ;;
        esac
        rm -rf little
    done
}
cut -f 1 pairs.tsv | head -n 3 >lines
little train $model --data.train text.txt --out little --threads 2
little compare $model --data.train text.txt --attention softmax --attention random --seeds 1 --out little --threads 2
little translate pairs --threads 2
little verify 'local(window=2)' --quick --quiet --threads 2
