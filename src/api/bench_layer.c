/* SPDX-License-Identifier: Apache-2.0
 * Runs an attention layer, projections included, on the plan device for its FLOPs and on the CPU
 * for its time. */
#include "api/bench_layer.h"
#include "attention/layer/single_layer.h"
#include "print/print.h"

#include <math.h>

enum { LEAST_RUNS = 3, MOST_RUNS = 50 };
static const double enough_seconds = 0.25; /* of measuring, without the warm-up */
static const double most_seconds = 5;      /* after which fewer than LEAST_RUNS suffice */
static const double most_memory = 0.75;    /* of the machine's */

struct layer_bench {
    oa_context *c;
    const struct oa_layer_case *what;
    struct oa_single_layer single;
    void *x, *dy; /* acts */
    struct oa_arena inputs;
    size_t tape_bytes, scratch_bytes; /* what the plan device counted */
};

/* N(0, 1) as acts; addresses only on the plan device. */
static void *make_input(struct layer_bench *b, const char *name, long count)
{
    void *act = oa_arena_take(&b->inputs, (size_t)count * b->single.device->numbers.act_size);
    struct oa_stream s = oa_stream_named(1, name);
    double *values =
        act && !b->single.device->dry ? oa_alloc(b->c, (size_t)count * sizeof *values) : NULL;
    for (long i = 0; values && i < count; i++)
        values[i] = oa_random_normal(s, (uint64_t)i);
    if (values)
        oa_acts_write(b->single.device, count, values, act);
    oa_free(values);
    return act;
}

static enum oa_error open_bench(struct layer_bench *b, bool dry)
{
    const struct oa_layer_case *w = b->what;
    struct oa_layer_shape shape = oa_equal_heads_shape(w->width, w->heads, w->length);
    shape.causal = w->causal;
    long count = w->batch * w->length * w->width;
    OA_TRY(oa_single_layer_open(b->c, w->attention, w->precision, dry, &b->single));
    oa_device_arena(&b->inputs, b->single.device);
    OA_TRY(oa_single_layer_layer(&b->single, 0, &shape));
    OA_TRY(oa_store_allocate(&b->single.store, 1, true));
    b->x = make_input(b, "x", count);
    b->dy = make_input(b, "dy", count);
    return oa_status(b->c);
}

static void close_bench(struct layer_bench *b)
{
    oa_arena_free(&b->inputs);
    oa_single_layer_close(&b->single);
}

static enum oa_error bench_pass(struct layer_bench *b, bool backward)
{
    const struct oa_layer_case *w = b->what;
    long rows = w->batch * w->length;
    oa_tape_reset(&b->single.tape, backward, false, (struct oa_stream){ 0 });
    struct oa_layer_input in = { .x = oa_tensor_from(&b->single.tape, b->x, rows, w->width,
                                                     w->width, true),
                                 .batch = w->batch,
                                 .queries = w->length,
                                 .keys = w->length };
    oa_tensor *y = oa_layer_forward(&b->single.tape, &b->single.layer, &in);
    OA_TRY(oa_status(b->c));
    if (backward) {
        y->gradient = b->dy;
        oa_tape_backward(&b->single.tape);
    }
    return oa_status(b->c);
}

struct runs {
    int count;
    double sum, least, most; /* seconds */
};

static enum oa_error time_run(struct layer_bench *b, bool backward, struct runs *r)
{
    if (oa_stop_requested(b->c))
        return oa_fail(b->c, OA_INTERRUPTED, "stopped");
    double start = b->what->clock();
    OA_TRY(bench_pass(b, backward));
    oa_device_sync(b->single.device);
    double seconds = b->what->clock() - start;
    r->count++;
    r->sum += seconds;
    r->least = fmin(r->least, seconds);
    r->most = fmax(r->most, seconds);
    return OA_OK;
}

/* Several runs, of which the fastest counts, since other programs can only make them slower. The
 * first one is a warm-up: page faults take a third of the time of a long pass. */
static enum oa_error time_pass(struct layer_bench *b, bool backward, struct runs *r)
{
    const struct runs none = { .least = INFINITY };
    *r = none;
    OA_TRY(time_run(b, backward, r));
    *r = none;
    while (r->count < MOST_RUNS &&
           (r->sum < enough_seconds || (r->count < LEAST_RUNS && r->sum < most_seconds)))
        OA_TRY(time_run(b, backward, r));
    return OA_OK;
}

static void read_memory(struct layer_bench *b, struct oa_layer_cost *out)
{
    out->parameters = (double)b->single.store.arena.peak;
    out->pass = (double)(b->single.tape.arena.peak + b->single.device->scratch.peak);
}

static enum oa_error count_layer(struct layer_bench *b, struct oa_layer_cost *out)
{
    double limit = most_memory * (double)oa_context_cpu(b->c)->memory;
    char needed[OA_NUMBER];
    OA_TRY(open_bench(b, true));
    b->single.device->flops = 0;
    OA_TRY(bench_pass(b, true));
    out->flops = b->single.device->flops;
    read_memory(b, out);
    if (limit > 0 && out->parameters + out->pass > limit)
        return oa_fail(b->c, OA_UNSUPPORTED,
                       "a layer of %ld tokens needs %s, more than this machine has",
                       b->what->length, oa_number_bytes(needed, out->parameters + out->pass));
    return OA_OK;
}

static enum oa_error time_layer(struct layer_bench *b, struct oa_layer_cost *out)
{
    struct runs forward, both;
    oa_scratch_peak(b->c);
    OA_TRY(open_bench(b, false));
    oa_arena_reserve(&b->single.tape.arena, b->tape_bytes);
    oa_arena_reserve(&b->single.device->scratch, b->scratch_bytes);
    OA_TRY(time_pass(b, false, &forward));
    OA_TRY(time_pass(b, true, &both));
    out->forward = forward.least;
    out->both = both.least;
    out->spread = both.most / both.least - 1;
    read_memory(b, out);
    out->pass += (double)oa_scratch_peak(b->c);
    return OA_OK;
}

enum oa_error oa_layer_measure(oa_context *c, const struct oa_layer_case *what,
                               struct oa_layer_cost *out)
{
    struct layer_bench dry = { .c = c, .what = what }, real = dry;
    *out = (struct oa_layer_cost){ 0 };
    enum oa_error e = count_layer(&dry, out);
    real.tape_bytes = dry.single.tape.arena.peak;
    real.scratch_bytes = dry.single.device ? dry.single.device->scratch.peak : 0;
    close_bench(&dry);
    if (e == OA_UNSUPPORTED || e == OA_SHAPE) {
        const char *why;
        oa_last_error(c, &why);
        snprintf(out->why_not, sizeof out->why_not, "%s", why);
        oa_clear_error(c);
        return OA_OK;
    }
    OA_TRY(e);
    e = time_layer(&real, out);
    close_bench(&real);
    return e;
}
