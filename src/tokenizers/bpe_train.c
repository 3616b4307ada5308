/* SPDX-License-Identifier: Apache-2.0
 * Training of byte-level BPE: text → words with counts → merges (Sennrich, Haddow and Birch, ACL
 * 2016).
 *
 * Words and counts are from word_tally.c. If it drops none, the merges equal those of Hugging
 * Face's BpeTrainer (ByteLevel alphabet, no minimum frequency) on the text as one sequence.
 *
 * Every adjacent pair has a count and a list of its words; a heap orders pairs by (highest count,
 * smallest ids). The top pair is merged in its words, which changes the counts of neighbouring
 * pairs and adds new ones. Entries with an outdated count are requeued when they reach the top. A
 * merge touches only the words with its pair; the lists take at most 3 numbers per initial symbol,
 * since a merge removes a symbol and adds at most two pairs. */
#include "tokenizers/tokenizer_parts.h"

#define PROGRESS_MERGES 4096

/* ---- trainer ---- */

struct pair_record {
    uint64_t key;
    int64_t count;
    int32_t round; /* index in `touched` during a round, else -1 */
};

/* A heap entry: a pair, and the words list[start … start + n - 1] to merge it in. */
struct queued {
    uint64_t key;
    int64_t count;
    size_t start;
    int32_t record, n;
};

struct touched {
    int32_t record, n, last_word;
    size_t start;
};

struct noted {
    int32_t touched, word;
};

struct bpe_trainer {
    oa_context *context;
    const struct oa_tally *tally;
    int32_t *symbol; /* of word w: symbol[start[w] … start[w] + length[w] - 1] */
    size_t *start;
    int32_t *length;
    struct oa_words tokens; /* bytes of each token; number = id */
    struct oa_merge *merge;
    int32_t *result;
    size_t merge_count, merge_capacity, result_capacity;
    struct oa_pairs pairs; /* rank: index of the record */
    struct pair_record *record;
    size_t record_count, record_capacity;
    struct queued *heap;
    size_t heap_count, heap_capacity;
    int32_t *list; /* words of all heap entries */
    size_t list_count, list_capacity;
    struct touched *touched; /* pairs with new occurrences in this round, and their words */
    size_t touched_count, touched_capacity;
    struct noted *noted;
    size_t noted_count, noted_capacity;
};

static void trainer_free(struct bpe_trainer *t)
{
    oa_free(t->symbol);
    oa_free(t->start);
    oa_free(t->length);
    oa_words_free(&t->tokens);
    oa_free(t->merge);
    oa_free(t->result);
    oa_pairs_free(&t->pairs);
    oa_free(t->record);
    oa_free(t->heap);
    oa_free(t->list);
    oa_free(t->touched);
    oa_free(t->noted);
}

/* Byte ids are in the order of the characters that represent them. */
static enum oa_error add_alphabet(struct bpe_trainer *t, int32_t id_of_byte[256])
{
    for (uint32_t code = 0; code < 0x200; code++) {
        int byte = oa_code_to_byte(code);
        if (byte < 0)
            continue;
        id_of_byte[byte] = oa_words_add(&t->tokens, &(char){ (char)byte }, 1);
        if (id_of_byte[byte] < 0)
            return OA_NO_MEMORY;
    }
    return OA_OK;
}

static enum oa_error spell_tally(struct bpe_trainer *t)
{
    const struct oa_words *words = &t->tally->words;
    int32_t id_of_byte[256];
    OA_TRY(add_alphabet(t, id_of_byte));
    t->symbol = oa_alloc(t->context, words->pool_length * sizeof *t->symbol);
    t->start = oa_alloc(t->context, (size_t)words->count * sizeof *t->start);
    t->length = oa_alloc(t->context, (size_t)words->count * sizeof *t->length);
    if (!t->symbol || !t->start || !t->length)
        return OA_NO_MEMORY;
    for (int32_t w = 0; w < words->count; w++) {
        size_t n;
        const char *word = oa_words_at(words, w, &n);
        t->start[w] = words->start[w];
        t->length[w] = (int32_t)n;
        for (size_t i = 0; i < n; i++)
            t->symbol[t->start[w] + i] = id_of_byte[(uint8_t)word[i]];
    }
    return OA_OK;
}

/* ---- heap ---- */

static bool pair_before(const struct queued *x, const struct queued *y)
{
    return x->count != y->count ? x->count > y->count : x->key < y->key;
}

static bool push_pair(struct bpe_trainer *t, struct queued x)
{
    if (!oa_reserve(t->context, &t->heap, &t->heap_capacity, t->heap_count + 1, sizeof *t->heap))
        return false;
    size_t at = t->heap_count++;
    for (; at > 0 && pair_before(&x, &t->heap[(at - 1) / 2]); at = (at - 1) / 2)
        t->heap[at] = t->heap[(at - 1) / 2];
    t->heap[at] = x;
    return true;
}

static struct queued pop_pair(struct bpe_trainer *t)
{
    struct queued top = t->heap[0], last = t->heap[--t->heap_count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < t->heap_count) {
        if (child + 1 < t->heap_count && pair_before(&t->heap[child + 1], &t->heap[child]))
            child++;
        if (!pair_before(&t->heap[child], &last))
            break;
        t->heap[at] = t->heap[child];
        at = child;
    }
    t->heap[at] = last;
    return top;
}

