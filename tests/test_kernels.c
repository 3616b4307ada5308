/* SPDX-License-Identifier: Apache-2.0
 *
 * Every version of every kernel against the f64 one (kernel_cases.h says what may differ), over
 * awkward sizes, strides and numbers. `test_kernels --bench` prints how fast they are instead.
 */
#include "kernels/kernel_bench.h"
#include "kernels/kernel_cases.h"

#include "plain_tiles.h"
#include "processors.h"
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const long lengths[] = { 97, 127, 128, 129, 191, 255, 256, 257, 511, 1021, 1025, 2051 };
static const long heights[] = { 1, 2, 3, 4, 5, 7, 8, 17 };
enum {
    LENGTHS = sizeof lengths / sizeof *lengths,
    HEIGHTS = sizeof heights / sizeof *heights,
    SMALL = 67
};

/* m, n, k: below, at and above the tiles (4 … 12 by 4 … 32) and blocks (128, 240, 256) of our own
 * products. */
static const long products[][3] = {
    { 1, 1, 1 },    { 1, 7, 3 },     { 5, 1, 9 },     { 3, 5, 7 },     { 4, 8, 16 },
    { 7, 9, 0 },    { 12, 32, 5 },   { 13, 33, 17 },  { 16, 16, 16 },  { 17, 15, 31 },
    { 64, 64, 64 }, { 65, 63, 33 },  { 1, 300, 64 },  { 300, 1, 64 },  { 128, 129, 11 },
    { 241, 31, 8 }, { 239, 257, 3 }, { 31, 33, 257 }, { 37, 41, 600 }, { 241, 259, 261 },
};
enum { PRODUCTS = sizeof products / sizeof *products };

struct fixture {
    oa_context *context;
    int count;
    struct kernel_version version[KERNEL_VERSIONS];
};

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){ .context = oa_open(NULL) };
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    oa_close(((struct fixture *)*state)->context);
    return 0;
}

static void demand(struct fixture *f, enum oa_error e, const struct kernel_problem *p,
                   const char *version)
{
    const char *sentence;
    if (e == OA_OK)
        return;
    oa_last_error(f->context, &sentence);
    fail_msg("%s %s: %s", p->what->name, version, sentence);
}

static void check(struct fixture *f, const struct kernel_answer *a, const struct kernel_version *v,
                  bool in_place)
{
    double worst;
    char where[OA_CASE_TEXT];
    const struct kernel_problem *p = &a->problem;
    demand(f, oa_kernel_judge(f->context, a, &v->table, in_place, &worst, where), p, v->name);
    if (worst > 1)
        fail_msg(
            "%s %s %s, rows %ld, columns %ld, depth %ld, variant %d, %s%s: %g times the bound; %s",
            p->what->name, oa_precision_name(a->precision), v->name, p->rows, p->cols, p->depth,
            p->variant, p->awkward ? "awkward" : "plain", in_place ? ", in place" : "", worst,
            where);
}

/* By all versions that have a function of their own for it. */
static void check_problem(struct fixture *f, const struct kernel_problem *p)
{
    struct kernel_answer a;
    demand(f, oa_kernel_solve(f->context, p, f->version[0].table.precision, &a), p, "f64");
    for (int v = 0; v < f->count; v++)
        if (!oa_kernel_seen(f->version, v, p->what))
            for (int in_place = 0; in_place <= (p->what->same[1] != 0); in_place++)
                check(f, &a, &f->version[v], in_place);
    oa_kernel_answer_free(&a);
}

static void check_size(struct fixture *f, const struct kernel_case *c, long rows, long cols)
{
    struct kernel_problem p;
    for (int variant = 0; variant < c->variants; variant++) {
        oa_kernel_problem(&p, c, rows, cols, 0, variant, true);
        check_problem(f, &p);
    }
}

static void check_products(struct fixture *f, const struct kernel_case *c)
{
    struct kernel_problem p;
    for (int i = 0; i < PRODUCTS; i++)
        for (int variant = 0; variant < c->variants; variant++) {
            oa_kernel_problem(&p, c, products[i][0], products[i][1], products[i][2], variant,
                              i % 3 != 0);
            check_problem(f, &p);
        }
}

