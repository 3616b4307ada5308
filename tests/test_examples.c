/* SPDX-License-Identifier: Apache-2.0
 * Examples: every form of file and what is refused of it, labels, held-out rows and rows on two sides, special tokens,
 * numbers of words, and batches of like lengths. */
#include "testing.h"

#include "data/examples.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static oa_context *context;
static char notices[4096];

static void take_notice(void *user, int level, const char *line)
{
    (void)user;
    if (level == 0)
        snprintf(notices + strlen(notices), sizeof notices - strlen(notices), "%s\n", line);
}

static void write_bytes(const char *path, const void *bytes, size_t count)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, count, f), count);
    assert_int_equal(fclose(f), 0);
}

static void write_text(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

static void expect_error(enum oa_error code, const char *words)
{
    const char *why;
    assert_int_equal(oa_last_error(context, &why), code);
    if (!strstr(why, words))
        fail_msg("\"%s\" is not in: %s", words, why);
    oa_clear_error(context);
}

static void expect_notice(const char *words)
{
    if (!strstr(notices, words))
        fail_msg("\"%s\" is not in: %s", words, notices);
}

static enum oa_error open_texts(enum oa_answer answer, const char *columns, const char *train, const char *valid,
                                const char *test, struct oa_example_texts *out)
{
    struct oa_example_request r = { train, valid, test, columns, answer, 0, 0, false };
    notices[0] = 0;
    return oa_example_texts_open(context, &r, out);
}

static void refused(enum oa_answer answer, const char *columns, const char *train, const char *valid,
                    enum oa_error code, const char *words)
{
    struct oa_example_texts t;
    assert_int_equal(open_texts(answer, columns, train, valid, NULL, &t), code);
    expect_error(code, words);
}

static void assert_cell(const struct oa_rows *rows, size_t row, int cell, const char *text)
{
    size_t n;
    const char *s = oa_rows_cell(rows, row, cell, &n);
    if (!s || n != strlen(text) || memcmp(s, text, n) != 0)
        fail_msg("cell %d of row %zu is \"%.*s\", not \"%s\"", cell, row, s ? (int)n : 6, s ? s : "(none)", text);
}

/* One file, read for an answer: its only row's cells, or the error. */
static void assert_row(enum oa_answer answer, const char *columns, const char *file, size_t row,
                       const char *const *cells)
{
    struct oa_example_texts t;
    assert_int_equal(open_texts(answer, columns, file, NULL, NULL, &t), OA_OK);
    int n = 0;
    for (; cells[n]; n++)
        assert_cell(&t.train, row, n, cells[n]);
    assert_int_equal(oa_rows_cells(&t.train, row), n);
    oa_example_texts_close(&t);
}

#define CELLS(...)                                                                                                     \
    (const char *const[])                                                                                              \
    {                                                                                                                  \
        __VA_ARGS__, NULL                                                                                              \
    }

/* ---- parallel files -------------------------------------------------------------------------------------------- */

static void test_parallel(void **state)
{
    (void)state;
    struct oa_example_texts t;
    write_text("ex.de", "ein Hund\r\neine  Katze \n\nzwei\ndrei");
    write_text("ex.en", "a dog\na cat\nnothing\n \t\nthree\n");
    write_text("ex.more.de", "\xef\xbb\xbfvier\n");
    write_text("ex.more.en", "four\n");
    assert_int_equal(open_texts(OA_ANSWER_TEXT, NULL, "ex.de,ex.en, ex.more.de ,ex.more.en", NULL, "ex.de,ex.en", &t),
                     OA_OK);
    assert_int_equal(t.train.count, 4);
    assert_cell(&t.train, 0, 0, "ein Hund");
    assert_cell(&t.train, 0, 1, "a dog");
    assert_cell(&t.train, 1, 0, "eine  Katze ");
    assert_cell(&t.train, 2, 0, "drei");
    assert_cell(&t.train, 2, 1, "three");
    assert_cell(&t.train, 3, 0, "vier");
    assert_int_equal(t.train.left_out, 2);
    assert_int_equal(t.train.left_out_line[0], 3);
    assert_int_equal(t.train.left_out_line[1], 4);
    expect_notice("training examples: 2 of 6 were left out because a text of theirs is empty (lines 3, 4)");
    expect_notice("training examples: 1 line ended with CR LF");
    struct oa_text place;
    oa_text_init(&place, context);
    oa_rows_print_place(&t.train, 2, &place);
    oa_rows_print_place(&t.train, 3, &place);
    assert_string_equal(place.s, "ex.de, line 5ex.more.de, line 1");
    oa_text_free(&place);
    /* A test set keeps all. */
    assert_int_equal(t.test.count, 5);
    assert_int_equal(t.test.kept_empty, 2);
    assert_cell(&t.test, 2, 0, "");
    assert_int_equal(t.test_overlap.rows, 3);
    expect_notice(
        "warning: of the 5 test examples 3 have a source that is among the training examples, 3 with the same target");
    oa_example_texts_close(&t);
}

static void test_parallel_refused(void **state)
{
    (void)state;
    write_text("ex.de", "eins\nzwei\n");
    write_text("ex.en", "one\ntwo\nthree");
    write_text("ex.latin", "f\xc3\xbcnf\ngr\xfcn\n");
    write_text("ex.utf16", "\xff\xfe"
                           "e");
    write_bytes("ex.zero", "a\nb\0c\n", 6);
    write_text("ex.none", "");
    write_text("ex.mark", "\xef\xbb\xbf");
    write_text("ex.blank", "\n \n");
    refused(
        OA_ANSWER_TEXT, NULL, "ex.de,ex.en", NULL, OA_FORMAT,
        "ex.de has 2 lines and ex.en has 3: line n of one belongs to line n of the other, and ex.de ends after line 2");
    refused(OA_ANSWER_TEXT, NULL, "ex.en,ex.de", NULL, OA_FORMAT, "and ex.de ends after line 2");
    refused(OA_ANSWER_TEXT, NULL, "ex.de", NULL, OA_ARGUMENT, "ex.de has no partner");
    refused(OA_ANSWER_TEXT, NULL, "ex.de,ex.tsv", NULL, OA_ARGUMENT, "ex.de has no partner");
    refused(OA_ANSWER_TEXT, NULL, "ex.latin,ex.de", NULL, OA_FORMAT, "ex.latin, line 2: byte 0xFC is not UTF-8");
    refused(OA_ANSWER_TEXT, NULL, "ex.utf16,ex.de", NULL, OA_FORMAT, "UTF-16");
    refused(OA_ANSWER_TEXT, NULL, "ex.zero,ex.de", NULL, OA_FORMAT, "ex.zero, line 2: there is a byte 0");
    refused(OA_ANSWER_TEXT, NULL, "ex.de,ex.none", NULL, OA_FORMAT, "ex.none is empty");
    refused(OA_ANSWER_TEXT, NULL, "ex.mark,ex.de", NULL, OA_FORMAT, "ex.mark is empty");
    refused(OA_ANSWER_TEXT, NULL, "ex.de,ex.blank", NULL, OA_FORMAT, "there is no training example with a text in it");
    refused(OA_ANSWER_TEXT, NULL, "ex.nowhere,ex.de", NULL, OA_IO, "ex.nowhere");
    refused(OA_ANSWER_TEXT, NULL, "ex.de,,ex.de", NULL, OA_ARGUMENT, "no partner");
    refused(OA_ANSWER_TEXT, NULL, " ", NULL, OA_ARGUMENT, "data.train names no file");
}

/* gzip gives the same rows and the same digest; another text another one. */
static void test_gzip_and_digest(void **state)
{
    (void)state;
    struct oa_example_texts plain, packed, other;
    write_text("ex.de", "eins\nzwei\n");
    write_text("ex.en", "one\ntwo\n");
    write_text("ex.two.de", "einso\nzwei\n"); /* the same letters, cut elsewhere */
    write_text("ex.two.en", "ne\ntwo\n");
    gzFile z = gzopen("ex.de.gz", "wb");
    gzputs(z, "eins\nzwei\n");
    gzclose(z);
    assert_int_equal(open_texts(OA_ANSWER_TEXT, NULL, "ex.de,ex.en", NULL, NULL, &plain), OA_OK);
    assert_int_equal(open_texts(OA_ANSWER_TEXT, NULL, "ex.de.gz,ex.en", NULL, NULL, &packed), OA_OK);
    assert_int_equal(open_texts(OA_ANSWER_TEXT, NULL, "ex.two.de,ex.two.en", NULL, NULL, &other), OA_OK);
    assert_string_equal(plain.train.digest.hex, packed.train.digest.hex);
    assert_string_not_equal(plain.train.digest.hex, other.train.digest.hex);
    oa_example_texts_close(&plain);
    oa_example_texts_close(&packed);
    oa_example_texts_close(&other);
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

static void test_layouts(void **state)
{
    (void)state;
    write_text("ex.tsv", "1\tgood \"film\n0\tbad, film\n");
    assert_row(OA_ANSWER_CLASS, NULL, "ex.tsv", 0, CELLS("1", "good \"film"));
    assert_row(OA_ANSWER_CLASS, "1,2", "ex.tsv", 1, CELLS("0", "bad, film"));
    write_text("ex.sst", "sentence\tlabel\nfine \t1\npoor\t0\n"); /* SST-2 */
    assert_row(OA_ANSWER_CLASS, NULL, "ex.sst", 0, CELLS("1", "fine "));
    assert_row(OA_ANSWER_CLASS, "label,sentence", "ex.sst", 1, CELLS("0", "poor"));
    assert_row(OA_ANSWER_CLASS, "2,1", "ex.sst", 0, CELLS("1", "fine "));
    write_text("ex.named", "polarity\tutterance\nup\tfine\ndown\tpoor\n");
    assert_row(OA_ANSWER_CLASS, "polarity, utterance", "ex.named", 0, CELLS("up", "fine"));
    write_text("ex.cola", "gj04\t1\t\tThey ran.\ngj04\t0\t*\tRan they.\n"); /* CoLA */
    assert_row(OA_ANSWER_CLASS, NULL, "ex.cola", 1, CELLS("0", "Ran they."));
    write_text("ex.mrpc",
               "\xef\xbb\xbfQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t7\t8\tA b\tB a\r\n0\t9\t6\tC\tD\r\n");
    assert_row(OA_ANSWER_CLASS, NULL, "ex.mrpc", 0, CELLS("1", "A b", "B a"));
    write_text("ex.rte", "index\tsentence1\tsentence2\tlabel\n0\tp\th\tentailment\n1\tq\ti\tnot_entailment\n");
    assert_row(OA_ANSWER_CLASS, NULL, "ex.rte", 1, CELLS("not_entailment", "q", "i"));
    write_text("ex.sts", "main\tMSRvid\t2012test\t0001\t5.000\tA plane\tAn air plane\n"
                         "main\tMSRvid\t2012test\t0004\t3.8\tA man\tMen\tlicence\tmore\n"); /* STS benchmark */
    assert_row(OA_ANSWER_NUMBER, NULL, "ex.sts", 1, CELLS("3.8", "A man", "Men"));
    write_text("ex.imdb", "label\tid\trating\ttext\n0\t0\t3\tso so\n1\t1\t9\tfine\n");
    assert_row(OA_ANSWER_CLASS, NULL, "ex.imdb", 1, CELLS("1", "fine"));
    assert_row(OA_ANSWER_NUMBER, "rating,text", "ex.imdb", 0, CELLS("3", "so so"));
    write_text("ex.csv", "\"3\",\"Wall St., up\",\"a \"\"b\"\"\nc\"\r\n\"4\",\"x\",plain\r\n"); /* AG's News */
    assert_row(OA_ANSWER_CLASS, NULL, "ex.csv", 0, CELLS("3", "Wall St., up", "a \"b\"\nc"));
    assert_row(OA_ANSWER_CLASS, "1,2+3", "ex.csv", 1, CELLS("4", "x plain"));
    write_text("ex.sum.tsv", "hello\thi\n"); /* DialogSum */
    assert_row(OA_ANSWER_TEXT, NULL, "ex.sum.tsv", 0, CELLS("hello", "hi"));
}

static void test_references(void **state)
{
    (void)state;
    struct oa_example_texts t;
    write_text("ex.sum.tsv", "hello\thi\n");
    write_text("ex.sum4.tsv", "hello\thi\they\tho\n");
    write_text("ex.sum.jsonl",
               "{\"dialogue\": \"hello\", \"summary1\": \"hi\", \"topic\": \"t\", \"summary2\": \"ho\"}\n");
    assert_int_equal(open_texts(OA_ANSWER_TEXT, NULL, "ex.sum.tsv", NULL, "ex.sum4.tsv", &t), OA_OK);
    assert_int_equal(oa_rows_cells(&t.test, 0), 4);
    assert_cell(&t.test, 0, 3, "ho");
    assert_int_equal(t.test_overlap.rows, 1); /* by the first target */
    oa_example_texts_close(&t);
    refused(OA_ANSWER_TEXT, NULL, "ex.sum4.tsv", NULL, OA_ARGUMENT, "do not tell source and target apart");
    assert_row(OA_ANSWER_TEXT, NULL, "ex.sum.jsonl", 0, CELLS("hello", "hi", "ho"));
}

static void test_tables_refused(void **state)
{
    (void)state;
    write_text("ex.tsv", "1\tgood\n0\tbad\tfilm\n");
    refused(OA_ANSWER_CLASS, NULL, "ex.tsv", NULL, OA_FORMAT, "ex.tsv, line 2: 3 columns, but line 1 has 2");
    assert_row(OA_ANSWER_CLASS, "1,2", "ex.tsv", 1, CELLS("0", "bad"));
    write_text("ex.tsv", "1\tgood\n0\n");
    refused(OA_ANSWER_CLASS, "1,2", "ex.tsv", NULL, OA_FORMAT, "ex.tsv, line 2: 1 column, but what is read needs 2");
    write_text("ex.tsv", "label\ttext\n1\ta\n0\tb\n");
    refused(OA_ANSWER_CLASS, "label,txt", "ex.tsv", NULL, OA_ARGUMENT,
            "data.columns names \"txt\", but ex.tsv has, in line 1, \"label\", \"text\"");
    refused(OA_ANSWER_CLASS, "1,5", "ex.tsv", NULL, OA_ARGUMENT, "column 5, but ex.tsv has 2 columns");
    refused(OA_ANSWER_CLASS, "0,1", "ex.tsv", NULL, OA_ARGUMENT, "column 0");
    refused(OA_ANSWER_CLASS, "1", "ex.tsv", NULL, OA_ARGUMENT, "data.columns has 1 column; it says label,text");
    refused(OA_ANSWER_CLASS, "1,2,2,2", "ex.tsv", NULL, OA_ARGUMENT, "data.columns has 4 columns");
    write_text("ex.tsv", "a\tb\tc\td\te\n");
    refused(OA_ANSWER_CLASS, NULL, "ex.tsv", NULL, OA_ARGUMENT, "say which are read");
    write_text("ex.csv", "1,\"a\nb\n");
    refused(OA_ANSWER_CLASS, NULL, "ex.csv", NULL, OA_FORMAT, "ex.csv: the quote in line 1 is not closed");
    write_text("ex.csv", "1,a\n2,\"a\" b\n");
    refused(OA_ANSWER_CLASS, NULL, "ex.csv", NULL, OA_FORMAT, "ex.csv, line 2: text behind a closing quote");
    write_text("ex.tsv", "\t\n0\ta\n\n1\t \n0\tb");
    refused(OA_ANSWER_CLASS, NULL, "ex.tsv", NULL, OA_FORMAT, "the same label");
}

static void test_json(void **state)
{
    (void)state;
    write_text("ex.jsonl",
               "{\"id\": 1, \"text\": \"a\\tb\", \"label\": true}\n\n{\"text\": \"c\", \"label\": false, \"id\": 2}\n");
    assert_row(OA_ANSWER_CLASS, NULL, "ex.jsonl", 1, CELLS("false", "c"));
    assert_row(OA_ANSWER_CLASS, "id,text", "ex.jsonl", 0, CELLS("1", "a\tb"));
    write_text("ex.jsonl", "{\"source\": \"a\", \"target\": [\"x\", \"y\"]}\n{\"source\": \"b\", \"target\": \"z\"}\n");
    assert_row(OA_ANSWER_TEXT, NULL, "ex.jsonl", 0, CELLS("a", "x", "y"));
    refused(OA_ANSWER_TEXT, "target,source", "ex.jsonl", NULL, OA_FORMAT, "neither a text nor a number");
    write_text("ex.jsonl", "{\"source\": \"a\", \"target\": 2.5}\n");
    assert_row(OA_ANSWER_TEXT, "target,source", "ex.jsonl", 0, CELLS("2.5", "a"));
    write_text("ex.jsonl", "{\"source\": \"a\", \"target\": \"b\"}\n{\"source\": \"b\"}\n");
    refused(OA_ANSWER_TEXT, NULL, "ex.jsonl", NULL, OA_FORMAT, "ex.jsonl, line 2: there is no key \"target\"");
    refused(OA_ANSWER_TEXT, "1,2", "ex.jsonl", NULL, OA_ARGUMENT, "data.columns names \"1\"");
    write_text("ex.jsonl", "{\"source\": \"a\", \"target\": []}\n");
    refused(OA_ANSWER_TEXT, NULL, "ex.jsonl", NULL, OA_FORMAT, "the list is empty");
    write_text("ex.jsonl", "{\"source\": {}, \"target\": \"a\"}\n");
    refused(OA_ANSWER_TEXT, NULL, "ex.jsonl", NULL, OA_FORMAT, "neither a text nor a number at the key \"source\"");
    write_text("ex.jsonl", "{\"source\": \"a\"\n");
    refused(OA_ANSWER_TEXT, NULL, "ex.jsonl", NULL, OA_FORMAT, "ex.jsonl, line 1: no JSON:");
    write_text("ex.jsonl", "[1]\n");
    refused(OA_ANSWER_TEXT, NULL, "ex.jsonl", NULL, OA_FORMAT, "there is no object");
    write_text("ex.jsonl", "{\"a\": 1, \"b\": 2}\n");
    refused(OA_ANSWER_TEXT, NULL, "ex.jsonl", NULL, OA_ARGUMENT, "the 2 keys \"a\", \"b\"");
}

static void test_pictures(void **state)
{
    (void)state;
    static uint8_t bytes[3 * 1025];
    struct oa_example_texts t;
    struct oa_tokenizer *tok;
    struct oa_examples e;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    bytes[0] = 9, bytes[1025] = 2, bytes[2050] = 9;
    write_bytes("ex.bin", bytes, sizeof bytes);
    assert_int_equal(open_texts(OA_ANSWER_CLASS, NULL, "ex.bin", NULL, NULL, &t), OA_OK);
    assert_int_equal(oa_example_texts_tokenizer(context, &t, "char", &tok), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "the tokenizer \"char\" is not for pictures");
    assert_int_equal(oa_example_texts_tokenizer(context, &t, "byte", &tok), OA_OK);
    struct oa_example_layout layout = { .source_begin = "[CLS]" };
    assert_int_equal(oa_examples_encode(tok, &t, &t.train, &layout, &e), OA_OK);
    assert_int_equal(e.source.longest, 1025);
    assert_int_equal(e.source.ids[1025], 256);
    for (int i = 0; i < 1024; i++)
        assert_int_equal(e.source.ids[1025 + 1 + i], bytes[1025 + 1 + i]);
    assert_int_equal(e.label[0], 1);
    assert_int_equal(e.label[1], 0);
    oa_examples_close(&e);
    oa_tokenizer_close(tok);
    oa_example_texts_close(&t);
    write_bytes("ex.bin", bytes, 1026);
    refused(OA_ANSWER_CLASS, NULL, "ex.bin", NULL, OA_FORMAT, "1026 bytes are not a whole number of pictures");
    refused(OA_ANSWER_TEXT, NULL, "ex.bin", NULL, OA_ARGUMENT, "they are for classification");
}

/* Token 1 + 8·j + i of a picture in patches of 4 is the square with the corner (4·j, 4·i). */
static void assert_patches(const struct oa_examples *e, size_t row, const uint8_t *picture)
{
    const uint8_t *pixels = e->source.pixels + e->source.start[row] * 16;
    assert_int_equal(e->source.start[row + 1] - e->source.start[row], 65);
    for (int k = 0; k < 16; k++)
        assert_int_equal(pixels[k], 0);
    for (int y = 0; y < 32; y++)
        for (int x = 0; x < 32; x++)
            assert_int_equal(pixels[(1 + y / 4 * 8 + x / 4) * 16 + y % 4 * 4 + x % 4], picture[y * 32 + x]);
}

static void check_patch_batch(const struct oa_examples *e, const uint8_t *bytes)
{
    struct oa_example_batching how = { .rows = 3, .seed = 1, .alike = 70 };
    struct oa_example_batches *kind;
    struct oa_batches *b;
    struct oa_cover cover;
    struct oa_batch batch;
    assert_int_equal(oa_example_batches_open(context, e, &how, &kind), OA_OK);
    assert_int_equal(oa_batches_wrap(context, &oa_example_batches_kind, kind, &b), OA_OK);
    assert_int_equal(oa_batches_cover(b, NULL, 0, &cover), OA_OK);
    assert_int_equal(oa_batches_window(b, 0, &batch), OA_OK);
    assert_int_equal(batch.rows, 3);
    for (int r = 0; r < 3; r++) {
        size_t row = oa_batches_examples(b, 0)[r];
        for (int t = 0; t < batch.length; t++) {
            assert_int_equal(batch.input[r * batch.length + t], t == 0 ? 1 : 0);
            int corner = (t - 1) / 8 * 4 * 32 + (t - 1) % 8 * 4;
            int wanted = t == 0 || t > 64 ? 0 : bytes[row * 1025 + 1 + (size_t)corner + 32];
            assert_int_equal(batch.pixels[(r * batch.length + t) * 16 + 4], wanted);
        }
    }
    oa_batches_close(b);
}

static void test_patches(void **state)
{
    (void)state;
    static uint8_t bytes[3 * 1025];
    struct oa_example_texts t;
    struct oa_tokenizer *tok, *read;
    struct oa_examples e;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * i / 3);
    bytes[0] = 1, bytes[1025] = 2, bytes[2050] = 1;
    write_bytes("ex.bin", bytes, sizeof bytes);
    assert_int_equal(open_texts(OA_ANSWER_CLASS, NULL, "ex.bin", NULL, NULL, &t), OA_OK);
    static const char *const wrong[] = { "patch:", "patch:3", "patch:1", "patch:64", "patch:4x" };
    for (int i = 0; i < 5; i++) {
        assert_int_equal(oa_example_texts_tokenizer(context, &t, wrong[i], &tok), OA_ARGUMENT);
        expect_error(OA_ARGUMENT, "P one of 2, 4, 8, 16, 32");
    }
    assert_int_equal(oa_example_texts_tokenizer(context, &t, "patch:4", &tok), OA_OK);
    struct oa_example_layout layout = { .source_begin = "[CLS]", .source_end = "[SEP]", .words = true };
    assert_int_equal(oa_examples_encode(tok, &t, &t.train, &layout, &e), OA_OK);
    assert_int_equal(e.patch, 16);
    for (size_t row = 0; row < 3; row++) {
        assert_patches(&e, row, bytes + row * 1025 + 1);
        for (int i = 0; i < 65; i++)
            assert_int_equal(e.source.words[row * 65 + (size_t)i], i);
    }
    check_patch_batch(&e, bytes);
    oa_examples_close(&e);
    /* the side stands in the file */
    assert_int_equal(oa_tokenizer_save(context, tok, "ex.patch.json"), OA_OK);
    assert_int_equal(oa_tokenizer_load(context, "ex.patch.json", &read), OA_OK);
    assert_int_equal(oa_tokenizer_patch(read), 4);
    struct oa_given_text text = { "abc", 3 };
    assert_int_equal(oa_source_encode(read, &layout, "here, line 2", &text, 1, &e), OA_FORMAT);
    expect_error(OA_FORMAT, "here, line 2: a picture has 32 x 32 pixels of a byte, and this has 3 bytes");
    oa_tokenizer_close(read);
    oa_tokenizer_close(tok);
    oa_example_texts_close(&t);
    write_text("ex.tsv", "x\tone\ny\ttwo\n");
    assert_int_equal(open_texts(OA_ANSWER_CLASS, NULL, "ex.tsv", NULL, NULL, &t), OA_OK);
    assert_int_equal(oa_example_texts_tokenizer(context, &t, "patch:4", &tok), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "the tokenizer \"patch:4\" is for pictures (*.bin), and the examples are texts");
    oa_example_texts_close(&t);
}

/* By Pillow 13.0.0's Image.convert("L"): red 76, green 150, blue 29, white 255, (10, 200, 99) 132. */
static void test_colours(void **state)
{
    (void)state;
    static const uint8_t rgb[5][3] = {
        { 255, 0, 0 }, { 0, 255, 0 }, { 0, 0, 255 }, { 255, 255, 255 }, { 10, 200, 99 }
    };
    static const uint8_t grey[] = { 76, 150, 29, 255, 132 };
    static uint8_t bytes[2 * 3073];
    struct oa_example_texts t;
    size_t n;
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 3; k++)
            bytes[3073 + 1 + k * 1024 + 7 + i] = rgb[i][k];
    bytes[3073] = 5;
    write_bytes("ex.bin", bytes, sizeof bytes);
    assert_int_equal(open_texts(OA_ANSWER_CLASS, NULL, "ex.bin", NULL, NULL, &t), OA_OK);
    assert_int_equal(t.train.count, 2);
    const uint8_t *pixels = (const uint8_t *)oa_rows_cell(&t.train, 1, 1, &n);
    assert_int_equal(n, 1024);
    for (int i = 0; i < 5; i++)
        assert_int_equal(pixels[7 + i], grey[i]);
    assert_int_equal(pixels[6] + pixels[12], 0);
    oa_example_texts_close(&t);
}

