/* SPDX-License-Identifier: Apache-2.0
 * Every mechanism of the registry: `orthant verify` with more variants; engines over many tiles and
 * chunks; invalid attentions; counted against formula FLOPs. */
#include "setups.h"

#include "verify/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* With two threads, and with one, where short loops take a third less processor time. */
static oa_context *context, *alone;

static int open_contexts(void **state)
{
    (void)state;
    context = oa_open(&(struct oa_settings){ .threads = 2 });
    alone = oa_open(&(struct oa_settings){ .threads = 1 });
    return context && alone ? 0 : -1;
}

static int close_contexts(void **state)
{
    (void)state;
    oa_close(context);
    oa_close(alone);
    return 0;
}

/* ---- verify ---- */

static void assert_no_failures(const struct oa_proof *p)
{
    for (int i = 0; i < p->failures; i++)
        print_error("%s, %s, %s: %s: %g, bound %g\n", p->failure[i].spec, p->failure[i].mode,
                    p->failure[i].precision, p->failure[i].what, p->failure[i].error,
                    p->failure[i].bound);
    assert_int_equal(oa_status(p->context), OA_OK);
    assert_int_equal(p->failures, 0);
}

/* Inconclusive checks have a reason that training warns about. */
static void assert_reasons(const struct oa_proof *p)
{
    struct oa_options o;
    oa_options_default(&o);
    o.train_precision = OA_PRECISION_BF16;
    for (int i = 0; i < p->inconclusives; i++) {
        const struct oa_check *f = &p->inconclusive[i];
        struct oa_text notes;
        oa_text_init(&notes, context);
        assert_int_equal(oa_attention_notes(context, f->spec, OA_LANGUAGE_MODEL, &o, &notes),
                         OA_OK);
        assert_true(f->bound >= 1);
        assert_non_null(strstr(f->what, "rounding alone can give"));
        assert_non_null(notes.s);
        assert_true(strstr(notes.s, "divides weights of both signs by their sum") ||
                    strstr(notes.s, "raises rounded sums to a power"));
        oa_text_free(&notes);
    }
}

/* Which attentions a subject checks in a short form. */
enum share { NONE, BARE_NAMES, EVERY_SPEC };

struct expected {
    const char *subject;
    long checks[2], inconclusive[2]; /* in full, quick */
    bool shared;                     /* several threads have enough to do */
    enum share threads, memory;      /* in these forms */
};

/* A subject over the registry: the expected number of checks, each with a bound below 1. */
static void run_subject(const struct expected *e)
{
    struct oa_proof p;
    oa_proof_make(e->shared ? context : alone, NULL, short_form(), e->subject, &p);
    assert_no_failures(&p);
    assert_reasons(&p);
    if (p.checks != e->checks[short_form()] || p.inconclusives != e->inconclusive[short_form()])
        fail_msg("%s: %ld checks, %d inconclusive; expected %ld and %ld", e->subject, p.checks,
                 p.inconclusives, e->checks[short_form()], e->inconclusive[short_form()]);
    assert_true(p.largest_bound < 1);
    oa_proof_free(&p);
}

/* A subject of every mechanism with its defaults alone. */
static void run_subject_on_bare_names(const char *name)
{
    static const struct oa_subject *const subjects[] = { &oa_subject_decoding, &oa_subject_oracles,
                                                         &oa_subject_beams };
    struct oa_proof p = { .context = context, .subject = name, .quick = true };
    assert_int_equal(oa_proof_collect(&p), OA_OK);
    for (size_t s = 0; s < sizeof subjects / sizeof *subjects; s++)
        for (int i = 0; strcmp(subjects[s]->name, name) == 0 && i < p.spec_count; i++)
            if (oa_mechanism_find(p.specs[i]))
                subjects[s]->each(&p, p.specs[i]);
    assert_true(p.checks > 100);
    assert_no_failures(&p);
    oa_proof_free(&p);
}

/* `orthant verify`. A new mechanism, option or check changes the numbers. In the short forms every
 * attention runs in all precisions below; subjects that run it the same way are omitted, and
 * subjects that options do not affect run once for each mechanism. */
