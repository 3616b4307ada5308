/* SPDX-License-Identifier: Apache-2.0
 * Every form of support against its definition, pair by pair, at random numbers: which pairs are
 * seen, how many they are, and what engines ask so as not to look at each (ranges, intervals, empty
 * and full tiles). The pieces of a union are held by test_sparse.c. */
#include "testing.h"

#include "device/key_sets.h"
#include "device/support_functions.h"

#include <stdlib.h>

enum { LONGEST = 26, BLOCKS = LONGEST, HEADS = 2 };

/* A support with what its definition needs to know; causality is not yet applied. */
struct defined {
    struct oa_support support;
    bool causal;
    long w, d, g, rows, b, l, c;
    unsigned sets[HEADS];
    int32_t layout[HEADS * BLOCKS * BLOCKS];
};

/* ---- definitions ---- */

static bool in_window(const struct defined *t, long steps)
{
    return t->causal ? steps >= 0 && steps < t->w : labs(steps) <= t->w;
}

static bool in_sets(unsigned sets, long l, long c, long i, long j)
{
    long apart = labs(i - j), early = i < j ? i : j;
    return (sets & OA_KEYS_BAND && apart < l) || (sets & OA_KEYS_STRIDED && apart % l == 0) ||
           (sets & OA_KEYS_CELL && i / l == j / l) ||
           (sets & OA_KEYS_SUMMARY && early % l >= l - c);
}

static bool in_pooled(const struct defined *t, long i, long j)
{
    for (long x = i / t->b * t->b; x < i / t->b * t->b + t->b && x < LONGEST; x++)
        for (long y = j / t->b * t->b; y < j / t->b * t->b + t->b && y < LONGEST; y++)
            if (in_sets(t->sets[0], t->l, 1, x, y))
                return true;
    return false;
}

static bool holds(const struct defined *t, long head, long i, long j)
{
    switch (t->support.form) {
    case OA_SUPPORT_ALL:
        return true;
    case OA_SUPPORT_WINDOW:
        return in_window(t, i - j);
    case OA_SUPPORT_DILATED:
        return (i - j) % t->d == 0 && in_window(t, (i - j) / t->d);
    case OA_SUPPORT_GLOBAL:
        return i < t->g ? t->rows : j < t->g || in_window(t, i - j);
    case OA_SUPPORT_BLOCKS:
        return i / t->b == j / t->b;
    case OA_SUPPORT_LAYOUT:
        return t->layout[(head * BLOCKS + i / t->b) * BLOCKS + j / t->b];
    case OA_SUPPORT_POOLED:
        return in_pooled(t, i, j);
    case OA_SUPPORT_KEY_SETS:
        return in_sets(t->sets[head], t->l, t->c, i, j);
    default:
        fail_msg("form %d is not defined here", (int)t->support.form);
        return false;
    }
}

/* ---- drawing ---- */

static long draw(struct oa_stream s, uint64_t at, long low, long high)
{
    return low + (long)oa_random_below(s, at, (uint64_t)(high - low + 1));
}

static void make_sets(struct defined *t, struct oa_stream s)
{
    bool fixed = draw(s, 10, 0, 1), split = draw(s, 11, 0, 1);
    unsigned near = fixed ? OA_KEYS_CELL : OA_KEYS_BAND,
             far = fixed ? OA_KEYS_SUMMARY : OA_KEYS_STRIDED;
    t->support = oa_support_sparse(fixed, t->l, t->c, split);
    t->sets[0] = split ? near : near | far;
    t->sets[1] = split ? far : near | far;
    t->c = t->c < t->l ? t->c : t->l;
}

static void make_pooled(struct defined *t, struct oa_stream s)
{
    bool fixed = draw(s, 12, 0, 1);
    if (draw(s, 13, 0, 1)) {
        t->support = oa_support_pooled_local(t->b, LONGEST, t->w, t->causal);
        t->sets[0] = OA_KEYS_BAND;
        t->l = t->causal ? t->w : t->w + 1;
    } else {
        t->support = oa_support_pooled_sparse(t->b, LONGEST, fixed);
        t->sets[0] = fixed ? OA_KEYS_CELL | OA_KEYS_SUMMARY : OA_KEYS_BAND | OA_KEYS_STRIDED;
        t->l = 6; /* ⌈√26⌉ */
    }
}

static void make(struct defined *t, enum oa_support_form form, struct oa_stream s)
{
    *t = (struct defined){
        .causal = draw(s, 0, 0, 1), .w = draw(s, 1, 1, 7), .d = 1, .g = draw(s, 2, 0, 5)
    };
    t->rows = draw(s, 3, 0, 1);
    t->b = draw(s, 4, 1, 6);
    t->l = draw(s, 5, 1, 8);
    t->c = draw(s, 6, 1, 4);
    for (long i = 0; i < HEADS * BLOCKS * BLOCKS; i++)
        t->layout[i] = (int32_t)draw(s, 100 + (uint64_t)i, 0, 1);
    if (form == OA_SUPPORT_WINDOW || form == OA_SUPPORT_DILATED)
        t->support =
            oa_support_local(t->w, t->d = form == OA_SUPPORT_DILATED ? draw(s, 7, 2, 4) : 1);
    if (form == OA_SUPPORT_GLOBAL)
        t->support = oa_support_longformer(t->w, t->g, t->rows);
    if (form == OA_SUPPORT_BLOCKS)
        t->support = oa_support_blocks(t->b);
    if (form == OA_SUPPORT_LAYOUT)
        t->support = oa_support_layout(t->b, BLOCKS, BLOCKS, t->layout);
    if (form == OA_SUPPORT_POOLED)
        make_pooled(t, s);
    if (form == OA_SUPPORT_KEY_SETS)
        make_sets(t, s);
    assert_int_equal(t->support.form, form);
}

