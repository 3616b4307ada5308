/* SPDX-License-Identifier: Apache-2.0
 * Sequential random words of a stream (base.h), and exactly uniform integers. */
#ifndef ORTHANT_DICE_H
#define ORTHANT_DICE_H

#include "base/base.h"

struct oa_dice {
    struct oa_stream stream;
    uint64_t block; /* next one */
    uint32_t word[4];
    int left; /* unused words of the block */
};
struct oa_dice oa_dice_of(struct oa_stream stream);
uint32_t oa_dice_word(struct oa_dice *d);
/* 0 … n-1, n from 1 to 2^31, without bias (Lemire: Fast random integer generation in an interval,
 * 2019). */
long oa_dice_below(struct oa_dice *d, long n);
long oa_dice_between(struct oa_dice *d, long low, long high); /* both included */

/* Appends symbols as words, separated by blanks. */
void oa_word_add(struct oa_text *t, const char *word, size_t length);
void oa_letters_add(struct oa_text *t,
                    long symbol); /* a … z, aa, ab …: 0, 1 … in order of length, then of letters */
void oa_number_add(struct oa_text *t, long symbol); /* decimal */

#endif
