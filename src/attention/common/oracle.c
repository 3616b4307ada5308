/* SPDX-License-Identifier: Apache-2.0
 * Oracles: attention maps in double by the definitions, for tests and `attend --weights`, sharing
 * no code with the engines. */
#include "attention/common/state_update.h"
#include "attention/mechanism.h"

#include <math.h>

double oa_parameter_at(const struct oa_group *g, const struct oa_parameter *p, long i)
{
    return oa_real_read(g->store->device, p->value, i);
}

double oa_oracle_value(const struct oa_group *g, const struct oa_parameter *w,
                       const struct oa_parameter *b, const double *x, long column)
{
    double sum = b ? oa_parameter_at(g, b, column) : 0;
    for (long c = 0; c < g->shape.width; c++)
        sum += oa_parameter_at(g, w, column * g->shape.width + c) * x[c];
    return sum;
}

bool oa_oracle_visible(const struct oa_group *g, const struct oa_oracle *in, long head, long i,
                       long j)
{
    struct oa_attention_shape a = { .batch = 1,
                                    .queries = in->queries,
                                    .keys = in->keys,
                                    .heads = g->shape.heads,
                                    .causal = g->shape.causal };
    bool real = j < in->length && (g->shape.cross || i < in->length);
    if (!real || (a.causal && j > i))
        return false;
    return oa_support_visible(&g->support, &a, head, i, j);
}

/* ---- projections ---- */

/* rows [n, H·K] = x [n, D] Wᵀ + b, W of `heads` heads, each repeated for the query heads that read
 * it. */
static enum oa_error oracle_project_rows(const struct oa_group *g, const double *x, long n,
                                         const struct oa_parameter *w, const struct oa_parameter *b,
                                         long heads, double *rows)
{
    long D = g->shape.width, K = g->shape.head_width, H = g->shape.heads, HK = H * K;
    double *matrix = oa_alloc(g->context, (size_t)(heads * K * D) * sizeof *matrix);
    enum oa_error e = matrix ? oa_project_matrix(g, w, matrix) : OA_NO_MEMORY;
    for (long i = 0; i < n && e == OA_OK; i++) {
        for (long out = 0; out < HK; out++) {
            long own = (long)floor((double)(out / K * heads) / (double)H) * K + out % K;
            double sum = b ? oa_parameter_at(g, b, own) : 0;
            for (long c = 0; c < D; c++)
                sum += x[i * D + c] * matrix[own * D + c];
            rows[i * HK + out] = sum;
        }
    }
    oa_free(matrix);
    return e;
}

/* RoPE: rotates the pairs of each head, (c, c + turned/2) or (2c, 2c + 1), by the angles of the
 * position. */
static void oracle_rotate_row(const struct oa_group *g, const struct oa_oracle *in, long position,
                              double *row)
{
    long K = g->shape.head_width, half = (in->turned ? in->turned : K) / 2;
    for (long h = 0; in->cosine && h < g->shape.heads; h++) {
        for (long c = 0; c < half; c++) {
            double *a = row + h * K + (in->interleaved ? 2 * c : c),
                   *b = a + (in->interleaved ? 1 : half), x = *a, y = *b;
            double cosine = in->cosine[position * half + c], sine = in->sine[position * half + c];
            *a = x * cosine - y * sine;
            *b = x * sine + y * cosine;
        }
    }
}

/* t_h·Λ_h */
static double oracle_query_factor(const struct oa_group *g, long column)
{
    double f = 1;
    if (g->temperature)
        f *= oa_parameter_at(g, g->temperature, column / g->shape.head_width);
    if (g->diagonal)
        f *= oa_parameter_at(g, g->diagonal, column);
    return f;
}

/* qknorm=joint. `rows` repeats a key head for each query head that shares it. */
static void oracle_norm_jointly(const struct oa_group *g, const struct oa_parameter *gain, long n,
                                double *rows)
{
    long K = g->shape.head_width, H = g->shape.heads, shared = H * K / gain->dim[0];
    for (long r = 0; r < n; r++) {
        double *row = rows + r * H * K, square = 0;
        for (long c = 0; c < H * K; c++)
            square += row[c] * row[c] / (double)(H * K);
        for (long c = 0; c < H * K; c++)
            row[c] *= oa_parameter_at(g, gain, c / K / shared * K + c % K) /
                      sqrt(square + oa_qknorm_epsilon(g));
    }
}

/* qknorm: rows [n, H·K]. */
static void oracle_norm_rows(const struct oa_group *g, const struct oa_parameter *gain, long n,
                             double *rows)
{
    long K = g->shape.head_width;
    bool layer = oa_atom_is(g->atom, "qknorm", "layer"),
         unit = oa_atom_is(g->atom, "qknorm", "unit");
    if (oa_atom_is(g->atom, "qknorm", "joint")) {
        oracle_norm_jointly(g, gain, n, rows);
        return;
    }
    if (oa_atom_value(g->atom, "qknorm")->number == 0)
        return;
    for (long r = 0; r < n * g->shape.heads; r++) {
        double *row = rows + r * K, mean = 0, square = 0;
        for (long c = 0; c < K && layer; c++)
            mean += row[c] / (double)K;
        for (long c = 0; c < K; c++)
            square += (row[c] - mean) * (row[c] - mean);
        double size = sqrt((unit ? square : square / (double)K) + oa_qknorm_epsilon(g));
        for (long c = 0; c < K; c++)
            row[c] = (row[c] - mean) / size * (gain ? oa_parameter_at(g, gain, c) : 1);
    }
}

