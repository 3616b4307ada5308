/* SPDX-License-Identifier: Apache-2.0
 * Added tokens such as "</s>" are matched in the text before the model is applied: leftmost, then
 * longest. lstrip and rstrip include adjacent white space; single_word requires that no word
 * character is adjacent.
 *
 * Aho-Corasick matching (CACM 18, 1975): a trie of the contents with suffix links. Linear in the
 * text, independent of the number of tokens. */
#include "tokenizers/tokenizer_parts.h"

struct oa_added_node {
    int32_t parent, depth;
    int32_t shorter; /* suffix link: the longest proper suffix of the path that is a path */
    int32_t token;   /* with the path as content, or -1 */
    int32_t inner;   /* the longest token that is a proper suffix of the path, or -1 */
    uint8_t byte;
};

void oa_added_init(struct oa_added_set *set, oa_context *c)
{
    *set = (struct oa_added_set){ .context = c };
    oa_pairs_init(&set->children, c);
}

void oa_added_free(struct oa_added_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        oa_free(set->token[i].content);
    oa_free(set->token);
    oa_free(set->node);
    oa_pairs_free(&set->children);
    oa_added_init(set, set->context);
}

/* ---- the trie ---- */

static int32_t child_of(const struct oa_added_set *set, int32_t node, uint8_t byte)
{
    const struct oa_pair *pair = oa_pairs_find(&set->children, oa_pair_key(node, byte));
    return pair ? pair->id : -1;
}

/* -1 after a failure. */
static int32_t new_node(struct oa_added_set *set, int32_t parent, uint8_t byte)
{
    if (!oa_reserve(set->context, &set->node, &set->node_capacity, set->nodes + 1,
                    sizeof *set->node))
        return -1;
    int32_t node = (int32_t)set->nodes;
    struct oa_pair *pair =
        parent < 0 ? NULL : oa_pairs_add(&set->children, oa_pair_key(parent, byte));
    if (parent >= 0 && !pair)
        return -1;
    if (pair)
        pair->id = node;
    set->node[set->nodes++] =
        (struct oa_added_node){ .parent = parent,
                                .depth = parent < 0 ? 0 : set->node[parent].depth + 1,
                                .token = -1,
                                .inner = -1,
                                .byte = byte };
    return node;
}

enum oa_error oa_added_insert(struct oa_added_set *set, const struct oa_added_token *token)
{
    oa_context *c = set->context;
    if (!oa_reserve(c, &set->token, &set->capacity, set->count + 1, sizeof *set->token))
        return OA_NO_MEMORY;
    struct oa_added_token copy = *token;
    copy.content = oa_copy_text(c, token->content);
    if (!copy.content)
        return OA_NO_MEMORY;
    set->token[set->count++] = copy;
    set->linked = false;
    int32_t node = set->nodes ? 0 : new_node(set, -1, 0);
    for (size_t i = 0; i < copy.length && node >= 0; i++) {
        int32_t next = child_of(set, node, (uint8_t)copy.content[i]);
        node = next >= 0 ? next : new_node(set, node, (uint8_t)copy.content[i]);
    }
    if (node < 0)
        return OA_NO_MEMORY;
    if (set->node[node].token < 0) /* of equal contents the first counts */
        set->node[node].token = (int32_t)set->count - 1;
    return OA_OK;
}

static void link_node(struct oa_added_set *set, int32_t at)
{
    struct oa_added_node *node = &set->node[at];
    int32_t shorter = node->parent, next = -1;
    while (shorter > 0 && next < 0) {
        shorter = set->node[shorter].shorter;
        next = child_of(set, shorter, node->byte);
    }
    node->shorter = next < 0 ? 0 : next;
    node->inner = set->node[node->shorter].token >= 0 ? set->node[node->shorter].token
                                                      : set->node[node->shorter].inner;
}

