/* SPDX-License-Identifier: Apache-2.0
 * Regression: a number for a text or a pair, such as their similarity (Cer et al. 2017, STS-B). */
#include "tasks/example_task.h"

#include <math.h>

static const struct oa_example_layout layout = { .source_begin = "[CLS]",
                                                 .source_end = "[SEP]",
                                                 .words = true };

/* Undefined correlations (a constant side, a single example) count as 0. */
static double percent(double r)
{
    return isnan(r) ? 0 : 100 * r;
}

/* ---- parts and examples ---- */

struct value_outputs {
    const struct oa_scoring *j;
    const struct oa_outputs *o;
};

static enum oa_error score_value_part(void *argument, const uint32_t *entry, long count,
                                      double *score)
{
    const struct value_outputs *s = argument;
    oa_context *c = s->j->context;
    double *x = oa_alloc(c, 2 * (size_t)count * sizeof *x), r = (double)NAN;
    for (long i = 0; x && i < count; i++) {
        x[i] = s->o->out[entry[i]];
        x[count + i] = s->o->value[entry[i]];
    }
    enum oa_error e = !x          ? OA_NO_MEMORY
                      : count < 2 ? OA_OK
                                  : oa_pearson(c, x, x + count, count, &r);
    *score = count < 2 ? r : percent(r);
    oa_free(x);
    return e;
}

static void print_predicted_value(void *argument, long entry, struct oa_text *out)
{
    const struct value_outputs *s = argument;
    oa_text_printf(out, "%.2f", s->o->out[entry]);
}

static enum oa_error add_value_details(const struct oa_scoring *j, const struct oa_outputs *o)
{
    struct value_outputs s = { j, o };
    struct oa_scored_rows rows = { oa_workload_examples(j->workload, j->side), o->row, o->rows };
    if (!j->details)
        return OA_OK;
    OA_TRY(oa_details_by_length(j->context, &rows, "pearson", score_value_part, &s, j->details));
    return oa_details_examples(j->context, &rows, print_predicted_value, &s, j->details);
}

/* ---- scores ---- */

static enum oa_error score_regression_task(const struct oa_scoring *j, double scores[OA_MEASURES])
{
    struct oa_outputs o;
    double pearson = (double)NAN, spearman = (double)NAN;
    enum oa_error e = oa_example_outputs(j, 1, &o);
    if (e == OA_OK && o.rows > 1)
        e = oa_pearson(j->context, o.out, o.value, o.rows, &pearson);
    if (e == OA_OK && o.rows > 1)
        e = oa_spearman(j->context, o.out, o.value, o.rows, &spearman);
    if (e == OA_OK)
        e = add_value_details(j, &o);
    scores[1] = percent(pearson);
    scores[2] = percent(spearman);
    oa_outputs_free(&o);
    return e;
}

/* ---- reading ---- */

/* No model has a defined correlation with constant references. */
static void tell_constant(oa_context *c, const struct oa_examples *x)
{
    for (size_t i = 1; i < x->count; i++)
        if (x->value[i] != x->value[0])
            return;
    if (x->count > 1)
        oa_log(c, 0,
               "%s: all %zu examples have the value %s, so correlations are undefined and count as "
               "0; compare the loss instead (compare.metric)",
               x->rows->file[0], x->count, oa_real_text(x->value[0]).s);
}

static enum oa_error regress_open(oa_context *c, const struct oa_options *o,
                                  struct oa_workload *out)
{
    OA_TRY(oa_example_task_open(c, o, out));
    tell_constant(c, &out->valid);
    tell_constant(c, &out->test);
    return OA_OK;
}

static const struct oa_measure measures[] = {
    { "loss", "valid loss", "squared error", 4, false, 0 },
    { "pearson", "Pearson correlation", "%", 2, true, 100 },
    { "spearman", "Spearman correlation", "%", 2, true, 100 },
    { .name = NULL }
};

const struct oa_task oa_task_regress = {
    .name = "regress",
    .what = "regression: a number for a text or a pair of texts",
    .citation = "Cer et al. 2017, arXiv 1708.00055",
    .stacks = OA_STACK(OA_STACK_ENCODER),
    .measures = measures,
    .preset = oa_answer_preset,
    .metric = "pearson",
    .layout = &layout,
    .open = regress_open,
    .open_measured = oa_example_task_open_measured,
    .batches = oa_example_task_batches,
    .hold_out = oa_example_task_hold_out,
    .shape = oa_example_task_shape,
    .answer = OA_ANSWER_NUMBER,
    .score = score_regression_task,
};
