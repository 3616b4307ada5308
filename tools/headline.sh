#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# headline.sh ORTHANT FOLDER [OPTION]...: holds the comparison of README's table, and writes its table into FOLDER/README.md
# between the two marks, and its report and picture to FOLDER/docs. Run in the source folder. A comparison that was
# interrupted goes on.
set -eu
orthant=$1
folder=$2
shift 2
comparison=$folder/build/headline
"$orthant" compare --config data/headline.yaml --out "$comparison" "$@"
cp "$comparison/report.svg" "$folder/docs/headline.svg"
cp "$comparison/report.md" "$folder/docs/headline.md"
sed '/^Budget and cost/,$d' "$comparison/report.md" >"$comparison/table.md"
awk -v table="$comparison/table.md" '
    /<!-- headline: begin/ { print; while ((getline line < table) > 0) print line; skip = 1 }
    /<!-- headline: end/ { skip = 0 }
    !skip || /<!-- headline: begin/ { if (!/<!-- headline: begin/) print }' "$folder/README.md" >"$comparison/README.md"
grep -q 'headline: end' "$comparison/README.md" || { echo "headline.sh: README.md has no marks for the table"; exit 1; }
mv "$comparison/README.md" "$folder/README.md"