/* ---- dialogues ------------------------------------------------------------------------------------------------- */

static enum oa_error open_dialogues(const char *train, double fraction, struct oa_example_texts *out)
{
    struct oa_example_request r = {
        .train = train, .answer = OA_ANSWER_TEXT, .valid_fraction = fraction, .split_seed = 3, .dialogues = true
    };
    notices[0] = 0;
    return oa_example_texts_open(context, &r, out);
}

static void test_dialogues(void **state)
{
    (void)state;
    struct oa_example_texts t;
    write_text("ex.txt",
               "Hello . __eou__ Hi ! __eou__ Bye . __eou__\nalone\n\none __eou__  two\t1\t3 4\n __eou__ a__eou__b\n");
    assert_int_equal(open_dialogues("ex.txt", 0, &t), OA_OK);
    assert_int_equal(t.train.count, 4);
    static const char *const wanted[][2] = {
        { "Hello .", "Hi !" }, { "Hello . __eou__ Hi !", "Bye ." }, { "one", "two" }, { "a", "b" }
    };
    static const uint64_t line[] = { 1, 1, 4, 5 };
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(oa_rows_cells(&t.train, i), 2);
        assert_cell(&t.train, i, 0, wanted[i][0]);
        assert_cell(&t.train, i, 1, wanted[i][1]);
        assert_int_equal(t.train.place[i].line, line[i]);
    }
    assert_int_equal(t.train.left_out, 1);
    assert_int_equal(t.train.left_out_line[0], 3);
    assert_non_null(strstr(notices, "ex.txt: of 1 dialogues what stands behind a tab was not read"));
    oa_example_texts_close(&t);
    write_text("ex.tsv", "a source\ta target\n"); /* a table stays one */
    assert_int_equal(open_dialogues("ex.tsv", 0, &t), OA_OK);
    assert_cell(&t.train, 0, 1, "a target");
    oa_example_texts_close(&t);
    struct oa_example_request columns = {
        .train = "ex.txt", .columns = "1,2", .answer = OA_ANSWER_TEXT, .dialogues = true
    };
    assert_int_equal(oa_example_texts_open(context, &columns, &t), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "ex.txt: dialogues have no columns");
    write_text("ex.txt", "m\361\361\n"); /* what was read of it is released */
    assert_int_equal(open_dialogues("ex.txt", 0, &t), OA_FORMAT);
    expect_error(OA_FORMAT, "ex.txt, line 1: byte 0xF1 is not UTF-8");
}

