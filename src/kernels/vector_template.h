/* SPDX-License-Identifier: Apache-2.0
 * The vector version of every kernel, written once over v_float (vector_avx2.h: 8 floats,
 * vector_avx512.h: 16) and compiled for both, with activations in f32 and in bf16. Included after
 * the layer and after
 *
 *     ACT, LOAD, STORE       as in ref_template.h, one element
 *     act_load, act_store    as v_load and v_store, W elements converted
 *     act_tiles              defined: with what attention on tiles needs (vector_attention.h)
 *
 * Structure of a kernel: f_lanes handles at most W elements at position `at`; EACH calls it along a
 * row, with the constant W except at the end, so that the compiler generates a version with full
 * vectors and one with masks. Sums: lane by lane first, over four partial vectors in turn where the
 * row is long, then across lanes in a fixed order. */
#include "kernels/kernels.h"
#include "kernels/vector_math.h"

#include <string.h>

#define EACH(n, f, ...)                                                                            \
    for (long at = 0; at < (n); at += W) {                                                         \
        if ((n)-at >= W)                                                                           \
            f(at, W, __VA_ARGS__);                                                                 \
        else                                                                                       \
            f(at, (n)-at, __VA_ARGS__);                                                            \
    }

#include "kernels/vector_gemm.h"
#include "kernels/vector_normal.h"

INLINE long lanes_left(long n, long at)
{
    return n - at < W ? n - at : W;
}

/* The columns of the tile that are visible to row i; begin = end if there are none. */
struct span {
    long begin, end;
};

INLINE struct span span_of(const int32_t *low, const int32_t *high, long i, long cols)
{
    struct span s = { low[i] < 0 ? 0 : low[i], high[i] > cols ? cols : high[i] };
    if (s.begin >= s.end)
        s.begin = s.end = 0;
    return s;
}

INLINE void clear_reals(long n, float *x)
{
    if (n > 0)
        memset(x, 0, (size_t)n * sizeof *x);
}

/* ---- conversions, elementwise ---- */

enum { ROWS_AHEAD = 8 };

/* Prefetches the row that is ROWS_AHEAD after this one: rows of a head are far apart in memory. */
INLINE void fetch_row(long n, const ACT *row, long ld)
{
    const char *ahead = (const char *)(row + ROWS_AHEAD * ld);
    for (long line = 0; line < n * (long)sizeof(ACT); line += OA_ALIGN)
        __builtin_prefetch(ahead + line);
}

INLINE void act_from_real_lanes(long at, long lanes, const float *x, ACT *y)
{
    act_store(y + at, v_load(x + at, lanes), lanes);
}

static void act_from_real(long n, const void *x, void *y){ EACH(n, act_from_real_lanes, x, y) }

INLINE void real_from_act_lanes(long at, long lanes, const ACT *x, float *y)
{
    v_store(y + at, act_load(x + at, lanes), lanes);
}

static void real_from_act(long n, const void *x, void *y){ EACH(n, real_from_act_lanes, x, y) }

INLINE void add_lanes(long at, long lanes, const ACT *x, const ACT *y, ACT *sum)
{
    act_store(sum + at, v_add(act_load(x + at, lanes), act_load(y + at, lanes)), lanes);
}

static void add(long n, const void *x, const void *y, void *sum){ EACH(n, add_lanes, x, y, sum) }

INLINE void add_scaled_lanes(long at, long lanes, v_float a, const ACT *x, const ACT *y, ACT *z)
{
    v_float base = x ? act_load(x + at, lanes) : v_set(0);
    act_store(z + at, v_fma(a, act_load(y + at, lanes), base), lanes);
}

static void add_scaled(long n, double a, const void *x, const void *y, void *z)
{
    v_float factor = v_set((float)a);
    EACH(n, add_scaled_lanes, factor, x, y, z)
}

INLINE void add_to_real_lanes(long at, long lanes, v_float a, const ACT *x, float *y)
{
    v_store(y + at, v_fma(a, act_load(x + at, lanes), v_load(y + at, lanes)), lanes);
}

static void add_to_real(long n, double a, const void *x, void *y)
{
    v_float factor = v_set((float)a);
    EACH(n, add_to_real_lanes, factor, x, y)
}

INLINE void axpy_lanes(long at, long lanes, v_float a, const float *x, float *y)
{
    v_store(y + at, v_fma(a, v_load(x + at, lanes), v_load(y + at, lanes)), lanes);
}

