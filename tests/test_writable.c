/* SPDX-License-Identifier: Apache-2.0
 * What a model writes: bytes become the text that Python makes of them, in whatever pieces they
 * come; the next tokens are those after which Python decodes some text; a wide beam finds the
 * likeliest UTF-8 text of all. */
#include "testing.h"

#include "decode/beam.h"
#include "decode/characters.h"
#include "decode/decode.h"
#include "decode/writable.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define VECTORS SOURCE_DIR "/tests/data/utf8_replace.txt"
enum { LINE = 2048, BYTES = 256, END = BYTES, LONGEST = 2, WIDTH = 300 };

static size_t unhex(const char *hex, char *out)
{
    unsigned byte;
    size_t n = 0;
    while (sscanf(hex + 2 * n, "%2x", &byte) == 1)
        out[n++] = (char)byte;
    return n;
}

/* ---- bytes to text ---- */

static void check_text(oa_context *c, const char *bytes, size_t n, const char *want, size_t wanted)
{
    struct oa_text whole;
    oa_text_init(&whole, c);
    oa_characters_text(bytes, n, &whole);
    assert_int_equal(whole.length, wanted);
    assert_memory_equal(whole.s ? whole.s : "", want, wanted);
    oa_text_free(&whole);
    for (size_t cut = 0; cut <= n; cut++) {
        struct oa_characters s = { 0 };
        struct oa_text text;
        oa_text_init(&text, c);
        oa_characters_add(&s, bytes, cut, &text);
        oa_characters_add(&s, bytes + cut, n - cut, &text);
        oa_characters_end(&s, &text);
        assert_int_equal(text.length, wanted);
        assert_memory_equal(text.s ? text.s : "", want, wanted);
        oa_text_free(&text);
    }
}

static void decoded_text_equals_pythons(void **state)
{
    char line[LINE], from[LINE], to[LINE], bytes[LINE], want[LINE];
    oa_context *c = oa_open(NULL);
    FILE *f = fopen(VECTORS, "r");
    int vectors = 0;
    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (line[0] != '#' && line[0] != '?' && sscanf(line, "%2047s %2047s", from, to) == 2) {
            size_t wanted = unhex(to, want);
            check_text(c, bytes, unhex(from, bytes), want, wanted);
            vectors++;
        }
    fclose(f);
    assert_true(vectors > 900);
    oa_close(c);
}

/* ---- which tokens ---- */

static struct oa_tokenizer *open_tokenizer(oa_context *c, const char *kind, const char *text)
{
    struct oa_tokenizer *tok;
    struct oa_text train;
    oa_text_init(&train, c);
    oa_text_add(&train, text, strlen(text));
    assert_int_equal(oa_tokenizer_open_texts(c, kind, &train, NULL, &tok), OA_OK);
    oa_text_free(&train);
    return tok;
}

static struct oa_writable *open_writable(struct oa_tokenizer *tok, long vocabulary,
                                         const struct oa_writing_rules *rules)
{
    struct oa_writable *w;
    assert_int_equal(oa_writable_open(oa_tokenizer_context(tok), tok, vocabulary, rules, &w),
                     OA_OK);
    return w;
}

static struct oa_tokenizer *open_bytes(oa_context *c, int32_t *begin, int32_t *end)
{
    struct oa_tokenizer *tok = open_tokenizer(c, "byte", "x");
    assert_int_equal(oa_tokenizer_add_special(tok, "</s>", end), OA_OK);
    assert_int_equal(oa_tokenizer_add_special(tok, "<s>", begin), OA_OK);
    assert_int_equal(*end, END);
    return tok;
}

static void check_followers(const struct oa_writable *w, const char *prefix, size_t n,
                            const char *follow, size_t count)
{
    float logits[BYTES + 2] = { 0 };
    uint8_t state = OA_CHARACTER_WHOLE;
    for (size_t i = 0; i < n; i++)
        state = oa_writable_after(w, state, (uint8_t)prefix[i]);
    oa_writable_mask(w, state, logits);
    for (int b = 0; b < BYTES; b++)
        assert_int_equal(logits[b] == 0, memchr(follow, b, count) != NULL);
    assert_int_equal(logits[END] == 0, oa_utf8_valid_length(prefix, n) == n);
    assert_true(logits[END + 1] == -INFINITY);
}

