/* SPDX-License-Identifier: Apache-2.0
 * The order of training text: permutations by enumeration, epochs by counting every token, mixtures
 * by counting rows, rows that end with their document. */
#include "testing.h"

#include "base/permutation.h"
#include "data/corpus_mix.h"
#include "data/masking.h"
#include "data/packed_corpus.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

static oa_context *context;

static int open_context(void **state)
{
    (void)state;
    context = oa_open(NULL);
    return context == NULL;
}

static int close_context(void **state)
{
    (void)state;
    oa_close(context);
    return 0;
}

static void expect_failure(enum oa_error code, const char *words)
{
    const char *why;
    assert_int_equal(oa_last_error(context, &why), code);
    if (!strstr(why, words))
        fail_msg("\"%s\" is not in: %s", words, why);
    oa_clear_error(context);
}

/* ---- permutations ---- */

static void permutations_are_bijections(void **state)
{
    static const uint64_t larger[] = { 1023, 1024, 1025, 4095, 4097, 10007, 65536, 99856, 100003 };
    uint8_t *seen = malloc(100003);
    (void)state;
    assert_non_null(seen);
    for (int k = 1; k <= 600 + (int)(sizeof larger / sizeof *larger); k++) {
        uint64_t n = k <= 600 ? (uint64_t)k : larger[k - 601];
        struct oa_stream s = oa_stream_child(oa_stream_named(3, "test"), (uint64_t)k);
        memset(seen, 0, n);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t to = oa_permuted(s, i, n);
            assert_true(to < n);
            assert_int_equal(seen[to]++, 0);
        }
    }
    free(seen);
}

/* Every place is equally likely for every element, and for the distance of neighbours: chi-squared
 * statistics, whose mean is the degrees of freedom f and whose deviation is sqrt(2 f). */
static void permutations_are_uniform(void **state)
{
    enum { N = 23, SEEDS = 20000 };
    static const char *const what[] = { "places", "distances" };
    static long place[N][N], distance[N];
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct oa_stream s = oa_stream_child(oa_stream_named(1, "uniform"), seed);
        for (uint64_t i = 0; i < N; i++)
            place[i][oa_permuted(s, i, N)]++;
        uint64_t step = (N + oa_permuted(s, 8, N) - oa_permuted(s, 7, N)) % N;
        distance[step]++;
    }
    double chi[2] = { 0 }, freedom[2] = { (N - 1) * (N - 1), N - 2 };
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            chi[0] += pow((double)place[i][k] - (double)SEEDS / N, 2) / ((double)SEEDS / N);
    assert_int_equal(distance[0], 0);
    for (int k = 1; k < N; k++)
        chi[1] += pow((double)distance[k] - (double)SEEDS / (N - 1), 2) / ((double)SEEDS / (N - 1));
    for (int i = 0; i < 2; i++)
        if (fabs(chi[i] - freedom[i]) > 4.5 * sqrt(2 * freedom[i]))
            fail_msg("%s: chi-squared %g of %g", what[i], chi[i], freedom[i]);
}

static void large_permutations_stay_within(void **state)
{
    static const uint64_t n[] = { ((uint64_t)1 << 40) + 1, (uint64_t)1 << 56, ((uint64_t)1 << 62) };
    (void)state;
    for (int k = 0; k < 3; k++)
        for (uint64_t i = 0; i < 1000; i++)
            assert_true(oa_permuted(oa_stream_named(i, "large"), n[k] - 1 - i, n[k]) < n[k]);
}

/* ---- epochs ---- */

static struct oa_tokens counted_text(int32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)i;
    return (struct oa_tokens){ .ids = ids, .count = n, .name = "training text" };
}

static struct oa_batches *open_batches(const struct oa_tokens *t, int rows, int length,
                                       enum oa_data_order order, enum oa_document_borders borders)
{
    struct oa_text_batching how = { rows, length, 5, order, borders };
    struct oa_batches *b;
    assert_int_equal(oa_text_batches_open(context, t, &how, &b), OA_OK);
    return b;
}

/* Counts the targets of a batch by their token, which is its place. */
static long count_targets(const struct oa_batch *b, long *times)
{
    long targets = 0;
    for (long i = 0; i < (long)b->rows * b->length; i++) {
        if (b->target[i] == OA_IGNORED)
            continue;
        assert_int_equal(b->target[i], b->input[i] + 1);
        times[b->target[i]]++;
        targets++;
    }
    return targets;
}