/* Sanitizers make the program slow: every third length, which still is every remainder of 16. */
static long stride(void)
{
    return short_form() ? 3 : 1;
}

static void check_case(struct fixture *f, const struct kernel_case *c)
{
    if (strcmp(c->name, "gemm") == 0) {
        check_products(f, c);
        return;
    }
    for (long n = 1; n <= SMALL; n += stride())
        check_size(f, c, heights[n % HEIGHTS], n);
    for (long i = 0; i < LENGTHS; i += stride())
        check_size(f, c, heights[i % HEIGHTS], lengths[i]);
}

static void check_precision(struct fixture *f, enum oa_precision precision)
{
    const struct kernel_case *c;
    f->count = oa_kernel_versions(f->context, precision, f->version);
    if (precision == OA_PRECISION_BF16) {
        struct oa_kernels k = f->version[0].table;
        oa_kernels_tiles(&k);
        f->version[f->count++] = (struct kernel_version){ k.gemm_name, k };
    }
    for (int i = 0; (c = oa_kernel_case(i)); i++)
        check_case(f, c);
}

static void f32_kernels_are_within_their_bounds(void **state)
{
    check_precision(*state, OA_PRECISION_F32);
}

static void bf16_kernels_are_within_their_bounds(void **state)
{
    check_precision(*state, OA_PRECISION_BF16);
}

/* ---- what the cases cannot say ---- */

static void precisions_have_names(void **state)
{
    enum oa_precision p;
    (void)state;
    assert_true(oa_precision_parse("bf16", &p));
    assert_int_equal(p, OA_PRECISION_BF16);
    assert_string_equal(oa_precision_name(p), "bf16");
    assert_false(oa_precision_parse("fp16", &p));
}

/* Small factors make denormals of numbers that are far from them; conversions of several rows flush
 * these. */
static void products_of_pairs_may_be_denormal(void **state)
{
    enum { WIDTH = 20, PAIRS = WIDTH * (WIDTH + 1) / 2 };
    static const double factors[] = { 0, 0, 0x1p-10 };
    struct fixture *f = *state;
    int versions = oa_kernel_versions(f->context, OA_PRECISION_BF16, f->version);
    for (int v = 0; v < versions; v++) {
        uint16_t x[WIDTH], y[PAIRS];
        for (int i = 0; i < WIDTH; i++)
            x[i] = (127 - 60) << 7; /* 2^-60 */
        f->version[v].table.quadratic(1, WIDTH, factors, x, WIDTH, y, PAIRS);
        for (int a = 0, n = 0; a < WIDTH; a++)
            for (int b = a; b < WIDTH; b++, n++) {
                int wanted = a == b ? 8 : 11; /* 2^-130, times √2, in units of 2^-133 */
                if (y[n] != wanted)
                    fail_msg("%s: pair %d, %d: %d instead of %d", f->version[v].name, a, b, y[n],
                             wanted);
            }
    }
}

/* The gradient may take the place of the logits. */
static void check_loss_in_place(const struct oa_kernels *k)
{
    enum { N = 1000 };
    _Alignas(64) static float logits[N], apart[N], both[N];
    for (long n = 1; n < N; n += 37) {
        for (long i = 0; i < n; i++)
            both[i] = logits[i] =
                (float)oa_random_normal((struct oa_stream){ 1, 2 }, (uint64_t)i) * 5;
        double a = k->cross_entropy(n, logits, n / 3, 0.1, 0.5, apart);
        double b = k->cross_entropy(n, both, n / 3, 0.1, 0.5, both);
        assert_true(a == b);
        assert_memory_equal(apart, both, (size_t)n * k->act_size);
    }
}

