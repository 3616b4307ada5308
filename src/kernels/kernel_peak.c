/* SPDX-License-Identifier: Apache-2.0
 * The peaks of the machine: arithmetic in registers and a large copy, on one core and on all. A
 * shared machine changes its speed from one moment to the next, so each is measured in many slices.
 * Short slices are timed by the wall clock: few are interrupted, and those are neither the best nor
 * the median; the clock of an interrupted thread would measure a tenth of a millisecond up to a
 * fifth too short. Long ones are timed by the clock of the thread. */
#define READ_WORDS 16 /* in every processor */
#include "kernels/peak_numbers.h"
#include "kernels/peak_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PRODUCT = 384, SLICES = 500, LARGE_SLICES = 12, PRODUCT_SLICES = 5 };
static const double slice_seconds = 1e-4;
static const double settle_seconds = 5e-3; /* until the clock rate has adapted to the loop */
static const size_t least_copy = 64 << 20,
                    most_copy = 256 << 20; /* bytes: beyond the caches, of one of the two */

/* The work of one core in a slice; `amount` is its FLOPs or bytes. */
struct peak_burst {
    void (*run)(struct peak_burst *b, long item, long items);
    double amount;
    int slices;
    double (*clock)(void);
    double *rate; /* [threads, slices] */
    float (*loop)(long rounds, float x);
    long rounds;
    struct oa_kernels kernels;
    struct oa_gemm_state **state; /* one for each item */
    char *operands;
    char *from, *to;
    size_t bytes; /* of the copy */
    void (*copy)(const char *from, char *to, size_t bytes);
};

#ifdef __x86_64__
static void run_loop(struct peak_burst *b, long item, long items)
{
    (void)item;
    (void)items;
    volatile float used = b->loop(b->rounds, 0.5f); /* so that the loop is not removed */
    (void)used;
}
#endif

static size_t product_bytes(const struct oa_kernels *k)
{
    return (size_t)PRODUCT * PRODUCT * (2 * k->act_size + k->real_size);
}

static void run_product(struct peak_burst *b, long item, long items)
{
    long n = PRODUCT;
    struct oa_gemm g = { .m = n, .n = n, .k = n, .lda = n, .ldb = n, .ldc = n, .real_out = true };
    char *x = b->operands + (size_t)item * product_bytes(&b->kernels);
    size_t act = (size_t)(n * n) * b->kernels.act_size;
    (void)items;
    b->kernels.gemm(b->state[item], &g, x, x + act, x + 2 * act);
}

static void copy_plainly(const char *from, char *to, size_t bytes)
{
    memcpy(to, from, bytes);
}

static void run_copy(struct peak_burst *b, long item, long items)
{
    size_t part = b->bytes / (size_t)items / OA_ALIGN * OA_ALIGN;
    b->copy(b->from + (size_t)item * part, b->to + (size_t)item * part, part);
}

/* ---- slices ---- */

struct shared_burst {
    struct peak_burst *burst;
    long items;
};

