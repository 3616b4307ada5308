/* SPDX-License-Identifier: Apache-2.0
 *
 * Linear attention against plain loops in double: outputs and gradients over sizes, denominators
 * and scales of keys; gradients in f64 also against central differences; and the same bits for any
 * number of threads.
 */
#include "engines.h"

/* ---- a case, its tensors
 * ----------------------------------------------------------------------------------------- */

struct linear_case {
    long batch, queries, keys, heads, features, value_width;
    bool causal, lengths, positive;
    bool scaled;       /* keys have logarithmic scales, which rise and fall over 200 */
    bool full_queries; /* with lengths: only keys are padded */
    enum oa_denominator policy;
    double epsilon;
};

struct linear_run {
    const struct linear_case *c;
    struct oa_device *d;
    struct oa_linear_attention a;
    int32_t lengths[8];
    struct tensor fq, fk, v, o, d_o, den, dfq, dfk, dv, scale;
    struct tensor want_o, want_dfq, want_dfk, want_dv;
};

static struct tensor linear_rows(const struct linear_run *r, long length, long width,
                                 const int32_t *lengths, bool positive)
{
    long ld = r->c->heads * width + SPARE;
    struct tensor t = drawn(r->c->batch * length * ld, r->d->numbers.act, 1);
    for (long i = 0; i < t.n && positive; i++)
        set(&t, i, 0.25 + fabs(t.value[i])); /* dφ grows as 1/φ */
    poison(&t, ld, length, lengths, r->c->batch);
    return t;
}

static void make_linear(struct linear_run *r, const struct linear_case *c, struct oa_device *d)
{
    *r = (struct linear_run){ .c = c, .d = d };
    draws = 1000;
    r->a.shape = (struct oa_attention_shape){ .batch = c->batch,
                                              .queries = c->queries,
                                              .keys = c->keys,
                                              .heads = c->heads,
                                              .value_width = c->value_width,
                                              .causal = c->causal };
    if (c->lengths) {
        for (long b = 0; b < c->batch; b++)
            r->lengths[b] = (int32_t)(c->keys * (3 - b % 4) / 3);
        r->a.shape.key_lengths = r->lengths;
        r->a.shape.query_lengths = c->queries == c->keys && !c->full_queries ? r->lengths : NULL;
    }
    const int32_t *queries = r->a.shape.query_lengths, *keys = r->a.shape.key_lengths;
    r->fq = linear_rows(r, c->queries, c->features, queries, c->positive);
    r->fk = linear_rows(r, c->keys, c->features, keys, c->positive);
    r->v = linear_rows(r, c->keys, c->value_width, keys, false);
    r->d_o = linear_rows(r, c->queries, c->value_width, queries, false);
    r->o = zeros_like(&r->d_o, NAN);
    r->dfq = zeros_like(&r->fq, NAN);
    r->dfk = zeros_like(&r->fk, NAN);
    r->dv = zeros_like(&r->v, NAN);
    r->den = filled(c->batch * c->heads * c->queries, d->numbers.real, NAN);
    if (c->scaled) {
        r->scale = filled(c->batch * c->heads * c->keys, d->numbers.real, 0);
        for (long i = 0; i < r->scale.n; i++)
            set(&r->scale, i, 100 * sin(0.03 * (double)i) + (double)(i % 3));
        r->a.key_scale = r->scale.data;
    }
    r->a.features = c->features;
    r->a.fq = r->fq.data, r->a.fk = r->fk.data, r->a.dfq = r->dfq.data, r->a.dfk = r->dfk.data;
    r->a.ldfq = r->a.ldfk = c->heads * c->features + SPARE;
    r->a.v = r->v.data, r->a.dv = r->dv.data, r->a.o = r->o.data, r->a.d_o = r->d_o.data;
    r->a.ldv = r->a.ldo = c->heads * c->value_width + SPARE;
    r->a.den = r->den.data;
    r->a.policy = c->policy;
    r->a.epsilon = c->epsilon;
}

static void drop_linear(struct linear_run *r)
{
    for (struct tensor *t = &r->fq; t <= &r->want_dv; t++)
        drop(t);
}

/* ---- the same in plain loops
 * ------------------------------------------------------------------------------------- */

static long linear_at(const struct linear_run *r, long b, long length, long i, long h, long width,
                      long e)
{
    return (b * length + i) * (r->c->heads * width + SPARE) + h * width + e;
}

