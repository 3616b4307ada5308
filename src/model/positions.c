/* SPDX-License-Identifier: Apache-2.0
 * Where a token stands: a table added to its embedding, or angles that turn queries and keys. */
#include "model/model.h"

#include <math.h>

/* Sinusoids of Vaswani et al. 2017, as they are (fill_argument[0] = 1), or scaled to the deviation
 * of the embeddings they are added to. */
static enum oa_error fill_sinusoids(oa_context *c, const struct oa_parameter *p, uint64_t seed,
                                    double *out)
{
    (void)c, (void)seed;
    double size = p->fill_argument[0] ? 1 : OA_EMBEDDING_DEVIATION * sqrt(2);
    for (long t = 0; t < p->dim[0]; t++)
        for (long i = 0; i < p->dim[1]; i++) {
            double angle = (double)t / pow(10000, (double)(i / 2 * 2) / (double)p->dim[1]);
            out[t * p->dim[1] + i] = size * (i % 2 ? cos(angle) : sin(angle));
        }
    return OA_OK;
}

/* cos and sin of t·10000^(−2i/K) (Su et al. 2021); fill_argument[0]: 1 = sine. */
static enum oa_error fill_rotary(oa_context *c, const struct oa_parameter *p, uint64_t seed,
                                 double *out)
{
    (void)c, (void)seed;
    for (long t = 0; t < p->dim[0]; t++)
        for (long i = 0; i < p->dim[1]; i++) {
            double angle = (double)t * pow(10000, -(double)i / (double)p->dim[1]);
            out[t * p->dim[1] + i] = p->fill_argument[0] ? sin(angle) : cos(angle);
        }
    return OA_OK;
}

/* Where tables are registered, and of which length. */
struct building {
    const struct oa_options *options;
    struct oa_store *store;
    const char *prefix;
    long length;
};

static struct oa_parameter *
add_frozen(const struct building *b, const char *name, long cols, long argument,
           enum oa_error (*fill)(oa_context *, const struct oa_parameter *, uint64_t, double *))
{
    struct oa_parameter p = { .dims = 2,
                              .dim = { b->length, cols },
                              .init = OA_INIT_CUSTOM,
                              .fill = fill,
                              .fill_argument = { argument } };
    snprintf(p.name, sizeof p.name, "%s%s", b->prefix, name);
    return oa_store_add(b->store, &p);
}

static enum oa_error add_rotary(oa_context *c, const struct building *b, struct oa_positions *out)
{
    long head = b->options->model_width / b->options->model_heads;
    if (head % 2)
        return oa_fail(c, OA_SHAPE,
                       "rotary positions turn pairs of channels, and a head is %ld wide: choose "
                       "model.width and "
                       "model.heads so that width / heads is even",
                       head);
    out->cosine = add_frozen(b, "rotary.cosine", head / 2, 0, fill_rotary);
    out->sine = add_frozen(b, "rotary.sine", head / 2, 1, fill_rotary);
    return oa_status(c);
}

static struct oa_parameter *add_learned(const struct building *b)
{
    char name[64];
    snprintf(name, sizeof name, "%sposition.weight", b->prefix);
    return oa_add_matrix(b->store, name, b->length, b->options->model_width,
                         oa_embedding_deviation(b->options));
}

enum oa_error oa_positions_open(oa_context *c, const struct oa_options *o, long length,
                                const char *prefix, struct oa_store *s, struct oa_positions *out)
{
    struct building b = { o, s, prefix, length };
    *out = (struct oa_positions){ 0 };
    switch (o->model_position) {
    case OA_POSITION_LEARNED:
        out->table = add_learned(&b);
        break;
    case OA_POSITION_SINUSOIDAL:
        out->table = add_frozen(&b, "position.weight", o->model_width, o->model_scale_embedding,
                                fill_sinusoids);
        break;
    case OA_POSITION_ROTARY:
        return add_rotary(c, &b, out);
    case OA_POSITION_NONE:
        break;
    }
    return oa_status(c);
}
