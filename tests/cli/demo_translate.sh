# SPDX-License-Identifier: Apache-2.0
# make demo-translate: its script, with a model that learns nothing in four steps; and what its data promise.
. "$2/tests/cli/common"
data=$source/data/tatoeba
sh "$source/tools/demo-translate.sh" "$orthant" "$work/demo" --model.layers 1 --model.width 32 --model.ffn 64 --train.steps 4 \
    --train.warmup 2 --train.batch_tokens 500 --data.tokenizer bpe:300 --decode.beam 1 --data.test "" \
    --data.train data/tatoeba/valid.de,data/tatoeba/valid.en --data.valid data/tatoeba/test.de,data/tatoeba/test.en \
    --quiet >out 2>err || fail "demo-translate.sh"
says out '^attention  *BLEU '
says out '^encoder: pattern'
says out '^time     [0-9]* s$'
says out "^    .*  ($(head -n 1 "$data/test.en"))$"
[ -s demo/report.html ] || fail "there is no report"
command=$(sed -n 's/^  \(echo .* translate .*\)$/\1/p' out)
[ "$(sh -c "$command" 2>err | wc -l)" -eq 1 ] || fail "the command that is shown: $command"

# No sentence is in two parts or twice in one, as tools/tatoeba.sh promises; capitals and punctuation apart.
for side in de en; do
    gzip -dc "$data/train.$side.gz" | cat - "$data/valid.$side" "$data/test.$side" >all
    [ "$(wc -l <all)" -eq 20972 ] || fail "there are not 20,972 sentences in $side"
    tr 'A-Z' 'a-z' <all | tr -d '.,!?;:"' | tr -s ' ' | sort | uniq -d >twice
    [ ! -s twice ] || fail "twice in $side: $(head -n 1 twice)"
done
