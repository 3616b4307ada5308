/* SPDX-License-Identifier: Apache-2.0
 * bench --step: the time of a training step by part and operation, against lower bounds from the
 * peak rates of the machine. */
#include "api/api.h"
#include "device/device_peak.h"
#include "device/wrappers/meter.h"
#include "kernels/kernel_bench.h"
#include "print/print.h"
#include "train/step_side.h"

#include <math.h>
#include <string.h>

enum { MOST_PARTS = 64, SHOWN = 12, NAME = 64 };

/* All operations at one place of the model, or one operation at all places. */
struct step_part {
    char name[NAME];
    long calls;
    double forward, backward; /* seconds */
    double flops, bytes, arithmetic,
        traffic;  /* the last two: seconds that computed FLOPs and bytes take at the peaks */
    double bound; /* the larger of the two, operation by operation */
};

struct step_bench {
    oa_context *c;
    const struct oa_options *options;
    struct oa_peak peak;
    bool on_card;
    struct oa_device_peak card;
    double arithmetic, traffic; /* FLOP/s, bytes/s */
    bool processor;             /* the clock that times are by; bounds are then of one core */
    bool busy;    /* other programs disturbed the wall clock: processor time is shown instead */
    bool by_wall; /* wall time is shown in any case */
    double wall, held_up;
    struct oa_profile profile;
    struct step_part part[MOST_PARTS], operation[MOST_PARTS], all;
    int parts, operations;
};

/* ---- measuring ---- */

static struct step_part *find_step_part(struct step_part *list, int *count, const char *name)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    struct step_part *p = &list[*count < MOST_PARTS ? (*count)++ : MOST_PARTS - 1];
    *p = (struct step_part){ .calls = 0 };
    snprintf(p->name, sizeof p->name, "%s", name);
    return p;
}

static void add_to_step_part(const struct step_bench *r, const struct oa_metered *row,
                             struct step_part *p)
{
    double arithmetic = row->computed / r->arithmetic, traffic = row->bytes / r->traffic;
    *(row->backward ? &p->backward : &p->forward) += row->seconds;
    p->calls += row->calls;
    p->flops += row->flops;
    p->bytes += row->bytes;
    p->arithmetic += arithmetic;
    p->traffic += traffic;
    p->bound += fmax(arithmetic, traffic);
}

static double seconds(const struct step_part *p)
{
    return p->forward + p->backward;
}

/* By place and by operation, the operations that take longest first. */
static void collect_parts(struct step_bench *r)
{
    for (int i = 0; i < r->profile.rows; i++) {
        const struct oa_metered *row = &r->profile.row[i];
        char name[NAME];
        snprintf(name, sizeof name, "%s%s%s", row->stack ? row->stack : "", row->stack ? ": " : "",
                 row->place ? row->place : "what is done before");
        add_to_step_part(r, row, find_step_part(r->part, &r->parts, name));
        add_to_step_part(r, row, find_step_part(r->operation, &r->operations, row->op));
        add_to_step_part(r, row, &r->all);
    }
    for (int i = 1; i < r->operations; i++)
        for (int j = i; j > 0 && seconds(&r->operation[j]) > seconds(&r->operation[j - 1]); j--) {
            struct step_part swap = r->operation[j];
            r->operation[j] = r->operation[j - 1];
            r->operation[j - 1] = swap;
        }
}

/* ---- as text ---- */

/* What add_costs fills. */
#define COSTS                                                                                      \
    { .title = "share", .right = true }, { .title = "FLOPs", .right = true },                      \
        { .title = "bytes", .right = true }, { .title = "lower\nbound", .right = true },           \
        { .title = "times\nthe bound", .right = true },                                            \
    {                                                                                              \
        .title = "set by"                                                                          \
    }
static const struct oa_column part_columns[] = { { .title = "part" },
                                                 { .title = "time:\nforward", .right = true },
                                                 { .title = "\nbackward", .right = true },
                                                 COSTS };
static const struct oa_column operation_columns[] = { { .title = "operation" },
                                                      { .title = "calls", .right = true },
                                                      { .title = "time", .right = true },
                                                      COSTS };
enum { COLUMNS = sizeof part_columns / sizeof *part_columns };

static void add_costs(const struct step_bench *r, const struct step_part *p, struct oa_table *t)
{
    char number[OA_NUMBER];
    oa_table_cell(t, "%.1f %%", 100 * seconds(p) / r->profile.seconds);
    oa_table_cell(t, "%s", oa_number_si(number, p->flops));
    oa_table_cell(t, "%s", oa_number_bytes(number, p->bytes));
    oa_table_cell(t, "%s", p->bound > 0 ? oa_number_seconds(number, p->bound) : "–");
    oa_table_cell(t, "%s", p->bound > 0 ? oa_number(number, seconds(p) / p->bound, 3) : "–");
    oa_table_cell(t, "%s",
                  p->bound <= 0                 ? "–"
                  : p->arithmetic >= p->traffic ? "arithmetic"
                                                : "memory");
}

