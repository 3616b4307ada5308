/* SPDX-License-Identifier: Apache-2.0
 * WordPiece, Unigram, BPE over characters and models of SentencePiece give the ids and texts of the
 * packages tokenizers and sentencepiece, with all normalisers, pre-tokenizers and decoders
 * (tests/tokenizers/model_vectors.py), and those of tests/golden-hf with special tokens; damaged
 * and hostile files are refused. */
#include "text_setup.h"
#include "tokenizers/sentencepiece.h"
#include "tokenizers/tokenizer_parts.h"

#include <stdlib.h>

#define GOLDEN SOURCE_DIR "/tests/golden-hf/"
#define VECTORS SOURCE_DIR "/tests/tokenizers/model_vectors.json"

static bool same_ids(const struct oa_ids *ids, const json_t *expected)
{
    bool same = ids->count == json_array_size(expected);
    for (size_t i = 0; same && i < ids->count; i++)
        same = ids->id[i] == json_integer_value(json_array_get(expected, i));
    return same;
}

static bool decodes_to(struct oa_tokenizer *tok, const struct oa_ids *ids, const json_t *expected)
{
    struct oa_text out;
    oa_text_init(&out, context);
    expect_ok(oa_tokenizer_decode(tok, ids->id, ids->count, &out));
    bool same = out.length == json_string_length(expected) &&
                (!out.length || memcmp(out.s, json_string_value(expected), out.length) == 0);
    oa_text_free(&out);
    return same;
}

/* [text, ids, decoded]; decoded null: not known. Returns 1 where one differs. */
static int check_case(struct oa_tokenizer *tok, const char *name, const json_t *one)
{
    const json_t *text = json_array_get(one, 0), *decoded = json_array_get(one, 2);
    struct oa_ids ids = encode(tok, json_string_value(text), json_string_length(text));
    bool equal = same_ids(&ids, json_array_get(one, 1)),
         same = !equal || json_is_null(decoded) || decodes_to(tok, &ids, decoded);
    if (!equal || !same)
        print_error("%s, \"%s\": %s\n", name, json_string_value(text), equal ? "text" : "ids");
    oa_ids_free(&ids);
    return equal && same ? 0 : 1;
}

/* What is saved is the same tokenizer. */
static void check_saved(const struct oa_tokenizer *tok)
{
    struct oa_tokenizer *again;
    expect_ok(oa_tokenizer_save(context, tok, "saved.json"));
    expect_ok(oa_tokenizer_load(context, "saved.json", &again));
    assert_true(oa_tokenizers_agree(tok, again));
    oa_tokenizer_close(again);
}

static void ids_and_texts_of_the_reference(void **state)
{
    (void)state;
    json_t *root = json_load_file(VECTORS, 0, NULL);
    const json_t *files = json_object_get(root, "files"), *models = json_object_get(root, "models");
    int differ = 0, checked = 0;
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *one = json_array_get(files, i), *cases = json_object_get(one, "cases");
        const char *name = json_string_value(json_object_get(one, "model"));
        json_t *file = json_copy(json_object_get(one, "set"));
        struct oa_tokenizer *tok;
        json_object_set_new(file, "version", json_string("1.0"));
        json_object_set(file, "model", json_object_get(models, name));
        char *text = json_dumps(file, 0);
        expect_ok(oa_tokenizer_parse(context, name, text, strlen(text), &tok));
        for (size_t k = 0; k < json_array_size(cases); k++)
            if (!json_is_null(json_array_get(json_array_get(cases, k), 1))) {
                differ += check_case(tok, name, json_array_get(cases, k));
                checked++;
            }
        check_saved(tok);
        oa_tokenizer_close(tok);
        free(text);
        json_decref(file);
    }
    assert_int_equal(differ, 0);
    assert_true(checked > 1000);
    json_decref(root);
}

