/* SPDX-License-Identifier: Apache-2.0
 *
 * State updates in chunks against the recurrence itself, token by token in double: outputs and
 * gradients over sizes, decays (to underflow) and the delta rule; gradients in f64 also against
 * differences; a sequence in pieces against the whole; no bit of a later token; and the same bits
 * for any number of threads.
 */
#include "engines.h"

/* ---- a case, its tensors ---- */

struct recurrence_case {
    long batch, tokens, heads, features, value_width;
    enum oa_decay decay;
    bool delta, lengths;
    double strength; /* of the logits of decays */
};

struct recurrence_run {
    const struct recurrence_case *c;
    struct oa_device *d;
    struct oa_recurrence a;
    int32_t lengths[8];
    struct tensor q, k, v, decay, beta, rate, o, d_o;
    struct tensor dq, dk, dv, d_decay, d_beta, d_rate;
    struct tensor want_o, want_dq, want_dk, want_dv, want_decay, want_beta, want_rate;
};

static struct tensor recurrence_rows(const struct recurrence_run *r, long width, double scale)
{
    long ld = r->c->heads * width + SPARE;
    struct tensor t = drawn(r->c->batch * r->c->tokens * ld, r->d->numbers.act, scale);
    poison(&t, ld, r->c->tokens, r->a.shape.key_lengths, r->c->batch);
    return t;
}

static long decays_of(const struct recurrence_case *c)
{
    return c->decay == OA_DECAY_CHANNEL ? c->features : 1;
}

static void make_recurrence(struct recurrence_run *r, const struct recurrence_case *c,
                            struct oa_device *d)
{
    *r = (struct recurrence_run){ .c = c, .d = d };
    draws = 1000;
    long spare = c->heads * c->features + SPARE;
    bool decays = c->decay == OA_DECAY_HEAD || c->decay == OA_DECAY_CHANNEL;
    r->a = (struct oa_recurrence){ .features = c->features,
                                   .scale = 0.5,
                                   .decay = c->decay,
                                   .ldq = spare,
                                   .ldk = spare,
                                   .ldv = c->heads * c->value_width + SPARE,
                                   .ldo = c->heads * c->value_width + SPARE,
                                   .ld_decay = c->heads * decays_of(c) + SPARE,
                                   .ld_beta = c->heads + SPARE };
    r->a.shape = (struct oa_attention_shape){ .batch = c->batch,
                                              .queries = c->tokens,
                                              .keys = c->tokens,
                                              .heads = c->heads,
                                              .value_width = c->value_width,
                                              .causal = true };
    for (long b = 0; b < c->batch; b++)
        r->lengths[b] = (int32_t)(c->tokens * (3 - b % 4) / 3);
    if (c->lengths)
        r->a.shape.key_lengths = r->a.shape.query_lengths = r->lengths;
    double small = 1 / sqrt((double)c->features);
    r->q = recurrence_rows(r, c->features, 1);
    r->k = recurrence_rows(r, c->features, small);
    r->v = recurrence_rows(r, c->value_width, 1);
    r->d_o = recurrence_rows(r, c->value_width, 1);
    r->o = zeros_like(&r->d_o, NAN);
    r->dq = zeros_like(&r->q, NAN);
    r->dk = zeros_like(&r->k, NAN);
    r->dv = zeros_like(&r->v, NAN);
    r->a.q = r->q.data, r->a.k = r->k.data, r->a.v = r->v.data, r->a.d_o = r->d_o.data;
    r->a.o = r->o.data, r->a.dq = r->dq.data, r->a.dk = r->dk.data, r->a.dv = r->dv.data;
    if (decays) {
        r->decay = recurrence_rows(r, decays_of(c), c->strength);
        r->d_decay = zeros_like(&r->decay, NAN);
        r->a.decay_logits = r->decay.data, r->a.d_decay_logits = r->d_decay.data;
    }
    if (c->decay == OA_DECAY_HEAD) {
        r->rate = drawn(c->heads, d->numbers.real, 0.3);
        r->d_rate = filled(c->heads, d->numbers.real, 0);
        r->a.rate = r->rate.data, r->a.d_rate = r->d_rate.data;
    }
    if (c->delta) {
        r->beta = recurrence_rows(r, 1, 1);
        r->d_beta = zeros_like(&r->beta, NAN);
        r->a.beta_logits = r->beta.data, r->a.d_beta_logits = r->d_beta.data;
    }
}

