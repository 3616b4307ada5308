/* SPDX-License-Identifier: Apache-2.0
 * The distinct words of a text with their counts, from which vocabularies are trained.
 *
 * The text is streamed through the GPT-2 pattern into a bounded table: when it is full, the rarest
 * words are dropped, which is logged. */
#include "tokenizers/tokenizer_parts.h"

#define MOST_WORD_BYTES ((size_t)256 << 20)

static enum oa_error count_word(void *argument, const char *word, size_t n)
{
    struct oa_tally *t = argument;
    int32_t before = t->words.count, i = oa_words_add(&t->words, word, n);
    if (i < 0 || !oa_reserve(t->context, &t->count, &t->capacity, (size_t)i + 1, sizeof *t->count))
        return OA_NO_MEMORY;
    t->count[i] = i < before ? t->count[i] + 1 : 1;
    return OA_OK;
}

/* Drops words seen at most `rare` times. */
static enum oa_error drop_rare(struct oa_tally *t, int64_t rare)
{
    struct oa_words kept;
    oa_words_init(&kept, t->context);
    for (int32_t i = 0; i < t->words.count; i++) {
        size_t n;
        const char *word = oa_words_at(&t->words, i, &n);
        if (t->count[i] <= rare)
            continue;
        int32_t place = oa_words_add(&kept, word, n);
        if (place < 0) {
            oa_words_free(&kept);
            return OA_NO_MEMORY;
        }
        t->count[place] = t->count[i];
    }
    t->dropped += t->words.count - kept.count;
    t->dropped_at_most = rare > t->dropped_at_most ? rare : t->dropped_at_most;
    oa_words_free(&t->words);
    t->words = kept;
    return OA_OK;
}

static bool over(const struct oa_tally *t, int32_t share)
{
    return t->words.count > t->most_words / share ||
           t->words.pool_length > MOST_WORD_BYTES / (size_t)share;
}

static enum oa_error tally_piece(void *argument, const char *text, size_t n, bool last,
                                 size_t *consumed)
{
    struct oa_tally *t = argument;
    size_t settled = last ? n : n > OA_TRAINING_MARGIN ? n - OA_TRAINING_MARGIN : 0;
    OA_TRY(oa_splitter_settled(&t->splitter, text, n, settled, count_word, t, consumed));
    t->bytes += *consumed;
    bool over_bound = over(t, 1);
    for (int64_t rare = 1; over_bound && over(t, 2); rare *= 2)
        OA_TRY(drop_rare(t, rare));
    return OA_OK;
}

void oa_tally_init(struct oa_tally *t, oa_context *c, const char *kind, int32_t most_words)
{
    *t = (struct oa_tally){ .context = c, .kind = kind, .most_words = most_words };
    oa_splitter_init(&t->splitter, c);
    oa_words_init(&t->words, c);
}

void oa_tally_free(struct oa_tally *t)
{
    oa_splitter_free(&t->splitter);
    oa_words_free(&t->words);
    oa_free(t->count);
}

enum oa_error oa_tally_text(struct oa_tally *t, struct oa_reader *text)
{
    OA_TRY(oa_splitter_add(&t->splitter, t->kind, oa_gpt2_pattern));
    OA_TRY(oa_reader_feed(text, tally_piece, t));
    if (t->dropped)
        oa_log(t->context, 0,
               "%s: more than %d distinct words; %ld that occurred at most %lld times were dropped "
               "to bound memory",
               t->kind, (int)t->most_words, t->dropped, (long long)t->dropped_at_most);
    if (t->words.count == 0)
        return oa_fail(t->context, OA_ARGUMENT, "no text to train a %s vocabulary on",
                       strcmp(t->kind, "bpe") == 0 ? "BPE" : t->kind);
    return OA_OK;
}