/* Writes the model of an entry of "pieces" as pieces.model. */
static void write_model(const json_t *one)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    FILE *f = fopen("pieces.model", "wb");
    uint32_t bits = 0, count = 0;
    for (const char *s = json_string_value(json_object_get(one, "base64")); *s && *s != '='; s++) {
        bits = bits << 6 | (uint32_t)(strchr(letters, *s) - letters);
        if (++count % 4 != 1)
            fputc((int)(bits >> (6 - 2 * ((count - 1) % 4)) & 0xff), f);
    }
    fclose(f);
}

static void models_of_sentencepiece(void **state)
{
    (void)state;
    json_t *root = json_load_file(VECTORS, 0, NULL);
    const json_t *all = json_object_get(root, "pieces");
    int differ = 0, checked = 0;
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i), *cases = json_object_get(one, "cases");
        struct oa_tokenizer *tok;
        write_model(one);
        expect_ok(oa_tokenizer_load(context, "pieces.model", &tok));
        for (size_t k = 0; k < json_array_size(cases); k++, checked++)
            differ += check_case(tok, json_string_value(json_object_get(one, "name")),
                                 json_array_get(cases, k));
        check_saved(tok);
        oa_tokenizer_close(tok);
    }
    assert_int_equal(differ, 0);
    assert_true(checked > 150);
    json_decref(root);
}

/* ---- tests/golden-hf ---- */

/* The ids of a line of encode.jsonl with special tokens, and their types. */
static bool same_specials(struct oa_tokenizer *tok, const json_t *line)
{
    const json_t *text = json_object_get(line, "text"), *pair = json_object_get(line, "pair"),
                 *types = json_object_get(line, "type_ids");
    struct oa_ids a = encode(tok, json_string_value(text), json_string_length(text)), b, whole, of;
    oa_ids_init(&b, context);
    oa_ids_init(&whole, context);
    oa_ids_init(&of, context);
    if (pair)
        expect_ok(oa_tokenizer_encode(tok, json_string_value(pair), json_string_length(pair), &b));
    expect_ok(oa_tokenizer_add_specials(tok, &a, pair ? &b : NULL, &whole, &of));
    bool same = same_ids(&whole, json_object_get(line, "ids")) && of.count == whole.count &&
                (!types || same_ids(&of, types)) &&
                (pair || same_ids(&a, json_object_get(line, "plain"))) &&
                (pair || decodes_to(tok, &whole, json_object_get(line, "decoded_all")));
    oa_ids_free(&a);
    oa_ids_free(&b);
    oa_ids_free(&whole);
    oa_ids_free(&of);
    return same;
}

static bool same_drawn(struct oa_tokenizer *tok, const json_t *line)
{
    const json_t *list = json_object_get(line, "ids");
    struct oa_ids ids;
    oa_ids_init(&ids, context);
    for (size_t i = 0; i < json_array_size(list); i++)
        expect_ok(oa_ids_add(&ids, (int32_t)json_integer_value(json_array_get(list, i))));
    bool same = decodes_to(tok, &ids, json_object_get(line, "decoded_all"));
    oa_ids_free(&ids);
    return same;
}

static int check_lines(struct oa_tokenizer *tok, const char *path,
                       bool (*same)(struct oa_tokenizer *tok, const json_t *line))
{
    char line[16384];
    FILE *f = fopen(path, "r");
    int lines = 0;
    assert_non_null(f);
    for (; fgets(line, sizeof line, f); lines++) {
        json_t *one = json_loads(line, JSON_ALLOW_NUL, NULL);
        if (!same(tok, one))
            fail_msg("%s:%d", path, lines + 1);
        json_decref(one);
    }
    fclose(f);
    return lines;
}

static void golden_tokenizers(void **state)
{
    (void)state;
    static const char *const names[] = { "wordpiece", "unigram", "llama2" };
    for (int i = 0; i < 3; i++) {
        char path[256];
        struct oa_tokenizer *tok;
        snprintf(path, sizeof path, GOLDEN "tok-%s/tokenizer.json", names[i]);
        expect_ok(oa_tokenizer_load(context, path, &tok));
        snprintf(path, sizeof path, GOLDEN "tok-%s/encode.jsonl", names[i]);
        assert_int_equal(check_lines(tok, path, same_specials), 77);
        snprintf(path, sizeof path, GOLDEN "tok-%s/decode.jsonl", names[i]);
        assert_int_equal(check_lines(tok, path, same_drawn), 14);
        oa_tokenizer_close(tok);
    }
}

