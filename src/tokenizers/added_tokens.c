/* SPDX-License-Identifier: Apache-2.0
 *
 * Added tokens: contents such as "</s>" that are found in the text before the model sees it. The leftmost one wins, of
 * several that begin there the longest. lstrip and rstrip take the white space beside it along; single_word lets it
 * stand only where no word character touches it.
 */
#include "tokenizers/tokenizer_parts.h"

void oa_added_free(struct oa_added_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        oa_free(set->token[i].content);
    oa_free(set->token);
    *set = (struct oa_added_set){ 0 };
}

enum oa_error oa_added_insert(oa_context *c, struct oa_added_set *set, const struct oa_added_token *token)
{
    if (!oa_reserve(c, &set->token, &set->capacity, set->count + 1, sizeof *set->token))
        return OA_NO_MEMORY;
    struct oa_added_token copy = *token;
    copy.content = oa_copy_text(c, token->content);
    if (!copy.content)
        return OA_NO_MEMORY;
    size_t at = set->count++;
    for (; at > 0 && set->token[at - 1].length < copy.length; at--)
        set->token[at] = set->token[at - 1];
    set->token[at] = copy;
    set->first[(uint8_t)copy.content[0]] = true;
    return OA_OK;
}

/* ---- characters beside a match ------------------------------------------------------------------------------- */

/* The character that ends at `at`: its code point and where it begins; `at` itself when the bytes are not UTF-8. */
static size_t character_before(const char *text, size_t at, uint32_t *code)
{
    for (size_t n = 1; n <= 4 && n <= at; n++)
        if (oa_utf8_decode(text + at - n, n, code) == (int)n)
            return at - n;
    return at;
}

static bool alone(const char *text, size_t length, size_t start, size_t stop)
{
    uint32_t code;
    if (character_before(text, start, &code) < start && oa_is_word(code))
        return false;
    return oa_utf8_decode(text + stop, length - stop, &code) == 0 || !oa_is_word(code);
}

static size_t spaces_before(const char *text, size_t at)
{
    uint32_t code;
    size_t before;
    while ((before = character_before(text, at, &code)) < at && oa_is_space(code))
        at = before;
    return at;
}

static size_t spaces_after(const char *text, size_t length, size_t at)
{
    uint32_t code;
    int n;
    while ((n = oa_utf8_decode(text + at, length - at, &code)) > 0 && oa_is_space(code))
        at += (size_t)n;
    return at;
}

/* ---- search -------------------------------------------------------------------------------------------------- */

static const struct oa_added_token *token_at(const struct oa_added_set *set, const char *text, size_t length,
                                             bool plain)
{
    for (size_t i = 0; i < set->count; i++)
        if (!(plain && set->token[i].special) && set->token[i].length <= length &&
            memcmp(set->token[i].content, text, set->token[i].length) == 0)
            return &set->token[i];
    return NULL;
}

const struct oa_added_token *oa_added_next(const struct oa_added_set *set, const char *text, size_t length,
                                           size_t settled, bool plain, size_t *from, size_t *start, size_t *stop)
{
    for (size_t i = *from; set->count && i < length; i++) {
        const struct oa_added_token *t =
            set->first[(uint8_t)text[i]] ? token_at(set, text + i, length - i, plain) : NULL;
        if (!t)
            continue;
        *from = i + t->length;
        if (t->single_word && !alone(text, length, i, i + t->length)) {
            i = *from - 1;
            continue;
        }
        *start = t->lstrip ? spaces_before(text, i) : i;
        *start = *start > settled ? *start : settled;
        *stop = t->rstrip ? spaces_after(text, length, *from) : *from;
        return t;
    }
    return NULL;
}
