/* SPDX-License-Identifier: Apache-2.0
 *
 * Observations as runs, and runs as a comparison. Runs are paired by seed where every two systems
 * have enough seeds in common; otherwise they are independent samples.
 */
#include "import/observations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SYSTEMS = 100, MOST_SEEDS = 10000 };

/* The observations of one system with one seed, by rising step. */
struct observed_run {
    int32_t system, seed; /* seed: of labels; without labels a number within the system */
    const struct oa_observation *at;
    size_t count;
};

struct observed {
    struct oa_observations *from;
    struct observed_run *run;
    size_t runs;
    int32_t *column; /* [seeds] place of a seed in the comparison; paired only */
    bool labelled;   /* seeds are known */
    bool steps;
    bool paired;
};

/* ---- runs ---- */

static int by_run_and_step(const void *a, const void *b)
{
    const struct oa_observation *x = a, *y = b;
    if (x->system != y->system)
        return x->system < y->system ? -1 : 1;
    if (x->seed != y->seed)
        return x->seed < y->seed ? -1 : 1;
    if (x->step != y->step && !isnan(x->step))
        return x->step < y->step ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* All values must have a seed or none, and likewise a step; values without both are runs of their
 * own.
 */
static enum oa_error number_unlabelled(struct oa_observations *o, bool *labelled, bool *steps)
{
    const struct oa_observation *without = NULL, *stepless = NULL;
    for (size_t i = 0; i < o->count; i++) {
        *labelled |= o->at[i].seed >= 0;
        *steps |= !isnan(o->at[i].step);
        without = o->at[i].seed < 0 ? &o->at[i] : without;
        stepless = isnan(o->at[i].step) ? &o->at[i] : stepless;
    }
    if (*steps && stepless)
        return oa_fail(o->context, OA_FORMAT, "%s:%lu: the step is missing, which others have",
                       o->request->paths[stepless->path], stepless->line);
    if (*labelled && without)
        return oa_fail(o->context, OA_FORMAT, "%s:%lu: the seed is missing, which others have",
                       o->request->paths[without->path], without->line);
    int32_t *next = oa_alloc(o->context, ((size_t)o->systems.count + 1) * sizeof *next);
    if (!next)
        return OA_NO_MEMORY;
    for (size_t i = 0; i < o->count && !*labelled; i++)
        o->at[i].seed = isnan(o->at[i].step) ? next[o->at[i].system]++ : 0;
    oa_free(next);
    return OA_OK;
}

/* TensorBoard may log a step twice after a restart: then the newer value is used. */
static enum oa_error check_repeated(const struct observed *d, const struct oa_observation *a,
                                    const struct oa_observation *b)
{
    const struct oa_observations *o = d->from;
    char step[64] = "";
    if (a->line == 0)
        return OA_OK;
    if (d->steps)
        snprintf(step, sizeof step, " at step %s", oa_real_text(a->step).s);
    return oa_fail(o->context, OA_FORMAT,
                   "%s:%lu: a second value of %s%s%s%s; the first is in %s:%lu. Remove one, or "
                   "name the columns that tell them apart with --system, --seed and --step",
                   o->request->paths[b->path], b->line, oa_words_at(&o->systems, b->system, NULL),
                   d->labelled ? ", seed " : "",
                   d->labelled ? oa_words_at(&o->seeds, b->seed, NULL) : "", step,
                   o->request->paths[a->path], a->line);
}

/* Drops all but the last of equal steps. */
static enum oa_error group_runs(struct observed *d)
{
    struct oa_observations *o = d->from;
    size_t kept = 0;
    d->run = oa_alloc(o->context, (o->count + 1) * sizeof *d->run);
    if (!d->run)
        return OA_NO_MEMORY;
    for (size_t i = 0; i < o->count; i++) {
        struct oa_observation *before = kept ? &o->at[kept - 1] : NULL, now = o->at[i];
        bool same = before && before->system == now.system && before->seed == now.seed;
        if (same && (before->step == now.step || isnan(now.step))) {
            OA_TRY(check_repeated(d, before, &now));
            *before = now;
            continue;
        }
        o->at[kept] = now;
        if (!same)
            d->run[d->runs++] = (struct observed_run){ now.system, now.seed, &o->at[kept], 0 };
        d->run[d->runs - 1].count++;
        kept++;
    }
    o->count = kept;
    return OA_OK;
}

/* ---- pairs ---- */

/* Whether every two systems share at least two seeds, and half of the seeds of the one with fewer.
 * has: [systems][seeds] */
static bool seeds_pair(const struct observed *d, const bool *has)
{
    int32_t systems = d->from->systems.count, seeds = d->from->seeds.count;
    for (int32_t i = 0; i < systems; i++)
        for (int32_t j = 0; j < i; j++) {
            int own = 0, theirs = 0, shared = 0;
            for (int32_t s = 0; s < seeds; s++) {
                bool a = has[(size_t)i * (size_t)seeds + (size_t)s],
                     b = has[(size_t)j * (size_t)seeds + (size_t)s];
                own += a;
                theirs += b;
                shared += a && b;
            }
            int fewer = own < theirs ? own : theirs;
            if (fewer > 1 && (shared < 2 || 2 * shared < fewer))
                return false;
            if (fewer == 1 && shared == 0)
                return false;
        }
    return true;
}

static bool parse_seed(const char *text, uint64_t *out)
{
    double x;
    bool whole = oa_parse_real(text, &x) && x >= 0 && x <= (double)OA_LAST_SEED && floor(x) == x;
    *out = whole ? (uint64_t)x : 0;
    return whole;
}

/* Seeds are sorted by the number of systems that have them, then by value, then as they were read.
 */
struct seed_rank {
    int32_t seed;
    int systems;
    uint64_t number;
};

static int by_rank(const void *a, const void *b)
{
    const struct seed_rank *x = a, *y = b;
    if (x->systems != y->systems)
        return x->systems > y->systems ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->seed < y->seed ? -1 : x->seed > y->seed;
}

static enum oa_error rank_seeds(struct observed *d, const bool *has)
{
    struct oa_observations *o = d->from;
    size_t seeds = (size_t)o->seeds.count;
    struct seed_rank *rank = oa_alloc(o->context, (seeds + 1) * sizeof *rank);
    d->column = oa_alloc(o->context, (seeds + 1) * sizeof *d->column);
    for (size_t s = 0; rank && s < seeds; s++) {
        rank[s].seed = (int32_t)s;
        parse_seed(oa_words_at(&o->seeds, (int32_t)s, NULL), &rank[s].number);
        for (size_t i = 0; i < (size_t)o->systems.count; i++)
            rank[s].systems += has[i * seeds + s];
    }
    if (rank && d->column) {
        qsort(rank, seeds, sizeof *rank, by_rank);
        for (size_t s = 0; s < seeds; s++)
            d->column[rank[s].seed] = (int32_t)s;
    }
    oa_free(rank);
    return oa_status(o->context);
}

static enum oa_error decide_pairs(struct observed *d)
{
    struct oa_observations *o = d->from;
    size_t seeds = (size_t)o->seeds.count;
    if (!d->labelled || o->request->unpaired)
        return OA_OK;
    bool *has = oa_alloc(o->context, (size_t)o->systems.count * seeds * sizeof *has + 1);
    if (!has)
        return OA_NO_MEMORY;
    for (size_t i = 0; i < d->runs; i++)
        has[(size_t)d->run[i].system * seeds + (size_t)d->run[i].seed] = true;
    d->paired = seeds_pair(d, has);
    enum oa_error e = d->paired ? rank_seeds(d, has) : OA_OK;
    oa_free(has);
    return e;
}

/* ---- the value of a run ---- */

static void set_failure(const struct observed *d, const struct oa_observation *at, const char *why,
                        struct oa_run *out)
{
    out->failed = true;
    out->valid_loss = NAN;
    size_t n = (size_t)snprintf(out->failure, sizeof out->failure, "%s %s", d->from->metric, why);
    if (d->steps && n < sizeof out->failure)
        n += (size_t)snprintf(out->failure + n, sizeof out->failure - n, " at step %s",
                              oa_real_text(at->step).s);
    if (at->line && n < sizeof out->failure)
        snprintf(out->failure + n, sizeof out->failure - n, " (%s:%lu)",
                 d->from->request->paths[at->path], at->line);
}

static const struct oa_observation *best_of(const struct observed_run *r, bool higher)
{
    const struct oa_observation *best = &r->at[0];
    for (size_t i = 1; i < r->count; i++)
        if (isnan(best->value) ||
            (higher ? r->at[i].value > best->value : r->at[i].value < best->value))
            best = &r->at[i];
    return best;
}

/* The value at a step; a run that ended before it has failed. */
static enum oa_error value_at_step(const struct observed *d, const struct observed_run *r,
                                   double step, struct oa_run *out)
{
    const struct oa_observations *o = d->from;
    const struct oa_observation *last = &r->at[r->count - 1];
    for (size_t i = 0; i < r->count; i++)
        if (r->at[i].step == step) {
            out->valid_loss = r->at[i].value;
            if (isnan(out->valid_loss))
                set_failure(d, &r->at[i], "has no finite value", out);
            return OA_OK;
        }
    if (last->step < step) {
        set_failure(d, last, "ends early,", out);
        return OA_OK;
    }
    return oa_fail(o->context, OA_ARGUMENT, "%s%s%s has no value at step %s (--at)",
                   oa_words_at(&o->systems, r->system, NULL), d->labelled ? ", seed " : "",
                   d->labelled ? oa_words_at(&o->seeds, r->seed, NULL) : "", oa_real_text(step).s);
}

static enum oa_error choose_value(const struct observed *d, const struct observed_run *r,
                                  bool higher, struct oa_run *out)
{
    const char *at = d->from->request->at;
    const struct oa_observation *last = &r->at[r->count - 1];
    double step;
    if (at && oa_parse_real(at, &step))
        return value_at_step(d, r, step, out);
    bool best = at && strcmp(at, "best") == 0;
    out->valid_loss = best ? best_of(r, higher)->value : last->value;
    if (isnan(last->value))
        set_failure(d, last, "has no finite value", out);
    return OA_OK;
}

static enum oa_error fill_curve(oa_context *c, const struct observed_run *r, struct oa_run *out)
{
    out->curve = oa_alloc(c, r->count * sizeof *out->curve);
    if (!out->curve)
        return OA_NO_MEMORY;
    out->points = out->capacity = (int)r->count;
    for (size_t i = 0; i < r->count; i++) {
        struct oa_curve_point *p = &out->curve[i];
        *p = (struct oa_curve_point){ .step = lround(r->at[i].step),
                                      .seconds = NAN,
                                      .tokens = NAN,
                                      .train_loss = NAN,
                                      .valid_loss = r->at[i].value };
        oa_scores_clear(p->scores);
    }
    out->steps = out->curve[r->count - 1].step;
    return OA_OK;
}

static enum oa_error fill_run(const struct observed *d, const struct observed_run *r, bool higher,
                              struct oa_run *out)
{
    uint64_t seed = out->seed;
    *out = (struct oa_run){ .seed = seed };
    out->tokens = out->valid_tokens = out->perplexity = out->bits_per_character =
        out->bits_per_byte = out->seconds = out->processor_seconds = out->seconds_per_step =
            out->tokens_per_second = out->flops = out->flops_per_step = out->peak_memory = NAN;
    oa_scores_clear(out->scores);
    OA_TRY(choose_value(d, r, higher, out));
    return d->steps ? fill_curve(d->from->context, r, out) : OA_OK;
}

/* ---- the comparison ---- */

static enum oa_error check_sizes(const struct observed *d, const int *made)
{
    const struct oa_observations *o = d->from;
    if (o->systems.count > MOST_SYSTEMS)
        return oa_fail(o->context, OA_ARGUMENT,
                       "%d systems (%s, %s, …), but at most %d can be compared; is another column "
                       "the system (--system)?",
                       o->systems.count, oa_words_at(&o->systems, 0, NULL),
                       oa_words_at(&o->systems, 1, NULL), MOST_SYSTEMS);
    for (int32_t i = 0; i < o->systems.count; i++)
        if (made[i] > MOST_SEEDS)
            return oa_fail(o->context, OA_ARGUMENT,
                           "%s has %d runs, but at most %d of a system can be judged",
                           oa_words_at(&o->systems, i, NULL), made[i], MOST_SEEDS);
    return OA_OK;
}

/* Place of a run among those of its system. Unpaired, they are in the order of the file. */
static int place_of(const struct observed *d, size_t run)
{
    size_t first = run;
    if (d->paired)
        return d->column[d->run[run].seed];
    while (first && d->run[first - 1].system == d->run[run].system)
        first--;
    return (int)(run - first);
}

static enum oa_error make_entries(const struct observed *d, struct oa_comparison *out)
{
    const struct oa_observations *o = d->from;
    oa_context *c = o->context;
    out->entries = oa_alloc(c, (size_t)o->systems.count * sizeof *out->entries);
    if (!out->entries)
        return OA_NO_MEMORY;
    out->count = o->systems.count;
    for (int i = 0; i < out->count; i++) {
        struct oa_entry *e = &out->entries[i];
        e->attention = oa_copy_text(c, oa_words_at(&o->systems, i, NULL));
        e->trainable = e->frozen = NAN;
        e->runs = oa_alloc(c, (size_t)out->seeds * sizeof *e->runs);
        for (int s = 0; e->runs && s < out->seeds; s++)
            e->runs[s] = (struct oa_run){ .seed = (uint64_t)s + 1, .absent = true };
        if (!e->attention || !e->runs)
            return OA_NO_MEMORY;
    }
    return OA_OK;
}

static enum oa_error fill_entries(const struct observed *d, bool higher, struct oa_comparison *out)
{
    for (size_t i = 0; i < d->runs; i++) {
        int place = place_of(d, i);
        uint64_t seed;
        if (!d->labelled || !parse_seed(oa_words_at(&d->from->seeds, d->run[i].seed, NULL), &seed))
            seed = (uint64_t)place + 1;
        struct oa_run *run = &out->entries[d->run[i].system].runs[place];
        if (d->paired)
            for (int e = 0; e < out->count; e++)
                out->entries[e].runs[place].seed = seed;
        run->seed = seed;
        OA_TRY(fill_run(d, &d->run[i], higher, run));
    }
    return OA_OK;
}

static enum oa_error count_runs(const struct observed *d, struct oa_comparison *out)
{
    const struct oa_observations *o = d->from;
    int *made = oa_alloc(o->context, ((size_t)o->systems.count + 1) * sizeof *made);
    if (!made)
        return OA_NO_MEMORY;
    for (size_t i = 0; i < d->runs; i++)
        if (++made[d->run[i].system] > out->seeds)
            out->seeds = made[d->run[i].system];
    if (d->paired)
        out->seeds = o->seeds.count;
    enum oa_error e = check_sizes(d, made);
    oa_free(made);
    return e;
}

/* ---- the metric ---- */

/* As many decimals as show two digits of the standard deviation of all values. */
static int decimals_of(const struct oa_comparison *k)
{
    double sum = 0, squares = 0, n = 0;
    for (int i = 0; i < k->count; i++)
        for (int s = 0; s < k->seeds; s++) {
            const struct oa_run *r = &k->entries[i].runs[s];
            if (r->absent || r->failed)
                continue;
            sum += r->valid_loss;
            squares += r->valid_loss * r->valid_loss;
            n++;
        }
    double variance = n > 1 ? (squares - sum * sum / n) / (n - 1) : 0;
    if (!(variance > 0))
        return 4;
    double digits = 2 - floor(log10(sqrt(variance)));
    return digits < 0 ? 0 : (int)digits;
}

static enum oa_error find_direction(const struct oa_observations *o, bool *higher)
{
    int by_name = oa_metric_direction(o->metric);
    *higher = o->request->direction == OA_IMPORT_HIGHER ||
              (o->request->direction == OA_IMPORT_BY_NAME && by_name > 0);
    if (o->request->direction != OA_IMPORT_BY_NAME || by_name)
        return OA_OK;
    return oa_fail(o->context, OA_ARGUMENT,
                   "is a lower or a higher %s better? Its name does not tell; give --lower or "
                   "--higher",
                   o->metric);
}

/* ---- remarks ---- */

/* "adam, seed 3 (step 20) and 2 others" */
static void add_short_runs(const struct observed *d, double most, struct oa_text *out)
{
    int named = 0, others = 0;
    for (size_t i = 0; i < d->runs; i++) {
        double last = d->run[i].at[d->run[i].count - 1].step;
        if (last >= most)
            continue;
        others += named == 3;
        if (named == 3)
            continue;
        oa_text_printf(out, "%s%s", named++ ? "; " : "",
                       oa_words_at(&d->from->systems, d->run[i].system, NULL));
        if (d->labelled)
            oa_text_printf(out, ", seed %s", oa_words_at(&d->from->seeds, d->run[i].seed, NULL));
        oa_text_printf(out, " (step %s)", oa_real_text(last).s);
    }
    if (others)
        oa_text_printf(out, " and %d other%s", others, oa_plural(others));
}

static void remark_steps(const struct observed *d, struct oa_text *out)
{
    const char *at = d->from->request->at;
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < d->runs; i++) {
        double last = d->run[i].at[d->run[i].count - 1].step;
        least = fmin(least, last);
        most = fmax(most, last);
    }
    if (!d->steps)
        return;
    if (at && strcmp(at, "best") == 0)
        oa_text_printf(out,
                       " The best value of each run counts, which is optimistic: it was chosen "
                       "by the metric itself.");
    else if (at && strcmp(at, "last") != 0)
        oa_text_printf(out, " The value at step %s counts.", at);
    else if (least < most) {
        oa_text_printf(out,
                       " The last value of each run counts. The runs end at different steps, %s to "
                       "%s: remove those that did not finish, or give --at STEP. Shorter: ",
                       oa_real_text(least).s, oa_real_text(most).s);
        add_short_runs(d, most, out);
        oa_text_printf(out, ".");
    } else
        oa_text_printf(out, " The last value of each run counts, at step %s.",
                       oa_real_text(most).s);
}

