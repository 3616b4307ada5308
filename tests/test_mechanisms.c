/* SPDX-License-Identifier: Apache-2.0
 * Every mechanism of the registry: the proof that a user can run, with more variants; engines over many tiles and
 * chunks; what must be refused; that plans agree with formulas. */
#include "testing.h"

#include "verify/verify.h"

#include <stdlib.h>
#include <string.h>

static oa_context *context;

static int open_context(void **state)
{
    (void)state;
    context = oa_open(&(struct oa_settings){ .threads = 2 });
    return context ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    oa_close(context);
    return 0;
}

/* ---- proofs ---- */

/* Sanitizers make the program slow. ORTHANT_QUICK=threads: nothing counts but what several threads do. */
static bool quick(void)
{
    return getenv("ORTHANT_QUICK") != NULL;
}

static bool only_threads(void)
{
    return quick() && strcmp(getenv("ORTHANT_QUICK"), "threads") == 0;
}

static void assert_holds(const struct oa_proof *p)
{
    for (int i = 0; i < p->failures; i++)
        print_error("%s, %s, %s: %s: %g, bound %g\n", p->failure[i].spec, p->failure[i].mode, p->failure[i].precision,
                    p->failure[i].what, p->failure[i].error, p->failure[i].bound);
    assert_int_equal(oa_status(context), OA_OK);
    assert_int_equal(p->failures, 0);
}

/* The subject of that name over the registry, at least `checks` of them. */
static void prove(const char *subject, long checks)
{
    struct oa_proof p;
    oa_proof_make(context, NULL, quick(), subject, &p);
    assert_holds(&p);
    assert_true(p.checks >= (quick() ? checks / 4 : checks));
    oa_proof_free(&p);
}

/* What a user can prove as well (`orthant verify`). The numbers are far below those of today and far above 0. The
 * subjects that are marked run every loop of an attention that several threads share; the others run the same again. */
static void what_the_user_can_prove(void **state)
{
    static const struct {
        const char *subject;
        long checks;
        bool threads;
    } subjects[] = { { "gradients", 3000, true }, { "causality", 1000, false }, { "padding", 3000, false },
                     { "batches", 400, false },   { "oracles", 3000, false },   { "decoding", 3000, true },
                     { "lengths", 300, false },   { "order", 200, false },      { "threads", 1000, true },
                     { "identities", 60, false }, { "counts", 100, false },     { "features", 15, false },
                     { "fits", 80, false },       { "projections", 30, false }, { "estimates", 10, false } };
    (void)state;
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++)
        if (subjects[i].threads || !only_threads())
            prove(subjects[i].subject, subjects[i].checks);
}

/* One attention: properties of a case that is given. */
static struct oa_proof of_cases(void)
{
    return (struct oa_proof){ .context = context, .subject = "cases", .quick = true };
}

static void open_case(const char *text, enum oa_mode mode, struct oa_setup setup, struct oa_case *a)
{
    setup.spec = text;
    setup.mode = mode;
    assert_int_equal(oa_case_open(context, &setup, a), OA_OK);
}

/* Forward and backward in any case; judged by loops of one thread. */
static void prove_case(struct oa_proof *p, struct oa_case *a)
{
    if (only_threads()) {
        assert_int_equal(oa_case_run(a), OA_OK);
        return;
    }
    oa_gradients_are_differences(p, a);
    oa_outputs_are_the_map_of_values(p, a);
}

#define F64 .precision = OA_PRECISION_F64

static void too_long_is_refused(void **state)
{
    (void)state;
    static const char *const bound[] = { "dense",     "random", "factorized-dense", "factorized-random",
                                         "linformer", "mixer",  "random + softmax", "softmax:1 | dense:1" };
    for (size_t i = 0; i < sizeof bound / sizeof bound[0]; i++) {
        struct oa_case a;
        const char *sentence;
        open_case(bound[i], OA_MODE_BOTH, (struct oa_setup){ F64, .queries = 8, .length = 7 }, &a);
        assert_int_equal(oa_case_run(&a), OA_SHAPE);
        oa_last_error(context, &sentence);
        assert_non_null(strstr(sentence, "8 tokens is longer than the tables"));
        oa_clear_error(context);
        oa_case_close(&a);
    }
}