/* A row seen in three tiles, with the sums rescaled as told, comes to what it is in one. */
static void check_tiles(const struct oa_kernels *k)
{
    enum { N = 96, TILE = 32 };
    float s[N], whole[N], m = -INFINITY, z = 0, rescale, all_m = -INFINITY, all_z = 0;
    const int32_t low = 0, high[] = { TILE, N };
    for (long i = 0; i < N; i++) /* growing, so that every tile has a new maximum */
        s[i] = whole[i] =
            (float)i * 0.3f + (float)oa_random_normal((struct oa_stream){ 1, 2 }, (uint64_t)i);
    k->softmax_tile(1, N, 1, &low, &high[1], whole, N, &all_m, &all_z, &rescale);
    for (long t = 0; t < N; t += TILE) {
        k->softmax_tile(1, TILE, 1, &low, &high[0], s + t, TILE, &m, &z, &rescale);
        for (long i = 0; i < t; i++)
            s[i] *= rescale;
    }
    assert_true(m == all_m);
    assert_true(fabsf(z - all_z) < 1e-5f * all_z);
    for (long i = 0; i < N; i++)
        assert_true(fabsf(s[i] - whole[i]) < 1e-5f * whole[i] + 1e-37f);
}

static void losses_in_place_and_tiles_are_the_same(void **state)
{
    struct fixture *f = *state;
    for (int p = OA_PRECISION_F32; p <= OA_PRECISION_BF16; p++) {
        f->count = oa_kernel_versions(f->context, (enum oa_precision)p, f->version);
        for (int v = 0; v < f->count; v++) {
            check_loss_in_place(&f->version[v].table);
            check_tiles(&f->version[v].table);
        }
    }
}

/* ---- rows apart ---- */

enum {
    INVARIANT_ROWS = 17,
    INVARIANT_COLS = 301,
    INVARIANT_DEPTH = 70
}; /* no multiples of what is in registers, or of a block */

static double element(const struct oa_kernels *k, const void *c, bool real_out, long i)
{
    if (real_out || k->act != OA_BF16)
        return k->real == OA_F64 ? ((const double *)c)[i] : ((const float *)c)[i];
    return oa_bf16_to_float(((const uint16_t *)c)[i]);
}

static void fill_operand(const struct oa_kernels *k, void *x, long n, uint64_t seed)
{
    for (long i = 0; i < n; i++) {
        double value = oa_random_normal((struct oa_stream){ seed, 3 }, (uint64_t)i);
        if (k->act == OA_BF16)
            ((uint16_t *)x)[i] = oa_float_to_bf16((float)value);
        else if (k->act == OA_F64)
            ((double *)x)[i] = value;
        else
            ((float *)x)[i] = (float)value;
    }
}

/* Rows of one product, and each by itself, with sums that were there before. */
static void check_invariant_rows(oa_context *context, const struct oa_kernels *k, bool tb,
                                 bool accumulate, int ahead)
{
    static _Alignas(64) char a[INVARIANT_ROWS * INVARIANT_DEPTH * 8],
        b[INVARIANT_COLS * INVARIANT_DEPTH * 8], whole[INVARIANT_ROWS * INVARIANT_COLS * 8],
        alone[INVARIANT_ROWS * INVARIANT_COLS * 8];
    struct oa_gemm_state *s = open_on(context, k, ahead & 1),
                         *single = open_on(context, k, ahead & 2);
    struct oa_gemm g = { .m = INVARIANT_ROWS,
                         .n = INVARIANT_COLS,
                         .k = INVARIANT_DEPTH,
                         .lda = INVARIANT_DEPTH,
                         .ldb = tb ? INVARIANT_DEPTH : INVARIANT_COLS,
                         .ldc = INVARIANT_COLS,
                         .tb = tb,
                         .accumulate = accumulate,
                         .real_out = accumulate,
                         .invariant_rows = 1 };
    size_t size = accumulate ? k->real_size : k->act_size;
    double sum = 0;
    memset(whole, 0, sizeof whole);
    memset(alone, 0, sizeof alone);
    fill_operand(k, a, INVARIANT_ROWS * INVARIANT_DEPTH, 1);
    fill_operand(k, b, INVARIANT_COLS * INVARIANT_DEPTH, 2);
    for (int twice = 0; twice < 2; twice++) {
        g.m = INVARIANT_ROWS;
        k->gemm(s, &g, a, b, whole);
        g.m = 1;
        for (long i = 0; i < INVARIANT_ROWS; i++)
            k->gemm(single, &g, a + (size_t)(i * g.lda) * k->act_size, b,
                    alone + (size_t)(i * g.ldc) * size);
    }
    assert_memory_equal(whole, alone, INVARIANT_ROWS * INVARIANT_COLS * size);
    for (long i = 0; i < INVARIANT_ROWS * INVARIANT_COLS; i++)
        sum += fabs(element(k, whole, accumulate, i));
    assert_true(sum > INVARIANT_ROWS * INVARIANT_COLS);
    k->gemm_close(s);
    k->gemm_close(single);
}

