# SPDX-License-Identifier: Apache-2.0
"""Makes files.json, intl.json and stems.txt for tests/test_score.c and tests/test_metrics.c: what sacreBLEU, rouge-score,
scikit-learn, SciPy and NLTK say of texts, labels and numbers in files. Only needed to make them anew:

    python3 -m venv v && v/bin/pip install sacrebleu==2.6.0 rouge-score==0.1.2 scikit-learn==1.9.1 scipy==1.17.1
    v/bin/python tests/metrics/make_files.py
"""
import json
import logging
import os
import random
import re
import unicodedata
import warnings
from importlib.metadata import version

import numpy as np
from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.tokenizers.tokenizer_intl import TokenizerV14International
from scipy import stats
from sklearn import metrics as sk

HERE = os.path.dirname(os.path.abspath(__file__))
DRAW = random.Random(26)
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)


def translation(references, system):
    """Metric, request, score."""
    out = []
    for name, options, metric in (
            ("bleu", {}, BLEU()), ("bleu", {"tokenize": "intl"}, BLEU(tokenize="intl")),
            ("bleu", {"tokenize": "char"}, BLEU(tokenize="char")), ("bleu", {"tokenize": "none"}, BLEU(tokenize="none")),
            ("bleu", {"order": 1}, BLEU(max_ngram_order=1)), ("chrf", {}, CHRF()), ("ter", {}, TER())):
        out.append([name, options, metric.corpus_score(system, references).score])
    for name in ("rouge1", "rouge2", "rougeL"):
        scorer = rouge_scorer.RougeScorer([name])
        best = [scorer.score_multi(r, h)[name].fmeasure for h, *r in zip(system, *references)]
        out.append([name, {}, float(np.mean(best))])
    return {"references": references, "system": system, "scores": out}


def sentences(count):
    words = "the a cat, dog. sat; on mat and said “yes” to 3,000.5 it's e.g. (old) house - tree".split()
    return [" ".join(DRAW.choice(words) for _ in range(DRAW.randrange(4, 16))) for _ in range(count)]


def several():
    """Each reference is the nearest one to some hypotheses."""
    first = sentences(12)
    def near(text):
        w = text.split()
        for _ in range(DRAW.randrange(0, 4)):
            w[DRAW.randrange(len(w))] = DRAW.choice(["so", "one", "on"])
        return " ".join(w)
    references = [[near(s) if (i + r) % 3 else sentences(1)[0] for i, s in enumerate(first)] for r in range(3)]
    return translation(references, [near(s) for s in first])


def japanese():
    def line():
        return "".join(DRAW.choice("東京都の大学で日本語を勉強しています。タワー、りんご") for _ in range(DRAW.randrange(8, 20)))
    reference = [line() for _ in range(10)]
    system = [r[:3] + DRAW.choice("はがを") + r[4:-2] for r in reference]
    return {"reference": reference, "system": system, "char": BLEU(tokenize="char").corpus_score(system, [reference]).score}


def blocks():
    """TER where whole blocks of up to twelve words have moved, near and far: Tercom shifts at most ten words, by 50."""
    reference, system = [], []
    for i in range(24):
        words = [f"w{DRAW.randrange(30 + 4 * i)}" for _ in range(DRAW.randrange(20, 90))]
        moved = list(words)
        for _ in range(1 + i % 2):
            size, at = DRAW.randrange(8, 13), DRAW.randrange(len(moved) - 12)
            block = moved[at:at + size]
            del moved[at:at + size]
            to = DRAW.randrange(len(moved) + 1)
            moved[to:to] = block
        for _ in range(i % 4):
            moved[DRAW.randrange(len(moved))] = "x"
        reference.append(" ".join(words))
        system.append(" ".join(moved))
    ter = TER()
    return {"reference": reference, "system": system, "score": ter.corpus_score(system, [reference]).score,
            "lines": [ter.sentence_score(h, [r]).score for h, r in zip(system, reference)]}


