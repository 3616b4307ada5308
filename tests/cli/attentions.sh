# SPDX-License-Identifier: Apache-2.0
# A configuration names the attentions of a comparison: as a list or a text of lines; those of the command line take their
# place.
. "$2/tests/cli/common"
text 20000
options="--train.steps 3 --seeds 1 --compare.uniform_baseline off --quiet --json"
members() { # ATTENTION...: who took part in the comparison that was printed last
    grep -o '"attention": "[^"]*"' out | grep -v '"attention": ""' | sed 1d | sed 's/"attention": //' >found || true
    for one in "$@"; do printf '"%s"\n' "$one"; done >wanted
    same found wanted
}
write() { # LINE...: a configuration with these lines
    cp tiny.yaml list.yaml
    printf '%s\n' "$@" >>list.yaml
}

write 'compare:' '  attentions:' '    - softmax' '    - "local(window=4) ; softmax"' "    - 'random + softmax'"
expect 0 compare --config list.yaml $options --out list
members softmax 'local(window=4) ; softmax' 'random + softmax'
write 'compare: {attentions: [softmax, random]}'
expect 0 compare --config list.yaml $options --out flow
members softmax random
write 'compare.attentions: |' '  softmax' '' '   random ' 
expect 0 compare --config list.yaml $options --out lines
members softmax random

# What is written can be read again.
expect 0 compare --config list.yaml --dump-config
cp out dumped.yaml
expect 0 compare --config dumped.yaml $options --out lines
members softmax random

# The command line takes the place of the list, and says so.
expect 0 compare --config list.yaml $options --attention orthogonal --out given
members orthogonal
says err 'overrides the 2 attentions of compare.attentions'

# A list that is no list of texts, or where none belongs.
refused() { # PATTERN LINE...
    pattern=$1
    shift
    write "$@"
    status=0
    "$orthant" compare --config list.yaml $options --out no >out 2>err || status=$?
    [ $status -ne 0 ] || fail "$* was accepted"
    says err "$pattern"
    [ ! -e no ] || fail "$* left a folder"
}
refused 'list.yaml:.*the list is empty' 'compare: {attentions: []}'
refused 'list.yaml:.*an item of this list is a text of one line' 'compare: {attentions: [softmax, [random]]}'
refused 'list.yaml:.*an item of this list is a text of one line' 'compare: {attentions: [softmax, {a: b}]}'
refused 'list.yaml:.*given a second time' 'compare: {attentions: [softmax]}' 'compare.attentions: random'
refused 'not a list or a map' 'data.valid: [a, b]'
refused 'is given twice' 'compare: {attentions: [softmax, softmax]}'
refused 'did you mean softmax' 'compare: {attentions: [sofmax]}'
long=$(printf 'x%.0s' $(seq 300))
refused 'the list is too long' "compare: {attentions: [$long, $long, $long, $long]}"
expect 2 compare --config tiny.yaml --compare.attentions softmax --out no
says err 'compare.attentions has no effect: attentions are given with --attention'
