# SPDX-License-Identifier: Apache-2.0
# inspect: the maps of a trained model on a text; a head that is a pattern is found as that pattern.
. "$2/tests/cli/common"
text 30000
expect 0 train --config tiny.yaml --train.steps 5 --model.attention "pattern(previous):1 | softmax:3" --out run
expect 0 inspect run --text "To be, or not to be"
says out '^decoder layer 1 *0 *pattern(previous) .* 1\.00 *pattern(previous) *100\.0$'
says out '^decoder layer 2 *0 *pattern(previous) .* 1\.00 *pattern(previous) *100\.0$'
says out '^page     inspect.html$'
awk '/^decoder layer/ { print $3, $4 }' out >order
sort -n -k1 -k2 order | cmp -s - order || fail "heads are not in the order of layers and heads"
says out '^uniform: the average of all visible tokens'
says inspect.html '</html>'
[ "$(grep -o 'data:image/png;base64' inspect.html | wc -l)" -eq 8 ] || fail "there are not 8 maps on the page"
expect 0 inspect run --text "To be, or not to be" --json
says out '"schema": "orthant.inspect/1"'
says out '"nearest": "pattern(previous)"'
says out '"covered": 1'
cp out first
rm inspect.html
expect 0 inspect run --text "To be, or not to be" --json --threads 1
same out first
[ ! -e inspect.html ] || fail "--json alone wrote a page"
# The maps are those that the model used.
sed -n 's/.*"deviation": \([^,]*\),*/\1/p' out >deviations
[ "$(wc -l <deviations)" -eq 2 ] || fail "the maps of 2 layers are not proved"
awk '$1 > 1e-5 { exit 1 }' deviations || fail "the maps do not give what the layers gave"

# Layers without a map say so; markup in a text is text.
expect 0 train --config tiny.yaml --train.steps 5 --model.attention "mixer" --model.layers 1 --out none
expect 0 inspect none --text "To be"
says out '^decoder layer 1: mixer has no attention map to show$'
says inspect.html 'mixer has no map'
expect 0 inspect none --text "To be" --json
says out '"map": null'
expect 0 train --config tiny.yaml --train.steps 5 --data.tokenizer byte --out bytes
expect 0 inspect bytes --text "<b>a</b>" --out page.html
says page.html '&lt;</li>'
! grep -q '<b>a' page.html || fail "the text became markup"

expect 1 inspect run --text "To be, or not to be, that is the question"
says err 'model.context'
expect 1 inspect run --text "α"
says err 'vocabulary'
expect 2 inspect run --text ""
says err 'empty'
expect 1 inspect nowhere --text "To be"
says err 'contains no run'
expect 2 inspect run --text "To be" --target "x"
says err 'has no effect'
expect 1 inspect run --text "To be" --out no/such/page.html
says err 'cannot write'
expect 2 inspect run
says err 'inspect needs --text'
