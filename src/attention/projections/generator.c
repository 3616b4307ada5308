/* SPDX-License-Identifier: Apache-2.0
 * Random projections U [d, k] for frozen queries and keys, one per head (option qk):
 *
 *     haar          Q of the QR of a Gaussian matrix, R_ll > 0: uniform (Haar) orthonormal columns
 *     gram-schmidt  the same matrix by modified Gram–Schmidt, run twice
 *     gaussian      N(0, 1/d), columns only nearly orthonormal: control
 *     slice         columns h·k … of one Haar d×d matrix: heads orthogonal to each other (H·k = d)
 *     srht          D H P: random signs, Hadamard matrix / √d, k distinct columns
 *                   (Ailon, Chazelle 2006)
 *     hd3           the first k columns of (H D₁)(H D₂)(H D₃)
 *                   (Choromanski et al. 2017, arXiv 1703.00864)
 *     block         B^{−1/2} [Q_1; …; Q_B], independent Haar k×k matrices (d = B·k)
 *     givens        ⌈d ln d⌉ random plane rotations of the first k unit vectors: nearly Haar
 *     permutation   k distinct coordinates with random signs: negative control
 *
 * srht, hd3 and permutation are chains (chains.c), and run as such where that is faster. Matrices
 * are stored as Linear weights: row l of a head is column l of its U. Drawn in double; head h uses
 * substream h, so that the result does not depend on the number of threads. */
#include "attention/mechanism.h"
#include "attention/projections/chains.h"
#include "attention/projections/orthonormal.h"
#include "attention/random_projection.h"

#include <math.h>
#include <string.h>

#define TWO_PI 6.283185307179586476925286766559

struct projection_head {
    const struct oa_projection_shape *p;
    long d, k;
    struct oa_stream stream;
    struct oa_arena *scratch;
    double *u; /* k columns of d */
};

/* ---- haar, gram-schmidt, gaussian ---- */

static void generate_haar(const struct projection_head *h)
{
    double *work = oa_arena_take(h->scratch, oa_qr_work(h->d, h->k) * sizeof *work);
    if (!work)
        return;
    oa_random_normals(oa_stream_child(h->stream, OA_DRAW_MATRIX), 0, h->d * h->k, h->u);
    oa_orthonormal_qr(NULL, h->d, h->k, h->u, work);
}

static void generate_gram_schmidt(const struct projection_head *h)
{
    oa_random_normals(oa_stream_child(h->stream, OA_DRAW_MATRIX), 0, h->d * h->k, h->u);
    oa_orthonormal_gram_schmidt(h->d, h->k, h->u);
}

static void generate_gaussian(const struct projection_head *h)
{
    oa_random_normals(oa_stream_child(h->stream, OA_DRAW_MATRIX), 0, h->d * h->k, h->u);
    for (long i = 0; i < h->d * h->k; i++)
        h->u[i] /= sqrt((double)h->d);
}

/* ---- block, givens ---- */

static void generate_block(const struct projection_head *h)
{
    long blocks = h->d / h->k;
    double *q = oa_arena_take(h->scratch, (size_t)(h->k * h->k) * sizeof *q);
    double *work = oa_arena_take(h->scratch, oa_qr_work(h->k, h->k) * sizeof *work);
    struct oa_stream matrices = oa_stream_child(h->stream, OA_DRAW_MATRIX);
    for (long b = 0; q && work && b < blocks; b++) {
        oa_random_normals(oa_stream_child(matrices, (uint64_t)b), 0, h->k * h->k, q);
        oa_orthonormal_qr(NULL, h->k, h->k, q, work);
        for (long l = 0; l < h->k; l++) {
            for (long r = 0; r < h->k; r++)
                h->u[l * h->d + b * h->k + r] = q[l * h->k + r] / sqrt((double)blocks);
        }
    }
}

static void givens_rotate(const struct projection_head *h, long a, long b, double angle)
{
    double c = cos(angle), s = sin(angle);
    for (long l = 0; l < h->k; l++) {
        double *x = h->u + l * h->d, first = x[a];
        x[a] = c * first - s * x[b];
        x[b] = s * first + c * x[b];
    }
}

