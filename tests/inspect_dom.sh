#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An inspection as a browser understands it: the maps are there and can be enlarged, nothing of the text has become
# markup, and the script has run without an error. Usage: inspect_dom.sh PROGRAM SOURCE. 77 = skipped: no browser.
made=here
. "$(dirname "$0")/dom"
head -c 20000 "$2/data/tinyshakespeare.txt" >"$folder/text.txt"
"$1" train --data.train "$folder/text.txt" --data.tokenizer byte --model.layers 2 --model.width 32 --model.heads 4 \
    --model.context 32 --model.attention "pattern(previous):1 | softmax:2 | mixer:1" --train.steps 3 --train.warmup 1 --train.batch 2 \
    --quiet --out "$folder/run" >/dev/null || exit 1
"$1" inspect "$folder/run" --text '<b>a</b> "so" & on' --out "$folder/maps.html" >/dev/null || exit 1
dump maps
expect maps 6 '<img [^>]*role="button"' # the script made them buttons
expect maps 2 'mixer has no map'
expect maps 8 'aria-sort="none"'
expect maps 0 '<b>a'
sed 's|</body>|<script>document.querySelectorAll(".head img")[1].click()</script></body>|' "$folder/maps.html" \
    >"$folder/large.html"
dump large
expect large 1 'id="big" role="dialog" aria-label="a map with its tokens"><button'
expect large 36 '<text ' # 18 tokens on each axis
