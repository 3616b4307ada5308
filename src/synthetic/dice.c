/* SPDX-License-Identifier: Apache-2.0 */
#include "synthetic/dice.h"

struct oa_dice oa_dice_of(struct oa_stream stream)
{
    return (struct oa_dice){ .stream = stream };
}

uint32_t oa_dice_word(struct oa_dice *d)
{
    if (d->left == 0) {
        oa_random_block(d->stream, d->block++, d->word);
        d->left = 4;
    }
    return d->word[4 - d->left--];
}

/* The upper half of a word times n. Lower halves below 2^32 mod n are rejected to avoid bias. */
long oa_dice_below(struct oa_dice *d, long n)
{
    uint32_t range = (uint32_t)n;
    uint64_t product = (uint64_t)oa_dice_word(d) * range;
    if ((uint32_t)product < range)
        for (uint32_t excess = -range % range; (uint32_t)product < excess;)
            product = (uint64_t)oa_dice_word(d) * range;
    return (long)(product >> 32);
}

long oa_dice_between(struct oa_dice *d, long low, long high)
{
    return low + oa_dice_below(d, high - low + 1);
}

/* ---- symbols as text ---- */

void oa_word_add(struct oa_text *t, const char *word, size_t length)
{
    if (t->length)
        oa_text_add(t, " ", 1);
    oa_text_add(t, word, length);
}

enum { DIGITS = 24 };

void oa_letters_add(struct oa_text *t, long symbol)
{
    char word[DIGITS];
    int at = DIGITS;
    for (long rest = symbol + 1; rest > 0; rest = (rest - 1) / 26)
        word[--at] = (char)('a' + (rest - 1) % 26);
    oa_word_add(t, word + at, (size_t)(DIGITS - at));
}

void oa_number_add(struct oa_text *t, long symbol)
{
    char word[DIGITS];
    int at = DIGITS;
    do
        word[--at] = (char)('0' + symbol % 10);
    while ((symbol /= 10) > 0);
    oa_word_add(t, word + at, (size_t)(DIGITS - at));
}
