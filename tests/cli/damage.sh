# SPDX-License-Identifier: Apache-2.0
# Checkpoints and models that were cut short or altered: noticed, named, and got over where that is possible.
. "$2/tests/cli/common"
text 30000
options="--config tiny.yaml --train.checkpoint_every 10 --quiet"
expect 0 train $options --out whole

begun() { # FOLDER: a run with two checkpoints, killed
    rm -rf "$1"
    mkdir "$1"
    cp -r begun/. "$1"
}
# Stopped by its own request, so that the two newest checkpoints are there: steps 20 and 30 are kept of 30.
expect 0 train $options --out begun
rm begun/model.safetensors
newest=$(ls begun | grep checkpoint | tail -n 1)
older=$(ls begun | grep checkpoint | head -n 1)
[ "$newest" != "$older" ] || fail "there are not two checkpoints"
size=$(wc -c <"begun/$newest")

damaged() { # WHAT: the newest checkpoint of the folder `run` is bad
    expect 0 train $options --resume --out run
    says err "$newest"
    says err 'instead'
    same run/model.safetensors whole/model.safetensors
    echo "$1: went on from $older"
}
for length in 0 1 7 8 100 $((size / 2)) $((size - 1)); do
    begun run
    head -c "$length" "begun/$newest" >"run/$newest"
    damaged "cut to $length bytes"
done
for place in 3 60 $((size / 3)) $((size - 2)); do
    begun run
    printf '\377' | dd of="run/$newest" bs=1 seek="$place" conv=notrunc 2>/dev/null
    cmp -s "run/$newest" "begun/$newest" || damaged "altered at $place"
done
begun run
: >"run/$newest.4711-0.tmp"
expect 0 train $options --resume --out run
same run/model.safetensors whole/model.safetensors

# When no checkpoint is good the run says so and touches nothing.
begun run
for file in "$newest" "$older"; do head -c 50 "begun/$file" >"run/$file"; done
expect 1 train $options --resume --out run
says err 'checkpoint'
[ ! -f run/model.safetensors ] || fail "a model was made from nothing"

# A model that was altered is refused, or at least its holes are.
cp -r whole model
head -c 1000 whole/model.safetensors >model/model.safetensors
expect 1 eval model
says err 'model.safetensors'
cp whole/model.safetensors model/
echo '{}' >model/config.json
expect 1 eval model
says err 'config.json'
head -c 300 whole/config.json >model/config.json
for command in 'eval model' 'generate model' 'train --resume --out model'; do
    expect 1 $command
    says err 'model/config.json:1:300: .*; the file is damaged'
done
cp whole/config.json model/
echo '{' >model/tokenizer.json
expect 1 generate model
says err 'tokenizer.json'
