/* SPDX-License-Identifier: Apache-2.0
 * plan: cost of a training: counts of one step on the plan device, and the measured time of steps
 * (train/step_time.h). */
#include "api/api.h"
#include "api/plan_card.h"
#include "api/plan_ranks.h"
#include "compare/initial_runs.h"
#include "device/device_peak.h"
#include "kernels/kernel_bench.h"
#include "print/print.h"
#include "train/step_side.h"
#include "train/step_time.h"

#include <math.h>
#include <string.h>

struct planned_row {
    const char *attention;
    struct oa_plan plan;
    struct oa_step_time time;
    struct oa_rank_plans ranks;
};

struct planning {
    oa_context *c;
    struct oa_options options;
    struct oa_peak peak;
    struct oa_machine_rates rates; /* of this precision on all threads */
    struct oa_model_form form;
    struct oa_step_shape shape;
    struct planned_row *row;
    int count;
    struct planned_row softmax; /* for comparison */
};

/* ---- making ---- */

/* Products of AMX wait for loads: their rate is the median with loads, not the peak in registers.
 */
static void measure_plan_peaks(struct planning *p)
{
    oa_kernels_peak(p->c, &p->peak);
    enum oa_precision precision = p->options.train_precision;
    bool loads = precision == OA_PRECISION_BF16 && p->peak.loads.one > 0;
    p->rates.flops =
        loads ? 1e9 * p->peak.loads.all_median : oa_peak_flops(&p->peak, precision, false);
    p->rates.bytes = 1e9 * p->peak.copy.all;
    struct oa_device_peak card;
    if (oa_device_peak_measure(p->c, precision, &card))
        p->rates = (struct oa_machine_rates){ card.flops, card.bytes };
}

static enum oa_error plan_row(struct planning *p, struct planned_row *row)
{
    struct oa_options o = p->options;
    if (strlen(row->attention) >= sizeof o.model_attention)
        return oa_fail(p->c, OA_ARGUMENT, "the attention \"%.60s…\" is longer than %d bytes",
                       row->attention, OA_OPTION_TEXT - 1);
    snprintf(o.model_attention, sizeof o.model_attention, "%s", row->attention);
    OA_TRY(oa_plan_make(p->c, &o, &p->form, &p->shape, &row->plan));
    oa_log(p->c, 1, "timing steps with %s", row->attention);
    OA_TRY(oa_step_time_find(p->c, &o, &p->form, &p->shape, &row->plan, &p->rates, &row->time));
    double slower = row->time.seconds / oa_plan_lower_bound(&row->plan, &p->rates);
    struct oa_machine_rates reached = { p->rates.flops / slower, p->rates.bytes / slower };
    return oa_rank_plans_make(p->c, &o, &p->form, &p->shape, &reached, &row->ranks);
}

/* Refuses attentions that cannot be parsed and, where runs would start from those of a comparison,
 * attentions that it does not have. */
static enum oa_error check_planned_attention(const struct planning *p, const char *attention)
{
    unsigned stacks = oa_options_stacks(&p->options);
    struct oa_stack_specs specs;
    char *name = NULL;
    enum oa_error e = oa_stacks_parse(p->c, attention, stacks, &specs);
    oa_stacks_free(&specs);
    if (e != OA_OK)
        return oa_fail_as_argument(p->c);
    if (!oa_is_comparison_folder(p->options.train_init))
        return OA_OK;
    e = oa_stacks_canonical(p->c, attention, stacks, &name);
    if (e == OA_OK)
        e = oa_initial_runs_check(p->c, p->options.train_init, name, "");
    oa_free(name);
    return e;
}

