/* SPDX-License-Identifier: Apache-2.0
 * bench: attention layers over sequence lengths, against the machine's peak and against softmax. */
#include "api/api.h"
#include "api/bench_layer.h"
#include "device/device_peak.h"
#include "kernels/kernel_bench.h"
#include "print/print.h"

#include <math.h>
#include <string.h>

enum { MOST_LENGTHS = 32, FITTED = 3 };

struct series { /* one attention */
    const char *name;
    struct oa_layer_cost cost[MOST_LENGTHS];
    int lengths; /* that were reached: all, unless the bench was stopped */
    double time_exponent, memory_exponent; /* of a sequence in its length, at the long end */
};

struct attention_bench {
    oa_context *c;
    const struct oa_bench_request *r;
    struct oa_layer_case form;
    long length[MOST_LENGTHS], batch[MOST_LENGTHS];
    int lengths;
    struct series *series;
    int count;
    const struct series *softmax; /* the one that is plain softmax */
    bool stopped;                 /* by a signal, before all was measured */
    const char *state;            /* of AMX, "" without */
    double peak; /* FLOP/s of this precision: of all threads, or in processor time of one core, or
                    of the card */
    bool on_card;
    struct oa_device_peak card;
};

/* ---- measuring ---- */

static bool measured(const struct oa_layer_cost *cost)
{
    return cost->why_not[0] == 0;
}

static double sequence_time(const struct attention_bench *b, const struct series *s, int i)
{
    return s->cost[i].both / (double)b->batch[i];
}

static double sequence_memory(const struct attention_bench *b, const struct series *s, int i)
{
    return s->cost[i].parameters + s->cost[i].pass / (double)b->batch[i];
}

/* Slope of the logarithm of a cost over that of the length, through the last few lengths measured,
 * by least squares. NaN with fewer than two. */
