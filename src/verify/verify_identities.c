/* SPDX-License-Identifier: Apache-2.0
 * Identities: attentions that equal another one for some values of their options, and similar pairs
 * that must differ. Parameters of the same name have the same values in both; some pairs set them.
 *
 * Estimates: the distance of performer to softmax attention falls with the number of features; a
 * random synthesizer as Mesh TensorFlow initialises it is within 1 % of the plain average
 * (max |P_ij·n − 1| ≤ e^{2·limit} − 1, the limit being √(6/(H·N + N²))). */
#include "verify/verify.h"

#include <math.h>
#include <string.h>

/* Sets the parameters for which `a` equals `b`. False: expected parameters are missing. */
typedef bool identity_setter(struct oa_attention_case *a, struct oa_attention_case *b);

/* R = A·I: one factor is the table, the other the identity. */
static bool set_full_rank(struct oa_attention_case *a, struct oa_attention_case *b)
{
    struct oa_parameter *r = oa_store_find(&b->single.store, "random.logits");
    struct oa_parameter *left = oa_store_find(&a->single.store, "random.left"),
                        *right = oa_store_find(&a->single.store, "random.right");
    if (!r || !left || !right || left->count != r->count || right->count != r->count)
        return false;
    for (long i = 0; i < r->count; i++) {
        oa_real_write(a->single.device, left->value, i,
                      oa_real_read(b->single.device, r->value, i));
        oa_real_write(a->single.device, right->value, i, i / a->N % a->N == i % a->N);
    }
    return true;
}

/* E = F = I. */
static bool set_unit_projection(struct oa_attention_case *a, struct oa_attention_case *b)
{
    (void)b;
    static const char *const names[] = { "length.key", "length.value" };
    bool found = false;
    for (int k = 0; k < 2; k++) {
        struct oa_parameter *e = oa_store_find(&a->single.store, names[k]);
        for (long i = 0; e && i < e->count; i++)
            oa_real_write(a->single.device, e->value, i, i / a->N % a->N == i % a->N);
        found |= e != NULL;
    }
    return found;
}

/* Copies the parameters of b to the first component of a. */
static bool set_first_component(struct oa_attention_case *a, struct oa_attention_case *b)
{
    bool all = true;
    for (int i = 0; i < b->single.store.count; i++) {
        struct oa_parameter *w = b->single.store.parameter[i];
        char name[200];
        snprintf(name, sizeof name, "mix.0.%s", w->name);
        struct oa_parameter *own = oa_store_find(&a->single.store, name);
        bool outer = strncmp(w->name, "value.", 6) == 0 || strncmp(w->name, "output.", 7) == 0;
        all &= outer || (own && own->count == w->count);
        for (long j = 0; own && j < w->count && own->count == w->count; j++)
            oa_real_write(a->single.device, own->value, j,
                          oa_real_read(b->single.device, w->value, j));
    }
    return all;
}

static bool set_equal_projections(struct oa_attention_case *a, struct oa_attention_case *b)
{
    (void)b;
    struct oa_parameter *q = oa_store_find(&a->single.store, "query.weight"),
                        *k = oa_store_find(&a->single.store, "key.weight");
    for (long i = 0; q && k && i < k->count; i++)
        oa_real_write(a->single.device, k->value, i, oa_real_read(a->single.device, q->value, i));
    return q && k;
}

static bool set_zero_bias(struct oa_attention_case *a, struct oa_attention_case *b)
{
    struct oa_parameter *r = oa_store_find(&a->single.store, "relative.bias");
    (void)b;
    for (long i = 0; r && i < r->count; i++)
        oa_real_write(a->single.device, r->value, i, 0);
    return r;
}

/* Slopes as biases: of 16 buckets a side the first 8 have one distance each, of 32 the first 16. */
static bool set_slopes(struct oa_attention_case *a, struct oa_attention_case *b)
{
    struct oa_parameter *r = oa_store_find(&a->single.store, "relative.bias");
    (void)b;
    for (long i = 0; r && i < r->count; i++)
        oa_real_write(a->single.device, r->value, i,
                      -(double)(i % 16) * pow(2, -8.0 * (double)(i / 32 + 1) / (double)r->dim[0]));
    return r && r->dim[1] == 32;
}

