/* SPDX-License-Identifier: Apache-2.0
 * Tokenizer → tokenizer.json, in the order and with the indentation of Hugging Face tokenizers.
 * All of a loaded file but vocabulary, merges and added tokens is written unchanged. */
#include "base/json_write.h"
#include "tokenizers/tokenizer_parts.h"

#include <stdlib.h>

/* Tokens of the model in order of ids, without added ones. */
static json_t *vocabulary_object(const struct oa_tokenizer *tok)
{
    json_t *object = json_object();
    for (int32_t id = 0; object && id < tok->vocabulary.size; id++) {
        int32_t number = tok->vocabulary.number_of[id];
        if (number < 0 || number >= tok->vocabulary.model_size)
            continue;
        if (json_object_set_new(object, oa_tokenizer_piece(tok, id), json_integer(id)) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

/* [[piece, score] …] in order of ids, of Unigram. */
static json_t *scores_array(const struct oa_tokenizer *tok)
{
    json_t *array = json_array();
    for (int32_t id = 0; array && id < tok->vocabulary.model_size; id++) {
        json_t *entry = json_pack("[s,f]", oa_tokenizer_piece(tok, id), tok->unigram.score[id]);
        if (json_array_append_new(array, entry) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *merges_array(const struct oa_tokenizer *tok)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < tok->bpe.merge_count; i++) {
        json_t *merge = json_pack("[s,s]", oa_tokenizer_piece(tok, tok->bpe.merge[i].left),
                                  oa_tokenizer_piece(tok, tok->bpe.merge[i].right));
        if (json_array_append_new(array, merge) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static int by_id(const void *x, const void *y)
{
    const struct oa_added_token *a = x, *b = y;
    return (a->id > b->id) - (a->id < b->id);
}

static json_t *added_array(const struct oa_tokenizer *tok)
{
    json_t *array = json_array();
    size_t bytes = tok->added_count * sizeof *tok->added;
    struct oa_added_token *sorted = oa_alloc(tok->context, bytes);
    if (sorted && bytes) {
        memcpy(sorted, tok->added, bytes);
        qsort(sorted, tok->added_count, sizeof *sorted, by_id);
    }
    bool done = array && sorted;
    for (size_t i = 0; done && i < tok->added_count; i++)
        done = json_array_append_new(
                   array,
                   json_pack("{s:i,s:s,s:b,s:b,s:b,s:b,s:b}", "id", (int)sorted[i].id, "content",
                             sorted[i].content, "single_word", sorted[i].single_word, "lstrip",
                             sorted[i].lstrip, "rstrip", sorted[i].rstrip, "normalized",
                             sorted[i].normalized, "special", sorted[i].special)) == 0;
    oa_free(sorted);
    if (!done)
        json_decref(array);
    return done ? array : NULL;
}

/* A copy of the frame with its tables filled. */
static json_t *whole_document(const struct oa_tokenizer *tok)
{
    json_t *root = json_copy(tok->frame), *model = json_copy(json_object_get(tok->frame, "model"));
    bool unigram = tok->kind == OA_TOKENIZER_UNIGRAM;
    bool done = root && model &&
                json_object_set_new(model, "vocab",
                                    unigram ? scores_array(tok) : vocabulary_object(tok)) == 0;
    if (done && json_object_get(model, "merges"))
        done = json_object_set_new(model, "merges", merges_array(tok)) == 0;
    done = done && json_object_set_new(root, "added_tokens", added_array(tok)) == 0;
    done = done && json_object_set(root, "model", model) == 0;
    json_decref(model);
    if (done)
        return root;
    json_decref(root);
    return NULL;
}

/* The text of a value, which is decref'd; NULL, with the failure recorded: no memory. */
static char *dump_tokenizer_json(oa_context *c, json_t *value)
{
    char *text = value ? oa_json_dump(c, value, JSON_INDENT(2)) : NULL;
    if (!value)
        oa_fail(c, OA_NO_MEMORY, "out of memory for the JSON of a tokenizer");
    json_decref(value);
    return text;
}

static enum oa_error write_tokenizer_json(oa_context *c, json_t *value, const char *path)
{
    char *text = dump_tokenizer_json(c, value);
    enum oa_error e = text ? oa_file_write(c, path, text, strlen(text)) : OA_NO_MEMORY;
    oa_free(text);
    return e;
}

enum oa_error oa_tokenizer_digest(oa_context *c, const struct oa_tokenizer *tok,
                                  struct oa_digest *out)
{
    char *text = dump_tokenizer_json(c, whole_document(tok));
    if (text)
        *out = oa_digest_of(text, strlen(text));
    oa_free(text);
    return text ? OA_OK : OA_NO_MEMORY;
}

enum oa_error oa_vocabulary_write(oa_context *c, const struct oa_tokenizer *tok, const char *path)
{
    return write_tokenizer_json(c, vocabulary_object(tok), path);
}

enum oa_error oa_tokenizer_save(oa_context *c, const struct oa_tokenizer *tok, const char *path)
{
    return write_tokenizer_json(c, whole_document(tok), path);
}
