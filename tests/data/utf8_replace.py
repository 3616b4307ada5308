# Vectors of tests/data/utf8_replace.txt. Python 3: bytes.decode("utf-8", errors="replace").
import itertools, random, sys
edge = [0x00,0x41,0x80,0x8f,0x90,0x9f,0xa0,0xbf,0xc1,0xc2,0xdf,0xe0,0xe1,0xed,0xee,0xf0,0xf1,0xf4,0xf5,0xff]
random.seed(26)
texts = [bytes(t) for n in (1,2) for t in itertools.product(edge, repeat=n)]
texts += [bytes(random.choice(edge) for _ in range(random.randint(3,9))) for _ in range(400)]
def mixed():
    out = b""
    for _ in range(random.randint(1,4)):
        c = chr(random.choice([0x41,0xe9,0x7ff,0x800,0xd7ff,0xe000,0xffff,0x10000,0x10ffff])).encode()
        out += c[:random.randint(1,len(c))] if random.random() < .4 else c
    return out
texts += [mixed() for _ in range(200)]
print("# bytes -> bytes.decode('utf-8', errors='replace'), in hex; then ? prefix, and the bytes after which a text exists")
print("# Python %d.%d.%d; tests/data/utf8_replace.py" % sys.version_info[:3])
for t in dict.fromkeys(texts):
    print(t.hex(), t.decode("utf-8", errors="replace").encode().hex())
ends = [0x80, 0x9f, 0xa0, 0xbf]
def strict(t):
    try:
        return t.decode("utf-8") is not None
    except UnicodeDecodeError:
        return False
for p in ["", "41", "c2", "df", "e0", "e1", "ed", "ee", "f0", "f1", "f3", "f4", "e0a0", "e180", "f090", "f48f", "f09080", "f1bf80"]:
    ok = []
    for b in range(256):
        if any(strict(bytes.fromhex(p) + bytes([b]) + bytes(t)) for n in range(4) for t in itertools.product(ends, repeat=n)):
            ok.append(b)
    print("?", p or "-", bytes(ok).hex() or "-")
