/* SPDX-License-Identifier: Apache-2.0
 * Ω [r_0, K] of random features (Choromanski et al. 2021), frozen, shared by the heads of a group,
 * drawn in double from the named stream of the parameter:
 *
 *     iid         rows N(0, I)
 *     orthogonal  blocks of K rows, each an orthogonal K×K matrix (Haar, Givens rotations, (H D)³),
 *                 the last one truncated; row r is scaled by the norm of an independent Gaussian
 *                 vector ("chi"), so that each row is Gaussian; or by √K ("regularised", and hd3,
 *                 whose rows have that norm by construction)
 *
 * hd3 blocks are stored as matrices, not as chains (chains.c): at K ≤ 128 the matrix product is
 * faster or equal in all but f32 at K = 128 (docs/history/speed-kernels.md).
 *
 * Norms have a stream of their own: Givens rotations have none, and the R_ll of a QR have K − l
 * degrees of freedom, not K. The QR has R_ll > 0; otherwise all rows would be in one half-space and
 * the estimate biased. */
#include "attention/projections/omega.h"

#include <math.h>

enum { COUNT, WIDTH, ENSEMBLE, NORMS };

static struct oa_stream omega_stream(const struct oa_parameter *p, uint64_t seed, const char *what)
{
    char name[200];
    snprintf(name, sizeof name, "%s/%s", p->stream, what);
    return oa_stream_named(seed, name);
}

static double omega_chi(struct oa_stream s, long row, long width)
{
    double sum = 0;
    for (long c = 0; c < width; c++) {
        double x = oa_random_normal(s, (uint64_t)(row * width + c));
        sum += x * x;
    }
    return sqrt(sum);
}

static enum oa_error omega_fill_orthogonal(oa_context *c, const struct oa_parameter *p,
                                           uint64_t seed, double *out)
{
    long count = p->fill_argument[COUNT], K = p->fill_argument[WIDTH], blocks = (count + K - 1) / K;
    struct oa_projection_shape shape = { .kind = (enum oa_projection)p->fill_argument[ENSEMBLE],
                                         .d = K,
                                         .heads = blocks,
                                         .width = K,
                                         .layer_heads = blocks };
    struct oa_stream norms = omega_stream(p, seed, "norms");
    enum oa_error e = oa_generate_projection(c, &shape, omega_stream(p, seed, "directions"), out);
    for (long r = 0; e == OA_OK && r < count; r++) {
        double norm =
            p->fill_argument[NORMS] == OA_NORMS_ROOT ? sqrt((double)K) : omega_chi(norms, r, K);
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
        p.fill = omega_fill_orthogonal;
        /* The last block is drawn whole. */
        p.fill_room = (o->width - o->count % o->width) % o->width * o->width;
        p.fill_argument[COUNT] = o->count;
        p.fill_argument[WIDTH] = o->width;
        p.fill_argument[NORMS] = exact ? OA_NORMS_ROOT : o->norms;
        p.fill_argument[ENSEMBLE] = (long)o->ensemble;
    }
    return oa_group_parameter(g, "features.omega", &p);
}
