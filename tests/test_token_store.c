/* SPDX-License-Identifier: Apache-2.0
 * Token ids that stay in their files: every id at its place, whatever the shards; files that are
 * damaged, change or have foreign ids; a corpus that is not loaded. */
#include "testing.h"

#include "data/data.h"
#include "tasks/text_task.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { VOCABULARY = 70000 };

static oa_context *context;
static struct oa_tokenizer *tokenizer;

static char warning[1000];

static void keep_warning(void *argument, int level, const char *line)
{
    (void)argument;
    if (level == 0 && strncmp(line, "warning:", 8) == 0)
        snprintf(warning, sizeof warning, "%s", line);
}

static int open_all(void **state)
{
    (void)state;
    context = oa_open(&(struct oa_settings){ .log = keep_warning });
    return oa_tokenizer_open(context, "ids:70000", NULL, NULL, &tokenizer);
}

static int close_all(void **state)
{
    (void)state;
    oa_tokenizer_close(tokenizer);
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

/* The id at a place of the whole corpus: 16 bits where they are enough. */
static uint32_t id_at(uint64_t place, int width)
{
    return (uint32_t)(place * 7919 % (width == 2 ? 65536 : VOCABULARY));
}

static void write_ids(const char *path, uint64_t offset, uint64_t from, uint64_t count, int width)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    for (uint64_t i = 0; i < offset; i++)
        fputc(0xee, f);
    for (uint64_t i = 0; i < count; i++)
        for (int b = 0; b < width; b++)
            fputc((int)(id_at(from + i, width) >> 8 * b & 0xff), f);
    assert_int_equal(fclose(f), 0);
}

enum { FILES = 100, MOST = 9000 };

/* Of different lengths, some empty, every third with 32-bit ids, every fourth with a header. */
static struct oa_token_store *open_shards(uint32_t *expected, uint64_t *total)
{
    struct oa_id_file file[FILES];
    struct oa_token_store *store;
    char path[FILES][32];
    *total = 0;
    for (int i = 0; i < FILES; i++) {
        uint64_t count = i % 5 == 2 ? 0 : (uint64_t)(i * 37 % 90 + (i == 50 ? 4200 : 0));
        file[i] = (struct oa_id_file){ path[i], i % 4 == 1 ? 1024 : 0, count, i % 3 ? 2 : 4 };
        snprintf(path[i], sizeof path[i], "test_token_store_%d.bin", i);
        write_ids(path[i], file[i].offset, *total, count, file[i].width);
        for (uint64_t n = 0; n < count; n++)
            expected[*total + n] = id_at(*total + n, file[i].width);
        *total += count;
    }
    assert_true(*total < MOST);
    assert_int_equal(oa_token_store_open(tokenizer, file, FILES, &store), OA_OK);
    assert_int_equal(oa_token_store_count(store), *total);
    return store;
}

static void expect_ids(oa_context *c, struct oa_token_store *s, const uint32_t *expected,
                       uint64_t at, size_t n)
{
    int32_t found[MOST];
    assert_int_equal(oa_token_store_read(c, s, at, n, found), OA_OK);
    for (size_t i = 0; i < n; i++)
        if ((uint32_t)found[i] != expected[at + i])
            fail_msg("token %llu: %d, expected %u", (unsigned long long)(at + i), found[i],
                     expected[at + i]);
}

static void every_id_is_at_its_place(void **state)
{
    static uint32_t expected[MOST];
    uint64_t total;
    int32_t one;
    struct oa_token_store *s = open_shards(expected, &total);
    struct oa_stream stream = oa_stream_named(1, "places");
    (void)state;
    expect_ids(context, s, expected, 0, total);
    for (uint64_t i = 0; i < total; i++)
        expect_ids(context, s, expected, i, 1);
    for (uint64_t i = 0; i < 500; i++) {
        uint64_t at = oa_random_below(stream, 2 * i, total);
        expect_ids(context, s, expected, at, oa_random_below(stream, 2 * i + 1, total - at + 1));
    }
    assert_int_equal(oa_token_store_read(context, s, total, 0, &one), OA_OK);
    oa_token_store_read(context, s, total - 3, 4, &one);
    expect_failure(OA_INTERNAL, "do not exist");
    oa_token_store_release(s);
}