static void axpy(long n, double a, const void *x, void *y)
{
    v_float factor = v_set((float)a);
    EACH(n, axpy_lanes, factor, x, y)
}

enum { SUMS_AHEAD = 4096 }; /* prefetch distance of a sum over memory, in bytes */

/* `far`: a is b, and long. */
INLINE double sum_products(long n, const float *a, const float *b, bool far)
{
    struct v_double sum[2] = { v_double_zero(), v_double_zero() };
    long i = 0;
    for (; i + 2 * W <= n; i += 2 * W)
        for (int u = 0; u < 2; u++) {
            if (far)
                __builtin_prefetch((const char *)(a + i + u * W) + SUMS_AHEAD);
            sum[u] = v_double_fma(v_load(a + i + u * W, W), v_load(b + i + u * W, W), sum[u]);
        }
    for (; i < n; i += W)
        sum[0] =
            v_double_fma(v_load(a + i, lanes_left(n, i)), v_load(b + i, lanes_left(n, i)), sum[0]);
    return v_double_sum(sum[0]) + v_double_sum(sum[1]);
}

static void zero_past(long n, void *x)
{
    float *to = x;
    long i = 0;
    if ((uintptr_t)to % (W * sizeof *to) == 0)
        for (; i + W <= n; i += W)
            v_store_past(to + i, v_set(0));
    memset(to + i, 0, (size_t)(n - i) * sizeof *to);
    v_settle_past();
}

static double dot(long n, const void *x, const void *y)
{
    return sum_products(n, x, y, false);
}

static double sum_squares(long n, const void *x)
{
    return sum_products(n, x, x, true);
}

INLINE void scale_lanes(long at, long lanes, v_float factor, float *x)
{
    v_store(x + at, v_mul(factor, v_load(x + at, lanes)), lanes);
}

static void scale_rows(long rows, long cols, const void *factor, void *x, long ldx)
{
    for (long i = 0; i < rows; i++) {
        float *row = (float *)x + i * ldx;
        v_float f = v_set(((const float *)factor)[i]);
        EACH(cols, scale_lanes, f, row)
    }
}

INLINE void multiply_lanes(long at, long lanes, const float *factor, const ACT *x, ACT *y)
{
    act_store(y + at, v_mul(act_load(x + at, lanes), v_load(factor + at, lanes)), lanes);
}

static void multiply(long n, const void *factor, const void *x,
                     void *y){ EACH(n, multiply_lanes, factor, x, y) }

INLINE
    void multiply_gradient_lanes(long at, long lanes, const ACT *x, const ACT *dy, float *dfactor)
{
    v_float sum =
        v_fma(act_load(x + at, lanes), act_load(dy + at, lanes), v_load(dfactor + at, lanes));
    v_store(dfactor + at, sum, lanes);
}

static void multiply_gradient(long n, const void *x, const void *dy,
                              void *dfactor){ EACH(n, multiply_gradient_lanes, x, dy, dfactor) }

INLINE void add_bias_lanes(long at, long lanes, const float *bias, ACT *y)
{
    act_store(y + at, v_add(act_load(y + at, lanes), v_load(bias + at, lanes)), lanes);
}

static void add_bias(long rows, long cols, const void *bias, void *y, long ldy)
{
    for (long i = 0; i < rows; i++) {
        ACT *row = (ACT *)y + i * ldy;
        EACH(cols, add_bias_lanes, bias, row)
    }
}

/* Four rows at a time: the sums are loaded and stored a quarter as often, in the same order of
 * addition. */
INLINE void column_sums_lanes(long at, long lanes, int rows, const ACT *x, long ldx, float *sums)
{
    v_float sum = v_load(sums + at, lanes);
    for (int i = 0; i < rows; i++)
        sum = v_add(sum, act_load(x + i * ldx + at, lanes));
    v_store(sums + at, sum, lanes);
}

static void column_sums(long rows, long cols, const void *x, long ldx, void *sums)
{
    const ACT *row = x;
    long i = 0;
    for (; i + 4 <= rows; i += 4, row += 4 * ldx)
        EACH(cols, column_sums_lanes, 4, row, ldx, sums)
    for (; i < rows; i++, row += ldx)
        EACH(cols, column_sums_lanes, 1, row, ldx, sums)
}

