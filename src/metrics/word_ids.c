/* SPDX-License-Identifier: Apache-2.0
 * Ids for words and for pairs of ids, from 0 in order of occurrence: hash tables with open
 * addressing, at most half full. */
#include "metrics/metrics_parts.h"
#include "tokenizers/word_table.h"

static size_t slots_for(long most)
{
    size_t slots = 16;
    while (slots < 2 * (size_t)most)
        slots *= 2;
    return slots;
}

/* ---- pairs ---- */

bool oa_pair_ids_begin(struct oa_arena *a, long most, struct oa_pair_ids *out)
{
    size_t slots = slots_for(most);
    *out = (struct oa_pair_ids){ .mask = slots - 1 };
    out->key = oa_arena_take(a, slots * sizeof *out->key);
    out->id = oa_arena_take(a, slots * sizeof *out->id);
    if (!out->key || !out->id)
        return false;
    memset(out->id, -1, slots * sizeof *out->id);
    return true;
}

int32_t oa_pair_id(struct oa_pair_ids *p, uint32_t x, uint32_t y)
{
    uint64_t key = (uint64_t)x << 32 | y;
    size_t slot = oa_hash_bytes((const char *)&key, sizeof key) & p->mask;
    while (p->id[slot] >= 0 && p->key[slot] != key)
        slot = (slot + 1) & p->mask;
    if (p->id[slot] < 0) {
        p->key[slot] = key;
        p->id[slot] = p->count++;
    }
    return p->id[slot];
}

/* ---- words ---- */

struct word_id_table {
    struct oa_line *word;
    int32_t *id;
    size_t mask;
    int32_t count;
};

static int32_t word_id(struct word_id_table *t, struct oa_line word)
{
    size_t slot = oa_hash_bytes(word.s, word.length) & t->mask;
    while (t->id[slot] >= 0 && oa_line_order(t->word[slot], word) != 0)
        slot = (slot + 1) & t->mask;
    if (t->id[slot] < 0) {
        t->word[slot] = word;
        t->id[slot] = t->count++;
    }
    return t->id[slot];
}

static bool word_table_begin(struct oa_arena *a, long most, struct word_id_table *t)
{
    size_t slots = slots_for(most);
    *t = (struct word_id_table){ .mask = slots - 1 };
    t->word = oa_arena_take(a, slots * sizeof *t->word);
    t->id = oa_arena_take(a, slots * sizeof *t->id);
    if (!t->word || !t->id)
        return false;
    memset(t->id, -1, slots * sizeof *t->id);
    return true;
}

static bool ids_begin(struct oa_arena *a, const struct oa_word_list *text, int texts,
                      struct oa_text_ids *out)
{
    *out = (struct oa_text_ids){ .texts = texts };
    out->id = oa_arena_take(a, (size_t)texts * sizeof *out->id);
    out->length = oa_arena_take(a, (size_t)texts * sizeof *out->length);
    if (!out->id || !out->length)
        return false;
    for (int t = 0; t < texts; t++) {
        out->length[t] = text[t].count;
        out->id[t] = oa_arena_take(a, ((size_t)text[t].count + 1) * sizeof **out->id);
        if (!out->id[t])
            return false;
    }
    return true;
}

bool oa_number_words(struct oa_arena *a, const struct oa_word_list *text, int texts,
                     struct oa_text_ids *out)
{
    struct word_id_table table;
    long all = 0;
    for (int t = 0; t < texts; t++)
        all += text[t].count;
    if (!ids_begin(a, text, texts, out) || !word_table_begin(a, all, &table))
        return false;
    for (int t = 0; t < texts; t++)
        for (long i = 0; i < text[t].count; i++)
            out->id[t][i] = word_id(&table, text[t].word[i]);
    out->distinct = table.count;
    return true;
}
