/* SPDX-License-Identifier: Apache-2.0
 * The innermost loops of tile_product.h and tile_attention.h for processors that have no tiles but
 * multiply pairs of bf16 by vectors: VDPBF16PS adds to each of 16 sums the two products of a pair
 * of numbers, first the odd one, then the even one (Intel 64 and IA-32 Architectures Software
 * Developer's Manual, volume 2). The packed order of tiles is that of its operands: a row of a tile
 * of B is 16 pairs, and a word of a tile of A the pair that meets all of them.
 *
 * Eight rows by two vectors of sums are in registers, or sixteen by one: enough to hide the latency
 * of the instruction, and with two vectors ten loads for sixteen of them. The prefetches of the
 * loops on tiles are left to the hardware prefetcher. */
#include "kernels/tile_pack_avx512.h"

#include "kernels/tile_operands.h"

#include <string.h>

#define tiles_begin() ((void)0)
#define tiles_end() ((void)0)

enum {
    FINISHES_AT_ONCE = true, /* multiply_pair stores its own sums in C, from registers */
    READS_WHOLE_TILES = false,
    SUMS_TALL = 8,
    NEAR = 128 /* bytes of B that are read next: two lines */
};

/* The operands of a block of sums: rows of A, `row` bytes apart; one or two columns of tiles of B,
 * whose rows are b_row bytes apart; and the bytes from one step of k to the next. */
struct vector_block {
    const char *a, *b, *beside;
    long row, a_step, b_row, b_step, steps;
};

/* Hides a constant from the compiler, which would otherwise unroll the loop and reorder the loads,
 * although the hardware prefetcher needs them in memory order. */
INLINE int unknown(int n)
{
    __asm__("" : "+r"(n));
    return n;
}

/* Sums of four rows by one or two vectors, each a variable of its own, because compilers put an
 * array in memory before and after the loop. */
struct sums_of_four {
    __m512 left0, left1, left2, left3, right0, right1, right2, right3;
};
#define EACH_OF_FOUR(ROW) ROW(0) ROW(1) ROW(2) ROW(3)

INLINE __m512bh pair_of(const char *word)
{
    int pair;
    memcpy(&pair, word, sizeof pair);
    return (__m512bh)_mm512_set1_epi32(pair);
}

INLINE void clear_four(struct sums_of_four *s)
{
#define CLEAR(i) s->left##i = s->right##i = _mm512_setzero_ps();
    EACH_OF_FOUR(CLEAR)
#undef CLEAR
}

/* The sums of one of the two vectors += the products of a word of each of so many rows with a row
 * of B. */
INLINE void add_four(int heights, bool right, const char *a, long row, __m512bh b,
                     struct sums_of_four *s)
{
#define ADD(i)                                                                                     \
    if (i < heights) {                                                                             \
        __m512bh pair = pair_of(a + i * row);                                                      \
        if (right)                                                                                 \
            s->right##i = _mm512_dpbf16_ps(s->right##i, pair, b);                                  \
        else                                                                                       \
            s->left##i = _mm512_dpbf16_ps(s->left##i, pair, b);                                    \
    }
    EACH_OF_FOUR(ADD)
#undef ADD
}

INLINE void add_to_four(int heights, const float *from, struct sums_of_four *s)
{
#define ADD(i)                                                                                     \
    if (i < heights) {                                                                             \
        s->left##i = _mm512_add_ps(s->left##i, _mm512_loadu_ps(from + i * STEP));                  \
        s->right##i = _mm512_add_ps(s->right##i, _mm512_loadu_ps(from + i * STEP + STRIP));        \
    }
    EACH_OF_FOUR(ADD)
#undef ADD
}

