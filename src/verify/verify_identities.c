/* SPDX-License-Identifier: Apache-2.0
 * The web of identities: attentions that are another one in a limit of their options, and pairs
 * that look alike and must not be the same. Parameters of one name have the same values in both;
 * some pairs set them first. */
#include "verify/verify.h"

#include <math.h>
#include <string.h>

/* Gives parameters the values of the limit; `a` is the special attention, `b` what it becomes.
 * False: the parameters are not those that were expected. */
typedef bool limit(struct oa_case *a, struct oa_case *b);

/* R = A·I: the factors of full rank are the table and the identity, up to which side holds which.
 */
static bool full_rank(struct oa_case *a, struct oa_case *b)
{
    struct oa_parameter *r = oa_store_find(&b->rig.store, "random.logits");
    struct oa_parameter *left = oa_store_find(&a->rig.store, "random.left"),
                        *right = oa_store_find(&a->rig.store, "random.right");
    if (!r || !left || !right || left->count != r->count || right->count != r->count)
        return false;
    for (long i = 0; i < r->count; i++) {
        oa_real_write(a->rig.device, left->value, i, oa_real_read(b->rig.device, r->value, i));
        oa_real_write(a->rig.device, right->value, i, i / a->N % a->N == i % a->N);
    }
    return true;
}

/* E = F = I. */
static bool unit_projection(struct oa_case *a, struct oa_case *b)
{
    (void)b;
    static const char *const names[] = { "length.key", "length.value" };
    bool found = false;
    for (int k = 0; k < 2; k++) {
        struct oa_parameter *e = oa_store_find(&a->rig.store, names[k]);
        for (long i = 0; e && i < e->count; i++)
            oa_real_write(a->rig.device, e->value, i, i / a->N % a->N == i % a->N);
        found |= e != NULL;
    }
    return found;
}

/* The parameters of the first component under the name they have by themselves. */
static bool first_component(struct oa_case *a, struct oa_case *b)
{
    bool all = true;
    for (int i = 0; i < b->rig.store.count; i++) {
        struct oa_parameter *w = b->rig.store.parameter[i];
        char name[200];
        snprintf(name, sizeof name, "mix.0.%s", w->name);
        struct oa_parameter *own = oa_store_find(&a->rig.store, name);
        bool outer = strncmp(w->name, "value.", 6) == 0 || strncmp(w->name, "output.", 7) == 0;
        all &= outer || (own && own->count == w->count);
        for (long j = 0; own && j < w->count && own->count == w->count; j++)
            oa_real_write(a->rig.device, own->value, j, oa_real_read(b->rig.device, w->value, j));
    }
    return all;
}

static bool same_sides(struct oa_case *a, struct oa_case *b)
{
    (void)b;
    struct oa_parameter *q = oa_store_find(&a->rig.store, "query.weight"),
                        *k = oa_store_find(&a->rig.store, "key.weight");
    for (long i = 0; q && k && i < k->count; i++)
        oa_real_write(a->rig.device, k->value, i, oa_real_read(a->rig.device, q->value, i));
    return q && k;
}

static bool zero_bias(struct oa_case *a, struct oa_case *b)
{
    struct oa_parameter *r = oa_store_find(&a->rig.store, "relative.bias");
    (void)b;
    for (long i = 0; r && i < r->count; i++)
        oa_real_write(a->rig.device, r->value, i, 0);
    return r;
}

/* The slopes as biases, one distance a bucket: of 16 buckets for each side 8 hold one, of 32 for
 * one side 16. */
static bool slopes(struct oa_case *a, struct oa_case *b)
{
    struct oa_parameter *r = oa_store_find(&a->rig.store, "relative.bias");
    (void)b;
    for (long i = 0; r && i < r->count; i++)
        oa_real_write(a->rig.device, r->value, i,
                      -(double)(i % 16) * pow(2, -8.0 * (double)(i / 32 + 1) / (double)r->dim[0]));
    return r && r->dim[1] == 32;
}

