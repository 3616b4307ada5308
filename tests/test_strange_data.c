/* SPDX-License-Identifier: Apache-2.0
 * Data as strangers have them: JSON lines as Python reads them (tests/json_lines), whole numbers as
 * labels, files whose names say another format, classes with one example, labels that only
 * evaluation has. */
#include "examples_setup.h"

#include "data/json_line.h"

#include <jansson.h>
#include <math.h>

/* ---- JSON lines
 * ----------------------------------------------------------------------------------------------------
 */

static bool read_line_of(FILE *f, char line[1024])
{
    if (!fgets(line, 1024, f))
        return false;
    line[strcspn(line, "\n")] = 0;
    return true;
}

/* '-': no object of its own; '!': no text at the key; '=': *text has it. */
static char classify_line(const char *line, struct oa_json_object *o, struct oa_text *text)
{
    struct oa_json_fault fault;
    struct oa_example_texts t;
    if (!oa_json_object_cut(o, line, strlen(line), &fault))
        return '-';
    write_text("line.jsonl", line);
    struct oa_example_request r = { .train = "line.jsonl",
                                    .columns = "t,t2",
                                    .answer = OA_ANSWER_TEXT };
    struct oa_text both;
    oa_text_init(&both, context);
    size_t end = strlen(line);
    while (line[end - 1] != '}')
        end--;
    oa_text_printf(&both, "%.*s%s\"t2\": \"x\"}\n", (int)end - 1, line, o->count ? ", " : "");
    write_text("line.jsonl", both.s);
    oa_text_free(&both);
    enum oa_error e = oa_example_texts_open(context, &r, &t);
    oa_text_cut(text, 0);
    if (e == OA_OK) {
        size_t n;
        const char *s = oa_rows_cell(&t.train, 0, 0, &n);
        oa_text_add(text, s, n);
        oa_example_texts_close(&t);
        return '=';
    }
    oa_clear_error(context);
    return '!';
}

static void json_lines_are_those_of_python(void **state)
{
    (void)state;
    char line[1024], right[1024];
    struct oa_json_object o;
    struct oa_text text;
    oa_json_object_init(&o, context);
    oa_text_init(&text, context);
    FILE *f = fopen(SOURCE_DIR "/tests/json_lines/lines.txt", "r");
    FILE *g = fopen(SOURCE_DIR "/tests/json_lines/expected.txt", "r");
    assert_true(f && g);
    int lines = 0;
    for (; read_line_of(f, line) && read_line_of(g, right); lines++) {
        char kind = classify_line(line, &o, &text);
        json_t *expected = right[0] == '=' ? json_loads(right + 1, JSON_DECODE_ANY, NULL) : NULL;
        const char *wanted = json_string_value(expected);
        bool blank =
            wanted && !*wanted; /* a row without a source is left out, and then there is none */
        if (blank ? kind == '-' : kind != right[0] || (wanted && strcmp(wanted, text.s) != 0))
            fail_msg("%s: read as %c%s, right is %s", line, kind, kind == '=' ? text.s : "", right);
        json_decref(expected);
    }
    assert_int_equal(lines, 423);
    fclose(f);
    fclose(g);
    oa_text_free(&text);
    oa_json_object_free(&o);
}

static void rejected_values_are_named(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "{\"label\": NaN, \"text\": \"a\"}",
          "x.jsonl, line 1: the value NaN is not a finite number, at key \"label\"" },
        { "{\"label\": \"p\", \"text\": \"\\ud800\"}",
          "contains an unpaired surrogate, at key \"text\"" },
        { "{\"label\": \"p\", \"text\": \"a\\u0000\"}", "contains \\u0000, at key \"text\"" },
        { "{\"label\": \"p\", \"label\": \"q\", \"text\": \"a\"}", "duplicate key \"label\"" },
        { "{\"label\": 1e400, \"text\": \"a\"}", "the value 1e400 is not a finite double" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text("x.jsonl", cases[i][0]);
        refused(OA_ANSWER_CLASS, NULL, "x.jsonl", NULL, OA_FORMAT, cases[i][1]);
    }
    struct oa_text deep;
    oa_text_init(&deep, context);
    oa_text_printf(&deep, "{\"label\": 1, \"text\": \"a\", \"id\": ");
    for (int i = 0; i < 100000; i++)
        oa_text_add(&deep, "[", 1);
    write_text("x.jsonl", deep.s);
    oa_text_free(&deep);
    refused(OA_ANSWER_CLASS, NULL, "x.jsonl", NULL, OA_FORMAT, "nested more than 500 levels deep");
}