/* ---- activations ---- */

#define GELU_A 0.79788456080286535588 /* √(2/π) */
#define GELU_B 0.044715
#define GELU_FLAT 10.0f /* beyond, the sigmoid below is 0 or 1 in float */

/* log₂ e^{−2u} = −2·log₂ e·a·(x + b·x³), without one factor x. */
INLINE v_float gelu_exponent(v_float square)
{
    const double a = -2 * LOG2_E * GELU_A;
    return v_fma(square, v_set((float)(a * GELU_B)), v_set((float)a));
}

/* ½(1 + tanh u) = σ(2u) = 1/(1 + e^{−2u}) with u = a(x + b·x³): exact relative to its size on the
 * left side too. */
INLINE void gelu_lanes(long at, long lanes, const ACT *x, ACT *y)
{
    v_float v = act_load(x + at, lanes);
    v_float in = v_max(v_set(-GELU_FLAT), v_min(v_set(GELU_FLAT), v));
    v_float e = v_exp2(v_mul(gelu_exponent(v_mul(in, in)), in));
    act_store(y + at, v_mul(v, v_inverse(v_add(v_set(1), e))), lanes);
}

static void gelu(long n, const void *x, void *y){ EACH(n, gelu_lanes, x, y) }

/* With q = e^{−|2u|}: σ(2u) = (x < 0 ? q : 1)/(1 + q), and dσ/dx = q/(1 + q)²·2u', which cannot
   overflow. */
INLINE void gelu_gradient_lanes(long at, long lanes, const ACT *x, const ACT *dy, ACT *dx)
{
    v_float v = act_load(x + at, lanes);
    v_float in = v_max(v_set(-GELU_FLAT), v_min(v_set(GELU_FLAT), v));
    v_float square = v_mul(in, in);
    v_float q = v_exp2(v_mul(gelu_exponent(square), v_abs(in)));
    v_float inverse = v_inverse(v_add(v_set(1), q));
    v_float sigmoid = v_mul(v_select(v_less(in, v_set(0)), q, v_set(1)), inverse);
    v_float slope = v_fma(square, v_set((float)(6 * GELU_A * GELU_B)), v_set((float)(2 * GELU_A)));
    v_float bend = v_mul(v_mul(in, slope), v_mul(v_mul(q, inverse), inverse));
    act_store(dx + at, v_mul(act_load(dy + at, lanes), v_add(sigmoid, bend)), lanes);
}

static void gelu_gradient(long n, const void *x, const void *dy,
                          void *dx){ EACH(n, gelu_gradient_lanes, x, dy, dx) }

INLINE v_float relu_of(v_float x)
{
    return v_max(v_set(0), x); /* NaN stays */
}

INLINE void relu_lanes(long at, long lanes, const ACT *x, ACT *y)
{
    act_store(y + at, relu_of(act_load(x + at, lanes)), lanes);
}

static void relu(long n, const void *x, void *y){ EACH(n, relu_lanes, x, y) }

INLINE void relu_gradient_lanes(long at, long lanes, const ACT *x, const ACT *dy, ACT *dx)
{
    v_mask on = v_less(v_set(0), act_load(x + at, lanes));
    act_store(dx + at, v_keep(on, act_load(dy + at, lanes)), lanes);
}

static void relu_gradient(long n, const void *x, const void *dy,
                          void *dx){ EACH(n, relu_gradient_lanes, x, dy, dx) }

INLINE void relu2_lanes(long at, long lanes, const ACT *x, ACT *y)
{
    v_float r = relu_of(act_load(x + at, lanes));
    act_store(y + at, v_mul(r, r), lanes);
}

static void relu2(long n, const void *x, void *y){ EACH(n, relu2_lanes, x, y) }

INLINE void relu2_gradient_lanes(long at, long lanes, const ACT *x, const ACT *dy, ACT *dx)
{
    v_float v = act_load(x + at, lanes), g = act_load(dy + at, lanes);
    act_store(dx + at, v_keep(v_less(v_set(0), v), v_mul(v_add(v, v), g)), lanes);
}

static void relu2_gradient(long n, const void *x, const void *dy, void *dx)
{
    EACH(n, relu2_gradient_lanes, x, dy, dx)
}

/* ---- dropout ---- */

