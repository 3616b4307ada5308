/* SPDX-License-Identifier: Apache-2.0
 * Batches of examples: every row once an epoch, those of like lengths together, in an order that
 * depends on the seed alone. */
#include "examples_setup.h"

#include <math.h>
#include <stdlib.h>

/* ---- batches
 * ---------------------------------------------------------------------------------------------------
 */

enum { PAIRS = 500 };

/* Source i is of 1 … 20 letters and spells i at its beginning, target i of 1 … 16. */
static void write_pairs(const char *path)
{
    FILE *f = fopen(path, "w");
    for (unsigned i = 0; i < PAIRS; i++)
        fprintf(f, "%03u%.*s\t%03u%.*s\n", i, (int)(i * 7919 % 17), "abcdefghijklmnopqrstu", i,
                (int)(i * 104729 % 13), "abcdefghijklmnopqrstu");
    fclose(f);
}

static const struct oa_example_layout translation = {
    .source_end = "</s>", .target_begin = "<s>", .target_end = "</s>", .words = true
};

static int row_number(const int32_t *ids)
{
    return (ids[0] - '0') * 100 + (ids[1] - '0') * 10 + ids[2] - '0';
}

/* All that a batch says of row r is right: padding, the shift by one, the two sides. Gives the row.
 */
static int check_row(const struct oa_examples *e, const struct oa_batch *b, int r)
{
    const int32_t *source = b->source + r * b->source_length, *input = b->input + r * b->length;
    const int32_t *target = b->target + r * b->length;
    int row = row_number(source), n = b->source_lengths[r], m = b->lengths[r];
    assert_int_equal(row, row_number(input + 1));
    assert_int_equal(n, e->source.start[row + 1] - e->source.start[row]);
    assert_int_equal(m, e->target.start[row + 1] - e->target.start[row] - 1);
    assert_memory_equal(source, e->source.ids + e->source.start[row], (size_t)n * sizeof *source);
    assert_memory_equal(input, e->target.ids + e->target.start[row], (size_t)m * sizeof *input);
    assert_memory_equal(target, e->target.ids + e->target.start[row] + 1,
                        (size_t)m * sizeof *input);
    for (int t = n; t < b->source_length; t++)
        assert_int_equal(source[t], 0);
    for (int t = m; t < b->length; t++)
        assert_true(input[t] == 0 && target[t] == OA_IGNORED);
    assert_int_equal(b->source_words[r * b->source_length], 0);
    assert_int_equal(b->words[r * b->length + 1], 1);
    return row;
}

/* One epoch from batch `number` on: each row once. Returns the batches. */
static long check_epoch(struct oa_example_batches *b, const struct oa_examples *e,
                        const struct oa_example_batching *how, long number, double *padding)
{
    const struct oa_batches_kind *kind = &oa_example_batches_kind;
    bool seen[PAIRS] = { false };
    long rows = 0, batches = 0, places = 0, tokens = 0;
    for (; rows < PAIRS; batches++) {
        struct oa_batch batch;
        struct oa_amount amount;
        long targets = 0, read = 0;
        int most = 0, most_source = 0;
        assert_int_equal(kind->random(b, 1, 1000000, number + batches, &batch), OA_OK);
        kind->amount(b, (uint64_t)(number + batches) + 1, 1, &amount);
        for (int r = 0; r < batch.rows; r++) {
            int row = check_row(e, &batch, r);
            assert_false(seen[row]);
            seen[row] = true;
            targets += batch.lengths[r];
            read += batch.lengths[r] + batch.source_lengths[r];
            most = batch.lengths[r] > most ? batch.lengths[r] : most;
            most_source =
                batch.source_lengths[r] > most_source ? batch.source_lengths[r] : most_source;
        }
        assert_true(amount.targets == (double)targets && amount.tokens == (double)read);
        assert_true(batch.length == most && batch.source_length == most_source);
        if (how->tokens)
            assert_true(batch.rows * most <= how->tokens &&
                        batch.rows * most_source <= how->tokens);
        else
            assert_true(batch.rows == how->rows || rows + batch.rows == PAIRS ||
                        batch.rows == PAIRS % how->rows);
        rows += batch.rows;
        places += (long)batch.rows * (batch.length + batch.source_length);
        tokens += read;
    }
    *padding = 1 - (double)tokens / (double)places;
    return batches;
}