/* Supports over many tiles: ranges and tiles that are skipped must lose no pair. */
static void supports_over_many_tiles(void **state)
{
    (void)state;
    struct oa_proof p = of_cases();
    static const char *const texts[] = { "softmax",
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
                                         "polynomial", /* by features when there are so many pairs */
                                         "polynomial(bias=0.5)" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (int mode = OA_MODE_BOTH; mode <= OA_MODE_CAUSAL; mode++) {
            struct oa_case a;
            struct oa_setup setup = { F64, .padding = true, .queries = 200, .length = 200 };
            open_case(texts[i], (enum oa_mode)mode, setup, &a);
            prove_case(&p, &a);
            oa_case_close(&a);
        }
    }
    assert_holds(&p);
    oa_proof_free(&p);
}

/* Given logits and folds over many tiles, one map for the batch (no padding) and one for each item; 600 keys are two
 * items of the shared map's backward pass. */
static void parts_over_many_tiles(void **state)
{
    (void)state;
    struct oa_proof p = of_cases();
    static const char *const texts[] = { "factorized-random(rank=3)", "factorized-dense(a=20)",
                                         "mix(factorized-random(rank=3), random)",
                                         "mix(factorized-random(rank=3), factorized-dense(b=50), alpha=sigmoid)" };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (int variant = 0; variant < 3; variant++) {
            struct oa_case a;
            long n = variant == 2 ? 600 : 200;
            struct oa_setup setup = { F64, .padding = variant == 0, .queries = n, .length = n };
            open_case(texts[i], variant ? OA_MODE_CAUSAL : OA_MODE_BOTH, setup, &a);
            prove_case(&p, &a);
            oa_case_close(&a);
        }
    }
    assert_holds(&p);
    oa_proof_free(&p);
}

/* Several chunks of the engines, with keys whose logarithmic features drift over hundreds: row i must neither lose its
 * keys to a larger one that comes later nor depend on it. */
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
            struct oa_case a;
            struct oa_setup setup = { F64, .padding = true, .queries = 150, .keys = 140, .length = 150 };
            open_case(texts[i], (enum oa_mode)mode, setup, &a);
            for (long t = 0; t < a.T * a.D; t++)
                a.x[t] *= 1 + 6 * (double)t / (double)(a.T * a.D);
            prove_case(&p, &a);
            if (mode == OA_MODE_CAUSAL)
                oa_later_tokens_change_nothing(&p, &a);
            oa_case_close(&a);
        }
    }
    assert_holds(&p);
    oa_proof_free(&p);
}

/* ---- frozen projections
 * ----------------------------------------------------------------------------------------------- */

/* The value of a parameter of layer 0 or 1 of a model of two layers. */
static void frozen_value(const char *text, const char *name, double out[2])
{
    struct oa_spec spec;
    struct oa_device *device;
    struct oa_store store;
    struct oa_layer layer[2];
    struct oa_layer_shape shape = { .width = 8, .heads = 2, .head_width = 4, .value_width = 4, .length = 7 };
    assert_int_equal(oa_spec_parse(context, text, &spec), OA_OK);
    assert_int_equal(oa_device_open(context, OA_PRECISION_F64, false, &device), OA_OK);
    oa_store_init(&store, device);
    for (int l = 0; l < 2; l++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "decoder.layers.%d.attention.", l);
        assert_int_equal(oa_layer_open(context, &spec, l, &shape, &store, prefix, &layer[l]), OA_OK);
    }
    assert_int_equal(oa_store_allocate(&store, 1, true), OA_OK);
    for (int l = 0; l < 2; l++) {
        char full[128];
        snprintf(full, sizeof full, "decoder.layers.%d.attention.%s", l, name);
        const struct oa_parameter *p = oa_store_find(&store, full);
        assert_non_null(p);
        assert_false(p->trainable);
        out[l] = *(const double *)p->value;
        oa_layer_close(&layer[l]);
    }
    oa_store_free(&store);
    oa_device_close(device);
    oa_spec_free(&spec);
}

static void layers_share_when_asked(void **state)
{
    (void)state;
    double value[2], alternating[2];
    frozen_value("orthogonal", "query.weight", value);
    assert_true(value[0] != value[1]);
    frozen_value("orthogonal(share=layers)", "query.weight", value);
    assert_true(value[0] == value[1]);
    frozen_value("orthogonal(share=layers) ; linear(qk=haar, share=layers)", "query.weight", alternating);
    assert_true(alternating[0] == value[0] && alternating[1] == value[0]);
}

