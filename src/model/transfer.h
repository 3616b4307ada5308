/* SPDX-License-Identifier: Apache-2.0
 *
 * Parameters of a trained model as first values of another one, tensor by tensor: those of one name
 * and shape are taken. A table of tokens is taken row by row where the two do not have the same
 * tokens, by what the rows stand for; learned positions as far as both go. A table of positions has
 * the name of its stack in front where there are two stacks and none where there is one; both names
 * are the same table. An encoder beside a decoder that has an embedding of its own takes it from
 * the one that the other model has for all. What is frozen is only taken from what was drawn by the
 * same rule, so that no learned matrix stands where a frozen one is asked for.
 */
#ifndef ORTHANT_MODEL_TRANSFER_H
#define ORTHANT_MODEL_TRANSFER_H

#include "model/model.h"

enum oa_fit {
    OA_FIT_ALL,
    OA_FIT_ROWS,    /* some rows; the others keep their first values */
    OA_FIT_MISSING, /* the other model has nothing of that name */
    OA_FIT_STACK,   /* it has it in another stack */
    OA_FIT_SHAPE,   /* it has another shape */
    OA_FIT_LEARNT,  /* it is learnt there and frozen here */
    OA_FIT_DRAWN,   /* both are frozen, and drawn by different rules */
    OA_FITS
};
const char *oa_fit_because(enum oa_fit fit); /* "not there", … */

struct oa_fitting {
    struct oa_parameter *to;
    const struct oa_parameter *from; /* NULL: OA_FIT_MISSING, OA_FIT_STACK */
    enum oa_fit fit;
    bool tokens; /* its rows are tokens */
    long rows;   /* that are taken, of to->dim[0]; OA_FIT_ROWS */
};
/* How `to` fits `from`, for each parameter of `to` in the order of its store. Both are borrowed. */
struct oa_transfer {
    const struct oa_model *from;
    struct oa_model *to;
    struct oa_fitting *item;
    long *
        token; /* [rows of embeddings of `to`] the row of `from` with that token; −1: it has none */
    int count, taken; /* parameters; those of which something is taken */
};
/* Shapes and names alone: described models will do. oa_transfer_free it, also after an error. */
enum oa_error oa_transfer_match(const struct oa_model *from, const struct oa_tokenizer *from_tokens,
                                struct oa_model *to, const struct oa_tokenizer *to_tokens,
                                struct oa_transfer *out);
void oa_transfer_free(struct oa_transfer *t);
/* Copies what is taken; both models have values of one precision. */
enum oa_error oa_transfer_copy(const struct oa_transfer *t);
/* For a model whose values are there already, from a checkpoint: which seeds its transforms were
 * drawn from. */
void oa_transfer_seeds(const struct oa_transfer *t);

#endif
