"""Lines as json.loads of Python 3.11 reads them; run in this folder: python3 make_vectors.py
A line of lines.txt is one of expected.txt: "-" no object; "!" no text at the key "t"; "=" and the text, as JSON."""
import json
import math
import random

random.seed(11)


def pairs(items):
    keys = [k for k, _ in items]
    return {"twice": True} if keys.count("t") > 1 else dict(items)


def text_of(o):
    v = o.get("t")
    if o.get("twice") is True or isinstance(v, (dict, list)) or v is None:
        return None
    if isinstance(v, bool):
        return str(v).lower()
    if isinstance(v, float):
        if not math.isfinite(v):
            return None
        r = repr(v)
        return "0" if v == 0 else r[:-2] if r.endswith(".0") else r
    if isinstance(v, int):
        return str(v)
    return None if "\0" in v or any(0xD800 <= ord(c) < 0xE000 for c in v) else v


values = ['"a"', "1", "1.0", "-0", "-0.0", "1e5", "1e400", "1E-7", "18446744073709551615", "-9223372036854775809", "1" * 60, "true", "false", "null",
          "NaN", "Infinity", "-Infinity", '"\\ud800"', '"\\udc00x"', '"\\ud83d\\ude00"', '"\\ud83d\\u0041"', '"\\u0000"', '"\\u00e9\\n\\t\\"\\\\\\/\\b\\f\\r"',
          '"\u00e9\u20ac\U0001f600"', "[]", "[1,[2,{}]]", "{}", '{"a":{"a":1,"a":2}}', '{"x":NaN}', '""', "100.0", "0.1", "1e-5", "123456789.25", "2e0"]
broken = ["01", "1.", ".5", "+1", "1e", "nan", "inf", "'a'", '"a', '"\\x"', '"\\u12g4"', '"a\tb"', "[1,]", "{,}", '{"a"}', '{"a":}', "tru", "--1", "0x1", "-", "[1 2]", "undefined", "1_0"]
lines = ['{"t": ' + v + "}" for v in values] + ['{"t": ' + v + "}" for v in broken]
lines += ['{"x": ' + v + ', "t": "ok"}' for v in values + broken]
lines += ['{"t": "a"', '{"t": "a"} {', '{"t": "a"}}', '{"t": "a",}', '{"t" "a"}', "[]", '"t"', "1", '{"t": 1, "t": 2}', '{"\\u0074": "escaped"}', '{"x": 1, "x": 2, "t": "u"}',
          '  {"t" : "w" , "x" : [ 1 , 2 ] }  ', "{}", '{"\\ud800": 1, "t": "k"}', '{"t": "\x7f"}', '{t: 1}', '{"t": "a"}x', '{"": 1, "t": "e"}']
for _ in range(400):
    line = random.choice(lines)
    i = random.randrange(len(line))
    lines.append(line[:i] + random.choice(["", random.choice('{}[]",:\\ 01eE.-+truNa')]) + line[i + random.randrange(2):])
with open("lines.txt", "w", encoding="utf-8") as f, open("expected.txt", "w", encoding="utf-8") as g:
    for line in dict.fromkeys(lines):
        try:
            value = json.loads(line, object_pairs_hook=pairs)
        except ValueError:
            value = None
        if not isinstance(value, dict) or not line.strip():
            g.write("-\n")
        else:
            text = text_of(value)
            g.write("!\n" if text is None else "=" + json.dumps(text, ensure_ascii=False) + "\n")
        f.write(line + "\n")