static void remark_pairs(const struct observed *d, const struct oa_comparison *k,
                         struct oa_text *out)
{
    const char *why = d->from->request->unpaired ? "as asked for"
                      : d->labelled              ? "since systems share too few seeds"
                                                 : "since no seeds are given";
    if (!d->paired && k->count > 1)
        oa_text_printf(out,
                       " Runs are independent samples, %s: tests are Welch’s, which need more runs "
                       "than paired ones.",
                       why);
}

/* ---- all of it ---- */

static enum oa_error make_comparison(struct observed *d, struct oa_comparison *out)
{
    struct oa_observations *o = d->from;
    bool higher;
    if (!o->count)
        return oa_fail(o->context, OA_FORMAT, "no values of %s were found",
                       o->metric ? o->metric : "a metric");
    OA_TRY(find_direction(o, &higher));
    OA_TRY(number_unlabelled(o, &d->labelled, &d->steps));
    if (!d->steps && o->request->at)
        return oa_fail(o->context, OA_ARGUMENT,
                       "--at has no effect without steps; name their column with --step");
    qsort(o->at, o->count, sizeof *o->at, by_run_and_step);
    OA_TRY(group_runs(d));
    OA_TRY(decide_pairs(d));
    OA_TRY(count_runs(d, out));
    OA_TRY(make_entries(d, out));
    OA_TRY(fill_entries(d, higher, out));
    struct oa_measure measures[] = { { .name = o->metric,
                                       .title = o->metric,
                                       .unit = "",
                                       .decimals = decimals_of(out),
                                       .higher = higher,
                                       .best = NAN },
                                     { 0 } };
    OA_TRY(oa_comparison_set_measures(o->context, out, measures, 0));
    remark_steps(d, &o->remarks);
    remark_pairs(d, out, &o->remarks);
    out->characters = out->bytes = out->valid_tokens = out->eval_tokens = NAN;
    out->imported = true;
    out->unpaired = !d->paired;
    return oa_status(o->context);
}

enum oa_error oa_compare_observations(struct oa_observations *o, struct oa_comparison *out)
{
    struct observed d = { .from = o };
    enum oa_error e = make_comparison(&d, out);
    oa_free(d.run);
    oa_free(d.column);
    return e;
}
