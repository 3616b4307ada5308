/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to synthetic: rows of independent uniform symbols.
 */
#ifndef ORTHANT_SYMBOL_ROWS_H
#define ORTHANT_SYMBOL_ROWS_H

#include "synthetic/synthetic.h"

/* Fills e->room, sets e->words and returns it. The length is uniform from least to most. */
long oa_row_draw(const long *size, long alphabet, struct oa_dice *dice, struct oa_example *e);
/* The number of rows: Σ alphabet^n over lengths least … most. */
double oa_row_count(const long *size, long alphabet);

#endif
