/* SPDX-License-Identifier: Apache-2.0
 * Hidden parts of a text: how many, which, what is in their place, whatever the rows of a
 * batch; and that a model finds what it could not know from how often each token comes. */
#include "testing.h"

#include "data/masking.h"
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { LETTERS = 12, TOKENS = 6000, LENGTH = 42, ROWS = 8 };

static const char text_file[] = "test_masking_text.txt";

/* ---- a text with a strict law: behind each letter comes one of two, so a letter between two
 * others is nearly known */

static void write_text(void)
{
    FILE *f = fopen(text_file, "w");
    struct oa_stream s = oa_stream_named(5, "law");
    int letter = 0;
    assert_non_null(f);
    for (int i = 0; i < TOKENS; i++) {
        fputc('a' + letter, f);
        letter = (letter + 1 + 4 * (int)oa_random_below(s, (uint64_t)i, 2)) % LETTERS;
    }
    fclose(f);
}

struct bench {
    oa_context *c;
    struct oa_options o;
    struct oa_workload w;
    struct oa_batches *train, *valid;
};

static void assert_ok(oa_context *c)
{
    const char *sentence;
    if (oa_last_error(c, &sentence) != OA_OK)
        fail_msg("%s", sentence);
}

static struct oa_options options_of(const char *task)
{
    struct oa_options o;
    oa_options_default(&o);
    snprintf(o.data_task, sizeof o.data_task, "%s", task);
    snprintf(o.data_train, sizeof o.data_train, "%s", text_file);
    o.model_layers = 2;
    o.model_width = 32;
    o.model_heads = 2;
    o.model_context = LENGTH;
    o.train_batch = ROWS;
    o.train_eval_every = 0;
    o.train_warmup = 20;
    o.train_lr = 3e-3;
    return o;
}

static void open_batches(struct bench *b, int rows)
{
    b->o.train_batch = rows;
    b->w.task->batches(b->c, &b->o, &b->w, OA_TRAINING, 7, &b->train);
    b->w.task->batches(b->c, &b->o, &b->w, OA_VALIDATION, 0, &b->valid);
    assert_ok(b->c);
}

static void close_batches(struct bench *b)
{
    oa_batches_close(b->train);
    oa_batches_close(b->valid);
}

static void open_bench(struct bench *b, const char *task)
{
    write_text();
    b->c = oa_open(&(struct oa_settings){ .threads = 2 });
    b->o = options_of(task);
    oa_workload_open(b->c, &b->o, &b->w);
    assert_ok(b->c);
    open_batches(b, ROWS);
}

static void close_bench(struct bench *b)
{
    close_batches(b);
    oa_workload_close(&b->w);
    oa_close(b->c);
    unlink(text_file);
}

/* ---- masked tokens ---- */

static long targets_of_row(const struct oa_batch *batch, int row)
{
    long n = 0;
    for (int t = 0; t < batch->length; t++)
        n += batch->target[row * batch->length + t] != OA_IGNORED;
    return n;
}

static void counts_follow_from_the_length(void **state)
{
    (void)state;
    assert_int_equal(oa_masked_count(0.15, 40), 6);
    assert_int_equal(oa_masked_count(0.15, 126), 19); /* 18.9 */
    assert_int_equal(oa_masked_count(0.5, 5), 2);     /* 2.5, ties to even */
    assert_int_equal(oa_masked_count(0.15, 1), 1);
}

/* Places 0 … 39 of 40 are each drawn as often: 6 of 40 in each of N rows; six deviations of a
 * binomial. */
static void masked_positions_are_uniform(void **state)
{
    enum { N = 20000, PLACES = 40, COUNT = 6 };
    long often[PLACES] = { 0 };
    (void)state;
    for (int i = 0; i < N; i++) {
        int32_t place[PLACES];
        bool there[PLACES] = { false };
        oa_choose_places(oa_stream_child(oa_stream_named(3, "places"), (uint64_t)i), PLACES, COUNT,
                         place);
        for (int k = 0; k < PLACES; k++) {
            assert_in_range(place[k], 0, PLACES - 1);
            assert_false(there[place[k]]);
            there[place[k]] = true;
        }
        for (int k = 0; k < COUNT; k++)
            often[place[k]]++;
    }
    double p = (double)COUNT / PLACES, deviation = sqrt(N * p * (1 - p));
    for (int k = 0; k < PLACES; k++)
        assert_true(fabs((double)often[k] - N * p) < 6 * deviation);
}

