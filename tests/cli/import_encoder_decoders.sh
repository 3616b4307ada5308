# SPDX-License-Identifier: Apache-2.0
# import of encoder-decoders: what is read is used as a run of translate; what is not supported is refused by its name.
. "$2/tests/cli/common"

golden=$source/tests/golden-hf
copy() { # FOLDER OF A CASE
    rm -rf model x
    cp -r "$golden/$1" model
    chmod -R u+w model
}

# A T5 with its tokenizer: translated, evaluated, inspected, trained further.
expect 0 import "$golden/t5" --out t5
says out 'family      t5, 46720 parameters'
says t5/config.json '"begin_token": "<pad>", "end_token": "</s>"'
printf 'O Romeo! wherefore\nNow is the winter\n\n' >lines.txt
translate() { # RUN OPTION...
    "$orthant" translate "$@" >out 2>err || fail "translate $*"
}
translate t5 --decode.beam 1 <lines.txt
[ "$(head -n 1 out)" = shQ ] || fail 'the first line is another one'
translate t5 --decode.beam 4 --scores <lines.txt
[ "$(wc -l <out)" -eq 3 ] || fail 'three lines have not three outputs'
printf 'O Romeo\tWherefore\nNow is\tthe winter\n' >rows.tsv
expect 0 eval t5 --data rows.tsv
says out 'nats a token'
expect 0 inspect t5 --text 'O Romeo' --target 'Now is' --out maps.html
expect 0 train --init t5 --task translate --data.train rows.tsv --data.valid rows.tsv --data.tokenizer t5/tokenizer.json --train.steps 2 --train.batch 2 --quiet --out on
says on/config.json '"begin_token": "<pad>", "end_token": "</s>"'
expect 2 generate t5 --prompt 'O Romeo'
says err "use 'orthant translate'"

# Without a tokenizer texts are numbers; the token that begins a target is never written.
expect 0 import "$golden/marian" --out marian
says out 'family      marian, 69388 parameters'
says marian/config.json '"begin_token": "139", "end_token": "0"'
echo '5 17 23' >ids.txt
translate marian --decode.beam 4 <ids.txt
[ -s out ] || fail 'nothing was written'
! grep -qw 139 out || fail 'the begin token was written'

# Beams of transformers, which ended before the limit.
while IFS='|' read -r how ids wanted; do
    echo "$ids" >ids.txt
    translate marian --decode.force_end false --decode.beam 4 --decode.optimal_stopping "${how%% *}" --decode.length_penalty "$(echo "$how" | cut -d ' ' -f 2)" <ids.txt
    [ "$(echo $(cat out))" = "$(echo $wanted)" ] || fail "$how: $(cat out) and not $wanted"
done <"$golden/marian/beams.txt"
[ "$(wc -l <"$golden/marian/beams.txt")" -eq 18 ] || fail 'not all beams were compared'

# Beams of transformers with max_new_tokens, of which many reach it (beams_limit.py), and their sums of log p.
copy t5
rm model/tokenizer.json
expect 0 import model --out t5-ids
for one in marian t5; do
    run=$one
    [ $one = marian ] || run=t5-ids
    while IFS='|' read -r how ids wanted sum; do
        set -- $how
        echo "$ids" >ids.txt
        translate $run --scores --decode.force_end false --decode.beam 4 --decode.optimal_stopping "$1" --decode.length_penalty "$2" --max-tokens "$3" <ids.txt
        [ "$(cut -f 2 out | xargs)" = "$(echo $wanted)" ] || fail "$one, $how: $(cat out) and not $wanted"
        cut -f 1 out | awk -v sum="$sum" '{ exit !(($1 - sum) ^ 2 < 1e-6) }' || fail "$one, $how: $(cat out) and not $sum"
    done <"$golden/$one/beams-limit.txt"
    [ "$(wc -l <"$golden/$one/beams-limit.txt")" -eq 54 ] || fail 'not all beams were compared'