enum oa_error oa_oracle_project(const struct oa_group *g, const struct oa_oracle *in, double *q,
                                double *k)
{
    long D = g->shape.width, K = g->shape.head_width, HK = g->shape.heads * K;
    bool tie = oa_atom_flag(g->atom, "tie");
    double s = oa_atom_is(g->atom, "scale", "jl") ? sqrt((double)D / (double)K) : 1;
    OA_TRY(oracle_project_rows(g, in->x, in->queries, g->query, g->query_bias, g->shape.heads, q));
    OA_TRY(oracle_project_rows(g, in->memory ? in->memory : in->x, in->keys,
                               tie ? g->query : g->key, tie ? g->query_bias : g->key_bias,
                               g->key_heads, k));
    if (g->query_conv) {
        oa_oracle_conv(g, g->query_conv, in->queries, HK, K, q);
        oa_oracle_conv(g, g->key_conv, in->keys, HK, K, k);
    }
    oracle_norm_rows(g, g->query_norm, in->queries, q);
    oracle_norm_rows(g, g->key_norm, in->keys, k);
    for (long i = 0; i < in->queries; i++) {
        for (long c = 0; c < HK; c++)
            q[i * HK + c] *= s * oracle_query_factor(g, c);
        oracle_rotate_row(g, in, i, q + i * HK);
    }
    for (long j = 0; j < in->keys; j++) {
        for (long c = 0; c < HK; c++)
            k[j * HK + c] *= s;
        oracle_rotate_row(g, in, j, k + j * HK);
    }
    return oa_status(g->context);
}

static void oracle_dot_products(const struct oa_group *g, const struct oa_oracle *in,
                                const double *q, const double *k, double *s)
{
    long K = g->shape.head_width, HK = g->shape.heads * K;
    for (long h = 0; h < g->shape.heads; h++) {
        for (long i = 0; i < in->queries; i++) {
            for (long j = 0; j < in->keys; j++, s++) {
                *s = 0;
                for (long c = h * K; c < (h + 1) * K; c++)
                    *s += q[i * HK + c] * k[j * HK + c];
                *s /= sqrt((double)K);
            }
        }
    }
}

enum oa_error oa_dot_scores(const struct oa_group *g, const struct oa_oracle *in, double *scores)
{
    long HK = g->shape.heads * g->shape.head_width;
    double *q = oa_alloc(g->context, (size_t)(HK * (in->queries + in->keys)) * sizeof *q);
    if (!q)
        return OA_NO_MEMORY;
    double *k = q + HK * in->queries;
    enum oa_error e = oa_oracle_project(g, in, q, k);
    if (e == OA_OK)
        oracle_dot_products(g, in, q, k, scores);
    oa_free(q);
    return e;
}

/* ---- weights of the visible keys ---- */

/* w: logits, −∞ where not visible. With a sink: its logit, otherwise −∞. */
static void oracle_softmax(double *w, long n, double sink)
{
    double top = sink, sum;
    for (long j = 0; j < n; j++)
        top = fmax(top, w[j]);
    sum = isfinite(sink) ? exp(sink - top) : 0;
    for (long j = 0; j < n; j++) {
        w[j] = isfinite(w[j]) ? exp(w[j] - top) : 0;
        sum += w[j];
    }
    for (long j = 0; j < n && sum > 0; j++)
        w[j] /= sum;
}

/* max(0, x − τ)^k with sum 1; τ by bisection, between the largest logit and 1 below it. */
static void oracle_threshold(double *w, long n, int k)
{
    double high = -INFINITY, low;
    for (long j = 0; j < n; j++)
        high = fmax(high, k == 2 ? w[j] / 2 : w[j]);
    low = high - 1;
    for (int step = 0; step < 100 && isfinite(high); step++) {
        double tau = (low + high) / 2, sum = 0;
        for (long j = 0; j < n; j++)
            sum += pow(fmax(0, (k == 2 ? w[j] / 2 : w[j]) - tau), k);
        *(sum > 1 ? &low : &high) = tau;
    }
    for (long j = 0; j < n; j++)
        w[j] = isfinite(w[j]) ? pow(fmax(0, (k == 2 ? w[j] / 2 : w[j]) - low), k) : 0;
}

