/* SPDX-License-Identifier: Apache-2.0 */
#include "train/step_time.h"

#include "train/step_side.h"

#include <math.h>
#include <string.h>

enum { WARM_UP = 2, LEAST_STEPS = 3, MOST_STEPS = 50 };
static const double enough = 0.4, time_limit = 3; /* seconds of timed steps: wanted, at most */
static const double usual_share = 0.3; /* of the peak rates that a step reaches, to choose one */
static const double most_seconds = 0.5,
                    most_seconds_least = 5; /* of a timed step; of the smallest one */
static const double worst_share = 0.25, scaling_error = 0.25; /* for the intervals */

/* A step that may be timed, with its plan. */
struct sample {
    struct oa_options options;
    struct oa_step_shape shape;
    struct oa_plan plan;
};

struct timing {
    oa_context *c;
    const struct oa_options *options;
    const struct oa_model_form *form;
    const struct oa_step_shape *shape;
    const struct oa_plan *plan;
    const struct oa_machine_rates *rates;
    struct sample sample;
    struct oa_step_clocks sum;
    double fastest, slowest;
    int steps;
};

double oa_plan_lower_bound(const struct oa_plan *plan, const struct oa_machine_rates *r)
{
    return plan->computed / r->flops + plan->bytes / r->bytes;
}

const char *oa_time_source_name(enum oa_time_source source)
{
    static const char *const names[] = { "measured", "scaled", "predicted" };
    return names[source];
}

/* ---- choosing a step to time ---- */

/* Of layers that take their attentions in turn. */
static enum oa_error layer_period(const struct timing *t, long *out)
{
    struct oa_stack_specs stacks;
    OA_TRY(oa_stacks_parse(t->c, t->options->model_attention, oa_form_stacks(t->form), &stacks));
    *out = 1;
    for (int i = 0; i < OA_STACK_ROLES; i++)
        *out = stacks.spec[i].layers > *out ? stacks.spec[i].layers : *out;
    oa_stacks_free(&stacks);
    return OA_OK;
}

static bool fewer_rows(struct sample *s)
{
    struct oa_batch *b = &s->shape.typical;
    if (s->options.train_accumulate > 1) {
        s->options.train_accumulate = 1;
        return true;
    }
    if (b->rows == 1)
        return false;
    b->planned_targets /= b->planned_targets > 1 ? 2 : 1;
    b->rows /= 2;
    return true;
}

static bool fewer_layers(struct sample *s, long period)
{
    struct oa_options *o = &s->options;
    if (o->model_layers <= period && o->model_encoder_layers <= period)
        return false;
    o->model_layers = o->model_layers < period ? o->model_layers : period;
    o->model_encoder_layers = o->model_encoder_layers < period ? o->model_encoder_layers : period;
    return true;
}

static bool sample_affordable(const struct timing *t, double seconds)
{
    const struct oa_plan *p = &t->sample.plan;
    double room = fmin(0.25 * (double)oa_context_cpu(t->c)->memory, 4e9);
    return p->memory_parameters + p->memory_activations + p->memory_scratch <= room &&
           oa_plan_lower_bound(p, t->rates) / usual_share <= seconds;
}

/* The step itself, or one with fewer micro-batches and rows, or also fewer layers. *found false:
 * even the smallest is too large. */
static enum oa_error choose_sample(struct timing *t, bool *found)
{
    struct sample *s = &t->sample;
    long period;
    bool smaller = true;
    OA_TRY(layer_period(t, &period));
    *s = (struct sample){ *t->options, *t->shape, *t->plan };
    s->shape.largest = s->shape.typical; /* alone is made */
    while (!sample_affordable(t, most_seconds) && smaller) {
        smaller = fewer_rows(s) || fewer_layers(s, period);
        s->shape.largest = s->shape.typical;
        if (smaller)
            OA_TRY(oa_plan_make(t->c, &s->options, t->form, &s->shape, &s->plan));
    }
    *found = sample_affordable(t, most_seconds_least);
    return OA_OK;
}

static bool sample_is_whole(const struct timing *t)
{
    const struct sample *s = &t->sample;
    return s->options.train_accumulate == t->options->train_accumulate &&
           s->options.model_layers == t->options->model_layers &&
           s->options.model_encoder_layers == t->options->model_encoder_layers &&
           s->shape.typical.rows == t->shape->typical.rows;
}

/* ---- a batch with made-up contents ---- */

struct made_up {
    int32_t *input, *source, *target, *label, *segments, *words, *source_words;
    double *value;
    uint8_t *pixels;
};

static void free_made_up(struct made_up *m)
{
    oa_free(m->input);
    oa_free(m->source);
    oa_free(m->target);
    oa_free(m->label);
    oa_free(m->segments);
    oa_free(m->words);
    oa_free(m->source_words);
    oa_free(m->value);
    oa_free(m->pixels);
}

