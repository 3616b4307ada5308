# SPDX-License-Identifier: Apache-2.0
"""Makes the vectors of tests/test_metrics.c: odd texts, labels and numbers with what sacreBLEU, rouge-score, scikit-learn
and SciPy say of them. Only needed to make them anew:

    python3 -m venv v && v/bin/pip install sacrebleu==2.6.0 rouge-score==0.1.2 scikit-learn==1.9.1 scipy==1.17.1
    v/bin/python tests/metrics/make_vectors.py
"""
import json
import logging
import os
import random
import warnings
from importlib.metadata import version

import numpy as np
from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest
from scipy import stats
from sklearn import metrics as sk

HERE = os.path.dirname(os.path.abspath(__file__))
DRAW = random.Random(20)
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

ODD = (
    "3,000.5 1-2 12- -5 U.S. e.g. don't &quot;hi&quot; &amp; &lt;b&gt; &amp;lt; <skipped> $5.00 50% (hi) hi) (hi \"q\" 'tis "
    "dogs' dog's END. x.y a,b ... -- – “quoted” ‘s’ „de“ «fr» ¿qué? straße STRASSE ΣΊΣΥΦΟΣ ΟΔΥΣΣΕΥΣ Σ ΑΣ. İstanbul "
    "DİYARBAKIR \u212aelvin \u212bngström ﬁne e\u0301 日本語 東京、タワー。 中文字符 한국어 カタカナ ・ ｱ｡ （全角） Ｆｕｌｌ 🙂 👩‍👩‍👧 x² ½ ٣٤٥ "
    "3٫5 №5 ©2020 €30 5€ +1 a=b ~x `y` ^z _u_ [br] {cb} a|b a\\b @me #tag 1.5.3 .5 5. ,5 5, \u200bzw \u00adsoft שלום مرحبا، "
    "it's\u00a0me running relational happily nationally"
).split(" ")
SPACES = [" "] * 8 + ["  ", "\t", "\u00a0", "\u3000", "\x1c", "\x85", "\u2028"]
with open(os.path.join(HERE, "../../data/tinyshakespeare.txt"), encoding="utf-8") as f:
    PLAIN = f.read(60000).split()


def sentence():
    out, share = "", DRAW.random()
    for _ in range(DRAW.choice([0, 1, 2, 3, 5, 8, 12, 20])):
        out += DRAW.choice(ODD if DRAW.random() < share else PLAIN) + DRAW.choice(SPACES)
    return out.rstrip()


def changed(text):
    words = text.split(" ")
    for _ in range(DRAW.choice([0, 1, 2, 4])):
        i = DRAW.randrange(len(words))
        kind = DRAW.random()
        if kind < 0.3:
            words[i] = DRAW.choice(ODD)
        elif kind < 0.5 and len(words) > 1:
            del words[i]
        else:
            run = words[i : i + DRAW.randrange(1, 5)]
            del words[i : i + len(run)]
            at = DRAW.randrange(len(words) + 1)
            words[at:at] = run
    return " ".join(words).rstrip()


def texts(count):
    system, reference = [[], []], [[], [], []]
    for _ in range(count):
        source = sentence()
        for side in system + reference:
            side.append(changed(source) if DRAW.random() < 0.85 else sentence())
    return system, reference


