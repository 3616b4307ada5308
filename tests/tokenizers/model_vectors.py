#!/usr/bin/env python3
"""Writes model_vectors.json: models of WordPiece, Unigram, BPE over characters and SentencePiece with all normalizers,
pre-tokenizers and decoders that are read, and what the packages tokenizers and sentencepiece make of drawn texts.

    python3 model_vectors.py >model_vectors.json        needs tokenizers, sentencepiece

"models": {name: model of a tokenizer.json}. "files": [{"set": members of a tokenizer.json, "model": name, "cases": [[text,
ids, decoded] …]} …]; ids by encode(text, add_special_tokens=False), decoded by decode(ids, skip_special_tokens=False).
"pieces": [{"name", "base64": a spiece.model, "cases"} …], by SentencePieceProcessor; its decoding where no id is unknown.
Null is what the reference cannot do.
"""
import base64
import io
import json
import os
import random
import sys
import tempfile
import sentencepiece
import tokenizers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

TEXT = open("../../data/tinyshakespeare.txt").read()[:60000]
R = random.Random(31)
RANGES = [(0x20, 0x7E)] * 4 + [(0x80, 0x24F), (0x300, 0x36F), (0x370, 0x5FF), (0x900, 0xDFF), (0x1100, 0x11FF), (0x1E00, 0x1FFF), (0x2000, 0x206F),
                               (0x2070, 0x2BFF), (0x2E00, 0x30FF), (0x3400, 0x9FFF), (0xAC00, 0xD7A3), (0xFB00, 0xFFFF), (0x1D400, 0x1D7FF),
                               (0x1F000, 0x1FAFF), (0x20000, 0x2FFFF), (0xE0100, 0xE01EF)]
PARTS = ["▁", "##", "<0x41>", "<mk>", "HTTP", "café", "cafe\u0301", "  ", "\n", "\r\n", "\t", "\u200d", "\ufe0f", "①\u0301", "ﬁ", "½", "ﷺ", "\u00a0",
         "\u3000", "don't", " do not", " n't", "...", "!?", "<|x|>", "\ufffd", "\x07", "가", "\u1100\u1161", "中文", "É", "_a", "`` ''", " ", ". ,"]


def draw():
    out = []
    for _ in range(R.randint(1, 9)):
        k = R.random()
        if k < 0.4:
            i = R.randrange(len(TEXT) - 40)
            out.append(TEXT[i:i + R.randint(1, 30)])
        elif k < 0.7:
            out.append(R.choice(PARTS))
        else:
            a, b = R.choice(RANGES)
            out.append("".join(chr(R.randint(a, b)) for _ in range(R.randint(1, 3))))
        out.append(" " * (R.random() < 0.3))
    return "".join(out)


def part(kind, **members):
    return dict({"type": kind}, **members)


def normal(*parts):
    return part("Sequence", normalizers=list(parts))


def splits(*parts):
    return part("Sequence", pretokenizers=list(parts))


def decoding(*parts):
    return part("Sequence", decoders=list(parts))


def replace(pattern, content):
    return part("Replace", pattern=pattern, content=content)


def bert(clean, ideographs, accents, lower):
    return part("BertNormalizer", clean_text=clean, handle_chinese_chars=ideographs, strip_accents=accents, lowercase=lower)


def metaspace(scheme, split=True, replacement="▁"):
    return part("Metaspace", replacement=replacement, prepend_scheme=scheme, split=split)


def train_pieces(rules=None, **options):
    out = io.BytesIO()
    if rules:
        with tempfile.NamedTemporaryFile("w", suffix=".tsv", delete=False) as f:
            f.write("".join("%s\t%s\n" % (" ".join("%X" % ord(c) for c in a), " ".join("%X" % ord(c) for c in b)) for a, b in rules))
        options.update(normalization_rule_tsv=f.name)
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(TEXT[:20000].split("\n")), model_writer=out, minloglevel=2, **options)
    return out.getvalue()


# single characters, sequences, what is shorter and longer than five bytes, what vanishes
RULES = [("ﬁ", "fi"), ("①", "1"), ("\u0007", ""), ("É", "e"), ("e\u0301", "é"), ("½", "1/2"), ("\u00a0", " "), ("\u3000", " "), ("\t", " "), ("\ufffd", " "),
         ("中", "ab"), ("\u1100\u1161", "가"), ("ﷺ", "salla"), ("\U0001d49c", "A"), ("ª", "a")]


