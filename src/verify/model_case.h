/* SPDX-License-Identifier: Apache-2.0
 * A small model with random parameters in one of several forms, with the given attention in one
 * stack and softmax in the others, and a batch for it with rows of different lengths. */
#ifndef ORTHANT_VERIFY_MODEL_CASE_H
#define ORTHANT_VERIFY_MODEL_CASE_H

#include "model/model.h"
#include "verify/attention_case.h"

enum { OA_CASE_ROWS = 3, OA_CASE_LENGTH = 6, OA_CASE_SOURCE = 5, OA_CASE_CLASSES = 3 };
/* Tokens: eleven letters, and the begin and end of what a decoder writes. */
enum { OA_CASE_BEGIN = 11, OA_CASE_END, OA_CASE_VOCABULARY };

/* A form of models. Options differ between forms, so that each is covered. */
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
    double noise; /* of the oracle: standard deviation of the errors of weights that are sums of
                   * cancelling terms, in units of their size (oa_mechanism.sizes); 0: none */
    uint64_t draw;
    struct oa_attention_case label; /* only setup and specification, for oa_proof_measure */
    struct oa_device *device;
    struct oa_model *model;
    oa_tape tape;
    struct oa_arena arena; /* of the batch, and of the checks */
    struct oa_batch batch;
    int32_t *input, *target, *segments, *words, *source,
        *source_words; /* those of the batch, to be changed */
};

/* Close in any case. */
enum oa_error oa_model_case_open(oa_context *c, const char *spec, const struct oa_case_form *form,
                                 enum oa_precision precision, struct oa_model_case *m);
void oa_model_case_close(struct oa_model_case *m);
/* The loss of the batch. gradient: also fills the gradients of the store. train: as in training,
 * with smoothed labels, but without dropout. */
double oa_model_case_loss(struct oa_model_case *m, bool gradient, bool train);
/* Memory for numbers that lives as long as the case, not zeroed; NULL after a recorded failure. */
double *oa_model_case_array(struct oa_model_case *m, long count);
/* Are all parameters trained by gradients or constant? Otherwise a pass in training updates some.
 */
bool oa_model_case_is_static(const struct oa_model_case *m);

/* model_oracle.c: the expected loss of the batch by simple loops in double, row by row and without
 * padding; attention by the maps of the mechanisms' oracles, or by the layer of a mechanism without
 * one. smoothing: ε of the labels. *condition: the condition number of the attentions
 * (verify_rounding.c). NaN after a failure. */
double oa_model_oracle(struct oa_model_case *m, double smoothing, double *condition);

#endif
