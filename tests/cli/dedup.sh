# SPDX-License-Identifier: Apache-2.0
# Duplicate documents: report, what is kept, threads and memory, packing, refusals.
. "$2/tests/cli/common"

# 200 documents of 60 words; every 10th comes again, every 10th with another word, in another file.
awk 'BEGIN { srand(9); for (i = 0; i < 200; i++) { s = ""; for (k = 0; k < 60; k++) s = s " w" int(rand() * 5000);
    print substr(s, 2) } }' >words
awk '{ printf "{\"id\": %d, \"text\": \"%s\"}\n", NR, $0 }' words >a.jsonl
awk 'NR % 10 == 3 { gsub(/ /, "  "); print } NR % 10 == 7 { $2 = "other"; print }' words >words2
awk '{ printf "{\"text\": \"%s\", \"id\": %d}\n", $0, 1000 + NR }' words2 | gzip >b.jsonl.gz
expect 0 data dedup --data a.jsonl,b.jsonl.gz --out kept
says out '240 documents in 2 files'
says out 'exact duplicates: 20 (8.33 %)'
says out 'near duplicates:  20 (8.33 %), by an estimated similarity of at least 0.8'
says out 'exact  1.00  b.jsonl.gz:1  of  a.jsonl:3'
says out 'near   0.[89][0-9]  b.jsonl.gz:2  of  a.jsonl:7'
says out 'kept/documents.jsonl has the 200 documents that are kept'
says kept/dedup.json '"kept": *200[,}]'
same kept/documents.jsonl a.jsonl # objects are written as they are
[ "$(wc -l <kept/duplicates.jsonl)" = 40 ] || fail "the list has not 40 duplicates"
grep -qx '{"file":"b.jsonl.gz","kind":"exact","line":39,"of_file":"a.jsonl","of_line":193,"similarity":1.0}' \
    kept/duplicates.jsonl || fail "line 39 is not in the list"
expect 0 data dedup --data a.jsonl,b.jsonl.gz --near 0 --json
says out '"exact": 20'
says out '"near": 0'
expect 0 data dedup --data a.jsonl,b.jsonl.gz --near 0.99
says out 'near duplicates:  0'

# Threads and memory change nothing; without --out nothing is written.
expect 0 data dedup --data b.jsonl.gz,a.jsonl,words --documents auto --out one --threads 1 --memory 2
expect 0 data dedup --data b.jsonl.gz,a.jsonl,words --documents auto --out two --threads 2
for file in documents.jsonl duplicates.jsonl dedup.json; do
    same one/$file two/$file
done
[ "$(ls -A one | wc -l)" = 3 ] || fail "other files are left"

# Text becomes JSON, which is packed again: the ids of the kept lines.
{ cat words words2; printf '"quoted"\\ \303\251\t.\n'; } >lines.txt
{ cat words; printf '"quoted"\\ \303\251\t.\n'; } >wanted.txt
expect 0 data dedup --data lines.txt --documents lines --out text
expect 0 data pack --data text/documents.jsonl --tokenizer byte --out packed
expect 0 data pack --data wanted.txt --documents lines --tokenizer byte --out wanted
same packed/shard-00000.bin wanted/shard-00000.bin
# Packing says how much repeats.
expect 0 data pack --data lines.txt,words --documents lines --tokenizer byte --out repeated
says out 'repeated: 49.9 % of the documents and [45][0-9.]* % of the text equal an earlier document'
expect 0 data pack --data wanted.txt --documents lines --tokenizer byte --out unrepeated
! grep -q '^repeated' out || fail "a repetition is reported where there is none"

# Refusals.
expect 2 data dedup
says err 'data dedup needs --data FILES'
expect 2 data dedup --data words --near 1.5
says err 'give a number from 0 to 1'
expect 2 data dedup --data words --tokenizer byte
says err "'data dedup' finds duplicates among texts that exist"
expect 2 data pack --data words --tokenizer byte --near 0.5 --out x
says err "only 'data dedup' finds duplicates"
expect 2 data dedup --data words --out kept
says err 'kept has other files'
printf 'caf\351\n' >latin
expect 1 data dedup --data latin --documents lines --out x
says err 'latin, line 1: the document is not valid UTF-8, which JSON cannot store'
[ ! -e x ] || fail "a folder is left"
: >empty
expect 2 data dedup --data empty
says err 'empty has no text'
yes 'a b c d e f g h' | head -n 300000 >many
expect 2 data dedup --data many --documents lines --memory 2
says err '300000 documents need at least 2.5 MiB of memory: increase --memory'