struct drop {
    struct v_philox random;
    v_float grow;
    uint32_t limit; /* a word keeps its element when word ≤ limit */
    bool none;      /* not even the word 0 does */
};

static void drop_init(struct drop *d, struct oa_stream s, double keep)
{
    double words = ceil(keep * 4294967296.0); /* the words below keep·2³² */
    v_philox_init(&d->random, s);
    d->grow = v_set((float)(1 / keep));
    d->none = words < 1;
    d->limit = d->none ? 0 : words >= 4294967296.0 ? UINT32_MAX : (uint32_t)(words - 1);
}

INLINE v_float drop_some(const struct drop *d, v_int words, v_float x)
{
    v_float kept = v_keep(v_at_most(words, d->limit), v_mul(x, d->grow));
    return d->none ? v_set(0) : kept;
}

static void drop_acts(const struct drop *d, long n, uint64_t block, const ACT *x, ACT *y)
{
    v_int words[2];
    long i = 0;
    for (; i + 2 * W <= n; i += 2 * W, block += W / 2) {
        v_random(&d->random, block, words);
        act_store(y + i, drop_some(d, words[0], act_load(x + i, W)), W);
        act_store(y + i + W, drop_some(d, words[1], act_load(x + i + W, W)), W);
    }
    if (i < n)
        v_random(&d->random, block, words);
    for (int u = 0; i < n; i += W, u++)
        act_store(y + i, drop_some(d, words[u], act_load(x + i, lanes_left(n, i))),
                  lanes_left(n, i));
}

static void dropout(long n, struct oa_stream s, uint64_t first, double keep, const void *x, void *y)
{
    struct drop d;
    drop_init(&d, s, keep);
    drop_acts(&d, n, first / 4, x, y);
}

static void drop_reals(const struct drop *d, long n, uint64_t block, float *x)
{
    v_int words[2];
    long i = 0;
    for (; i + 2 * W <= n; i += 2 * W, block += W / 2) {
        v_random(&d->random, block, words);
        v_store(x + i, drop_some(d, words[0], v_load(x + i, W)), W);
        v_store(x + i + W, drop_some(d, words[1], v_load(x + i + W, W)), W);
    }
    if (i < n)
        v_random(&d->random, block, words);
    for (int u = 0; i < n; i += W, u++)
        v_store(x + i, drop_some(d, words[u], v_load(x + i, lanes_left(n, i))), lanes_left(n, i));
}

static void dropout_tile(long rows, long cols, struct oa_stream s, uint64_t block0,
                         uint64_t blocks_a_row, double keep, void *x, long ldx)
{
    struct drop d;
    drop_init(&d, s, keep);
    for (long i = 0; i < rows; i++)
        drop_reals(&d, cols, block0 + (uint64_t)i * blocks_a_row, (float *)x + i * ldx);
}

INLINE void dropout_alike_lanes(long at, long lanes, v_float grow, const float *like, float *x)
{
    v_store(
        x + at,
        v_keep(v_not_equal(v_load(like + at, lanes), v_set(0)), v_mul(v_load(x + at, lanes), grow)),
        lanes);
}

static void dropout_alike(long n, double keep, const void *like, void *x)
{
    v_float grow = v_set((float)(1 / keep));
    EACH(n, dropout_alike_lanes, grow, (const float *)like, (float *)x)
}

/* ---- rotary positions ---- */

INLINE void rotate_lanes(long at, long lanes, const float *cosine, const float *sine, v_float sign,
                         ACT *a, ACT *b)
{
    v_float c = v_load(cosine + at, lanes), s = v_mul(sign, v_load(sine + at, lanes));
    v_float p = act_load(a + at, lanes), q = act_load(b + at, lanes);
    act_store(a + at, v_fnma(q, s, v_mul(p, c)), lanes);
    act_store(b + at, v_fma(p, s, v_mul(q, c)), lanes);
}

/* Neighbours as pairs: y = x·[c, c] + swapped x·[−s, s]. */
INLINE void rotate_pairs_lanes(long at, long lanes, const float *cosine, const float *sine,
                               v_float sign, ACT *x)
{
    long pairs = lanes / 2;
    v_float c = v_doubled(v_load(cosine + at / 2, pairs)),
            s = v_mul(sign, v_doubled(v_load(sine + at / 2, pairs)));
    v_float p = act_load(x + at, lanes);
    act_store(x + at, v_fma(v_swapped(p), s, v_mul(p, c)), lanes);
}