static void add_step_part_row(const struct step_bench *r, const struct step_part *p,
                              struct oa_table *t)
{
    char number[OA_NUMBER];
    oa_table_cell(t, "%s", p->name);
    oa_table_cell(t, "%s", p->forward > 0 ? oa_number_seconds(number, p->forward) : "–");
    oa_table_cell(t, "%s", p->backward > 0 ? oa_number_seconds(number, p->backward) : "–");
    add_costs(r, p, t);
}

/* Time outside operations: batches, the tape, the ends of parallel loops. */
static struct step_part time_between_parts(const struct step_bench *r)
{
    struct step_part p = { .name = "between operations",
                           .forward = fmax(0, r->profile.seconds - seconds(&r->all)) };
    return p;
}

static void parts_text(const struct step_bench *r, int width, struct oa_text *out)
{
    struct oa_table t;
    struct step_part rest = time_between_parts(r), all = r->all;
    snprintf(all.name, sizeof all.name, "all");
    all.forward += rest.forward;
    oa_table_init(&t, r->c, part_columns, COLUMNS);
    for (int i = 0; i < r->parts; i++)
        add_step_part_row(r, &r->part[i], &t);
    add_step_part_row(r, &rest, &t);
    add_step_part_row(r, &all, &t);
    oa_table_text(&t, width, out);
    oa_table_free(&t);
}

static void operations_text(const struct step_bench *r, int width, struct oa_text *out)
{
    struct oa_table t;
    char number[OA_NUMBER];
    oa_table_init(&t, r->c, operation_columns, COLUMNS);
    for (int i = 0; i < r->operations && i < SHOWN; i++) {
        const struct step_part *p = &r->operation[i];
        oa_table_cell(&t, "%s", p->name);
        oa_table_cell(&t, "%ld", p->calls);
        oa_table_cell(&t, "%s", oa_number_seconds(number, seconds(p)));
        add_costs(r, p, &t);
    }
    oa_table_text(&t, width, out);
    oa_table_free(&t);
    if (r->operations > SHOWN)
        oa_text_printf(out, "and %d more\n", r->operations - SHOWN);
}

static void busy_text(const struct step_bench *r, struct oa_text *out)
{
    char wall[OA_NUMBER];
    int threads = oa_thread_count(r->c), cores = oa_context_cpu(r->c)->cores;
    oa_text_printf(out,
                   "The machine is busy: a step took %s of wall time and waited %.0f %% of it "
                   "for the processor, which %s used.",
                   oa_number_seconds(wall, r->wall), 100 * r->held_up,
                   threads > cores ? "other threads or programs" : "other programs");
    if (threads > cores)
        oa_text_printf(out, " %d threads share %d usable core%s.", threads, cores,
                       oa_plural(cores));
    if (r->busy)
        oa_text_printf(out, " Times, shares and tokens/s are therefore of processor time of all "
                            "threads, and lower bounds are those of one core.");
    oa_text_printf(out, "\n\n");
}

static void print_step_bench(const struct step_bench *r, int width, struct oa_text *out)
{
    const struct oa_profile *p = &r->profile;
    char time[OA_NUMBER], tokens[OA_NUMBER], rate[OA_NUMBER];
    oa_text_printf(
        out, "%s, %s, %d thread%s: a step of %s tokens takes %s (median of %d%s), %s tokens/s\n\n",
        r->options->model_attention, oa_precision_name(r->options->train_precision),
        oa_thread_count(r->c), oa_plural(oa_thread_count(r->c)), oa_number_si(tokens, p->tokens),
        oa_number_seconds(time, p->seconds), p->steps, r->processor ? ", processor time" : "",
        oa_number_si(rate, p->tokens / p->seconds));
    if (r->held_up > OA_BUSY)
        busy_text(r, out);
    parts_text(r, width, out);
    oa_text_printf(out, "\n");
    operations_text(r, width, out);
    oa_text_printf(
        out,
        "\nLower bound: for each operation, its arithmetic (with the masked pairs of tiles) at "
        "the measured peak of %s (%.0f GFLOP/s) or its memory traffic at the measured bandwidth "
        "(%.1f GB/s), whichever takes longer. Operations on data in the cache can be faster. "
        "The output layer computes its gradients in its forward pass.\n",
        r->on_card     ? r->card.name
        : r->processor ? "one core"
                       : "all threads",
        r->arithmetic / 1e9, r->traffic / 1e9);
    if (r->options->train_precision == OA_PRECISION_BF16 && *oa_peak_state(&r->peak))
        oa_text_printf(out, "AMX was in its %s state before the steps.\n", oa_peak_state(&r->peak));
}