static int compare_rates(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void run_burst_item(void *argument, long item, const struct oa_worker *worker)
{
    struct shared_burst *all = argument;
    struct peak_burst *b = all->burst;
    double *rate = b->rate + item * b->slices;
    (void)worker;
    for (double start = b->clock(); b->loop && b->clock() - start < settle_seconds;)
        b->run(b, item, all->items);
    for (int s = 0; s < b->slices; s++) {
        double start = b->clock();
        b->run(b, item, all->items);
        rate[s] = 1e-9 * b->amount / (b->clock() - start);
    }
    qsort(rate, (size_t)b->slices, sizeof *rate, compare_rates);
}

/* The best slice and the median one; of several cores, added up. */
static void run_slices(oa_context *c, struct peak_burst *b, long items, double *best,
                       double *median)
{
    struct shared_burst all = { b, items };
    if (items == 1)
        run_burst_item(&all, 0, NULL);
    else
        oa_parallel(c, items, run_burst_item, &all);
    *best = *median = 0;
    for (long i = 0; i < items; i++) {
        *best += b->rate[(i + 1) * b->slices - 1];
        *median += b->rate[i * b->slices + b->slices / 2];
    }
}

/* amount: of a slice on one core. For a copy all cores share the amount. Threads that share a core
 * also share its rate. */
static void measure_burst(oa_context *c, struct peak_burst *b, double amount, bool shared,
                          struct oa_peak_rate *out)
{
    long threads = oa_thread_count(c);
    if (oa_stop_requested(c))
        return;
    b->rate = oa_alloc(c, (size_t)(threads * b->slices) * sizeof *b->rate);
    if (!b->rate)
        return;
    b->amount = amount;
    run_slices(c, b, 1, &out->one, &out->one_median);
    out->all = out->one;
    out->all_median = out->one_median;
    b->amount = shared ? amount / (double)threads : amount;
    if (threads > 1 && !oa_stop_requested(c)) {
        double share = oa_cpu_concurrency(oa_context_cpu(c), (int)threads) / (double)threads;
        run_slices(c, b, threads, &out->all, &out->all_median);
        out->all *= share;
        out->all_median *= share;
    }
    oa_free(b->rate);
}

/* ---- arithmetic ---- */

#ifdef __x86_64__
static double time_rounds(void *argument, long rounds)
{
    struct peak_burst *b = argument;
    double start = b->clock();
    b->rounds = rounds;
    b->run(b, 0, 1);
    return b->clock() - start;
}

static void measure_loop(oa_context *c, float (*loop)(long, float), int flops, const char *how,
                         struct oa_peak_rate *out)
{
    struct peak_burst b = { .run = run_loop, .loop = loop, .slices = SLICES, .clock = oa_clock };
    b.rounds = oa_enough_rounds(time_rounds, &b, slice_seconds);
    measure_burst(c, &b, (double)b.rounds * PEAK_CHAINS * flops, false, out);
    out->how = how;
}
#endif

static bool open_products(oa_context *c, struct peak_burst *b, long threads)
{
    oa_kernels_init(&b->kernels, OA_PRECISION_F32, oa_context_isa(c), oa_context_cpu(c));
    b->operands = oa_alloc(c, (size_t)threads * product_bytes(&b->kernels));
    b->state = oa_alloc(c, (size_t)threads * sizeof *b->state);
    bool opened = b->operands && b->state;
    if (opened)
        fill_peak_numbers((float *)(void *)b->operands,
                          (int)((size_t)threads * product_bytes(&b->kernels) / sizeof(float)));
    for (long i = 0; i < threads && opened; i++)
        opened = (b->state[i] = b->kernels.gemm_open(c, OA_PRECISION_F32)) != NULL;
    return opened;
}

static void measure_product(oa_context *c, struct oa_peak_rate *out)
{
    struct peak_burst b = { .run = run_product,
                            .slices = PRODUCT_SLICES,
                            .clock = oa_thread_clock };
    long threads = oa_thread_count(c);
    if (open_products(c, &b, threads))
        measure_burst(c, &b, 2.0 * PRODUCT * PRODUCT * PRODUCT, false, out);
    for (long i = 0; b.state && i < threads; i++)
        if (b.state[i])
            b.kernels.gemm_close(b.state[i]);
    oa_free(b.state);
    oa_free(b.operands);
    out->how = "matrix products of 384 x 384 x 384";
}

static void measure_f32(oa_context *c, struct oa_peak *out)
{
#ifdef __x86_64__
    if (oa_context_isa(c) >= OA_ISA_AVX512) {
        measure_loop(c, oa_peak_avx512, 32, "AVX-512 multiply-adds in registers", &out->f32);
        return;
    }
    if (oa_context_isa(c) >= OA_ISA_AVX2) {
        measure_loop(c, oa_peak_avx2, 16, "AVX2 multiply-adds in registers", &out->f32);
        return;
    }
#endif
    measure_product(c, &out->f32);
}

static void measure_bf16(oa_context *c, struct oa_peak *out)
{
#ifdef __x86_64__
    if (oa_context_isa(c) == OA_ISA_AMX) {
        measure_loop(c, oa_peak_amx, PEAK_TILE, "AMX products in registers", &out->bf16);
        measure_loop(c, oa_peak_amx_loads, PEAK_TILE, "as many tiles loaded, from the L1 cache",
                     &out->loads);
        return;
    }
    if (oa_context_isa(c) == OA_ISA_AVX512 && oa_context_cpu(c)->avx512_bf16) {
        measure_loop(c, oa_peak_avx512bf16, 64, "AVX512_BF16 dot products in registers",
                     &out->bf16);
        return;
    }
#endif
    (void)c;
    out->bf16 = out->f32;
    out->bf16.how = "as f32: no unit for bf16";
}

double oa_peak_flops(const struct oa_peak *p, enum oa_precision precision, bool one)
{
    const struct oa_peak_rate *bf16 = p->loads.one > 0 ? &p->loads : &p->bf16;
    const struct oa_peak_rate *rate = precision == OA_PRECISION_BF16 ? bf16 : &p->f32;
    return 1e9 * (one ? rate->one : rate->all) / (precision == OA_PRECISION_F64 ? 2 : 1);
}

/* Another program on the other hyperthread of the core slows loads down, to a quarter. */
const char *oa_peak_state(const struct oa_peak *p)
{
    double share = p->bf16.one > 0 ? p->loads.one_median / p->bf16.one : 0;
    return share == 0 ? "" : share > 0.75 ? "fast" : share < 0.4 ? "slow" : "changing";
}

/* ---- memory ---- */

/* The best way for each number: which one is the fastest depends on the processor. */
static void measure_copies(oa_context *c, struct peak_burst *b, struct oa_peak *out)
{
    void (*const copies[])(const char *, char *, size_t) = {
        copy_plainly,
#ifdef __x86_64__
        oa_context_cpu(c)->avx512 ? oa_copy_past_caches_avx512 : NULL,
        oa_context_cpu(c)->avx2 ? oa_copy_past_caches_avx2 : NULL,
#endif
    };
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        struct oa_peak_rate way = { 0 };
        b->copy = copies[i];
        if (b->copy)
            measure_burst(c, b, 2 * (double)b->bytes, true, &way);
        out->copy.one = fmax(out->copy.one, way.one);
        out->copy.all = fmax(out->copy.all, way.all);
        out->copy.one_median = fmax(out->copy.one_median, way.one_median);
        out->copy.all_median = fmax(out->copy.all_median, way.all_median);
    }
}

