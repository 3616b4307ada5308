/* SPDX-License-Identifier: Apache-2.0
 * Packed corpora from C: documents in pieces, the split between documents, records of strangers. */
#include "testing.h"

#include "base/checksum.h"
#include "data/packed_corpus.h"

#include <stdio.h>
#include <unistd.h>

static oa_context *context;

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

static void expect_failure(enum oa_error code, const char *words)
{
    const char *why;
    assert_int_equal(oa_last_error(context, &why), code);
    if (!strstr(why, words))
        fail_msg("\"%s\" is not in: %s", words, why);
    oa_clear_error(context);
}

static void write_text(const char *path, const char *text, size_t length)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, length, f), length);
    assert_int_equal(fclose(f), 0);
}

/* Pieces of at most OA_DOCUMENT_PIECE bytes that end with a line, or with a character. */
static void long_documents_come_in_pieces(void **state)
{
    static const char path[] = "test_packed_long.txt";
    size_t length = (size_t)OA_DOCUMENT_PIECE * 2 + 1000, at = 0;
    char *text = malloc(length + 1);
    struct oa_documents *d;
    struct oa_document piece;
    (void)state;
    assert_non_null(text);
    memset(text, 'a', length);
    text[OA_DOCUMENT_PIECE - 77] = '\n';
    /* A character of three bytes across the end of the second piece. */
    size_t second = (size_t)OA_DOCUMENT_PIECE * 2 - 76;
    memcpy(text + second - 1, "\xe2\x82\xac", 3);
    write_text(path, text, length);
    assert_int_equal(oa_documents_open(context, path, OA_DOCUMENTS_AUTO, "text", &d), OA_OK);
    const size_t ends[] = { OA_DOCUMENT_PIECE - 76, second - 1, length };
    for (int i = 0; i < 3; i++) {
        assert_int_equal(oa_documents_next(d, &piece), OA_OK);
        assert_int_equal(piece.length, ends[i] - at);
        assert_memory_equal(piece.text, text + at, piece.length);
        assert_int_equal(piece.ends, i == 2);
        at = ends[i];
    }
    assert_int_equal(oa_documents_next(d, &piece), OA_OK);
    assert_null(piece.text);
    oa_documents_close(d);
    free(text);
    remove(path);
}

/* A line beyond OA_DOCUMENT_LINE would be in memory as a whole; of a file there are only pieces. */
static void endless_lines_are_refused(void **state)
{
    static const char path[] = "test_packed_endless.jsonl";
    struct oa_documents *d;
    struct oa_document piece;
    (void)state;
    write_text(path, "{\"text\": \"one\"}\n", 16);
    assert_int_equal(truncate(path, OA_DOCUMENT_LINE + (1 << 21)), 0);
    assert_int_equal(oa_documents_open(context, path, OA_DOCUMENTS_AUTO, "text", &d), OA_OK);
    assert_int_equal(oa_documents_next(d, &piece), OA_OK);
    assert_int_equal(piece.length, 3);
    assert_int_equal(oa_documents_next(d, &piece), OA_FORMAT);
    expect_failure(OA_FORMAT, "endless.jsonl, line 2: the line is longer than 64 MiB");
    oa_documents_close(d);
    assert_int_equal(oa_documents_open(context, path, OA_DOCUMENTS_FILES, "text", &d), OA_OK);
    size_t all = 0;
    do {
        assert_int_equal(oa_documents_next(d, &piece), OA_OK);
        assert_true(piece.length <= OA_DOCUMENT_PIECE);
        all += piece.length;
    } while (!piece.ends);
    assert_int_equal(all, OA_DOCUMENT_LINE + (1 << 21));
    oa_documents_close(d);
    remove(path);
}

static void lines_are_documents_without_their_ends(void **state)
{
    static const char path[] = "test_packed_lines.txt",
                      text[] = "one\r\n\n  \ntwo\nthree\r\n\xff\n";
    static const char *const expected[] = { "one", "two", "three", "\xff" };
    static const uint64_t line[] = { 1, 4, 5, 6 };
    struct oa_documents *d;
    struct oa_document piece;
    (void)state;
    write_text(path, text, sizeof text - 1);
    assert_int_equal(oa_documents_open(context, path, OA_DOCUMENTS_LINES, "text", &d), OA_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(oa_documents_next(d, &piece), OA_OK);
        assert_int_equal(piece.length, strlen(expected[i]));
        assert_memory_equal(piece.text, expected[i], piece.length);
        assert_int_equal(piece.line, line[i]);
        assert_true(piece.ends);
    }
    assert_int_equal(oa_documents_next(d, &piece), OA_OK);
    assert_null(piece.text);
    assert_int_equal(oa_documents_empty(d), 2);
    assert_int_equal(oa_documents_bytes_read(d), sizeof text - 1);
    oa_documents_close(d);
    remove(path);
}

