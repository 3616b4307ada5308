/* SPDX-License-Identifier: Apache-2.0
 * Examples: every form of file and what is refused of it, labels, held-out rows and rows on two
 * sides. */
#include "examples_setup.h"

#include <stdlib.h>
#include <zlib.h>

/* ---- parallel files
 * -------------------------------------------------------------------------------------------- */

static void parallel_files_give_pairs_of_lines(void **state)
{
    (void)state;
    struct oa_example_texts t;
    write_text("ex.de", "ein Hund\r\neine  Katze \n\nzwei\ndrei");
    write_text("ex.en", "a dog\na cat\nnothing\n \t\nthree\n");
    write_text("ex.more.de", "\xef\xbb\xbfvier\n");
    write_text("ex.more.en", "four\n");
    assert_int_equal(open_texts(OA_ANSWER_TEXT, NULL, "ex.de,ex.en, ex.more.de ,ex.more.en", NULL,
                                "ex.de,ex.en", &t),
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
    expect_notice("training examples: 2 of 6 left out because of an empty text (lines 3, 4)");
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
    expect_notice("warning: of the 5 test examples 3 have a source that is also in the training "
                  "examples, 3 with the same target");
    oa_example_texts_close(&t);
}

static void bad_parallel_files_are_rejected(void **state)
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
    refused(OA_ANSWER_TEXT, NULL, "ex.de,ex.en", NULL, OA_FORMAT,
            "parallel files differ in length: ex.de has 2 lines and ex.en has 3 (ex.de ends after "
            "line 2)");
    refused(OA_ANSWER_TEXT, NULL, "ex.en,ex.de", NULL, OA_FORMAT, "ex.de ends after line 2");
    refused(OA_ANSWER_TEXT, NULL, "ex.de", NULL, OA_ARGUMENT, "ex.de lacks its parallel file");
    refused(OA_ANSWER_TEXT, NULL, "ex.de,ex.tsv", NULL, OA_ARGUMENT,
            "ex.de lacks its parallel file");
    refused(OA_ANSWER_TEXT, NULL, "ex.latin,ex.de", NULL, OA_FORMAT,
            "ex.latin, line 2: byte 0xFC is not UTF-8");
    refused(OA_ANSWER_TEXT, NULL, "ex.utf16,ex.de", NULL, OA_FORMAT, "UTF-16");
    refused(OA_ANSWER_TEXT, NULL, "ex.zero,ex.de", NULL, OA_FORMAT,
            "ex.zero, line 2: not a text file: it has a zero byte");
    refused(OA_ANSWER_TEXT, NULL, "ex.de,ex.none", NULL, OA_FORMAT, "ex.none is empty");
    refused(OA_ANSWER_TEXT, NULL, "ex.mark,ex.de", NULL, OA_FORMAT, "ex.mark is empty");
    refused(OA_ANSWER_TEXT, NULL, "ex.de,ex.blank", NULL, OA_FORMAT,
            "no training example with a text");
    refused(OA_ANSWER_TEXT, NULL, "ex.nowhere,ex.de", NULL, OA_IO, "ex.nowhere");
    refused(OA_ANSWER_TEXT, NULL, "ex.de,,ex.de", NULL, OA_ARGUMENT, "lacks its parallel file");
    refused(OA_ANSWER_TEXT, NULL, " ", NULL, OA_ARGUMENT, "data.train is empty");
}

/* gzip gives the same rows and the same digest; another text another one. */
static void gzip_has_the_digest_of_its_text(void **state)
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
    assert_int_equal(open_texts(OA_ANSWER_TEXT, NULL, "ex.de.gz,ex.en", NULL, NULL, &packed),
                     OA_OK);
    assert_int_equal(open_texts(OA_ANSWER_TEXT, NULL, "ex.two.de,ex.two.en", NULL, NULL, &other),
                     OA_OK);
    assert_string_equal(plain.train.digest.hex, packed.train.digest.hex);
    assert_string_not_equal(plain.train.digest.hex, other.train.digest.hex);
    oa_example_texts_close(&plain);
    oa_example_texts_close(&packed);
    oa_example_texts_close(&other);
}