/* ---- Marian ---- */

static bool target_ids_equal(struct oa_tokenizer *tok, const json_t *one)
{
    const json_t *text = json_array_get(one, 0);
    struct oa_ids ids =
        encode(oa_tokenizer_of_targets(tok), json_string_value(text), json_string_length(text));
    bool same = same_ids(&ids, json_array_get(one, 2));
    oa_ids_free(&ids);
    return same;
}

/* Ids of sources and targets, and the texts of sources without special tokens, of transformers'
 * MarianTokenizer; so has the tokenizer that is saved, and the files come back as they were. */
static void marian_encodes_both_sides(void **state)
{
    (void)state;
    static const char *const files[] = { "source.spm", "target.spm" };
    json_t *root = json_load_file(GOLDEN "marian-text/vectors.json", 0, NULL);
    const json_t *cases = json_object_get(root, "cases");
    struct oa_tokenizer *read, *tok;
    int differ = 0, sides = 0;
    expect_ok(oa_tokenizer_load_marian(context, GOLDEN "marian-text", &read));
    expect_ok(oa_tokenizer_save(context, read, "marian.json"));
    expect_ok(oa_tokenizer_load(context, "marian.json", &tok));
    assert_true(oa_tokenizers_agree(read, tok));
    assert_string_equal(oa_tokenizer_kind_name(tok), "marian");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i), *text = json_array_get(one, 0);
        struct oa_ids ids = encode(tok, json_string_value(text), json_string_length(text)), plain;
        bool equal = same_ids(&ids, json_array_get(one, 1)) && target_ids_equal(tok, one);
        oa_ids_init(&plain, context);
        for (size_t k = 0; k < ids.count; k++)
            if (!oa_tokenizer_is_special(tok, ids.id[k]))
                expect_ok(oa_ids_add(&plain, ids.id[k]));
        equal = equal && decodes_to(tok, &plain, json_array_get(one, 3));
        sides += !json_equal(json_array_get(one, 1), json_array_get(one, 2));
        differ += !equal;
        if (!equal)
            print_error("\"%s\"\n", json_string_value(text));
        oa_ids_free(&plain);
        oa_ids_free(&ids);
    }
    assert_int_equal(differ, 0);
    assert_int_equal(json_array_size(cases), 88);
    assert_true(sides > 20);
    expect_ok(oa_tokenizer_save_marian(context, tok, "."));
    for (int i = 0; i < 2; i++) {
        char path[256], *ours, *theirs;
        size_t n, m;
        snprintf(path, sizeof path, GOLDEN "marian-text/%s", files[i]);
        expect_ok(oa_file_read(context, files[i], &ours, &n));
        expect_ok(oa_file_read(context, path, &theirs, &m));
        assert_int_equal(n, m);
        assert_memory_equal(ours, theirs, n);
        oa_free(ours);
        oa_free(theirs);
    }
    json_t *back = json_load_file("vocab.json", 0, NULL),
           *table = json_load_file(GOLDEN "marian-text/vocab.json", 0, NULL);
    assert_true(json_equal(back, table));
    json_decref(back);
    json_decref(table);
    json_decref(root);
    oa_tokenizer_close(read);
    oa_tokenizer_close(tok);
}

/* The three files here, with bytes added to the message of one of them. */
static void put_marian(const char *changed, const char *more, size_t count)
{
    static const char *const files[] = { "source.spm", "target.spm", "vocab.json" };
    for (int i = 0; i < 3; i++) {
        char path[256], *data;
        struct oa_text out;
        size_t n;
        oa_text_init(&out, context);
        snprintf(path, sizeof path, GOLDEN "marian-text/%s", files[i]);
        expect_ok(oa_file_read(context, path, &data, &n));
        oa_text_add(&out, data, n);
        if (strcmp(files[i], changed) == 0)
            oa_text_add(&out, more, count);
        put(files[i], out.s, out.length);
        oa_text_free(&out);
        oa_free(data);
    }
}