def confusion(truth, guess):
    names = sorted(set(truth) | set(guess))
    p, r, f, n = sk.precision_recall_fscore_support(truth, guess, labels=names)
    means = {a: sk.precision_recall_fscore_support(truth, guess, average=a)[:3] for a in ("macro", "micro", "weighted")}
    return {"reference": truth, "hypothesis": guess, "labels": names,
            "matrix": sk.confusion_matrix(truth, guess, labels=names).tolist(), "precision": p.tolist(),
            "recall": r.tolist(), "f1": f.tolist(), "support": n.tolist(), "average": means,
            "accuracy": sk.accuracy_score(truth, guess), "mcc": sk.matthews_corrcoef(truth, guess)}


def labels():
    def case(names, weights, count, guesses):
        truth = DRAW.choices(names, weights, k=count)
        return confusion(truth, [t if DRAW.random() < 0.7 else DRAW.choice(guesses) for t in truth])
    return [case(["a", "b", "c"], [80, 15, 5], 100, ["a", "a", "b"]),            # unbalanced, c seldom found
            confusion(["a"] * 9 + ["rare"], ["a"] * 8 + ["b", "a"]),              # rare never found, b never expected
            case(["x", "ü", "日本", "d d"], [4, 3, 2, 1], 60, ["x", "ü", "new"]),
            confusion(["only"] * 5, ["only"] * 5),
            case([str(i) for i in range(30)], [30] + [1] * 29, 200, [str(i) for i in range(5)])]


def numbers():
    out = []
    for x, y in (([1, 2, 3, 4, 5, 6, 7], [1, 8, 27, 64, 125, 216, 343]),            # monotone, not linear
                 ([-2, -1, 0, 1, 2, 3], [np.exp(-v) for v in (-2, -1, 0, 1, 2, 3)]),
                 ([1, 2, 2, 3, 3, 3, 4], [5, 5, 6, 6, 7, 9, 9]),                    # ties on both sides
                 ([1, 1, 1, 2], [3, 1, 2, 0])):
        x, y = [float(v) for v in x], [float(v) for v in y]
        out.append({"hypothesis": [repr(v) for v in x], "reference": [repr(v) for v in y],
                    "pearson": stats.pearsonr(x, y)[0], "spearman": stats.spearmanr(x, y)[0]})
    return out


def intl():
    """Punctuation and symbols of all of Unicode between letters, digits, marks, spaces and each other; no unassigned
    characters, whose category depends on the version."""
    tokens, out, seen = TokenizerV14International(), {}, {}
    for code in range(0x21, 0x2FA1E):
        c = chr(code)
        kind = unicodedata.category(c)
        if kind in ("Cs", "Cn", "Co", "Cc"):
            continue
        seen[kind] = seen.get(kind, 0) + 1
        if not (kind[0] == "P" and seen[kind] % 3 == 0 or kind[0] == "S" and seen[kind] % (40 if kind == "So" else 5) == 0
                or seen[kind] <= 6):
            continue
        text = f"a{c}b 1{c}2 3{c}c d{c}4 {c}{c} é{c}, ٣{c}½{c}"
        out[text] = tokens(text)
    return out


def stems():
    stemmer = PorterStemmer()
    with open(os.path.join(HERE, "../../data/tinyshakespeare.txt"), encoding="utf-8") as f:
        words = sorted(set(re.findall("[a-z]{4,}", f.read().lower())))
    return [(w, stemmer.stem(w)) for w in words[::2]]


def write(name, value):
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as out:
        json.dump(value, out, ensure_ascii=False, separators=(",", ":"))
        out.write("\n")


PACKAGES = {p: version(p) for p in ("sacrebleu", "rouge-score", "nltk", "scikit-learn", "scipy", "numpy", "regex")}
write("files.json", {"several": several(), "japanese": japanese(), "blocks": blocks(), "labels": labels(),
                     "numbers": numbers(), "packages": PACKAGES})
write("intl.json", {"texts": intl(), "packages": PACKAGES})
with open(os.path.join(HERE, "stems.txt"), "w", encoding="utf-8") as out:
    out.write("".join(f"{w} {s}\n" for w, s in stems()))