static void invariant_rows_have_the_bits_of_one(void **state)
{
    struct fixture *f = *state;
    for (int p = 0; p < 3; p++)
        for (int isa = OA_ISA_REF; isa <= OA_ISA_AMX; isa++) {
            struct oa_kernels k;
            oa_kernels_init(&k, (enum oa_precision)p, (enum oa_isa)isa, oa_context_cpu(f->context));
            for (int how = 0; how < 16; how++)
                check_invariant_rows(f->context, &k, how & 1, how & 2, how >> 2);
        }
}

/* ---- the table ---- */

/* Whatever the level: complete, and nothing above the level in it. */
static void every_level_has_every_kernel(void **state)
{
    struct fixture *f = *state;
    const struct oa_cpu *cpu = oa_context_cpu(f->context);
    const struct kernel_case *c;
    for (int p = 0; p < 3; p++)
        for (int isa = OA_ISA_REF; isa <= OA_ISA_AMX; isa++) {
            struct oa_kernels k;
            oa_kernels_init(&k, (enum oa_precision)p, (enum oa_isa)isa, cpu);
            for (int i = 0; (c = oa_kernel_case(i)); i++)
                assert_non_null(oa_kernel_slot(&k, c));
            assert_int_equal(k.precision, p);
            assert_true(k.isa <= (enum oa_isa)isa && k.isa <= oa_cpu_isa(cpu));
            if (isa == OA_ISA_REF || p == OA_PRECISION_F64)
                assert_string_equal(k.gemm_name, "ref");
            assert_true(k.query_block > 0 && k.key_block > 0 && k.row_block > 0 &&
                        k.gemm_block > 0);
        }
}

/* ---- the checker itself ---- it must see what is wrong */

static void relu_off_by_little(long n, const void *x, void *y)
{
    for (long i = 0; i < n; i++)
        ((float *)y)[i] = (((const float *)x)[i] > 0 ? ((const float *)x)[i] : 0) * 1.000001f;
}

static void relu_too_far(long n, const void *x, void *y)
{
    for (long i = 0; i <= n; i++)
        ((float *)y)[i] =
            ((const float *)x)[i] > 0 || isnan(((const float *)x)[i]) ? ((const float *)x)[i] : 0;
}

static void relu_short(long n, const void *x, void *y)
{
    relu_too_far(n - 2, x, y);
}

static void broken_kernels_are_found(void **state)
{
    struct fixture *f = *state;
    struct oa_kernels k;
    void (*const broken[])(long, const void *, void *) = { relu_off_by_little, relu_too_far,
                                                           relu_short };
    const struct kernel_case *c = oa_kernel_case(0);
    for (int i = 1; strcmp(c->name, "relu") != 0; i++)
        c = oa_kernel_case(i);
    struct kernel_problem p;
    oa_kernel_problem(&p, c, 1, 33, 0, 0, false);
    oa_kernels_ref(&k, OA_PRECISION_F32);
    for (int i = 0; i < 4; i++) {
        double worst;
        char where[OA_CASE_TEXT];
        if (i < 3)
            k.relu = broken[i];
        else
            oa_kernels_ref(&k, OA_PRECISION_F32);
        assert_int_equal(oa_kernel_check(f->context, &p, &k, false, &worst, where), OA_OK);
        assert_true(i < 3 ? worst > 1 && where[0] : worst <= 1);
    }
}

/* ---- peaks ---- */

