/* SPDX-License-Identifier: Apache-2.0
 * A spiece.model (Kudo and Richardson, EMNLP 2018) is a message of Protocol Buffers:
 *
 *     1  pieces        1 text, 2 score (float), 3 type
 *     2  trainer       3 kind of model: 1 Unigram, 2 BPE; 24 blanks end words; 35 byte fallback
 *     3  normaliser    2 charsmap, 3 dummy prefix, 4 single blanks, 5 blanks become "▁"
 *     5  denormaliser  2 charsmap
 *
 * It becomes a tokenizer.json with the same ids. The merges of BPE are all pairs of pieces whose
 * concatenation is a piece, in the order of its score. */
#include "tokenizers/sentencepiece.h"

#include "base/protobuf.h"
#include "print/print.h"
#include "tokenizers/tokenizer_parts.h"

#include <math.h>
#include <stdlib.h>

/* ---- reading ---- */

enum oa_error oa_sentencepiece_check(oa_context *c, const struct oa_sentencepiece *s, size_t i)
{
    const struct oa_scored_piece *p = &s->piece[i];
    const char *what = NULL;
    if (!p->text || p->length == 0 || memchr(p->text, 0, p->length) ||
        oa_utf8_valid_length(p->text, p->length) < p->length)
        what = "is empty or not UTF-8";
    else if (p->length > OA_MOST_PIECE)
        what = "has more than 1024 bytes";
    else if (!(fabs(p->score) <= 1e30))
        what = "has a score that is no number from -1e30 to 1e30";
    else if (p->type < OA_PIECE_NORMAL || p->type > OA_PIECE_BYTE)
        what = "has an unknown type";
    if (what)
        return oa_fail(c, OA_FORMAT, "%s: piece %zu %s; fetch the file again", s->name, i, what);
    if (p->type == OA_PIECE_UNUSED)
        return oa_fail(c, OA_UNSUPPORTED,
                       "%s: piece %zu \"%.*s\" is of the type UNUSED, which is not read; use the "
                       "vocabulary without restriction",
                       s->name, i, (int)p->length, p->text);
    return OA_OK;
}

struct spm_reader {
    oa_context *context;
    const uint8_t *file; /* its first byte */
    struct oa_sentencepiece *out;
};

static enum oa_error next_spm_field(const struct spm_reader *r, struct oa_message *m,
                                    struct oa_field *f)
{
    const char *why = oa_message_next(m, f);
    return why ? oa_fail(r->context, OA_FORMAT, "%s: byte %zu: %s; fetch the file again",
                         r->out->name, (size_t)(m->at - r->file), why)
               : OA_OK;
}

static enum oa_error read_piece(const struct spm_reader *r, struct oa_message m)
{
    struct oa_scored_piece p = { .type = OA_PIECE_NORMAL };
    struct oa_sentencepiece *s = r->out;
    struct oa_field f;
    for (;;) {
        OA_TRY(next_spm_field(r, &m, &f));
        if (!f.number)
            break;
        bool bytes = f.type == OA_WIRE_BYTES;
        if (f.number == 1 && bytes) {
            p.text = (const char *)f.bytes.at;
            p.length = (size_t)(f.bytes.end - f.bytes.at);
        } else if (f.number == 2 && !bytes) {
            p.score = oa_float_of_bits((uint32_t)f.value);
        } else if (f.number == 3 && !bytes) {
            p.type = f.value <= OA_PIECE_BYTE ? (enum oa_piece_type)f.value : 0;
        }
    }
    if (s->count == OA_MOST_IDS)
        return oa_fail(r->context, OA_UNSUPPORTED, "%s: more than %d pieces", s->name, OA_MOST_IDS);
    if (!oa_reserve(r->context, &s->piece, &s->capacity, s->count + 1, sizeof *s->piece))
        return OA_NO_MEMORY;
    s->piece[s->count++] = p;
    return oa_sentencepiece_check(r->context, s, s->count - 1);
}

static enum oa_error refuse_feature(const struct spm_reader *r, const char *feature)
{
    return oa_fail(r->context, OA_UNSUPPORTED,
                   "%s: %s is not supported; use the model's tokenizer.json", r->out->name,
                   feature);
}