static void rotate_pairs(const struct oa_rotation *r, double sign, void *x)
{
    static const float signs[16] = { -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1 };
    v_float turn = v_mul(v_set((float)sign), v_load(signs, W));
    for (long h = 0; h < r->heads; h++) {
        ACT *head = (ACT *)x + h * r->width;
        EACH(r->turned, rotate_pairs_lanes, r->cosine, r->sine, turn, head)
    }
}

static void rotate(const struct oa_rotation *r, double sign, void *x)
{
    v_float turn = v_set((float)sign);
    if (r->interleaved) {
        rotate_pairs(r, sign, x);
        return;
    }
    for (long h = 0; h < r->heads; h++) {
        ACT *head = (ACT *)x + h * r->width, *second = head + r->turned / 2;
        EACH(r->turned / 2, rotate_lanes, r->cosine, r->sine, turn, head, second)
    }
}

/* ---- soft cap ---- */

#define CAP_FLAT 10.0f  /* beyond, tanh is ±1 in float */
#define CAP_SMALL 0.15f /* below, four terms of the series of tanh are exact in float */

/* tanh x = sign·(1 − q)/(1 + q), q = e^{−2|x|}. NaN stays. */
INLINE v_float v_tanh(v_float x)
{
    v_float in = v_max(v_set(-CAP_FLAT), v_min(v_set(CAP_FLAT), x)), size = v_abs(in);
    v_float q = v_exp2(v_mul(size, v_set((float)(-2 * LOG2_E))));
    v_float large = v_mul(v_sub(v_set(1), q), v_inverse(v_add(v_set(1), q)));
    large = v_select(v_less(in, v_set(0)), v_sub(v_set(0), large), large);
    v_float x2 = v_mul(in, in);
    v_float small = v_fma(v_fma(v_set(-17.0f / 315), x2, v_set(2.0f / 15)), x2, v_set(-1.0f / 3));
    small = v_fma(v_mul(small, x2), in, in);
    return v_select(v_less(size, v_set(CAP_SMALL)), small, large);
}

INLINE void soft_cap_lanes(long at, long lanes, v_float factor, v_float cap, float *x, float *slope)
{
    v_float t = v_tanh(v_mul(factor, v_load(x + at, lanes))), rest = v_fnma(t, t, v_set(1));
    v_store(x + at, v_mul(cap, t), lanes);
    if (slope)
        v_store(slope + at, v_keep(v_less(v_set(0), rest), rest), lanes);
}

static void soft_cap(long n, double factor, double cap, void *x, void *slope)
{
    v_float f = v_set((float)(factor / cap)), top = v_set((float)cap);
    EACH(n, soft_cap_lanes, f, top, (float *)x, (float *)slope)
}

#include "kernels/vector_norm.h"
#include "kernels/vector_softmax.h"
#ifdef act_tiles
#include "kernels/vector_attention.h"
#endif

/* ---- feature maps ---- */

INLINE void elu_lanes(long at, long lanes, const ACT *x, ACT *y)
{
    v_float v = act_load(x + at, lanes);
    v_float e = v_exp(v_min(v_set(0), v));
    act_store(y + at, v_select(v_less(v_set(0), v), v_add(v, v_set(1)), e), lanes);
}

INLINE void elu_gradient_lanes(long at, long lanes, const ACT *x, const ACT *dy, ACT *dx)
{
    v_float slope = v_exp(v_min(v_set(0), act_load(x + at, lanes)));
    act_store(dx + at, v_mul(slope, act_load(dy + at, lanes)), lanes);
}

INLINE void cos_lanes(long at, long lanes, const ACT *x, ACT *y)
{
    act_store(y + at, v_sine(act_load(x + at, lanes), 1), lanes);
}

INLINE void cos_gradient_lanes(long at, long lanes, const ACT *x, const ACT *dy, ACT *dx)
{
    v_float slope = v_sub(v_set(0), v_sine(act_load(x + at, lanes), 0));
    act_store(dx + at, v_mul(slope, act_load(dy + at, lanes)), lanes);
}

INLINE void power_lanes(long at, long lanes, int degree, long width, const ACT *x, ACT *y)
{
    v_float v = act_load(x + at, lanes), power = v;
    for (int p = 0; p < degree; p++, power = v_mul(power, v))
        act_store(y + p * width + at, power, lanes);
}

