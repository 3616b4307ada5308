# SPDX-License-Identifier: Apache-2.0
# What is wrong is named, with the nearest thing that would be right, and the exit code is 2.
. "$2/tests/cli/common"
text 20000

wrong() { # PATTERN WORD...
    pattern=$1
    shift
    expect 2 "$@"
    says err "^orthant: .*$pattern"
    [ ! -s out ] || fail "orthant $* printed results"
}
wrong 'did you mean "train"' trian
wrong 'did you mean --train.steps' train --trian.steps 3
wrong 'did you mean --model.layers' train --layers 3
wrong 'generate has no option --train.steps' generate x --train.steps 3
wrong 'needs a value' train --out
wrong 'needs a value, but --resume follows' train --out --resume
wrong 'takes no value' train --resume=yes
wrong 'unexpected argument' doctor now
wrong 'from 0 to 1024' doctor --threads 2000
wrong 'choose auto, ref' doctor --isa mmx
wrong 'from 1 to 1024' train --model.layers 0
wrong 'give a number from' train --train.lr much
wrong 'did you mean "adamw"' train --train.optimizer adam
wrong 'train.lr = 0 with train.optimizer muon' train --config tiny.yaml --train.optimizer muon --train.lr 0 --out x
wrong 'give true or false' train --model.scale_embedding maybe
wrong 'did you mean softmax' train --config tiny.yaml --model.attention sofmax --out x
wrong 'did you mean softmax' train --data.train nowhere.txt --model.attention sofmax --out x
wrong 'did you mean softmax' plan --data.train nowhere.txt --model.attention sofmax
wrong 'the model has no encoder; its stacks are: decoder' train --data.train nowhere.txt --model.attention 'encoder: softmax' --out x
wrong 'the model has no cross-attention' plan --data.train nowhere.txt --model.attention 'decoder: local & cross: softmax'
wrong 'did you mean encoder' explain 'encodr: softmax'
wrong 'remove the label' bench --attention 'decoder: softmax'
wrong 'did you mean window' explain 'local(windw=3)'
wrong 'expected an integer from 1 to 1073741824' explain 'local(window=x)'
wrong 'look ahead and have no causal form' train --config tiny.yaml --attention 'pattern(next)' --out x
wrong 'local is for self-attention only' explain 'cross: local'
wrong 'linformer has no causal form' plan --config tiny.yaml --attention linformer
wrong 'is for self-attention only' train --task translate --data.train text.txt,text.txt --data.tokenizer byte --attention 'cross: local' --out x
wrong 'model.vocabulary = 3 is less than the [0-9]* tokens of the tokenizer' train --config tiny.yaml --model.vocabulary 3 --out x
wrong 'give --text or --data, not both' tokenizer encode t.json --text a --data text.txt
wrong 'give --text or --data, not both' tokenizer decode t.json --text 1 --data text.txt
wrong 'needs a dictionary' score bleu --ref text.txt --hyp text.txt --tokenize zh
wrong 'needs the folder of a run' eval
wrong 'one of train, encode and decode' tokenizer
wrong 'attend needs --in FILE and --out FILE' attend softmax
wrong 'only for bash, zsh and fish' completion tcsh

# Options without effect.
status=0
cat text.txt | "$orthant" train --config tiny.yaml --data.train /dev/stdin --out x >out 2>err || status=$?
[ $status -eq 2 ] || fail "a pipe that was read twice ended with $status"
says err 'a pipe can be read only once and the vocabulary was made from it: give a file'
wrong 'train takes one attention' train --config tiny.yaml --attention softmax --attention random
wrong 'train takes one attention' train --config tiny.yaml --attention softmax --model.attention random
wrong 'model.attention has no effect' compare --config tiny.yaml --model.attention softmax
wrong 'model.attention has no effect' plan --config tiny.yaml --attention softmax --model.attention random
wrong 'model.layers has no effect' theory --model.layers 3
wrong 'lengths has no effect' bench --peak --lengths 16
wrong 'kernels has no effect' bench --peak --kernels
wrong 'kind has no effect' tokenizer encode t.json --kind byte
wrong 'text has no effect' tokenizer train --text a
wrong 'eval has no option --config' eval run --config tiny.yaml
for remark in "data.valid_fraction.*data.valid names:--data.valid text.txt --data.valid_fraction 0.2" \
    "train.eval_tokens.*no validation text:--data.valid_fraction 0 --train.eval_tokens 9" \
    "train.final_tokens.*no validation text:--data.valid_fraction 0 --train.final_tokens 9" \
    "train.min_lr.*cosine, linear and trapezoid:--train.min_lr 0.2 --train.schedule constant" \
    "train.beta2.*only adamw, muon and lion:--train.beta2 0.9 --train.optimizer sgd" \
    "train.warmup = 7 exceeds train.steps = 3. .* ends at 0.000429:--train.warmup 7 --train.steps 3"; do
    rm -rf remark
    expect 0 train --config tiny.yaml --train.steps 5 --quiet --out remark ${remark#*:}
    says err "^orthant: ${remark%%:*}"
done
rm -rf remark
expect 0 train --config tiny.yaml --train.seconds 0.1 --train.warmup 7 --train.steps 3 --quiet --out remark
! grep -q 'train.warmup' err || fail "a run by the clock has no last step for the warm-up to miss"
rm -rf remark
expect 0 train --config tiny.yaml --out remark
says err '^softmax: [0-9]* trained and 0 frozen parameters, vocabulary [0-9]*, 18000 training tokens$'
! grep -q '^orthant:' err || fail "a remark about nothing"

printf 'train:\n  stesp: 3\n' >bad.yaml
wrong 'bad.yaml:2:.*did you mean' train --config bad.yaml
expect 1 train --config nowhere.yaml
says err 'nowhere.yaml'
expect 1 eval nowhere
says err 'contains no run'
expect 1 train --config tiny.yaml --data.train nowhere.txt --out x
says err 'nowhere.txt.*data.train'
[ ! -e x ] || fail "a run that could not begin left a folder"

# The caret is in a line of its own, and line ends of names do not make lines.
wrong 'did you mean window' explain 'local(windw=3)'
[ "$(sed -n 2p err)" = '  local(windw=3)' ] && [ "$(sed -n 3p err)" = '        ^' ] || fail "no caret under the place"
break=$(printf 'a\nb')
wrong 'attention, character' explain "local(window=$break, windw=3)"
[ "$(grep -c . err)" -eq 3 ] || fail "a line end of a specification breaks the picture"
expect 1 eval "no$break"
[ "$(grep -c . err)" -eq 1 ] || fail "a line end of a name breaks a sentence"
says err 'noa\\x0ab contains no run'

# Shapes that cannot be, before anything is trained.
expect 2 train --config tiny.yaml --model.heads 3 --out x
says err 'does not divide'
expect 1 train --config tiny.yaml --model.context 100000 --out x

# Nothing is coloured when it is not a terminal, and the error goes to standard error only.
expect 2 trian
! grep -q "$(printf '\033')" err || fail "colours in a file"
