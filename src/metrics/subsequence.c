/* SPDX-License-Identifier: Apache-2.0
 * Longest common subsequences: their length, and the one that rouge-score chooses. */
#include "metrics/metrics_parts.h"

/* Updates row[j], the LCS length with the first j units of `other`, for one more unit. bits: set
 * where the left neighbour is longer than the one above; or NULL. */
static void next_row(int32_t *row, int32_t unit, const int32_t *other, long n, uint8_t *bits,
                     size_t cell)
{
    int32_t corner = 0; /* what row[j - 1] was */
    for (long j = 1; j <= n; j++) {
        int32_t above = row[j], left = row[j - 1];
        if (bits)
            bits[(cell + (size_t)j) / 8] |= (uint8_t)((left > above) << (cell + (size_t)j) % 8);
        row[j] = unit == other[j - 1] ? corner + 1 : above > left ? above : left;
        corner = above;
    }
}

bool oa_longest_shared(struct oa_arena *a, const struct oa_text_ids *ids, long *length)
{
    long n = ids->length[1];
    int32_t *row = oa_arena_take(a, ((size_t)n + 1) * sizeof *row);
    if (!row)
        return false;
    memset(row, 0, ((size_t)n + 1) * sizeof *row);
    for (long i = 0; i < ids->length[0]; i++)
        next_row(row, ids->id[0][i], ids->id[1], n, NULL, 0);
    *length = row[n];
    return true;
}

bool oa_mark_shared(struct oa_arena *a, const struct oa_text_ids *ids, int reference,
                    int hypothesis, bool *marked)
{
    const int32_t *x = ids->id[reference], *y = ids->id[hypothesis];
    long m = ids->length[reference], n = ids->length[hypothesis];
    size_t mark = oa_arena_mark(a), width = (size_t)n + 1, bytes = ((size_t)m + 1) * width / 8 + 1;
    int32_t *row = oa_arena_take(a, width * sizeof *row);
    uint8_t *bits = oa_arena_take(a, bytes);
    if (!row || !bits)
        return false;
    memset(row, 0, width * sizeof *row);
    memset(bits, 0, bytes);
    for (long i = 1; i <= m; i++)
        next_row(row, x[i - 1], y, n, bits, (size_t)i * width);
    for (long i = m, j = n; i > 0 && j > 0;) {
        size_t cell = (size_t)i * width + (size_t)j;
        bool same = x[i - 1] == y[j - 1], left = bits[cell / 8] >> cell % 8 & 1;
        marked[i - 1] = marked[i - 1] || same;
        i -= same || !left;
        j -= same || left;
    }
    oa_arena_release(a, mark);
    return true;
}