/* ---- comparing ---- */

/* Causality and padding come on top of a support: a key ahead is nobody's question. */
static bool asked(const struct defined *t, long i, long j)
{
    return !t->causal || j <= i;
}

static void check_pairs(const struct defined *t, const struct oa_attention_shape *a, long head)
{
    double pairs = 0;
    for (long i = a->first; i < a->first + a->queries; i++)
        for (long j = 0; j < a->keys; j++)
            if (asked(t, i, j)) {
                bool seen = holds(t, head, i, j);
                pairs += seen;
                if (oa_support_visible(&t->support, a, head, i, j) != seen)
                    fail_msg("form %d, head %ld: pair (%ld, %ld) is %sseen", (int)t->support.form,
                             head, i, j, seen ? "not " : "");
            }
    if (oa_support_pairs(&t->support, a, head) != pairs)
        fail_msg("form %d: %g pairs, not %g", (int)t->support.form,
                 oa_support_pairs(&t->support, a, head), pairs);
}

static void check_rows(const struct defined *t, const struct oa_attention_shape *a, long head)
{
    const struct oa_support_functions *f = oa_support_functions_of(&t->support);
    for (long i = 0; f && f->row && i < a->queries; i++) {
        long low, high;
        f->row(&t->support, a, head, i, &low, &high);
        for (long j = 0; j < a->keys; j++)
            if (asked(t, i, j))
                assert_int_equal(j >= low && j < high, holds(t, head, i, j));
    }
}

/* Keys that are said to be alike are. */
static void check_alike(const struct defined *t, const struct oa_attention_shape *a, long head)
{
    const struct oa_support_functions *f = oa_support_functions_of(&t->support);
    for (long i = 0; f && f->alike && i < a->queries; i++)
        for (long j = 0; j < a->keys; j++) {
            long last = j + 1 + (i + j) % (a->keys - j),
                 end = f->alike(&t->support, a, head, i, j, last);
            assert_true(end > j && end <= last);
            for (long k = j; k < end; k++)
                if (asked(t, i, k))
                    assert_int_equal(holds(t, head, i, k), holds(t, head, i, j));
        }
}

static void check_tile(const struct defined *t, const struct oa_attention_shape *a, long head,
                       const long at[4])
{
    const struct oa_support_functions *f = oa_support_functions_of(&t->support);
    bool any = false, all = true;
    long low, high;
    f->range(&t->support, a, head, at[0], at[1], &low, &high);
    for (long i = at[0]; i < at[1]; i++)
        for (long j = 0; j < a->keys; j++) {
            bool seen = asked(t, i, j) && holds(t, head, i, j), inside = j >= at[2] && j < at[3];
            assert_true(!seen || (j >= low && j < high));
            any |= inside && seen;
            all &= !inside || seen || !asked(t, i, j);
        }
    if (f->empty && f->empty(&t->support, a, head, at[0], at[1], at[2], at[3]))
        assert_false(any);
    if (f->full && f->full(&t->support, a, head, at[0], at[1], at[2], at[3]))
        assert_true(all);
}

static void every_form_is_its_definition(void **state)
{
    (void)state;
    static struct defined t;
    struct oa_stream stream = oa_stream_named(1, "supports");
    for (uint64_t r = 0; r < 400 * OA_SUPPORT_NEAR; r++) { /* the forms behind are pieces */
        struct oa_stream s = oa_stream_child(stream, r);
        long n = draw(s, 20, 1, LONGEST), head = draw(s, 21, 0, 1), at[4];
        make(&t, (enum oa_support_form)(r % OA_SUPPORT_NEAR), s);
        struct oa_attention_shape a = {
            .batch = 1, .queries = n, .keys = n, .heads = 2, .causal = t.causal
        };
        check_pairs(&t, &a, head);
        struct oa_attention_shape behind = a;
        behind.first = draw(s, 30, 0, n - 1);
        behind.queries = n - behind.first;
        check_pairs(&t, &behind, head);
        check_rows(&t, &a, head);
        check_alike(&t, &a, head);
        for (int side = 0; side < 4; side += 2) {
            at[side] = draw(s, 22 + (uint64_t)side, 0, n - 1);
            at[side + 1] = draw(s, 23 + (uint64_t)side, at[side] + 1, n);
        }
        if (t.support.form != OA_SUPPORT_ALL)
            check_tile(&t, &a, head, at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_form_is_its_definition) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
