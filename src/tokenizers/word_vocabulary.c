/* SPDX-License-Identifier: Apache-2.0
 * word:N, a vocabulary of whole words. Id 0 is <unk>; then the most frequent words, ties by
 * spelling, as in Hugging Face's WordLevelTrainer (min_frequency 2) with the ByteLevel split. Words
 * that occur once are always left out: <unk> must be learnt, since later text has unknown words. */
#include "tokenizers/tokenizer_parts.h"

#include <stdlib.h>

#define FEWEST 2 /* occurrences of a word */

struct word_candidate {
    const char *spelling; /* in the byte alphabet, borrowed */
    int32_t word;         /* in the tally */
    int64_t count;
};

static int by_count(const void *x, const void *y)
{
    const struct word_candidate *a = x, *b = y;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return strcmp(a->spelling, b->spelling);
}

/* Adds the frequent words to `spelt` and list[…]. Returns their number, -1: no memory. */
static int32_t spell_frequent_words(const struct oa_tally *t, struct oa_words *spelt,
                                    struct word_candidate *list)
{
    struct oa_text piece;
    int32_t count = 0;
    oa_text_init(&piece, t->context);
    for (int32_t w = 0; w < t->words.count && count >= 0; w++) {
        size_t n;
        const char *word = oa_words_at(&t->words, w, &n);
        if (t->count[w] < FEWEST)
            continue;
        piece.length = 0;
        oa_byte_spell(&piece, word, n);
        list[count] = (struct word_candidate){ NULL, w, t->count[w] };
        count = piece.s && oa_words_add(spelt, piece.s, piece.length) == count ? count + 1 : -1;
    }
    oa_text_free(&piece);
    for (int32_t i = 0; i < count; i++)
        list[i].spelling = oa_words_at(spelt, i, &(size_t){ 0 });
    return count;
}

static enum oa_error fill_word_tokenizer(struct oa_tokenizer *tok, const struct oa_tally *t,
                                         const struct word_candidate *list, int32_t count)
{
    int32_t id;
    tok->unknown = 0;
    OA_TRY(oa_vocabulary_add(&tok->vocabulary, "word", "<unk>", 5, 0, "<unk>", 5));
    for (int32_t i = 0; i < count; i++) {
        size_t n;
        const char *word = oa_words_at(&t->words, list[i].word, &n);
        OA_TRY(oa_vocabulary_add(&tok->vocabulary, "word", list[i].spelling,
                                 strlen(list[i].spelling), i + 1, word, n));
    }
    OA_TRY(oa_splitter_add(&tok->splitter, "word", oa_gpt2_pattern));
    OA_TRY(oa_tokenizer_finish(tok, "word"));
    return oa_tokenizer_add_special(tok, "<unk>", &id);
}

static enum oa_error make_word_tokenizer(const struct oa_tally *t, long size,
                                         struct oa_words *spelt, struct word_candidate *list,
                                         struct oa_tokenizer **out)
{
    int32_t count = spell_frequent_words(t, spelt, list);
    if (count < 0)
        return OA_NO_MEMORY;
    qsort(list, (size_t)count, sizeof *list, by_count);
    if (count < size - 1)
        oa_log(t->context, 0, "word: %d words occur %d times or more: %d of %ld tokens", (int)count,
               FEWEST, (int)count + 1, size);
    enum oa_error error = oa_tokenizer_new(t->context, OA_TOKENIZER_WORD, out);
    if (error == OA_OK)
        error = fill_word_tokenizer(*out, t, list, count < size - 1 ? count : (int32_t)(size - 1));
    if (error != OA_OK) {
        oa_tokenizer_close(*out);
        *out = NULL;
    }
    return error;
}

enum oa_error oa_tokenizer_train_words(oa_context *c, struct oa_reader *text, long size,
                                       struct oa_tokenizer **out)
{
    struct oa_tally tally;
    struct oa_words spelt;
    struct word_candidate *list = NULL;
    *out = NULL;
    oa_tally_init(&tally, c, "word", OA_MOST_WORDS);
    oa_words_init(&spelt, c);
    enum oa_error error = oa_tally_text(&tally, text);
    if (error == OA_OK) {
        list = oa_alloc(c, (size_t)tally.words.count * sizeof *list);
        error = list ? make_word_tokenizer(&tally, size, &spelt, list, out) : OA_NO_MEMORY;
    }
    oa_free(list);
    oa_words_free(&spelt);
    oa_tally_free(&tally);
    return error;
}