/* ---- tables
 * ----------------------------------------------------------------------------------------------------
 */

static void published_layouts_are_detected(void **state)
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
    write_text("ex.mrpc", "\xef\xbb\xbfQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t7\t8\tA "
                          "b\tB a\r\n0\t9\t6\tC\tD\r\n");
    assert_row(OA_ANSWER_CLASS, NULL, "ex.mrpc", 0, CELLS("1", "A b", "B a"));
    write_text(
        "ex.rte",
        "index\tsentence1\tsentence2\tlabel\n0\tp\th\tentailment\n1\tq\ti\tnot_entailment\n");
    assert_row(OA_ANSWER_CLASS, NULL, "ex.rte", 1, CELLS("not_entailment", "q", "i"));
    write_text(
        "ex.sts",
        "main\tMSRvid\t2012test\t0001\t5.000\tA plane\tAn air plane\n"
        "main\tMSRvid\t2012test\t0004\t3.8\tA man\tMen\tlicence\tmore\n"); /* STS benchmark */
    assert_row(OA_ANSWER_NUMBER, NULL, "ex.sts", 1, CELLS("3.8", "A man", "Men"));
    write_text("ex.imdb", "label\tid\trating\ttext\n0\t0\t3\tso so\n1\t1\t9\tfine\n");
    assert_row(OA_ANSWER_CLASS, NULL, "ex.imdb", 1, CELLS("1", "fine"));
    assert_row(OA_ANSWER_NUMBER, "rating,text", "ex.imdb", 0, CELLS("3", "so so"));
    write_text(
        "ex.csv",
        "\"3\",\"Wall St., up\",\"a \"\"b\"\"\r\nc\"\r\n\"4\",\"x\",plain\r\n"); /* AG's News */
    assert_row(OA_ANSWER_CLASS, NULL, "ex.csv", 0, CELLS("3", "Wall St., up", "a \"b\"\nc"));
    assert_row(OA_ANSWER_CLASS, "1,2+3", "ex.csv", 1, CELLS("4", "x plain"));
    write_text("ex.sum.tsv", "hello\thi\n"); /* DialogSum */
    assert_row(OA_ANSWER_TEXT, NULL, "ex.sum.tsv", 0, CELLS("hello", "hi"));
}

static void further_columns_are_references(void **state)
{
    (void)state;
    struct oa_example_texts t;
    write_text("ex.sum.tsv", "hello\thi\n");
    write_text("ex.sum4.tsv", "hello\thi\they\tho\n");
    write_text("ex.sum.jsonl", "{\"dialogue\": \"hello\", \"summary1\": \"hi\", \"topic\": \"t\", "
                               "\"summary2\": \"ho\"}\n");
    assert_int_equal(open_texts(OA_ANSWER_TEXT, NULL, "ex.sum.tsv", NULL, "ex.sum4.tsv", &t),
                     OA_OK);
    assert_int_equal(oa_rows_cells(&t.test, 0), 4);
    assert_cell(&t.test, 0, 3, "ho");
    assert_int_equal(t.test_overlap.rows, 1); /* by the first target */
    oa_example_texts_close(&t);
    refused(OA_ANSWER_TEXT, NULL, "ex.sum4.tsv", NULL, OA_ARGUMENT,
            "cannot tell which are source and target");
    assert_row(OA_ANSWER_TEXT, NULL, "ex.sum.jsonl", 0, CELLS("hello", "hi", "ho"));
}

