/* SPDX-License-Identifier: Apache-2.0
 * tokenizer.json (Hugging Face tokenizers, version "1.0") → tokenizer. Supported:
 *
 *     model          BPE over bytes, merges as pairs or "a b"; WordLevel as saved for char,
 *                    word, ids; without a type (before tokenizers 0.9) by its fields
 *     pre_tokenizer  ByteLevel, or a Sequence of Split and Digits that ends with ByteLevel
 *     normalizer     null, NFC, NFD, NFKC, NFKD, Lowercase, or a Sequence of them
 *     added_tokens   all fields
 *
 * Anything else that would change ids is rejected by name. What does not change the ids of plain
 * text (truncation, padding, post_processor, decoder) is kept for saving. The file is not trusted:
 * type and range of every value are checked. */
#include "tokenizers/tokenizer_parts.h"

#include <stdarg.h>

#define MOST_NESTED 8 /* Sequences inside of one another */

struct loader {
    oa_context *context;
    const char *name; /* of the file, for messages */
    struct oa_tokenizer *tok;
};

static enum oa_error malformed(const struct loader *l, const char *place, const char *expected)
{
    return oa_fail(l->context, OA_FORMAT, "%s: %s must be %s", l->name, place, expected);
}

static enum oa_error unsupported(const struct loader *l, const char *place, const char *found,
                                 const char *remedy)
{
    return oa_fail(l->context, OA_UNSUPPORTED, "%s: %s \"%s\" is not supported; %s", l->name, place,
                   found, remedy);
}

/* ---- fields ---- */