static void lines_are_counted_in_each_file(void **state)
{
    static const uint64_t line[] = { 1, 3, 2 };
    struct oa_documents *d;
    struct oa_document piece;
    (void)state;
    write_text("test_packed_1.txt", "one\n\ntwo\n", 9);
    write_text("test_packed_2.txt", "\nthree", 6);
    assert_int_equal(oa_documents_open(context, "test_packed_1.txt,test_packed_2.txt",
                                       OA_DOCUMENTS_LINES, "text", &d),
                     OA_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(oa_documents_next(d, &piece), OA_OK);
        assert_string_equal(piece.file, i < 2 ? "test_packed_1.txt" : "test_packed_2.txt");
        assert_int_equal(piece.line, line[i]);
    }
    assert_int_equal(oa_documents_empty(d), 2);
    oa_documents_close(d);
    remove("test_packed_1.txt");
    remove("test_packed_2.txt");
}

static void truncated_gzip_is_an_error(void **state)
{
    static const uint8_t cut[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0x4c };
    struct oa_documents *d;
    struct oa_document piece;
    (void)state;
    write_text("test_packed_cut.txt.gz", (const char *)cut, sizeof cut);
    assert_int_equal(
        oa_documents_open(context, "test_packed_cut.txt.gz", OA_DOCUMENTS_LINES, "text", &d),
        OA_OK);
    oa_documents_next(d, &piece);
    expect_failure(OA_FORMAT, "test_packed_cut.txt.gz: gzip data damaged or truncated");
    oa_documents_close(d);
    remove("test_packed_cut.txt.gz");
}

/* ---- the split ---- */

enum { DOCUMENTS = 300 };

/* Line i has i % 17 + 1 letters, so so many tokens of "byte" and one for its end. */
static void pack_lines(const char *folder, uint64_t shard_ids, uint64_t start[DOCUMENTS + 1])
{
    static const char path[] = "test_packed_split.txt";
    struct oa_pack_request r = { .files = path,
                                 .column = "text",
                                 .kind = OA_DOCUMENTS_LINES,
                                 .end = OA_END_OF_DOCUMENT,
                                 .shard_ids = shard_ids,
                                 .folder = folder };
    struct oa_tokenizer *tok;
    json_t *record;
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    start[0] = 0;
    for (int i = 0; i < DOCUMENTS; i++) {
        for (int k = 0; k <= i % 17; k++)
            fputc('a' + (i + k) % 26, f);
        fputc('\n', f);
        start[i + 1] = start[i] + (uint64_t)(i % 17) + 2;
    }
    assert_int_equal(fclose(f), 0);
    assert_int_equal(oa_tokenizer_open(context, "byte", NULL, NULL, &tok), OA_OK);
    assert_int_equal(oa_corpus_pack(context, tok, &r, &record), OA_OK);
    assert_int_equal(json_integer_value(json_object_get(record, "documents")), DOCUMENTS);
    assert_int_equal(json_integer_value(json_object_get(record, "tokens")), start[DOCUMENTS]);
    json_decref(record);
    oa_tokenizer_close(tok);
    remove(path);
}

static void remove_folder(const char *folder)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

static void validation_begins_with_a_document(void **state)
{
    static const uint64_t shards[] = { 200, 1 << 20 };
    static const double fractions[] = { 0.001, 0.01, 0.1,  0.37, 0.5, 0.9,
                                        0.99,  0.22, 0.42, 0.63, 0.77 };
    enum { FRACTIONS = sizeof fractions / sizeof *fractions };
    int exact = 0; /* a document begins at the cut itself */
    uint64_t start[DOCUMENTS + 1];
    (void)state;
    for (int s = 0; s < 2; s++) {
        struct oa_tokenizer *tok;
        pack_lines("test_packed_split", shards[s], start);
        assert_int_equal(oa_packed_tokenizer(context, "test_packed_split", &tok), OA_OK);
        for (int i = 0; i < FRACTIONS; i++) {
            struct oa_corpus corpus;
            int32_t before;
            uint64_t cut = (uint64_t)((double)start[DOCUMENTS] * (1 - fractions[i])), first = 0;
            while (start[first] < cut)
                first++;
            exact += start[first] == cut;
            assert_int_equal(
                oa_corpus_open(context, tok, "test_packed_split", NULL, fractions[i], &corpus),
                OA_OK);
            bool within = first == DOCUMENTS; /* the last document begins before the cut */
            uint64_t end = within ? cut : start[first];
            assert_int_equal(corpus.train.count, end);
            assert_int_equal(corpus.valid.count, start[DOCUMENTS] - end);
            assert_int_equal(
                oa_tokens_read(context, &corpus.train, corpus.train.count - 1, 1, &before), OA_OK);
            assert_true(within || before == 256); /* the end token */
            oa_corpus_close(&corpus);
        }
        oa_tokenizer_close(tok);
        remove_folder("test_packed_split");
    }
    assert_int_equal(exact, 2 * 4);
}

/* ---- interruption ---- */

enum { LINES = 12000 };

