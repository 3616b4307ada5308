# SPDX-License-Identifier: Apache-2.0
# import: a run that the other commands use, and what is refused before a tensor is read.
. "$2/tests/cli/common"

golden=$source/tests/golden-hf
expect 0 import "$golden/gpt2" --out run
says out '^family      gpt2, 54080 parameters$'
says out 'layers=2, width=40'
expect 0 import "$golden/gpt2" --out same --json
says out '"parameters": 54080'
same run/model.safetensors same/model.safetensors
expect 0 forward run --in "$golden/gpt2/expect.safetensors" --out out.safetensors
expect 2 forward run --in out.safetensors --out more.safetensors
says err 'this model has no input last_hidden_state'
expect 2 forward run --in out.safetensors --out out.safetensors
says err 'are the same file'
expect 0 generate run --prompt "O Romeo" --tokens 5
printf 'Now is the winter of our discontent\n%.0s' 1 2 3 4 5 6 7 8 9 >text.txt
expect 0 eval run --data text.txt --json
says out '"bits_per_byte"'
expect 0 train --init run --data.train text.txt --train.steps 2 --train.batch 2 --model.attention "softmax ; orthogonal" --out on --quiet
[ -s on/model.safetensors ] || fail "training did not go on from the model"

# Evaluated in bfloat16: the same weights, another loss, and not much another.
expect 0 import "$golden/gpt2" --out brief --precision bf16
says brief/config.json '"precision": "bf16"'
says run/config.json '"precision": "f32"'
same run/model.safetensors brief/model.safetensors
for one in run brief; do
    expect 0 eval $one --data text.txt --json
    sed -n 's/.*"loss": \([0-9.]*[0-9]\).*/\1/p' out
done | tr '\n' ' ' | awk '{ d = ($1 - $2) ^ 2; exit !($1 > 1 && d > 1e-14 && d < 1e-4) }' || fail 'bf16 has the loss of f32, or none'
expect 2 import "$golden/gpt2" --out none --precision f16
says err 'train.precision is "f16"'
[ ! -e none ] || fail 'a wrong precision left a folder'

# Without a tokenizer.
expect 0 import "$golden/opt" --out ids
says out 'there is no tokenizer.json'
expect 0 generate ids --prompt "1 2 3" --tokens 3
says out '^1 2 3 [0-9]'
seq 1 40 | tr '\n' ' ' >ids.txt
expect 0 eval ids --data ids.txt
says out '^bits/character  not known: there are token ids and no text$'
# A context of a million: a text of 40 tokens is no row of a million.
cp -r "$golden/llama" long
chmod -R u+w long
sed -i 's/"max_position_embeddings": 64/"max_position_embeddings": 1000000/' long/config.json
expect 0 import "$golden/llama" --out short-run
expect 0 eval short-run --data ids.txt --json
sed -n 's/.*"loss": \([0-9.]*[0-9]\).*/\1/p' out >loss
expect 0 import long --out long-run
expect 0 eval long-run --data ids.txt --json
sed -n 's/.*"loss": \([0-9.]*[0-9]\).*/\1/p' out | cmp - loss || fail "a longer context has another loss"
# A tokenizer of SentencePiece's kind stays with its model.
cp "$golden/llama-tokenizer.json" long/tokenizer.json
expect 0 import long --out words
expect 0 tokenizer encode words/tokenizer.json --text "O Romeo, é"
cp out ids.txt
expect 0 tokenizer encode long/tokenizer.json --text "O Romeo, é"
same out ids.txt
expect 0 tokenizer decode words/tokenizer.json --data ids.txt
[ "$(cat out)" = "O Romeo, é" ] || fail "the text is $(cat out)"
expect 0 generate words --prompt "O Romeo" --tokens 5
expect 0 eval words --data text.txt --json
says out '"bits_per_byte"'

# And back: a model that was trained here becomes one of GPT-2, with biases of 0, or of GPT-NeoX.
expect 0 export run --out hf --json
says out '"type": "gpt2"'
for file in config.json model.safetensors tokenizer.json tokenizer_config.json README.md; do
    [ -s hf/$file ] || fail "hf/$file is missing"
