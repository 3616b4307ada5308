/* SPDX-License-Identifier: Apache-2.0
 * Performer: softmax attention estimated by random features. Choromanski et al., Rethinking
 * Attention with Performers, ICLR 2021, arXiv 2009.14794.
 *
 *     O_i = φ(x_i)ᵀ Σ_j φ(y_j) v_jᵀ / (φ(x_i)ᵀ Σ_j φ(y_j)),   x = q/K^¼,  y = k/K^¼,
 *     so that e^{x·y} = e^{q·k/√K}
 *
 *     kernel=favor+      φ(x) = r_0^{−½} e^{Ωx − |x|²/2}                   E φ(x)·φ(y) = e^{x·y}
 *     kernel=trig        φ(x) = r_0^{−½} e^{|x|²/2} [cos Ωx, sin Ωx]       the same mean
 *     kernel=hyperbolic  φ(x) = (2r_0)^{−½} e^{−|x|²/2} [e^{Ωx}, e^{−Ωx}]  the same mean
 *     kernel=smreg       favor+ with rows of Ω of norm √K: biased, less variance
 *     kernel=relu        φ(x) = r_0^{−½} relu(Ωx) + 10⁻³
 *     kernel=favor++, sderf, aderf, saderf   positive features fitted to the queries and keys
 *
 * The last four have less variance (device/cpu/cpu_random_statistics.c); they are fitted to each
 * sequence and head, in causal layers to running moments over training steps (features.mean,
 * features.square). Only trig has features of both signs.
 *
 * Exponents reach hundreds, so each row of features is relative to its largest one. For queries
 * that cancels; keys are weighted relative to the largest visible key
 * (device/cpu/cpu_linear_attention.c). Denominators are clamped at 10⁻³⁰, those of trig at ±10⁻⁶.
 * Common factors (r_0^{−½}) cancel and are omitted from exponential features.
 *
 * Parameters: features.omega [r_0, K], frozen (omega.c).
 * Cost: (T + S)(2r_0 K + r(2V + 2)) per head. */
#include "attention/projections/omega.h"

#include <math.h>
#include <string.h>

#define TINY 1e-30
#define GUARD 1e-6

enum kernel { FAVOR, TRIG, HYPERBOLIC, SMREG, RELU, FITTED };

static const struct oa_argument arguments[] = {
    { "kernel", OA_VALUE_CHOICE, NULL,
      "favor+|trig|hyperbolic|smreg|relu|favor++|sderf|aderf|saderf", 0, 0, "the feature map φ" },
    { "features", OA_VALUE_INT, NULL, NULL, 1, 1 << 16, "r_0: rows of Ω (default ⌊K ln K⌋)" },
    { "draw", OA_VALUE_CHOICE, NULL, "orthogonal|iid", 0, 0, "dependence of the rows of Ω" },
    { "ensemble", OA_VALUE_CHOICE, NULL, "haar|givens|hd3", 0, 0,
      "orthogonal blocks of Ω; hd3 has rows of length √K" },
    { "redraw", OA_VALUE_INT, "0", NULL, 0, 1 << 30, "steps between redraws of Ω; 0: never" },
    OA_PROJECTION_ARGUMENTS(OA_QK_LEARNED),
    OA_QUERY_HEAD_ARGUMENTS,
    { .key = NULL }
};

static enum kernel performer_kernel_of(const struct oa_atom *a)
{
    int word = (int)oa_atom_value(a, "kernel")->number;
    return word < FITTED ? (enum kernel)word : FITTED;
}

static enum oa_random_fit performer_fit_of(const struct oa_atom *a)
{
    return (enum oa_random_fit)((int)oa_atom_value(a, "kernel")->number - FITTED);
}

/* Whether features are fitted to running moments instead of the sequence, as causal layers require.
 * Training updates the moments; `attend` may read them from its file. */
static bool performer_keeps_moments(const struct oa_group *g)
{
    return performer_kernel_of(g->atom) == FITTED &&
           (g->shape.causal || g->statistics == OA_STATISTICS_STORED);
}