static enum oa_error make_plan(struct planning *p, const char *const *attentions, int count)
{
    p->row = oa_alloc(p->c, (size_t)count * sizeof *p->row);
    if (!p->row)
        return OA_NO_MEMORY;
    for (int i = 0; i < count; i++)
        OA_TRY(check_planned_attention(p, attentions[i]));
    if (oa_is_comparison_folder(p->options.train_init)) /* a plan needs its tokenizer */
        OA_TRY(oa_initial_runs_first(p->c, &p->options));
    OA_TRY(oa_task_sketch(p->c, &p->options, &p->form, &p->shape));
    measure_plan_peaks(p);
    OA_TRY(oa_status(p->c));
    for (p->count = 0; p->count < count; p->count++) {
        p->row[p->count].attention = attentions[p->count];
        OA_TRY(plan_row(p, &p->row[p->count]));
    }
    for (int i = 0; i < count; i++)
        if (strcmp(attentions[i], "softmax") == 0) {
            p->softmax = p->row[i];
            return OA_OK;
        }
    p->softmax.attention = "softmax";
    return plan_row(p, &p->softmax);
}

/* Seconds of the whole training; with train.seconds, these. */
static double total_seconds(const struct planning *p, const struct planned_row *row)
{
    const struct oa_options *o = &p->options;
    return o->train_seconds > 0 ? o->train_seconds : row->time.seconds * (double)o->train_steps;
}

/* By the fastest steps, which other programs disturbed least. */
static bool no_faster(const struct planning *p, const struct planned_row *row)
{
    return row->time.least >= p->softmax.time.least && strcmp(row->attention, "softmax") != 0;
}

/* ---- as text ---- */

static const struct oa_column columns[] = { { .title = "attention", .shorten = true },
                                            { .title = "parameters", .right = true },
                                            { .title = "frozen", .right = true },
                                            { .title = "FLOPs\na step", .right = true },
                                            { .title = "memory:\nparameters", .right = true },
                                            { .title = "\nstep", .right = true },
                                            { .title = "time\na step", .right = true },
                                            { .title = "\nin all", .right = true } };
enum { COLUMNS = sizeof columns / sizeof *columns };

static void add_plan_row(const struct planning *p, const struct planned_row *row,
                         struct oa_table *t)
{
    char out[OA_NUMBER];
    const struct oa_plan *plan = &row->plan;
    oa_table_cell(t, "%s", row->attention);
    oa_table_cell(t, "%s", oa_number_si(out, plan->trainable));
    oa_table_cell(t, "%s", oa_number_si(out, plan->frozen));
    oa_table_cell(t, "%s", oa_number_si(out, plan->flops));
    oa_table_cell(t, "%s", oa_number_bytes(out, plan->memory_parameters));
    oa_table_cell(t, "%s", oa_number_bytes(out, plan->memory_activations + plan->memory_scratch));
    oa_table_cell(t, "%s", oa_number_seconds(out, row->time.seconds));
    oa_table_cell(t, "%s", oa_number_seconds(out, total_seconds(p, row)));
}

/* How the time of a step was found. */
static void add_plan_time(const struct planning *p, const struct planned_row *row,
                          struct oa_text *out)
{
    const struct oa_step_time *t = &row->time;
    char least[OA_NUMBER], most[OA_NUMBER];
    oa_number_seconds(least, t->least);
    oa_number_seconds(most, t->most);
    oa_text_printf(out, "%s: ", row->attention);
    if (t->source == OA_TIME_PREDICTED) {
        oa_text_printf(out,
                       "predicted, %s to %s: a step of one row would take too long or too much "
                       "memory here. These are 1 and 4 times the time of its arithmetic and "
                       "memory traffic at the measured rates.\n",
                       least, most);
        return;
    }
    oa_text_printf(out, "%d step%s of made-up tokens %s made", t->steps, oa_plural(t->steps),
                   t->steps == 1 ? "was" : "were");
    if (t->source == OA_TIME_SCALED)
        oa_text_printf(out,
                       " with %ld of %ld micro-batches, %ld of %d rows and %ld of %ld layers; the "
                       "whole step follows from what each operation has to do, %s to %s",
                       t->accumulate, p->options.train_accumulate, t->rows, p->shape.typical.rows,
                       t->layers, p->options.model_layers, least, most);
    else
        oa_text_printf(out, ", from %s to %s", least, most);
    oa_text_printf(out, "; %s of processor time.\n", oa_number_seconds(least, t->processor));
}