def translation(system, reference):
    """Scores of corpus and lines: options are named as in struct oa_metric_options."""
    cases = []
    bleu = [{}, {"bleu_tokens": 1}, {"bleu_tokens": 2}, {"bleu_tokens": 3}, {"bleu_lowercase": 1}, {"bleu_smooth": 1},
            {"bleu_smooth": 2}, {"bleu_smooth": 3}, {"bleu_smooth": 1, "bleu_smooth_value": 0.5},
            {"bleu_smooth": 2, "bleu_smooth_value": 2.5}, {"bleu_order": 2}]
    for o in bleu:
        cases.append(("bleu", o, dict(
            tokenize=["13a", "intl", "char", "none"][o.get("bleu_tokens", 0)], lowercase="bleu_lowercase" in o,
            smooth_method=["exp", "floor", "add-k", "none"][o.get("bleu_smooth", 0)],
            smooth_value=o.get("bleu_smooth_value"), max_ngram_order=o.get("bleu_order", 4))))
    for o in [{}, {"chrf_words": 2}, {"chrf_lowercase": 1, "chrf_whitespace": 1, "chrf_beta": 3},
              {"chrf_characters": 4, "chrf_words": 1, "chrf_eps_smoothing": 1}]:
        cases.append(("chrf", o, dict(
            char_order=o.get("chrf_characters", 6), word_order=o.get("chrf_words", 0), beta=o.get("chrf_beta", 2),
            lowercase="chrf_lowercase" in o, whitespace="chrf_whitespace" in o,
            eps_smoothing="chrf_eps_smoothing" in o)))
    for o in [{}, {"ter_normalized": 1}, {"ter_normalized": 1, "ter_asian": 1},
              {"ter_no_punctuation": 1, "ter_case_sensitive": 1},
              {"ter_normalized": 1, "ter_asian": 1, "ter_no_punctuation": 1}]:
        cases.append(("ter", o, dict(
            normalized="ter_normalized" in o, no_punct="ter_no_punctuation" in o, asian_support="ter_asian" in o,
            case_sensitive="ter_case_sensitive" in o)))
    out = []
    for name, options, arguments in cases:
        kind = {"bleu": BLEU, "chrf": CHRF, "ter": TER}[name]
        for references in (1, 3):
            refs = reference[:references]
            corpus = kind(**arguments)
            score = corpus.corpus_score(system[0], refs)
            if name == "bleu":
                arguments["effective_order"] = True
            line = kind(**arguments)
            lines = [line.sentence_score(h, list(r)).score for h, *r in zip(system[0], *refs)]
            arguments.pop("effective_order", None)
            out.append({"metric": name, "options": options, "references": references, "score": score.score,
                        "name": score.name, "verbose": score._verbose,
                        "signature": str(corpus.get_signature()).split("|", 1)[1].rsplit("|", 1)[0],
                        "lines": [round(x, 10) for x in lines]})
    return out


def rouge(system, reference):
    names = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    out = []
    for stem in (0, 1):
        for references in (1, 3):
            scorer = rouge_scorer.RougeScorer(names, use_stemmer=bool(stem))
            all_of = [scorer.score_multi([x.replace("<n>", "\n") for x in r], h.replace("<n>", "\n"))
                      for h, *r in zip(system, *reference[:references])]
            for n in names:
                rows = np.array([list(x[n]) for x in all_of])
                out.append({"metric": n, "options": {"rouge_stemmer": stem}, "references": references,
                            "means": list(rows.mean(0)), "lines": [round(x, 12) for x in rows[:, 2]]})
    return out


def summary():
    words = "the cat sat on a mat and dogs were running nationally while it rained on skies dying news".split()
    return "".join(DRAW.choice(words) + DRAW.choice([" ", " ", " ", ". <n>", "<n>", " <n><n>"])
                   for _ in range(DRAW.choice([0, 1, 4, 9, 16, 25])))


def resampled(system, reference):
    out = {"seeds": {}, "single": [], "paired": []}
    for seed in (12345, 0, 1 << 40):
        g = np.random.default_rng(seed)
        draws = [int(x) for x in g.choice(70, size=40)] + [int(x) for x in g.choice(3_000_000_000, size=20)]
        bits = np.random.default_rng(seed).integers(2, size=100, dtype=bool)
        out["seeds"][str(seed)] = {"draws": draws, "bits": "".join("01"[int(b)] for b in bits)}
    kinds = [("bleu", {}, BLEU()), ("bleu", {"bleu_smooth": 2, "bleu_order": 3}, BLEU(smooth_method="add-k", max_ngram_order=3)),
             ("bleu", {"bleu_smooth": 1}, BLEU(smooth_method="floor")), ("chrf", {}, CHRF()),
             ("chrf", {"chrf_words": 2}, CHRF(word_order=2)),
             ("chrf", {"chrf_eps_smoothing": 1}, CHRF(eps_smoothing=True)), ("ter", {}, TER())]
    for name, options, metric in kinds:
        score = metric.corpus_score(system[0], reference[:2], n_bootstrap=300)
        out["single"].append({"metric": name, "options": options, "samples": 300, "mean": float(score._mean),
                              "half": float(score._ci)})
        for test, samples in (("bs", 300), ("ar", 400)):
            runs = [("a", system[0]), ("b", system[1]), ("c", system[1][:-9] + reference[0][-9:])]
            _, found = PairedTest(runs, {name: metric}, reference[:2], test_type=test, n_samples=samples)()
            rows = [v for k, v in found.items() if k != "System"][0]
            out["paired"].append({"metric": name, "options": options, "test": test, "samples": samples, "systems": [
                {"score": r.score, "p": r.p_value, "mean": None if r.mean is None else float(r.mean),
                 "half": None if r.ci is None else float(r.ci)} for r in rows]})
    return out


