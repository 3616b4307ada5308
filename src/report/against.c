/* SPDX-License-Identifier: Apache-2.0
 *
 * Which comparisons a report judges. One family is declared before anything is measured
 * (compare.family): every entry against the baseline, every entry against the uniform baseline, or
 * all pairs. Its intervals are simultaneous, so that a report contains a false statement with a
 * probability of 5 % at most; pairs outside the family are described by their difference.
 *
 * An attention with a failed run is not judged: the seeds that it survived are no fair sample. It
 * counts for the level all the same, which must not depend on results.
 */
#include "report/against.h"

#include "report/over_items.h"
#include "statistics/row_variances.h"

#include <math.h>
#include <string.h>

/* ---- the family ---- */

enum oa_family_kind oa_family_kind_of(const struct oa_comparison *k)
{
    if (k->family != OA_FAMILY_AUTO)
        return k->family;
    return k->baseline ? OA_FAMILY_BASELINE : OA_FAMILY_PAIRS;
}

const char *oa_family_name(enum oa_family_kind kind)
{
    static const char *const names[] = { [OA_FAMILY_AUTO] = "auto",
                                         [OA_FAMILY_BASELINE] = "baseline",
                                         [OA_FAMILY_UNIFORM] = "uniform",
                                         [OA_FAMILY_PAIRS] = "pairs" };
    return names[kind];
}

/* What all others are compared with; -1: each is compared with each. */
static int fixed_entry(const struct oa_comparison *k)
{
    enum oa_family_kind kind = oa_family_kind_of(k);
    int uniform = k->count - 1;
    while (uniform >= 0 && !k->entries[uniform].uniform)
        uniform--;
    return kind == OA_FAMILY_BASELINE ? k->baseline - 1 : kind == OA_FAMILY_UNIFORM ? uniform : -1;
}

double oa_family_level(const struct oa_comparison *k)
{
    return k->level > 0 ? k->level : OA_FAMILY_LEVEL;
}

struct oa_number_text oa_percent_text(double share)
{
    struct oa_number_text t = oa_real_rounded(100 * share, 6);
    strcat(t.s, " %");
    return t;
}

int oa_family_size(const struct oa_comparison *k)
{
    bool pairs = oa_family_kind_of(k) == OA_FAMILY_PAIRS;
    return pairs ? k->count * (k->count - 1) / 2 : k->count - 1;
}

bool oa_in_family(const struct oa_comparison *k, int a, int b)
{
    int fixed = fixed_entry(k);
    return a != b && (oa_family_kind_of(k) == OA_FAMILY_PAIRS || a == fixed || b == fixed);
}

int oa_compared_to(const struct oa_comparison *k, const struct oa_summary *s)
{
    return oa_family_kind_of(k) == OA_FAMILY_PAIRS ? s->reference : fixed_entry(k);
}

const struct oa_against *oa_compared_pair(const struct oa_summary *s, int a, int b)
{
    return &s->pairs[a * s->count + b];
}

/* ---- verdicts ---- */

static bool is_at_best(const struct oa_comparison *k, int entry)
{
    for (int i = 0; i < k->seeds; i++) {
        const struct oa_run *r = &k->entries[entry].runs[i];
        if (oa_run_finished(k, r) && oa_run_score(k, r) != oa_compared_measure(k)->best)
            return false;
    }
    return true;
}

/* Without any difference between them two are identical if their losses are the same, too; models
 * that differ may be right equally often. They are equivalent where neither could be better. */
static void judge_equals(const struct oa_comparison *k, struct oa_against *a)
{
    if (a->difference.n > 0 && oa_same_runs(k, a->a, a->b))
        a->verdict = OA_AGAINST_IDENTICAL;
    else if (a->verdict == OA_AGAINST_IDENTICAL && !(is_at_best(k, a->a) && is_at_best(k, a->b)))
        a->verdict = OA_AGAINST_UNJUDGED;
    else if (a->verdict == OA_AGAINST_IDENTICAL && a->difference.n < OA_VERDICT_SEEDS)
        a->verdict = k->sequential ? OA_AGAINST_UNRESOLVED : OA_AGAINST_FEW_SEEDS;
    else if (a->verdict == OA_AGAINST_IDENTICAL)
        a->verdict = OA_AGAINST_EQUIVALENT;
}

/* Where runs fail to learn, an interval within the margin may not show equivalence (solved.h): the
 * verdict is then by the side of 0 that the interval is on. */
static void leave_open(const struct oa_comparison *k, const struct oa_summary *s,
                       struct oa_against *a)
{
    if (a->verdict != OA_AGAINST_EQUIVALENT || !oa_solved_opens(k, &s->solved, a->a, a->b))
        return;
    enum oa_relevance side = oa_relevance_of(a->difference.mean, a->half, 0);
    a->verdict = k->sequential || side == OA_RELEVANCE_OPEN ? OA_AGAINST_UNRESOLVED
                 : side == OA_RELEVANCE_BETTER              ? OA_AGAINST_BETTER
                                                            : OA_AGAINST_WORSE;
}

/* Is the entry a row of the table that variances are estimated from: in the family, with every
 * seed, and not the same model as an entry before it? */
