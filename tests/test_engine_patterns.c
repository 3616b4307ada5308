/* SPDX-License-Identifier: Apache-2.0
 *
 * Fixed patterns against their formulas, with every edge, words and padding, and at lengths where
 * cubes are large.
 */
#include "engines.h"

/* ---- weights by the formulas
 * ------------------------------------------------------------------------------------- */

/* Weight of unit j for unit i of n, by the formulas. */
static double pattern_weight(enum oa_pattern_kind p, bool causal, long n, long i, long j)
{
    double sum = 0, m = (double)(causal ? i + 1 : n);
    switch (p) {
    case OA_PATTERN_CURRENT:
        return j == i;
    case OA_PATTERN_PREVIOUS:
        return j == i - 1;
    case OA_PATTERN_NEXT:
        return j == i + 1;
    case OA_PATTERN_LAST:
        return j == n - 1;
    case OA_PATTERN_LEFT:
        for (long l = 0; l <= i - 2; l++)
            sum += pow((double)(l + 1), 3);
        return j <= i - 2 ? pow((double)(j + 1), 3) / sum : 0;
    case OA_PATTERN_RIGHT:
        for (long l = i + 2; l < n; l++)
            sum += pow((double)(n - l), 3);
        return j >= i + 2 ? pow((double)(n - j), 3) / sum : 0;
    case OA_PATTERN_END:
        return pow((double)(j + 1), 3) / pow((double)n * (double)(n + 1) / 2, 2);
    case OA_PATTERN_START:
        return (double)j < m ? pow(m - (double)j, 3) / pow(m * (m + 1) / 2, 2) : 0;
    }
    return 0;
}

static double pattern_with_edges(const struct oa_pattern_attention *a, long n, long i, long j)
{
    bool right = a->pattern == OA_PATTERN_NEXT || a->pattern == OA_PATTERN_RIGHT;
    double sum = 0;
    for (long l = 0; l < n; l++)
        sum += pattern_weight(a->pattern, a->shape.causal, n, i, l);
    if (sum > 0 || a->edge == OA_EDGE_ZERO)
        return pattern_weight(a->pattern, a->shape.causal, n, i, j);
    return j == (a->edge == OA_EDGE_SELF ? i : right ? n - 1 : 0);
}

/* Words of 1, 2, 3, 1, 2, 3 … tokens. */
static long word_of(long i)
{
    static const long starts[] = { 0, 1, 1, 2, 2, 2 };
    return i / 6 * 3 + starts[i % 6];
}

static long tokens_of_word(long w, long length)
{
    long count = 0;
    for (long i = 0; i < length; i++)
        count += word_of(i) == w;
    return count;
}

static double token_weight(const struct oa_pattern_attention *a, long length, long i, long j)
{
    if (!a->words)
        return pattern_with_edges(a, length, i, j);
    long n = word_of(length - 1) + 1;
    return pattern_with_edges(a, n, word_of(i), word_of(j)) /
           (double)tokens_of_word(word_of(j), length);
}

/* ---- a case, its tensors
 * ----------------------------------------------------------------------------------------- */

struct pattern_run {
    struct oa_pattern_attention a;
    struct oa_device *d;
    int32_t lengths[4], *words;
    struct tensor v, dv, o, d_o, want_o, want_dv;
};

static void want_pattern(struct pattern_run *r, long b, long length)
{
    long n = r->a.shape.keys, v = r->a.shape.value_width, heads = r->a.shape.heads;
    for (long i = 0; i < length; i++)
        for (long j = 0; j < length; j++) {
            double w = token_weight(&r->a, length, i, j);
            for (long e = 0; e < heads * v && w != 0; e++) {
                long row = (b * n + i) * r->a.ldo + e, col = (b * n + j) * r->a.ldv + e;
                r->want_o.value[row] += w * r->v.value[col];
                r->want_dv.value[col] += w * r->d_o.value[row];
            }
        }
}

static void make_pattern(struct pattern_run *r, long n, enum oa_precision p,
                         enum oa_pattern_kind pattern, enum oa_edge edge, bool causal, bool words)
{
    *r = (struct pattern_run){ .d = devices[p] };
    long lengths[] = { n, 0, n * 2 / 3, 1 }, heads = 2, width = 3, ld = heads * width + SPARE;
    draws = 77;
    r->words = malloc(sizeof *r->words * (size_t)(4 * n));
    for (long b = 0; b < 4; b++) {
        r->lengths[b] = (int32_t)(lengths[b] < n ? lengths[b] : n);
        for (long i = 0; i < n; i++)
            r->words[b * n + i] = i < lengths[b] ? (int32_t)word_of(i) : -77;
    }
    r->v = drawn(4 * n * ld, r->d->numbers.act, 1);
    r->d_o = drawn(4 * n * ld, r->d->numbers.act, 1);
    poison(&r->v, ld, n, r->lengths, 4);
    poison(&r->d_o, ld, n, r->lengths, 4);
    r->o = zeros_like(&r->d_o, NAN);
    r->dv = zeros_like(&r->v, NAN);
    r->want_o = want_rows(&r->o);
    r->want_dv = want_rows(&r->dv);
    r->a = (struct oa_pattern_attention){ .shape = { .batch = 4,
                                                     .queries = n,
                                                     .keys = n,
                                                     .heads = heads,
                                                     .value_width = width,
                                                     .causal = causal,
                                                     .key_lengths = r->lengths,
                                                     .query_lengths = r->lengths },
                                          .pattern = pattern,
                                          .edge = edge,
                                          .words = words ? r->words : NULL,
                                          .v = r->v.data,
                                          .ldv = ld,
                                          .dv = r->dv.data,
                                          .o = r->o.data,
                                          .ldo = ld,
                                          .d_o = r->d_o.data };
}