#define FIELD(bytes) bytes, sizeof bytes - 1

/* Named by the side that has it. */
static void marian_refuses_what_its_models_lack(void **state)
{
    (void)state;
    static const struct {
        const char *file, *more;
        size_t count;
        const char *error;
    } cases[] = {
        { "target.spm",
          FIELD("\x0a\x0a\x0a\x01z\x15\x00\x00\x80\xbf\x18\x04"), /* a piece, type 4 */
          "target.spm: a piece of the type USER_DEFINED is not supported for Marian" },
        { "source.spm", FIELD("\x12\x02\x18\x02"), /* trainer: type of model 2 */
          "source.spm: a model of the type BPE is not supported for Marian" },
        { "target.spm", FIELD("\x12\x03\x98\x02\x01"), /* trainer: field 35 */
          "target.spm: byte_fallback is not supported for Marian" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct oa_tokenizer *tok = NULL;
        put_marian(cases[i].file, cases[i].more, cases[i].count);
        expect_error(oa_tokenizer_load_marian(context, ".", &tok), cases[i].error);
        assert_null(tok);
    }
}

/* Ids of the package sentencepiece 0.2.3, which makes each such byte U+FFFD. */
static void marian_reads_bytes_that_are_no_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int count;
        int32_t id[9];
    } cases[] = {
        { "O\xff Romeo", 9, { 75, 26, 1, 75, 27, 54, 51, 39, 54 } },
        { "\xc3", 2, { 75, 1 } },
        { "an\xe2\x82"
          "er",
          4,
          { 75, 34, 1, 41 } },
        { "\xf0\x9f th\x80\x80", 5, { 75, 1, 75, 66, 1 } },
        { "\xed\xa0\x80x", 2, { 75, 1 } },    /* a surrogate */
        { "\xf4\x90\x80\x80", 2, { 75, 1 } }, /* beyond U+10FFFF */
        { "\xc0\xaf"
          "a",
          3,
          { 75, 1, 33 } }, /* overlong */
        { " \xff ", 2, { 75, 1 } },
    };
    struct oa_tokenizer *tok;
    expect_ok(oa_tokenizer_load_marian(context, GOLDEN "marian-text", &tok));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct oa_ids ids = encode(tok, cases[i].text, strlen(cases[i].text));
        assert_int_equal(ids.count, cases[i].count);
        assert_memory_equal(ids.id, cases[i].id, ids.count * sizeof *ids.id);
        oa_ids_free(&ids);
    }
    oa_tokenizer_close(tok);
}

/* U+1402D, a letter of Unicode 16, makes a longer word of "HTTP", which is single_word (702). */
static void new_letters_belong_to_words(void **state)
{
    (void)state;
    static const char *const texts[] = { "a\xf0\x94\x80\xadHTTP", "a HTTP" };
    struct oa_tokenizer *tok;
    expect_ok(oa_tokenizer_load(context, GOLDEN "tok-llama2/tokenizer.json", &tok));
    for (size_t i = 0; i < 2; i++) {
        struct oa_ids ids = encode(tok, texts[i], strlen(texts[i]));
        assert_int_equal(ids.id[ids.count - 1] == 702, i);
        oa_ids_free(&ids);
    }
    oa_tokenizer_close(tok);
}

/* ---- what is refused ---- */

static void expect_refused(const char *json, enum oa_error code, const char *part)
{
    struct oa_tokenizer *tok;
    assert_int_equal(oa_tokenizer_parse(context, "x.json", json, strlen(json), &tok), code);
    assert_null(tok);
    expect_error(code, part);
}

#define FILE_OF(members) "{\"version\":\"1.0\"," members "}"
#define UNIGRAM(members) FILE_OF("\"model\":{\"type\":\"Unigram\"," members "}")
#define NORMAL(members) FILE_OF("\"normalizer\":{" members "}")
#define DECODER(members)                                                                           \
    FILE_OF("\"decoder\":{" members "},\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0]]}")

