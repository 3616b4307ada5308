/* SPDX-License-Identifier: Apache-2.0
 *
 * Products on packed operands: what the processor's tiles give and what the same source gives on
 * tiles in plain C, bit for bit; what vectors that multiply pairs give and what the instruction is
 * defined to; and that parts made with a packed operand have the bits of the whole product. That
 * they are right is for test_kernels.
 */
#include "plain_tiles.h"
#include "processors.h"
#include "testing.h"

#include "device/cpu/cpu.h"

#include <math.h>
#include <string.h>

/* Below, at and above tiles (16, 32), blocks (256 × 256 or 768) and slices of k (384, all of it up
 * to 1024). */
static const long shapes[][3] = {
    { 2, 1, 1 },      { 16, 16, 32 },    { 17, 15, 31 },   { 33, 47, 65 },
    { 64, 64, 64 },   { 31, 33, 385 },   { 5, 300, 1025 }, { 289, 70, 416 },
    { 100, 801, 40 }, { 65, 800, 1100 }, { 257, 513, 9 },  { 96, 32, 768 },
};
enum { SHAPES = sizeof shapes / sizeof *shapes, VARIANTS = 12, MOST = 1040 * 1056 };

struct fixture {
    oa_context *context;
    struct oa_kernels plain, amx, pairs;
    bool there, pairs_there;
    uint16_t *a, *b;
    float *start, *c[2];
    void *packed, *left;
};

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){ .context = oa_open(NULL) };
    const struct oa_cpu *cpu = oa_context_cpu(f.context);
    oa_kernels_ref(&f.plain, OA_PRECISION_BF16);
    oa_kernels_tiles(&f.plain);
    f.there = oa_cpu_isa(cpu) == OA_ISA_AMX;
    oa_kernels_init(&f.amx, OA_PRECISION_BF16, OA_ISA_AMX, cpu);
    f.pairs_there = oa_cpu_isa(cpu) >= OA_ISA_AVX512 && cpu->avx512_bf16;
    oa_kernels_without_amx(&f.pairs, OA_PRECISION_BF16, OA_ISA_AVX512, cpu);
    f.a = oa_alloc(f.context, MOST * sizeof *f.a);
    f.b = oa_alloc(f.context, MOST * sizeof *f.b);
    f.start = oa_alloc(f.context, MOST * sizeof *f.start);
    f.packed = oa_alloc(f.context, 4 * MOST);
    f.left = oa_alloc(f.context, 4 * MOST);
    for (int i = 0; i < 2; i++)
        f.c[i] = oa_alloc(f.context, MOST * sizeof *f.c[i]);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    void *const memory[] = { f->a, f->b, f->start, f->packed, f->left, f->c[0], f->c[1] };
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        oa_free(memory[i]);
    oa_close(f->context);
    return 0;
}

static struct oa_gemm gemm_of(const long shape[3], int variant, long more)
{
    bool ta = variant & 1, tb = variant & 2;
    long m = shape[0], n = shape[1], k = shape[2];
    return (struct oa_gemm){ .m = m,
                             .n = n,
                             .k = k,
                             .lda = (ta ? m : k) + more,
                             .ldb = (tb ? k : n) + more,
                             .ldc = n + more,
                             .ta = ta,
                             .tb = tb,
                             .real_out = variant >= 4,
                             .accumulate = variant >= 8 };
}

/* Normal numbers; or, with `wild`, of every size and kind that bf16 has. */
static void fill(struct fixture *f, uint64_t seed, bool wild)
{
    struct oa_stream s = { seed, 7 };
    for (long i = 0; i < MOST; i++) {
        uint32_t r[4];
        oa_random_block(s, (uint64_t)i, r);
        f->a[i] = wild ? (uint16_t)r[0] : oa_float_to_bf16((float)(int32_t)r[0] * 0x1p-31f);
        f->b[i] = wild ? (uint16_t)r[1] : oa_float_to_bf16((float)(int32_t)r[1] * 0x1p-31f);
        f->start[i] = (float)(int32_t)r[2] * 0x1p-30f;
    }
}

