/* SPDX-License-Identifier: Apache-2.0
 * Text and tokenizers: what is encoded comes back; ids and files equal those of Hugging Face
 * (tests/data/README.md); damaged files are refused. */
#include "text_setup.h"
#include "tokenizers/tokenizer_parts.h"

#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

static struct oa_tokenizer *trained_on(const char *text, size_t length, long size)
{
    struct oa_reader *r;
    struct oa_tokenizer *tok;
    expect_ok(oa_reader_open_text(context, text, length, &r));
    expect_ok(oa_tokenizer_train_bpe(context, r, size, &tok));
    oa_reader_close(r);
    return tok;
}

static void expect_round_trip(struct oa_tokenizer *tok, const char *text, size_t length)
{
    struct oa_ids ids = encode(tok, text, length);
    struct oa_text out;
    oa_text_init(&out, context);
    expect_ok(oa_tokenizer_decode(tok, ids.id, ids.count, &out));
    assert_int_equal(out.length, length);
    if (length)
        assert_memory_equal(out.s, text, length);
    for (size_t i = 0; i < ids.count; i++)
        assert_in_range(ids.id[i], 0, oa_tokenizer_size(tok) - 1);
    oa_text_free(&out);
    oa_ids_free(&ids);
}

static void expect_ids(struct oa_tokenizer *tok, const char *text, const int32_t *expected,
                       size_t count)
{
    struct oa_ids ids = encode(tok, text, strlen(text));
    assert_int_equal(ids.count, count);
    if (count)
        assert_memory_equal(ids.id, expected, count * sizeof *expected);
    oa_ids_free(&ids);
}

static void expect_same_ids(struct oa_tokenizer *a, struct oa_tokenizer *b, const char *text,
                            size_t length)
{
    struct oa_ids x = encode(a, text, length), y = encode(b, text, length);
    assert_int_equal(x.count, y.count);
    if (x.count)
        assert_memory_equal(x.id, y.id, x.count * sizeof *x.id);
    oa_ids_free(&x);
    oa_ids_free(&y);
}

static void expect_same_file(const char *a, const char *b)
{
    char *x, *y;
    size_t n, m;
    expect_ok(oa_file_read(context, a, &x, &n));
    expect_ok(oa_file_read(context, b, &y, &m));
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    oa_free(x);
    oa_free(y);
}

/* Bytes of every kind: random ones, ASCII, whole characters, in runs. */
static size_t awkward_text(char *out, size_t room, uint64_t seed)
{
    static const char *const parts[] = { " ",           "  ",
                                         "\n",          "\r\n",
                                         "'s",          "'ll",
                                         "the",         " The",
                                         "é",           "e\xcc\x81",
                                         "漢字",        "\xe2\x80\xa8",
                                         "12",          "½",
                                         "👍🏽",    "\xff",
                                         "\xc3",        "\xe2\x82",
                                         "\xf0\x9f",    "\xed\xa0\x80",
                                         "\xc0\x80",    "\xf4\x90\x80\x80",
                                         "!?",          "\xc2\xa0",
                                         "\xe1\xa0\x8e" };
    struct oa_stream s = oa_stream_named(seed, "awkward");
    size_t n = 0;
    for (uint64_t i = 0; n + 8 < room; i++) {
        uint64_t which = oa_random_below(s, i, 40);
        const char *part = parts[which % 25];
        if (which >= 25)
            out[n++] = (char)oa_random_below(s, i + (1u << 30), 256);
        else
            n += (size_t)snprintf(out + n, 8, "%.7s", part);
    }
    return n;
}

/* ---- text
 * ----------------------------------------------------------------------------------------------------
 */

