/* SPDX-License-Identifier: Apache-2.0
 * Positions: a table added to the embeddings, or rotary angles of queries and keys. */
#include "model/model.h"

#include <math.h>

/* Vaswani et al. 2017, eq. in §3.5; unless fill_argument[0] = 1 scaled to the standard deviation of
 * the embeddings. */
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

/* cos or (fill_argument[0] = 1) sin of t·base^(−2i/width): RoPE, Su et al. 2021. */
static enum oa_error fill_rotary(oa_context *c, const struct oa_parameter *p, uint64_t seed,
                                 double *out)
{
    (void)c, (void)seed;
    for (long t = 0; t < p->dim[0]; t++)
        for (long i = 0; i < p->dim[1]; i++) {
            double angle = (double)t * pow(p->fill_number[0], -(double)i / (double)p->dim[1]);
            out[t * p->dim[1] + i] = p->fill_argument[0] ? sin(angle) : cos(angle);
        }
    return OA_OK;
}

struct positions_builder {
    const struct oa_options *options;
    struct oa_store *store;
    const char *prefix;
    long length;
};

static struct oa_parameter *positions_add_frozen(
    const struct positions_builder *b, const char *name, long cols, long argument,
    enum oa_error (*fill)(oa_context *, const struct oa_parameter *, uint64_t, double *))
{
    struct oa_parameter p = { .dims = 2,
                              .dim = { b->length, cols },
                              .init = OA_INIT_CUSTOM,
                              .fill = fill,
                              .fill_argument = { argument } };
    if (fill == fill_rotary)
        p.fill_number[0] = b->options->model_rotary_base;
    snprintf(p.name, sizeof p.name, "%s%s", b->prefix, name);
    return oa_store_add(b->store, &p);
}

static enum oa_error positions_add_rotary(oa_context *c, const struct positions_builder *b,
                                          struct oa_positions *out)
{
    const struct oa_options *o = b->options;
    long head = oa_head_width(o), width = (long)((double)head * o->model_rotary_share + 1e-9);
    if (o->model_rotary_share == 1 && head % 2)
        return oa_fail(c, OA_SHAPE,
                       "rotary positions need an even head width, not %ld: choose model.width and "
                       "model.heads accordingly",
                       head);
    if (width < 2 || width % 2)
        return oa_fail(c, OA_SHAPE,
                       "model.rotary_share = %g of heads of width %ld is %ld columns: rotary "
                       "positions need an even number of at least 2",
                       o->model_rotary_share, head, width);
    out->cosine = positions_add_frozen(b, "rotary.cosine", width / 2, 0, fill_rotary);
    out->sine = positions_add_frozen(b, "rotary.sine", width / 2, 1, fill_rotary);
    out->interleaved = o->model_rotary_pairing == OA_PAIRS_INTERLEAVED;
    return oa_status(c);
}

struct oa_rotary oa_positions_rotary(const struct oa_positions *p)
{
    if (!p->cosine)
        return (struct oa_rotary){ 0 };
    return (struct oa_rotary){ p->cosine->value, p->sine->value, 2 * p->cosine->dim[1],
                               p->interleaved };
}

enum oa_error oa_positions_open(oa_context *c, const struct oa_options *o, long length,
                                const char *prefix, struct oa_store *s, struct oa_positions *out)
{
    struct positions_builder b = { o, s, prefix, length };
    char name[64];
    *out = (struct oa_positions){ 0 };
    switch (o->model_position) {
    case OA_POSITION_LEARNED:
        snprintf(name, sizeof name, "%sposition.weight", prefix);
        out->table = oa_add_matrix(s, name, length, o->model_width, oa_embedding_deviation(o));
        break;
    case OA_POSITION_SINUSOIDAL:
        out->table = positions_add_frozen(&b, "position.weight", o->model_width,
                                          o->model_scale_embedding, fill_sinusoids);
        break;
    case OA_POSITION_ROTARY:
        return positions_add_rotary(c, &b, out);
    case OA_POSITION_NONE:
        break;
    }
    return oa_status(c);
}