/* Texts of 2 … 400 tokens in rows of 1 … 20, 4 rows a step in 1, 2 or 4 micro-batches: after every
 * epoch each token but the first was a target exactly so often, however the steps are cut, and
 * every step announced its number of targets. */
static void epochs_read_every_token_once(void **state)
{
    int32_t ids[400];
    (void)state;
    for (size_t n = 2; n <= 400; n += 1 + n / 9)
        for (int length = 1; length <= 20; length += 3) {
            struct oa_tokens t = counted_text(ids, n);
            uint64_t rows = (n - 1 + (size_t)length - 1) / (size_t)length, epochs = 4;
            for (int batch = 1; batch <= 4; batch *= 2) {
                struct oa_batches *b =
                    open_batches(&t, batch, length, OA_ORDER_EPOCH, OA_BORDERS_JOINED);
                long times[400] = { 0 };
                for (uint64_t step = 1; step <= rows; step++) { /* 4 · rows are 4 epochs */
                    struct oa_batch rows_of;
                    struct oa_amount amount;
                    long targets = 0;
                    oa_batches_amount(b, step, 4 / batch, &amount);
                    for (long micro = 0; micro < 4 / batch; micro++) {
                        assert_int_equal(oa_batches_random(b, step, 4 / batch, micro, &rows_of),
                                         OA_OK);
                        targets += count_targets(&rows_of, times);
                    }
                    assert_true((double)targets == amount.targets);
                    assert_true((double)targets == amount.tokens);
                }
                for (size_t i = 0; i < n; i++)
                    assert_int_equal(times[i], i ? epochs : 0);
                oa_batches_close(b);
            }
        }
}

/* The rows of steps 1 … 40, one after another, whatever the micro-batches. */
static void list_rows(const struct oa_tokens *t, int batch, int32_t *first)
{
    struct oa_batches *b = open_batches(t, batch, 10, OA_ORDER_EPOCH, OA_BORDERS_JOINED);
    for (uint64_t step = 40; step >= 1; step--) /* in any order of steps */
        for (long micro = 0; micro < 12 / batch; micro++) {
            struct oa_batch rows;
            assert_int_equal(oa_batches_random(b, step, 12 / batch, micro, &rows), OA_OK);
            for (int r = 0; r < batch; r++)
                first[(long)(step - 1) * 12 + micro * batch + r] = rows.input[r * 10];
        }
    oa_batches_close(b);
}

static void order_is_a_function_of_seed_and_step(void **state)
{
    static const int batches[] = { 12, 6, 4, 3, 2, 1 };
    int32_t ids[1001], first[480], other[480];
    struct oa_tokens t = counted_text(ids, 1001); /* 100 rows */
    (void)state;
    list_rows(&t, 12, first);
    for (int i = 1; i < 6; i++) {
        list_rows(&t, batches[i], other);
        assert_memory_equal(first, other, sizeof first);
    }
    int same = 0;
    for (int i = 0; i < 100; i++)
        same += first[i] == first[100 + i];
    assert_true(same < 20); /* another order in the next epoch: 1 in the mean */
}

/* ---- mixtures ---- */

static void expect_shares(const long *weight, int count)
{
    struct oa_corpus_part part[OA_CORPORA] = { 0 };
    uint64_t rows[OA_CORPORA] = { 0 };
    struct oa_corpus_mix m;
    for (int i = 0; i < count; i++)
        part[i].weight = weight[i];
    assert_int_equal(oa_corpus_mix_open(context, part, count, &m), OA_OK);
    for (uint64_t n = 0; n < 2 * (uint64_t)m.period + 3; n++) {
        uint64_t before;
        int k = oa_corpus_mix_turn(&m, n, &before);
        assert_true(k >= 0 && k < count);
        assert_int_equal(before, rows[k]++);
        for (int i = 0; i < count; i++) {
            double off = (double)rows[i] - (double)(n + 1) * (double)weight[i] / (double)m.period;
            assert_true(fabs(off) < 1);
            if (n % 97 == 0)
                assert_int_equal(oa_corpus_mix_rows(&m, i, n + 1), rows[i]);
        }
    }
    oa_corpus_mix_close(&m);
}