/* Turns of one dialogue are all on one side: of 40 with 5 turns each ten are held out, with all of their four answers.
 */
static void test_dialogues_stay_whole(void **state)
{
    (void)state;
    struct oa_example_texts t;
    static char text[40 * 64];
    size_t n = 0;
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "a%d __eou__ b%d __eou__ c%d __eou__ d%d __eou__ e%d\n", i, i,
                              i, i, i);
    write_text("ex.txt", text);
    assert_int_equal(open_dialogues("ex.txt", 0.25, &t), OA_OK);
    assert_int_equal(t.train.count, 120);
    assert_int_equal(t.valid.count, 40);
    for (size_t i = 0; i < 40; i++)
        assert_int_equal(t.valid.place[i].line, t.valid.place[i / 4 * 4].line);
    oa_example_texts_close(&t);
}

/* Of a source that is too long the newest words are read, with word numbers from 0. */
static void test_end_is_kept(void **state)
{
    (void)state;
    struct oa_example_texts t;
    struct oa_tokenizer *tok;
    struct oa_examples e;
    write_text("ex.txt", "one two three __eou__ four\n");
    assert_int_equal(open_dialogues("ex.txt", 0, &t), OA_OK);
    assert_int_equal(oa_example_texts_tokenizer(context, &t, "byte", &tok), OA_OK);
    struct oa_example_layout layout = {
        .source_end = "</s>", .target_end = "</s>", .source_limit = 8, .words = true, .keep_end = true
    };
    assert_int_equal(oa_examples_encode(tok, &t, &t.train, &layout, &e), OA_OK);
    assert_int_equal(e.source.start[1], 8);
    assert_int_equal(e.source.cut, 1);
    static const int32_t words[] = { 0, 1, 1, 1, 1, 1, 1, 2 }; /* a blank is of the word behind it */
    for (int i = 0; i < 7; i++) {
        assert_int_equal(e.source.ids[i], "o three"[i]);
        assert_int_equal(e.source.words[i], words[i]);
    }
    assert_int_equal(e.source.words[7], words[7]);
    oa_examples_close(&e);
    oa_tokenizer_close(tok);
    oa_example_texts_close(&t);
}

