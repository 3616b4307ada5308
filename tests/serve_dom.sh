#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of `orthant serve` in a browser: serve_dom.js clicks tokens and compares the maps of both models with those that
# `orthant inspect` prints. Usage: serve_dom.sh PROGRAM SOURCE. 77 = skipped: no browser, python3 or libmicrohttpd.
made=here
. "$(dirname "$0")/dom"
command -v python3 >/dev/null || { echo "there is no python3, which talks to the browser"; exit 77; }
orthant=$1 source=$2
cd "$folder" || exit 1
head -c 20000 "$source/data/tinyshakespeare.txt" >text.txt
small="--model.layers 2 --model.width 32 --model.heads 4 --model.context 64 --train.steps 3 --train.warmup 1 --train.batch 2 --quiet"
"$orthant" train --data.train text.txt --data.tokenizer byte $small --out a >/dev/null || exit 1
"$orthant" train --data.train text.txt --data.tokenizer char $small --out b \
    --model.attention "pattern(previous):1 | linear:2 | mixer:1" >/dev/null || exit 1
: >started
: >err
"$orthant" serve a b --port 0 >started 2>err &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$folder"' EXIT
until grep -q "serving .* at http" started; do
    grep -q libmicrohttpd err && { echo "this program was built without libmicrohttpd"; exit 77; }
    kill -0 $server 2>/dev/null || { cat err >&2; exit 1; }
    sleep 0.05
done
at=$(sed 's/.* at //' started)

inspected() { # TEXT: of both models
    for model in a b; do
        printf '{ model: "%s", text: "%s", maps: ' $model "$1"
        "$orthant" inspect $model --text "$1" --json || exit 1
        printf '},\n'
    done
}

{
    printf 'const about = ["softmax; context 64, vocabulary 256", "pattern(previous):1 | linear:2 | mixer:1; context 64, '
    printf 'vocabulary %s"];\n' "$(fold -w 1 text.txt | sort -u | wc -l)"
    printf 'const inspected = ['
    inspected "To b" 2>>err
    inspected "To be" 2>>err
    printf '];\n'
    cat "$source/tests/serve_dom.js"
} >checks.js
HOME=$folder timeout 120 python3 "$source/tests/evaluate_page.py" "$browser" "$at/#To%20be" checks.js >found ||
    { echo "the browser could not show the page" >&2; exit 1; }
grep '^wrong' found >&2 && { head -n 1 found; exit 1; }
checks=$(sed -n 's/^checks \([0-9]*\).*/\1/p' found)
# 2 texts, of 4 and 5 tokens; 16 heads with a map or without one
[ "${checks:-0}" -ge 300 ] || { echo "the checks did not run: $(cat found)" >&2; exit 1; }
head -n 1 found