static void multiply(struct fixture *f, const struct oa_kernels *k, const struct oa_gemm *g,
                     float *c)
{
    struct oa_gemm_state *s = k->gemm_open(f->context, OA_PRECISION_BF16);
    assert_non_null(s);
    memcpy(c, f->start, MOST * sizeof *c);
    k->gemm_part(s, g, &(struct oa_gemm_part){ 0, g->m, 0, g->n, 0 }, f->a, f->b, NULL, c);
    k->gemm_close(s);
}

/* Packs A in blocks. */
static void pack_left(struct fixture *f, const struct oa_kernels *k, const struct oa_gemm *g)
{
    assert_true(k->gemm_packed_bytes(&(struct oa_gemm){ .n = g->m, .k = g->k }) <= 4 * MOST);
    for (long i = 0; i < g->m; i += 64)
        for (long p = 0; p < g->k; p += 160) {
            struct oa_gemm_part part = { i, g->m - i < 64 ? g->m - i : 64, p,
                                         g->k - p < 160 ? g->k - p : 160, 0 };
            k->gemm_pack_left(g, &part, f->a, f->left);
        }
}

/* In parts, with B packed in blocks, and A too or not. */
static void multiply_in_parts(struct fixture *f, const struct oa_kernels *k,
                              const struct oa_gemm *whole, bool packed_a, float *c)
{
    struct oa_gemm with_a = *whole, *g = &with_a;
    struct oa_gemm_state *s = k->gemm_open(f->context, OA_PRECISION_BF16);
    assert_non_null(s);
    assert_true(k->gemm_packed_bytes(g) <= 4 * MOST);
    g->packed_a = packed_a;
    if (packed_a)
        pack_left(f, k, g);
    memcpy(c, f->start, MOST * sizeof *c);
    for (long j = 0; j < g->n; j += 224)
        for (long p = 0; p < g->k; p += 128) {
            struct oa_gemm_part part = { p, g->k - p < 128 ? g->k - p : 128, j,
                                         g->n - j < 224 ? g->n - j : 224, 0 };
            k->gemm_pack(g, &part, f->b, f->packed);
        }
    for (long i = 0; i < g->m; i += 96)
        for (long j = 0; j < g->n; j += 288) {
            struct oa_gemm_part part = { i, g->m - i < 96 ? g->m - i : 96, j,
                                         g->n - j < 288 ? g->n - j : 288, 0 };
            k->gemm_part(s, g, &part, packed_a ? f->left : f->a, f->b, f->packed, c);
        }
    k->gemm_close(s);
}

static void multiply_parts_of(const struct oa_kernels *k, struct oa_gemm_state *s,
                              const struct oa_gemm *g, unsigned long product, const void *a,
                              const void *b, float *c)
{
    for (long i = 0; i < g->m; i += 96)
        for (long j = 0; j < g->n; j += 288) {
            struct oa_gemm_part part = { i, g->m - i < 96 ? g->m - i : 96, j,
                                         g->n - j < 288 ? g->n - j : 288, product };
            k->gemm_part(s, g, &part, a, b, NULL, c);
        }
}

/* In parts that keep what they packed, after those of other products: one with a number of its own,
 * one without. */
static void multiply_in_kept_parts(struct fixture *f, const struct oa_kernels *k,
                                   const struct oa_gemm *g, float *c)
{
    struct oa_gemm_state *s = k->gemm_open(f->context, OA_PRECISION_BF16);
    assert_non_null(s);
    memcpy(c, f->start, MOST * sizeof *c);
    multiply_parts_of(k, s, g, 0, f->b, f->a, c);
    multiply_parts_of(k, s, g, 1, f->b, f->a, c);
    memcpy(c, f->start, MOST * sizeof *c);
    multiply_parts_of(k, s, g, 2, f->a, f->b, c);
    k->gemm_close(s);
}

static bool same(float x, float y)
{
    return memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y));
}

static bool same_half(uint16_t x, uint16_t y)
{
    return x == y || (isnan(oa_bf16_to_float(x)) && isnan(oa_bf16_to_float(y)));
}

