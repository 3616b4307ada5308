/* SPDX-License-Identifier: Apache-2.0
 * Transfer: parameters of a pretrained model as initial values of another one. Parameters of the
 * same name and shape are copied. Embeddings of different vocabularies are copied row by row, by
 * token; learned positions up to the shorter length. Position tables match with and without the
 * prefix of their stack. A source embedding of its own is initialised from the shared embedding of
 * the other model. Queries, keys and values are copied head by head where heads are grouped in
 * another way. Frozen parameters are only copied from parameters initialised by the same rule,
 * so that no learned matrix replaces a frozen one. */
#ifndef ORTHANT_MODEL_TRANSFER_H
#define ORTHANT_MODEL_TRANSFER_H

#include "model/model.h"

enum oa_fit {
    OA_FIT_ALL,
    OA_FIT_ROWS,    /* some rows; the others keep their initial values */
    OA_FIT_HEADS,   /* by head, all or some (transfer_heads.h) */
    OA_FIT_MISSING, /* no parameter of that name */
    OA_FIT_STACK,   /* in another stack only */
    OA_FIT_SHAPE,   /* different shape */
    OA_FIT_LEARNT,  /* learned there, frozen here */
    OA_FIT_DRAWN,   /* both frozen, initialised by different rules */
    OA_FITS
};
const char *oa_fit_reason(enum oa_fit fit); /* "not there", … */

struct oa_fitting {
    struct oa_parameter *to;
    const struct oa_parameter *from; /* NULL: OA_FIT_MISSING, OA_FIT_STACK */
    enum oa_fit fit;
    bool tokens; /* token embedding */
    long rows;   /* OA_FIT_ROWS: rows copied, of to->dim[0]; OA_FIT_HEADS: heads */
    /* Of a parameter with a part for each head: the pretrained layer; the group, and the mixture
     * that it is a component of or itself; which of its parameters. */
    const struct oa_layer *layer;
    const struct oa_group *owner, *group;
    int role;
};
bool oa_fit_takes(enum oa_fit fit); /* something is copied */
/* How `to` fits `from`, for each parameter of `to` in the order of its store. Both are borrowed. */
struct oa_transfer {
    const struct oa_model *from;
    struct oa_model *to;
    struct oa_fitting *item;
    long *token;      /* [rows of embeddings of `to`] row of `from` with that token, or −1 */
    int count, taken; /* parameters; those copied at least in part */
};
/* Uses shapes and names only (oa_model_describe). oa_transfer_free it, also after an error. */
enum oa_error oa_transfer_match(const struct oa_model *from, const struct oa_tokenizer *from_tokens,
                                struct oa_model *to, const struct oa_tokenizer *to_tokens,
                                struct oa_transfer *out);
void oa_transfer_free(struct oa_transfer *t);
/* Copies the values; both models must have the same precision. */
enum oa_error oa_transfer_copy(const struct oa_transfer *t);
/* Sets only the seeds of transforms, for a model whose values come from a checkpoint. */
void oa_transfer_seeds(const struct oa_transfer *t);

#endif
