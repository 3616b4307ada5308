# SPDX-License-Identifier: Apache-2.0
# Text beyond a size is tokenized once into files: the same model, validation and scores as from memory; found again.
. "$2/tests/cli/common"
text 40000
{ head -c 9000 text.txt; printf 'caf\303\251 \n\n   \n x\ty  12345 \302\240 don'"'"'t'; tail -c 9000 text.txt; } >other.txt
gzip -k other.txt
export ORTHANT_TEXT_IN_MEMORY
unset ORTHANT_CACHE
tiny="--config tiny.yaml --quiet"

# pair NAME WORD...: trains from memory and from files; all that does not depend on the time is equal.
pair() {
    name=$1
    shift
    ORTHANT_TEXT_IN_MEMORY=1
    expect 0 train $tiny "$@" --out memory-$name
    ! grep -q 'tokenized once' err || fail "a small text does not stay in memory"
    grep -v -e '^run' -e '^time' -e '^memory' out >wanted
    ORTHANT_TEXT_IN_MEMORY=0
    expect 0 train $tiny "$@" --out files-$name
    says err 'are tokenized once into orthant-cache/text-'
    grep -v -e '^run' -e '^time' -e '^memory' out >got
    same got wanted
    for file in model.safetensors config.json; do
        same files-$name/$file memory-$name/$file
    done
}
pair char --data.train text.txt --data.tokenizer char
pair byte --data.train other.txt --data.tokenizer byte
pair bpe --data.train text.txt,other.txt --data.tokenizer bpe:280
pair seed --data.train text.txt,other.txt --data.tokenizer bpe:280 --data.split_seed 5
pair word --data.train text.txt,other.txt.gz --data.tokenizer word:200
# What is held out is a part of the key: another fraction, and none.
pair tenth --data.train text.txt --data.tokenizer byte
pair third --data.train text.txt --data.tokenizer byte --data.valid_fraction 0.3
pair whole --data.train text.txt --data.tokenizer byte --data.valid other.txt
pair apart --data.train text.txt --data.valid other.txt --data.tokenizer bpe:280
pair test --data.train text.txt --data.test other.txt --data.tokenizer bpe:290
for folder in memory-bpe files-bpe; do
    expect 0 eval $folder --json
    grep -e '"loss"' -e bits out >$folder.eval
done
same files-bpe.eval memory-bpe.eval

# The second time nothing is tokenized: by the files, by the content where a file was touched, in another folder too.
again() {
    expect 0 train $tiny --data.train "$1" --data.tokenizer char --out again-$2
    ! grep -q 'tokenized once' err || fail "$1 is tokenized twice"
    same again-$2/model.safetensors memory-char/model.safetensors
}
again text.txt 1
touch -d '2001-02-03' text.txt
again text.txt 2
cp text.txt copy.txt
again copy.txt 3
cp -r orthant-cache elsewhere
rm -r orthant-cache
export ORTHANT_CACHE=elsewhere
again text.txt 4
[ ! -e orthant-cache ] || fail "the other cache is not used"
# Other content is another text, though the size is the same.
tr e a <text.txt >changed.txt
touch -d '2001-02-03' changed.txt
expect 0 train $tiny --data.train changed.txt --data.tokenizer char --out changed
says err 'tokenized once'
# A file that is written over within a second, with as many bytes, is read again.
touch -d '2001-02-03 04:05:06.25' changed.txt
expect 0 train $tiny --data.train changed.txt --data.tokenizer char --out before
tac changed.txt >reversed.txt
cat reversed.txt >changed.txt
touch -d '2001-02-03 04:05:06.75' changed.txt
expect 0 train $tiny --data.train changed.txt --data.tokenizer char --out after
says err 'tokenized once'
# A run that began in memory goes on from files.
ORTHANT_TEXT_IN_MEMORY=1
expect 0 train $tiny --data.train text.txt --data.tokenizer char --train.steps 2 --train.schedule constant --out whole
expect 0 train $tiny --data.train text.txt --data.tokenizer char --train.steps 1 --train.schedule constant --out half
ORTHANT_TEXT_IN_MEMORY=0
expect 0 train $tiny --data.train text.txt --data.tokenizer char --train.steps 2 --train.schedule constant --resume --out half
same half/model.safetensors whole/model.safetensors

# Two at a time, and one that was killed.
ORTHANT_CACHE=shared
i=0
while [ $i -lt 400 ]; do
    cat text.txt
    i=$((i + 1))
done >long.txt
timeout -s KILL 0.3 "$orthant" train $tiny --data.train long.txt --data.tokenizer byte --out x >/dev/null 2>&1 || true
"$orthant" train $tiny --data.train long.txt --data.tokenizer byte --train.final_tokens 1000 --out one >/dev/null 2>&1 &
expect 0 train $tiny --data.train long.txt --data.tokenizer byte --train.final_tokens 1000 --out two
wait
same one/model.safetensors two/model.safetensors
[ "$(ls -d shared/text-* | wc -l)" = 1 ] && [ "$(ls -A shared/text-* | wc -l)" = 3 ] || fail "other files are in the cache"

# Damage.
echo x >>"$(ls shared/text-*/text.json)"
expect 1 train $tiny --data.train long.txt --data.tokenizer byte --out x
says err 'text.json'
says err 'remove its folder'