/* ---- cost
 * ------------------------------------------------------------------------------------------------------------- */

/* The counting device must agree with the formulas, up to elementwise work. */
static void flops_agree_with_the_plan(void **state)
{
    (void)state;
    static const char *const texts[] = { "softmax",
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
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct oa_spec spec;
        struct oa_device *device;
        struct oa_store store;
        struct oa_layer layer;
        oa_tape tape;
        struct oa_layer_shape shape = { 64, 4, 16, 16, .length = 256 };
        assert_int_equal(oa_spec_parse(context, texts[i], &spec), OA_OK);
        assert_int_equal(oa_device_open(context, OA_PRECISION_F32, true, &device), OA_OK);
        oa_store_init(&store, device);
        oa_tape_init(&tape, device);
        assert_int_equal(oa_layer_open(context, &spec, 0, &shape, &store, "", &layer), OA_OK);
        assert_int_equal(oa_store_allocate(&store, 1, false), OA_OK);
        oa_tape_reset(&tape, false, false, oa_stream_named(1, ""));
        device->flops = 0;
        struct oa_layer_input in = { .batch = 1, .queries = 256, .keys = 256 };
        in.x = oa_tensor_new(&tape, 256, 64);
        assert_non_null(oa_layer_forward(&tape, &layer, &in));
        double ratio = device->flops / oa_layer_flops(&layer, 256, 256);
        if (!(ratio > 0.9 && ratio < 1.15))
            fail_msg("%s: the plan counts %.3g times the FLOPs of the formula", texts[i], ratio);
        oa_layer_close(&layer);
        oa_tape_free(&tape);
        oa_store_free(&store);
        oa_device_close(device);
        oa_spec_free(&spec);
    }
}

/* ---- refused
 * ---------------------------------------------------------------------------------------------------------- */

static void assert_refused(struct oa_setup setup, const char *part)
{
    struct oa_case a;
    const char *sentence;
    assert_int_not_equal(oa_case_open(context, &setup, &a), OA_OK);
    oa_case_close(&a);
    oa_last_error(context, &sentence);
    if (!strstr(sentence, part))
        fail_msg("\"%s\" is not in: %s", part, sentence);
    oa_clear_error(context);
}