static void verify_passes_with_the_expected_number_of_checks(void **state)
{
    static const struct expected subjects[] = {
        { "gradients", { 30612, 16953 }, { 0, 0 }, false, NONE, NONE },
        { "causality", { 3186, 2346 }, { 0, 0 }, false, NONE, NONE },
        { "padding", { 14060, 10170 }, { 0, 0 }, false, NONE, NONE },
        { "batches", { 1376, 996 }, { 0, 0 }, false, NONE, NONE },
        { "oracles", { 17441, 12721 }, { 50, 50 }, false, NONE, BARE_NAMES },
        { "decoding", { 29569, 11964 }, { 41, 24 }, true, BARE_NAMES, EVERY_SPEC },
        { "lengths", { 2489, 1829 }, { 0, 0 }, false, NONE, EVERY_SPEC },
        { "order", { 433, 333 }, { 0, 0 }, false, NONE, EVERY_SPEC },
        { "threads", { 3814, 1992 }, { 0, 0 }, true, NONE, NONE },
        { "models", { 11637, 8447 }, { 1, 1 }, false, NONE, NONE },
        { "beams", { 8508, 2380 }, { 55, 5 }, false, NONE, BARE_NAMES },
        { "targets", { 5, 5 }, { 0, 0 }, false, NONE, EVERY_SPEC },
        { "claims", { 3579, 2709 }, { 0, 0 }, false, NONE, EVERY_SPEC },
        { "identities", { 88, 88 }, { 0, 0 }, false, NONE, EVERY_SPEC },
        { "counts", { 430, 310 }, { 0, 0 }, false, NONE, EVERY_SPEC },
        { "features", { 19, 19 }, { 0, 0 }, false, NONE, NONE },
        { "fits", { 94, 94 }, { 0, 0 }, false, NONE, EVERY_SPEC },
        { "projections", { 36, 36 }, { 0, 0 }, false, NONE, NONE },
        { "estimates", { 16, 16 }, { 0, 0 }, false, NONE, NONE },
    };
    (void)state;
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        enum share share = only_threads()  ? subjects[i].threads
                           : only_memory() ? subjects[i].memory
                                           : EVERY_SPEC;
        if (share == EVERY_SPEC)
            run_subject(&subjects[i]);
        else if (share == BARE_NAMES)
            run_subject_on_bare_names(subjects[i].subject);
    }
}

static void run(struct oa_proof *p, struct oa_attention_case *a)
{
    oa_proof_run(p, a);
}

/* Forward and backward without checks: with biases, rotary positions, one token, and sequences long
 * enough for several items of work in every engine. */
static void every_attention_runs(void **state)
{
    (void)state;
    static const struct oa_setup setups[] = {
        { .precision = OA_PRECISION_F64, .bias = true, .padding = true, .batch = 3 },
        { .precision = OA_PRECISION_F64, .rotary = true, .padding = true },
        { .precision = OA_PRECISION_F64, .queries = 1, .keys = 1 },
        { .precision = OA_PRECISION_F32,
          .padding = true,
          .batch = 3,
          .queries = 70,
          .keys = 66,
          .length = 70 },
        { .precision = OA_PRECISION_BF16,
          .padding = true,
          .batch = 3,
          .queries = 38,
          .keys = 35,
          .length = 38 },
    };
    struct oa_proof p = { .context = context, .subject = "runs", .quick = true };
    if (!only_threads() && !only_memory())
        return;
    assert_int_equal(oa_proof_collect(&p), OA_OK);
    for (int i = 0; i < p.spec_count; i++)
        for (size_t k = 0; k < sizeof setups / sizeof setups[0]; k++)
            oa_proof_check_modes(&p, p.specs[i], &setups[k], OA_MODE_BOTH, OA_MODE_CROSS, run);
    assert_true(p.spec_count > 100);
    assert_no_failures(&p);
    oa_proof_free(&p);
}

/* ---- claims ---- */

/* A table with every claim reversed fails each check, except claims that a mixture inherits from
 * its components. */
static void every_false_claim_is_found(void **state)
{
    (void)state;
    const struct oa_mechanism *m;
    for (int i = 0; (m = oa_mechanism_at(i)) && !only_threads() && !only_memory(); i++) {
        struct oa_mechanism false_table = *m;
        struct oa_proof p = { .context = context, .subject = "claims", .quick = true };
        false_table.can = ~m->can & (2u * OA_AVERAGES - 1);
        oa_check_mechanism_claims(&p, &false_table);
        assert_int_equal(oa_status(context), OA_OK);
        int inherited = m == oa_mechanism_find("mix") ? 2 : 0;
        if (p.checks != 12 || p.failures != 12 - inherited)
            fail_msg("%s: %d of %ld false claims are found", m->name, p.failures, p.checks);
        oa_proof_free(&p);
    }
}

/* A mechanism with tables of length N that does not claim it: found by its parameters, and by the
 * output of a longer sequence. */
