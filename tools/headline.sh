#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# headline.sh ORTHANT FOLDER [OPTION]...: runs the comparison of the README (data/headline.yaml), writes its table into
# FOLDER/README.md between the two marks, and its report and picture to FOLDER/docs. Run in the source folder. A
# comparison that was interrupted is resumed.
set -eu
orthant=$1
folder=$2
shift 2
comparison=$folder/build/headline
"$orthant" compare --config data/headline.yaml --out "$comparison" "$@"
cp "$comparison/report.svg" "$folder/docs/headline.svg"
cp "$comparison/report.md" "$folder/docs/headline.md"

# Of the first table of the report the columns that decide, and what the margin means.
awk '
    /^Judged as one family: / { note = $0 }
    /^\| attention/ && !columns {
        columns = split("attention|loss|difference to the baseline|verdict|retained share|tuned", wanted, "|")
        n = split($0, cell, " [|] ")
        for (i = 1; i <= columns; i++)
            for (j = n; j >= 1; j--)
                if (cell[j] ~ wanted[i]) place[i] = j
        open = 1
    }
    open && /^\|/ {
        n = split($0, cell, " [|] ")
        line = ""
        for (i = 1; i <= columns; i++)
            if (place[i]) line = line (i > 1 ? " | " : "") cell[place[i]]
        sub(/^[|] /, "", line)
        sub(/ [|]$/, "", line)
        print "| " line " |"
    }
    open && !/^\|/ { open = 0 }
    END { print ""; print note }' "$comparison/report.md" >"$comparison/table.md"
{
    echo "<!-- headline: begin -->"
    cat "$comparison/table.md"
    echo
    echo "\`make headline\` repeats it: \`orthant compare --config data/headline.yaml\`, $("$orthant" --version), $(date -u +%F)."
} >"$comparison/headline.md"
awk -v table="$comparison/headline.md" '
    /<!-- headline: begin/ { while ((getline line < table) > 0) print line; skip = 1 }
    /<!-- headline: end/ { skip = 0 }
    !skip' "$folder/README.md" >"$comparison/README.md"
grep -q 'headline: end' "$comparison/README.md" || { echo "headline.sh: README.md has no marks for the table"; exit 1; }
mv "$comparison/README.md" "$folder/README.md"
