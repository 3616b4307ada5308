/* SPDX-License-Identifier: Apache-2.0
 * Every part and flag of a tokenizer.json that is read gives the ids, the text and the words of
 * Hugging Face, and training gives its merges down to pairs that come once
 * (tests/tokenizers/pipeline_vectors.py); what a stranger's file can ask for is bounded. */
#include "base/concurrent.h"
#include "text_setup.h"
#include "tokenizers/tokenizer_parts.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <zlib.h>

#define NORMALS SOURCE_DIR "/tests/tokenizers/normal_vectors.json"
#define VECTORS SOURCE_DIR "/tests/tokenizers/pipeline_vectors.json"

/* ---- vectors
 * -------------------------------------------------------------------------------------------------
 */

static void set_members(json_t *object, json_t *members)
{
    const char *key;
    json_t *value;
    json_object_foreach(members, key, value)
    {
        if (json_is_null(value))
            json_object_del(object, key);
        else
            json_object_set(object, key, value);
    }
}

/* tokenizer_bpe.json with the members of a case in place of its own. */
static struct oa_tokenizer *changed_file(json_t *base, const json_t *one)
{
    json_t *root = json_deep_copy(base), *value;
    const char *key;
    struct oa_tokenizer *tok;
    json_object_foreach(json_object_get(one, "set"), key, value)
    {
        if (strcmp(key, "model") == 0)
            set_members(json_object_get(root, "model"), value);
        else
            json_object_set(root, strcmp(key, "model!") == 0 ? "model" : key, value);
    }
    char *text = json_dumps(root, 0);
    expect_ok(oa_tokenizer_parse(context, json_string_value(json_object_get(one, "name")), text,
                                 strlen(text), &tok));
    free(text);
    json_decref(root);
    return tok;
}

static bool same_numbers(const struct oa_ids *ids, const json_t *expected)
{
    bool same = ids->count == json_array_size(expected);
    for (size_t i = 0; same && i < ids->count; i++)
        same = ids->id[i] == json_integer_value(json_array_get(expected, i));
    return same;
}

/* Where the ids cut a character the reference writes U+FFFD and Orthant its bytes. */
static bool same_decoded(struct oa_tokenizer *tok, const struct oa_ids *ids, const char *expected)
{
    struct oa_text out;
    oa_text_init(&out, context);
    expect_ok(oa_tokenizer_decode(tok, ids->id, ids->count, &out));
    bool same = strstr(expected, "\xef\xbf\xbd") ||
                (out.length == strlen(expected) &&
                 (out.length == 0 || memcmp(out.s, expected, out.length) == 0));
    oa_text_free(&out);
    return same;
}

static bool same_words(struct oa_tokenizer *tok, const char *text, const json_t *expected)
{
    struct oa_ids ids, words;
    oa_ids_init(&ids, context);
    oa_ids_init(&words, context);
    expect_ok(oa_tokenizer_encode_text(tok, "t", text, strlen(text), &ids, &words));
    bool same = same_numbers(&ids, json_array_get(expected, 0)) &&
                same_numbers(&words, json_array_get(expected, 1));
    oa_ids_free(&ids);
    oa_ids_free(&words);
    return same;
}

static int check_case(struct oa_tokenizer *tok, const char *name, const json_t *one)
{
    const char *text = json_string_value(json_array_get(one, 0));
    struct oa_ids ids = encode(tok, text, strlen(text));
    bool same_ids = same_numbers(&ids, json_array_get(one, 1));
    bool same_text = !same_ids || oa_tokenizer_kind_of(tok) == OA_TOKENIZER_WORD ||
                     same_decoded(tok, &ids, json_string_value(json_array_get(one, 2)));
    bool same =
        json_is_null(json_array_get(one, 3)) || same_words(tok, text, json_array_get(one, 3));
    if (!same_ids || !same_text || !same)
        print_error("%s, \"%s\":%s%s%s\n", name, text, same_ids ? "" : " ids",
                    same_text ? "" : " text", same ? "" : " words");
    oa_ids_free(&ids);
    return same_ids && same_text && same ? 0 : 1;
}