static enum oa_error read_trainer(const struct spm_reader *r, struct oa_message m)
{
    enum { UNIGRAM = 1, BPE };
    struct oa_sentencepiece *s = r->out;
    struct oa_field f;
    for (;;) {
        OA_TRY(next_spm_field(r, &m, &f));
        if (!f.number)
            return OA_OK;
        if (f.number == 3 && f.value != UNIGRAM && f.value != BPE)
            return refuse_feature(r, "a model of words or characters (model_type)");
        if (f.number == 24 && f.value)
            return refuse_feature(r, "treat_whitespace_as_suffix");
        if (f.number == 3)
            s->bpe = f.value == BPE;
        if (f.number == 35)
            s->byte_fallback = f.value != 0;
    }
}

static enum oa_error read_normaliser_spec(const struct spm_reader *r, struct oa_message m)
{
    struct oa_sentencepiece *s = r->out;
    struct oa_field f;
    for (;;) {
        OA_TRY(next_spm_field(r, &m, &f));
        if (!f.number)
            return OA_OK;
        if (f.number == 2 && f.bytes.at < f.bytes.end) {
            s->charsmap = (const char *)f.bytes.at;
            s->charsmap_length = (size_t)(f.bytes.end - f.bytes.at);
        }
        if (f.number == 3)
            s->dummy_prefix = f.value != 0;
        if (f.number == 4)
            s->single_blanks = f.value != 0;
        if (f.number == 5 && !f.value)
            return refuse_feature(r, "escape_whitespaces = false");
    }
}

static enum oa_error refuse_denormaliser(const struct spm_reader *r, struct oa_message m)
{
    struct oa_field f;
    for (;;) {
        OA_TRY(next_spm_field(r, &m, &f));
        if (!f.number)
            return OA_OK;
        if (f.number == 2 && f.bytes.at < f.bytes.end)
            return refuse_feature(r, "a denormalizer_spec");
    }
}

enum oa_error oa_sentencepiece_read(oa_context *c, const char *name, const char *data,
                                    size_t length, struct oa_sentencepiece *out)
{
    const uint8_t *file = (const uint8_t *)data;
    const struct spm_reader r = { c, file, out };
    struct oa_message m = { file, file + length };
    struct oa_field f;
    *out = (struct oa_sentencepiece){ .name = name, .dummy_prefix = true, .single_blanks = true };
    for (;;) {
        OA_TRY(next_spm_field(&r, &m, &f));
        if (!f.number)
            break;
        if (f.type != OA_WIRE_BYTES)
            continue;
        if (f.number == 1)
            OA_TRY(read_piece(&r, f.bytes));
        if (f.number == 2)
            OA_TRY(read_trainer(&r, f.bytes));
        if (f.number == 3)
            OA_TRY(read_normaliser_spec(&r, f.bytes));
        if (f.number == 5)
            OA_TRY(refuse_denormaliser(&r, f.bytes));
    }
    return out->count ? OA_OK
                      : oa_fail(c, OA_FORMAT,
                                "%s has no pieces: it is not a model of SentencePiece", name);
}

/* ---- tokenizer.json ---- */

static json_t *replace_json(const char *from, const char *to, bool regex)
{
    return json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern",
                     regex ? "Regex" : "String", from, "content", to);
}

/* cut: there are user-defined pieces, which are added tokens. They are normalised themselves and
 * matched in the normalised text, so no step may prepend anything. */
static json_t *normaliser_json(oa_context *c, const struct oa_sentencepiece *s, bool cut)
{
    json_t *steps = json_array();
    if (s->charsmap) {
        struct oa_text base64;
        oa_text_init(&base64, c);
        oa_base64_text(&base64, s->charsmap, s->charsmap_length);
        json_array_append_new(steps, json_pack("{s:s, s:s}", "type", "Precompiled",
                                               "precompiled_charsmap", base64.s ? base64.s : ""));
        oa_text_free(&base64);
    }
    if (s->single_blanks) {
        json_array_append_new(steps, replace_json(" {2,}", " ", true));
        json_array_append_new(steps, replace_json(" \\z", "", true));
    }
    if (s->dummy_prefix && !s->single_blanks && !cut)
        json_array_append_new(
            steps, json_pack("{s:s, s:s}", "type", "Prepend", "prepend", OA_SPACE_PIECE));
    json_array_append_new(steps, replace_json(" ", OA_SPACE_PIECE, false));
    return json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", steps);
}

