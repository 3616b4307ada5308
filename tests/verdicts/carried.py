# SPDX-License-Identifier: Apache-2.0
# Makes carried.h: a comparison in which no two fields are equal, and what reports of it must say, by numpy, scipy and
# family.py. `python3 carried.py >carried.h`; made with numpy 2 and scipy 1.17.1.
# Five attentions, five seeds: one run of "random" diverged, the uniform baseline has three runs. Baseline: "softmax".
import numpy as np
from scipy import stats
from family import family, half

NAMES = ['softmax', 'linear', 'local(window=64)', 'random', 'uniform baseline']
LOSSES = np.array([[1.6377, 1.6391, 1.6325, 1.6602, 1.6299],
                   [1.6411, 1.6502, 1.6387, 1.6620, 1.6455],
                   [1.6371, 1.6390, 1.6322, 1.6579, 1.6298],
                   [1.6901, 1.7188, np.nan, 1.7094, 1.6733],
                   [1.7601, 1.7700, 1.7475, np.nan, np.nan]])
MARGIN = 0.004
N, SEEDS = LOSSES.shape
diverged = (3, 2)
made = [5, 5, 5, 5, 3]
FIELDS = ['steps', 'tokens', 'seconds', 'processor_seconds', 'seconds_per_step', 'tokens_per_second', 'flops',
          'flops_per_step', 'peak_memory', 'bits_per_character', 'bits_per_byte']
BASE = [2100, 1.23e6, 41.7, 73.1, 0.0173, 43100, 3.31e12, 1.57e9, 29.3 * 2**20, 2.31, 2.19]
run = {f: np.array([[b * (1 + 0.11 * i + 0.0031 * r + 0.00017 * j) for r in range(SEEDS)] for i in range(N)])
       for j, (f, b) in enumerate(zip(FIELDS, BASE))}
run['steps'] = np.round(run['steps'])
trainable = [812032 + 1009 * i for i in range(N)]
frozen = [13107 + 773 * i for i in range(N)]
there = ~np.isnan(LOSSES)
# a point every 100 steps from 0: training and validation losses of every run, also of the one that diverged
POINTS = 3
valid = np.array([[[LOSSES[i, r] if there[i, r] and p == 2 else 3.9 - 0.9 * p + 0.07 * i + 0.013 * r + 0.0007 * p
                    for p in range(POINTS)] for r in range(SEEDS)] for i in range(N)])
train = valid - 0.21
elapsed = np.array([[[7.3 * p * (1 + 0.05 * i) + 0.3 * r for p in range(POINTS)] for r in range(SEEDS)]
                    for i in range(N)])


def over(i, x):
    return x[i][there[i]]


def paired(a, b):
    both = there[a] & there[b]
    return LOSSES[a, both] - LOSSES[b, both]


