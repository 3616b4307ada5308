# SPDX-License-Identifier: Apache-2.0
# The command that makes the table of the README, with so few steps that it only shows that the command works.
. "$2/tests/cli/common"
mkdir -p made/docs
cp "$source/README.md" made/README.md
here=$PWD
(cd "$source" && tools/headline.sh "$orthant" "$here/made" --train.steps 2 --train.warmup 1 --train.eval_every 1 \
    --train.eval_tokens 500 --train.final_tokens 500 --model.width 16 --seeds 3 \
    --compare.tune "train.lr=1e-3,3e-3" --quiet) >out 2>err || fail "tools/headline.sh failed"
[ "$(grep -c '^<svg' made/docs/headline.svg)" = 1 ] || fail "docs/headline.svg is no picture"
says made/docs/headline.svg 'uniform baseline'
says made/docs/headline.md 'Losses are .*500 of the'
sed -n '/headline: begin/,/headline: end/p' made/README.md >table
rows=$(($(sed -n '/attentions:/,$p' "$source/data/headline.yaml" | grep -c '^ *- ') + 3))
[ "$(grep -c '^| ' table)" = $rows ] || fail "the table has not a row for each attention and the uniform baseline"
sed -n '2s/[^|]//gp' table >bars
[ "$(wc -c <bars)" -le 8 ] || fail "the table has more than six columns: $(sed -n 2p table)"
# All but what is between the marks stays.
sed '/headline: begin/,/headline: end/d' "$source/README.md" >before
sed '/headline: begin/,/headline: end/d' made/README.md >after
same before after