done
translate marian --decode.beam 1 --decode.force_end false --max-tokens 3 <ids.txt
says_wrapped err '1 of 1 outputs did not end within 3 tokens (decode.max_tokens)'

# With source.spm, target.spm and vocab.json it reads and writes texts, as transformers does (marian_text.py).
copy marian
cp "$golden"/marian-text/*.spm "$golden"/marian-text/vocab.json model
expect 0 import model --out spoken
says spoken/config.json '"begin_token": "<pad>", "end_token": "</s>"'
if command -v python3 >/dev/null; then
    python3 - "$golden/marian-text/vectors.json" <<'P'
import json, sys
rows = json.load(open(sys.argv[1]))["translations"]
for name, place in (("texts", 0), ("greedy", 1), ("beam", 2)):
    open(name, "w").writelines(row[place] + "\n" for row in rows)
P
    [ "$(wc -l <texts)" -eq 12 ] || fail 'not all texts are there'
    translate spoken --decode.beam 1 <texts
    cmp out greedy || fail 'another greedy translation'
    translate spoken --decode.beam 4 --decode.optimal_stopping true --decode.length_penalty 1 <texts
    cmp out beam || fail 'another translation by beams'
fi
printf 'O Romeo\tünd Rß\n' >rows.tsv
expect 0 eval spoken --data rows.tsv
says out 'nats a token'
expect 0 inspect spoken --text th --target th --json # "th" is a piece of source.spm alone
says out '"tokens": \["<pad>", "␣", "t", "h"\]'
says out '"source_tokens": \["␣", "th", "</s>"\]'
expect 0 export spoken --out spoken-hf
cmp spoken-hf/source.spm "$golden/marian-text/source.spm" || fail 'another source.spm'
says spoken-hf/tokenizer_config.json '"tokenizer_class": "MarianTokenizer"'
context=$(sed -n 's/.*"context": \([0-9]*\).*/\1/p' spoken/config.json)
says spoken-hf/tokenizer_config.json "\"model_max_length\": $context\$"
expect 0 import spoken-hf --out again
cmp spoken/tokenizer.json again/tokenizer.json || fail 'another tokenizer after export'

# A code that the vocabulary has not is reported once, with those that it has; one of the three files alone is refused.
printf '>>fr<< O Romeo\n>>de<< O Romeo\n>>de<< Now\n' >codes.txt
translate spoken --decode.beam 1 <codes.txt
[ "$(grep -c 'begins with' err)" -eq 1 ] || fail 'unknown codes were not reported once'
says_wrapped err 'begins with >>de<<, a code that is not in the vocabulary of the model, which has >>fr<<: it is <unk>'
head -n 1 codes.txt >known.txt
translate spoken --decode.beam 1 <known.txt
! grep -q 'begins with' err || fail 'a known code was reported'
for file in vocab.json source.spm target.spm; do
    mv "model/$file" aside
    expect 1 import model --out y
    says_wrapped err "model has no $file: the tokenizer of a Marian is source.spm, target.spm and vocab.json"
    mv aside "model/$file"
done
: >model/target_vocab.json
expect 1 import model --out y
says err 'target_vocab.json: one vocabulary for source and target is supported'
rm model/target_vocab.json
sed -i 's/"<pad>"/"<pat>"/' model/vocab.json
expect 1 import model --out y
says err 'vocab.json has no id for <pad>'

# A spiece.model of 84 pieces has no sentinels of T5: the last one has the next id.
copy t5
rm model/tokenizer.json
cp "$golden/marian-text/source.spm" model/spiece.model
echo '{"extra_ids": 12}' >model/tokenizer_config.json
expect 0 import model --out sentinels
expect 0 tokenizer encode sentinels/tokenizer.json --text '<extra_id_11><extra_id_0>'
[ "$(tr '\n' ' ' <out)" = '84 95 ' ] || fail "the sentinels are $(cat out)"
translate sentinels --decode.beam 1 <lines.txt
[ "$(wc -l <out)" -eq 3 ] || fail 'three lines have not three outputs'
echo '{"extra_ids": -1}' >model/tokenizer_config.json
expect 1 import model --out y
says err 'tokenizer_config.json: "extra_ids" must be a number from 0 to 1000'
rm model/tokenizer_config.json
expect 1 import model --out y # a hundred of them
says err 'the tokenizer has 184 tokens, but config.json has a vocabulary of 160'

