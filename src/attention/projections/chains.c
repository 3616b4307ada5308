/* SPDX-License-Identifier: Apache-2.0
 * Chains U = s_0 H s_1 H … H s_f P of one head, with diagonals s_i:
 *
 *     srht         f = 1, s_0 signs, s_1 = 1, P k distinct columns
 *     hd3          f = 3, s_0 = 1, s_1, s_2, s_3 signs, P the first k columns
 *     permutation  f = 0, P k distinct coordinates, s_0 their signs
 *
 * Where d is not a power of two, d = 2^a·b with b odd, H = H_{2^a} ⊗ Q with a Haar matrix Q [b, b]
 * of the head, which keeps columns orthonormal. With b = 1 Q is a sign, a factor of s_0. */
#include "attention/projections/chains.h"
#include "attention/projections/orthonormal.h"

#include <math.h>
#include <string.h>

bool oa_chain_of(enum oa_projection kind, long d, long k, struct oa_chain *out)
{
    if (kind != OA_PROJECTION_SRHT && kind != OA_PROJECTION_HD3 &&
        kind != OA_PROJECTION_PERMUTATION)
        return false;
    int factors = kind == OA_PROJECTION_HD3 ? 3 : kind == OA_PROJECTION_SRHT ? 1 : 0;
    *out = (struct oa_chain){ .width = d, .out = k, .factors = factors };
    return true;
}

bool oa_chain_pays(const struct oa_chain *c)
{
    return 2 * c->factors * oa_chain_unit(c) <= c->out;
}

/* ---- drawing ---- */

static double chain_random_sign(struct oa_stream s, long i)
{
    return oa_random_uniform(s, (uint64_t)i) < 0.5 ? -1 : 1;
}

/* k distinct columns, or the first k. */
static void chain_draw_columns(const struct oa_chain *c, bool first, struct oa_stream s,
                               struct oa_arena *scratch, double *numbers)
{
    long *order = first ? NULL : oa_arena_take(scratch, (size_t)c->width * sizeof *order);
    for (long i = 0; order && i < c->width; i++)
        order[i] = i;
    if (order)
        oa_shuffle_first(s, order, c->width, c->out);
    for (long l = 0; l < c->out; l++)
        numbers[oa_chain_columns_at(c) + l] = (double)(order ? order[l] : l);
}

/* Q, shared by the f Hadamard matrices. */
static void chain_draw_mix(const struct oa_chain *c, struct oa_stream s, struct oa_arena *scratch,
                           double *numbers)
{
    long b = oa_chain_unit(c), n = b * b;
    double *q = oa_arena_take(scratch, (size_t)n * sizeof *q);
    double *work = oa_arena_take(scratch, oa_qr_work(b, b) * sizeof *work);
    if (!q || !work)
        return;
    oa_random_normals(s, 0, n, q);
    oa_orthonormal_qr(NULL, b, b, q, work);
    if (oa_chain_mixes(c)) {
        memcpy(numbers + oa_chain_mix_at(c), q, (size_t)n * sizeof *q);
        return;
    }
    for (long i = 0; i < c->width && c->factors % 2; i++)
        numbers[i] *= q[0];
}

void oa_chain_draw(const struct oa_chain *c, enum oa_projection kind, struct oa_stream head,
                   struct oa_arena *scratch, double *numbers)
{
    bool hd3 = kind == OA_PROJECTION_HD3, permutation = c->factors == 0;
    struct oa_stream signs = oa_stream_child(head, OA_DRAW_SIGNS);
    long power = c->width / oa_chain_unit(c);
    chain_draw_columns(c, hd3, oa_stream_child(head, OA_DRAW_COLUMNS), scratch, numbers);
    for (long i = 0; i <= c->factors; i++) {
        double size = i < c->factors ? 1 / sqrt((double)power) : 1;
        bool has_signs = hd3 ? i > 0 : i == 0 && !permutation;
        for (long r = 0; r < c->width; r++)
            numbers[i * c->width + r] =
                size * (has_signs ? chain_random_sign(signs, (hd3 ? i - 1 : 0) * c->width + r) : 1);
    }
    for (long l = 0; l < c->out && permutation; l++)
        numbers[(long)numbers[oa_chain_columns_at(c) + l]] = chain_random_sign(signs, l);
    if (c->factors)
        chain_draw_mix(c, oa_stream_child(head, OA_DRAW_MATRIX), scratch, numbers);
}

/* ---- as a matrix ---- */

/* x ← (H_{2^a} ⊗ Q) x: Q on each run of b, then the fast Walsh–Hadamard transform across the runs.
 */
static void chain_apply_hadamard(const struct oa_chain *c, const double *q, double *room, double *x)
{
    long d = c->width, b = oa_chain_unit(c);
    memcpy(room, x, (size_t)d * sizeof *x);
    for (long r = 0; r < d && oa_chain_mixes(c); r++) {
        x[r] = 0;
        for (long j = 0; j < b; j++)
            x[r] += q[j * b + r % b] * room[r - r % b + j];
    }
    for (long step = b; step < d; step *= 2) {
        for (long r = 0; r < d; r++) {
            if (r / step % 2)
                continue;
            double above = x[r], below = x[r + step];
            x[r] = above + below;
            x[r + step] = above - below;
        }
    }
}

void oa_chain_column(const struct oa_chain *c, const double *numbers, long l, double *room,
                     double *column)
{
    const double *last = numbers + c->factors * c->width;
    long coordinate = (long)numbers[oa_chain_columns_at(c) + l];
    memset(column, 0, (size_t)c->width * sizeof *column);
    column[coordinate] = last[coordinate];
    for (long i = c->factors - 1; i >= 0; i--) {
        chain_apply_hadamard(c, numbers + oa_chain_mix_at(c), room, column);
        for (long r = 0; r < c->width; r++)
            column[r] *= numbers[i * c->width + r];
    }
}