static void drop_recurrence(struct recurrence_run *r)
{
    for (struct tensor *t = &r->q; t <= &r->want_rate; t++)
        drop(t);
}

/* ---- the recurrence, token by token ---- */

static long place_of(const struct recurrence_run *r, long b, long t, long h, long width)
{
    return (b * r->c->tokens + t) * (r->c->heads * width + SPARE) + h * width;
}

static double sigmoid_of(double x)
{
    return 1 / (1 + exp(-x));
}

static double log_decay(const struct recurrence_run *r, long b, long t, long h, long c)
{
    if (r->c->decay == OA_DECAY_NONE)
        return 0;
    if (r->c->decay == OA_DECAY_FIXED)
        return log(1 - pow(2, -5 - (double)h));
    double x =
        r->decay.value[place_of(r, b, t, h, decays_of(r->c)) + (decays_of(r->c) > 1 ? c : 0)];
    double soft = x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); /* ln(1 + e^x) */
    return r->c->decay == OA_DECAY_HEAD ? -exp(r->rate.value[h]) * soft : (x - soft) / 16;
}

/* before, after [T, r, V]: γ S and what it becomes; error [T, V]: v − Sᵀk. */
static void want_head_forward(struct recurrence_run *r, long b, long h, long tokens, double *before,
                              double *after, double *error)
{
    long R = r->c->features, V = r->c->value_width;
    for (long t = 0; t < tokens; t++) {
        const double *k = r->k.value + place_of(r, b, t, h, R),
                     *q = r->q.value + place_of(r, b, t, h, R);
        long values = place_of(r, b, t, h, V);
        double beta = r->c->delta ? sigmoid_of(r->beta.value[place_of(r, b, t, h, 1)]) : 1;
        double *S = before + t * R * V, *next = after + t * R * V;
        for (long i = 0; i < R * V; i++)
            S[i] = t ? exp(log_decay(r, b, t, h, i / V)) * after[(t - 1) * R * V + i] : 0;
        for (long e = 0; e < V; e++) {
            double out = 0, seen = 0;
            for (long c = 0; c < R; c++)
                seen += S[c * V + e] * k[c];
            error[t * V + e] = r->v.value[values + e] - (r->c->delta ? seen : 0);
            for (long c = 0; c < R; c++) {
                next[c * V + e] = S[c * V + e] + beta * k[c] * error[t * V + e];
                out += next[c * V + e] * q[c];
            }
            r->want_o.value[values + e] = 0.5 * out;
        }
    }
}

/* dS [r, V], from the last token to the first. */
static void want_head_backward(struct recurrence_run *r, long b, long h, long tokens,
                               const double *before, const double *after, const double *error,
                               double *dS)
{
    long R = r->c->features, V = r->c->value_width, n = decays_of(r->c);
    for (long t = tokens - 1; t >= 0; t--) {
        long rows = place_of(r, b, t, h, R), values = place_of(r, b, t, h, V),
             logit = place_of(r, b, t, h, 1), decay = place_of(r, b, t, h, n);
        const double *k = r->k.value + rows, *q = r->q.value + rows, *S = before + t * R * V,
                     *d_o = r->d_o.value + values;
        double beta = r->c->delta ? sigmoid_of(r->beta.value[logit]) : 1, along = 0;
        for (long c = 0; c < R; c++)
            for (long e = 0; e < V; e++) {
                r->want_dq.value[rows + c] += 0.5 * after[t * R * V + c * V + e] * d_o[e];
                dS[c * V + e] += 0.5 * q[c] * d_o[e];
            }
        for (long e = 0; e < V; e++) {
            double d_error = 0;
            for (long c = 0; c < R; c++) {
                double d = dS[c * V + e];
                d_error += beta * d * k[c];
                along += d * k[c] * error[t * V + e];
                r->want_dk.value[rows + c] += beta * d * error[t * V + e];
            }
            r->want_dv.value[values + e] += d_error;
            for (long c = 0; c < R && r->c->delta; c++) {
                r->want_dk.value[rows + c] -= S[c * V + e] * d_error;
                dS[c * V + e] -= k[c] * d_error;
            }
        }
        if (r->c->delta)
            r->want_beta.value[logit] += along * beta * (1 - beta);
        for (long c = 0; c < R; c++) {
            double d_log = 0, own = log_decay(r, b, t, h, c);
            for (long e = 0; e < V; e++) {
                d_log += dS[c * V + e] * S[c * V + e];
                dS[c * V + e] *= exp(own);
            }
            if (r->c->decay == OA_DECAY_CHANNEL)
                r->want_decay.value[decay + c] +=
                    d_log * sigmoid_of(-r->decay.value[decay + c]) / 16;
            if (r->c->decay != OA_DECAY_HEAD)
                continue;
            r->want_rate.value[h] += d_log * own;
            r->want_decay.value[decay] -=
                d_log * exp(r->rate.value[h]) * sigmoid_of(r->decay.value[decay]);
        }
    }
}

