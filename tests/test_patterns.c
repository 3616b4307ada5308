/* SPDX-License-Identifier: Apache-2.0
 * Patterns of tokenizer.json split texts as Hugging Face does: drawn patterns and those of real
 * tokenizers against the pieces that the package tokenizers gave
 * (tests/tokenizers/pattern_vectors.py). */
#include "text_setup.h"
#include "tokenizers/tokenizer_parts.h"

#include <stdlib.h>

#define VECTORS SOURCE_DIR "/tests/tokenizers/pattern_vectors.json"

/* The pieces that are still expected. */
struct expected_pieces {
    const json_t *lengths; /* in characters */
    size_t next;
    bool equal;
};

static enum oa_error compare_piece(void *argument, const char *word, size_t n)
{
    struct expected_pieces *e = argument;
    json_int_t length = json_integer_value(json_array_get(e->lengths, e->next++));
    e->equal = e->equal && (json_int_t)oa_text_characters(word, n) == length;
    return OA_OK;
}

enum outcome { REFUSED, EQUAL, OTHER };

/* Refused is also what takes too many steps here and not there. */
static enum outcome split_text(const struct oa_splitter *s, const json_t *texts,
                               const json_t *entry)
{
    const char *text = json_string_value(
        json_array_get(texts, (size_t)json_integer_value(json_array_get(entry, 0))));
    struct expected_pieces e = { json_array_get(entry, 1), 0, true };
    if (oa_splitter_words(s, text, strlen(text), compare_piece, &e) != OA_OK)
        return REFUSED;
    return e.equal && e.next == json_array_size(e.lengths) ? EQUAL : OTHER;
}

static enum outcome try_pattern(const json_t *texts, const json_t *one)
{
    const char *pattern = json_string_value(json_array_get(one, 0));
    const json_t *results = json_array_get(one, 1);
    struct oa_splitter s;
    enum outcome outcome = EQUAL;
    oa_splitter_init(&s, context);
    if (oa_splitter_add(&s, "t.json", pattern) != OA_OK)
        outcome = REFUSED;
    else if (json_is_null(results))
        outcome = OTHER;
    for (size_t i = 0; outcome == EQUAL && i < json_array_size(results); i++)
        outcome = split_text(&s, texts, json_array_get(results, i));
    if (outcome == OTHER)
        print_error("%s: differs from the reference%s\n", pattern,
                    json_is_null(results) ? ", which refuses it" : "");
    oa_splitter_free(&s);
    oa_clear_error(context);
    return outcome;
}

static void test_splits_as_the_reference(void **state)
{
    (void)state;
    const char *path = getenv("PATTERN_VECTORS"); /* more of them, drawn with another seed */
    json_t *root = json_load_file(path ? path : VECTORS, 0, NULL);
    const json_t *texts = json_object_get(root, "texts"), *cases = json_object_get(root, "cases");
    size_t count[3] = { 0 }, taken = 0;
    assert_true(json_array_size(cases) > 500);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i);
        count[try_pattern(texts, one)]++;
        taken += !json_is_null(json_array_get(one, 1));
    }
    print_message("%zu equal, %zu refused, %zu differ; the reference takes %zu\n", count[EQUAL],
                  count[REFUSED], count[OTHER], taken);
    assert_int_equal(count[OTHER], 0);
    assert_true(count[EQUAL] * 100 >= taken * 75);
    json_decref(root);
}

/* Groups counted backwards, by tokenizers 0.23.1: lengths of the pieces of "abbxabax". */
static void groups_counted_backwards(void **state)
{
    (void)state;
    static const char text[] = "abbxabax";
    static const char *const cases[][2] = { { "(a)(b)\\k<-1>", "[3,5]" },
                                            { "(a)(b)\\k<-2>", "[4,3,1]" } };
    for (size_t i = 0; i < 2; i++) {
        struct oa_splitter s;
        struct expected_pieces e = { json_loads(cases[i][1], 0, NULL), 0, true };
        oa_splitter_init(&s, context);
        assert_int_equal(oa_splitter_add(&s, "t.json", cases[i][0]), OA_OK);
        assert_int_equal(oa_splitter_words(&s, text, strlen(text), compare_piece, &e), OA_OK);
        assert_true(e.equal && e.next == json_array_size(e.lengths));
        json_decref((json_t *)(uintptr_t)e.lengths);
        oa_splitter_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(test_splits_as_the_reference),
                                        TEST(groups_counted_backwards) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
