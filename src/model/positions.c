/* SPDX-License-Identifier: Apache-2.0
 * Where a token stands: a table added to its embedding, or angles that turn queries and keys. */
#include "model/model.h"

#include <math.h>

/* Sinusoids of Vaswani et al. 2017, scaled to the deviation of the embeddings they are added to. */
static enum oa_error fill_sinusoids(oa_context *c, const struct oa_parameter *p, uint64_t seed, double *out)
{
    (void)c, (void)seed;
    for (long t = 0; t < p->dim[0]; t++)
        for (long i = 0; i < p->dim[1]; i++) {
            double angle = (double)t / pow(10000, (double)(i / 2 * 2) / (double)p->dim[1]);
            out[t * p->dim[1] + i] = OA_EMBEDDING_DEVIATION * sqrt(2) * (i % 2 ? cos(angle) : sin(angle));
        }
    return OA_OK;
}

/* cos and sin of t·10000^(−2i/K) (Su et al. 2021); fill_argument[0]: 1 = sine. */
static enum oa_error fill_rotary(oa_context *c, const struct oa_parameter *p, uint64_t seed, double *out)
{
    (void)c, (void)seed;
    for (long t = 0; t < p->dim[0]; t++)
        for (long i = 0; i < p->dim[1]; i++) {
            double angle = (double)t * pow(10000, -(double)i / (double)p->dim[1]);
            out[t * p->dim[1] + i] = p->fill_argument[0] ? sin(angle) : cos(angle);
        }
    return OA_OK;
}

static struct oa_parameter *add_frozen(struct oa_store *s, const char *name, long rows, long cols, long argument,
                                       enum oa_error (*fill)(oa_context *, const struct oa_parameter *, uint64_t,
                                                             double *))
{
    struct oa_parameter p = {
        .dims = 2, .dim = { rows, cols }, .init = OA_INIT_CUSTOM, .fill = fill, .fill_argument = { argument }
    };
    snprintf(p.name, sizeof p.name, "%s", name);
    return oa_store_add(s, &p);
}

static enum oa_error add_rotary(oa_context *c, struct oa_store *s, const struct oa_options *o, struct oa_positions *out)
{
    long head = o->model_width / o->model_heads;
    if (head % 2)
        return oa_fail(c, OA_SHAPE,
                       "rotary positions turn pairs of channels, and a head is %ld wide: choose model.width and "
                       "model.heads so that width / heads is even",
                       head);
    out->cosine = add_frozen(s, "rotary.cosine", o->model_context, head / 2, 0, fill_rotary);
    out->sine = add_frozen(s, "rotary.sine", o->model_context, head / 2, 1, fill_rotary);
    return oa_status(c);
}

enum oa_error oa_positions_open(oa_context *c, const struct oa_options *o, struct oa_store *s, struct oa_positions *out)
{
    *out = (struct oa_positions){ 0 };
    switch (o->model_position) {
    case OA_POSITION_LEARNED:
        out->table = oa_add_matrix(s, "position.weight", o->model_context, o->model_width, OA_EMBEDDING_DEVIATION);
        break;
    case OA_POSITION_SINUSOIDAL:
        out->table = add_frozen(s, "position.weight", o->model_context, o->model_width, 0, fill_sinusoids);
        break;
    case OA_POSITION_ROTARY:
        return add_rotary(c, s, o, out);
    case OA_POSITION_NONE:
        break;
    }
    return oa_status(c);
}