static void measure_copy(oa_context *c, struct oa_peak *out)
{
    struct peak_burst b = {
        .run = run_copy, .slices = LARGE_SLICES / 2, .clock = oa_thread_clock, .bytes = least_copy
    };
    size_t twice = 2 * oa_context_cpu(c)->l3;
    if (twice > b.bytes)
        b.bytes = twice < most_copy ? twice : most_copy;
    b.from = oa_alloc(c, b.bytes + COPY_AHEAD);
    b.to = oa_alloc(c, b.bytes);
    if (b.from && b.to) {
        fill_peak_numbers((float *)(void *)b.from, (int)(b.bytes / sizeof(float)));
        measure_copies(c, &b, out);
    }
    out->copy.how = "a large copy, with stores past the caches, bytes read and written";
    oa_free(b.from);
    oa_free(b.to);
}

enum { READ_ITEM = 1 << 18, READ_PASSES = 3 }; /* bytes; of each way */
static const struct oa_read_way ways[] = { { 1, 0 },     { 1, 4096 }, { 1, 8192 },
                                           { 1, 16384 }, { 4, 8192 }, { 4, 16384 } };
enum { WAYS = sizeof ways / sizeof *ways }; /* which is fastest depends on the processor */
static const double read_seconds = 0.05;    /* short passes are repeated for this time */

struct memory_reading {
    const char *from;
    uint64_t (*read)(const char *from, size_t bytes, struct oa_read_way way);
    struct oa_read_way way;
    long items;
    uint64_t *sum; /* [items] */
};

static void read_item(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct memory_reading *r = argument;
    r->sum[item] = r->read(r->from + (size_t)item * READ_ITEM, READ_ITEM, r->way);
}

static void choose_reader(const struct oa_cpu *cpu, struct memory_reading *r)
{
    r->read = read_words;
#ifdef __x86_64__
    if (cpu->avx2)
        r->read = oa_read_avx2;
    if (cpu->avx512)
        r->read = oa_read_avx512;
#else
    (void)cpu;
#endif
}

double oa_reading_rate(oa_context *c, size_t bytes, double (*clock)(void))
{
    struct memory_reading r = { .items = (long)((bytes + READ_ITEM - 1) / READ_ITEM) };
    size_t room = (size_t)r.items * READ_ITEM;
    char *from = oa_alloc(c, room);
    double best = 0;
    choose_reader(oa_context_cpu(c), &r);
    r.sum = oa_alloc(c, (size_t)r.items * sizeof *r.sum);
    if (from && r.sum) {
        fill_peak_numbers((float *)(void *)from, (int)(room / sizeof(float)));
        r.from = from;
        double first = clock(), start = first;
        for (int i = 0; i < READ_PASSES * WAYS || start - first < read_seconds; i++) {
            r.way = ways[i % WAYS];
            oa_parallel(c, r.items, read_item, &r);
            double end = clock(), rate = (double)room / (end - start);
            best = rate > best ? rate : best;
            start = end;
        }
    }
    oa_free(from);
    oa_free(r.sum);
    return best;
}

void oa_kernels_peak(oa_context *c, struct oa_peak *out)
{
    *out = (struct oa_peak){ 0 };
    measure_f32(c, out);
    measure_bf16(c, out);
    measure_copy(c, out);
}
