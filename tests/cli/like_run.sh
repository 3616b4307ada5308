# SPDX-License-Identifier: Apache-2.0
# plan and bench with the folder of a run: its options and its tokenizer, whatever became of the files that it was made
# of; generate in another precision than that of the run.
. "$2/tests/cli/common"
text 30000
expect 0 train --config tiny.yaml --quiet --train.steps 30 --out first
expect 0 train --config tiny.yaml --quiet --train.steps 60 --train.lr 5e-3 \
    --train.precision bf16 --init first --out run
parameters() { # RUN: of its file: 8 bytes, the header that they tell the length of, and four bytes a number
    header=$(od -An -N8 -tu8 "$1/model.safetensors" | tr -d ' ')
    echo $((($(wc -c <"$1/model.safetensors") - 8 - header) / 4))
}
member() { # NAME: the first with this name in out
    sed -n "s/.*\"$1\": \"\{0,1\}\([^,\"]*\).*/\1/p" out | head -n 1
}
is() { # WHAT A B
    [ "$2" = "$3" ] || fail "$1 is $2 and not $3"
}

expect 0 bench --decode --config tiny.yaml --train.precision bf16 --sequences 2 --json
bytes=$(member bytes)
sed 's/"precision": "bf16"/"precision": "f32"/' run/config.json >config
cp -r run fine
cp config fine/config.json
rm -r first text.txt tiny.yaml

expect 0 plan run --json
is "the parameters of the plan" "$(member trainable)" "$(parameters run)"
is "the precision of the plan" "$(member precision)" bf16
expect 0 plan run --json --model.layers 1 --train.precision f32
[ "$(member trainable)" != "$(parameters run)" ] || fail "--model.layers after the run has no effect"
is "the precision that is given" "$(member precision)" f32
expect 2 plan run first
says err 'at most one argument'
expect 1 plan nowhere
says err 'nowhere contains no run'

expect 0 bench run --decode --sequences 2 --json
is "the bytes of bench RUN --decode" "$(member bytes)" "$bytes"
is "the precision of bench RUN --decode" "$(member precision)" bf16
expect 2 bench run
says err 'no arguments without --step or --decode'
expect 1 bench run --step
says err 'text.txt'
text 30000
expect 0 bench run --step --json
is "the precision of bench RUN --step" "$(member precision)" bf16

expect 0 generate run --prompt "O" --tokens 60 --samples 20
cp out rounded
expect 0 generate fine --prompt "O" --tokens 60 --samples 20
cp out whole
expect 0 generate fine --prompt "O" --tokens 60 --samples 20 --precision bf16
same out rounded
expect 0 generate run --prompt "O" --tokens 60 --samples 20 --precision f32
same out whole
! cmp -s rounded whole || fail "this run has the same text in both precisions: try another one"
expect 2 generate run --prompt "O" --precision f16
says err 'f32, bf16'
