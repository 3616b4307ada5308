#!/usr/bin/env python3
"""Writes pipeline_vectors.json: every part of a tokenizer.json that is read, and every flag, with what the package
tokenizers makes of texts, and what its trainer makes of small texts.

    python3 pipeline_vectors.py >pipeline_vectors.json        needs tokenizers; reads ../data/tokenizer_bpe.json

"files": [{"name", "set": members of the file that take the place of those of tokenizer_bpe.json ("model" member by
member), "cases": [[text, ids, decoded, words] …]} …]; ids by encode(text, add_special_tokens=False), decoded by
decode(ids, skip_special_tokens=False), words by Encoding.word_ids with encode_special_tokens, null where a word is
white space.
"trained": [{"text", "size", "merges"} …], min_frequency 0.
"""
import copy
import itertools
import json
import random
import sys
import tokenizers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

BASE = json.load(open("../data/tokenizer_bpe.json"))
TEXTS = ["", "a", " ", "the tea\nthe top", "First Citizen:\r\nBefore we  proceed any further, hear me speak.", " leading", "trailing \n",
         "Ünïcödé ÉÅ É e\u0301 ﬁ Å Å ① ½ ﷺ 가각 \u1100\u1161\u11a8", "İıſßẞ ΣΑΣ ǅ Ⅷ K", "12345 1a2 ٣٤٥ ²³ Ⅷ x½", "a\u0327\u0301 \u0301\u0327 q\u0323\u0307 \u1e9b\u0323 \ufb2c",
         "xABCx ABC ABCD AB CAB  ABC  abc Abc", "<s>x</s> <s> </s>", "a<m>b <m> c  <m>  d", "foo_bar‿baz a\u200db", "--a--b---c-", "z,a,,b,", ",,", "\u2028x\u2029y\x85z",
         "🙂👍🏽 👩‍👩‍👧", "don't I'LL we've 'S", "\t\ttab\x0b\x0c", "h\u0301h\u0307", "ａｂＣ１ ｶﾞ", "TheABCend the the"]
LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
PLAIN = dict(LEVEL, use_regex=False)
PREFIX = dict(LEVEL, add_prefix_space=True)


def sequence(*parts):
    return {"type": "Sequence", "pretokenizers": list(parts)}


