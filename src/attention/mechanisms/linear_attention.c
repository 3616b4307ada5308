/* SPDX-License-Identifier: Apache-2.0
 * Linear attention. Katharopoulos et al., Transformers are RNNs, 2020, arXiv 2006.16236.
 *
 *     O_i = φ(q_i)ᵀ Σ_j φ(k_j) v_jᵀ / (φ(q_i)ᵀ Σ_j φ(k_j)),   q = x W_Q, k = x W_K, not scaled
 *
 *     map=elu       φ(x) = x + 1 for x > 0, else eˣ      denominator + 10⁻⁶
 *     map=relu      φ(x) = max(x, 0)                     denominator + 10⁻⁶
 *     map=cos       φ(x) = cos x                         sign(den)·max(|den|, 10⁻⁶)
 *     map=power     φ(x) = [x, x², …, x^degree]          sign(den)·max(|den|, 10⁻⁶)
 *     map=identity  φ(x) = x                             none
 *     map=unit      φ(x) = s/√(Σ s² + 10⁻⁶), s = x σ(x)  none
 *     map=hedgehog  φ(x) = [softmax(M x), softmax(−M x)] denominator + 10⁻⁶
 *
 * The sums over keys are a state of r(V + 1) numbers (r = K, K·degree or 2K), so time and memory
 * are linear in the length. Cost: per head (T + S)·r·(2V + 2) and the features. With decay or
 * update=delta the state is another one (common/state_update.c). With these, map=identity or
 * map=unit there is no denominator, but a factor 1/√K and a norm of each head's output. */
#include "attention/common/state_update.h"
#include "attention/mechanism.h"

#include <math.h>
#include <string.h>

#define EPSILON 1e-6

static const struct oa_argument arguments[] = {
    { "map", OA_VALUE_CHOICE, NULL, "elu|relu|cos|power|identity|unit|hedgehog", 0, 0,
      "the feature map φ" },
    { "degree", OA_VALUE_INT, "2", NULL, 1, 16, "highest power of map=power" },
    OA_STATE_UPDATE_ARGUMENTS,
    OA_PROJECTION_ARGUMENTS(OA_QK_LEARNED),
    OA_QUERY_HEAD_ARGUMENTS,
    { .key = NULL }
};

enum linear_map { MAP_ELU, MAP_RELU, MAP_COS, MAP_POWER, MAP_IDENTITY, MAP_UNIT, MAP_HEDGEHOG };

static bool linear_attention_clash(const struct oa_atom *a, char *sentence, size_t size)
{
    bool power = oa_atom_is(a, "map", "power");
    if (!power && oa_atom_value(a, "degree")->given)
        snprintf(sentence, size, "degree belongs to map=power.");
    else if (oa_atom_is(a, "decay", "channel") && oa_atom_is(a, "map", "hedgehog"))
        snprintf(sentence, size,
                 "decay=channel has one decay for each of the K channels of a key, and "
                 "map=hedgehog has 2K features; use decay=head.");
    else if (oa_atom_is(a, "decay", "channel") && power && oa_atom_int(a, "degree", 2) != 1)
        snprintf(sentence, size,
                 "decay=channel has one decay for each of the K channels of a key, and map=power "
                 "has K features only with degree=1; add degree=1, or use decay=head.");
    else
        return false;
    return true;
}

static bool linear_attention_mode_clash(const struct oa_atom *a, bool causal, bool cross,
                                        char *sentence, size_t size)
{
    if (!oa_state_decays(a) || (causal && !cross))
        return false;
    snprintf(sentence, size,
             "linear: decay and update=delta are for causal self-attention only, because they "
             "count tokens from the past to the present; remove %s",
             oa_atom_value(a, "decay")->number > 0 ? "decay" : "update=delta");
    return true;
}

static enum linear_map linear_attention_map_of(const struct oa_group *g)
{
    return (enum linear_map)oa_atom_value(g->atom, "map")->number;
}

static int linear_attention_degree_of(const struct oa_group *g)
{
    return linear_attention_map_of(g) == MAP_POWER ? (int)oa_atom_int(g->atom, "degree", 2) : 1;
}

/* r */
static long linear_attention_features(const struct oa_group *g)
{
    long each = linear_attention_map_of(g) == MAP_HEDGEHOG ? 2 : linear_attention_degree_of(g);
    return g->shape.head_width * each;
}

/* Whether all features are ≥ 0. */
static bool linear_attention_positive(const struct oa_atom *a)
{
    return oa_atom_is(a, "map", "elu") || oa_atom_is(a, "map", "relu") ||
           oa_atom_is(a, "map", "hedgehog");
}