/* Lengths: 6 tokens, tables of 7 unless `exact`, then 6. */
static const struct identity {
    const char *one, *other;
    bool same;
    double bound; /* same: at most; different: at least */
    enum oa_mode last;
    limit *set;
    bool exact, whole; /* N = 6; no padding */
} identities[] = {
    { "softmax(relative=t5)", "softmax", true, 1e-12, OA_MODE_CAUSAL, zero_bias, false, false },
    { "softmax(relative=t5)", "softmax(relative=alibi)", true, 1e-12, OA_MODE_CAUSAL, slopes, false,
      false },
    { "softmax(relative=t5)", "softmax", false, 1e-3, OA_MODE_CAUSAL, NULL, false, false },
    { "softmax(relative=alibi)", "softmax", false, 1e-3, OA_MODE_CAUSAL, NULL, false, false },
    { "local(window=6)", "softmax", true, 1e-12, OA_MODE_CAUSAL, NULL, false, false },
    { "local(window=2)", "softmax", false, 1e-3, OA_MODE_CAUSAL, NULL, false, false },
    { "block-local(size=6)", "softmax", true, 1e-12, OA_MODE_CAUSAL, NULL, false, false },
    { "block-local(size=5)", "softmax", false, 1e-3, OA_MODE_CAUSAL, NULL, false, false },
    { "sparse(stride=6)", "softmax", true, 1e-12, OA_MODE_CAUSAL, NULL, false, false },
    { "sparse(fixed, stride=3, summary=3)", "softmax", true, 1e-12, OA_MODE_CAUSAL, NULL, false,
      false },
    { "sparse(stride=3, heads=split)", "softmax", false, 1e-3, OA_MODE_CAUSAL, NULL, false, false },
    { "block-sparse(block=6)", "softmax", true, 1e-12, OA_MODE_CAUSAL, NULL, false, false },
    { "block-sparse(block=1, from=local)", "local(window=1)", true, 1e-12, OA_MODE_CAUSAL, NULL,
      false, false },
    { "block-sparse(block=1)", "sparse", true, 1e-12, OA_MODE_CAUSAL, NULL, false, false },
    { "block-sparse(block=1, from=fixed)", "sparse(fixed)", true, 1e-12, OA_MODE_CAUSAL, NULL,
      false, false },
    { "longformer(global=6, shared)", "softmax", true, 1e-12, OA_MODE_CAUSAL, NULL, false, false },
    { "longformer(window=6, shared)", "softmax", true, 1e-12, OA_MODE_CAUSAL, NULL, false, false },
    { "longformer(window=1, shared)", "softmax", false, 1e-3, OA_MODE_CAUSAL, NULL, false, false },
    { "longformer(window=6)", "softmax", false, 1e-3, OA_MODE_CAUSAL, NULL, false, false },
    { "longformer(window=3, global=0)", "local(window=3)", true, 1e-12, OA_MODE_CAUSAL, NULL, false,
      false },
    { "longformer(window=2, global=0)", "local(window=2)", true, 1e-12, OA_MODE_BOTH, NULL, false,
      false },
    { "bigbird(block=1, random=7)", "softmax", true, 1e-12, OA_MODE_CAUSAL, NULL, false, false },
    { "bigbird(block=2, random=0, window=1, global=0)", "block-local(size=2)", true, 1e-12,
      OA_MODE_CAUSAL, NULL, false, false },
    { "orthogonal", "softmax(qk=haar)", true, 0, OA_MODE_CROSS, NULL, false, false },
    { "orthogonal", "orthogonal(qk=gram-schmidt)", true, 1e-10, OA_MODE_CROSS, NULL, false, false },
    { "orthogonal", "orthogonal(tie)", false, 1e-3, OA_MODE_CROSS, NULL, false, false },
    { "softmax", "softmax(tie)", true, 1e-12, OA_MODE_CROSS, same_sides, false, false },
    { "gaussian(sigma=0.05, renormalise)", "pattern", true, 1e-12, OA_MODE_CAUSAL, NULL, false,
      false },
    { "gaussian(sigma=0.05, renormalise, offset=-1)", "pattern(previous, edge=clamp)", true, 1e-12,
      OA_MODE_CAUSAL, NULL, false, false },
    { "gaussian", "gaussian(renormalise)", false, 1e-3, OA_MODE_CAUSAL, NULL, false, false },
    { "lightconv", "lightconv(renormalise)", false, 1e-3, OA_MODE_CAUSAL, NULL, false, false },
    { "random(frozen, init=normal, sigma=0)", "random(frozen, init=uniform, sigma=0)", true, 0,
      OA_MODE_CAUSAL, NULL, false, false },
    { "factorized-random(rank=7)", "random", true, 1e-12, OA_MODE_CROSS, full_rank, false, false },
    { "linformer(rank=6)", "softmax", true, 1e-12, OA_MODE_BOTH, unit_projection, true, true },
    { "linformer(rank=6)", "softmax", false, 1e-3, OA_MODE_BOTH, NULL, true, true },
    { "mix(random, softmax, alpha=fixed, weights=1/0)", "random", true, 1e-12, OA_MODE_CROSS,
      first_component, false, false },
    { "mix(softmax, random, alpha=fixed, weights=1/0)", "softmax", true, 1e-12, OA_MODE_CROSS,
      first_component, false, false },
    { "mix(dense, random, alpha=fixed, weights=1/0)", "dense", true, 1e-12, OA_MODE_CROSS,
      first_component, false, false },
    { "mix(factorized-random, softmax, alpha=fixed, weights=1/0)", "factorized-random", true, 1e-12,
      OA_MODE_CROSS, first_component, false, false },
    { "mix(random(frozen), random(frozen), alpha=fixed, weights=1/0)", "random(frozen)", false,
      1e-9, OA_MODE_CAUSAL, NULL, false, false }, /* streams differ: mix.0. is another name */
    { "mix(softmax, random, alpha=fixed, weights=0/0)", "random(frozen, init=normal, sigma=0)",
      true, 1e-12, OA_MODE_CAUSAL, NULL, false, false },
};

