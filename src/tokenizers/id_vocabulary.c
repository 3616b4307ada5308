/* SPDX-License-Identifier: Apache-2.0
 * The tokenizer for token ids without text: id n is written "n", separated by white space. */
#include "tokenizers/tokenizer_parts.h"

#include <stdlib.h>

struct largest_id {
    oa_context *context;
    int64_t id;
};

static enum oa_error note_largest_id(void *argument, const char *path, uint64_t place, uint32_t id)
{
    struct largest_id *l = argument;
    if (id >= OA_MOST_IDS)
        return oa_fail(l->context, OA_FORMAT, "%s: token %llu is %u; ids must be from 0 to %d",
                       path, (unsigned long long)place, id, OA_MOST_IDS - 1);
    if (id > l->id)
        l->id = id;
    return OA_OK;
}

static enum oa_error size_of_files(oa_context *c, const char *train_files, const char *valid_files,
                                   long *size)
{
    struct largest_id l = { c, -1 };
    bool are;
    OA_TRY(oa_id_files_are(c, train_files, &are));
    if (!are)
        return oa_fail(c, OA_ARGUMENT,
                       "%s: the tokenizer \"ids\" needs files of token ids (*.bin); for ids "
                       "written as text use ids:N",
                       train_files ? train_files : "no file");
    uint64_t bytes = oa_id_files_bytes(c, train_files);
    if (bytes > OA_IDS_IN_MEMORY)
        return oa_fail(c, OA_ARGUMENT,
                       "%s has %llu MB of ids: give their number, which is not looked for in files "
                       "of this size (data.tokenizer ids:50257 for GPT-2's), or the tokenizer.json",
                       train_files, (unsigned long long)(bytes / 1000000));
    OA_TRY(oa_id_files_read(c, train_files, note_largest_id, &l));
    if (oa_is_given(valid_files))
        OA_TRY(oa_id_files_read(c, valid_files, note_largest_id, &l));
    *size = (long)l.id + 1;
    return *size ? OA_OK : oa_fail(c, OA_ARGUMENT, "%s has no ids", train_files);
}

static enum oa_error add_numbers(struct oa_tokenizer *tok, long size)
{
    char text[16];
    for (long id = 0; id < size; id++) {
        int n = snprintf(text, sizeof text, "%ld ", id);
        char bytes[16];
        memcpy(bytes, text, sizeof bytes);
        text[n - 1] = 0;
        OA_TRY(oa_vocabulary_add(&tok->vocabulary, "ids", text, (size_t)n - 1, (int32_t)id, bytes,
                                 (size_t)n));
    }
    return oa_tokenizer_finish(tok, "ids");
}

enum oa_error oa_tokenizer_make_ids(oa_context *c, const char *spec, const char *train_files,
                                    const char *valid_files, struct oa_tokenizer **out)
{
    struct oa_tokenizer *tok;
    char *end = NULL;
    long size = spec[3] ? strtol(spec + 4, &end, 10) : 0;
    if (spec[3] && (spec[4] < '0' || spec[4] > '9' || *end || size < 1 || size > OA_MOST_IDS))
        return oa_fail(c, OA_ARGUMENT,
                       "tokenizer \"%s\": N of ids:N, the number of ids, must be from 1 to %d",
                       spec, OA_MOST_IDS);
    if (!spec[3])
        OA_TRY(size_of_files(c, train_files, valid_files, &size));
    enum oa_error e = oa_tokenizer_new(c, OA_TOKENIZER_IDS, &tok);
    if (e == OA_OK)
        e = add_numbers(tok, size);
    if (e != OA_OK)
        oa_tokenizer_close(tok);
    else
        *out = tok;
    return e;
}

static bool is_id_separator(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

enum oa_error oa_encode_numbers(const struct oa_tokenizer *tok, const char *name, const char *text,
                                size_t n, struct oa_ids *ids)
{
    for (size_t i = 0, word; i < n;) {
        for (; i < n && is_id_separator(text[i]); i++)
            ;
        for (word = i; i < n && !is_id_separator(text[i]); i++)
            ;
        int32_t id = i > word ? oa_vocabulary_find(&tok->vocabulary, text + word, i - word) : 0;
        if (id < 0 || id >= tok->vocabulary.model_size)
            return oa_fail(tok->context, OA_FORMAT,
                           "%s: \"%.*s\" is not an id from 0 to %d; this tokenizer reads ids "
                           "separated by blanks, not text",
                           name, (int)(i - word < 40 ? i - word : 40), text + word,
                           (int)tok->vocabulary.model_size - 1);
        if (i > word)
            OA_TRY(oa_ids_add(ids, id));
    }
    return OA_OK;
}