/* ---- forward ---- */

enum { QUERY_MAP = OA_STATE_PARAMETERS, KEY_MAP };

static enum oa_error identity_fill(oa_context *c, const struct oa_parameter *p, uint64_t seed,
                                   double *out)
{
    long K = p->dim[1];
    (void)c, (void)seed;
    for (long i = 0; i < p->count; i++)
        out[i] = i / K % K == i % K;
    return OA_OK;
}

static enum oa_error linear_attention_parameters(struct oa_group *g)
{
    long K = g->shape.head_width;
    struct oa_parameter map = { .dims = 3,
                                .dim = { g->shape.heads, K, K },
                                .trainable = true,
                                .decay = true,
                                .matrix = true,
                                .init = OA_INIT_CUSTOM,
                                .fill = identity_fill };
    if (linear_attention_map_of(g) == MAP_HEDGEHOG) {
        g->parameter[QUERY_MAP] = oa_group_parameter(g, "query.map", &map);
        map.dim[0] = g->key_heads;
        g->parameter[KEY_MAP] = oa_group_parameter(g, "key.map", &map);
    }
    return oa_state_parameters(g);
}

/* φ of the queries or keys of `heads` heads. */
static oa_tensor *linear_attention_map(oa_tape *t, const struct oa_group *g, oa_tensor *x,
                                       long heads, struct oa_parameter *map)
{
    enum linear_map kind = linear_attention_map_of(g);
    switch (kind) {
    case MAP_IDENTITY:
        return x;
    case MAP_UNIT:
        return oa_map_rows(t, x, heads, g->query_conv ? OA_ROW_UNIT : OA_ROW_SILU_UNIT, EPSILON);
    case MAP_HEDGEHOG:
        return oa_map_rows(t, oa_head_linear(t, x, map, NULL, true, 0), heads, OA_ROW_HEDGEHOG, 0);
    default:
        return oa_feature(t, x, (enum oa_feature)kind, linear_attention_degree_of(g), heads);
    }
}

static void linear_attention_sums(oa_tape *t, const struct oa_group *g,
                                  const struct oa_layer_input *in, oa_tensor *q, oa_tensor *k,
                                  oa_tensor *v, oa_tensor *o)
{
    struct oa_attention_shape shape = oa_group_shape(g, in);
    enum oa_denominator policy =
        linear_attention_positive(g->atom) ? OA_DENOMINATOR_ADD : OA_DENOMINATOR_SIGN;
    if (oa_state_normalises(g->atom))
        oa_linear_attention_op(t, &shape, q, k, v, OA_DENOMINATOR_CONSTANT,
                               sqrt((double)g->shape.head_width), o);
    else
        oa_linear_attention_op(t, &shape, q, k, v, policy, EPSILON, o);
}

static void linear_attention_forward(oa_tape *t, const struct oa_group *g,
                                     const struct oa_layer_input *in, oa_tensor *v, oa_tensor *o)
{
    oa_tensor *q, *k;
    oa_project(t, g, in, &q, &k);
    q = linear_attention_map(t, g, q, g->shape.heads, g->parameter[QUERY_MAP]);
    k = linear_attention_map(t, g, k, g->key_heads, g->parameter[KEY_MAP]);
    if (g->value_conv)
        v = oa_causal_conv_op(t, v, oa_keys_from_memory(g, in) ? in->keys : in->queries,
                              g->value_conv, !g->shape.cross);
    if (!oa_state_normalises(g->atom)) {
        linear_attention_sums(t, g, in, q, k, v, o);
        return;
    }
    struct oa_state_update how = oa_state_logits(t, g, in->x);
    oa_tensor *out = o ? oa_tensor_new(t, o->rows, o->cols) : NULL;
    if (oa_state_decays(g->atom)) {
        struct oa_attention_shape shape = oa_group_shape(g, in);
        k = oa_repeat_heads(t, k, g->key_heads, g->shape.heads);
        v = oa_repeat_heads(t, v, g->key_heads, g->shape.heads);
        oa_recurrence_op(t, &shape, q, k, v, &how, out);
    } else
        linear_attention_sums(t, g, in, q, k, v, out);
    oa_norm_heads(t, out, g->shape.heads, g->output_norm, OA_OUTPUT_NORM_EPSILON, o);
}

