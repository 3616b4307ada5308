/* SPDX-License-Identifier: Apache-2.0
 * State updates with decay and the delta rule, by vectors; a part of vector_template.h. */

/* ln(1 + q) of q in [0, 1], within 2 ulp: 2·artanh(s) with s = q/(2 + q) ≤ ⅓, and the series of
 * artanh up to s¹⁷ (the rest is below 10⁻¹⁰ s). */
INLINE v_float log_of_one_and(v_float q)
{
    v_float s = v_div(q, v_add(v_set(2), q)), s2 = v_mul(s, s);
    v_float p = v_fma(v_set(2.0f / 17), s2, v_set(2.0f / 15));
    p = v_fma(p, s2, v_set(2.0f / 13));
    p = v_fma(p, s2, v_set(2.0f / 11));
    p = v_fma(p, s2, v_set(2.0f / 9));
    p = v_fma(p, s2, v_set(2.0f / 7));
    p = v_fma(p, s2, v_set(2.0f / 5));
    p = v_fma(p, s2, v_set(2.0f / 3));
    p = v_fma(p, s2, v_set(2));
    return v_mul(p, s);
}

INLINE void log_sigmoid_lanes(long at, long lanes, v_float scale, const ACT *x, float *y)
{
    v_float v = act_load(x + at, lanes), q = v_exp(v_sub(v_set(0), v_abs(v)));
    v_store(y + at, v_mul(scale, v_sub(v_min(v_set(0), v), log_of_one_and(q))), lanes);
}

static void log_sigmoid(long n, double scale, const void *x, void *y)
{
    v_float factor = v_set((float)scale);
    EACH(n, log_sigmoid_lanes, factor, x, y)
}

INLINE void log_sigmoid_gradient_lanes(long at, long lanes, v_float scale, const ACT *x,
                                       const float *dy, ACT *dx)
{
    v_float v = v_sub(v_set(0), act_load(x + at, lanes)), q, above = sigmoid_above(v, &q);
    v_float rest = sigmoid_of(v, above, q); /* σ(−x) */
    act_store(dx + at, v_mul(v_mul(scale, rest), v_load(dy + at, lanes)), lanes);
}

static void log_sigmoid_gradient(long n, double scale, const void *x, const void *dy, void *dx)
{
    v_float factor = v_set((float)scale);
    EACH(n, log_sigmoid_gradient_lanes, factor, x, dy, dx)
}

INLINE void exp_difference_lanes(long at, long lanes, const float *a, const float *b, float *y)
{
    v_store(y + at, v_exp(v_sub(v_load(a + at, lanes), v_load(b + at, lanes))), lanes);
}

static void exp_difference(long n, const void *a, const void *b, void *y)
{
    EACH(n, exp_difference_lanes, a, b, y)
}

static void solve_unit_lower(long n, long cols, bool transposed, const void *a, long lda, void *x,
                             long ldx)
{
    const float *l = a;
    float *rows = x;
    for (long step = 0; step < n; step++) {
        long i = transposed ? n - 1 - step : step;
        for (long j = transposed ? i + 1 : 0; j < (transposed ? n : i); j++) {
            v_float factor = v_set(l[transposed ? j * lda + i : i * lda + j]);
            EACH(cols, axpy_lanes, factor, rows + j * ldx, rows + i * ldx)
        }
    }
}

INLINE void decay_pair_lanes(long at, long lanes, const float *decay, const float *q,
                             const float *k, float *w, v_float *sum, v_float *also)
{
    v_float v = v_mul(v_load(w + at, lanes), v_load(decay + at, lanes));
    v_store(w + at, v, lanes);
    *sum = v_fma(v_load(q + at, lanes), v, *sum);
    *also = v_fma(v_load(k + at, lanes), v, *also);
}

static void decay_pairs(long rows, long width, const void *decay, const void *q, const void *k,
                        void *p, void *a, long ld, void *work)
{
    const float *d = decay, *left = q, *key = k;
    float *w = work, *pairs = p, *others = a;
    for (long j = 0; j < rows; j++) {
        memcpy(w, key + j * width, (size_t)width * sizeof *w);
        pairs[j * ld + j] = (float)sum_products(width, left + j * width, w, false);
        for (long i = j + 1; i < rows; i++) {
            v_float sum = v_set(0), also = v_set(0);
            EACH(width, decay_pair_lanes, d + i * width, left + i * width, key + i * width, w, &sum,
                 &also)
            pairs[i * ld + j] = v_sum(sum);
            if (a)
                others[i * ld + j] = v_sum(also);
        }
    }
}

struct decay_gradient {
    const float *decay, *q, *k, *key;
    float *w, *dq, *dleft, *dright;
    v_float p, a;
    bool delta;
};

INLINE void decay_gradient_lanes(long at, long lanes, const struct decay_gradient *g)
{
    v_float w = v_mul(v_load(g->w + at, lanes), v_load(g->decay + at, lanes));
    v_float seen = v_mul(w, v_load(g->key + at, lanes));
    v_float both = v_mul(g->p, v_load(g->q + at, lanes));
    v_store(g->w + at, w, lanes);
    v_store(g->dq + at, v_fma(g->p, seen, v_load(g->dq + at, lanes)), lanes);
    if (g->delta) {
        v_store(g->dleft + at, v_fma(g->a, seen, v_load(g->dleft + at, lanes)), lanes);
        both = v_fma(g->a, v_load(g->k + at, lanes), both);
    }
    v_store(g->dright + at, v_fma(w, both, v_load(g->dright + at, lanes)), lanes);
}

static void decay_pairs_gradient(long rows, long width, const void *decay, const void *q,
                                 const void *k, const void *dp, const void *da, long ld, void *dq,
                                 void *dleft, void *dright, void *work)
{
    float *w = work;
    for (long j = 0; j < rows; j++) {
        for (long c = 0; c < width; c++)
            w[c] = 1;
        for (long i = j + 1; i < rows; i++) {
            struct decay_gradient g = {
                .decay = (const float *)decay + i * width,
                .q = (const float *)q + i * width,
                .k = (const float *)k + i * width,
                .key = (const float *)k + j * width,
                .w = w,
                .dq = (float *)dq + i * width,
                .dleft = (float *)dleft + i * width,
                .dright = (float *)dright + j * width,
                .p = v_set(((const float *)dp)[i * ld + j]),
                .a = v_set(da ? ((const float *)da)[i * ld + j] : 0),
                .delta = da != NULL,
            };
            EACH(width, decay_gradient_lanes, &g)
        }
    }
}