static void want_recurrence(struct recurrence_run *r)
{
    const struct recurrence_case *c = r->c;
    long state = c->features * c->value_width;
    size_t n = (size_t)(c->tokens * state);
    double *before = calloc(n, sizeof *before), *after = calloc(n, sizeof *after),
           *error = calloc((size_t)(c->tokens * c->value_width), sizeof *error);
    r->want_o = want_rows(&r->o);
    r->want_dq = want_rows(&r->dq);
    r->want_dk = want_rows(&r->dk);
    r->want_dv = want_rows(&r->dv);
    r->want_decay = want_rows(&r->d_decay);
    r->want_beta = want_rows(&r->d_beta);
    r->want_rate = want_rows(&r->d_rate);
    for (long b = 0; b < c->batch; b++)
        for (long h = 0; h < c->heads; h++) {
            long tokens = c->lengths ? r->lengths[b] : c->tokens;
            double *dS = calloc((size_t)state, sizeof *dS);
            want_head_forward(r, b, h, tokens, before, after, error);
            want_head_backward(r, b, h, tokens, before, after, error, dS);
            free(dS);
        }
    free(before);
    free(after);
    free(error);
}

/* ---- comparing ---- */

static void check_recurrence(const struct recurrence_run *r, const char *what, struct tensor *got,
                             const struct tensor *want, long ld)
{
    const struct recurrence_case *c = r->c;
    for (long i = 0; ld && i < got->n; i++)
        if (i % ld >= ld - SPARE)
            put(got, i, 0);
    double error = got->n ? distance(got, want, &r->d_o) : 0;
    if (!(error <= 10 * tolerance(r->d->numbers.precision)))
        fail_msg("%s: %s is off by %g: B %ld T %ld H %ld r %ld V %ld decay %d delta %d lengths %d "
                 "strength %g",
                 oa_precision_name(r->d->numbers.precision), what, error, c->batch, c->tokens,
                 c->heads, c->features, c->value_width, c->decay, c->delta, c->lengths,
                 c->strength);
}

static void run_recurrence(const struct recurrence_case *c, enum oa_precision p)
{
    struct recurrence_run r;
    make_recurrence(&r, c, devices[p]);
    want_recurrence(&r);
    r.d->ops->recurrence(r.d, &r.a);
    r.d->ops->recurrence_gradient(r.d, &r.a);
    check_recurrence(&r, "o", &r.o, &r.want_o, r.a.ldo);
    check_recurrence(&r, "dq", &r.dq, &r.want_dq, r.a.ldq);
    check_recurrence(&r, "dk", &r.dk, &r.want_dk, r.a.ldk);
    check_recurrence(&r, "dv", &r.dv, &r.want_dv, r.a.ldv);
    check_recurrence(&r, "d decay", &r.d_decay, &r.want_decay, r.a.ld_decay);
    check_recurrence(&r, "d beta", &r.d_beta, &r.want_beta, r.a.ld_beta);
    check_recurrence(&r, "d rate", &r.d_rate, &r.want_rate, 0);
    drop_recurrence(&r);
}

