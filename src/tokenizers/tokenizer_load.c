/* SPDX-License-Identifier: Apache-2.0
 * tokenizer.json (Hugging Face tokenizers, version "1.0") → tokenizer. Supported:
 *
 *     model          BPE over bytes or characters, merges as pairs or "a b"; WordPiece; Unigram;
 *                    Marian (marian_tokenizer.c);
 *                    WordLevel as saved for char, word, ids; without a type (before tokenizers
 *                    0.9) by its fields
 *     pre_tokenizer  read_splits.c
 *     normalizer     read_normalisers.c
 *     decoder        read_decoders.c, of models that are not byte-level
 *     added_tokens   all fields
 *
 * Anything else that would change ids is rejected by name. What does not change the ids of plain
 * text (truncation, padding, post_processor) is kept for saving. */
#include "tokenizers/tokenizer_load.h"

#include "base/json_read.h"
#include "tokenizers/sentencepiece.h"

#include <math.h>

enum oa_error oa_tokenizer_malformed(const struct oa_tokenizer_file *l, const char *place,
                                     const char *expected)
{
    return oa_fail(l->context, OA_FORMAT, "%s: %s must be %s", l->name, place, expected);
}

enum oa_error oa_tokenizer_unsupported(const struct oa_tokenizer_file *l, const char *place,
                                       const char *found, const char *remedy)
{
    return oa_fail(l->context, OA_UNSUPPORTED, "%s: %s \"%s\" is not supported; %s", l->name, place,
                   found, remedy);
}

/* ---- fields ---- */

