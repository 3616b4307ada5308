/* SPDX-License-Identifier: Apache-2.0
 * The tokenizer of Marian models (OPUS-MT): source.spm and target.spm, Unigram models of
 * SentencePiece for texts of either side, and vocab.json, one table of ids for the pieces of both.
 * A piece that is not in the table, unknown characters too, is <unk>. A text that begins with a
 * code such as ">>fr<<" begins with its token.
 *
 * A run has all three in its tokenizer.json, as a model of the type "Marian":
 *
 *     "model": { "type": "Marian", "unk_token": "<unk>", "vocab": {PIECE: ID, …},
 *                "source": source.spm in base64, "target": target.spm }
 *
 * The tokenizer of targets is another one with the same vocabulary, which has no "target". */
#include "tokenizers/sentencepiece.h"
#include "tokenizers/tokenizer_load.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "print/print.h"

static const char unknown_token[] = "<unk>";

/* ---- from the three files ---- */

static enum oa_error spm_base64(oa_context *c, const char *folder, const char *name,
                                struct oa_text *out)
{
    char path[OA_PATH], *data;
    size_t length;
    OA_TRY(oa_path(c, path, folder, name));
    OA_TRY(oa_file_read(c, path, &data, &length));
    oa_base64_text(out, data, length);
    oa_free(data);
    return oa_status(c);
}

/* "</s>", "<unk>" and "<pad>", which are matched in texts. */
static enum oa_error special_tokens(oa_context *c, const char *path, const json_t *table,
                                    json_t *added)
{
    static const char *const names[] = { "</s>", unknown_token, "<pad>" };
    for (int i = 0; i < 3; i++) {
        const json_t *id = json_object_get(table, names[i]);
        if (!json_is_integer(id))
            return oa_fail(c, OA_FORMAT, "%s has no id for %s", path, names[i]);
        json_array_append_new(added, oa_added_token_json(json_integer_value(id), names[i],
                                                         strlen(names[i]), false, true));
    }
    return OA_OK;
}

static json_t *ending_json(const json_t *table)
{
    return json_pack("{s:s, s:[{s:{s:s, s:i}}, {s:{s:s, s:i}}], s:[{s:{s:s, s:i}}, {s:{s:s, s:i}}, "
                     "{s:{s:s, s:i}}], s:{s:{s:s, s:[O], s:[s]}}}",
                     "type", "TemplateProcessing", "single", "Sequence", "id", "A", "type_id", 0,
                     "SpecialToken", "id", "</s>", "type_id", 0, "pair", "Sequence", "id", "A",
                     "type_id", 0, "Sequence", "id", "B", "type_id", 0, "SpecialToken", "id",
                     "</s>", "type_id", 0, "special_tokens", "</s>", "id", "</s>", "ids",
                     json_object_get(table, "</s>"), "tokens", "</s>");
}

/* The decoder: "▁" becomes a blank, and none is at either end. */
static json_t *blanks_json(void)
{
    const int all = INT32_MAX;
    return json_pack("{s:s, s:[{s:s, s:{s:s}, s:s}, {s:s}, {s:s, s:s, s:i, s:i}]}", "type",
                     "Sequence", "decoders", "type", "Replace", "pattern", "String", OA_SPACE_PIECE,
                     "content", " ", "type", "Fuse", "type", "Strip", "content", " ", "start", all,
                     "stop", all);
}

/* source, target: base64. */
static enum oa_error parse_marian(oa_context *c, const char *path, const json_t *table,
                                  const char *source, const char *target, struct oa_tokenizer **out)
{
    json_t *added = json_array(), *root = NULL;
    enum oa_error e = special_tokens(c, path, table, added);
    if (e == OA_OK)
        root = json_pack("{s:s, s:n, s:n, s:O, s:n, s:n, s:o, s:o, s:{s:s, s:s, s:O, s:s, s:s}}",
                         "version", "1.0", "truncation", "padding", "added_tokens", added,
                         "normalizer", "pre_tokenizer", "post_processor", ending_json(table),
                         "decoder", blanks_json(), "model", "type", "Marian", "unk_token",
                         unknown_token, "vocab", table, "source", source, "target", target);
    char *text = root ? oa_json_dump(c, root, JSON_COMPACT) : NULL;
    if (text)
        e = oa_tokenizer_parse(c, path, text, strlen(text), out);
    else if (e == OA_OK)
        e = oa_fail(c, OA_NO_MEMORY, "no memory for the tokenizer of %s", path);
    oa_free(text);
    json_decref(added);
    json_decref(root);
    return e;
}

/* The first of these names that the folder lacks; NULL: none. */
static const char *first_missing(oa_context *c, const char *folder, const char *const names[])
{
    char path[OA_PATH];
    for (; *names; names++)
        if (oa_path(c, path, folder, *names) != OA_OK || !oa_file_exists(path))
            return *names;
    return NULL;
}