static void test_parts_as_the_reference(void **state)
{
    (void)state;
    json_t *root = json_load_file(VECTORS, 0, NULL),
           *base = json_load_file(DATA "tokenizer_bpe.json", 0, NULL);
    const json_t *files = json_object_get(root, "files");
    int differ = 0;
    assert_true(json_array_size(files) > 100);
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *one = json_array_get(files, i), *cases = json_object_get(one, "cases");
        struct oa_tokenizer *tok = changed_file(base, one);
        for (size_t k = 0; k < json_array_size(cases); k++)
            differ += check_case(tok, json_string_value(json_object_get(one, "name")),
                                 json_array_get(cases, k));
        oa_tokenizer_close(tok);
    }
    assert_int_equal(differ, 0);
    json_decref(root);
    json_decref(base);
}

static void test_training_to_single_pairs(void **state)
{
    (void)state;
    json_t *root = json_load_file(VECTORS, 0, NULL);
    const json_t *all = json_object_get(root, "trained");
    assert_true(json_array_size(all) > 10);
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i);
        const char *text = json_string_value(json_object_get(one, "text"));
        struct oa_reader *r;
        struct oa_tokenizer *tok;
        expect_ok(oa_reader_open_text(context, text, strlen(text), &r));
        expect_ok(oa_tokenizer_train_bpe(
            context, r, (long)json_integer_value(json_object_get(one, "size")), &tok));
        oa_reader_close(r);
        expect_ok(oa_tokenizer_save(context, tok, "trained.json"));
        oa_tokenizer_close(tok);
        json_t *saved = json_load_file("trained.json", 0, NULL);
        assert_true(json_equal(json_object_get(json_object_get(saved, "model"), "merges"),
                               json_object_get(one, "merges")));
        json_decref(saved);
    }
    json_decref(root);
}

/* ---- normalisers
 * --------------------------------------------------------------------------------------------- */

static void normalise(enum oa_normal form, const char *text, size_t n, struct oa_text *out)
{
    oa_text_init(out, context);
    oa_text_add(out, text, n);
    expect_ok(oa_normalise(context, &(struct oa_text_normaliser){ .kind = form }, 1, out, NULL));
}

static uint32_t block_digest(enum oa_normal form, uint32_t first)
{
    uLong crc = crc32(0, NULL, 0);
    for (uint32_t code = first; code < first + 256; code++) {
        char bytes[4];
        struct oa_text out;
        if (code >= 0xd800 && code < 0xe000)
            continue;
        normalise(form, bytes, (size_t)oa_utf8_encode(code, bytes), &out);
        crc = crc32(crc, (const Bytef *)out.s, (uInt)out.length);
        oa_text_free(&out);
    }
    return (uint32_t)crc;
}

static void test_every_code_point(void **state)
{
    (void)state;
    json_t *root = json_load_file(NORMALS, 0, NULL);
    const json_t *blocks = json_object_get(root, "blocks");
    assert_true(json_array_size(blocks) > 50);
    int differ = 0;
    for (size_t i = 0; i < json_array_size(blocks); i++) {
        const json_t *one = json_array_get(blocks, i);
        uint32_t first = (uint32_t)json_integer_value(json_array_get(one, 0));
        for (int form = 0; form < OA_NORMALS; form++)
            if (block_digest((enum oa_normal)form, first) !=
                json_integer_value(json_array_get(one, 1 + (size_t)form))) {
                print_error("U+%04X …, %s\n", (unsigned)first, oa_normal_names[form]);
                differ++;
            }
    }
    assert_int_equal(differ, 0);
    json_decref(root);
}