/* ---- labels
 * --------------------------------------------------------------------------------------------------------
 */

static void assert_classes(const char *file, const char *content, const char *names)
{
    struct oa_example_texts t;
    struct oa_text found;
    write_text(file, content);
    assert_int_equal(open_texts(OA_ANSWER_CLASS, NULL, file, NULL, NULL, &t), OA_OK);
    oa_text_init(&found, context);
    for (long i = 0; i < t.classes.count; i++)
        oa_text_printf(&found, "%s%s", i ? " " : "", t.classes.name[i]);
    assert_string_equal(found.s, names);
    oa_text_free(&found);
    oa_example_texts_close(&t);
}

/* Both ends of the second halves: U+1F400 and U+103FF. */
static void surrogate_pairs_are_one_character(void **state)
{
    (void)state;
    assert_classes("x.jsonl",
                   "{\"label\": \"\\ud83d\\udc00\", \"text\": \"a\"}\n{\"label\": "
                   "\"\\ud800\\udfff\", \"text\": "
                   "\"b\"}\n",
                   "\xf0\x90\x8f\xbf \xf0\x9f\x90\x80");
}

static void a_whole_number_is_one_class(void **state)
{
    (void)state;
    assert_classes("n.tsv", "10\ta\n10.0\tb\n2\tc\n1e1\td\n", "2 10");
    expect_notice("training examples: 2 labels normalised: surrounding blanks removed, whole "
                  "numbers written as integers (\"10.0\" is \"10\")");
    assert_classes("n.csv", "-0.0,a\n0,b\n100.0,c\n", "0 100");
    assert_classes("n.jsonl",
                   "{\"label\": 10.0, \"text\": \"a\"}\n{\"label\": 10, \"text\": "
                   "\"b\"}\n{\"label\": \"1e1\", "
                   "\"text\": \"c\"}\n{\"label\": 20.0, \"text\": \"c\"}\n",
                   "10 20");
    expect_notice("3 labels normalised");
    /* codes, versions and words are what they are */
    assert_classes("n.tsv", "007\ta\n7\tb\n1.10\tc\n1.1\td\n1e1x\te\n", "007 1.1 1.10 1e1x 7");
    assert_null(strstr(notices, "normalised"));
    /* blanks around labels are those of the file, not of the class */
    assert_classes("n.tsv", "spam \ta\n spam\tb\n\xc2\xa0ham\xe3\x80\x80\tc\n3 \td\n",
                   "3 ham spam");
    expect_notice("4 labels normalised");
    struct oa_labels old;
    char *names[] = { (char[]){ "0" }, (char[]){ "1e+01" }, (char[]){ "1e+02" } };
    assert_int_equal(oa_labels_copy(context, names, 3, &old), OA_OK);
    assert_int_equal(oa_labels_find(&old, "10", 2), 1);
    assert_int_equal(oa_labels_find(&old, "100", 3), 2);
    oa_labels_free(&old);
}

