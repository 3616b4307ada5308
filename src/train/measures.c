/* SPDX-License-Identifier: Apache-2.0
 * Which measure a contest is about, and what a run got in it. */
#include "train/train.h"

#include <math.h>
#include <string.h>

/* Of contests that say nothing of measures: those made before there were others than the loss. */
static const struct oa_measure loss_alone[] = { { "loss", "valid loss", "nats a token", 4, false }, { .name = NULL } };

static const struct oa_measure *measures_of(const struct oa_contest *k)
{
    return k->measures ? k->measures : loss_alone;
}

int oa_measures_count(const struct oa_measure *measures)
{
    int n = 0;
    while (n < OA_MEASURES && (measures ? measures : loss_alone)[n].name)
        n++;
    return n;
}

const struct oa_measure *oa_metric(const struct oa_contest *k)
{
    return &measures_of(k)[k->metric];
}

const struct oa_measure *oa_contest_measure(const struct oa_contest *k, int i)
{
    return i < oa_measures_count(k->measures) ? &measures_of(k)[i] : NULL;
}

double oa_run_measured(const struct oa_run *r, int measure)
{
    return measure ? r->scores[measure] : r->valid_loss;
}

double oa_point_measured(const struct oa_curve_point *p, int measure)
{
    return measure ? p->scores[measure] : p->valid_loss;
}

double oa_run_score(const struct oa_contest *k, const struct oa_run *r)
{
    return oa_run_measured(r, k->metric);
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

/* ---- choosing ---- */

static enum oa_error unknown(oa_context *c, const struct oa_task *task, const char *name)
{
    struct oa_text known;
    oa_text_init(&known, c);
    for (int i = 0; i < oa_measures_count(task->measures); i++)
        oa_text_printf(&known, "%s%s", i ? ", " : "", task->measures[i].name);
    enum oa_error e = oa_fail(c, OA_ARGUMENT, "compare.metric: the task %s has no measure \"%s\"; it has: %s",
                              task->name, name, known.s ? known.s : "");
    oa_text_free(&known);
    return e;
}

enum oa_error oa_metric_choose(oa_context *c, const struct oa_task *task, const char *name, int *out)
{
    const char *wanted = *name ? name : task->metric ? task->metric : task->measures[0].name;
    for (*out = 0; *out < oa_measures_count(task->measures); ++*out)
        if (strcmp(task->measures[*out].name, wanted) == 0)
            return OA_OK;
    return unknown(c, task, wanted);
}

/* ---- a copy ---- */

static size_t size_of(const char *text)
{
    return strlen(text) + 1;
}

static const char *put(char **at, const char *text)
{
    char *copy = memcpy(*at, text, size_of(text));
    *at += size_of(text);
    return copy;
}

/* One piece of memory: the array, and behind it the texts that it points to. */
enum oa_error oa_contest_set_measures(oa_context *c, struct oa_contest *k, const struct oa_measure *measures,
                                      int metric)
{
    int n = oa_measures_count(measures);
    size_t bytes = ((size_t)n + 1) * sizeof *measures;
    for (int i = 0; i < n; i++)
        bytes += size_of(measures[i].name) + size_of(measures[i].title) + size_of(measures[i].unit);
    struct oa_measure *copy = oa_alloc(c, bytes);
    if (!copy)
        return OA_NO_MEMORY;
    char *at = (char *)(copy + n + 1);
    for (int i = 0; i < n; i++)
        copy[i] = (struct oa_measure){ .name = put(&at, measures[i].name),
                                       .title = put(&at, measures[i].title),
                                       .unit = put(&at, measures[i].unit),
                                       .decimals = measures[i].decimals,
                                       .higher = measures[i].higher };
    copy[n] = (struct oa_measure){ 0 };
    oa_free(k->measures);
    k->measures = copy;
    k->metric = metric;
    return OA_OK;
}