static void compare(struct oa_proof *p, const struct identity *w, enum oa_mode mode)
{
    struct oa_case a, b;
    struct oa_setup setup = { .precision = OA_PRECISION_F64,
                              .padding = !w->whole,
                              .length = w->exact ? 6 : 7 };
    if (!oa_proof_open(p, w->one, mode, &setup, &a))
        return;
    if (!oa_proof_open(p, w->other, mode, &setup, &b)) {
        oa_case_close(&a);
        return;
    }
    a.no_gradients = b.no_gradients = true;
    bool set = !w->set || w->set(&a, &b);
    oa_store_refresh(&a.rig.store);
    if (oa_proof_run(p, &a) && oa_proof_run(p, &b)) {
        double d = set ? oa_proof_difference(a.y, b.y, a.B * a.T * a.D) : NAN;
        if (w->same)
            oa_proof_measure(p, &a, d, w->bound, "is %s", w->other);
        else
            oa_proof_measure(p, &a, d > w->bound ? 0 : 1, 0,
                             "is not %s (0: differs by more than %g)", w->other, w->bound);
    }
    oa_case_close(&a);
    oa_case_close(&b);
}

static bool wanted(struct oa_proof *p, const struct identity *w)
{
    return oa_proof_wants(p, oa_proof_row(p, w->one));
}

static void once(struct oa_proof *p)
{
    for (size_t i = 0; i < sizeof identities / sizeof identities[0] && !oa_proof_stopped(p); i++) {
        for (int mode = OA_MODE_BOTH; wanted(p, &identities[i]) && mode <= (int)identities[i].last;
             mode++)
            compare(p, &identities[i], (enum oa_mode)mode);
    }
}

const struct oa_subject oa_subject_identities = {
    .name = "identities",
    .claim = "limits of options give the attention that they must, and only these",
    .work = 0.5,
    .once = once,
};