/* ---- tests ---- */

enum { DECAYS = 4 };

static void chunks_are_the_recurrence_at_all_sizes(void **state)
{
    static const long lengths[] = { 1, 15, 17, 64, 150 }, widths[] = { 1, 3, 16, 40 };
    (void)state;
    for (int l = 0; l < 5; l++)
        for (int w = 0; w < 4; w++)
            for (int kind = 0; kind < 2 * DECAYS; kind++)
                for (int p = 0; p < 3; p++)
                    run_recurrence(&(struct recurrence_case){ .batch = 2,
                                                              .tokens = lengths[l],
                                                              .heads = 2,
                                                              .features = widths[w],
                                                              .value_width = widths[(w + 3) % 4],
                                                              .decay = (enum oa_decay)(kind / 2),
                                                              .delta = kind % 2,
                                                              .strength = 1 },
                                   (enum oa_precision)p);
}

static void padding_is_not_read_and_gets_zeros(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2 * DECAYS; kind++)
        for (int p = 0; p < 3; p++)
            run_recurrence(&(struct recurrence_case){ .batch = 4,
                                                      .tokens = 140,
                                                      .heads = 3,
                                                      .features = 5,
                                                      .value_width = 4,
                                                      .decay = (enum oa_decay)(kind / 2),
                                                      .delta = kind % 2,
                                                      .lengths = true,
                                                      .strength = 1 },
                           (enum oa_precision)p);
}

/* e^{b} over a chunk underflows, and its inverse would overflow. In f32 decays are weaker, because
 * the gradient of the rate is a sum of roundings times ln γ. */
static void strong_decays_do_not_overflow(void **state)
{
    (void)state;
    for (int kind = 4; kind < 2 * DECAYS; kind++)
        for (int p = 0; p < 2; p++)
            run_recurrence(
                &(struct recurrence_case){ .batch = 1,
                                           .tokens = 200,
                                           .heads = 2,
                                           .features = 8,
                                           .value_width = 6,
                                           .decay = (enum oa_decay)(kind / 2),
                                           .delta = kind % 2,
                                           .strength = (p ? 10 : 60) *
                                                       (kind / 2 == OA_DECAY_CHANNEL ? 16 : 1) },
                p ? OA_PRECISION_F32 : OA_PRECISION_F64);
}

static double recurrence_objective(struct recurrence_run *r)
{
    double sum = 0;
    r->d->ops->recurrence(r->d, &r->a);
    for (long i = 0; i < r->o.n; i++) {
        double o = get(&r->o, i);
        sum += isnan(o) ? 0 : o * get(&r->d_o, i);
    }
    return sum;
}

static void check_recurrence_direction(struct recurrence_run *r, struct tensor *x,
                                       const struct tensor *gradient)
{
    const double step = 1e-5;
    struct tensor direction = drawn(x->n, OA_F64, 1);
    double slope = 0, ends[2];
    for (int sign = 0; sign < 2; sign++) {
        for (long i = 0; i < x->n; i++)
            put(x, i, x->value[i] + (sign ? step : -step) * direction.value[i]);
        ends[sign] = recurrence_objective(r);
    }
    for (long i = 0; i < x->n; i++) {
        put(x, i, x->value[i]);
        slope += isnan(get(gradient, i)) ? 0 : get(gradient, i) * direction.value[i];
    }
    assert_true(fabs((ends[1] - ends[0]) / (2 * step) - slope) <= 1e-5 * (1 + fabs(slope)));
    drop(&direction);
}

static void recurrence_gradients_are_differences(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2 * DECAYS; kind++) {
        struct recurrence_case c = { .batch = 2,
                                     .tokens = 90,
                                     .heads = 2,
                                     .features = 5,
                                     .value_width = 4,
                                     .decay = (enum oa_decay)(kind / 2),
                                     .delta = kind % 2,
                                     .strength = 1 };
        struct recurrence_run r;
        make_recurrence(&r, &c, devices[OA_PRECISION_F64]);
        r.d->ops->recurrence_gradient(r.d, &r.a);
        struct tensor *x[] = { &r.q, &r.k, &r.v, &r.decay, &r.beta, &r.rate },
                      *gradient[] = { &r.dq, &r.dk, &r.dv, &r.d_decay, &r.d_beta, &r.d_rate };
        for (int i = 0; i < 6; i++)
            if (x[i]->n)
                check_recurrence_direction(&r, x[i], gradient[i]);
        drop_recurrence(&r);
    }
}