static void generate_givens(const struct projection_head *h)
{
    struct oa_stream planes = oa_stream_child(h->stream, OA_DRAW_PLANES),
                     angles = oa_stream_child(h->stream, OA_DRAW_ANGLES);
    long rotations = (long)ceil((double)h->d * log((double)h->d));
    memset(h->u, 0, (size_t)(h->d * h->k) * sizeof *h->u);
    for (long l = 0; l < h->k; l++)
        h->u[l * h->d + l] = 1;
    for (long i = 0; i < rotations; i++) {
        long a = (long)oa_random_below(planes, (uint64_t)(2 * i), (uint64_t)h->d);
        long b = (long)oa_random_below(planes, (uint64_t)(2 * i + 1), (uint64_t)(h->d - 1));
        givens_rotate(h, a, b + (b >= a), TWO_PI * oa_random_uniform(angles, (uint64_t)i));
    }
}

/* ---- srht, hd3, permutation: chains ---- */

static void generate_chain_matrix(const struct projection_head *h)
{
    struct oa_chain chain;
    oa_chain_of(h->p->kind, h->d, h->k, &chain);
    double *numbers = oa_arena_take(h->scratch, (size_t)oa_chain_numbers(&chain) * sizeof *numbers);
    double *room = oa_arena_take(h->scratch, (size_t)h->d * sizeof *room);
    if (!numbers || !room)
        return;
    oa_chain_draw(&chain, h->p->kind, h->stream, h->scratch, numbers);
    for (long l = 0; l < h->k; l++)
        oa_chain_column(&chain, numbers, l, room, h->u + l * h->d);
}

/* ---- slice: one matrix for the heads of a layer ---- */

static enum oa_error generate_slice(oa_context *c, const struct oa_projection_shape *p,
                                    struct oa_stream s, double *out)
{
    size_t square = (size_t)(p->d * p->d);
    double *m = oa_alloc(c, square * sizeof *m),
           *work = oa_alloc(c, oa_qr_work(p->d, p->d) * sizeof *work);
    if (m && work) {
        oa_random_normals(oa_stream_child(s, OA_DRAW_MATRIX), 0, p->d * p->d, m);
        oa_orthonormal_qr(c, p->d, p->d, m, work);
        memcpy(out, m + p->first_head * p->width * p->d,
               (size_t)(p->heads * p->width * p->d) * sizeof *m);
    }
    oa_free(m);
    oa_free(work);
    return oa_status(c);
}

/* ---- all kinds ---- */

static const struct {
    const char *name;
    void (*make)(const struct projection_head *h); /* NULL: learned, slice (generate_slice) */
    const char *description;
} kinds[OA_PROJECTIONS] = {
    [OA_PROJECTION_LEARNED] = { "learned", NULL, "trained with the model" },
    [OA_PROJECTION_HAAR] = { "haar", generate_haar,
                             "uniform among matrices with orthonormal columns: QR of a Gaussian "
                             "matrix, signs corrected" },
    [OA_PROJECTION_GRAM_SCHMIDT] = { "gram-schmidt", generate_gram_schmidt,
                                     "the same matrix by modified Gram–Schmidt, run twice" },
    [OA_PROJECTION_GAUSSIAN] = { "gaussian", generate_gaussian,
                                 "N(0, 1/D): columns only nearly orthonormal; the control" },
    [OA_PROJECTION_SLICE] = { "slice", NULL,
                              "columns of one uniform D×D matrix for all heads, which are then "
                              "orthogonal to each other" },
    [OA_PROJECTION_SRHT] = { "srht", generate_chain_matrix,
                             "random signs, a Hadamard matrix over √D, K distinct columns of it" },
    [OA_PROJECTION_HD3] = { "hd3", generate_chain_matrix,
                            "K columns of three Hadamard matrices with random signs: nearer to "
                            "uniform than srht" },
    [OA_PROJECTION_BLOCK] = { "block", generate_block,
                              "D/K uniform K×K matrices on top of each other, over √(D/K)" },
    [OA_PROJECTION_GIVENS] = { "givens", generate_givens,
                               "⌈D ln D⌉ random plane rotations of the first K unit vectors: not "
                               "quite mixed" },
    [OA_PROJECTION_PERMUTATION] = { "permutation", generate_chain_matrix,
                                    "K of the D coordinates with random signs; the negative "
                                    "control" },
};