static json_t *metaspace_json(const struct oa_sentencepiece *s, bool cut)
{
    if (!s->dummy_prefix || (!s->single_blanks && !cut))
        return json_null();
    return json_pack("{s:s, s:s, s:s, s:b}", "type", "Metaspace", "replacement", OA_SPACE_PIECE,
                     "prepend_scheme", cut ? "first" : "always", "split", 0);
}

static json_t *decoder_json(const struct oa_sentencepiece *s)
{
    json_t *steps = json_pack("[o, {s:s}, {s:s}]", replace_json(OA_SPACE_PIECE, " ", false), "type",
                              "ByteFallback", "type", "Fuse");
    if (s->dummy_prefix || s->single_blanks)
        json_array_append_new(steps, json_pack("{s:s, s:s, s:i, s:i}", "type", "Strip", "content",
                                               " ", "start", 1, "stop", 0));
    return json_pack("{s:s, s:o}", "type", "Sequence", "decoders", steps);
}

json_t *oa_added_token_json(json_int_t id, const char *content, size_t length, bool normalized,
                            bool special)
{
    return json_pack("{s:I, s:s%, s:b, s:b, s:b, s:b, s:b}", "id", id, "content", content, length,
                     "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", normalized,
                     "special", special);
}

/* Blanks of the text have become "▁", so a user-defined piece with a blank matches nothing. */
static json_t *special_pieces_json(const struct oa_sentencepiece *s)
{
    json_t *added = json_array();
    for (size_t i = 0; i < s->count; i++) {
        const struct oa_scored_piece *p = &s->piece[i];
        bool special = p->type == OA_PIECE_UNKNOWN || p->type == OA_PIECE_CONTROL;
        bool own = p->type == OA_PIECE_USER_DEFINED && !memchr(p->text, ' ', p->length);
        if (special || own)
            json_array_append_new(
                added, oa_added_token_json((json_int_t)i, p->text, p->length, own, special));
    }
    return added;
}

/* ---- merges ---- */

struct scored_merge {
    size_t whole, left; /* the piece that it makes, and the bytes of its first part */
    size_t characters;  /* of the first part */
    double score;
};

/* By decreasing score; of equal scores the longest first part first, as in the conversion of
 * transformers. */
static int by_score(const void *x, const void *y)
{
    const struct scored_merge *a = x, *b = y;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    if (a->characters != b->characters)
        return a->characters > b->characters ? -1 : 1;
    return a->whole != b->whole ? (a->whole > b->whole) - (a->whole < b->whole)
                                : (a->left > b->left) - (a->left < b->left);
}

struct merge_list {
    struct scored_merge *merge;
    size_t count, capacity;
};

/* The merges that make a piece. */
static enum oa_error add_merges_of(oa_context *c, const struct oa_sentencepiece *s,
                                   const struct oa_words *normal, size_t whole,
                                   struct merge_list *list)
{
    const struct oa_scored_piece *p = &s->piece[whole];
    size_t characters = 0;
    uint32_t code;
    for (size_t at = (size_t)oa_utf8_decode(p->text, p->length, &code); at < p->length;
         at += (size_t)oa_utf8_decode(p->text + at, p->length - at, &code)) {
        characters++;
        if (oa_words_find(normal, p->text, at) < 0 ||
            oa_words_find(normal, p->text + at, p->length - at) < 0)
            continue;
        if (!oa_reserve(c, &list->merge, &list->capacity, list->count + 1, sizeof *list->merge))
            return OA_NO_MEMORY;
        list->merge[list->count++] = (struct scored_merge){ whole, at, characters, p->score };
    }
    return OA_OK;
}

static enum oa_error list_merges(oa_context *c, const struct oa_sentencepiece *s,
                                 struct merge_list *list)
{
    struct oa_words normal;
    enum oa_error e = OA_OK;
    oa_words_init(&normal, c);
    for (size_t i = 0; i < s->count && e == OA_OK; i++)
        if (s->piece[i].type == OA_PIECE_NORMAL &&
            oa_words_add(&normal, s->piece[i].text, s->piece[i].length) < 0)
            e = OA_NO_MEMORY;
    for (size_t i = 0; i < s->count && e == OA_OK; i++)
        if (s->piece[i].type == OA_PIECE_NORMAL)
            e = add_merges_of(c, s, &normal, i, list);
    oa_words_free(&normal);
    if (list->count)
        qsort(list->merge, list->count, sizeof *list->merge, by_score);
    return e;
}

