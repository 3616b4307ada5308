/* SPDX-License-Identifier: Apache-2.0
 * data.tokenizer → tokenizer: char, byte, bpe, bpe:N, word:N, ids, ids:N, or a file. */
#include "tokenizers/tokenizer_parts.h"

#include <stdlib.h>

/* The N of "KIND:N", -1 if not in fewest … OA_MOST_IDS. */
static long size_in(const char *spec, long fewest)
{
    const char *digits = strchr(spec, ':') + 1;
    char *end;
    long size = strtol(digits, &end, 10);
    return *digits < '0' || *digits > '9' || *end || size < fewest || size > OA_MOST_IDS ? -1
                                                                                         : size;
}

static bool is_bpe(const char *spec)
{
    return strncmp(spec, "bpe", 3) == 0 && (!spec[3] || spec[3] == ':');
}

static bool is_word(const char *spec)
{
    return strncmp(spec, "word:", 5) == 0;
}

static bool is_ids(const char *spec)
{
    return strncmp(spec, "ids", 3) == 0 && (!spec[3] || spec[3] == ':');
}

/* Rejects files of ids for tokenizers that are made from text. */
static enum oa_error check_trainable(oa_context *c, const char *spec, const char *files)
{
    bool ids;
    OA_TRY(oa_id_files_are(c, files, &ids));
    if (!ids || (strcmp(spec, "char") != 0 && !is_bpe(spec) && !is_word(spec)))
        return OA_OK;
    return oa_fail(c, OA_ARGUMENT,
                   "%s contains token ids, but tokenizer \"%s\" is made from text; set "
                   "data.tokenizer to the tokenizer.json of the ids, or to ids",
                   files, spec);
}

/* All kinds but ids. Consumes the readers; valid may be NULL. */
static enum oa_error open_from(oa_context *c, const char *spec, struct oa_reader *train,
                               struct oa_reader *valid, struct oa_tokenizer **out)
{
    if (strcmp(spec, "char") == 0)
        return oa_tokenizer_train_char(c, train, valid, out);
    if (strcmp(spec, "byte") == 0)
        return oa_tokenizer_make_byte(c, out);
    if (is_bpe(spec)) {
        long size = spec[3] ? size_in(spec, 256) : 0;
        if (size < 0)
            return oa_fail(c, OA_ARGUMENT,
                           "tokenizer \"%s\": N of bpe:N, the number of tokens with the 256 bytes, "
                           "must be from 256 to %d, e.g. bpe:4096",
                           spec, OA_MOST_IDS);
        return oa_tokenizer_train_bpe(c, train, size, out);
    }
    if (is_word(spec)) {
        long size = size_in(spec, 2);
        if (size < 0)
            return oa_fail(
                c, OA_ARGUMENT,
                "tokenizer \"%s\": N of word:N, the number of tokens with <unk>, must be "
                "from 2 to %d, e.g. word:10000",
                spec, OA_MOST_IDS);
        return oa_tokenizer_train_words(c, train, size, out);
    }
    if (!oa_file_exists(spec)) {
        static const char *const kinds[] = { "char",   "byte", "bpe",  "bpe:N",
                                             "word:N", "ids",  "ids:N" };
        const char *near = oa_nearest(spec, kinds, sizeof kinds / sizeof *kinds);
        return oa_fail(c, OA_ARGUMENT,
                       "tokenizer \"%s\" is neither a file nor char, byte, bpe, bpe:N, word:N, ids "
                       "or ids:N%s%s%s",
                       spec, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    OA_TRY(oa_tokenizer_load(c, spec, out));
    oa_tokenizer_note_unapplied(*out, spec);
    return OA_OK;
}

enum oa_error oa_tokenizer_open(oa_context *c, const char *spec, const char *train_files,
                                const char *valid_files, struct oa_tokenizer **out)
{
    struct oa_reader *train = NULL, *valid = NULL;
    *out = NULL;
    OA_TRY(check_trainable(c, spec, train_files));
    if (is_ids(spec))
        return oa_tokenizer_make_ids(c, spec, train_files, valid_files, out);
    enum oa_error error = oa_reader_open(c, train_files, &train);
    if (error == OA_OK)
        error = oa_reader_open(c, valid_files, &valid);
    if (error == OA_OK)
        error = open_from(c, spec, train, valid, out);
    oa_reader_close(train);
    oa_reader_close(valid);
    return error;
}

enum oa_error oa_tokenizer_open_texts(oa_context *c, const char *spec, const struct oa_text *train,
                                      const struct oa_text *valid, struct oa_tokenizer **out)
{
    struct oa_reader *first = NULL, *second = NULL;
    *out = NULL;
    if (is_ids(spec))
        return oa_tokenizer_make_ids(c, spec, NULL, NULL, out);
    enum oa_error error = oa_reader_open_text(c, train->s, train->length, &first);
    if (error == OA_OK && valid)
        error = oa_reader_open_text(c, valid->s, valid->length, &second);
    if (error == OA_OK)
        error = open_from(c, spec, first, second, out);
    oa_reader_close(first);
    oa_reader_close(second);
    return error;
}