/* ---- labels ---------------------------------------------------------------------------------------------------- */

static void assert_classes(const char *file, const char *const *names)
{
    struct oa_example_texts t;
    assert_int_equal(open_texts(OA_ANSWER_CLASS, NULL, file, NULL, NULL, &t), OA_OK);
    long n = 0;
    for (; names[n]; n++) {
        assert_string_equal(t.classes.name[n], names[n]);
        assert_int_equal(oa_labels_find(&t.classes, names[n], strlen(names[n])), n);
    }
    assert_int_equal(t.classes.count, n);
    assert_int_equal(oa_labels_find(&t.classes, "neither", 7), -1);
    oa_example_texts_close(&t);
}

static void test_classes(void **state)
{
    (void)state;
    write_text("ex.tsv", "10\ta\n9\tb\n-1\tc\n10\td\n9.5\te\n");
    assert_classes("ex.tsv", CELLS("-1", "9", "9.5", "10"));
    write_text("ex.tsv", "10\ta\n9\tb\nx\tc\n");
    assert_classes("ex.tsv", CELLS("10", "9", "x"));
    write_text("ex.valid.tsv", "x\tb\ny\tb\n");
    refused(OA_ANSWER_CLASS, NULL, "ex.tsv", "ex.valid.tsv", OA_FORMAT,
            "ex.valid.tsv, line 2: the label \"y\" is none of the labels of the training examples");
    write_text("ex.valid.tsv", "polarity\tutterance\n");
    refused(OA_ANSWER_CLASS, NULL, "ex.tsv", "ex.valid.tsv", OA_FORMAT, "if line 1 has names, data.columns gives them");
    write_text("ex.tsv", "1\ta\n\tb\n");
    refused(OA_ANSWER_CLASS, NULL, "ex.tsv", NULL, OA_FORMAT, "ex.tsv, line 2: the label \"\" is empty");
    write_text("ex.tsv", "0.5\ta\nnan\tb\n");
    refused(OA_ANSWER_NUMBER, NULL, "ex.tsv", NULL, OA_FORMAT,
            "ex.tsv, line 2: the label \"nan\" is not a finite number");
    write_text("ex.tsv", "0.5\ta\n1e999\tb\n");
    refused(OA_ANSWER_NUMBER, NULL, "ex.tsv", NULL, OA_FORMAT, "\"1e999\" is not a finite number");
    write_text("ex.tsv", "1\ta\n0\tb\n");
    write_text("ex.valid.tsv", "1\ta\tb\n");
    refused(OA_ANSWER_CLASS, NULL, "ex.tsv", "ex.valid.tsv", OA_FORMAT,
            "ex.tsv has single texts and ex.valid.tsv has pairs");
    FILE *f = fopen("ex.tsv", "w");
    for (int i = 0; i < 150; i++)
        fprintf(f, "text %d\t%d\n", i, i & 1);
    fclose(f);
    refused(OA_ANSWER_CLASS, NULL, "ex.tsv", NULL, OA_FORMAT, "150 different labels: is another column the label?");
}