static double fit_exponent(const struct attention_bench *b, const struct series *s,
                           double (*cost)(const struct attention_bench *, const struct series *,
                                          int))
{
    int n = 0;
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = s->lengths - 1; i >= 0 && n < FITTED; i--) {
        if (!measured(&s->cost[i]))
            continue;
        double x = log((double)b->length[i]), y = log(cost(b, s, i));
        n++;
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    return n < 2 ? (double)NAN : (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

static enum oa_error measure_attention_lengths(struct attention_bench *b, struct series *s)
{
    struct oa_layer_case what = b->form;
    what.attention = s->name;
    for (; s->lengths < b->lengths; s->lengths++) {
        what.length = b->length[s->lengths];
        what.batch = b->batch[s->lengths];
        oa_log(b->c, 1, "%s: %ld sequences of %ld tokens", s->name, what.batch, what.length);
        OA_TRY(oa_layer_measure(b->c, &what, &s->cost[s->lengths]));
    }
    return OA_OK;
}

/* A stop is no failure: what was measured before it is shown. */
static enum oa_error measure_attentions(struct attention_bench *b)
{
    enum oa_error e = OA_OK;
    for (int k = 0; k < b->count && e == OA_OK; k++)
        e = measure_attention_lengths(b, &b->series[k]);
    for (int k = 0; k < b->count; k++) {
        struct series *s = &b->series[k];
        s->time_exponent = fit_exponent(b, s, sequence_time);
        s->memory_exponent = fit_exponent(b, s, sequence_memory);
    }
    b->stopped = e == OA_INTERRUPTED;
    if (!b->stopped)
        return e;
    oa_clear_error(b->c);
    return OA_OK;
}

/* NaN where softmax has no such cost: it was refused, or the stop came before it. */
static double of_softmax(double cost, double softmax)
{
    return softmax > 0 ? cost / softmax : (double)NAN;
}

/* ---- the request ---- */

static enum oa_error check_bench_request(struct attention_bench *b)
{
    const struct oa_bench_request *r = b->r;
    if (r->width < 1 || r->heads < 1 || r->width % r->heads)
        return oa_fail(b->c, OA_ARGUMENT, "width %ld does not divide into %ld heads", r->width,
                       r->heads);
    if (r->count < 1 || r->lengths < 1 || r->lengths > MOST_LENGTHS || r->tokens < 1)
        return oa_fail(b->c, OA_ARGUMENT, "bench needs an attention, 1 to %d lengths, and tokens",
                       MOST_LENGTHS);
    if (!oa_precision_parse(r->precision ? r->precision : "f32", &b->form.precision))
        return oa_fail(b->c, OA_ARGUMENT, "the precision is \"%s\"; choose f32, bf16 or f64",
                       r->precision);
    for (int i = 0; i < r->lengths; i++)
        if (r->length[i] < 1 || r->length[i] > 1 << 20)
            return oa_fail(b->c, OA_ARGUMENT, "a length is %ld; give 1 to %d", r->length[i],
                           1 << 20);
    return OA_OK;
}

/* Softmax comes first when it is not asked for. */
static enum oa_error add_series(struct attention_bench *b)
{
    const struct oa_bench_request *r = b->r;
    bool asked = false;
    b->series = oa_alloc(b->c, (size_t)(r->count + 1) * sizeof *b->series);
    if (!b->series)
        return OA_NO_MEMORY;
    for (int i = 0; i < r->count; i++)
        asked |= strcmp(r->attentions[i], "softmax") == 0;
    for (int i = asked ? 0 : -1; i < r->count; i++) {
        struct series *s = &b->series[b->count++];
        s->name = i < 0 ? "softmax" : r->attentions[i];
        if (strcmp(s->name, "softmax") == 0)
            b->softmax = s;
        OA_TRY(oa_spec_check(b->c, s->name));
    }
    return OA_OK;
}

static enum oa_error prepare_attention_bench(struct attention_bench *b)
{
    const struct oa_bench_request *r = b->r;
    OA_TRY(check_bench_request(b));
    b->form.width = r->width;
    b->form.heads = r->heads;
    b->form.causal = r->causal != 0;
    b->form.clock = r->processor_time ? oa_processor_clock : oa_clock;
    for (b->lengths = 0; b->lengths < r->lengths; b->lengths++) {
        b->length[b->lengths] = r->length[b->lengths];
        b->batch[b->lengths] =
            r->tokens > r->length[b->lengths] ? r->tokens / r->length[b->lengths] : 1;
    }
    OA_TRY(add_series(b));
    struct oa_peak p;
    oa_log(b->c, 1, "measuring the peaks of the machine");
    oa_kernels_peak(b->c, &p);
    b->state = b->form.precision == OA_PRECISION_BF16 ? oa_peak_state(&p) : "";
    b->on_card = oa_device_peak_measure(b->c, b->form.precision, &b->card);
    b->peak = b->on_card ? b->card.flops : oa_peak_flops(&p, b->form.precision, r->processor_time);
    return OA_OK;
}

/* ---- as text ---- */

static const struct oa_column columns[] = { { .title = "attention", .shorten = true },
                                            { .title = "length", .right = true },
                                            { .title = "forward", .right = true },
                                            { .title = "forward +\nbackward", .right = true },
                                            { .title = "GFLOP", .right = true },
                                            { .title = "of\npeak", .right = true },
                                            { .title = "memory", .right = true },
                                            { .title = "time of\nsoftmax", .right = true },
                                            { .title = "FLOPs of\nsoftmax", .right = true },
                                            { .title = "time\n∝ n^", .right = true },
                                            { .title = "memory\n∝ n^", .right = true } };
enum { COLUMNS = sizeof columns / sizeof *columns };

static void ratio_cell(struct oa_table *t, double ratio)
{
    if (isfinite(ratio))
        oa_table_cell(t, "%.2f", ratio);
    else
        oa_table_cell(t, "–");
}

static void exponent_cell(struct oa_table *t, double exponent, bool last)
{
    if (last && isfinite(exponent))
        oa_table_cell(t, "%.2f", exponent);
    else
        oa_table_cell(t, " ");
}

static void add_bench_row(const struct attention_bench *b, const struct series *s, int i,
                          struct oa_table *t)
{
    char number[OA_NUMBER];
    const struct oa_layer_cost *cost = &s->cost[i], *softmax = &b->softmax->cost[i];
    oa_table_cell(t, "%s", i ? "" : s->name);
    oa_table_cell(t, "%ld", b->length[i]);
    if (measured(cost)) {
        oa_table_cell(t, "%s", oa_number_seconds(number, cost->forward));
        oa_table_cell(t, "%s", oa_number_seconds(number, cost->both));
        oa_table_cell(t, "%s", oa_number(number, cost->flops / 1e9, 3));
        oa_table_cell(t, "%.0f %%", 100 * cost->flops / cost->both / b->peak);
        oa_table_cell(t, "%s", oa_number_bytes(number, cost->parameters + cost->pass));
        ratio_cell(t, of_softmax(cost->both, softmax->both));
        ratio_cell(t, of_softmax(cost->flops, softmax->flops));
    } else {
        for (int k = 2; k < COLUMNS - 2; k++)
            oa_table_cell(t, "–");
    }
    exponent_cell(t, s->time_exponent, i + 1 == s->lengths);
    exponent_cell(t, s->memory_exponent, i + 1 == s->lengths);
}

/* Why there are dashes, how far the repeats were apart, and whether rows are missing. */
static void add_bench_notes(const struct attention_bench *b, struct oa_text *out)
{
    double spread = 0;
    int reached = 0;
    oa_text_printf(out, "\n");
    for (int k = 0; k < b->count; k++) {
        reached += b->series[k].lengths;
        for (int i = 0; i < b->series[k].lengths; i++) {
            const struct oa_layer_cost *cost = &b->series[k].cost[i];
            spread = fmax(spread, cost->spread);
            if (!measured(cost))
                oa_text_printf(out, "%s at %ld: %s\n", b->series[k].name, b->length[i],
                               cost->why_not);
        }
    }
    if (reached)
        oa_text_printf(
            out, "The repeats of a measurement were at most %.0f %% apart; the least counts.\n",
            100 * spread);
    if (b->stopped)
        oa_text_printf(out, "Stopped after %d of %d measurements.\n", reached,
                       b->count * b->lengths);
}

static void print_attention_bench(const struct attention_bench *b, int width, struct oa_text *out)
{
    struct oa_table t;
    oa_text_printf(out,
                   "one layer with its projections, width %ld, %ld heads, %s, %s; about %ld tokens "
                   "a pass; %d thread%s, %s, peak of %s %.0f GFLOP/s%s%s\n\n",
                   b->form.width, b->form.heads, oa_precision_name(b->form.precision),
                   b->form.causal ? "causal" : "bidirectional", b->r->tokens, oa_thread_count(b->c),
                   oa_plural(oa_thread_count(b->c)),
                   b->r->processor_time ? "processor time" : "wall time",
                   b->on_card             ? b->card.name
                   : b->r->processor_time ? "one core"
                                          : "all threads",
                   b->peak / 1e9, b->state[0] ? ", AMX " : "", b->state);
    oa_table_init(&t, b->c, columns, COLUMNS);
    for (int k = 0; k < b->count; k++)
        for (int i = 0; i < b->series[k].lengths; i++)
            add_bench_row(b, &b->series[k], i, &t);
    oa_table_text(&t, width, out);
    oa_table_free(&t);
    add_bench_notes(b, out);
}

/* ---- as JSON ---- */

static json_t *bench_cost_json(const struct attention_bench *b, const struct series *s, int i)
{
    const struct oa_layer_cost *cost = &s->cost[i], *softmax = &b->softmax->cost[i];
    if (!measured(cost))
        return json_pack("{s:I, s:I, s:s}", "length", (json_int_t)b->length[i], "batch",
                         (json_int_t)b->batch[i], "refused", cost->why_not);
    return json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o}", "length",
                     (json_int_t)b->length[i], "batch", (json_int_t)b->batch[i], "forward_seconds",
                     cost->forward, "seconds", cost->both, "spread", cost->spread, "flops",
                     cost->flops, "of_peak", cost->flops / cost->both / b->peak,
                     "memory_parameters", cost->parameters, "memory_pass", cost->pass,
                     "time_of_softmax", oa_json_number(of_softmax(cost->both, softmax->both)),
                     "flops_of_softmax", oa_json_number(of_softmax(cost->flops, softmax->flops)));
}

