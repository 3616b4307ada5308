/* SPDX-License-Identifier: Apache-2.0
 * Dropout at its three places (embedding, residual branch, attention weights): what is kept is
 * scaled by 1/keep, the share that is dropped is within what chance allows, and masks are another
 * one for each site, layer, micro-batch and step, but the same again for the same. Evaluation has
 * none. */
#include "testing.h"

#include "train/train.h"

#include <math.h>
#include <string.h>

enum { ROWS = 96, COLS = 50, CELLS = ROWS * COLS, SITES = 6 };

struct fixture {
    oa_context *c;
    struct oa_device *d;
    struct oa_store store;
    struct oa_parameter *table, *gain;
    oa_tape tape;
    double ones[CELLS], zeros[CELLS];
    int32_t ids[ROWS];
};

static int open_fixture(void **state)
{
    static struct fixture f;
    memset(&f, 0, sizeof f);
    f.c = oa_open(&(struct oa_settings){ .threads = 2 });
    assert_int_equal(oa_device_open(f.c, OA_PRECISION_F64, false, &f.d), OA_OK);
    oa_store_init(&f.store, f.d);
    oa_tape_init(&f.tape, f.d);
    struct oa_parameter p = { .name = "table", .dims = 2, .dim = { 3, COLS }, .init = OA_INIT_ONE };
    struct oa_parameter gain = { .name = "gain", .dims = 1, .dim = { COLS }, .init = OA_INIT_ONE };
    f.table = oa_store_add(&f.store, &p);
    f.gain = oa_store_add(&f.store, &gain);
    assert_int_equal(oa_store_allocate(&f.store, 1, true), OA_OK);
    for (int i = 0; i < CELLS; i++)
        f.ones[i] = 1;
    *state = &f;
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(oa_status(f->c), OA_OK);
    oa_tape_free(&f->tape);
    oa_store_free(&f->store);
    oa_device_close(f->d);
    oa_close(f->c);
    return 0;
}

/* ---- one value a cell, 1 before dropout ---- */

typedef const double *place(struct fixture *f, double p);

static const double *embedding(struct fixture *f, double p)
{
    return oa_embed(&f->tape, f->ids, NULL, ROWS, 12, 0,
                    &(struct oa_embedding_tables){ .table = f->table, .factor = 1 }, p)
        ->data;
}

static const double *branch(struct fixture *f, double p)
{
    oa_tensor *zeros = oa_tensor_from(&f->tape, f->zeros, ROWS, COLS, COLS, false), *sum;
    oa_tensor *ones = oa_tensor_from(&f->tape, f->ones, ROWS, COLS, COLS, false);
    oa_residual_norm_op(&f->tape, zeros, ones, p, 1,
                        &(struct oa_norm){ .gain = f->gain, .epsilon = 1e-5 }, &sum);
    return sum->data;
}

/* Two sequences of 48 queries, two heads, 25 keys: logits are 0, so each weight is 1/25; the values
 * of key j of a head are 25 in channel j alone, and a row of the output is the weights of its query
 * times 25. */
static const double *weights(struct fixture *f, double p)
{
    enum { B = 2, H = 2, T = ROWS / B, S = COLS / H };
    double *values = oa_tape_take(&f->tape, (size_t)(B * S * COLS) * sizeof *values);
    memset(values, 0, (size_t)(B * S * COLS) * sizeof *values);
    for (int i = 0; i < B * S; i++)
        for (int h = 0; h < H; h++)
            values[i * COLS + h * S + i % S] = S;
    struct oa_attention_shape shape = {
        .batch = B, .queries = T, .keys = S, .heads = H, .value_width = S
    };
    struct oa_part_tensors part = { .kind = OA_PART_DOT, .scale = 1, .width = S };
    part.q = oa_tensor_from(&f->tape, f->zeros, ROWS, COLS, COLS, false);
    part.k = oa_tensor_from(&f->tape, f->zeros, (long)B * S, COLS, COLS, false);
    oa_tensor *v = oa_tensor_from(&f->tape, values, (long)B * S, COLS, COLS, false);
    oa_tensor *o = oa_tensor_new(&f->tape, ROWS, COLS);
    oa_logits_op(&f->tape, &shape, NULL, 1, &part, NULL, NULL, v, p, o);
    return o->data;
}

static place *const places[] = { embedding, branch, weights };
enum { PLACES = sizeof places / sizeof *places };

/* ---- masks ---- */

static void begin(struct fixture *f, bool train, uint64_t seed, uint64_t step)
{
    oa_tape_reset(&f->tape, false, train, oa_stream_child(oa_stream_named(seed, "dropout"), step));
}

/* kept[i]: is cell i kept? Checks that what is kept has the value 1/keep. */
static int make_mask(struct fixture *f, place *where, double p, bool kept[CELLS])
{
    const double *y = where(f, p);
    int count = 0;
    for (int i = 0; i < CELLS; i++) {
        kept[i] = y[i] != 0;
        if (kept[i] && !(fabs(y[i] * (1 - p) - 1) < 1e-12))
            fail_msg("a cell that is kept became %.15g, expected %.15g", y[i], 1 / (1 - p));
        count += kept[i];
    }
    return count;
}

/* Six deviations of the binomial law: one in 5e8 draws is farther off. */
static void assert_share(int count, double share)
{
    double deviation = sqrt(CELLS * share * (1 - share));
    if (!(fabs(count - CELLS * share) < 6 * deviation))
        fail_msg("%d of %d cells; chance makes it %.0f ± %.0f", count, CELLS, CELLS * share,
                 deviation);
}

