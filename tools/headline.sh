#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# headline.sh ORTHANT FOLDER [OPTION]...: holds the contest of README's table, and writes its table into FOLDER/README.md
# between the two marks, and its report and picture to FOLDER/docs. Run in the source folder. A contest that was
# interrupted goes on.
set -eu
orthant=$1
folder=$2
shift 2
contest=$folder/build/headline
"$orthant" compare --config data/headline.yaml --out "$contest" "$@"
cp "$contest/report.svg" "$folder/docs/headline.svg"
cp "$contest/report.md" "$folder/docs/headline.md"
sed '/^What each got and took/,$d' "$contest/report.md" >"$contest/table.md"
awk -v table="$contest/table.md" '
    /<!-- headline: begin/ { print; while ((getline line < table) > 0) print line; skip = 1 }
    /<!-- headline: end/ { skip = 0 }
    !skip || /<!-- headline: begin/ { if (!/<!-- headline: begin/) print }' "$folder/README.md" >"$contest/README.md"
grep -q 'headline: end' "$contest/README.md" || { echo "headline.sh: README.md has no marks for the table"; exit 1; }
mv "$contest/README.md" "$folder/README.md"
