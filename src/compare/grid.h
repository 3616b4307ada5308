/* SPDX-License-Identifier: Apache-2.0
 *
 * What compare.tune tries: options of a run with the values of each. Every combination of values is
 * a cell, numbered from 0; the values of the last option change fastest.
 *
 *     "train.lr=1e-3,3e-3 ; train.clip=0,1"   cells: (0.001, 0) (0.001, 1) (0.003, 0) (0.003, 1)
 */
#ifndef ORTHANT_GRID_H
#define ORTHANT_GRID_H

#include "base/base.h"

enum {
    OA_GRID_OPTIONS = 4,
    OA_GRID_VALUES = 32,
    OA_MOST_ADDED = 32, /* values that all tunings of an option may add: compare.tune_extend to
                           each side */
    OA_GRID_CELLS = 256,
    OA_GRID_KEY = 48,
    OA_GRID_VALUE = 32
};
enum {
    OA_GRID_NAME = OA_GRID_OPTIONS * (OA_GRID_KEY + OA_GRID_VALUE)
}; /* bytes of a cell's name */

struct oa_grid_option {
    char key[OA_GRID_KEY]; /* "train.lr" */
    char value[OA_GRID_VALUES]
              [OA_GRID_VALUE]; /* as the table of options prints them, in the order given */
    int count;
    bool number;      /* the values are numbers, so there is a smallest and a largest */
    double low, high; /* of a number: what the table of options allows */
};
struct oa_grid {
    struct oa_grid_option option[OA_GRID_OPTIONS];
    int options, cells; /* both 0: nothing is tried */
};

/* Parses compare.tune; an empty text is an empty grid. OA_ARGUMENT with a message for unknown
 * options and values, for what is given twice, and for options that all attentions must share. */
enum oa_error oa_grid_parse(oa_context *c, const char *text, struct oa_grid *out);
/* Number of the value that the cell has of an option. */
int oa_grid_at(const struct oa_grid *g, int cell, int option);
const char *oa_grid_value(const struct oa_grid *g, int cell, int option);
/* The value of a number that comes after the largest (upwards) or before the smallest: the ratio of
 * the grid goes on where all values are above 0 and no arithmetic series, else its difference.
 * False: there is none within the option's range, or the grid has no room for it. */
bool oa_grid_next(oa_context *c, const struct oa_grid *g, int option, bool upwards,
                  char out[OA_GRID_VALUE]);
/* Adds a value to the option: the cells are numbered anew. */
void oa_grid_add(struct oa_grid *g, int option, const char *value);
/* Number of the cell that differs from this one in that option alone, of which it has value number
 * `value`. */
int oa_grid_with(const struct oa_grid *g, int cell, int option, int value);
/* Sets the options to the cell's values. */
enum oa_error oa_grid_apply(oa_context *c, const struct oa_grid *g, int cell, struct oa_options *o);
/* "train.lr=0.001,train.clip=1", which is also the name of a folder; in `out`, which is returned.
 */
const char *oa_grid_name(const struct oa_grid *g, int cell, char out[OA_GRID_NAME]);
/* The grid as compare.tune would be written: the same for the same values in the same order. */
void oa_grid_text(const struct oa_grid *g, struct oa_text *out);

#endif