const char *oa_projection_name(enum oa_projection kind)
{
    return kinds[kind].name;
}

const char *oa_projection_description(enum oa_projection kind)
{
    return kinds[kind].description;
}

enum oa_projection oa_projection_of(const char *word)
{
    int i = 0;
    while (i < OA_PROJECTIONS && strcmp(kinds[i].name, word) != 0)
        i++;
    return (enum oa_projection)i;
}

enum oa_error oa_projection_check(oa_context *c, const struct oa_projection_shape *p)
{
    if (p->kind == OA_PROJECTION_SLICE && p->layer_heads * p->width != p->d)
        return oa_fail(c, OA_SHAPE,
                       "qk=slice splits a %ld×%ld matrix among the heads, but %ld heads of width "
                       "%ld have %ld columns; use qk=haar, or heads with %ld columns",
                       p->d, p->d, p->layer_heads, p->width, p->layer_heads * p->width, p->d);
    if (p->kind == OA_PROJECTION_BLOCK && p->d % p->width)
        return oa_fail(c, OA_SHAPE,
                       "qk=block needs a head width, %ld, that divides the model width %ld; use "
                       "qk=haar, or another number of heads",
                       p->width, p->d);
    if (p->kind != OA_PROJECTION_GAUSSIAN && p->width > p->d)
        return oa_fail(c, OA_SHAPE,
                       "qk=%s needs %ld orthonormal columns of length %ld, but at most %ld exist; "
                       "use qk=gaussian, or narrower heads",
                       kinds[p->kind].name, p->width, p->d, p->d);
    return OA_OK;
}

struct projection_job {
    const struct oa_projection_shape *p;
    void (*make)(const struct projection_head *h);
    struct oa_stream stream;
    double *out;
    long size; /* numbers of a head */
};

static void generate_head(void *argument, long item, const struct oa_worker *worker)
{
    const struct projection_job *d = argument;
    d->make(&(struct projection_head){ .p = d->p,
                                       .d = d->p->d,
                                       .k = d->p->width,
                                       .stream = oa_stream_child(d->stream, (uint64_t)item),
                                       .scratch = worker->scratch,
                                       .u = d->out + item * d->size });
}

enum oa_error oa_generate_projection(oa_context *c, const struct oa_projection_shape *p,
                                     struct oa_stream s, double *out)
{
    OA_TRY(oa_projection_check(c, p));
    if (p->kind == OA_PROJECTION_SLICE)
        return generate_slice(c, p, s, out);
    struct projection_job d = {
        .p = p, .make = kinds[p->kind].make, .stream = s, .out = out, .size = p->width * p->d
    };
    oa_parallel(c, p->heads, generate_head, &d);
    return oa_status(c);
}

/* ---- chains ---- */

bool oa_projection_chain(const struct oa_projection_shape *p, struct oa_chain *out)
{
    return oa_chain_of(p->kind, p->d, p->width, out) && oa_chain_pays(out);
}

static void generate_chain(const struct projection_head *h)
{
    struct oa_chain chain;
    oa_chain_of(h->p->kind, h->d, h->k, &chain);
    oa_chain_draw(&chain, h->p->kind, h->stream, h->scratch, h->u);
}

enum oa_error oa_generate_chains(oa_context *c, const struct oa_projection_shape *p,
                                 struct oa_stream s, double *out)
{
    struct oa_chain chain;
    OA_TRY(oa_projection_check(c, p));
    if (!oa_chain_of(p->kind, p->d, p->width, &chain))
        return oa_fail(c, OA_INTERNAL, "the random projection \"%s\" is not a chain",
                       kinds[p->kind].name);
    struct projection_job d = {
        .p = p, .make = generate_chain, .stream = s, .out = out, .size = oa_chain_numbers(&chain)
    };
    oa_parallel(c, p->heads, generate_head, &d);
    return oa_status(c);
}