static void refused_files(void **state)
{
    (void)state;
    expect_refused(UNIGRAM("\"vocab\":{}"), OA_FORMAT, "model.vocab must be an array");
    expect_refused(UNIGRAM("\"vocab\":[[\"a\",0],[\"b\"]]"), OA_FORMAT, "model.vocab[1]");
    expect_refused(UNIGRAM("\"vocab\":[[\"a\",1e31]]"), OA_FORMAT, "model.vocab[0]");
    expect_refused(UNIGRAM("\"vocab\":[[\"a\",0]],\"unk_id\":1"), OA_FORMAT, "unk_id");
    expect_refused(UNIGRAM("\"vocab\":[[\"a\",0],[\"a\",0]]"), OA_FORMAT, "\"a\"");
    expect_refused(FILE_OF("\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0},"
                           "\"max_input_chars_per_word\":-1}"),
                   OA_FORMAT, "max_input_chars_per_word");
    expect_refused(FILE_OF("\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":"
                           "\"WordPiece\",\"vocab\":{\"a\":0}}"),
                   OA_UNSUPPORTED, "WordPiece");
    expect_refused(FILE_OF("\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[],"
                           "\"end_of_word_suffix\":\"123456789012345678901234567890123\"}"),
                   OA_UNSUPPORTED, "end_of_word_suffix has 33 bytes");
    expect_refused(NORMAL("\"type\":\"Precompiled\""), OA_FORMAT, "base64");
    expect_refused(NORMAL("\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAA!\""), OA_FORMAT,
                   "not base64 at letter 3");
    expect_refused(NORMAL("\"type\":\"Precompiled\",\"precompiled_charsmap\":\"////////\""),
                   OA_FORMAT, "damaged");
    expect_refused(NORMAL("\"type\":\"Replace\",\"pattern\":{\"String\":\"\"},\"content\":\"a\""),
                   OA_FORMAT, "pattern of Replace");
    expect_refused(NORMAL("\"type\":\"Prepend\""), OA_FORMAT, "\"prepend\" of Prepend");
    expect_refused(FILE_OF("\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"ab\"},"
                           "\"model\":{\"type\":\"Unigram\"}"),
                   OA_FORMAT, "replacement");
    expect_refused(FILE_OF("\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"a\","
                           "\"prepend_scheme\":\"last\"},\"model\":{\"type\":\"Unigram\"}"),
                   OA_FORMAT, "prepend_scheme");
    expect_refused(DECODER("\"type\":\"CTC\""), OA_UNSUPPORTED, "CTC");
    expect_refused(DECODER("\"type\":\"Strip\",\"content\":\" \",\"start\":-1,\"stop\":0"),
                   OA_FORMAT, "decoder Strip");
}

static void characters_that_no_piece_has(void **state)
{
    (void)state;
    static const char unigram[] = UNIGRAM("\"vocab\":[[\"a\",-1]]"),
                      bpe[] = FILE_OF("\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},"
                                      "\"merges\":[]}");
    const char *files[] = { unigram, bpe };
    for (int i = 0; i < 2; i++) {
        struct oa_tokenizer *tok;
        struct oa_ids ids;
        oa_ids_init(&ids, context);
        expect_ok(oa_tokenizer_parse(context, "x.json", files[i], strlen(files[i]), &tok));
        assert_int_equal(oa_tokenizer_encode(tok, "a\naé", 5, &ids), OA_FORMAT);
        expect_error(OA_FORMAT, "text:1 (byte 1): character U+000A is in no piece");
        oa_ids_free(&ids);
        oa_tokenizer_close(tok);
    }
}

/* "xy" at -3 is better than "x" unknown, at 10 below the least score, and "y" at 5. */
static void unknown_costs_more_than_any_piece(void **state)
{
    (void)state;
    static const char json[] = UNIGRAM("\"vocab\":[[\"?\",0],[\"xy\",-3],[\"y\",5]],\"unk_id\":0");
    static const int32_t expected[] = { 1, 0, 2 };
    struct oa_tokenizer *tok;
    expect_ok(oa_tokenizer_parse(context, "x.json", json, sizeof json - 1, &tok));
    struct oa_ids ids = encode(tok, "xyzzy", 5);
    assert_int_equal(ids.count, 3);
    assert_memory_equal(ids.id, expected, sizeof expected);
    oa_ids_free(&ids);
    oa_tokenizer_close(tok);
}

