/* SPDX-License-Identifier: Apache-2.0
 * Scores of a run in the measures of its task. */
#include "train/train.h"

#include <math.h>
#include <string.h>

/* Of comparisons recorded before there were other measures than the loss. */
static const struct oa_measure loss_alone[] = {
    { "loss", "valid loss", "nats a token", 4, false, 0 }, { .name = NULL }
};

const struct oa_measure *oa_measures_or_loss(const struct oa_measure *measures)
{
    return measures ? measures : loss_alone;
}

int oa_measures_count(const struct oa_measure *measures)
{
    int n = 0;
    while (n < OA_MEASURES && oa_measures_or_loss(measures)[n].name)
        n++;
    return n;
}

double oa_run_measured(const struct oa_run *r, int measure)
{
    return measure ? r->scores[measure] : r->valid_loss;
}

double oa_point_measured(const struct oa_curve_point *p, int measure)
{
    return measure ? p->scores[measure] : p->valid_loss;
}

double oa_cost(const struct oa_measure *m, double score)
{
    return m->higher ? 0 - score : score; /* 0 - 0 is no negative zero */
}

void oa_scores_clear(double scores[OA_MEASURES])
{
    for (int i = 0; i < OA_MEASURES; i++)
        scores[i] = (double)NAN;
}

enum oa_error oa_measure_find(oa_context *c, const char *option, const struct oa_task *task,
                              const char *wanted, int *out)
{
    int count = oa_measures_count(task->measures);
    struct oa_text known;
    for (*out = 0; *out < count; ++*out)
        if (strcmp(task->measures[*out].name, wanted) == 0)
            return OA_OK;
    oa_text_init(&known, c);
    for (int i = 0; i < count; i++)
        oa_text_printf(&known, "%s%s", i ? ", " : "", task->measures[i].name);
    enum oa_error e = oa_fail(c, OA_ARGUMENT, "%s: the task %s has no measure \"%s\"; it has: %s",
                              option, task->name, wanted, known.s ? known.s : "");
    oa_text_free(&known);
    return e;
}

enum oa_error oa_metric_choose(oa_context *c, const struct oa_task *task, const char *name,
                               int *out)
{
    const char *wanted = *name ? name : task->metric ? task->metric : task->measures[0].name;
    return oa_measure_find(c, "compare.metric", task, wanted, out);
}

void oa_run_free(struct oa_run *run)
{
    oa_details_free(&run->details);
    oa_items_free(&run->items);
    oa_items_free(&run->test_items);
    oa_free(run->curve);
    run->curve = NULL;
    run->points = run->capacity = 0;
}