done
expect 0 train --config tiny.yaml --quiet --attention 'softmax(init=haar) ; softmax' --out haar # of the same function
expect 0 export haar --out haar-hf
says out 'family      gpt2 (GPT2LMHeadModel)'
for position in learned sinusoidal rotary; do
    expect 0 train --config tiny.yaml --quiet --model.position $position --out own-$position
    expect 0 export own-$position --out own-$position-hf
    expect 0 import own-$position-hf --out own-$position-back
    expect 0 eval own-$position --data text.txt --json
    sed -n 's/.*"loss": \([0-9.]*[0-9]\).*/\1/p' out >loss
    expect 0 eval own-$position-back --data text.txt --json
    sed -n 's/.*"loss": \([0-9.]*[0-9]\).*/\1/p' out | paste - loss |
        awk '{ exit !($1 > 1 && ($1 - $2) ^ 2 < 1e-10) }' || fail "the model that came back has another loss"
done
# A window that the name of the attention leaves out is the default one.
expect 0 train --config tiny.yaml --quiet --preset llama --model.norm_epsilon 1e-6 --model.attention local --out window
expect 0 export window --out window-hf
expect 0 explain local
window=$(sed -n 's/^ *defaults *window=\([0-9]*\),.*/\1/p' out)
[ -n "$window" ] || fail "explain does not print the default window"
says window-hf/config.json "\"sliding_window\": $window,*$"
expect 0 train --config tiny.yaml --quiet --model.output_bias true --out output-bias
expect 0 export output-bias --out output-bias-hf
says out 'no family that is exported has this model.output_bias'
expect 0 train --config tiny.yaml --quiet --preset llama --model.rotary_share 0.5 --out share
expect 0 export share --out share-hf
says out 'llama has not this model.rotary_share'
expect 2 export run --out hf
says err 'hf/model.safetensors exists'
expect 0 train --config tiny.yaml --quiet --model.attention random --out random
expect 0 export random --out random-hf
says out '^family *orthant (OrthantForCausalLM)$'
expect 0 train --config tiny.yaml --quiet --model.norm post --out post
expect 0 export post --out post-hf
says out 'no family that is exported has this model.norm'
expect 0 train --config tiny.yaml --quiet --model.norm_kind rms --out rms
expect 0 export rms --out rms-hf
says out 'gpt2 has not this model.norm_kind, .*llama has not this model.position'

# Refusals.
expect 2 import "$golden/gpt2" --out run
says err 'run/model.safetensors exists'
expect 1 import . --out x
says err 'has no config.json'
# A config.json that cannot be read, at every place where a download may have ended.
rm -rf broken
cp -r "$golden/gpt2" broken
chmod -R u+w broken
size=$(wc -c <broken/config.json)
for cut in 0 1 $((size / 3)) $((size / 2)) $((size - 2)); do
    head -c "$cut" "$golden/gpt2/config.json" >broken/config.json
    expect 1 import broken --out x
    says err 'broken/config.json:[0-9]*:[0-9]*: not valid JSON: .*; fetch the file again'