static void peak_states_follow_the_loads(void **state)
{
    static const struct {
        double best, loads;
        const char *name;
    } seen[] = { { 2300, 2222, "fast" },
                 { 2300, 1726, "fast" },
                 { 2300, 1720, "changing" },
                 { 2300, 925, "changing" },
                 { 2300, 915, "slow" },
                 { 2300, 505, "slow" },
                 { 2300, 0, "" },
                 { 0, 0, "" } };
    (void)state;
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        struct oa_peak p = { .bf16.one = seen[i].best, .loads.one_median = seen[i].loads };
        assert_string_equal(oa_peak_state(&p), seen[i].name);
        double best = seen[i].loads > 0 ? seen[i].loads + 1 : seen[i].best; /* what floors are of */
        p.loads.one = seen[i].loads > 0 ? best : 0;
        assert_true(oa_peak_flops(&p, OA_PRECISION_BF16, true) == best * 1e9);
    }
    struct oa_peak p = { .f32 = { .one = 1, .all = 2 }, .bf16 = { .one = 3, .all = 4 } };
    for (int all = 0; all < 2; all++) {
        assert_true(oa_peak_flops(&p, OA_PRECISION_F32, !all) == (1 + all) * 1e9);
        assert_true(oa_peak_flops(&p, OA_PRECISION_F64, !all) == (1 + all) * 0.5e9);
        assert_true(oa_peak_flops(&p, OA_PRECISION_BF16, !all) == (3 + all) * 1e9);
    }
}

/* A microsecond a round, and every try of a number of rounds is held up for a second but one, or
 * none. */
struct held_up {
    long rounds;
    int tries, free;
};

static double take_held_up(void *argument, long rounds)
{
    struct held_up *h = argument;
    h->tries = rounds == h->rounds ? h->tries + 1 : 1;
    h->rounds = rounds;
    return 1e-6 * (double)rounds + (h->free && h->tries != h->free);
}

static void an_interrupted_try_is_not_long_enough(void **state)
{
    (void)state;
    for (int free = 0; free < 4; free++) {
        struct held_up h = { .free = free };
        assert_int_equal(oa_enough_rounds(take_held_up, &h, 1e-4), 128);
        assert_int_equal(oa_enough_rounds(take_held_up, &h, 0.9e-6), 1);
    }
}

/* Products with their loads are never faster than those without; but that is no machine's word on a
 * busy day: what the processor's neighbours do may halve either rate. A loop that counts four times
 * what it does is beyond that. */
static bool loads_cost(oa_context *c, struct oa_peak *p)
{
    oa_kernels_peak(c, p);
    return p->loads.one <= 3 * p->bf16.one;
}

static void peaks_are_measured(void **state)
{
    struct oa_peak p;
    bool cost = false;
    for (int attempt = 0; attempt < 4 && !cost; attempt++)
        cost = loads_cost(((struct fixture *)*state)->context, &p);
    assert_true(cost);
    const struct oa_peak_rate *rates[] = { &p.f32, &p.bf16, &p.copy, &p.loads };
    for (int i = 0; i < (p.loads.one > 0 ? 4 : 3); i++) {
        assert_true(rates[i]->one_median > 0 && rates[i]->one_median <= rates[i]->one);
        assert_true(rates[i]->all_median > 0 && rates[i]->all_median <= rates[i]->all);
        assert_non_null(rates[i]->how);
    }
}

enum { SIDE = 64 };

/* ns for each element of C of the fastest product of 64 × 64 × 64 in f32, timed here. */
static double time_product(oa_context *c)
{
    static float a[SIDE * SIDE], b[SIDE * SIDE], product[SIDE * SIDE];
    struct oa_gemm g = {
        .m = SIDE, .n = SIDE, .k = SIDE, .lda = SIDE, .ldb = SIDE, .ldc = SIDE, .real_out = true
    };
    struct oa_kernels k;
    oa_kernels_init(&k, OA_PRECISION_F32, oa_cpu_isa(oa_context_cpu(c)), oa_context_cpu(c));
    struct oa_gemm_state *s = k.gemm_open(c, OA_PRECISION_F32);
    double least = INFINITY;
    for (int i = 0; i < 20; i++) {
        double start = oa_clock();
        for (int j = 0; j < 100; j++)
            k.gemm(s, &g, a, b, product);
        least = fmin(least, oa_clock() - start);
    }
    k.gemm_close(s);
    return 1e9 * least / 100 / (SIDE * SIDE);
}