static int32_t *draw_ids(oa_context *c, const char *name, size_t count, long below)
{
    struct oa_stream s = oa_stream_named(0, name);
    int32_t *x = oa_alloc(c, (count ? count : 1) * sizeof *x);
    for (size_t i = 0; x && i < count; i++)
        x[i] = (int32_t)oa_random_below(s, i, below > 0 ? (uint64_t)below : 1);
    return x;
}

/* Words of two tokens. */
static int32_t *number_words(oa_context *c, int rows, int length)
{
    size_t count = (size_t)rows * (size_t)length;
    int32_t *x = oa_alloc(c, (count ? count : 1) * sizeof *x);
    for (size_t i = 0; x && i < count; i++)
        x[i] = (int32_t)(i % (size_t)length / 2);
    return x;
}

static enum oa_error make_up_batch(const struct timing *t, struct made_up *m, struct oa_batch *b)
{
    const struct oa_model_form *f = t->form;
    oa_context *c = t->c;
    *b = t->sample.shape.typical;
    size_t rows = (size_t)b->rows, places = rows * (size_t)b->length;
    m->input = draw_ids(c, "input", places, f->patch ? 1 : f->vocabulary);
    m->source = draw_ids(c, "source", rows * (size_t)b->source_length, f->vocabulary);
    m->target = draw_ids(c, "target", places, f->vocabulary);
    m->label = draw_ids(c, "label", rows, f->classes);
    m->segments = draw_ids(c, "segments", places, 2);
    m->words = number_words(c, b->rows, b->length);
    m->source_words = number_words(c, b->rows, b->source_length);
    m->value = oa_alloc(c, rows * sizeof *m->value);
    m->pixels = oa_alloc(c, places * (size_t)f->patch + 1);
    OA_TRY(oa_status(c));
    memset(m->pixels, 100, places * (size_t)f->patch + 1);
    long all = (long)places, wanted = b->planned_targets;
    for (long i = 0; wanted > 0 && i < all; i++) /* masking: only some places have a target */
        if ((i + 1) * wanted / all == i * wanted / all)
            m->target[i] = OA_IGNORED;
    b->input = m->input;
    b->words = m->words;
    b->segments = f->segments ? m->segments : NULL;
    b->pixels = f->patch ? m->pixels : NULL;
    b->source = b->source_length ? m->source : NULL;
    b->source_words = b->source_length ? m->source_words : NULL;
    b->target = f->output == OA_OUTPUT_TOKENS ? m->target : NULL;
    b->label = f->output == OA_OUTPUT_CLASSES ? m->label : NULL;
    b->value = f->output == OA_OUTPUT_NUMBER ? m->value : NULL;
    return OA_OK;
}

/* ---- steps ---- */

static enum oa_error time_sample_steps(struct timing *t, struct oa_step_side *s,
                                       const struct oa_batch *b)
{
    const struct oa_options *o = &t->sample.options;
    struct oa_step_clocks taken = { 0 };
    double scale = 1 / ((double)b->rows * (double)b->length * (double)o->train_accumulate);
    for (int i = 0; t->steps == 0 ||
                    (t->sum.wall < time_limit &&
                     (t->steps < LEAST_STEPS || (t->steps < MOST_STEPS && t->sum.wall < enough)));
         i++) {
        if (oa_stop_requested(t->c))
            return oa_fail(t->c, OA_INTERRUPTED, "stopped by signal %d", oa_stop_requested(t->c));
        bool warm = i >= WARM_UP || (i > 0 && taken.wall > time_limit / 3);
        if (i > 0 && !warm)
            oa_device_settle(s->device);
        if (t->steps == 0)
            oa_meter_clear(&s->meter);
        oa_step_side_run(s, o, b, scale, &taken);
        OA_TRY(oa_status(t->c));
        if (!warm)
            continue;
        t->fastest = t->steps ? fmin(t->fastest, taken.wall) : taken.wall;
        t->slowest = fmax(t->slowest, taken.wall);
        t->sum.wall += taken.wall;
        t->sum.processor += taken.processor;
        t->sum.caller += taken.caller;
        t->steps++;
    }
    return OA_OK;
}

/* ---- from the timed step to the whole one ---- */

static double zero_clock(void)
{
    return 0;
}

static double row_bound(const struct timing *t, const struct oa_metered *r)
{
    return r->computed / t->rates->flops + r->bytes / t->rates->bytes;
}

static const struct oa_metered *find_metered_row(const struct oa_meter *m,
                                                 const struct oa_metered *r)
{
    for (int i = 0; i < m->rows; i++) {
        const struct oa_metered *x = &m->row[i];
        if (strcmp(x->op, r->op) == 0 && x->stack == r->stack && x->place == r->place &&
            x->backward == r->backward)
            return x;
    }
    return NULL;
}

/* The time of the whole step over that of the timed one: each operation is scaled by its lower
 * bound, the time between operations by their number. An operation that the timed step lacks is
 * taken to be as far from its lower bound as the others. */
