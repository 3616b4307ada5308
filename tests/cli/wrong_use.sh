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
wrong 'one word too many' doctor now
wrong 'from 0 to 1024' doctor --threads 2000
wrong 'choose auto, ref' doctor --isa mmx
wrong 'from 1 to 1024' train --model.layers 0
wrong 'give a number from' train --train.lr much
wrong 'did you mean "adamw"' train --train.optimizer adam
wrong 'give true or false' train --model.bias maybe
wrong 'did you mean softmax' train --config tiny.yaml --model.attention sofmax --out x
wrong 'did you mean softmax' train --data.train nowhere.txt --model.attention sofmax --out x
wrong 'did you mean softmax' plan --data.train nowhere.txt --model.attention sofmax
wrong 'did you mean window' explain 'local(windw=3)'
wrong 'an integer from 1 to 1073741824 is expected' explain 'local(window=x)'
wrong 'needs the folder of a run' eval
wrong 'one of train, encode and decode' tokenizer
wrong 'give --in FILE and --out FILE' attend softmax
wrong 'only for bash, zsh and fish' completion tcsh

printf 'train:\n  stesp: 3\n' >bad.yaml
wrong 'bad.yaml:2:.*did you mean' train --config bad.yaml
expect 1 train --config nowhere.yaml
says err 'nowhere.yaml'
expect 1 eval nowhere
says err 'holds no run'
expect 1 train --config tiny.yaml --data.train nowhere.txt --out x
says err 'nowhere.txt.*data.train'
[ ! -e x ] || fail "a run that could not begin left a folder"

# Shapes that cannot be, before anything is trained.
expect 1 train --config tiny.yaml --model.heads 3 --out x
says err 'does not divide'
expect 1 train --config tiny.yaml --model.context 100000 --out x

# Nothing is coloured when it is not a terminal, and the error goes to standard error only.
expect 2 trian
! grep -q "$(printf '\033')" err || fail "colours in a file"
