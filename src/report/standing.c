/* SPDX-License-Identifier: Apache-2.0
 * The runs of one attention, their means, and their differences to those of another with the same seeds. */
#include "report/standing.h"

#include <math.h>

/* The mean of the double at `offset` of the runs that finished. */
static double mean_over_runs(const struct oa_entry *e, int seeds, size_t offset)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < seeds; i++)
        if (oa_run_finished(&e->runs[i])) {
            sum += *(const double *)((const char *)&e->runs[i] + offset);
            n++;
        }
    return n ? sum / n : NAN;
}

static double mean_steps(const struct oa_entry *e, int seeds)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < seeds; i++)
        if (oa_run_finished(&e->runs[i])) {
            sum += (double)e->runs[i].steps;
            n++;
        }
    return n ? sum / n : NAN;
}

static void fill_means(const struct oa_entry *e, int seeds, struct oa_standing *s)
{
#define MEAN(field) s->field = mean_over_runs(e, seeds, offsetof(struct oa_run, field))
    MEAN(bits_per_character);
    MEAN(bits_per_byte);
    MEAN(seconds);
    MEAN(processor_seconds);
    MEAN(seconds_per_step);
    MEAN(tokens_per_second);
    MEAN(tokens);
    MEAN(flops);
    MEAN(flops_per_step);
    MEAN(peak_memory);
#undef MEAN
    s->steps = mean_steps(e, seeds);
    s->perplexity = exp(s->loss.mean);
}

void oa_standing_of(const struct oa_entry *e, int seeds, double *scratch, struct oa_standing *s)
{
    int n = 0;
    for (int i = 0; i < seeds; i++)
        if (oa_run_finished(&e->runs[i]))
            scratch[n++] = e->runs[i].valid_loss;
    s->loss = oa_estimate_of(scratch, n);
    s->made = oa_runs_made(e, seeds);
    s->failed = s->made - n;
    s->difference = oa_estimate_of(scratch, 0);
    s->percent = s->p = s->holm = NAN;
    s->twin = -1;
    fill_means(e, seeds, s);
}

/* Differences that spread no more than rounding does have no spread. */
static struct oa_estimate without_rounding(struct oa_estimate e, double loss)
{
    if (e.sd <= 1e-13 * fabs(loss))
        e.sd = e.half = 0;
    return e;
}

struct oa_estimate oa_paired(const struct oa_entry *a, const struct oa_entry *b, int seeds, double *scratch)
{
    int n = 0;
    for (int i = 0; i < seeds; i++)
        if (oa_run_finished(&a->runs[i]) && oa_run_finished(&b->runs[i]))
            scratch[n++] = a->runs[i].valid_loss - b->runs[i].valid_loss;
    return without_rounding(oa_estimate_of(scratch, n), mean_over_runs(a, seeds, offsetof(struct oa_run, valid_loss)));
}
