/* SPDX-License-Identifier: Apache-2.0 */
#include "api/plan_ranks.h"

#include "print/print.h"

#include <math.h>

static const double overhead = 2e-6; /* seconds of a core that a message takes, sent or received */

/* One rank exchanges nothing. */
static double communication_seconds(const struct oa_options *o, long ranks,
                                    const struct oa_traffic *t)
{
    if (ranks == 1)
        return 0;
    return 8 * fmax(t->sent, t->received) / (1e9 * o->cluster_bandwidth) +
           (2 + log2((double)ranks)) * 1e-6 * o->cluster_latency +
           2 * overhead * (double)t->messages;
}

static bool divides_micro_batches(const struct oa_options *o, long ranks)
{
    return ranks <= o->cluster_ranks && o->train_accumulate % ranks == 0;
}

enum oa_error oa_rank_plans_make(oa_context *c, const struct oa_options *o,
                                 const struct oa_model_form *form,
                                 const struct oa_step_shape *shape,
                                 const struct oa_machine_rates *rates, struct oa_rank_plans *out)
{
    long first = o->cluster_ranks + 1; /* of the largest OA_RANK_PLANS numbers that divide */
    for (int count = 0; count < OA_RANK_PLANS && first > 1;)
        count += divides_micro_batches(o, --first);
    out->count = 0;
    for (long ranks = first; o->cluster_ranks > 1 && ranks <= o->cluster_ranks; ranks++) {
        struct oa_rank_plan *p = &out->of[out->count];
        if (!divides_micro_batches(o, ranks))
            continue;
        OA_TRY(oa_plan_rank(c, o, form, shape, ranks, &p->plan));
        p->ranks = ranks;
        p->computing = oa_plan_lower_bound(&p->plan, rates);
        p->waiting = communication_seconds(o, ranks, &p->plan.traffic);
        out->count++;
    }
    return OA_OK;
}

static double rank_step_seconds(const struct oa_rank_plan *p)
{
    return p->computing + p->waiting;
}

static int fastest_plan(const struct oa_rank_plans *p)
{
    int best = 0;
    for (int i = 1; i < p->count; i++)
        if (rank_step_seconds(&p->of[i]) < rank_step_seconds(&p->of[best]))
            best = i;
    return best;
}

static double rank_memory(const struct oa_rank_plan *p)
{
    return p->plan.memory_parameters + p->plan.memory_activations + p->plan.memory_scratch;
}

/* ---- as text and JSON ---- */

static const struct oa_column columns[] = { { .title = "ranks", .right = true },
                                            { .title = "micro-batches\neach", .right = true },
                                            { .title = "time\na step", .right = true },
                                            { .title = "tokens/s\nof all", .right = true },
                                            { .title = "waits for\nthe network", .right = true },
                                            { .title = "sent by each\na step", .right = true },
                                            { .title = "memory\nof each", .right = true } };

static void add_rank_row(const struct oa_options *o, const struct oa_rank_plan *p,
                         struct oa_table *t)
{
    char out[OA_NUMBER];
    oa_table_cell(t, "%ld", p->ranks);
    oa_table_cell(t, "%ld", o->train_accumulate / p->ranks);
    oa_table_cell(t, "%s", oa_number_seconds(out, rank_step_seconds(p)));
    oa_table_cell(t, "%s", oa_number_si(out, p->plan.tokens / rank_step_seconds(p)));
    oa_table_cell(t, "%.1f %%", 100 * p->waiting / rank_step_seconds(p));
    oa_table_cell(t, "%s", oa_number_bytes(out, p->plan.traffic.sent));
    oa_table_cell(t, "%s", oa_number_bytes(out, rank_memory(p)));
}

void oa_rank_plans_text(oa_context *c, const char *attention, const struct oa_options *o,
                        const struct oa_rank_plans *p, int width, struct oa_text *out)
{
    struct oa_table t;
    if (p->count == 0)
        return;
    oa_text_printf(
        out, "\n%s on several ranks like this machine, %s Gbit/s and %s microseconds apart\n\n",
        attention, oa_real_text(o->cluster_bandwidth).s, oa_real_text(o->cluster_latency).s);
    oa_table_init(&t, c, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < p->count; i++)
        add_rank_row(o, &p->of[i], &t);
    oa_table_text(&t, width, out);
    oa_table_free(&t);
    oa_text_printf(out, "\nFastest: %ld rank%s, of those that divide train.accumulate = %ld.\n",
                   p->of[fastest_plan(p)].ranks, oa_plural(p->of[fastest_plan(p)].ranks),
                   o->train_accumulate);
    if (!divides_micro_batches(o, o->cluster_ranks))
        oa_text_printf(
            out,
            "%ld ranks do not divide it: give train.accumulate a multiple of %ld, or another "
            "number of ranks.\n",
            o->cluster_ranks, o->cluster_ranks);
}

json_t *oa_rank_plans_json(oa_context *c, const struct oa_rank_plans *p)
{
    json_t *rows = json_array();
    for (int i = 0; i < p->count; i++) {
        const struct oa_rank_plan *r = &p->of[i];
        oa_json_append(c, rows,
                       json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:I, s:f}", "ranks",
                                 (json_int_t)r->ranks, "seconds_per_step", rank_step_seconds(r),
                                 "seconds_computing", r->computing, "seconds_waiting", r->waiting,
                                 "bytes_sent", r->plan.traffic.sent, "bytes_received",
                                 r->plan.traffic.received, "messages",
                                 (json_int_t)r->plan.traffic.messages, "memory", rank_memory(r)));
    }
    return rows;
}
