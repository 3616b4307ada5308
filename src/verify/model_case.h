/* SPDX-License-Identifier: Apache-2.0
 *
 * One small model with random numbers in it, in one of a few forms, of which one stack has the
 * attention of a text and the others, if there are any, softmax; and a batch for it, with rows of
 * different lengths.
 */
#ifndef ORTHANT_VERIFY_MODEL_CASE_H
#define ORTHANT_VERIFY_MODEL_CASE_H

#include "model/model.h"
#include "verify/attention_case.h"

enum { OA_CASE_ROWS = 3, OA_CASE_LENGTH = 6, OA_CASE_SOURCE = 5, OA_CASE_CLASSES = 3 };
/* Tokens: eleven letters, and the two that stand around what a decoder writes. */
enum { OA_CASE_BEGIN = 11, OA_CASE_END, OA_CASE_VOCABULARY };

/* A form of models, with options that differ from one to the next, so that each is there. */
struct oa_case_form {
    const char *name;        /* "encoder of classes" */
    enum oa_stack_role role; /* the stack that has the attention */
    enum oa_mode mode;       /* of its attention */
    bool encoder, decoder;
    enum oa_model_output output;
    bool segments, padding; /* padding: rows of different lengths; else of one length */
    const char *options;    /* "model.norm=post model.pool=mean" */
};
const struct oa_case_form *oa_case_form_at(int i); /* NULL past the end */

struct oa_model_case {
    oa_context *context;
    const struct oa_case_form *form;
    struct oa_case label; /* its setup and specification: what measurements are filed under. Nothing
                             else is in it */
    struct oa_device *device;
    struct oa_model *model;
    oa_tape tape;
    struct oa_arena arena; /* of the arrays of the batch, and of whoever looks at the case */
    struct oa_batch batch;
    int32_t *input, *target, *segments, *words, *source,
        *source_words; /* those of the batch, to be changed */
};

/* The error says why an attention was refused; close in any case. */
enum oa_error oa_model_case_open(oa_context *c, const char *spec, const struct oa_case_form *form,
                                 enum oa_precision precision, struct oa_model_case *m);
void oa_model_case_close(struct oa_model_case *m);
/* The loss of the batch. gradient: those of the store are made of it as well. train: as in
 * training, labels smoothed, but that nothing is dropped. */
double oa_model_case_loss(struct oa_model_case *m, bool gradient, bool train);
/* Room for numbers that lives as long as the case, not zeroed; NULL after a recorded failure. */
double *oa_model_case_room(struct oa_model_case *m, long count);
/* Are all parameters of the model either trained or constant? Otherwise a pass in training differs
 * from others. */
bool oa_model_case_is_still(const struct oa_model_case *m);

/* model_oracle.c: the loss that the batch must have, by the plainest code in double, row by row and
 * without padding; attention by the maps of the mechanisms' oracles, or, where a mechanism has
 * none, by its layer. smoothing: ε of the labels. *condition: what the attentions can enlarge a
 * rounding by, as verify_rounding.c has it. NaN after a failure.
 */
double oa_model_oracle(struct oa_model_case *m, double smoothing, double *condition);

#endif
