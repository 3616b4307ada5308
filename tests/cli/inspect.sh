# SPDX-License-Identifier: Apache-2.0
# inspect: the maps of a trained model on a text; a head that is a pattern is found as that pattern.
. "$2/tests/cli/common"
text 30000
expect 0 train --config tiny.yaml --train.steps 5 --model.attention "pattern(previous):1 | softmax:3" --out run
expect 0 inspect run --text "To be, or not to be"
says out '^decoder layer 1 *0 *pattern(previous) .* 1\.00 *pattern(previous) *100\.0$'
says out '^decoder layer 2 *0 *pattern(previous) .* 1\.00 *pattern(previous) *100\.0$'
says out '^page     inspect.html$'
awk '/^decoder layer/ { print $3, $4 }' out >order
sort -n -k1 -k2 order | cmp -s - order || fail "heads are not in the order of layers and heads"
says out '^uniform: the average of all visible tokens'
says inspect.html '</html>'
[ "$(grep -o 'data:image/png;base64' inspect.html | wc -l)" -eq 8 ] || fail "there are not 8 maps on the page"
expect 0 inspect run --text "To be, or not to be" --json
says out '"schema": "orthant.inspect/1"'
says out '"nearest": "pattern(previous)"'
says out '"covered": 1'
cp out first
rm inspect.html
expect 0 inspect run --text "To be, or not to be" --json --threads 1
same out first
[ ! -e inspect.html ] || fail "--json alone wrote a page"
# The maps are those that the model used.
sed -n 's/.*"deviation": \([^,]*\),*/\1/p' out >deviations
[ "$(wc -l <deviations)" -eq 2 ] || fail "the maps of 2 layers are not proved"
awk '$1 > 1e-5 { exit 1 }' deviations || fail "the maps do not give what the layers gave"

# --json with --out gives both. A text that fills the context is read, and one token more is not.
expect 0 inspect run --text "To be, or not to be" --json --out both.html
same out first
says both.html '</html>'
full=$(head -c 32 text.txt | tr '\n' ' ')
expect 0 inspect run --text "$full" --json
expect 1 inspect run --text "${full}a"
says err 'the text has 33 tokens, .* and the model reads at most 32 (model.context)'

# Text, page and JSON of one inspection say the same, and the pictures have the size of what they show: of a decoder
# with an encoder, whose texts differ in length.
if command -v python3 >/dev/null; then
    awk 'BEGIN { for (i = 0; i < 40; i++) print "a b c " i % 7 "\td e" }' >pairs.tsv
    expect 0 train --config tiny.yaml --task translate --data.train pairs.tsv --data.tokenizer char --train.steps 2 --out pair
    expect 0 inspect pair --text "a b c 4 a b" --target "d e" --out page.html
    cp out said
    expect 0 inspect pair --text "a b c 4 a b" --target "d e" --json
    python3 - <<'END' || fail "text, page and JSON of an inspection differ: $(cat said)"
import base64, json, re, struct
answer, page = json.load(open("out")), open("page.html").read()
tokens = {"text": answer["tokens"], "source": answer["source_tokens"]}
assert tokens["text"] == ["<s>", "d", "␣", "e"] and len(tokens["source"]) == 12
heads = [(layer, head) for layer in answer["layers"] for head in layer["heads"]]
pictures = re.findall(r'<img width="(\d+)" height="(\d+)" data-rows="(\w+)" data-columns="(\w+)"[^>]*base64,([^"]*)"', page)
rows = [line for line in open("said") if re.match(r"(en|de)coder layer", line)]
cells = re.findall(r'<tr[^>]*><th scope="row" data-v="\d+">(.*?)</tr>', page)
assert len(heads) == len(pictures) == len(rows) == len(cells) == 3 * 2 * 4
error = nonzero = 0
for (layer, head), (width, height, down, across, png), row, cell in zip(heads, pictures, rows, cells):
    keys = "source" if layer["stack"] == "encoder" or layer["kind"] == "cross" else "text"
    queries = "source" if layer["stack"] == "encoder" else "text"
    size = len(tokens[keys]), len(tokens[queries])
    assert (int(width), int(height)) == size == struct.unpack(">II", base64.b64decode(png)[16:24])
    assert (across, down) == (keys, queries)
    assert (len(head["map"][0]), len(head["map"])) == size
    for weights in head["map"]: # rounded to 1e-4: as often up as down
        error += sum(weights) - 1
        nonzero += sum(w > 0 for w in weights)
    numbers = [f"{head['entropy']:.3f}", f"{100 * head['entropy_share']:.1f}", f"{head['distance']:.2f}", f"{100 * head['covered']:.1f}"]
    title = f"{layer['stack']} layer {layer['layer'] + 1}" + (", cross-attention" if layer["kind"] == "cross" else "")
    words = re.split(r"  +", row.strip())
    assert words[:3] == [title, str(head["head"]), head["attention"]] and words[3:6] + words[7:] == numbers, row
    found = re.sub(r"<[^>]*>", "|", cell).split("|")
    assert found[0] == title and [x for x in found if re.fullmatch(r"\d+\.\d+", x)] == numbers, cell
assert abs(error) < 5 * 1e-4 * (nonzero / 12) ** 0.5, (error, nonzero)
END
fi

# Without positions equal tokens of one text are alike, and those of the two texts of a pair are not: their segments differ.
if command -v python3 >/dev/null; then
    awk 'BEGIN { for (i = 0; i < 40; i++) print (i % 2 ? "yes" : "no") "\tab" (i % 3) "\tba" (i % 2) }' >pairs.tsv
    expect 0 train --config tiny.yaml --task classify --data.train pairs.tsv --data.tokenizer char --model.position none \
        --train.steps 3 --out segments
    expect 0 inspect segments --text "abba" --target "ba" --json
    python3 - <<'END' || fail "segments of a pair: $(cat out)"
import json
answer = json.load(open("out"))
assert answer["tokens"] == ["[CLS]", "a", "b", "b", "a", "[SEP]", "b", "a", "[SEP]"]
for layer in answer["layers"]:
    for head in layer["heads"]:
        rows = head["map"]
        assert rows[1] == rows[4] and rows[2] == rows[3] and all(row[1] == row[4] and row[2] == row[3] for row in rows)
        assert rows[1] != rows[7] and rows[2] != rows[6] and rows[5] != rows[8]
END
fi

# Layers without a map say so; markup in a text is text.
expect 0 train --config tiny.yaml --train.steps 5 --model.attention "mixer" --model.layers 1 --out none
expect 0 inspect none --text "To be"
says out '^decoder layer 1: mixer has no attention map to show$'
says inspect.html 'mixer has no map'
expect 0 inspect none --text "To be" --json
says out '"map": null'
expect 0 train --config tiny.yaml --train.steps 5 --data.tokenizer byte --out bytes
expect 0 inspect bytes --text "<b>a</b>" --out page.html
says page.html '&lt;</li>'
! grep -q '<b>a' page.html || fail "the text became markup"

expect 1 inspect run --text "To be, or not to be, that is the question"
says err 'model.context'
expect 1 inspect run --text "α"
says err 'vocabulary'
expect 2 inspect run --text ""
says err 'empty'
expect 1 inspect nowhere --text "To be"
says err 'contains no run'
expect 2 inspect run --text "To be" --target "x"
says err 'has no effect'
expect 1 inspect run --text "To be" --out no/such/page.html
says err 'cannot write'
expect 2 inspect run
says err 'inspect needs --text'
