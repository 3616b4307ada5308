# SPDX-License-Identifier: Apache-2.0
# import and export of encoders: what is trained here comes back with the same loss, what is imported is used, what no class has is refused.
. "$2/tests/cli/common"

golden=$source/tests/golden-hf
head -c 40000 "$source/data/tinyshakespeare.txt" >text.txt
awk 'BEGIN { srand(7); for (i = 0; i < 200; i++) { c = rand() < 0.5; print (c ? "yes" : "no") "\t" (c ? "good" : "bad") " word " i } }' >rows.tsv
small="--model.layers 2 --model.width 32 --model.context 32 --train.batch 8 --train.steps 12 --data.tokenizer bpe:300 --quiet"
loss() { # RUN DATA
    expect 0 eval "$1" --data "$2" --json
    sed -n 's/.*"loss": \([0-9.]*[0-9]\).*/\1/p' out
}
comes_back() { # RUN DATA
    expect 0 export "$1" --out "$1-hf"
    says out 'family      bert'
    expect 0 import "$1-hf" --out "$1-back"
    printf '%s %s\n' "$(loss "$1" "$2")" "$(loss "$1-back" "$2")" |
        awk '{ exit !($1 > 0.1 && ($1 - $2) ^ 2 < 1e-10) }' || fail "$1 came back with another loss"
}
expect 0 train $small --task mlm --preset bert --model.head gelu-exact --model.head_norm true --data.train text.txt --out masked
comes_back masked text.txt
says masked-hf/README.md AutoModelForMaskedLM
expect 0 train $small --task classify --preset bert --model.head tanh --model.pool cls --data.train rows.tsv --out classes
comes_back classes rows.tsv
says classes-hf/config.json '"1": "yes"'
says classes-hf/README.md AutoModelForSequenceClassification
cut -f 2 rows.tsv >words.txt
expect 0 classify classes <words.txt
mv out labels
expect 0 classify classes-back <words.txt
same out labels
# An imported model may have been trained on pairs of texts; one that was trained here on single ones was not.
awk '{ print $0 "\tand " NR }' rows.tsv >pairs.tsv
expect 0 eval classes-back --data pairs.tsv
expect 1 eval classes --data pairs.tsv
says err 'has pairs of texts, but the model was trained on single texts'
# Trained further, with another attention and with more options of the block; for another task.
expect 0 train --init masked-back --task mlm --data.train text.txt --train.steps 4 --train.batch 4 --model.attention "softmax ; orthogonal" --quiet --out on
says on/config.json '"head": "gelu-exact"'
says on/init.json '"tensor": "head.norm.weight"'
expect 0 train --init masked-back --task classify --data.train rows.tsv --train.steps 4 --train.batch 4 --model.head tanh --model.head_norm false --quiet --out other
says other/init.json '"tensor": "segment.weight"'
expect 0 inspect classes-back --text "good word" --out maps.html

# What BERT has not has its own modelling file.
not_bert() { # OPTION VALUE, the option that is named
    expect 0 train $small --task mlm --preset bert --model.head gelu-exact --model.head_norm true --data.train text.txt "$1" "$2" --out other-"$2"
    rm -rf x
    expect 0 export other-"$2" --out x
    says out "^family *orthant (OrthantForMaskedLM)$"
    says out "bert has not this ${3:-${1#--}}"
}
not_bert --model.head tanh
not_bert --model.norm pre
not_bert --model.position rotary
not_bert --model.embedding_norm false
expect 0 train $small --task classify --preset bert --model.head tanh --model.pool mean --data.train rows.tsv --out mean
rm -rf x
expect 0 export mean --out x
says out 'bert has not this model.pool'
says x/config.json '"AutoModelForSequenceClassification": "modeling_orthant.OrthantForSequenceClassification"'
rm -rf x

# What is not read, and options without an effect.
refused() { # FOLDER OF A CASE, SED COMMAND, WORDS
    rm -rf model
    cp -r "$golden/$1" model
    chmod -R u+w model
    sed -i "$2" model/config.json
    expect 1 import model --out x
    says err "$3"
    [ ! -e x ] || fail "a refused model left a folder"
}
refused bert-cls 's/ForSequenceClassification/ForTokenClassification/' '"architectures": .*ForTokenClassification.* is not supported: of this family ForMaskedLM'
refused bert-cls 's/"is_decoder": false/"is_decoder": true/' '"is_decoder": true is not supported'
refused bert-cls 's/"is_decoder": false/"position_embedding_type": "relative_key"/' '"position_embedding_type": "relative_key" is not supported'
refused bert-cls 's/"is_decoder": false/"problem_type": "multi_label_classification"/' '"problem_type": .*: one of several classes, or one number, is'
refused bert-cls 's/"1": "LABEL_1"/"7": "LABEL_1"/' '"id2label": .*: a name for each number from 0 on is'
refused bert-cls 's/,$/&/; /"2": "LABEL_2"/d; s/"1": "LABEL_1",/"1": "LABEL_1"/' 'tensor classifier.weight has the shape \[3, 40\]; config.json needs \[2, 40\]'
refused modernbert-mlm 's/"rope_type": "default"/"rope_type": "linear"/' '"rope_parameters": .* is not supported: of this family rope_type "default" is'
refused modernbert-mlm 's/"local_attention": 6/"local_attention": 1/' '"local_attention": 1 is not supported: at least 2 is'
refused modernbert-mlm 's/"mlp_bias": false/"mlp_bias": true/' 'tensor model.layers.0.mlp.Wi.bias is missing'
refused bert-mlm 's/"type_vocab_size": 2/"type_vocab_size": 3/' 'token_type_embeddings.weight has the shape \[2, 40\]'
wrong() { # STATUS WORDS OPTION...
    code=$1 sentence=$2
    shift 2
    expect "$code" train $small --data.train text.txt --out none "$@"
    says err "$sentence"
}
wrong 2 'model.head = tanh applies to encoders only' --model.head tanh
wrong 2 'model.segments = 2 applies to encoders only' --model.segments 2
wrong 2 'model.head_norm = true has no effect without model.head' --task mlm --model.head_norm true

