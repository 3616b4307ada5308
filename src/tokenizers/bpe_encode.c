/* SPDX-License-Identifier: Apache-2.0
 * Byte-pair encoding of one word (Sennrich, Haddow and Birch, ACL 2016; over bytes: Radford et al.
 * 2019).
 *
 * A word starts as a linked list of one symbol per byte, or per character (SentencePiece's), where
 * an unknown character may be its bytes, as "<0xE2>" and so on. A heap has the adjacent pairs with
 * a merge, ordered by (rank, position); the first is merged and its new neighbours are queued,
 * until none is left. A queued pair that has changed is dropped unless the current one merges into
 * the same token, as in Hugging Face. O(n log n) for a word of n bytes. Short words are cached in a
 * direct-mapped table. */
#include "tokenizers/tokenizer_parts.h"

struct oa_symbol {
    int32_t id; /* -1: merged into the one before */
    int32_t previous, next;
};

struct oa_candidate {
    int32_t rank, place, id;
};

#define CACHE_SLOTS 32768
#define CACHED_BYTES 26
#define CACHED_IDS 9
struct oa_cached { /* one cache line; the table fits into a level-2 cache */
    uint8_t length, count;
    char word[CACHED_BYTES];
    int32_t id[CACHED_IDS];
};

void oa_bpe_init(struct oa_bpe *b, oa_context *c)
{
    *b = (struct oa_bpe){ .context = c, .unknown = -1 };
    oa_pairs_init(&b->merges, c);
    oa_text_init(&b->prefix, c);
    oa_text_init(&b->suffix, c);
    oa_text_init(&b->spelt, c);
}

void oa_bpe_free(struct oa_bpe *b)
{
    oa_pairs_free(&b->merges);
    oa_text_free(&b->prefix);
    oa_text_free(&b->suffix);
    oa_text_free(&b->spelt);
    oa_free(b->merge);
    oa_free(b->symbol);
    oa_free(b->heap);
    oa_free(b->cache);
    oa_bpe_init(b, b->context);
}

enum oa_error oa_bpe_add_merge(struct oa_bpe *b, int32_t left, int32_t right, int32_t result)
{
    struct oa_pair *pair = oa_pairs_add(&b->merges, oa_pair_key(left, right));
    if (!pair || !oa_reserve(b->context, &b->merge, &b->merge_capacity, b->merge_count + 1,
                             sizeof *b->merge))
        return OA_NO_MEMORY;
    pair->rank = (int32_t)b->merge_count; /* the last rank of a repeated pair counts */
    pair->id = result;
    b->merge[b->merge_count++] = (struct oa_merge){ left, right };
    return OA_OK;
}

/* ---- heap ---- */

static bool merge_before(const struct oa_candidate *x, const struct oa_candidate *y)
{
    return x->rank != y->rank ? x->rank < y->rank : x->place < y->place;
}

static struct oa_candidate pop_merge(struct oa_bpe *b)
{
    struct oa_candidate top = b->heap[0], last = b->heap[--b->heap_count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < b->heap_count) {
        if (child + 1 < b->heap_count && merge_before(&b->heap[child + 1], &b->heap[child]))
            child++;
        if (!merge_before(&b->heap[child], &last))
            break;
        b->heap[at] = b->heap[child];
        at = child;
    }
    b->heap[at] = last;
    return top;
}

/* ---- merging ---- */

static void queue_pair(struct oa_bpe *b, int32_t left, int32_t right)
{
    if (left < 0 || right < 0)
        return;
    const struct oa_pair *pair =
        oa_pairs_find(&b->merges, oa_pair_key(b->symbol[left].id, b->symbol[right].id));
    if (!pair)
        return;
    struct oa_candidate x = { pair->rank, left, pair->id };
    size_t at = b->heap_count++;
    for (; at > 0 && merge_before(&x, &b->heap[(at - 1) / 2]); at = (at - 1) / 2)
        b->heap[at] = b->heap[(at - 1) / 2];
    b->heap[at] = x;
}

static void merge_at(struct oa_bpe *b, const struct oa_candidate *top)
{
    struct oa_symbol *left = &b->symbol[top->place];
    if (left->id < 0 || left->next < 0)
        return;
    struct oa_symbol *right = &b->symbol[left->next];
    const struct oa_pair *now = oa_pairs_find(&b->merges, oa_pair_key(left->id, right->id));
    if (!now || now->id != top->id)
        return;
    left->id = top->id;
    right->id = -1;
    left->next = right->next;
    if (left->next >= 0)
        b->symbol[left->next].previous = top->place;
    queue_pair(b, left->previous, top->place);
    queue_pair(b, top->place, left->next);
}

static void add_symbol(struct oa_bpe *b, int32_t *count, int32_t id)
{
    b->symbol[*count] = (struct oa_symbol){ id, *count - 1, *count + 1 };
    ++*count;
}

/* One symbol per byte (consecutive unknown ones are one with fuse_unk). Returns their number, or -1
 * with *bad. */
static int32_t byte_symbols(struct oa_bpe *b, const char *word, size_t n, size_t *bad)
{
    int32_t count = 0;
    bool was_unknown = false;
    for (size_t i = 0; i < n; i++) {
        int32_t id = b->byte_id[(uint8_t)word[i]];
        bool unknown = id < 0;
        *bad = i;
        if (unknown && b->unknown < 0)
            return -1;
        if (!(unknown && was_unknown && b->fuse_unknown))
            add_symbol(b, &count, unknown ? b->unknown : id);
        was_unknown = unknown;
    }
    return count;
}

