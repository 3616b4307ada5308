#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What other programs conclude from runs that `orthant judge` reads (docs/judge.md).

    judge_peers.py ORTHANT table FILE.csv        what each concludes of a table: system, seed, …, loss
    judge_peers.py ORTHANT errors [REPETITIONS [PROGRAM]...]
                                                 how often each is wrong, and how often it finds a difference

Needs numpy and scipy; autorank, deepsig and rliable are used where they are installed. Without numpy and scipy it exits
with 77. A conclusion is a set of pairs (better, worse) that a program calls different at a level of 5 %, lower losses
being better. deepsig's is by the criterion of its documentation, eps_min < 0.2 at a confidence of 95 %, corrected by
itself; rliable's is by what its documentation plots: a 95 % bootstrap interval of the probability of improvement without
1/2 in it.
"""
import contextlib
import csv
import io
import itertools
import json
import subprocess
import sys
import warnings

try:
    import numpy as np
    from scipy import stats
except ImportError:
    sys.exit(77)

warnings.filterwarnings("ignore")
LEVEL = 0.05


def holm(p):
    order, adjusted, most = np.argsort(p), np.empty(len(p)), 0.0
    for rank, i in enumerate(order):
        most = max(most, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = most
    return adjusted


def by_means(losses, pairs):
    return {(a, b) if losses[a].mean() < losses[b].mean() else (b, a) for a, b in pairs}


def scipy_pairs(losses, test, correct):
    pairs = list(itertools.combinations(losses, 2))
    p = np.array([test(losses[a], losses[b]) for a, b in pairs])
    p = holm(p) if correct else p
    return by_means(losses, [pair for pair, x in zip(pairs, p) if x < LEVEL])


def scipy_paired(losses):
    return scipy_pairs(losses, lambda a, b: stats.ttest_rel(a, b).pvalue, True)


def scipy_paired_plain(losses):
    return scipy_pairs(losses, lambda a, b: stats.ttest_rel(a, b).pvalue, False)


def scipy_welch(losses):
    return scipy_pairs(losses, lambda a, b: stats.ttest_ind(a, b, equal_var=False).pvalue, True)


def autorank_groups(losses):
    import pandas
    from autorank import autorank

    if len(next(iter(losses.values()))) < 5:
        return None  # autorank refuses fewer
    with contextlib.redirect_stdout(io.StringIO()):
        result = autorank(pandas.DataFrame(losses), alpha=LEVEL, verbose=False, order="ascending")
    if result.pvalue >= LEVEL:
        return set()
    if len(losses) == 2:
        return by_means(losses, [tuple(losses)])
    table = result.rankdf  # as autorank's own groups: Nemenyi's critical difference of ranks, or Tukey's of means
    place = table["mean"] if result.cd is None else table["meanrank"]
    critical = (table["ci_upper"].iloc[0] - table["ci_lower"].iloc[0]) / 2 if result.cd is None else result.cd
    return by_means(losses, [(a, b) for a, b in itertools.combinations(losses, 2) if abs(place[a] - place[b]) > critical])


def deepsig_aso(losses):
    from deepsig import multi_aso

    names = list(losses)
    eps = multi_aso(
        [list(-losses[n]) for n in names], confidence_level=1 - LEVEL, use_bonferroni=True, show_progress=False,
        num_samples=200, num_bootstrap_iterations=100, seed=1,
    )
    return {(names[i], names[j]) for i in range(len(names)) for j in range(len(names)) if i != j and eps[i][j] < 0.2}


def rliable_improvement(losses):
    from rliable import library, metrics

    found = set()
    for a, b in itertools.combinations(losses, 2):
        scores = {"pair": (-losses[a][:, None], -losses[b][:, None])}
        _, ends = library.get_interval_estimates(
            scores, metrics.probability_of_improvement, reps=500, random_state=np.random.RandomState(1)
        )
        low, high = np.ravel(ends["pair"])
        if low > 0.5:
            found.add((a, b))
        elif high < 0.5:
            found.add((b, a))
    return found


def orthant(program, *options):
    def conclude(losses):
        n = len(next(iter(losses.values())))
        rows = ["system,seed,loss"] + [f"{s},{i + 1},{losses[s][i]!r}" for s in losses for i in range(n)]
        text = "\n".join(rows).replace("np.float64(", "").replace(")", "")
        out = subprocess.run([program, "judge", "-", "--json", "--quiet", *options], input=text, text=True, capture_output=True)
        results = json.loads(out.stdout)
        names = [e["attention"] for e in results["entries"]]
        found = set()
        for pair in results["pairs"]:
            a, b = names[pair["a"]], names[pair["b"]]
            if pair["verdict"] == "better":
                found.add((a, b))
            elif pair["verdict"] == "worse":
                found.add((b, a))
        return found

    return conclude


def programs(path):
    every = {
        "orthant judge": orthant(path),
        "orthant judge --test two-way": orthant(path, "--test", "two-way"),
        "orthant judge --unpaired": orthant(path, "--unpaired"),
        "SciPy ttest_rel, Holm": scipy_paired,
        "SciPy ttest_rel, uncorrected": scipy_paired_plain,
        "SciPy ttest_ind (Welch), Holm": scipy_welch,
    }
    for name, package, function in (
        ("autorank", "autorank", autorank_groups),
        ("deepsig multi_aso", "deepsig", deepsig_aso),
        ("rliable", "rliable", rliable_improvement),
    ):
        try:
            __import__(package)
            every[name] = function
        except ImportError:
            print(f"{package} is not installed: left out", file=sys.stderr)
    return every


def table(path, file):
    last = {}  # the last value of each run
    for system, seed, *_, value in list(csv.reader(open(file, encoding="utf-8-sig")))[1:]:
        last[system, int(seed)] = float(value)
    losses = {}
    for (system, _), value in sorted(last.items(), key=lambda run: run[0][1]):
        losses.setdefault(system, []).append(value)
    losses = {name: np.array(values) for name, values in losses.items()}
    for name, conclude in programs(path).items():
        found = conclude(losses)
        said = "refuses so few" if found is None else ", ".join(f"{a} < {b}" for a, b in sorted(found)) or "no difference"
        print(f"{name:32} {said}")


def draw(random, systems, seeds, lead):
    """Normal losses of deviation 1 with a correlation of 1/3 within a seed; the first is lower by `lead`."""
    shared = random.normal(size=seeds) * np.sqrt(1 / 3)
    losses = {f"s{i}": shared + random.normal(size=seeds) * np.sqrt(2 / 3) for i in range(systems)}
    losses["s0"] = losses["s0"] - lead
    return losses


def errors(path, repetitions, wanted):
    """Per hundred: tables with any false statement, and pairs with s0 that are called different."""
    print(f"{repetitions} tables each")
    print(f"{'':32} {'4 equal systems':>22} {'one better by 2 deviations':>32}")
    print(f"{'':32} {'any difference, in %':>22} {'found, of 3, and any false, in %':>32}")
    for seeds in (5, 10):
        print(f"{seeds} seeds")
        for name, conclude in programs(path).items():
            random = np.random.default_rng(28)
            equal = found = false = 0
            if wanted and not any(name.startswith(w) for w in wanted):
                continue
            for _ in range(repetitions):
                said = conclude(draw(random, 4, seeds, 0))
                if said is None:
                    equal = None
                    break
                equal += bool(said)
                said = conclude(draw(random, 4, seeds, 2))
                found += sum(a == "s0" for a, b in said) / 3
                false += any(a != "s0" for a, b in said)
            if equal is None:
                print(f"  {name:30} refuses so few")
            else:
                print(f"  {name:30} {100 * equal / repetitions:22.1f} {100 * found / repetitions:22.0f} {100 * false / repetitions:9.1f}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[2] not in ("table", "errors"):
        sys.exit(__doc__)
    if sys.argv[2] == "table":
        table(sys.argv[1], sys.argv[3])
    else:
        errors(sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 1000, sys.argv[4:])