/* Running moments do not depend on the input. */
static bool performer_fitted(const struct oa_group *g)
{
    return performer_kernel_of(g->atom) == FITTED && !performer_keeps_moments(g);
}

static enum oa_error performer_check(oa_context *c, const struct oa_group *g)
{
    if (!performer_keeps_moments(g) || g->statistics != OA_STATISTICS_ABSENT)
        return OA_OK;
    return oa_fail(
        c, OA_UNSUPPORTED,
        "performer with favor++, sderf, aderf or saderf needs frozen statistics to be causal: "
        "fitted to the sequence, features would depend on later tokens. Give features.mean [2, H, "
        "K] and features.square [2, H, K, K] of a trained model, or use kernel=favor+");
}

static bool performer_clash(const struct oa_atom *a, char *sentence, size_t size)
{
    bool iid = oa_atom_is(a, "draw", "iid");
    if (iid && oa_atom_value(a, "ensemble")->given)
        snprintf(sentence, size, "ensemble applies to orthogonal rows; draw=iid has none.");
    else if (iid && performer_kernel_of(a) == SMREG)
        snprintf(sentence, size,
                 "kernel=smreg is defined by orthogonal rows of length √K; draw=iid is favor+.");
    else
        return false;
    return true;
}

enum { OMEGA, MEAN, SQUARE, SEEN };

/* Second moments of x = q/K^¼ for independent components of q with mean 0 and variance 1. */
static enum oa_error performer_fill_square(oa_context *c, const struct oa_parameter *p,
                                           uint64_t seed, double *out)
{
    long K = p->dim[3];
    (void)c, (void)seed;
    for (long i = 0; i < p->count; i++)
        out[i] = i / K % K == i % K ? 1 / sqrt((double)K) : 0;
    return OA_OK;
}

static void performer_add_moments(struct oa_group *g)
{
    long H = g->shape.heads, K = g->shape.head_width;
    struct oa_parameter mean = { .dims = 3, .dim = { 2, H, K }, .moving = true };
    struct oa_parameter square = { .dims = 4,
                                   .dim = { 2, H, K, K },
                                   .moving = true,
                                   .init = OA_INIT_CUSTOM,
                                   .fill = performer_fill_square };
    struct oa_parameter seen = { .dims = 1, .dim = { 1 }, .moving = true };
    g->parameter[MEAN] = oa_group_parameter(g, "features.mean", &mean);
    g->parameter[SQUARE] = oa_group_parameter(g, "features.square", &square);
    g->parameter[SEEN] = oa_group_parameter(g, "features.seen", &seen);
}

static enum oa_error performer_parameters(struct oa_group *g)
{
    static const enum oa_projection ensembles[] = { OA_PROJECTION_HAAR, OA_PROJECTION_GIVENS,
                                                    OA_PROJECTION_HD3 };
    long K = g->shape.head_width, ensemble = (long)oa_atom_value(g->atom, "ensemble")->number;
    long features = oa_max(1, (long)floor((double)K * log((double)K)));
    struct oa_omega o = { .count = oa_atom_int(g->atom, "features", features),
                          .width = K,
                          .ensemble = oa_atom_is(g->atom, "draw", "iid") ? OA_PROJECTION_GAUSSIAN
                                                                         : ensembles[ensemble],
                          .norms =
                              performer_kernel_of(g->atom) == SMREG ? OA_NORMS_ROOT : OA_NORMS_CHI,
                          .redrawn = oa_atom_int(g->atom, "redraw", 0) > 0 };
    g->parameter[OMEGA] = oa_omega_parameter(g, &o);
    if (performer_keeps_moments(g))
        performer_add_moments(g);
    if (performer_fitted(g))
        g->needs_all =
            "its features are fitted to all queries at once; use performer(kernel=favor+)";
    return oa_status(g->context);
}

