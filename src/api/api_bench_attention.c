/* SPDX-License-Identifier: Apache-2.0
 * bench: attention layers over sequence lengths, against the machine's peak and against softmax. */
#include "api/api.h"
#include "api/bench_layer.h"
#include "kernels/kernel_bench.h"
#include "report/report.h"

#include <math.h>
#include <string.h>

enum { MOST_LENGTHS = 32, FITTED = 3 };

struct series { /* one attention */
    const char *name;
    struct oa_spec spec;
    struct oa_layer_cost cost[MOST_LENGTHS];
    double exponent; /* of the time of a sequence in its length, at the long end */
};

struct bench {
    oa_context *c;
    const struct oa_bench_request *r;
    struct oa_layer_case form;
    long length[MOST_LENGTHS], batch[MOST_LENGTHS];
    int lengths;
    struct series *series;
    int count;
    int softmax; /* which series is plain softmax; -1: none */
    double peak; /* FLOP/s of this precision, all threads */
};

/* ---- measuring ---- */

/* Slope of log time over log length through the last few lengths, by least squares. NaN with fewer than two. */
static double fit_exponent(const struct bench *b, const struct series *s)
{
    int first = b->lengths > FITTED ? b->lengths - FITTED : 0, n = b->lengths - first;
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = first; i < b->lengths; i++) {
        double x = log((double)b->length[i]), y = log(s->cost[i].both / (double)b->batch[i]);
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    return n < 2 ? (double)NAN : (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

static enum oa_error measure(struct bench *b, struct series *s)
{
    struct oa_layer_case what = b->form;
    what.spec = &s->spec;
    for (int i = 0; i < b->lengths; i++) {
        what.length = b->length[i];
        what.batch = b->batch[i];
        oa_log(b->c, 1, "%s: %ld sequences of %ld tokens", s->name, what.batch, what.length);
        OA_TRY(oa_layer_measure(b->c, &what, &s->cost[i]));
    }
    s->exponent = fit_exponent(b, s);
    return OA_OK;
}

/* ---- what is to be measured ---- */

static enum oa_error check(struct bench *b)
{
    const struct oa_bench_request *r = b->r;
    if (r->width < 1 || r->heads < 1 || r->width % r->heads)
        return oa_fail(b->c, OA_ARGUMENT, "width %ld does not divide into %ld heads", r->width, r->heads);
    if (r->count < 1 || r->lengths < 1 || r->lengths > MOST_LENGTHS || r->tokens < 1)
        return oa_fail(b->c, OA_ARGUMENT, "a bench needs an attention, 1 to %d lengths, and tokens", MOST_LENGTHS);
    if (!oa_precision_parse(r->precision ? r->precision : "f32", &b->form.precision))
        return oa_fail(b->c, OA_ARGUMENT, "the precision is \"%s\"; choose f32, bf16 or f64", r->precision);
    for (int i = 0; i < r->lengths; i++)
        if (r->length[i] < 1 || r->length[i] > 1 << 20)
            return oa_fail(b->c, OA_ARGUMENT, "a length is %ld; give 1 to %d", r->length[i], 1 << 20);
    return OA_OK;
}

static enum oa_error prepare(struct bench *b)
{
    const struct oa_bench_request *r = b->r;
    struct oa_peak peak;
    OA_TRY(check(b));
    b->form.width = r->width;
    b->form.heads = r->heads;
    b->form.causal = r->causal != 0;
    for (b->lengths = 0; b->lengths < r->lengths; b->lengths++) {
        b->length[b->lengths] = r->length[b->lengths];
        b->batch[b->lengths] = r->tokens > r->length[b->lengths] ? r->tokens / r->length[b->lengths] : 1;
    }
    b->series = oa_alloc(b->c, (size_t)r->count * sizeof *b->series);
    if (!b->series)
        return OA_NO_MEMORY;
    for (b->count = 0; b->count < r->count; b->count++) {
        struct series *s = &b->series[b->count];
        s->name = r->attentions[b->count];
        if (strcmp(s->name, "softmax") == 0)
            b->softmax = b->count;
        OA_TRY(oa_spec_parse(b->c, s->name, &s->spec));
    }
    oa_log(b->c, 1, "measuring the peaks of the machine");
    oa_kernels_peak(b->c, &peak);
    b->peak = 1e9 * (b->form.precision == OA_PRECISION_BF16 ? peak.bf16_all : peak.f32_all);
    return OA_OK;
}

/* ---- as text ---- */

static const struct oa_column columns[] = {
    { .title = "attention", .shorten = true }, { .title = "length", .right = true },
    { .title = "forward", .right = true },     { .title = "forward +\nbackward", .right = true },
    { .title = "GFLOP/s", .right = true },     { .title = "of\npeak", .right = true },
    { .title = "memory", .right = true },      { .title = "time of\nsoftmax", .right = true },
    { .title = "time ∝ n^", .right = true }
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void add_row(const struct bench *b, const struct series *s, int i, struct oa_table *t)
{
    char number[OA_NUMBER];
    const struct oa_layer_cost *cost = &s->cost[i];
    oa_table_cell(t, "%s", i ? "" : s->name);
    oa_table_cell(t, "%ld", b->length[i]);
    oa_table_cell(t, "%s", oa_number_seconds(number, cost->forward));
    oa_table_cell(t, "%s", oa_number_seconds(number, cost->both));
    oa_table_cell(t, "%s", oa_number(number, cost->flops / cost->both / 1e9, 3));
    oa_table_cell(t, "%.0f %%", 100 * cost->flops / cost->both / b->peak);
    oa_table_cell(t, "%s", oa_number_bytes(number, cost->memory));
    if (b->softmax < 0)
        oa_table_cell(t, "–");
    else
        oa_table_cell(t, "%.2f", cost->both / b->series[b->softmax].cost[i].both);
    if (i + 1 == b->lengths && isfinite(s->exponent))
        oa_table_cell(t, "%.2f", s->exponent);
    else
        oa_table_cell(t, " ");
}

static void text(const struct bench *b, int width, struct oa_text *out)
{
    struct oa_table t;
    oa_text_printf(out,
                   "one layer with its projections, width %ld, %ld heads, %s, %s; about %ld tokens a pass; %d threads, "
                   "peak %.0f GFLOP/s\n\n",
                   b->form.width, b->form.heads, oa_precision_name(b->form.precision),
                   b->form.causal ? "causal" : "bidirectional", b->r->tokens, oa_thread_count(b->c), b->peak / 1e9);
    oa_table_init(&t, b->c, columns, COLUMNS);
    for (int k = 0; k < b->count; k++)
        for (int i = 0; i < b->lengths; i++)
            add_row(b, &b->series[k], i, &t);
    oa_table_text(&t, width, out);
    oa_table_free(&t);
}

/* ---- as JSON ---- */

static json_t *series_json(const struct bench *b, const struct series *s)
{
    json_t *rows = json_array();
    for (int i = 0; i < b->lengths; i++)
        json_array_append_new(rows,
                              json_pack("{s:I, s:I, s:f, s:f, s:f, s:f}", "length", (json_int_t)b->length[i], "batch",
                                        (json_int_t)b->batch[i], "forward_seconds", s->cost[i].forward, "seconds",
                                        s->cost[i].both, "flops", s->cost[i].flops, "memory", s->cost[i].memory));
    return json_pack("{s:s, s:o, s:o}", "attention", s->name, "exponent", oa_json_number(s->exponent), "lengths", rows);
}

static json_t *bench_json(const struct bench *b)
{
    json_t *series = json_array();
    for (int k = 0; k < b->count; k++)
        json_array_append_new(series, series_json(b, &b->series[k]));
    return json_pack("{s:I, s:I, s:s, s:b, s:i, s:f, s:o}", "width", (json_int_t)b->form.width, "heads",
                     (json_int_t)b->form.heads, "precision", oa_precision_name(b->form.precision), "causal",
                     (int)b->form.causal, "threads", oa_thread_count(b->c), "peak_flops", b->peak, "attentions",
                     series);
}

enum oa_error oa_bench_attention(oa_context *c, const struct oa_bench_request *r, const struct oa_output *out)
{
    struct bench b = { .c = c, .r = r, .softmax = -1 };
    struct oa_text t;
    OA_TRY(oa_status(c));
    enum oa_error e = prepare(&b);
    for (int k = 0; e == OA_OK && k < b.count; k++)
        e = measure(&b, &b.series[k]);
    oa_text_init(&t, c);
    if (e == OA_OK && oa_wants_json(out))
        oa_json_add(&t, bench_json(&b));
    else if (e == OA_OK)
        text(&b, out ? out->width : 0, &t);
    for (int k = 0; b.series && k < r->count; k++)
        oa_spec_free(&b.series[k].spec);
    oa_free(b.series);
    return oa_emit(out, &t);
}
