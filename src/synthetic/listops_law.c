/* SPDX-License-Identifier: Apache-2.0 */
#include "synthetic/listops_law.h"
#include "synthetic/synthetic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double enough = 1e200; /* a bound against overflow */

struct length_law {
    double leaf, node, last;
    long arguments, most;
    double *f, *power,
        *next; /* [most + 1], by length; those of the depth below, its powers, a new power */
};

/* next = power * f. Both begin where they are not 0. */
static void convolve(struct length_law *w)
{
    memset(w->next, 0, (size_t)(w->most + 1) * sizeof *w->next);
    for (long i = 1; i <= w->most; i++)
        for (long j = 1; w->f[i] > 0 && j <= w->most - i; j++)
            w->next[i + j] += w->f[i] * w->power[j];
    for (long l = 0; l <= w->most; l++)
        w->next[l] = fmin(w->next[l], enough);
}

/* f of a depth from that of the depth below. */
static void climb(struct length_law *w, double *sum)
{
    memset(sum, 0, (size_t)(w->most + 1) * sizeof *sum);
    memcpy(w->power, w->f, (size_t)(w->most + 1) * sizeof *sum);
    for (long n = 2; n <= w->arguments; n++) {
        convolve(w);
        memcpy(w->power, w->next, (size_t)(w->most + 1) * sizeof *sum);
        for (long l = 0; l + 2 <= w->most; l++)
            sum[l + 2] = fmin(sum[l + 2] + w->node * w->next[l], enough);
    }
    sum[1] = w->leaf;
    memcpy(w->f, sum, (size_t)(w->most + 1) * sizeof *sum);
}

static double sum_outcomes(struct length_law *w, const long *size)
{
    size_t row = (size_t)size[OA_MOST] + 1;
    double *all = calloc(4 * row, sizeof *all), total = all ? 0 : NAN;
    if (!all)
        return total;
    w->arguments = size[OA_ARGUMENTS];
    w->most = size[OA_MOST];
    w->f = all;
    w->power = all + row;
    w->next = all + 2 * row;
    w->f[1] = w->last;
    for (long depth = size[OA_DEPTH] - 1; depth >= 1; depth--)
        climb(w, all + 3 * row);
    for (long l = size[OA_LEAST]; l <= size[OA_MOST]; l++)
        total += w->f[l];
    free(all);
    return total;
}

double oa_listops_share(const long *size)
{
    struct length_law w = { .leaf = 1 - OA_LISTOPS_NODE, .last = 1 };
    w.node = OA_LISTOPS_NODE / (double)(size[OA_ARGUMENTS] - 1);
    return sum_outcomes(&w, size);
}

double oa_listops_trees(const long *size)
{
    return sum_outcomes(
        &(struct length_law){ .leaf = 10, .node = OA_LISTOPS_OPERATORS, .last = 10 }, size);
}