struct seen_product {
    int stop;
    double ns, rate; /* of the fastest version */
};

static void see_product(void *argument, const char *kernel, const char *precision,
                        const char *version, double ns, double rate, const char *unit,
                        double speedup, double worst_error)
{
    struct seen_product *seen = argument;
    (void)version, (void)unit, (void)speedup, (void)worst_error;
    if (strcmp(kernel, "gemm 64x64x64") == 0 && strcmp(precision, "f32") == 0 && !(seen->ns < ns))
        *seen = (struct seen_product){ 15, ns, rate }; /* what comes behind is not looked at */
}

/* Peaks of lower instruction sets: vectors half as wide have no more, and plain C has less. */
static void peaks_follow_the_instruction_set(void **state)
{
    struct oa_peak p[3];
    static const char *const sets[] = { "ref", "avx2", "avx512" };
    const struct oa_cpu *cpu = oa_context_cpu(((struct fixture *)*state)->context);
    for (int i = 0; i < 3 && i <= (int)oa_cpu_isa(cpu); i++) {
        oa_context *c = oa_open(&(struct oa_settings){ .threads = 1, .isa = sets[i] });
        oa_kernels_peak(c, &p[i]);
        assert_true(p[i].f32.one > 0 && p[i].loads.one == 0);
        oa_close(c);
    }
    if (!only_memory() && cpu->avx2) {
        assert_true(p[0].f32.one < 0.8 * p[1].f32.one);
        assert_null(strstr(p[0].f32.how, "AVX"));
        assert_string_equal(p[1].bf16.how, "as f32: no unit for bf16");
    }
    if (cpu->avx512)
        assert_non_null(strstr(p[2].f32.how, "AVX-512"));
}

/* A copy past the caches has all bytes and no others. */
static void copies_past_the_caches_are_copies(void **state)
{
#ifdef __x86_64__
    static _Alignas(64) char from[4096 + COPY_AHEAD], to[4096 + 64];
    const struct oa_cpu *cpu = oa_context_cpu(((struct fixture *)*state)->context);
    void (*const copies[])(const char *, char *,
                           size_t) = { cpu->avx2 ? oa_copy_past_caches_avx2 : NULL,
                                       cpu->avx512 ? oa_copy_past_caches_avx512 : NULL };
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (char)(i * 7 + i / 256);
    for (int i = 0; i < 2; i++) {
        memset(to, 99, sizeof to);
        if (copies[i]) {
            copies[i](from, to, 4096);
            assert_memory_equal(from, to, 4096);
            for (int j = 0; j < 64; j++)
                assert_int_equal(to[4096 + j], 99);
        }
    }
#else
    (void)state;
#endif
}

/* The bench and the peak against a product that is timed here; a busy machine may triple either. No
 * product is faster than the peak. */
static void bench_rates_are_those_of_a_product(void **state)
{
    struct oa_peak p;
    struct seen_product seen = { .ns = INFINITY };
    (void)state;
    oa_context *c =
        oa_open(&(struct oa_settings){ .threads = 2, .stop = (volatile int *)&seen.stop });
    oa_kernels_bench(c, see_product, &seen);
    double ns = time_product(c);
    assert_true(seen.ns > ns / 10 && seen.ns < ns * 10);
    assert_true(fabs(seen.rate * seen.ns / (2 * SIDE) - 1) < 1e-9);
    oa_kernels_peak(c, &p); /* it is stopped */
    assert_true(p.f32.one == 0 && p.copy.all == 0);
    seen.stop = 0;
    oa_kernels_peak(c, &p);
    if (!only_memory()) /* a loop that a sanitizer looks at is no peak */
        assert_true(2 * SIDE / ns < 2 * p.f32.one && 2 * SIDE / ns > p.f32.one / 100);
    assert_true(p.copy.all != p.copy.one); /* two threads are measured as well */
    oa_close(c);
}