static struct oa_running_moments performer_moments(const struct oa_group *g)
{
    return (struct oa_running_moments){ g->parameter[MEAN], g->parameter[SQUARE],
                                        g->parameter[SEEN] };
}

/* Updates the moments, and redraws Ω every `redraw` steps. */
static enum oa_error performer_after_step(const struct oa_group *g, long step)
{
    long every = oa_atom_int(g->atom, "redraw", 0);
    struct oa_running_moments kept = performer_moments(g);
    if (performer_keeps_moments(g))
        oa_running_moments_update(g->store->device, &kept);
    if (every == 0 || step % every)
        return OA_OK;
    return oa_store_redraw(g->store, g->parameter[OMEGA], (uint64_t)(step / every));
}

/* ---- forward ---- */

static enum oa_random_feature performer_feature_of(enum kernel k)
{
    static const enum oa_random_feature features[] = {
        [FAVOR] = OA_RANDOM_EXP, [TRIG] = OA_RANDOM_TRIG, [HYPERBOLIC] = OA_RANDOM_HYPERBOLIC,
        [SMREG] = OA_RANDOM_EXP, [RELU] = OA_RANDOM_RELU, [FITTED] = OA_RANDOM_EXP
    };
    return features[k];
}

static void performer_forward(oa_tape *t, const struct oa_group *g, const struct oa_layer_input *in,
                              oa_tensor *v, oa_tensor *o)
{
    struct oa_attention_shape shape = oa_group_shape(g, in);
    enum kernel kernel = performer_kernel_of(g->atom);
    struct oa_random_features each = { .kind = performer_feature_of(kernel),
                                       .scale = pow((double)g->shape.head_width, -0.25),
                                       .half_norm = kernel == RELU   ? 0
                                                    : kernel == TRIG ? 0.5
                                                                     : -0.5 };
    struct oa_random_features how[2] = { each, each };
    const struct oa_parameter *omega = kernel == FITTED ? NULL : g->parameter[OMEGA];
    long H = g->shape.heads;
    void *query_scale, *key_scale;
    oa_tensor *q, *k;
    oa_project(t, g, in, &q, &k);
    struct oa_running_moments kept = performer_moments(g);
    if (kernel == FITTED) { /* features of keys depend on the query head */
        k = oa_repeat_heads(t, k, g->key_heads, H);
        v = oa_repeat_heads(t, v, g->key_heads, H);
        shape.key_heads = H;
        oa_random_statistics_op(t, &shape, performer_fit_of(g->atom), q, k, g->parameter[OMEGA],
                                performer_keeps_moments(g) ? &kept : NULL, how);
    }
    q = oa_random_features_op(t, q, shape.queries, H, shape.query_lengths, omega, &how[0],
                              &query_scale);
    k = oa_random_features_op(t, k, shape.keys, oa_key_heads(&shape), shape.key_lengths, omega,
                              &how[1], &key_scale);
    oa_scaled_linear_attention_op(t, &shape, q, k, kernel == TRIG ? query_scale : NULL,
                                  kernel == RELU ? NULL : key_scale, v,
                                  kernel == TRIG ? OA_DENOMINATOR_SIGN : OA_DENOMINATOR_CLAMP,
                                  kernel == TRIG ? GUARD : TINY, o);
}

static double performer_flops(const struct oa_group *g, long queries, long keys)
{
    enum oa_random_feature f = performer_feature_of(performer_kernel_of(g->atom));
    double r0 = (double)g->parameter[OMEGA]->dim[0], K = (double)g->shape.head_width,
           V = (double)g->shape.value_width;
    double r = f == OA_RANDOM_TRIG || f == OA_RANDOM_HYPERBOLIC ? 2 * r0 : r0;
    return (double)(g->shape.heads * (queries + keys)) * (2 * r0 * K + r * (2 * V + 2 + 1));
}