/* What plans are made of is what an epoch of so many batches has. */
static void check_mean(struct oa_example_batches *b, const struct oa_examples *e,
                       struct oa_example_batching how, long batches)
{
    struct oa_example_mean mean;
    struct oa_amount one;
    double tokens = 0;
    for (long step = 1; step <= batches; step++) {
        oa_example_batches_kind.amount(b, (uint64_t)step, 1, &one);
        tokens += one.tokens;
    }
    assert_int_equal(oa_example_batches_mean(context, e, &how, &mean), OA_OK);
    assert_true(fabs(mean.tokens * (double)batches - tokens) < 1e-9 * tokens);
    assert_true(fabs(mean.rows * (double)batches - PAIRS) < 1e-9 * PAIRS);
}

static void check_training(const struct oa_examples *e, struct oa_example_batching how)
{
    struct oa_example_batches *a, *b;
    double padding, all;
    assert_int_equal(oa_example_batches_open(context, e, &how, &a), OA_OK);
    assert_int_equal(oa_example_batches_open(context, e, &how, &b), OA_OK);
    long first = check_epoch(a, e, &how, 0, &padding);
    assert_true(padding == oa_example_batches_padding(b, 0));
    long second = check_epoch(a, e, &how, first, &padding);
    long third = check_epoch(a, e, &how, first + second, &all);
    assert_true(padding == oa_example_batches_padding(b, 1));
    check_mean(b, e, how, first);
    if (!how.tokens)
        assert_int_equal(first, (PAIRS + how.rows - 1) / how.rows);
    /* A fresh one that begins later, and another cut into steps and micro-batches, give the same.
     */
    for (long number = first + second + third - 1; number > 0; number -= 7) {
        struct oa_batch x, y;
        int32_t ids[64];
        assert_int_equal(
            oa_example_batches_kind.random(b, (uint64_t)(number / 4) + 1, 4, number % 4, &x),
            OA_OK);
        memcpy(ids, x.source, (size_t)oa_min(64, x.rows * x.source_length) * sizeof *ids);
        assert_int_equal(oa_example_batches_kind.random(a, (uint64_t)number + 1, 1, 0, &y), OA_OK);
        assert_true(x.rows == y.rows && x.length == y.length && x.source_length == y.source_length);
        assert_memory_equal(ids, y.source,
                            (size_t)oa_min(64, x.rows * x.source_length) * sizeof *ids);
    }
    struct oa_amount four, one, sum = { 0, 0 };
    oa_example_batches_kind.amount(a, 3, 4, &four);
    for (uint64_t step = 9; step <= 12; step++) {
        oa_example_batches_kind.amount(b, step, 1, &one);
        sum.targets += one.targets;
        sum.tokens += one.tokens;
    }
    assert_true(four.targets == sum.targets && four.tokens == sum.tokens);
    oa_example_batches_kind.close(a);
    oa_example_batches_kind.close(b);
}

static void an_epoch_has_every_row_once(void **state)
{
    (void)state;
    struct oa_example_texts t;
    struct oa_tokenizer *tok;
    struct oa_examples e;
    write_pairs("ex.sum.tsv");
    assert_int_equal(encode("ex.sum.tsv", OA_ANSWER_TEXT, &translation, &t, &tok, &e), OA_OK);
    check_training(&e, (struct oa_example_batching){ .rows = 16, .seed = 3 });
    check_training(&e, (struct oa_example_batching){ .rows = 3, .seed = 3 });
    check_training(&e, (struct oa_example_batching){ .tokens = 256, .seed = 1 });
    check_training(&e, (struct oa_example_batching){ .tokens = 24, .seed = 1 });
    struct oa_example_batches *b;
    struct oa_example_batching how = { .tokens = 19 };
    assert_int_equal(oa_example_batches_open(context, &e, &how, &b), OA_ARGUMENT);
    expect_error(
        OA_ARGUMENT,
        "train.batch_tokens = 19 is too small: the longest of the training examples has 20 tokens");
    how = (struct oa_example_batching){ .rows = 0 };
    assert_int_equal(oa_example_batches_open(context, &e, &how, &b), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "train.batch = 0 must be at least 1");
    close_all(&t, tok, &e);
}