json_t *oa_part_member(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

const char *oa_text_member(const json_t *object, const char *key)
{
    return json_string_value(oa_part_member(object, key));
}

enum oa_error oa_read_flag(const struct oa_tokenizer_file *l, const json_t *object, const char *key,
                           bool *value)
{
    const json_t *found = oa_part_member(object, key);
    if (found && !json_is_boolean(found))
        return oa_tokenizer_malformed(l, key, "true or false");
    if (found)
        *value = json_is_true(found);
    return OA_OK;
}

enum oa_error oa_read_string(const struct oa_tokenizer_file *l, const json_t *object,
                             const char *part, const char *key, struct oa_text *out)
{
    const char *text = oa_text_member(object, key);
    if (!text)
        return oa_fail(l->context, OA_FORMAT, "%s: \"%s\" of %s must be a string", l->name, key,
                       part);
    oa_text_add(out, text, strlen(text));
    return oa_status(l->context);
}

enum oa_error oa_read_part_type(const struct oa_tokenizer_file *l, const json_t *object,
                                const char *place, const char **type)
{
    *type = oa_text_member(object, "type");
    return *type ? OA_OK : oa_tokenizer_malformed(l, place, "an object with a \"type\"");
}

static bool read_id(const json_t *value, int32_t *id)
{
    json_int_t n = json_is_integer(value) ? json_integer_value(value) : -1;
    *id = n >= 0 && n < OA_MOST_IDS ? (int32_t)n : -1;
    return *id >= 0;
}

/* ---- model ---- */

static enum oa_error add_vocabulary_piece(struct oa_tokenizer_file *l, const char *piece,
                                          int32_t id, struct oa_text *bytes)
{
    size_t n = strlen(piece);
    bytes->length = 0;
    if (l->tok->kind == OA_TOKENIZER_IDS) {
        char number[16];
        /* a word that is a number; the bytes of the token end with a separating blank */
        int length = snprintf(number, sizeof number, "%d ", (int)id);
        if (n + 1 != (size_t)length || memcmp(piece, number, n) != 0)
            return oa_tokenizer_unsupported(
                l, "the word", piece,
                "WordLevel with WhitespaceSplit is supported only if every word is its own id");
        return oa_vocabulary_add(&l->tok->vocabulary, l->name, piece, n, id, number,
                                 (size_t)length);
    }
    if (l->tok->pieces_are_decoded) {
        OA_TRY(oa_decoder_bytes(l->context, &l->tok->decoder, piece, n, bytes));
    } else if (l->tok->kind == OA_TOKENIZER_CHAR || !oa_byte_unspell(bytes, piece, n)) {
        bytes->length = 0;
        oa_text_add(bytes, piece, n);
    }
    return oa_vocabulary_add(&l->tok->vocabulary, l->name, piece, n, id, bytes->s ? bytes->s : "",
                             bytes->length);
}

static enum oa_error read_vocabulary(struct oa_tokenizer_file *l, json_t *vocabulary)
{
    const char *piece;
    json_t *value;
    struct oa_text bytes;
    enum oa_error error = OA_OK;
    if (!json_is_object(vocabulary))
        return oa_tokenizer_malformed(l, "model.vocab", "an object of token: id");
    oa_text_init(&bytes, l->context);
    json_object_foreach(vocabulary, piece, value)
    {
        int32_t id;
        if (!read_id(value, &id))
            error =
                oa_fail(l->context, OA_FORMAT, "%s: model.vocab[\"%s\"] must be an id from 0 to %d",
                        l->name, piece, OA_MOST_IDS - 1);
        if (error == OA_OK)
            error = add_vocabulary_piece(l, piece, id, &bytes);
        if (error != OA_OK)
            break;
    }
    oa_text_free(&bytes);
    return error;
}

/* Left and right of a merge, ["a", "b"] or "a b"; false: neither. */
static bool merge_sides(const json_t *merge, const char **left, size_t *left_length,
                        const char **right)
{
    if (json_is_string(merge)) {
        const char *space = strchr(*left = json_string_value(merge), ' ');
        *left_length = space ? (size_t)(space - *left) : 0;
        *right = space ? space + 1 : NULL;
        return space && !strchr(*right, ' ');
    }
    *left = json_array_size(merge) == 2 ? json_string_value(json_array_get(merge, 0)) : NULL;
    *right = *left ? json_string_value(json_array_get(merge, 1)) : NULL;
    *left_length = *left ? strlen(*left) : 0;
    return *right != NULL;
}

static enum oa_error add_merge(struct oa_tokenizer_file *l, size_t rank, const json_t *merge,
                               struct oa_text *joined)
{
    const struct oa_vocabulary *v = &l->tok->vocabulary;
    const struct oa_text *prefix = &l->tok->bpe.prefix; /* of the right one, which it loses */
    const char *left, *right;
    size_t n;
    if (!merge_sides(merge, &left, &n, &right))
        return oa_fail(l->context, OA_FORMAT,
                       "%s: model.merges[%zu] must be [\"a\", \"b\"] or \"a b\"", l->name, rank);
    joined->length = 0;
    oa_text_add(joined, left, n);
    bool inner = prefix->length && strncmp(right, prefix->s, prefix->length) == 0;
    oa_text_add(joined, inner ? right + prefix->length : right,
                strlen(right) - (inner ? prefix->length : 0));
    int32_t a = oa_vocabulary_find(v, left, n), b = oa_vocabulary_find(v, right, strlen(right));
    int32_t both = oa_vocabulary_find(v, joined->s ? joined->s : "", joined->length);
    if (a < 0 || b < 0 || both < 0)
        return oa_fail(l->context, OA_FORMAT,
                       "%s: model.merges[%zu] merges \"%.*s\" and \"%s\" into \"%s\", but %s is "
                       "not in model.vocab",
                       l->name, rank, (int)n, left, right, joined->s ? joined->s : "",
                       a < 0   ? "the first"
                       : b < 0 ? "the second"
                               : "the result");
    return oa_bpe_add_merge(&l->tok->bpe, a, b, both);
}

static enum oa_error read_merges(struct oa_tokenizer_file *l, json_t *merges)
{
    struct oa_text joined;
    enum oa_error error = OA_OK;
    if (!json_is_array(merges))
        return oa_tokenizer_malformed(l, "model.merges", "an array");
    oa_text_init(&joined, l->context);
    for (size_t i = 0; i < json_array_size(merges) && error == OA_OK; i++)
        error = add_merge(l, i, json_array_get(merges, i), &joined);
    oa_text_free(&joined);
    return error;
}

static enum oa_error read_unknown(struct oa_tokenizer_file *l, const json_t *model, int32_t *id)
{
    const char *unknown = oa_text_member(model, "unk_token");
    if (oa_part_member(model, "unk_token") && !unknown)
        return oa_tokenizer_malformed(l, "model.unk_token", "a string or null");
    if (unknown)
        *id = oa_tokenizer_find(l->tok, unknown);
    return OA_OK;
}

/* The prefix of symbols inside a word, or the suffix of the last symbol. */
static enum oa_error read_affix(const struct oa_tokenizer_file *l, const json_t *model,
                                const char *key, struct oa_text *out)
{
    if (!oa_part_member(model, key))
        return OA_OK;
    OA_TRY(oa_read_string(l, model, "model", key, out));
    if (out->length > OA_MOST_AFFIX)
        return oa_fail(l->context, OA_UNSUPPORTED,
                       "%s: model.%s has %zu bytes; at most %d are read", l->name, key, out->length,
                       OA_MOST_AFFIX);
    return out->length == 0 || l->tok->pieces_are_decoded
               ? OA_OK
               : oa_tokenizer_unsupported(l, key, out->s, "byte-level BPE does not use it");
}

static enum oa_error read_bpe(struct oa_tokenizer_file *l, json_t *model)
{
    struct oa_bpe *b = &l->tok->bpe;
    l->tok->kind = OA_TOKENIZER_BPE;
    b->characters = l->tok->pieces_are_decoded;
    OA_TRY(read_affix(l, model, "continuing_subword_prefix", &b->prefix));
    OA_TRY(read_affix(l, model, "end_of_word_suffix", &b->suffix));
    if (json_number_value(oa_part_member(model, "dropout")) != 0)
        return oa_tokenizer_unsupported(l, "model.dropout", "(a number)",
                                        "it randomises encoding; set it to null");
    OA_TRY(oa_read_flag(l, model, "byte_fallback", &b->byte_fallback));
    if (b->byte_fallback && !b->characters)
        return oa_tokenizer_unsupported(l, "model.byte_fallback", "true",
                                        "with ByteLevel no character is unknown");
    OA_TRY(oa_read_flag(l, model, "fuse_unk", &b->fuse_unknown));
    OA_TRY(oa_read_flag(l, model, "ignore_merges", &b->ignore_merges));
    OA_TRY(read_vocabulary(l, oa_part_member(model, "vocab")));
    OA_TRY(read_merges(l, oa_part_member(model, "merges")));
    return read_unknown(l, model, &b->unknown);
}

/* ---- WordPiece and Unigram ---- */

static enum oa_error read_wordpiece(struct oa_tokenizer_file *l, json_t *model)
{
    struct oa_wordpiece *w = &l->tok->wordpiece;
    const json_t *most = oa_part_member(model, "max_input_chars_per_word");
    l->tok->kind = OA_TOKENIZER_WORDPIECE;
    w->most_characters = most ? (long)json_integer_value(most) : 100;
    if (most && !(json_is_integer(most) && w->most_characters >= 0))
        return oa_tokenizer_malformed(l, "model.max_input_chars_per_word", "a number, e.g. 100");
    if (oa_part_member(model, "continuing_subword_prefix"))
        OA_TRY(oa_read_string(l, model, "model", "continuing_subword_prefix", &w->prefix));
    else
        oa_text_add(&w->prefix, "##", 2);
    OA_TRY(read_vocabulary(l, oa_part_member(model, "vocab")));
    return read_unknown(l, model, &l->tok->unknown);
}

/* A piece of Unigram: ["piece", score]. */
static enum oa_error read_scored_piece(struct oa_tokenizer_file *l, size_t id, const json_t *entry,
                                       struct oa_text *bytes)
{
    struct oa_unigram *u = &l->tok->unigram;
    const char *piece = json_string_value(json_array_get(entry, 0));
    const json_t *score = json_array_get(entry, 1);
    const double most = 1e30; /* a sum of such is a number still */
    if (json_array_size(entry) != 2 || !piece || !json_is_number(score) ||
        !(fabs(json_number_value(score)) <= most))
        return oa_fail(l->context, OA_FORMAT,
                       "%s: model.vocab[%zu] must be [\"piece\", score] with a score from -1e30 to "
                       "1e30",
                       l->name, id);
    if (!oa_reserve(l->context, &u->score, &u->score_capacity, id + 1, sizeof *u->score))
        return OA_NO_MEMORY;
    u->score[id] = json_number_value(score);
    return add_vocabulary_piece(l, piece, (int32_t)id, bytes);
}

static enum oa_error read_unigram(struct oa_tokenizer_file *l, json_t *model)
{
    const json_t *vocabulary = oa_part_member(model, "vocab"),
                 *unknown = oa_part_member(model, "unk_id");
    struct oa_text bytes;
    enum oa_error error = OA_OK;
    size_t count = json_array_size(vocabulary);
    l->tok->kind = OA_TOKENIZER_UNIGRAM;
    if (!json_is_array(vocabulary) || count > OA_MOST_IDS)
        return oa_tokenizer_malformed(l, "model.vocab", "an array of [\"piece\", score]");
    OA_TRY(oa_read_flag(l, model, "byte_fallback", &l->tok->unigram.byte_fallback));
    if (unknown && (!read_id(unknown, &l->tok->unknown) || (size_t)l->tok->unknown >= count))
        return oa_tokenizer_malformed(l, "model.unk_id", "the number of a piece of model.vocab");
    oa_text_init(&bytes, l->context);
    for (size_t i = 0; i < count && error == OA_OK; i++)
        error = read_scored_piece(l, i, json_array_get(vocabulary, i), &bytes);
    oa_text_free(&bytes);
    return error;
}

static enum oa_tokenizer_kind kind_of_words(const json_t *pre)
{
    const char *type = oa_text_member(pre, "type");
    if (type && strcmp(type, "WhitespaceSplit") == 0)
        return OA_TOKENIZER_IDS;
    return type && (strcmp(type, "ByteLevel") == 0 || strcmp(type, "Sequence") == 0)
               ? OA_TOKENIZER_WORD
               : OA_TOKENIZER_CHAR;
}

/* The model type of a file without a type, by its fields as in the reference. NULL: unknown. */
static const char *type_of_fields(const json_t *model)
{
    const json_t *vocabulary = oa_part_member(model, "vocab");
    if (json_is_object(vocabulary) && oa_part_member(model, "merges"))
        return "BPE";
    if (json_is_object(vocabulary) && oa_part_member(model, "max_input_chars_per_word"))
        return "WordPiece";
    if (json_is_object(vocabulary) && oa_part_member(model, "unk_token"))
        return "WordLevel";
    return json_is_array(vocabulary) ? "Unigram" : NULL;
}

static enum oa_error check_char_split(struct oa_tokenizer_file *l, const json_t *pre);

static enum oa_error read_word_level(struct oa_tokenizer_file *l, json_t *model, const json_t *pre)
{
    bool bytes = true;
    l->tok->kind = kind_of_words(pre);
    if (l->tok->kind == OA_TOKENIZER_CHAR)
        OA_TRY(check_char_split(l, pre));
    if (l->tok->kind == OA_TOKENIZER_WORD)
        OA_TRY(oa_read_splits(l, pre, &bytes));
    if (!bytes)
        return oa_tokenizer_unsupported(l, "pre_tokenizer", "without ByteLevel at its end",
                                        "WordLevel needs it");
    OA_TRY(read_vocabulary(l, oa_part_member(model, "vocab")));
    return read_unknown(l, model, &l->tok->unknown);
}

/* Model, pre-tokenizer and decoder. */
static enum oa_error read_model(struct oa_tokenizer_file *l, json_t *root)
{
    json_t *model = oa_part_member(root, "model");
    const json_t *pre = oa_part_member(root, "pre_tokenizer");
    bool bytes;
    const char *type =
        json_object_get(model, "type") ? oa_text_member(model, "type") : type_of_fields(model);
    if (!type)
        return oa_tokenizer_malformed(
            l, "model",
            "an object with a \"type\", or with the fields of BPE (\"vocab\", \"merges\")");
    if (strcmp(type, "WordLevel") == 0)
        return read_word_level(l, model, pre);
    if (strcmp(type, "Marian") == 0) {
        l->tok->pieces_are_decoded = true;
        OA_TRY(oa_read_decoder(l, oa_part_member(root, "decoder")));
        OA_TRY(read_vocabulary(l, oa_part_member(model, "vocab")));
        return oa_read_marian(l, model);
    }
    bool bpe = strcmp(type, "BPE") == 0, wordpiece = strcmp(type, "WordPiece") == 0;
    if (!bpe && !wordpiece && strcmp(type, "Unigram") != 0)
        return oa_tokenizer_unsupported(
            l, "model type", type,
            "BPE, WordPiece, Unigram, and WordLevel as saved for char, word and ids are");
    OA_TRY(oa_read_splits(l, pre, &bytes));
    if (bytes && !bpe)
        return oa_tokenizer_unsupported(l, "pre_tokenizer ByteLevel with model", type,
                                        "it goes with BPE");
    l->tok->pieces_are_decoded = !bytes;
    if (!bytes)
        OA_TRY(oa_read_decoder(l, oa_part_member(root, "decoder")));
    return bpe ? read_bpe(l, model) : wordpiece ? read_wordpiece(l, model) : read_unigram(l, model);
}

/* WordLevel is "char" if every character is a word. */
static enum oa_error check_char_split(struct oa_tokenizer_file *l, const json_t *pre)
{
    static const char *const every_character[] = { "[\\s\\S]", "(?m:.)", "(?m)." };
    const char *type = oa_text_member(pre, "type"), *behavior = oa_text_member(pre, "behavior");
    const char *regex = oa_text_member(oa_part_member(pre, "pattern"), "Regex");
    if (type && strcmp(type, "Split") == 0 && behavior && strcmp(behavior, "Isolated") == 0 &&
        regex)
        for (int i = 0; i < 3; i++)
            if (strcmp(regex, every_character[i]) == 0)
                return OA_OK;
    return oa_tokenizer_unsupported(
        l, "pre_tokenizer", type ? type : "null",
        "WordLevel needs ByteLevel, or a Split that isolates every character, \"[\\s\\S]\"");
}

/* ---- added tokens ---- */

static enum oa_error read_added(struct oa_tokenizer_file *l, const json_t *entry)
{
    struct oa_added_token token = { .content = (char *)oa_text_member(entry, "content"),
                                    .normalized = true };
    if (!token.content)
        return oa_tokenizer_malformed(l, "content of an added token", "a string");
    if (!read_id(oa_part_member(entry, "id"), &token.id))
        return oa_tokenizer_malformed(l, "id of an added token", "an id in range");
    token.length = strlen(token.content);
    OA_TRY(oa_read_flag(l, entry, "single_word", &token.single_word));
    OA_TRY(oa_read_flag(l, entry, "lstrip", &token.lstrip));
    OA_TRY(oa_read_flag(l, entry, "rstrip", &token.rstrip));
    OA_TRY(oa_read_flag(l, entry, "normalized", &token.normalized));
    OA_TRY(oa_read_flag(l, entry, "special", &token.special));
    return token.length ? oa_tokenizer_add_token(l->tok, l->name, &token) : OA_OK;
}

/* ---- the file ---- */

/* Empties the large tables of the frame, which saving fills again in place. */
static enum oa_error empty_frame(struct oa_tokenizer_file *l, json_t *root)
{
    json_t *model = oa_part_member(root, "model");
    bool array = json_is_array(json_object_get(model, "vocab"));
    bool done = json_object_set_new(model, "vocab", array ? json_array() : json_object()) == 0 &&
                json_object_set_new(root, "added_tokens", json_array()) == 0;
    if (done && oa_part_member(model, "merges"))
        done = json_object_set_new(model, "merges", json_array()) == 0;
    return done ? OA_OK
                : oa_fail(l->context, OA_NO_MEMORY, "out of memory while reading %s", l->name);
}

static enum oa_error read_root(struct oa_tokenizer_file *l, json_t *root)
{
    const char *version = oa_text_member(root, "version");
    if (!json_is_object(root) || !version)
        return oa_tokenizer_malformed(l, "the file",
                                      "a tokenizer.json: an object with \"version\": \"1.0\"");
    if (strcmp(version, "1.0") != 0)
        return oa_tokenizer_unsupported(l, "version", version, "only version 1.0 is");
    OA_TRY(oa_read_normaliser(l, oa_part_member(root, "normalizer")));
    OA_TRY(read_model(l, root));
    OA_TRY(oa_tokenizer_finish(l->tok, l->name));
    const json_t *added = oa_part_member(root, "added_tokens");
    if (added && !json_is_array(added))
        return oa_tokenizer_malformed(l, "added_tokens", "an array");
    for (size_t i = 0; i < json_array_size(added); i++)
        OA_TRY(read_added(l, json_array_get(added, i)));
    if (l->tok->kind == OA_TOKENIZER_MARIAN)
        OA_TRY(oa_read_marian_target(l, root));
    return empty_frame(l, root);
}

enum oa_error oa_tokenizer_parse(oa_context *c, const char *name, const char *json, size_t length,
                                 struct oa_tokenizer **out)
{
    json_t *root;
    *out = NULL;
    OA_TRY(oa_json_parse(c, name, json, length, NULL, &root));
    struct oa_tokenizer_file l = { .context = c, .name = name };
    enum oa_error error = oa_tokenizer_new(c, OA_TOKENIZER_BPE, &l.tok);
    if (error == OA_OK)
        error = read_root(&l, root);
    if (error == OA_OK) {
        json_decref(l.tok->frame);
        l.tok->frame = json_incref(root);
        *out = l.tok;
    } else {
        oa_tokenizer_close(l.tok);
    }
    json_decref(root);
    return error;
}

static enum oa_error parse_sentencepiece(oa_context *c, const char *path, const char *data,
                                         size_t length, struct oa_tokenizer **out)
{
    struct oa_sentencepiece pieces;
    char *json = NULL;
    enum oa_error e = oa_sentencepiece_read(c, path, data, length, &pieces);
    if (e == OA_OK)
        e = oa_sentencepiece_json(c, &pieces, &json);
    if (e == OA_OK)
        e = oa_tokenizer_parse(c, path, json, strlen(json), out);
    oa_free(json);
    oa_free(pieces.piece);
    return e;
}

enum oa_error oa_tokenizer_load(oa_context *c, const char *path, struct oa_tokenizer **out)
{
    char *data;
    size_t length;
    *out = NULL;
    OA_TRY(oa_file_read(c, path, &data, &length));
    enum oa_error error = oa_name_ends(path, ".model") || oa_name_ends(path, ".spm")
                              ? parse_sentencepiece(c, path, data, length, out)
                              : oa_tokenizer_parse(c, path, data, length, out);
    oa_free(data);
    return error;
}

void oa_tokenizer_note_unapplied(const struct oa_tokenizer *tok, const char *name)
{
    static const char *const parts[] = { "truncation", "padding", "post_processor" };
    for (int i = 0; i < 3 && tok->kind != OA_TOKENIZER_MARIAN; i++) { /* its tasks end texts */
        const json_t *part = oa_part_member(tok->frame, parts[i]);
        const char *type = oa_text_member(part, "type");
        if (part && !(type && strcmp(type, "ByteLevel") == 0))
            oa_log(tok->context, 0,
                   "%s: %s is kept for saving but not applied: no ids are added to texts", name,
                   parts[i]);
    }
}
