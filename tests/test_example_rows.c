/* SPDX-License-Identifier: Apache-2.0
 * Examples as rows of ids: special tokens, numbers of words, pairs, targets, what is cut. */
#include "examples_setup.h"

#include <stdlib.h>

/* ---- special tokens and words
 * ---------------------------------------------------------------------------------- */

static void assert_words(struct oa_tokenizer *tok, const char *text, const char *words)
{
    struct oa_ids ids, numbers;
    struct oa_text printed;
    oa_ids_init(&ids, context);
    oa_ids_init(&numbers, context);
    oa_text_init(&printed, context);
    assert_int_equal(oa_tokenizer_encode_text(tok, "text", text, strlen(text), &ids, &numbers),
                     OA_OK);
    assert_int_equal(ids.count, numbers.count);
    for (size_t i = 0; i < ids.count; i++) {
        size_t n;
        const char *bytes = oa_tokenizer_bytes(tok, ids.id[i], &n);
        oa_text_printf(&printed, "%.*s:%d|", (int)n, bytes, (int)numbers.id[i]);
    }
    assert_string_equal(printed.s, words);
    oa_ids_free(&ids);
    oa_ids_free(&numbers);
    oa_text_free(&printed);
}

static void word_indices_rise_by_word(void **state)
{
    (void)state;
    struct oa_tokenizer *tok;
    struct oa_text text, bpe;
    oa_text_init(&text, context);
    oa_text_init(&bpe, context);
    oa_text_add(&text, "a b, cdxé\n[C]", 14);
    assert_int_equal(oa_tokenizer_open_texts(context, "char", &text, NULL, &tok), OA_OK);
    assert_words(tok, "ab cd,  d\n", "a:0|b:0| :1|c:1|d:1|,:2| :2| :3|d:3|\n:3|");
    assert_words(tok, " \n a é", " :0|\n:0| :0|a:0| :1|é:1|");
    oa_tokenizer_close(tok);
    oa_text_add(&bpe, "low lower low", 13);
    assert_int_equal(oa_tokenizer_open_texts(context, "bpe:258", &bpe, NULL, &tok),
                     OA_OK); /* lo, low */
    assert_words(tok, "lower low's", "low:0|e:0|r:0| :1|low:1|':2|s:2|");
    oa_tokenizer_close(tok);
    assert_int_equal(oa_tokenizer_open_texts(context, "byte", &text, NULL, &tok), OA_OK);
    assert_words(tok, "a b!", "a:0| :1|b:1|!:2|");
    oa_tokenizer_close(tok);
    assert_int_equal(oa_tokenizer_open_texts(context, "ids:50", &text, NULL, &tok), OA_OK);
    assert_words(tok, "7 49 7", "7 :0|49 :1|7 :2|");
    oa_tokenizer_close(tok);
    oa_text_free(&text);
    oa_text_free(&bpe);
}

static const char *const specs[] = { "char", "byte", "bpe:300", "ex.json" };

/* The text "[CLS]" stays text, in every kind, also after saving and loading; as a token it is found
 * by the layout. */
static void special_tokens_surround_the_texts(void **state)
{
    (void)state;
    write_text("ex.tsv", "1\tsay [CLS] now\n0\t</s> [SEP] say\n");
    for (int i = 0; i < 4; i++) {
        struct oa_example_texts t;
        struct oa_tokenizer *tok, *again;
        struct oa_examples e, f;
        struct oa_text back;
        struct oa_example_layout layout = { .source_begin = "[CLS]",
                                            .source_end = "[SEP]",
                                            .words = true };
        int32_t mask;
        oa_text_init(&back, context);
        assert_int_equal(open_texts(OA_ANSWER_CLASS, NULL, "ex.tsv", NULL, NULL, &t), OA_OK);
        assert_int_equal(oa_example_texts_tokenizer(context, &t, specs[i], &tok), OA_OK);
        int32_t plain = oa_tokenizer_size(tok);
        assert_int_equal(oa_examples_encode(tok, &t, &t.train, &layout, &e), OA_OK);
        assert_int_equal(oa_tokenizer_add_special(tok, "[MASK]", &mask), OA_OK);
        int32_t cls = oa_tokenizer_find(tok, "[CLS]"), sep = oa_tokenizer_find(tok, "[SEP]");
        assert_true(oa_tokenizer_is_special(tok, cls) && oa_tokenizer_is_special(tok, sep));
        if (i < 3)
            assert_true(cls == plain && sep == plain + 1 && mask == plain + 2);
        size_t last = e.source.start[1] - 1;
        assert_int_equal(e.source.ids[0], cls);
        assert_int_equal(e.source.ids[last], sep);
        for (size_t k = 1; k < last; k++)
            assert_true(e.source.ids[k] < plain && e.source.ids[k] != cls);
        assert_int_equal(oa_tokenizer_decode(tok, e.source.ids + 1, last - 1, &back), OA_OK);
        assert_string_equal(back.s, "say [CLS] now");
        assert_int_equal(e.source.words[0], 0);
        assert_int_equal(e.source.words[1], 1);
        assert_int_equal(e.source.words[last], e.source.words[last - 1] + 1);
        assert_int_equal(oa_tokenizer_save(context, tok, "ex.json"), OA_OK);
        assert_int_equal(oa_tokenizer_load(context, "ex.json", &again), OA_OK);
        assert_int_equal(oa_tokenizer_size(again), oa_tokenizer_size(tok));
        assert_int_equal(oa_examples_encode(again, &t, &t.train, &layout, &f), OA_OK);
        assert_int_equal(oa_tokenizer_size(again), oa_tokenizer_size(tok));
        assert_memory_equal(e.source.ids, f.source.ids, e.source.start[2] * sizeof *e.source.ids);
        assert_memory_equal(e.source.words, f.source.words,
                            e.source.start[2] * sizeof *e.source.ids);
        oa_text_free(&back);
        oa_examples_close(&e);
        oa_examples_close(&f);
        oa_tokenizer_close(tok);
        oa_tokenizer_close(again);
        oa_example_texts_close(&t);
    }
}