static void unknown_labels_are_logged_or_rejected(void **state)
{
    (void)state;
    struct oa_example_texts t;
    write_text("n.tsv", "a\tx\nb\ty\na\tz\n");
    write_text("v.tsv", "a\tx1\nnew\ty1\nb\tz1\nnew\tw1\nodd\tq\n");
    assert_int_equal(open_texts(OA_ANSWER_CLASS, NULL, "n.tsv", "v.tsv", "v.tsv", &t), OA_OK);
    expect_notice(
        "validation examples: 3 of 5 have labels that no training example has (\"new\" (2), "
        "\"odd\" (1); first at v.tsv, line 2): counted as wrong");
    expect_notice("test examples: 3 of 5");
    oa_example_texts_close(&t);
    struct oa_example_request r = {
        .train = "n.tsv", .valid = "v.tsv", .answer = OA_ANSWER_CLASS, .refuse_unknown = true
    };
    assert_int_equal(oa_example_texts_open(context, &r, &t), OA_FORMAT);
    expect_error(OA_FORMAT,
                 "v.tsv, line 2: the label \"new\" is not a label of the training examples; these "
                 "are \"a\", \"b\"; to count it as wrong, set data.unknown_labels = wrong");
    write_text("v.tsv",
               "a\tx\nk1\tp\nk2\tp\nk3\tp\nk4\tp\nk5\tp\nk6\tp\nk7\tp\nk8\tp\nk9\tp\nk10\tp\n"
               "k11\tp\nk12\tp\nk13\tp\n");
    assert_int_equal(open_texts(OA_ANSWER_CLASS, NULL, "n.tsv", "v.tsv", NULL, &t), OA_OK);
    expect_notice("13 of 14 have labels that no training example has (");
    expect_notice("\"k10\" (1) and 3 more; first at v.tsv, line 2");
    oa_example_texts_close(&t);
    write_text("v.tsv", "x1\ta\ny1\tb\n");
    refused(OA_ANSWER_CLASS, NULL, "n.tsv", "v.tsv", OA_FORMAT,
            "no example of this side has one of them: is the label in another column?");
}

/* ---- formats
 * -------------------------------------------------------------------------------------------------------
 */

#define PAIRS(a, b) a "\t" b "\n" a " two\t" b " two\n" a " three\t" b " three\n"

static void file_suffixes_ignore_case(void **state)
{
    (void)state;
    write_text("a.TSV", PAIRS("ein", "one"));
    write_text("b.Tsv", PAIRS("eine", "an"));
    struct oa_example_texts t;
    assert_int_equal(open_texts(OA_ANSWER_TEXT, NULL, "a.TSV,b.Tsv", NULL, NULL, &t), OA_OK);
    assert_int_equal(t.train.count, 6);
    assert_cell(&t.train, 0, 1, "one");
    oa_example_texts_close(&t);
    static const char *const names[] = { "c.JSONL", "c.NDJSON", "c.Json", "c.jsonL" };
    for (int i = 0; i < 4; i++) {
        write_text(names[i], "{\"label\": 1, \"text\": \"a\"}\n{\"label\": 2, \"text\": \"b\"}\n");
        assert_row(OA_ANSWER_CLASS, NULL, names[i], 1, (const char *const[]){ "2", "b", NULL });
    }
    write_text("c.CSV", "label,text\n1,\"a, b\"\n2,c\n");
    assert_row(OA_ANSWER_CLASS, NULL, "c.CSV", 0, (const char *const[]){ "1", "a, b", NULL });
    assert_true(oa_holds_pictures("x.BIN") && oa_holds_pictures("x.bin.GZ") &&
                !oa_holds_pictures("x.bin.txt"));
}

