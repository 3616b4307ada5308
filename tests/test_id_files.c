/* SPDX-License-Identifier: Apache-2.0
 * Files of token ids: the three forms byte by byte, what is refused and with which place, and the
 * tokenizer of ids. */
#include "testing.h"

#include "data/data.h"

#include <stdlib.h>
#include <string.h>

static void write_file(const char *path, const void *bytes, size_t count)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, count, f), count);
    assert_int_equal(fclose(f), 0);
}

/* The header of llm.c: 256 little-endian numbers of 32 bits, then the ids. */
static void write_llm(const char *path, uint32_t magic, uint32_t version, uint32_t told,
                      const void *ids, size_t bytes)
{
    uint8_t file[1024 + 64] = { 0 };
    uint32_t head[3] = { magic, version, told };
    for (int i = 0; i < 12; i++)
        file[i] = (uint8_t)(head[i / 4] >> 8 * (i % 4));
    memcpy(file + 1024, ids, bytes);
    write_file(path, file, 1024 + bytes);
}

static oa_context *context;

static void refused(enum oa_error code, const char *words)
{
    const char *why;
    assert_int_equal(oa_last_error(context, &why), code);
    if (!strstr(why, words))
        fail_msg("\"%s\" is not in: %s", words, why);
    oa_clear_error(context);
}

static enum oa_error read(const char *spec, const char *train, const char *valid, double fraction,
                          struct oa_corpus *corpus, long *size)
{
    struct oa_tokenizer *tok;
    enum oa_error e = oa_tokenizer_open(context, spec, train, valid, &tok);
    if (e != OA_OK)
        return e;
    *size = oa_tokenizer_size(tok);
    e = oa_corpus_open(context, tok, train, valid, fraction, corpus);
    oa_tokenizer_close(tok);
    return e;
}