/* ---- sides ----------------------------------------------------------------------------------------------------- */

static void write_numbered(const char *path, int count)
{
    FILE *f = fopen(path, "w");
    for (int i = 0; i < count; i++)
        fprintf(f, "%d\ttext %d\n", i & 1, i);
    fclose(f);
}

static void test_hold_out(void **state)
{
    (void)state;
    struct oa_example_texts a, b, c;
    struct oa_example_request r = { "ex.tsv", "", NULL, NULL, OA_ANSWER_CLASS, 0.25, 0, false };
    write_numbered("ex.tsv", 101);
    assert_int_equal(oa_example_texts_open(context, &r, &a), OA_OK);
    assert_int_equal(oa_example_texts_open(context, &r, &b), OA_OK);
    r.split_seed = 5;
    assert_int_equal(oa_example_texts_open(context, &r, &c), OA_OK);
    assert_int_equal(a.train.count, 75); /* ⌊101 · 0.75⌋ */
    assert_int_equal(a.valid.count, 26);
    assert_string_equal(a.valid.digest.hex, b.valid.digest.hex);
    assert_string_not_equal(a.valid.digest.hex, c.valid.digest.hex);
    bool seen[101] = { false };
    const struct oa_rows *sides[] = { &a.train, &a.valid };
    for (int s = 0; s < 2; s++)
        for (size_t i = 0, last = 0; i < sides[s]->count; i++) {
            size_t line = (size_t)sides[s]->place[i].line;
            char text[32];
            assert_true(line > last); /* in the order of the file */
            last = line;
            assert_false(seen[line - 1]);
            seen[line - 1] = true;
            snprintf(text, sizeof text, "text %zu", line - 1);
            assert_cell(sides[s], i, 1, text);
        }
    assert_true(a.valid.place[0].line < 26); /* not the end of the file, which may be sorted by label */
    oa_example_texts_close(&a);
    oa_example_texts_close(&b);
    oa_example_texts_close(&c);
    r.valid_fraction = 1;
    assert_int_equal(oa_example_texts_open(context, &r, &a), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "the validation fraction is 1");
    write_numbered("ex.tsv", 1);
    r.valid_fraction = 0.5;
    assert_int_equal(oa_example_texts_open(context, &r, &a), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "none is for training");
}

