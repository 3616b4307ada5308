# SPDX-License-Identifier: Apache-2.0
# export of attentions that no class of transformers has: the parts of the folder, every mechanism exported or refused by its name, and with
# torch and transformers (ORTHANT_TORCH_PYTHON, or python3) logits and greedy text of a few.
. "$2/tests/cli/common"

i=0
while [ $i -lt 60 ]; do
    echo "First Citizen: Before we proceed any further, hear me speak, $i times."
    i=$((i + 1))
done >text.txt
small="--model.layers 2 --model.width 16 --model.heads 4 --model.context 16 --train.steps 1 --train.batch 1 --quiet"

# shellcheck disable=SC2086
expect 0 train $small --data.train text.txt --model.attention "orthogonal(qk=srht):2 | random + softmax:2 ; gla" --model.position rotary --out run
expect 0 export run --out hf --json
says out '"type": "orthant"'
for file in config.json model.safetensors tokenizer.json tokenizer_config.json generation_config.json README.md \
    modeling_orthant.py configuration_orthant.py; do
    [ -s hf/$file ] || fail "hf/$file is missing"
done
same hf/modeling_orthant.py "$source/src/families/modeling_orthant.py"
same hf/configuration_orthant.py "$source/src/families/configuration_orthant.py"
for field in '"model_type": "orthant"' '"AutoConfig": "configuration_orthant.OrthantConfig"' \
    '"AutoModelForCausalLM": "modeling_orthant.OrthantForCausalLM"' '"max_position_embeddings": 16' '"mechanism": "orthogonal"' \
    '"tensors": "decoder.layers.0.attention.group.1"' '"decay": "channel"' '"causal": true' '"qk": "srht"'; do
    says hf/config.json "$field"
done
says hf/generation_config.json '"max_length": 16'
says hf/tokenizer_config.json '"model_max_length": 16$'
says hf/generation_config.json '"use_cache": true'
says_wrapped hf/README.md 'orthogonal(qk=srht):2 | random + softmax:2 ; gla\|orthogonal(qk=srht):2 .* linear'
says hf/README.md '^- orthogonal: Frozen random orthogonal projections'
[ "$(grep -c '^- [a-z]*: ' hf/README.md)" -eq 5 ] || fail "the card has other mechanisms than orthogonal, random, softmax, mix and linear"
says hf/README.md 'Trained on `text.txt`, 1 steps'
says hf/README.md '^## Licence'
# The folder is imported as the run that it was.
expect 0 import hf --out again
sed -n 's/^family      orthant, \([0-9]*\) parameters$/\1/p' out >counted
same hf/model.safetensors again/model.safetensors
same run/tokenizer.json again/tokenizer.json
for one in run again; do
    expect 0 eval $one --data text.txt --json
    sed -n 's/.*"loss": \([0-9.]*[0-9]\).*/\1/p' out >$one.loss
done
[ -s run.loss ] || fail 'there is no loss'
same run.loss again.loss
expect 0 export again --out hf-again
same hf/model.safetensors hf-again/model.safetensors
same hf/config.json hf-again/config.json
mv hf/orthant.json aside.json
expect 1 import hf --out none
says err 'has no orthant.json, the configuration of the model: export the run again'
mv aside.json hf/orthant.json
# Without --precision the run has that of the one that was exported.
says again/config.json '"precision": "f32"'
expect 0 import hf --out wide --precision f64
says wide/config.json '"precision": "f64"'
expect 0 export wide --out wide-hf
expect 0 import wide-hf --out still-wide
says still-wide/config.json '"precision": "f64"'
expect 0 import wide-hf --out narrow --precision f32
says narrow/config.json '"precision": "f32"'
# Every tensor of config.json is in the file, and no other; the frozen ones, too.
if command -v python3 >/dev/null; then
    python3 -m py_compile hf/modeling_orthant.py hf/configuration_orthant.py || fail "the modelling file is no Python"
    python3 - <<'CHECK' || fail "config.json and model.safetensors have other tensors"
import json, math, struct
config = json.load(open("hf/config.json"))
data = open("hf/model.safetensors", "rb").read()
header = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
header.pop("__metadata__")
assert {name: t["shape"] for name, t in header.items()} == config["tensors"]
frozen = set(config["frozen"])
assert "decoder.layers.0.attention.group.0.query.weight" in frozen, frozen
assert config["tensors"]["decoder.layers.0.attention.group.0.query.weight"] == [8, 16]
trained = sum(math.prod(shape) for name, shape in config["tensors"].items() if name not in frozen)
assert open("counted").read() == "%d\n" % trained, trained
assert "rotary.cosine" in frozen and "decoder.layers.0.attention.group.1.mix.0.random.logits" not in frozen
CHECK
fi

# Every mechanism has its class, or is refused by its name.
expect 0 list
"$orthant" list --json | sed -n 's/^ *"name": "\(.*\)",$/\1/p' >names
[ "$(wc -l <names)" -ge 25 ] || fail "list has $(wc -l <names) mechanisms"
while read -r name; do
    grep -q "^    \"$name\": [A-Z][A-Za-z]*,\$" hf/modeling_orthant.py || fail "$name has no class in MECHANISMS"
done <names
i=0
while [ $i -lt 30 ]; do
    printf 'good\ta fine word %s\nbad\ta poor word %s\n' $i $i
    i=$((i + 1))
done >rows.tsv
refused() { # TASK DATA ATTENTION WORDS
    # shellcheck disable=SC2086
    expect 0 train $small --task "$1" --data.train "$2" --model.attention "$3" --out "refused-$i"
    expect 1 export "refused-$i" --out x
    says_wrapped err "$4"
    [ ! -e x ] || fail "a refused model left a folder"
    i=$((i + 1))
}
for option in "model.position sinusoidal-halves" "model.scale_output true"; do
    # shellcheck disable=SC2086
    expect 0 train $small --data.train text.txt --model.attention linear --$option --out "refused-$i"
    expect 1 export "refused-$i" --out x
    says err "the modelling file that is exported with a model has not this ${option% *}"
    i=$((i + 1))
done
for attention in "pattern(previous, unit=word):1 | softmax" "softmax ; pattern(previous, unit=word):1 | softmax"; do
    refused classify rows.tsv "$attention" \
        'pattern(unit=word) is not in the modelling file .* not word numbers. Use unit=token'
done

python=${ORTHANT_TORCH_PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no $python to compare logits with"; exit 77; }
status=0
"$python" "$source/tools/check_export.py" "$orthant" --quick >checked 2>checked.err || status=$?
if [ $status -eq 77 ]; then
    cat checked
    echo "logits were not compared: set ORTHANT_TORCH_PYTHON to a Python with torch, transformers and safetensors"
    exit 77
fi
[ $status -eq 0 ] || { cat checked; tail -n 5 checked.err; fail "the exported models differ"; }