/* ---- as JSON ---- */

static json_t *step_part_json(const struct step_part *p)
{
    return json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "name", p->name, "calls",
                     (json_int_t)p->calls, "forward", p->forward, "backward", p->backward, "flops",
                     p->flops, "bytes", p->bytes, "arithmetic", p->arithmetic, "traffic",
                     p->traffic, "floor", p->bound);
}

static json_t *list_json(oa_context *c, const struct step_part *list, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count; i++)
        oa_json_append(c, array, step_part_json(&list[i]));
    return array;
}

static json_t *step_bench_json(const struct step_bench *r)
{
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:f}", "schema",
                  "orthant.step/1", "attention", r->options->model_attention, "precision",
                  oa_precision_name(r->options->train_precision), "clock",
                  r->processor ? "processor" : "wall", "threads", oa_thread_count(r->c), "steps",
                  r->profile.steps, "seconds", r->profile.seconds, "tokens", r->profile.tokens,
                  "peak_flops", r->arithmetic, "peak_bytes", r->traffic, "floor", r->all.bound);
    oa_json_set(r->c, root, "busy", json_boolean(r->held_up > OA_BUSY));
    oa_json_set(r->c, root, "held_up", json_real(r->held_up));
    oa_json_set(r->c, root, "wall_seconds", json_real(r->wall));
    oa_json_set(r->c, root, "interrupted", json_boolean(r->profile.stopped));
    oa_json_set(r->c, root, "between", json_real(time_between_parts(r).forward));
    oa_json_set(r->c, root, "parts", list_json(r->c, r->part, r->parts));
    oa_json_set(r->c, root, "operations", list_json(r->c, r->operation, r->operations));
    return root;
}

/* ---- the command ---- */

/* On a busy machine the step is profiled once more, by processor time. If that is stopped, the
 * first profile is kept. */
static enum oa_error profile_busy(struct step_bench *r, const struct oa_workload *w)
{
    struct oa_profile again;
    if (r->profile.stopped)
        return OA_OK;
    enum oa_error e = oa_profile_make(r->c, r->options, w, oa_processor_clock, &again);
    if (e == OA_INTERRUPTED) {
        oa_clear_error(r->c);
        r->profile.stopped = true;
        return OA_OK;
    }
    oa_profile_close(&r->profile);
    r->profile = again;
    r->processor = r->busy = true;
    return e;
}

static enum oa_error profile_bench_step(struct step_bench *r)
{
    struct oa_workload w;
    enum oa_error e = oa_workload_open(r->c, r->options, &w);
    if (e == OA_OK)
        oa_kernels_peak(r->c, &r->peak);
    if (e == OA_OK)
        e = oa_profile_make(r->c, r->options, &w, r->processor ? oa_processor_clock : oa_clock,
                            &r->profile);
    if (e == OA_OK) {
        r->wall = r->profile.wall;
        r->held_up = r->profile.held_up;
    }
    if (e == OA_OK && !r->processor && !r->by_wall && r->held_up > OA_BUSY)
        e = profile_busy(r, &w);
    oa_workload_close(&w);
    r->arithmetic = oa_peak_flops(&r->peak, r->options->train_precision, r->processor);
    r->traffic = 1e9 * (r->processor ? r->peak.copy.one : r->peak.copy.all);
    r->on_card = oa_device_peak_measure(r->c, r->options->train_precision, &r->card);
    if (r->on_card) {
        r->arithmetic = r->card.flops;
        r->traffic = r->card.bytes;
    }
    return e;
}

enum oa_error oa_bench_step(const oa_config *config, int processor_time,
                            const struct oa_output *out)
{
    struct step_bench r = { .c = config->context,
                            .options = &config->options,
                            .processor = processor_time > 0,
                            .by_wall = processor_time < 0 ||
                                       oa_context_device_kind(config->context) != OA_DEVICE_CPU };
    struct oa_text t;
    OA_TRY(oa_status(r.c));
    enum oa_error e = profile_bench_step(&r);
    bool stopped = r.profile.stopped;
    oa_text_init(&t, r.c);
    if (e == OA_OK) {
        collect_parts(&r);
        if (oa_wants_json(out))
            oa_json_add(&t, step_bench_json(&r));
        else
            print_step_bench(&r, out ? out->width : 0, &t);
    }
    oa_profile_close(&r.profile);
    e = oa_emit(out, &t);
    return e == OA_OK && stopped ? oa_fail(r.c, OA_INTERRUPTED, "the bench was stopped") : e;
}