contenders = [i for i in range(3)]          # without failures
reference = min(contenders, key=lambda i: np.mean(LOSSES[i]))
COMPARED = [1, 2, 4]                        # judged; of N - 1 comparisons, what failed included
to_baseline = {i: f for i, f in zip(COMPARED, family([paired(i, 0) for i in COMPARED], N - 1, MARGIN))}
PAIRS = [(a, b) for a in range(N) for b in range(a + 1, N) if 3 not in (a, b)]
pairs = {p: f for p, f in zip(PAIRS, family([paired(a, b) for a, b in PAIRS], N * (N - 1) // 2, MARGIN))}


def power(n, d, level):
    c = stats.t.ppf(1 - level / 2, n - 1)
    return stats.nct.sf(c, n - 1, d * np.sqrt(n)) + stats.nct.cdf(-c, n - 1, d * np.sqrt(n))


def seeds_needed(f):
    return next((n for n in range(2, 1001) if power(n, abs(f['mean']) / f['sd'], f['level']) >= 0.8), 1001)


# the uniform baseline, adjusted for the seeds that it lacks: seeds by the contenders that have all of them
luck = LOSSES[contenders].mean(axis=0)
adjusted_uniform = np.mean(over(4, LOSSES) - (luck - luck.mean())[there[4]])


def c(x):
    return 'NAN' if x is None or (isinstance(x, float) and np.isnan(x)) else repr(float(x))


def row(xs):
    return '{ ' + ', '.join(c(x) for x in xs) + ' }'


def judged(f):
    words = {'open': 'no significant difference', None: ''}
    if f is None:
        return '{ NULL, NAN, NAN, NAN, NAN }'
    return '{ "%s", %s, %s, %s, %s }' % (words.get(f['verdict'], f['verdict']), c(f['mean']), c(f['half']),
                                         c(f['level']), c(f['eq'] if f['verdict'] == 'equivalent' else f['adjusted']))


print('/* SPDX-License-Identifier: Apache-2.0')
print(' * Made by carried.py: a comparison in which no two fields are equal, and what is true of it. */')
print('#ifndef CARRIED_H\n#define CARRIED_H\n')
print('#include <math.h>\n#include <stddef.h>\n')
print('enum { CARRIED = %d, CARRIED_SEEDS = %d, CARRIED_POINTS = %d };' % (N, SEEDS, POINTS))
print('static const double carried_margin = %s;' % c(MARGIN))
print('static const char *const carried_names[CARRIED] = { %s };' % ', '.join('"%s"' % n for n in NAMES))
print('static const int carried_made[CARRIED] = { %s };' % ', '.join(map(str, made)))
print('static const double carried_parameters[CARRIED][2] = { %s };' % ', '.join(map(row, zip(trainable, frozen))))
print('static const double carried_losses[CARRIED][CARRIED_SEEDS] = { %s };' % ', '.join(map(row, LOSSES)))
for f in FIELDS:
    print('static const double carried_%s[CARRIED][CARRIED_SEEDS] = { %s };' % (f, ', '.join(map(row, run[f]))))
for name, x in (('valid', valid), ('train', train), ('elapsed', elapsed)):
    print('static const double carried_%s[CARRIED][CARRIED_SEEDS][CARRIED_POINTS] = { %s };' % (
        name, ', '.join('{ ' + ', '.join(map(row, e)) + ' }' for e in x)))
print('\n/* ---- what is true ---- */\n')
print('static const int carried_reference = %d;' % reference)
print('/* Means over the runs that finished, in the order of the fields above. */')
print('static const double carried_means[CARRIED][%d] = { %s };' % (
    len(FIELDS), ', '.join(row([np.mean(over(i, run[f])) for f in FIELDS]) for i in range(N))))
print('static const double carried_loss[CARRIED][2] = { %s }; /* mean, half of the 95 %% interval */' % ', '.join(
    row([np.mean(over(i, LOSSES)), half(over(i, LOSSES), 0.05)]) for i in range(N)))
print('static const double carried_adjusted_uniform = %s;' % c(adjusted_uniform))
print('static const double carried_percent[CARRIED] = %s; /* to the reference, of its loss on the same seeds */' % row(
    [100 * np.mean(paired(i, reference)) / np.mean(LOSSES[reference, there[i] & there[reference]]) for i in range(N)]))
print('static const double carried_difference[CARRIED] = %s; /* the same, in the unit of the loss */' % row(
    [np.mean(paired(i, reference)) for i in range(N)]))
print('struct carried_judged {\n    const char *verdict;\n    double mean, half, level, p;\n};')
print('/* In the family of comparisons with the baseline. */')
print('static const struct carried_judged carried_to_baseline[CARRIED] = { %s };' % (
    ', '.join(judged(to_baseline.get(i)) for i in range(N))))
print('/* In the family of all pairs: 0 1, 0 2, 0 4, 1 2, 1 4, 2 4. */')
print('enum { CARRIED_PAIRS = %d };' % len(PAIRS))
print('static const int carried_pair[CARRIED_PAIRS][2] = { %s };' % ', '.join('{ %d, %d }' % p for p in PAIRS))
print('static const struct carried_judged carried_pairs[CARRIED_PAIRS] = { %s };' % ', '.join(
    judged(pairs[p]) for p in PAIRS))
print('static const double carried_to_uniform[CARRIED] = %s; /* described */' % row(
    [np.mean(paired(i, 4)) for i in range(N)]))
print('static const int carried_seeds_needed[CARRIED] = { %s }; /* at the adjusted level; 0: decided */' % ', '.join(
    str(seeds_needed(to_baseline[i]) if i in to_baseline and to_baseline[i]['verdict'] == 'open' else 0)
    for i in range(N)))
print('/* Mean validation losses at each point over the runs that did not fail. */')
print('static const double carried_curve[CARRIED][CARRIED_POINTS] = { %s };' % ', '.join(
    row([np.mean(valid[i][there[i]][:, p]) for p in range(POINTS)]) for i in range(N)))
print('\n#endif')