/* ---- rounds: the changes of a merge, or the initial count ---- */

static struct pair_record *find_record(struct bpe_trainer *t, uint64_t key, int32_t *number)
{
    struct oa_pair *pair = oa_pairs_add(&t->pairs, key);
    if (!pair)
        return NULL;
    if (pair->rank < 0) {
        if (!oa_reserve(t->context, &t->record, &t->record_capacity, t->record_count + 1,
                        sizeof *t->record))
            return NULL;
        t->record[t->record_count] = (struct pair_record){ .key = key, .round = -1 };
        pair->rank = (int32_t)t->record_count++;
    }
    *number = pair->rank;
    return &t->record[pair->rank];
}

static enum oa_error note_word(struct bpe_trainer *t, struct pair_record *r, int32_t number,
                               int32_t word)
{
    if (r->round < 0) {
        if (!oa_reserve(t->context, &t->touched, &t->touched_capacity, t->touched_count + 1,
                        sizeof *t->touched))
            return OA_NO_MEMORY;
        t->touched[t->touched_count] = (struct touched){ .record = number, .last_word = -1 };
        r->round = (int32_t)t->touched_count++;
    }
    struct touched *pair = &t->touched[r->round];
    if (pair->last_word == word)
        return OA_OK;
    if (!oa_reserve(t->context, &t->noted, &t->noted_capacity, t->noted_count + 1,
                    sizeof *t->noted))
        return OA_NO_MEMORY;
    t->noted[t->noted_count++] = (struct noted){ r->round, word };
    pair->last_word = word;
    pair->n++;
    return OA_OK;
}

/* Adds (sign 1) or removes (-1) an occurrence of the pair in a word. */
static enum oa_error note_pair(struct bpe_trainer *t, int32_t left, int32_t right, int sign,
                               int32_t word)
{
    int32_t number;
    struct pair_record *r = find_record(t, oa_pair_key(left, right), &number);
    if (!r)
        return OA_NO_MEMORY;
    r->count += sign * t->tally->count[word];
    return sign > 0 ? note_word(t, r, number, word) : OA_OK;
}

/* Queues the pairs with new occurrences and their words. */
static enum oa_error end_round(struct bpe_trainer *t)
{
    if (!oa_reserve(t->context, &t->list, &t->list_capacity, t->list_count + t->noted_count,
                    sizeof *t->list))
        return OA_NO_MEMORY;
    for (size_t i = 0; i < t->touched_count; i++) {
        struct touched *pair = &t->touched[i];
        struct pair_record *r = &t->record[pair->record];
        struct queued entry = { r->key, r->count, t->list_count, pair->record, pair->n };
        pair->start = t->list_count;
        t->list_count += (size_t)pair->n;
        r->round = -1;
        if (r->count > 0 && !push_pair(t, entry))
            return OA_NO_MEMORY;
    }
    for (size_t i = 0; i < t->noted_count; i++)
        t->list[t->touched[t->noted[i].touched].start++] = t->noted[i].word;
    t->touched_count = t->noted_count = 0;
    return OA_OK;
}

/* ---- merges ---- */

static enum oa_error merge_in_word(struct bpe_trainer *t, int32_t word, struct oa_merge pair,
                                   int32_t result)
{
    int32_t *s = t->symbol + t->start[word], n = t->length[word], to = 0;
    for (int32_t i = 0; i < n;) {
        if (i + 1 == n || s[i] != pair.left || s[i + 1] != pair.right) {
            s[to++] = s[i++];
            continue;
        }
        if (to > 0) {
            OA_TRY(note_pair(t, s[to - 1], pair.left, -1, word));
            OA_TRY(note_pair(t, s[to - 1], result, 1, word));
        }
        i += 2;
        if (i < n) {
            OA_TRY(note_pair(t, pair.right, s[i], -1, word));
            OA_TRY(note_pair(t, result, s[i], 1, word));
        }
        s[to++] = result;
    }
    t->length[word] = to;
    return OA_OK;
}

static int32_t token_of(struct bpe_trainer *t, struct oa_merge pair)
{
    struct oa_text bytes;
    size_t n;
    oa_text_init(&bytes, t->context);
    const char *side = oa_words_at(&t->tokens, pair.left, &n);
    oa_text_add(&bytes, side, n);
    side = oa_words_at(&t->tokens, pair.right, &n);
    oa_text_add(&bytes, side, n);
    int32_t id = bytes.s ? oa_words_add(&t->tokens, bytes.s, bytes.length) : -1;
    oa_text_free(&bytes);
    return id;
}

