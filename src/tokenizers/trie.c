/* SPDX-License-Identifier: Apache-2.0
 * Tries of byte strings, for the pieces of WordPiece and Unigram. */
#include "tokenizers/tokenizer_parts.h"

enum { MOST_NODES = 1 << 25 };

void oa_trie_init(struct oa_trie *t, oa_context *c)
{
    *t = (struct oa_trie){ .context = c };
    oa_pairs_init(&t->children, c);
}

void oa_trie_free(struct oa_trie *t)
{
    oa_pairs_free(&t->children);
    oa_free(t->value);
    oa_trie_init(t, t->context);
}

int32_t oa_trie_step(const struct oa_trie *t, int32_t node, uint8_t byte)
{
    const struct oa_pair *pair = oa_pairs_find(&t->children, oa_pair_key(node, byte));
    return pair ? pair->id : -1;
}

int32_t oa_trie_walk(const struct oa_trie *t, const char *s, size_t n)
{
    int32_t node = t->nodes ? 0 : -1;
    for (size_t i = 0; i < n && node >= 0; i++)
        node = oa_trie_step(t, node, (uint8_t)s[i]);
    return node;
}

/* -1: no memory. */
static int32_t trie_node(struct oa_trie *t)
{
    if (!oa_reserve(t->context, &t->value, &t->capacity, t->nodes + 1, sizeof *t->value))
        return -1;
    t->value[t->nodes] = -1;
    return (int32_t)t->nodes++;
}

enum oa_error oa_trie_add(struct oa_trie *t, const char *where, const char *s, size_t n,
                          int32_t value)
{
    int32_t node = t->nodes ? 0 : trie_node(t);
    for (size_t i = 0; i < n && node >= 0; i++) {
        struct oa_pair *pair = oa_pairs_add(&t->children, oa_pair_key(node, (uint8_t)s[i]));
        if (t->nodes == MOST_NODES)
            return oa_fail(t->context, OA_UNSUPPORTED,
                           "%s: the pieces of the vocabulary have more than %d bytes together",
                           where, MOST_NODES);
        if (pair && pair->id < 0)
            pair->id = trie_node(t);
        node = pair ? pair->id : -1;
    }
    if (node < 0)
        return OA_NO_MEMORY;
    t->value[node] = value;
    return OA_OK;
}
