#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_pages.sh SOURCE: CSS, JavaScript and HTML that pages are made of. Scripts parse (where node is installed), braces and
# tags are balanced, no line of CSS or script is longer than 120 characters, and no C file has a style or a script of its own.
set -eu
cd "$1"
status=0
wrong() { echo "$1" >&2; status=1; }

for file in $(find src tests -name '*.js'); do
    command -v node >/dev/null || continue
    node --check "$file" || wrong "$file does not parse"
done
for file in $(find src -name '*.css'); do
    opened=$(tr -cd '{' <"$file" | wc -c) closed=$(tr -cd '}' <"$file" | wc -c)
    [ "$opened" -eq "$closed" ] || wrong "$file: $opened opening and $closed closing braces"
done
for file in $(find src -name '*.html'); do
    opened=$(grep -o '<[a-z][^>]*>' "$file" | grep -vc '/>$') closed=$(grep -o '</[a-z0-9]*>' "$file" | wc -l)
    [ "$opened" -eq "$closed" ] || wrong "$file: $opened opening and $closed closing tags"
done
for file in $(find src -name '*.css' -o -name '*.js'); do
    awk -v file="$file" 'length > 120 { print file ":" NR ": longer than 120 characters"; bad = 1 } END { exit bad }' "$file" >&2 ||
        status=1
done
if grep -rnE --include='*.c' '"[^"]*(<style>[^"%\\]|<script>[^"%\\]|\{display:|addEventListener)' src >&2; then
    wrong "style or script in a C string; give it a file of its own (cmake/embed.cmake)"
fi
exit $status
