/* SPDX-License-Identifier: Apache-2.0 */
#include "report/over_items.h"

#include <math.h>
#include <string.h>

/* ---- the items of runs ---- */

static bool both_finished(const struct oa_comparison *k, int a, int b, int seed)
{
    return oa_run_finished(k, &k->entries[a].runs[seed]) &&
           oa_run_finished(k, &k->entries[b].runs[seed]);
}

static bool same_targets(const struct oa_items *x, const struct oa_items *y, int measure)
{
    if (x->count != y->count || x->text != y->text)
        return false;
    for (long i = 0; i < x->count; i++)
        if (x->measured[measure][i].targets != y->measured[measure][i].targets)
            return false;
    return true;
}

/* The first run of the pair that has items gives the targets that all must have. */
static enum oa_items_state pair_state(const struct oa_comparison *k, int a, int b, int *seeds,
                                      const struct oa_items **first)
{
    *first = NULL;
    *seeds = 0;
    for (int s = 0; s < k->seeds; s++) {
        if (!both_finished(k, a, b, s))
            continue;
        for (int side = 0; side < 2; side++) {
            const struct oa_items *x = &k->entries[side ? b : a].runs[s].items;
            enum oa_items_state state = x->measured[k->metric] ? OA_ITEMS_KNOWN
                                        : x->count             ? OA_ITEMS_NO_MEAN
                                                               : OA_ITEMS_MISSING;
            if (state != OA_ITEMS_KNOWN)
                return state;
            *first = *first ? *first : x;
            if (!same_targets(*first, x, k->metric))
                return OA_ITEMS_UNLIKE;
        }
        ++*seeds;
    }
    return *seeds > 1 ? OA_ITEMS_KNOWN : OA_ITEMS_ONE;
}

/* ---- blocks ---- */

static long last_used(const struct oa_items *x, int measure)
{
    long n = x->count;
    while (n && x->measured[measure][n - 1].targets == 0)
        n--;
    return n;
}

static void add_merged(const struct oa_items *x, int measure, long merged, double factor,
                       double *sums, double *targets)
{
    for (long i = 0; i < last_used(x, measure); i++) {
        const struct oa_item *item = &x->measured[measure][i];
        sums[i / merged] += factor * item->sum;
        if (targets)
            targets[i / merged] += item->targets;
    }
}

static enum oa_error cross_items(oa_context *c, const struct oa_comparison *k, int a, int b,
                                 int seeds, const struct oa_items *first, struct oa_crossed *out)
{
    long used = last_used(first, k->metric),
         merged = first->text ? oa_max(1, used / OA_MERGED_BLOCKS) : 1,
         count = oa_blocks(used, merged);
    double *sums = oa_alloc(c, ((size_t)seeds * (size_t)count + 1) * sizeof *sums),
           *targets = oa_alloc(c, ((size_t)count + 1) * sizeof *targets);
    double sign = oa_compared_measure(k)->higher ? -1 : 1;
    enum oa_error e = sums && targets ? OA_OK : OA_NO_MEMORY;
    for (int s = 0, n = 0; s < k->seeds && e == OA_OK; s++) {
        if (!both_finished(k, a, b, s))
            continue;
        double *row = sums + n * count;
        add_merged(&k->entries[a].runs[s].items, k->metric, merged, sign, row, n ? NULL : targets);
        add_merged(&k->entries[b].runs[s].items, k->metric, merged, -sign, row, NULL);
        n++;
    }
    if (e == OA_OK)
        e = oa_crossed_of(c, sums, targets, seeds, count, out);
    oa_free(sums);
    oa_free(targets);
    return e;
}

enum oa_error oa_over_items_of(oa_context *c, const struct oa_comparison *k, int a, int b,
                               struct oa_over_items *out)
{
    const struct oa_items *first;
    int seeds;
    *out = (struct oa_over_items){ .state = pair_state(k, a, b, &seeds, &first) };
    if (out->state != OA_ITEMS_KNOWN)
        return OA_OK;
    out->text = first->text;
    OA_TRY(cross_items(c, k, a, b, seeds, first, &out->of));
    if (out->of.items < 2)
        out->state = OA_ITEMS_ONE;
    return OA_OK;
}

struct oa_item_halves oa_item_halves_of(const struct oa_comparison *k, const struct oa_against *a,
                                        struct oa_over_items *x)
{
    struct oa_item_halves h = { a->level, NAN, NAN };
    double se = k->random_items ? a->seeds_se : a->se, df = k->random_items ? a->seeds_df : a->df;
    if (!isfinite(a->level) || k->sequential || !isfinite(se))
        return h;
    h.seeds = oa_t_quantile(1 - a->level / 2, df) * se;
    if (x->state != OA_ITEMS_KNOWN)
        return h;
    oa_crossed_set_seeds(&x->of, se, df);
    oa_crossed_error(&x->of, a->level, &se, &df);
    h.both = oa_t_quantile(1 - a->level / 2, df) * se;
    return h;
}

enum oa_error oa_set_item_errors(oa_context *c, const struct oa_comparison *k, double level,
                                 struct oa_against *a, int n)
{
    for (int i = 0; i < n; i++) {
        struct oa_over_items x;
        OA_TRY(oa_over_items_of(c, k, a[i].a, a[i].b, &x));
        a[i].seeds_se = a[i].se;
        a[i].seeds_df = a[i].df;
        a[i].se = a[i].df = NAN;
        if (x.state != OA_ITEMS_KNOWN)
            continue;
        oa_crossed_set_seeds(&x.of, a[i].seeds_se, a[i].seeds_df);
        oa_crossed_error(&x.of, level, &a[i].se, &a[i].df);
        a[i].constant = fmax(x.of.item - x.of.interaction, 0);
    }
    return OA_OK;
}

void oa_add_items(const struct oa_over_items *x, struct oa_text *out)
{
    oa_text_printf(out, "%ld %s", x->of.items,
                   x->text ? "blocks of the validation text" : "validation examples");
}