refused() { # FOLDER OF A CASE, SED COMMAND, WORDS
    copy "$1"
    sed -i "$2" model/config.json
    expect 1 import model --out x
    says err "$3"
    [ ! -e x ] || fail 'a refused model left a folder'
}
refused marian 's/MarianMTModel/MarianForCausalLM/' '"architectures": .*MarianForCausalLM.* is not supported'
refused marian 's/"activation_function": "swish"/"activation_function": "mish"/' '"activation_function": "mish" is not supported'
refused marian 's/"decoder_vocab_size": 140/"decoder_vocab_size": 150/' '"decoder_vocab_size": 150 is not supported: one vocabulary'
refused marian 's/"is_decoder": false/"normalize_before": true/' '"normalize_before": true is not supported'
refused marian 's/"decoder_start_token_id": 139/"decoder_start_token_id": 140/' '"decoder_start_token_id": 140 is not supported: an id'
refused marian 's/"decoder_ffn_dim": 72/"decoder_ffn_dim": 64/' 'tensor model.decoder.layers.0.fc1.weight has the shape \[72, 40\]; config.json needs \[64, 40\]'
refused marian 's/"decoder_layers": 2/"decoder_layers": 3/' 'tensor model.decoder.layers.2.self_attn_layer_norm.weight is missing'
refused marian 's/"encoder_layers": 2/"encoder_layers": 1/' 'tensor model.encoder.layers.1.* is not part of a model of type marian'
refused t5 's/"feed_forward_proj": "relu"/"feed_forward_proj": "gated-mish"/' '"feed_forward_proj": "gated-mish" is not supported'
refused t5 's/"feed_forward_proj": "relu"/"feed_forward_proj": "gated-silu"/' 'tensor encoder.block.0.layer.1.DenseReluDense.wi_1.weight is missing'
refused t5 's/T5ForConditionalGeneration/T5EncoderModel/' '"architectures": .*T5EncoderModel.* is not supported'
refused t5 's/"relative_attention_num_buckets": 32/"relative_attention_num_buckets": 16/' 'relative_attention_bias.weight has the shape \[32, 4\]; config.json needs \[16, 4\]'
refused t5 's/"eos_token_id": 1/"eos_token_id": [1, 2]/' '"eos_token_id": \[1, 2\] is not supported'

# Heads and widths of the encoder's own: the same weights in other heads are another function, and are read.
copy marian
sed -i 's/"encoder_attention_heads": 4/"encoder_attention_heads": 8/' model/config.json
expect 0 import model --out x
says x/config.json '"encoder_heads": 8'
sed -i 's/"encoder_attention_heads": 8/"encoder_attention_heads": 3/' model/config.json
expect 2 import model --out y
says err 'model.encoder_heads = 3 does not divide model.width = 40'

# What a T5's config.json does not have is as in T5Config of transformers: distances up to 128.
copy t5
cp model/config.json stated.json
sed -i '/relative_attention_max_distance/d' model/config.json
expect 0 import model --out x
rm -r x
expect 0 import model --out x
expect 0 import "$golden/t5" --out stated
same x/config.json stated/config.json
sed 's/"relative_attention_max_distance": 128/"relative_attention_max_distance": 64/' stated.json >model/config.json
rm -r x
expect 0 import model --out x
says x/config.json 'distance=64'

