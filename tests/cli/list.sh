# SPDX-License-Identifier: Apache-2.0
# docs/attention.md is what the program prints.
. "$2/tests/cli/common"

expect 0 list --markdown
if ! diff "$source/docs/attention.md" out >difference; then
    head -n 20 difference
    fail "docs/attention.md is not up to date: orthant list --markdown > docs/attention.md"
fi
expect 2 list --markdown --json
says err 'not both'
expect 0 list
says out '^softmax '
says out '^  fixed-random  random(frozen)$'
