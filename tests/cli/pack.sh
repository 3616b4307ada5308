# SPDX-License-Identifier: Apache-2.0
# Packed corpora: ids, documents, threads, interruption, training, refusals.
. "$2/tests/cli/common"
text 30000
expect 0 tokenizer train --kind bpe:300 --data text.txt --out t.json

# The ids of each document as 'tokenizer encode' has them, then the end token (300, the first free id).
head -c 5000 text.txt >one.txt
tail -c 7000 text.txt >two.txt
: >empty.txt
expect 0 data pack --data "one.txt,empty.txt,two.txt" --tokenizer t.json --out files
says out '2 documents in 1 shard'
says out 'left out: 1 empty document'
ids() { # FILE: one id a line
    od -An -v -t u2 -w2 "$1" | tr -d ' '
}
ids files/shard-00000.bin >got
for file in one.txt two.txt; do
    expect 0 tokenizer encode t.json --data "$file"
    tr ' ' '\n' <out
    echo 300
done >wanted
same got wanted
expect 0 tokenizer encode t.json --data one.txt
second=$(($(wc -w <out) + 1))
[ "$(od -An -v -t u8 -w8 files/shard-00000.documents | tr -d ' ' | tr '\n' ' ')" = "0 $second " ] ||
    fail "documents begin elsewhere"
sha=$(sha256sum files/shard-00000.bin | cut -d ' ' -f 1)
grep -q "\"sha256\":\"$sha\"" files/corpus.json || fail "the checksum of the shard is another"

# Lines, JSON and patterns; the same text gives the same ids.
printf 'a line\n\n  \nanother\r\nthe last' >lines.txt
printf '{"text": "a line"}\n\n{"id": 1, "text": "another"}\n{"text": ""}\n{"text": "the last"}\n' >a-1.jsonl
gzip -c a-1.jsonl >a-2.jsonl.gz
rm a-1.jsonl
expect 0 data pack --data lines.txt --documents lines --tokenizer t.json --out lines
says out '3 documents'
expect 0 data pack --data 'a-*.jsonl.gz' --tokenizer t.json --out json
same json/shard-00000.bin lines/shard-00000.bin
echo a-2.jsonl.gz >list
expect 0 data pack --data @list --tokenizer t.json --out listed
same listed/shard-00000.bin lines/shard-00000.bin
expect 0 data pack --data lines.txt --documents lines --tokenizer t.json --end '' --out bare
ids bare/shard-00000.bin >got
ids lines/shard-00000.bin | grep -vx 300 >wanted
same got wanted

# zstd, in two frames; cut off; or refused by a program without libzstd. Parquet is refused with the line that converts.
frame='\050\265\057\375\040\017\171\000\000\141\040\154\151\156\145\012\141\156\157\164\150\145\162\012'
printf "$frame" >z.txt.zst
if "$orthant" data pack --data z.txt.zst --documents lines --tokenizer t.json --out z --quiet >out 2>err; then
    printf "$frame$frame" >z.txt.zst
    printf 'a line\nanother\na line\nanother\n' >z.txt
    expect 0 data pack --data z.txt.zst --documents lines --tokenizer t.json --out z2
    expect 0 data pack --data z.txt --documents lines --tokenizer t.json --out plain
    same z2/shard-00000.bin plain/shard-00000.bin
    printf "$frame" | head -c 20 >z.txt.zst
    expect 1 data pack --data z.txt.zst --documents lines --tokenizer t.json --out x
    says err 'z.txt.zst: zstd data damaged or truncated after [0-9]* bytes of text: unexpected end of file (byte 20 of the file)'
    printf '{"text": "a line"}\n' | gzip >in.jsonl.zst # its content decides, not its name
    expect 0 data pack --data in.jsonl.zst --tokenizer t.json --out gz
else
    says err 'z.txt.zst is zstd data, and this program was built without libzstd: unpack the file'
fi
printf 'PAR1\025and so on' >x.parquet
expect 1 data pack --data x.parquet --tokenizer t.json --out x
says err 'x.parquet is not a text file: it is a Parquet file; save it as JSON lines'