static int count_open_files(void)
{
    int n = 0;
    for (int fd = 0; fd < 4096; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void at_most_64_files_are_open(void **state)
{
    static uint32_t expected[MOST];
    uint64_t total;
    int before = count_open_files();
    struct oa_token_store *s = open_shards(expected, &total);
    (void)state;
    for (int i = 0; i < 3; i++) {
        expect_ids(context, s, expected, 0, total);
        assert_int_equal(count_open_files(), before + 64);
    }
    oa_token_store_release(s);
    assert_int_equal(count_open_files(), before);
}

struct reader {
    struct oa_token_store *store;
    const uint32_t *expected;
    uint64_t total;
    int number;
};

static void *read_at_random(void *argument)
{
    struct reader *r = argument;
    oa_context *c = oa_open(NULL);
    struct oa_stream stream = oa_stream_named((uint64_t)r->number + 1, "reader");
    for (uint64_t i = 0; i < 300; i++)
        expect_ids(c, r->store, r->expected, oa_random_below(stream, i, r->total - 50), 50);
    oa_close(c);
    return NULL;
}

static void several_threads_read_the_same_ids(void **state)
{
    static uint32_t expected[MOST];
    struct reader reader[4];
    pthread_t thread[4];
    uint64_t total;
    struct oa_token_store *s = open_shards(expected, &total);
    (void)state;
    for (int i = 0; i < 4; i++) {
        reader[i] = (struct reader){ s, expected, total, i };
        assert_int_equal(pthread_create(&thread[i], NULL, read_at_random, &reader[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    oa_token_store_release(s);
}

static struct oa_token_store *open_one(const char *path, uint64_t count)
{
    struct oa_id_file file = { (char *)(uintptr_t)path, 0, count, 2 };
    struct oa_token_store *store = NULL;
    oa_token_store_open(tokenizer, &file, 1, &store);
    return store;
}

static void damage_is_reported_with_its_place(void **state)
{
    static const char path[] = "test_token_store_damage.bin";
    int32_t found[100];
    (void)state;
    write_ids(path, 0, 0, 100, 2);
    assert_null(open_one(path, 101));
    expect_failure(OA_FORMAT, "has 200 bytes, not the 202 of its 101 ids: truncated");
    struct oa_token_store *s = open_one(path, 100);
    assert_int_equal(truncate(path, 150), 0);
    oa_token_store_read(context, s, 0, 100, found);
    expect_failure(OA_IO, "test_token_store_damage.bin has changed since this run opened it");
    oa_token_store_release(s);
    s = open_one(path, 75);
    struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    oa_token_store_read(context, s, 0, 1, found);
    expect_failure(OA_IO, "has changed");
    oa_token_store_release(s);
    s = open_one(path, 75);
    assert_int_equal(remove(path), 0);
    oa_token_store_read(context, s, 0, 1, found);
    expect_failure(OA_IO, path);
    oa_token_store_release(s);
    assert_null(open_one(path, 75));
    expect_failure(OA_IO, path);
}

static void foreign_ids_are_refused(void **state)
{
    static const char path[] = "test_token_store_foreign.bin";
    struct oa_tokenizer *small;
    struct oa_id_file file = { (char *)(uintptr_t)path, 0, 100, 2 };
    struct oa_token_store *s;
    int32_t found[100];
    (void)state;
    write_ids(path, 0, 0, 100, 2);
    assert_int_equal(oa_tokenizer_open(context, "ids:32000", NULL, NULL, &small), OA_OK);
    assert_int_equal(oa_token_store_open(small, &file, 1, &s), OA_OK);
    oa_tokenizer_close(small);
    assert_int_equal(oa_token_store_read(context, s, 0, 5, found), OA_OK);
    oa_token_store_read(context, s, 3, 10, found); /* 5 · 7919 = 39595 */
    expect_failure(OA_FORMAT, "token 5 is id 39595, which the tokenizer lacks (ids 0 to 31999)");
    oa_token_store_release(s);
}

/* ---- a corpus in files ---- */

enum { COUNT = (40 << 20) / 2 };
static const char large[] = "test_token_store_large.bin";

static uint16_t large_id(uint64_t place)
{
    return (uint16_t)(place % 50021);
}

static void write_large(void)
{
    uint16_t *ids = malloc(COUNT * sizeof *ids);
    assert_non_null(ids);
    for (uint64_t i = 0; i < COUNT; i++)
        ids[i] = large_id(i);
    FILE *f = fopen(large, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(ids, sizeof *ids, COUNT, f), COUNT);
    assert_int_equal(fclose(f), 0);
    free(ids);
}

static void expect_consecutive(const int32_t *ids, const int32_t *next, int n, int32_t first)
{
    for (int i = 0; i < n; i++) {
        assert_int_equal(ids[i], (first + i) % 50021);
        assert_int_equal(next[i], (first + i + 1) % 50021);
    }
}

static void a_large_file_is_not_loaded(void **state)
{
    struct oa_corpus corpus;
    struct oa_batches *train, *valid;
    struct oa_batch batch;
    struct oa_cover cover;
    (void)state;
    write_large();
    assert_int_equal(oa_corpus_open(context, tokenizer, large, NULL, 0.25, &corpus), OA_OK);
    assert_null(corpus.train.ids);
    assert_int_equal(corpus.train.count, COUNT / 4 * 3);
    assert_int_equal(corpus.valid.count, COUNT / 4);
    assert_int_equal(oa_batches_open(context, &corpus.train, 8, 100, 1, &train), OA_OK);
    for (uint64_t step = 1; step < 20; step++) {
        assert_int_equal(oa_batches_random(train, step, 1, 0, &batch), OA_OK);
        for (int r = 0; r < 8; r++)
            expect_consecutive(batch.input + 100 * r, batch.target + 100 * r, 100,
                               batch.input[100 * r]);
    }
    assert_int_equal(oa_batches_open(context, &corpus.valid, 8, 100, 1, &valid), OA_OK);
    assert_int_equal(oa_batches_cover(valid, tokenizer, 1950, &cover), OA_OK);
    assert_int_equal(cover.batches, 3);
    assert_int_equal(oa_batches_window(valid, 1, &batch), OA_OK);
    expect_consecutive(batch.input, batch.target, 800, (COUNT / 4 * 3 + 800) % 50021);
    oa_batches_close(train);
    oa_batches_close(valid);
    oa_corpus_close(&corpus);
}

/* The held-out block is in the middle; training text is what is before and after it. */
static void a_block_in_the_middle_is_held_out(void **state)
{
    struct oa_corpus corpus, held;
    int32_t around[4];
    (void)state;
    assert_int_equal(oa_corpus_open_split(context, tokenizer, large, NULL, 0.25, 3, &corpus),
                     OA_OK);
    uint64_t gap = corpus.train.span[0].count;
    assert_true(gap > 0 && gap < corpus.train.count);
    assert_int_equal(oa_tokens_read(context, &corpus.train, gap - 2, 4, around), OA_OK);
    assert_int_equal(around[0], large_id(gap - 2));
    assert_int_equal(around[1], large_id(gap - 1));
    assert_int_equal(around[2], large_id(gap + COUNT / 4));
    assert_int_equal(around[3], large_id(gap + COUNT / 4 + 1));
    assert_int_equal(oa_tokens_read(context, &corpus.valid, 0, 1, around), OA_OK);
    assert_int_equal(around[0], large_id(gap));
    assert_int_equal(oa_corpus_hold_out(context, tokenizer, &corpus.train, 0.1, &held), OA_OK);
    assert_int_equal(held.train.count + held.valid.count, corpus.train.count);
    assert_int_equal(oa_tokens_read(context, &held.valid, held.valid.count - 1, 1, around), OA_OK);
    assert_int_equal(around[0], large_id(COUNT - 1));
    assert_string_not_equal(held.train.digest.hex, corpus.train.digest.hex);
    oa_corpus_close(&corpus);
}

static void a_part_continues_across_the_gap(void **state)
{
    struct oa_tokens t = { .span = { { NULL, NULL, 10, 5 }, { NULL, NULL, 100, 7 } },
                           .spans = 2,
                           .count = 12 };
    (void)state;
    for (uint64_t at = 0; at <= 12; at++)
        for (uint64_t n = 0; n <= 12 - at; n++) {
            struct oa_tokens part = oa_tokens_part(&t, at, n, "part");
            uint64_t first = at < 5 ? (n < 5 - at ? n : 5 - at) : 0;
            assert_int_equal(part.span[0].count, first);
            assert_int_equal(part.span[1].count, n - first);
            assert_true(!first || part.span[0].from == 10 + at);
            assert_true(n == first || part.span[1].from == 100 + (at > 5 ? at - 5 : 0));
        }
}

static void a_digest_sees_the_ends_and_the_length(void **state)
{
    struct oa_corpus a, b;
    uint16_t other = 1;
    (void)state;
    assert_int_equal(oa_corpus_open(context, tokenizer, large, NULL, 0, &a), OA_OK);
    FILE *f = fopen(large, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, -2, SEEK_END), 0);
    assert_int_equal(fwrite(&other, 2, 1, f), 1);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(oa_corpus_open(context, tokenizer, large, NULL, 0, &b), OA_OK);
    assert_string_not_equal(a.train.digest.hex, b.train.digest.hex);
    oa_corpus_close(&b);
    assert_int_equal(truncate(large, (COUNT - 1) * 2L), 0);
    assert_int_equal(oa_corpus_open(context, tokenizer, large, NULL, 0, &b), OA_OK);
    assert_string_not_equal(a.train.digest.hex, b.train.digest.hex);
    oa_corpus_close(&a);
    oa_corpus_close(&b);
}

/* The validation side repeats what the training side has (the ids have a period of 50021). */
static void overlap_is_found_in_files(void **state)
{
    struct oa_corpus corpus;
    struct oa_text_overlap o;
    (void)state;
    assert_int_equal(oa_corpus_open(context, tokenizer, large, NULL, 0.25, &corpus), OA_OK);
    assert_int_equal(oa_corpus_overlap(context, &corpus, &o), OA_OK);
    assert_true(o.sampled); /* of the validation side */
    assert_true(o.searched == 1);
    assert_int_equal(o.pieces, OA_OVERLAP_VALIDATION / OA_OVERLAP_TOKENS);
    assert_int_equal(o.found, o.pieces);
    oa_corpus_close(&corpus);
    remove(large);
}

/* An id at each place of a file that is larger than what is searched: never the same 64 twice. */
static uint16_t long_id(uint64_t i)
{
    i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9;
    return (uint16_t)((i ^ i >> 27) % 50000);
}

/* The warning of a task on this text, of which a quarter is searched: half of the pieces occur in
 * all of it. */
static void expect_warning(const char *path, const char *held, uint64_t found)
{
    struct oa_options o;
    struct oa_workload w = { 0 };
    unsigned long long pieces, there;
    double searched, all;
    oa_options_default(&o);
    assert_int_equal(oa_options_set(context, &o, "data.train", path), OA_OK);
    assert_int_equal(oa_options_set(context, &o, "data.valid", held), OA_OK);
    assert_int_equal(oa_options_set(context, &o, "data.tokenizer", "ids:65536"), OA_OK);
    assert_int_equal(oa_text_task_open(context, &o, (const char *const[]){ NULL }, 0, &w), OA_OK);
    assert_int_equal(sscanf(warning,
                            "warning: of %llu pieces of 64 tokens, a sample of the validation "
                            "text, %llu occur verbatim in %lf %% of the training text, which were "
                            "searched; in all of it about %lf %%",
                            &pieces, &there, &searched, &all),
                     4);
    assert_int_equal(there, found);
    assert_true(searched == 25);
    assert_true(fabs(all - 50) < 8); /* σ = 50 · 28/1024 = 1.4 */
    oa_workload_close(&w);
}

/* Of 4,096 pieces that occur once in the training ids, as many are found as the share that is
 * searched, within 5 standard deviations of blocks; and none of those that occur nowhere. */
static void a_sample_finds_its_share_of_an_overlap(void **state)
{
    static const char path[] = "test_store_long.bin", held[] = "test_store_held.bin";
    enum { SPREAD = 4096 };
    uint64_t count = (uint64_t)OA_OVERLAP_TRAINING * 4;
    struct oa_corpus corpus;
    struct oa_text_overlap o;
    (void)state;
    FILE *f = fopen(path, "wb"), *g = fopen(held, "wb");
    assert_true(f && g);
    for (uint64_t i = 0; i < count; i++) {
        uint16_t id = long_id(i);
        assert_int_equal(fwrite(&id, 2, 1, f), 1);
    }
    for (uint64_t i = 0; i < 2 * SPREAD; i++)
        for (uint64_t k = 0; k < OA_OVERLAP_TOKENS; k++) {
            uint64_t place = i % 2 ? 2 * count + 64 * i : (count - 64) / SPREAD * (i / 2);
            uint16_t id = long_id(place + k);
            assert_int_equal(fwrite(&id, 2, 1, g), 1);
        }
    assert_int_equal(fclose(f) | fclose(g), 0);
    assert_int_equal(oa_corpus_open(context, tokenizer, path, held, 0, &corpus), OA_OK);
    assert_int_equal(oa_corpus_overlap(context, &corpus, &o), OA_OK);
    assert_true(o.sampled && o.searched == 0.25);
    assert_int_equal(o.pieces, 2 * SPREAD);
    assert_in_range(o.found, SPREAD / 4 - 140, SPREAD / 4 + 140); /* σ = √(4096 · ¼ · ¾) = 28 */
    expect_warning(path, held, o.found);
    /* Pieces across the borders of what is read at a time. */
    int32_t across[15 * OA_OVERLAP_TOKENS];
    for (uint64_t i = 0; i < 15; i++)
        for (uint64_t k = 0; k < OA_OVERLAP_TOKENS; k++)
            across[i * OA_OVERLAP_TOKENS + k] = long_id((i + 1) * 65536 - 4 * i - 1 + k);
    struct oa_corpus part = { .train = oa_tokens_part(&corpus.train, 0, 1 << 20, "part"),
                              .valid = { .ids = across, .count = 15 * OA_OVERLAP_TOKENS } };
    assert_int_equal(oa_corpus_overlap(context, &part, &o), OA_OK);
    assert_true(!o.sampled && o.searched == 1);
    assert_int_equal(o.found, 15);
    oa_corpus_close(&corpus);
    remove(path);
    remove(held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_id_is_at_its_place),
        cmocka_unit_test(at_most_64_files_are_open),
        cmocka_unit_test(several_threads_read_the_same_ids),
        cmocka_unit_test(damage_is_reported_with_its_place),
        cmocka_unit_test(foreign_ids_are_refused),
        cmocka_unit_test(a_large_file_is_not_loaded),
        cmocka_unit_test(a_block_in_the_middle_is_held_out),
        cmocka_unit_test(a_part_continues_across_the_gap),
        cmocka_unit_test(a_digest_sees_the_ends_and_the_length),
        cmocka_unit_test(overlap_is_found_in_files),
        cmocka_unit_test(a_sample_finds_its_share_of_an_overlap),
    };
    threads_only("*threads*");
    return cmocka_run_group_tests(tests, open_all, close_all);
}
