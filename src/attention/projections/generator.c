/* SPDX-License-Identifier: Apache-2.0
 *
 * Random projections U [d, k] for frozen queries and keys, one for each head (mechanisms of the
 * option qk):
 *
 *     haar          Q of the QR of a Gaussian matrix, R_ll > 0: uniform among orthonormal columns
 *     gram-schmidt  the same matrix by modified Gram–Schmidt, run twice
 *     gaussian      N(0, 1/d), columns only nearly orthonormal: the control
 *     slice         one Haar d×d matrix, head h takes columns h·k …: heads orthogonal to each other
 * (H·k = d) srht          D H P: random signs, Hadamard matrix / √d, k distinct columns (Ailon,
 * Chazelle 2006) hd3           the first k columns of (H D₁)(H D₂)(H D₃) (Choromanski et al. 2017,
 * arXiv 1703.00864) block         B^{-1/2} [Q_1; …; Q_B], independent Haar k×k (d = B·k) givens ⌈d
 * ln d⌉ random plane rotations of the first k unit vectors: near Haar, not quite mixed permutation
 * k distinct coordinates with random signs: the negative control
 *
 * srht, hd3 and permutation are chains (chains.c) and mostly run as such. Stored as a Linear
 * weight: row l of a head is column l of its U. Everything is made in double from the given stream;
 * head h uses its child h, so the result does not depend on threads.
 */
#include "attention/attention.h"
#include "attention/projections/chains.h"
#include "attention/projections/orthonormal.h"

#include <math.h>
#include <string.h>

#define TWO_PI 6.283185307179586476925286766559

struct head {
    const struct oa_projection_shape *p;
    long d, k;
    struct oa_stream stream;
    struct oa_arena *scratch;
    double *u; /* k columns of d */
};

/* ---- haar, gram-schmidt, gaussian ---- */

/* Haar d×k from the given draw; without scratch memory the failure is in the context already. */
static void haar(const struct head *h, uint64_t draw, long d, long k, double *out)
{
    double *work = oa_arena_take(h->scratch, oa_qr_work(d, k) * sizeof *work);
    if (!work)
        return;
    oa_random_normals(oa_stream_child(h->stream, draw), 0, d * k, out);
    oa_orthonormal_qr(NULL, d, k, out, work);
}

static void make_haar(const struct head *h)
{
    haar(h, OA_DRAW_MATRIX, h->d, h->k, h->u);
}

static void make_gram_schmidt(const struct head *h)
{
    oa_random_normals(oa_stream_child(h->stream, OA_DRAW_MATRIX), 0, h->d * h->k, h->u);
    oa_orthonormal_gram_schmidt(h->d, h->k, h->u);
}

static void make_gaussian(const struct head *h)
{
    oa_random_normals(oa_stream_child(h->stream, OA_DRAW_MATRIX), 0, h->d * h->k, h->u);
    for (long i = 0; i < h->d * h->k; i++)
        h->u[i] /= sqrt((double)h->d);
}

/* ---- block, givens ---- */

static void make_block(const struct head *h)
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

static void rotate_plane(const struct head *h, long a, long b, double angle)
{
    double c = cos(angle), s = sin(angle);
    for (long l = 0; l < h->k; l++) {
        double *x = h->u + l * h->d, first = x[a];
        x[a] = c * first - s * x[b];
        x[b] = s * first + c * x[b];
    }
}

static void make_givens(const struct head *h)
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
        rotate_plane(h, a, b + (b >= a), TWO_PI * oa_random_uniform(angles, (uint64_t)i));
    }
}

/* ---- srht, hd3, permutation: chains ---- */

static void make_chain(const struct head *h)
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