static void what_cannot_be_right_is_refused(void **state)
{
    (void)state;
    assert_refused((struct oa_setup){ .spec = "pattern(next)", .mode = OA_MODE_CAUSAL },
                   "look ahead and have no causal form");
    assert_refused((struct oa_setup){ .spec = "pattern(unit=word)", .mode = OA_MODE_CAUSAL },
                   "pattern(unit=word) has no causal form");
    assert_refused((struct oa_setup){ .spec = "softmax:1 | pattern(end):1", .mode = OA_MODE_CAUSAL }, "no causal form");
    assert_refused((struct oa_setup){ .spec = "pattern", .mode = OA_MODE_CROSS }, "pattern is for self-attention only");
    assert_refused((struct oa_setup){ .spec = "local", .mode = OA_MODE_CROSS }, "local is for self-attention only");
    assert_refused((struct oa_setup){ .spec = "cosformer(length=6)", .mode = OA_MODE_BOTH }, "at least 7");
    assert_refused((struct oa_setup){ .spec = "polynomial(degree=3)", .mode = OA_MODE_CAUSAL }, "must be even");
    assert_refused((struct oa_setup){ .spec = "performer(draw=iid, ensemble=givens)", .mode = OA_MODE_CAUSAL },
                   "draw=iid has none");
    assert_refused((struct oa_setup){ .spec = "performer(smreg, iid)", .mode = OA_MODE_CAUSAL }, "draw=iid is favor+");
    assert_refused((struct oa_setup){ .spec = "block-sparse(from=local)", .mode = OA_MODE_CROSS },
                   "give a layout=FILE");
    assert_refused((struct oa_setup){ .spec = "block-sparse(layout=a, from=local)" }, "give one of them");
    assert_refused((struct oa_setup){ .spec = "sparse(summary=2)" }, "summary belongs to fixed");
    assert_refused((struct oa_setup){ .spec = "bigbird(window=2)" }, "give 1 or 3");
    assert_refused((struct oa_setup){ .spec = "softmax:3", .mode = OA_MODE_BOTH, .heads = 2 }, "2 heads do not fit");
    assert_refused((struct oa_setup){ .spec = "orthogonal(qk=block)", .mode = OA_MODE_BOTH, .width = 10, .heads = 3 },
                   "does not divide the model width 10");
    assert_refused((struct oa_setup){ .spec = "dense", .mode = OA_MODE_BOTH, .width = 10, .heads = 3 },
                   "10 does not divide by 3");
    assert_refused((struct oa_setup){ .spec = "linformer", .mode = OA_MODE_CAUSAL }, "linformer has no causal form");
    assert_refused((struct oa_setup){ .spec = "mixer", .mode = OA_MODE_BOTH, .width = 10, .heads = 3 },
                   "3 heads of 3 channels do not make 10");
    assert_refused((struct oa_setup){ .spec = "mixer", .mode = OA_MODE_CROSS }, "mixer is for self-attention only");
    assert_refused((struct oa_setup){ .spec = "lightconv", .mode = OA_MODE_CROSS }, "is for self-attention only");
    assert_refused((struct oa_setup){ .spec = "dynamicconv(width=4)", .mode = OA_MODE_BOTH },
                   "their number must be odd; take 3 or 5");
    assert_refused((struct oa_setup){ .spec = "factorized-dense(a=2)", .mode = OA_MODE_BOTH },
                   "a = 2 times b = 3 is 6, but must be the longest length N = 7");
    assert_refused((struct oa_setup){ .spec = "factorized-dense(b=99)", .mode = OA_MODE_BOTH },
                   "a = 1 times b = 99 is 99, but must be the longest length N = 7");
    assert_refused((struct oa_setup){ .spec = "factorized-dense", .mode = OA_MODE_CAUSAL, .width = 10, .heads = 3 },
                   "10 does not divide by 3");
    assert_refused((struct oa_setup){ .spec = "orthogonal(qk=slice)", .mode = OA_MODE_BOTH, .width = 10, .heads = 3 },
                   "make 9");
    assert_refused((struct oa_setup){ .spec = "softmax", .mode = OA_MODE_BOTH, .width = 2, .heads = 3 }, "at least 1");
    struct oa_layer_shape both = { 8, 2, 4, 4, .length = 7, .causal = true, .cross = true };
    struct oa_spec spec;
    struct oa_layer layer;
    assert_int_equal(oa_spec_parse(context, "softmax", &spec), OA_OK);
    assert_int_equal(oa_layer_open(context, &spec, 0, &both, NULL, "", &layer), OA_ARGUMENT);
    oa_clear_error(context);
    oa_spec_free(&spec);
}

/* A mechanism that does not claim a mode is refused there; the registry says why it exists. */
static void the_registry_is_complete(void **state)
{
    (void)state;
    const struct oa_mechanism *m;
    for (int i = 0; (m = oa_mechanism_at(i)); i++) {
        assert_ptr_equal(oa_mechanism_find(m->name), m);
        assert_true(m->title && m->citation && m->formula && m->cost && m->state && m->arguments);
        assert_true(m->forward && m->flops);
        assert_true(!(m->can & OA_CAN_MIX) || (m->part && m->scores));
        assert_true(!(m->can & OA_HAS_WEIGHTS) == !m->weights);
        assert_true(!(m->can & OA_BOUND_LENGTH) || m->length);
        if (strcmp(m->name, "mix") == 0)
            continue;
        if (!(m->can & OA_CAN_CROSS))
            assert_refused((struct oa_setup){ .spec = m->name, .mode = OA_MODE_CROSS }, "self-attention only");
        if (!(m->can & OA_CAN_CAUSAL))
            assert_refused((struct oa_setup){ .spec = m->name, .mode = OA_MODE_CAUSAL }, "no causal form");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_registry_is_complete),
        cmocka_unit_test(what_the_user_can_prove),
        cmocka_unit_test(too_long_is_refused),
        cmocka_unit_test(supports_over_many_tiles),
        cmocka_unit_test(parts_over_many_tiles),
        cmocka_unit_test(long_sequences),
        cmocka_unit_test(layers_share_when_asked),
        cmocka_unit_test(flops_agree_with_the_plan),
        cmocka_unit_test(what_cannot_be_right_is_refused),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