/* What a model reads of a text alone is what it learnt from a row with that text: ids, words, and
 * where a pair parts.
 */
static void an_unlabelled_text_is_encoded_like_a_row(void **state)
{
    static const char *const texts[][2] = { { " two  words", "and three more" },
                                            { "say it's so", "\xc3\xa9, [CLS]!" } };
    (void)state;
    write_text("ex.tsv", "1\t two  words\tand three more\n0\tsay it's so\t\xc3\xa9, [CLS]!\n");
    for (int i = 0; i < 4; i++) {
        struct oa_example_texts t;
        struct oa_tokenizer *tok;
        struct oa_examples rows, one;
        struct oa_example_layout layout = { .source_begin = "[CLS]",
                                            .source_end = "[SEP]",
                                            .words = true };
        assert_int_equal(open_texts(OA_ANSWER_CLASS, NULL, "ex.tsv", NULL, NULL, &t), OA_OK);
        assert_int_equal(oa_example_texts_tokenizer(context, &t, specs[i], &tok), OA_OK);
        assert_int_equal(oa_examples_encode(tok, &t, &t.train, &layout, &rows), OA_OK);
        for (size_t r = 0; r < 2; r++) {
            struct oa_input_text given[2];
            size_t from = rows.source.start[r], n = rows.source.start[r + 1] - from;
            for (int k = 0; k < 2; k++)
                given[k] = (struct oa_input_text){ texts[r][k], strlen(texts[r][k]) };
            assert_int_equal(oa_source_encode(tok, &layout, "here", given, 2, &one), OA_OK);
            assert_int_equal(one.source.start[1], n);
            assert_memory_equal(one.source.ids, rows.source.ids + from, n * sizeof *one.source.ids);
            assert_memory_equal(one.source.words, rows.source.words + from,
                                n * sizeof *one.source.words);
            assert_int_equal(one.split[0], rows.split[r]);
            oa_examples_close(&one);
        }
        oa_examples_close(&rows);
        oa_tokenizer_close(tok);
        oa_example_texts_close(&t);
    }
}

/* Ids between blanks: special tokens stand behind them and are not written. */
static void special_tokens_in_user_text_are_plain_text(void **state)
{
    (void)state;
    struct oa_tokenizer *tok, *again;
    struct oa_ids ids;
    int32_t end;
    oa_ids_init(&ids, context);
    assert_int_equal(
        oa_tokenizer_open_texts(context, "ids:9", &(struct oa_text){ .s = "" }, NULL, &tok), OA_OK);
    assert_int_equal(oa_tokenizer_add_special(tok, "</s>", &end), OA_OK);
    assert_int_equal(end, 9);
    assert_int_equal(oa_tokenizer_encode_text(tok, "here", "8 </s>", 6, &ids, NULL), OA_FORMAT);
    expect_error(OA_FORMAT, "here: \"</s>\" is not an id from 0 to 8");
    assert_int_equal(oa_tokenizer_save(context, tok, "ex.ids.json"), OA_OK);
    assert_int_equal(oa_tokenizer_load(context, "ex.ids.json", &again), OA_OK);
    assert_int_equal(oa_tokenizer_size(again), 10);
    assert_true(oa_tokenizer_is_special(again, 9));
    oa_ids_free(&ids);
    oa_tokenizer_close(tok);
    oa_tokenizer_close(again);
}

