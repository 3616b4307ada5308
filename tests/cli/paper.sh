# SPDX-License-Identifier: Apache-2.0
# The numbers of docs/paper/paper.md are those of the records; a changed number is found.
. "$2/tests/cli/common"
command -v python3 >/dev/null || exit 77
python3 "$source/tests/paper.py" "$source" >out 2>err || fail "docs/paper/paper.md and the records differ"
mkdir -p wrong/docs/paper wrong/data wrong/tools
cp -r "$source/experiments" wrong/
cp "$source/docs/headline.md" "$source/docs/evidence.json" wrong/docs/
cp "$source/data/headline.yaml" wrong/data/
cp "$source/tools/replicate_recall.py" wrong/tools/
for change in 's/96\.22/96.23/' 's/+57\.12/+57.13/' 's/1\.6924/1.6925/' 's/| 44\.7 |/| 44.8 |/' 's/57\.29/57.28/' 's/40,000/50,000/' 's/5,000 steps of/4,000 steps of/' \
    's/^Differences have/All 17 differences have/'; do
    sed "$change" "$source/docs/paper/paper.md" >wrong/docs/paper/paper.md
    ! python3 "$source/tests/paper.py" wrong >out 2>err || fail "paper.py does not notice $change"
    [ ! -s err ] || fail "paper.py failed"
done
