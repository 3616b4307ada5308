# SPDX-License-Identifier: Apache-2.0
# What is in the folder of a run: a start that is refused changes nothing, two processes do not meet, a run that was
# killed says where it goes on, limits of the system are said.
. "$2/tests/cli/common"
text 30000
tr ab ba <text.txt >other.txt
options="--config tiny.yaml --quiet"

listing() { # FOLDER: names and contents
    (cd "$1" && find . -type f | sort | xargs sha256sum)
}
refused() { # CODE PATTERN WORD...: the start is refused, and every byte of run/ stays
    code=$1 pattern=$2
    shift 2
    listing run >before
    expect "$code" train --resume --quiet --out run "$@"
    says err "$pattern"
    listing run >after
    same before after
}

# 1. A refused --resume leaves every file as it was.
expect 0 train $options --out run --data.valid other.txt
refused 2 'other training text' --data.train other.txt
refused 2 'other validation text' --data.valid text.txt
refused 2 'train.lr' --train.lr 0.5
refused 2 'has done 30 steps.*at least as many' --train.steps 5
refused 1 'nowhere.txt' --data.train nowhere.txt
head -c 20 text.txt >short.txt
refused 1 '' --data.train short.txt
expect 0 eval run

# ... also when the text changes under its name, or an option in config.json.
cp -r run kept
mv text.txt text.old
cp other.txt text.txt
refused 2 'other training text'
mv text.old text.txt
sed -i 's/"lr": 0.001/"lr": 0.002/' run/config.json
refused 2 'train.lr = 0.001'
cp kept/config.json run/

# ... and a config.json or tokenizer.json that is not the model's is noticed by eval and generate.
for change in 's/"position": "learned"/"position": "none"/' 's/"heads": 4/"heads": 2/' 's/"attention": "softmax"/"attention": "local(window=8)"/'; do
    sed "$change" kept/config.json >run/config.json
    cmp -s kept/config.json run/config.json && fail "$change changes nothing"
    expect 1 eval run
    says err 'it was altered or belongs to another run'
    expect 1 generate run
done
cp kept/config.json run/
tr a '#' <text.txt >hash.txt
expect 0 train $options --train.steps 1 --data.train hash.txt --out elsewhere
cp elsewhere/tokenizer.json run/
expect 1 eval run
says err 'another tokenizer'
cp kept/tokenizer.json run/
expect 0 eval run

# A first start that fails leaves nothing that is in the way of the next.
expect 1 train $options --data.train short.txt --out new/run
[ ! -e new ] || fail "a start that failed left a folder"
mkdir begun
echo '{}' >begun/config.json
expect 0 train $options --train.steps 2 --out begun

# 2. Two processes on one folder: the second is told who is there, a lock of a dead process holds nobody up.
"$orthant" train $options --train.steps 1000000000 --out busy >out 2>err &
pid=$!
await $pid [ -s busy/log.jsonl ]
expect 1 train $options --resume --out busy
says err "in use by another process (process $pid on "
expect 1 compare --config tiny.yaml --out busy
says err "in use by another process (process $pid on "
kill -9 $pid
wait $pid 2>/dev/null || true
[ -f busy/.lock ] || fail "a killed process left no lock file: the next check would show nothing"

# 3. Killed before the first checkpoint: said, and the old log is kept.
cp busy/log.jsonl old.log
: >busy/model.safetensors.12345-0.tmp
expect 0 train $options --resume --train.steps 3 --out busy
says err 'there is no checkpoint to resume from'
same old.log busy/log.jsonl.1
[ ! -e busy/.lock ] && [ ! -e busy/model.safetensors.12345-0.tmp ] || fail "leftovers were not removed"
expect 2 train $options --resume --train.steps 2 --out fresh
says err '^orthant: --resume: there is no folder fresh'
[ ! -e fresh ] || fail "--resume of a folder that is not there made one"
mkdir fresh
expect 0 train $options --resume --train.steps 2 --out fresh
says err 'no checkpoint to resume from'

# By time: a checkpoint comes without being asked for, changes no bit, and --resume says where it goes on.
constant="$options --train.schedule constant"
checkpointed() { # FOLDER
    ls "$1"/checkpoint-*.safetensors >/dev/null 2>&1
}
"$orthant" train $constant --train.steps 1000000000 --train.checkpoint_minutes 1e-6 --out timed >out 2>err &
pid=$!
await $pid checkpointed timed
kill -9 $pid
wait $pid 2>/dev/null || true
step=$(ls timed | sed -n 's/^checkpoint-0*\([0-9]*\)\.safetensors$/\1/p' | sort -n | tail -n 1)
expect 0 train $constant --resume --train.steps $((step + 5)) --out timed
says err "resuming after step $step of $((step + 5)) and $((step * 128)) tokens; the checkpoint is [0-9]* seconds old"
expect 0 train $constant --train.steps $((step + 5)) --train.checkpoint_minutes 0 --out untimed
same timed/model.safetensors untimed/model.safetensors

# A model that is ready and has no checkpoint is not trained over.
rm kept/checkpoint-*
expect 2 train --resume --quiet --train.steps 40 --out kept
says err 'no checkpoint to resume from'

# 4. A symbolic link stays a link, and what was laid under a temporary name is not followed.
echo precious >precious
mkdir linked target
ln -s ../precious linked/config.json.tmp
ln -s ../target/config.json linked/config.json
expect 1 train $options --train.steps 2 --out linked
says err 'dangling symbolic link'
echo '{}' >target/config.json
expect 0 train $options --train.steps 2 --out linked
[ "$(cat precious)" = precious ] || fail "a symbolic link was followed"
[ -L linked/config.json ] && grep -q '"model"' target/config.json || fail "the target of a link was not written"

