/* SPDX-License-Identifier: Apache-2.0
 *
 * Ω [r_0, K] of random features (mechanisms F0), frozen, one for all heads of a group, made in
 * double from the named stream of the parameter:
 *
 *     iid         rows N(0, I)
 *     orthogonal  blocks of K rows, each an orthogonal K×K matrix of its own (Haar, Givens
 * rotations, (H D)³), the last cut; row r times a length of its own: the norm of a fresh Gaussian
 * vector ("chi"), so that each row is a Gaussian vector, and only rows of a block depend on each
 * other; or √K for all ("regularised", and hd3, whose rows have it by construction)
 *
 * Blocks of hd3 are kept as matrices too, although they are chains (chains.c). A transform of a K×K
 * block has a third to a tenth of the product's arithmetic, but every row it gives is turned into
 * lanes and back, which takes half of its time or more. Measured with ⌊K ln K⌋ rows, the product
 * takes 0.7 to 0.8 of the chains' time at K = 32 and 64 in f32 and 0.4 to 0.6 in bf16; at K = 128
 * they are even in bf16, and in f32 chains would save 7 % of a layer (docs/speed-log.md).
 *
 * The lengths come from a stream of their own: Givens rotations have none to offer, and those that
 * a QR leaves, R_ll, have K − l degrees of freedom, not K. The QR has R_ll > 0; without that every
 * row would lie in one half-space and the estimate were biased.
 */
#include "attention/projections/omega.h"

#include <math.h>

enum { COUNT, WIDTH, ENSEMBLE, NORMS };

static struct oa_stream part(const struct oa_parameter *p, uint64_t seed, const char *what)
{
    char name[200];
    snprintf(name, sizeof name, "%s/%s", p->stream, what);
    return oa_stream_named(seed, name);
}

static double chi(struct oa_stream s, long row, long width)
{
    double sum = 0;
    for (long c = 0; c < width; c++) {
        double x = oa_random_normal(s, (uint64_t)(row * width + c));
        sum += x * x;
    }
    return sqrt(sum);
}

static enum oa_error fill_orthogonal(oa_context *c, const struct oa_parameter *p, uint64_t seed,
                                     double *out)
{
    long count = p->fill_argument[COUNT], K = p->fill_argument[WIDTH], blocks = (count + K - 1) / K;
    struct oa_projection_shape shape = { .kind = (enum oa_projection)p->fill_argument[ENSEMBLE],
                                         .d = K,
                                         .heads = blocks,
                                         .width = K,
                                         .layer_heads = blocks };
    struct oa_stream norms = part(p, seed, "norms");
    enum oa_error e = oa_generate_projection(c, &shape, part(p, seed, "directions"), out);
    for (long r = 0; e == OA_OK && r < count; r++) {
        double norm = p->fill_argument[NORMS] == OA_NORMS_ROOT ? sqrt((double)K) : chi(norms, r, K);
        for (long i = 0; i < K; i++)
            out[r * K + i] *= norm;
    }
    return e;
}

struct oa_parameter *oa_omega_parameter(struct oa_group *g, const struct oa_omega *o)
{
    struct oa_parameter p = { .dims = 2,
                              .dim = { o->count, o->width },
                              .matrix = true,
                              .moving = o->redrawn,
                              .redrawn = o->redrawn,
                              .init = OA_INIT_NORMAL,
                              .scale = 1 };
    if (o->ensemble != OA_PROJECTION_GAUSSIAN) {
        bool exact = o->ensemble == OA_PROJECTION_HD3;
        p.init = OA_INIT_CUSTOM;
        p.fill = fill_orthogonal;
        p.fill_room = (o->width - o->count % o->width) % o->width *
                      o->width; /* the last block is made whole */
        p.fill_argument[COUNT] = o->count;
        p.fill_argument[WIDTH] = o->width;
        p.fill_argument[NORMS] = exact ? OA_NORMS_ROOT : o->norms;
        p.fill_argument[ENSEMBLE] = (long)o->ensemble;
    }
    return oa_group_parameter(g, "features.omega", &p);
}