static double number(const float *c, const struct oa_gemm *g, long i)
{
    return g->real_out ? (double)c[i] : (double)oa_bf16_to_float(((const uint16_t *)c)[i]);
}

/* Where bytes differ numbers may still be the same: all that are none. */
static void compare(const struct fixture *f, const struct oa_gemm *g, const char *what)
{
    size_t size = g->real_out ? sizeof(float) : sizeof(uint16_t);
    long first = memcmp(f->c[0], f->c[1], MOST * size) == 0 ? MOST : 0;
    for (long i = first; i < MOST; i++) {
        bool equal = g->real_out ? same(f->c[0][i], f->c[1][i])
                                 : same_half(((uint16_t *)f->c[0])[i], ((uint16_t *)f->c[1])[i]);
        if (!equal)
            fail_msg("%s: %ld x %ld x %ld, transposed %d %d, real %d, accumulated %d: element %ld "
                     "is %.9g and %.9g",
                     what, g->m, g->n, g->k, g->ta, g->tb, g->real_out, g->accumulate, i,
                     number(f->c[0], g, i), number(f->c[1], g, i));
    }
}

static void hardware_has_the_bits_of_plain_c(void **state)
{
    struct fixture *f = *state;
    if (!f->there)
        skip();
    assert_string_equal(f->amx.gemm_name, "orthant amx");
    for (int i = 0; i < SHAPES; i++)
        for (int variant = 0; variant < VARIANTS;
             variant += only_memory() ? 6 : 1) { /* see parts for the others */
            struct oa_gemm g = gemm_of(shapes[i], variant, i % 3);
            if (variant % 6 == 0)
                fill(f, (uint64_t)(i + variant), false);
            multiply(f, &f->plain, &g, f->c[0]);
            multiply(f, &f->amx, &g, f->c[1]);
            compare(f, &g, "plain and amx");
        }
}

/* Denormals, overflows, infinities and what is no number: short sums, or all of them would be the
 * last. */
static void hardware_has_the_bits_of_plain_c_for_all_numbers(void **state)
{
    struct fixture *f = *state;
    static const long depths[] = { 1, 2, 3, 4, 7, 33 };
    if (!f->there)
        skip();
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        struct oa_gemm g = gemm_of((const long[3]){ 400, 320, depths[i] }, 4, 0);
        fill(f, 100 + i, true);
        multiply(f, &f->plain, &g, f->c[0]);
        multiply(f, &f->amx, &g, f->c[1]);
        compare(f, &g, "all numbers, plain and amx");
    }
}

/* C of a million numbers, whose rows are whole cache lines except for the last columns; what
 * follows these is not written. */
static void large_outputs_have_the_bits_of_plain_c(void **state)
{
    struct fixture *f = *state;
    if (!f->there)
        skip();
    fill(f, 17, false);
    for (int variant = 2; variant < VARIANTS; variant += 4) {
        struct oa_gemm g = gemm_of((const long[3]){ 1030, 1034, 170 }, variant, 1056 - 1034);
        multiply(f, &f->plain, &g, f->c[0]);
        multiply(f, &f->amx, &g, f->c[1]);
        compare(f, &g, "large, plain and amx");
    }
}

/* ---- vectors ---- */

