# SPDX-License-Identifier: Apache-2.0
# Training on files of token ids: the same model as on the text that they were made from, and models without text.
. "$2/tests/cli/common"
text 30000
tail -c 4000 "$source/data/tinyshakespeare.txt" >valid.txt
expect 0 tokenizer train --kind bpe:300 --data text.txt --out t.json

ids() { # TEXT: 16-bit little-endian ids, as nanoGPT's prepare.py leaves them
    expect 0 tokenizer encode t.json --data "$1"
    tr ' ' '\n' <out | awk 'NF { printf "\\%03o\\%03o", $1 % 256, int($1 / 256) }' >octal
    printf "$(cat octal)"
}
ids text.txt >train.bin
ids valid.txt >valid.bin
options="--config tiny.yaml --data.tokenizer t.json --quiet"
expect 0 train $options --data.valid valid.txt --out text
grep -v '^run\|^time' out >wanted
expect 0 train $options --data.train train.bin --data.valid valid.bin --out ids
grep -v '^run\|^time' out >got
same got wanted
same ids/model.safetensors text/model.safetensors
expect 0 eval text --data valid.txt
tail -n 4 out >wanted
expect 0 eval ids --data valid.bin
tail -n 4 out >got
same got wanted
expect 0 generate ids --prompt "To be" --tokens 5

# Without a tokenizer: ids go in and come out.
expect 0 train $options --data.train train.bin --data.tokenizer ids:300 --out bare
says out 'bits/character  not known'
expect 0 eval bare --json
says out '"bits_per_character": null'
expect 0 generate bare --prompt "17 204" --tokens 5
[ "$(tr -cd '0-9 \n' <out)" = "$(cat out)" ] && [ "$(wc -w <out)" -ge 6 ] || fail "not ids"
expect 1 generate bare --prompt "17 300"
says err '0 to 299'
for time in first second; do # the second reads the results of the first
    expect 0 compare $options --data.train train.bin --data.tokenizer ids --train.steps 3 --seeds 2 \
        --attention softmax --attention random --out comparison
done
# Other ids are other data, to a run and to a comparison.
expect 2 train $options --data.train valid.bin --data.tokenizer ids:300 --resume --out bare
says err 'other training text'
expect 2 compare $options --data.train valid.bin --data.tokenizer ids --train.steps 3 --seeds 2 \
    --attention softmax --attention random --out comparison
says err 'training text was sha256'
expect 2 train --config tiny.yaml --data.train train.bin --out x
says err 'data.tokenizer'