static void tables_of_length_n_are_detected_without_the_claim(void **state)
{
    (void)state;
    static oa_property *const properties[] = { oa_attention_matches_claims,
                                               oa_longer_is_rejected_or_equal };
    static const char *const found[] = { "bound to N: not claimed, holds", "more tokens than N" };
    struct oa_mechanism silent = *oa_mechanism_find("random");
    silent.can &= ~(unsigned)OA_BOUND_LENGTH;
    for (int i = 0; i < 2; i++) {
        for (int said = 0; said < 2; said++) {
            struct oa_setup setup = { .precision = OA_PRECISION_F64,
                                      .queries = 6 + 2 * i,
                                      .length = 7 };
            struct oa_proof p = { .context = context, .subject = "claims" };
            struct oa_attention_case a;
            setup.substitute = said ? NULL : &silent;
            assert_true(oa_proof_open(&p, "random(frozen)", OA_MODE_CAUSAL, &setup, &a));
            properties[i](&p, &a);
            assert_int_equal(p.failures, said ? 0 : 1);
            assert_true(said || strstr(p.failure[0].what, found[i]));
            oa_case_close(&a);
            oa_proof_free(&p);
        }
    }
}

static void projections_are_checked_only_where_drawn(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        long checks;
    } proofs[] = { { "softmax", 0 },
                   { "local:1 | softmax:1", 0 },
                   { "softmax(qk=srht)", 3 },
                   { "linear(qk=slice):1 | softmax:1", 4 },
                   { "random + orthogonal", 9 },
                   { "softmax(qk=gaussian)", 3 } };
    for (size_t i = 0; i < sizeof proofs / sizeof proofs[0] && !only_threads(); i++) {
        struct oa_proof p;
        assert_int_equal(oa_proof_make(context, proofs[i].spec, true, "projections", &p), OA_OK);
        assert_no_failures(&p);
        assert_int_equal(p.checks, proofs[i].checks);
        oa_proof_free(&p);
    }
}

static void a_false_claim_is_reported_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *mechanism;
        unsigned claim;
        const char *what;
    } false_claims[] = {
        { "softmax", OA_DROPS, "dropout: not claimed, holds" },
        { "linear", OA_DROPS, "dropout: claimed, does not hold" },
        { "gaussian", OA_AVERAGES, "averages: claimed, does not hold" },
        { "mixer", OA_LINEAR_TIME, "linear_time: not claimed, holds" },
        { "linformer", OA_CAN_CAUSAL, "causal: claimed, does not hold" },
        { "local", OA_CAN_CROSS, "cross: claimed, does not hold" },
    };
    for (size_t i = 0; i < sizeof false_claims / sizeof false_claims[0] && !only_threads(); i++) {
        struct oa_mechanism false_table = *oa_mechanism_find(false_claims[i].mechanism);
        struct oa_proof p = { .context = context, .subject = "claims", .quick = true };
        false_table.can ^= false_claims[i].claim;
        oa_check_mechanism_claims(&p, &false_table);
        assert_int_equal(p.failures, 1);
        assert_string_equal(p.failure[0].what, false_claims[i].what);
        oa_proof_free(&p);
    }
}

static void assert_notes(const char *spec, double dropout, const char *precision, const char *want)
{
    struct oa_options o;
    struct oa_text notes;
    oa_options_default(&o);
    oa_text_init(&notes, context);
    o.model_attention_dropout = dropout;
    set_option(&o, "train.precision", precision);
    assert_int_equal(oa_attention_notes(context, spec, OA_LANGUAGE_MODEL, &o, &notes), OA_OK);
    assert_string_equal(notes.s ? notes.s : "", want);
    oa_text_free(&notes);
}

static void notes_name_options_without_effect(void **state)
{
    (void)state;
#define IDLE                                                                                       \
    " has no attention weights to drop: model.attention_dropout = 0.9 has no effect on it.\n"
#define SIGNS                                                                                      \
    " divides weights of both signs by their sum, which can be close to 0: in bf16, rounding "     \
    "errors can then be as large as the result; use f32.\n"
#define POWERS                                                                                     \
    " raises rounded sums to a power: in bf16, rounding errors can then be as large as the "       \
    "result; use f32.\n"
    assert_notes("linear", 0, "f32", "");
    assert_notes("softmax", 0.9, "bf16", "");
    assert_notes("random + softmax", 0.9, "bf16", "");
    assert_notes("linear", 0.9, "f32", "linear" IDLE);
    assert_notes("softmax:1 | pattern:1 | linear:2 ; linear", 0.9, "f32",
                 "pattern" IDLE "linear" IDLE);
    assert_notes("linear(map=cos)", 0, "f32", "");
    assert_notes("polysketch", 0, "f32", "");
    assert_notes("polysketch", 0, "bf16", "polysketch" POWERS);
    assert_notes("linear(map=cos)", 0, "bf16", "linear(map=cos)" SIGNS);
    assert_notes("performer(kernel=trig):1 | softmax:1", 0.9, "bf16",
                 "performer(kernel=trig)" IDLE "performer(kernel=trig)" SIGNS);
}

