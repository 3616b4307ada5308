# SPDX-License-Identifier: Apache-2.0
"""Makes paired.json for tests/test_score.c: what sacreBLEU's paired tests say of four systems, and what is true of few
lines that differ: every exchange and every resample is tried, on the texts themselves. Only needed to make it anew:

    python3 -m venv v && v/bin/pip install sacrebleu==2.6.0 rouge-score==0.1.2 scikit-learn==1.9.1 scipy==1.17.1
    v/bin/python tests/metrics/make_paired.py
"""
import itertools
import json
import logging
import os
import random
import warnings
from importlib.metadata import version

import numpy as np
from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest
from scipy import stats
from sklearn import metrics as sk

HERE = os.path.dirname(os.path.abspath(__file__))
DRAW = random.Random(7)
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
WORDS = "na lu lo mi ni fi fe nu de gu du da mu no fa so".split()
KINDS = {"bleu": BLEU(), "chrf": CHRF(), "ter": TER()}
LABELS = {"accuracy": sk.accuracy_score, "mcc": sk.matthews_corrcoef,
          "f1": lambda r, h: sk.f1_score(r, h, average="macro")}
NUMBERS = {"pearson": lambda r, h: stats.pearsonr(h, r)[0], "spearman": lambda r, h: stats.spearmanr(h, r)[0]}


def line():
    return " ".join(DRAW.choice(WORDS) for _ in range(DRAW.randrange(5, 10)))


def worse(text, edits):
    words = text.split(" ")
    for _ in range(edits):
        words[DRAW.randrange(len(words))] = DRAW.choice(WORDS)
    return " ".join(words)


def score(metric, reference, system):
    if metric in LABELS:
        return LABELS[metric](reference, system)
    if metric in NUMBERS:
        r = NUMBERS[metric]([float(x) for x in reference], [float(x) for x in system])
        return r if np.isfinite(r) else 1e9  # not defined: as large as any
    if metric in KINDS:
        return KINDS[metric].corpus_score(system, [reference]).score
    scorer = rouge_scorer.RougeScorer([metric])
    return sum(scorer.score(r, h)[metric].fmeasure for r, h in zip(reference, system)) / len(system)


def at_least(differences, seen):
    return sum(x >= seen - 1e-9 for x in differences) / len(differences)


def exchanges(metric, reference, a, b):
    unlike = [i for i in range(len(a)) if a[i] != b[i]]
    found = []
    for swap in itertools.product((0, 1), repeat=len(unlike)):
        x, y = list(a), list(b)
        for i, s in zip(unlike, swap):
            if s:
                x[i], y[i] = y[i], x[i]
        found.append(abs(score(metric, reference, x) - score(metric, reference, y)))
    return at_least(found, found[0])


def resamples(metric, reference, a, b):
    seen = score(metric, reference, b) - score(metric, reference, a)
    found = []
    for draw in itertools.product(range(len(a)), repeat=len(a)):
        r, x, y = ([side[i] for i in draw] for side in (reference, a, b))
        found.append(abs(score(metric, r, y) - score(metric, r, x) - seen))
    return at_least(found, abs(seen))


def case(metrics, reference, a, edits, change, boot):
    b = list(a)
    for i in DRAW.sample(range(len(a)), edits):
        while b[i] == a[i]:
            b[i] = change(reference[i])
    kind = resamples if boot else exchanges
    return {"test": "paired-bs" if boot else "paired-ar", "reference": reference, "systems": [a, b],
            "p": {m: kind(m, reference, a, b) for m in metrics}}


def texts(metrics, lines, edits, boot=False):
    reference = [line() for _ in range(lines)]
    return case(metrics, reference, [worse(r, 1) for r in reference], edits,
                lambda r: worse(r, DRAW.randrange(0, 4)), boot)


def labels(lines, edits, boot=False):
    def guess(r):
        return r if DRAW.random() < 0.6 else DRAW.choice("abc")
    reference = [DRAW.choice("aaaaabbc") for _ in range(lines)]
    return case(LABELS, reference, [guess(r) for r in reference], edits, guess, boot)


def numbers(lines, edits):
    def guess(r):
        return str(float(r) + DRAW.randrange(-3, 4))
    reference = [str(DRAW.randrange(-9, 10)) for _ in range(lines)]
    return case(NUMBERS, reference, [guess(r) for r in reference], edits, guess, False)


def sacrebleus():
    reference = [line() for _ in range(40)]
    systems = [("a", [worse(r, 1) for r in reference]), ("b", [worse(r, 2) for r in reference])]
    systems.append(("one", systems[0][1][:-1] + [line()]))
    systems.append(("two", systems[0][1][:-2] + [line(), line()]))
    out = []
    for test, samples in (("ar", 400), ("bs", 300)):
        names, found = PairedTest(systems, KINDS, [reference], test_type=test, n_samples=samples)()
        rows = [{"system": s} for s, _ in systems]
        for name, results in found.items():
            for row, r in zip(rows, results if name != "System" else []):
                row[name] = {k: None if v is None else float(v) for k, v in r.__dict__.items()}
        out.append({"test": "paired-" + test, "samples": samples, "json": rows})
    return {"reference": reference, "systems": [s for _, s in systems], "cases": out}


few = ("bleu", "chrf", "ter", "rouge1", "rougeL")
cases = [texts(few, lines, edits) for lines, edits in
         ((6, 1), (30, 1), (30, 2), (8, 3), (12, 4), (9, 5), (7, 7), (20, 8))]
cases += [texts(few, 4, edits, True) for edits in (1, 2, 4)]
cases += [labels(lines, edits) for lines, edits in ((20, 1), (20, 2), (9, 5), (30, 8))]
cases += [labels(5, 3, True)]
cases += [numbers(lines, edits) for lines, edits in ((10, 1), (10, 2), (8, 6))]
value = {"sacrebleu": sacrebleus(), "cases": cases,
         "packages": {p: version(p) for p in ("sacrebleu", "rouge-score", "scikit-learn", "scipy", "numpy")}}
with open(os.path.join(HERE, "paired.json"), "w", encoding="utf-8") as out:
    json.dump(value, out, ensure_ascii=False, separators=(",", ":"))
    out.write("\n")