static void test_overlap(void **state)
{
    (void)state;
    struct oa_example_texts t;
    write_text("ex.tsv", "1\ta\n0\tb\n0\tc\n");
    write_text("ex.valid.tsv", "1\ta\n1\tb\n1\td\n1\ta\n");
    assert_int_equal(open_texts(OA_ANSWER_CLASS, NULL, "ex.tsv", "ex.valid.tsv", NULL, &t), OA_OK);
    assert_int_equal(t.valid_overlap.rows, 2);
    assert_int_equal(t.valid_overlap.sources, 3);
    expect_notice(
        "of the 4 validation examples 3 have a text that is among the training examples, 2 with the same label");
    oa_example_texts_close(&t);
}

/* ---- special tokens and words ---------------------------------------------------------------------------------- */

static void assert_words(struct oa_tokenizer *tok, const char *text, const char *words)
{
    struct oa_ids ids, numbers;
    struct oa_text printed;
    oa_ids_init(&ids, context);
    oa_ids_init(&numbers, context);
    oa_text_init(&printed, context);
    assert_int_equal(oa_tokenizer_encode_text(tok, "text", text, strlen(text), &ids, &numbers), OA_OK);
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

static void test_words(void **state)
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
    assert_int_equal(oa_tokenizer_open_texts(context, "bpe:258", &bpe, NULL, &tok), OA_OK); /* lo, low */
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

/* The text "[CLS]" stays text, in every kind, also after saving and loading; as a token it is found by the layout. */
static void test_special_tokens(void **state)
{
    (void)state;
    write_text("ex.tsv", "1\tsay [CLS] now\n0\t</s> [SEP] say\n");
    for (int i = 0; i < 4; i++) {
        struct oa_example_texts t;
        struct oa_tokenizer *tok, *again;
        struct oa_examples e, f;
        struct oa_text back;
        struct oa_example_layout layout = { .source_begin = "[CLS]", .source_end = "[SEP]", .words = true };
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
        assert_memory_equal(e.source.words, f.source.words, e.source.start[2] * sizeof *e.source.ids);
        oa_text_free(&back);
        oa_examples_close(&e);
        oa_examples_close(&f);
        oa_tokenizer_close(tok);
        oa_tokenizer_close(again);
        oa_example_texts_close(&t);
    }
}

/* What a model reads of a text alone is what it learnt from a row with that text: ids, words, and where a pair parts.
 */
static void test_a_text_alone_is_that_of_a_row(void **state)
{
    static const char *const texts[][2] = { { " two  words", "and three more" },
                                            { "say it's so", "\xc3\xa9, [CLS]!" } };
    (void)state;
    write_text("ex.tsv", "1\t two  words\tand three more\n0\tsay it's so\t\xc3\xa9, [CLS]!\n");
    for (int i = 0; i < 4; i++) {
        struct oa_example_texts t;
        struct oa_tokenizer *tok;
        struct oa_examples rows, one;
        struct oa_example_layout layout = { .source_begin = "[CLS]", .source_end = "[SEP]", .words = true };
        assert_int_equal(open_texts(OA_ANSWER_CLASS, NULL, "ex.tsv", NULL, NULL, &t), OA_OK);
        assert_int_equal(oa_example_texts_tokenizer(context, &t, specs[i], &tok), OA_OK);
        assert_int_equal(oa_examples_encode(tok, &t, &t.train, &layout, &rows), OA_OK);
        for (size_t r = 0; r < 2; r++) {
            struct oa_given_text given[2];
            size_t from = rows.source.start[r], n = rows.source.start[r + 1] - from;
            for (int k = 0; k < 2; k++)
                given[k] = (struct oa_given_text){ texts[r][k], strlen(texts[r][k]) };
            assert_int_equal(oa_source_encode(tok, &layout, "here", given, 2, &one), OA_OK);
            assert_int_equal(one.source.start[1], n);
            assert_memory_equal(one.source.ids, rows.source.ids + from, n * sizeof *one.source.ids);
            assert_memory_equal(one.source.words, rows.source.words + from, n * sizeof *one.source.words);
            assert_int_equal(one.split[0], rows.split[r]);
            oa_examples_close(&one);
        }
        oa_examples_close(&rows);
        oa_tokenizer_close(tok);
        oa_example_texts_close(&t);
    }
}

/* Ids between blanks: special tokens stand behind them and are not written. */
static void test_special_ids(void **state)
{
    (void)state;
    struct oa_tokenizer *tok, *again;
    struct oa_ids ids;
    int32_t end;
    oa_ids_init(&ids, context);
    assert_int_equal(oa_tokenizer_open_texts(context, "ids:9", &(struct oa_text){ .s = "" }, NULL, &tok), OA_OK);
    assert_int_equal(oa_tokenizer_add_special(tok, "</s>", &end), OA_OK);
    assert_int_equal(end, 9);
    assert_int_equal(oa_tokenizer_encode_text(tok, "here", "8 </s>", 6, &ids, NULL), OA_FORMAT);
    expect_error(OA_FORMAT, "here: \"</s>\" is not one of the ids 0 … 8");
    assert_int_equal(oa_tokenizer_save(context, tok, "ex.ids.json"), OA_OK);
    assert_int_equal(oa_tokenizer_load(context, "ex.ids.json", &again), OA_OK);
    assert_int_equal(oa_tokenizer_size(again), 10);
    assert_true(oa_tokenizer_is_special(again, 9));
    oa_ids_free(&ids);
    oa_tokenizer_close(tok);
    oa_tokenizer_close(again);
}

/* ---- rows of ids ----------------------------------------------------------------------------------------------- */

static void assert_sequence(const struct oa_id_lists *s, size_t i, const char *text)
{
    struct oa_text printed;
    oa_text_init(&printed, context);
    for (size_t k = s->start[i]; k < s->start[i + 1]; k++)
        oa_text_printf(&printed, s->ids[k] < 256 ? "%c" : "<%d>", s->ids[k] < 256 ? s->ids[k] : s->ids[k] - 256);
    assert_string_equal(printed.s, text);
    oa_text_free(&printed);
}

static enum oa_error encode(const char *file, enum oa_answer answer, const struct oa_example_layout *layout,
                            struct oa_example_texts *t, struct oa_tokenizer **tok, struct oa_examples *e)
{
    assert_int_equal(open_texts(answer, NULL, file, NULL, NULL, t), OA_OK);
    assert_int_equal(oa_example_texts_tokenizer(context, t, "byte", tok), OA_OK);
    return oa_examples_encode(*tok, t, &t->train, layout, e);
}

static void close_all(struct oa_example_texts *t, struct oa_tokenizer *tok, struct oa_examples *e)
{
    oa_examples_close(e);
    oa_tokenizer_close(tok);
    oa_example_texts_close(t);
}

static void test_pairs_and_cuts(void **state)
{
    (void)state;
    struct oa_example_texts t;
    struct oa_tokenizer *tok;
    struct oa_examples e;
    struct oa_example_layout layout = { .source_begin = "[CLS]", .source_end = "[SEP]", .source_limit = 10 };
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
    expect_error(OA_SHAPE, "ex.tsv, line 1: the text has 13 tokens, special ones among them, and the model reads 10");
    close_all(&t, tok, &e);
}

static void test_targets(void **state)
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
    layout.target_begin = layout.target_end = NULL;
    write_text("ex.sum.tsv", "a\tb\n");
    assert_int_equal(encode("ex.sum.tsv", OA_ANSWER_TEXT, &layout, &t, &tok, &e), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "the target has 1 of the 2 tokens that are the least");
    close_all(&t, tok, &e);
}