/* 6 tokens; tables of 7 and padding, unless `exact`. */
static const struct identity {
    const char *one, *other;
    double most, least; /* distance: at most, or above, the other NaN */
    enum oa_mode last;
    identity_setter *set;
    bool exact;
} identities[] = {
#define EQUAL(one, other, last, set)                                                               \
    {                                                                                              \
        one, other, 1e-12, NAN, last, set, false                                                   \
    }
#define DIFFERENT(one, other, last)                                                                \
    {                                                                                              \
        one, other, NAN, 1e-3, last, NULL, false                                                   \
    }
    EQUAL("softmax(relative=t5)", "softmax", OA_MODE_CAUSAL, set_zero_bias),
    EQUAL("softmax(relative=t5)", "softmax(relative=alibi)", OA_MODE_CAUSAL, set_slopes),
    DIFFERENT("softmax(relative=t5)", "softmax", OA_MODE_CAUSAL),
    DIFFERENT("softmax(relative=alibi)", "softmax", OA_MODE_CAUSAL),
    EQUAL("local(window=6)", "softmax", OA_MODE_CAUSAL, NULL),
    DIFFERENT("local(window=2)", "softmax", OA_MODE_CAUSAL),
    EQUAL("block-local(size=6)", "softmax", OA_MODE_CAUSAL, NULL),
    DIFFERENT("block-local(size=5)", "softmax", OA_MODE_CAUSAL),
    EQUAL("sparse(stride=6)", "softmax", OA_MODE_CAUSAL, NULL),
    EQUAL("sparse(fixed, stride=3, summary=3)", "softmax", OA_MODE_CAUSAL, NULL),
    DIFFERENT("sparse(stride=3, heads=split)", "softmax", OA_MODE_CAUSAL),
    EQUAL("block-sparse(block=6)", "softmax", OA_MODE_CAUSAL, NULL),
    EQUAL("block-sparse(block=1, from=local)", "local(window=1)", OA_MODE_CAUSAL, NULL),
    EQUAL("block-sparse(block=1)", "sparse", OA_MODE_CAUSAL, NULL),
    EQUAL("block-sparse(block=1, from=fixed)", "sparse(fixed)", OA_MODE_CAUSAL, NULL),
    EQUAL("longformer(global=6, shared)", "softmax", OA_MODE_CAUSAL, NULL),
    EQUAL("longformer(window=6, shared)", "softmax", OA_MODE_CAUSAL, NULL),
    DIFFERENT("longformer(window=1, shared)", "softmax", OA_MODE_CAUSAL),
    DIFFERENT("longformer(window=6)", "softmax", OA_MODE_CAUSAL),
    EQUAL("longformer(window=3, global=0)", "local(window=3)", OA_MODE_CAUSAL, NULL),
    EQUAL("longformer(window=2, global=0)", "local(window=2)", OA_MODE_BOTH, NULL),
    EQUAL("bigbird(block=1, random=7)", "softmax", OA_MODE_CAUSAL, NULL),
    EQUAL("bigbird(block=2, random=0, window=1, global=0)", "block-local(size=2)", OA_MODE_CAUSAL,
          NULL),
    { "orthogonal", "softmax(qk=haar)", 0, NAN, OA_MODE_CROSS, NULL, false },
    { "orthogonal", "orthogonal(qk=gram-schmidt)", 1e-10, NAN, OA_MODE_CROSS, NULL, false },
    DIFFERENT("orthogonal", "orthogonal(tie)", OA_MODE_CROSS),
    EQUAL("softmax", "softmax(tie)", OA_MODE_CROSS, set_equal_projections),
    EQUAL("gaussian(sigma=0.05, renormalise)", "pattern", OA_MODE_CAUSAL, NULL),
    EQUAL("gaussian(sigma=0.05, renormalise, offset=-1)", "pattern(previous, edge=clamp)",
          OA_MODE_CAUSAL, NULL),
    DIFFERENT("gaussian", "gaussian(renormalise)", OA_MODE_CAUSAL),
    DIFFERENT("lightconv", "lightconv(renormalise)", OA_MODE_CAUSAL),
    { "random(frozen, init=normal, sigma=0)", "random(frozen, init=uniform, sigma=0)", 0, NAN,
      OA_MODE_CAUSAL, NULL, false },
    EQUAL("factorized-random(rank=7)", "random", OA_MODE_CROSS, set_full_rank),
    { "linformer(rank=6)", "softmax", 1e-12, NAN, OA_MODE_BOTH, set_unit_projection, true },
    { "linformer(rank=6)", "softmax", NAN, 1e-3, OA_MODE_BOTH, NULL, true },
    EQUAL("mix(random, softmax, alpha=fixed, weights=1/0)", "random", OA_MODE_CROSS,
          set_first_component),
    EQUAL("mix(softmax, random, alpha=fixed, weights=1/0)", "softmax", OA_MODE_CROSS,
          set_first_component),
    EQUAL("mix(dense, random, alpha=fixed, weights=1/0)", "dense", OA_MODE_CROSS,
          set_first_component),
    EQUAL("mix(factorized-random, softmax, alpha=fixed, weights=1/0)", "factorized-random",
          OA_MODE_CROSS, set_first_component),
    { "mix(random(frozen), random(frozen), alpha=fixed, weights=1/0)", "random(frozen)", NAN, 1e-9,
      OA_MODE_CAUSAL, NULL, false }, /* another stream for mix.0. */
    EQUAL("mix(softmax, random, alpha=fixed, weights=0/0)", "random(frozen, init=normal, sigma=0)",
          OA_MODE_CAUSAL, NULL),
#undef EQUAL
#undef DIFFERENT
};