static double performer_state_numbers(const struct oa_group *g, long t)
{
    (void)t;
    enum oa_random_feature f = performer_feature_of(performer_kernel_of(g->atom));
    double r0 = (double)g->parameter[0]->dim[0];
    bool both = f == OA_RANDOM_TRIG || f == OA_RANDOM_HYPERBOLIC;
    double each = performer_kernel_of(g->atom) == FITTED ? g->shape.heads / g->key_heads : 1;
    return each * oa_sums_state(g, both ? 2 * r0 : r0);
}

/* ---- oracle ---- */

/* Row r of Ω times x = row/K^¼. */
static double performer_projected(const struct oa_group *g, const double *row, long r)
{
    double sum = 0;
    long K = g->shape.head_width;
    for (long c = 0; c < K; c++)
        sum += oa_parameter_at(g, g->parameter[OMEGA], r * K + c) * row[c] / pow((double)K, 0.25);
    return sum;
}

static double performer_half_square(const struct oa_group *g, const double *row)
{
    double sum = 0;
    for (long c = 0; c < g->shape.head_width; c++)
        sum += row[c] * row[c] / sqrt((double)g->shape.head_width);
    return sum / 2;
}

/* The largest exponent of a row, without −|x|²/2. */
static double performer_largest(const struct oa_group *g, const double *row)
{
    enum kernel kernel = performer_kernel_of(g->atom);
    double top = kernel == HYPERBOLIC ? 0 : -INFINITY;
    for (long r = 0; r < g->parameter[OMEGA]->dim[0]; r++) {
        double t = performer_projected(g, row, r);
        top = fmax(top, kernel == HYPERBOLIC ? fabs(t) : t);
    }
    return kernel == TRIG || kernel == RELU ? 0 : top;
}

static double performer_log_scale(const struct oa_group *g, const double *k)
{
    return performer_largest(g, k) - performer_half_square(g, k);
}

static double performer_pair(const struct oa_group *g, const double *q, const double *k, long i,
                             long j)
{
    long count = g->parameter[OMEGA]->dim[0];
    double sum = 0, top_q = performer_largest(g, q), top_k = performer_largest(g, k),
           root = 1 / sqrt((double)count);
    (void)i, (void)j;
    for (long r = 0; r < count; r++) {
        double t = performer_projected(g, q, r), u = performer_projected(g, k, r);
        switch (performer_kernel_of(g->atom)) {
        case TRIG:
            sum += cos(t - u) / (double)count *
                   exp(performer_half_square(g, q) + performer_half_square(g, k));
            break;
        case RELU:
            sum += (root * fmax(t, 0) + 1e-3) * (root * fmax(u, 0) + 1e-3);
            break;
        case HYPERBOLIC:
            sum += exp(-t - u - top_q - top_k);
            /* fall through */
        default:
            sum += exp(t + u - top_q - top_k);
        }
    }
    return sum;
}

static double performer_guard_denominator(const struct oa_group *g, double den)
{
    if (performer_kernel_of(g->atom) == TRIG)
        return copysign(fmax(fabs(den), GUARD), den < 0 ? -1 : 1);
    return fmax(den, TINY);
}

static enum oa_error performer_weights(const struct oa_group *g, const struct oa_oracle *in,
                                       double *w)
{
    if (performer_kernel_of(g->atom) == FITTED)
        return oa_fitted_weights(g, in, performer_fit_of(g->atom), performer_keeps_moments(g), w);
    bool relative = performer_kernel_of(g->atom) != TRIG && performer_kernel_of(g->atom) != RELU;
    return oa_kernel_weights(g, in, performer_pair, relative ? performer_log_scale : NULL,
                             performer_guard_denominator, w);
}

static unsigned performer_can_with(const struct oa_atom *a)
{
    return a->mechanism->can & ~(performer_kernel_of(a) == TRIG ? OA_POSITIVE : 0u);
}