/* A row's text is there again when the targets are put back. */
static void assert_a_crop(const struct bench *b, const struct oa_batch *batch, int row, long n)
{
    int32_t text[LENGTH];
    const int32_t *in = batch->input + row * batch->length,
                  *target = batch->target + row * batch->length;
    const struct oa_tokens *from = &b->w.corpus.train;
    assert_int_equal(in[0], oa_tokenizer_find(b->w.tokenizer, "[CLS]"));
    assert_int_equal(in[n + 1], oa_tokenizer_find(b->w.tokenizer, "[SEP]"));
    assert_int_equal(target[0], OA_IGNORED);
    assert_int_equal(target[n + 1], OA_IGNORED);
    for (long t = 0; t < n; t++)
        text[t] = target[t + 1] == OA_IGNORED ? in[t + 1] : target[t + 1];
    for (size_t at = 0; at + (size_t)n <= from->count; at++)
        if (memcmp(from->ids + at, text, (size_t)n * sizeof *text) == 0)
            return;
    fail_msg("row %d is no part of the text", row);
}

static void rows_are_text_in_special_tokens(void **state)
{
    struct bench b = { 0 };
    (void)state;
    open_bench(&b, "mlm");
    for (uint64_t step = 1; step <= 3; step++)
        for (long micro = 0; micro < 2; micro++) {
            struct oa_batch batch;
            struct oa_amount amount;
            oa_batches_amount(b.train, step, 2, &amount);
            oa_batches_random(b.train, step, 2, micro, &batch);
            assert_ok(b.c);
            assert_null(batch.lengths);
            assert_true(amount.targets == 2 * ROWS * 6 && amount.tokens == 2 * ROWS * LENGTH);
            for (int r = 0; r < ROWS; r++) {
                assert_int_equal(targets_of_row(&batch, r), 6);
                assert_a_crop(&b, &batch, r, LENGTH - 2);
            }
        }
    close_bench(&b);
}

/* 80, 10 and 10 in 100: within six deviations; a random token is the right one in 1 of 12 cases. */
static void masking_replacements_have_their_shares(void **state)
{
    enum { STEPS = 600 };
    struct bench b = { 0 };
    double masked = 0, kept = 0, other = 0, all = (double)STEPS * ROWS * 6;
    (void)state;
    open_bench(&b, "mlm");
    int32_t mask = oa_tokenizer_find(b.w.tokenizer, "[MASK]");
    for (uint64_t step = 1; step <= STEPS; step++) {
        struct oa_batch batch;
        oa_batches_random(b.train, step, 1, 0, &batch);
        for (int i = 0; i < batch.rows * batch.length; i++) {
            if (batch.target[i] == OA_IGNORED)
                continue;
            masked += batch.input[i] == mask;
            kept += batch.input[i] == batch.target[i];
            other += batch.input[i] != mask && batch.input[i] != batch.target[i];
            assert_true(batch.input[i] == mask ||
                        !oa_tokenizer_is_special(b.w.tokenizer, batch.input[i]));
        }
    }
    double share_kept = 0.1 + 0.1 / LETTERS, share_other = 0.1 - 0.1 / LETTERS;
    assert_true(masked + kept + other == all);
    assert_true(fabs(masked - 0.8 * all) < 6 * sqrt(all * 0.8 * 0.2));
    assert_true(fabs(kept - share_kept * all) < 6 * sqrt(all * share_kept * (1 - share_kept)));
    assert_true(fabs(other - share_other * all) < 6 * sqrt(all * share_other * (1 - share_other)));
    close_bench(&b);
}

/* 2 micro-batches of 8 rows are 1 of 16, at each asking. */
static void rows_depend_on_step_and_number_alone(const char *task)
{
    struct bench b = { 0 };
    struct oa_batch one, two;
    int32_t input[ROWS * LENGTH], target[ROWS * LENGTH];
    open_bench(&b, task);
    oa_batches_random(b.train, 4, 2, 1, &one);
    size_t bytes = (size_t)(one.rows * one.length) * sizeof *input;
    memcpy(input, one.input, bytes);
    memcpy(target, one.target, bytes);
    close_batches(&b);
    open_batches(&b, 2 * ROWS);
    oa_batches_random(b.train, 3, 1, 0, &two);
    assert_memory_not_equal(target, two.target + ROWS * two.length, bytes);
    oa_batches_random(b.train, 4, 1, 0, &two);
    assert_memory_equal(input, two.input + ROWS * two.length, bytes);
    assert_memory_equal(target, two.target + ROWS * two.length, bytes);
    assert_memory_not_equal(target, two.target, bytes);
    close_bench(&b);
}