/* Pieces of 1, 70, 1, 28 tokens … through a state, which is all that passes from one to the next.
 */
static void pieces_give_what_the_whole_gives(void **state)
{
    static const long pieces[] = { 1, 70, 1, 1, 27, 50 };
    (void)state;
    for (int kind = 0; kind < 2 * DECAYS; kind++)
        for (int p = 0; p < 3; p++) {
            struct recurrence_case c = { .batch = 1,
                                         .tokens = 150,
                                         .heads = 2,
                                         .features = 6,
                                         .value_width = 5,
                                         .decay = (enum oa_decay)(kind / 2),
                                         .delta = kind % 2,
                                         .strength = 1 };
            struct recurrence_run r;
            make_recurrence(&r, &c, devices[p]);
            want_recurrence(&r);
            struct tensor sums = filled(c.heads * c.features * c.value_width, r.d->numbers.real, 0);
            for (long i = 0, first = 0; i < 6; first += pieces[i++]) {
                struct oa_recurrence a = r.a;
                a.shape.queries = a.shape.keys = pieces[i];
                a.q = oa_act_at(r.d, a.q, first * a.ldq);
                a.k = oa_act_at(r.d, a.k, first * a.ldk);
                a.v = oa_act_at(r.d, a.v, first * a.ldv);
                a.o = oa_act_at(r.d, a.o, first * a.ldo);
                a.decay_logits = oa_act_at(r.d, a.decay_logits, first * a.ld_decay);
                a.beta_logits = oa_act_at(r.d, a.beta_logits, first * a.ld_beta);
                a.state = sums.data;
                a.begun = first > 0;
                r.d->ops->recurrence(r.d, &a);
            }
            check_recurrence(&r, "o in pieces", &r.o, &r.want_o, r.a.ldo);
            drop(&sums);
            drop_recurrence(&r);
        }
}

static void later_tokens_change_no_bit(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2 * DECAYS; kind++)
        for (int p = 0; p < 3; p++) {
            struct recurrence_case c = { .batch = 1,
                                         .tokens = 100,
                                         .heads = 2,
                                         .features = 6,
                                         .value_width = 5,
                                         .decay = (enum oa_decay)(kind / 2),
                                         .delta = kind % 2,
                                         .strength = 1 };
            const long changed = 75;
            struct recurrence_run a, b;
            make_recurrence(&a, &c, devices[p]);
            make_recurrence(&b, &c, devices[p]);
            struct tensor *rows[] = { &b.q, &b.k, &b.v, &b.decay, &b.beta };
            for (int i = 0; i < 5; i++)
                for (long at = rows[i]->n / c.tokens * changed; at < rows[i]->n; at++)
                    put(rows[i], at, 3 - rows[i]->value[at]); /* the delta rule overflows */
            a.d->ops->recurrence(a.d, &a.a);
            b.d->ops->recurrence(b.d, &b.a);
            a.o.n = b.o.n = changed * a.a.ldo;
            compare_bits(&a.o, &b.o);
            drop_recurrence(&a);
            drop_recurrence(&b);
        }
}

/* ---- causal convolutions ---- */

enum { SEQUENCES = 2, ROWS_EACH = 7, COLUMNS = 150, TAPS = 3 };

/* By the definition: z of row t of a sequence, column c. */
static double convolved(const struct tensor *x, const struct tensor *w, long b, long t, long c)
{
    double z = 0;
    for (long u = 0; u < TAPS; u++)
        if (t - TAPS + 1 + u >= 0)
            z +=
                w->value[c * TAPS + u] * x->value[(b * ROWS_EACH + t - TAPS + 1 + u) * COLUMNS + c];
    return z;
}