static void drop_pattern(struct pattern_run *r)
{
    for (struct tensor *t = &r->v; t <= &r->want_dv; t++)
        drop(t);
    free(r->words);
}

/* ---- comparing
 * ---------------------------------------------------------------------------------------------------
 */

static void check_pattern(struct pattern_run *r, const char *what, struct tensor *got,
                          const struct tensor *want)
{
    for (long i = 0; i < got->n; i++)
        if (i % r->a.ldo >= r->a.ldo - SPARE) {
            assert_true(isnan(get(got, i)));
            put(got, i, 0);
        }
    double error = distance(got, want, &r->d_o);
    if (!(error <= tolerance(r->d->numbers.precision)))
        fail_msg("%s: pattern %d edge %d%s%s n %ld: %s is off by %g",
                 oa_precision_name(r->d->numbers.precision), r->a.pattern, r->a.edge,
                 r->a.shape.causal ? " causal" : "", r->a.words ? " words" : "", r->a.shape.keys,
                 what, error);
}

static void run_pattern(long n, enum oa_precision p, enum oa_pattern_kind pattern,
                        enum oa_edge edge, bool causal, bool words)
{
    struct pattern_run r;
    make_pattern(&r, n, p, pattern, edge, causal, words);
    for (long b = 0; b < 4; b++)
        want_pattern(&r, b, r.lengths[b]);
    r.d->ops->pattern(r.d, &r.a);
    r.d->ops->pattern_gradient(r.d, &r.a);
    check_pattern(&r, "o", &r.o, &r.want_o);
    check_pattern(&r, "dv", &r.dv, &r.want_dv);
    drop_pattern(&r);
}

/* ---- tests
 * -------------------------------------------------------------------------------------------------------
 */

static bool has_causal_form(enum oa_pattern_kind p)
{
    return p == OA_PATTERN_CURRENT || p == OA_PATTERN_PREVIOUS || p == OA_PATTERN_LEFT ||
           p == OA_PATTERN_START;
}

static void patterns_are_their_definition(void **state)
{
    static const long lengths[] = { 1, 2, 3, 7, 40 };
    (void)state;
    for (int l = 0; l < 5; l++)
        for (int p = 0; p < 3; p++)
            for (int pattern = 0; pattern <= OA_PATTERN_LAST; pattern++)
                for (int edge = 0; edge < 3; edge++)
                    for (int flags = 0; flags < 4; flags++)
                        if (!(flags & 1) || has_causal_form((enum oa_pattern_kind)pattern))
                            run_pattern(lengths[l], (enum oa_precision)p,
                                        (enum oa_pattern_kind)pattern, (enum oa_edge)edge,
                                        flags & 1, flags & 2);
}

/* Long sequences: cubic weights reach 7·10¹⁰, in f32 the causal start must still be right. */
static void long_patterns_stay_accurate(void **state)
{
    enum { N = 4096 };
    (void)state;
    struct pattern_run r;
    make_pattern(&r, N, OA_PRECISION_F32, OA_PATTERN_START, OA_EDGE_ZERO, true, false);
    r.d->ops->pattern(r.d, &r.a);
    r.d->ops->pattern_gradient(r.d, &r.a);
    for (long i = 0; i < N; i += 455)
        for (long e = 0; e < 6; e++) {
            double o = 0, dv = 0, scale = 0;
            for (long j = 0; j < N; j++) {
                double z = pow((double)(j + 1) * (double)(j + 2) / 2, 2),
                       w = pow((double)(labs(i - j) + 1), 3);
                if (j <= i)
                    o += w / pow((double)(i + 1) * (double)(i + 2) / 2, 2) *
                         r.v.value[j * r.a.ldv + e];
                if (j >= i)
                    dv += w / z * r.d_o.value[j * r.a.ldo + e];
                scale += j >= i ? w / z : 0;
            }
            assert_true(fabs(get(&r.o, i * r.a.ldo + e) - o) <= 1e-7 + 1e-6 * fabs(o));
            assert_true(fabs(get(&r.dv, i * r.a.ldv + e) - dv) <= 1e-6 * scale);
        }
    drop_pattern(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_are_their_definition),
        cmocka_unit_test(long_patterns_stay_accurate),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