static void allowed_bytes_are_those_of_python(void **state)
{
    char line[LINE], from[LINE], to[LINE], prefix[LINE], follow[LINE];
    oa_context *c = oa_open(NULL);
    int32_t begin, end;
    struct oa_tokenizer *tok = open_bytes(c, &begin, &end);
    struct oa_writable *w = open_writable(tok, BYTES + 2, &(struct oa_writing_rules){ .end = end });
    FILE *f = fopen(VECTORS, "r");
    int vectors = 0;
    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "? %2047s %2047s", from, to) == 2) {
            size_t count = unhex(to, follow);
            check_followers(w, prefix, from[0] == '-' ? 0 : unhex(from, prefix), follow, count);
            vectors++;
        }
    fclose(f);
    assert_int_equal(vectors, 18);
    oa_writable_close(w);
    oa_tokenizer_close(tok);
    oa_close(c);
}

/* A vocabulary in which nothing continues a character: what is left are all tokens that targets can
 * contain. */
static void a_character_without_continuation_may_stay_incomplete(void **state)
{
    static const char json[] =
        "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[],"
        "\"normalizer\":null,"
        "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":"
        "true,\"use_regex\":true}"
        ","
        "\"post_processor\":null,\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,"
        "\"trim_offsets\":true,"
        "\"use_regex\":true},\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,"
        "\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\"fuse_unk\":false,\"byte_"
        "fallback\":false,"
        "\"ignore_merges\":false,\"vocab\":{\"a\":0,\"\303\203\":1},\"merges\":[]}}";
    oa_context *c = oa_open(NULL);
    struct oa_tokenizer *tok;
    int32_t end;
    float logits[3] = { 0 };
    (void)state;
    assert_int_equal(oa_tokenizer_parse(c, "two bytes", json, sizeof json - 1, &tok), OA_OK);
    assert_int_equal(oa_tokenizer_add_special(tok, "</s>", &end), OA_OK);
    struct oa_writable *w = open_writable(tok, 3, &(struct oa_writing_rules){ .end = end });
    oa_writable_mask(w, oa_writable_after(w, OA_CHARACTER_WHOLE, 1), logits);
    for (int i = 0; i < 3; i++)
        assert_true(logits[i] == 0);
    assert_int_equal(oa_writable_after(w, oa_writable_after(w, OA_CHARACTER_WHOLE, 1), 0),
                     OA_CHARACTER_WHOLE);
    oa_writable_close(w);
    oa_tokenizer_close(tok);
    oa_close(c);
}

static void check_specials(struct oa_tokenizer *tok, const struct oa_writing_rules *rules,
                           const char *written)
{
    long vocabulary = oa_tokenizer_size(tok) + 3;
    float *logits = calloc((size_t)vocabulary, sizeof *logits);
    struct oa_writable *w = open_writable(tok, vocabulary, rules);
    oa_writable_mask(w, OA_CHARACTER_WHOLE, logits);
    for (int32_t id = 0; id < vocabulary; id++) {
        const char *piece = id < oa_tokenizer_size(tok) ? oa_tokenizer_piece(tok, id) : NULL;
        bool special = piece && oa_tokenizer_is_special(tok, id);
        assert_int_equal(logits[id] == 0, piece && (!special || strstr(written, piece)));
    }
    oa_writable_close(w);
    free(logits);
}

static void special_tokens_are_written_where_targets_have_them(void **state)
{
    static char *const had[] = { "<|eot|>" };
    const struct oa_labels some = { (char **)(uintptr_t)had, 1, false };
    static const char *const special[] = { "<s>", "[MASK]", "<extra_id_0>", "<|eot|>", "</s>" };
    oa_context *c = oa_open(NULL);
    struct oa_tokenizer *tok =
        open_tokenizer(c, "word:20", "a a b b s s id id MASK MASK eot eot < < > > [ [");
    int32_t id, unknown = oa_tokenizer_unknown(tok);
    (void)state;
    for (int i = 0; i < 5; i++)
        assert_int_equal(oa_tokenizer_add_special(tok, special[i], &id), OA_OK);
    assert_string_equal(oa_tokenizer_piece(tok, unknown), "<unk>");
    check_specials(tok, &(struct oa_writing_rules){ .end = id }, "<unk> </s>");
    check_specials(tok, &(struct oa_writing_rules){ .end = -1, .spelt = true },
                   "<unk> <s> [MASK] <extra_id_0> <|eot|> </s>");
    check_specials(tok, &(struct oa_writing_rules){ .end = -1, .spelt = true, .specials = &some },
                   "<unk> <|eot|>");
    check_specials(tok,
                   &(struct oa_writing_rules){
                       .end = -1, .spelt = true, .specials = &(struct oa_labels){ 0 } },
                   "<unk>");
    assert_int_equal(oa_status(c), OA_OK);
    oa_tokenizer_close(tok);
    oa_close(c);
}

