/* SPDX-License-Identifier: Apache-2.0
 * Features of kernel attention in plain C; a part of ref_template.h. */

static void place(long heads, long width, double cosine, double sine, const void *x, void *y)
{
    for (long h = 0; h < heads; h++) {
        const ACT *from = (const ACT *)x + h * width;
        ACT *to = (ACT *)y + 2 * h * width;
        for (long j = 0; j < width; j++) {
            REAL v = LOAD(from[j]), r = v <= 0 ? 0 : v;
            to[j] = STORE((REAL)sine * r);
            to[width + j] = STORE((REAL)cosine * r);
        }
    }
}

/* dx = [x > 0]·(sine·dy_1 + cosine·dy_2) */
static void place_gradient(long heads, long width, double cosine, double sine, const void *x,
                           const void *dy, void *dx)
{
    for (long h = 0; h < heads; h++) {
        const ACT *from = (const ACT *)x + h * width, *gradient = (const ACT *)dy + 2 * h * width;
        ACT *to = (ACT *)dx + h * width;
        for (long j = 0; j < width; j++) {
            REAL sum = (REAL)sine * LOAD(gradient[j]) + (REAL)cosine * LOAD(gradient[width + j]);
            to[j] = STORE(LOAD(from[j]) > 0 ? sum : 0);
        }
    }
}

static void quadratic(long rows, long width, const double c[3], const void *x, long ldx, void *y,
                      long ldy)
{
    const REAL linear = (REAL)c[1], square = (REAL)c[2], cross = (REAL)(c[2] * sqrt(2.0));
    for (long i = 0; i < rows; i++) {
        const ACT *from = (const ACT *)x + i * ldx;
        ACT *to = (ACT *)y + i * ldy;
        if (c[0] != 0)
            *to++ = STORE((REAL)c[0]);
        for (long a = 0; a < width && c[1] != 0; a++)
            *to++ = STORE(linear * LOAD(from[a]));
        for (long a = 0; a < width; a++) {
            REAL v = LOAD(from[a]);
            *to++ = STORE(square * v * v);
            for (long b = a + 1; b < width; b++)
                *to++ = STORE(cross * v * LOAD(from[b]));
        }
    }
}

/* dx_a = c1 dy_a + 2 c2 dy_aa x_a + √2 c2 Σ_{b≠a} dy_ab x_b, the pairs (b, a) before it and (a, b)
 * after it. */
static void quadratic_gradient(long rows, long width, const double c[3], const void *x, long ldx,
                               const void *dy, long lddy, void *dx, long lddx)
{
    const REAL linear = (REAL)c[1], square = (REAL)(2 * c[2]), cross = (REAL)(c[2] * sqrt(2.0));
    for (long i = 0; i < rows; i++) {
        const ACT *from = (const ACT *)x + i * ldx,
                  *first = (const ACT *)dy + i * lddy + (c[0] != 0);
        const ACT *pairs = first + (c[1] != 0 ? width : 0);
        ACT *to = (ACT *)dx + i * lddx;
        for (long a = 0; a < width; a++) {
            REAL sum = c[1] != 0 ? linear * LOAD(first[a]) : 0;
            const ACT *pair = pairs + a; /* (b, a): row b has width − b elements, from (b, b) */
            for (long b = 0; b < a; pair += width - 1 - b, b++)
                sum += cross * LOAD(*pair) * LOAD(from[b]);
            sum += square * LOAD(*pair++) * LOAD(from[a]);
            for (long b = a + 1; b < width; b++)
                sum += cross * LOAD(*pair++) * LOAD(from[b]);
            to[a] = STORE(sum);
        }
    }
}

static void product(long n, double a, const void *x, const void *y, void *z)
{
    const ACT *p = x, *q = y;
    ACT *to = z;
    for (long i = 0; i < n; i++)
        to[i] = STORE((REAL)a * LOAD(p[i]) * LOAD(q[i]));
}

#define RELU_FLOOR ((REAL)1e-3)

static REAL random_argument(REAL scale, const REAL *bias, const REAL *u, long j)
{
    return scale * u[j] + (bias ? bias[j] : 0);
}