# 5. Input without an end is refused; a pipe is read.
if [ -c /dev/zero ] && [ -z "$quick" ]; then
    ulimit -v 4000000
    expect 1 tokenizer encode run/tokenizer.json --data /dev/zero
    says err '256 MiB'
    expect 1 train --config /dev/zero --out endless
    says err '256 MiB'
    head -c 20000000 /dev/zero | gzip -1 >part.gz
    for part in $(seq 14); do cat part.gz; done >bomb.gz
    expect 1 train $options --data.train bomb.gz --data.tokenizer byte --out endless
    says err '256 MiB'
    [ ! -e endless ] || fail "endless input left a folder"
fi
cat text.txt | "$orthant" train $options --train.steps 2 --data.train /dev/stdin --data.tokenizer byte --out piped >out 2>err ||
    fail "a pipe is not read"

# ... and one that stays silent does not keep the program from being stopped, whether it has a writer or none.
mkfifo silent
ln -s nowhere dangling
expect 1 train $options --out dangling
says err 'dangling symbolic link'
waiting() { # CODE SIGNAL WORD...: the program waits for the pipe, and is stopped
    code=$1 signal=$2
    shift 2
    status=0
    timeout -k 5 -s "$signal" --preserve-status 0.3 "$orthant" "$@" --quiet >out 2>err || status=$?
    [ $status -eq "$code" ] || fail "orthant $* ended with $status instead of $code at SIG$signal"
}
waiting 143 TERM eval run --data silent
waiting 130 INT train $options --data.train text.txt,silent --data.tokenizer byte --out waited
waiting 143 TERM train --config silent --out waited
waiting 143 TERM train $options --train.pace silent --out waited
waiting 143 TERM train $options --data.tokenizer "$PWD/silent" --out waited
waiting 143 TERM tokenizer encode run/tokenizer.json --data silent
waiting 143 TERM tokenizer decode run/tokenizer.json --data silent
mkdir comparison
mkfifo comparison/contest.json
waiting 143 TERM compare $options --attention softmax --attention linear --out comparison
exec 3<>silent
waiting 143 TERM eval run --data silent
exec 3>&-
cat text.txt >silent &
expect 0 eval run --data silent
wait

# 6. Control characters of names are shown, not sent.
escape=$(printf '\033')
expect 1 eval "$(printf 'a\302\237b\302\240c')" # U+009F, the last control character, and U+00A0
says err 'a\\xc2\\x9fb'"$(printf '\302\240')c"
expect 1 eval "$(printf 'a\033]0;title\007\302\233\377\303\244')"
says err 'contains no run'
says err 'a\\x1b\]0;title\\x07\\xc2\\x9b\\xff'"$(printf '\303\244')"
! grep -q "$escape" err || fail "an escape character reached the terminal"
if command -v script >/dev/null; then # results, too, where standard output is a terminal
    cp -r run "$(printf 'z\033]0;t\007\302\2331n\303\244')"
    TERM=dumb script -qec "'$orthant' eval z*" /dev/null </dev/null >out 2>&1 || fail "eval on a terminal ended badly"
    says out 'run             z\\x1b\]0;t\\x07'
    says out '\\x9b1n'"$(printf '\303\244')"
    grep -q 'bits/byte' out || fail "eval on a terminal says nothing"
    ! grep -q "$escape" out || fail "an escape character reached the terminal with the results"
    prompt=$(printf 'b\033]0;t\007')
    TERM=dumb script -qec "'$orthant' generate piped --tokens 1 --prompt '$prompt'" /dev/null </dev/null >out 2>&1 ||
        fail "generate on a terminal ended badly"
    says out 'b\\x1b\]0;t\\x07'
    ! grep -q "$escape" out || fail "an escape character reached the terminal with a text"
fi
expect 2 train "--trai$(printf '\033')n" x
! grep -q "$escape" err || fail "an escape character of an option reached the terminal"

mkdir "$(printf 'name\nreport  x')"
cp run/* "$(printf 'name\nreport  x')"
expect 0 eval "$(printf 'name\nreport  x')"
says out 'name\\x0areport  x'
! grep -q '^report' out || fail "a line end of a name makes a line of the results"

# 7. ulimit -f: a sentence, and the folder is good when there is room again.
status=0
(ulimit -f 60 && exec "$orthant" train $options --train.checkpoint_every 5 --out limited >out 2>err) || status=$?
[ $status -eq 1 ] || fail "ulimit -f ended with $status"
says err 'ulimit -f'
[ -z "$(find limited -name '*.tmp')" ] || fail "ulimit -f left a temporary file"
expect 0 train $options --resume --out limited
expect 0 train $options --out whole
same limited/model.safetensors whole/model.safetensors

# 8. Little memory (ulimit -v): a sentence, whatever asked for it.
for kilobytes in $([ -n "$quick" ] || echo 50000 56000 62000 68000); do
    status=0
    (ulimit -v $kilobytes && exec "$orthant" train $options --threads 1 --out "small$kilobytes" >out 2>err) || status=$?
    [ $status -le 127 ] || fail "a limit of $kilobytes KiB ended with $status" # 127: the program could not be loaded
    ! grep -q gzip err || fail "too little memory is called damaged data"
done