def charsmap(blob):
    """The bytes of normalizer_spec.precompiled_charsmap of a model."""
    from sentencepiece import sentencepiece_model_pb2
    m = sentencepiece_model_pb2.ModelProto()
    m.ParseFromString(blob)
    return base64.b64encode(m.normalizer_spec.precompiled_charsmap).decode()


def some_models():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator([TEXT], trainers.WordPieceTrainer(vocab_size=220, special_tokens=["[PAD]", "[UNK]", "[CLS]"], show_progress=False))
    wordpiece = json.loads(t.to_str())["model"]
    t = Tokenizer(models.Unigram())
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.train_from_iterator([TEXT], trainers.UnigramTrainer(vocab_size=220, special_tokens=["<pad>", "<unk>"], unk_token="<unk>", show_progress=False))
    unigram = json.loads(t.to_str())["model"]
    unigram["vocab"] = [[p, round(s, 4)] for p, s in unigram["vocab"]]
    fallback = dict(unigram, byte_fallback=True, vocab=unigram["vocab"] + [["<0x%02X>" % i, -8.0] for i in range(256) if i % 37] + [["文¿", -40.0]])
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.train_from_iterator([TEXT], trainers.BpeTrainer(vocab_size=430, special_tokens=["<unk>"] + ["<0x%02X>" % i for i in range(256) if i != 0xAD],
                                                      show_progress=False))
    bpe = json.loads(t.to_str())["model"]
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.train_from_iterator([TEXT], trainers.BpeTrainer(vocab_size=180, special_tokens=["<unk>"], end_of_word_suffix="</w>", show_progress=False))
    suffix = json.loads(t.to_str())["model"]
    t = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##"))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.train_from_iterator([TEXT], trainers.BpeTrainer(vocab_size=180, special_tokens=["<unk>"], continuing_subword_prefix="##", show_progress=False))
    prefix = json.loads(t.to_str())["model"]
    return {"wordpiece": wordpiece, "wordpiece short": dict(wordpiece, max_input_chars_per_word=5), "unigram": unigram, "unigram bytes": fallback, "bpe": bpe,
            "bpe apart": dict(bpe, fuse_unk=False, ignore_merges=True), "bpe unknown": dict(bpe, byte_fallback=False), "bpe suffix": suffix,
            "bpe prefix": prefix}


def added(model):
    size = len(model["vocab"])
    known = model["vocab"] if isinstance(model["vocab"], dict) else [p for p, _ in model["vocab"]]
    out = []
    for content in R.sample(["<|x|>", "<mk>", "HTTP", "café", "the", "  ", "É", "▁a"], R.randint(0, 4)):
        if content not in known:
            out.append(dict({"id": size + len(out), "content": content}, **{k: R.random() < 0.3 for k in ["single_word", "lstrip", "rstrip", "normalized", "special"]}))
    return out


def answer(call, *arguments, **options):
    try:
        return call(*arguments, **options)
    except BaseException:  # the reference panics
        return None