static void assert_ids(const struct oa_tokens *tokens, const int32_t *ids, size_t count)
{
    assert_int_equal(tokens->count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(tokens->ids[i], ids[i]);
}

/* 35615 is 0x8b1f: a file that begins with it looks like gzip. */
static const uint8_t raw[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0x51, 0xc3 };
static const int32_t raw_ids[] = { 35615, 8, 0, 50001 };

static void three_formats_are_read(void **state)
{
    (void)state;
    static const uint8_t wide[] = { 0xff, 0xf4, 1, 0, 7, 0, 0, 0, 1, 0, 0, 0 };
    struct oa_corpus corpus;
    long size;
    write_file("test_ids_raw.bin", raw, sizeof raw);
    write_llm("test_ids_gpt2.bin", 20240520, 1, 4, raw, sizeof raw);
    write_llm("test_ids_llama.bin", 20240801, 7, 3, wide, sizeof wide);
    assert_int_equal(read("ids", "test_ids_raw.bin", "", 0.5, &corpus, &size), OA_OK);
    assert_int_equal(size, 50002);
    assert_ids(&corpus.train, raw_ids, 2);
    assert_ids(&corpus.valid, raw_ids + 2, 2);
    assert_int_equal(corpus.train.characters, 0);
    oa_corpus_close(&corpus);
    assert_int_equal(
        read("ids:50257", "test_ids_gpt2.bin", "test_ids_raw.bin", 0.5, &corpus, &size), OA_OK);
    assert_int_equal(size, 50257);
    assert_ids(&corpus.train, raw_ids, 4);
    assert_ids(&corpus.valid, raw_ids, 4);
    oa_corpus_close(&corpus);
    assert_int_equal(read("ids", "test_ids_llama.bin, test_ids_llama.bin", NULL, 0, &corpus, &size),
                     OA_OK);
    assert_ids(&corpus.train, (int32_t[]){ 128255, 7, 1, 128255, 7, 1 }, 6);
    oa_corpus_close(&corpus);
}

/* Of a tokenizer that has a text for each id, ids are as many characters and bytes as their text.
 */
static void ids_are_counted_as_their_text(void **state)
{
    static const char text[] = "na\xc3\xafve \xce\xa9!\n";
    static const uint16_t ids[] = { 2, 9, 0, 8, 3 }; /* by code point: \n space ! a e n v ï Ω */
    struct oa_corpus corpus;
    struct oa_tokenizer *tok;
    (void)state;
    write_file("test_ids_text.txt", text, sizeof text - 1);
    write_file("test_ids_chars.bin", ids, sizeof ids);
    assert_int_equal(oa_tokenizer_open(context, "char", "test_ids_text.txt", NULL, &tok), OA_OK);
    assert_int_equal(oa_tokenizer_size(tok), 9);
    assert_int_equal(oa_corpus_open(context, tok, "test_ids_chars.bin", NULL, 0, &corpus),
                     OA_FORMAT);
    oa_clear_error(context);
    write_file("test_ids_chars.bin", (const uint16_t[]){ 2, 7, 0, 8, 3 }, sizeof ids);
    assert_int_equal(oa_corpus_open(context, tok, "test_ids_chars.bin", NULL, 0, &corpus), OA_OK);
    assert_int_equal(corpus.train.characters, 5);
    assert_int_equal(corpus.train.bytes, 7); /* !ï\nΩa */
    oa_corpus_close(&corpus);
    oa_tokenizer_close(tok);
}

static void damaged_files_are_rejected(void **state)
{
    (void)state;
    struct oa_corpus corpus;
    long size;
    write_file("test_ids_odd.bin", raw, 7);
    write_llm("test_ids_cut.bin", 20240520, 1, 5, raw, sizeof raw);
    write_llm("test_ids_version.bin", 20240520, 2, 4, raw, sizeof raw);
    write_llm("test_ids_tasks.bin", 20240522, 1, 4, raw, sizeof raw);
    write_file("test_ids_text.txt", "text", 4);
    read("ids", "test_ids_odd.bin", NULL, 0, &corpus, &size);
    refused(OA_FORMAT, "test_ids_odd.bin: 7 bytes are not a whole number of 16-bit ids");
    read("ids", "test_ids_cut.bin", NULL, 0, &corpus, &size);
    refused(OA_FORMAT, "gives 5 ids of 2 bytes, but 8 bytes follow");
    read("ids", "test_ids_version.bin", NULL, 0, &corpus, &size);
    refused(OA_FORMAT, "version 2 of llm.c header");
    read("ids", "test_ids_tasks.bin", NULL, 0, &corpus, &size);
    refused(OA_UNSUPPORTED, "evaluation file of llm.c");
    read("ids:50001", "test_ids_raw.bin", NULL, 0, &corpus, &size);
    refused(OA_FORMAT,
            "test_ids_raw.bin: token 3 is id 50001, but the tokenizer has ids 0 to 50000");
    read("byte", "test_ids_raw.bin", NULL, 0, &corpus, &size);
    refused(OA_FORMAT, "token 0 is id 35615");
    read("char", "test_ids_raw.bin", NULL, 0, &corpus, &size);
    refused(OA_ARGUMENT, "tokenizer \"char\" is made from text");
    read("bpe:300", "test_ids_raw.bin", NULL, 0, &corpus, &size);
    refused(OA_ARGUMENT, "tokenizer \"bpe:300\" is made from text");
    read("ids", "test_ids_raw.bin,test_ids_text.txt", NULL, 0, &corpus, &size);
    refused(OA_ARGUMENT, "1 of 2 files contain token ids");
    read("ids", "test_ids_text.txt", NULL, 0, &corpus, &size);
    refused(OA_ARGUMENT, "ids:N");
    read("ids", "test_ids_nowhere.bin", NULL, 0, &corpus, &size);
    refused(OA_IO, "test_ids_nowhere.bin");
    read("ids:0", "test_ids_raw.bin", NULL, 0, &corpus, &size);
    refused(OA_ARGUMENT, "N of ids:N, the number of ids");
}

/* Saved, read and written back: ids are words, and other words are refused. */
static void ids_are_read_from_text(void **state)
{
    (void)state;
    struct oa_tokenizer *tok;
    struct oa_ids ids;
    struct oa_text text;
    assert_int_equal(oa_tokenizer_open(context, "ids:300", NULL, NULL, &tok), OA_OK);
    assert_int_equal(oa_tokenizer_save(context, tok, "test_ids_tokenizer.json"), OA_OK);
    oa_tokenizer_close(tok);
    assert_int_equal(oa_tokenizer_load(context, "test_ids_tokenizer.json", &tok), OA_OK);
    assert_string_equal(oa_tokenizer_kind_name(tok), "ids");
    assert_int_equal(oa_tokenizer_size(tok), 300);
    oa_ids_init(&ids, context);
    oa_text_init(&text, context);
    assert_int_equal(oa_tokenizer_encode(tok, " 7 299\n\t0 ", 10, &ids), OA_OK);
    assert_int_equal(ids.count, 3);
    assert_int_equal(oa_tokenizer_decode(tok, ids.id, ids.count, &text), OA_OK);
    assert_string_equal(text.s, "7 299 0 ");
    assert_int_equal(oa_tokenizer_encode(tok, "7 300", 5, &ids), OA_FORMAT);
    refused(OA_FORMAT, "\"300\" is not an id from 0 to 299");
    oa_ids_free(&ids);
    oa_text_free(&text);
    oa_tokenizer_close(tok);
    static const char wrong[] =
        "{\"version\":\"1.0\",\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"},\"model\":"
        "{\"type\":\"WordLevel\",\"vocab\":{\"0\":0,\"one\":1},\"unk_token\":\"0\"}}";
    assert_int_not_equal(oa_tokenizer_parse(context, "wrong", wrong, sizeof wrong - 1, &tok),
                         OA_OK);
    refused(OA_UNSUPPORTED, "the word \"one\" is not supported");
}

static int open_context(void **state)
{
    (void)state;
    context = oa_open(NULL);
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
        cmocka_unit_test(three_formats_are_read),
        cmocka_unit_test(ids_are_counted_as_their_text),
        cmocka_unit_test(damaged_files_are_rejected),
        cmocka_unit_test(ids_are_read_from_text),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
