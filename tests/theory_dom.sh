#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of the theory as a browser understands it: every chart twice (wide and narrow), every proposition with its
# verdict in the overview and in its section, and legends that the script made into buttons. Usage: theory_dom.sh
# TEST_THEORY. 77 = skipped: no browser.
. "$(dirname "$0")/dom"

dump theory
expect theory 1 '<h1 id="conclusion">Of 33 propositions'
expect theory 16 '<svg class="oa"'
expect theory 66 '<span class="verdict v[05]">'
expect theory 33 '<td class="num" data-label="measured">'
expect theory 6 '<thead>'
expect theory 0 '_<sub>'
[ "$(grep -o 'role="button"' "$folder/theory.dom" | wc -l)" -ge 16 ] || { echo "legends are not buttons" >&2; exit 1; }
