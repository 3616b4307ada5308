/* SPDX-License-Identifier: Apache-2.0
 * A run that a model learns from (distil.teacher): Hinton et al. 2015, and layer by layer Zhang et
 * al. 2024 (Hedgehog), arXiv 2402.04347.
 *
 *     output     hard·cross-entropy + soft·KL(teacher‖student), of every target; of numbers
 *                hard·(z − label)² + soft·(z − teacher's)²
 *     attention  mean over the layers with another attention of ‖y − y'‖²/‖y'‖²: y' is what the
 *                teacher's layer makes of its input in the teacher, y what the student's makes of
 *                the same input. No gradient leaves a layer. */
#ifndef ORTHANT_TRAIN_TEACHER_H
#define ORTHANT_TRAIN_TEACHER_H

#include "model/model.h"

struct oa_teacher {
    struct oa_model *model, *student; /* student: borrowed; model NULL: there is no teacher */
    oa_tape tape;                     /* of the teacher */
    bool *replaced[OA_STACK_ROLES];   /* [layers] with another attention; NULL: no such stack */
    int replacements;
    struct oa_attention_hook hook;
    /* Of the micro-batch at hand. */
    oa_tape *learning;
    struct oa_stream stream;
    double share, loss;
};
/* Of the options of the student, and on its device; refuses models that do not belong together.
 * tokenizer: of the student; NULL on the plan device. Close also after an error. */
enum oa_error oa_teacher_open(struct oa_model *student, const struct oa_tokenizer *tokenizer,
                              struct oa_teacher *out);
void oa_teacher_close(struct oa_teacher *k);
/* The part of a micro-batch in the loss of its step, and the gradients, all or, of an output, up to
 * what oa_tape_backward does. t: reset, of the student. scale: 1 / targets of the step; share: of
 * the micro-batch in the step. */
double oa_teacher_loss(struct oa_teacher *k, oa_tape *t, const struct oa_batch *batch, double scale,
                       double share);
/* Makes the options of a student those of its first stage: distil.attention_steps in which only
 * layers with another attention than the teacher's are trained (train.only). form: of the student.
 * *any: there is such a layer. */
enum oa_error oa_teacher_first_stage(oa_context *c, struct oa_options *o,
                                     const struct oa_model_form *form, bool *any);
/* SHA-256 of the teacher's model file. */
enum oa_error oa_teacher_digest(oa_context *c, const struct oa_options *o, struct oa_digest *out);

#endif
