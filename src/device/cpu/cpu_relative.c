/* SPDX-License-Identifier: Apache-2.0
 * Relative positions in the logits: tables by distance d, and their use in the logits engine.
 *
 *     ALiBi   −m_h |d| (Press, Smith, Lewis, ICLR 2022, arXiv 2108.12409), with m_h = 2^(−8h/H),
 *             h = 1 … H, where H is a power of two; else the slopes of the largest power of two
 *             P < H, then every second one of 2P: h = 1, 3, 5, …
 *     T5      b_h[bucket(d)], trained (Raffel et al., JMLR 2020, arXiv 1910.10683). Causal: all B
 *             buckets are of t = −d, and d > 0 has that of 0. Otherwise B/2 of t = |d| where d ≤ 0
 *             and the rest where d > 0. Of B' buckets the first E = ⌊B'/2⌋ hold one distance each,
 *             the others E + ⌊(B' − E) log(t/E) / log(distance/E)⌋, at most B' − 1.
 *
 * A table has an entry for each distance, so that a row of a tile of logits adds a contiguous part
 * of it. Gradient of bias b_h[c]: Σ dS_ij over the pairs of that bucket, first along the diagonals
 * of a tile. */
#include "device/cpu/cpu_logits.h"

#include <math.h>
#include <string.h>

/* ---- tables ---- */

static double alibi_slope(long head, long heads)
{
    long power = 1;
    while (2 * power <= heads)
        power *= 2;
    if (head < power)
        return exp2(-8 * (double)(head + 1) / (double)power);
    return exp2(-8 * (double)(2 * (head - power) + 1) / (double)(2 * power));
}

/* Bucket of distance t among the `count` of one side. 10⁻⁹ makes the first distance of a bucket
 * independent of the rounding of the logarithm. */
static long side_bucket(long t, long count, long distance)
{
    long exact = count / 2;
    if (t < exact)
        return t;
    if (t >= distance)
        return count - 1;
    double share = log((double)t / (double)exact) / log((double)distance / (double)exact);
    return oa_min(exact + (long)(share * (double)(count - exact) + 1e-9), count - 1);
}

static long bucket_of(const struct oa_relative *a, long d)
{
    if (a->causal)
        return side_bucket(oa_max(0, -d), a->buckets, a->distance);
    long half = a->buckets / 2;
    bool behind = d > 0;
    return side_bucket(d < 0 ? -d : d, half, a->distance) + (behind ? half : 0);
}

static void fill_head(struct oa_device *d, const struct oa_relative *a, long h)
{
    long entries = 2 * a->length - 1;
    double m = a->kind == OA_RELATIVE_ALIBI ? alibi_slope(h, a->heads) : 0;
    for (long e = 0; e < entries; e++) {
        double far = fabs((double)(e - a->length + 1));
        double value = a->kind == OA_RELATIVE_T5
                           ? oa_real_get(d, a->bias, h * a->buckets + a->bucket[e])
                           : -m * far;
        oa_real_set(d, a->table, h * entries + e, value);
    }
}

void oa_cpu_relative(struct oa_device *d, const struct oa_relative *a)
{
    for (long e = 0; a->kind == OA_RELATIVE_T5 && e < 2 * a->length - 1; e++)
        a->bucket[e] = (int32_t)bucket_of(a, e - a->length + 1);
    for (long h = 0; h < a->heads; h++)
        fill_head(d, a, h);
}

/* ---- rows of logits ---- */

/* Index of the table for query i, to which the position of a key is added. */
static long zero_distance_entry(const struct oa_logits *a, long i)
{
    long position = a->distances.query ? a->distances.query[i] : a->shape.first + i;
    return a->distances.length - 1 - position;
}

void oa_distances_add(struct oa_device *d, const struct oa_logits *a, long h, long i, long begin,
                      long n, double factor, void *s)
{
    const struct oa_distances *r = &a->distances;
    const void *table = oa_real_at(d, r->table, h * (2 * r->length - 1));
    long at = zero_distance_entry(a, i);
    if (!r->key) {
        d->cpu->kernels.axpy(n, factor, oa_real_at(d, table, at + begin), s);
        return;
    }
    for (long j = 0; j < n; j++)
        oa_real_set(d, s, j,
                    oa_real_get(d, s, j) + factor * oa_real_get(d, table, at + r->key[begin + j]));
}

