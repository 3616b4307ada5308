/* SPDX-License-Identifier: Apache-2.0
 * Corpus and batches of running text: what is read, cut in two, drawn and covered; batches depend
 * on nothing but their arguments. */
#include "data/data.h"
#include "text_setup.h"

#include <stdlib.h>

/* ---- corpus
 * --------------------------------------------------------------------------------------------------
 */

static void test_corpus_as_nanogpt(void **state)
{
    (void)state;
    static const char *const specs[] = { "char", "byte", "bpe:300" };
    for (int k = 0; k < 3; k++) {
        struct oa_tokenizer *tok = open_tokenizer(specs[k], SHAKESPEARE);
        struct oa_corpus corpus;
        expect_ok(oa_corpus_open(context, tok, SHAKESPEARE, "", 0.1, &corpus));
        assert_int_equal(corpus.train.characters, 1003854);
        assert_int_equal(corpus.valid.characters, 111540);
        assert_int_equal(corpus.valid.bytes, 111540);
        if (k < 2)
            assert_int_equal(corpus.train.count, 1003854);
        assert_string_not_equal(corpus.train.digest.hex, corpus.valid.digest.hex);
        oa_corpus_close(&corpus);
        oa_tokenizer_close(tok);
    }
}

static void test_corpus_cut_is_at_a_character(void **state)
{
    (void)state;
    struct oa_corpus corpus;
    put("t", "ééééé", 10);
    put("v", "aé", 3);
    struct oa_tokenizer *tok = open_tokenizer("byte", "");
    expect_ok(oa_corpus_open(context, tok, "t", NULL, 0.5, &corpus));
    assert_int_equal(corpus.train.count, 4);
    assert_int_equal(corpus.valid.count, 6);
    assert_int_equal(corpus.valid.characters, 3);
    oa_corpus_close(&corpus);
    expect_ok(oa_corpus_open(context, tok, "t", "v", 0.5, &corpus));
    assert_int_equal(corpus.train.count, 10);
    assert_int_equal(corpus.valid.count, 3);
    oa_corpus_close(&corpus);
    expect_ok(oa_corpus_open(context, tok, "t", "", 0, &corpus));
    assert_int_equal(corpus.valid.count, 0);
    oa_corpus_close(&corpus);
    oa_tokenizer_close(tok);
}

static void test_corpus_refuses(void **state)
{
    (void)state;
    struct oa_corpus corpus;
    struct oa_tokenizer *tok;
    put("t", "one\ntwo\n", 8);
    put("v", "one\ntx\n", 7);
    put("empty", "", 0);
    tok = open_tokenizer("char", "t");
    assert_int_equal(oa_corpus_open(context, tok, "t", "v", 0, &corpus), OA_FORMAT);
    expect_error(OA_FORMAT, "v:2 (byte 5): character 'x'");
    assert_int_equal(oa_corpus_open(context, tok, "empty", "", 0.1, &corpus), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "empty has no text");
    assert_int_equal(oa_corpus_open(context, tok, "", "", 0.1, &corpus), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "data.train");
    oa_tokenizer_close(tok);
}

/* ---- batches
 * -------------------------------------------------------------------------------------------------
 */

static struct oa_tokens counting(size_t count)
{
    struct oa_tokens tokens = { .ids = malloc(count * sizeof(int32_t)),
                                .count = count,
                                .name = "training text" };
    for (size_t i = 0; i < count; i++)
        tokens.ids[i] = (int32_t)(i % 256);
    return tokens;
}

static struct oa_batches *open_batches(const struct oa_tokens *tokens, int rows, int length,
                                       uint64_t seed)
{
    struct oa_batches *b;
    expect_ok(oa_batches_open(context, tokens, rows, length, seed, &b));
    return b;
}