static double scale_of(const struct linear_run *r, long b, long h, long j)
{
    return r->c->scaled ? r->scale.value[(b * r->c->heads + h) * r->c->keys + j] : 0;
}

/* e^{c_j − the largest c of `keys` keys} */
static double decay(const struct linear_run *r, long b, long h, long j, long keys)
{
    double most = -INFINITY;
    for (long l = 0; l < keys && r->c->scaled; l++)
        most = fmax(most, scale_of(r, b, h, l));
    return r->c->scaled ? exp(scale_of(r, b, h, j) - most) : 1;
}

static double kernel(const struct linear_run *r, long b, long h, long i, long j)
{
    double sum = 0;
    long f = r->c->features;
    for (long e = 0; e < f; e++)
        sum += r->fq.value[linear_at(r, b, r->c->queries, i, h, f, e)] *
               r->fk.value[linear_at(r, b, r->c->keys, j, h, f, e)];
    return sum;
}

static double with_policy(const struct linear_case *c, double den, bool *active)
{
    *active = (c->policy == OA_DENOMINATOR_SIGN && fabs(den) < c->epsilon) ||
              (c->policy == OA_DENOMINATOR_CLAMP && den < c->epsilon);
    if (*active)
        return den < 0 && c->policy == OA_DENOMINATOR_SIGN ? -c->epsilon : c->epsilon;
    return c->policy == OA_DENOMINATOR_ADD ? den + c->epsilon : den;
}

/* w_ij = a_ij/den: O_i = Σ w_ij v_j; da_ij = (dO_i·v_j − [den follows] dO_i·O_i)/den. */
static void want_linear_row(struct linear_run *r, long b, long h, long i, long keys, double *a)
{
    const struct linear_case *c = r->c;
    long v = c->value_width, f = c->features;
    double den = 0, along = 0;
    bool active;
    for (long j = 0; j < keys; j++) {
        a[j] = kernel(r, b, h, i, j) * decay(r, b, h, j, keys);
        den += a[j];
    }
    den = with_policy(c, den, &active);
    for (long j = 0; j < keys && den != 0; j++)
        for (long e = 0; e < v; e++) {
            double w = a[j] / den, d_o = r->d_o.value[linear_at(r, b, c->queries, i, h, v, e)];
            double value = r->v.value[linear_at(r, b, c->keys, j, h, v, e)];
            r->want_o.value[linear_at(r, b, c->queries, i, h, v, e)] += w * value;
            r->want_dv.value[linear_at(r, b, c->keys, j, h, v, e)] += w * d_o;
            along += active ? 0 : w * value * d_o;
        }
    for (long j = 0; j < keys && den != 0; j++) {
        double da = -along / den;
        for (long e = 0; e < v; e++)
            da += r->d_o.value[linear_at(r, b, c->queries, i, h, v, e)] *
                  r->v.value[linear_at(r, b, c->keys, j, h, v, e)] / den;
        da *= decay(r, b, h, j, keys);
        for (long e = 0; e < f; e++) {
            long q = linear_at(r, b, c->queries, i, h, f, e),
                 k = linear_at(r, b, c->keys, j, h, f, e);
            r->want_dfq.value[q] += da * r->fk.value[k];
            r->want_dfk.value[k] += da * r->fq.value[q];
        }
    }
}

static void want_linear(struct linear_run *r)
{
    const struct oa_attention_shape *s = &r->a.shape;
    double *a = malloc((size_t)(s->keys + 1) * sizeof *a);
    r->want_o = want_rows(&r->o);
    r->want_dfq = want_rows(&r->dfq);
    r->want_dfk = want_rows(&r->dfk);
    r->want_dv = want_rows(&r->dv);
    for (long b = 0; b < s->batch; b++)
        for (long h = 0; h < s->heads; h++)
            for (long i = 0; i < (s->query_lengths ? s->query_lengths[b] : s->queries); i++) {
                long keys = s->key_lengths ? s->key_lengths[b] : s->keys;
                want_linear_row(r, b, h, i, s->causal && i + 1 < keys ? i + 1 : keys, a);
            }
    free(a);
}

/* ---- comparing
 * ---------------------------------------------------------------------------------------------------
 */