static void bad_tables_are_rejected(void **state)
{
    (void)state;
    write_text("ex.tsv", "1\tgood\n0\tbad\tfilm\n");
    refused(OA_ANSWER_CLASS, NULL, "ex.tsv", NULL, OA_FORMAT,
            "ex.tsv, line 2: 3 columns, but line 1 has 2");
    assert_row(OA_ANSWER_CLASS, "1,2", "ex.tsv", 1, CELLS("0", "bad"));
    write_text("ex.tsv", "1\tgood\n0\n");
    refused(OA_ANSWER_CLASS, "1,2", "ex.tsv", NULL, OA_FORMAT,
            "ex.tsv, line 2: 1 column, but column 2 is read");
    write_text("ex.tsv", "label\ttext\n1\ta\n0\tb\n");
    refused(OA_ANSWER_CLASS, "label,txt", "ex.tsv", NULL, OA_ARGUMENT,
            "data.columns: ex.tsv has no column \"txt\", only \"label\", \"text\"");
    refused(OA_ANSWER_CLASS, "1,5", "ex.tsv", NULL, OA_ARGUMENT,
            "column 5, but ex.tsv has 2 columns");
    refused(OA_ANSWER_CLASS, "0,1", "ex.tsv", NULL, OA_ARGUMENT, "column 0");
    refused(OA_ANSWER_CLASS, "1", "ex.tsv", NULL, OA_ARGUMENT,
            "data.columns has 1 column; expected label,text");
    refused(OA_ANSWER_CLASS, "1,1", "ex.tsv", NULL, OA_ARGUMENT,
            "names column \"1\" of ex.tsv twice");
    refused(OA_ANSWER_CLASS, "label,text+2", "ex.tsv", NULL, OA_ARGUMENT,
            "names column \"2\" of ex.tsv twice");
    refused(OA_ANSWER_CLASS, "label,text,text", "ex.tsv", NULL, OA_ARGUMENT,
            "names column \"text\" of ex.tsv twice");
    write_text("ex.tsv", "1\ta\tb\tc\n0\tb\tc\td\n");
    refused(OA_ANSWER_CLASS, "1,2,3,4", "ex.tsv", NULL, OA_ARGUMENT, "data.columns has 4 columns");
    write_text("ex.tsv", "a\tb\tc\td\te\n");
    refused(OA_ANSWER_CLASS, NULL, "ex.tsv", NULL, OA_ARGUMENT, "name them, e.g. data.columns=");
    write_text("ex.csv", "1,\"a\nb\n");
    refused(OA_ANSWER_CLASS, NULL, "ex.csv", NULL, OA_FORMAT, "ex.csv, line 1: unterminated quote");
    write_text("ex.csv", "1,a\n2,\"a\" b\n");
    refused(OA_ANSWER_CLASS, NULL, "ex.csv", NULL, OA_FORMAT,
            "ex.csv, line 2: text after a closing quote");
    write_text("ex.csv", "1,\"a\nb\"\n2,\"\r\n\nc\"\n3,\"a\" b\n"); /* records of 2, 3, 1 lines */
    refused(OA_ANSWER_CLASS, NULL, "ex.csv", NULL, OA_FORMAT,
            "ex.csv, line 6: text after a closing quote");
    write_text("ex.tsv", "\t\n0\ta\n\n1\t \n0\tb");
    refused(OA_ANSWER_CLASS, NULL, "ex.tsv", NULL, OA_FORMAT, "the same label");
}

/* Columns of one name are told apart by their order; one that would be passed over is named. */
static void columns_of_one_name_are_read_together(void **state)
{
    (void)state;
    write_text("ex.tsv", "label\ttext\tText\tnote\n1\ta\tb\tx\n0\tc\td\ty\n");
    assert_row(OA_ANSWER_CLASS, "label,text,text", "ex.tsv", 0, CELLS("1", "a", "b"));
    assert_row(OA_ANSWER_CLASS, "label,text+text", "ex.tsv", 1, CELLS("0", "c d"));
    assert_row(OA_ANSWER_CLASS, "1,3", "ex.tsv", 1, CELLS("0", "d"));
    refused(OA_ANSWER_CLASS, "label,text", "ex.tsv", NULL, OA_ARGUMENT,
            "ex.tsv has several columns \"text\"");
    refused(OA_ANSWER_CLASS, NULL, "ex.tsv", NULL, OA_ARGUMENT, "or give column numbers");
    assert_row(OA_ANSWER_CLASS, "label,note", "ex.tsv", 1, CELLS("0", "y"));
    write_text("ex.jsonl", "{\"label\": 1, \"Text\": \"a\", \"text\": \"b\"}\n"
                           "{\"label\": 0, \"Text\": \"a\", \"text\": \"b\"}\n");
    assert_row(OA_ANSWER_CLASS, "label,text", "ex.jsonl", 0, CELLS("1", "a"));
}

