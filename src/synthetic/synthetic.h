/* SPDX-License-Identifier: Apache-2.0
 *
 * synthetic: data sets made by a rule, which attentions are diagnosed with. What must be learned is
 * known exactly, and how well it can be learned is too.
 *
 *     synthetic_tasks.def ── one file for each task: listops.c, copy.c, recall.c …
 *           │                     dice.c: random words; symbol_rows.c: symbols as text;
 * listops_law.c: how long trees get drawing.c: examples, all different, on all threads ──
 * data_set.c: files, and data.json that says what they are
 *
 * Example i of a part is a function of (seed, part, i) and of how many of its draws were thrown
 * away: those the rule does not take, and those whose input is there already. The parts are drawn
 * in the order test, validation, training, so that more training examples leave the others as they
 * are.
 */
#ifndef ORTHANT_SYNTHETIC_H
#define ORTHANT_SYNTHETIC_H

#include "base/base.h"
#include "synthetic/dice.h"

#include <jansson.h>

/* ---- what a task is ---- */

enum oa_synthetic_part { OA_TRAIN_SET, OA_VALID_SET, OA_TEST_SET, OA_DATA_SETS };
extern const char *const oa_set_names[OA_DATA_SETS]; /* "train", "valid", "test": of files, too */

/* The files of a part. */
enum oa_synthetic_form {
    OA_LABELLED, /* PART.tsv: label, tab, text */
    OA_ANSWERED, /* the same, and PART.txt: the text with its answer, which goes on from it, on one
                    line */
    OA_PAIRED,   /* PART.source and PART.target, line by line */
    OA_FORMS
};

/* The numbers that an example depends on. */
enum oa_synthetic_size {
    OA_LEAST,
    OA_MOST,
    OA_ALPHABET,
    OA_VALUES,
    OA_DEPTH,
    OA_ARGUMENTS,
    OA_SIZES
};
extern const char *const oa_size_names[OA_SIZES]; /* "min-length" … */

struct oa_size_range {
    long low, high, fallback; /* fallback 0: the task has no such number */
};

struct oa_example {
    struct oa_text input, output; /* words with blanks between */
    long words;                   /* of the input */
    long label;                   /* output number 0 …; not of OA_PAIRED */
    int32_t *room;                /* for the task: numbers, max-length + alphabet of them */
};

struct oa_synthetic_task {
    const char *name, *title;
    const char *rule;           /* sentences: what the input is, and what the output */
    const char *length;         /* what min-length and max-length count */
    const char *source;         /* papers */
    const char *input, *output; /* an example */
    enum oa_synthetic_form form;
    struct oa_size_range size[OA_SIZES];
    /* A sentence's end that says why these numbers do not go together; NULL: they do. The pointer
     * may be NULL. */
    const char *(*refuse)(const long *size);
    long (*labels)(const long *size);   /* how many there are; NULL of OA_PAIRED */
    double (*inputs)(const long *size); /* how many different inputs there are; may be infinite */
    double (*share)(const long *size);  /* of draws that the rule takes; NULL: all */
    /* Adds input and output to `e`; false when the rule does not take what was drawn. */
    bool (*draw)(const long *size, struct oa_dice *dice, struct oa_example *e);
};

const struct oa_synthetic_task *oa_synthetic_task_at(int i); /* NULL past the end */

/* ---- a data set ---- */

struct oa_synthetic_plan {
    const struct oa_synthetic_task *task;
    long size[OA_SIZES];
    long examples[OA_DATA_SETS];
    uint64_t seed;
};
enum { OA_MOST_EXAMPLES = 100000000 }; /* of a part */

/* Finds the task and sets its defaults where a size is 0. Refuses what the task does not have, what
 * is out of range, and what cannot be: more examples than there are inputs, or lengths that are
 * next to never drawn. */
enum oa_error oa_synthetic_plan(oa_context *c, const char *task, const long size[OA_SIZES],
                                const long examples[OA_DATA_SETS], uint64_t seed,
                                struct oa_synthetic_plan *out);

typedef void oa_synthetic_progress(void *argument, long done, long all);

/* Draws the examples and writes the files; *record is what data.json says (the caller's). The
 * folder is made; one that holds anything but a data set of this program is refused. Until all is
 * drawn nothing in it changes. */
enum oa_error oa_synthetic_write(oa_context *c, const struct oa_synthetic_plan *plan,
                                 const char *folder, oa_synthetic_progress *progress,
                                 void *argument, json_t **record);

/* ---- drawing.c: examples one after another ---- */

/* Where examples go. */
typedef enum oa_error oa_synthetic_take(void *argument, const struct oa_example *e);
struct oa_drawing;
/* The plan is borrowed. *out is to be closed after a failure as well. */
enum oa_error oa_drawing_open(oa_context *c, const struct oa_synthetic_plan *plan,
                              struct oa_drawing **out);
void oa_drawing_close(struct oa_drawing *d);
/* All of a part, in order. A part that comes later has no input of one before it. */
enum oa_error oa_drawing_part(struct oa_drawing *d, enum oa_synthetic_part part,
                              oa_synthetic_take *take, void *argument);
/* Draws that were thrown away until now: not taken by the rule, and drawn before. */
void oa_drawing_thrown(const struct oa_drawing *d, long *not_taken, long *repeated);

#endif
