/* SPDX-License-Identifier: Apache-2.0
 * Oracle of performer with fitted features, in double: A_ij = Σ_r f_r(q_i) f_r(k_j), normalised
 * over j, with log f_r(x) = ω_rᵀAω_r + ω_rᵀB x − ½ xᵀP x. A, B, P come from the device's fit, which
 * the golden vectors test. */
#include "attention/projections/omega.h"

#include <math.h>

struct fitted_oracle {
    const struct oa_group *g;
    struct oa_exponents e;
    long K, count;
    double scale;
    bool running; /* fitted to the running moments, parameters 1 and 2 */
};

static double fitted_omega(const struct fitted_oracle *f, long r, long c)
{
    return oa_parameter_at(f->g, f->g->parameter[0], r * f->K + c);
}

static double fitted_log_feature(const struct fitted_oracle *f, int side, const double *row, long r)
{
    double sum = 0;
    for (long i = 0; i < f->K; i++) {
        for (long j = 0; j < f->K; j++) {
            long at = i * f->K + j;
            sum += fitted_omega(f, r, i) * f->e.a[at] * fitted_omega(f, r, j) +
                   fitted_omega(f, r, i) * f->e.b[side][at] * f->scale * row[j] -
                   f->scale * f->scale * row[i] * f->e.p[side][at] * row[j] / 2;
        }
    }
    return sum;
}

static void fitted_row(const struct fitted_oracle *f, const struct oa_oracle *in, long head, long i,
                       const double *q, const double *k, double *w)
{
    long stride = f->K * f->g->shape.heads;
    double top = -INFINITY, sum = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (long j = 0; j < in->keys; j++) {
            w[j] = 0;
            for (long r = 0; r < f->count && oa_oracle_visible(f->g, in, head, i, j); r++) {
                double both =
                    fitted_log_feature(f, 0, q, r) + fitted_log_feature(f, 1, k + j * stride, r);
                if (pass == 0)
                    top = fmax(top, both);
                else
                    w[j] += exp(both - top);
            }
            sum += w[j];
        }
    }
    for (long j = 0; j < in->keys && sum > 0; j++)
        w[j] /= sum;
}

static void fitted_add_moments(const struct fitted_oracle *f, const double *x, long rows,
                               double *mean, double *square)
{
    long stride = f->K * f->g->shape.heads;
    for (long t = 0; t < rows; t++) {
        for (long i = 0; i < f->K; i++) {
            mean[i] += f->scale * x[t * stride + i] / (double)rows;
            for (long j = 0; j < f->K; j++)
                square[i * f->K + j] +=
                    f->scale * f->scale * x[t * stride + i] * x[t * stride + j] / (double)rows;
        }
    }
}

static void fitted_copy_moments(const struct fitted_oracle *f, long head, struct oa_moments *m)
{
    long K = f->K, H = f->g->shape.heads;
    for (int side = 0; side < 2; side++) {
        long first = side * H + head;
        for (long i = 0; i < K; i++)
            m->mean[side][i] = oa_parameter_at(f->g, f->g->parameter[1], first * K + i);
        for (long i = 0; i < K * K; i++)
            m->square[side][i] = oa_parameter_at(f->g, f->g->parameter[2], first * K * K + i);
    }
}

static enum oa_error fitted_map_head(struct fitted_oracle *f, const struct oa_oracle *in,
                                     enum oa_random_fit kind, long head, const double *q,
                                     const double *k, double *w)
{
    long K = f->K, KK = K * K, stride = K * f->g->shape.heads;
    double *room = oa_alloc(f->g->context, (size_t)(2 * K + (7 + OA_FIT_WORK) * KK) * sizeof *room);
    if (!room)
        return OA_NO_MEMORY;
    double *m = room + 2 * K;
    struct oa_moments moments = { K, { room, room + K }, { m, m + KK } };
    f->e = (struct oa_exponents){
        m + 2 * KK, { m + 3 * KK, m + 4 * KK }, { m + 5 * KK, m + 6 * KK }, m + 7 * KK
    };
    if (f->running) {
        fitted_copy_moments(f, head, &moments);
    } else {
        fitted_add_moments(f, q + head * K, in->memory ? in->queries : in->length, moments.mean[0],
                           moments.square[0]);
        fitted_add_moments(f, k + head * K, in->length, moments.mean[1], moments.square[1]);
    }
    oa_fit_exponents(kind, &moments, &f->e);
    for (long i = 0; i < in->queries; i++)
        fitted_row(f, in, head, i, q + i * stride + head * K, k + head * K, w + i * in->keys);
    oa_free(room);
    return OA_OK;
}

enum oa_error oa_fitted_weights(const struct oa_group *g, const struct oa_oracle *in,
                                enum oa_random_fit kind, bool running, double *weights)
{
    struct fitted_oracle f = {
        .g = g, .K = g->shape.head_width, .count = g->parameter[0]->dim[0], .running = running
    };
    long width = f.K * g->shape.heads;
    double *q = oa_alloc(g->context, (size_t)(width * (in->queries + in->keys)) * sizeof *q);
    if (!q)
        return OA_NO_MEMORY;
    f.scale = pow((double)f.K, -0.25);
    enum oa_error e = oa_oracle_project(g, in, q, q + width * in->queries);
    for (long h = 0; e == OA_OK && h < g->shape.heads; h++)
        e = fitted_map_head(&f, in, kind, h, q, q + width * in->queries,
                            weights + h * in->queries * in->keys);
    oa_free(q);
    return e;
}