static void masks_depend_on_step_and_row_alone(void **state)
{
    (void)state;
    rows_depend_on_step_and_number_alone("mlm");
}

/* All windows one below the other: [windows][length] of input and target. */
static long read_windows(struct bench *b, uint64_t limit, int32_t *input, int32_t *target,
                         struct oa_cover *cover)
{
    long rows = 0;
    oa_batches_cover(b->valid, b->w.tokenizer, limit, cover);
    assert_ok(b->c);
    for (long i = 0; i < cover->batches; i++) {
        struct oa_batch batch;
        oa_batches_window(b->valid, i, &batch);
        assert_ok(b->c);
        for (int r = 0; r < batch.rows; r++, rows++)
            for (int t = 0; t < batch.length; t++) {
                bool there = !batch.lengths || t < batch.lengths[r];
                input[rows * batch.length + t] = batch.input[r * batch.length + t];
                target[rows * batch.length + t] = batch.target[r * batch.length + t];
                assert_true(there || batch.target[r * batch.length + t] == OA_IGNORED);
            }
    }
    return rows;
}

/* Whether the same places of two rows have a target. */
static bool same_places(const int32_t *target, const int32_t *other)
{
    for (long t = 0; t < LENGTH; t++)
        if ((target[t] == OA_IGNORED) != (other[t] == OA_IGNORED))
            return false;
    return true;
}

static void validation_is_always_the_same(void **state)
{
    enum { MOST = 64 * LENGTH };
    static int32_t input[2][MOST], target[2][MOST];
    struct bench b = { 0 };
    struct oa_cover cover, again, few;
    (void)state;
    open_bench(&b, "mlm");
    size_t count = b.w.corpus.valid.count;
    assert_int_equal(count, TOKENS / 10);
    long rows = read_windows(&b, 0, input[0], target[0], &cover), found = 0;
    assert_int_equal(rows, (long)(count + LENGTH - 3) / (LENGTH - 2));
    close_batches(&b);
    b.o.train_seed = 77;
    open_batches(&b, 3);
    assert_int_equal(read_windows(&b, 0, input[1], target[1], &again), rows);
    assert_memory_equal(input[0], input[1], (size_t)(rows * LENGTH) * sizeof **input);
    assert_memory_equal(target[0], target[1], (size_t)(rows * LENGTH) * sizeof **input);
    for (long i = 0; i < rows * LENGTH; i++)
        found += target[0][i] != OA_IGNORED;
    assert_int_equal(cover.targets, found);
    assert_int_equal(cover.characters, 0);
    for (long i = 1; i < rows; i++)
        assert_false(same_places(target[0], target[0] + i * LENGTH));
    assert_int_equal(read_windows(&b, 13, input[1], target[1], &few), 2); /* of 6 targets each */
    assert_int_equal(few.targets, 12);
    assert_int_equal(read_windows(&b, 1, input[1], target[1], &few), 1);
    close_bench(&b);
}

/* A text of 40·k + 1 tokens: the last window has one, which is masked. */
static void a_short_window_is_padded(void **state)
{
    struct bench b = { 0 };
    struct oa_batch batch;
    struct oa_cover cover;
    (void)state;
    open_bench(&b, "mlm");
    close_batches(&b);
    b.w.corpus.valid.count = 41;
    open_batches(&b, ROWS);
    oa_batches_cover(b.valid, b.w.tokenizer, 0, &cover);
    oa_batches_window(b.valid, 0, &batch);
    assert_ok(b.c);
    assert_int_equal(batch.rows, 2);
    assert_int_equal(cover.targets, 7);
    assert_int_equal(batch.lengths[0], LENGTH);
    assert_int_equal(batch.lengths[1], 3);
    assert_int_equal(targets_of_row(&batch, 1), 1);
    assert_int_equal(batch.target[LENGTH + 1], b.w.corpus.valid.ids[40]);
    close_bench(&b);
}

