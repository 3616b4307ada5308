"""Numbers and labels as Python has them. Python 3.11; run in this folder: python3 make_vectors.py"""
import random
import struct
from decimal import Decimal, InvalidOperation

random.seed(26)
reals = [0.0, -0.0, 1.0, 10.0, 20.0, 100.0, 120.0, 1200.0, 300.0, 1e5, 1e15, 9999999999999998.0, 1e16, 1e17, 1.5e16, 1e-4, 9.999e-5,
         1e-5, 1e-3, 0.1, 0.3, 1 / 3, 2 / 3, -2.5, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 2.0**53, 2.0**53 + 2,
         123456.789, 1e22, 1e23, 3e-4, 3e-5]
for _ in range(200):
    reals.append(struct.unpack("<d", struct.pack("<Q", random.getrandbits(64) & ~(0x7FF << 52) | random.randrange(1, 2046) << 52))[0])
    reals.append(random.choice([-1, 1]) * random.randrange(1, 10 ** random.randrange(1, 17)) * 10.0 ** random.randrange(-8, 9))
with open("reals.tsv", "w") as f:
    for x in reals:
        text = repr(x)
        text = text[:-2] if text.endswith(".0") else text
        f.write(f"{x.hex()}\t{'0' if x == 0 else text}\n")

labels = ["10", "10.0", "1e1", "1E1", "1e+1", "+10", "100e-1", "0.1e2", "10.", "-0", "-0.0", "0e5", "0.00e3", "-3.0", "1.5", "1.50", "007", "00",
          "1e-1", "0.5", "", "-", "+", ".", "e1", "1e", "1e+", "1 ", " 1", "1_000", "0x10", "nan", "inf", "1.2.3", "1e1e1", "--1", "12345678901234567890",
          "12345678901234567891", "12345678901234567891.0", "1e19", "1e18", "1.25e2", "1.25e1", "a10", "10a", "٣"]
for _ in range(300):
    n = str(random.randrange(10 ** random.randrange(1, 8)))
    labels.append(random.choice(["", "-", "+"]) + n + random.choice(["", ".0", ".00", ".5", ".50", "e0", "e2", "E-1", ".25e2", "0e-1"]))
with open("labels.tsv", "w") as f:
    for text in labels:
        code = len(text.lstrip("+-")) > 1 and text.lstrip("+-")[0] == "0" and text.lstrip("+-")[1].isdigit()
        plain = all(c in "0123456789+-.eE" for c in text)
        try:
            value = Decimal(text) if plain and not code and text.lstrip("+-")[:1] != "." else None
        except InvalidOperation:
            value = None
        whole = value is not None and value == value.to_integral_value()
        f.write(f"{text}\t{int(value) if whole else ''}\n")