bool oa_marian_files_exist(oa_context *c, const char *folder)
{
    static const char *const source[] = { "source.spm", NULL }, *const target[] = { "target.spm",
                                                                                    NULL };
    return !first_missing(c, folder, source) || !first_missing(c, folder, target);
}

static enum oa_error check_marian_files(oa_context *c, const char *folder)
{
    static const char *const names[] = { "source.spm", "target.spm", "vocab.json", NULL };
    char path[OA_PATH];
    OA_TRY(oa_path(c, path, folder, "target_vocab.json"));
    if (oa_file_exists(path))
        return oa_fail(c, OA_UNSUPPORTED,
                       "%s: one vocabulary for source and target is supported, vocab.json", path);
    const char *missing = first_missing(c, folder, names);
    OA_TRY(oa_status(c));
    if (!missing)
        return OA_OK;
    return oa_fail(c, OA_IO,
                   "%s has no %s: the tokenizer of a Marian is source.spm, target.spm and "
                   "vocab.json. Fetch the file, or move the *.spm away to import the model with "
                   "token ids",
                   folder, missing);
}

enum oa_error oa_tokenizer_load_marian(oa_context *c, const char *folder, struct oa_tokenizer **out)
{
    char path[OA_PATH];
    struct oa_text source, target;
    json_t *table = NULL;
    *out = NULL;
    OA_TRY(check_marian_files(c, folder));
    OA_TRY(oa_path(c, path, folder, "vocab.json"));
    oa_text_init(&source, c);
    oa_text_init(&target, c);
    enum oa_error e = spm_base64(c, folder, "source.spm", &source);
    if (e == OA_OK)
        e = spm_base64(c, folder, "target.spm", &target);
    if (e == OA_OK)
        e = oa_json_read(c, path, "fetch the file again", &table);
    if (e == OA_OK && !json_is_object(table))
        e = oa_fail(c, OA_FORMAT, "%s must be an object of piece: id", path);
    if (e == OA_OK)
        e = parse_marian(c, path, table, source.s ? source.s : "", target.s ? target.s : "", out);
    json_decref(table);
    oa_text_free(&source);
    oa_text_free(&target);
    return e;
}

/* ---- from tokenizer.json ---- */

/* The pieces that texts can have, by their numbers in the file, with their scores. */
static enum oa_error fill_unigram(struct oa_tokenizer_file *l, const char *side,
                                  const struct oa_sentencepiece *s)
{
    struct oa_unigram *u = &l->tok->unigram;
    const char *feature = s->bpe             ? "a model of the type BPE"
                          : s->byte_fallback ? "byte_fallback"
                                             : "";
    bool first = true;
    if (!oa_reserve(l->context, &u->score, &u->score_capacity, s->count, sizeof *u->score))
        return OA_NO_MEMORY;
    for (size_t i = 0; i < s->count; i++) {
        const struct oa_scored_piece *p = &s->piece[i];
        u->score[i] = p->score;
        if (p->type == OA_PIECE_USER_DEFINED)
            feature = "a piece of the type USER_DEFINED";
        if (p->type != OA_PIECE_NORMAL)
            continue;
        u->least = first || p->score < u->least ? p->score : u->least;
        first = false;
        OA_TRY(oa_trie_add(&u->pieces, l->name, p->text, p->length, (int32_t)i));
    }
    if (*feature)
        return oa_fail(l->context, OA_UNSUPPORTED, "%s: %s.spm: %s is not supported for Marian",
                       l->name, side, feature);
    return first
               ? oa_fail(l->context, OA_FORMAT, "%s: %s.spm has no pieces for texts", l->name, side)
               : OA_OK;
}

static enum oa_error add_spm_normaliser(struct oa_tokenizer_file *l,
                                        const struct oa_sentencepiece *s)
{
    struct oa_text_normaliser *n = &l->tok->normal[l->tok->normals++];
    oa_normaliser_init(n, l->context, OA_NORMAL_SENTENCEPIECE);
    n->dummy_prefix = s->dummy_prefix;
    n->single_blanks = s->single_blanks;
    return s->charsmap
               ? oa_charsmap_parse(l->context, l->name, s->charsmap, s->charsmap_length, &n->map)
               : OA_OK;
}

static enum oa_error read_spm(struct oa_tokenizer_file *l, const char *side, const char *base64)
{
    struct oa_text bytes;
    struct oa_sentencepiece pieces = { 0 };
    size_t n = strlen(base64);
    oa_text_init(&bytes, l->context);
    enum oa_error e = oa_base64_bytes(base64, n, &bytes) == n
                          ? oa_sentencepiece_read(l->context, l->name, bytes.s ? bytes.s : "",
                                                  bytes.length, &pieces)
                          : oa_tokenizer_malformed(l, side, "base64");
    if (e == OA_OK)
        e = fill_unigram(l, side, &pieces);
    if (e == OA_OK)
        e = add_spm_normaliser(l, &pieces);
    oa_free(pieces.piece);
    oa_text_free(&bytes);
    return e;
}

