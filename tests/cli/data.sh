# SPDX-License-Identifier: Apache-2.0
# Synthetic data sets: the files and what data.json says of them, what is refused, stops and kills, folders.
. "$2/tests/cli/common"
small="--train 300 --valid 40 --test 50 --quiet"

listing() { # FOLDER: names and contents
    (cd "$1" && find . -type f | sort | xargs sha256sum)
}
field() { # FOLDER NAME: the first such member of data.json
    sed "s/.*\"$2\":\([^,}]*\).*/\1/" "$1/data.json"
}
update_checksum() { # FOLDER: updates the checksum in data.json
    sum=$(sed 's/"seal":"[0-9a-f]\{64\}",\{0,1\}//; s/,}$/}/' "$1/data.json" | tr -d '\n' | sha256sum | cut -c 1-64)
    sed -i "s/\"seal\":\"[0-9a-f]*\"/\"seal\":\"$sum\"/" "$1/data.json"
}

# Every task: its files, as many lines as were asked for, digests, all inputs different.
expect 0 data list
cp out list
tasks=$(sed -n 's/^\([a-z-]*\): .*/\1/p' list)
[ "$(echo "$tasks" | wc -l)" -ge 8 ] || fail "only these tasks: $tasks"
expect 0 data --help
cp out page
for task in $tasks; do
    says page "$task"
    short=
    [ $task != listops ] || short="--min-length 20 --max-length 60"
    expect 0 data $task $small $short --out $task
    says out "^$task: $task, 300 examples for training, 40 for validation, 50 for the test; "
    files=$(sed -n "/^$task: /,/^  files/s/^  files *//p" list | tr -d ,)
    for suffix in $files; do
        for part in train:300 valid:40 test:50; do
            lines=${part#*:}
            [ $suffix != tsv ] || lines=$((lines + 1))
            file=${part%:*}.$suffix
            says out "^files:.* $file"
            [ "$(wc -l <$task/$file)" -eq $lines ] || fail "$task/$file has not $lines lines"
            [ "$(field $task "$file")" = "\"$(sha256sum <$task/$file | cut -c 1-64)\"" ] || fail "digest of $task/$file"
        done
        if [ $suffix = tsv ]; then
            for part in train valid test; do
                head -n 1 $task/$part.tsv | grep -q "^\(label	text\|tokens	targets\)$" || fail "the head of $task/$part.tsv"
            done
            awk -F '\t' 'FNR == 1 { tokens = $1 == "tokens" } FNR > 1 { print tokens ? $1 : $2 }' $task/*.tsv >inputs
            tail -qn +2 $task/*.tsv | awk -F '\t' 'NF != 2 { exit 1 }' || fail "a line of $task has not two fields"
        elif [ $suffix = source ]; then
            cat $task/*.source >inputs
        fi
    done
    [ "$(sort inputs | uniq | wc -l)" -eq 390 ] || fail "inputs of $task come twice"
    [ "$(awk '{ print NF }' inputs | sort -n | sed -n '1p;$p' | tr '\n' ' ')" = \
        "$(field $task shortest) $(field $task longest) " ] || fail "words of $task"
    [ "$(ls -A $task | wc -l)" -eq $((3 * $(echo $files | wc -w) + 1)) ] || fail "$task holds other files: $(ls -A $task)"
    cp $task/data.json wanted
    update_checksum $task
    same $task/data.json wanted
done
for part in train valid test; do # the line of a language model is the text with its label
    tail -n +2 recall/$part.tsv | awk -F '\t' '{ print $2, $1 }' >wanted
    same recall/$part.txt wanted
done
guess=$(tail -n +2 recall/train.tsv | cut -f 1 | sort -n | uniq -c | sort -k 1,1nr -k 2,2n | awk 'NR == 1 { print $2 }')
right=$(tail -n +2 recall/test.tsv | cut -f 1 | grep -cx "$guess" || true)
expect 0 data recall $small --out recall
says out "is right in $(awk "BEGIN { printf \"%.2f\", 100 * $right / 50 }") % of the test"

# Results as JSON are what data.json says; of the same options the same bytes, of another seed or number others.
expect 0 data copy $small --json --out copy
tr -d ' \n' <out >got
tr -d ' \n' <copy/data.json | sed 's/"seal":"[0-9a-f]*",//' >wanted
[ "$(fold -w 1 got | sort)" = "$(fold -w 1 wanted | sort)" ] || fail "JSON and data.json differ"
says out '"complete": true'
listing copy >before
expect 0 data copy $small --threads 3 --out again
listing again >after
same before after
expect 0 data copy $small --seed 1 --out again
! cmp -s copy/train.source again/train.source || fail "another seed changes nothing"
expect 0 data copy $small --train 3000 --out again
same copy/test.source again/test.source
same copy/valid.target again/valid.target
expect 0 data copy $small --valid 0 --test 0 --out again
[ "$(ls again | tr '\n' ' ')" = "data.json train.source train.target " ] || fail "left over: $(ls again)"
expect 0 data list --json
[ "$(grep -c '"source":' out)" -eq "$(echo "$tasks" | wc -l)" ] || fail "tasks are missing in JSON"

# What is refused leaves no folder.
wrong() { # PATTERN WORD...
    pattern=$1
    shift
    expect 2 data "$@"
    says err "^orthant: .*$pattern"
    [ ! -e x ] || fail "data $* left a folder"
}
wrong "a task, 'pack', 'dedup' or 'list'"
wrong 'unexpected argument' copy sort --out x
wrong 'did you mean copy' copi --out x
wrong 'needs --out' copy
wrong 'out has no effect' list --out x
for flag in train valid test seed min-length max-length alphabet values depth arguments pairs copies motif noise noise-words; do
    wrong "$flag has no effect" list --$flag 1
done
wrong 'depth has no effect on task copy' copy --depth 3 --out x
wrong 'values has no effect on task induction' induction --values 3 --out x
wrong 'from 1 to 1000000' copy --alphabet 0 --out x
wrong 'it must be from 1 to 10000' copy --alphabet 10001 --out x
wrong 'from 0 to 100000000' copy --train -1 --out x
wrong '--min-length = 9 exceeds --max-length = 8' copy --min-length 9 --max-length 8 --out x
wrong 'only 26 inputs' copy --max-length 1 --out x
wrong 'nothing to generate' copy --train 0 --valid 0 --test 0 --out x
wrong 'did you mean --max-length' copy --max-lenght 3 --out x
mkdir -p mine
echo mine >mine/train.source
listing mine >before
expect 2 data copy $small --out mine
says err 'mine contains "train.source"'
listing mine >after
same before after
[ -z "$(find mine -name .lock)" ] || fail "a lock was left"
echo text >copy/notes.txt
listing copy >before
expect 2 data copy $small --seed 3 --out copy
says err 'copy contains "notes.txt"'
listing copy >after
same before after
rm copy/notes.txt
sed 's/"seed":0/"seed":1/' copy/data.json >changed
cp -r copy altered
cp changed altered/data.json
expect 1 data copy $small --out altered
says err 'altered/data.json was changed'
sed -i 's/"test.source":/"..\/before":/' altered/data.json # a checksum that fits: still nothing outside is touched
update_checksum altered
expect 1 data copy $small --out altered
says err 'lists "../before", which is not a file of a data set'
[ -e before ] || fail "a file outside was removed"
echo '{}' >altered/data.json
expect 1 data copy $small --out altered
says err 'checksum missing'
: >plain
expect 1 data copy $small --out plain
says err 'plain'

# A folder that was being filled is one of a data set: it is filled again.
cp -r copy half
sed -i 's/"complete":true/"complete":false/' half/data.json
rm half/test.target
update_checksum half
expect 0 data sort $small --out half
[ "$(field half complete)" = true ] || fail "not complete"
same half/train.source sort/train.source

# Stopped, it ends long before all is drawn (which takes many minutes), with nothing left behind or with what was there;
# killed, the next start cleans up.
begun() { [ -n "$(find "$folder" -name 'test.tsv.*.tmp' 2>/dev/null)" ]; }
for folder in new sub/new parity; do
    [ ! -d $folder ] || listing $folder >before
    "$orthant" data listops --quiet --train 100000000 --out $folder >out 2>err &
    pid=$!
    await $pid begun
    kill -INT $pid
    ended 130 $pid "a stopped data"
    [ $folder = parity ] || [ ! -e ${folder%/*} ] || fail "$folder was left"
done
listing parity >after
same before after
folder=parity
"$orthant" data listops --quiet --train 1000000 --out parity >out 2>err &
pid=$!
await $pid begun
expect 1 data copy $small --out parity
says err 'in use by another process'
kill -KILL $pid
ended 137 $pid "a killed data"
begun || fail "nothing to clean up"
expect 0 data copy $small --out parity
[ "$(ls -A parity | tr '\n' ' ')" = "$(ls -A copy | tr '\n' ' ')" ] || fail "left over: $(ls -A parity)"
same parity/train.source copy/train.source

# A full disk: the old data set stays.
listing parity >before
status=0
(ulimit -f 16 && exec "$orthant" data sort --quiet --out parity) >out 2>err || status=$?
[ $status -eq 1 ] || fail "ulimit -f: ended with $status"
says err 'cannot write parity/'
listing parity >after
same before after

# Progress.
expect 0 data reverse --out reverse
says err '^reverse \[.*left$'
