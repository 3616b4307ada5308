#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# site.sh FOLDER: the documents (README.md, CONTRIBUTING.md, docs/) as a site of pages in FOLDER, by MkDocs (pip install mkdocs;
# MKDOCS: its command). A link to a page or heading that is not there is an error.
set -eu
[ $# = 1 ] || { echo "usage: tools/site.sh FOLDER" >&2; exit 2; }
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r docs "$work/docs"
rm "$work/docs/README.md"
# The pages are in one folder there: the overview of docs/ is contents.md, README.md the first page.
sed 's|](\.\./README\.md|](index.md|g; s|](\.\./CONTRIBUTING\.md|](CONTRIBUTING.md|g' docs/README.md >"$work/docs/contents.md"
for page in README CONTRIBUTING; do
    to=$page
    [ $page = README ] && to=index
    sed 's|](docs/README\.md|](contents.md|g; s|](docs/|](|g; s|](README\.md|](index.md|g' $page.md >"$work/docs/$to.md"
done
sed -i 's|](README\.md|](contents.md|g' "$work"/docs/*.md
sed "s|^site_name|docs_dir: $work/docs\nsite_name|" mkdocs.yml >"$work/mkdocs.yml"
${MKDOCS:-mkdocs} build --strict --clean --config-file "$work/mkdocs.yml" --site-dir "$out"
echo "$(find "$out" -name '*.html' | wc -l) pages in $out"