static void test_strings_of_marks(void **state)
{
    (void)state;
    json_t *root = json_load_file(NORMALS, 0, NULL);
    const json_t *strings = json_object_get(root, "strings");
    assert_true(json_array_size(strings) > 300);
    for (size_t i = 0; i < json_array_size(strings); i++)
        for (int form = 0; form < OA_NORMALS; form++) {
            const json_t *one = json_array_get(strings, i);
            const char *text = json_string_value(json_array_get(one, 0));
            struct oa_text out;
            normalise((enum oa_normal)form, text, strlen(text), &out);
            assert_string_equal(out.s, json_string_value(json_array_get(one, 1 + (size_t)form)));
            oa_text_free(&out);
        }
    json_decref(root);
}

/* Segments change nothing: a text of many of them is the text of its parts, invalid bytes stay. */
static void test_long_texts_are_their_parts(void **state)
{
    (void)state;
    static const char part[] = "e\xcc\x81\xcc\xa3 \xff a\xcc\x8a\xe1\x84\x80\xe1\x85\xa1";
    static const char composed[] = "\xe1\xba\xb9\xcc\x81 \xff \xc3\xa5\xea\xb0\x80";
    size_t n = sizeof part - 1, m = sizeof composed - 1, count = 20000;
    char *text = malloc(n * count);
    struct oa_text out;
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * n, part, n);
    normalise(OA_NORMAL_NFC, text, n * count, &out);
    assert_int_equal(out.length, m * count);
    for (size_t i = 0; i < count; i++)
        assert_memory_equal(out.s + i * m, composed, m);
    oa_text_free(&out);
    free(text);
}

/* ---- what a stranger's file can ask for
 * ------------------------------------------------------------------------ */

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A text of marks in the wrong order, n of them in a row: the square of n would take hours. */
static void test_marks_take_linear_time(void **state)
{
    (void)state;
    size_t pairs = 500000;
    char *text = malloc(4 * pairs + 1);
    struct oa_text out;
    text[0] = 'a';
    for (size_t i = 0; i < pairs; i++)
        memcpy(text + 1 + 4 * i, "\xcc\x81\xcc\xa3", 4); /* class 230, then 220 */
    double before = processor_seconds();
    normalise(OA_NORMAL_NFKD, text, 4 * pairs + 1, &out);
    assert_true(processor_seconds() - before < 5);
    assert_int_equal(out.length, 4 * pairs + 1);
    assert_memory_equal(out.s + 1, "\xcc\xa3\xcc\xa3", 4);
    assert_memory_equal(out.s + out.length - 4, "\xcc\x81\xcc\x81", 4);
    oa_text_free(&out);
    free(text);
}

#define HEAD "{\"version\":\"1.0\",\"pre_tokenizer\":"
#define BYTES "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"
#define TAIL ",\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1},\"merges\":[]}}"

static struct oa_tokenizer *expect_parsed(const struct oa_text *file)
{
    struct oa_tokenizer *tok;
    expect_ok(oa_tokenizer_parse(context, "x.json", file->s, file->length, &tok));
    return tok;
}

/* Twenty thousand added tokens with one beginning, in a text that is nothing but beginnings. */
static void test_added_tokens_take_linear_time(void **state)
{
    (void)state;
    struct oa_text file;
    size_t n = 300000;
    char *text = malloc(n);
    oa_text_init(&file, context);
    oa_text_printf(&file, HEAD BYTES ",\"added_tokens\":[");
    for (int i = 0; i < 20000; i++)
        oa_text_printf(&file, "%s{\"id\":%d,\"content\":\"aaaaaaaa%05d\"}", i ? "," : "", 2 + i, i);
    oa_text_printf(&file, "]" TAIL);
    memset(text, 'a', n);
    double before = processor_seconds();
    struct oa_tokenizer *tok = expect_parsed(&file);
    memcpy(text + n / 2, "19999", 5);
    struct oa_ids ids = encode(tok, text, n);
    assert_true(processor_seconds() - before < 5);
    assert_int_equal(ids.count, n - 12);
    assert_int_equal(ids.id[n / 2 - 8], 2 + 19999);
    oa_ids_free(&ids);
    oa_tokenizer_close(tok);
    oa_text_free(&file);
    free(text);
}

