/* SPDX-License-Identifier: Apache-2.0
 * The plain C version of every kernel: the reference. Compiled once for each precision by
 * ref_f32.c, ref_bf16.c and ref_f64.c, which define
 *
 *     ACT, REAL        the two types of kernels.h
 *     LOAD(a)          act → real
 *     STORE(r)         real → act, rounded to nearest even
 *     FN(name)         expf for exp, … : the function of <math.h> for REAL
 *     PRECISION, ACT_TYPE, REAL_TYPE, NAME(f)
 *     BLOCK_*          block sizes of matrix products, see gemm_template.h
 *
 * kernels.h documents the functions. Sums run from the first element to the last. */
#include "base/processor.h"
#include "kernels/attention_tile.h"
#include "kernels/gemm_template.h"
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

/* The first column of the tile that is visible to row i, at least 0. */
static long first_seen(const int32_t *low, long i)
{
    return low[i] < 0 ? 0 : low[i];
}

static long end_seen(const int32_t *high, long i, long cols)
{
    return high[i] > cols ? cols : high[i];
}

/* ---- conversions, elementwise ---- */

static void act_from_real(long n, const void *x, void *y)
{
    const REAL *from = x;
    ACT *to = y;
    for (long i = 0; i < n; i++)
        to[i] = STORE(from[i]);
}

static void real_from_act(long n, const void *x, void *y)
{
    const ACT *from = x;
    REAL *to = y;
    for (long i = 0; i < n; i++)
        to[i] = LOAD(from[i]);
}

static void add(long n, const void *x, const void *y, void *sum)
{
    const ACT *a = x, *b = y;
    ACT *out = sum;
    for (long i = 0; i < n; i++)
        out[i] = STORE(LOAD(a[i]) + LOAD(b[i]));
}

static void add_scaled(long n, double a, const void *x, const void *y, void *z)
{
    const ACT *from = x, *more = y;
    ACT *out = z;
    for (long i = 0; i < n; i++)
        out[i] = STORE((from ? LOAD(from[i]) : 0) + (REAL)a * LOAD(more[i]));
}

static void add_to_real(long n, double a, const void *x, void *y)
{
    const ACT *from = x;
    REAL *to = y;
    for (long i = 0; i < n; i++)
        to[i] += (REAL)a * LOAD(from[i]);
}

static void axpy(long n, double a, const void *x, void *y)
{
    const REAL *from = x;
    REAL *to = y;
    for (long i = 0; i < n; i++)
        to[i] += (REAL)a * from[i];
}

