/* SPDX-License-Identifier: Apache-2.0
 *
 * The peaks of the machine: arithmetic in registers (or, for AMX, the best large matrix product) and a large copy, on
 * one core and on all.
 */
#include "kernels/kernel_bench.h"

#include <math.h>
#include <string.h>

enum { REPEATS = 12, MOST_PRODUCT = 768 };
static const long product_sizes[] = { 256, 384, 512, MOST_PRODUCT };
static const double seconds_each = 2e-3;   /* of one repeat on one core */
static const size_t copy_bytes = 64 << 20; /* beyond the caches */

/* What one core does in a burst of work; `amount` is what a burst counts: FLOPs or bytes. */
struct burst {
    void (*run)(struct burst *b, long item, long items);
    double amount;
    float (*loop)(long rounds, float x);
    long rounds;
    long size; /* of a product */
    struct oa_kernels kernels;
    struct oa_gemm_state **state; /* one for each item */
    char *operands;
    char *from, *to;
};

#ifdef __x86_64__
static void run_loop(struct burst *b, long item, long items)
{
    (void)item;
    (void)items;
    volatile float used = b->loop(b->rounds, 0.5f); /* so that the loop is not removed */
    (void)used;
}
#endif

static size_t product_bytes(const struct oa_kernels *k)
{
    return (size_t)MOST_PRODUCT * MOST_PRODUCT * (2 * k->act_size + k->real_size);
}

static void run_product(struct burst *b, long item, long items)
{
    long n = b->size;
    struct oa_gemm g = { .m = n, .n = n, .k = n, .lda = n, .ldb = n, .ldc = n, .real_out = true };
    char *x = b->operands + (size_t)item * product_bytes(&b->kernels);
    size_t act = (size_t)(n * n) * b->kernels.act_size;
    (void)items;
    for (long i = 0; i < b->rounds; i++)
        b->kernels.gemm(b->state[item], &g, x, x + act, x + 2 * act);
}

static void run_copy(struct burst *b, long item, long items)
{
    size_t part = copy_bytes / (size_t)items;
    memcpy(b->to + (size_t)item * part, b->from + (size_t)item * part, part);
}

struct bursts {
    struct burst *burst;
    long items;
};

static void run_item(void *argument, long item, const struct oa_worker *worker)
{
    struct bursts *all = argument;
    (void)worker;
    all->burst->run(all->burst, item, all->items);
}

static double run_all(oa_context *c, struct burst *b, long items)
{
    struct bursts all = { b, items };
    double start = oa_clock();
    if (items == 1)
        b->run(b, 0, 1);
    else
        oa_parallel(c, items, run_item, &all);
    return oa_clock() - start;
}

/* Seconds of one burst on each of `items` cores at once: the least, since a peak is what nothing else disturbs. */
static double least_seconds(oa_context *c, struct burst *b, long items)
{
    double least = run_all(c, b, items);
    for (int i = 0; i < REPEATS; i++) {
        double seconds = run_all(c, b, items);
        if (seconds < least)
            least = seconds;
    }
    return least;
}

static void set_rounds(oa_context *c, struct burst *b)
{
    b->rounds = 1;
    while (run_all(c, b, 1) < seconds_each / 4 && b->rounds < 1l << 40)
        b->rounds *= 2;
    b->rounds *= 4;
}

/* ---- arithmetic ---- */

#ifdef __x86_64__
static void measure_loop(oa_context *c, float (*loop)(long, float), int flops, double *one, double *all)
{
    struct burst b = { .run = run_loop, .loop = loop };
    long threads = oa_thread_count(c);
    set_rounds(c, &b);
    double amount = (double)b.rounds * PEAK_CHAINS * flops * 1e-9;
    *one = amount / least_seconds(c, &b, 1);
    *all = amount * (double)threads / least_seconds(c, &b, threads);
}
#endif