static void a_header_may_have_blanks_and_capitals(void **state)
{
    (void)state;
    write_text("ex.csv", "LABEL , Text\n1,a\n0,b\n");
    assert_row(OA_ANSWER_CLASS, NULL, "ex.csv", 0, CELLS("1", "a"));
    assert_row(OA_ANSWER_CLASS, "label, text", "ex.csv", 1, CELLS("0", "b"));
    write_text("ex.tsv", " text \tLABEL\na\t1\nb\t0\n");
    assert_row(OA_ANSWER_CLASS, NULL, "ex.tsv", 0, CELLS("1", "a"));
}

/* The detected columns are logged, and an unknown header is noticed by its label. */
static void the_detected_layout_is_logged(void **state)
{
    (void)state;
    struct oa_example_texts t;
    write_text("ex.tsv",
               "klass\tphrase\n1\ta\n0\tb\n1\ta\n0\tb\n1\ta\n0\tb\n1\ta\n0\tb\n1\ta\n0\tb\n");
    assert_int_equal(open_texts(OA_ANSWER_CLASS, NULL, "ex.tsv", NULL, NULL, &t), OA_OK);
    expect_notice("ex.tsv: columns 1,2 of 2 are label,text, line 1 is an example");
    expect_notice("ex.tsv: 3 classes, \"0\", \"1\", \"klass\"\n");
    expect_notice("ex.tsv: only line 1 has the label \"klass\"; if line 1 is a header");
    oa_example_texts_close(&t);
    assert_int_equal(open_texts(OA_ANSWER_CLASS, "klass,phrase", "ex.tsv", NULL, NULL, &t), OA_OK);
    expect_notice("ex.tsv: columns 1,2 of 2 are label,text, line 1 has their names");
    assert_null(strstr(notices, "alone"));
    oa_example_texts_close(&t);
    write_text("ex.tsv",
               "1\ta\n2\tb\n1\ta\n2\tb\n1\ta\n2\tb\n1\ta\n2\tb\n1\ta\n2\tb\n1\ta\n2\tb\n");
    assert_int_equal(open_texts(OA_ANSWER_CLASS, NULL, "ex.tsv", NULL, NULL, &t), OA_OK);
    assert_null(strstr(notices, "alone"));
    oa_example_texts_close(&t);
}

