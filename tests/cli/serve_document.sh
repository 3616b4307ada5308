# SPDX-License-Identifier: Apache-2.0
# The examples of docs/serve.md: its models are trained, and each `$ curl` answers what the document shows. "…" is any
# text, "created" any time, and numbers agree to 1e-3 of theirs, since other machines round otherwise.
. "$2/tests/cli/common"
command -v curl >/dev/null || { echo "there is no curl"; exit 77; }
command -v python3 >/dev/null || { echo "there is no python3, which compares the answers"; exit 77; }
ln -s "$source/data" data
sed -n 's/^\$ orthant train //p' "$source/docs/serve.md" >trainings
[ "$(wc -l <trainings)" -eq 2 ] || fail "not two trainings in the document"
while read -r words; do
    expect 0 train $words --quiet
done <trainings
serve started runs/a runs/b
says started 'serving runs/a, runs/b at http'
python3 - "$source/docs/serve.md" "${at#http://}" <<'END' >out 2>&1 || fail "an example"
import re, subprocess, sys

document, address = sys.argv[1:]
number = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?")
command, examples = None, []
for line in open(document, encoding="utf-8"):
    if line.startswith("$ "):
        command = line[2:].strip() if line.startswith("$ curl ") else None
    elif line.startswith("```"):
        command = None
    elif command:
        examples.append((command, line.strip()))
        command = None
assert len(examples) == 6, examples
for command, shown in examples:
    assert "localhost:8080" in command, command
    printed = subprocess.run(command.replace("localhost:8080", address), shell=True, stdout=subprocess.PIPE, check=True)
    text = printed.stdout.decode()
    shown, text = (re.sub('"created":[0-9]+', '"created":0', t) for t in (shown, text))
    pattern = ".*?".join(f"({number.pattern})".join(map(re.escape, number.split(part))) for part in shown.split("…"))
    found = re.fullmatch(pattern, text)
    assert found, f"{command}\n{text}\ninstead of\n{shown}"
    for got, want in zip(found.groups(), number.findall(shown)):
        assert abs(float(got) - float(want)) <= 1e-3 * abs(float(want)), f"{command}\n{got} instead of {want}"
END
stop