# One damaged file of a thousand is named with the byte.
mkdir many
i=0
while [ $i -lt 1000 ]; do
    i=$((i + 1))
    cp a-2.jsonl.gz many/$(printf %04d $i).jsonl.gz
done
head -c 60 a-2.jsonl.gz >many/0700.jsonl.gz
expect 1 data pack --data 'many/*.gz' --tokenizer t.json --out x
says err 'many/0700.jsonl.gz: gzip data damaged or truncated after [0-9]* bytes of text: unexpected end of file (byte 60 of'
cp a-2.jsonl.gz many/0700.jsonl.gz
expect 0 data pack --data 'many/*.gz' --tokenizer t.json --out thousand
says out '3000 documents'
rm -r many x

# Any number of threads and any interruption give the same bytes.
i=0
while [ $i -lt 200 ]; do
    cat text.txt
    i=$((i + 1))
done >long.txt
pack="data pack --data long.txt --documents lines --tokenizer t.json --shard-tokens 300000 --quiet"
expect 0 $pack --threads 1 --out single
expect 0 $pack --threads 2 --out double
# The time until the kill grows, so that a slow machine (or a sanitizer) finishes a shard too.
i=0
while [ ! -e killed/corpus.json ] && [ $i -lt 100 ]; do
    ms=$((30 + 12 * i * i))
    seconds=$((ms / 1000)).$(printf %03d $((ms % 1000)))
    timeout -s KILL "$seconds" "$orthant" $pack --out killed >/dev/null 2>&1 || true
    i=$((i + 1))
done
[ $i -gt 2 ] || fail "the packing was killed $((i - 1)) times, not several"
for folder in double killed; do
    for file in single/*; do
        same "$folder/${file#single/}" "$file"
    done
    [ "$(ls -A $folder | wc -l)" = "$(ls -A single | wc -l)" ] || fail "$folder has other files"
done

# Training holds whole documents out: the last line that is needed for a tenth, not a part of one.
expect 0 train --config tiny.yaml --quiet --data.train single --data.tokenizer char --out run
expect 0 eval run --json
says out '"bits_per_byte"'
expect 0 generate run --prompt "To be" --tokens 5
expect 0 train --config tiny.yaml --quiet --data.train single --data.tokenizer single/tokenizer.json --out again
same again/model.safetensors run/model.safetensors

# Refusals.
expect 2 data pack --data long.txt --tokenizer t.json --out single
says err 'has a packed corpus'
expect 2 data pack --data long.txt --out x
says err 'needs --data FILES, --tokenizer T and --out FOLDER'
expect 1 data pack --data 'none-*.txt' --tokenizer t.json --out x
says err "no file matches"
printf '{"text": 5}\n' >bad.jsonl
expect 1 data pack --data bad.jsonl --tokenizer t.json --out x
says err 'bad.jsonl, line 1: the value is no string'
printf '{"txt": "a"}\n' >bad.jsonl
expect 1 data pack --data bad.jsonl --tokenizer t.json --out x
says err 'line 1: the object lacks the text'
expect 2 data pack --data bad.jsonl --tokenizer bpe:300 --out x
says err 'give a tokenizer.json'
expect 2 train --config tiny.yaml --data.train single --data.tokenizer byte --out x
says err 'packed with another tokenizer'
expect 0 train --config tiny.yaml --quiet --data.train single --data.tokenizer t.json --out third
same third/model.safetensors run/model.safetensors
expect 2 train --config tiny.yaml --data.train single --data.tokenizer bpe:300 --out x
says err 'has its own tokenizer'
mkdir mine
echo mine >mine/notes
expect 2 data pack --data long.txt --tokenizer t.json --out mine
says err 'mine has other files'
cp -r single broken
rm broken/corpus.json
cp single/corpus.json broken/packing.json
expect 2 train --config tiny.yaml --data.train broken --data.tokenizer char --out x
says err 'is not packed completely'
cp single/corpus.json broken/
truncate -s 100 broken/shard-00001.bin
expect 1 train --config tiny.yaml --data.train broken --data.tokenizer char --out x
says err 'shard-00001.bin has 100 bytes'
