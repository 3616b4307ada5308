# SPDX-License-Identifier: Apache-2.0
# What models write: no special token that no target has, UTF-8 and whole characters, the same text printed and in JSON;
# log p as a forced pass gives it. What is read: an error is none of the ends of the input, a line is one line.
. "$2/tests/cli/common"
small="--model.layers 1 --model.width 32 --model.heads 4 --model.context 32 --train.batch 8 --train.warmup 1"
small="$small --train.eval_every 0 --quiet"
awk 'BEGIN { srand(2); for (i = 0; i < 80; i++) { k = 1 + int(rand() * 4); s = t = ""
    for (j = 0; j < k; j++) { c = rand() < 0.5; s = s (c ? "a" : "b"); t = (c ? "ä" : "日") t }
    print s "\t" t } }' >pairs.tsv
cut -f 1 pairs.tsv | sort -u >sources

utf8() { # FILE
    iconv -f UTF-8 -t UTF-8 "$1" >/dev/null 2>&1 || fail "$1 is not UTF-8"
}
written() { # FILE: no special token is in it
    ! grep -qE '</?s>|<extra_id_[0-9]+>|\[(CLS|SEP|MASK)\]' "$1" || fail "a special token in $1: $(grep -nE -m 1 '<|\[' "$1")"
}
field() { # NAME FILE
    sed -n "s/^  \"$1\": \\([-0-9.e+]*\\),\\{0,1\\}\$/\\1/p" "$2"
}

# ---- special tokens: after a step or two nearly all beams of older programs began with <s>
expect 0 train --task span --data.train pairs.tsv --data.tokenizer bpe:270 $small --train.steps 3 --out span
expect 0 train --task mlm --data.train pairs.tsv --data.tokenizer bpe:270 $small --train.steps 3 --out mlm
for start in "--data.tokenizer byte" "--data.tokenizer char" "--train.init span --model.source_context 32" \
    "--data.tokenizer mlm/tokenizer.json"; do
    for task in translate dialogue; do
        expect 0 train --task $task --data.train pairs.tsv $small $start --train.steps 2 --out t --overwrite
        "$orthant" translate t --beam 8 --nbest 8 --decode.length_penalty 10 <sources >list 2>err || fail "$task $start"
        utf8 list
        written list
        "$orthant" translate t <sources >best 2>err || fail "$task $start: the best"
        "$orthant" translate t --json <sources >objects 2>err || fail "$task $start: JSON"
        utf8 best
        [ "$(wc -l <best)" -eq "$(wc -l <sources)" ] || fail "$task $start: not a line for each"
        if command -v python3 >/dev/null; then
            python3 -c 'import json
texts = [json.loads(line)["hypotheses"][0]["text"] for line in open("objects", encoding="utf-8")]
assert texts == open("best", encoding="utf-8").read().split("\n")[:-1]' || fail "$task $start: JSON has another text"
        fi
    done
done

# The log p that is printed is that of the model: eval of the text as a target gives it. A byte is a token here.
expect 0 train --task translate --data.train pairs.tsv --data.tokenizer byte $small --train.steps 40 --out t --overwrite
"$orthant" translate t --scores --beam 8 <sources >scores 2>err || fail "scores"
tried=0
for line in 1 2 3 4 5; do
    p=$(sed -n ${line}p scores | cut -f 1)
    text=$(sed -n ${line}p scores | cut -f 2)
    case "$text" in '' | *�* | ' '* | *' ') continue ;; esac
    printf '%s\t%s\n' "$(sed -n ${line}p sources)" "$text" >forced.tsv
    expect 0 eval t --data forced.tsv --columns 1,2 --json
    awk -v p="$p" -v loss="$(field loss out)" -v tokens="$(field tokens out)" \
        'BEGIN { d = p + loss * tokens; exit !(d < 2e-3 && d > -2e-3) }' || fail "log p $p, and the forced pass has $(field loss out) × $(field tokens out)"
    tried=$((tried + 1))
done
[ $tried -ge 3 ] || fail "only $tried texts were forced"

# A language model writes the special tokens that its text has, and no others.
text 20000
for had in "" "<extra_id_0>"; do
    sed "s/\$/$had/" text.txt >lm.txt
    expect 0 train --data.train lm.txt --data.tokenizer span/tokenizer.json $small --train.steps 2 --out lm --overwrite
    expect 0 generate lm --tokens 2000 --temperature 1.5 --seed 3
    utf8 out
    sed 's/<extra_id_0>//g' out >rest
    written rest
    if [ -n "$had" ]; then
        says out "<extra_id_0>"
        says lm/config.json '"specials": \["<extra_id_0>"\]'
    else
        same out rest
        says lm/config.json '"specials": \[\]'
    fi
done