done
rm broken/config.json
mkdir broken/config.json
expect 1 import broken --out x
says err 'cannot read broken/config.json'
[ ! -e x ] || fail 'a refused import left a folder'
change() { # FOLDER OF A CASE, SED COMMAND: a copy with another config.json
    rm -rf model
    cp -r "$golden/$1" model
    chmod -R u+w model
    sed -i "$2" model/config.json
}
refused() { # FOLDER OF A CASE, SED COMMAND, WORDS
    change "$1" "$2"
    expect 1 import model --out x
    says err "$3"
    [ ! -e x ] || fail "a refused model left a folder"
}
refused gpt2 's/"model_type": "gpt2"/"model_type": "rwkv"/' 'type "rwkv" are not supported; these are: bert, deit, distilbert, gemma2, gpt2, gpt_neo, gpt_neox, llama, marian, mistral, modernbert, olmo2, opt, qwen2, qwen3, roberta, t5, vit'
refused gpt2 's/"model_type": "gpt2"/"model": 1/' 'has no "model_type"'
refused gpt2 's/"scale_attn_weights": true/"scale_attn_weights": false/' '"scale_attn_weights": false is not supported'
refused gpt2 's/GPT2LMHeadModel/GPT2ForSequenceClassification/' '"architectures": .* only the language model'
refused gpt2 's/"gelu_new"/"mish"/' '"activation_function": "mish" is not supported'
refused gpt2 's/"n_layer": 2/"n_layer": "two"/' '"n_layer" is "two"; expected an integer'
refused gpt2 's/"n_layer": 2/"n_layer": 3/' 'tensor transformer.h.2.ln_1.weight is missing'
refused gpt2 's/"n_layer": 2/"n_layer": 1/' 'tensor transformer.h.1.attn.c_attn.bias is not part of a model'
refused gpt2 's/"n_embd": 40/"n_embd": 44/' 'tensor transformer.wte.weight has the shape \[300, 40\]; config.json needs \[300, 44\]'
refused gpt2 's/"vocab_size": 300/"vocab_size": 200/' '300 tokens, but config.json has a vocabulary of 200'
refused gpt_neox 's/"tie_word_embeddings": false/"tie_word_embeddings": true/' 'embed_out.weight differs from the embedding, but config.json ties them'
change qwen3 's/"rms_norm_eps": 1e-06/"rms_norm_eps": 1e-05/'
expect 0 import model --out epsilon
says epsilon/config.json '"qknorm_epsilon": 1e-05'
# Options that the models above have not: the frequencies of Llama 3.1 (low: few turns in the original context), no caps.
change llama 's/"rope_type": "default"/"rope_type": "llama3", "factor": 8, "low_freq_factor": 1.5, "high_freq_factor": 5, "original_max_position_embeddings": 32/'
expect 0 import model --out turned
for option in '"rotary_scaling": "llama3"' '"rotary_factor": 8' '"rotary_context": 32' '"rotary_slow": 1.5' '"rotary_fast": 5'; do
    says turned/config.json "$option[,}]"
done
change gemma2 's/\(_logit_softcapping": \)[0-9.]*/\1null/'
expect 0 import model --out uncapped
for option in '"logit_cap": 0' '"output_cap": 0'; do
    says uncapped/config.json "$option[,}]"
done
# Lists of layers with several items.
kinds() { # ATTENTION_TYPES ATTENTION
    change gpt_neo ''
    tr -d ' \n' <model/config.json | sed "s/\(\"attention_types\":\)\[\[.*\]\],/\1$1,/" >config
    cp config model/config.json
    rm -rf kinds
    expect 0 import model --out kinds
    says kinds/config.json "\"attention\": \"$2\""
}
kinds '[[["global"],1],[["local"],1]]' 'softmax ; local(window=4)'
kinds '[[["local"],1],[["global","local"],5]]' 'local(window=4) ; softmax'
refused gpt2 's/"n_layer": 2/"n_layer": 2, "quantization_config": {"bits": 4}/' '"quantization_config": quantised weights are not read'
rotary() { # MEMBERS, WORDS
    refused llama "s/\"rope_type\": \"default\"/$1/" "$2"
}
rotary '"rope_type": "yarn"' '"rope_type": "yarn" is not supported: of scaled rotary positions linear and llama3 are'
rotary '"type": "yarn"' '"type": "yarn" is not supported: of scaled rotary positions linear and llama3 are'
rotary '"rope_type": "linear"' '"rope_parameters": .* is not supported: linear needs factor'
rotary '"rope_type": "llama3", "factor": 8.0' 'llama3 needs factor, low_freq_factor'
rotary '"rope_type": "default", "partial_rotary_factor": 0.5' '"partial_rotary_factor" is 0.5: transformers turns whole heads'
refused opt 's/"bos_token_id"/"rope_parameters": 1, "bos_token_id"/;s/"model_type": "opt"/"model_type": "llama"/;s/OPTForCausalLM/LlamaForCausalLM/' '"rope_parameters" is 1; expected an object'
change gpt2 ''
printf '\377\377\377\377' | dd of=model/model.safetensors bs=1 seek=$(($(wc -c <model/model.safetensors) - 4)) conv=notrunc 2>dd
expect 1 import model --out x
says err 'has a value that is not finite, at row .*such a model has no output'
change gpt2 ''
sed -i 's/"normalizer": *null/"normalizer": {"type": "Other"}/' model/tokenizer.json
expect 1 import model --out x
says err 'normalizer "Other" is not supported.*; move the file away to import the model with ids instead'
rm model/tokenizer.json
expect 0 import model --out moved
change gpt2 ''
truncate -s 1000 model/model.safetensors
expect 1 import model --out x
rm model/model.safetensors
expect 1 import model --out x
says err 'has neither model.safetensors nor'
: >model/pytorch_model.bin
expect 1 import model --out x
says err 'pytorch_model.bin is a pickle'
change llama ''
rm model/model-00003-of-00005.safetensors
expect 1 import model --out x
says err 'names model-00003-of-00005.safetensors, which is missing'
change llama ''
cp model/model-00001-of-00005.safetensors model/model-00003-of-00005.safetensors
expect 1 import model --out x
says err 'model-00003-of-00005.safetensors lacks tensor'
change llama ''
sed -i 's/model-00003-of-00005/..\/model-00003-of-00005/' model/model.safetensors.index.json
expect 1 import model --out x
says err 'which is no \*.safetensors in that folder'