static double linear_attention_flops(const struct oa_group *g, long queries, long keys)
{
    double features = (double)linear_attention_features(g), K = (double)g->shape.head_width,
           rows = (double)(g->shape.heads * (queries + keys));
    double map = linear_attention_map_of(g) == MAP_HEDGEHOG ? 2 * K * K + 4 * features : features;
    return rows * (features * (2 * (double)g->shape.value_width + 2) + map) +
           oa_state_flops(g, features, queries, keys);
}

static double linear_attention_state_numbers(const struct oa_group *g, long t)
{
    double features = (double)linear_attention_features(g);
    (void)t;
    return oa_state_conv_numbers(g) +
           (oa_state_decays(g->atom) ? (double)(g->shape.heads * g->shape.value_width) * features
                                     : oa_sums_state(g, features));
}

/* ---- oracle: A_ij = φ(q_i)·φ(k_j) / den_i, or the coefficients of the values in the state ---- */

static double linear_attention_feature(enum linear_map map, double x, int power)
{
    switch (map) {
    case MAP_ELU:
        return x > 0 ? x + 1 : exp(x);
    case MAP_RELU:
        return x > 0 ? x : 0;
    case MAP_COS:
        return cos(x);
    default:
        return pow(x, power);
    }
}

static void oracle_unit(const struct oa_group *g, const double *x, double *phi)
{
    long K = g->shape.head_width;
    double sum = EPSILON;
    for (long c = 0; c < K; c++) {
        phi[c] = g->query_conv ? x[c] : x[c] / (1 + exp(-x[c]));
        sum += phi[c] * phi[c];
    }
    for (long c = 0; c < K; c++)
        phi[c] /= sqrt(sum);
}

static void oracle_hedgehog(const struct oa_group *g, const struct oa_parameter *map, long head,
                            const double *x, double *phi)
{
    long K = g->shape.head_width;
    double sum[2] = { 0 };
    for (long c = 0; c < K; c++) {
        double y = 0;
        for (long e = 0; e < K; e++)
            y += oa_parameter_at(g, map, (head * K + c) * K + e) * x[e];
        sum[0] += phi[c] = exp(y);
        sum[1] += phi[K + c] = exp(-y);
    }
    for (long c = 0; c < 2 * K; c++)
        phi[c] /= sum[c / K];
}

/* φ of a row x [K] of a head of queries or keys. */
static void linear_attention_oracle_map(const struct oa_group *g, const struct oa_parameter *map,
                                        long head, const double *x, double *phi)
{
    enum linear_map kind = linear_attention_map_of(g);
    long K = g->shape.head_width;
    if (kind == MAP_UNIT)
        oracle_unit(g, x, phi);
    else if (kind == MAP_HEDGEHOG)
        oracle_hedgehog(g, map, head, x, phi);
    else if (kind == MAP_IDENTITY)
        memcpy(phi, x, (size_t)K * sizeof *phi);
    else
        for (long i = 0; i < K * linear_attention_degree_of(g); i++)
            phi[i] = linear_attention_feature(kind, x[i % K], 1 + (int)(i / K));
}

/* The row of a head's map from its features q [r] and k [S, r]. */
static void linear_attention_oracle_row(const struct oa_group *g, const struct oa_oracle *in,
                                        long head, long i, const double *q, const double *k,
                                        double *w)
{
    long r = linear_attention_features(g);
    double den = 0;
    for (long j = 0; j < in->keys; j++) {
        w[j] = 0;
        for (long c = 0; c < r && oa_oracle_visible(g, in, head, i, j); c++)
            w[j] += q[c] * k[j * r + c];
        den += w[j];
    }
    if (oa_state_normalises(g->atom))
        den = sqrt((double)g->shape.head_width);
    else if (linear_attention_positive(g->atom))
        den += EPSILON;
    else
        den = copysign(fmax(fabs(den), EPSILON), den < 0 ? -1 : 1);
    for (long j = 0; j < in->keys; j++)
        w[j] /= den;
}

static void linear_attention_oracle_head(const struct oa_group *g, const struct oa_oracle *in,
                                         long head, const double *q, const double *k,
                                         double *features, double *w)
{
    long K = g->shape.head_width, r = linear_attention_features(g),
         key = head * g->key_heads / g->shape.heads;
    double *fq = features, *fk = fq + in->queries * r;
    const double *rows = k + head * K;
    for (long i = 0; i < in->queries; i++)
        linear_attention_oracle_map(g, g->parameter[QUERY_MAP], head,
                                    q + (i * g->shape.heads + head) * K, fq + i * r);
    for (long j = 0; j < in->keys; j++)
        linear_attention_oracle_map(g, g->parameter[KEY_MAP], key, rows + j * g->shape.heads * K,
                                    fk + j * r);
    if (oa_state_decays(g->atom)) {
        oa_state_oracle(g, in, head, r, fq, fk, w, fk + in->keys * r);
        return;
    }
    for (long i = 0; i < in->queries; i++)
        linear_attention_oracle_row(g, in, head, i, fq + i * r, fk, w + i * in->keys);
}