/* A member, NULL when absent or null. */
static json_t *json_member(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

static enum oa_error read_bool(const struct loader *l, const json_t *object, const char *key,
                               bool *value)
{
    const json_t *found = json_member(object, key);
    if (found && !json_is_boolean(found))
        return malformed(l, key, "true or false");
    if (found)
        *value = json_is_true(found);
    return OA_OK;
}

static const char *text_member(const json_t *object, const char *key)
{
    return json_string_value(json_member(object, key));
}

static enum oa_error read_part_type(const struct loader *l, const json_t *object, const char *place,
                                    const char **type)
{
    *type = text_member(object, "type");
    return *type ? OA_OK : malformed(l, place, "an object with a \"type\"");
}

static bool read_id(const json_t *value, int32_t *id)
{
    json_int_t n = json_is_integer(value) ? json_integer_value(value) : -1;
    *id = n >= 0 && n < OA_MOST_IDS ? (int32_t)n : -1;
    return *id >= 0;
}

/* ---- model ---- */

/* Tokens of ids are written as their numbers; their bytes end with a separating blank. */
static enum oa_error add_id_piece(struct loader *l, const char *piece, size_t n, int32_t id)
{
    char number[16];
    int length = snprintf(number, sizeof number, "%d ", (int)id);
    if (n + 1 != (size_t)length || memcmp(piece, number, n) != 0)
        return unsupported(
            l, "the word", piece,
            "WordLevel with WhitespaceSplit is supported only if every word is its own id");
    return oa_vocabulary_add(&l->tok->vocabulary, l->name, piece, n, id, number, (size_t)length);
}

static enum oa_error add_vocabulary_piece(struct loader *l, const char *piece, int32_t id,
                                          struct oa_text *bytes)
{
    size_t n = strlen(piece);
    bytes->length = 0;
    if (l->tok->kind == OA_TOKENIZER_IDS)
        return add_id_piece(l, piece, n, id);
    if (l->tok->kind == OA_TOKENIZER_CHAR || !oa_byte_unspell(bytes, piece, n)) {
        bytes->length = 0;
        oa_text_add(bytes, piece, n);
    }
    return oa_vocabulary_add(&l->tok->vocabulary, l->name, piece, n, id, bytes->s ? bytes->s : "",
                             bytes->length);
}

static enum oa_error read_vocabulary(struct loader *l, json_t *vocabulary)
{
    const char *piece;
    json_t *value;
    struct oa_text bytes;
    enum oa_error error = OA_OK;
    if (!json_is_object(vocabulary))
        return malformed(l, "model.vocab", "an object of token: id");
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

static enum oa_error add_merge(struct loader *l, size_t rank, const json_t *merge,
                               struct oa_text *joined)
{
    const struct oa_vocabulary *v = &l->tok->vocabulary;
    const char *left, *right;
    size_t n;
    if (!merge_sides(merge, &left, &n, &right))
        return oa_fail(l->context, OA_FORMAT,
                       "%s: model.merges[%zu] must be [\"a\", \"b\"] or \"a b\"", l->name, rank);
    joined->length = 0;
    oa_text_add(joined, left, n);
    oa_text_add(joined, right, strlen(right));
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

static enum oa_error read_merges(struct loader *l, json_t *merges)
{
    struct oa_text joined;
    enum oa_error error = OA_OK;
    if (!json_is_array(merges))
        return malformed(l, "model.merges", "an array");
    oa_text_init(&joined, l->context);
    for (size_t i = 0; i < json_array_size(merges) && error == OA_OK; i++)
        error = add_merge(l, i, json_array_get(merges, i), &joined);
    oa_text_free(&joined);
    return error;
}

static enum oa_error read_unknown(struct loader *l, const json_t *model, int32_t *id)
{
    const char *unknown = text_member(model, "unk_token");
    if (json_member(model, "unk_token") && !unknown)
        return malformed(l, "model.unk_token", "a string or null");
    if (unknown)
        *id = oa_tokenizer_find(l->tok, unknown);
    return OA_OK;
}

static enum oa_error read_bpe(struct loader *l, json_t *model)
{
    static const char *const affixes[] = { "continuing_subword_prefix", "end_of_word_suffix" };
    bool byte_fallback = false;
    for (int i = 0; i < 2; i++)
        if (json_member(model, affixes[i]) &&
            json_string_length(json_member(model, affixes[i])) > 0)
            return unsupported(l, affixes[i], json_string_value(json_member(model, affixes[i])),
                               "byte-level BPE does not use it");
    if (json_number_value(json_member(model, "dropout")) != 0)
        return unsupported(l, "model.dropout", "(a number)",
                           "it randomises encoding; set it to null");
    OA_TRY(read_bool(l, model, "byte_fallback", &byte_fallback));
    if (byte_fallback)
        return unsupported(l, "model.byte_fallback", "true",
                           "only byte-level BPE (ByteLevel) is supported");
    OA_TRY(read_bool(l, model, "fuse_unk", &l->tok->bpe.fuse_unknown));
    OA_TRY(read_bool(l, model, "ignore_merges", &l->tok->bpe.ignore_merges));
    OA_TRY(read_vocabulary(l, json_member(model, "vocab")));
    OA_TRY(read_merges(l, json_member(model, "merges")));
    return read_unknown(l, model, &l->tok->bpe.unknown);
}

static enum oa_tokenizer_kind kind_of_words(const json_t *pre)
{
    const char *type = text_member(pre, "type");
    if (type && strcmp(type, "WhitespaceSplit") == 0)
        return OA_TOKENIZER_IDS;
    return type && (strcmp(type, "ByteLevel") == 0 || strcmp(type, "Sequence") == 0)
               ? OA_TOKENIZER_WORD
               : OA_TOKENIZER_CHAR;
}

/* The model type of a file without a type, by its fields as in the reference. NULL: unknown. */
static const char *type_of_fields(const json_t *model)
{
    const json_t *vocabulary = json_member(model, "vocab");
    if (json_is_object(vocabulary) && json_member(model, "merges"))
        return "BPE";
    if (json_is_object(vocabulary) && json_member(model, "max_input_chars_per_word"))
        return "WordPiece";
    if (json_is_object(vocabulary) && json_member(model, "unk_token"))
        return "WordLevel";
    return json_is_array(vocabulary) ? "Unigram" : NULL;
}

static enum oa_error read_model(struct loader *l, json_t *model, const json_t *pre)
{
    const char *type =
        json_object_get(model, "type") ? text_member(model, "type") : type_of_fields(model);
    if (!type)
        return malformed(
            l, "model",
            "an object with a \"type\", or with the fields of BPE (\"vocab\", \"merges\")");
    if (strcmp(type, "BPE") == 0) {
        l->tok->kind = OA_TOKENIZER_BPE;
        return read_bpe(l, model);
    }
    if (strcmp(type, "WordLevel") != 0)
        return unsupported(l, "model type", type,
                           "only byte-level BPE and WordLevel as saved for char, word and ids are");
    l->tok->kind = kind_of_words(pre);
    OA_TRY(read_vocabulary(l, json_member(model, "vocab")));
    return read_unknown(l, model, &l->tok->unknown);
}

/* ---- pre-tokeniser ---- */

static enum oa_error read_byte_level(struct loader *l, const json_t *level)
{
    bool use_regex = true, prefix_space = true; /* the defaults of the format */
    OA_TRY(read_bool(l, level, "add_prefix_space", &prefix_space));
    OA_TRY(read_bool(l, level, "use_regex", &use_regex));
    l->tok->splitter.prefix_space = l->tok->prefix_space = prefix_space;
    return use_regex || prefix_space
               ? oa_splitter_add_split(&l->tok->splitter, l->name,
                                       use_regex ? oa_gpt2_pattern : NULL, OA_SPLIT_ISOLATED, false)
               : OA_OK;
}

static enum oa_error add_split_pattern(struct loader *l, const json_t *pattern,
                                       enum oa_split_behaviour behaviour, bool invert)
{
    const char *regex = text_member(pattern, "Regex"), *literal = text_member(pattern, "String");
    struct oa_text quoted;
    if (!regex && !literal)
        return malformed(l, "pattern of a Split", "{\"Regex\": …} or {\"String\": …}");
    if (regex)
        return oa_splitter_add_split(&l->tok->splitter, l->name, regex, behaviour, invert);
    oa_text_init(&quoted, l->context);
    for (const char *s = literal; *s; s++) { /* \\Q…\\E would end at the first \\E */
        oa_text_add(&quoted, "\\", strchr("\\^$.[]|()?*+{}#-", *s) != NULL);
        oa_text_add(&quoted, s, 1);
    }
    enum oa_error error = oa_status(l->context) == OA_NO_MEMORY ? OA_NO_MEMORY : OA_OK;
    if (error == OA_OK)
        error = oa_splitter_add_split(&l->tok->splitter, l->name, quoted.s ? quoted.s : "",
                                      behaviour, invert);
    oa_text_free(&quoted);
    return error;
}

static enum oa_error read_split(struct loader *l, const json_t *split)
{
    static const char *const names[] = { "Isolated", "Removed", "MergedWithPrevious",
                                         "MergedWithNext", "Contiguous" };
    const char *behavior = text_member(split, "behavior");
    bool invert = false;
    OA_TRY(read_bool(l, split, "invert", &invert));
    for (int i = 0; behavior && i < 5; i++)
        if (strcmp(behavior, names[i]) == 0)
            return add_split_pattern(l, json_member(split, "pattern"), (enum oa_split_behaviour)i,
                                     invert);
    return malformed(l, "behavior of a Split",
                     "one of Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous");
}

static enum oa_error read_digit_split(struct loader *l, const json_t *digits)
{
    bool individual = false;
    OA_TRY(read_bool(l, digits, "individual_digits", &individual));
    /* Unicode 17, as the reference: two more blocks of digits than in patterns */
    return oa_splitter_add_split(&l->tok->splitter, l->name,
                                 "[\\p{N}\\x{11DE0}-\\x{11DE9}\\x{16FF4}-\\x{16FF6}]",
                                 individual ? OA_SPLIT_ISOLATED : OA_SPLIT_CONTIGUOUS, false);
}

/* A pre-tokenizer, or a Sequence. *bytes: ByteLevel was read, which must be the last one. */
static enum oa_error read_byte_splits(struct loader *l, const json_t *pre, int depth, bool *bytes)
{
    const char *type;
    OA_TRY(read_part_type(l, pre, "pre_tokenizer", &type));
    if (*bytes)
        return unsupported(l, "pre_tokenizer", type, "ByteLevel must be the last one");
    *bytes = strcmp(type, "ByteLevel") == 0;
    if (*bytes)
        return read_byte_level(l, pre);
    if (strcmp(type, "Split") == 0)
        return read_split(l, pre);
    if (strcmp(type, "Digits") == 0)
        return read_digit_split(l, pre);
    const json_t *parts = json_member(pre, "pretokenizers");
    if (strcmp(type, "Sequence") != 0 || depth == MOST_NESTED)
        return unsupported(l, "pre_tokenizer", type,
                           "supported are ByteLevel and a Sequence of Split and Digits that ends "
                           "with ByteLevel, nested at most 8 deep");
    if (!json_is_array(parts))
        return malformed(l, "pre_tokenizer.pretokenizers", "an array");
    for (size_t i = 0; i < json_array_size(parts); i++)
        OA_TRY(read_byte_splits(l, json_array_get(parts, i), depth + 1, bytes));
    return OA_OK;
}

static enum oa_error read_pre_tokenizer(struct loader *l, const json_t *pre)
{
    bool bytes = false;
    if (pre)
        OA_TRY(read_byte_splits(l, pre, 0, &bytes));
    return bytes ? OA_OK
                 : unsupported(l, "pre_tokenizer", pre ? "without ByteLevel at its end" : "null",
                               "only byte-level BPE is");
}

/* WordLevel is "char" if every character is a word. */
static enum oa_error check_char_split(struct loader *l, const json_t *pre)
{
    static const char *const every_character[] = { "[\\s\\S]", "(?m:.)", "(?m)." };
    const char *type = text_member(pre, "type"), *behavior = text_member(pre, "behavior");
    const char *regex = text_member(json_member(pre, "pattern"), "Regex");
    if (type && strcmp(type, "Split") == 0 && behavior && strcmp(behavior, "Isolated") == 0 &&
        regex)
        for (int i = 0; i < 3; i++)
            if (strcmp(regex, every_character[i]) == 0)
                return OA_OK;
    return unsupported(
        l, "pre_tokenizer", type ? type : "null",
        "WordLevel needs ByteLevel, or a Split that isolates every character, \"[\\s\\S]\"");
}

/* ---- normaliser ---- */

static enum oa_error read_normaliser(struct loader *l, const json_t *normalizer, int depth)
{
    const char *type;
    OA_TRY(read_part_type(l, normalizer, "normalizer", &type));
    for (int i = 0; i < OA_NORMALS; i++)
        if (strcmp(type, oa_normal_names[i]) == 0 && l->tok->normals < OA_MOST_NORMALISERS) {
            l->tok->normal[l->tok->normals++] = (enum oa_normal)i;
            return OA_OK;
        }
    const json_t *parts = json_member(normalizer, "normalizers");
    if (strcmp(type, "Sequence") != 0 || depth == MOST_NESTED)
        return unsupported(
            l, "normalizer", type,
            "supported are null, NFC, NFD, NFKC, NFKD, Lowercase and a Sequence of at most 8");
    if (!json_is_array(parts))
        return malformed(l, "normalizer.normalizers", "an array");
    for (size_t i = 0; i < json_array_size(parts); i++)
        OA_TRY(read_normaliser(l, json_array_get(parts, i), depth + 1));
    return OA_OK;
}

/* ---- added tokens ---- */

static enum oa_error read_added(struct loader *l, const json_t *entry)
{
    struct oa_added_token token = { .content = (char *)text_member(entry, "content"),
                                    .normalized = true };
    if (!token.content)
        return malformed(l, "content of an added token", "a string");
    if (!read_id(json_member(entry, "id"), &token.id))
        return malformed(l, "id of an added token", "an id in range");
    token.length = strlen(token.content);
    OA_TRY(read_bool(l, entry, "single_word", &token.single_word));
    OA_TRY(read_bool(l, entry, "lstrip", &token.lstrip));
    OA_TRY(read_bool(l, entry, "rstrip", &token.rstrip));
    OA_TRY(read_bool(l, entry, "normalized", &token.normalized));
    OA_TRY(read_bool(l, entry, "special", &token.special));
    return token.length ? oa_tokenizer_add_token(l->tok, l->name, &token) : OA_OK;
}

/* ---- the file ---- */

/* Logs the parts that are kept but not applied, unless they have no effect. */
static void note_unapplied(const struct loader *l, const json_t *root)
{
    static const char *const parts[] = { "truncation", "padding", "post_processor" };
    for (int i = 0; i < 3; i++) {
        const json_t *part = json_member(root, parts[i]);
        const char *type = text_member(part, "type");
        if (part && !(type && strcmp(type, "ByteLevel") == 0))
            oa_log(l->context, 0,
                   "%s: %s is kept for saving but not applied: no ids are added to texts", l->name,
                   parts[i]);
    }
}

/* Empties the large tables of the frame, which saving fills again in place. */
static enum oa_error empty_frame(struct loader *l, json_t *root)
{
    json_t *model = json_member(root, "model");
    bool done = json_object_set_new(model, "vocab", json_object()) == 0 &&
                json_object_set_new(root, "added_tokens", json_array()) == 0;
    if (done && json_member(model, "merges"))
        done = json_object_set_new(model, "merges", json_array()) == 0;
    return done ? OA_OK
                : oa_fail(l->context, OA_NO_MEMORY, "out of memory while reading %s", l->name);
}

static enum oa_error read_root(struct loader *l, json_t *root)
{
    const char *version = text_member(root, "version");
    if (!json_is_object(root) || !version)
        return malformed(l, "the file", "a tokenizer.json: an object with \"version\": \"1.0\"");
    if (strcmp(version, "1.0") != 0)
        return unsupported(l, "version", version, "only version 1.0 is");
    if (json_member(root, "normalizer"))
        OA_TRY(read_normaliser(l, json_member(root, "normalizer"), 0));
    const json_t *pre = json_member(root, "pre_tokenizer");
    OA_TRY(read_model(l, json_member(root, "model"), pre));
    if (l->tok->kind != OA_TOKENIZER_IDS)
        OA_TRY(l->tok->kind == OA_TOKENIZER_CHAR ? check_char_split(l, pre)
                                                 : read_pre_tokenizer(l, pre));
    OA_TRY(oa_tokenizer_finish(l->tok, l->name));
    const json_t *added = json_member(root, "added_tokens");
    if (added && !json_is_array(added))
        return malformed(l, "added_tokens", "an array");
    for (size_t i = 0; i < json_array_size(added); i++)
        OA_TRY(read_added(l, json_array_get(added, i)));
    note_unapplied(l, root);
    return empty_frame(l, root);
}

static enum oa_error parse_json(oa_context *c, const char *name, const char *json, size_t length,
                                json_t **root)
{
    json_error_t e;
    *root = json_loadb(json, length, JSON_REJECT_DUPLICATES, &e);
    if (*root)
        return OA_OK;
    return oa_fail(c, OA_FORMAT, "%s:%d:%d: invalid JSON: %s", name, e.line, e.column, e.text);
}

enum oa_error oa_tokenizer_parse(oa_context *c, const char *name, const char *json, size_t length,
                                 struct oa_tokenizer **out)
{
    json_t *root;
    *out = NULL;
    OA_TRY(parse_json(c, name, json, length, &root));
    struct loader l = { .context = c, .name = name };
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

enum oa_error oa_tokenizer_load(oa_context *c, const char *path, struct oa_tokenizer **out)
{
    char *json;
    size_t length;
    *out = NULL;
    OA_TRY(oa_file_read(c, path, &json, &length));
    enum oa_error error = oa_tokenizer_parse(c, path, json, length, out);
    oa_free(json);
    return error;
}