/* ---- rows of ids
 * -----------------------------------------------------------------------------------------------
 */

static void assert_sequence(const struct oa_id_lists *s, size_t i, const char *text)
{
    struct oa_text printed;
    oa_text_init(&printed, context);
    for (size_t k = s->start[i]; k < s->start[i + 1]; k++)
        oa_text_printf(&printed, s->ids[k] < 256 ? "%c" : "<%d>",
                       s->ids[k] < 256 ? s->ids[k] : s->ids[k] - 256);
    assert_string_equal(printed.s, text);
    oa_text_free(&printed);
}

static void the_longer_text_of_a_pair_is_cut(void **state)
{
    (void)state;
    struct oa_example_texts t;
    struct oa_tokenizer *tok;
    struct oa_examples e;
    struct oa_example_layout layout = { .source_begin = "[CLS]",
                                        .source_end = "[SEP]",
                                        .source_limit = 10 };
    write_text("ex.tsv", "1\tabcdefgh\txy\n0\tabc\tvwxyz12\n0\tabcdefg\tvwxyz12\n1\tab\tcd\n");
    assert_int_equal(encode("ex.tsv", OA_ANSWER_CLASS, &layout, &t, &tok, &e), OA_OK);
    assert_sequence(&e.source, 0, "<0>abcde<1>xy<1>");
    assert_sequence(&e.source, 1, "<0>abc<1>vwxy<1>");
    assert_sequence(&e.source, 2, "<0>abcd<1>vwx<1>");
    assert_sequence(&e.source, 3, "<0>ab<1>cd<1>");
    assert_int_equal(e.split[0], 7);
    assert_int_equal(e.split[3], 4);
    assert_int_equal(e.source.cut, 3);
    assert_int_equal(e.source.longest, 10);
    expect_notice("training examples: 3 of 4 texts were cut to 10 tokens");
    close_all(&t, tok, &e);
    layout.refuse_long = true;
    assert_int_equal(encode("ex.tsv", OA_ANSWER_CLASS, &layout, &t, &tok, &e), OA_SHAPE);
    expect_error(
        OA_SHAPE,
        "ex.tsv, line 1: the text has 13 tokens, special ones included, but the model reads 10");
    close_all(&t, tok, &e);
}

static void targets_begin_and_end_with_special_tokens(void **state)
{
    (void)state;
    struct oa_example_texts t;
    struct oa_tokenizer *tok;
    struct oa_examples e;
    struct oa_example_layout layout = { .source_end = "</s>",
                                        .target_begin = "<s>",
                                        .target_end = "</s>",
                                        .source_limit = 4,
                                        .target_limit = 3,
                                        .words = true };
    write_text("ex.sum.tsv", "abcdef\tx y\nab\tuv\n");
    assert_int_equal(encode("ex.sum.tsv", OA_ANSWER_TEXT, &layout, &t, &tok, &e), OA_OK);
    assert_sequence(&e.source, 0, "abc<0>");
    assert_sequence(&e.source, 1, "ab<0>");
    assert_sequence(&e.target, 0, "<1>x y"); /* three to read, three to predict */
    assert_sequence(&e.target, 1, "<1>uv<0>");
    static const int32_t words[] = { 0, 1, 2, 2, 0, 1, 1, 2 };
    assert_memory_equal(e.target.words, words, sizeof words);
    assert_int_equal(e.source.cut, 1);
    assert_int_equal(e.target.cut, 1);
    expect_notice("1 of 2 sources were cut to 4 tokens");
    expect_notice("1 of 2 targets were cut to 3 tokens");
    close_all(&t, tok, &e);
    layout.refuse_long = true;
    layout.source_limit = 0;
    assert_int_equal(encode("ex.sum.tsv", OA_ANSWER_TEXT, &layout, &t, &tok, &e), OA_SHAPE);
    expect_error(OA_SHAPE, "ex.sum.tsv, line 1: the target has 4 tokens");
    close_all(&t, tok, &e);
    layout.target_begin[0] = layout.target_end[0] = 0;
    write_text("ex.sum.tsv", "a\tb\n");
    assert_int_equal(encode("ex.sum.tsv", OA_ANSWER_TEXT, &layout, &t, &tok, &e), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "the target has 1 tokens; at least 2 are needed");
    close_all(&t, tok, &e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(word_indices_rise_by_word),
        cmocka_unit_test(special_tokens_surround_the_texts),
        cmocka_unit_test(an_unlabelled_text_is_encoded_like_a_row),
        cmocka_unit_test(special_tokens_in_user_text_are_plain_text),
        cmocka_unit_test(the_longer_text_of_a_pair_is_cut),
        cmocka_unit_test(targets_begin_and_end_with_special_tokens),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