/* ---- batches --------------------------------------------------------------------------------------------------- */

enum { PAIRS = 500 };

/* Source i is of 1 … 20 letters and spells i at its beginning, target i of 1 … 16. */
static void write_pairs(const char *path)
{
    FILE *f = fopen(path, "w");
    for (unsigned i = 0; i < PAIRS; i++)
        fprintf(f, "%03u%.*s\t%03u%.*s\n", i, (int)(i * 7919 % 17), "abcdefghijklmnopqrstu", i, (int)(i * 104729 % 13),
                "abcdefghijklmnopqrstu");
    fclose(f);
}

static const struct oa_example_layout translation = {
    .source_end = "</s>", .target_begin = "<s>", .target_end = "</s>", .words = true
};

static int row_number(const int32_t *ids)
{
    return (ids[0] - '0') * 100 + (ids[1] - '0') * 10 + ids[2] - '0';
}

/* All that a batch says of row r is right: padding, the shift by one, the two sides. Gives the row. */
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
    assert_memory_equal(target, e->target.ids + e->target.start[row] + 1, (size_t)m * sizeof *input);
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
            most_source = batch.source_lengths[r] > most_source ? batch.source_lengths[r] : most_source;
        }
        assert_true(amount.targets == (double)targets && amount.tokens == (double)read);
        assert_true(batch.length == most && batch.source_length == most_source);
        if (how->tokens)
            assert_true(batch.rows * most <= how->tokens && batch.rows * most_source <= how->tokens);
        else
            assert_true(batch.rows == how->rows || rows + batch.rows == PAIRS || batch.rows == PAIRS % how->rows);
        rows += batch.rows;
        places += (long)batch.rows * (batch.length + batch.source_length);
        tokens += read;
    }
    *padding = 1 - (double)tokens / (double)places;
    return batches;
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
    if (!how.tokens)
        assert_int_equal(first, (PAIRS + how.rows - 1) / how.rows);
    /* A fresh one that begins later, and another cut into steps and micro-batches, give the same. */
    for (long number = first + second + third - 1; number > 0; number -= 7) {
        struct oa_batch x, y;
        int32_t ids[64];
        assert_int_equal(oa_example_batches_kind.random(b, (uint64_t)(number / 4) + 1, 4, number % 4, &x), OA_OK);
        memcpy(ids, x.source, (size_t)oa_min(64, x.rows * x.source_length) * sizeof *ids);
        assert_int_equal(oa_example_batches_kind.random(a, (uint64_t)number + 1, 1, 0, &y), OA_OK);
        assert_true(x.rows == y.rows && x.length == y.length && x.source_length == y.source_length);
        assert_memory_equal(ids, y.source, (size_t)oa_min(64, x.rows * x.source_length) * sizeof *ids);
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

static void test_training_batches(void **state)
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
    expect_error(OA_ARGUMENT, "train.batch_tokens is 19, but one of the training examples has 20 tokens");
    how = (struct oa_example_batching){ .rows = 0 };
    assert_int_equal(oa_example_batches_open(context, &e, &how, &b), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "a batch of 0 rows is empty");
    close_all(&t, tok, &e);
}