static json_t *merges_of_scores(oa_context *c, const struct oa_sentencepiece *s)
{
    struct merge_list list = { 0 };
    json_t *merges = json_array();
    if (list_merges(c, s, &list) == OA_OK)
        for (size_t i = 0; i < list.count; i++) {
            const struct oa_scored_piece *p = &s->piece[list.merge[i].whole];
            size_t left = list.merge[i].left;
            json_array_append_new(
                merges, json_pack("[s%,s%]", p->text, left, p->text + left, p->length - left));
        }
    oa_free(list.merge);
    return merges;
}

/* ---- the model ---- */

static json_t *bpe_json(oa_context *c, const struct oa_sentencepiece *s, const json_t *unknown)
{
    json_t *vocabulary = json_object();
    for (size_t i = 0; i < s->count; i++)
        if (json_object_setn_new(vocabulary, s->piece[i].text, s->piece[i].length,
                                 json_integer((json_int_t)i)) != 0)
            oa_fail(c, OA_NO_MEMORY, "no memory for the vocabulary");
    return json_pack("{s:s, s:n, s:O, s:n, s:n, s:b, s:b, s:b, s:o, s:o}", "type", "BPE", "dropout",
                     "unk_token", unknown, "continuing_subword_prefix", "end_of_word_suffix",
                     "fuse_unk", 1, "byte_fallback", (int)s->byte_fallback, "ignore_merges", 0,
                     "vocab", vocabulary, "merges", merges_of_scores(c, s));
}

static json_t *unigram_json(const struct oa_sentencepiece *s, long unknown)
{
    json_t *vocabulary = json_array();
    for (size_t i = 0; i < s->count; i++)
        json_array_append_new(vocabulary, json_pack("[s%,f]", s->piece[i].text, s->piece[i].length,
                                                    s->piece[i].score));
    return json_pack("{s:s, s:o, s:o, s:b}", "type", "Unigram", "unk_id",
                     unknown < 0 ? json_null() : json_integer(unknown), "vocab", vocabulary,
                     "byte_fallback", (int)s->byte_fallback);
}

static enum oa_error check_distinct(oa_context *c, const struct oa_sentencepiece *s)
{
    struct oa_words seen;
    enum oa_error e = OA_OK;
    oa_words_init(&seen, c);
    for (size_t i = 0; i < s->count && e == OA_OK; i++) {
        int32_t number = oa_words_add(&seen, s->piece[i].text, s->piece[i].length);
        if (number >= 0 && (size_t)number < i)
            e = oa_fail(c, OA_FORMAT, "%s: pieces %d and %zu are both \"%.*s\"", s->name,
                        (int)number, i, (int)s->piece[i].length, s->piece[i].text);
        e = number < 0 ? OA_NO_MEMORY : e;
    }
    oa_words_free(&seen);
    return e;
}

enum oa_error oa_sentencepiece_json(oa_context *c, const struct oa_sentencepiece *s, char **json)
{
    bool cut = false;
    long unknown = -1;
    *json = NULL;
    OA_TRY(check_distinct(c, s));
    for (size_t i = s->count; i-- > 0;) {
        cut = cut || s->piece[i].type == OA_PIECE_USER_DEFINED;
        unknown = s->piece[i].type == OA_PIECE_UNKNOWN ? (long)i : unknown;
    }
    json_t *unknown_piece =
        unknown < 0 ? json_null() : json_stringn(s->piece[unknown].text, s->piece[unknown].length);
    json_t *model = s->bpe ? bpe_json(c, s, unknown_piece) : unigram_json(s, unknown);
    json_t *root =
        json_pack("{s:s, s:n, s:n, s:o, s:o, s:o, s:n, s:o, s:o}", "version", "1.0", "truncation",
                  "padding", "added_tokens", special_pieces_json(s), "normalizer",
                  normaliser_json(c, s, cut), "pre_tokenizer", metaspace_json(s, cut),
                  "post_processor", "decoder", decoder_json(s), "model", model);
    json_decref(unknown_piece);
    char *text = root && oa_status(c) == OA_OK ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    if (text)
        *json = oa_copy_text(c, text);
    free(text);
    if (!*json && oa_status(c) == OA_OK)
        oa_fail(c, OA_NO_MEMORY, "no memory for the tokenizer of %s", s->name);
    return oa_status(c);
}
