# SPDX-License-Identifier: Apache-2.0
# Families of comparisons as test_verdicts.c and others expect them, without any of the program: paired t tests, two
# one-sided tests and intervals by scipy; Bonferroni's single step over m comparisons, written out here.
# Versions that made the stored numbers: numpy 2, scipy 1.17.1.
import numpy as np
from scipy import stats

LEVEL = 0.05
SEEDS = 5  # fewer give an interval and no verdict


def half(d, level):
    low, high = stats.t.interval(1 - level, len(d) - 1, np.mean(d), stats.sem(d))
    return (high - low) / 2


def family(differences, m, margin=0.0):
    """differences of costs, an array of each comparison -> a dict of each: verdict, mean, half, level, p, adjusted, eq"""
    found = []
    for d in differences:
        f = dict(mean=np.mean(d), sd=np.std(d, ddof=1), level=LEVEL / m, half=half(d, LEVEL / m), p=np.nan,
                 adjusted=np.nan, eq=np.nan, verdict='estimate only')
        found.append(f)
        if len(d) < SEEDS:
            continue
        f['p'] = stats.ttest_1samp(d, 0).pvalue
        f['adjusted'] = min(1.0, m * f['p'])
        if margin > 0:
            # each of the two tests at 0.05/(2 m)
            one = max(stats.ttest_1samp(d, -margin, alternative='greater').pvalue,
                      stats.ttest_1samp(d, margin, alternative='less').pvalue)
            f['eq'] = min(1.0, 2 * m * one)
        f['verdict'] = ('equivalent' if margin > 0 and f['eq'] < LEVEL else
                        'open' if f['adjusted'] >= LEVEL else 'worse' if f['mean'] > 0 else 'better')
    return found