static void test_random_batches(void **state)
{
    (void)state;
    struct oa_tokens tokens = counting(1000);
    struct oa_batches *four = open_batches(&tokens, 4, 16, 5),
                      *whole = open_batches(&tokens, 8, 16, 5);
    struct oa_batches *other = open_batches(&tokens, 8, 16, 6);
    struct oa_batch a, b, c;
    bool differs = false;
    for (uint64_t step = 0; step < 20; step++) {
        expect_ok(oa_batches_random(whole, step, 1, 0, &b));
        expect_ok(oa_batches_random(other, step, 1, 0, &c));
        differs = differs || memcmp(b.input, c.input, 128 * sizeof(int32_t)) != 0;
        for (uint64_t micro = 0; micro < 2; micro++) {
            long before = oa_allocations(context);
            expect_ok(oa_batches_random(four, step, 4, micro, &a));
            assert_int_equal(oa_allocations(context), before);
            assert_memory_equal(a.input, b.input + 64 * micro, 64 * sizeof(int32_t));
            assert_memory_equal(a.target, b.target + 64 * micro, 64 * sizeof(int32_t));
        }
        for (int i = 0; i < 128; i++)
            assert_int_equal(b.target[i], (b.input[i] + 1) % 256);
    }
    assert_true(differs);
    oa_batches_close(four);
    oa_batches_close(whole);
    oa_batches_close(other);
    free(tokens.ids);
}

/* Every start is drawn about equally often, the first and the last one too. */
static void test_random_positions(void **state)
{
    (void)state;
    struct oa_tokens tokens = counting(24);
    struct oa_batches *b = open_batches(&tokens, 50, 16, 1);
    struct oa_batch batch;
    int seen[9] = { 0 };
    for (uint64_t step = 0; step < 160; step++) {
        expect_ok(oa_batches_random(b, step, 1, 0, &batch));
        for (int r = 0; r < 50; r++)
            seen[batch.input[r * 16]]++;
    }
    assert_int_equal(seen[8], 0);
    for (int i = 0; i < 8; i++)
        assert_in_range(seen[i], 850, 1150);
    oa_batches_close(b);
    free(tokens.ids);
}

static void test_short_corpus(void **state)
{
    (void)state;
    struct oa_tokens tokens = counting(16);
    struct oa_batches *b = open_batches(&tokens, 2, 16, 1);
    struct oa_batch batch;
    assert_int_equal(oa_batches_random(b, 0, 1, 0, &batch), OA_SHAPE);
    expect_error(OA_SHAPE,
                 "the training text has 16 tokens; a row of 16 tokens and the next one need 17");
    oa_batches_close(b);
    tokens.count = 1;
    assert_int_equal(oa_batches_open(context, &tokens, 2, 16, 1, &b), OA_SHAPE);
    expect_error(OA_SHAPE, "1 tokens");
    assert_int_equal(oa_batches_open(context, &tokens, 0, 16, 1, &b), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "0 rows");
    free(tokens.ids);
}

/* Every token but the first is a target once, in order, for any rows, length, count and limit. */
static void check_cover(const struct oa_tokens *tokens, const struct oa_tokenizer *tok, int rows,
                        int length, uint64_t limit)
{
    struct oa_batches *b = open_batches(tokens, rows, length, 0);
    struct oa_cover cover;
    struct oa_batch batch;
    uint64_t next = 1, expected = limit && limit < tokens->count - 1 ? limit : tokens->count - 1;
    expect_ok(oa_batches_cover(b, tok, limit, &cover));
    assert_int_equal(cover.targets, expected);
    assert_int_equal(cover.bytes, expected);
    for (long i = 0; i < cover.batches; i++) {
        expect_ok(oa_batches_window(b, i, &batch));
        assert_in_range(batch.rows, 1, rows);
        if (expected < (uint64_t)length) /* no padding, which a long context would make long */
            assert_int_equal(batch.length, expected);
        for (int k = 0; k < batch.rows * batch.length; k++) {
            if (batch.target[k] == OA_IGNORED)
                continue;
            assert_int_equal(batch.input[k], tokens->ids[next - 1]);
            assert_int_equal(batch.target[k], tokens->ids[next++]);
        }
    }
    assert_int_equal(next, expected + 1);
    assert_int_equal(oa_batches_window(b, cover.batches, &batch), OA_ARGUMENT);
    oa_clear_error(context);
    oa_batches_close(b);
}

static void test_validation_covers(void **state)
{
    (void)state;
    struct oa_tokenizer *tok = open_tokenizer("byte", "");
    for (size_t count = 2; count < 70; count += 3) {
        struct oa_tokens tokens = counting(count);
        for (int rows = 1; rows < 5; rows++)
            for (uint64_t limit = 0; limit < 40; limit += 13)
                check_cover(&tokens, tok, rows, 8, limit);
        free(tokens.ids);
    }
    oa_tokenizer_close(tok);
}