static double dot(long n, const void *x, const void *y)
{
    const REAL *a = x, *b = y;
    double sum = 0;
    for (long i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static void scale_rows(long rows, long cols, const void *factor, void *x, long ldx)
{
    const REAL *f = factor;
    for (long i = 0; i < rows; i++) {
        REAL *row = (REAL *)x + i * ldx;
        for (long j = 0; j < cols; j++)
            row[j] *= f[i];
    }
}

static void multiply(long n, const void *factor, const void *x, void *y)
{
    const REAL *f = factor;
    const ACT *from = x;
    ACT *to = y;
    for (long i = 0; i < n; i++)
        to[i] = STORE(LOAD(from[i]) * f[i]);
}

static void multiply_gradient(long n, const void *x, const void *dy, void *dfactor)
{
    const ACT *a = x, *b = dy;
    REAL *to = dfactor;
    for (long i = 0; i < n; i++)
        to[i] += LOAD(a[i]) * LOAD(b[i]);
}

static void add_bias(long rows, long cols, const void *bias, void *y, long ldy)
{
    const REAL *b = bias;
    for (long i = 0; i < rows; i++) {
        ACT *row = (ACT *)y + i * ldy;
        for (long j = 0; j < cols; j++)
            row[j] = STORE(LOAD(row[j]) + b[j]);
    }
}

static void column_sums(long rows, long cols, const void *x, long ldx, void *sums)
{
    REAL *to = sums;
    for (long i = 0; i < rows; i++) {
        const ACT *row = (const ACT *)x + i * ldx;
        for (long j = 0; j < cols; j++)
            to[j] += LOAD(row[j]);
    }
}

/* ---- activations ---- */

#define GELU_A ((REAL)0.79788456080286535588) /* √(2/π) */
#define GELU_B ((REAL)0.044715)

static void gelu(long n, const void *x, void *y)
{
    const ACT *from = x;
    ACT *to = y;
    for (long i = 0; i < n; i++) {
        REAL v = LOAD(from[i]);
        REAL t = FN(tanh)(GELU_A * (v + GELU_B * v * v * v));
        to[i] = STORE((REAL)0.5 * v * (1 + t));
    }
}

/* With u the argument of tanh and t = tanh u: d/dx ½x(1 + t) = ½(1 + t) + ½x(1 − t²)u'. */
static void gelu_gradient(long n, const void *x, const void *dy, void *dx)
{
    const ACT *from = x, *gradient = dy;
    ACT *to = dx;
    for (long i = 0; i < n; i++) {
        REAL v = LOAD(from[i]);
        REAL t = FN(tanh)(GELU_A * (v + GELU_B * v * v * v));
        REAL slope = GELU_A * (1 + 3 * GELU_B * v * v);
        REAL bend = 1 - t * t == 0 ? 0 : v * (1 - t * t) * slope; /* 0·∞ far out */
        to[i] = STORE(LOAD(gradient[i]) * (REAL)0.5 * (1 + t + bend));
    }
}

static void gelu_exact(long n, const void *x, void *y)
{
    const ACT *from = x;
    ACT *to = y;
    for (long i = 0; i < n; i++) {
        REAL v = LOAD(from[i]);
        to[i] = STORE((REAL)0.5 * v * (1 + FN(erf)(v * (REAL)0.70710678118654752440)));
    }
}

/* With Φ(x) = ½(1 + erf(x/√2)): d/dx xΦ(x) = Φ(x) + x e^{−x²/2}/√(2π). */
static void gelu_exact_gradient(long n, const void *x, const void *dy, void *dx)
{
    const ACT *from = x, *gradient = dy;
    ACT *to = dx;
    for (long i = 0; i < n; i++) {
        REAL v = LOAD(from[i]), below = (REAL)0.5 * (1 + FN(erf)(v * (REAL)0.70710678118654752440));
        REAL density = FN(exp)(-(REAL)0.5 * v * v) * (REAL)0.39894228040143267794;
        REAL bend = density == 0 ? 0 : v * density; /* 0·∞ far out */
        to[i] = STORE(LOAD(gradient[i]) * (below + bend));
    }
}

static REAL sigmoid(REAL x)
{
    return 1 / (1 + FN(exp)(-x));
}

static void gate(long n, const void *a, const void *b, void *y)
{
    const ACT *value = a, *opening = b;
    ACT *to = y;
    for (long i = 0; i < n; i++)
        to[i] = STORE(LOAD(value[i]) * sigmoid(LOAD(opening[i])));
}

/* da = dy σ(b), db = dy a σ(b)(1 − σ(b)). */
static void gate_gradient(long n, const void *a, const void *b, const void *dy, void *da, void *db)
{
    const ACT *value = a, *opening = b, *gradient = dy;
    ACT *to_a = da, *to_b = db;
    for (long i = 0; i < n; i++) {
        REAL v = LOAD(value[i]), s = sigmoid(LOAD(opening[i])), g = LOAD(gradient[i]);
        to_a[i] = STORE(g * s);
        to_b[i] = STORE(g * v * s * (1 - s));
    }
}

static void gate_swish(long n, const void *a, const void *b, void *y)
{
    const ACT *value = a, *opening = b;
    ACT *to = y;
    for (long i = 0; i < n; i++) {
        REAL z = LOAD(opening[i]);
        to[i] = STORE(LOAD(value[i]) * z * sigmoid(z));
    }
}

/* da = dy b σ(b), db = dy a (σ(b) + b σ(b)(1 − σ(b))). */
static void gate_swish_gradient(long n, const void *a, const void *b, const void *dy, void *da,
                                void *db)
{
    const ACT *value = a, *opening = b, *gradient = dy;
    ACT *to_a = da, *to_b = db;
    for (long i = 0; i < n; i++) {
        REAL v = LOAD(value[i]), z = LOAD(opening[i]), s = sigmoid(z), g = LOAD(gradient[i]);
        to_a[i] = STORE(g * z * s);
        to_b[i] = STORE(g * v * (s + z * s * (1 - s)));
    }
}

static void silu(long n, const void *x, void *y)
{
    gate(n, x, x, y);
}

/* d/dx xσ(x) = σ(x)(1 + x(1 − σ(x))). */
static void silu_gradient(long n, const void *x, const void *dy, void *dx)
{
    const ACT *from = x, *gradient = dy;
    ACT *to = dx;
    for (long i = 0; i < n; i++) {
        REAL v = LOAD(from[i]), s = sigmoid(v);
        REAL bend = s == 0 || 1 - s == 0 ? 0 : v * (1 - s); /* 0·∞ far out */
        to[i] = STORE(LOAD(gradient[i]) * s * (1 + bend));
    }
}

static void relu(long n, const void *x, void *y)
{
    const ACT *from = x;
    ACT *to = y;
    for (long i = 0; i < n; i++) {
        REAL v = LOAD(from[i]);
        to[i] = STORE(v <= 0 ? 0 : v); /* NaN stays NaN */
    }
}

static void relu_gradient(long n, const void *x, const void *dy, void *dx)
{
    const ACT *from = x, *gradient = dy;
    ACT *to = dx;
    for (long i = 0; i < n; i++)
        to[i] = STORE(LOAD(from[i]) > 0 ? LOAD(gradient[i]) : 0);
}

static void relu2(long n, const void *x, void *y)
{
    const ACT *from = x;
    ACT *to = y;
    for (long i = 0; i < n; i++) {
        REAL v = LOAD(from[i]);
        to[i] = STORE(v <= 0 ? 0 : v * v); /* NaN stays NaN */
    }
}

static void relu2_gradient(long n, const void *x, const void *dy, void *dx)
{
    const ACT *from = x, *gradient = dy;
    ACT *to = dx;
    for (long i = 0; i < n; i++)
        to[i] = STORE(LOAD(from[i]) > 0 ? 2 * LOAD(from[i]) * LOAD(gradient[i]) : 0);
}

/* ---- dropout ---- */

static void dropout(long n, struct oa_stream s, uint64_t first, double keep, const void *x, void *y)
{
    const ACT *from = x;
    ACT *to = y;
    double limit = keep * 4294967296.0;
    REAL grow = (REAL)(1 / keep);
    for (long i = 0; i < n; i += 4) {
        uint32_t word[4];
        oa_random_block(s, (first + (uint64_t)i) / 4, word);
        for (long j = i; j < n && j < i + 4; j++)
            to[j] = STORE(word[j - i] < limit ? LOAD(from[j]) * grow : 0);
    }
}

static void dropout_tile(long rows, long cols, struct oa_stream s, uint64_t block0,
                         uint64_t blocks_a_row, double keep, void *x, long ldx)
{
    double limit = keep * 4294967296.0;
    REAL grow = (REAL)(1 / keep);
    for (long i = 0; i < rows; i++) {
        REAL *row = (REAL *)x + i * ldx;
        for (long j = 0; j < cols; j++) {
            uint32_t word[4];
            oa_random_block(s, block0 + (uint64_t)i * blocks_a_row + (uint64_t)j / 4, word);
            for (long e = j; e < cols && e < j + 4; e++)
                row[e] = word[e - j] < limit ? row[e] * grow : 0;
            j += 3;
        }
    }
}

static void dropout_alike(long n, double keep, const void *like, void *x)
{
    const REAL *kept = like;
    REAL *to = x, grow = (REAL)(1 / keep);
    for (long i = 0; i < n; i++)
        to[i] = kept[i] != 0 ? to[i] * grow : 0;
}

static void normals(long n, double scale, struct oa_stream s, uint64_t first, void *x)
{
    REAL *to = x;
    double some[256];
    for (long i = 0; i < n; i += 256) {
        long count = oa_min(256, n - i);
        oa_random_normals(s, first + (uint64_t)i, count, some);
        for (long j = 0; j < count; j++)
            to[i + j] = (REAL)(scale * some[j]);
    }
}

static void rotate(const struct oa_rotation *r, double sign, void *x)
{
    const REAL *c = r->cosine, *s = r->sine;
    long half = r->turned / 2, step = r->interleaved ? 2 : 1, apart = r->interleaved ? 1 : half;
    for (long h = 0; h < r->heads; h++) {
        ACT *a = (ACT *)x + h * r->width, *b = a + apart;
        for (long j = 0; j < half; j++) {
            REAL p = LOAD(a[j * step]), q = LOAD(b[j * step]), turn = (REAL)sign * s[j];
            a[j * step] = STORE(p * c[j] - q * turn);
            b[j * step] = STORE(q * c[j] + p * turn);
        }
    }
}

static void soft_cap(long n, double factor, double cap, void *x, void *slope)
{
    REAL *to = x, *bend = slope;
    for (long i = 0; i < n; i++) {
        REAL t = FN(tanh)((REAL)(factor / cap) * to[i]), rest = 1 - t * t;
        to[i] = (REAL)cap * t;
        if (bend)
            bend[i] = rest > 0 ? rest : 0; /* NaN gives 0 */
    }
}

/* ---- norms ---- */

static void norm(long rows, long cols, const void *x, const void *gain, const void *bias,
                 double epsilon, void *y, void *mean, void *rstd)
{
    const REAL *g = gain, *b = bias;
    for (long i = 0; i < rows; i++) {
        const ACT *from = (const ACT *)x + i * cols;
        ACT *to = (ACT *)y + i * cols;
        REAL sum = 0, squares = 0;
        for (long j = 0; mean && j < cols; j++)
            sum += LOAD(from[j]);
        REAL centre = sum / (REAL)cols;
        for (long j = 0; j < cols; j++)
            squares += (LOAD(from[j]) - centre) * (LOAD(from[j]) - centre);
        REAL r = 1 / FN(sqrt)(squares / (REAL)cols + (REAL)epsilon);
        for (long j = 0; j < cols; j++)
            to[j] = STORE((LOAD(from[j]) - centre) * r * (g ? g[j] : 1) + (b ? b[j] : 0));
        if (mean)
            ((REAL *)mean)[i] = centre;
        ((REAL *)rstd)[i] = r;
    }
}

/* With h = (x − mean)·rstd and e = dy·gain: dx = rstd·(e − mean(e) − h·mean(e·h)); dgain += dy·h;
 * dbias += dy. Root mean square: h = x·rstd, dx = rstd·(e − h·mean(e·h)). */
static void norm_gradient(long rows, long cols, const void *x, const void *gain, const void *mean,
                          const void *rstd, const void *dy, void *dx, void *dgain, void *dbias)
{
    const REAL *g = gain;
    REAL *dg = dgain, *db = dbias;
    for (long i = 0; i < rows; i++) {
        const ACT *from = (const ACT *)x + i * cols, *gradient = (const ACT *)dy + i * cols;
        ACT *to = (ACT *)dx + i * cols;
        REAL centre = mean ? ((const REAL *)mean)[i] : 0, r = ((const REAL *)rstd)[i];
        REAL sum_e = 0, sum_eh = 0;
        for (long j = 0; j < cols; j++) {
            REAL h = (LOAD(from[j]) - centre) * r, d = LOAD(gradient[j]), e = g ? d * g[j] : d;
            sum_e += e;
            sum_eh += e * h;
            if (dg)
                dg[j] += d * h;
            if (db)
                db[j] += d;
        }
        sum_e = mean ? sum_e / (REAL)cols : 0;
        sum_eh /= (REAL)cols;
        for (long j = 0; j < cols; j++) {
            REAL h = (LOAD(from[j]) - centre) * r, d = LOAD(gradient[j]);
            to[j] = STORE(r * ((g ? d * g[j] : d) - sum_e - h * sum_eh));
        }
    }
}

#include "kernels/ref_softmax.h"

/* ---- feature maps ---- */

static REAL feature_value(enum oa_feature f, REAL x)
{
    switch (f) {
    case OA_FEATURE_ELU:
        return x > 0 ? x + 1 : FN(exp)(x);
    case OA_FEATURE_RELU:
        return x <= 0 ? 0 : x;
    case OA_FEATURE_COS:
        return FN(cos)(x);
    default:
        return x;
    }
}

static REAL feature_slope(enum oa_feature f, REAL x)
{
    switch (f) {
    case OA_FEATURE_ELU:
        return x > 0 ? 1 : FN(exp)(x);
    case OA_FEATURE_COS:
        return -FN(sin)(x);
    default:
        return 1;
    }
}

static void powers_gradient(int degree, long width, const ACT *x, const ACT *dy, ACT *dx)
{
    for (long j = 0; j < width; j++) {
        REAL v = LOAD(x[j]), power = 1, sum = 0;
        for (int p = 0; p < degree; p++, power *= v)
            sum += (REAL)(p + 1) * power * LOAD(dy[p * width + j]);
        dx[j] = STORE(sum);
    }
}

static void feature(enum oa_feature f, int degree, long rows, long width, const void *x, long ldx,
                    void *y, long ldy)
{
    for (long i = 0; i < rows; i++) {
        const ACT *from = (const ACT *)x + i * ldx;
        ACT *to = (ACT *)y + i * ldy;
        for (long j = 0; j < width; j++) {
            if (f != OA_FEATURE_POWER) {
                to[j] = STORE(feature_value(f, LOAD(from[j])));
                continue;
            }
            REAL v = LOAD(from[j]), power = v;
            for (int p = 0; p < degree; p++, power *= v)
                to[p * width + j] = STORE(power);
        }
    }
}

static void feature_gradient(enum oa_feature f, int degree, long rows, long width, const void *x,
                             long ldx, const void *dy, long lddy, void *dx, long lddx)
{
    for (long i = 0; i < rows; i++) {
        const ACT *from = (const ACT *)x + i * ldx, *gradient = (const ACT *)dy + i * lddy;
        ACT *to = (ACT *)dx + i * lddx;
        if (f == OA_FEATURE_POWER)
            powers_gradient(degree, width, from, gradient, to);
        else if (f == OA_FEATURE_RELU)
            relu_gradient(width, from, gradient, to);
        else
            for (long j = 0; j < width; j++)
                to[j] = STORE(feature_slope(f, LOAD(from[j])) * LOAD(gradient[j]));
    }
}

#include "kernels/ref_features.h"
#include "kernels/ref_recurrence.h"

/* ---- structured projections ---- */

static void lanes_in(long rows, long n, const int32_t *index, const void *x, long ldx, void *y)
{
    const ACT *from = x;
    REAL *to = y;
    for (long i = 0; i < n; i++) {
        REAL *lanes = to + (index ? index[i] : i) * OA_LANES;
        for (long t = 0; t < OA_LANES; t++)
            lanes[t] = t < rows ? LOAD(from[t * ldx + i]) : 0;
    }
}

static void lanes_out(long rows, long n, const int32_t *index, const void *factor, const void *x,
                      void *y, long ldy)
{
    const REAL *from = x, *f = factor;
    ACT *to = y;
    for (long i = 0; i < n; i++) {
        long r = index ? index[i] : i;
        for (long t = 0; t < rows; t++)
            to[t * ldy + i] = STORE(f ? f[r] * from[r * OA_LANES + t] : from[r * OA_LANES + t]);
    }
}

static void hadamard(long n, long unit, const void *factor, const void *x, void *y)
{
    const REAL *from = x, *f = factor;
    REAL *to = y;
    for (long r = 0; r < n; r++)
        for (long t = 0; t < OA_LANES; t++)
            to[r * OA_LANES + t] = f[r] * from[r * OA_LANES + t];
    for (long step = unit * OA_LANES; step < n * OA_LANES; step *= 2) {
        for (long first = 0; first < n * OA_LANES; first += 2 * step) {
            for (long i = first; i < first + step; i++) {
                REAL a = to[i], b = to[i + step];
                to[i] = a + b;
                to[i + step] = a - b;
            }
        }
    }
}

static void mix_runs(long n, long b, bool transposed, const void *q, const void *x, void *y)
{
    const REAL *m = q, *from = x;
    REAL *to = y;
    for (long r = 0; r < n; r++) {
        long i = r % b;
        for (long t = 0; t < OA_LANES; t++) {
            REAL sum = 0;
            for (long j = 0; j < b; j++)
                sum += m[transposed ? i * b + j : j * b + i] * from[(r - i + j) * OA_LANES + t];
            to[r * OA_LANES + t] = sum;
        }
    }
}

/* ---- loss ---- */

/* Mean of x − top, where labels are smoothed. */
static double mean_below(long n, const REAL *x, REAL top, double smoothing)
{
    double sum = 0;
    for (long i = 0; smoothing > 0 && i < n; i++)
        sum += (double)x[i] - (double)top;
    return sum / (double)n;
}

static double cross_entropy(long n, const void *logits, long target, double smoothing, double scale,
                            void *d)
{
    const REAL *x = logits;
    ACT *to = d;
    REAL top = x[0];
    double sum = 0, each = smoothing / (double)n;
    for (long i = 1; i < n; i++)
        if (x[i] > top)
            top = x[i];
    for (long i = 0; i < n; i++)
        sum += FN(exp)(x[i] - top);
    double below = (double)top - (double)x[target];
    double loss = log(sum) + below - smoothing * (below + mean_below(n, x, top, smoothing));
    if (to) {
        REAL factor = (REAL)(scale / sum), less = (REAL)(scale * each);
        REAL right = (REAL)scale * (FN(exp)(x[target] - top) / (REAL)sum - 1) +
                     (REAL)(scale * (smoothing - each));
        for (long i = 0; i < n; i++)
            to[i] = STORE(factor * FN(exp)(x[i] - top) - less);
        to[target] = STORE(right);
    }
    return loss;
}

static double log_sum(long n, const void *logits)
{
    const REAL *x = logits;
    double top = -INFINITY, sum = 0;
    for (long i = 0; i < n; i++)
        top = (double)x[i] > top ? (double)x[i] : top;
    for (long i = 0; i < n && isfinite(top); i++)
        sum += exp((double)x[i] - top);
    return isfinite(top) ? top + log(sum) : top;
}

/* ---- optimisers ---- */

static void adamw(long n, const struct oa_adamw *h, void *w, void *m, void *v, const void *g)
{
    REAL *weight = w, *first = m, *second = v;
    const REAL *gradient = g;
    REAL b1 = (REAL)h->beta1, b2 = (REAL)h->beta2, a1 = (REAL)(1 - h->beta1),
         a2 = (REAL)(1 - h->beta2);
    REAL step = (REAL)(h->lr / h->correction1), root = (REAL)(1 / sqrt(h->correction2));
    REAL shrink = (REAL)(1 - h->lr * h->weight_decay);
    for (long i = 0; i < n; i++) {
        REAL d = (REAL)h->gradient_scale * gradient[i];
        first[i] = b1 * first[i] + a1 * d;
        second[i] = b2 * second[i] + a2 * d * d;
        weight[i] =
            shrink * weight[i] - step * first[i] / (FN(sqrt)(second[i]) * root + (REAL)h->epsilon);
    }
}

static void sgd(long n, double lr, double momentum, double weight_decay, double gradient_scale,
                void *w, void *m, const void *g)
{
    REAL *weight = w, *speed = m;
    const REAL *gradient = g;
    for (long i = 0; i < n; i++) {
        speed[i] = (REAL)momentum * speed[i] + (REAL)gradient_scale * gradient[i];
        weight[i] -= (REAL)lr * (speed[i] + (REAL)weight_decay * weight[i]);
    }
}

static void zero_past(long n, void *x)
{
    memset(x, 0, (size_t)n * sizeof(REAL));
}

static double sum_squares(long n, const void *x)
{
    return dot(n, x, x);
}

/* ---- the table ---- */

static const struct oa_kernels plain_table = {
    .precision = PRECISION,
    .isa = OA_ISA_REF,
    .act = ACT_TYPE,
    .real = REAL_TYPE,
    .act_size = sizeof(ACT),
    .real_size = sizeof(REAL),
    .gemm_name = "ref",
    .query_block = 64,
    .key_block = 512,
    .row_block = 64,
    .gemm_block = 256,
    .gemm_open = gemm_open,
    .gemm_close = gemm_close,
    .gemm = gemm,
    .softmax_to_tiles = softmax_to_tiles,
    .softmax_pairs = softmax_pairs,
#define K(name) .name = name,
#include "kernels/kernels.def"
};

void NAME(oa_kernels_ref)(struct oa_kernels *k)
{
    *k = plain_table;
}