/* Sorted rows pad less than others, and batches do not come in the order of their lengths. */
static void batches_of_similar_length_come_in_random_order(void **state)
{
    (void)state;
    struct oa_example_texts t;
    struct oa_tokenizer *tok;
    struct oa_examples e;
    struct oa_example_batches *a, *b;
    struct oa_batch x;
    int rises = 0, falls = 0, last = 0;
    bool other = false;
    write_pairs("ex.sum.tsv");
    assert_int_equal(encode("ex.sum.tsv", OA_ANSWER_TEXT, &translation, &t, &tok, &e), OA_OK);
    assert_int_equal(oa_example_batches_open(
                         context, &e, &(struct oa_example_batching){ .rows = 4, .seed = 1 }, &a),
                     OA_OK);
    assert_int_equal(oa_example_batches_open(
                         context, &e, &(struct oa_example_batching){ .rows = 4, .seed = 2 }, &b),
                     OA_OK);
    assert_true(oa_example_batches_padding(a, 0) < 0.1);
    for (int i = 0; i < 125; i++) {
        assert_int_equal(oa_example_batches_kind.random(a, 1, 125, i, &x), OA_OK);
        rises += x.length > last;
        falls += x.length < last;
        last = x.length;
        int row = row_number(x.source);
        assert_int_equal(oa_example_batches_kind.random(b, 1, 125, i, &x), OA_OK);
        other = other || row_number(x.source) != row;
    }
    assert_true(rises > 30 && falls > 30);
    assert_true(other);
    oa_example_batches_kind.close(a);
    oa_example_batches_kind.close(b);
    close_all(&t, tok, &e);
}

/* Which rows are in the batch of row 0 of an epoch, as a sum of their squares. */
static long company(struct oa_example_batches *b, const struct oa_examples *e, long epoch)
{
    struct oa_batch x;
    for (long i = 0; i < 125; i++) {
        long sum = 0;
        bool there = false;
        assert_int_equal(oa_example_batches_kind.random(b, 1, 1000, epoch * 125 + i, &x), OA_OK);
        for (int r = 0; r < x.rows; r++) {
            int row = check_row(e, &x, r);
            there = there || row == 0;
            sum += (long)row * row;
        }
        if (there)
            return sum;
    }
    return -1;
}

/* Rows meet others, and batches come in another order, in each epoch. */
static void epochs_have_different_orders(void **state)
{
    (void)state;
    struct oa_example_texts t;
    struct oa_tokenizer *tok;
    struct oa_examples e;
    struct oa_example_batches *b;
    FILE *f = fopen("ex.sum.tsv", "w");
    for (unsigned i = 0; i < PAIRS; i++)
        fprintf(f, "%03uab\t%03u\n", i, i);
    fclose(f);
    assert_int_equal(encode("ex.sum.tsv", OA_ANSWER_TEXT, &translation, &t, &tok, &e), OA_OK);
    assert_int_equal(
        oa_example_batches_open(context, &e, &(struct oa_example_batching){ .rows = 4 }, &b),
        OA_OK);
    long first = company(b, &e, 0), second = company(b, &e, 1), third = company(b, &e, 2);
    assert_true(first != second && second != third && first != third);
    oa_example_batches_kind.close(b);
    struct oa_batch x; /* sources of 6 tokens, targets of 4: a budget of 24 is 4 rows */
    assert_int_equal(
        oa_example_batches_open(context, &e, &(struct oa_example_batching){ .tokens = 24 }, &b),
        OA_OK);
    assert_int_equal(oa_example_batches_kind.random(b, 1, 1, 0, &x), OA_OK);
    assert_true(x.rows == 4 && x.source_length == 6 && x.length == 4);
    assert_true(oa_example_batches_padding(b, 0) == 0);
    oa_example_batches_kind.close(b);
    close_all(&t, tok, &e);
}

