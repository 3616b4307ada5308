# SPDX-License-Identifier: Apache-2.0
# Text to ids and back, byte for byte, through files and pipes.
. "$2/tests/cli/common"
text 50000
for kind in char byte bpe:400; do
    expect 0 tokenizer train --kind $kind --data text.txt --out $kind.json
    says out 'tokens$'
    "$orthant" tokenizer encode $kind.json <text.txt >ids || fail "encoding with $kind"
    "$orthant" tokenizer decode $kind.json <ids >back || fail "decoding with $kind"
    same back text.txt
    expect 0 tokenizer encode $kind.json --data text.txt
    same out ids
done
head -c 3000 /dev/urandom >noise
for kind in byte bpe:400; do
    "$orthant" tokenizer encode $kind.json <noise >ids
    "$orthant" tokenizer decode $kind.json <ids >back
    same back noise
done
: >nothing
"$orthant" tokenizer encode byte.json <nothing >ids
"$orthant" tokenizer decode byte.json <ids >back
same back nothing

expect 0 tokenizer encode byte.json --text "AB"
[ "$(cat out)" = "65 66" ] || fail "AB is $(cat out)"
expect 0 tokenizer decode byte.json --text "65 66"
[ "$(cat out)" = "AB" ] || fail "65 66 is $(cat out)"
printf '65 66\r\n67\r\n' >crlf
expect 0 tokenizer decode byte.json --data crlf
[ "$(cat out)" = "ABC" ] || fail "ids with CR LF are $(cat out)"
# No text that a tokenizer is made from is overwritten by it, whichever of several it is.
cp text.txt first.txt
cp text.txt last.txt
cp text.txt 'of two words.txt'
cp text.txt whole.txt
for file in first.txt 'of two words.txt' last.txt; do
    expect 2 tokenizer train --kind char --data 'first.txt, of two words.txt,last.txt' --out "$file"
    says err "$file is one of the input texts"
    same "$file" whole.txt
done
ln -s first.txt link.txt
ln whole.txt hard.txt
for file in ./first.txt link.txt; do
    expect 2 tokenizer train --kind char --data first.txt --out "$file"
    says err "$file is one of the input texts"
done
expect 2 tokenizer train --kind char --data hard.txt --out whole.txt
same first.txt last.txt
same whole.txt last.txt
expect 0 tokenizer encode bpe:400.json --text "the " --json
says out '"pieces"'
expect 2 tokenizer decode byte.json --text "65 x"
expect 2 tokenizer decode byte.json --text "65 300"
says err '300'
expect 1 tokenizer encode nowhere.json --text x
expect 2 tokenizer train --kind bpe:3 --data text.txt

# Files of Hugging Face: the special tokens of their post_processor, of one text and of two.
bert=$source/tests/golden-hf/tok-wordpiece/tokenizer.json
expect 0 tokenizer encode "$bert" --text "the way"
[ "$(cat out)" = "71 573" ] || fail "the way is $(cat out)"
expect 0 tokenizer encode "$bert" --text "the way" --special
[ "$(cat out)" = "2 71 573 3" ] || fail "the way with special tokens is $(cat out)"
expect 0 tokenizer encode "$bert" --text "the way" --pair "the" --json
says out '"type_ids": *\[0, *0, *0, *0, *1, *1\]'
expect 0 tokenizer decode "$bert" --text "2 71 573 3"
[ "$(cat out)" = "[CLS] the way [SEP]" ] || fail "ids of two words are $(cat out)"
expect 2 tokenizer decode "$bert" --text "2" --special
says err 'only .tokenizer encode. uses it'
head -c 30 /dev/urandom >noise.model
expect 1 tokenizer encode noise.model --text x
