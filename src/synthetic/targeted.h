/* SPDX-License-Identifier: Apache-2.0
 * Private to synthetic: words with targets, OA_TARGETED. Words are numbers. */
#ifndef ORTHANT_TARGETED_H
#define ORTHANT_TARGETED_H

#include "synthetic/synthetic.h"

enum { OA_WITHOUT_TARGET = -1 };

/* Appends a word to the input and its target, or "-", to the output. */
static inline void oa_targeted_add(struct oa_example *e, long word, long target)
{
    oa_number_add(&e->input, word);
    if (target == OA_WITHOUT_TARGET)
        oa_word_add(&e->output, "-", 1);
    else
        oa_number_add(&e->output, target);
    e->words++;
}

#endif
