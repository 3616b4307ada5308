/* SPDX-License-Identifier: Apache-2.0
 * Householder QR of a tall matrix, with R_ll > 0. A QR without this sign correction is not Haar on
 * Gaussian columns: E[Q_11] is then −Γ(d/2)/(√π Γ((d+1)/2)) instead of 0 (Mezzadri, How to generate
 * random matrices from the classical compact groups, 2007, arXiv math-ph/0609050).
 *
 *     H_l = I − v_l v_lᵀ with |v_l|² = 2 maps column l, rows l …, to (R_ll, 0, …, 0)
 *     Q = H_0 H_1 … restricted to k columns, column l times sign(R_ll)
 *
 * Blocked (Schreiber, Van Loan 1989): a panel of m reflections is I − V T Vᵀ with T upper
 * triangular, T_ll = 1, T_{0…l−1, l} = −T V_{0…l−1}ᵀ v_l, so that a panel passes over the other
 * columns once, four at a time. Columns are contiguous. Cost: 4dk² − 4k³/3 FLOPs. */
#include "attention/projections/orthonormal.h"

#include <math.h>
#include <string.h>

/* Reflections per panel; columns per tile; columns per parallel item. */
enum { PANEL = 32, TILE = 4, ITEM = 32 };

struct qr_factors {
    long d, k;
    double *v;    /* k columns: the reflections, zeros above the diagonal */
    double *t;    /* for each panel PANEL × PANEL */
    double *sign; /* of R_ll */
};

/* One panel and the columns it is applied to. */
struct qr_update {
    const struct qr_factors *f;
    long first, count; /* reflections first … first + count − 1 */
    bool transposed; /* I − V Tᵀ Vᵀ: the reflections in order, for R; else against it, for Q */
    double *x;       /* columns */
    long columns;
};

static double vector_dot(long n, const double *x, const double *y)
{
    double a = 0, b = 0, c = 0, e = 0;
    long i = 0;
    for (; i + 4 <= n; i += 4) {
        a += x[i] * y[i];
        b += x[i + 1] * y[i + 1];
        c += x[i + 2] * y[i + 2];
        e += x[i + 3] * y[i + 3];
    }
    for (; i < n; i++)
        a += x[i] * y[i];
    return (a + b) + (c + e);
}

static void vector_subtract(long n, double a, const double *x, double *y)
{
    for (long i = 0; i < n; i++)
        y[i] -= a * x[i];
}

/* ---- applying a panel ---- */

/* w[i][c] = v_i · x_c */
static void qr_project_tile(const struct qr_update *u, double *const x[TILE], double w[PANEL][TILE])
{
    long d = u->f->d, row = u->first;
    for (long i = 0; i < u->count; i++) {
        const double *v = u->f->v + (u->first + i) * d;
        double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (long r = row; r < d; r++) {
            s0 += v[r] * x[0][r];
            s1 += v[r] * x[1][r];
            s2 += v[r] * x[2][r];
            s3 += v[r] * x[3][r];
        }
        w[i][0] = s0;
        w[i][1] = s1;
        w[i][2] = s2;
        w[i][3] = s3;
    }
}

/* w ← T w or Tᵀ w; T is upper triangular, so one order of rows works in place for each. */
static void qr_multiply_tile(const struct qr_update *u, double w[PANEL][TILE])
{
    const double *t = u->f->t + u->first * PANEL;
    for (long step = 0; step < u->count; step++) {
        long i = u->transposed ? u->count - 1 - step : step;
        long low = u->transposed ? 0 : i + 1, high = u->transposed ? i : u->count;
        for (long j = low; j < high; j++) {
            double factor = u->transposed ? t[j * PANEL + i] : t[i * PANEL + j];
            for (int c = 0; c < TILE; c++)
                w[i][c] += factor * w[j][c];
        }
    }
}

/* x_c −= Σ_i v_i w[i][c] */
static void qr_subtract_tile(const struct qr_update *u, double *const x[TILE],
                             double w[PANEL][TILE])
{
    long d = u->f->d;
    for (long i = 0; i < u->count; i++) {
        const double *v = u->f->v + (u->first + i) * d;
        for (long r = u->first; r < d; r++) {
            x[0][r] -= w[i][0] * v[r];
            x[1][r] -= w[i][1] * v[r];
            x[2][r] -= w[i][2] * v[r];
            x[3][r] -= w[i][3] * v[r];
        }
    }
}

/* The same for one column, of those after the last tile. */
static void qr_update_one(const struct qr_update *u, double *x)
{
    double w[PANEL];
    const double *t = u->f->t + u->first * PANEL;
    long rows = u->f->d - u->first;
    for (long i = 0; i < u->count; i++)
        w[i] = vector_dot(rows, u->f->v + (u->first + i) * u->f->d + u->first, x + u->first);
    for (long step = 0; step < u->count; step++) {
        long i = u->transposed ? u->count - 1 - step : step;
        for (long j = u->transposed ? 0 : i + 1; j < (u->transposed ? i : u->count); j++)
            w[i] += (u->transposed ? t[j * PANEL + i] : t[i * PANEL + j]) * w[j];
    }
    for (long i = 0; i < u->count; i++)
        vector_subtract(rows, w[i], u->f->v + (u->first + i) * u->f->d + u->first, x + u->first);
}