static float flushed(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

static float element(const uint16_t *x, long ld, bool transposed, long row, long col)
{
    return flushed(oa_bf16_to_float(x[transposed ? col * ld + row : row * ld + col]));
}

/* VDPBF16PS, word after word: the odd product is added, then the even one, each by a fused
 * multiply-add that rounds to nearest and flushes denormals. Of more than OA_PART_DEPTH along k
 * each so many have a sum, added to those before. */
static float sum_of_pairs(const struct fixture *f, const struct oa_gemm *g, long i, long j)
{
    float all = 0;
    for (long first = 0; first < g->k; first += OA_PART_DEPTH) {
        float sum = 0;
        for (long p = first; p < oa_round_up(g->k, OA_PANEL) && p < first + OA_PART_DEPTH; p += 2)
            for (long half = 1; half >= 0; half--)
                if (p + half < g->k)
                    sum = flushed(fmaf(element(f->a, g->lda, g->ta, i, p + half),
                                       element(f->b, g->ldb, g->tb, p + half, j), sum));
                else
                    sum += 0; /* zeros fill k up, and −0 + 0 is 0 */
        all = first ? all + sum : sum;
    }
    return all;
}

/* TDPBF16PS, 32 of k at a time: the even products and the odd ones, each added by fused
 * multiply-adds from zero; their sum is added to what was there. Everything rounds to nearest and
 * flushes denormals. */
static float sum_of_steps(const struct fixture *f, const struct oa_gemm *g, long i, long j)
{
    float all = 0;
    for (long first = 0; first < g->k; first += OA_PANEL) {
        float even = 0, odd = 0;
        for (long p = first; p < first + OA_PANEL; p++) {
            float *sum = p % 2 ? &odd : &even;
            bool there = p < g->k; /* zeros fill k up */
            float a = there ? element(f->a, g->lda, g->ta, i, p) : 0;
            float b = there ? element(f->b, g->ldb, g->tb, p, j) : 0;
            *sum = flushed(fmaf(a, b, *sum));
        }
        all = flushed(all + flushed(even + odd));
    }
    return all;
}

/* Numbers of every size, of which few sums have one that is none, and of those like the numbers of
 * a model. What follows the rows of A, up to 32 of k, is not multiplied, also where it is no
 * number. */
static void
compare_with_the_manual(struct fixture *f, const struct oa_kernels *k, const long sizes[3][3],
                        float (*sum_of)(const struct fixture *, const struct oa_gemm *, long, long))
{
    for (int i = 0; i < 3; i++)
        for (int variant = 0; variant < VARIANTS; variant++) {
            struct oa_gemm g = gemm_of(sizes[i], variant, i ? i : OA_PANEL - sizes[i][2]);
            fill(f, 200 + (uint64_t)i, i == 0);
            multiply(f, k, &g, f->c[1]);
            memcpy(f->c[0], f->start, MOST * sizeof *f->c[0]);
            for (long row = 0; row < g.m; row++)
                for (long col = 0; col < g.n; col++) {
                    float sum = sum_of(f, &g, row, col), *to = &f->c[0][row * g.ldc + col];
                    if (g.real_out)
                        *to = g.accumulate ? *to + sum : sum;
                    else
                        ((uint16_t *)f->c[0])[row * g.ldc + col] = oa_float_to_bf16(sum);
                }
            compare(f, &g, "element by element and by the kernel");
        }
}

static void vectors_add_pairs_in_the_order_of_the_manual(void **state)
{
    struct fixture *f = *state;
    static const long sizes[][3] = { { 41, 70, 5 }, { 33, 17, 130 }, { 16, 40, 1700 } };
    if (!f->pairs_there)
        skip();
    assert_string_equal(f->pairs.gemm_name, "orthant avx512_bf16");
    compare_with_the_manual(f, &f->pairs, sizes, sum_of_pairs);
}

/* One sum over all of k, also where it is multiplied in several slabs. */
static void plain_tiles_add_in_the_order_of_the_manual(void **state)
{
    static const long sizes[][3] = { { 41, 70, 5 }, { 33, 17, 130 }, { 16, 40, 1700 } };
    compare_with_the_manual(*state, &((struct fixture *)*state)->plain, sizes, sum_of_steps);
}

static void compare_parts(struct fixture *f, const struct oa_kernels *k, int step)
{
    fill(f, 3, false);
    for (int i = 0; i < SHAPES; i++)
        for (int variant = 0; variant < VARIANTS; variant += step) {
            struct oa_gemm g = gemm_of(shapes[i], variant, i % 3);
            multiply(f, k, &g, f->c[0]);
            multiply_in_parts(f, k, &g, false, f->c[1]);
            compare(f, &g, "whole and parts");
            multiply_in_parts(f, k, &g, true, f->c[1]);
            compare(f, &g, "whole and parts of two packed operands");
            multiply_in_kept_parts(f, k, &g, f->c[1]);
            compare(f, &g, "whole and parts that keep what they packed");
        }
}

static void parts_have_the_bits_of_the_whole(void **state)
{
    struct fixture *f = *state;
    int step = only_memory() ? 5 : 1;
    compare_parts(f, f->there ? &f->amx : &f->plain, f->there ? step : 5);
    if (f->pairs_there)
        compare_parts(f, &f->pairs, step);
}

/* ---- few rows, of weights that are packed ---- */

enum { FEW_MOST = 33, FEW_ALL = 40 };

/* The first rows of the whole, c[0], and behind them what was there before. */
static void assert_first_rows(const struct fixture *f, const struct oa_gemm *g)
{
    size_t row = (size_t)g->ldc * (g->real_out ? sizeof(float) : sizeof(uint16_t)),
           bytes = (size_t)g->m * row;
    const char *start = (const char *)f->start, *made = (const char *)f->c[1];
    if (memcmp(f->c[0], made, bytes) != 0 || memcmp(made + bytes, start + bytes, row) != 0)
        fail_msg("%ld rows x %ld x %ld, real %d: not the first rows of %d", g->m, g->n, g->k,
                 g->real_out, FEW_ALL);
}

/* A ends where memory ends: rows that there are not must not be read. */
static void multiply_few(struct fixture *f, const struct oa_kernels *k, struct oa_gemm g,
                         struct oa_gemm_state *s)
{
    for (g.m = 1; g.m <= FEW_MOST; g.m++) {
        size_t bytes = (size_t)(g.m * g.lda) * sizeof(uint16_t);
        void *a = oa_alloc(f->context, bytes);
        memcpy(a, f->a, bytes);
        memcpy(f->c[1], f->start, MOST * sizeof(float));
        k->gemm_part(s, &g, &(struct oa_gemm_part){ 0, g.m, 0, g.n, (unsigned long)g.m }, a, NULL,
                     f->packed, f->c[1]);
        assert_first_rows(f, &g);
        oa_free(a);
    }
}

static void compare_few(struct fixture *f, const struct oa_kernels *k)
{
    static const long sizes[][3] = {
        { FEW_ALL, 70, 64 }, { FEW_ALL, 100, 1700 }, { FEW_ALL, 33, 35 }, { FEW_ALL, 33, 12400 }
    };
    fill(f, 11, false);
    for (int i = 0; i < 4; i++)
        for (int variant = 2; variant <= 6; variant += 4)
            for (int prefetches_early = only_memory(); prefetches_early < 2; prefetches_early++) {
                struct oa_gemm g = gemm_of(sizes[i], variant, 0);
                struct oa_gemm_state *s = open_on(f->context, k, prefetches_early);
                multiply(f, k, &g, f->c[0]);
                k->gemm_pack(&g, &(struct oa_gemm_part){ 0, g.k, 0, g.n, 0 }, f->b, f->packed);
                multiply_few(f, k, g, s);
                k->gemm_close(s);
            }
}

static void few_rows_have_the_bits_of_many(void **state)
{
    struct fixture *f = *state;
    compare_few(f, f->there ? &f->amx : &f->plain);
    if (f->pairs_there)
        compare_few(f, &f->pairs);
}

/* ---- the device ---- */

/* On the device itself, with whatever makes its products. */
static void invariant_rows_have_the_bits_of_one(void **state)
{
    struct fixture *f = *state;
    static const long rows[] = { 2, 33, 70 };
    struct oa_device *d;
    fill(f, 13, false);
    assert_int_equal(oa_device_open(f->context, OA_PRECISION_BF16, false, &d), OA_OK);
    for (int i = 0; i < 3; i++)
        for (int variant = 4; variant <= 6; variant += 2) {
            struct oa_gemm g = gemm_of((const long[3]){ rows[i], 130, 1700 }, variant, 0);
            g.invariant_rows = 1;
            memcpy(f->c[1], f->start, MOST * sizeof(float));
            memcpy(f->c[0], f->start, MOST * sizeof(float));
            d->ops->gemm(d, &g, f->a, f->b, f->c[0]);
            g.m = 1;
            for (long row = 0; row < rows[i]; row++)
                d->ops->gemm(d, &g, f->a + row * g.lda, f->b, f->c[1] + row * g.ldc);
            compare(f, &g, "rows together and alone");
        }
    oa_device_close(d);
}

/* What makes the products that a device's are compared with; in short forms the hardware, which has
 * the same bits. */
static const struct oa_kernels *judge(const struct fixture *f)
{
    return f->there && short_form() ? &f->amx : &f->plain;
}

static void use_plain(const struct fixture *f, struct oa_device *d)
{
    for (int i = 0; d->cpu->gemm && i < oa_thread_count(d->context); i++) {
        d->cpu->kernels.gemm_close(d->cpu->gemm[i]);
        d->cpu->gemm[i] = f->plain.gemm_open(d->context, f->plain.precision);
        assert_non_null(d->cpu->gemm[i]);
    }
    d->cpu->kernels = f->plain;
}

static void open_device(struct fixture *f, oa_context *c, const struct oa_device_ops *ops,
                        struct oa_device *d)
{
    *d = (struct oa_device){ .context = c,
                             .ops = ops,
                             .dry = ops != &oa_device_cpu,
                             .numbers = oa_numbers_of(OA_PRECISION_BF16) };
    oa_device_arena(&d->scratch, d);
    assert_int_equal(ops->open(d), OA_OK);
    use_plain(f, d);
}

static void close_device(struct oa_device *d)
{
    oa_arena_free(&d->scratch);
    d->ops->close(d);
}

/* Blocks of rows and of columns; and one that is too small to be packed. */
static void devices_cut_without_changing_bits(void **state)
{
    struct fixture *f = *state;
    static const long cut[][3] = { { 515, 800, 430 }, { 260, 801, 1100 }, { 257, 33, 40 } };
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 3 });
    struct oa_device d, plan;
    fill(f, 5, false);
    for (int i = 0; i < 3; i++)
        for (int variant = 2; variant < VARIANTS; variant += 7) {
            struct oa_gemm g = gemm_of(cut[i], variant, i);
            open_device(f, c, &oa_device_cpu, &d);
            open_device(f, c, &oa_device_plan, &plan);
            multiply(f, judge(f), &g, f->c[0]);
            memcpy(f->c[1], f->start, MOST * sizeof(float));
            d.ops->gemm(&d, &g, f->a, f->b, f->c[1]);
            plan.ops->gemm(&plan, &g, f->a, f->b, f->c[1]);
            compare(f, &g, "whole and cut by a device");
            assert_int_equal(oa_packed_bytes(&d, &g) > 0, i < 2);
            assert_int_equal(d.scratch.peak, plan.scratch.peak);
            assert_true(d.scratch.peak >= oa_packed_bytes(&d, &g));
            close_device(&d);
            close_device(&plan);
        }
    oa_close(c);
}