void oa_tiles_add_distances(struct oa_tiles *t, double factor)
{
    for (long i = 0; t->a->distances.table && i < oa_bounds_length(t->rows); i++)
        oa_distances_add(t->d, t->a, t->h, t->rows.begin + i, t->cols.begin,
                         oa_bounds_length(t->cols), factor,
                         oa_real_at(t->d, t->s, i * t->padded_cols));
}

/* ---- gradient ---- */

static long distance_blocks(const struct oa_device *d, const struct oa_logits *a)
{
    return oa_blocks(a->shape.queries,
                     oa_tile_round(oa_min(d->cpu->kernels.query_block, a->shape.queries)));
}

size_t oa_distances_bytes(const struct oa_device *d, const struct oa_logits *a)
{
    long sums = a->shape.batch * a->shape.heads * distance_blocks(d, a) * a->distances.buckets;
    return a->distances.dbias ? (size_t)sums * sizeof(double) : 0;
}

/* Sums of the current query block, [buckets]. */
static double *block_sums(const struct oa_tiles *t, double *sums)
{
    const struct oa_logits *a = t->a;
    long block = t->rows.begin / t->query_block;
    return sums + ((t->b * a->shape.heads + t->h) * distance_blocks(t->d, a) + block) *
                      a->distances.buckets;
}

/* Neighbouring keys are neighbours in the table: rows of dS are added along the diagonals of the
 * tile. */
static void sum_diagonals(struct oa_tiles *t, const void *ds, void *diagonal, double *sums)
{
    const struct oa_distances *r = &t->a->distances;
    long rows = oa_bounds_length(t->rows), cols = oa_bounds_length(t->cols);
    memset(diagonal, 0, (size_t)(rows + cols) * t->d->numbers.real_size);
    for (long i = 0; i < rows; i++)
        t->d->cpu->kernels.add_to_real(cols, 1, oa_act_at(t->d, ds, i * t->padded_cols),
                                       oa_real_at(t->d, diagonal, rows - 1 - i));
    long at = zero_distance_entry(t->a, t->rows.begin) + t->cols.begin - (rows - 1);
    for (long e = 0; e < rows + cols - 1; e++)
        sums[r->bucket[at + e]] += oa_real_get(t->d, diagonal, e);
}

/* Pair by pair, for keys that are not in the order of positions. */
static void sum_pairs(struct oa_tiles *t, const void *ds, void *row, double *sums)
{
    const struct oa_distances *r = &t->a->distances;
    for (long i = 0; i < oa_bounds_length(t->rows); i++) {
        long at = zero_distance_entry(t->a, t->rows.begin + i);
        t->d->cpu->kernels.real_from_act(oa_bounds_length(t->cols),
                                         oa_act_at(t->d, ds, i * t->padded_cols), row);
        for (long j = 0; j < oa_bounds_length(t->cols); j++)
            sums[r->bucket[at + r->key[t->cols.begin + j]]] += oa_real_get(t->d, row, j);
    }
}

void oa_tiles_distance_gradient(struct oa_tiles *t, const void *ds, void *room, double *sums)
{
    if (t->a->distances.key)
        sum_pairs(t, ds, room, block_sums(t, sums));
    else
        sum_diagonals(t, ds, room, block_sums(t, sums));
}

/* In the order of batch items and blocks. */
void oa_distances_finish(struct oa_device *d, const struct oa_logits *a, const double *sums)
{
    const struct oa_attention_shape *s = &a->shape;
    long blocks = distance_blocks(d, a), buckets = a->distances.buckets;
    for (long at = 0; sums && at < s->heads * buckets; at++) {
        double sum = 0;
        for (long b = 0; b < s->batch; b++)
            for (long i = 0; i < blocks; i++)
                sum += sums[((b * s->heads + at / buckets) * blocks + i) * buckets + at % buckets];
        oa_real_set(d, a->distances.dbias, at, oa_real_get(d, a->distances.dbias, at) + sum);
    }
}