INLINE void power_gradient_lanes(long at, long lanes, int degree, long width, const ACT *x,
                                 const ACT *dy, ACT *dx)
{
    v_float v = act_load(x + at, lanes), power = v_set(1), sum = v_set(0);
    for (int p = 0; p < degree; p++, power = v_mul(power, v))
        sum = v_fma(v_mul(v_set((float)(p + 1)), power), act_load(dy + p * width + at, lanes), sum);
    act_store(dx + at, sum, lanes);
}

static void feature(enum oa_feature f, int degree, long rows, long width, const void *x, long ldx,
                    void *y, long ldy)
{
    for (long i = 0; i < rows; i++) {
        const ACT *from = (const ACT *)x + i * ldx;
        ACT *to = (ACT *)y + i * ldy;
        if (f == OA_FEATURE_ELU)
            EACH(width, elu_lanes, from, to)
        else if (f == OA_FEATURE_RELU)
            EACH(width, relu_lanes, from, to)
        else if (f == OA_FEATURE_COS)
            EACH(width, cos_lanes, from, to)
        else
            EACH(width, power_lanes, degree, width, from, to)
    }
}

static void feature_gradient(enum oa_feature f, int degree, long rows, long width, const void *x,
                             long ldx, const void *dy, long lddy, void *dx, long lddx)
{
    for (long i = 0; i < rows; i++) {
        const ACT *from = (const ACT *)x + i * ldx, *gradient = (const ACT *)dy + i * lddy;
        ACT *to = (ACT *)dx + i * lddx;
        if (f == OA_FEATURE_ELU)
            EACH(width, elu_gradient_lanes, from, gradient, to)
        else if (f == OA_FEATURE_RELU)
            EACH(width, relu_gradient_lanes, from, gradient, to)
        else if (f == OA_FEATURE_COS)
            EACH(width, cos_gradient_lanes, from, gradient, to)
        else
            EACH(width, power_gradient_lanes, degree, width, from, gradient, to)
    }
}

#include "kernels/vector_features.h"
#include "kernels/vector_recurrence.h"

#include "kernels/vector_projections.h"

/* ---- loss ---- */

enum {
    LOSS_BLOCK = 1024
}; /* logits that stay in the L1 cache between the search for the largest and the sum */

/* e^{x + shift}, exact at x = −shift however large that is. */
INLINE v_float loss_exp(const float *x, long lanes, v_float shift)
{
    return v_exp2(v_mul(v_add(v_load(x, lanes), shift), v_set((float)LOG2_E)));
}

/* Fetches the next block, which comes from memory. */
INLINE void sum_exp_lanes(long at, long lanes, const float *x, v_float shift, v_float *sum)
{
    __builtin_prefetch(x + at + LOSS_BLOCK);
    v_float e = loss_exp(x + at, lanes, shift);
    *sum = v_add(*sum, lanes == W ? e : v_keep(v_first(lanes), e));
}

/* Σ e^{x − top}: blocks are summed in float, their sums in double; *top receives the maximum. */
static double loss_sum(long n, const float *x, float *top)
{
    double sum = 0;
    *top = -INFINITY;
    for (long i = 0; i < n; i += LOSS_BLOCK) {
        long block = n - i < LOSS_BLOCK ? n - i : LOSS_BLOCK;
        float before = *top;
        *top = row_largest(block, x + i, 1, before);
        if (*top > before)
            sum *= exp((double)before - (double)*top);
        v_float part = v_set(0), shift = v_set(*top == -INFINITY ? 0 : -*top);
        EACH(block, sum_exp_lanes, x + i, shift, &part)
        sum += v_sum(part);
    }
    return sum;
}

INLINE void sum_shifted_lanes(long at, long lanes, const float *x, v_float shift, v_float *sum)
{
    v_float below = v_add(v_load(x + at, lanes), shift);
    *sum = v_add(*sum, lanes == W ? below : v_keep(v_first(lanes), below));
}

/* Mean of x − top, where labels are smoothed; summed as e^{x − top} is. */
static double mean_below(long n, const float *x, float top, double smoothing)
{
    double sum = 0;
    for (long i = 0; smoothing > 0 && i < n; i += LOSS_BLOCK) {
        v_float part = v_set(0), shift = v_set(-top);
        EACH(n - i < LOSS_BLOCK ? n - i : LOSS_BLOCK, sum_shifted_lanes, x + i, shift, &part)
        sum += v_sum(part);
    }
    return sum / (double)n;
}

