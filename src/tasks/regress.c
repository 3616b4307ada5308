/* SPDX-License-Identifier: Apache-2.0
 * A number for a text or a pair of texts, such as how similar they are (Cer et al. 2017, STS-B). */
#include "tasks/example_task.h"

#include <math.h>

static const struct oa_example_layout layout = { .source_begin = "[CLS]", .source_end = "[SEP]", .words = true };

/* Where a side is constant no correlation is defined: 0, as where the model says the same of all. */
static double percent(double r)
{
    return isnan(r) ? 0 : 100 * r;
}

static enum oa_error judge(const struct oa_judging *j, double scores[OA_MEASURES])
{
    struct oa_outputs o;
    double pearson = (double)NAN, spearman = (double)NAN;
    enum oa_error e = oa_example_outputs(j, 1, &o);
    if (e == OA_OK)
        e = oa_pearson(j->context, o.out, o.value, o.rows, &pearson);
    if (e == OA_OK)
        e = oa_spearman(j->context, o.out, o.value, o.rows, &spearman);
    scores[1] = percent(pearson);
    scores[2] = percent(spearman);
    oa_outputs_free(&o);
    return e;
}

static const struct oa_measure measures[] = { { "loss", "valid loss", "squared error", 4, false },
                                              { "pearson", "Pearson correlation", "%", 2, true },
                                              { "spearman", "Spearman correlation", "%", 2, true },
                                              { .name = NULL } };

const struct oa_task oa_task_regress = {
    .name = "regress",
    .what = "regression: a number for a text or a pair of texts",
    .citation = "Cer et al. 2017, arXiv 1708.00055",
    .stacks = OA_STACK(OA_STACK_ENCODER),
    .measures = measures,
    .metric = "pearson",
    .layout = &layout,
    .open = oa_example_task_open,
    .open_measured = oa_example_task_open_measured,
    .batches = oa_example_task_batches,
    .hold_out = oa_example_task_hold_out,
    .shape = oa_example_task_shape,
    .answer = OA_ANSWER_NUMBER,
    .judge = judge,
};
