/* SPDX-License-Identifier: Apache-2.0
 * bench --decode: the speed of a model that generates one sequence or several in parallel, against
 * the time in which its weights and states can be read. */
#include "api/api.h"
#include "device/device_peak.h"
#include "kernels/kernel_bench.h"
#include "print/print.h"
#include "statistics/statistics.h"

#include <math.h>
#include <string.h>

enum { WARM_UP = 2, STEPS = 24 };

/* Tokens of some sequences of one attention. */
struct decode_row {
    const char *attention;
    long sequences;
    double seconds; /* of a step: a token of each sequence; the median */
    double bytes;   /* that a step reads and writes, counted by the plan device; of the steps timed,
                       the mean */
    double flops;   /* of a step, likewise */
    double rate;    /* bytes a second at which as many are read in a row */
};

struct decode_bench {
    oa_context *c;
    const struct oa_options *options;
    const struct oa_decode_bench_request *q;
    struct oa_model_form form;
    double arithmetic; /* FLOPs a second at the measured peak */
    struct decode_row *row;
    int rows;
    bool stopped;
};

static double now(const struct decode_bench *r)
{
    return r->q->processor_time ? oa_processor_clock() : oa_clock();
}

/* ---- measuring ---- */

/* A model that decodes token by token, on one of the two devices. */
struct reader {
    struct oa_device *device;
    struct oa_model *model;
    struct oa_decoding_batch decodings;
    int32_t *ids;
    float *logits;
};

static enum oa_error open_reader(const struct decode_bench *r, const struct oa_options *o,
                                 long sequences, bool dry, struct reader *x)
{
    OA_TRY(oa_device_open(r->c, o->train_precision, dry, &x->device));
    OA_TRY(oa_model_open(x->device, o, &r->form, false, &x->model));
    if (x->model->form.encoder)
        return oa_fail(r->c, OA_ARGUMENT,
                       "bench --decode needs a decoder-only model; those of the task %s have an "
                       "encoder",
                       o->data_task);
    OA_TRY(oa_decoding_batch_open(x->model, (int)sequences, &x->decodings));
    x->ids = oa_alloc(r->c, (size_t)sequences * sizeof *x->ids);
    x->logits = oa_alloc(r->c, (size_t)(sequences * x->model->vocabulary) * sizeof *x->logits);
    OA_TRY(oa_status(r->c));
    return oa_decoding_batch_begin(&x->decodings, (int)sequences, NULL);
}

static void close_reader(struct reader *x)
{
    oa_free(x->ids);
    oa_free(x->logits);
    oa_decoding_batch_close(&x->decodings);
    oa_model_close(x->model);
    oa_device_close(x->device);
    *x = (struct reader){ 0 };
}

/* Reads a token in each sequence, scattered over the vocabulary. logits: computed, as for sampling.
 */
static enum oa_error read_token(const struct decode_bench *r, struct reader *x, bool logits)
{
    for (int i = 0; i < x->decodings.rows; i++)
        x->ids[i] =
            (int32_t)((x->decodings.tokens * 7919 + i * 104729L) % x->model->form.vocabulary);
    if (oa_stop_requested(r->c))
        return oa_fail(r->c, OA_INTERRUPTED, "stopped by signal %d", oa_stop_requested(r->c));
    return oa_decoding_batch_read(&x->decodings, x->ids, logits ? x->logits : NULL, NULL);
}

static enum oa_error read_before(const struct decode_bench *r, struct reader *x)
{
    for (long i = 0; i < r->q->after; i++)
        OA_TRY(read_token(r, x, false));
    for (int i = 0; i < WARM_UP; i++) {
        OA_TRY(read_token(r, x, true));
        oa_device_settle(x->device);
    }
    return OA_OK;
}

static enum oa_error time_decode_steps(const struct decode_bench *r, struct reader *x,
                                       struct decode_row *out)
{
    double taken[STEPS];
    OA_TRY(read_before(r, x));
    for (int i = 0; i < STEPS; i++) {
        double start = now(r);
        OA_TRY(read_token(r, x, true));
        taken[i] = now(r) - start;
    }
    out->seconds = oa_median_of(taken, STEPS).value;
    return OA_OK;
}

static enum oa_error count_decode_step(const struct decode_bench *r, struct reader *x,
                                       struct decode_row *out)
{
    OA_TRY(read_before(r, x));
    double bytes = x->device->bytes, flops = x->device->flops;
    for (int i = 0; i < STEPS; i++)
        OA_TRY(read_token(r, x, true));
    out->bytes = (x->device->bytes - bytes) / STEPS;
    out->flops = (x->device->flops - flops) / STEPS;
    return OA_OK;
}