static void check_linear(const struct linear_run *r, const char *what, const struct tensor *got,
                         const struct tensor *want, long width)
{
    const struct linear_case *c = r->c;
    long ld = c->heads * width + SPARE;
    for (long i = 0; i < got->n; i++)
        if (i % ld >= ld - SPARE)
            put((struct tensor *)(uintptr_t)got, i, 0);
    double error = distance(got, want, &r->d_o);
    if (!(error <= tolerance(r->d->numbers.precision)))
        fail_msg("%s: linear attention, %s is off by %g: B %ld T %ld S %ld H %ld r %ld V %ld%s%s "
                 "policy %d",
                 oa_precision_name(r->d->numbers.precision), what, error, c->batch, c->queries,
                 c->keys, c->heads, c->features, c->value_width, c->causal ? " causal" : "",
                 c->lengths ? " lengths" : "", c->policy);
}

static void run_linear(const struct linear_case *c, enum oa_precision p)
{
    struct linear_run r;
    make_linear(&r, c, devices[p]);
    want_linear(&r);
    r.d->ops->linear_attention(r.d, &r.a);
    r.d->ops->linear_attention_gradient(r.d, &r.a);
    check_linear(&r, "o", &r.o, &r.want_o, c->value_width);
    check_linear(&r, "dfq", &r.dfq, &r.want_dfq, c->features);
    check_linear(&r, "dfk", &r.dfk, &r.want_dfk, c->features);
    check_linear(&r, "dv", &r.dv, &r.want_dv, c->value_width);
    drop_linear(&r);
}

/* ---- tests
 * -------------------------------------------------------------------------------------------------------
 */

/* One key or one feature: the weights do not depend on φ, and dφ = 0 is the difference of two equal
 * large numbers, of which fewer digits than those of f64 leave rounding noise only. */
static bool only_noise(const struct linear_case *c, int p)
{
    return p != OA_PRECISION_F64 && (c->keys == 1 || c->features == 1);
}

static void linear_attention_is_its_definition_at_all_sizes(void **state)
{
    static const long lengths[] = { 1, 7, 65, 130, 200 }, widths[] = { 1, 4, 5, 16, 64 };
    (void)state;
    for (int l = 0; l < 5; l++)
        for (int w = 0; w < 5; w++)
            for (int flags = 0; flags < 4; flags++)
                for (int p = 0; p < 3; p++) {
                    struct linear_case c = { .batch = 2,
                                             .queries = lengths[l],
                                             .keys = lengths[l],
                                             .heads = 2,
                                             .features = widths[w],
                                             .value_width = widths[(w + 3) % 5],
                                             .causal = flags & 1,
                                             .lengths = flags & 2,
                                             .positive = true,
                                             .epsilon = 1e-6 };
                    if (!only_noise(&c, p))
                        run_linear(&c, (enum oa_precision)p);
                }
}

static void denominators_follow_their_policy(void **state)
{
    (void)state;
    for (int policy = 0; policy < 4; policy++)
        for (int flags = 0; flags < 4; flags++) {
            struct linear_case c = { .batch = 4,
                                     .queries = 70,
                                     .keys = flags & 2 ? 40 : 70,
                                     .heads = 1,
                                     .features = 3,
                                     .value_width = 4,
                                     .causal = flags & 1 && !(flags & 2),
                                     .lengths = true,
                                     .positive = policy == OA_DENOMINATOR_NONE ||
                                                 policy == OA_DENOMINATOR_ADD,
                                     .policy = (enum oa_denominator)policy,
                                     .epsilon = 5 };
            run_linear(&c, OA_PRECISION_F64); /* signed features: only a double knows which side of
                                                 a clamp it is on */
            if (c.positive)
                run_linear(&c, OA_PRECISION_F32);
        }
}

static void scales_do_not_change_the_result(void **state)
{
    (void)state;
    for (int flags = 0; flags < 8; flags++)
        for (int p = 0; p < 3; p++)
            run_linear(&(struct linear_case){ .batch = 3,
                                              .queries = 150,
                                              .keys = 150,
                                              .heads = 2,
                                              .features = 6,
                                              .value_width = 5,
                                              .causal = flags & 1,
                                              .lengths = flags & 2,
                                              .full_queries = flags & 4,
                                              .positive = true,
                                              .scaled = true,
                                              .policy = OA_DENOMINATOR_CLAMP,
                                              .epsilon = 1e-30 },
                       (enum oa_precision)p);
}