/* Weights that stay packed, of which there are several pieces, for a row, for some and for many. */
static void devices_read_packed_weights(void **state)
{
    struct fixture *f = *state;
    static const long rows[] = { 1, 5, 32, 33, 300 };
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 3 });
    struct oa_device d;
    fill(f, 7, false);
    open_device(f, c, &oa_device_cpu, &d);
    struct oa_gemm g = gemm_of((const long[3]){ 1, 801, 190 }, 6, 0);
    assert_int_equal(d.ops->weights_bytes(&d, &g), f->plain.gemm_packed_bytes(&g));
    d.ops->pack_weights(&d, &g, f->b, f->packed);
    for (int i = 0; i < 10; i++) { /* two products each, of other rows */
        g = gemm_of((const long[3]){ rows[i / 2], 801, 190 }, i / 2 % 2 ? 6 : 2, 0);
        f->a += i % 2;
        multiply(f, judge(f), &g, f->c[0]);
        memcpy(f->c[1], f->start, MOST * sizeof(float));
        g.packed = true;
        d.ops->gemm(&d, &g, f->a, f->packed, f->c[1]);
        compare(f, &g, "whole and with packed weights");
        f->a -= i % 2;
    }
    close_device(&d);
    oa_close(c);
}

/* More columns than a strip of so much k has: B transposed, in strips; A transposed, of which all
 * is packed before as all of B is. The plan takes the same room. */