static void add_plan_times(const struct planning *p, struct oa_text *out)
{
    double busy = 0;
    struct oa_listed_device card;
    bool processor = !oa_device_chosen(p->c, &card);
    oa_text_printf(out, "\nTime a step, measured ");
    if (processor)
        oa_text_printf(out, "here with %d thread%s, set %s", oa_thread_count(p->c),
                       oa_plural(oa_thread_count(p->c)), oa_isa_name(oa_context_isa(p->c)));
    else
        oa_text_printf(out, "on %s", card.name);
    oa_text_printf(out, "; validation comes on top.\n");
    for (int i = 0; i < p->count; i++) {
        add_plan_time(p, &p->row[i], out);
        busy = fmax(busy, p->row[i].time.held_up);
    }
    if (processor && busy > OA_BUSY)
        oa_text_printf(out,
                       "The machine is busy: these steps waited for the processor up to %.0f %% "
                       "of the time. They take less on an idle machine and may take more on a "
                       "busier one.\n",
                       100 * busy);
}

static void print_plan(const struct planning *p, int width, struct oa_text *out)
{
    const struct oa_options *o = &p->options;
    struct oa_table t;
    struct oa_listed_device card;
    char number[OA_NUMBER], length[OA_NUMBER + 16];
    if (o->train_seconds > 0)
        snprintf(length, sizeof length, "%s", oa_number_seconds(number, o->train_seconds));
    else
        snprintf(length, sizeof length, "%ld steps", o->train_steps);
    oa_text_printf(out,
                   "%ld layer%s, width %ld, %ld head%s, context %ld, vocabulary %ld; %s tokens a "
                   "step, %s, %s\n\n",
                   o->model_layers, oa_plural(o->model_layers), o->model_width, o->model_heads,
                   oa_plural(o->model_heads), o->model_context, p->row[0].plan.vocabulary,
                   oa_number_si(number, p->row[0].plan.tokens), length,
                   oa_precision_name(o->train_precision));
    oa_table_init(&t, p->c, columns, COLUMNS);
    for (int i = 0; i < p->count; i++)
        add_plan_row(p, &p->row[i], &t);
    oa_table_text(&t, width, out);
    oa_table_free(&t);
    if (oa_device_chosen(p->c, &card) && card.memory) {
        oa_card_memory_text(&card, out);
        for (int i = 0; i < p->count; i++)
            oa_card_excess_text(&card, p->row[i].attention, &p->row[i].plan, out);
    }
    add_plan_times(p, out);
    for (int i = 0; i < p->count; i++)
        oa_rank_plans_text(p->c, p->row[i].attention, o, &p->row[i].ranks, width, out);
    for (int i = 0; i < p->count; i++)
        if (no_faster(p, &p->row[i]))
            oa_text_printf(out,
                           "%s will be no faster than softmax at %ld tokens. Relative to softmax, "
                           "a step takes %.2f times the time, has %.2f times the FLOPs, %.2f times "
                           "with the masked pairs of tiles, and moves %.2f times the bytes.\n",
                           p->row[i].attention, o->model_context,
                           p->row[i].time.least / p->softmax.time.least,
                           p->row[i].plan.flops / p->softmax.plan.flops,
                           p->row[i].plan.computed / p->softmax.plan.computed,
                           p->row[i].plan.bytes / p->softmax.plan.bytes);
    for (int i = 0; i < p->count; i++)
        oa_attention_notes(p->c, p->row[i].attention, oa_options_stacks(o), o, out);
}

/* ---- as JSON ---- */

