/* SPDX-License-Identifier: Apache-2.0
 * A text that is encoded in pieces of any size has the ids that it has as a whole. */
#include "testing.h"

#include "tokenizers/tokenizer.h"

#include <stdio.h>
#include <unistd.h>

enum { LENGTH = 30000, TRIES = 12 };
static oa_context *context;
static char text[LENGTH + 64];
static size_t length;

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

/* Words, runs of white space of all kinds and lengths, digits, signs, contractions, bytes that are
 * not UTF-8 if `invalid`, and special tokens. */
static void draw_text(uint64_t seed, bool invalid)
{
    static const char *const piece[] = { "word",
                                         " and",
                                         " ",
                                         "\n",
                                         "\r\n",
                                         "\t",
                                         "12345",
                                         " 7",
                                         "don't",
                                         "'ll",
                                         " ...!",
                                         "\xc3\xa9t\xc3\xa9",
                                         "\xe2\x80\x83",
                                         "\xe4\xb8\xad\xe6\x96\x87",
                                         "<|endoftext|>",
                                         "<|end",
                                         "          ",
                                         "\xf0\x9f\x99\x82",
                                         "\xff",
                                         "\xe2\x82" };
    enum { PIECES = sizeof piece / sizeof *piece };
    struct oa_stream s = oa_stream_named(seed, "settled");
    length = 0;
    for (uint64_t i = 0; length < LENGTH; i++) {
        const char *p = piece[oa_random_below(s, i, invalid ? PIECES : PIECES - 2)];
        size_t n = strlen(p), times = oa_random_below(s, i + 1000000, 40) ? 1 : 200;
        for (; times && length + n < LENGTH + 64; times--, length += n)
            memcpy(text + length, p, n);
    }
}

static void expect_same_ids(struct oa_tokenizer *tok, struct oa_stream s)
{
    struct oa_text_source source = { "text", text, length };
    struct oa_ids whole, pieces;
    size_t at = 0, end = 0, consumed;
    oa_ids_init(&whole, context);
    oa_ids_init(&pieces, context);
    assert_true(oa_tokenizer_streams(tok));
    assert_int_equal(oa_tokenizer_encode_part(tok, &source, text, length, &whole), OA_OK);
    for (uint64_t draw = 0; at < length || end < length; draw++) {
        end += 1 + oa_random_below(s, draw, draw % 3 ? 400 : 6000);
        end = end < length ? end : length;
        assert_int_equal(oa_tokenizer_encode_settled(tok, "text", text + at, end - at,
                                                     end == length, &pieces, &consumed),
                         OA_OK);
        at += consumed;
        assert_true(at <= end);
        if (end == length)
            break;
    }
    assert_int_equal(at, length);
    assert_int_equal(pieces.count, whole.count);
    assert_memory_equal(pieces.id, whole.id, whole.count * sizeof *whole.id);
    oa_ids_free(&whole);
    oa_ids_free(&pieces);
}

/* kind: as data.tokenizer. special: a token added to it, or NULL. */
static void encode_in_pieces(const char *kind, const char *special, bool invalid)
{
    static const char path[] = "test_encode_settled.txt";
    for (uint64_t seed = 1; seed <= TRIES; seed++) {
        struct oa_tokenizer *tok;
        int32_t id;
        draw_text(seed, invalid);
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(text, 1, length, f), length);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(oa_tokenizer_open(context, kind, path, NULL, &tok), OA_OK);
        if (special)
            assert_int_equal(oa_tokenizer_add_special(tok, special, &id), OA_OK);
        expect_same_ids(tok, oa_stream_named(seed, "pieces"));
        oa_tokenizer_close(tok);
        remove(path);
    }
}

static void characters_and_bytes_in_pieces(void **state)
{
    (void)state;
    encode_in_pieces("char", NULL, false);
    encode_in_pieces("byte", NULL, true);
    encode_in_pieces("byte", "<|endoftext|>", true);
}

static void words_in_pieces(void **state)
{
    (void)state;
    encode_in_pieces("bpe:300", NULL, true);
    encode_in_pieces("bpe:300", "<|endoftext|>", true);
    encode_in_pieces("word:100", NULL, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_and_bytes_in_pieces),
        cmocka_unit_test(words_in_pieces),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
