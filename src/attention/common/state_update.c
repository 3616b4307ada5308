/* SPDX-License-Identifier: Apache-2.0
 * State updates: what the options conv, decay and update of `linear` do (docs/attention.md).
 *
 *     conv=W          of projected queries, keys and values:
 *                     z_t = Σ_{u < W} c_u ⊙ row_{t−W+1+u}, then z σ(z)
 *     decay           the state is multiplied by γ_t before token t is added:
 *       fixed         γ_h = 1 − 2^(−5−h), h counted in the group    arXiv 2307.08621
 *       head          ln γ = −e^a·ln(1 + e^{x·w + b})               arXiv 2405.21060
 *       channel       ln γ = ln σ(U (L x) + b)/16, of r = K rows    arXiv 2312.06635
 *     update=delta    S ← γ ⊙ S, S ← S + β k (v − Sᵀk)ᵀ, β = σ(x·w) arXiv 2406.06484
 *
 * With decay, delta, map=identity or map=unit o = Sᵀφ(q)/√K, and each head's row of o becomes
 * o/√(mean(o²) + 10⁻⁵) ⊙ output.norm.weight.
 *
 * Shapes: query.conv [H·K, W], key.conv [N·K, W], value.conv [N·V, W]; decay.weight [H, D],
 * decay.bias, decay.rate [H]; decay.in.weight [16, D], decay.out.weight [H·K, 16], decay.bias
 * [H·K]; beta.weight [H, D], beta.bias [H]; output.norm.weight [V]. */
#include "attention/common/state_update.h"

#include <math.h>

enum { DECAY, DECAY_OUT, DECAY_BIAS, DECAY_RATE, BETA, BETA_BIAS };
enum { DECAY_RANK = 16 };

bool oa_state_decays(const struct oa_atom *a)
{
    return oa_atom_value(a, "decay")->number > 0 || oa_atom_is(a, "update", "delta");
}

bool oa_state_normalises(const struct oa_atom *a)
{
    return oa_state_decays(a) || oa_atom_is(a, "map", "identity") || oa_atom_is(a, "map", "unit");
}

static enum oa_decay state_decay(const struct oa_group *g)
{
    return (enum oa_decay)oa_atom_value(g->atom, "decay")->number;
}

/* ---- parameters ---- */

/* Rates and steps as in Mamba-2 (Dao and Gu 2024): e^a is uniform between 1 and 16, and
 * ln(1 + e^b), the step of a token with x·w = 0, log-uniform between 10⁻³ and 10⁻¹. */
static enum oa_error decay_rate_fill(oa_context *c, const struct oa_parameter *p, uint64_t seed,
                                     double *out)
{
    struct oa_stream s = oa_stream_named(seed, p->stream);
    (void)c;
    for (long i = 0; i < p->count; i++)
        out[i] = log(1 + 15 * oa_random_uniform(s, (uint64_t)i));
    return OA_OK;
}

static enum oa_error decay_bias_fill(oa_context *c, const struct oa_parameter *p, uint64_t seed,
                                     double *out)
{
    struct oa_stream s = oa_stream_named(seed, p->stream);
    (void)c;
    for (long i = 0; i < p->count; i++) {
        double step = 1e-3 * pow(100, oa_random_uniform(s, (uint64_t)i));
        out[i] = log(expm1(step));
    }
    return OA_OK;
}

static void decay_parameters(struct oa_group *g)
{
    long H = g->shape.heads, HK = H * g->shape.head_width;
    struct oa_parameter p = { .dims = 1, .dim = { H }, .trainable = true, .init = OA_INIT_CUSTOM };
    if (state_decay(g) == OA_DECAY_HEAD) {
        g->parameter[DECAY] = oa_group_matrix(g, "decay.weight", H, g->shape.width);
        p.fill = decay_bias_fill;
        g->parameter[DECAY_BIAS] = oa_group_parameter(g, "decay.bias", &p);
        p.fill = decay_rate_fill;
        g->parameter[DECAY_RATE] = oa_group_parameter(g, "decay.rate", &p);
    } else if (state_decay(g) == OA_DECAY_CHANNEL) {
        g->parameter[DECAY] = oa_group_matrix(g, "decay.in.weight", DECAY_RANK, g->shape.width);
        g->parameter[DECAY_OUT] = oa_group_matrix(g, "decay.out.weight", HK, DECAY_RANK);
        p.dim[0] = HK;
        p.init = OA_INIT_ZERO;
        g->parameter[DECAY_BIAS] = oa_group_parameter(g, "decay.bias", &p);
    }
}