static void json_objects_are_examples(void **state)
{
    (void)state;
    write_text("ex.jsonl", "{\"id\": 1, \"text\": \"a\\tb\", \"label\": true}\n\n{\"text\": \"c\", "
                           "\"label\": false, \"id\": 2}\n");
    assert_row(OA_ANSWER_CLASS, NULL, "ex.jsonl", 1, CELLS("false", "c"));
    assert_row(OA_ANSWER_CLASS, "id,text", "ex.jsonl", 0, CELLS("1", "a\tb"));
    write_text("ex.jsonl", "{\"source\": \"a\", \"target\": [\"x\", \"y\"]}\n{\"source\": \"b\", "
                           "\"target\": \"z\"}\n");
    assert_row(OA_ANSWER_TEXT, NULL, "ex.jsonl", 0, CELLS("a", "x", "y"));
    refused(OA_ANSWER_TEXT, "target,source", "ex.jsonl", NULL, OA_FORMAT,
            "neither a string nor a number");
    write_text("ex.jsonl", "{\"source\": \"a\", \"target\": 2.5}\n");
    assert_row(OA_ANSWER_TEXT, "target,source", "ex.jsonl", 0, CELLS("2.5", "a"));
    write_text("ex.jsonl", "{\"source\": \"a\", \"target\": \"b\"}\n{\"source\": \"b\"}\n");
    refused(OA_ANSWER_TEXT, NULL, "ex.jsonl", NULL, OA_FORMAT,
            "ex.jsonl, line 2: missing key \"target\"");
    refused(OA_ANSWER_TEXT, "1,2", "ex.jsonl", NULL, OA_ARGUMENT,
            "data.columns: ex.jsonl has no column \"1\"");
    write_text("ex.jsonl", "{\"source\": \"a\", \"target\": []}\n");
    refused(OA_ANSWER_TEXT, NULL, "ex.jsonl", NULL, OA_FORMAT, "empty list at key");
    write_text("ex.jsonl", "{\"source\": {}, \"target\": \"a\"}\n");
    refused(OA_ANSWER_TEXT, NULL, "ex.jsonl", NULL, OA_FORMAT,
            "neither a string nor a number at key \"source\"");
    write_text("ex.jsonl", "{\"source\": \"a\"\n");
    refused(OA_ANSWER_TEXT, NULL, "ex.jsonl", NULL, OA_FORMAT,
            "ex.jsonl, line 1: not a JSON object");
    write_text("ex.jsonl", "[\n{\"source\": \"a\", \"target\": \"b\"}\n]\n");
    refused(OA_ANSWER_TEXT, NULL, "ex.jsonl", NULL, OA_FORMAT,
            "write one object per line: jq -c '.[]' FILE converts a list");
    write_text("ex.jsonl", "{\"source\": 12345678901234567890, \"target\": \"b\"}\n");
    assert_row(OA_ANSWER_TEXT, NULL, "ex.jsonl", 0,
               CELLS("12345678901234567890", "b")); /* as Python's str has it */
    write_text("ex.jsonl", "[1]\n");
    refused(OA_ANSWER_TEXT, NULL, "ex.jsonl", NULL, OA_FORMAT,
            "at byte 1 expected an object {\"key\": value, …}");
    write_text("ex.jsonl", "{\"a\": 1, \"b\": 2}\n");
    refused(OA_ANSWER_TEXT, NULL, "ex.jsonl", NULL, OA_ARGUMENT, "2 keys (\"a\", \"b\")");
}

static void pictures_have_a_class_and_pixels(void **state)
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
    expect_error(OA_ARGUMENT, "tokenizer \"char\" is not for pictures");
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
    static uint8_t many[1025 * 3073]; /* so many in colour, or the other way round in grey */
    write_bytes("ex.bin", many, sizeof many);
    refused(OA_ANSWER_CLASS, NULL, "ex.bin", NULL, OA_FORMAT,
            "may be 3073 grey or 1025 colour pictures");
    write_bytes("ex.bin", bytes, 1026);
    refused(OA_ANSWER_CLASS, NULL, "ex.bin", NULL, OA_FORMAT,
            "1026 bytes are not a whole number of pictures");
    refused(OA_ANSWER_TEXT, NULL, "ex.bin", NULL, OA_ARGUMENT,
            "pictures (*.bin) can only be classified");
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
            assert_int_equal(pixels[(1 + y / 4 * 8 + x / 4) * 16 + y % 4 * 4 + x % 4],
                             picture[y * 32 + x]);
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

