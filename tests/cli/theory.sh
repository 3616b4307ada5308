# SPDX-License-Identifier: Apache-2.0
# theory: the table, the page, the JSON, and invalid arguments.
. "$2/tests/cli/common"

expect 0 theory --model.width 32 --model.heads 2 --out page.html --quiet
says out '^Of [0-9]* propositions on frozen orthogonal projections [0-9]* hold and [0-9]* fail\.$'
says out '^width d = 32, H = 2 heads of k = 16;'
says out '^Johnson'
says out '|xU|² = |x|² .* k/d .* fails by −0\.'
says out '^page     page.html$'
says page.html '</html>'
expect 0 theory --model.width 32 --model.heads 2 --json
says out '"schema": "orthant.theory/1"'
cp out first
expect 0 theory --model.width 32 --model.heads 2 --json --threads 1
same out first
expect 2 theory --model.width 33 --model.heads 2
says err 'must divide'

# A place that cannot be written to is known before anything is measured.
: >file
for place in no/such/folder/page.html file/page.html .; do
    expect 1 theory --model.width 32 --model.heads 2 --out $place
    says err "cannot write $place"
    ! grep -q measuring err || fail "measured before the path $place was looked at"
done
expect 2 theory word