static void stop_packing(void *argument, long done, long all)
{
    (void)done;
    (void)all;
    *(volatile int *)argument = 2;
}

/* Lines of 100 characters, one of which has two bytes: 1.2 MB, which are read in two portions. */
static void what_is_counted_continues(void **state)
{
    static const char path[] = "test_packed_stopped.txt";
    volatile int stop = 0;
    struct oa_pack_request r = { .files = path,
                                 .column = "text",
                                 .kind = OA_DOCUMENTS_LINES,
                                 .end = OA_END_OF_DOCUMENT,
                                 .shard_ids = 400000,
                                 .folder = "test_packed_stopped",
                                 .progress = stop_packing,
                                 .argument = (void *)(uintptr_t)&stop };
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1, .stop = &stop });
    struct oa_tokenizer *tok;
    json_t *record;
    FILE *f = fopen(path, "wb");
    (void)state;
    assert_non_null(f);
    for (int i = 0; i < LINES; i++)
        fprintf(f, "%099d\xc3\xa9\n", i);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(oa_tokenizer_open(c, "byte", NULL, NULL, &tok), OA_OK);
    assert_int_equal(oa_corpus_pack(c, tok, &r, &record), OA_INTERRUPTED);
    assert_true(oa_file_exists("test_packed_stopped/shard-00001.bin"));
    oa_clear_error(c);
    stop = 0;
    r.progress = NULL;
    assert_int_equal(oa_corpus_pack(c, tok, &r, &record), OA_OK);
    static const char *const keys[] = { "documents", "tokens", "characters", "bytes" };
    static const int counts[] = { LINES, LINES * 102, LINES * 100, LINES * 101 };
    for (int i = 0; i < 4; i++)
        assert_int_equal(json_integer_value(json_object_get(record, keys[i])), counts[i]);
    json_decref(record);
    oa_tokenizer_close(tok);
    oa_close(c);
    remove(path);
    remove_folder("test_packed_stopped");
}

/* ---- records of strangers ---- */

static void opens_with(const char *key, json_t *value, enum oa_error code, const char *words)
{
    struct oa_tokenizer *tok;
    struct oa_corpus corpus;
    json_t *record;
    assert_int_equal(oa_checksummed_read(context, "test_packed_record/corpus.json", "", &record),
                     OA_OK);
    json_t *shard = json_array_get(json_object_get(record, "shards"), 0);
    if (json_object_get(shard, key))
        json_object_set_new(shard, key, value);
    else
        json_object_set_new(record, key, value);
    assert_int_equal(rename("test_packed_record/corpus.json", "test_packed_record/kept"), 0);
    assert_int_equal(oa_checksummed_write(context, "test_packed_record/corpus.json", record),
                     OA_OK);
    json_decref(record);
    assert_int_equal(oa_packed_tokenizer(context, "test_packed_record", &tok), OA_OK);
    oa_corpus_open(context, tok, "test_packed_record", NULL, 0.1, &corpus);
    expect_failure(code, words);
    oa_tokenizer_close(tok);
    assert_int_equal(rename("test_packed_record/kept", "test_packed_record/corpus.json"), 0);
}

static void records_open_nothing_else(void **state)
{
    uint64_t start[DOCUMENTS + 1];
    (void)state;
    pack_lines("test_packed_record", 1 << 20, start);
    opens_with("file", json_string("../test_packed_split.bin"), OA_FORMAT, "shard 0 is not valid");
    opens_with("file", json_string("/etc/hostname"), OA_FORMAT, "shard 0 is not valid");
    opens_with("file", json_string("corpus.json"), OA_FORMAT, "shard 0 is not valid");
    opens_with("tokens", json_integer(-1), OA_FORMAT, "shard 0 is not valid");
    opens_with("tokens", json_integer((json_int_t)1 << 56), OA_FORMAT, "truncated");
    opens_with("tokens", json_integer((json_int_t)1 << 62), OA_FORMAT, "shard 0 is not valid");
    opens_with("documents", json_integer(1000), OA_IO, "the file was truncated");
    opens_with("width", json_integer(3), OA_FORMAT, "is 3 bytes, not 2 or 4");
    opens_with("format", json_string("orthant.corpus/2"), OA_FORMAT, "orthant.corpus/2");
    opens_with("shards", json_array(), OA_FORMAT, "has no shards");
    remove_folder("test_packed_record");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_documents_come_in_pieces),
        cmocka_unit_test(endless_lines_are_refused),
        cmocka_unit_test(lines_are_documents_without_their_ends),
        cmocka_unit_test(truncated_gzip_is_an_error),
        cmocka_unit_test(validation_begins_with_a_document),
        cmocka_unit_test(records_open_nothing_else),
        cmocka_unit_test(what_is_counted_continues),
        cmocka_unit_test(lines_are_counted_in_each_file),
    };
    threads_only("*split*");
    return cmocka_run_group_tests(tests, open_context, close_context);
}