static void qr_update_columns(const struct qr_update *u, long first, long end)
{
    long d = u->f->d, c = first;
    for (; c + TILE <= end; c += TILE) {
        double *x[TILE] = { u->x + c * d, u->x + (c + 1) * d, u->x + (c + 2) * d,
                            u->x + (c + 3) * d };
        double w[PANEL][TILE];
        qr_project_tile(u, x, w);
        qr_multiply_tile(u, w);
        qr_subtract_tile(u, x, w);
    }
    for (; c < end; c++)
        qr_update_one(u, u->x + c * d);
}

static void qr_update_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct qr_update *u = argument;
    qr_update_columns(u, item * ITEM, oa_min((item + 1) * ITEM, u->columns));
}

static void qr_apply_panel(oa_context *threads, struct qr_update *u)
{
    if (threads)
        oa_parallel(threads, (u->columns + ITEM - 1) / ITEM, qr_update_item, u);
    else
        qr_update_columns(u, 0, u->columns);
}

/* ---- the factorisation ---- */

/* Column l becomes its reflection. */
static void qr_reflect(struct qr_factors *f, long l)
{
    double *x = f->v + l * f->d;
    double norm = sqrt(vector_dot(f->d - l, x + l, x + l));
    f->sign[l] = x[l] > 0 ? -1 : 1;
    memset(x, 0, (size_t)l * sizeof *x);
    x[l] += x[l] > 0 ? norm : -norm;
    double length = sqrt(vector_dot(f->d - l, x + l, x + l));
    for (long r = l; r < f->d && length > 0; r++)
        x[r] *= sqrt(2) / length;
}

static void qr_extend_triangle(struct qr_factors *f, long first, long i)
{
    double *t = f->t + first * PANEL;
    for (long a = 0; a < i; a++) {
        double sum = 0;
        for (long b = a; b < i; b++)
            sum += t[a * PANEL + b] *
                   vector_dot(f->d, f->v + (first + b) * f->d, f->v + (first + i) * f->d);
        t[a * PANEL + i] = -sum;
    }
    t[i * PANEL + i] = 1;
}

static void qr_factor_panel(struct qr_factors *f, long first, long count)
{
    for (long i = 0; i < count; i++) {
        double *x = f->v + (first + i) * f->d;
        for (long j = 0; j < i; j++) {
            const double *v = f->v + (first + j) * f->d;
            vector_subtract(f->d, vector_dot(f->d, v, x), v, x);
        }
        qr_reflect(f, first + i);
        qr_extend_triangle(f, first, i);
    }
}

static void qr_factor(oa_context *threads, struct qr_factors *f)
{
    for (long first = 0; first < f->k; first += PANEL) {
        long count = f->k - first < PANEL ? f->k - first : PANEL, next = first + count;
        qr_factor_panel(f, first, count);
        qr_apply_panel(threads, &(struct qr_update){ .f = f,
                                                     .first = first,
                                                     .count = count,
                                                     .transposed = true,
                                                     .x = f->v + next * f->d,
                                                     .columns = f->k - next });
    }
}

/* From the last panel to the first: a panel does not change the columns before it, which are still
 * unit vectors. */
static void qr_form_q(oa_context *threads, const struct qr_factors *f, double *q)
{
    memset(q, 0, (size_t)(f->d * f->k) * sizeof *q);
    for (long l = 0; l < f->k; l++)
        q[l * f->d + l] = f->sign[l];
    for (long first = (f->k - 1) / PANEL * PANEL; first >= 0; first -= PANEL) {
        long count = f->k - first < PANEL ? f->k - first : PANEL;
        qr_apply_panel(threads, &(struct qr_update){ .f = f,
                                                     .first = first,
                                                     .count = count,
                                                     .x = q + first * f->d,
                                                     .columns = f->k - first });
    }
}

size_t oa_qr_work(long d, long k)
{
    return (size_t)(d * k + (k + PANEL) * PANEL + k);
}

void oa_orthonormal_qr(oa_context *threads, long d, long k, double *x, double *work)
{
    struct qr_factors f = {
        .d = d, .k = k, .v = work, .t = work + d * k, .sign = work + d * k + (k + PANEL) * PANEL
    };
    memcpy(f.v, x, (size_t)(d * k) * sizeof *x);
    qr_factor(threads, &f);
    qr_form_q(threads, &f, x);
}

void oa_orthonormal_gram_schmidt(long d, long k, double *x)
{
    for (int pass = 0; pass < 2; pass++) {
        for (long l = 0; l < k; l++) {
            double *column = x + l * d;
            for (long i = 0; i < l; i++)
                vector_subtract(d, vector_dot(d, x + i * d, column), x + i * d, column);
            double norm = sqrt(vector_dot(d, column, column));
            for (long r = 0; r < d && norm > 0; r++)
                column[r] /= norm;
        }
    }
}