static enum oa_error measure_decode_row(const struct decode_bench *r, const struct oa_options *o,
                                        struct decode_row *row)
{
    struct reader real = { 0 }, plan = { 0 };
    enum oa_error e = open_reader(r, o, row->sequences, true, &plan);
    if (e == OA_OK)
        e = count_decode_step(r, &plan, row);
    close_reader(&plan);
    if (e == OA_OK)
        e = open_reader(r, o, row->sequences, false, &real);
    if (e == OA_OK)
        e = time_decode_steps(r, &real, row);
    close_reader(&real);
    if (e == OA_OK)
        row->rate = oa_reading_rate(r->c, (size_t)row->bytes,
                                    r->q->processor_time ? oa_processor_clock : oa_clock);
    return e == OA_OK ? oa_status(r->c) : e;
}

/* Before anything is timed: an attention that does not exist would end the bench after the others.
 */
static enum oa_error check_attentions(const struct decode_bench *r, struct oa_options *changed)
{
    for (int i = 0; i < r->q->count; i++) {
        *changed = *r->options;
        OA_TRY(oa_options_set(r->c, changed, "model.attention", r->q->attentions[i]));
        struct reader x = { 0 };
        enum oa_error e = open_reader(r, changed, 1, true, &x);
        close_reader(&x);
        OA_TRY(e);
    }
    return OA_OK;
}

static enum oa_error measure_decoding(struct decode_bench *r, struct oa_options *changed)
{
    const struct oa_decode_bench_request *q = r->q;
    struct oa_bar bar;
    struct oa_peak peak;
    int count = q->count ? q->count : 1;
    OA_TRY(check_attentions(r, changed));
    oa_kernels_peak(r->c, &peak);
    struct oa_device_peak card;
    r->arithmetic = oa_device_peak_measure(r->c, r->options->train_precision, &card)
                        ? card.flops
                        : oa_peak_flops(&peak, r->options->train_precision, q->processor_time);
    oa_bar_open(&bar, r->c, "timing tokens");
    for (int i = 0; i < count * q->sizes; i++) {
        *changed = *r->options;
        const char *attention =
            q->count ? q->attentions[i / q->sizes] : r->options->model_attention;
        OA_TRY(oa_options_set(r->c, changed, "model.attention", attention));
        r->row[r->rows] =
            (struct decode_row){ .attention = attention, .sequences = q->sequences[i % q->sizes] };
        oa_bar_log(&bar, i, count * q->sizes);
        OA_TRY(measure_decode_row(r, changed, &r->row[r->rows]));
        r->rows++;
    }
    return OA_OK;
}

static enum oa_error check_decode_bench(const struct decode_bench *r)
{
    const struct oa_decode_bench_request *q = r->q;
    long most = r->options->model_context - WARM_UP - STEPS;
    if (most < 0)
        return oa_fail(r->c, OA_ARGUMENT,
                       "model.context = %ld is too short for the %d tokens that bench --decode "
                       "reads; give at least %d",
                       r->options->model_context, WARM_UP + STEPS, WARM_UP + STEPS);
    if (q->after < 0 || q->after > most)
        return oa_fail(r->c, OA_ARGUMENT,
                       "model.context = %ld is too short for %ld tokens (--after) and the %d "
                       "that are timed; give --after 0 to %ld, or a longer model.context",
                       r->options->model_context, q->after, WARM_UP + STEPS, most);
    for (int i = 0; i < q->sizes; i++)
        if (q->sequences[i] < 1 || q->sequences[i] > 4096)
            return oa_fail(r->c, OA_ARGUMENT, "%ld parallel sequences: give 1 to 4096",
                           q->sequences[i]);
    return OA_OK;
}

/* ---- as text, as JSON ---- */

static const struct oa_column columns[] = {
    { .title = "attention" },
    { .title = "sequences", .right = true },
    { .title = "step", .right = true },
    { .title = "tokens/s", .right = true },
    { .title = "bytes\na step", .right = true },
    { .title = "bytes\na token", .right = true },
    { .title = "lower\nbound", .right = true },
    { .title = "tokens/s\nat the bound", .right = true },
    { .title = "share of\nthe bound", .right = true },
    { .title = "set by" },
};

static double arithmetic_of(const struct decode_bench *r, const struct decode_row *row)
{
    return row->flops / r->arithmetic;
}

static double traffic_of(const struct decode_row *row)
{
    return row->bytes / row->rate;
}

static double decode_lower_bound(const struct decode_bench *r, const struct decode_row *row)
{
    return fmax(traffic_of(row), arithmetic_of(r, row));
}