static enum oa_error linear_attention_weights(const struct oa_group *g, const struct oa_oracle *in,
                                              double *w)
{
    long HK = g->shape.heads * g->shape.head_width, r = linear_attention_features(g),
         rows = in->queries + in->keys;
    double *q = oa_alloc(g->context, (size_t)(rows * HK + (rows + in->keys) * r) * sizeof *q);
    if (!q)
        return OA_NO_MEMORY;
    double *k = q + in->queries * HK;
    enum oa_error e = oa_oracle_project(g, in, q, k);
    for (long h = 0; e == OA_OK && h < g->shape.heads; h++)
        linear_attention_oracle_head(g, in, h, q, k, k + in->keys * HK,
                                     w + h * in->queries * in->keys);
    oa_free(q);
    return e;
}

static unsigned linear_attention_can_with(const struct oa_atom *a)
{
    unsigned can = a->mechanism->can;
    if (!linear_attention_positive(a))
        can &= ~(unsigned)OA_POSITIVE;
    if (oa_state_normalises(a))
        can &= ~(unsigned)OA_AVERAGES;
    if (oa_state_decays(a))
        can &= ~(unsigned)OA_CAN_CROSS;
    if (oa_atom_is(a, "update", "delta"))
        can &= ~(unsigned)OA_POSITIVE;
    if (!oa_state_decays(a) && oa_atom_int(a, "conv", 0) == 0)
        can &= ~(unsigned)OA_ORDER;
    return can;
}

const struct oa_mechanism oa_mechanism_linear = {
    .name = "linear",
    .title = "Linear attention",
    .citation = "Katharopoulos et al. 2020, arXiv 2006.16236",
    .formula = "O_i = φ(q_i)ᵀ Σ_j φ(k_j) v_jᵀ / (φ(q_i)ᵀ Σ_j φ(k_j)), q = x W_Q, k = x W_K, not "
               "scaled;  map=elu: φ(x) = x + 1 for x > 0, else eˣ; relu: φ(x) = max(x, 0); "
               "hedgehog: φ(x) = [softmax(M x), softmax(−M x)], M trained from the identity; these "
               "add 10⁻⁶ to the denominator;  map=cos: φ(x) = cos x; power: φ(x) = [x, x² … "
               "x^degree]; a denominator nearer to 0 than ±10⁻⁶ is that;  map=identity: φ(x) = x; "
               "unit: φ(x) = s/√(Σ s² + 10⁻⁶), s = x σ(x), or s = x after conv;  without a "
               "denominator (identity, unit, decay, delta): O_i = norm(S_iᵀ φ(q_i)/√K), norm(o) = "
               "o/√(mean(o²) + 10⁻⁵) ⊙ g, S_i = γ_i ⊙ S_{i−1} + φ(k_i) v_iᵀ",
    .caveats = "map=cos and map=power have features of both signs: the weights can be negative and "
               "the denominator can come near 0. update=delta with map=elu, relu, cos or power can "
               "grow without bound, because the rows are not about unit length: use map=unit.",
    .mistakes = "Long Range Arena: padding is ignored or mishandled.\n"
                "Common: the state is added up in half precision. A bf16 sum stops growing at 256 "
                "times an increment, an f16 sum at 2048 times, without any warning.",
    .cost = "O(n·r·V) time, O(r·V) memory a head, r = K (map=power: K·degree, hedgehog: 2K)",
    .state = "r(V + 1) + 1, constant in t; with decay or update=delta r·V; with conv W − 1 rows of "
             "queries, keys and values more",
    .can = OA_CAN_CAUSAL | OA_CAN_CROSS | OA_HAS_QUERIES | OA_LINEAR_TIME | OA_HAS_WEIGHTS |
           OA_POSITIVE | OA_AVERAGES | OA_ORDER,
    .can_with = linear_attention_can_with,
    .arguments = arguments,
    .clash = linear_attention_clash,
    .mode_clash = linear_attention_mode_clash,
    .parameters = linear_attention_parameters,
    .forward = linear_attention_forward,
    .flops = linear_attention_flops,
    .state_numbers = linear_attention_state_numbers,
    .weights = linear_attention_weights,
};