static void oracle_normalise(const struct oa_group *g, const struct oa_oracle *in, long head,
                             long i, double *w)
{
    const struct oa_atom *a = g->atom;
    double forgotten = 0, seen = 0; /* Σ ln σ of the gates of tokens j + 1 … i; visible keys */
    for (long j = i; g->forget && j >= 0; j--) {
        w[j] += forgotten;
        forgotten += oa_oracle_forget(g, in->x + j * g->shape.width, head);
    }
    for (long j = 0; j < in->keys; j++) {
        bool visible = oa_oracle_visible(g, in, head, i, j);
        w[j] = visible ? w[j] + oa_relative_score(g, head, i, j) : -INFINITY;
        seen += visible;
    }
    for (long j = 0; g->shape.logit_cap > 0 && j < in->keys; j++)
        if (isfinite(w[j]))
            w[j] = g->shape.logit_cap * tanh(w[j] / g->shape.logit_cap);
    if (oa_atom_is(a, "normalise", "sigmoid"))
        for (long j = 0; j < in->keys; j++)
            w[j] = isfinite(w[j]) ? 1 / (1 + seen * exp(-w[j])) : 0;
    else if (oa_atom_is(a, "normalise", "sparsemax") || oa_atom_is(a, "normalise", "entmax"))
        oracle_threshold(w, in->keys, oa_atom_is(a, "normalise", "entmax") ? 2 : 1);
    else
        oracle_softmax(w, in->keys, g->sink ? oa_parameter_at(g, g->sink, head) : -INFINITY);
}

enum oa_error oa_softmax_weights(const struct oa_group *g, const struct oa_oracle *in,
                                 double *weights)
{
    OA_TRY(g->mechanism->scores(g, in, weights));
    for (long h = 0; h < g->shape.heads; h++) {
        for (long i = 0; i < in->queries; i++)
            oracle_normalise(g, in, h, i, weights + (h * in->queries + i) * in->keys);
    }
    return OA_OK;
}

/* ---- kernels: normalised weights ---- */

struct oracle_kernel_map {
    oa_kernel *kernel;
    double (*log_scale)(const struct oa_group *g, const double *k);
    double (*guard)(const struct oa_group *g, double den);
    const double *q, *k;
};

static void oracle_kernel_row(const struct oa_group *g, const struct oa_oracle *in,
                              const struct oracle_kernel_map *r, long head, long i, double *w)
{
    long K = g->shape.head_width, stride = K * g->shape.heads;
    const double *q = r->q + i * stride + head * K, *k = r->k + head * K;
    double den = 0, top = -INFINITY;
    for (long j = 0; j < in->keys && r->log_scale; j++) {
        if (oa_oracle_visible(g, in, head, i, j))
            top = fmax(top, r->log_scale(g, k + j * stride));
    }
    for (long j = 0; j < in->keys; j++) {
        bool seen = oa_oracle_visible(g, in, head, i, j);
        w[j] = seen ? r->kernel(g, q, k + j * stride, i, j) : 0;
        if (seen && r->log_scale)
            w[j] *= exp(r->log_scale(g, k + j * stride) - top);
        den += w[j];
    }
    den = r->guard ? r->guard(g, den) : den;
    for (long j = 0; j < in->keys; j++)
        w[j] = den == 0 ? 0 : w[j] / den;
}

enum oa_error oa_kernel_weights(const struct oa_group *g, const struct oa_oracle *in,
                                oa_kernel *kernel,
                                double (*log_scale)(const struct oa_group *g, const double *k),
                                double (*guard)(const struct oa_group *g, double den),
                                double *weights)
{
    long width = g->shape.head_width * g->shape.heads;
    double *q = oa_alloc(g->context, (size_t)(width * (in->queries + in->keys)) * sizeof *q);
    if (!q)
        return OA_NO_MEMORY;
    struct oracle_kernel_map r = { kernel, log_scale, guard, q, q + width * in->queries };
    enum oa_error e = oa_oracle_project(g, in, q, q + width * in->queries);
    for (long h = 0; e == OA_OK && h < g->shape.heads; h++) {
        for (long i = 0; i < in->queries; i++)
            oracle_kernel_row(g, in, &r, h, i, weights + (h * in->queries + i) * in->keys);
    }
    oa_free(q);
    return e;
}

static double kernel_guard_one(const struct oa_group *g, double den)
{
    (void)g, (void)den;
    return 1;
}

enum oa_error oa_kernel_sizes(const struct oa_group *g, const struct oa_oracle *in,
                              oa_kernel *kernel, oa_kernel *size,
                              double (*guard)(const struct oa_group *g, double den), double *sizes)
{
    long rows = g->shape.heads * in->queries;
    double *w = oa_alloc(g->context, (size_t)(rows * in->keys) * sizeof *w);
    enum oa_error e =
        w ? oa_kernel_weights(g, in, kernel, NULL, kernel_guard_one, w) : OA_NO_MEMORY;
    if (e == OA_OK)
        e = oa_kernel_weights(g, in, size, NULL, kernel_guard_one, sizes);
    for (long r = 0; e == OA_OK && r < rows; r++) {
        double den = 0;
        for (long j = 0; j < in->keys; j++)
            den += w[r * in->keys + j];
        den = guard ? guard(g, den) : den;
        for (long j = 0; j < in->keys; j++)
            sizes[r * in->keys + j] = den == 0 ? 0 : sizes[r * in->keys + j] / den;
    }
    oa_free(w);
    return e;
}