def labels():
    cases = []
    for names, count in ((["0", "1"], 50), (["neg", "pos"], 9), (["a", "b", "ü", "d d"], 60), (["x"], 4),
                         ([str(i) for i in range(12)], 40), (["0", "1"], 3)):
        truth = [DRAW.choice(names) for _ in range(count)]
        guess = [t if DRAW.random() < 0.6 else DRAW.choice(names[: max(1, len(names) - 1)]) for t in truth]
        case = {"reference": truth, "hypothesis": guess, "accuracy": sk.accuracy_score(truth, guess),
                "mcc": sk.matthews_corrcoef(truth, guess), "average": {}}
        for average in ("macro", "micro", "weighted"):
            case["average"][average] = sk.precision_recall_fscore_support(truth, guess, average=average)[:3]
        if len(set(truth + guess)) == 2:
            case["positive"] = names[1]
            case["average"]["binary"] = sk.precision_recall_fscore_support(
                truth, guess, average="binary", pos_label=names[1])[:3]
        cases.append(case)
    return cases


def numbers():
    cases = []
    for count, digits in ((2, 3), (3, 1), (10, 0), (100, 1), (301, 4), (20, 9), (5, 0)):
        x = [round(DRAW.gauss(0, 3), digits) for _ in range(count)]
        y = [round(0.5 * v + DRAW.gauss(0, 2), digits) for v in x]
        if count == 5:
            y = [4.0] * 5
        if count == 20:
            x = [v * 1e200 for v in x]
        r, rho = stats.pearsonr(x, y)[0], stats.spearmanr(x, y)[0]
        cases.append({"x": x, "y": y, "pearson": None if np.isnan(r) else r, "spearman": None if np.isnan(rho) else rho})
    return cases


def stems():
    stemmer = PorterStemmer()
    ends = ("s es ed ing ational tional enci anci izer bli alli entli eli ousli ization ation ator alism iveness fulness "
            "ousness aliti iviti biliti fulli logi icate ative alize iciti ical ful ness al ance ence er ic able ible ant "
            "ement ment ent sion tion ion ou ism ate iti ous ive ize e ll y ied ies eed sses").split()
    roots = "tr yy oy rel ggg hopp fall fizz sky by abil conflat troubl siz fil th9 12a geo archaeo roll vil controll q".split()
    plain = sorted({"".join(c for c in w.lower() if c.isalpha()) for w in PLAIN})[::5]
    words = plain + [r + e for r in roots for e in ends[:: 1]]
    words += "sky skies dying lying tying news innings inning outings cannings howe proceed exceed succeed dies died spied".split()
    words = [w for w in words if len(w) > 3 and w.isascii()]
    return {w: stemmer.stem(w) for w in words}


def write(name, value):
    value["packages"] = {p: version(p) for p in ("sacrebleu", "rouge-score", "nltk", "scikit-learn", "scipy", "numpy")}
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as out:
        json.dump(value, out, ensure_ascii=False, separators=(",", ":"))
        out.write("\n")


system, reference = texts(70)
write("translation.json", {"system": system, "reference": reference, "cases": translation(system, reference),
                           "resampled": resampled(system, reference)})
summaries = [[summary() for _ in range(30)] for _ in range(4)]
write("rouge.json", {"system": summaries[0], "reference": summaries[1:], "cases": rouge(summaries[0], summaries[1:]),
                     "odd": {"system": system[0], "reference": reference, "cases": rouge(system[0], reference)}})
write("numbers.json", {"labels": labels(), "numbers": numbers(), "stems": stems()})