const struct oa_mechanism oa_mechanism_performer = {
    .name = "performer",
    .title = "Performer (FAVOR+)",
    .citation = "Choromanski et al. 2021, arXiv 2009.14794",
    .formula = "O_i = φ(x_i)ᵀ Σ_j φ(y_j) v_jᵀ / (φ(x_i)ᵀ Σ_j φ(y_j)), x = q/K^¼, y = k/K^¼, so "
               "that e^{x·y} = e^{q·k/√K};  favor+: φ(x) = r_0^{−½} e^{Ωx − |x|²/2}, E φ(x)·φ(y) = "
               "e^{x·y}, r = r_0;  trig: φ(x) = r_0^{−½} e^{|x|²/2} [cos Ωx, sin Ωx], the same "
               "mean, r = 2r_0;  hyperbolic: φ(x) = (2r_0)^{−½} e^{−|x|²/2} [e^{Ωx}, e^{−Ωx}], the "
               "same mean, r = 2r_0;  smreg: favor+ with rows of Ω of length √K;  relu: φ(x) = "
               "r_0^{−½} max(Ωx, 0) + 10⁻³;  favor++, sderf, aderf, saderf: favor+ with x, y and Ω "
               "changed by fitted matrices, the same mean",
    .caveats =
        "An estimate of softmax attention. With favor+ the variance of a weight is (e^{|x + y|²} − "
        "1)/r_0 of its square for draw=iid, and less for orthogonal rows. kernel=trig has features "
        "of both signs: weights can be negative and the denominator can come near 0. kernel=smreg, "
        "kernel=relu and ensemble=hd3 have another mean than the softmax kernel; so has "
        "ensemble=givens, by what ⌈K ln K⌉ rotations do not mix. ensemble=hd3 is no faster than "
        "the others: its blocks are run as a matrix, because fast transforms of them were measured "
        "slower for K = 32 and 64, and for 128 would save at most 7 % of a layer. favor++, sderf, "
        "aderf and saderf are fitted to the data: to each sequence where every token sees every "
        "token, and as cross-attention to all queries, so a model that has them there cannot "
        "decode token by token; in causal layers to running averages, which training updates after "
        "each step and evaluation does not change (they are saved with the model).",
    .mistakes =
        "JAX, TensorFlow and PyTorch Performers, fast-transformers: orthogonal rows come from a QR "
        "without the signs of R and are all in one half-space, so the \"unbiased\" estimate is "
        "off: +20 "
        "% at K = 8, |x + y|² = 3.8. xFormers corrects the rows where the columns are meant.\n"
        "JAX, TensorFlow, lucidrains: add ε to every feature after a stabiliser was taken off, so "
        "the result depends on that stabiliser; taken over all keys it lets a causal output see "
        "the future. xFormers adds ε to the exponent, where it is a factor and no lower bound.\n"
        "TensorFlow: the stabiliser is taken over tokens, heads and features together, padding "
        "included; that of expplus over the batch as well.\n"
        "JAX: the causal backward pass subtracts terms from the last prefix sum one by one, which "
        "loses "
        "all digits of the early ones.\n"
        "TensorFlow: with Givens rotations all blocks of Ω have the same seed and are equal.\n"
        "JAX: with scaling 0 the norms of the rows are drawn with the key that drew the rows. "
        "fast-transformers and xFormers take the norms of the very matrix that was made "
        "orthogonal.\n"
        "TensorFlow FAVOR++: its statistic counts padding, divides keys by the number of queries, "
        "and the data are scaled twice.",
    .cost = "O(n·r·(K + V)) time, O(r·V) memory a head",
    .state = "r(V + 1) + 1, constant in t",
    .can = OA_CAN_CAUSAL | OA_CAN_CROSS | OA_HAS_QUERIES | OA_LINEAR_TIME | OA_HAS_WEIGHTS |
           OA_POSITIVE | OA_AVERAGES,
    .can_with = performer_can_with,
    .arguments = arguments,
    .clash = performer_clash,
    .check = performer_check,
    .parameters = performer_parameters,
    .forward = performer_forward,
    .after_step = performer_after_step,
    .flops = performer_flops,
    .state_numbers = performer_state_numbers,
    .weights = performer_weights,
    .fitted = performer_fitted,
};
