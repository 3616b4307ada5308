/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts and examples of a side, made alike by all tasks on examples. Which parts there are and
 * which examples are shown follows from the side alone, so all runs of a comparison say it of the
 * same ones. Private to tasks/.
 */
#ifndef ORTHANT_TASKS_DETAILS_H
#define ORTHANT_TASKS_DETAILS_H

#include "tasks/tasks.h"

enum {
    OA_LENGTHS = 4,      /* parts by length, at most */
    OA_CLASSES = 100,    /* with more classes there are no parts by class */
    OA_SPECIMENS = 50,   /* examples that are kept */
    OA_SHOWN_TEXT = 2000 /* bytes of a source; the rest is left away, which … says */
};

/* What was judged, in an order of the task's own: entry i is row[i] of the examples. row NULL: row
 * i. */
struct oa_judged {
    const struct oa_examples *examples;
    const uint32_t *row;
    long count;
};

/* Room for `parts` more. */
enum oa_error oa_details_reserve(oa_context *c, struct oa_details *d, int parts);
/* There must be room. A name that is too long is cut. */
void oa_details_add(struct oa_details *d, const char *by, const char *name, const char *measure,
                    double value, long n);

/* The measure on some of the entries, which are entry[0 … count - 1]; NaN where it is not defined
 * on them. */
typedef enum oa_error oa_part_score(void *argument, const uint32_t *entry, long count,
                                    double *score);
/* Parts of about a quarter each by the tokens that a model reads of a source, special ones among
 * them; none where all are of one length. */
enum oa_error oa_details_by_length(oa_context *c, const struct oa_judged *j, const char *measure,
                                   oa_part_score *score, void *argument, struct oa_details *d);

/* What was answered to an entry. */
typedef void oa_answer_text(void *argument, long entry, struct oa_text *out);
/* Some examples, drawn with a fixed seed; of a picture there is no source. */
enum oa_error oa_details_examples(oa_context *c, const struct oa_judged *j, oa_answer_text *answer,
                                  void *argument, struct oa_details *d);

#endif