/* The largest logarithm of a feature of the row. */
static REAL random_top(enum oa_random_feature f, long width, REAL scale, const REAL *bias,
                       const REAL *u)
{
    REAL top = f == OA_RANDOM_EXP ? -(REAL)INFINITY : 0;
    for (long j = 0; j < width && f <= OA_RANDOM_HYPERBOLIC; j++) {
        REAL t = random_argument(scale, bias, u, j);
        if (f == OA_RANDOM_HYPERBOLIC && t < 0)
            t = -t;
        if (!(t <= top))
            top = t;
    }
    return top;
}

static void random_features(enum oa_random_feature f, long rows, long width, double scale,
                            const void *bias, const void *u, long ldu, void *y, long ldy, void *top)
{
    REAL root = (REAL)(1 / sqrt((double)width));
    for (long i = 0; i < rows; i++) {
        const REAL *from = (const REAL *)u + i * ldu;
        ACT *to = (ACT *)y + i * ldy;
        REAL most = random_top(f, width, (REAL)scale, bias, from);
        for (long j = 0; j < width; j++) {
            REAL t = random_argument((REAL)scale, bias, from, j);
            if (f == OA_RANDOM_RELU)
                to[j] = STORE(root * (t <= 0 ? 0 : t) + RELU_FLOOR);
            else
                to[j] = STORE(f == OA_RANDOM_TRIG ? root * FN(cos)(t) : FN(exp)(t - most));
            if (f == OA_RANDOM_TRIG || f == OA_RANDOM_HYPERBOLIC)
                to[width + j] = STORE(f == OA_RANDOM_TRIG ? root * FN(sin)(t) : FN(exp)(-t - most));
        }
        ((REAL *)top)[i] = most;
    }
}

/* With g = y·dy, the gradient of the logarithm: exp du = scale·g, hyperbolic du = scale·(g₊ − g₋),
 * trig du = scale·(y_cos dy_sin − y_sin dy_cos), relu du = scale·dy/√width where y is above its
 * floor. */
static void random_features_gradient(enum oa_random_feature f, long rows, long width, double scale,
                                     const void *y, long ldy, const void *dy, long lddy, void *du,
                                     long lddu, void *sums)
{
    REAL s = (REAL)scale, root = (REAL)(1 / sqrt((double)width)), floor = LOAD(STORE(RELU_FLOOR));
    for (long i = 0; i < rows; i++) {
        const ACT *a = (const ACT *)y + i * ldy, *g = (const ACT *)dy + i * lddy;
        ACT *to = (ACT *)du + i * lddu;
        REAL sum = 0;
        for (long j = 0; j < width; j++) {
            REAL first = LOAD(a[j]), dfirst = LOAD(g[j]), t = first * dfirst;
            if (f == OA_RANDOM_RELU) {
                to[j] = STORE(first > floor ? s * root * dfirst : 0);
                continue;
            }
            REAL second = f == OA_RANDOM_EXP ? 0 : LOAD(a[width + j]),
                 dsecond = f == OA_RANDOM_EXP ? 0 : LOAD(g[width + j]);
            sum += t + second * dsecond;
            to[j] = STORE(f == OA_RANDOM_TRIG ? s * (first * dsecond - second * dfirst)
                                              : s * (t - second * dsecond));
        }
        ((REAL *)sums)[i] = sum;
    }
}

static void decay_tile(long rows, long cols, const int32_t *low, const int32_t *high,
                       const void *column, const void *row, void *x, long ldx)
{
    const REAL *c = column, *r = row;
    for (long i = 0; i < rows; i++) {
        REAL *to = (REAL *)x + i * ldx;
        for (long j = first_seen(low, i), end = end_seen(high, i, cols); j < end; j++)
            to[j] *= FN(exp)(c[j] - r[i]);
    }
}

static REAL whole_power(REAL x, int degree)
{
    REAL power = 1;
    for (; degree > 0; degree /= 2, x *= x)
        if (degree % 2)
            power *= x;
    return power;
}

static void power(long n, int degree, void *x)
{
    REAL *to = x;
    for (long i = 0; i < n; i++)
        to[i] = whole_power(to[i], degree);
}

static void power_gradient(long n, int degree, const void *g, void *x)
{
    const REAL *gradient = g;
    REAL *to = x;
    for (long i = 0; i < n; i++)
        to[i] = (REAL)degree * whole_power(to[i], degree - 1) * gradient[i];
}