/* Of "a" → "1" and "ab" → "2", whose trie is a node for each letter at the place of its parent's
 * children XOR the letter, and a value at that of its own children XOR 0. */
static void longest_rule_of_several(void **state)
{
    (void)state;
    enum { UNITS = 512, ROOT = 256, OF_A = 128, OF_AB = 200 };
    uint32_t unit[UNITS] = { 0 }, bytes = sizeof unit, at_a = ROOT ^ 'a', at_b = OF_A ^ 'b';
    const uint32_t leaf = 1u << 8, value = 1u << 31;
    char blob[4 + sizeof unit + 4];
    struct oa_charsmap m;
    size_t taken = 0;
    unit[0] = ROOT << 10;
    unit[at_a] = (at_a ^ OF_A) << 10 | leaf | 'a';
    unit[at_b] = (at_b ^ OF_AB) << 10 | leaf | 'b';
    unit[OF_A] = value | 0;
    unit[OF_AB] = value | 2;
    memcpy(blob, &bytes, 4);
    memcpy(blob + 4, unit, sizeof unit);
    memcpy(blob + 4 + sizeof unit, "1\0002", 4);
    expect_ok(oa_charsmap_parse(context, "x", blob, sizeof blob, &m));
    assert_string_equal(oa_charsmap_longest(&m, "abc", 3, &taken), "2");
    assert_int_equal(taken, 2);
    assert_string_equal(oa_charsmap_longest(&m, "acb", 3, &taken), "1");
    assert_int_equal(taken, 1);
    assert_null(oa_charsmap_longest(&m, "ba", 2, &taken));
    oa_charsmap_free(&m);
}

/* A table whose trie leads to itself and out of itself, and pieces that overlap without end. */
static void hostile_tables(void **state)
{
    (void)state;
    struct oa_charsmap m;
    struct oa_text out;
    char blob[4 + 4 * 300 + 4] = { 0 };
    uint32_t bytes = 4 * 300;
    memcpy(blob, &bytes, 4);
    for (uint32_t i = 0; i < 300; i++) {
        uint32_t unit = (i * 2654435761u & ~0xffu) | (i & 0xff);
        memcpy(blob + 4 + 4 * i, &unit, 4);
    }
    expect_ok(oa_charsmap_parse(context, "x", blob, sizeof blob, &m));
    oa_text_init(&out, context);
    for (uint32_t code = 1; code < 0xd800; code++) {
        char text[4];
        oa_charsmap_apply(&m, text, (size_t)oa_utf8_encode(code, text), &out);
    }
    oa_text_free(&out);
    oa_charsmap_free(&m);
    assert_int_equal(oa_charsmap_parse(context, "x", blob, 4 + 4 * 300 - 1, &m), OA_FORMAT);
    expect_error(OA_FORMAT, "of which the trie takes 1200");
}

static void damaged_models(void **state)
{
    (void)state;
    json_t *root = json_load_file(VECTORS, 0, NULL);
    char *data;
    size_t n;
    int refused = 0, tried = 0;
    write_model(json_array_get(json_object_get(root, "pieces"), 0));
    expect_ok(oa_file_read(context, "pieces.model", &data, &n));
    struct oa_stream s = oa_stream_named(1, "damage");
    for (uint64_t i = 0; i < 600; i++, tried++) {
        struct oa_tokenizer *tok;
        FILE *f = fopen("damaged.model", "wb");
        size_t cut = i % 2 ? n : 1 + (size_t)oa_random_below(s, 4 * i, n - 1);
        size_t place = (size_t)oa_random_below(s, 4 * i + 1, cut);
        char was = data[place];
        data[place] = i % 2 ? (char)oa_random_below(s, 4 * i + 2, 256) : was;
        fwrite(data, 1, cut, f);
        fclose(f);
        data[place] = was;
        if (oa_tokenizer_load(context, "damaged.model", &tok) == OA_OK) {
            struct oa_ids ids;
            oa_ids_init(&ids, context);
            (void)oa_tokenizer_encode(tok, "the ﬁ Café\xff 12", 17, &ids);
            oa_ids_free(&ids);
            oa_tokenizer_close(tok);
        } else {
            assert_null(tok);
            assert_int_not_equal(oa_last_error(context, NULL), OA_OK);
            refused++;
        }
        oa_clear_error(context);
    }
    assert_true(refused > tried / 4);
    oa_free(data);
    json_decref(root);
}

