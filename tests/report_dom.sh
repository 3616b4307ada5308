#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A report as a browser understands it: the elements are there, nothing of the text has become markup, and the script
# has run without an error. Usage: report_dom.sh TEST_REPORT. 77 = skipped: no browser.
set -u
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || exit 77
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
"$1" --write "$folder" || exit 1

dump() { # dump NAME: the document after the script has run
    HOME=$folder timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --enable-logging=stderr \
        --user-data-dir="$folder/profile" --dump-dom "file://$folder/$1.html" >"$folder/$1.dom" 2>"$folder/$1.log" ||
        { echo "the browser could not show $1.html" >&2; exit 1; }
    if grep -q 'CONSOLE.*Uncaught' "$folder/$1.log"; then
        grep CONSOLE "$folder/$1.log" >&2
        exit 1
    fi
}

expect() { # expect NAME COUNT PATTERN
    found=$(grep -o -e "$3" "$folder/$1.dom" | wc -l)
    [ "$found" -eq "$2" ] || { echo "$1: $found times instead of $2: $3" >&2; exit 1; }
}

dump six
expect six 1 '<h1 id="conclusion">'
expect six 14 '<svg class="oa"'
expect six 6 '<tr data-series='
expect six 1 '<tr data-series="[0-9]*" class="reference">'
expect six 1 '<script>'
expect six 4 '<input type="radio"'
expect six 6 'role="button"'           # the script made the legend a row of buttons
expect six 8 'aria-sort="none"'        # and the columns sortable
expect six 0 '<b>alert'
expect six 1 '<span class="verdict v5">failed 1 of 3</span>'

dump one_seed
expect one_seed 1 '</code> has the lowest loss, but one seed cannot tell'
expect one_seed 4 '<span class="verdict v4">'

dump alone
expect alone 1 '</code> reached a validation loss of'
expect alone 0 'id="differences"'
