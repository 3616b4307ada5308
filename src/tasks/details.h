/* SPDX-License-Identifier: Apache-2.0
 * Scores by part and sample outputs, for all tasks on examples. The parts and the sampled examples
 * depend on the data alone, so all runs of a comparison report the same ones. Private to tasks/. */
#ifndef ORTHANT_TASKS_DETAILS_H
#define ORTHANT_TASKS_DETAILS_H

#include "tasks/tasks.h"

enum {
    OA_LENGTHS = 4,      /* most parts by length */
    OA_CLASSES = 100,    /* most classes for parts by class */
    OA_SPECIMENS = 50,   /* sampled examples */
    OA_SHOWN_TEXT = 2000 /* bytes of a source; a longer one is cut and ends with … */
};

/* The evaluated examples: entry i is row[i] of the examples. row NULL: row i. */
struct oa_scored_rows {
    const struct oa_examples *examples;
    const uint32_t *row;
    long count;
};

/* Reserves room for `parts` more. */
enum oa_error oa_details_reserve(oa_context *c, struct oa_details *d, int parts);
/* Needs reserved room. Long names are cut. */
void oa_details_add(struct oa_details *d, const char *by, const char *name, const char *measure,
                    double value, long n);

/* The measure on the entries entry[0 … count - 1]; NaN: undefined. */
typedef enum oa_error oa_part_score(void *argument, const uint32_t *entry, long count,
                                    double *score);
/* Parts by quartiles of the source length in tokens, with special ones; none where all lengths are
 * equal. */
enum oa_error oa_details_by_length(oa_context *c, const struct oa_scored_rows *j,
                                   const char *measure, oa_part_score *score, void *argument,
                                   struct oa_details *d);

/* Prints the output for an entry. */
typedef void oa_answer_text(void *argument, long entry, struct oa_text *out);
/* Sample of examples with a fixed seed; pictures have no source. */
enum oa_error oa_details_examples(oa_context *c, const struct oa_scored_rows *j,
                                  oa_answer_text *answer, void *argument, struct oa_details *d);

#endif