def files(all_models):
    pre = part("Precompiled", precompiled_charsmap=charsmap(train_pieces(RULES, vocab_size=100, model_type="unigram")))
    spaces, marks = replace({"Regex": " {2,}"}, " "), replace({"String": " "}, "▁")
    norms = [None, part("Nmt"), normal(part("NFD"), part("StripAccents")), pre, normal(pre, part("Strip", strip_left=False, strip_right=True), spaces),
             normal(part("Nmt"), part("NFKC"), spaces), part("Prepend", prepend="▁"), normal(part("Prepend", prepend="▁"), marks), marks,
             part("Strip", strip_left=True, strip_right=False), replace({"Regex": "[aeiou]*"}, "x"), replace({"String": "``"}, '"'),
             bert(True, True, None, True), bert(True, True, None, False), bert(False, True, True, False), bert(True, False, False, True), bert(False, False, False, False)]
    pres = [None, part("BertPreTokenizer"), part("Whitespace"), part("WhitespaceSplit"), part("CharDelimiterSplit", delimiter="e"),
            part("Digits", individual_digits=True), metaspace("always"), metaspace("first"), metaspace("never"), metaspace("first", False), metaspace("always", True, "_"),
            splits(part("WhitespaceSplit"), metaspace("always")), splits(part("Punctuation", behavior="Isolated"), metaspace("first")),
            part("Split", pattern={"String": " "}, behavior="MergedWithPrevious", invert=False)]
    pres += [part("Punctuation", behavior=b) for b in ["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"]]
    level = part("ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True)
    decs = [None, part("WordPiece", prefix="##", cleanup=True), part("WordPiece", prefix="##", cleanup=False), metaspace("always"), metaspace("never"), part("Fuse"),
            decoding(replace({"String": "▁"}, " "), part("ByteFallback"), part("Fuse"), part("Strip", content=" ", start=1, stop=0)), part("BPEDecoder", suffix="</w>"),
            part("ByteFallback"), decoding(part("Fuse"), part("Strip", content="e", start=2, stop=1)), level, replace({"Regex": "[aeiou]"}, "")]
    kinds = {"wordpiece": (norms[12], pres[1], decs[1]), "unigram": (norms[4], pres[6], decs[3]), "bpe": (norms[7], None, decs[6])}
    for name, parts in kinds.items():
        yield name, parts
    for i in range(90):
        # BERT's blanks around ideographs and the scheme "first" count offsets that are not kept here
        parts = (norms[i % len(norms)], pres[i * 7 % len(pres)], decs[i * 5 % len(decs)])
        if "handle_chinese_chars\": true" not in json.dumps(parts[0]) or "first" not in json.dumps(parts[1]):
            yield list(all_models)[i % len(all_models)], parts


def file_cases(all_models):
    for name, (norm, pre, dec) in files(all_models):
        members = {"normalizer": norm, "pre_tokenizer": pre, "decoder": dec, "added_tokens": added(all_models[name])}
        t = Tokenizer.from_str(json.dumps(dict({"version": "1.0", "model": all_models[name]}, **members)))
        cases = []
        for text in ["", " ", "First Citizen:\n", " The café", "don't do it."] + [draw() for _ in range(9)]:
            ids = answer(lambda: t.encode(text, add_special_tokens=False).ids)
            decoded = answer(t.decode, ids, skip_special_tokens=False) if ids else None if ids is None else ""
            # of bytes that are no text Orthant writes the bytes
            cut = dec and dec["type"] == "ByteLevel" and decoded and "\ufffd" in decoded
            cases.append([text, ids, None if cut else decoded])
            if ids and decoded is None:  # a panic leaves it locked
                t = Tokenizer.from_str(json.dumps(dict({"version": "1.0", "model": all_models[name]}, **members)))
        yield {"set": members, "model": name, "cases": cases}


def piece_cases():
    plain = dict(normalization_rule_name="identity", remove_extra_whitespaces=False)
    for name, blob in [("unigram", train_pieces(RULES, vocab_size=150, model_type="unigram")),
                       ("unigram plain", train_pieces(vocab_size=150, model_type="unigram", **plain)),
                       ("bpe", train_pieces(vocab_size=420, model_type="bpe", byte_fallback=True, allow_whitespace_only_pieces=True, **plain)),
                       ("bpe squeezed", train_pieces(vocab_size=150, model_type="bpe", normalization_rule_name="identity")),
                       ("bpe of the user", train_pieces(vocab_size=420, model_type="bpe", byte_fallback=True, add_dummy_prefix=False,
                                                        user_defined_symbols=["<mk>", "\n\n", "▁▁"], **plain))]:
        s = sentencepiece.SentencePieceProcessor(model_proto=blob)
        cases = []
        for text in ["", " ", "First  Citizen: ", " the"] + [draw() for _ in range(40)]:
            ids = s.encode(text)
            # the reference of Precompiled looks at clusters of characters, SentencePiece does not
            if name != "unigram" or text.isascii():
                cases.append([text, ids, None if 0 in ids else s.decode(ids)])
        yield {"name": name, "base64": base64.b64encode(blob).decode(), "cases": cases}


def main():
    all_models = some_models()
    lines = lambda items: ",\n".join(json.dumps(i, separators=(",", ":")) for i in items)
    sys.stdout.write('{"tokenizers": "%s", "sentencepiece": "%s", "models": %s,\n"files": [\n%s\n],\n"pieces": [\n%s\n]}\n' % (
        tokenizers.__version__, sentencepiece.__version__, json.dumps(all_models, separators=(",", ":")), lines(file_cases(all_models)), lines(piece_cases())))


main()
