#!/usr/bin/env python3
"""Writes pattern_vectors.json: patterns, drawn at random from Oniguruma's constructs and some of real tokenizers, with
the pieces into which the package tokenizers splits texts by them.

    python3 pattern_vectors.py [COUNT] [SEED] >pattern_vectors.json        needs tokenizers

{"tokenizers": version, "texts": [text …], "cases": [[pattern, null] or [pattern, [[text, [length …]] …]] …]}: null
means that the reference refuses the pattern; the lengths are those of the pieces in characters, of texts[text].
"""
import json
import random
import sys
import tokenizers
from tokenizers import Regex, pre_tokenizers

REAL = [
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s""",
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
    r"""[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
    r"""[一-龥぀-ゟ゠-ヿ]+""", r"""\p{N}{1,3}""", r"""\d{1,3}(?=(?:\d{3})*\b)""", r"""[0-9]""", r"""\s?\p{L}+""",
    r""" ?[^(\s|[.,!?…。，、।۔،])]+""", r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""",
    r"""(?:\r?\n)+(?!\r?\n)""", r"""[\r\n]""", r"""\w+|[^\w\s]+""", r"""(?i)ab|c""", r"""[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))*((?=[\p{L}])([^A-Z]))+"""]
TEXTS = ["the tea\nthe top\n", "ab AB aAbB  12345 1234567\r\n", "é́ กำ a\u0301\u0300 x", "one  \n\n  two \n", "\r\n\r\n\n\r x\u2028y\u2029z\x85",
         "a_b‿c⁀d foo__bar", "\u200da\u200cb 👨\u200d👩\u200d👧 👍🏽", "٣٤٥ १२३ ²³¼ Ⅷ ½x", "ab12!?()[]{}-+*^$", "aaaaaa bbb abab", "",
         "ǅungla ŉ ſs Kk ß straße ẞ", "漢字かなカナ한글 ไทย", "x", "\n", "a\n", "\na\tb\x0bc\x0cd\u00a0e\u3000f\u180eg", "'s don't I'LL we've 'S ſ",
         "Ａｂ１２ Ⓐⓑ 🅰 \U0001F1E6\U0001F1E7", "0x1F ghG fF", "a&&b a-b]c\\d #e f", "\U00010D50\U00010D70 \ua7cb \U0001E030\u1c89 \U00011F50",
         "aXbYcZ.,;:!?", "\u0345Ͱ΅ ΐ ὀ", "1a2b3c  4\t\t5"]
NAMES = """L Lu Ll Lt Lm Lo M Mn N Nd Nl No P Pc Pd Po S Sm Sc Sk So Z Zs C Cc Cf Cn Co Letter Uppercase_Letter Han Latin Greek
Cyrillic Hiragana Thai Hangul Common alpha alnum digit space punct upper lower word blank graph print cntrl xdigit Alphabetic
ascii any LC number lowercase-letter Emoji White_Space Arabic Devanagari""".split()
POSIX = "alnum alpha ascii blank cntrl digit graph lower print punct space upper xdigit word".split()
ESCAPES = list("wWsSdDhH")


class Maker:
    def __init__(self, r):
        self.r, self.groups, self.names = r, 0, []

    def char(self, in_set=False):
        r = self.r
        c = r.choice("aabbcAB12 _'x\n\r\té漢k.s-ß") if r.random() < .8 else r.choice("!#&,:;<=>@~\"%`/")
        if c in ".-#&~" and r.random() < .9:
            return "\\" + c
        x = r.random()
        if x < .04:
            return "\\x{%x}" % ord(c)
        if x < .06:
            return "\\u%04x" % ord(c)
        if x < .08 and ord(c) < 128:
            return "\\x%02x" % ord(c)
        if x < .09 and ord(c) < 128:
            return "\\%03o" % ord(c)
        if x < .11:
            return r.choice([r"\n", r"\r", r"\t", r"\v", r"\f", r"\a", r"\e"])
        return c

    def item(self, depth):
        r, x = self.r, self.r.random()
        if x < .4:
            return self.char(True)
        if x < .55:
            a, b = sorted(r.choices("abcxABC0129漢é", k=2))
            return a + "-" + b
        if x < .72:
            return "\\" + r.choice(ESCAPES)
        if x < .84:
            return self.prop()
        if x < .92:
            return "[:" + ("^" if r.random() < .3 else "") + r.choice(POSIX) + ":]"
        return self.set(depth + 1) if depth < 2 else "z"

    def prop(self):
        r = self.r
        return "\\" + r.choice("pppP") + "{" + ("^" if r.random() < .15 else "") + r.choice(NAMES) + "}"

    def set(self, depth=0):
        r = self.r
        s = "[" + ("^" if r.random() < .35 else "")
        if r.random() < .03:
            s += "]"
        s += "".join(self.item(depth) for _ in range(r.randint(1, 3)))
        if r.random() < .15:
            s += "&&" + "".join(self.item(depth) for _ in range(r.randint(1, 2)))
        return s + ("-" if r.random() < .05 else "") + "]"

    def atom(self, depth):
        r, x = self.r, self.r.random()
        if x < .36:
            return self.char()
        if x < .42:
            return "."
        if x < .52:
            return "\\" + r.choice(ESCAPES + ["R", "N", "O", "A", "z", "Z", "G", "K", "b", "B", "b", "B"])
        if x < .58:
            return self.prop()
        if x < .72:
            return self.set()
        if x < .77:
            return r.choice("^$")
        if x < .79 and (self.groups or self.names):
            if self.names:
                return "\\k<%s>" % r.choice(self.names)
            return r.choice(["\\%d", "\\k<%d>"]) % r.randint(1, self.groups)
        if x < .795:
            return r.choice(["\\q", "\\_", "\\!", "\\8", "]", "}", "{", "{x}", "{,}", "\\X", "\\y", "\\p", "\\Q", "\\M", "\\é", "(?#c)", "[b-a]", "[]", "(?s:a)", "\\i"])
        if depth > 2:
            return "a"
        kind = r.choice(["(?:", "(?:", "(?:", "(", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?m:", "(?x:", "(?-i:", "(?mi-x:", "(?<n%d>", "(?i)"])
        if kind == "(?i)":
            return kind
        number = None
        if kind == "(":
            self.groups += 1
        if kind == "(?<n%d>":
            kind = kind % (len(self.names) + self.groups)
            number = kind[3:-1]
        s = kind + self.alternatives(depth + 1) + ")"
        if number:
            self.names.append(number)
        return s

    def quantifier(self):
        r, x = self.r, self.r.random()
        if x < .6:
            return ""
        q = r.choice(["?", "*", "+", "{2}", "{1,2}", "{0,3}", "{2,}", "{,2}", "{1,3}", "{1}"])
        return q + r.choice(["", "", "", "", "", "", "?", "?", "?", "+", "+", "+", "*", "{2}"])

    def branch(self, depth):
        return "".join(self.atom(depth) + self.quantifier() for _ in range(self.r.choice([0, 1, 1, 2, 2, 3]) if depth else self.r.randint(1, 3)))

    def alternatives(self, depth=0):
        return "|".join(self.branch(depth) for _ in range(self.r.choice([1, 1, 1, 2, 2, 3])))


def pieces(pattern, texts):
    try:
        split = pre_tokenizers.Split(Regex(pattern), "isolated")
    except Exception:
        return None
    return [[i, [len(p) for p, _ in split.pre_tokenize_str(TEXTS[i])]] for i in texts]


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1200
    r = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 26)
    cases = [[p, pieces(p, range(len(TEXTS)))] for p in REAL]
    cases += [[p, pieces(p, range(len(TEXTS)))] for p in ["\\" + e for e in "wWsSdDhHRNObBAzZGK"] + ["[\\" + e + "]" for e in "wWsSdDhH"]
              + ["[^\\" + e + "]" for e in "wWsSdDhH"] + ["[[:%s:]]" % n for n in POSIX] + ["[[:^%s:]]" % n for n in POSIX] + ["\\p{%s}" % n for n in NAMES]
              + ["^", "$", "(?m:.)", ".", "(?m:.+)", "a{2}?", "a{1,3}+", "a{2}+", "a{,2}", "[^\\w]+", "^\\w", "\\s+$", "\\w+$", "(?s:.)"]]
    while len(cases) < count:
        p = Maker(r).alternatives()
        try:
            cases.append([p, pieces(p, r.sample(range(len(TEXTS)), 4))])
        except BaseException as e:  # the reference panics where it has tried too much
            if type(e).__name__ != "PanicException":
                raise
    sys.stdout.write('{"tokenizers": "%s",\n"texts": %s,\n"cases": [\n' % (tokenizers.__version__, json.dumps(TEXTS)))
    sys.stdout.write(",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]}\n")


main()