static void expect_file_refused(const char *pre_tokenizer, const char *part)
{
    struct oa_text file;
    struct oa_tokenizer *tok;
    oa_text_init(&file, context);
    oa_text_printf(&file, HEAD "%s" TAIL, pre_tokenizer);
    assert_int_equal(oa_tokenizer_parse(context, "x.json", file.s, file.length, &tok),
                     OA_UNSUPPORTED);
    expect_error(OA_UNSUPPORTED, part);
    oa_text_free(&file);
}

static void test_depths_are_bounded(void **state)
{
    (void)state;
    static const char split[] =
        "{\"type\":\"Split\",\"pattern\":{\"String\":\"z\"},\"behavior\":\"Isolated\"},";
    static const char open[] = "{\"type\":\"Sequence\",\"pretokenizers\":[", close[] = "]}";
    struct oa_text part;
    oa_text_init(&part, context);
    oa_text_printf(&part, "%s", open);
    for (int i = 0; i < 25000; i++)
        oa_text_add(&part, split, sizeof split - 1);
    oa_text_printf(&part, BYTES "%s", close);
    expect_file_refused(part.s, "more than 64 pre_tokenizers");
    part.length = 0;
    for (int i = 0; i < 500; i++)
        oa_text_add(&part, open, sizeof open - 1);
    oa_text_printf(&part, BYTES);
    for (int i = 0; i < 500; i++)
        oa_text_add(&part, close, sizeof close - 1);
    expect_file_refused(part.s, "nested at most 8 deep");
    part.length = 0;
    oa_text_printf(
        &part, "%s{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{\"Regex\":\"", open);
    for (int i = 0; i < 5000; i++)
        oa_text_add(&part, "(?:", 3);
    for (int i = 0; i < 5000; i++)
        oa_text_add(&part, ")", 1);
    oa_text_printf(&part, "\"}}," BYTES "%s", close);
    expect_file_refused(part.s, "nested more than 60 deep");
    oa_text_free(&part);
}

static enum oa_error count_word(void *argument, const char *word, size_t n)
{
    (void)word;
    (void)n;
    ++*(long *)argument;
    return OA_OK;
}

/* A search that finds nothing looks for a stop. */
static void test_search_stops(void **state)
{
    (void)state;
    size_t n = 3000000;
    char *text = malloc(n);
    struct oa_splitter s;
    long words = 0;
    memset(text, 'a', n);
    oa_splitter_init(&s, context);
    expect_ok(oa_splitter_add(&s, "t", "a+b")); /* the square of n */
    oa_stop(context, SIGTERM);
    assert_int_equal(oa_splitter_words(&s, text, n, count_word, &words), OA_INTERRUPTED);
    expect_error(OA_INTERRUPTED, "stopped by signal");
    oa_splitter_free(&s);
    free(text);
}

/* A pattern that tries every way to part a row of letters ends with a sentence. */
static void test_backtracking_ends(void **state)
{
    (void)state;
    static const char *const patterns[] = { "(?:a+)+$", "(?:a|a)*b", "(a*)*\\1b",
                                            "(?:(?:a{0,9}){0,9}){1,9}c" };
    static const char text[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab ";
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct oa_splitter s;
        long words = 0;
        oa_splitter_init(&s, context);
        expect_ok(oa_splitter_add(&s, "t", patterns[i]));
        double before = processor_seconds();
        enum oa_error error = oa_splitter_words(&s, text, sizeof text - 1, count_word, &words);
        assert_true(processor_seconds() - before < 10);
        if (error != OA_OK)
            expect_error(OA_UNSUPPORTED, "is too complex");
        oa_splitter_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_parts_as_the_reference),
        TEST(test_training_to_single_pairs),
        TEST(test_every_code_point),
        TEST(test_strings_of_marks),
        TEST(test_long_texts_are_their_parts),
        TEST(test_marks_take_linear_time),
        TEST(test_added_tokens_take_linear_time),
        TEST(test_depths_are_bounded),
        TEST(test_search_stops),
        TEST(test_backtracking_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