static bool is_table_row(const struct oa_comparison *k, const struct oa_summary *s, int entry)
{
    bool judged = oa_family_kind_of(k) == OA_FAMILY_PAIRS || fixed_entry(k) >= 0;
    return judged && !s->entries[entry].failed && s->entries[entry].made == k->seeds &&
           s->entries[entry].twin < 0;
}

/* variance [entries]: that of each entry in the table, NaN for others. *rows: entries in the table;
 * with fewer than 3 there is no estimate. */
static enum oa_error estimate_variances(oa_context *c, const struct oa_comparison *k,
                                        const struct oa_summary *s, double *variance, int *rows)
{
    double *y = oa_alloc(c, ((size_t)k->count * (size_t)k->seeds + 1) * sizeof *y),
           *of_row = oa_alloc(c, ((size_t)k->count + 1) * sizeof *of_row);
    *rows = 0;
    for (int i = 0; i < k->count && y && of_row; i++) {
        if (!is_table_row(k, s, i))
            continue;
        for (int seed = 0; seed < k->seeds; seed++)
            y[*rows * k->seeds + seed] =
                oa_cost(oa_compared_measure(k), oa_run_score(k, &k->entries[i].runs[seed]));
        ++*rows;
    }
    if (*rows >= 3 && k->seeds >= 2)
        oa_row_variances(y, *rows, k->seeds, of_row);
    for (int i = 0, row = 0; i < k->count && of_row; i++)
        variance[i] = is_table_row(k, s, i) ? of_row[row++] : (double)NAN;
    oa_free(y);
    oa_free(of_row);
    return oa_status(c);
}

/* Standard errors and degrees of freedom of the whole family. From the table where it has at least
 * three rows; an attention that lacks a seed is compared by itself. */
static enum oa_error set_errors(oa_context *c, const struct oa_comparison *k,
                                const struct oa_summary *s, double *scratch,
                                struct oa_against *family, int n)
{
    int rows;
    oa_paired_errors(family, n);
    for (int i = 0; i < n && k->unpaired; i++) {
        struct oa_standard_error e = oa_unpaired_error(k, family[i].a, family[i].b, scratch);
        family[i].se = e.se;
        family[i].df = e.df;
    }
    if (k->unpaired)
        return OA_OK;
    if (k->test != OA_TWO_WAY_ERRORS || k->sequential)
        return OA_OK;
    double *variance = oa_alloc(c, ((size_t)k->count + 1) * sizeof *variance);
    enum oa_error e = variance ? estimate_variances(c, k, s, variance, &rows) : OA_NO_MEMORY;
    for (int i = 0; e == OA_OK && rows >= 3 && i < n; i++) {
        int a = s->entries[family[i].a].twin, b = s->entries[family[i].b].twin;
        double of_a = variance[a < 0 ? family[i].a : a], of_b = variance[b < 0 ? family[i].b : b];
        if (isnan(of_a + of_b) || family[i].difference.n < 2)
            continue;
        struct oa_standard_error own = oa_standard_error_of(of_a, of_b, family[i].difference.n);
        family[i].se = own.se;
        family[i].df = own.df;
    }
    oa_free(variance);
    return e;
}

static int describe_pairs(const struct oa_comparison *k, const struct oa_summary *s,
                          double *scratch, struct oa_against *family, struct oa_against *out)
{
    int n = 0, fixed = fixed_entry(k);
    for (int i = 0; i < s->count; i++)
        for (int j = i; j < s->count; j++) {
            struct oa_against one = oa_against_nothing();
            one.a = i == fixed ? j : i;
            one.b = i == fixed ? i : j;
            one.difference = oa_paired(k, one.a, one.b, s->seeds, scratch);
            out[one.b * s->count + one.a] = oa_against_reversed(one);
            out[one.a * s->count + one.b] = one;
            if (oa_in_family(k, i, j) && !s->entries[i].failed && !s->entries[j].failed)
                family[n++] = one;
        }
    return n;
}

enum oa_error oa_compare_all(oa_context *c, const struct oa_comparison *k,
                             const struct oa_summary *s, struct oa_against *out)
{
    size_t most = (size_t)s->count * (size_t)s->count + 1;
    double *scratch = oa_alloc(c, ((size_t)s->seeds + 1) * sizeof *scratch);
    struct oa_against *family = oa_alloc(c, most * sizeof *family);
    struct oa_family f = { .comparisons = oa_family_size(k),
                           .level = oa_family_level(k),
                           .margin = k->margin,
                           .sequential = k->sequential,
                           .verdict_seeds = OA_VERDICT_SEEDS };
    if (scratch && family) {
        int n = describe_pairs(k, s, scratch, family, out);
        enum oa_error e = set_errors(c, k, s, scratch, family, n);
        if (e == OA_OK && k->random_items)
            e = oa_set_item_errors(c, k, oa_family_level(k) / f.comparisons, family, n);
        if (e == OA_OK)
            oa_family_judge(&f, family, n);
        for (int i = 0; i < n; i++) {
            judge_equals(k, &family[i]);
            leave_open(k, s, &family[i]);
            out[family[i].a * s->count + family[i].b] = family[i];
            out[family[i].b * s->count + family[i].a] = oa_against_reversed(family[i]);
        }
    }
    oa_free(scratch);
    oa_free(family);
    return oa_status(c);
}