static void patches_are_squares_of_pixels(void **state)
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
        expect_error(OA_ARGUMENT, "must be 2, 4, 8, 16 or 32");
    }
    assert_int_equal(oa_example_texts_tokenizer(context, &t, "patch:4", &tok), OA_OK);
    struct oa_example_layout layout = { .source_begin = "[CLS]",
                                        .source_end = "[SEP]",
                                        .words = true };
    assert_int_equal(oa_examples_encode(tok, &t, &t.train, &layout, &e), OA_OK);
    assert_int_equal(e.patch, 16);
    for (size_t row = 0; row < 3; row++) {
        assert_patches(&e, row, bytes + row * 1025 + 1);
        for (int i = 0; i < 65; i++)
            assert_int_equal(e.source.words[row * 65 + (size_t)i], i);
    }
    check_patch_batch(&e, bytes);
    oa_examples_close(&e);
    /* the side is in the file */
    assert_int_equal(oa_tokenizer_save(context, tok, "ex.patch.json"), OA_OK);
    assert_int_equal(oa_tokenizer_load(context, "ex.patch.json", &read), OA_OK);
    assert_int_equal(oa_tokenizer_patch(read), 4);
    struct oa_input_text text = { "abc", 3 };
    assert_int_equal(oa_source_encode(read, &layout, "here, line 2", &text, 1, &e), OA_FORMAT);
    expect_error(OA_FORMAT, "here, line 2: a picture has 32 x 32 bytes, not 3");
    oa_tokenizer_close(read);
    oa_tokenizer_close(tok);
    oa_example_texts_close(&t);
    write_text("ex.tsv", "x\tone\ny\ttwo\n");
    assert_int_equal(open_texts(OA_ANSWER_CLASS, NULL, "ex.tsv", NULL, NULL, &t), OA_OK);
    assert_int_equal(oa_example_texts_tokenizer(context, &t, "patch:4", &tok), OA_ARGUMENT);
    expect_error(OA_ARGUMENT,
                 "tokenizer \"patch:4\" is for pictures (*.bin), but the examples are texts");
    oa_example_texts_close(&t);
}

/* By Pillow 13.0.0's Image.convert("L"): red 76, green 150, blue 29, white 255, (10, 200, 99) 132.
 */
static void colours_become_grey(void **state)
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

/* ---- dialogues
 * -------------------------------------------------------------------------------------------------
 */

static enum oa_error open_dialogues(const char *train, double fraction,
                                    struct oa_example_texts *out)
{
    struct oa_example_request r = { .train = train,
                                    .answer = OA_ANSWER_TEXT,
                                    .valid_fraction = fraction,
                                    .split_seed = 3,
                                    .dialogues = true };
    notices[0] = 0;
    return oa_example_texts_open(context, &r, out);
}

static void every_turn_answers_those_before_it(void **state)
{
    (void)state;
    struct oa_example_texts t;
    write_text("ex.txt", "Hello . __eou__ Hi ! __eou__ Bye . __eou__\nalone\n\none __eou__  "
                         "two\t1\t3 4\n __eou__ a__eou__b\n");
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
    expect_notice("ex.txt: text after a tab was ignored in 1 dialogues");
    expect_notice("ex.txt: 1 dialogues were left out: they have a single turn");
    expect_notice("ex.txt: 1 turns without text were left out");
    oa_example_texts_close(&t);
    write_text("ex.txt", "a __eou__ __eou__ b __eou__ \n");
    assert_int_equal(open_dialogues("ex.txt", 0, &t), OA_OK);
    assert_cell(&t.train, 0, 1, "b");
    expect_notice("ex.txt: 1 turns without text");
    assert_null(strstr(notices, "they have a single turn"));
    oa_example_texts_close(&t);
    write_text("ex.txt", "alone __eou__\n");
    assert_int_equal(open_dialogues("ex.txt", 0, &t), OA_FORMAT);
    expect_error(OA_FORMAT, "example with a text; a dialogue needs at least two turns");
    expect_notice("ex.txt: 1 dialogues were left out: they have a single turn");
    write_text("ex.tsv", "a source\ta target\n"); /* a table stays one */
    assert_int_equal(open_dialogues("ex.tsv", 0, &t), OA_OK);
    assert_cell(&t.train, 0, 1, "a target");
    oa_example_texts_close(&t);
    struct oa_example_request columns = {
        .train = "ex.txt", .columns = "1,2", .answer = OA_ANSWER_TEXT, .dialogues = true
    };
    assert_int_equal(oa_example_texts_open(context, &columns, &t), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "ex.txt: data.columns does not apply to dialogues");
    write_text("ex.txt", "m\361\361\n"); /* what was read of it is released */
    assert_int_equal(open_dialogues("ex.txt", 0, &t), OA_FORMAT);
    expect_error(OA_FORMAT, "ex.txt, line 1: byte 0xF1 is not UTF-8");
}