static json_t *bench_json(const struct attention_bench *b)
{
    json_t *series = json_array();
    for (int k = 0; k < b->count; k++) {
        const struct series *s = &b->series[k];
        json_t *rows = json_array();
        for (int i = 0; i < s->lengths; i++)
            oa_json_append(b->c, rows, bench_cost_json(b, s, i));
        oa_json_append(b->c, series,
                       json_pack("{s:s, s:o, s:o, s:o}", "attention", s->name, "time_exponent",
                                 oa_json_number(s->time_exponent), "memory_exponent",
                                 oa_json_number(s->memory_exponent), "lengths", rows));
    }
    return json_pack("{s:I, s:I, s:s, s:b, s:i, s:s, s:f, s:s, s:b, s:o}", "width",
                     (json_int_t)b->form.width, "heads", (json_int_t)b->form.heads, "precision",
                     oa_precision_name(b->form.precision), "causal", (int)b->form.causal, "threads",
                     oa_thread_count(b->c), "clock", b->r->processor_time ? "processor" : "wall",
                     "peak_flops", b->peak, "state", b->state, "interrupted", (int)b->stopped,
                     "attentions", series);
}

enum oa_error oa_bench_attention(oa_context *c, const struct oa_bench_request *r,
                                 const struct oa_output *out)
{
    struct attention_bench b = { .c = c, .r = r };
    struct oa_text t;
    OA_TRY(oa_status(c));
    OA_TRY(oa_check_reserved(c, "oa_bench_request", r->reserved, 4));
    enum oa_error e = prepare_attention_bench(&b);
    if (e == OA_OK)
        e = measure_attentions(&b);
    oa_text_init(&t, c);
    if (e == OA_OK && oa_wants_json(out))
        oa_json_add(&t, bench_json(&b));
    else if (e == OA_OK)
        print_attention_bench(&b, out ? out->width : 0, &t);
    oa_free(b.series);
    OA_TRY(oa_emit(out, &t));
    return b.stopped ? oa_fail(c, OA_INTERRUPTED, "the bench was stopped") : OA_OK;
}