/* For properties of single cases. */
static struct oa_proof of_cases(void)
{
    return (struct oa_proof){ .context = context, .subject = "cases", .quick = true };
}

static void open_case(const char *text, enum oa_mode mode, struct oa_setup setup,
                      struct oa_attention_case *a)
{
    setup.spec = text;
    setup.mode = mode;
    assert_int_equal(oa_case_open(context, &setup, a), OA_OK);
}

/* Forward and backward; in the full form also against differences and the oracle, whose loops have
 * one thread. */
static void check_case(struct oa_proof *p, struct oa_attention_case *a)
{
    if (only_threads() || only_memory()) {
        assert_int_equal(oa_case_run(a), OA_OK);
        return;
    }
    oa_gradients_match_differences(p, a);
    oa_outputs_match_oracle(p, a);
}

#define F64 .precision = OA_PRECISION_F64

static void sequences_longer_than_n_are_rejected(void **state)
{
    (void)state;
    static const char *const bound[] = {
        "dense",     "random", "factorized-dense", "factorized-random",
        "linformer", "mixer",  "random + softmax", "softmax:1 | dense:1"
    };
    for (size_t i = 0; i < sizeof bound / sizeof bound[0]; i++) {
        struct oa_attention_case a;
        const char *sentence;
        open_case(bound[i], OA_MODE_BOTH, (struct oa_setup){ F64, .queries = 8, .length = 7 }, &a);
        assert_int_equal(oa_case_run(&a), OA_SHAPE);
        oa_last_error(context, &sentence);
        assert_non_null(strstr(sentence, "8 tokens is longer than the tables"));
        oa_clear_error(context);
        oa_case_close(&a);
    }
}

/* Supports over many tiles: skipped ranges and tiles must not lose a pair. */
static void supports_over_many_tiles(void **state)
{
    (void)state;
    struct oa_proof p = of_cases();
    static const char *const texts[] = {
        "softmax",
        "local(window=1)",
        "local(window=5, dilation=7)",
        "local(window=40)",
        "local(window=64)",
        "local(window=3, dilation=64)",
        "local",
        "block-local(size=7)",
        "block-local(size=64)",
        "sparse",
        "sparse(stride=90, heads=split)",
        "sparse(fixed, stride=70, summary=3)",
        "sparse(fixed, stride=50, heads=split)",
        "block-sparse(block=5, from=fixed)",
        "block-sparse(block=9, from=local)",
        "block-sparse(block=4)",
        "longformer(window=5, global=70)",
        "longformer(window=9, global=2, shared)",
        "longformer(window=70)",
        "longformer(window=20, global=0)",
        "bigbird(block=16, random=1)",
        "bigbird(block=7, random=2, window=1, global=1)",
        "softmax(relative=t5)",
        "local(window=40, relative=alibi)",
        "sparse(relative=t5)", /* in pieces, with positions of their own */
        "sparse(fixed, stride=70, summary=3, relative=t5)",
        "longformer(window=5, global=70, relative=t5)",
        "bigbird(block=16, random=1, relative=t5)",
        "polynomial", /* by features when there are so many pairs */
        "polynomial(bias=0.5)",
        "polynomial(degree=4)"
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (int mode = OA_MODE_BOTH; mode <= OA_MODE_CAUSAL; mode++) {
            struct oa_attention_case a;
            struct oa_setup setup = { F64, .padding = true, .queries = 200, .length = 200 };
            open_case(texts[i], (enum oa_mode)mode, setup, &a);
            check_case(&p, &a);
            oa_case_close(&a);
        }
    }
    assert_no_failures(&p);
    oa_proof_free(&p);
}

/* Given logits and folds over many tiles, one map for the batch (no padding) and one for each item;
 * 600 keys are two items of the shared map's backward pass. */
static void parts_over_many_tiles(void **state)
{
    (void)state;
    struct oa_proof p = of_cases();
    static const char *const texts[] = {
        "factorized-random(rank=3)", "factorized-dense(a=20)",
        "mix(factorized-random(rank=3), random)",
        "mix(factorized-random(rank=3), random, relative=t5)",
        "mix(factorized-random(rank=3), factorized-dense(b=50), alpha=sigmoid)"
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (int variant = 0; variant < 3; variant++) {
            struct oa_attention_case a;
            long n = variant == 2 ? 600 : 200;
            struct oa_setup setup = { F64, .padding = variant == 0, .queries = n, .length = n };
            open_case(texts[i], variant ? OA_MODE_CAUSAL : OA_MODE_BOTH, setup, &a);
            check_case(&p, &a);
            oa_case_close(&a);
        }
    }
    assert_no_failures(&p);
    oa_proof_free(&p);
}