/* Table 3-7 of the Unicode standard: what the second byte may be after each first one. */
static void test_utf8_table(void **state)
{
    static const struct {
        int first, last, low, high, length;
    } rows[] = { { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
                 { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
                 { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
                 { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 } };
    (void)state;
    for (int lead = 0x80; lead < 0x100; lead++)
        for (int second = 0; second < 0x100; second++) {
            const char text[4] = { (char)lead, (char)second, (char)0x80, (char)0xbf };
            uint32_t code;
            int length = 0;
            for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (lead >= rows[i].first && lead <= rows[i].last && second >= rows[i].low &&
                    second <= rows[i].high)
                    length = rows[i].length;
            assert_int_equal(oa_utf8_decode(text, 4, &code), length);
        }
}

static void test_utf8(void **state)
{
    (void)state;
    uint32_t code;
    char bytes[4];
    for (uint32_t c = 0; c < 0x110000; c++) {
        int n = oa_utf8_encode(c, bytes), expected = c >= 0xd800 && c < 0xe000 ? 0 : n;
        assert_int_equal(oa_utf8_decode(bytes, (size_t)n, &code), expected);
        if (expected)
            assert_int_equal(code, c);
        assert_int_equal(oa_utf8_decode(bytes, (size_t)n - 1, &code), 0);
    }
    static const char *const bad[] = { "\x80",
                                       "\xc0\x80",
                                       "\xc1\xbf",
                                       "\xe0\x80\x80",
                                       "\xf0\x80\x80\x80",
                                       "\xf4\x90\x80\x80",
                                       "\xf5\x80\x80\x80",
                                       "\xff",
                                       "\xe2\x28\xa1" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(oa_utf8_decode(bad[i], strlen(bad[i]), &code), 0);
    assert_int_equal(oa_text_characters("aé漢👍", 10), 4);
    assert_int_equal(oa_utf8_valid_length("aaaaaaaaaaé\xff", 13), 12);
    assert_int_equal(oa_utf8_invalid_length("\xff\xfe\xc3"
                                            "a",
                                            4),
                     3);
}

static void test_byte_alphabet(void **state)
{
    (void)state;
    bool seen[0x200] = { 0 };
    for (int b = 0; b < 256; b++) {
        uint32_t code = oa_byte_to_code((uint8_t)b);
        assert_true(code < 0x144 && code > 0x20 && !seen[code]);
        seen[code] = true;
        assert_int_equal(oa_code_to_byte(code), b);
    }
    assert_int_equal(oa_byte_to_code(' '), 0x120);
    assert_int_equal(oa_byte_to_code('\n'), 0x10a);
    for (uint32_t code = 0; code < 0x2000; code++)
        assert_int_equal(oa_code_to_byte(code) >= 0, code < 0x200 && seen[code]);
}

static void write_gzip(const char *path, const char *text)
{
    gzFile f = gzopen(path, "wb");
    assert_int_equal(gzwrite(f, text, (unsigned)strlen(text)), strlen(text));
    gzclose(f);
}

static void test_files(void **state)
{
    (void)state;
    char *data;
    size_t length;
    put("a", "alpha\n", 6);
    put("empty", "", 0);
    write_gzip("b.gz", "beta\n");
    expect_ok(oa_files_read(context, "a, b.gz,empty ,a", &data, &length));
    assert_string_equal(data, "alpha\nbeta\nalpha\n");
    assert_int_equal(length, 17);
    oa_free(data);
    expect_ok(oa_files_read(context, "", &data, &length));
    assert_int_equal(length, 0);
    oa_free(data);
    assert_int_equal(oa_files_read(context, "a,missing", &data, &length), OA_IO);
    expect_error(OA_IO, "missing");
    assert_int_equal(oa_files_read(context, "a,,a", &data, &length), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "empty name");
    assert_int_equal(oa_files_read(context, ".", &data, &length), OA_IO);
    expect_error(OA_IO, "cannot read .");
}

static void test_damaged_gzip(void **state)
{
    (void)state;
    char *data;
    size_t length;
    write_gzip("x.gz", "some text that is long enough to be packed, packed, packed");
    expect_ok(oa_file_read(context, SHAKESPEARE, &data, &length));
    data[5000] = 0;
    write_gzip("long.gz", data);
    oa_free(data);
    FILE *f = fopen("long.gz", "r+b");
    assert_int_equal(ftruncate(fileno(f), 1000), 0);
    fclose(f);
    assert_int_equal(oa_files_read(context, "x.gz,long.gz", &data, &length), OA_FORMAT);
    expect_error(OA_FORMAT, "long.gz");
}

/* ---- char and byte
 * ------------------------------------------------------------------------------------------- */

static void test_char_vocabulary(void **state)
{
    (void)state;
    static const int32_t first[] = {
        18, 47, 56, 57, 58, 1, 15, 47, 58, 47, 64, 43, 52, 10, 0
    }; /* as nanoGPT */
    struct oa_tokenizer *tok = open_tokenizer("char", SHAKESPEARE);
    assert_int_equal(oa_tokenizer_size(tok), 65);
    assert_string_equal(oa_tokenizer_kind_name(tok), "char");
    for (int32_t i = 1; i < 65; i++)
        assert_true(oa_tokenizer_piece(tok, i)[0] > oa_tokenizer_piece(tok, i - 1)[0]);
    assert_string_equal(oa_tokenizer_piece(tok, 0), "\n");
    assert_string_equal(oa_tokenizer_piece(tok, 64), "z");
    assert_null(oa_tokenizer_piece(tok, 65));
    assert_null(oa_tokenizer_piece(tok, -1));
    assert_int_equal(oa_tokenizer_find(tok, "z"), 64);
    assert_int_equal(oa_tokenizer_find(tok, "é"), -1);
    expect_ids(tok, "First Citizen:\n", first, 15);
    oa_tokenizer_close(tok);
}

static void test_char_refuses(void **state)
{
    (void)state;
    struct oa_tokenizer *tok;
    struct oa_ids ids;
    put("t", "ab\nc", 4);
    put("bad",
        "ab\xff"
        "c",
        4);
    put("nul", "ab\0c", 4);
    tok = open_tokenizer("char", "t");
    oa_ids_init(&ids, context);
    assert_int_equal(oa_tokenizer_encode(tok, "ab\naéb", 7, &ids), OA_FORMAT);
    expect_error(OA_FORMAT,
                 "text:2 (byte 4): character 'é' (U+00E9) is not among the 4 characters");
    assert_int_equal(oa_tokenizer_encode(tok, "ab\xc3", 3, &ids), OA_FORMAT);
    expect_error(OA_FORMAT, "byte 0xC3 (not UTF-8)");
    oa_ids_free(&ids);
    oa_tokenizer_close(tok);
    assert_int_equal(oa_tokenizer_open(context, "char", "t,bad", "", &tok), OA_FORMAT);
    expect_error(OA_FORMAT, "byte 0xFF (not UTF-8) at byte 6");
    assert_int_equal(oa_tokenizer_open(context, "char", "nul", "", &tok), OA_FORMAT);
    expect_error(OA_FORMAT, "U+0000 at byte 2");
    assert_int_equal(oa_tokenizer_open(context, "char", "", "", &tok), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "no text");
}

/* A character that the end of a piece of the reader cuts is seen whole. */
static void test_char_across_pieces(void **state)
{
    (void)state;
    size_t n = ((size_t)1 << 20) + 8;
    char *text = malloc(n + 1);
    memset(text, 'a', n);
    memcpy(text + ((size_t)1 << 20) - 2, "👍", 4);
    put("t", text, n);
    struct oa_tokenizer *tok = open_tokenizer("char", "t");
    assert_int_equal(oa_tokenizer_size(tok), 2);
    expect_round_trip(tok, text, n);
    oa_tokenizer_close(tok);
    free(text);
}

static void test_char_takes_valid_files(void **state)
{
    (void)state;
    struct oa_tokenizer *tok;
    put("t", "ab", 2);
    put("v", "bé", 3);
    expect_ok(oa_tokenizer_open(context, "char", "t", "v", &tok));
    assert_int_equal(oa_tokenizer_size(tok), 3);
    oa_tokenizer_close(tok);
}

static void test_spec(void **state)
{
    (void)state;
    struct oa_tokenizer *tok;
    static const char *const bad[] = {
        "bpe:255", "bpe:",  "bpe:-300", "bpe:12x", "bpe:99999999999999999999",
        "word:1",  "word:", "word:-3",  "word:3x"
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(oa_tokenizer_open(context, bad[i], SHAKESPEARE, "", &tok), OA_ARGUMENT);
        expect_error(OA_ARGUMENT, bad[i]);
    }
    assert_int_equal(oa_tokenizer_open(context, "chr", SHAKESPEARE, "", &tok), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "did you mean char?");
}

static void test_round_trips(void **state)
{
    (void)state;
    static const char *const specs[] = { "byte", "bpe:256", "bpe:600" };
    char every[256], text[20000];
    for (int i = 0; i < 256; i++)
        every[i] = (char)i;
    for (int k = 0; k < 3; k++) {
        struct oa_tokenizer *tok = open_tokenizer(specs[k], DATA "tokenizer_text.txt");
        expect_round_trip(tok, every, 256);
        expect_round_trip(tok, "", 0);
        for (int i = 0; i < 256; i++)
            expect_round_trip(tok, every + i, 1);
        for (uint64_t seed = 0; seed < 20; seed++)
            expect_round_trip(tok, text, awkward_text(text, sizeof text, seed));
        oa_tokenizer_close(tok);
    }
}

/* ---- tokenizer.json
 * ------------------------------------------------------------------------------------------ */

static void test_saved_kinds(void **state)
{
    (void)state;
    static const char *const specs[] = { "char", "byte", "bpe:400", "word:400" };
    char *text;
    size_t n;
    expect_ok(oa_file_read(context, SHAKESPEARE, &text, &n));
    for (int k = 0; k < 4; k++) {
        struct oa_tokenizer *made = open_tokenizer(specs[k], SHAKESPEARE), *loaded;
        int32_t id, again;
        expect_ok(oa_tokenizer_add_special(made, "</s>", &id));
        expect_ok(oa_tokenizer_add_special(made, "</s>", &again));
        assert_int_equal(id, again);
        assert_int_equal(id, oa_tokenizer_size(made) - 1);
        expect_ok(oa_tokenizer_save(context, made, "1.json"));
        expect_ok(oa_tokenizer_load(context, "1.json", &loaded));
        assert_string_equal(oa_tokenizer_kind_name(loaded), oa_tokenizer_kind_name(made));
        assert_int_equal(oa_tokenizer_size(loaded), oa_tokenizer_size(made));
        assert_true(oa_tokenizer_is_special(loaded, id));
        assert_int_equal(oa_tokenizer_is_special(loaded, 0), k == 3); /* <unk> */
        expect_same_ids(made, loaded, text, n);
        expect_same_ids(made, loaded, "ab</s>c", 7);
        struct oa_ids ids = encode(loaded, "a</s>b", 6);
        assert_int_equal(ids.count, 3);
        assert_int_equal(ids.id[1], id);
        oa_ids_free(&ids);
        expect_ok(oa_tokenizer_save(context, loaded, "2.json"));
        expect_same_file("1.json", "2.json");
        oa_tokenizer_close(made);
        oa_tokenizer_close(loaded);
    }
    oa_free(text);
}

static void test_trains_as_hugging_face(void **state)
{
    (void)state;
    struct oa_tokenizer *tok = open_tokenizer("bpe:480", DATA "tokenizer_text.txt");
    expect_ok(oa_tokenizer_save(context, tok, "ours.json"));
    expect_same_file("ours.json", DATA "tokenizer_bpe.json");
    oa_tokenizer_close(tok);
}

static void test_words_as_hugging_face(void **state)
{
    (void)state;
    struct oa_tokenizer *tok = open_tokenizer("word:120", DATA "tokenizer_text.txt");
    assert_int_equal(oa_tokenizer_size(tok), 120);
    expect_ok(oa_tokenizer_save(context, tok, "ours.json"));
    expect_same_file("ours.json", DATA "tokenizer_word.json");
    oa_tokenizer_close(tok);
}

static void check_vectors(struct oa_tokenizer *tok, const json_t *cases, const char *which)
{
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i), *ids = json_object_get(one, which);
        int32_t expected[1024];
        for (size_t k = 0; k < json_array_size(ids); k++)
            expected[k] = (int32_t)json_integer_value(json_array_get(ids, k));
        expect_ids(tok, json_string_value(json_object_get(one, "text")), expected,
                   json_array_size(ids));
    }
}

static void test_encodes_as_hugging_face(void **state)
{
    (void)state;
    static const char *const which[] = { "bpe", "split", "word" };
    json_t *cases = json_load_file(DATA "tokenizer_vectors.json", 0, NULL);
    assert_true(json_array_size(cases) > 30);
    for (int i = 0; i < 3; i++) {
        char path[512];
        struct oa_tokenizer *tok;
        snprintf(path, sizeof path, DATA "tokenizer_%s.json", which[i]);
        expect_ok(oa_tokenizer_load(context, path, &tok));
        check_vectors(tok, cases, which[i]);
        oa_tokenizer_close(tok);
    }
    json_decref(cases);
}

static void test_unknown_character(void **state)
{
    (void)state;
    static const char json[] = "{\"version\":\"1.0\",\"pre_tokenizer\":{\"type\":\"Split\","
                               "\"pattern\":{\"Regex\":\"[\\\\s\\\\S]\"},"
                               "\"behavior\":\"Isolated\",\"invert\":false},\"model\":{\"type\":"
                               "\"WordLevel\",\"vocab\":{\"a\":0,\"<unk>\":1,"
                               "\"é\":2},\"unk_token\":\"<unk>\"}}";
    static const int32_t expected[] = { 0, 1, 2 };
    struct oa_tokenizer *tok;
    expect_ok(oa_tokenizer_parse(context, "unk.json", json, sizeof json - 1, &tok));
    expect_ids(tok, "abé", expected, 3);
    oa_tokenizer_close(tok);
}

static void expect_refused(const char *json, enum oa_error code, const char *part)
{
    struct oa_tokenizer *tok;
    assert_int_equal(oa_tokenizer_parse(context, "x.json", json, strlen(json), &tok), code);
    assert_null(tok);
    expect_error(code, part);
}

#define MODEL(members) "\"model\":{\"type\":\"BPE\"," members "}"
#define LEVEL "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"
#define FILE_OF(members) "{\"version\":\"1.0\"," members "}"

static void test_refused_files(void **state)
{
    (void)state;
    expect_refused("", OA_FORMAT, "x.json:1:0: not valid JSON");
    expect_refused("{}", OA_FORMAT, "version");
    expect_refused("[]", OA_FORMAT, "tokenizer.json");
    expect_refused("{\"version\":\"2.0\"}", OA_UNSUPPORTED, "2.0");
    expect_refused(FILE_OF("\"model\":{\"type\":\"Other\"}"), OA_UNSUPPORTED, "Other");
    expect_refused(FILE_OF("\"normalizer\":{\"type\":\"Other\"}"), OA_UNSUPPORTED, "Other");
    expect_refused(FILE_OF(LEVEL "," MODEL("\"vocab\":{}")), OA_FORMAT, "model.merges");
    expect_refused(FILE_OF(LEVEL "," MODEL("\"vocab\":{},\"merges\":[]")), OA_FORMAT, "empty");
    expect_refused(FILE_OF(LEVEL "," MODEL("\"vocab\":{\"a\":-1},\"merges\":[]")), OA_FORMAT,
                   "model.vocab[\"a\"]");
    expect_refused(FILE_OF(LEVEL "," MODEL("\"vocab\":{\"a\":1,\"b\":1},\"merges\":[]")), OA_FORMAT,
                   "same id 1");
    expect_refused(FILE_OF(LEVEL "," MODEL("\"vocab\":{\"a\":99999999999},\"merges\":[]")),
                   OA_FORMAT, "4194303");
    expect_refused(FILE_OF(LEVEL "," MODEL("\"vocab\":{\"a\":0},\"merges\":[\"a b\"]")), OA_FORMAT,
                   "the second");
    expect_refused(FILE_OF(LEVEL "," MODEL("\"vocab\":{\"a\":0},\"merges\":[\"a  b\"]")), OA_FORMAT,
                   "merges[0]");
    expect_refused(FILE_OF(LEVEL "," MODEL("\"vocab\":{\"a\":0},\"merges\":[[\"a\",\"a\"]]")),
                   OA_FORMAT, "result");
    expect_refused(FILE_OF(LEVEL "," MODEL("\"dropout\":0.1,\"vocab\":{\"a\":0},\"merges\":[]")),
                   OA_UNSUPPORTED, "dropout");
    expect_refused(
        FILE_OF(LEVEL "," MODEL("\"byte_fallback\":true,\"vocab\":{\"a\":0},\"merges\":[]")),
        OA_UNSUPPORTED, "byte_fallback");
    expect_refused(FILE_OF(LEVEL "," MODEL(
                       "\"end_of_word_suffix\":\"</w>\",\"vocab\":{\"a\":0},\"merges\":[]")),
                   OA_UNSUPPORTED, "</w>");
    expect_refused(FILE_OF("\"pre_tokenizer\":{\"type\":\"Other\"}," MODEL(
                       "\"vocab\":{\"a\":0},\"merges\":[]")),
                   OA_UNSUPPORTED, "Other");
    expect_refused(FILE_OF(LEVEL ",\"added_tokens\":[{\"id\":7,\"content\":\"<s>\"}]," MODEL(
                       "\"vocab\":{\"a\":0},\"merges\":[]")),
                   OA_FORMAT, "has id 7 but by its position must have 1");
    expect_refused(FILE_OF("\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"
                           "\"Split\",\"pattern\":{\"Regex\":"
                           "\"(\"},\"behavior\":\"Isolated\"},{\"type\":\"ByteLevel\",\"add_prefix_"
                           "space\":false}]}," MODEL("\"vocab\":{\"a\":0},\"merges\":[]")),
                   OA_UNSUPPORTED, "byte 0: the group has no end");
}

static void test_missing_byte(void **state)
{
    (void)state;
    static const char json[] =
        FILE_OF(LEVEL "," MODEL("\"vocab\":{\"a\":0,\"Ċ\":1},\"merges\":[]"));
    struct oa_tokenizer *tok;
    struct oa_ids ids;
    oa_ids_init(&ids, context);
    expect_ok(oa_tokenizer_parse(context, "x.json", json, sizeof json - 1, &tok));
    assert_int_equal(oa_tokenizer_encode(tok, "aa\naab", 6, &ids), OA_FORMAT);
    expect_error(OA_FORMAT, "text:2 (byte 5): byte 0x62 is not in the vocabulary");
    oa_ids_free(&ids);
    oa_tokenizer_close(tok);
}

static void try_damaged(const char *json, size_t length)
{
    struct oa_tokenizer *tok;
    struct oa_ids ids;
    oa_ids_init(&ids, context);
    if (oa_tokenizer_parse(context, "damaged", json, length, &tok) == OA_OK) {
        (void)oa_tokenizer_encode(tok, "the <s> Café\xff 12", 17, &ids);
        oa_tokenizer_close(tok);
    } else {
        assert_null(tok);
        assert_int_not_equal(oa_last_error(context, NULL), OA_OK);
    }
    oa_ids_free(&ids);
    oa_clear_error(context);
}

static void test_damaged_files(void **state)
{
    (void)state;
    char *json, *copy;
    size_t n;
    struct oa_stream s = oa_stream_named(1, "damage");
    expect_ok(oa_file_read(context, DATA "tokenizer_split.json", &json, &n));
    copy = malloc(n);
    for (size_t cut = 0; cut < n; cut += 1 + n / 600)
        try_damaged(json, cut);
    for (uint64_t i = 0; i < 1500; i++) {
        memcpy(copy, json, n);
        for (uint64_t k = 0; k <= i % 3; k++)
            copy[oa_random_below(s, 8 * i + k, n)] = (char)oa_random_below(s, 8 * i + 4 + k, 256);
        try_damaged(copy, n);
    }
    free(copy);
    oa_free(json);
}

/* ---- BPE training
 * -------------------------------------------------------------------------------------------- */

struct word_hash {
    uint64_t hash;
    long words;
};

static enum oa_error hash_word(void *argument, const char *word, size_t n)
{
    struct word_hash *h = argument;
    h->hash = h->hash * 31 + oa_hash_bytes(word, n);
    h->words++;
    return OA_OK;
}

struct settled_words {
    struct oa_splitter splitter;
    struct word_hash hash;
};

static enum oa_error split_settled(void *argument, const char *text, size_t n, bool last,
                                   size_t *consumed)
{
    struct settled_words *w = argument;
    size_t settled = last ? n : n > OA_TRAINING_MARGIN ? n - OA_TRAINING_MARGIN : 0;
    return oa_splitter_settled(&w->splitter, text, n, settled, hash_word, &w->hash, consumed);
}

/* Words of a text that comes in pieces are those of the whole text. */
static void test_pieces_change_no_words(void **state)
{
    (void)state;
    size_t room = (size_t)3 << 20;
    char *text = malloc(room);
    struct settled_words pieces = { 0 };
    struct word_hash whole = { 0 };
    struct oa_reader *r;
    size_t n = awkward_text(text, room, 7);
    oa_splitter_init(&pieces.splitter, context);
    expect_ok(oa_splitter_add(&pieces.splitter, "test", oa_gpt2_pattern));
    expect_ok(oa_splitter_words(&pieces.splitter, text, n, hash_word, &whole));
    expect_ok(oa_reader_open_text(context, text, n, &r));
    expect_ok(oa_reader_feed(r, split_settled, &pieces));
    oa_reader_close(r);
    assert_int_equal(pieces.hash.words, whole.words);
    assert_true(pieces.hash.hash == whole.hash);
    oa_splitter_free(&pieces.splitter);
    free(text);
}

static void test_training_is_deterministic(void **state)
{
    (void)state;
    char *text;
    size_t n;
    expect_ok(oa_file_read(context, SHAKESPEARE, &text, &n));
    put("head", text, 300000);
    text[300000] = 0;
    write_gzip("head.gz", text);
    put("1", text, 100001);
    put("2", text + 100001, 199999);
    oa_free(text);
    static const char *const lists[] = { "head", "head", "head.gz", "1,2" };
    for (int i = 0; i < 4; i++) {
        struct oa_tokenizer *tok = open_tokenizer("bpe:700", lists[i]);
        assert_int_equal(oa_tokenizer_size(tok), 700);
        expect_ok(oa_tokenizer_save(context, tok, i ? "other.json" : "first.json"));
        oa_tokenizer_close(tok);
        if (i)
            expect_same_file("first.json", "other.json");
    }
}

static void test_small_training(void **state)
{
    (void)state;
    /* (l,o) and (o,w) appear 3 times each; the smaller ids go first. Then there is nothing left to
     * merge. */
    struct oa_tokenizer *tok = trained_on("low low low", 11, 1000);
    assert_string_equal(oa_tokenizer_piece(tok, 256), "lo");
    assert_string_equal(oa_tokenizer_piece(tok, 257), "low");
    assert_string_equal(oa_tokenizer_piece(tok, 258), "Ġlow");
    assert_int_equal(oa_tokenizer_size(tok), 259);
    assert_non_null(strstr(last_notice, "no more pairs to merge: 259 of 1000"));
    size_t n;
    assert_memory_equal(oa_tokenizer_bytes(tok, 258, &n), " low", 4);
    assert_int_equal(n, 4);
    oa_tokenizer_close(tok);
    struct oa_reader *r;
    expect_ok(oa_reader_open_text(context, "", 0, &r));
    assert_int_equal(oa_tokenizer_train_bpe(context, r, 300, &tok), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "no text");
    oa_reader_close(r);
}

/* bpe without a number: 500 tokens below 100 kB of text, 2000 below 200 kB, and it is logged. */
static void test_size_by_the_text(void **state)
{
    (void)state;
    static const struct {
        size_t bytes;
        int32_t size;
    } rows[] = { { 99999, 500 }, { 100000, 2000 }, { 199999, 2000 }, { 1115394, 8000 } };
    struct oa_text text = { .context = context };
    expect_ok(oa_file_read(context, SHAKESPEARE, &text.s, &text.length));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct oa_tokenizer *tok;
        struct oa_text part = { .context = context, .s = text.s, .length = rows[i].bytes };
        char notice[64];
        expect_ok(oa_tokenizer_open_texts(context, "bpe", &part, NULL, &tok));
        assert_int_equal(oa_tokenizer_size(tok), rows[i].size);
        snprintf(notice, sizeof notice, "bpe:%d for %zu bytes", (int)rows[i].size, rows[i].bytes);
        assert_non_null(strstr(last_notice, notice));
        oa_tokenizer_close(tok);
    }
    oa_free(text.s);
}

static void test_small_words(void **state)
{
    (void)state;
    static const int32_t expected[] = { 2, 1, 0, 3, 0 };
    struct oa_tokenizer *tok;
    struct oa_text out, text;
    oa_text_init(&out, context);
    oa_text_init(&text, context);
    /* " b" comes three times, "a" and " c" twice: "a" is spelt before "\u0120c". "e" comes once. */
    oa_text_add(&text, "a b c b c b\na e", 15);
    expect_ok(oa_tokenizer_open_texts(context, "word:9", &text, NULL, &tok));
    assert_int_equal(oa_tokenizer_size(tok), 4);
    assert_non_null(strstr(last_notice, "3 words occur 2 times or more: 4 of 9 tokens"));
    assert_string_equal(oa_tokenizer_piece(tok, 1), "Ġb");
    expect_ids(tok, "a b\n c e", expected, 5);
    expect_ok(oa_tokenizer_decode(tok, expected, 5, &out));
    assert_string_equal(out.s, "a b<unk> c<unk>");
    oa_tokenizer_close(tok);
    expect_ok(oa_tokenizer_open_texts(context, "word:3", &text, NULL, &tok));
    assert_int_equal(oa_tokenizer_size(tok), 3);
    assert_string_equal(oa_tokenizer_piece(tok, 2), "a");
    oa_tokenizer_close(tok);
    text.length = 0;
    assert_int_equal(oa_tokenizer_open_texts(context, "word:3", &text, NULL, &tok), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "no text to train a word vocabulary");
    oa_text_free(&text);
    oa_text_free(&out);
}

static void test_word_without_unknown(void **state)
{
    (void)state;
    static const char json[] =
        "{\"version\":\"1.0\",\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"
        ","
        "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0,\"Ġb\":1},\"unk_token\":\"?\"}}";
    static const int32_t expected[] = { 0, 1 };
    struct oa_tokenizer *tok;
    struct oa_ids ids;
    oa_ids_init(&ids, context);
    expect_ok(oa_tokenizer_parse(context, "w.json", json, sizeof json - 1, &tok));
    assert_string_equal(oa_tokenizer_kind_name(tok), "word");
    expect_ids(tok, "a b", expected, 2);
    assert_int_equal(oa_tokenizer_encode(tok, "a\n cd", 5, &ids), OA_FORMAT);
    expect_error(OA_FORMAT, "text:1 (byte 1): the word \"\\x0a\" is not in the vocabulary");
    oa_ids_free(&ids);
    oa_tokenizer_close(tok);
}

static void test_bounded_training(void **state)
{
    (void)state;
    struct oa_reader *r;
    struct oa_tokenizer *tok;
    expect_ok(oa_reader_open(context, SHAKESPEARE, &r));
    expect_ok(oa_tokenizer_train_bounded(context, r, 500, 1000, &tok));
    oa_reader_close(r);
    assert_int_equal(oa_tokenizer_size(tok), 500);
    assert_non_null(strstr(last_notice, "were dropped to bound memory"));
    expect_round_trip(tok, "All: Speak, speak.", 18);
    oa_tokenizer_close(tok);
}

/* Of nine words, three once, three twice, one four times and two often, two are left of five: what
 * is dropped is told with the last bound, 4, of 1, 2 and 4. */
static void dropped_words_are_counted(void **state)
{
    static const char path[] = "test_tokenizers_words.txt";
    struct oa_reader *r;
    struct oa_tokenizer *tok;
    FILE *f = fopen(path, "w");
    (void)state;
    fputs(" a b c d d e e f f g g g g", f);
    for (int i = 0; i < 9; i++)
        fputs(" h i", f);
    assert_int_equal(fclose(f), 0);
    expect_ok(oa_reader_open(context, path, &r));
    expect_ok(oa_tokenizer_train_bounded(context, r, 258, 5, &tok));
    oa_reader_close(r);
    oa_tokenizer_close(tok);
    assert_non_null(strstr(last_notice,
                           "more than 5 distinct words; 7 that occurred at most 4 times "
                           "were dropped to bound memory"));
    remove(path);
}

/* The size of a vocabulary that no option sets, reported where so few words have no more pairs. */
static void size_follows_from_the_text(void **state)
{
    static const char path[] = "test_tokenizers_size.txt";
    static const struct {
        int bytes;
        const char *size;
    } cases[] = { { 99999, "of 500 tokens" },
                  { 100000, "of 2000 tokens" },
                  { 199999, "of 2000 tokens" },
                  { 200000, "of 8000 tokens" } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oa_reader *r;
        struct oa_tokenizer *tok;
        FILE *f = fopen(path, "w");
        for (int k = 0; k < cases[i].bytes; k++)
            fputc("ab "[k % 3], f);
        assert_int_equal(fclose(f), 0);
        expect_ok(oa_reader_open(context, path, &r));
        expect_ok(oa_tokenizer_train_bpe(context, r, 0, &tok));
        oa_reader_close(r);
        oa_tokenizer_close(tok);
        assert_non_null(strstr(last_notice, cases[i].size));
    }
    remove(path);
}

static void test_long_words(void **state)
{
    (void)state;
    size_t n = 200000;
    char *text = malloc(n);
    struct oa_tokenizer *tok = open_tokenizer("bpe:480", DATA "tokenizer_text.txt");
    memset(text, 'a', n);
    expect_round_trip(tok, text, n);
    memset(text, ' ', n);
    expect_round_trip(tok, text, n);
    memset(text, 0xff, n);
    expect_round_trip(tok, text, n);
    for (size_t i = 0; i + 3 <= n; i += 3)
        memcpy(text + i, "漢", 3);
    expect_round_trip(tok, text, n);
    oa_tokenizer_close(tok);
    free(text);
}

static void test_decode_refuses(void **state)
{
    (void)state;
    struct oa_tokenizer *tok = open_tokenizer("byte", "");
    struct oa_text out;
    oa_text_init(&out, context);
    assert_int_equal(oa_tokenizer_decode(tok, (const int32_t[]){ 65, 256 }, 2, &out), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "id 256 at index 1");
    assert_int_equal(oa_tokenizer_decode(tok, (const int32_t[]){ -1 }, 1, &out), OA_ARGUMENT);
    expect_error(OA_ARGUMENT, "id -1");
    oa_text_free(&out);
    oa_tokenizer_close(tok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_utf8),
        TEST(test_utf8_table),
        TEST(test_byte_alphabet),
        TEST(test_files),
        TEST(test_damaged_gzip),
        TEST(test_char_vocabulary),
        TEST(test_char_refuses),
        TEST(test_char_across_pieces),
        TEST(test_char_takes_valid_files),
        TEST(test_spec),
        TEST(test_round_trips),
        TEST(test_saved_kinds),
        TEST(test_trains_as_hugging_face),
        TEST(test_words_as_hugging_face),
        TEST(test_encodes_as_hugging_face),
        TEST(test_unknown_character),
        TEST(test_refused_files),
        TEST(test_missing_byte),
        TEST(test_damaged_files),
        TEST(test_pieces_change_no_words),
        TEST(test_training_is_deterministic),
        TEST(test_small_training),
        TEST(test_size_by_the_text),
        TEST(test_small_words),
        TEST(test_word_without_unknown),
        TEST(test_bounded_training),
        TEST(dropped_words_are_counted),
        TEST(size_follows_from_the_text),
        TEST(test_long_words),
        TEST(test_decode_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