def split(pattern, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def added(entries):
    size = len(BASE["model"]["vocab"])
    out = []
    for content, flags in entries:
        known = BASE["model"]["vocab"].get(content)
        out.append({"id": size if known is None else known, "content": content, "single_word": "w" in flags, "lstrip": "l" in flags,
                    "rstrip": "r" in flags, "normalized": "n" in flags, "special": "s" in flags})
        size += known is None
    return out


def files():
    for n in ["NFC", "NFD", "NFKC", "NFKD", "Lowercase"]:
        yield n, {"normalizer": {"type": n}}
    for a, b in itertools.permutations(["NFD", "NFKC", "Lowercase"], 2):
        yield a + " " + b, {"normalizer": {"type": "Sequence", "normalizers": [{"type": a}, {"type": "Sequence", "normalizers": [{"type": b}]}]}}
    for prefix, regex in itertools.product([False, True], repeat=2):
        level = dict(LEVEL, add_prefix_space=prefix, use_regex=regex)
        yield "ByteLevel %s %s" % (prefix, regex), {"pre_tokenizer": level}
        yield "Digits ByteLevel %s %s" % (prefix, regex), {"pre_tokenizer": sequence({"type": "Digits", "individual_digits": regex}, level)}
    yield "Digits Digits", {"pre_tokenizer": sequence({"type": "Digits", "individual_digits": False}, {"type": "Digits", "individual_digits": True}, PLAIN)}
    for behavior, invert in itertools.product(["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"], [False, True]):
        for name, pattern in [("regex", {"Regex": r"[,\s-]"}), ("string", {"String": "-"}), ("empty", {"Regex": r"\b"}), ("dots", {"String": "."}),
                              ("long", {"Regex": r"\p{L}+"})]:
            yield "Split %s %s %s" % (behavior, invert, name), {"pre_tokenizer": sequence(split(pattern, behavior, invert), PLAIN)}
    yield "Split String signs", {"pre_tokenizer": sequence(split({"String": "'S"}), split({"String": "&-"}, "Removed"), PLAIN)}
    yield "Split String none", {"pre_tokenizer": sequence(split({"String": ""}), PLAIN)}
    yield "nested", {"pre_tokenizer": sequence(sequence(split({"Regex": r"\d"}, "Removed"), sequence(split({"String": "a"}, "MergedWithNext"))), PREFIX)}
    yield "Split prefix", {"pre_tokenizer": sequence(split({"Regex": r"[\r\n]+"}), PREFIX)}
    for flags in ["".join(f) for k in range(5) for f in itertools.combinations("wlrn", k)]:
        yield "added " + flags, {"added_tokens": added([("ABC", flags), ("<m>", flags + "s"), ("abc", "")])}
        yield "added lower " + flags, {"added_tokens": added([("ABC", flags), ("<m>", flags + "s"), ("ÉÅ", flags)]), "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}]}}
    yield "added overlap", {"added_tokens": added([("AB", ""), ("ABCD", ""), ("BC", ""), ("CAB", "n"), ("<s>", "s"), ("</s>", "s"), ("s>x", ""), (" ", "r"), ("  ", ""), ("the", "w")])}
    yield "added of the model", {"added_tokens": added([("a", ""), ("Ġthe", "s"), ("th", "n")])}
    yield "ignore_merges", {"model": {"ignore_merges": True, "merges": BASE["model"]["merges"][:60]}}
    yield "old merges", {"model": {"merges": [" ".join(m) for m in BASE["model"]["merges"]]}}
    yield "no type", {"model": {"type": None, "continuing_subword_prefix": "", "end_of_word_suffix": "", "byte_fallback": None, "ignore_merges": None}}
    some = {t: i for i, t in enumerate("<unk> a b c e h t Ġ th the Ġthe".split())}
    merges = [["t", "h"], ["th", "e"], ["Ġ", "the"]]
    for fuse in [False, True]:
        yield "fuse_unk %s" % fuse, {"model": {"vocab": some, "merges": merges, "unk_token": "<unk>", "fuse_unk": fuse}}
    yield "dropout 0", {"model": {"dropout": 0.0}}
    yield "post_processor", {"post_processor": LEVEL}
    words = {t: i for i, t in enumerate(["<unk>", "the", "Ġthe", "Ġtea", "a", "Ċ"])}
    yield "WordLevel", {"model!": {"type": "WordLevel", "vocab": words, "unk_token": "<unk>"}}


def changed(patch):
    file = copy.deepcopy(BASE)
    for key, value in patch.items():
        if key == "model":
            for k, v in value.items():
                if k == "type" and v is None:
                    del file["model"]["type"]
                elif v is None:
                    del file["model"][k]
                else:
                    file["model"][k] = v
        else:
            file[key.rstrip("!")] = value
    return file


def word_ids(t, text):
    t.encode_special_tokens = True
    e = t.encode(text, add_special_tokens=False)
    t.encode_special_tokens = False
    # words that are white space belong to others in Orthant: texts with them say nothing
    blank = {w for w, (a, b) in zip(e.word_ids, e.offsets) if not text[a:b].strip()}
    return None if blank or None in e.word_ids else [e.ids, [sorted(set(e.word_ids)).index(w) for w in e.word_ids]]


def train(text, size):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator([text], trainers.BpeTrainer(vocab_size=size, min_frequency=0, show_progress=False,
                                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return json.loads(t.to_str())["model"]["merges"]


def main():
    out = []
    for name, patch in files():
        t = Tokenizer.from_str(json.dumps(changed(patch)))
        cases = []
        texts = TEXTS if not name.startswith("Split") else TEXTS[3:4] + TEXTS[9:10] + TEXTS[14:18] + TEXTS[20:21]
        for text in texts:
            e = t.encode(text, add_special_tokens=False)
            cases.append([text, e.ids, t.decode(e.ids, skip_special_tokens=False), word_ids(t, text) if name.startswith(("added", "ByteLevel False True")) and "lower" not in name else None])
        out.append({"name": name, "set": patch, "cases": cases})
    r = random.Random(9)
    trained = []
    for text in ["low low low", "abcabcabd abcd", "".join(r.choice("ab ") for _ in range(120)), "".join(r.choice("abcdé \n") for _ in range(200)),
                 "to be or not to be that is the question", "aaaaaaaa aaaa aa a", "x1y22z333 12345 漢字かな漢字"]:
        for size in [257, 262, 2000]:
            trained.append({"text": text, "size": size, "merges": train(text, size)})
    sys.stdout.write('{"tokenizers": "%s", "files": [\n' % tokenizers.__version__)
    sys.stdout.write(",\n".join(json.dumps(f, separators=(",", ":")) for f in out) + '\n], "trained": [\n')
    sys.stdout.write(",\n".join(json.dumps(f, separators=(",", ":")) for f in trained) + "\n]}\n")


main()