/* Sources of targets of one length grow, of the next length shrink. */
static void source_lengths_rise_and_fall_in_turn(void **state)
{
    (void)state;
    struct oa_example_texts t;
    struct oa_tokenizer *tok;
    struct oa_examples e;
    struct oa_example_batches *b;
    struct oa_cover cover;
    struct oa_batch x;
    write_pairs("ex.sum.tsv");
    assert_int_equal(encode("ex.sum.tsv", OA_ANSWER_TEXT, &translation, &t, &tok, &e), OA_OK);
    assert_int_equal(
        oa_example_batches_open(context, &e, &(struct oa_example_batching){ .rows = 1 }, &b),
        OA_OK);
    assert_int_equal(oa_example_batches_kind.cover(b, tok, 0, &cover), OA_OK);
    assert_int_equal(cover.batches, PAIRS);
    int length = 0, source = 0, changes = 0;
    for (long i = 0; i < cover.batches; i++) {
        assert_int_equal(oa_example_batches_kind.window(b, i, &x), OA_OK);
        if (x.length == length)
            assert_true(length % 2 ? x.source_length <= source : x.source_length >= source);
        changes += x.length != length;
        assert_true(x.length >= length);
        length = x.length;
        source = x.source_length;
    }
    assert_int_equal(changes, 13);
    oa_example_batches_kind.close(b);
    close_all(&t, tok, &e);
}

static void validation_covers_every_target_once(void **state)
{
    (void)state;
    struct oa_example_texts t;
    struct oa_tokenizer *tok;
    struct oa_examples e;
    struct oa_example_batches *b;
    struct oa_cover whole, part;
    struct oa_batch x;
    write_pairs("ex.sum.tsv");
    assert_int_equal(encode("ex.sum.tsv", OA_ANSWER_TEXT, &translation, &t, &tok, &e), OA_OK);
    assert_int_equal(
        oa_example_batches_open(context, &e, &(struct oa_example_batching){ .tokens = 128 }, &b),
        OA_OK);
    assert_int_equal(oa_example_batches_kind.cover(b, tok, 0, &whole), OA_OK);
    bool seen[PAIRS] = { false };
    uint64_t targets = 0, rows = 0;
    int last = 0;
    for (long i = 0; i < whole.batches; i++) {
        assert_int_equal(oa_example_batches_kind.window(b, i, &x), OA_OK);
        assert_true(x.length >= last);
        last = x.length;
        for (int r = 0; r < x.rows; r++, rows++) {
            int row = check_row(&e, &x, r);
            assert_false(seen[row]);
            seen[row] = true;
            targets += (uint64_t)x.lengths[r];
        }
    }
    assert_int_equal(rows, PAIRS);
    assert_int_equal(whole.targets, targets);
    assert_int_equal(whole.bytes, targets - PAIRS); /* all but </s>, a byte each */
    assert_int_equal(whole.characters, targets - PAIRS);
    assert_int_equal(oa_example_batches_kind.window(b, whole.batches, &x), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "there are");
    assert_int_equal(oa_example_batches_kind.cover(b, tok, 1000, &part), OA_OK);
    assert_true(part.targets > 980 && part.targets <= 1000);
    assert_int_equal(oa_example_batches_kind.window(b, part.batches - 1, &x), OA_OK);
    assert_int_equal(x.length, last); /* long rows are among them */
    assert_int_equal(oa_example_batches_kind.cover(b, tok, 1, &part), OA_OK);
    assert_int_equal(part.batches, 1);
    oa_example_batches_kind.close(b);
    close_all(&t, tok, &e);
}