/* Sorted rows pad less than others, and batches do not come in the order of their lengths. */
static void test_order(void **state)
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
    assert_int_equal(oa_example_batches_open(context, &e, &(struct oa_example_batching){ .rows = 4, .seed = 1 }, &a),
                     OA_OK);
    assert_int_equal(oa_example_batches_open(context, &e, &(struct oa_example_batching){ .rows = 4, .seed = 2 }, &b),
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
static void test_epochs_differ(void **state)
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
    assert_int_equal(oa_example_batches_open(context, &e, &(struct oa_example_batching){ .rows = 4 }, &b), OA_OK);
    long first = company(b, &e, 0), second = company(b, &e, 1), third = company(b, &e, 2);
    assert_true(first != second && second != third && first != third);
    oa_example_batches_kind.close(b);
    struct oa_batch x; /* sources of 6 tokens, targets of 4: a budget of 24 is 4 rows */
    assert_int_equal(oa_example_batches_open(context, &e, &(struct oa_example_batching){ .tokens = 24 }, &b), OA_OK);
    assert_int_equal(oa_example_batches_kind.random(b, 1, 1, 0, &x), OA_OK);
    assert_true(x.rows == 4 && x.source_length == 6 && x.length == 4);
    assert_true(oa_example_batches_padding(b, 0) == 0);
    oa_example_batches_kind.close(b);
    close_all(&t, tok, &e);
}

/* Sources of targets of one length grow, of the next length shrink. */
static void test_back_and_forth(void **state)
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
    assert_int_equal(oa_example_batches_open(context, &e, &(struct oa_example_batching){ .rows = 1 }, &b), OA_OK);
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

static void test_cover(void **state)
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
    assert_int_equal(oa_example_batches_open(context, &e, &(struct oa_example_batching){ .tokens = 128 }, &b), OA_OK);
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

static void test_encoder_batches(void **state)
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
    assert_int_equal(oa_example_batches_open(context, &e, &(struct oa_example_batching){ .rows = 8 }, &own), OA_OK);
    assert_int_equal(oa_batches_wrap(context, &oa_example_batches_kind, own, &b), OA_OK);
    assert_int_equal(oa_batches_random(b, 5, 1, 0, &x), OA_OK);
    assert_true(x.rows == 2 && x.length == 9 && !x.target && !x.source && x.source_length == 0 && !x.label && !x.words);
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

static int open_context(void **state)
{
    (void)state;
    context = oa_open(&(struct oa_settings){ .log = take_notice });
    return context ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    oa_close(context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parallel),
        cmocka_unit_test(test_parallel_refused),
        cmocka_unit_test(test_gzip_and_digest),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_tables_refused),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_dialogues),
        cmocka_unit_test(test_dialogues_stay_whole),
        cmocka_unit_test(test_end_is_kept),
        cmocka_unit_test(test_patches),
        cmocka_unit_test(test_colours),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_hold_out),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_special_tokens),
        cmocka_unit_test(test_a_text_alone_is_that_of_a_row),
        cmocka_unit_test(test_special_ids),
        cmocka_unit_test(test_pairs_and_cuts),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_training_batches),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_epochs_differ),
        cmocka_unit_test(test_back_and_forth),
        cmocka_unit_test(test_cover),
        cmocka_unit_test(test_encoder_batches),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
