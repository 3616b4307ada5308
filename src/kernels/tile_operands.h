/* SPDX-License-Identifier: Apache-2.0
 * Arguments of the innermost loops of products on tiles (tile_multiply.h, tile_vectors.h):
 * addresses of operands, prefetches, and sums that are stored meanwhile. Included after
 * finish_rows. */
enum { STEP = 32, TILE_BYTES = 1024, STEP_BYTES = 2 * TILE_BYTES, SUMS = STEP * STEP, STRIP = 16 };
#define SUMS_ROW ((long)(STEP * sizeof(float)))

static long least(long a, long b)
{
    return a < b ? a : b;
}

/* Tiles of a panel of A: the second follows the rows of the first. */
struct tile_rows {
    const char *at;
    long row, step; /* bytes to the next row, to the next 32 of k */
};

/* A left operand: strips of 16 rows, for each step of 32 along k a tile. */
struct tile_left {
    const char *at;
    long row, step, strip, panel; /* bytes to the next row, step, strip of a panel, panel */
};

static const char *left_strip(const struct tile_left *a, long i)
{
    return a->at + i / 2 * a->panel + i % 2 * a->strip;
}

TILE_INLINE void finish_until(const struct tile_finish *f, long *row, long last)
{
    last = least(last, f->rows);
    if (*row < last)
        finish_rows(f, *row, last - *row);
    *row = last;
}

/* A panel of A with one of B. */
struct tile_pair {
    long steps, share; /* rows of the sums of the previous pair that each step stores in C */
    struct tile_rows a;
    const char *b;
    const float *from; /* sums so far, NULL: none */
    float *to;         /* sums, or C itself */
    long next;         /* bytes from one row there to the next */
    const char *below; /* next rows of A: each step prefetches a line of each */
    long fetched;      /* number of these rows */
    long below_row;    /* bytes from one of them to the next */
    const char *right; /* next panel of B: each step prefetches some lines */
    long lines;
    long rows; /* of A, of 32: the other sums are not used */
    bool few;  /* all rows of A are in this panel, and B comes from memory */
    long ask; /* with `few`: prefetch distance for B in bytes; 0: left to the hardware prefetcher */
    long next_panel; /* bytes from this panel of B to the next */
};