static void rows_have_masks_of_their_own(void **state)
{
    bool kept[CELLS];
    for (int w = 0; w < PLACES; w++) {
        begin(*state, true, 1, 1);
        make_mask(*state, places[w], 0.5, kept);
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < i; j++)
                assert_memory_not_equal(kept + i * COLS, kept + j * COLS, COLS);
    }
}

static void dropout_keeps_rate_and_mean(void **state)
{
    static const double rates[] = { 0.05, 0.3, 0.5, 0.9 };
    bool kept[CELLS];
    for (int w = 0; w < PLACES; w++)
        for (int i = 0; i < 4; i++) {
            begin(*state, true, 1, 1);
            assert_share(make_mask(*state, places[w], rates[i], kept), 1 - rates[i]);
        }
}

static void no_dropout_changes_nothing(void **state)
{
    bool kept[CELLS];
    for (int w = 0; w < PLACES; w++) {
        begin(*state, true, 1, 1);
        assert_int_equal(make_mask(*state, places[w], 0, kept), CELLS);
        begin(*state, false, 1, 1);
        const double *y = places[w](*state, 0.5);
        for (int i = 0; i < CELLS; i++)
            assert_true(fabs(y[i] - 1) < 1e-12);
    }
}

/* Cells in which two masks that have nothing to do with each other agree, at p = 0.5: half of them.
 */
static void assert_unrelated(const bool *a, const bool *b)
{
    int same = 0;
    for (int i = 0; i < CELLS; i++)
        same += a[i] == b[i];
    assert_share(same, 0.5);
}

static void every_site_has_its_own_mask(void **state)
{
    static bool kept[SITES][CELLS];
    begin(*state, true, 1, 1);
    for (int i = 0; i < SITES; i++)
        make_mask(*state, places[i % PLACES], 0.5, kept[i]);
    for (int i = 0; i < SITES; i++)
        for (int k = 0; k < i; k++)
            assert_unrelated(kept[i], kept[k]);
}

static void masks_are_a_function_of_seed_and_step(void **state)
{
    static bool first[CELLS], again[CELLS], step[CELLS], seed[CELLS];
    for (int w = 0; w < PLACES; w++) {
        begin(*state, true, 1, 1);
        make_mask(*state, places[w], 0.5, first);
        begin(*state, true, 1, 2);
        make_mask(*state, places[w], 0.5, step);
        begin(*state, true, 2, 1);
        make_mask(*state, places[w], 0.5, seed);
        begin(*state, true, 1, 1);
        make_mask(*state, places[w], 0.5, again);
        assert_memory_equal(first, again, sizeof first);
        assert_unrelated(first, step);
        assert_unrelated(first, seed);
    }
}

/* Rows and columns of a mask are unrelated too: a mask is not one line repeated. */
static void rows_of_a_mask_differ(void **state)
{
    static bool kept[CELLS], shifted[CELLS];
    static const int shifts[] = { 1, 2, 4, COLS / 2, COLS, 12 * COLS, CELLS / 2 };
    for (int w = 0; w < PLACES; w++) {
        begin(*state, true, 1, 1);
        make_mask(*state, places[w], 0.5, kept);
        for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++) {
            for (int k = 0; k < CELLS; k++)
                shifted[k] = kept[(k + shifts[i]) % CELLS];
            assert_unrelated(kept, shifted);
        }
    }
}

/* ---- a model ---- */

static double loss(struct fixture *f, struct oa_model *m, bool train, uint64_t step)
{
    static const int32_t tokens[] = { 1, 4, 2, 0, 3, 3, 1, 2 },
                         targets[] = { 4, 2, 0, 3, 3, 1, 2, 4 };
    struct oa_batch batch = { .rows = 2, .length = 4, .input = tokens, .target = targets };
    begin(f, train, 1, step);
    return oa_model_loss(&f->tape, m, &batch, 1);
}

/* Evaluation is that of the same model without the options; in training either option changes the
 * loss, and another step changes it again. */
static void evaluation_ignores_dropout(void **state)
{
    struct fixture *f = *state;
    double plain = 0;
    for (int kind = 0; kind < 3; kind++) {
        struct oa_model *m;
        struct oa_options o;
        oa_options_default(&o);
        o.model_layers = 2;
        o.model_width = 8;
        o.model_heads = 2;
        o.model_context = 4;
        o.model_dropout = kind == 1 ? 0.4 : 0;
        o.model_attention_dropout = kind == 2 ? 0.4 : 0;
        assert_int_equal(oa_model_open(f->d, &o,
                                       (struct oa_model_form[]){ oa_language_model_form(5) }, true,
                                       &m),
                         OA_OK);
        if (kind == 0)
            plain = loss(f, m, true, 1);
        assert_true(loss(f, m, false, 1) == plain);
        assert_true(loss(f, m, true, 1) == loss(f, m, true, 1));
        assert_true((loss(f, m, true, 1) == plain) == (kind == 0));
        assert_true((loss(f, m, true, 2) == loss(f, m, true, 1)) == (kind == 0));
        oa_model_close(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dropout_keeps_rate_and_mean),
        cmocka_unit_test(rows_have_masks_of_their_own),
        cmocka_unit_test(no_dropout_changes_nothing),
        cmocka_unit_test(every_site_has_its_own_mask),
        cmocka_unit_test(masks_are_a_function_of_seed_and_step),
        cmocka_unit_test(rows_of_a_mask_differ),
        cmocka_unit_test(evaluation_ignores_dropout),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