/* Several chunks of the engines, with keys whose logarithmic features drift over hundreds: row i
 * must neither lose its keys to a larger one that comes later nor depend on it. */
static void long_sequences(void **state)
{
    (void)state;
    struct oa_proof p = of_cases();
    static const char *const texts[] = { "performer(features=6)",
                                         "performer(kernel=hyperbolic, features=6)",
                                         "performer(kernel=relu, features=6)",
                                         "performer(kernel=smreg, tie, features=6)",
                                         "cosformer",
                                         "polynomial(degree=4)",
                                         "taylor(width=3)",
                                         "polysketch(sketch=3)" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (int mode = OA_MODE_BOTH; mode <= OA_MODE_CROSS; mode++) {
            struct oa_attention_case a;
            struct oa_setup setup = { F64, .padding = true, .queries = 150, .keys = 140,
                                      .length = 150 };
            open_case(texts[i], (enum oa_mode)mode, setup, &a);
            for (long t = 0; t < a.T * a.D; t++)
                a.x[t] *= 1 + 6 * (double)t / (double)(a.T * a.D);
            check_case(&p, &a);
            if (mode == OA_MODE_CAUSAL)
                oa_later_tokens_change_nothing(&p, &a);
            oa_case_close(&a);
        }
    }
    assert_no_failures(&p);
    oa_proof_free(&p);
}

/* ---- frozen projections ---- */

/* softmax(init=haar) starts with the matrices of orthogonal, and trains them: UᵀU = I. */
static void projections_learn_from_drawn_values(void **state)
{
    static const char *const specs[] = { "softmax(init=haar)", "softmax(init=slice)", "softmax",
                                         "linear(init=gram-schmidt)", "softmax(init=haar, kv=1)" };
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct oa_single_layer r;
        struct oa_layer_shape shape = oa_equal_heads_shape(8, 2, 7);
        assert_int_equal(oa_single_layer_open(context, specs[i], OA_PRECISION_F64, false, &r),
                         OA_OK);
        assert_int_equal(oa_single_layer_layer(&r, 0, &shape), OA_OK);
        assert_int_equal(oa_store_allocate(&r.store, 1, true), OA_OK);
        for (int which = 0; which < 2; which++) {
            const struct oa_parameter *p = which ? r.layer.group[0].key : r.layer.group[0].query;
            double worst = 0;
            assert_true(p->trainable && p->decay);
            for (int a = 0; a < 4; a++)
                for (int b = 0; b < 4; b++) { /* columns of the first head: rows of the weight */
                    double sum = -(double)(a == b);
                    for (int d = 0; d < 8; d++)
                        sum += oa_real_read(r.device, p->value, a * 8 + d) *
                               oa_real_read(r.device, p->value, b * 8 + d);
                    worst = fmax(worst, fabs(sum));
                }
            if (i == 2 ? worst < 0.1 : worst > 1e-14)
                fail_msg("%s, %d: off by %g", specs[i], which, worst);
        }
        oa_single_layer_close(&r);
    }
}

/* Queries and keys of two groups are slices of one orthogonal matrix: W₀ W₁ᵀ = 0. */
static void groups_slice_one_matrix(void **state)
{
    (void)state;
    struct oa_single_layer r;
    struct oa_layer_shape shape = oa_equal_heads_shape(8, 2, 7);
    assert_int_equal(oa_single_layer_open(context, "softmax(init=slice):1 | softmax(init=slice):1",
                                          OA_PRECISION_F64, false, &r),
                     OA_OK);
    assert_int_equal(oa_single_layer_layer(&r, 0, &shape), OA_OK);
    assert_int_equal(oa_store_allocate(&r.store, 1, true), OA_OK);
    assert_int_equal(r.layer.groups, 2);
    for (int i = 0; i < 2 * 16; i++) {
        const struct oa_parameter *w[2];
        double sum = 0, square = 0;
        for (int g = 0; g < 2; g++)
            w[g] = i < 16 ? r.layer.group[g].query : r.layer.group[g].key;
        for (int d = 0; d < 8; d++) {
            double first = oa_real_read(r.device, w[0]->value, i / 4 % 4 * 8 + d);
            sum += first * oa_real_read(r.device, w[1]->value, i % 4 * 8 + d);
            square += first * first;
        }
        assert_true(fabs(sum) < 1e-14);
        assert_true(fabs(square - 1) < 1e-14);
    }
    oa_single_layer_close(&r);
}