/* Turns of one dialogue are all on one side: of 40 with 5 turns each ten are held out, with all of
 * their four answers.
 */
static void dialogues_are_held_out_whole(void **state)
{
    (void)state;
    struct oa_example_texts t;
    static char text[40 * 64];
    size_t n = 0;
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "a%d __eou__ b%d __eou__ c%d __eou__ d%d __eou__ e%d\n", i, i, i, i,
                              i);
    write_text("ex.txt", text);
    assert_int_equal(open_dialogues("ex.txt", 0.25, &t), OA_OK);
    assert_int_equal(t.train.count, 120);
    assert_int_equal(t.valid.count, 40);
    for (size_t i = 0; i < 40; i++)
        assert_int_equal(t.valid.place[i].line, t.valid.place[i / 4 * 4].line);
    oa_example_texts_close(&t);
}

/* Of a source that is too long the newest words are read, with word numbers from 0. */
static void a_long_dialogue_keeps_its_end(void **state)
{
    (void)state;
    struct oa_example_texts t;
    struct oa_tokenizer *tok;
    struct oa_examples e;
    write_text("ex.txt", "one two three __eou__ four\n");
    assert_int_equal(open_dialogues("ex.txt", 0, &t), OA_OK);
    assert_int_equal(oa_example_texts_tokenizer(context, &t, "byte", &tok), OA_OK);
    struct oa_example_layout layout = { .source_end = "</s>",
                                        .target_end = "</s>",
                                        .source_limit = 8,
                                        .words = true,
                                        .keep_end = true };
    assert_int_equal(oa_examples_encode(tok, &t, &t.train, &layout, &e), OA_OK);
    assert_int_equal(e.source.start[1], 8);
    assert_int_equal(e.source.cut, 1);
    static const int32_t words[] = {
        0, 1, 1, 1, 1, 1, 1, 2
    }; /* a blank is of the word behind it */
    for (int i = 0; i < 7; i++) {
        assert_int_equal(e.source.ids[i], "o three"[i]);
        assert_int_equal(e.source.words[i], words[i]);
    }
    assert_int_equal(e.source.words[7], words[7]);
    oa_examples_close(&e);
    oa_tokenizer_close(tok);
    oa_example_texts_close(&t);
}

/* ---- labels
 * ----------------------------------------------------------------------------------------------------
 */

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

static void classes_are_the_sorted_training_labels(void **state)
{
    (void)state;
    write_text("ex.tsv", "10\ta\n9\tb\n-1\tc\n10\td\n9.5\te\n");
    assert_classes("ex.tsv", CELLS("-1", "9", "9.5", "10"));
    write_text("ex.tsv", "10\ta\n9\tb\nx\tc\n");
    assert_classes("ex.tsv", CELLS("10", "9", "x"));
    write_text("ex.valid.tsv", "polarity\tutterance\n");
    refused(OA_ANSWER_CLASS, NULL, "ex.tsv", "ex.valid.tsv", OA_FORMAT,
            "if line 1 is a header, name its columns in data.columns");
    write_text("ex.tsv", "1\ta\n\tb\n");
    refused(OA_ANSWER_CLASS, NULL, "ex.tsv", NULL, OA_FORMAT,
            "ex.tsv, line 2: the label \"\" is empty");
    write_text("ex.tsv", "0.5\ta\nnan\tb\n");
    refused(OA_ANSWER_NUMBER, NULL, "ex.tsv", NULL, OA_FORMAT,
            "ex.tsv, line 2: the label \"nan\" is not a finite number");
    write_text("ex.tsv", "0.5\ta\n1e999\tb\n");
    refused(OA_ANSWER_NUMBER, NULL, "ex.tsv", NULL, OA_FORMAT, "\"1e999\" is not a finite number");
    write_text("ex.tsv", "1e18\ta\n-1.1e18\tb\n");
    refused(OA_ANSWER_NUMBER, NULL, "ex.tsv", NULL, OA_FORMAT,
            "ex.tsv, line 2: the label \"-1.1e18\" is larger than 1e18");
    write_text("ex.tsv", "1\ta\n0\tb\n");
    write_text("ex.valid.tsv", "1\ta\tb\n");
    refused(OA_ANSWER_CLASS, NULL, "ex.tsv", "ex.valid.tsv", OA_FORMAT,
            "ex.tsv has single texts, but ex.valid.tsv has pairs");
    FILE *f = fopen("ex.tsv", "w");
    for (int i = 0; i < 150; i++)
        fprintf(f, "text %d\t%d\n", i, i & 1);
    fclose(f);
    refused(OA_ANSWER_CLASS, NULL, "ex.tsv", NULL, OA_FORMAT,
            "150 different labels; if the label is in another column");
}

