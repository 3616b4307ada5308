# SPDX-License-Identifier: Apache-2.0
# items.safetensors of the runs of a comparison: their means are the scores that the run prints, for every kind of task;
# the same bytes with any number of threads and after an interruption; a file that is damaged or another run's is refused
# by name, one that is missing is not; nothing else writes it, and nothing else changes.
. "$2/tests/cli/common"
command -v python3 >/dev/null || { echo "no python3 to read JSON with"; exit 77; }
text 30000
tail -c +40001 "$source/data/tinyshakespeare.txt" | head -c 3000 | tr A-Z a-z | tr -c 'a-z \n' e >test.txt
awk 'BEGIN { split("good bad fine poor", n, " "); for (i = 0; i < 90; i++) {
    w = n[1 + int(i * 7 / 3) % 4]; print ((w == "good" || w == "fine") ? "pos" : "neg") "\tthe " w " thing " i } }' >rows.tsv
head -n 70 rows.tsv >class.tsv
tail -n 20 rows.tsv >test.tsv
awk -F '\t' '{ print length($2) % 7 "\t" $2 }' class.tsv >value.tsv
awk -F '\t' '{ print $2 "\t" $1 " " $2 }' class.tsv >pairs.tsv
small="--config tiny.yaml --quiet --data.tokenizer char --train.steps 8 --decode.beam 1 --seeds 2 --attention softmax \
    --compare.uniform_baseline off"

# Of every run: each measure of the file against result.json, and how many items there are.
cat >check.py <<'END'
import glob, json, struct, sys
folder, expected = sys.argv[1], dict(word.split("=") for word in sys.argv[2:])
paths = sorted(glob.glob(folder + "/runs/*/*/items.safetensors"))
assert len(paths) == 2, paths
for path in paths:
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    header, data = json.loads(data[8:8 + n]), data[8 + n:]
    metadata = header.pop("__metadata__")
    result = json.load(open(path.replace("items.safetensors", "result.json")))
    assert metadata["weights"] == result["weights"]
    valid = {"loss": result["valid_loss"], **result.get("scores", {})}
    test = result.get("test") or {}
    test = {"loss": test.get("loss"), **test.get("scores", {})}
    assert set(header) == {k for k in expected if "." in k and not k.endswith("item")}, header
    for name, a in header.items():
        side, measure = name.split(".")
        x = struct.unpack("<%dd" % (2 * a["shape"][0]), data[slice(*a["data_offsets"])])
        score = sum(x[0::2]) / sum(x[1::2])
        want = (valid if side == "validation" else test)[measure]
        assert abs(score - want) <= 1e-13 * abs(want) or score == want, (name, score, want)
        assert "%.12g" % score == "%.12g" % want
        used = sum(w > 0 for w in x[1::2])
        assert used == int(expected[name]), (name, used)
        assert metadata[side + ".item"] == expected[side + ".item"], metadata
END
check() { # FOLDER NAME=ITEMS...
    python3 check.py "$@" || fail "the items of $1"
}

expect 0 compare $small --data.test test.txt --out lm
check lm validation.loss=24 "validation.item=4 windows" test.loss=24 "test.item=4 windows"
expect 0 compare $small --task mlm --out mlm
check mlm validation.loss=25 validation.accuracy=25 "validation.item=4 windows"
expect 0 compare $small --task classify --data.train class.tsv --data.test test.tsv --out classify
check classify validation.loss=7 validation.accuracy=7 "validation.item=1 examples" \
    test.loss=20 test.accuracy=20 "test.item=1 examples"
expect 0 compare $small --task regress --data.train value.tsv --out regress
check regress validation.loss=7 "validation.item=1 examples"
expect 0 compare $small --task translate --data.train pairs.tsv --out translate
check translate validation.loss=7 "validation.item=1 examples"
expect 0 compare $small --task summarize --data.train pairs.tsv --out summarize
check summarize validation.loss=7 validation.rouge1=7 validation.rouge2=7 validation.rougeL=7 "validation.item=1 examples"
awk -F '\t' '{ print $2 "\t" substr($2, 5, 1 + NR % 7) }' class.tsv >answers.tsv
expect 0 compare $small --task answer --data.train answers.tsv --out answer
check answer validation.loss=7 validation.accuracy=7 validation.exact=7 "validation.item=1 examples"
expect 0 train --config tiny.yaml --quiet --train.steps 2 --out plain
[ ! -e plain/items.safetensors ] || fail "a run outside a comparison has items"

# The same bytes whatever trained them; and reports do not depend on which call did.
again="compare $small --task classify --data.train class.tsv --data.test test.tsv"
digest() { # FOLDER
    (cd "$1/runs/attention-01" && sha256sum seed-1/items.safetensors seed-2/items.safetensors)
}
digest classify >one
expect 0 $again --threads 1 --out threads
digest threads | cmp -s - one || fail "items depend on the number of threads"
expect 0 $again --compare.jobs 2 --out jobs
digest jobs | cmp -s - one || fail "items depend on runs in parallel"
rm jobs/runs/attention-01/seed-2/*.safetensors jobs/runs/attention-01/seed-2/result.json
expect 0 $again --out jobs
digest jobs | cmp -s - one || fail "items of a run that was trained again differ"

# Damage is refused by name; a missing file is not: older programs wrote none.
run=classify/runs/attention-01/seed-2
cp $run/items.safetensors whole
head -c 300 whole >$run/items.safetensors
expect 1 $again --out classify
says err "$run/items.safetensors"
python3 - whole $run/items.safetensors <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[-9] ^= 1
open(sys.argv[2], "wb").write(data)
END
expect 1 $again --out classify
says err "$run/items.safetensors"
cp classify/runs/attention-01/seed-1/items.safetensors $run/
expect 1 $again --out classify
says err "$run/items.safetensors: the file has the items of another model than result.json; remove the file"
rm $run/items.safetensors
expect 0 $again --out classify
[ ! -e $run/items.safetensors ] || fail "a run that had ended was trained again"
expect 0 $again --out classify --overwrite
digest classify | cmp -s - one || fail "--overwrite gives other items"

# Verdicts over seeds and items: for means over items, with a number of seeds chosen in advance, and not for older runs.
expect 2 $again --compare.items random --metric f1 --out refused
says err 'compare.items = random needs a measure that is a mean over items, which f1 is not'
expect 2 $again --compare.items random --compare.sequential true --out refused
says err 'compare.items = random needs a number of seeds fixed in advance: leave out compare.sequential'
[ ! -e refused ] || fail "a refused start left a folder"
expect 0 $again --attention linear --compare.items random --out classify
python3 - <<'END' || fail "the verdict has another interval than that over seeds and items"
import json
r = json.load(open("classify/results.json"))
pair = r["pairs"][0]
assert r["items"] == "random" and pair["items_state"] == "known" and pair["over_items"]["items"] == 7
for end in "confidence", "low", "high":
    assert abs(pair["interval"][end] - pair["over_items"][end]) < 1e-9, pair
assert pair["over_items"]["low"] <= pair["over_seeds"]["low"] <= pair["over_seeds"]["high"] <= pair["over_items"]["high"]
END
rm $run/items.safetensors
expect 2 $again --attention linear --compare.items random --out classify
says err "compare.items = random: $run has no items.safetensors, since an older version trained it"
expect 0 $again --attention linear --out classify
says_wrapped out 'Intervals over seeds and items are not available: an older version made runs of this comparison'