/* The value of a parameter of layer 0 or 1 of a model of two layers. */
static void frozen_value(const char *text, const char *name, double out[2])
{
    struct oa_spec spec;
    struct oa_device *device;
    struct oa_store store;
    struct oa_layer layer[2];
    struct oa_layer_shape shape = {
        .width = 8, .heads = 2, .head_width = 4, .value_width = 4, .length = 7
    };
    assert_int_equal(oa_spec_parse(context, text, &spec), OA_OK);
    assert_int_equal(oa_device_open(context, OA_PRECISION_F64, false, &device), OA_OK);
    oa_store_init(&store, device);
    for (int l = 0; l < 2; l++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "decoder.layers.%d.attention.", l);
        assert_int_equal(oa_layer_open(context, &spec, l, &shape, &store, prefix, &layer[l]),
                         OA_OK);
    }
    assert_int_equal(oa_store_allocate(&store, 1, true), OA_OK);
    for (int l = 0; l < 2; l++) {
        char full[128];
        snprintf(full, sizeof full, "decoder.layers.%d.attention.%s", l, name);
        const struct oa_parameter *p = oa_store_find(&store, full);
        assert_non_null(p);
        assert_false(p->trainable);
        out[l] = oa_real_read(device, p->value, 0);
        oa_layer_close(&layer[l]);
    }
    oa_store_free(&store);
    oa_device_close(device);
    oa_spec_free(&spec);
}

enum { NAME = 160 };

/* Names of relative.bias of two layers, "" if a layer has none. */
static void bias_names(const char *text, char name[2][NAME])
{
    struct oa_spec spec;
    struct oa_single_layer r;
    struct oa_layer second;
    struct oa_layer_shape shape = oa_equal_heads_shape(8, 2, 7);
    assert_int_equal(oa_spec_parse(context, text, &spec), OA_OK);
    assert_int_equal(oa_single_layer_open(context, text, OA_PRECISION_F64, true, &r), OA_OK);
    assert_int_equal(
        oa_layer_open(context, &spec, 0, &shape, &r.store, "decoder.layers.0.attention.", &r.layer),
        OA_OK);
    enum oa_error e =
        oa_layer_open(context, &spec, 1, &shape, &r.store, "decoder.layers.1.attention.", &second);
    snprintf(name[0], NAME, "%s", r.layer.group[0].relative->name);
    snprintf(name[1], NAME, "%s", e == OA_OK ? second.group[0].relative->name : "");
    oa_clear_error(context);
    oa_layer_close(&second);
    oa_single_layer_close(&r);
    oa_spec_free(&spec);
}

static void layers_share_a_bias(void **state)
{
    (void)state;
    char name[2][NAME];
    bias_names("softmax(relative=t5)", name);
    assert_string_equal(name[0], "decoder.layers.0.attention.relative.bias");
    assert_string_equal(name[1], "decoder.layers.1.attention.relative.bias");
    bias_names("softmax(relative=t5, share=layers)", name);
    assert_string_equal(name[0], "decoder.layers.0.attention.relative.bias");
    assert_string_equal(name[1], name[0]);
    bias_names("mix(random, softmax, relative=t5, share=layers)", name);
    assert_string_equal(name[1], name[0]);
    bias_names("softmax(relative=t5, share=layers) ; local(relative=t5, buckets=8, share=layers)",
               name);
    assert_string_equal(name[1], "");
}

static void share_layers_shares_parameters(void **state)
{
    (void)state;
    double value[2], alternating[2];
    frozen_value("orthogonal", "query.weight", value);
    assert_true(value[0] != value[1]);
    frozen_value("orthogonal(share=layers)", "query.weight", value);
    assert_true(value[0] == value[1]);
    frozen_value("orthogonal(share=layers) ; linear(qk=haar, share=layers)", "query.weight",
                 alternating);
    assert_true(alternating[0] == value[0] && alternating[1] == value[0]);
}

/* ---- cost ---- */

/* The counting device must agree with the formulas, up to elementwise work. */
static void expect_formula_flops(const char *text, bool causal)
{
    struct oa_single_layer r;
    struct oa_layer_shape shape = oa_equal_heads_shape(64, 4, 256);
    shape.causal = causal;
    assert_int_equal(oa_single_layer_dry(context, text, &shape, &r), OA_OK);
    oa_tape_reset(&r.tape, false, false, oa_stream_named(1, ""));
    r.device->flops = 0;
    struct oa_layer_input in = { .batch = 1, .queries = 256, .keys = 256 };
    in.x = oa_tensor_new(&r.tape, 256, 64);
    assert_non_null(oa_layer_forward(&r.tape, &r.layer, &in));
    double ratio = r.device->flops / oa_layer_flops(&r.layer, 256, 256);
    if (!(ratio > 0.9 && ratio < 1.15))
        fail_msg("%s: the plan counts %.3g times the FLOPs of the formula", text, ratio);
    oa_single_layer_close(&r);
}

