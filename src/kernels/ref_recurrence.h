/* SPDX-License-Identifier: Apache-2.0
 * State updates with decay and the delta rule in plain C; a part of ref_template.h. */

static void log_sigmoid(long n, double scale, const void *x, void *y)
{
    for (long i = 0; i < n; i++) {
        REAL v = LOAD(((const ACT *)x)[i]);
        REAL tail = FN(log1p)(FN(exp)(v < 0 ? v : -v));
        ((REAL *)y)[i] = (REAL)scale * ((v < 0 ? v : 0) - tail);
    }
}

/* 1 − σ(x) = 1/(1 + e^x) */
static void log_sigmoid_gradient(long n, double scale, const void *x, const void *dy, void *dx)
{
    for (long i = 0; i < n; i++) {
        REAL v = LOAD(((const ACT *)x)[i]), e = FN(exp)(v < 0 ? v : -v);
        REAL rest = (v < 0 ? 1 : e) / (1 + e);
        ((ACT *)dx)[i] = STORE((REAL)scale * rest * ((const REAL *)dy)[i]);
    }
}

static void exp_difference(long n, const void *a, const void *b, void *y)
{
    for (long i = 0; i < n; i++)
        ((REAL *)y)[i] = FN(exp)(((const REAL *)a)[i] - ((const REAL *)b)[i]);
}

static void solve_unit_lower(long n, long cols, bool transposed, const void *a, long lda, void *x,
                             long ldx)
{
    for (long step = 0; step < n; step++) {
        long i = transposed ? n - 1 - step : step;
        for (long j = transposed ? i + 1 : 0; j < (transposed ? n : i); j++) {
            REAL factor = ((const REAL *)a)[transposed ? j * lda + i : i * lda + j];
            for (long c = 0; c < cols; c++)
                ((REAL *)x)[i * ldx + c] += factor * ((const REAL *)x)[j * ldx + c];
        }
    }
}

/* work: k_j times the decays since. */
static void decay_pairs(long rows, long width, const void *decay, const void *q, const void *k,
                        void *p, void *a, long ld, void *work)
{
    REAL *w = work;
    for (long j = 0; j < rows; j++) {
        memcpy(w, (const REAL *)k + j * width, (size_t)width * sizeof *w);
        for (long i = j; i < rows; i++) {
            const REAL *left = (const REAL *)q + i * width, *other = (const REAL *)k + i * width,
                       *rest = (const REAL *)decay + i * width;
            REAL sum = 0, also = 0;
            for (long c = 0; c < width; c++) {
                w[c] *= i > j ? rest[c] : 1;
                sum += left[c] * w[c];
                also += other[c] * w[c];
            }
            ((REAL *)p)[i * ld + j] = sum;
            if (a && i > j)
                ((REAL *)a)[i * ld + j] = also;
        }
    }
}

/* work: the decays since row j. */
static void decay_pairs_gradient(long rows, long width, const void *decay, const void *q,
                                 const void *k, const void *dp, const void *da, long ld, void *dq,
                                 void *dleft, void *dright, void *work)
{
    REAL *w = work;
    for (long j = 0; j < rows; j++) {
        const REAL *key = (const REAL *)k + j * width;
        for (long c = 0; c < width; c++)
            w[c] = 1;
        for (long i = j + 1; i < rows; i++) {
            const REAL *rest = (const REAL *)decay + i * width, *left = (const REAL *)q + i * width,
                       *other = (const REAL *)k + i * width;
            REAL p = ((const REAL *)dp)[i * ld + j], a = da ? ((const REAL *)da)[i * ld + j] : 0;
            for (long c = 0; c < width; c++) {
                w[c] *= rest[c];
                ((REAL *)dq)[i * width + c] += p * w[c] * key[c];
                ((REAL *)dright)[j * width + c] += w[c] * (p * left[c] + a * other[c]);
                if (da)
                    ((REAL *)dleft)[i * width + c] += a * w[c] * key[c];
            }
        }
    }
}