static void other_formats_are_rejected(void **state)
{
    (void)state;
    static const char objects[] =
        "{\"label\": 1, \"text\": \"a\"}\n{\"label\": 2, \"text\": \"b\"}\n";
    static const struct {
        enum oa_answer answer;
        const char *file, *content, *words;
    } cases[] = {
        { OA_ANSWER_CLASS, "x.txt", objects,
          "x.txt: the lines are JSON objects; name the file *.jsonl" },
        { OA_ANSWER_CLASS, "x.tsv", objects, "the lines are JSON objects" },
        { OA_ANSWER_CLASS, "x.csv", objects, "the lines are JSON objects" },
        { OA_ANSWER_CLASS, "x.tsv", "label,text\n1,a\n2,b\n",
          "every line has as many commas; name a table with commas *.csv" },
        { OA_ANSWER_CLASS, "x.tsv", "label;text\n1;a\n2;b\n", "every line has as many semicolons" },
        { OA_ANSWER_CLASS, "x.csv", "label\ttext\n1\ta, b\n2\tb\n",
          "cells are separated by tabs, not commas" },
        { OA_ANSWER_CLASS, "x.csv", "1;a, b\n2;c, d, e\n",
          "cells are separated by semicolons, not commas" },
        { OA_ANSWER_CLASS, "x.jsonl", "label\ttext\n1\ta\n", "name a table with tabs *.tsv" },
        { OA_ANSWER_CLASS, "x.json", "[{\"label\": 1, \"text\": \"a\"}]",
          "jq -c '.[]' FILE converts a list" },
        { OA_ANSWER_CLASS, "x.jsonl", "{\n \"label\": 1\n}\n",
          "jq -c . FILE converts objects of several lines" },
        { OA_ANSWER_CLASS, "x.tsv", "PK\x03\x04zip", "it is a ZIP archive" },
        { OA_ANSWER_CLASS, "x.tsv",
          "\xff\xfe"
          "1",
          "text in UTF-16; convert it (iconv" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text(cases[i].file, cases[i].content);
        refused(cases[i].answer, NULL, cases[i].file, NULL, OA_FORMAT, cases[i].words);
    }
    write_bytes("x.tsv",
                "1\0\t\0a\0\n\0"
                "2\0\t\0b\0\n\0",
                16);
    refused(OA_ANSWER_CLASS, NULL, "x.tsv", NULL, OA_FORMAT,
            "if it is UTF-16, convert it (iconv -f UTF-16LE");
    write_text("a.txt", PAIRS("ein", "one"));
    write_text("b.txt", PAIRS("eine", "an"));
    refused(OA_ANSWER_TEXT, NULL, "a.txt,b.txt", NULL, OA_FORMAT,
            "has 2 columns; name tables *.tsv");
    write_text("a.txt", objects);
    write_text("b.txt", objects);
    refused(OA_ANSWER_TEXT, NULL, "a.txt,b.txt", NULL, OA_FORMAT,
            "the lines are JSON objects, also in the parallel file");
}

/* Tabs, commas and braces of ordinary texts. */
static void ordinary_texts_are_read(void **state)
{
    (void)state;
    struct oa_example_texts t;
    static const char *const sources[] = {
        "\tif (x) {\n\t\ty();\n\t}\n", "a, b\nc, d\ne, f\n",           "{a} b\n{c} d\n{}\n",
        "one\ttab\nnone\nnone\n",      "{\"x\": 1}\n{\"y\": 2}\n{}\n", "s\tp\no\tq\nu\tv\n",
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        write_text("a.txt", sources[i]);
        write_text("b.txt", "x, y\nz; w\n{v}\n");
        assert_int_equal(open_texts(OA_ANSWER_TEXT, NULL, "a.txt,b.txt", NULL, NULL, &t), OA_OK);
        assert_int_equal(t.train.count, 3);
        oa_example_texts_close(&t);
    }
    write_text("x.tsv", "1\t{\"a\": 1}\n2\ta, b; c, d\n"); /* texts that are objects or lists */
    assert_int_equal(open_texts(OA_ANSWER_CLASS, NULL, "x.tsv", NULL, NULL, &t), OA_OK);
    oa_example_texts_close(&t);
    write_text("x.csv", "1,a; b\n2,c; d\n3,\"e; f\tg\"\n");
    assert_int_equal(open_texts(OA_ANSWER_CLASS, NULL, "x.csv", NULL, NULL, &t), OA_OK);
    oa_example_texts_close(&t);
}

/* ---- splits by class
 * ------------------------------------------------------------------------------------------------
 */

enum { CLASSES = 5 };
static const int rows_of[CLASSES] = { 61, 30, 5, 1, 1 };

static void count_classes(const struct oa_rows *rows, int count[CLASSES])
{
    memset(count, 0, CLASSES * sizeof *count);
    for (size_t i = 0; i < rows->count; i++) {
        size_t n;
        count[oa_rows_cell(rows, i, 0, &n)[0] - 'a']++;
    }
}

/* Each class has its share up to one row, none all of its rows, all together as many as without
 * classes. */
static void classes_keep_their_shares(void **state)
{
    (void)state;
    FILE *f = fopen("s.tsv", "w");
    for (int k = 0, n = 0; k < CLASSES; k++)
        for (int i = 0; i < rows_of[k]; i++, n++)
            fprintf(f, "%c\ttext %d\n", 'a' + k, n);
    fclose(f);
    char first[128] = "";
    int others = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct oa_example_texts t;
        struct oa_example_request r = { .train = "s.tsv",
                                        .answer = OA_ANSWER_CLASS,
                                        .valid_fraction = 0.1,
                                        .split_seed = seed,
                                        .stratify = true };
        int held[CLASSES], trained[CLASSES];
        notices[0] = 0;
        assert_int_equal(oa_example_texts_open(context, &r, &t), OA_OK);
        expect_notice("no example held out for validation of ");
        expect_notice("\"d\", \"e\"");
        count_classes(&t.valid, held);
        count_classes(&t.train, trained);
        assert_int_equal(t.valid.count, 10); /* 98 - ⌊98 · 0.9⌋ */
        for (int k = 0; k < CLASSES; k++) {
            assert_int_equal(held[k] + trained[k], rows_of[k]);
            assert_true(trained[k] > 0 && fabs(held[k] - 0.1 * rows_of[k]) < 1);
        }
        if (seed == 0)
            snprintf(first, sizeof first, "%s", t.valid.digest.hex);
        others += strcmp(first, t.valid.digest.hex) != 0;
        oa_example_texts_close(&t);
    }
    assert_int_equal(others, 39);
}