static void models_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
        enum oa_error code;
        const char *part;
    } cases[] = {
        { "", 0, OA_FORMAT, "has no pieces" },
        { "\x0a\x7f", 2, OA_FORMAT, "byte 2: a field is longer than the message" },
        { "\x0f", 1, OA_FORMAT, "a field has a type that is not read" },
        { "\x0a\x03\x0a\x01\xff", 5, OA_FORMAT, "piece 0 is empty or not UTF-8" },
        { "\x0a\x08\x0a\x01\x61\x15\x00\x00\x80\x7f", 10, OA_FORMAT, "piece 0 has a score" },
        { "\x0a\x05\x0a\x01\x61\x18\x05", 7, OA_UNSUPPORTED,
          "piece 0 \"a\" is of the type UNUSED" },
        { "\x0a\x03\x0a\x01\x61\x0a\x03\x0a\x01\x61", 10, OA_FORMAT, "pieces 0 and 1 are both" },
        { "\x0a\x03\x0a\x01\x61\x12\x02\x18\x03", 9, OA_UNSUPPORTED, "words or characters" },
        { "\x0a\x03\x0a\x01\x61\x1a\x02\x28\x00", 9, OA_UNSUPPORTED, "escape_whitespaces" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oa_tokenizer *tok;
        expect_ok(oa_file_write(context, "x.model", cases[i].bytes, cases[i].length));
        assert_int_equal(oa_tokenizer_load(context, "x.model", &tok), cases[i].code);
        assert_null(tok);
        expect_error(cases[i].code, cases[i].part);
    }
}

/* ---- words and bytes ---- */

static void pieces_begin_words(void **state)
{
    (void)state;
    static const int32_t expected[] = { 0, 0, 1, 1, 1 };
    static const char json[] = FILE_OF(
        "\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"▁\"},"
        "\"decoder\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"▁\"},\"content\":\" \"},"
        "\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1],[\"▁b\",-1],[\"c\",-1],[\"?\",-1]],"
        "\"unk_id\":3}");
    struct oa_tokenizer *tok;
    struct oa_ids ids, words;
    size_t length;
    oa_ids_init(&ids, context);
    oa_ids_init(&words, context);
    expect_ok(oa_tokenizer_parse(context, "x.json", json, sizeof json - 1, &tok));
    expect_ok(oa_tokenizer_encode_text(tok, "t", "aa bcc", 6, &ids, &words));
    assert_int_equal(words.count, 5);
    assert_memory_equal(words.id, expected, sizeof expected);
    assert_memory_equal(oa_tokenizer_bytes(tok, 1, &length), " b", 2);
    assert_int_equal(length, 2);
    oa_ids_free(&ids);
    oa_ids_free(&words);
    oa_tokenizer_close(tok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ids_and_texts_of_the_reference),
        TEST(models_of_sentencepiece),
        TEST(golden_tokenizers),
        TEST(marian_encodes_both_sides),
        TEST(marian_refuses_what_its_models_lack),
        TEST(marian_reads_bytes_that_are_no_utf8),
        TEST(new_letters_belong_to_words),
        TEST(refused_files),
        TEST(characters_that_no_piece_has),
        TEST(unknown_costs_more_than_any_piece),
        TEST(longest_rule_of_several),
        TEST(hostile_tables),
        TEST(damaged_models),
        TEST(models_that_are_refused),
        TEST(pieces_begin_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