# What is trained here goes out and comes back with the same loss; what no family has is named.
awk 'BEGIN { srand(5); for (i = 0; i < 60; i++) { a = int(rand() * 9); print "word " a "\tother " a } }' >pairs.tsv
small="--task translate --data.train pairs.tsv --data.tokenizer byte --model.layers 1 --model.encoder_layers 2 --model.width 32 --model.context 32 --train.steps 8 --train.batch 8 --quiet"
t5="--model.attention softmax(relative=t5,share=layers) --model.position none --model.norm_kind rms --model.ffn_gate true --model.scale_output true"
marian="--model.norm post --model.bias true --model.position sinusoidal-halves --model.scale_embedding true --model.encoder_heads 2"
loss() { # RUN
    expect 0 eval "$1" --data pairs.tsv --json
    sed -n 's/.*"loss": \([0-9.]*[0-9]\).*/\1/p' out
}
for family in t5 marian; do
    eval "options=\$$family"
    expect 0 train $small $options --out $family-run
    expect 0 export $family-run --out $family-hf
    says out "family      $family"
    says $family-hf/README.md AutoModelForSeq2SeqLM
    expect 0 import $family-hf --out $family-back
    printf '%s %s\n' "$(loss $family-run)" "$(loss $family-back)" |
        awk '{ exit !($1 > 0.1 && ($1 - $2) ^ 2 < 1e-10) }' || fail "$family came back with another loss"
done
self="softmax(relative=t5,share=layers)" # each stack by its name
expect 0 train $small ${t5#*layers) } --attention "encoder: $self & decoder: softmax(relative=t5,share=layers,init=haar) & cross: softmax" --out long-t5
expect 0 export long-t5 --out long-hf
says out 'family      t5'
expect 0 train $small ${t5% --model.scale_output true} --model.activation gelu-exact --out exact
expect 0 export exact --out exact-hf
says out 'family      orthant (OrthantForConditionalGeneration)'
says out 'its own     modeling_orthant.py: marian has not this model.position, t5 has not this model.activation'
expect 0 train $small --out plain
expect 0 export plain --out plain-hf
says out 't5 has not this model.attention'
expect 0 train $small --model.attention linear --model.source_context 40 --out linear
expect 0 export linear --out linear-hf
says out 'transformers has no class for this model.attention'
for field in '"AutoModelForSeq2SeqLM": "modeling_orthant.OrthantForConditionalGeneration"' '"is_encoder_decoder": true' \
    '"max_source_positions": 40' '"tensors": "encoder.layers.1.attention"' '"tensors": "decoder.layers.0.cross_attention"'; do
    says linear-hf/config.json "$field"
done
says linear-hf/generation_config.json '"decoder_start_token_id": [0-9]'
says linear-hf/README.md '^- softmax: '
# shellcheck disable=SC2086
expect 0 train $small --model.attention "encoder: softmax & decoder: softmax & cross: linear" --out across
expect 1 export across --out y
says_wrapped err 'linear as cross-attention is not in the modelling file .* use softmax or orthogonal there'
expect 2 train --data.train pairs.tsv --model.scale_output true --task classify --train.steps 1 --out y
says err 'model.scale_output = true applies to models of tokens only'
expect 2 train --data.train pairs.tsv --model.begin_token '<pad>' --train.steps 1 --out y
says err 'model.begin_token = <pad> applies to an encoder-decoder only'
copy marian
expect 0 import model --out begun
expect 2 train --init begun --data.train pairs.tsv --train.steps 1 --out y
says err 'begun has the task translate, and a model of the task lm would leave its encoder behind: give --task translate'
[ ! -e y ] || fail 'a refused model left a folder'

# Of the copies of the embedding that older files have, one that differs is refused: here the encoder's.
copy t5v11-old
command -v python3 >/dev/null || exit 0
python3 - <<'P'
import json, struct
name = "model/model.safetensors"
data = bytearray(open(name, "rb").read())
size = struct.unpack("<Q", data[:8])[0]
begin = json.loads(data[8 : 8 + size])["decoder.embed_tokens.weight"]["data_offsets"][0]
data[8 + size + begin] ^= 1
open(name, "wb").write(data)
P
expect 1 import model --out y
says err 'decoder.embed_tokens.weight differs from shared.weight'