static void encoder_batches_have_segments_and_labels(void **state)
{
    (void)state;
    struct oa_example_texts t;
    struct oa_tokenizer *tok;
    struct oa_examples e;
    struct oa_example_batches *own;
    struct oa_batches *b;
    struct oa_amount amount;
    struct oa_cover cover;
    struct oa_batch x;
    struct oa_example_layout layout = { .source_begin = "[CLS]", .source_end = "[SEP]" };
    write_text("ex.tsv", "2.5\tab\tc\n-1\tabc\tdef\n");
    assert_int_equal(encode("ex.tsv", OA_ANSWER_NUMBER, &layout, &t, &tok, &e), OA_OK);
    assert_int_equal(
        oa_example_batches_open(context, &e, &(struct oa_example_batching){ .rows = 8 }, &own),
        OA_OK);
    assert_int_equal(oa_batches_wrap(context, &oa_example_batches_kind, own, &b), OA_OK);
    assert_int_equal(oa_batches_random(b, 5, 1, 0, &x), OA_OK);
    assert_true(x.rows == 2 && x.length == 9 && !x.target && !x.source && x.source_length == 0 &&
                !x.label && !x.words);
    static const int32_t segments[] = { 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1 };
    assert_memory_equal(x.segments, segments, sizeof segments);
    assert_true(x.lengths[0] == 6 && x.lengths[1] == 9);
    assert_true(x.value[0] == 2.5 && x.value[1] == -1);
    oa_batches_amount(b, 1, 3, &amount);
    assert_true(amount.targets == 6 && amount.tokens == 45);
    assert_int_equal(oa_batches_cover(b, tok, 0, &cover), OA_OK);
    assert_true(cover.targets == 2 && cover.batches == 1 && cover.characters == 0);
    oa_batches_close(b);
    close_all(&t, tok, &e);
}

/* Which of the orders of `rows` digits it is, from 0: the digits before it count those that are
 * smaller and come later.
 */
static int number_of_order(const int *order, int rows)
{
    int number = 0;
    for (int i = 0; i < rows; i++) {
        int smaller = 0;
        for (int k = i + 1; k < rows; k++)
            smaller += order[k] < order[i];
        number = number * (rows - i) + smaller;
    }
    return number;
}

/* Orders of three and of four rows of one length over many epochs, one row a batch or all in one:
 * chi-squared over all of them. limit: its 0.999 point (scipy 1.17) with one degree of freedom less
 * than there are orders. */
static void check_all_orders(const char *file, int rows, int orders, long rows_a_batch,
                             double limit)
{
    struct oa_example_texts t;
    struct oa_tokenizer *tok;
    struct oa_examples e;
    struct oa_example_batches *b;
    const struct oa_example_batching how = { .rows = rows_a_batch, .seed = 17 };
    int seen[24] = { 0 }, epochs = tries(12000);
    double chi = 0;
    assert_int_equal(encode(file, OA_ANSWER_NUMBER,
                            &(struct oa_example_layout){ .source_end = "<s>" }, &t, &tok, &e),
                     OA_OK);
    assert_int_equal(oa_example_batches_open(context, &e, &how, &b), OA_OK);
    for (long epoch = 0, step = 1; epoch < epochs; epoch++) {
        int order[4], n = 0;
        for (struct oa_batch batch; n < rows; step++) {
            assert_int_equal(oa_example_batches_kind.random(b, (uint64_t)step, 1, 0, &batch),
                             OA_OK);
            for (int r = 0; r < batch.rows; r++)
                order[n++] = (int)batch.value[r];
        }
        assert_int_equal(n, rows);
        seen[number_of_order(order, rows)]++;
    }
    for (int i = 0; i < orders; i++)
        chi += pow(seen[i] - (double)epochs / orders, 2) * orders / epochs;
    if (chi >= limit)
        fail_msg("%d rows, %ld a batch: chi-squared is %g", rows, rows_a_batch, chi);
    oa_example_batches_kind.close(b);
    close_all(&t, tok, &e);
}

static void all_orders_are_equally_likely(void **state)
{
    (void)state;
    write_text("three.tsv", "0\tax\n1\tbx\n2\tcx\n");
    write_text("four.tsv", "0\tax\n1\tbx\n2\tcx\n3\tdx\n");
    check_all_orders("three.tsv", 3, 6, 1, 20.52);
    check_all_orders("three.tsv", 3, 6, 3, 20.52);
    check_all_orders("four.tsv", 4, 24, 1, 49.73);
    check_all_orders("four.tsv", 4, 24, 4, 49.73);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_orders_are_equally_likely),
        cmocka_unit_test(an_epoch_has_every_row_once),
        cmocka_unit_test(batches_of_similar_length_come_in_random_order),
        cmocka_unit_test(epochs_have_different_orders),
        cmocka_unit_test(source_lengths_rise_and_fall_in_turn),
        cmocka_unit_test(validation_covers_every_target_once),
        cmocka_unit_test(encoder_batches_have_segments_and_labels),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