/* ---- beams ---- */

struct bytes_model {
    struct oa_writable *w;
    uint8_t state[WIDTH];
    int before[WIDTH]; /* the byte at the end of each row; -1: none */
    int32_t begin;
};

/* Heads of characters are likely, and what ends them is not. */
static float logit_of(int before, int id)
{
    return (float)(2 * sin(0.37 * before + 1.1 * id) + (id >= 0xc0 && id < END) -
                   (before >= 0xc0 && id == END ? -3 : 1));
}

static double log_sum(int before)
{
    double sum = 0;
    for (int id = 0; id < BYTES + 2; id++)
        sum += exp((double)logit_of(before, id));
    return log(sum);
}

static enum oa_error next(void *argument, int rows, const int *source, const int *parent,
                          const int32_t *ids, float *logits, double *sums)
{
    struct bytes_model *m = argument;
    struct bytes_model old = *m;
    (void)source;
    for (int r = 0; r < rows; r++) {
        float *row = logits + r * (BYTES + 2);
        m->before[r] = parent[r] < 0 ? -1 : ids[r];
        m->state[r] = parent[r] < 0 ? OA_CHARACTER_WHOLE
                                    : oa_writable_after(m->w, old.state[parent[r]], ids[r]);
        for (int id = 0; id < BYTES + 2; id++)
            row[id] = logit_of(m->before[r], id);
        sums[r] = log_sum(m->before[r]);
        oa_writable_mask(m->w, m->state[r], row);
    }
    return OA_OK;
}

/* The likeliest of all texts of at most two bytes that are UTF-8. */
static double enumerate(char best[LONGEST], int *length)
{
    double top = -INFINITY, first = log_sum(-1);
    for (int n = 0; n <= LONGEST; n++)
        for (int a = 0; a < (n ? BYTES : 1); a++)
            for (int b = 0; b < (n > 1 ? BYTES : 1); b++) {
                char text[LONGEST] = { (char)a, (char)b };
                double p = n > 0 ? logit_of(-1, a) - first : 0;
                p += n > 1 ? logit_of(a, b) - log_sum(a) : 0;
                int last = n == 0 ? -1 : n == 1 ? a : b;
                if (oa_utf8_valid_length(text, (size_t)n) < (size_t)n)
                    continue;
                p += logit_of(last, END) - log_sum(last);
                if (p > top) {
                    top = p;
                    *length = n;
                    memcpy(best, text, sizeof text);
                }
            }
    return top;
}

static void a_wide_beam_finds_the_likeliest_text(void **state)
{
    oa_context *c = oa_open(NULL);
    struct oa_hypothesis found;
    static struct bytes_model m;
    int32_t end;
    char best[LONGEST];
    int longest = LONGEST, length = 0;
    struct oa_tokenizer *tok = open_bytes(c, &m.begin, &end);
    m.w = open_writable(tok, BYTES + 2, &(struct oa_writing_rules){ .end = end });
    struct oa_beam how = { .width = WIDTH,
                           .best = 1,
                           .patient = true,
                           .begin = m.begin,
                           .end = end,
                           .vocabulary = BYTES + 2 };
    (void)state;
    assert_int_equal(oa_beam_search(c, &how, 1, &longest, next, &m, &found), OA_OK);
    double p = enumerate(best, &length);
    assert_int_equal(found.count, length);
    assert_true(fabs(found.score - p) < 1e-5);
    for (int i = 0; i < length; i++)
        assert_int_equal(found.ids[i], (uint8_t)best[i]);
    oa_hypotheses_free(&found, 1);
    oa_writable_close(m.w);
    oa_tokenizer_close(tok);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoded_text_equals_pythons),
        cmocka_unit_test(allowed_bytes_are_those_of_python),
        cmocka_unit_test(a_character_without_continuation_may_stay_incomplete),
        cmocka_unit_test(special_tokens_are_written_where_targets_have_them),
        cmocka_unit_test(a_wide_beam_finds_the_likeliest_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
