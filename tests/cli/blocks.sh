# SPDX-License-Identifier: Apache-2.0
# Blocks of other models: presets, what they set and what prevails; resuming and threads to the bit; runs without the
# options of blocks in their configuration; what is refused.
. "$2/tests/cli/common"
data=$source/data/tinyshakespeare.txt
head -c 3000 "$data" >text.txt
small="--data.train $data --model.layers 2 --model.width 32 --model.context 32 --train.batch 4 --threads 1"
llama="--preset llama --model.dropout 0.1 --model.rotary_scaling llama3 --model.rotary_factor 4"

expect 0 train $small $llama --model.norm_epsilon 1e-6 --train.steps 12 --train.checkpoint_every 6 --out whole
says err 'preset llama sets model.position rotary, model.norm pre, model.norm_kind rms, model.bias false, model.activation silu, model.ffn_gate true, model.tie_output false'
expect 0 plan $small --preset llama --model.bias qkv
says err 'preset llama sets model.position rotary, model.norm pre, model.norm_kind rms, model.norm_epsilon 1e-5, model.activation silu'
for option in '"preset": "llama"' '"norm_kind": "rms"' '"norm_epsilon": 1e-06' '"ffn_gate": true' '"bias": false' \
    '"tie_output": false' '"rotary_scaling": "llama3"'; do
    says whole/config.json "$option"
done

# The same weights after a resume, with two threads, and from the options that the preset stands for.
expect 0 train $small $llama --model.norm_epsilon 1e-6 --train.steps 12 --train.checkpoint_every 6 --threads 2 --out threads
expect 0 train $small --model.position rotary --model.norm_kind rms --model.norm_epsilon 1e-6 --model.activation silu \
    --model.ffn_gate true --model.tie_output false --model.dropout 0.1 --model.rotary_scaling llama3 --model.rotary_factor 4 \
    --train.steps 12 --out named
cp -r whole resumed
rm resumed/checkpoint-000000012.safetensors resumed/model.safetensors
expect 0 train $small $llama --model.norm_epsilon 1e-6 --train.steps 12 --train.checkpoint_every 6 --resume --out resumed
tensors() { # the bytes of the tensors: the metadata name the preset
    n=$(od -An -tu8 -N8 "$1/model.safetensors" | tr -d ' ')
    tail -c +"$((n + 9))" "$1/model.safetensors"
}
for run in threads named resumed; do
    tensors whole >one
    tensors $run >two
    cmp one two || fail "$run has other weights"
done
expect 0 generate whole --prompt "To be" --tokens 8
expect 0 eval whole --data text.txt

# A run of a program that had none of these options.
expect 0 train $small --model.bias true --train.steps 6 --out old
sed -e 's/"\(head_width\|rotary_[a-z]*\|norm_kind\|norm_epsilon\|norm_gain\|embedding_norm\|activation\|ffn_gate\|parallel\|residual_scale\|embedding_scale\|encoder_rotary_base\|logit_cap\|output_cap\|tie_output\|output_bias\|head\|head_norm\|segments\|local_rotary_base\|first_norm\|qknorm_epsilon\|encoder_heads\|encoder_ffn\|scale_output\|begin_token\|end_token\|preset\)": [^,}]*, //g' \
    old/config.json >config
cp config old/config.json
! grep -q rms config || fail "options of blocks are left"
says config '"bias": true, "norm": "pre", "encoder_layers"'
expect 0 eval old --data text.txt
expect 0 train $small --model.bias true --train.steps 6 --train.init old --out younger

# What is refused.
wrong() {
    code=$1 sentence=$2
    shift 2
    expect "$code" train $small --train.steps 1 --out none "$@"
    says err "$sentence"
}
wrong 1 'model.logit_cap applies to logits of a softmax, and linear has none' --model.logit_cap 30 --model.attention linear
wrong 2 'model.parallel = true with model.norm = post' --model.parallel true --model.norm post
wrong 1 'is 3 columns' --model.position rotary --model.rotary_share 0.4
wrong 2 'model.first_norm = false has no effect with model.norm = post' --model.first_norm false --model.norm post
wrong 2 'did you mean "llama"' --preset lama
wrong 2 'choose one of false|true|qkv' --model.bias some
expect 2 compare $small --attention softmax --compare.tune "model.preset=gpt2,llama" --out none
says err 'model.preset cannot be tuned'