static void add_decode_row(const struct decode_bench *r, const struct decode_row *row,
                           struct oa_table *t)
{
    char number[OA_NUMBER];
    double n = (double)row->sequences, bound = decode_lower_bound(r, row);
    oa_table_cell(t, "%s", row->attention);
    oa_table_cell(t, "%ld", row->sequences);
    oa_table_cell(t, "%s", oa_number_seconds(number, row->seconds));
    oa_table_cell(t, "%s", oa_number(number, n / row->seconds, 3));
    oa_table_cell(t, "%s", oa_number_bytes(number, row->bytes));
    oa_table_cell(t, "%s", oa_number_bytes(number, row->bytes / n));
    oa_table_cell(t, "%s", oa_number_seconds(number, bound));
    oa_table_cell(t, "%s", oa_number(number, n / bound, 3));
    oa_table_cell(t, "%.0f %%", 100 * bound / row->seconds);
    oa_table_cell(t, "%s", arithmetic_of(r, row) > traffic_of(row) ? "arithmetic" : "memory");
}

static void print_decode_bench(const struct decode_bench *r, int width, struct oa_text *out)
{
    struct oa_table t;
    oa_text_printf(
        out,
        "%s, %d thread%s, after %ld tokens: a token of each sequence, median of %d steps%s\n\n",
        oa_precision_name(r->options->train_precision), oa_thread_count(r->c),
        oa_plural(oa_thread_count(r->c)), r->q->after, STEPS,
        r->q->processor_time ? ", processor time" : "");
    oa_table_init(&t, r->c, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < r->rows; i++)
        add_decode_row(r, &r->row[i], &t);
    oa_table_text(&t, width, out);
    oa_table_free(&t);
    oa_text_printf(
        out,
        "\nBytes: the weights once for all sequences, what each keeps of its tokens as far as it "
        "is read, and activations, as counted. Lower bound: the time in which these threads "
        "read as many contiguous bytes, or that of the step's arithmetic at the measured peak "
        "(%.0f GFLOP/s), whichever is longer.\n",
        r->arithmetic * 1e-9);
}

static json_t *decode_bench_json(const struct decode_bench *r)
{
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:i, s:I, s:i, s:b}", "schema", "orthant.decode/1", "precision",
                  oa_precision_name(r->options->train_precision), "clock",
                  r->q->processor_time ? "processor" : "wall", "threads", oa_thread_count(r->c),
                  "after", (json_int_t)r->q->after, "steps", STEPS, "interrupted", r->stopped);
    json_t *rows = json_array();
    for (int i = 0; i < r->rows; i++) {
        const struct decode_row *row = &r->row[i];
        oa_json_append(
            r->c, rows,
            json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "attention", row->attention,
                      "sequences", (json_int_t)row->sequences, "seconds", row->seconds,
                      "tokens_per_second", (double)row->sequences / row->seconds, "bytes",
                      row->bytes, "bytes_per_second", row->rate, "flops", row->flops,
                      "flops_per_second", r->arithmetic, "floor", decode_lower_bound(r, row)));
    }
    oa_json_set(r->c, root, "rows", rows);
    return root;
}

/* ---- the command ---- */

static enum oa_error bench_attentions_decoding(struct decode_bench *r)
{
    struct oa_options changed;
    struct oa_step_shape shape;
    OA_TRY(check_decode_bench(r));
    OA_TRY(oa_task_sketch(r->c, r->options, &r->form, &shape));
    r->row = oa_alloc(r->c, (size_t)oa_max(1, (long)oa_max(1, r->q->count) * r->q->sizes) *
                                sizeof *r->row);
    enum oa_error e = r->row ? measure_decoding(r, &changed) : OA_NO_MEMORY;
    r->stopped = e == OA_INTERRUPTED;
    if (r->stopped)
        oa_clear_error(r->c);
    return r->stopped ? OA_OK : e;
}

enum oa_error oa_bench_decode(const oa_config *config,
                              const struct oa_decode_bench_request *request,
                              const struct oa_output *out)
{
    struct decode_bench r = { .c = config->context, .options = &config->options, .q = request };
    struct oa_text t;
    OA_TRY(oa_status(r.c));
    OA_TRY(oa_check_reserved(r.c, "oa_decode_bench_request", request->reserved, 4));
    enum oa_error e = bench_attentions_decoding(&r);
    oa_text_init(&t, r.c);
    if (e == OA_OK && oa_wants_json(out))
        oa_json_add(&t, decode_bench_json(&r));
    else if (e == OA_OK)
        print_decode_bench(&r, out ? out->width : 0, &t);
    oa_free(r.row);
    if (e != OA_OK) {
        oa_text_free(&t);
        return e;
    }
    e = oa_emit(out, &t);
    return e == OA_OK && r.stopped ? oa_fail(r.c, OA_INTERRUPTED, "the bench was stopped") : e;
}