static enum oa_error merge_pair(struct bpe_trainer *t, const struct queued *top)
{
    struct oa_merge pair = { (int32_t)(top->key >> 32), (int32_t)(uint32_t)top->key };
    int32_t id = token_of(t, pair);
    if (id < 0 ||
        !oa_reserve(t->context, &t->merge, &t->merge_capacity, t->merge_count + 1,
                    sizeof *t->merge) ||
        !oa_reserve(t->context, &t->result, &t->result_capacity, t->merge_count + 1,
                    sizeof *t->result))
        return OA_NO_MEMORY;
    t->merge[t->merge_count] = pair;
    t->result[t->merge_count++] = id;
    for (int32_t i = 0; i < top->n; i++)
        OA_TRY(merge_in_word(t, t->list[top->start + (size_t)i], pair, id));
    return end_round(t);
}

static enum oa_error check_training_stop(const struct bpe_trainer *t, long size)
{
    int signal = oa_stop_requested(t->context);
    if (signal)
        return oa_fail(
            t->context, OA_INTERRUPTED,
            "stopped by signal %d while training the BPE vocabulary; nothing was written", signal);
    if (t->merge_count % PROGRESS_MERGES == PROGRESS_MERGES - 1)
        oa_log(t->context, 1, "bpe: %d of %ld tokens", (int)t->tokens.count, size);
    return OA_OK;
}

static enum oa_error merge_pairs(struct bpe_trainer *t, long size)
{
    while (t->tokens.count < size && t->heap_count) {
        struct queued top = pop_pair(t);
        int64_t now = t->record[top.record].count;
        if (top.count != now) {
            top.count = now;
            push_pair(t, top); /* fits: it was just removed */
            continue;
        }
        if (top.count < 1)
            break;
        OA_TRY(check_training_stop(t, size));
        OA_TRY(merge_pair(t, &top));
    }
    if (t->tokens.count < size)
        oa_log(t->context, 0, "bpe: no more pairs to merge: %d of %ld tokens", (int)t->tokens.count,
               size);
    return OA_OK;
}

/* ---- the tokenizer ---- */

static enum oa_error fill_tokenizer(const struct bpe_trainer *t, struct oa_tokenizer *tok)
{
    struct oa_text piece;
    enum oa_error error = OA_OK;
    oa_text_init(&piece, t->context);
    for (int32_t id = 0; id < t->tokens.count && error == OA_OK; id++) {
        size_t n;
        const char *bytes = oa_words_at(&t->tokens, id, &n);
        piece.length = 0;
        oa_byte_spell(&piece, bytes, n);
        error = piece.s ? oa_vocabulary_add(&tok->vocabulary, "bpe", piece.s, piece.length, id,
                                            bytes, n)
                        : OA_NO_MEMORY;
    }
    oa_text_free(&piece);
    for (size_t i = 0; i < t->merge_count && error == OA_OK; i++)
        error = oa_bpe_add_merge(&tok->bpe, t->merge[i].left, t->merge[i].right, t->result[i]);
    if (error == OA_OK)
        error = oa_splitter_add(&tok->splitter, "bpe", oa_gpt2_pattern);
    return error == OA_OK ? oa_tokenizer_finish(tok, "bpe") : error;
}

static enum oa_error train_bpe(struct bpe_trainer *t, long size, struct oa_tokenizer **out)
{
    OA_TRY(spell_tally(t));
    for (int32_t w = 0; w < t->tally->words.count; w++) {
        const int32_t *s = t->symbol + t->start[w];
        for (int32_t i = 0; i + 1 < t->length[w]; i++)
            OA_TRY(note_pair(t, s[i], s[i + 1], 1, w));
    }
    OA_TRY(end_round(t));
    OA_TRY(merge_pairs(t, size));
    enum oa_error error = oa_tokenizer_new(t->context, OA_TOKENIZER_BPE, out);
    if (error == OA_OK)
        error = fill_tokenizer(t, *out);
    if (error != OA_OK) {
        oa_tokenizer_close(*out);
        *out = NULL;
    }
    return error;
}

/* Tokens must be frequent enough for their embeddings to be learnt; measurements in
 * docs/tokenizers.md. */
static long default_bpe_size(oa_context *c, uint64_t bytes)
{
    long size = bytes < 100000 ? 500 : bytes < 200000 ? 2000 : 8000;
    oa_log(c, 0, "data.tokenizer = bpe: bpe:%ld for %llu bytes of training text", size,
           (unsigned long long)bytes);
    return size;
}

enum oa_error oa_tokenizer_train_bounded(oa_context *c, struct oa_reader *text, long size,
                                         int32_t most_words, struct oa_tokenizer **out)
{
    struct oa_tally tally;
    struct bpe_trainer trainer = { .context = c, .tally = &tally };
    *out = NULL;
    oa_tally_init(&tally, c, "bpe", most_words);
    oa_words_init(&trainer.tokens, c);
    oa_pairs_init(&trainer.pairs, c);
    enum oa_error error = oa_tally_text(&tally, text);
    if (error == OA_OK)
        error = train_bpe(&trainer, size ? size : default_bpe_size(c, tally.bytes), out);
    trainer_free(&trainer);
    oa_tally_free(&tally);
    return error;
}

enum oa_error oa_tokenizer_train_bpe(oa_context *c, struct oa_reader *text, long size,
                                     struct oa_tokenizer **out)
{
    return oa_tokenizer_train_bounded(c, text, size, OA_MOST_WORDS, out);
}
