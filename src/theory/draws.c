/* SPDX-License-Identifier: Apache-2.0
 * Draws of random projections in chunks: all threads generate a chunk, then all measure it. */
#include "theory/draws.h"
#include "statistics/statistics.h"

#include <math.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 24 };
static const uint64_t seed = 1;

/* ---- draws ---- */

struct draw_chunk {
    const struct oa_draws *draws;
    long first, count;
    int heads;
    double *u, *values;
};

static void measure_draw(void *argument, long item, const struct oa_worker *worker)
{
    const struct draw_chunk *c = argument;
    const struct oa_draws *d = c->draws;
    double numbers[64];
    d->measure(&(struct oa_draw){ .d = d->d,
                                  .k = d->k,
                                  .index = c->first + item,
                                  .heads = c->heads,
                                  .u = c->u + item * c->heads * d->k * d->d,
                                  .argument = d->argument,
                                  .scratch = worker->scratch },
               numbers);
    for (int s = 0; s < d->statistics; s++)
        c->values[s * d->count + c->first + item] = numbers[s];
}

/* Heads of one call are independent, except those of `slice`, which needs a call for each draw. */
static enum oa_error generate_chunk(oa_context *c, const struct draw_chunk *k)
{
    const struct oa_draws *d = k->draws;
    bool slice = d->kind == OA_PROJECTION_SLICE;
    struct oa_stream s = oa_stream_named(seed, d->name);
    struct oa_projection_shape p = { .kind = d->kind, .d = d->d, .width = d->k };
    for (long i = 0; i < (slice ? k->count : 1); i++) {
        p.heads = p.layer_heads = slice ? k->heads : k->heads * k->count;
        OA_TRY(oa_generate_projection(c, &p, oa_stream_child(s, (uint64_t)(k->first + i)),
                                      k->u + i * k->heads * d->k * d->d));
    }
    return OA_OK;
}

enum oa_error oa_draws_run(oa_context *c, const struct oa_draws *d, double *values)
{
    int heads = d->kind == OA_PROJECTION_SLICE ? (int)(d->d / d->k) : d->heads;
    size_t each = (size_t)(heads * d->k * d->d) * sizeof(double);
    long most = (long)(CHUNK_BYTES / each) + 1;
    most = most < d->count ? most : d->count;
    struct draw_chunk k = {
        .draws = d, .heads = heads, .values = values, .u = oa_alloc(c, (size_t)most * each)
    };
    enum oa_error e = oa_status(c);
    while (e == OA_OK && k.first < d->count) {
        k.count = d->count - k.first < most ? d->count - k.first : most;
        e = generate_chunk(c, &k);
        if (e == OA_OK)
            oa_parallel(c, k.count, measure_draw, &k);
        k.first += k.count;
        if (e == OA_OK)
            e = oa_stop_requested(c) ? oa_fail(c, OA_INTERRUPTED, "theory was stopped")
                                     : oa_status(c);
    }
    oa_free(k.u);
    return e;
}

long oa_draws_affordable(long d, long k, long most)
{
    long n = (long)(2e8 / (4 * (double)d * (double)k * (double)(k + 32)));
    return n < 4 ? 4 : n > most ? most : n;
}

/* ---- statistics ---- */

struct oa_measured oa_measured_of(const double *x, long n)
{
    return (struct oa_measured){ oa_mean(x, (int)n), oa_deviation(x, (int)n) / sqrt((double)n) };
}

struct oa_measured oa_measured_root(struct oa_measured m)
{
    double root = sqrt(m.mean);
    return (struct oa_measured){ root, root > 0 ? m.error / (2 * root) : 0 };
}

/* ---- vectors ---- */

double oa_dot(long n, const double *x, const double *y)
{
    double sum[4] = { 0 };
    long i = 0;
    for (; i + 4 <= n; i += 4) {
        for (int j = 0; j < 4; j++)
            sum[j] += x[i + j] * y[i + j];
    }
    for (; i < n; i++)
        sum[0] += x[i] * y[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

double oa_orthonormality_error(const struct oa_draw *w, int head)
{
    const double *u = w->u + head * w->k * w->d;
    double worst = 0;
    for (long a = 0; a < w->k; a++)
        for (long b = 0; b <= a; b++)
            worst = fmax(worst, fabs(oa_dot(w->d, u + a * w->d, u + b * w->d) - (a == b)));
    return worst;
}

void oa_project_row(const struct oa_draw *draw, int head, const double *x, double *out)
{
    for (long l = 0; l < draw->k; l++)
        out[l] = oa_dot(draw->d, x, draw->u + (head * draw->k + l) * draw->d);
}

/* Scales x to the squared length d. */
static void scale_to_length(long d, double *x)
{
    double factor = sqrt((double)d / oa_dot(d, x, x));
    for (long i = 0; i < d; i++)
        x[i] *= factor;
}

/* y = cosine·x + √(1 − cosine²)·z, z the part of a Gaussian vector that is orthogonal to x. */
static void make_dense_pair(long d, double cosine, struct oa_stream s, double *x, double *y)
{
    for (long i = 0; i < d; i++) {
        x[i] = oa_random_normal(s, (uint64_t)i);
        y[i] = oa_random_normal(s, (uint64_t)(d + i));
    }
    scale_to_length(d, x);
    double along = oa_dot(d, x, y) / (double)d;
    for (long i = 0; i < d; i++)
        y[i] -= along * x[i];
    scale_to_length(d, y);
    for (long i = 0; i < d; i++)
        y[i] = cosine * x[i] + sqrt(1 - cosine * cosine) * y[i];
}

static void make_sparse_pair(long d, double cosine, struct oa_stream s, double *x, double *y)
{
    long a = (long)oa_random_below(s, 0, (uint64_t)d),
         b = (long)oa_random_below(s, 1, (uint64_t)(d - 1));
    memset(x, 0, (size_t)d * sizeof *x);
    memset(y, 0, (size_t)d * sizeof *y);
    x[a] = sqrt((double)d);
    y[a] = cosine * x[a];
    y[b + (b >= a)] = sqrt(1 - cosine * cosine) * x[a];
}

typedef void pair_maker(long d, double cosine, struct oa_stream s, double *x, double *y);

static enum oa_error make_pairs(oa_context *c, long d, int count, double cosine, pair_maker *make,
                                struct oa_vectors *out)
{
    struct oa_stream s = oa_stream_named(seed, "theory/pairs");
    size_t bytes = (size_t)(count * d) * sizeof(double);
    *out = (struct oa_vectors){ .d = d, .count = count, .cosine = cosine };
    out->x = oa_alloc(c, bytes);
    out->y = oa_alloc(c, bytes);
    for (int i = 0; out->x && out->y && i < count; i++)
        make(d, cosine, oa_stream_child(s, (uint64_t)i), out->x + i * d, out->y + i * d);
    return oa_status(c);
}

enum oa_error oa_vectors_make(oa_context *c, long d, int count, double cosine,
                              struct oa_vectors *out)
{
    return make_pairs(c, d, count, cosine, make_dense_pair, out);
}

enum oa_error oa_vectors_make_sparse(oa_context *c, long d, int count, double cosine,
                                     struct oa_vectors *out)
{
    return make_pairs(c, d, count, cosine, make_sparse_pair, out);
}

void oa_vectors_free(struct oa_vectors *p)
{
    oa_free(p->x);
    oa_free(p->y);
}