/* ---- spans ---- */

/* What random_spans_helper of T5's program says, without its "</s>" behind the target and with a
 * last sentinel: 512 tokens are read of 568, 114 written. */
static void span_counts_are_those_of_t5(void **state)
{
    static const struct {
        double share, mean;
        long source, tokens, target;
    } known[] = { { 0.15, 3, 512, 568, 114 }, { 0.15, 3, 42, 46, 10 }, { 0.5, 3, 42, 62, 42 } };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        long tokens = oa_span_tokens(known[i].share, known[i].mean, known[i].source, 1000);
        struct oa_span_counts n = oa_span_count(known[i].share, known[i].mean, tokens);
        print_message("%ld: %ld %ld %ld\n", known[i].source, tokens, n.source, n.target);
        assert_int_equal(tokens, known[i].tokens);
        assert_int_equal(n.target, known[i].target);
        assert_in_range(n.source, 1, known[i].source);
    }
    assert_int_equal(oa_span_tokens(0.15, 3, 512, 50), 249); /* the target is what does not fit */
    assert_int_equal(oa_span_tokens(0.15, 3, 2, 1000), 0);
}

/* 7 tokens, 3 hidden, in 2 spans: 4 = 1+3, 2+2, 3+1 of text and 3 = 1+2, 2+1 hidden make 6 masks,
 * each as likely. */
static void span_lengths_are_uniform_compositions(void **state)
{
    enum { N = 12000 };
    long often[128] = { 0 };
    int masks = 0;
    (void)state;
    for (int i = 0; i < N; i++) {
        struct oa_span_counts n = { .hidden = 3, .spans = 2 };
        uint8_t mark[7];
        int32_t work[14];
        int code = 0;
        oa_mark_spans(oa_stream_child(oa_stream_named(3, "spans"), (uint64_t)i), &n, 7, mark, work);
        for (int t = 0; t < 7; t++)
            code = 2 * code + mark[t];
        often[code]++;
    }
    for (int code = 0; code < 128; code++)
        if (often[code]) {
            int hidden = 0, spans = 0;
            for (int t = 0; t < 7; t++) {
                hidden += code >> t & 1;
                spans += (code >> t & 3) == 1; /* the end of a span, read from the right */
            }
            assert_int_equal(hidden, 3);
            assert_int_equal(spans, 2);
            assert_true((code & 64) == 0 && (code & 1) == 1);
            assert_true(fabs((double)often[code] - N / 6.0) < 6 * sqrt(N * 5.0 / 36));
            masks++;
        }
    assert_int_equal(masks, 6);
}

/* Source and target of a row make its text again: each sentinel stands for what follows it in the
 * target. */
static long restore(const struct bench *b, const int32_t *source, const int32_t *target,
                    int32_t *text)
{
    long n = 0, next = 0, span = 0;
    for (; source[0] != oa_tokenizer_find(b->w.tokenizer, "</s>"); source++) {
        if (!oa_tokenizer_is_special(b->w.tokenizer, *source)) {
            text[n++] = *source;
            continue;
        }
        char name[OA_SENTINEL];
        oa_sentinel_name(span++, name);
        assert_int_equal(*source, oa_tokenizer_find(b->w.tokenizer, name));
        assert_int_equal(target[next++], *source);
        long before = n;
        while (!oa_tokenizer_is_special(b->w.tokenizer, target[next]))
            text[n++] = target[next++];
        assert_true(n > before);
        assert_true(source[1] != *source + 1); /* no span touches another */
    }
    return n;
}