static void check_identity(struct oa_proof *p, const struct identity *w, enum oa_mode mode)
{
    struct oa_attention_case a, b;
    struct oa_setup setup = { .precision = OA_PRECISION_F64,
                              .padding = !w->exact,
                              .length = w->exact ? 6 : 7 };
    if (!oa_proof_open(p, w->one, mode, &setup, &a))
        return;
    if (!oa_proof_open(p, w->other, mode, &setup, &b)) {
        oa_case_close(&a);
        return;
    }
    a.no_gradients = b.no_gradients = true;
    bool set = !w->set || w->set(&a, &b);
    oa_store_refresh(&a.single.store);
    if (oa_proof_run(p, &a) && oa_proof_run(p, &b)) {
        double d = set ? oa_proof_difference(a.y, b.y, a.B * a.T * a.D) : NAN;
        if (isnan(w->least))
            oa_proof_measure(p, &a, d, w->most, "difference from %s", w->other);
        else
            oa_proof_measure(p, &a, d > w->least ? 0 : 1, 0,
                             "equals %s (0: differs by more than %g)", w->other, w->least);
    }
    oa_case_close(&a);
    oa_case_close(&b);
}

static void verify_identities(struct oa_proof *p)
{
    for (size_t i = 0; i < sizeof identities / sizeof identities[0] && !oa_proof_stopped(p); i++) {
        const struct identity *w = &identities[i];
        if (!oa_proof_includes(p, oa_proof_line_name(p, w->one)))
            continue;
        for (int mode = OA_MODE_BOTH; mode <= (int)w->last; mode++)
            check_identity(p, w, (enum oa_mode)mode);
    }
}

const struct oa_subject oa_subject_identities = { "identities", 0.5, NULL, verify_identities };

/* ---- performer and softmax ---- */

enum { TOKENS = 128, HEAD = 32, SAMPLES = 4 };

/* Outputs for inputs scaled so that |x + y|² is small enough for an estimate; NULL after an error.
 */
static double *run_single_head(struct oa_proof *p, const char *spec, struct oa_attention_case *a)
{
    struct oa_setup setup = { .precision = OA_PRECISION_F32,
                              .width = HEAD,
                              .heads = 1,
                              .batch = SAMPLES,
                              .queries = TOKENS,
                              .length = TOKENS };
    if (!oa_proof_open(p, spec, OA_MODE_BOTH, &setup, a))
        return NULL;
    for (long i = 0; i < a->B * a->T * a->D; i++)
        a->x[i] *= 0.2;
    a->no_gradients = true;
    return oa_proof_run(p, a) ? a->y : NULL;
}

static double relative_distance(const double *got, const double *want, long count)
{
    double off = 0, all = 0;
    for (long i = 0; i < count; i++) {
        off += (got[i] - want[i]) * (got[i] - want[i]);
        all += want[i] * want[i];
    }
    return sqrt(off / all);
}

static void check_performer(struct oa_proof *p, const char *kernel)
{
    static const int features[] = { 32, 128, 512, 2048 };
    struct oa_attention_case exact, a;
    double before = 0.99 /* of no output at all: 1 */,
           *want = run_single_head(p, "softmax", &exact);
    for (int i = 0; want && i < 4; i++) {
        char spec[96];
        snprintf(spec, sizeof spec, "performer(kernel=%s, features=%d)", kernel, features[i]);
        const double *got = run_single_head(p, spec, &a);
        if (!got)
            continue;
        double error = relative_distance(got, want, a.B * a.T * a.D);
        oa_proof_measure(p, &a, error, before,
                         "distance to softmax attention, bound that with fewer features%s",
                         i ? "" : " (none)");
        before = error;
        oa_case_close(&a);
    }
    oa_proof_measure(p, &exact, before, 0.35,
                     "distance from performer(kernel=%s) with 2048 features", kernel);
    oa_case_close(&exact);
}

/* ---- random synthesizer ---- */

/* The table is frozen, so the case keeps its initial values. */
static void check_initial_random_map(struct oa_proof *p)
{
    enum { N = 512 };
    struct oa_attention_case a;
    struct oa_setup setup = {
        .precision = OA_PRECISION_F32, .width = 8, .heads = 8, .batch = 1, .queries = N, .length = N
    };
    double worst = 0, limit = sqrt(6 / (8.0 * N + (double)N * N));
    if (!oa_proof_open(p, "random(frozen)", OA_MODE_BOTH, &setup, &a))
        return;
    double *map = oa_case_array(&a, 8L * N * N);
    struct oa_oracle in = { .x = a.x, .queries = N, .keys = N, .length = N };
    const struct oa_group *g = &a.single.layer.group[0];
    if (map && g->mechanism->weights(g, &in, map) == OA_OK) {
        for (long i = 0; i < 8L * N * N; i++)
            worst = fmax(worst, fabs(map[i] * N - 1));
        oa_proof_measure(p, &a, worst, exp(2 * limit) - 1,
                         "initial map against the average, limit %.7f", limit);
    }
    oa_case_close(&a);
}

static void verify_estimates(struct oa_proof *p)
{
    if (oa_proof_includes(p, "performer")) {
        check_performer(p, "favor+");
        check_performer(p, "hyperbolic");
        check_performer(p, "favor++");
    }
    if (oa_proof_includes(p, "random"))
        check_initial_random_map(p);
}

const struct oa_subject oa_subject_estimates = { "estimates", 1, NULL, verify_estimates };