/* ---- sides
 * -----------------------------------------------------------------------------------------------------
 */

static void write_numbered(const char *path, int count)
{
    FILE *f = fopen(path, "w");
    for (int i = 0; i < count; i++)
        fprintf(f, "%d\ttext %d\n", i & 1, i);
    fclose(f);
}

static void held_out_rows_keep_their_order(void **state)
{
    (void)state;
    struct oa_example_texts a, b, c;
    struct oa_example_request r = {
        .train = "ex.tsv", .valid = "", .answer = OA_ANSWER_CLASS, .valid_fraction = 0.25
    };
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
    assert_true(a.valid.place[0].line <
                26); /* not the end of the file, which may be sorted by label */
    oa_example_texts_close(&a);
    oa_example_texts_close(&b);
    oa_example_texts_close(&c);
    r.valid_fraction = 1;
    assert_int_equal(oa_example_texts_open(context, &r, &a), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "data.valid_fraction = 1 must be");
    write_numbered("ex.tsv", 1);
    r.valid_fraction = 0.5;
    assert_int_equal(oa_example_texts_open(context, &r, &a), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "leaves none for training");
}

static void overlap_with_training_rows_is_counted(void **state)
{
    (void)state;
    struct oa_example_texts t;
    write_text("ex.tsv", "1\ta\n0\tb\n0\tc\n");
    write_text("ex.valid.tsv", "1\ta\n1\tb\n1\td\n1\ta\n");
    assert_int_equal(open_texts(OA_ANSWER_CLASS, NULL, "ex.tsv", "ex.valid.tsv", NULL, &t), OA_OK);
    assert_int_equal(t.valid_overlap.rows, 2);
    assert_int_equal(t.valid_overlap.sources, 3);
    expect_notice(
        "of the 4 validation examples 3 have a text that is also in the training examples, "
        "2 with the same label");
    oa_example_texts_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parallel_files_give_pairs_of_lines),
        cmocka_unit_test(bad_parallel_files_are_rejected),
        cmocka_unit_test(gzip_has_the_digest_of_its_text),
        cmocka_unit_test(published_layouts_are_detected),
        cmocka_unit_test(further_columns_are_references),
        cmocka_unit_test(bad_tables_are_rejected),
        cmocka_unit_test(columns_of_one_name_are_read_together),
        cmocka_unit_test(a_header_may_have_blanks_and_capitals),
        cmocka_unit_test(the_detected_layout_is_logged),
        cmocka_unit_test(json_objects_are_examples),
        cmocka_unit_test(pictures_have_a_class_and_pixels),
        cmocka_unit_test(every_turn_answers_those_before_it),
        cmocka_unit_test(dialogues_are_held_out_whole),
        cmocka_unit_test(a_long_dialogue_keeps_its_end),
        cmocka_unit_test(patches_are_squares_of_pixels),
        cmocka_unit_test(colours_become_grey),
        cmocka_unit_test(classes_are_the_sorted_training_labels),
        cmocka_unit_test(held_out_rows_keep_their_order),
        cmocka_unit_test(overlap_with_training_rows_is_counted),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