static void source_and_target_restore_the_text(void **state)
{
    struct bench b = { 0 };
    struct oa_batch batch;
    struct oa_amount amount;
    int32_t text[2 * LENGTH];
    (void)state;
    open_bench(&b, "span");
    oa_batches_amount(b.train, 3, 2, &amount);
    oa_batches_random(b.train, 3, 2, 1, &batch);
    assert_ok(b.c);
    assert_true(batch.source_length == 42 && batch.length == 10 && !batch.lengths &&
                !batch.source_lengths);
    assert_true(amount.targets == 2 * ROWS * 10 && amount.tokens == 2 * ROWS * 52);
    for (int r = 0; r < ROWS; r++) {
        const int32_t *in = batch.input + r * 10, *target = batch.target + r * 10;
        assert_int_equal(in[0], oa_tokenizer_find(b.w.tokenizer, "<s>"));
        assert_memory_equal(in + 1, target, 9 * sizeof *in);
        assert_int_equal(target[9], oa_tokenizer_find(b.w.tokenizer, "<extra_id_2>"));
        long n = restore(&b, batch.source + r * 42, target, text), found = 0;
        assert_int_equal(n, 46);
        for (size_t at = 0; at + 46 <= b.w.corpus.train.count; at++)
            found += memcmp(b.w.corpus.train.ids + at, text, 46 * sizeof *text) == 0;
        assert_true(found > 0);
    }
    close_bench(&b);
}

static void spans_depend_on_step_and_row_alone(void **state)
{
    (void)state;
    rows_depend_on_step_and_number_alone("span");
}

/* 600 tokens are 13 windows of 46 and one of 2, of which one token is hidden. */
static void all_of_the_text_is_validated(void **state)
{
    struct bench b = { 0 };
    struct oa_batch batch;
    struct oa_cover cover;
    int32_t text[2 * LENGTH];
    long at = 0;
    (void)state;
    open_bench(&b, "span");
    oa_batches_cover(b.valid, b.w.tokenizer, 0, &cover);
    for (long i = 0; i < cover.batches; i++) {
        oa_batches_window(b.valid, i, &batch);
        assert_ok(b.c);
        for (int r = 0; r < batch.rows; r++) {
            long n = restore(&b, batch.source + r * 42, batch.target + r * 10, text);
            assert_memory_equal(text, b.w.corpus.valid.ids + at, (size_t)n * sizeof *text);
            at += n;
        }
    }
    assert_int_equal(at, 600);
    assert_int_equal(cover.targets, 13 * 10 + 3);
    assert_int_equal(batch.lengths[batch.rows - 1], 3);
    assert_int_equal(batch.source_lengths[batch.rows - 1], 3);
    close_bench(&b);
}

/* ---- learning ---- */

static double learn(const char *task, long steps, double *accuracy)
{
    struct bench b = { 0 };
    struct oa_run run = { 0 };
    open_bench(&b, task);
    b.o.train_steps = steps;
    struct oa_train_request r = { .options = &b.o, .workload = &b.w };
    oa_train_run(b.c, &r, &run);
    assert_ok(b.c);
    double loss = run.valid_loss;
    *accuracy = run.scores[1];
    oa_run_free(&run);
    close_bench(&b);
    return loss;
}

/* By its frequency alone a letter costs log 12 = 2.48 nats and is found in 1 of 12 cases. */
static void masked_tokens_are_learnt(void **state)
{
    double accuracy, loss = learn("mlm", 800, &accuracy);
    (void)state;
    print_message("mlm: %.3f nats, %.1f %%\n", loss, accuracy);
    assert_true(loss < 0.5 * log(LETTERS));
    assert_true(accuracy > 30 && accuracy <= 100);
}

/* Sentinels in their order, and letters by the law. */
static void spans_are_learnt(void **state)
{
    double accuracy, loss = learn("span", 400, &accuracy);
    (void)state;
    print_message("span: %.3f nats, %.1f %%\n", loss, accuracy);
    assert_true(loss < 0.5 * log(LETTERS));
    assert_true(accuracy > 30 && accuracy <= 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_follow_from_the_length),
        cmocka_unit_test(masked_positions_are_uniform),
        cmocka_unit_test(rows_are_text_in_special_tokens),
        cmocka_unit_test(masking_replacements_have_their_shares),
        cmocka_unit_test(masks_depend_on_step_and_row_alone),
        cmocka_unit_test(validation_is_always_the_same),
        cmocka_unit_test(a_short_window_is_padded),
        cmocka_unit_test(masked_tokens_are_learnt),
        cmocka_unit_test(span_counts_are_those_of_t5),
        cmocka_unit_test(span_lengths_are_uniform_compositions),
        cmocka_unit_test(source_and_target_restore_the_text),
        cmocka_unit_test(spans_depend_on_step_and_row_alone),
        cmocka_unit_test(all_of_the_text_is_validated),
        cmocka_unit_test(spans_are_learnt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