# Pairs and single texts of imported classifiers: probabilities of transformers 5.24.0 in float64. RoBERTa's "<s>" and "</s>" are what
# BERT's "[CLS]" and "[SEP]" are, and two "</s>" are between the texts of a pair.
printf 'the word\tin the end\nO Romeo!\twherefore art thou\na\tb\n' >two.txt
cut -f 1 two.txt >one.txt
for kind in roberta bert; do
    rm -rf model
    cp -r "$golden/$kind-cls" model
    chmod -R u+w model
    cp "$golden/pairs/$kind.json" model/tokenizer.json
    expect 0 import model --out "of-$kind"
    [ "$(grep -c 'post_processor is kept' err)" -eq 1 ] || fail 'the notice was not printed once'
    expect 0 classify "of-$kind" --data two.txt --columns 1,2 --scores
    ! grep -q post_processor err || fail 'the notice was printed again'
    sed 1d out >"$kind.two"
    cp two.txt two.tsv # a table is one of pairs
    expect 0 classify "of-$kind" --data two.tsv --scores
    sed 1d out | cmp - "$kind.two" || fail 'a table has other classes than its columns'
    expect 0 classify "of-$kind" --data one.txt --scores
    sed 1d out | cat "$kind.two" - | cut -f 2- >"$kind.scores"
done
close() { # FILE, then the numbers it should have
    name=$1
    shift
    [ "$(wc -w <"$name")" -eq $# ] || fail "$name has $(wc -w <"$name") numbers"
    tr '\t' '\n' <"$name" | awk -v wanted="$*" 'BEGIN { split(wanted, w, " ") } { d = $1 - w[NR]; if (d * d > 4e-12) exit 1 }' ||
        fail "$name is not $*: $(cat "$name")"
}
close roberta.scores 0.985533 0.014467 0.955764 0.044236 0.996728 0.003272 0.995045 0.004955 0.985883 0.014117 0.944987 0.055013
close bert.scores 0.123005 0.126032 0.750964 0.060463 0.276536 0.663001 0.090448 0.166526 0.743026 \
    0.173030 0.091361 0.735609 0.203778 0.132280 0.663943 0.065824 0.158864 0.775312
awk '{ print "LABEL_0\t" $0 }' two.txt >rows2.tsv # three columns are no pair
expect 0 classify of-bert --data rows2.tsv
[ "$(grep -c 'line [123]: 3 columns; a pair of texts is 2 columns separated by a tab, or those of --columns' err)" -eq 3 ] ||
    fail 'not all rows were reported'
expect 0 classify of-bert --data rows2.tsv --columns 2,3 --scores
sed 1d out | cmp - bert.two || fail 'columns 2 and 3 have other classes'
# Too long a pair is cut to the context.
awk 'BEGIN { for (i = 0; i < 120; i++) printf "%s%s", i == 60 ? "\t" : i ? " " : "", "the"; print "" }' >long.txt
expect 0 classify of-roberta --data long.txt --columns 1,2
says err '1 of 1 lines were truncated to the 40 tokens of the context'
expect 0 eval of-roberta --data rows2.tsv --json
says out '"examples": 3'
expect 2 classify classes --data two.txt --columns 1,2
says err "the model reads single texts"
# Nothing is added to such a tokenizer: <mask> is what [MASK] is.
expect 0 train $small --task mlm --preset bert --data.train text.txt --data.tokenizer "$golden/pairs/roberta.json" --out with-mask
! grep -q 'MASK\|CLS' with-mask/tokenizer.json || fail 'special tokens were added to those of RoBERTa'
expect 0 eval with-mask --data text.txt
expect 0 inspect of-roberta --text 'the word' --out maps.html

# Numbers of tokens have no [CLS].
expect 0 import "$golden/bert-mlm" --out ids
seq 1 40 | tr '\n' ' ' >ids.txt
expect 1 eval ids --data ids.txt
says err '\[CLS\]'

# Images: what only forward reads, and what else it refuses.
expect 0 import "$golden/vit" --out images
says images/config.json '"channels": 3, "image_height": 32, "image_width": 32'
head -c 3073 /dev/zero >picture.bin
for command in eval classify; do
    expect 1 $command images --data picture.bin
    says err 'reads images of 3 channels, 32 x 32, which no data file here has'
done
expect 2 inspect images --text "1 0 0" --out maps.html
says err 'the model reads images; inspect needs a model of texts'
expect 2 forward images --in "$golden/bert-cls/expect.safetensors" --out o.safetensors
says err 'this model has no input attention_mask\|this model has no input input_ids'
refused vit 's/"image_size": 32/"image_size": 36/' '"image_size": 36 is not supported: a multiple of patch_size is'
refused vit 's/"image_size": 32/"image_size": 40/' 'tensor vit.embeddings.position_embeddings has the shape \[1, 17, 40\]; config.json needs \[26, 40\]'
refused vit 's/"patch_size": 8/"patch_size": [8, 4]/' '"patch_size": \[8, 4\] is not supported: a square is'
refused vit 's/"num_channels": 3/"num_channels": 1/' 'tensor vit.embeddings.patch_embeddings.projection.weight has the shape \[40, 3, 8, 8\]'
refused deit 's/DeiTForImageClassification/DeiTForImageClassificationWithTeacher/' 'of this family ForImageClassification'