static double scale_rows(const struct timing *t, const struct oa_meter *real,
                         const struct oa_meter *small, const struct oa_meter *whole)
{
    double seconds = 0, bound = 0, other = 0, calls = 0, all = 0, more = 0;
    for (int i = 0; i < real->rows; i++) {
        seconds += real->row[i].seconds / t->steps;
        calls += (double)real->row[i].calls / t->steps;
    }
    for (int i = 0; i < small->rows; i++)
        bound += row_bound(t, &small->row[i]);
    double step = t->sum.wall / t->steps;
    for (int i = 0; i < whole->rows; i++) {
        const struct oa_metered *w = &whole->row[i], *r = find_metered_row(real, w),
                                *s = find_metered_row(small, w);
        double known = s ? row_bound(t, s) : 0;
        more += (double)w->calls;
        if (r && known > 0)
            all += r->seconds / t->steps * row_bound(t, w) / known;
        else
            other += row_bound(t, w);
    }
    all += other * (bound > 0 ? seconds / bound : 1);
    all += fmax(0, step - seconds) * (calls > 0 ? more / calls : 1);
    return all / step;
}

static enum oa_error count_sample_step(const struct timing *t, const struct oa_options *o,
                                       const struct oa_batch *shape, struct oa_step_side *s)
{
    OA_TRY(oa_step_side_open(t->c, o, t->form, true, zero_clock, s));
    oa_step_once(s->model, o, shape, 1, &s->tape, NULL, &s->shards);
    return oa_status(t->c);
}

static enum oa_error scale_up(const struct timing *t, const struct oa_meter *real, double *factor)
{
    struct oa_step_side *s = oa_alloc(t->c, 2 * sizeof *s);
    if (!s)
        return OA_NO_MEMORY;
    enum oa_error e = count_sample_step(t, &t->sample.options, &t->sample.shape.typical, &s[0]);
    if (e == OA_OK)
        e = count_sample_step(t, t->options, &t->shape->typical, &s[1]);
    if (e == OA_OK)
        *factor = scale_rows(t, real, &s[0].meter, &s[1].meter);
    oa_step_side_close(&s[0]);
    oa_step_side_close(&s[1]);
    oa_free(s);
    return e;
}

/* ---- the estimate ---- */

static void fill_step_time(const struct timing *t, double factor, struct oa_step_time *out)
{
    bool whole = sample_is_whole(t);
    *out = (struct oa_step_time){ .source = whole ? OA_TIME_MEASURED : OA_TIME_SCALED,
                                  .seconds = factor * t->sum.wall / t->steps,
                                  .least = factor * t->fastest * (whole ? 1 : 1 - scaling_error),
                                  .most = factor * t->slowest * (whole ? 1 : 1 + scaling_error),
                                  .processor = factor * t->sum.processor / t->steps,
                                  .held_up = oa_step_held_up(&t->sum),
                                  .steps = t->steps,
                                  .accumulate = t->sample.options.train_accumulate,
                                  .rows = t->sample.shape.typical.rows,
                                  .layers = t->sample.options.model_layers };
}

static enum oa_error measure_sample(struct timing *t, struct oa_step_side *s,
                                    struct oa_step_time *out)
{
    struct made_up contents = { 0 };
    struct oa_batch batch;
    double factor = 1;
    enum oa_error e = make_up_batch(t, &contents, &batch);
    if (e == OA_OK)
        e = oa_step_side_open(t->c, &t->sample.options, t->form, false, oa_clock, s);
    if (e == OA_OK)
        e = time_sample_steps(t, s, &batch);
    if (e == OA_OK && !sample_is_whole(t))
        e = scale_up(t, &s->meter, &factor);
    if (e == OA_OK)
        fill_step_time(t, factor, out);
    oa_step_side_close(s);
    free_made_up(&contents);
    return e;
}

enum oa_error oa_step_time_find(oa_context *c, const struct oa_options *o,
                                const struct oa_model_form *form, const struct oa_step_shape *shape,
                                const struct oa_plan *plan, const struct oa_machine_rates *rates,
                                struct oa_step_time *out)
{
    struct timing t = {
        .c = c, .options = o, .form = form, .shape = shape, .plan = plan, .rates = rates
    };
    bool found;
    OA_TRY(choose_sample(&t, &found));
    if (!found) {
        double least = oa_plan_lower_bound(plan, rates);
        *out = (struct oa_step_time){ .source = OA_TIME_PREDICTED,
                                      .seconds = least / sqrt(worst_share),
                                      .least = least,
                                      .most = least / worst_share };
        return OA_OK;
    }
    struct oa_step_side *s = oa_alloc(c, sizeof *s);
    if (!s)
        return OA_NO_MEMORY;
    enum oa_error e = measure_sample(&t, s, out);
    oa_free(s);
    return e;
}
