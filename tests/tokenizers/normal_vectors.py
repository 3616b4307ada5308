#!/usr/bin/env python3
"""Writes normal_vectors.json: what the normalisers of the package tokenizers make of every code point and of strings of
marks, jamo, compositions and compatibility characters; held against Python's unicodedata, which is another source.

    python3 normal_vectors.py >normal_vectors.json        needs tokenizers

"blocks": [[first, crc of NFC, NFD, NFKC, NFKD, Lowercase] …], CRC-32 over the results of 256 code points, each alone,
in UTF-8, end to end; blocks in which nothing changes are left out. "strings": [[text, NFC, NFD, NFKC, NFKD,
Lowercase] …].
"""
import json
import random
import sys
import unicodedata
import zlib
import tokenizers
from tokenizers import normalizers

NAMES = ["NFC", "NFD", "NFKC", "NFKD", "Lowercase"]
FORMS = [getattr(normalizers, n)() for n in NAMES]


def main():
    r, blocks, strings, other = random.Random(15), [], [], 0
    for first in range(0, 0x110000, 256):
        codes = [chr(c) for c in range(first, first + 256) if not 0xD800 <= c < 0xE000]
        out = ["".join(map(f.normalize_str, codes)) for f in FORMS]
        if any(o != "".join(codes) for o in out):
            blocks.append([first] + [zlib.crc32(o.encode()) for o in out])
    old = unicodedata.ucd_3_2_0  # what is assigned there has not changed since
    marks = [chr(c) for c in range(0x300, 0x20000) if unicodedata.combining(chr(c)) and old.category(chr(c)) != "Cn"]
    changing = [chr(c) for c in range(0xA0, 0x30000) if unicodedata.decomposition(chr(c)) and old.category(chr(c)) != "Cn"]
    bases = list("aAeEoOsSqQ ") + list("αωιυ") + [chr(c) for c in range(0x1100, 0x1113)] + ["\u09c7", "\u0b47", "\u0bc6", "\u0dd9"]
    tails = [chr(c) for c in list(range(0x1161, 0x1176)) + list(range(0x11A8, 0x11C3))] + ["\u09be", "\u0b3e", "\u0bbe", "\u0dcf"]
    while len(strings) < 400:
        text = "".join(r.choice(r.choice([bases, marks, marks, changing, tails])) for _ in range(r.randint(1, 7)))
        out = [f.normalize_str(text) for f in FORMS]
        other += any(unicodedata.normalize(n, text) != o for n, o in zip(NAMES[:4], out))
        strings.append([text] + out)
    print("%d of %d strings differ in Python" % (other, len(strings)), file=sys.stderr)
    sys.stdout.write('{"tokenizers": "%s",\n"blocks": %s,\n"strings": [\n%s\n]}\n' % (
        tokenizers.__version__, json.dumps(blocks, separators=(",", ":")), ",\n".join(json.dumps(s, separators=(",", ":")) for s in strings)))


main()