INLINE void loss_gradient_lanes(long at, long lanes, const float *x, v_float shift, v_float factor,
                                v_float less, ACT *d)
{
    act_store(d + at, v_sub(v_mul(factor, loss_exp(x + at, lanes, shift)), less), lanes);
}

static double cross_entropy(long n, const void *logits, long target, double smoothing, double scale,
                            void *d)
{
    const float *x = logits;
    float top;
    double sum = loss_sum(n, x, &top), right = (double)x[target] - (double)top,
           each = smoothing / (double)n;
    double loss = log(sum) - right + smoothing * (right - mean_below(n, x, top, smoothing));
    if (d) {
        v_float factor = v_set((float)(scale / sum)), shift = v_set(-top),
                less = v_set((float)(scale * each));
        EACH(n, loss_gradient_lanes, x, shift, factor, less, d)
        ((ACT *)d)[target] = STORE((float)(scale * (exp(right) / sum - 1 + smoothing - each)));
    }
    return loss;
}

static double log_sum(long n, const void *x)
{
    float top;
    double sum = loss_sum(n, x, &top);
    return top == -INFINITY ? top : (double)top + log(sum);
}

/* ---- optimisers ---- */

struct adamw_steps {
    v_float scale, b1, b2, a1, a2, step, root, shrink, epsilon;
};

INLINE void adamw_lanes(long at, long lanes, const struct adamw_steps *h, float *w, float *m,
                        float *v, const float *g)
{
    v_float d = v_mul(h->scale, v_load(g + at, lanes));
    v_float first = v_fma(h->b1, v_load(m + at, lanes), v_mul(h->a1, d));
    v_float second = v_fma(h->b2, v_load(v + at, lanes), v_mul(v_mul(h->a2, d), d));
    v_float ratio = v_div(v_mul(h->step, first), v_fma(v_sqrt(second), h->root, h->epsilon));
    v_store(m + at, first, lanes);
    v_store(v + at, second, lanes);
    v_store(w + at, v_sub(v_mul(h->shrink, v_load(w + at, lanes)), ratio), lanes);
}

static void adamw(long n, const struct oa_adamw *h, void *w, void *m, void *v, const void *g)
{
    struct adamw_steps s = {
        .scale = v_set((float)h->gradient_scale),
        .b1 = v_set((float)h->beta1),
        .b2 = v_set((float)h->beta2),
        .a1 = v_set((float)(1 - h->beta1)),
        .a2 = v_set((float)(1 - h->beta2)),
        .step = v_set((float)(h->lr / h->correction1)),
        .root = v_set((float)(1 / sqrt(h->correction2))),
        .shrink = v_set((float)(1 - h->lr * h->weight_decay)),
        .epsilon = v_set((float)h->epsilon),
    };
    EACH(n, adamw_lanes, &s, w, m, v, g)
}

INLINE void sgd_lanes(long at, long lanes, v_float lr, v_float momentum, v_float decay,
                      v_float scale, float *w, float *m, const float *g)
{
    v_float speed = v_fma(momentum, v_load(m + at, lanes), v_mul(scale, v_load(g + at, lanes)));
    v_float weight = v_load(w + at, lanes);
    v_store(m + at, speed, lanes);
    v_store(w + at, v_fnma(lr, v_fma(decay, weight, speed), weight), lanes);
}

static void sgd(long n, double lr, double momentum, double weight_decay, double gradient_scale,
                void *w, void *m, const void *g)
{
    v_float a = v_set((float)lr), b = v_set((float)momentum), c = v_set((float)weight_decay);
    v_float scale = v_set((float)gradient_scale);
    EACH(n, sgd_lanes, a, b, c, scale, w, m, g)
}

/* ---- the table ---- */

static void fill_vector_table(struct oa_kernels *k)
{
    k->isa = VECTOR_ISA;
    k->gemm_name = VECTOR_NAME;
    k->gemm_open = gemm_open;
    k->gemm_close = gemm_close;
    k->gemm = gemm;
#define K(name) k->name = name;
#include "kernels/kernels.def"
#ifdef act_tiles
    k->softmax_to_tiles = softmax_to_tiles;
    k->softmax_pairs = softmax_pairs;
#endif
}