/* Links nodes in order of depth: a node refers to shallower ones. */
static enum oa_error link_nodes(struct oa_added_set *set)
{
    int32_t *order = oa_alloc(set->context, set->nodes * sizeof *order);
    size_t begin[OA_MOST_ADDED_BYTES + 2] = { 0 };
    if (!order)
        return OA_NO_MEMORY;
    for (size_t i = 0; i < set->nodes; i++)
        begin[set->node[i].depth + 1]++;
    for (size_t d = 1; d < OA_MOST_ADDED_BYTES + 2; d++)
        begin[d] += begin[d - 1];
    for (size_t i = 0; i < set->nodes; i++)
        order[begin[set->node[i].depth]++] = (int32_t)i;
    for (size_t i = 0; i < set->nodes; i++)
        link_node(set, order[i]);
    oa_free(order);
    set->linked = true;
    return OA_OK;
}

/* ---- characters next to a match ---- */

/* The start and code point of the character that ends at `at`; `at` if the bytes are not UTF-8. */
static size_t character_before(const char *text, size_t at, uint32_t *code)
{
    for (size_t n = 1; n <= 4 && n <= at; n++)
        if (oa_utf8_decode(text + at - n, n, code) == (int)n)
            return at - n;
    return at;
}

static bool is_single_word(const char *text, size_t length, size_t start, size_t stop)
{
    uint32_t code;
    if (character_before(text, start, &code) < start && oa_is_word(code))
        return false;
    return oa_utf8_decode(text + stop, length - stop, &code) == 0 || !oa_is_word(code);
}

size_t oa_spaces_before(const char *text, size_t at)
{
    uint32_t code;
    size_t before;
    while ((before = character_before(text, at, &code)) < at && oa_is_space(code))
        at = before;
    return at;
}

size_t oa_spaces_after(const char *text, size_t length, size_t at)
{
    uint32_t code;
    int n;
    while ((n = oa_utf8_decode(text + at, length - at, &code)) > 0 && oa_is_space(code))
        at += (size_t)n;
    return at;
}

/* ---- search ---- */

/* The leftmost longest content at or after `from`: where it starts, or `length`. */
static size_t find_content(const struct oa_added_set *set, const char *text, size_t length,
                           size_t from, const struct oa_added_token **found)
{
    size_t first = length;
    int32_t at = 0;
    *found = NULL;
    for (size_t i = from; i < length; i++) {
        int32_t next = child_of(set, at, (uint8_t)text[i]);
        for (; next < 0 && at > 0; next = child_of(set, at, (uint8_t)text[i]))
            at = set->node[at].shorter;
        at = next < 0 ? 0 : next;
        const struct oa_added_node *node = &set->node[at];
        size_t start = i + 1 - (size_t)node->depth;
        if (*found && start > first)
            break;
        int32_t token = node->token >= 0 ? node->token : *found ? -1 : node->inner;
        if (token < 0)
            continue;
        *found = &set->token[token];
        first = i + 1 - (*found)->length;
    }
    return first;
}

enum oa_error oa_added_next(struct oa_added_set *set, const char *text, size_t length,
                            size_t settled, bool plain, size_t *from, size_t *start, size_t *stop,
                            const struct oa_added_token **token)
{
    *token = NULL;
    if (set->count && !set->linked)
        OA_TRY(link_nodes(set));
    while (set->count && *from < length) {
        const struct oa_added_token *t;
        size_t at = find_content(set, text, length, *from, &t);
        *from = t ? at + t->length : length;
        if (!t || (plain && t->special) ||
            (t->single_word && !is_single_word(text, length, at, *from)))
            continue;
        *start = t->lstrip ? oa_spaces_before(text, at) : at;
        *start = *start > settled ? *start : settled;
        *stop = t->rstrip ? oa_spaces_after(text, length, *from) : *from;
        if (t->lstrip &&
            *start >=
                *stop) /* its white space belongs to the previous token; the reference drops it */
            continue;
        *token = t;
        break;
    }
    return OA_OK;
}
