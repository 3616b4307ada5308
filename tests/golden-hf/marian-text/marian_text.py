#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the tokenizer of a Marian (source.spm, target.spm, vocab.json) for the weights of tests/golden-hf/marian, and what
transformers' MarianTokenizer and MarianMTModel make of texts: vectors.json.

    marian_text.py OUT [--table nmt_nfkc] [--texts N] [--program ORTHANT]

OUT gets the folder. With --program, N drawn texts are encoded by it as well and compared. Needs torch, transformers and
sentencepiece; texts are those of data/tinyshakespeare.txt (public domain)."""
import argparse
import io
import json
import os
import random
import shutil
import subprocess
import sys

import sentencepiece
import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
# Rules of which one is the beginning of another, one that makes several characters, and one that makes a blank.
RULES = [("a\u0301", "á"), ("a\u0301\u0302", "ấ"), ("ﬁ", "fi"), ("…", "..."), ("\u3000", " "), ("\t", " "), ("①", "1"), ("zz", "ß")]


def train(lines, out, table, count):
    model, options = io.BytesIO(), {"normalization_rule_name": table}
    if not table:
        with open(os.path.join(out, "rules.tsv"), "w", encoding="utf-8") as f:
            for old, new in RULES:
                f.write(" ".join(f"{ord(c):X}" for c in old) + "\t" + " ".join(f"{ord(c):X}" for c in new) + "\n")
        options = {"normalization_rule_tsv": os.path.join(out, "rules.tsv")}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=count, character_coverage=0.995, minloglevel=2, **options
    )
    pieces = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    names = [pieces.id_to_piece(i) for i in range(pieces.get_piece_size())]
    return model.getvalue(), [n for i, n in enumerate(names) if not pieces.is_control(i) and not pieces.is_unknown(i)]


def make_folder(out, table):
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(ROOT, "data", "tinyshakespeare.txt"), encoding="utf-8") as f:
        lines = [line for line in f.read().split("\n") if line][:4000]
    other = [line.replace("th", "z").replace("ou", "ü").replace("w", "v").replace("ll", "ß") for line in lines[2000:]]
    source, ours = train(lines[:2000], out, table, 84)
    target, theirs = train(other, out, table, 84)
    ids = {"</s>": 0, "<unk>": 1, ">>fr<<": 2, "猫": 3, "猫犬": 4}
    for piece in sorted(set(ours) | set(theirs)):
        if piece not in (ours[30], theirs[40]) and len(ids) < 139:  # two pieces have no id
            ids[piece] = len(ids)
    while len(ids) < 139:
        ids[f"<unused{len(ids)}>"] = len(ids)
    ids["<pad>"] = 139
    for name, data in (("source.spm", source), ("target.spm", target)):
        with open(os.path.join(out, name), "wb") as f:
            f.write(data)
    with open(os.path.join(out, "vocab.json"), "w", encoding="utf-8") as f:
        json.dump(ids, f, ensure_ascii=False)
    if not table:
        os.remove(os.path.join(out, "rules.tsv"))
    return lines


FIXED = [
    "", " ", "  O  Romeo,   Romeo! ", ">>fr<< Now is the winter", ">>xx<<Now", ">>fr<<", " >>fr<< a", ">>a", "a\u0301\u0302 a\u0301 á",
    "ﬁne … ①", "猫", "猫犬", "猫猫", "犬", "x猫犬y", "the\u3000way\tof", "zzz", "▁a ▁", "Before <unk> we</s> go<pad>", "ünd vß",
    "\u00a0a\u00a0", "A\nB", "e\u0301", "𝄞", "<<>>", ">><<a", "na\u00efve", "a" * 40,
]  # fmt: skip


def draw(r, lines):
    some = ["a", "e", " ", "  ", "th", "zz", "a\u0301", "\u0302", "ﬁ", "…", "\u3000", "①", "猫", "犬", ">>", "<<", ">>fr<<", "ü", "ß", "▁", "\t", "１", "é",
            "Å", "\u200b", "\u00ad", "½", "𝄞", "\u0300", "ｶ", "ﾞ", "한", "\r\n", "</s>"]  # fmt: skip
    if r.random() < 0.4:
        line = r.choice(lines)
        at = r.randrange(len(line))
        return line[at : at + r.randrange(60)] + r.choice(some)
    if r.random() < 0.3:
        return "".join(chr(r.choice([r.randrange(32, 0x250), r.randrange(0x300, 0x2FF0), r.randrange(0xF900, 0xFFFE)])) for _ in range(8))
    return "".join(r.choice(some) for _ in range(r.randrange(1, 12)))


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("out")
    words.add_argument("--table", default="")
    words.add_argument("--texts", type=int, default=60)
    words.add_argument("--program")
    given = words.parse_args()
    lines = make_folder(given.out, given.table)
    transformers.logging.set_verbosity_error()
    files = {name.split(".")[0].replace("source", "source_spm").replace("target", "target_spm"): os.path.join(given.out, name)
             for name in ("source.spm", "target.spm", "vocab.json")}  # fmt: skip
    tokenizer = transformers.MarianTokenizer(**files)
    r = random.Random(7)
    cases = []
    for text in FIXED + [draw(r, lines) for _ in range(given.texts)]:
        ids, target = tokenizer(text).input_ids, tokenizer(text_target=text).input_ids
        cases.append([text, ids[:-1], target[:-1], tokenizer.decode(ids, skip_special_tokens=True)])
    root = {"made by": f"transformers {transformers.__version__}, sentencepiece {sentencepiece.__version__}", "cases": cases}
    weights = os.path.join(HERE, "..", "marian")
    model = transformers.MarianMTModel.from_pretrained(weights).double().eval()
    root["translations"] = translations(tokenizer, model, lines)
    with open(os.path.join(given.out, "vectors.json"), "w", encoding="utf-8") as f:
        json.dump(root, f)
    if given.program:
        compare(given, cases, weights)


def translations(tokenizer, model, lines):
    """[text, greedy, beam], of texts whose translations end before the limit of length."""
    rows, limit = [], model.config.max_position_embeddings
    for text in [">>fr<< " + lines[0][:9]] + [line[:12] for line in lines[:400]]:
        row, ended = [text], True
        for more in ({"num_beams": 1}, {"num_beams": 4, "early_stopping": "never"}):
            with torch.no_grad():
                made = model.generate(**tokenizer(text, return_tensors="pt"), max_length=limit, do_sample=False, **more)[0].tolist()
            ended = ended and len(made) < limit
            row.append(tokenizer.decode(made, skip_special_tokens=True))
        if ended:
            rows.append(row)
    return rows[:12]


def compare(given, cases, weights):
    model, run, wrong = os.path.join(given.out, "model"), os.path.join(given.out, "run"), 0
    shutil.rmtree(run, ignore_errors=True)
    shutil.rmtree(model, ignore_errors=True)
    shutil.copytree(weights, model)
    for name in ("source.spm", "target.spm", "vocab.json"):
        shutil.copy(os.path.join(given.out, name), model)
    subprocess.run([given.program, "import", model, "--out", run], check=True)
    for text, ids, _, _ in cases:
        if "\0" in text or not text:
            continue
        done = subprocess.run([given.program, "tokenizer", "encode", os.path.join(run, "tokenizer.json"), "--text", text, "--json"],
                              capture_output=True, text=True, check=False)  # fmt: skip
        if done.returncode or json.loads(done.stdout)["ids"] != ids:
            wrong += 1
            print(f"{text!r}: {ids}; here {done.stdout} {done.stderr}")
    print(f"{wrong} of {len(cases)} texts have other ids")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