/* Whether all bytes of a character have a token, which are added then. */
static bool add_byte_symbols(struct oa_bpe *b, int32_t *count, const struct oa_text *character)
{
    bool all = b->byte_fallback;
    for (size_t i = 0; i < character->length; i++)
        all = all && b->byte_id[(uint8_t)character->s[i]] >= 0;
    for (size_t i = 0; all && i < character->length; i++)
        add_symbol(b, count, b->byte_id[(uint8_t)character->s[i]]);
    return all;
}

/* The same with one symbol per character. As in the reference, an unknown one comes before the next
 * that is in the vocabulary, after those that become bytes. */
static int32_t character_symbols(struct oa_bpe *b, const struct oa_vocabulary *v, const char *word,
                                 size_t n, size_t *bad)
{
    int32_t count = 0;
    bool pending = false;
    for (size_t i = 0, length; i < n; i += length) {
        uint32_t code;
        int known = oa_utf8_decode(word + i, n - i, &code);
        length = known ? (size_t)known : 1;
        b->spelt.length = 0;
        if (i)
            oa_text_add(&b->spelt, b->prefix.s, b->prefix.length);
        oa_text_add(&b->spelt, word + i, length);
        if (i + length == n)
            oa_text_add(&b->spelt, b->suffix.s, b->suffix.length);
        int32_t id = oa_vocabulary_model_find(v, b->spelt.s ? b->spelt.s : "", b->spelt.length);
        if (id < 0 && add_byte_symbols(b, &count, &b->spelt))
            continue;
        *bad = i;
        if (id < 0 && b->unknown < 0)
            return -1;
        if (pending && (id >= 0 || !b->fuse_unknown))
            add_symbol(b, &count, b->unknown);
        pending = id < 0;
        if (id >= 0)
            add_symbol(b, &count, id);
    }
    if (pending)
        add_symbol(b, &count, b->unknown);
    return count;
}

static enum oa_error merge_word(struct oa_bpe *b, const struct oa_vocabulary *v, const char *word,
                                size_t n, struct oa_ids *ids, size_t *bad)
{
    size_t most = n + b->prefix.length * n + b->suffix.length; /* bytes of the symbols */
    if (n > INT32_MAX / 4 || most > INT32_MAX / 4)
        return oa_fail(b->context, OA_UNSUPPORTED, "a word of %zu bytes is too long for BPE", n);
    /* A merge removes a candidate and a symbol and adds at most two candidates. */
    if (!oa_reserve(b->context, &b->symbol, &b->symbol_capacity, most, sizeof *b->symbol) ||
        !oa_reserve(b->context, &b->heap, &b->heap_capacity, 3 * most, sizeof *b->heap))
        return OA_NO_MEMORY;
    int32_t count =
        b->characters ? character_symbols(b, v, word, n, bad) : byte_symbols(b, word, n, bad);
    if (count < 0)
        return OA_FORMAT;
    b->symbol[count - 1].next = -1;
    b->heap_count = 0;
    for (int32_t i = 0; i + 1 < count; i++)
        queue_pair(b, i, i + 1);
    while (b->heap_count) {
        struct oa_candidate top = pop_merge(b);
        merge_at(b, &top);
    }
    for (int32_t i = 0; i >= 0; i = b->symbol[i].next)
        OA_TRY(oa_ids_add(ids, b->symbol[i].id));
    return OA_OK;
}

/* ---- words ---- */

/* ignore_merges: the id of a word that is a token of the model, not an added one; -1: it is not. */
static int32_t whole_word(const struct oa_bpe *b, const struct oa_vocabulary *v, const char *word,
                          size_t n)
{
    struct oa_text spelt;
    oa_text_init(&spelt, b->context);
    if (b->characters)
        oa_text_add(&spelt, word, n);
    else
        oa_byte_spell(&spelt, word, n);
    int32_t id = oa_vocabulary_model_find(v, spelt.s ? spelt.s : "", spelt.length);
    oa_text_free(&spelt);
    return id;
}

static struct oa_cached *cache_slot(struct oa_bpe *b, const char *word, size_t n)
{
    if (n > CACHED_BYTES)
        return NULL;
    if (!b->cache)
        b->cache = oa_alloc(b->context, CACHE_SLOTS * sizeof *b->cache);
    return b->cache ? &b->cache[oa_hash_bytes(word, n) % CACHE_SLOTS] : NULL;
}

enum oa_error oa_bpe_encode_word(struct oa_bpe *b, const struct oa_vocabulary *v, const char *word,
                                 size_t n, struct oa_ids *ids, size_t *bad)
{
    size_t before_word = ids->count;
    struct oa_cached *slot = cache_slot(b, word, n);
    if (slot && slot->length == n && memcmp(slot->word, word, n) == 0)
        return oa_ids_append(ids, slot->id, slot->count);
    int32_t whole = b->ignore_merges ? whole_word(b, v, word, n) : -1;
    OA_TRY(whole >= 0 ? oa_ids_add(ids, whole) : merge_word(b, v, word, n, ids, bad));
    size_t count = ids->count - before_word;
    if (slot && count <= CACHED_IDS) {
        slot->length = (uint8_t)n;
        slot->count = (uint8_t)count;
        memcpy(slot->word, word, n);
        memcpy(slot->id, ids->id + before_word, count * sizeof *slot->id);
    }
    return OA_OK;
}