static void conv_parameters(struct oa_group *g)
{
    long taps = oa_atom_int(g->atom, "conv", 0);
    struct oa_parameter p = { .dims = 2,
                              .dim = { g->shape.heads * g->shape.head_width, taps },
                              .trainable = true,
                              .decay = true,
                              .init = OA_INIT_UNIFORM,
                              .scale = 1 / sqrt((double)oa_max(1, taps)) };
    if (taps == 0)
        return;
    g->query_conv = oa_group_parameter(g, "query.conv", &p);
    p.dim[0] = g->key_heads * g->shape.head_width;
    g->key_conv = oa_group_parameter(g, "key.conv", &p);
    p.dim[0] = g->key_heads * g->shape.value_width;
    g->value_conv = oa_group_parameter(g, "value.conv", &p);
}

enum oa_error oa_state_parameters(struct oa_group *g)
{
    long H = g->shape.heads;
    struct oa_parameter bias = { .dims = 1, .dim = { H }, .trainable = true }, gain = {
        .dims = 1, .dim = { g->shape.value_width }, .trainable = true, .init = OA_INIT_ONE
    };
    conv_parameters(g);
    decay_parameters(g);
    if (oa_atom_is(g->atom, "update", "delta")) {
        g->parameter[BETA] = oa_group_matrix(g, "beta.weight", H, g->shape.width);
        if (g->shape.bias)
            g->parameter[BETA_BIAS] = oa_group_parameter(g, "beta.bias", &bias);
    }
    if (oa_state_normalises(g->atom))
        g->output_norm = oa_group_parameter(g, "output.norm.weight", &gain);
    return oa_status(g->context);
}

/* ---- forward ---- */

struct oa_state_update oa_state_logits(oa_tape *t, const struct oa_group *g, oa_tensor *x)
{
    struct oa_state_update how = { .scale = 1 / sqrt((double)g->shape.head_width),
                                   .decay = state_decay(g),
                                   .rate = g->parameter[DECAY_RATE],
                                   .delta = g->parameter[BETA] != NULL };
    if (how.decay == OA_DECAY_HEAD)
        how.decay_logits = oa_linear(t, x, g->parameter[DECAY], g->parameter[DECAY_BIAS]);
    else if (how.decay == OA_DECAY_CHANNEL)
        how.decay_logits = oa_linear(t, oa_linear(t, x, g->parameter[DECAY], NULL),
                                     g->parameter[DECAY_OUT], g->parameter[DECAY_BIAS]);
    if (how.delta)
        how.beta_logits = oa_linear(t, x, g->parameter[BETA], g->parameter[BETA_BIAS]);
    return how;
}

static double parameter_flops(const struct oa_parameter *p, double rows)
{
    return p ? 2 * rows * (double)p->count : 0;
}

double oa_state_flops(const struct oa_group *g, double features, long queries, long keys)
{
    double T = (double)queries, rows = T * (double)g->shape.heads, V = (double)g->shape.value_width,
           sum = 0;
    for (int i = 0; i < OA_STATE_PARAMETERS; i++)
        if (g->parameter[i] && g->parameter[i]->matrix)
            sum += parameter_flops(g->parameter[i], T);
    sum += parameter_flops(g->query_conv, T) + parameter_flops(g->key_conv, (double)keys) +
           parameter_flops(g->value_conv, (double)keys);
    if (state_decay(g) != OA_DECAY_NONE)
        sum += rows * features * V;
    if (g->parameter[BETA])
        sum += rows * (2 * features * V + 2 * V);
    return sum + (g->output_norm ? 4 * rows * V : 0);
}