static void strips_have_the_bits_of_the_whole(void **state)
{
    enum { M = 258, N = 801, K = 5700 };
    struct fixture *f = *state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 2 });
    struct oa_device d, plan;
    uint16_t *a = oa_alloc(c, (size_t)M * K * sizeof *a),
             *b = oa_alloc(c, (size_t)N * K * sizeof *b);
    for (long i = 0; i < (long)N * K; i++) {
        b[i] = f->b[i % (MOST - 1)];
        a[i % ((long)M * K)] = f->a[i % (MOST - 1)];
    }
    struct oa_gemm_state *s = judge(f)->gemm_open(c, OA_PRECISION_BF16);
    for (int variant = 6; variant <= 9; variant += 3) {
        struct oa_gemm g = gemm_of((const long[3]){ M, N, K }, variant, 0);
        open_device(f, c, &oa_device_cpu, &d);
        open_device(f, c, &oa_device_plan, &plan);
        memcpy(f->c[0], f->start, MOST * sizeof(float));
        memcpy(f->c[1], f->start, MOST * sizeof(float));
        judge(f)->gemm_part(s, &g, &(struct oa_gemm_part){ 0, M, 0, N, 0 }, a, b, NULL, f->c[0]);
        d.ops->gemm(&d, &g, a, b, f->c[1]);
        plan.ops->gemm(&plan, &g, a, b, f->c[1]);
        compare(f, &g, "whole and in strips");
        assert_int_equal(d.scratch.peak, plan.scratch.peak);
        assert_true((oa_packed_bytes(&d, &g) > f->plain.gemm_packed_bytes(&g)) == g.ta);
        close_device(&d);
        close_device(&plan);
    }
    judge(f)->gemm_close(s);
    oa_free(a);
    oa_free(b);
    oa_close(c);
}