static enum oa_error make_slice(oa_context *c, const struct oa_projection_shape *p,
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
    void (*make)(
        const struct head *h); /* NULL: slice, made for all heads at once, and what is not drawn */
    const char *what;
} kinds[OA_PROJECTIONS] = {
    [OA_PROJECTION_LEARNED] = { "learned", NULL, "trained with the model" },
    [OA_PROJECTION_HAAR] = { "haar", make_haar,
                             "uniform among matrices with orthonormal columns: QR of a Gaussian "
                             "matrix, signs "
                             "corrected" },
    [OA_PROJECTION_GRAM_SCHMIDT] = { "gram-schmidt", make_gram_schmidt,
                                     "the same matrix by modified Gram–Schmidt, run twice" },
    [OA_PROJECTION_GAUSSIAN] = { "gaussian", make_gaussian,
                                 "N(0, 1/D): columns only nearly orthonormal; the control" },
    [OA_PROJECTION_SLICE] = { "slice", NULL,
                              "columns of one uniform D×D matrix for all heads, which are then "
                              "orthogonal to each "
                              "other" },
    [OA_PROJECTION_SRHT] = { "srht", make_chain,
                             "random signs, a Hadamard matrix over √D, K distinct columns of it" },
    [OA_PROJECTION_HD3] = { "hd3", make_chain,
                            "K columns of three Hadamard matrices with random signs: nearer to "
                            "uniform than srht" },
    [OA_PROJECTION_BLOCK] = { "block", make_block,
                              "D/K uniform K×K matrices on top of each other, over √(D/K)" },
    [OA_PROJECTION_GIVENS] = { "givens", make_givens,
                               "⌈D ln D⌉ random plane rotations of the first K unit vectors: not "
                               "quite mixed" },
    [OA_PROJECTION_PERMUTATION] = { "permutation", make_chain,
                                    "K of the D coordinates with random signs; the negative "
                                    "control" },
};

const char *oa_projection_name(enum oa_projection kind)
{
    return kinds[kind].name;
}

const char *oa_projection_description(enum oa_projection kind)
{
    return kinds[kind].what;
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
                       "qk=slice cuts one %ld×%ld matrix into the heads of the layer, but %ld "
                       "heads of width %ld make "
                       "%ld columns; use qk=haar, or heads that make %ld",
                       p->d, p->d, p->layer_heads, p->width, p->layer_heads * p->width, p->d);
    if (p->kind == OA_PROJECTION_BLOCK && p->d % p->width)
        return oa_fail(c, OA_SHAPE,
                       "qk=block stacks square blocks of the head width %ld, which does not divide "
                       "the model width %ld; "
                       "use qk=haar, or another number of heads",
                       p->width, p->d);
    if (p->kind != OA_PROJECTION_GAUSSIAN && p->width > p->d)
        return oa_fail(c, OA_SHAPE,
                       "qk=%s makes %ld orthonormal columns of length %ld, and there are no more "
                       "than %ld; use "
                       "qk=gaussian, or narrower heads",
                       kinds[p->kind].name, p->width, p->d, p->d);
    return OA_OK;
}

struct drawing {
    const struct oa_projection_shape *p;
    void (*make)(const struct head *h);
    struct oa_stream stream;
    double *out;
    long size; /* numbers of a head */
};

static void draw_head(void *argument, long item, const struct oa_worker *worker)
{
    const struct drawing *d = argument;
    d->make(&(struct head){ .p = d->p,
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
        return make_slice(c, p, s, out);
    struct drawing d = {
        .p = p, .make = kinds[p->kind].make, .stream = s, .out = out, .size = p->width * p->d
    };
    oa_parallel(c, p->heads, draw_head, &d);
    return oa_status(c);
}

/* ---- chains as they are ---- */

bool oa_projection_chain(const struct oa_projection_shape *p, struct oa_chain *out)
{
    return oa_chain_of(p->kind, p->d, p->width, out) && oa_chain_pays(out);
}

static void keep_chain(const struct head *h)
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
    struct drawing d = {
        .p = p, .make = keep_chain, .stream = s, .out = out, .size = oa_chain_numbers(&chain)
    };
    oa_parallel(c, p->heads, draw_head, &d);
    return oa_status(c);
}
