/* SPDX-License-Identifier: Apache-2.0
 * Runs an attention layer, projections included, on the plan device for its FLOPs and on the CPU
 * for its time. */
#include "api/bench_layer.h"
#include "attention/layer/single_layer.h"
#include "print/print.h"

#include <math.h>

enum { LEAST_RUNS = 3, MOST_RUNS = 50 };
static const double enough = 0.25;      /* seconds of measuring, warm-up left out */
static const double patience = 5;       /* seconds after which LEAST_RUNS are not insisted on */
static const double most_memory = 0.75; /* of the machine's */

struct layer_bench {
    oa_context *c;
    const struct oa_layer_case *what;
    struct oa_single_layer rig;
    void *x, *dy; /* acts */
    struct oa_arena inputs;
    size_t tape_bytes, scratch_bytes; /* what the plan device counted */
};

/* N(0, 1) as acts; addresses only on the plan device. */
static void *make_input(struct layer_bench *b, const char *name, long count)
{
    void *act = oa_arena_take(&b->inputs, (size_t)count * b->rig.device->numbers.act_size);
    struct oa_stream s = oa_stream_named(1, name);
    double *values =
        act && !b->rig.device->dry ? oa_alloc(b->c, (size_t)count * sizeof *values) : NULL;
    for (long i = 0; values && i < count; i++)
        values[i] = oa_random_normal(s, (uint64_t)i);
    if (values)
        oa_acts_write(b->rig.device, count, values, act);
    oa_free(values);
    return act;
}

static enum oa_error open_bench(struct layer_bench *b, bool dry)
{
    const struct oa_layer_case *w = b->what;
    struct oa_layer_shape shape = oa_equal_heads_shape(w->width, w->heads, w->length);
    shape.causal = w->causal;
    long count = w->batch * w->length * w->width;
    OA_TRY(oa_single_layer_open(b->c, w->attention, w->precision, dry, &b->rig));
    oa_device_arena(&b->inputs, b->rig.device);
    OA_TRY(oa_single_layer_layer(&b->rig, 0, &shape));
    OA_TRY(oa_store_allocate(&b->rig.store, 1, true));
    b->x = make_input(b, "x", count);
    b->dy = make_input(b, "dy", count);
    return oa_status(b->c);
}

static void close_bench(struct layer_bench *b)
{
    oa_arena_free(&b->inputs);
    oa_single_layer_close(&b->rig);
}

static enum oa_error pass(struct layer_bench *b, bool backward)
{
    const struct oa_layer_case *w = b->what;
    long rows = w->batch * w->length;
    oa_tape_reset(&b->rig.tape, backward, false, (struct oa_stream){ 0 });
    struct oa_layer_input in = { .x = oa_tensor_from(&b->rig.tape, b->x, rows, w->width, w->width,
                                                     true),
                                 .batch = w->batch,
                                 .queries = w->length,
                                 .keys = w->length };
    oa_tensor *y = oa_layer_forward(&b->rig.tape, &b->rig.layer, &in);
    OA_TRY(oa_status(b->c));
    if (backward) {
        y->gradient = b->dy;
        oa_tape_backward(&b->rig.tape);
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
    OA_TRY(pass(b, backward));
    oa_device_sync(b->rig.device);
    double seconds = b->what->clock() - start;
    r->count++;
    r->sum += seconds;
    r->least = fmin(r->least, seconds);
    r->most = fmax(r->most, seconds);
    return OA_OK;
}

/* The least of several runs, since other programs can only make them slower. The first one warms
 * up: it is the one that gets the pages of the memory, a third of the time of a long pass. */
static enum oa_error time_pass(struct layer_bench *b, bool backward, struct runs *r)
{
    const struct runs none = { .least = INFINITY };
    *r = none;
    OA_TRY(time_run(b, backward, r));
    *r = none;
    while (r->count < MOST_RUNS &&
           (r->sum < enough || (r->count < LEAST_RUNS && r->sum < patience)))
        OA_TRY(time_run(b, backward, r));
    return OA_OK;
}

static void read_memory(struct layer_bench *b, struct oa_layer_cost *out)
{
    out->parameters = (double)b->rig.store.arena.peak;
    out->pass = (double)(b->rig.tape.arena.peak + b->rig.device->scratch.peak);
}

static enum oa_error count_layer(struct layer_bench *b, struct oa_layer_cost *out)
{
    double limit = most_memory * (double)oa_context_cpu(b->c)->memory;
    char needed[OA_NUMBER];
    OA_TRY(open_bench(b, true));
    b->rig.device->flops = 0;
    OA_TRY(pass(b, true));
    out->flops = b->rig.device->flops;
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
    oa_arena_reserve(&b->rig.tape.arena, b->tape_bytes);
    oa_arena_reserve(&b->rig.device->scratch, b->scratch_bytes);
    OA_TRY(time_pass(b, false, &forward));
    OA_TRY(time_pass(b, true, &both));
    out->forward = forward.least;
    out->both = both.least;
    out->spread = both.most / both.least - 1;
    read_memory(b, out);
    out->pass += (double)oa_scratch_peak(b->c);
    return OA_OK;
}

static enum oa_error note_refusal(struct layer_bench *b, enum oa_error e, struct oa_layer_cost *out)
{
    const char *sentence;
    if (e != OA_UNSUPPORTED && e != OA_SHAPE)
        return e;
    oa_last_error(b->c, &sentence);
    snprintf(out->why_not, sizeof out->why_not, "%s", sentence);
    oa_clear_error(b->c);
    return OA_OK;
}

enum oa_error oa_layer_measure(oa_context *c, const struct oa_layer_case *what,
                               struct oa_layer_cost *out)
{
    struct layer_bench dry = { .c = c, .what = what }, real = dry;
    *out = (struct oa_layer_cost){ 0 };
    enum oa_error e = count_layer(&dry, out);
    real.tape_bytes = dry.rig.tape.arena.peak;
    real.scratch_bytes = dry.rig.device ? dry.rig.device->scratch.peak : 0;
    close_bench(&dry);
    if (e != OA_OK)
        return note_refusal(&dry, e, out);
    e = time_layer(&real, out);
    close_bench(&real);
    return e;
}
