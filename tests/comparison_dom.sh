#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A whole comparison's report in a browser, wide and narrow, light and dark: comparison_dom.js compares every number of its
# sections with results.json, measures what is drawn, and looks for what is empty, cut off, on top of another or pale.
# Usage: comparison_dom.sh ORTHANT SOURCE. 77 = skipped: no browser.
made=yes # the pages are not those of a test program
. "$(dirname "$0")/dom"
orthant=$1 source=$2
cd "$folder" || exit 1
head -c 30000 "$source/data/tinyshakespeare.txt" >text.txt
cat >options.yaml <<'YAML'
model: {layers: 2, width: 16, heads: 2, context: 32, dropout: 0.1}
data: {train: text.txt}
train: {batch: 4, steps: 40, warmup: 5, eval_every: 10, log_every: 5}
YAML

comparison() { # FOLDER OPTION...
    out=$1
    shift
    "$orthant" compare --config options.yaml --quiet --out "$out" --attention softmax --attention linear \
        --attention "local(window=4)" --attention "random + softmax" --compare.tune \
        "train.lr=0.003,0.03;model.dropout=0,0.1" --compare.vary each --compare.vary_seeds 3 "$@" >/dev/null 2>err ||
        { cat err >&2; exit 1; }
}

look() { # FOLDER NAME WIDTH OPTION...: the page with the checks and the results next to it, as the browser ends with it
    page=$2 width=$3
    {
        cat "$1/report.html"
        printf '<script>const results = '
        sed 's,</,<\\/,g' "$1/results.json"
        printf ';</script>\n<script>'
        cat "$source/tests/comparison_dom.js"
        printf '</script>\n'
    } >"$page.html"
    shift 3
    dump "$page" "$@"
    sed -n '/<pre id="found">/,/<\/pre>/p' "$page.dom" | sed 's/.*<pre id="found">//; s,</pre>.*,,' >found
    grep -q '^checks [0-9]\{4\}' found || { echo "$page: the checks did not run" >&2; exit 1; }
}

right() { # FOLDER NAME WIDTH OPTION...
    look "$@"
    grep '^wrong' found >&2 && { echo "$2: $(head -n 1 found)" >&2; exit 1; }
    echo "$2: $(head -n 1 found)"
}

comparison tests --seeds 4 --baseline linear --margin 0.05
right tests wide 1024
right tests narrow-dark 400 --blink-settings=preferredColorScheme=0
grep -q 'width 400 dark true' found || { echo "the page is neither narrow nor dark" >&2; exit 1; }
comparison tests --seeds 6 --baseline linear --margin 0.05 --sequential
right tests looks-dark 1200 --blink-settings=preferredColorScheme=0
right tests looks-narrow 400

# The checks find what is wrong: each of these numbers is on the page.
lie() { # PATTERN REPLACEMENT WHAT
    mkdir -p lies
    cp tests/report.html lies
    sed "s/$1/$2/" tests/results.json >lies/results.json
    cmp -s tests/results.json lies/results.json && { echo "nothing to change: $3" >&2; exit 1; }
    look lies lie 1200
    grep -q "^wrong $3" found || { echo "a lie was believed: $3" >&2; exit 1; }
}
lie '"mean": -*\([0-9.]*\),' '"mean": 1\1,' results
lie '"front_speed": true' '"front_speed": false' speed
lie '"ratio": \([0-9]\)' '"ratio": 1\1' spread
lie '"verdict_text": "[a-z ]*"' '"verdict_text": "identical"' pairs
lie '"margin": 0.05' '"margin": 0.06' differences
lie '"chosen": [1-9]' '"chosen": 0' tuning

# Attentions with different numbers of seeds: what is read next to one another is adjusted for missing ones.
comparison tests --until-resolved --baseline linear --margin 0.15 --compare.max_seeds 9
right tests uneven 1200
grep -q 'adjusted for missing seeds' uneven.dom || { echo "no attention has more seeds" >&2; exit 1; }
right tests uneven-narrow-dark 400 --blink-settings=preferredColorScheme=0
lie '"adjusted": \([0-9.]*\),' '"adjusted": 1\1,' results
lie '"adjusted_difference": 0\.' '"adjusted_difference": 0.1' results