/* Scratch memory in which an earlier call has left NaN, behind rows of a chunk that is not full. */
static void what_earlier_calls_left_does_not_matter(void **state)
{
    (void)state;
    for (int causal = 0; causal < 2; causal++)
        for (int p = 0; p < 3; p++) {
            struct linear_run before;
            struct linear_case c = { .batch = 3,
                                     .queries = 150,
                                     .keys = 150,
                                     .heads = 2,
                                     .features = 6,
                                     .value_width = 5,
                                     .causal = causal,
                                     .positive = true,
                                     .scaled = true,
                                     .policy = OA_DENOMINATOR_CLAMP,
                                     .epsilon = 1e-30 };
            make_linear(&before, &c, devices[p]);
            for (long i = 0; i < before.v.n; i++)
                put(&before.v, i, NAN);
            for (long i = 0; i < before.d_o.n; i++)
                put(&before.d_o, i, NAN);
            before.d->ops->linear_attention(before.d, &before.a);
            before.d->ops->linear_attention_gradient(before.d, &before.a);
            drop_linear(&before);
            c.lengths = true;
            run_linear(&c, (enum oa_precision)p);
        }
}

static double linear_objective(struct linear_run *r)
{
    double sum = 0;
    r->d->ops->linear_attention(r->d, &r->a);
    for (long i = 0; i < r->o.n; i++) {
        double o = get(&r->o, i), weight = get(&r->d_o, i);
        sum += isnan(o) || isnan(weight) ? 0 : o * weight;
    }
    return sum;
}

static void check_linear_direction(struct linear_run *r, struct tensor *x,
                                   const struct tensor *gradient)
{
    const double step = 1e-5;
    struct tensor direction = drawn(x->n, OA_F64, 1);
    double slope = 0, ends[2];
    for (int sign = 0; sign < 2; sign++) {
        for (long i = 0; i < x->n; i++)
            put(x, i, x->value[i] + (sign ? step : -step) * direction.value[i]);
        ends[sign] = linear_objective(r);
    }
    for (long i = 0; i < x->n; i++) {
        put(x, i, x->value[i]);
        slope += isnan(get(gradient, i)) ? 0 : get(gradient, i) * direction.value[i];
    }
    assert_true(fabs((ends[1] - ends[0]) / (2 * step) - slope) <= 1e-5 * (1 + fabs(slope)));
    drop(&direction);
}

static void linear_gradients_are_differences(void **state)
{
    (void)state;
    for (int causal = 0; causal < 2; causal++) {
        struct linear_case c = { .batch = 2,
                                 .queries = 90,
                                 .keys = 90,
                                 .heads = 2,
                                 .features = 5,
                                 .value_width = 4,
                                 .causal = causal,
                                 .positive = true,
                                 .epsilon = 1e-6 };
        struct linear_run r;
        make_linear(&r, &c, devices[OA_PRECISION_F64]);
        linear_objective(&r);
        r.d->ops->linear_attention_gradient(r.d, &r.a);
        check_linear_direction(&r, &r.fq, &r.dfq);
        check_linear_direction(&r, &r.fk, &r.dfk);
        check_linear_direction(&r, &r.v, &r.dv);
        drop_linear(&r);
    }
}

/* ---- threads
 * -----------------------------------------------------------------------------------------------------
 */

static void threads_do_not_change_bits(void **state)
{
    static const int threads[] = { 1, 7 };
    (void)state;
    struct linear_case c = { .batch = 3,
                             .queries = 130,
                             .keys = 130,
                             .heads = 3,
                             .features = 16,
                             .value_width = 8,
                             .causal = true,
                             .positive = true,
                             .epsilon = 1e-6 };
    struct linear_run runs[2];
    oa_context *contexts[2];
    struct oa_device *own[2];
    for (int i = 0; i < 2; i++) {
        contexts[i] = oa_open(&(struct oa_settings){ .threads = threads[i] });
        own[i] = open_device(contexts[i], OA_PRECISION_BF16);
        make_linear(&runs[i], &c, own[i]);
        own[i]->ops->linear_attention(own[i], &runs[i].a);
        own[i]->ops->linear_attention_gradient(own[i], &runs[i].a);
    }
    for (int t = 0; t < 9; t++)
        compare_bits(&runs[0].fq + t, &runs[1].fq + t);
    for (int i = 0; i < 2; i++) {
        drop_linear(&runs[i]);
        oa_device_close(own[i]);
        oa_close(contexts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_attention_is_its_definition_at_all_sizes),
        cmocka_unit_test(denominators_follow_their_policy),
        cmocka_unit_test(scales_do_not_change_the_result),
        cmocka_unit_test(what_earlier_calls_left_does_not_matter),
        cmocka_unit_test(linear_gradients_are_differences),
        cmocka_unit_test(threads_do_not_change_bits),
    };
    threads_only("same_bits_linear");
    return cmocka_run_group_tests(tests, open_all, close_all);
}
