# SPDX-License-Identifier: Apache-2.0
# docs/attention.md is what the program prints.
. "$2/tests/cli/common"

expect 0 list --markdown
if ! diff "$source/docs/attention.md" out >difference; then
    head -n 20 difference
    fail "docs/attention.md is not up to date: orthant list --markdown > docs/attention.md"
fi
expect 2 list --markdown --json
says err 'not both'
expect 0 list
says out "^  gated-deltanet linear(map=unit, "
says out '^softmax '
says out '^  fixed-random  random(frozen)$'

# Tasks as text and as JSON: the same names, measures with their units, and defaults.
if command -v python3 >/dev/null; then
    expect 0 list tasks
    cp out page
    expect 0 list tasks --json
    python3 - <<'END' || fail "the list of tasks is not its JSON: $(cat page)"
import json, re
parts = open("page").read().strip().split("\n\n")
tasks = json.load(open("out"))
assert len(parts) == len(tasks) == 9
for part, task in zip(parts, tasks):
    lines = [line.strip() for line in part.split("\n")]
    assert re.fullmatch(rf"{task['name']} +{re.escape(task['what'])}", lines[0]), lines[0]
    assert lines[1] == "measured by " + ", ".join(f"{m['name']} ({m['unit']})" for m in task["measures"]), lines[1]
    assert (lines[2] == "defaults: " + ", ".join(f"{k} {v}" for k, v in task["defaults"].items())) == bool(task["defaults"])
    assert lines[-1] == task["citation"]
END
fi