double oa_state_conv_numbers(const struct oa_group *g)
{
    if (!g->query_conv)
        return 0;
    double rows = (double)(g->query_conv->dim[1] - 1), columns = (double)g->query_conv->dim[0];
    if (!g->shape.cross)
        columns += (double)(g->key_conv->dim[0] + g->value_conv->dim[0]);
    return rows * columns;
}

/* ---- oracles ---- */

void oa_oracle_conv(const struct oa_group *g, const struct oa_parameter *w, long n, long columns,
                    long width, double *rows)
{
    long taps = w->dim[1], heads = columns / width, own_heads = w->dim[0] / width;
    for (long t = n - 1; t >= 0; t--) /* later rows need earlier ones as they were */
        for (long c = 0; c < columns; c++) {
            double z = 0;
            long own = c / width * own_heads / heads * width + c % width;
            for (long u = oa_max(0, taps - 1 - t); u < taps; u++)
                z += oa_parameter_at(g, w, own * taps + u) * rows[(t - taps + 1 + u) * columns + c];
            rows[t * columns + c] = z / (1 + exp(-z));
        }
}

/* γ of channel c of a token. */
static double oracle_decay(const struct oa_group *g, long head, long c, const double *x)
{
    const struct oa_parameter *bias = g->parameter[DECAY_BIAS];
    double z;
    switch (state_decay(g)) {
    case OA_DECAY_FIXED:
        return 1 - pow(2, -5 - (double)head);
    case OA_DECAY_HEAD:
        z = oa_oracle_value(g, g->parameter[DECAY], bias, x, head);
        return exp(-exp(oa_parameter_at(g, g->parameter[DECAY_RATE], head)) * log1p(exp(z)));
    case OA_DECAY_CHANNEL:
        z = oa_parameter_at(g, bias, head * g->shape.head_width + c);
        for (long e = 0; e < DECAY_RANK; e++)
            z += oa_parameter_at(g, g->parameter[DECAY_OUT],
                                 (head * g->shape.head_width + c) * DECAY_RANK + e) *
                 oa_oracle_value(g, g->parameter[DECAY], NULL, x, e);
        return pow(1 + exp(-z), -1.0 / 16);
    default:
        return 1;
    }
}

static double oracle_dot(long n, const double *a, const double *b)
{
    double sum = 0;
    for (long c = 0; c < n; c++)
        sum += a[c] * b[c];
    return sum;
}

/* S = Σ_j m_j v_jᵀ: row j of m [T, r] is the contribution of token j to the state. Token i
 * multiplies all rows by γ, subtracts β_i k_i (m_j·k_i) from each and adds its own, β_i k_i. */
void oa_state_oracle(const struct oa_group *g, const struct oa_oracle *in, long head, long r,
                     const double *q, const double *k, double *w, double *m)
{
    const struct oa_parameter *beta = g->parameter[BETA];
    for (long i = 0; i < in->queries; i++) {
        const double *x = in->x + i * g->shape.width, *key = k + i * r;
        bool real = i < in->length;
        double share =
            beta && real
                ? 1 / (1 + exp(-oa_oracle_value(g, beta, g->parameter[BETA_BIAS], x, head)))
                : 1;
        for (long c = 0; c < r && real; c++) {
            double decay = oracle_decay(g, head, c, x);
            for (long j = 0; j < i; j++)
                m[j * r + c] *= decay;
            m[i * r + c] = share * key[c];
        }
        for (long j = 0; j < i && beta && real; j++) {
            double there = oracle_dot(r, m + j * r, key);
            for (long c = 0; c < r; c++)
                m[j * r + c] -= share * key[c] * there;
        }
        for (long j = 0; j < in->keys; j++)
            w[i * in->keys + j] = real && j <= i ? oracle_dot(r, m + j * r, q + i * r) /
                                                       sqrt((double)g->shape.head_width)
                                                 : 0;
    }
}