static void shares_are_exact_at_any_time(void **state)
{
    static const long some[][OA_CORPORA] = { { 1 },           { 1, 1 },
                                             { 7, 3 },        { 9999, 1 },
                                             { 1, 2, 3 },     { 500, 1, 1, 1, 497 },
                                             { 1, 1, 1, 1 },  { 33, 33, 34 },
                                             { 97, 1, 1, 1 }, { 123, 456, 789 } };
    static const int counts[] = { 1, 2, 2, 2, 3, 5, 4, 3, 4, 3 };
    (void)state;
    for (int i = 0; i < 10; i++)
        expect_shares(some[i], counts[i]);
    for (uint64_t seed = 0; seed < 60; seed++) {
        long weight[OA_CORPORA];
        int count = 2 + (int)(seed % 15);
        for (int k = 0; k < count; k++)
            weight[k] = 1 + (long)oa_random_below(oa_stream_named(seed, "w"), (uint64_t)k, 60);
        expect_shares(weight, count);
    }
}

static void weights_are_read_exactly(void **state)
{
    static const char *const files[] = { "runs/wiki", "b/books.jsonl.gz", "c.txt" };
    struct oa_corpus_part part[OA_CORPORA];
    (void)state;
    assert_int_equal(oa_corpus_mix_parse(context, "wiki:0.7,books:0.3", files, 2, part), OA_OK);
    assert_int_equal(part[0].weight, 7);
    assert_int_equal(part[1].weight, 3);
    assert_string_equal(part[0].name, "wiki");
    assert_int_equal(
        oa_corpus_mix_parse(context, "c.txt:2,runs/wiki:1,b/books.jsonl.gz:0.5", files, 3, part),
        OA_OK);
    assert_int_equal(part[0].weight, 2);
    assert_int_equal(part[1].weight, 1);
    assert_int_equal(part[2].weight, 4);
    assert_int_equal(oa_corpus_mix_parse(context, "wiki:0.3333,books:0.6667", files, 2, part),
                     OA_OK);
    assert_int_equal(part[1].weight, 6667);
    static const struct {
        const char *mix, *words;
    } wrong[] = {
        { "wiki:0.7", "data.mix has no weight for b/books.jsonl.gz" },
        { "wiki:0.7,books:0", "\"books:0\" is not a name, a colon and a positive number" },
        { "wiki:0.7,books:-1", "\"books:-1\" is not" },
        { "wiki:0.7,books:1e3", "\"books:1e3\" is not" },
        { "wiki:0.7,books", "\"books\" is not" },
        { "wiki:0.7,:1", "\":1\" is not" },
        { "wiki:0.7,book:1", "\"book\" is the name of no corpora of data.train" },
        { "wiki:0.7,books:1,wiki:2", "data.mix names runs/wiki twice" },
        { "wiki:0.777771,books:0.222229", "more than 100000: give them fewer digits" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(oa_corpus_mix_parse(context, wrong[i].mix, files, 2, part), OA_ARGUMENT);
        expect_failure(OA_ARGUMENT, wrong[i].words);
    }
    static const char *const alike[] = { "a/wiki", "b/wiki" };
    assert_int_equal(oa_corpus_mix_parse(context, "wiki:1,b/wiki:2", alike, 2, part), OA_ARGUMENT);
    expect_failure(OA_ARGUMENT, "\"wiki\" is the name of several corpora");
    assert_int_equal(oa_corpus_mix_parse(context, "a/wiki:1,b/wiki:2", alike, 2, part), OA_OK);
}

/* Three corpora of 50, 200 and 31 tokens: each is read without replacement, by its own epochs. */
static void corpora_of_a_mixture_have_epochs_of_their_own(void **state)
{
    int32_t ids[281];
    long times[281] = { 0 };
    struct oa_tokens t = counted_text(ids, 281);
    struct oa_reading reading;
    (void)state;
    t.parts = 3;
    t.part[0] = (struct oa_corpus_part){ "a", 0, 50, 1 };
    t.part[1] = (struct oa_corpus_part){ "b", 50, 200, 2 };
    t.part[2] = (struct oa_corpus_part){ "c", 250, 31, 1 };
    struct oa_batches *b = open_batches(&t, 2, 7, OA_ORDER_EPOCH, OA_BORDERS_JOINED);
    /* 7, 29 and 5 rows. After 70 steps of 4 rows 70, 140 and 70 rows were read. */
    for (uint64_t step = 1; step <= 70; step++)
        for (long micro = 0; micro < 2; micro++) {
            struct oa_batch rows;
            assert_int_equal(oa_batches_random(b, step, 2, micro, &rows), OA_OK);
            count_targets(&rows, times);
        }
    for (int i = 0; i < 281; i++) {
        bool first = i == 0 || i == 50 || i == 250; /* no row crosses from one corpus to another */
        long whole = i < 50 ? 10 : i < 250 ? 4 : 14;
        assert_true(times[i] == (first ? 0 : whole) ||
                    (!first && i > 50 && i < 250 && times[i] == 5));
    }
    oa_batches_reading(b, 70, 2, &reading);
    assert_int_equal(reading.corpora, 3);
    assert_string_equal(reading.corpus[1].name, "b");
    assert_int_equal(reading.corpus[0].rows, 70);
    assert_int_equal(reading.corpus[1].rows, 140);
    assert_int_equal(reading.corpus[1].tokens, 200);
    assert_true(fabs(reading.corpus[0].epochs - 10) < 1e-12);
    assert_true(fabs(reading.corpus[1].epochs - 140.0 / 29) < 1e-12);
    assert_true(fabs(reading.corpus[2].epochs - 14) < 1e-12);
    oa_batches_close(b);
}

/* ---- several corpora ---- */

enum { DOCUMENTS = 300, END = 256 };

/* Line i has `letters(i)` letters, so so many tokens of "byte" and one for its end. */
static int letters(int i)
{
    return i % 17 + 1 + (i % 50 == 7 ? 90 : 0);
}

static void pack_lines(const char *folder, uint64_t shard_ids, uint64_t start[DOCUMENTS + 1])
{
    static const char path[] = "test_training_rows.txt";
    struct oa_pack_request r = { .files = path,
                                 .column = "text",
                                 .kind = OA_DOCUMENTS_LINES,
                                 .end = OA_END_OF_DOCUMENT,
                                 .shard_ids = shard_ids,
                                 .folder = folder };
    struct oa_tokenizer *tok;
    json_t *record;
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    start[0] = 0;
    for (int i = 0; i < DOCUMENTS; i++) {
        for (int k = 0; k < letters(i); k++)
            fputc('a' + (i + k) % 26, f);
        fputc('\n', f);
        start[i + 1] = start[i] + (uint64_t)letters(i) + 1;
    }
    assert_int_equal(fclose(f), 0);
    assert_int_equal(oa_tokenizer_open(context, "byte", NULL, NULL, &tok), OA_OK);
    assert_int_equal(oa_corpus_pack(context, tok, &r, &record), OA_OK);
    json_decref(record);
    oa_tokenizer_close(tok);
    remove(path);
}

static void remove_folder(const char *folder)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

static void open_packed(const char *folder, double fraction, struct oa_tokenizer **tok,
                        struct oa_corpus *corpus)
{
    assert_int_equal(oa_packed_tokenizer(context, folder, tok), OA_OK);
    assert_int_equal(oa_corpus_open(context, *tok, folder, NULL, fraction, corpus), OA_OK);
}

static int document_of(const uint64_t start[DOCUMENTS + 1], uint64_t token)
{
    int i = 0;
    while (start[i + 1] <= token)
        i++;
    return i;
}

static void expect_text(const struct oa_tokens *t, uint64_t at, const struct oa_tokens *of,
                        uint64_t from, uint64_t n)
{
    int32_t *ids = malloc(2 * n * sizeof *ids);
    assert_non_null(ids);
    assert_int_equal(oa_tokens_read(context, t, at, n, ids), OA_OK);
    assert_int_equal(oa_tokens_read(context, of, from, n, ids + n), OA_OK);
    assert_memory_equal(ids, ids + n, n * sizeof *ids);
    free(ids);
}

/* A packed corpus and a text: both sides are those of each alone, one after the other, and a
 * tuning holds out the end of each. */
static void corpora_are_joined_and_held_out_each(void **state)
{
    static const char list[] = "test_training_rows,test_training_rows_b.txt", *const mixes[] = {
        "test_training_rows:3,test_training_rows_b:1", "test_training_rows:1,test_training_rows_b:1"
    };
    uint64_t start[DOCUMENTS + 1];
    struct oa_tokenizer *tok;
    struct oa_corpus packed, text, both, held, other = { 0 };
    (void)state;
    pack_lines("test_training_rows", 900, start);
    FILE *f = fopen("test_training_rows_b.txt", "wb");
    assert_non_null(f);
    for (int i = 0; i < 1000; i++)
        fputc('a' + i * i % 26, f);
    assert_int_equal(fclose(f), 0);
    open_packed("test_training_rows", 0.25, &tok, &packed);
    assert_int_equal(oa_corpus_open(context, tok, "test_training_rows_b.txt", NULL, 0.25, &text),
                     OA_OK);
    assert_int_equal(oa_corpora_open(context, tok, list, mixes[0], NULL, 0.25, 0, &both), OA_OK);
    uint64_t a = packed.train.count, b = text.train.count;
    assert_int_equal(both.train.count, a + b);
    assert_int_equal(both.valid.count, packed.valid.count + 250);
    expect_text(&both.train, 0, &packed.train, 0, a);
    expect_text(&both.train, a, &text.train, 0, b);
    expect_text(&both.valid, 0, &packed.valid, 0, packed.valid.count);
    expect_text(&both.valid, packed.valid.count, &text.valid, 0, 250);
    assert_int_equal(both.train.parts, 2);
    assert_int_equal(both.train.part[1].from, a);
    assert_int_equal(both.valid.parts, 0);
    assert_int_equal(oa_corpora_open(context, tok, list, mixes[1], NULL, 0.25, 0, &other), OA_OK);
    assert_string_not_equal(other.train.digest.hex, both.train.digest.hex);
    assert_string_equal(other.valid.digest.hex, both.valid.digest.hex);
    assert_int_equal(oa_corpus_hold_out(context, tok, &both.train, 0.5, &held), OA_OK);
    uint64_t half = (uint64_t)floor((double)a / 2), half_b = (uint64_t)floor((double)b / 2);
    assert_int_equal(held.train.count, half + half_b);
    assert_int_equal(held.train.part[0].count, half);
    assert_int_equal(held.train.part[1].from, half);
    assert_int_equal(held.train.part[1].count, half_b);
    expect_text(&held.train, half, &text.train, 0, half_b);
    expect_text(&held.valid, a - half, &text.train, half_b, b - half_b);
    oa_corpus_close(&packed);
    oa_corpus_close(&text);
    oa_corpus_close(&both);
    oa_corpus_close(&other);
    oa_tokenizer_close(tok);
    remove_folder("test_training_rows");
    remove("test_training_rows_b.txt");
}

/* ---- documents ---- */

/* All rows of the tokens low … high - 1 in training order and in turn: within a document, every
 * unit once, and as many as the documents have. */
static void expect_document_rows(const struct oa_tokens *t, const struct oa_row_rule *rule,
                                 const uint64_t start[DOCUMENTS + 1], uint64_t low, uint64_t high)
{
    struct oa_text_rows *rows;
    uint64_t expected = 0, units = 0, count;
    uint8_t *seen = calloc(2 * (high - low), 1);
    assert_non_null(seen);
    assert_int_equal(oa_text_rows_open(context, t, rule, &rows), OA_OK);
    for (int i = 0; i < DOCUMENTS; i++) {
        uint64_t from = start[i] > low ? start[i] : low,
                 to = start[i + 1] < high ? start[i + 1] : high;
        uint64_t n = to > from + (uint64_t)rule->extra ? to - from - (uint64_t)rule->extra : 0,
                 rest = n % (uint64_t)rule->length;
        expected += rest < (uint64_t)rule->least ? n - rest : n;
    }
    assert_int_equal(oa_text_rows_units(rows), expected);
    count = oa_text_rows_count(rows);
    for (uint64_t i = 0; i < count; i++)
        for (int way = 0; way < 2; way++) {
            struct oa_text_row row;
            if (way == 0)
                assert_int_equal(oa_text_rows_at(rows, i, &row), OA_OK);
            else
                assert_int_equal(oa_text_rows_drawn(rows, 1, count, i, &row), OA_OK);
            assert_true(row.units >= rule->least && row.units <= rule->length);
            uint64_t first = low + row.start,
                     last = first + (uint64_t)(row.units + rule->extra) - 1;
            assert_true(last < high);
            assert_int_equal(document_of(start, first), document_of(start, last));
            for (long k = 0; k < row.units; k++)
                assert_int_equal(seen[2 * (row.start + (uint64_t)k) + (uint64_t)way]++, 0);
            units += way == 0 ? (uint64_t)row.units : 0;
        }
    assert_int_equal(units, expected);
    oa_text_rows_close(rows);
    free(seen);
}

static void rows_end_with_their_document(void **state)
{
    static const uint64_t shards[] = { 1, 100, 777, 1 << 20 };
    static const long lengths[] = { 1, 4, 8, 30, 200 };
    uint64_t start[DOCUMENTS + 1];
    (void)state;
    for (int s = 0; s < 4; s++) {
        struct oa_tokenizer *tok;
        struct oa_corpus corpus;
        pack_lines("test_training_rows", shards[s], start);
        open_packed("test_training_rows", 0.3, &tok, &corpus);
        uint64_t cut = corpus.train.count;
        for (int i = 0; i < 5; i++)
            for (long least = 1; least <= 2; least++) {
                struct oa_row_rule rule = { .length = lengths[i] + 1,
                                            .extra = least == 1,
                                            .least = least,
                                            .order = OA_ORDER_EPOCH,
                                            .borders = OA_BORDERS_SEPARATE,
                                            .seed = 4 };
                expect_document_rows(&corpus.train, &rule, start, 0, cut);
                expect_document_rows(&corpus.valid, &rule, start, cut, start[DOCUMENTS]);
                struct oa_tokens part = oa_tokens_part(&corpus.train, 33, 500, "part");
                expect_document_rows(&part, &rule, start, 33, 533); /* within documents */
            }
        oa_corpus_close(&corpus);
        oa_tokenizer_close(tok);
        remove_folder("test_training_rows");
    }
}

/* A language model never reads an end token, which would come before another document, and is
 * asked for each of them; validation and every step count their targets. */
static void batches_of_documents(void **state)
{
    uint64_t start[DOCUMENTS + 1];
    struct oa_tokenizer *tok;
    struct oa_corpus corpus;
    (void)state;
    pack_lines("test_training_rows", 900, start);
    open_packed("test_training_rows", 0, &tok, &corpus);
    for (int order = OA_ORDER_RANDOM; order <= OA_ORDER_EPOCH; order++) {
        struct oa_batches *b =
            open_batches(&corpus.train, 5, 12, (enum oa_data_order)order, OA_BORDERS_SEPARATE);
        struct oa_cover cover;
        long ends = 0, targets = 0, padding = 0, places = 0;
        for (uint64_t step = 1; step <= 30; step++) {
            struct oa_batch batch;
            struct oa_amount amount;
            long some = 0;
            oa_batches_amount(b, step, 1, &amount);
            assert_int_equal(oa_batches_random(b, step, 1, 0, &batch), OA_OK);
            for (int i = 0; i < 60; i++) {
                int t = i % 12, length = batch.lengths ? batch.lengths[i / 12] : 12;
                assert_int_not_equal(batch.input[i], END);
                assert_int_equal(batch.target[i] == OA_IGNORED, t >= length);
                some += t < length;
            }
            assert_true(amount.targets == (double)some && amount.tokens == (double)some);
            padding += 60 - some;
            places += 60;
        }
        struct oa_reading reading;
        oa_batches_reading(b, 30, 1, &reading);
        assert_true(fabs(reading.padding - (double)padding / (double)places) < 0.08);
        assert_int_equal(oa_batches_cover(b, tok, 0, &cover), OA_OK);
        assert_int_equal(cover.targets, start[DOCUMENTS] - DOCUMENTS);
        assert_int_equal(cover.bytes, start[DOCUMENTS] - 2 * DOCUMENTS);
        for (long i = 0; i < cover.batches; i++) {
            struct oa_batch batch;
            assert_int_equal(oa_batches_window(b, i, &batch), OA_OK);
            for (int k = 0; k < batch.rows * 12; k++) {
                ends += batch.target[k] == END;
                targets += batch.target[k] != OA_IGNORED;
            }
        }
        assert_int_equal(ends, DOCUMENTS);
        assert_int_equal(targets, cover.targets);
        assert_int_equal(oa_batches_cover(b, tok, 100, &cover), OA_OK);
        targets = 0;
        for (long i = 0; i < cover.batches; i++) {
            struct oa_batch batch;
            assert_int_equal(oa_batches_window(b, i, &batch), OA_OK);
            for (int k = 0; k < batch.rows * 12; k++)
                targets += batch.target[k] != OA_IGNORED;
        }
        assert_int_equal(targets, 100);
        oa_batches_close(b);
    }
    oa_corpus_close(&corpus);
    oa_tokenizer_close(tok);
    remove_folder("test_training_rows");
}

static void a_text_without_documents_is_refused(void **state)
{
    int32_t ids[50];
    struct oa_tokens t = counted_text(ids, 50);
    struct oa_text_batching how = { 2, 8, 1, OA_ORDER_EPOCH, OA_BORDERS_SEPARATE };
    struct oa_batches *b;
    (void)state;
    assert_int_equal(oa_text_batches_open(context, &t, &how, &b), OA_ARGUMENT);
    expect_failure(OA_ARGUMENT, "data.documents = separate: the training text has no documents");
}

/* A flipped byte, an index cut short, one that changes after it was opened. */
static void damaged_indices_are_named_with_their_place(void **state)
{
    static const char index[] = "test_training_rows/shard-00000.documents";
    uint64_t start[DOCUMENTS + 1];
    struct oa_tokenizer *tok;
    struct oa_corpus corpus;
    struct oa_text_row row;
    struct oa_text_rows *rows;
    struct oa_row_rule rule = { 8, 1, 1, OA_ORDER_EPOCH, OA_BORDERS_SEPARATE, 1 };
    (void)state;
    pack_lines("test_training_rows", 1 << 20, start);
    open_packed("test_training_rows", 0, &tok, &corpus);
    assert_int_equal(oa_text_rows_open(context, &corpus.train, &rule, &rows), OA_OK);
    FILE *f = fopen(index, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, 8 * 100 + 1, SEEK_SET), 0);
    fputc(0xff, f);
    fclose(f);
    assert_int_equal(oa_text_rows_at(rows, oa_text_rows_count(rows) - 1, &row), OA_IO);
    expect_failure(OA_IO, "shard-00000.documents has changed since this run opened it");
    oa_text_rows_close(rows);
    assert_int_equal(oa_text_rows_open(context, &corpus.train, &rule, &rows), OA_FORMAT);
    expect_failure(OA_FORMAT, "shard-00000.documents is damaged at byte 800: document 100 begins");
    assert_int_equal(truncate(index, 8 * DOCUMENTS - 3), 0);
    assert_int_equal(oa_text_rows_open(context, &corpus.train, &rule, &rows), OA_FORMAT);
    expect_failure(OA_FORMAT, "has 2397 bytes, not the 2400 of its 300 documents");
    remove(index);
    assert_int_equal(oa_text_rows_open(context, &corpus.train, &rule, &rows), OA_IO);
    expect_failure(OA_IO, "cannot read test_training_rows/shard-00000.documents: No such file");
    oa_corpus_close(&corpus);
    oa_tokenizer_close(tok);
    remove_folder("test_training_rows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permutations_are_bijections),
        cmocka_unit_test(permutations_are_uniform),
        cmocka_unit_test(large_permutations_stay_within),
        cmocka_unit_test(epochs_read_every_token_once),
        cmocka_unit_test(order_is_a_function_of_seed_and_step),
        cmocka_unit_test(shares_are_exact_at_any_time),
        cmocka_unit_test(weights_are_read_exactly),
        cmocka_unit_test(corpora_of_a_mixture_have_epochs_of_their_own),
        cmocka_unit_test(corpora_are_joined_and_held_out_each),
        cmocka_unit_test(rows_end_with_their_document),
        cmocka_unit_test(batches_of_documents),
        cmocka_unit_test(a_text_without_documents_is_refused),
        cmocka_unit_test(damaged_indices_are_named_with_their_place),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
