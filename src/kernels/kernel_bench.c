/* SPDX-License-Identifier: Apache-2.0
 * Benchmark: the problems of kernel_cases.h at the sizes of a model, timed for every version of the
 * kernel. */
#include "kernels/kernel_bench.h"
#include "kernels/kernel_cases.h"

#include <math.h>

enum { REPEATS = 5, TRIES = 3 };
static const double seconds_each = 4e-4; /* of one repeat */

/* Products in a model of width 768: projection, gradient of its weights, QKᵀ, PV of attention
 * tiles. */
static const struct {
    const char *name;
    long m, n, k;
    int variant;
} products[] = {
    { "gemm 256x768x768", 256, 768, 768, 0 }, { "gemm 768x768x256 AtB+", 768, 768, 256, 9 },
    { "gemm 64x512x64 ABt", 64, 512, 64, 6 }, { "gemm 64x64x512 +", 64, 64, 512, 8 },
    { "gemm 64x64x64", 64, 64, 64, 4 },
};
enum { PRODUCTS = sizeof products / sizeof *products };
static const char *const features[] = { "feature elu", "feature relu", "feature cos",
                                        "feature power" };

struct kernel_bench {
    oa_context *context;
    oa_kernel_row *row;
    void *argument;
    int count; /* of versions; the first is the plain one */
    struct kernel_version version[KERNEL_VERSIONS];
};

/* ---- one measurement ---- */

static bool takes_long_enough(double (*take)(void *argument, long rounds), void *argument,
                              long rounds, double seconds)
{
    for (int i = 0; i < TRIES; i++)
        if (take(argument, rounds) < seconds)
            return false;
    return true;
}

long oa_enough_rounds(double (*take)(void *argument, long rounds), void *argument, double seconds)
{
    long rounds = 1;
    while (!takes_long_enough(take, argument, rounds, seconds) && rounds < 1l << 40)
        rounds *= 2;
    return rounds;
}

struct timed_kernel {
    const struct kernel_problem *problem;
    const struct oa_kernels *kernels;
    struct oa_gemm_state *state;
    void *const *operands;
};

static double time_calls(void *argument, long calls)
{
    const struct timed_kernel *t = argument;
    double start = oa_clock();
    for (long i = 0; i < calls; i++)
        t->problem->what->call(t->kernels, t->state, t->problem, t->operands);
    return oa_clock() - start;
}

/* Seconds of a call: the least over a few repeats. */
static double least_seconds(struct timed_kernel *t)
{
    double seconds = INFINITY;
    long calls = oa_enough_rounds(time_calls, t, seconds_each);
    for (int i = 0; i < REPEATS; i++)
        seconds = fmin(seconds, time_calls(t, calls));
    return seconds / (double)calls;
}

static double seconds_of_call(oa_context *c, const struct kernel_problem *p,
                              const struct oa_kernels *k)
{
    struct case_values v;
    struct case_memory m = { 0 };
    double seconds = 0;
    if (oa_case_values(c, p, k->precision, &v) != OA_OK)
        return 0;
    struct oa_gemm_state *state = k->gemm_open(c, k->precision);
    if (state && oa_case_memory(c, p, k, &v, false, &m) == OA_OK)
        seconds = least_seconds(&(struct timed_kernel){ p, k, state, m.x });
    oa_case_memory_free(&m);
    oa_case_values_free(&v);
    if (state)
        k->gemm_close(state);
    return seconds;
}

/* ---- what it comes to ---- */

static double problem_bytes(const struct kernel_problem *p, const struct oa_kernels *k)
{
    double bytes = 0;
    for (int o = 0; o < p->count; o++) {
        const struct case_operand *q = &p->operand[o];
        size_t size = q->type == CASE_ACT    ? k->act_size
                      : q->type == CASE_REAL ? k->real_size
                                             : sizeof(int32_t);
        bytes += (double)(q->rows * q->cols) * (double)size * (q->role == CASE_BOTH ? 2 : 1);
    }
    return bytes;
}

static double worst_kernel_error(oa_context *c, const struct kernel_problem *p,
                                 const struct oa_kernels *k)
{
    struct kernel_problem small;
    double worst = 0;
    char where[OA_CASE_TEXT];
    long rows = p->rows < 65 ? p->rows : 65, cols = p->cols < 1021 ? p->cols : 1021;
    if (p->depth && cols > 63)
        cols = 63;
    oa_kernel_problem(&small, p->what, rows, cols, p->depth < 257 ? p->depth : 257, p->variant,
                      true);
    if (oa_kernel_check(c, &small, k, false, &worst, where) != OA_OK)
        return INFINITY;
    return worst;
}

static void bench_kernel_problem(struct kernel_bench *b, const struct kernel_problem *p,
                                 const char *name)
{
    double plain = 0;
    for (int i = 0; i < b->count && oa_status(b->context) == OA_OK; i++) {
        const struct oa_kernels *k = &b->version[i].table;
        if (oa_kernel_seen(b->version, i, p->what))
            continue;
        double seconds = seconds_of_call(b->context, p, k);
        if (i == 0)
            plain = seconds;
        double amount = p->depth ? 2.0 * (double)p->rows * (double)p->cols * (double)p->depth
                                 : problem_bytes(p, k);
        b->row(b->argument, name, oa_precision_name(k->precision), b->version[i].name,
               seconds * 1e9 / ((double)p->rows * (double)p->cols), amount / seconds * 1e-9,
               p->depth ? "GFLOP/s" : "GB/s", plain / seconds,
               worst_kernel_error(b->context, p, k));
    }
}

static void bench_kernel_case(struct kernel_bench *b, const struct kernel_case *c)
{
    struct kernel_problem p;
    bool product = c->slot == offsetof(struct oa_kernels, gemm);
    bool feature = c->slot == offsetof(struct oa_kernels, feature);
    for (int i = 0; product && i < PRODUCTS; i++) {
        oa_kernel_problem(&p, c, products[i].m, products[i].n, products[i].k, products[i].variant,
                          false);
        bench_kernel_problem(b, &p, products[i].name);
    }
    for (int i = 0; feature && i < c->variants; i++) {
        oa_kernel_problem(&p, c, c->bench_rows, c->bench_cols, 0, i, false);
        bench_kernel_problem(b, &p, features[i]);
    }
    if (product || feature)
        return;
    oa_kernel_problem(&p, c, c->bench_rows, c->bench_cols, 0, 0, false);
    bench_kernel_problem(b, &p, c->name);
}

void oa_kernels_bench(oa_context *c, oa_kernel_row *row, void *argument)
{
    const struct kernel_case *what;
    for (int p = OA_PRECISION_F32; p <= OA_PRECISION_BF16; p++) {
        struct kernel_bench b = { .context = c, .row = row, .argument = argument };
        b.count = oa_kernel_versions(c, (enum oa_precision)p, b.version);
        for (int i = 0; !oa_stop_requested(c) && (what = oa_kernel_case(i)); i++)
            bench_kernel_case(&b, what);
    }
}