INLINE void put_four(int heights, int wide, const struct sums_of_four *s, float *to, long next)
{
#define PUT(i)                                                                                     \
    if (i < heights) {                                                                             \
        _mm512_storeu_ps((float *)((char *)to + i * next), s->left##i);                            \
        if (wide == 2)                                                                             \
            _mm512_storeu_ps((float *)((char *)to + i * next) + STRIP, s->right##i);               \
    }
    EACH_OF_FOUR(PUT)
#undef PUT
}

/* Stores rows from `first` on, up to the last, in C, and prefetches the place of the next ones. */
INLINE void finish_four(const struct tile_finish *f, long first, bool real, bool add,
                        const struct sums_of_four *s)
{
    char *c = f->c + (size_t)first * f->next;
    const char *ahead = f->ahead + (size_t)first * f->next;
    __mmask32 mask = first32(f->cols);
#define FINISH(i)                                                                                  \
    if (first + i < f->rows) {                                                                     \
        fetch_to_write(ahead);                                                                     \
        if (real)                                                                                  \
            fetch_to_write(ahead + 64);                                                            \
        finish_row(mask, s->left##i, s->right##i, real, add, c);                                   \
        c += f->next;                                                                              \
        ahead += f->next;                                                                          \
    }
    EACH_OF_FOUR(FINISH)
#undef FINISH
}

/* Prefetches the line at this distance in bytes: into L1 but not L2 if it is read next, otherwise
 * into L2. */
INLINE void ask_for(const char *line, long ahead)
{
    if (ahead == NEAR)
        _mm_prefetch(line + ahead, _MM_HINT_NTA);
    else
        fetch(line + ahead);
}

/* One of the two vectors of sums += a tile of A, with that number of rows, times one of B, which is
 * read in memory order and prefetched at this distance in bytes. */
INLINE void add_tile(int heights, long ask, bool right, const char *a, long row, const char *b,
                     long b_row, struct sums_of_four *s, struct sums_of_four *below)
{
#define ADD(p)                                                                                     \
    {                                                                                              \
        if (ask)                                                                                   \
            ask_for(b + (p)*b_row, ask);                                                           \
        __m512bh pairs = (__m512bh)_mm512_loadu_si512(b + (p)*b_row);                              \
        add_four(heights, right, a + 4 * (p), row, pairs, s);                                      \
        add_four(heights - 4, right, a + 4 * (p) + 4 * row, row, pairs, below);                    \
    }
    for (int n = unknown(STRIP / 4); n > 0; n--, a += 16, b += 4 * b_row) {
        ADD(0)
        ADD(1)
        ADD(2)
        ADD(3)
    }
#undef ADD
}

/* s = A·B, up to eight rows by two vectors, plus `from`, rows of 32. */
INLINE void make_sums(int heights, long ask, const struct vector_block *x, const float *from,
                      struct sums_of_four *s, struct sums_of_four *below)
{
    const char *a = x->a, *b = x->b, *beside = x->beside;
    const long row = x->row, a_step = x->a_step, b_row = x->b_row, b_step = x->b_step;
    clear_four(s);
    clear_four(below);
    for (long n = x->steps; n > 0; n--, a += a_step, b += b_step, beside += b_step) {
        add_tile(heights, ask, false, a, row, b, b_row, s, below);
        add_tile(heights, ask, true, a, row, beside, b_row, s, below);
    }
    if (from) {
        add_to_four(heights, from, s);
        add_to_four(heights - 4, from + 4 * STEP, below);
    }
}

INLINE void multiply_rows(int heights, long ask, const struct vector_block *x, const float *from,
                          float *to, long next)
{
    struct sums_of_four s, below;
    make_sums(heights, ask, x, from, &s, &below);
    put_four(heights, 2, &s, to, next);
    put_four(heights - 4, 2, &below, (float *)((char *)to + 4 * next), next);
}

/* Separate functions, so that the loop has everything in registers. Stores eight rows of 32 sums,
 * or sixteen of 16, in `to`, rows `next` bytes apart; from: rows of 32 that are added, or NULL. */
__attribute__((noinline)) static void multiply_wide(const struct vector_block *x, const float *from,
                                                    float *to, long next)
{
    multiply_rows(SUMS_TALL, 0, x, from, to, next);
}

/* Up to eight rows, always with prefetches: a constant distance saves a test per vector. */
__attribute__((noinline)) static void multiply_few(int heights, long ask,
                                                   const struct vector_block *x, const float *from,
                                                   float *to, long next)
{
    if (ask <= 0)
        __builtin_unreachable();
#define HEIGHT(h)                                                                                  \
    case (h):                                                                                      \
        if (ask == NEAR)                                                                           \
            multiply_rows(h, NEAR, x, from, to, next);                                             \
        else                                                                                       \
            multiply_rows(h, ask, x, from, to, next);                                              \
        break;
    switch (heights) {
        HEIGHT(1)
        HEIGHT(2)
        HEIGHT(3)
        HEIGHT(4)
        HEIGHT(5)
        HEIGHT(6)
        HEIGHT(7)
        HEIGHT(8)
    }
#undef HEIGHT
}

__attribute__((noinline)) static void multiply_narrow(const struct vector_block *x, float *to,
                                                      long next)
{
    struct sums_of_four s[4];
    const char *a = x->a, *b = x->b;
    for (int i = 0; i < 4; i++)
        clear_four(&s[i]);
    for (long n = x->steps; n > 0;
         n--, a += x->a_step - 4 * STRIP, b += x->b_step - STRIP * x->b_row)
        for (int p = 0; p < STRIP; p++, a += 4, b += x->b_row) {
            __m512bh first = (__m512bh)_mm512_loadu_si512(b);
            for (int i = 0; i < 4; i++)
                add_four(4, false, a + 4 * i * x->row, x->row, first, &s[i]);
        }
    for (int i = 0; i < 4; i++)
        put_four(4, 1, &s[i], (float *)((char *)to + 4 * i * next), next);
}

INLINE void finish_eight(const struct tile_finish *f, long first, bool real, bool add,
                         const struct sums_of_four *s, const struct sums_of_four *below)
{
    finish_four(f, first, real, add, s);
    finish_four(f, first + 4, real, add, below);
}

/* Stores eight rows of 32 sums in C. */
__attribute__((noinline)) static void multiply_to_c(const struct vector_block *x, const float *from,
                                                    const struct tile_finish *f, long first)
{
    struct sums_of_four s, below;
    make_sums(SUMS_TALL, 0, x, from, &s, &below);
    if (!f->real)
        finish_eight(f, first, false, false, &s, &below);
    else if (f->add)
        finish_eight(f, first, true, true, &s, &below);
    else
        finish_eight(f, first, true, false, &s, &below);
}

/* Prefetches operands of the next products during steps first … last − 1. */
INLINE void fetch_beside(const struct tile_pair *x, long first, long last)
{
    for (long s = first; s < last; s++) {
        for (long i = 0; i < x->fetched; i++)
            fetch(x->below + 64 * s + i * x->below_row);
        for (long i = 0; i < x->lines; i++)
            fetch(x->right + 64 * (s * x->lines + i));
    }
}

INLINE struct vector_block pair_block(const struct tile_pair *x, long i)
{
    return (struct vector_block){ x->a.at + i * x->a.row,
                                  x->b,
                                  x->b + TILE_BYTES,
                                  x->a.row,
                                  x->a.step,
                                  64,
                                  STEP_BYTES,
                                  x->steps };
}

/* Prefetch distance of a group of rows in bytes of B: with few rows, the first group reads B from
 * memory, and the second prefetches the next panel. */
static long asked_by(const struct tile_pair *x, long group)
{
    if (x->few && group == 0 && x->ask)
        return x->ask;
    return x->few && group == 1 ? x->next_panel : NEAR;
}

/* All rows, in groups of similar size: a small one would wait for its prefetches. */
static void multiply_few_rows(const struct tile_pair *x, const struct tile_finish *finish)
{
    long groups = (x->rows + SUMS_TALL - 1) / SUMS_TALL;
    for (long i = 0, n = 0, heights; n < groups; n++, i += heights) {
        const struct vector_block v = pair_block(x, i);
        heights = (x->rows - i + groups - n - 1) / (groups - n);
        multiply_few((int)heights, asked_by(x, n), &v, x->from ? x->from + i * STEP : NULL,
                     (float *)((char *)x->to + i * x->next), x->next);
        if (finish->rows)
            finish_rows(finish, i, heights);
    }
}

/* Stores the sums of the last step of k in C. Prefetches are spread over the groups of eight rows,
 * since a core has a limited number of outstanding lines. */
static void multiply_pair(const struct tile_pair *x, const struct tile_finish *finish)
{
    enum { PARTS = STEP / SUMS_TALL };
    if (x->few || x->rows < STEP) {
        multiply_few_rows(x, finish);
        return;
    }
    for (long n = 0; n < PARTS; n++) {
        long i = n * SUMS_TALL;
        const float *from = x->from ? x->from + i * STEP : NULL;
        const struct vector_block v = pair_block(x, i);
        fetch_beside(x, n * x->steps / PARTS, (n + 1) * x->steps / PARTS);
        if (finish->rows == 0)
            multiply_wide(&v, from, (float *)((char *)x->to + i * x->next), x->next);
        else
            multiply_to_c(&v, from, finish, i);
    }
}

INLINE struct vector_block block_of(const struct tile_left *a, long strip, const char *b,
                                    const char *beside, long b_row, long b_step, long steps)
{
    return (struct vector_block){
        left_strip(a, strip), b, beside, a->row, a->step, b_row, b_step, steps
    };
}

/* One strip with one column of tiles. */
static void multiply_one(const struct tile_left *a, long strip, const char *b, long b_row,
                         long b_step, long steps, float *to, long next)
{
    struct vector_block x = block_of(a, strip, b, b, b_row, b_step, steps);
    multiply_narrow(&x, to, next);
}

/* One strip with two columns of tiles. */
static void multiply_two(const struct tile_left *a, long strip, const char *b, const char *beside,
                         long b_row, long b_step, long steps, float *to, long next)
{
    struct vector_block x = block_of(a, strip, b, beside, b_row, b_step, steps);
    multiply_wide(&x, NULL, to, next);
    x.a += SUMS_TALL * x.row;
    multiply_wide(&x, NULL, (float *)((char *)to + SUMS_TALL * next), next);
}

/* Two strips with two columns of tiles. */
static void multiply_four(const struct tile_left *a, long strip, const char *b, const char *beside,
                          long b_row, long b_step, long steps, float *to, long next)
{
    multiply_two(a, strip, b, beside, b_row, b_step, steps, to, next);
    multiply_two(a, strip + 1, b, beside, b_row, b_step, steps,
                 to + STRIP * (next / (long)sizeof *to), next);
}