enum oa_error oa_read_marian(struct oa_tokenizer_file *l, const json_t *model)
{
    struct oa_unigram *u = &l->tok->unigram;
    const char *source = oa_text_member(model, "source"),
               *unknown = oa_text_member(model, "unk_token");
    if (!source || !unknown)
        return oa_tokenizer_malformed(l, "model",
                                      "a Marian with \"source\", a source.spm, and \"unk_token\"");
    l->tok->kind = OA_TOKENIZER_MARIAN;
    l->tok->unknown = oa_tokenizer_find(l->tok, unknown);
    if (l->tok->unknown < 0)
        return oa_tokenizer_malformed(l, "model.unk_token", "a piece of model.vocab");
    u->by_spelling = &l->tok->vocabulary;
    u->spelling_unknown = l->tok->unknown;
    return read_spm(l, json_object_get(model, "target") ? "source" : "target", source);
}

enum oa_error oa_read_marian_target(struct oa_tokenizer_file *l, const json_t *root)
{
    const json_t *model = json_object_get(root, "model");
    json_t *target = json_object_get(model, "target"), *copy = json_copy((json_t *)root),
           *inner = json_copy((json_t *)model);
    bool made = target && copy && inner && json_object_set(inner, "source", target) == 0 &&
                json_object_del(inner, "target") == 0 && json_object_set(copy, "model", inner) == 0;
    char *text = made ? oa_json_dump(l->context, copy, JSON_COMPACT) : NULL;
    enum oa_error e = OA_OK;
    if (text)
        e = oa_tokenizer_parse(l->context, l->name, text, strlen(text), &l->tok->target);
    else if (target)
        e = oa_fail(l->context, OA_NO_MEMORY, "no memory for the tokenizer of %s", l->name);
    oa_free(text);
    json_decref(inner);
    json_decref(copy);
    return e;
}

struct oa_tokenizer *oa_tokenizer_of_targets(struct oa_tokenizer *tok)
{
    return tok->target ? tok->target : tok;
}

size_t oa_marian_code_length(const char *text, size_t n)
{
    const char *end = n >= 2 && memcmp(text, ">>", 2) == 0 ? memmem(text, n, "<<", 2) : NULL;
    return end ? (size_t)(end - text) + 2 : 0;
}

/* ", which has >>de<<, >>fr<<": codes of the vocabulary, the first few. */
static void list_codes(const struct oa_tokenizer *tok, struct oa_text *out)
{
    enum { MOST = 8 };
    int found = 0;
    for (long i = 0; i < oa_tokenizer_size(tok); i++) {
        const char *piece = oa_tokenizer_piece(tok, (int32_t)i);
        if (!piece || !*piece || oa_marian_code_length(piece, strlen(piece)) != strlen(piece))
            continue;
        if (found++ < MOST)
            oa_text_printf(out, "%s%s", found > 1 ? ", " : ", which has ", piece);
    }
    if (found > MOST)
        oa_text_printf(out, " and %d more", found - MOST);
    else if (!found)
        oa_text_printf(out, ", which has none");
}

int32_t oa_marian_code_id(struct oa_tokenizer *tok, const char *code, size_t n)
{
    int32_t id = oa_vocabulary_find(&tok->vocabulary, code, n);
    if (id >= 0)
        return id;
    if (!tok->code_reported) {
        struct oa_text known;
        oa_text_init(&known, tok->context);
        list_codes(tok, &known);
        oa_log(tok->context, 0,
               "the text begins with %.*s, a code that is not in the vocabulary of the model%s: it "
               "is <unk> here, and in further texts",
               (int)(n < 40 ? n : 40), code, known.s ? known.s : "");
        oa_text_free(&known);
    }
    tok->code_reported = true;
    return tok->unknown;
}

/* ---- back to the three files ---- */

static enum oa_error write_spm(oa_context *c, const json_t *model, const char *side,
                               const char *folder)
{
    const char *base64 = oa_text_member(model, side);
    struct oa_text bytes;
    char name[32], path[OA_PATH];
    snprintf(name, sizeof name, "%s.spm", side);
    OA_TRY(oa_path(c, path, folder, name));
    oa_text_init(&bytes, c);
    oa_base64_bytes(base64, strlen(base64), &bytes);
    enum oa_error e = oa_file_write(c, path, bytes.s ? bytes.s : "", bytes.length);
    oa_text_free(&bytes);
    return e;
}

enum oa_error oa_tokenizer_save_marian(oa_context *c, const struct oa_tokenizer *tok,
                                       const char *folder)
{
    const json_t *model = json_object_get(tok->frame, "model");
    char path[OA_PATH];
    OA_TRY(write_spm(c, model, "source", folder));
    OA_TRY(write_spm(c, model, "target", folder));
    OA_TRY(oa_path(c, path, folder, "vocab.json"));
    return oa_vocabulary_write(c, tok, path);
}