static void formula_flops_match_counted_flops(void **state)
{
    (void)state;
    static const char *const texts[] = { "softmax",
                                         "softmax(relative=alibi)",
                                         "mix(random, softmax, relative=t5)",
                                         "orthogonal(tie)",
                                         "dense",
                                         "random",
                                         "factorized-dense",
                                         "factorized-random",
                                         "factorized-random + softmax",
                                         "linear",
                                         "random + softmax",
                                         "local(window=8)",
                                         "dense:2 | linear:2",
                                         "gaussian",
                                         "lightconv(glu)",
                                         "dynamicconv(width=31)",
                                         "cosformer",
                                         "polynomial",
                                         "taylor",
                                         "polysketch",
                                         "performer(kernel=trig)",
                                         "sparse",
                                         "longformer(window=16, global=8)",
                                         "block-sparse(block=16)",
                                         "bigbird(block=16)",
                                         "linformer",
                                         "mixer",
                                         "mixer(value)" };
    static const char *const causal[] = { "softmax(forget, gate=channel)",
                                          "softmax(kv=2, gate=head)" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        expect_formula_flops(texts[i], false);
    for (size_t i = 0; i < sizeof causal / sizeof causal[0]; i++)
        expect_formula_flops(causal[i], true);
}

/* ---- errors ---- */

static void assert_refused(struct oa_setup setup, const char *part)
{
    struct oa_attention_case a;
    const char *sentence;
    assert_int_not_equal(oa_case_open(context, &setup, &a), OA_OK);
    oa_case_close(&a);
    oa_last_error(context, &sentence);
    if (!strstr(sentence, part))
        fail_msg("\"%s\" is not in: %s", part, sentence);
    oa_clear_error(context);
}

static void invalid_attentions_are_rejected(void **state)
{
    (void)state;
    assert_refused((struct oa_setup){ .spec = "pattern(next)", .mode = OA_MODE_CAUSAL },
                   "look ahead and have no causal form");
    assert_refused((struct oa_setup){ .spec = "pattern(unit=word)", .mode = OA_MODE_CAUSAL },
                   "pattern(unit=word) has no causal form");
    assert_refused(
        (struct oa_setup){ .spec = "softmax:1 | pattern(end):1", .mode = OA_MODE_CAUSAL },
        "no causal form");
    assert_refused((struct oa_setup){ .spec = "pattern", .mode = OA_MODE_CROSS },
                   "pattern is for self-attention only");
    assert_refused((struct oa_setup){ .spec = "local", .mode = OA_MODE_CROSS },
                   "local is for self-attention only");
    assert_refused((struct oa_setup){ .spec = "cosformer(length=6)", .mode = OA_MODE_BOTH },
                   "at least 7");
    assert_refused((struct oa_setup){ .spec = "polynomial(degree=3)", .mode = OA_MODE_CAUSAL },
                   "must be even");
    assert_refused(
        (struct oa_setup){ .spec = "performer(draw=iid, ensemble=givens)", .mode = OA_MODE_CAUSAL },
        "draw=iid has none");
    assert_refused((struct oa_setup){ .spec = "performer(smreg, iid)", .mode = OA_MODE_CAUSAL },
                   "draw=iid is favor+");
    assert_refused((struct oa_setup){ .spec = "block-sparse(from=local)", .mode = OA_MODE_CROSS },
                   "give a layout=FILE");
    assert_refused((struct oa_setup){ .spec = "block-sparse(layout=a, from=local)" },
                   "give one of them");
    assert_refused((struct oa_setup){ .spec = "sparse(summary=2)" }, "summary belongs to fixed");
    assert_refused((struct oa_setup){ .spec = "bigbird(window=2)" }, "use 1 or 3");
    assert_refused((struct oa_setup){ .spec = "softmax:3", .mode = OA_MODE_BOTH, .heads = 2 },
                   "2 heads do not fit");
    assert_refused(
        (struct oa_setup){
            .spec = "orthogonal(qk=block)", .mode = OA_MODE_BOTH, .width = 10, .heads = 3 },
        "that divides the model width 10");
    assert_refused(
        (struct oa_setup){ .spec = "dense", .mode = OA_MODE_BOTH, .width = 10, .heads = 3 },
        "10 does not divide by 3");
    assert_refused((struct oa_setup){ .spec = "linformer", .mode = OA_MODE_CAUSAL },
                   "linformer has no causal form");
    assert_refused(
        (struct oa_setup){ .spec = "mixer", .mode = OA_MODE_BOTH, .width = 10, .heads = 3 },
        "3 heads of 3 channels do not make 10");
    assert_refused((struct oa_setup){ .spec = "mixer", .mode = OA_MODE_CROSS },
                   "mixer is for self-attention only");
    assert_refused((struct oa_setup){ .spec = "lightconv", .mode = OA_MODE_CROSS },
                   "is for self-attention only");
    assert_refused((struct oa_setup){ .spec = "dynamicconv(width=4)", .mode = OA_MODE_BOTH },
                   "use 3 or 5");
    assert_refused((struct oa_setup){ .spec = "factorized-dense(a=2)", .mode = OA_MODE_BOTH },
                   "a = 2 times b = 3 is 6, but must be the longest length N = 7");
    assert_refused((struct oa_setup){ .spec = "factorized-dense(b=99)", .mode = OA_MODE_BOTH },
                   "a = 1 times b = 99 is 99, but must be the longest length N = 7");
    assert_refused(
        (struct oa_setup){
            .spec = "factorized-dense", .mode = OA_MODE_CAUSAL, .width = 10, .heads = 3 },
        "10 does not divide by 3");
    assert_refused(
        (struct oa_setup){
            .spec = "orthogonal(qk=slice)", .mode = OA_MODE_BOTH, .width = 10, .heads = 3 },
        "have 9 columns");
    assert_refused(
        (struct oa_setup){ .spec = "softmax", .mode = OA_MODE_BOTH, .width = 2, .heads = 3 },
        "at least 1");
    struct oa_layer_shape both = { 8, 2, 4, 4, .length = 7, .causal = true, .cross = true };
    struct oa_spec spec;
    struct oa_layer layer;
    assert_int_equal(oa_spec_parse(context, "softmax", &spec), OA_OK);
    assert_int_equal(oa_layer_open(context, &spec, 0, &both, NULL, "", &layer), OA_ARGUMENT);
    oa_clear_error(context);
    oa_spec_free(&spec);
}

/* A mechanism is rejected in modes that it does not claim. */
static void every_mechanism_has_its_table_entries(void **state)
{
    (void)state;
    const struct oa_mechanism *m;
    for (int i = 0; (m = oa_mechanism_at(i)); i++) {
        assert_ptr_equal(oa_mechanism_find(m->name), m);
        assert_true(m->title && m->citation && m->formula && m->cost && m->state && m->arguments);
        assert_true(m->forward && m->flops);
        assert_true(!(m->can & OA_CAN_MIX) || (m->part && m->scores));
        assert_true(!(m->can & OA_HAS_WEIGHTS) == !m->weights);
        if (m->can & OA_BOUND_LENGTH && !m->length)
            fail_msg("%s is bound to N: add .length, which reads N off the stored tables "
                     "(docs/adding-a-mechanism.md)",
                     m->name);
        if (strcmp(m->name, "mix") == 0)
            continue;
        if (!(m->can & OA_CAN_CROSS))
            assert_refused((struct oa_setup){ .spec = m->name, .mode = OA_MODE_CROSS },
                           "self-attention only");
        if (!(m->can & OA_CAN_CAUSAL))
            assert_refused((struct oa_setup){ .spec = m->name, .mode = OA_MODE_CAUSAL },
                           "no causal form");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mechanism_has_its_table_entries),
        cmocka_unit_test(verify_passes_with_the_expected_number_of_checks),
        cmocka_unit_test(every_attention_runs),
        cmocka_unit_test(every_false_claim_is_found),
        cmocka_unit_test(a_false_claim_is_reported_by_name),
        cmocka_unit_test(tables_of_length_n_are_detected_without_the_claim),
        cmocka_unit_test(projections_are_checked_only_where_drawn),
        cmocka_unit_test(notes_name_options_without_effect),
        cmocka_unit_test(sequences_longer_than_n_are_rejected),
        cmocka_unit_test(supports_over_many_tiles),
        cmocka_unit_test(parts_over_many_tiles),
        cmocka_unit_test(long_sequences),
        cmocka_unit_test(projections_learn_from_drawn_values),
        cmocka_unit_test(groups_slice_one_matrix),
        cmocka_unit_test(share_layers_shares_parameters),
        cmocka_unit_test(layers_share_a_bias),
        cmocka_unit_test(formula_flops_match_counted_flops),
        cmocka_unit_test(invalid_attentions_are_rejected),
    };
    return cmocka_run_group_tests(tests, open_contexts, close_contexts);
}
