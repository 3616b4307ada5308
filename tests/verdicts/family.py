# SPDX-License-Identifier: Apache-2.0
# Families of comparisons as test_verdicts.c and others expect them, without any of the program: paired t tests and two
# one-sided tests by scipy, Holm's correction by statsmodels' definition, written out here, intervals by scipy.
# Versions that made the stored numbers: numpy 2, scipy 1.17.1.
import numpy as np
from scipy import stats

LEVEL = 0.05


def holm(p):
    """adjusted p and the level at which each was judged: of what is not rejected, that of the step that ended it"""
    order, m = np.argsort(p, kind='stable'), len(p)
    adjusted, judged, largest, ended = np.empty(m), np.empty(m), 0.0, None
    for step, i in enumerate(order):
        largest = max(largest, min(1.0, (m - step) * p[i]))
        adjusted[i] = largest
        if largest >= LEVEL and ended is None:
            ended = LEVEL / (m - step)
        judged[i] = ended if ended is not None else LEVEL / (m - step)
    return adjusted, judged


def half(d, level):
    low, high = stats.t.interval(1 - level, len(d) - 1, np.mean(d), stats.sem(d))
    return (high - low) / 2


def family(differences, margin=0.0):
    """differences of costs, an array of each comparison -> a dict of each: verdict, mean, half, level, p, holm, eq"""
    p = np.array([stats.ttest_1samp(d, 0).pvalue for d in differences])
    adjusted, judged = holm(p)
    found = [dict(mean=np.mean(d), sd=np.std(d, ddof=1), p=p[i], holm=adjusted[i], level=judged[i], eq=np.nan,
                  verdict='open') for i, d in enumerate(differences)]
    if margin > 0:
        eq = np.array([max(stats.ttest_1samp(d, -margin, alternative='greater').pvalue,
                           stats.ttest_1samp(d, margin, alternative='less').pvalue) for d in differences])
        eq_adjusted, eq_judged = holm(eq)
    for i, f in enumerate(found):
        if margin > 0:
            f['eq'] = eq_adjusted[i]
        if margin > 0 and f['eq'] < LEVEL:
            f['verdict'], f['level'] = 'equivalent', 2 * eq_judged[i]
        elif f['holm'] < LEVEL:
            f['verdict'] = 'worse' if f['mean'] > 0 else 'better'
        elif margin > 0:
            f['level'] = min(f['level'], 2 * eq_judged[i])
        f['half'] = half(differences[i], f['level'])
    return found