/* More columns than are handled at a time, each with taps of its own: values and gradients. */
static void each_column_has_its_own_taps(void **state)
{
    enum { N = SEQUENCES * ROWS_EACH * COLUMNS };
    (void)state;
    for (int p = 0; p < 3; p++) {
        struct oa_device *d = devices[p];
        draws = 2000;
        struct tensor x = drawn(N, d->numbers.act, 1), dy = drawn(N, d->numbers.act, 1),
                      w = drawn(COLUMNS * TAPS, d->numbers.real, 0.5), z = zeros_like(&x, NAN),
                      y = zeros_like(&x, NAN), dx = zeros_like(&x, NAN), dw = zeros_like(&w, 2),
                      want_y = zeros_like(&x, 0), want_dx = zeros_like(&x, 0),
                      want_dw = zeros_like(&w, 2);
        for (long i = 0; i < N; i++) {
            long c = i % COLUMNS, t = i / COLUMNS % ROWS_EACH, b = i / COLUMNS / ROWS_EACH;
            double at = convolved(&x, &w, b, t, c), s = 1 / (1 + exp(-at)),
                   dz = dy.value[i] * (s + at * s * (1 - s));
            want_y.value[i] = at * s;
            for (long u = 0; u < TAPS; u++) {
                long from = i - (TAPS - 1 - u) * COLUMNS;
                if (t - TAPS + 1 + u < 0)
                    continue;
                want_dx.value[from] += w.value[c * TAPS + u] * dz;
                want_dw.value[c * TAPS + u] += dz * x.value[from];
            }
        }
        struct oa_causal_conv a = { .batch = SEQUENCES,
                                    .length = ROWS_EACH,
                                    .cols = COLUMNS,
                                    .taps = TAPS,
                                    .w = w.data,
                                    .x = x.data,
                                    .ldx = COLUMNS,
                                    .z = z.data,
                                    .y = y.data };
        d->ops->causal_conv(d, &a);
        a.dy = dy.data;
        a.dx = dx.data;
        a.dw = dw.data;
        d->ops->causal_conv_gradient(d, &a);
        double most = tolerance((enum oa_precision)p);
        assert_true(distance(&y, &want_y, &dy) < most);
        assert_true(distance(&dx, &want_dx, &dy) < most);
        assert_true(distance(&dw, &want_dw, &dy) < most);
        struct tensor *all[] = { &x, &dy, &w, &z, &y, &dx, &dw, &want_y, &want_dx, &want_dw };
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            drop(all[i]);
    }
}

static void threads_do_not_change_bits(void **state)
{
    static const int threads[] = { 1, 7 };
    (void)state;
    for (int kind = 1; kind < 2 * DECAYS; kind += 2) {
        struct recurrence_case c = { .batch = 3,
                                     .tokens = 130,
                                     .heads = 3,
                                     .features = 16,
                                     .value_width = 8,
                                     .decay = (enum oa_decay)(kind / 2),
                                     .delta = true,
                                     .strength = 1 };
        struct recurrence_run runs[2];
        oa_context *contexts[2];
        struct oa_device *own[2];
        for (int i = 0; i < 2; i++) {
            contexts[i] = oa_open(&(struct oa_settings){ .threads = threads[i] });
            own[i] = open_device(contexts[i], OA_PRECISION_BF16);
            make_recurrence(&runs[i], &c, own[i]);
            own[i]->ops->recurrence(own[i], &runs[i].a);
            own[i]->ops->recurrence_gradient(own[i], &runs[i].a);
        }
        for (int t = 0; t < 14; t++)
            compare_bits(&runs[0].q + t, &runs[1].q + t);
        for (int i = 0; i < 2; i++) {
            drop_recurrence(&runs[i]);
            oa_device_close(own[i]);
            oa_close(contexts[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_the_recurrence_at_all_sizes),
        cmocka_unit_test(padding_is_not_read_and_gets_zeros),
        cmocka_unit_test(strong_decays_do_not_overflow),
        cmocka_unit_test(recurrence_gradients_are_differences),
        cmocka_unit_test(pieces_give_what_the_whole_gives),
        cmocka_unit_test(later_tokens_change_no_bit),
        cmocka_unit_test(each_column_has_its_own_taps),
        cmocka_unit_test(threads_do_not_change_bits),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