# ---- characters: samples and prompts, in all forms
expect 0 train --data.train pairs.tsv --data.tokenizer byte $small --train.steps 1 --out bytes
for tokens in 1 2 3 50 301; do
    expect 0 generate bytes --prompt a --tokens $tokens --temperature 2 --seed 4
    utf8 out
    tail -c +2 out >printed
    expect 0 generate bytes --prompt a --tokens $tokens --temperature 2 --seed 4 --samples 1 --json
    utf8 out
    if command -v python3 >/dev/null; then
        python3 -c 'import json
assert json.load(open("out", encoding="utf-8"))["samples"][0]["text"] + "\n" == open("printed", encoding="utf-8", newline="").read()' ||
            fail "$tokens tokens are printed and put into JSON in two ways"
    fi
done
expect 0 generate bytes --samples 3 --tokens 40 --temperature 2 --stop x
utf8 out
printf '\342' >cut.txt # the first byte of a character
expect 0 generate bytes --prompt-file cut.txt --tokens 2 --temperature 2
utf8 out
[ "$(LC_ALL=C.UTF-8 wc -m <out)" -eq 2 ] || fail "a character that a prompt begins is not ended"

# What is around prompts: CR and a byte order mark
printf 'ab\nab\r\n' >prompts
printf '\357\273\277ab\r\nab\n' >marked
for i in prompts marked; do
    "$orthant" generate bytes --interactive --tokens 20 --temperature 0 --json <$i >$i.out 2>err || fail "$i"
done
same prompts.out marked.out

# Names that are not UTF-8
name=$(printf 'r\377n')
mkdir "$name" && cp bytes/* "$name"
for words in "generate $name --tokens 1" "eval $name" "inspect $name --text a" \
    "tokenizer train --kind byte --data text.txt --out $name.json"; do
    expect 0 $words --json
    utf8 out
    json out
done

# A signal in the middle: the sample that is short says so
"$orthant" generate bytes --tokens 100000000 --samples 2 --temperature 1 --json >out 2>err &
pid=$!
sleep 0.5
kill -TERM $pid
ended 143 $pid "generate"
json out
[ "$(grep -c '"interrupted": true' out)" -eq 2 ] || fail "the interrupted sample is not marked"

# ---- errors of reading
printf 'a b\tno\na\tyes\nb\tno\n' | awk '{ for (i = 0; i < 9; i++) print }' | awk -F'\t' '{ print $2 "\t" $1 }' >classes.tsv
expect 0 train --task classify --data.train classes.tsv --data.tokenizer char $small --train.steps 1 --out c
failing() { # WHAT PATTERN: the program in the file `status`
    [ "$(cat status)" -eq 1 ] || fail "$1 ended with $(cat status) instead of 1"
    says err "$2"
}
for words in "translate t" "classify c" "generate bytes --interactive --tokens 2" "tokenizer encode t/tokenizer.json" \
    "score bleu --ref sources --hyp -"; do
    { "$orthant" $words <. >out 2>err; echo $? >status; } || true
    failing "$words of a folder" '[Ii]s a directory\|not a regular\|cannot'
    { "$orthant" $words </proc/self/mem >out 2>err; echo $? >status; } || true
    failing "$words of what cannot be read" 'nput/output error\|cannot'
    { "$orthant" $words <&- >out 2>err; echo $? >status; } || true
    failing "$words of nothing" 'ad file descriptor\|cannot\|No such'
done
if [ -z "$quick" ] && command -v cc >/dev/null; then
    cat >short.c <<'END'
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
ssize_t read(int fd, void *to, size_t n)
{
    static ssize_t (*real)(int, void *, size_t);
    static int calls;
    if (!real)
        real = (ssize_t (*)(int, void *, size_t))dlsym((void *)-1L, "read");
    if (fd == 0 && calls++ == 1) {
        errno = EIO;
        return -1;
    }
    return real(fd, to, fd == 0 && n > 5 ? 5 : n);
}
END
    cc -shared -fPIC -o short.so short.c -ldl
    for words in "translate t" "classify c" "generate bytes --interactive --tokens 2"; do
        { printf 'a\nb\nab\nb\n' | LD_PRELOAD=$PWD/short.so "$orthant" $words >out 2>err; echo $? >status; } || true
        failing "$words" 'line 3: Input/output error'
        [ "$(wc -l <out)" -eq 2 ] || fail "$words: $(wc -l <out) lines of 2 that were read"
    done
fi
if [ -z "$quick" ]; then # in a time that grows with the length alone
    { echo a; head -c 270000000 /dev/zero | tr '\0' a; echo; echo b; } >long
    for words in "translate t" "classify c"; do
        status=0
        cat long | timeout 60 "$orthant" $words >out 2>err || status=$?
        [ $status -eq 1 ] || fail "$words of a line of 270 MB ended with $status"
        says err 'line 2 of the standard input is longer than 256 MiB'
        [ "$(wc -l <out)" -eq 1 ] || fail "$words: a long line became several"
    done
    rm long
fi