static bool open_products(oa_context *c, struct burst *b, enum oa_precision p, long threads)
{
    oa_kernels_init(&b->kernels, p, oa_cpu_isa(oa_context_cpu(c)), oa_context_cpu(c));
    b->operands = oa_alloc(c, (size_t)threads * product_bytes(&b->kernels));
    b->state = oa_alloc(c, (size_t)threads * sizeof *b->state);
    bool opened = b->operands && b->state;
    for (long i = 0; i < threads && opened; i++)
        opened = (b->state[i] = b->kernels.gemm_open(c, p)) != NULL;
    return opened;
}

static const char *measure_product(oa_context *c, enum oa_precision p, double *one, double *all)
{
    struct burst b = { .run = run_product };
    long threads = oa_thread_count(c);
    bool opened = open_products(c, &b, p, threads);
    for (size_t i = 0; opened && i < sizeof product_sizes / sizeof *product_sizes; i++) {
        b.size = product_sizes[i];
        set_rounds(c, &b);
        double amount = (double)b.rounds * 2e-9 * (double)(b.size * b.size * b.size);
        *one = fmax(*one, amount / least_seconds(c, &b, 1));
        *all = fmax(*all, amount * (double)threads / least_seconds(c, &b, threads));
    }
    for (long i = 0; b.state && i < threads; i++)
        if (b.state[i])
            b.kernels.gemm_close(b.state[i]);
    oa_free(b.state);
    oa_free(b.operands);
    return "the fastest of products from 256 cubed to 768 cubed";
}

static void measure_f32(oa_context *c, struct oa_peak *out)
{
#ifdef __x86_64__
    const struct oa_cpu *cpu = oa_context_cpu(c);
    if (cpu->avx512) {
        measure_loop(c, oa_peak_avx512, 32, &out->f32_one, &out->f32_all);
        out->f32_how = "AVX-512 multiply-adds in registers";
        return;
    }
    if (cpu->avx2 && cpu->fma) {
        measure_loop(c, oa_peak_avx2, 16, &out->f32_one, &out->f32_all);
        out->f32_how = "AVX2 multiply-adds in registers";
        return;
    }
#endif
    out->f32_how = measure_product(c, OA_PRECISION_F32, &out->f32_one, &out->f32_all);
}

static void measure_bf16(oa_context *c, struct oa_peak *out)
{
#ifdef __x86_64__
    const struct oa_cpu *cpu = oa_context_cpu(c);
    if (cpu->amx_bf16) {
        out->bf16_how = measure_product(c, OA_PRECISION_BF16, &out->bf16_one, &out->bf16_all);
        return;
    }
    if (cpu->avx512_bf16) {
        measure_loop(c, oa_peak_avx512bf16, 64, &out->bf16_one, &out->bf16_all);
        out->bf16_how = "AVX512_BF16 dot products in registers";
        return;
    }
#endif
    (void)c;
    out->bf16_one = out->f32_one;
    out->bf16_all = out->f32_all;
    out->bf16_how = "as f32: no unit for bf16";
}

/* ---- memory ---- */

static void measure_copy(oa_context *c, struct oa_peak *out)
{
    struct burst b = { .run = run_copy };
    b.from = oa_alloc(c, copy_bytes);
    b.to = oa_alloc(c, copy_bytes);
    if (b.from && b.to) {
        memset(b.from, 1, copy_bytes);
        double amount = 2e-9 * (double)copy_bytes;
        out->copy_one = amount / least_seconds(c, &b, 1);
        out->copy_all = amount / least_seconds(c, &b, oa_thread_count(c));
    }
    oa_free(b.from);
    oa_free(b.to);
}

void oa_kernels_peak(oa_context *c, struct oa_peak *out)
{
    *out = (struct oa_peak){ .f32_how = "", .bf16_how = "" };
    measure_f32(c, out);
    measure_bf16(c, out);
    measure_copy(c, out);
}
