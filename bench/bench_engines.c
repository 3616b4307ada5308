/* SPDX-License-Identifier: Apache-2.0
 *
 * Speed of the attention engines, relative to the peak of matrix products of the same run.
 *
 *     bench_engines [--precision f32|bf16|f64] [--threads N] [--only TEXT]
 *                   [--query-block N] [--key-block N]
 *                   [--pass forward|backward] [--clock wall|cpu]
 *
 * On a shared machine, --threads 1 --clock cpu counts only the time of the program itself. FLOPs
 * are those of the products of the definition (causal: half of the square): 2·pairs·(K + V)
 * forward, 2·pairs·(3K + 2V) backward (S again, dP, dV, dQ, dK). Times are the best and the median
 * of at least 7 runs.
 */
#include "device/cpu/cpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_RUNS = 200 };

static struct oa_device *device;
static const char *only = "", *pass_only = "";
static double peak; /* FLOP/s of all threads together */

/* ---- measuring ---- */

static clockid_t clock_used = CLOCK_MONOTONIC;

static double now(void)
{
    struct timespec t;
    clock_gettime(clock_used, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct timing {
    double best, median;
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct timing measure(void (*run)(void *), void *argument)
{
    double times[MOST_RUNS], total = 0;
    int n = 0;
    run(argument);
    while (n < 7 || (total < 0.7 && n < MOST_RUNS)) {
        double start = now();
        run(argument);
        times[n] = now() - start;
        total += times[n++];
    }
    qsort(times, (size_t)n, sizeof *times, compare);
    return (struct timing){ times[0], times[n / 2] };
}

static void *fresh(long n, size_t size)
{
    void *memory = aligned_alloc(64, ((size_t)n * size + 127) / 64 * 64);
    if (!memory)
        exit(1);
    return memset(memory, 0, (size_t)n * size);
}

static void *acts(long n)
{
    double *values = malloc((size_t)n * sizeof *values);
    float *real = malloc((size_t)n * sizeof *real);
    void *x = fresh(n, device->numbers.act_size);
    if (!values || !real)
        exit(1);
    for (long i = 0; i < n; i++) {
        values[i] = oa_random_uniform((struct oa_stream){ 1, 2 }, (uint64_t)i) * 2 - 1;
        real[i] = (float)values[i];
    }
    device->cpu->kernels.act_from_real(
        n, device->numbers.real == OA_F64 ? (void *)values : (void *)real, x);
    free(values);
    free(real);
    return x;
}

static void *reals(long n)
{
    return fresh(n, device->numbers.real_size);
}

/* ---- the peak ---- */

struct product {
    struct oa_gemm shape;
    void *a, *b, *c[64];
};

static void product_item(void *argument, long item, const struct oa_worker *w)
{
    struct product *p = argument;
    (void)item;
    for (int i = 0; i < 20; i++)
        device->cpu->kernels.gemm(device->cpu->gemm[w->index], &p->shape, p->a, p->b,
                                  p->c[w->index]);
}

static void products(void *argument)
{
    oa_parallel(device->context, 8L * oa_thread_count(device->context), product_item, argument);
}

static void measure_peak(void)
{
    int threads = oa_thread_count(device->context);
    struct product p = {
        .shape = { .m = 256, .n = 64, .k = 256, .lda = 256, .ldb = 64, .ldc = 64, .real_out = true }
    };
    p.a = acts(256 * 256);
    p.b = acts(256 * 64);
    for (int i = 0; i < threads && i < 64; i++)
        p.c[i] = reals(256 * 64);
    peak = 8.0 * threads * 20 * 2 * 256 * 256 * 64 / measure(products, &p).best;
    printf("%s, %s, %d threads: products reach %.0f GFLOP/s\n",
           oa_precision_name(device->numbers.precision), device->cpu->kernels.gemm_name, threads,
           peak * 1e-9);
    free(p.a);
    free(p.b);
    for (int i = 0; i < threads && i < 64; i++)
        free(p.c[i]);
}

static void report(const char *name, const char *pass, void (*run)(void *), void *argument,
                   double flops)
{
    run(argument); /* backward needs what forward leaves */
    if (!strstr(pass, pass_only))
        return;
    struct timing t = measure(run, argument);
    printf("%-34s %-8s %9.3f ms best %9.3f median", name, pass, t.best * 1e3, t.median * 1e3);
    if (flops > 0)
        printf(" %7.1f GFLOP/s %5.1f %% of products", flops / t.best * 1e-9,
               100 * flops / t.best / peak);
    printf("\n");
    fflush(stdout);
}

/* ---- logits ---- */

static void logits_forward(void *a)
{
    device->ops->logits(device, a);
}

static void logits_backward(void *a)
{
    device->ops->logits_gradient(device, a);
}

enum kind { SOFTMAX, DENSE, RANDOM, FIXED, MIXED };

struct shape {
    const char *name;
    enum kind kind;
    long batch, heads, length, width;
    bool causal;
    long window;  /* 0 = all keys */
    bool dilated; /* every other key of the window: not an interval */
    double keep;
};

static void *more_rows(const struct shape *s)
{
    return acts(s->batch * s->length * s->heads * s->width);
}

static void make_product(const struct shape *s, struct oa_logits_part *p)
{
    long ld = s->heads * s->width;
    *p = (struct oa_logits_part){
        .kind = OA_PART_DOT, .width = s->width, .scale = 1 / sqrt((double)s->width), .ldq = ld
    };
    p->q = more_rows(s);
    p->dq = more_rows(s);
    p->ldk = ld;
    p->k_table = s->kind == DENSE;
    p->k_head_stride = p->k_table ? s->length * s->width : 0;
    p->k = p->k_table ? acts(s->heads * s->length * s->width) : more_rows(s);
    p->dk = p->k_table ? reals(s->heads * s->length * s->width) : more_rows(s);
}

static void make_table(const struct shape *s, struct oa_logits_part *p)
{
    long n = s->heads * s->length * s->length;
    *p = (struct oa_logits_part){ .kind = OA_PART_TABLE, .table_length = s->length };
    p->table = reals(n);
    p->dtable = s->kind == FIXED ? NULL : reals(n);
}

static void make_logits(const struct shape *s, struct oa_logits *a)
{
    long rows = s->batch * s->length, ld = s->heads * s->width;
    *a = (struct oa_logits){ .shape = { .batch = s->batch,
                                        .queries = s->length,
                                        .keys = s->length,
                                        .heads = s->heads,
                                        .value_width = s->width,
                                        .causal = s->causal },
                             .parts = 1,
                             .keep = s->keep ? s->keep : 1,
                             .ldv = ld,
                             .ldo = ld };
    if (s->window)
        a->support = oa_support_local(s->dilated ? s->window / 2 : s->window, s->dilated ? 2 : 1);
    a->v = acts(rows * ld), a->dv = acts(rows * ld), a->o = acts(rows * ld),
    a->d_o = acts(rows * ld);
    a->lse = reals(rows * s->heads);
    if (s->kind == RANDOM || s->kind == FIXED)
        make_table(s, &a->part[0]);
    else
        make_product(s, &a->part[0]);
    if (s->kind != MIXED)
        return;
    make_table(s, &a->part[1]);
    a->parts = 2;
}

static void free_logits(struct oa_logits *a)
{
    for (int c = 0; c < a->parts; c++) {
        struct oa_logits_part *p = &a->part[c];
        free((void *)(uintptr_t)p->q), free(p->dq), free((void *)(uintptr_t)p->k), free(p->dk);
        free((void *)(uintptr_t)p->table), free(p->dtable);
    }
    free((void *)(uintptr_t)a->v), free(a->dv), free(a->o), free((void *)(uintptr_t)a->d_o),
        free(a->lse);
}

static double count_pairs(const struct shape *s)
{
    double n = (double)s->length, w = (double)s->window;
    double pairs = s->window ? n * w - w * (w - 1) / 2 : s->causal ? n * (n + 1) / 2 : n * n;
    return pairs * (double)(s->batch * s->heads);
}

static void bench_logits(const struct shape *s)
{
    struct oa_logits a;
    bool table = s->kind == RANDOM || s->kind == FIXED;
    double unit = 2 * count_pairs(s) * (double)s->width;
    if (!strstr(s->name, only))
        return;
    make_logits(s, &a);
    report(s->name, "forward", logits_forward, &a, unit * (table ? 1 : 2));
    report(s->name, "backward", logits_backward, &a, unit * (s->kind == FIXED ? 1 : table ? 2 : 5));
    free_logits(&a);
}

/* ---- linear attention, patterns ---- */

static void linear_forward(void *a)
{
    device->ops->linear_attention(device, a);
}

static void linear_backward(void *a)
{
    device->ops->linear_attention_gradient(device, a);
}

static void bench_linear(const char *name, long batch, long heads, long length, long features,
                         long width, bool causal)
{
    long rows = batch * length, n = rows * heads;
    if (!strstr(name, only))
        return;
    struct oa_linear_attention a = { .shape = { .batch = batch,
                                                .queries = length,
                                                .keys = length,
                                                .heads = heads,
                                                .value_width = width,
                                                .causal = causal },
                                     .features = features,
                                     .ldfq = heads * features,
                                     .ldfk = heads * features,
                                     .ldv = heads * width,
                                     .ldo = heads * width,
                                     .epsilon = 1e-6,
                                     .policy = OA_DENOMINATOR_CLAMP };
    void *fq = acts(n * features), *fk = acts(n * features), *v = acts(n * width),
         *d_o = acts(n * width);
    a.fq = fq, a.fk = fk, a.v = v, a.d_o = d_o;
    a.dfq = acts(n * features), a.dfk = acts(n * features), a.dv = acts(n * width),
    a.o = acts(n * width);
    a.den = reals(n);
    double flops = 4.0 * (double)n * (double)(features * width); /* without what the chunks add */
    report(name, "forward", linear_forward, &a, flops);
    report(name, "backward", linear_backward, &a, 2.5 * flops);
    free(fq), free(fk), free(v), free(d_o), free(a.dfq), free(a.dfk), free(a.dv), free(a.o),
        free(a.den);
}

static void pattern_forward(void *a)
{
    device->ops->pattern(device, a);
}

static void pattern_backward(void *a)
{
    device->ops->pattern_gradient(device, a);
}

static void bench_pattern(const char *name, enum oa_pattern_kind pattern, bool causal)
{
    long batch = 4, heads = 12, length = 1024, width = 64, n = batch * length * heads * width;
    if (!strstr(name, only))
        return;
    struct oa_pattern_attention a = { .shape = { .batch = batch,
                                                 .queries = length,
                                                 .keys = length,
                                                 .heads = heads,
                                                 .value_width = width,
                                                 .causal = causal },
                                      .pattern = pattern,
                                      .ldv = heads * width,
                                      .ldo = heads * width };
    void *v = acts(n), *d_o = acts(n);
    a.v = v, a.d_o = d_o, a.dv = acts(n), a.o = acts(n);
    report(name, "forward", pattern_forward, &a, 0);
    report(name, "backward", pattern_backward, &a, 0);
    free(v), free(d_o), free(a.dv), free(a.o);
}

/* ---- the program ---- */

static const struct shape shapes[] = {
    { "softmax T1024 causal", SOFTMAX, 4, 12, 1024, 64, true, 0, false, 1 },
    { "softmax T1024 full", SOFTMAX, 4, 12, 1024, 64, false, 0, false, 1 },
    { "dropout T1024 causal", SOFTMAX, 4, 12, 1024, 64, true, 0, false, 0.9 },
    { "softmax T64 K32 B12 H4 causal", SOFTMAX, 12, 4, 64, 32, true, 0, false, 1 },
    { "softmax T256 K32 B8 H8 causal", SOFTMAX, 8, 8, 256, 32, true, 0, false, 1 },
    { "softmax T1024 K16 B4 H8 full", SOFTMAX, 4, 8, 1024, 16, false, 0, false, 1 },
    { "dropout T1024 K16 B4 H8 full", SOFTMAX, 4, 8, 1024, 16, false, 0, false, 0.8 },
    { "softmax T512 B8 H8 causal", SOFTMAX, 8, 8, 512, 64, true, 0, false, 1 },
    { "softmax T2048 B2 H8 causal", SOFTMAX, 2, 8, 2048, 64, true, 0, false, 1 },
    { "softmax T8192 B1 H8 causal", SOFTMAX, 1, 8, 8192, 64, true, 0, false, 1 },
    { "softmax T4096 B1 H4 causal", SOFTMAX, 1, 4, 4096, 64, true, 0, false, 1 },
    { "dense T1024 causal", DENSE, 4, 12, 1024, 64, true, 0, false, 1 },
    { "random T1024 causal", RANDOM, 4, 12, 1024, 64, true, 0, false, 1 },
    { "fixed-random T1024 causal", FIXED, 4, 12, 1024, 64, true, 0, false, 1 },
    { "softmax+random T1024 causal", MIXED, 4, 12, 1024, 64, true, 0, false, 1 },
    { "random T64 K32 B12 H4 causal", RANDOM, 12, 4, 64, 32, true, 0, false, 1 },
    { "window128 n4096 B1 H8", SOFTMAX, 1, 8, 4096, 64, true, 128, false, 1 },
    { "window128 n32768 B1 H8", SOFTMAX, 1, 8, 32768, 64, true, 128, false, 1 },
    { "dilated n4096 B1 H8", SOFTMAX, 1, 8, 4096, 64, true, 256, true, 1 },
};

static void run_all(void)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        bench_logits(&shapes[i]);
    bench_linear("linear n1024 r64 causal", 4, 12, 1024, 64, 64, true);
    bench_linear("linear n1024 r64", 4, 12, 1024, 64, 64, false);
    bench_linear("linear n1024 r256 causal", 4, 12, 1024, 256, 64, true);
    bench_linear("linear n64 r32 B12 H4 causal", 12, 4, 64, 32, 32, true);
    bench_linear("linear n4096 r64 B1 H8 causal", 1, 8, 4096, 64, 64, true);
    bench_linear("linear n32768 r64 B1 H8 causal", 1, 8, 32768, 64, 64, true);
    bench_pattern("pattern previous T1024", OA_PATTERN_PREVIOUS, false);
    bench_pattern("pattern left T1024", OA_PATTERN_LEFT, false);
    bench_pattern("pattern start T1024 causal", OA_PATTERN_START, true);
}

int main(int argc, char **argv)
{
    struct oa_settings settings = { 0 };
    enum oa_precision precision = OA_PRECISION_F32;
    long query_block = 0, key_block = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--precision") == 0 && !oa_precision_parse(argv[i + 1], &precision))
            return 2;
        if (strcmp(argv[i], "--threads") == 0)
            settings.threads = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--only") == 0)
            only = argv[i + 1];
        if (strcmp(argv[i], "--pass") == 0)
            pass_only = argv[i + 1];
        if (strcmp(argv[i], "--clock") == 0 && strcmp(argv[i + 1], "cpu") == 0)
            clock_used = CLOCK_PROCESS_CPUTIME_ID;
        if (strcmp(argv[i], "--query-block") == 0)
            query_block = atol(argv[i + 1]);
        if (strcmp(argv[i], "--key-block") == 0)
            key_block = atol(argv[i + 1]);
    }
    oa_context *context = oa_open(&settings);
    if (!context || oa_device_open(context, precision, false, &device) != OA_OK)
        return 1;
    if (query_block)
        device->cpu->kernels.query_block = query_block;
    if (key_block)
        device->cpu->kernels.key_block = key_block;
    measure_peak();
    run_all();
    oa_device_close(device);
    oa_close(context);
    return 0;
}