/* All threads are one: what is said of them is what was measured. */
static void one_thread_has_one_peak(void **state)
{
    struct oa_peak p;
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    oa_kernels_peak(c, &p);
    const struct oa_peak_rate *rates[] = { &p.f32, &p.bf16, &p.copy, &p.loads };
    for (int i = 0; i < 4; i++)
        assert_true(rates[i]->all == rates[i]->one && rates[i]->all_median == rates[i]->one_median);
    oa_close(c);
}

#ifdef __x86_64__
/* In whatever way: every word once. Words of a row that is missed, or read twice, would be missed
 * in the sum. */
static void the_reading_rate_is_measured(void **state)
{
    static const struct oa_read_way ways[] = { { 1, 0 }, { 1, 4096 }, { 4, 0 }, { 4, 8192 } };
    static _Alignas(64) uint64_t word[4096];
    const struct oa_cpu *cpu = oa_context_cpu(((struct fixture *)*state)->context);
    const size_t n = sizeof word / sizeof *word;
    for (size_t i = 0; i < n; i++)
        word[i] = (uint64_t)(i * i);
    uint64_t squares = (uint64_t)(n - 1) * n * (2 * n - 1) / 6;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (cpu->avx2)
            assert_int_equal(oa_read_avx2((const char *)word, sizeof word, ways[i]), squares);
        if (cpu->avx512)
            assert_int_equal(oa_read_avx512((const char *)word, sizeof word, ways[i]), squares);
    }
}
#endif

/* ---- the bench ---- */

static void print_row(void *argument, const char *kernel, const char *precision,
                      const char *version, double ns, double rate, const char *unit, double speedup,
                      double worst_error)
{
    (void)argument;
    printf("%-22s %-5s %-32s %9.3f %9.1f %-8s %7.1f %8.3f\n", kernel, precision, version, ns, rate,
           unit, speedup, worst_error);
}

static int bench(void)
{
    struct oa_peak peak;
    oa_context *c = oa_open(NULL);
    oa_kernels_peak(c, &peak);
    const struct oa_peak_rate *rates[] = { &peak.f32, &peak.bf16, &peak.loads, &peak.copy };
    for (int i = 0; i < 4; i++)
        printf("%7.1f one core (median %.1f), %7.1f all (%.1f): %s\n", rates[i]->one,
               rates[i]->one_median, rates[i]->all, rates[i]->all_median,
               rates[i]->how ? rates[i]->how : "-");
    printf("%-22s %-5s %-32s %9s %9s %-8s %7s %8s\n", "kernel", "", "version", "ns", "rate", "",
           "x ref", "error");
    oa_kernels_bench(c, print_row, NULL);
    const char *sentence;
    enum oa_error e = oa_last_error(c, &sentence);
    if (e != OA_OK)
        fprintf(stderr, "%s\n", sentence);
    oa_close(c);
    return e != OA_OK;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_kernels_are_within_their_bounds),
        cmocka_unit_test(bf16_kernels_are_within_their_bounds),
        cmocka_unit_test(precisions_have_names),
        cmocka_unit_test(products_of_pairs_may_be_denormal),
        cmocka_unit_test(losses_in_place_and_tiles_are_the_same),
        cmocka_unit_test(invariant_rows_have_the_bits_of_one),
        cmocka_unit_test(every_level_has_every_kernel),
        cmocka_unit_test(broken_kernels_are_found),
        cmocka_unit_test(peak_states_follow_the_loads),
        cmocka_unit_test(an_interrupted_try_is_not_long_enough),
        cmocka_unit_test(peaks_are_measured),
        cmocka_unit_test(bench_rates_are_those_of_a_product),
        cmocka_unit_test(one_thread_has_one_peak),
        cmocka_unit_test(peaks_follow_the_instruction_set),
        cmocka_unit_test(copies_past_the_caches_are_copies),
#ifdef __x86_64__
        cmocka_unit_test(the_reading_rate_is_measured),
#endif
    };
    if (argc > 1 && strcmp(argv[1], "--bench") == 0)
        return bench();
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
