/* SPDX-License-Identifier: Apache-2.0
 *
 * Text files → token ids of the training and the validation side.
 */
#include "data/tokenizer_parts.h"

#include <math.h>

/* Where the first `count` characters end. */
static size_t character_offset(const char *text, size_t length, uint64_t count)
{
    size_t at = 0;
    for (uint64_t seen = 0; at < length; at++) {
        seen += ((uint8_t)text[at] & 0xc0) != 0x80;
        if (seen > count)
            break;
    }
    return at;
}

static size_t cut_offset(const char *text, size_t length, double valid_fraction)
{
    double kept = floor((double)oa_text_characters(text, length) * (1 - valid_fraction));
    return character_offset(text, length, (uint64_t)kept);
}

/* Room for the ids at the start: exact for char and byte, a usual share for bpe, so that long texts are not copied. */
static size_t expected_ids(const struct oa_tokenizer *tok, const char *text, size_t length)
{
    if (tok->kind == OA_TOKENIZER_BPE)
        return length / 3;
    return tok->kind == OA_TOKENIZER_CHAR ? (size_t)oa_text_characters(text, length) : length;
}

static enum oa_error encode_side(struct oa_tokenizer *tok, const struct oa_source *source, size_t from, size_t to,
                                 const char *name, struct oa_tokens *out)
{
    struct oa_ids ids;
    oa_ids_init(&ids, tok->context);
    if (!oa_reserve(tok->context, &ids.id, &ids.capacity, expected_ids(tok, source->text + from, to - from),
                    sizeof *ids.id))
        return OA_NO_MEMORY;
    enum oa_error error = oa_tokenizer_encode_part(tok, source, source->text + from, to - from, &ids);
    if (error != OA_OK) {
        oa_ids_free(&ids);
        return error;
    }
    *out = (struct oa_tokens){ .ids = ids.id,
                               .count = ids.count,
                               .characters = oa_text_characters(source->text + from, to - from),
                               .bytes = to - from,
                               .name = name };
    out->fingerprint = oa_hash_bytes((const char *)ids.id, ids.count * sizeof *ids.id);
    return OA_OK;
}

static enum oa_error read_train(struct oa_tokenizer *tok, const char *files, double valid_fraction,
                                struct oa_corpus *out)
{
    char *text;
    size_t length;
    OA_TRY(oa_files_read(tok->context, files, &text, &length));
    struct oa_source source = { files, text, length };
    size_t cut = cut_offset(text, length, valid_fraction);
    enum oa_error error = encode_side(tok, &source, 0, cut, "training text", &out->train);
    if (error == OA_OK)
        error = encode_side(tok, &source, cut, length, "validation text", &out->valid);
    oa_free(text);
    return error;
}

static enum oa_error read_valid(struct oa_tokenizer *tok, const char *files, struct oa_corpus *out)
{
    char *text;
    size_t length;
    OA_TRY(oa_files_read(tok->context, files, &text, &length));
    struct oa_source source = { files, text, length };
    enum oa_error error = encode_side(tok, &source, 0, length, "validation text", &out->valid);
    oa_free(text);
    return error;
}

static bool is_empty_list(const char *files)
{
    return !files || files[strspn(files, " ")] == 0;
}

enum oa_error oa_corpus_open(oa_context *c, struct oa_tokenizer *tok, const char *train_files, const char *valid_files,
                             double valid_fraction, struct oa_corpus *out)
{
    *out = (struct oa_corpus){ 0 };
    bool apart = !is_empty_list(valid_files);
    if (is_empty_list(train_files))
        return oa_fail(c, OA_ARGUMENT, "no training text: data.train names no file");
    if (!(valid_fraction >= 0 && valid_fraction < 1))
        return oa_fail(c, OA_ARGUMENT, "the validation fraction is %g; it must be at least 0 and below 1",
                       valid_fraction);
    enum oa_error error = read_train(tok, train_files, apart ? 0 : valid_fraction, out);
    if (error == OA_OK && apart)
        error = read_valid(tok, valid_files, out);
    if (error == OA_OK && out->train.count == 0)
        error = oa_fail(c, OA_ARGUMENT, "there is no text in %s", train_files);
    if (error != OA_OK)
        oa_corpus_close(out);
    return error;
}

void oa_corpus_close(struct oa_corpus *corpus)
{
    oa_free(corpus->train.ids);
    oa_free(corpus->valid.ids);
    *corpus = (struct oa_corpus){ 0 };
}
