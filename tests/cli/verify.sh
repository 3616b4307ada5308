# SPDX-License-Identifier: Apache-2.0
# verify: one attention, as text and as JSON; unsupported modes; inconclusive checks.
. "$2/tests/cli/common"

expect 0 verify 'local(window=2)' --quick --threads 2 --quiet
for subject in gradients causality padding batches oracles decoding lengths order threads models beams identities counts; do
    says out "^$subject  *local"
done
says out 'pass'
says out '^targets  *batches  *5 '
says out '^local(window=2), cross: local is for self-attention only'
says out ' 0 failed'

expect 0 verify 'dense:1 | pattern(left):1' --quick --threads 1 --json
if command -v python3 >/dev/null; then
    python3 -c 'import json, sys
p = json.load(open(sys.argv[1]))
assert p["failed"] == 0 and p["checks"] > 100 and not p["failures"]
assert all(l["worst"]["error"] <= l["worst"]["bound"] for l in p["lines"] if l["checks"])' out ||
        fail "the JSON reports failures"
fi
says err 'gradients: 0 of 1, 0 checks'

expect 0 verify performer --quick --quiet
says out '^features  *performer'
says out '^fits  *performer'
expect 2 verify sofmax
says err 'softmax'
expect 2 verify softmax linear
expect 1 verify 'cosformer(length=3)' --quick
says err 'cosformer(length=3) has no mode to verify: '

# Ill-conditioned rows are inconclusive: counted and listed with the reason; bounds are below 1.
expect 0 verify 'linear(map=cos)' --quick --quiet
says out 'bf16, linear(map=cos): .* ill-conditioned .*: rounding alone can give .* times the value'
says out ' 0 failed, [1-9][0-9]* inconclusive'
expect 0 verify 'linear(map=cos)' --quick --quiet --json
if command -v python3 >/dev/null; then
    python3 -c 'import json, sys
p = json.load(open(sys.argv[1]))
assert p["passed"] + p["failed"] + p["not_judged"] == p["checks"] == sum(l["checks"] for l in p["lines"])
assert p["not_judged"] == len(p["left_out"]) == sum(l["not_judged"] for l in p["lines"]) == 12
assert all(f["rounding"] >= 1 and "rounding alone" in f["why"] for f in p["left_out"])
assert all(l["worst"]["bound"] < 1 for l in p["lines"] if l["worst"])' out ||
        fail "inconclusive checks do not add up"
fi