/* Small whole numbers: every sum is exact, so the product is known. */
static void whole_numbers_are_exact(void **state)
{
    struct fixture *f = *state;
    struct oa_gemm g = gemm_of((const long[3]){ 70, 45, 3100 }, 4, 0);
    for (long i = 0; i < MOST; i++) {
        f->a[i] = oa_float_to_bf16((float)(i % 7 - 3));
        f->b[i] = oa_float_to_bf16((float)(i % 5 - 2));
    }
    multiply(f, &f->plain, &g, f->c[0]);
    for (long i = 0; i < g.m; i++)
        for (long j = 0; j < g.n; j++) {
            long sum = 0;
            for (long p = 0; p < g.k; p++)
                sum += ((i * g.k + p) % 7 - 3) * ((p * g.n + j) % 5 - 2);
            assert_true(f->c[0][i * g.ldc + j] == (float)sum);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hardware_has_the_bits_of_plain_c),
        cmocka_unit_test(hardware_has_the_bits_of_plain_c_for_all_numbers),
        cmocka_unit_test(large_outputs_have_the_bits_of_plain_c),
        cmocka_unit_test(vectors_add_pairs_in_the_order_of_the_manual),
        cmocka_unit_test(plain_tiles_add_in_the_order_of_the_manual),
        cmocka_unit_test(parts_have_the_bits_of_the_whole),
        cmocka_unit_test(few_rows_have_the_bits_of_many),
        cmocka_unit_test(invariant_rows_have_the_bits_of_one),
        cmocka_unit_test(devices_cut_without_changing_bits),
        cmocka_unit_test(devices_read_packed_weights),
        cmocka_unit_test(strips_have_the_bits_of_the_whole),
        cmocka_unit_test(whole_numbers_are_exact),
    };
    threads_only("devices_*");
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