/* As many as without classes are held out, and still every class is trained on. */
static void nine_tenths_leave_every_class_a_row(void **state)
{
    (void)state;
    struct oa_example_texts t;
    struct oa_example_request r = {
        .train = "s.tsv", .answer = OA_ANSWER_CLASS, .valid_fraction = 0.9, .stratify = true
    };
    int trained[CLASSES];
    assert_int_equal(oa_example_texts_open(context, &r, &t), OA_OK);
    assert_int_equal(t.valid.count, 89);
    count_classes(&t.train, trained);
    for (int k = 0; k < CLASSES; k++)
        assert_true(trained[k] > 0);
    oa_example_texts_close(&t);
}

/* Of 4 rows of a class 2 are held out, of another 4 too: all 6 · 6 choices are as likely. */
static void every_choice_is_equally_likely(void **state)
{
    (void)state;
    enum { SEEDS = 7200 };
    int seen[256] = { 0 }, kinds = 0, seeds = tries(SEEDS);
    double chi = 0;
    write_text("q.tsv", "a\t0\nb\t1\na\t2\nb\t3\na\t4\nb\t5\na\t6\nb\t7\n");
    for (int seed = 0; seed < seeds; seed++) {
        struct oa_example_texts t;
        struct oa_example_request r = { .train = "q.tsv",
                                        .answer = OA_ANSWER_CLASS,
                                        .valid_fraction = 0.5,
                                        .split_seed = (uint64_t)seed,
                                        .stratify = true };
        unsigned set = 0;
        assert_int_equal(oa_example_texts_open(context, &r, &t), OA_OK);
        for (size_t i = 0; i < t.valid.count; i++)
            set |= 1u << (t.valid.place[i].line - 1);
        seen[set]++;
        oa_example_texts_close(&t);
    }
    for (int i = 0; i < 256; i++) {
        kinds += seen[i] > 0;
        chi += seen[i] ? pow(seen[i] - seeds / 36.0, 2) / (seeds / 36.0) : 0;
    }
    assert_int_equal(kinds, 36);
    assert_true(chi < 66.62); /* 0.999 of chi-squared with 35 degrees of freedom (scipy 1.17) */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_lines_are_those_of_python),
        cmocka_unit_test(surrogate_pairs_are_one_character),
        cmocka_unit_test(rejected_values_are_named),
        cmocka_unit_test(a_whole_number_is_one_class),
        cmocka_unit_test(unknown_labels_are_logged_or_rejected),
        cmocka_unit_test(file_suffixes_ignore_case),
        cmocka_unit_test(other_formats_are_rejected),
        cmocka_unit_test(ordinary_texts_are_read),
        cmocka_unit_test(classes_keep_their_shares),
        cmocka_unit_test(nine_tenths_leave_every_class_a_row),
        cmocka_unit_test(every_choice_is_equally_likely),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