static json_t *row_json(const struct planning *p, const struct planned_row *row)
{
    const struct oa_plan *plan = &row->plan;
    struct oa_text notes;
    oa_text_init(&notes, p->c);
    oa_attention_notes(p->c, row->attention, oa_options_stacks(&p->options), &p->options, &notes);
    json_t *root = json_pack(
        "{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:s}", "attention", row->attention,
        "trainable", plan->trainable, "frozen", plan->frozen, "flops_per_step", plan->flops,
        "computed_flops_per_step", plan->computed, "bytes_per_step", plan->bytes,
        "memory_parameters", plan->memory_parameters, "memory_step",
        plan->memory_activations + plan->memory_scratch, "seconds_per_step", row->time.seconds,
        "seconds", total_seconds(p, row), "no_faster_than_softmax", (int)no_faster(p, row), "notes",
        notes.s ? notes.s : "");
    oa_text_free(&notes);
    oa_json_set(p->c, root, "time",
                json_pack("{s:s, s:f, s:f, s:f, s:f, s:i, s:I, s:I, s:I}", "source",
                          oa_time_source_name(row->time.source), "least", row->time.least, "most",
                          row->time.most, "processor", row->time.processor, "held_up",
                          row->time.held_up, "steps", row->time.steps, "accumulate",
                          (json_int_t)row->time.accumulate, "rows", (json_int_t)row->time.rows,
                          "layers", (json_int_t)row->time.layers));
    if (row->ranks.count)
        oa_json_set(p->c, root, "ranks", oa_rank_plans_json(p->c, &row->ranks));
    return root;
}

static json_t *plan_json(const struct planning *p)
{
    json_t *root = json_object(), *rows = json_array();
    for (int i = 0; i < p->count; i++)
        oa_json_append(p->c, rows, row_json(p, &p->row[i]));
    oa_json_set(p->c, root, "vocabulary", json_integer(p->row[0].plan.vocabulary));
    oa_json_set(p->c, root, "tokens_per_step", json_real(p->row[0].plan.tokens));
    oa_json_set(p->c, root, "steps", json_integer(p->options.train_steps));
    oa_json_set(p->c, root, "precision",
                json_string(oa_precision_name(p->options.train_precision)));
    oa_json_set(p->c, root, "threads", json_integer(oa_thread_count(p->c)));
    oa_json_set(p->c, root, "isa", json_string(oa_isa_name(oa_context_isa(p->c))));
    oa_json_set(p->c, root, "peak_flops", json_real(p->rates.flops));
    oa_json_set(p->c, root, "peak_bytes", json_real(p->rates.bytes));
    struct oa_listed_device card;
    if (oa_device_chosen(p->c, &card)) {
        oa_json_set(p->c, root, "device", oa_json_string(card.name));
        oa_json_set(p->c, root, "device_memory", json_real((double)card.memory));
    }
    oa_json_set(p->c, root, "attentions", rows);
    return root;
}

enum oa_error oa_plan_training(const oa_config *config, const char *const *attentions, int count,
                               const struct oa_output *out)
{
    oa_config all;
    struct planning p = { .c = config->context };
    OA_TRY(oa_status(p.c));
    if (config->options.distil_teacher[0])
        return oa_fail(p.c, OA_ARGUMENT,
                       "plan counts training without a teacher: leave distil.teacher out; 'orthant "
                       "distil' prints the cost of its stages before they begin");
    if (config->left_teacher)
        oa_log(p.c, 0,
               "the run learned from a teacher, which is not counted here; 'orthant distil' prints "
               "the cost of its stages");
    OA_TRY(oa_config_begin_from(config, count == 0, &all));
    oa_config_say_preset(&all);
    p.options = all.options;
    if (p.options.compare_ranks > 1) /* of a comparison: each of its runs has so many */
        p.options.cluster_ranks = p.options.compare_ranks;
    const char *own = all.options.model_attention;
    struct oa_text t;
    enum oa_error e = make_plan(&p, count ? attentions : &own, count ? count : 1);
    oa_text_init(&t, p.c);
    if (e == OA_OK && oa_wants_json(out))
        oa_json_add(&t, plan_json(&p));
    else if (e == OA_OK)
        print_plan(&p, out ? out->width : 0, &t);
    oa_free(p.row);
    return oa_emit(out, &t);
}