static void test_cover_counts_characters(void **state)
{
    (void)state;
    struct oa_corpus corpus;
    struct oa_cover cover;
    put("t", "aébc漢", 8);
    struct oa_tokenizer *tok = open_tokenizer("byte", "");
    expect_ok(oa_corpus_open(context, tok, "t", "", 0, &corpus));
    struct oa_batches *b = open_batches(&corpus.train, 1, 4, 0);
    expect_ok(oa_batches_cover(b, tok, 0, &cover));
    assert_int_equal(cover.characters, 4);
    assert_int_equal(cover.bytes, 7);
    expect_ok(oa_batches_cover(b, tok, 3, &cover));
    assert_int_equal(cover.characters, 2);
    assert_int_equal(cover.batches, 1);
    oa_batches_close(b);
    oa_corpus_close(&corpus);
    oa_tokenizer_close(tok);
}

/* ---- the validation side in the training side ---- */

static bool stands_in(const struct oa_tokens *train, const int32_t *piece)
{
    for (size_t at = 0; at + OA_OVERLAP_TOKENS <= train->count; at++)
        if (memcmp(train->ids + at, piece, OA_OVERLAP_TOKENS * sizeof *piece) == 0)
            return true;
    return false;
}

static void expect_overlap(const struct oa_corpus *corpus, uint64_t expected)
{
    struct oa_text_overlap o;
    uint64_t found = 0, pieces = corpus->valid.count / OA_OVERLAP_TOKENS;
    expect_ok(oa_corpus_overlap(context, corpus, &o));
    for (uint64_t i = 0; i < pieces; i++)
        found += stands_in(&corpus->train, corpus->valid.ids + i * OA_OVERLAP_TOKENS);
    assert_int_equal(o.pieces, pieces);
    assert_int_equal(o.found, found);
    assert_int_equal(o.found, expected);
}

/* Of 20 pieces the odd ones are made of training tokens, at any offset; one of these twice, and one
 * that differs in its last token. */
static void test_overlap(void **state)
{
    enum { TRAIN = 5000, PIECES = 20, VALID = PIECES * OA_OVERLAP_TOKENS + 17 };
    static int32_t train[TRAIN], valid[VALID];
    struct oa_corpus corpus = { .train = { .ids = train, .count = TRAIN },
                                .valid = { .ids = valid, .count = VALID } };
    uint64_t chance = 1;
    (void)state;
    for (int i = 0; i < TRAIN + VALID; i++) {
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        *(i < TRAIN ? &train[i] : &valid[i - TRAIN]) = (int32_t)(chance >> 62);
    }
    expect_overlap(&corpus, 0);
    for (int i = 1; i < PIECES; i += 2)
        memcpy(valid + i * OA_OVERLAP_TOKENS, train + 37 * i * i % (TRAIN - OA_OVERLAP_TOKENS),
               OA_OVERLAP_TOKENS * sizeof *valid);
    expect_overlap(&corpus, 10);
    memcpy(valid + 4 * OA_OVERLAP_TOKENS, valid + 3 * OA_OVERLAP_TOKENS,
           OA_OVERLAP_TOKENS * sizeof *valid);
    expect_overlap(&corpus, 11);
    valid[8 * OA_OVERLAP_TOKENS - 1] ^= 1;
    expect_overlap(&corpus, 10);
    memcpy(valid, train + TRAIN - OA_OVERLAP_TOKENS, OA_OVERLAP_TOKENS * sizeof *valid);
    expect_overlap(&corpus, 11);
    memcpy(valid, train, OA_OVERLAP_TOKENS * sizeof *valid);
    expect_overlap(&corpus, 11);
    corpus.valid.count = OA_OVERLAP_TOKENS - 1;
    expect_overlap(&corpus, 0);
    corpus.train.count = OA_OVERLAP_TOKENS;
    corpus.valid.count = VALID;
    expect_overlap(&corpus, 1);
    corpus.train.count = OA_OVERLAP_TOKENS - 1;
    expect_overlap(&corpus, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_corpus_as_nanogpt), TEST(test_corpus_cut_is_at_a_character),
        TEST(test_corpus_refuses),    TEST(test_random_batches),
        TEST(test_random_positions),  TEST(test_short_corpus),
        TEST(test_validation_covers), TEST(test_cover_counts_characters),
        TEST(test_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