# GGUF files.
expect 0 import "$golden/gguf/smollm2.gguf" --out smollm2
says out 'attention=softmax(kv=1)'
expect 0 generate smollm2 --prompt "O Romeo" --tokens 3
head -c 100000 "$golden/gguf/smollm2.gguf" >cut.gguf
expect 1 import cut.gguf --out x
says err 'cut.gguf is truncated: tensor'
LC_ALL=C sed "s/tokenizer.ggml.tokens\(.\{24\}\)./tokenizer.ggml.tokens\1$(printf '\377')/" "$golden/gguf/smollm2.gguf" >bytes.gguf
expect 1 import bytes.gguf --out x
says err 'bytes.gguf: element 0 of tokenizer.ggml.tokens is no UTF-8 text'
echo "no model" >text.gguf
expect 1 import text.gguf --out x
says err 'text.gguf is no GGUF file'
sed 's/general.architecture\(.\{12\}\)llama/general.architecture\1lalma/' "$golden/gguf/smollm2.gguf" >other.gguf
expect 1 import other.gguf --out x
says err 'the architecture lalma is not read from GGUF'
[ ! -e x ] || fail "a refused file left a folder"
# Some layers with a window: qwen2, whose biases are 0; transformers 5.24.0 (float64) has this loss on the exported folder.
expect 0 swap short-run --attention "softmax(kv=2) ; local(window=8,kv=2)" --out some
expect 0 export some --out some-hf
says out 'qwen2 (Qwen2ForCausalLM)'
says some-hf/config.json '"use_sliding_window": true'
says some-hf/config.json '"sliding_window": 8'
tr -d '\n ' <some-hf/config.json >line
says line '"layer_types":\["full_attention","sliding_attention","full_attention"\]'
expect 0 import some-hf --out some-back
seq 1 64 | tr '\n' ' ' >ids.txt
for run in some some-back; do
    expect 0 eval $run --data ids.txt --json
    sed -n 's/.*"loss": \([0-9.]*[0-9]\).*/\1/p' out |
        awk '{ exit !(($1 - 7.900530815124512) ^ 2 < 1e-11) }' || fail "$run has another loss than transformers"
done
# Files without layer_types: windows from max_window_layers on, as in Qwen2Config of transformers.
cp -r "$golden/qwen2" older
chmod -R u+w older
sed -i -e '/"layer_types"/,/\]/d' -e 's/"max_window_layers": 28/"max_window_layers": 1/; s/"sliding_window": null/"sliding_window": 8/; s/"use_sliding_window": false/"use_sliding_window": true/' older/config.json
expect 0 import older --out older-run
says older-run/config.json '"attention": "softmax(kv=2) ; local(window=8, kv=2)"'
expect 0 swap short-run --attention "local(window=4,kv=2) ; local(window=8,kv=2)" --out two
expect 0 export two --out two-hf
says out 'modeling_orthant.py: transformers has no class for this model.attention'
expect 0 swap short-run --attention "softmax(kv=1):2 | local(window=8,kv=1):2" --out heads
expect 0 export heads --out heads-hf
says out 'modeling_orthant.py: transformers has no class for this model.attention'
