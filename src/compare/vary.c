/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/vary.h"

#include "compare/jobs.h"

#include <math.h>
#include <string.h>

/* ---- what varies ---- */

static bool name_is(const char *name, const char *at, size_t length)
{
    return strlen(name) == length && memcmp(name, at, length) == 0;
}

static enum oa_error choose_word(struct comparison *t, const char *at, size_t length)
{
    for (int s = 0; s < OA_CHANCES; s++)
        if (name_is(oa_chance_name(s), at, length)) {
            if (t->out->vary.varied[s])
                return oa_fail(t->c, OA_ARGUMENT, "compare.vary = %s names %s twice",
                               t->r->options->compare_vary, oa_chance_name(s));
            t->out->vary.varied[s] = true;
            return OA_OK;
        }
    return oa_fail(t->c, OA_ARGUMENT,
                   "compare.vary: \"%.*s\" is no source of chance; give init, order, dropout, "
                   "split, several of them "
                   "with commas between, each for all of them, or together for none alone",
                   (int)(length < 40 ? length : 40), at);
}

static enum oa_error choose_words(struct comparison *t, const char *text)
{
    for (const char *at = text;; at++) {
        at += strspn(at, " ");
        size_t length = strcspn(at, ","), word = length;
        while (word > 0 && at[word - 1] == ' ')
            word--;
        OA_TRY(choose_word(t, at, word));
        at += length;
        if (!*at)
            return OA_OK;
    }
}

static enum oa_error check(struct comparison *t)
{
    const struct oa_options *o = t->r->options;
    if (oa_comparison_by_time(t))
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.vary = %s: with --equal time the clock is a source of spread too, "
                       "and cannot be held; "
                       "choose another --equal",
                       o->compare_vary);
    if (t->out->vary.varied[OA_CHANCE_SPLIT] && *o->data_valid)
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.vary = %s: data.valid names the validation text, so that no split "
                       "can vary; name the "
                       "others: init,order,dropout",
                       o->compare_vary);
    return OA_OK;
}

/* A source without effect has no spread: that needs no runs. Tuning may give an attention dropout
 * of its own. */
static void find_idle(struct comparison *t)
{
    const struct oa_options *o = t->r->options;
    struct oa_vary *v = &t->out->vary;
    if (v->varied[OA_CHANCE_DROPOUT] && o->model_dropout == 0 && o->model_attention_dropout == 0 &&
        !*o->compare_tune) {
        v->varied[OA_CHANCE_DROPOUT] = false;
        v->idle[OA_CHANCE_DROPOUT] = true;
    }
}

static enum oa_error check_values(struct comparison *t)
{
    struct oa_options plain;
    oa_options_default(&plain);
    if (t->r->options->compare_vary_seeds != plain.compare_vary_seeds)
        return oa_fail(
            t->c, OA_ARGUMENT,
            "compare.vary_seeds = %ld does nothing: compare.vary says that nothing varies alone",
            t->r->options->compare_vary_seeds);
    return OA_OK;
}

enum oa_error oa_vary_choose(struct comparison *t)
{
    const char *text = t->r->options->compare_vary;
    struct oa_vary *v = &t->out->vary;
    if (strcmp(text, "together") == 0)
        return check_values(t);
    if (strcmp(text, "each") == 0)
        for (int s = 0; s < OA_CHANCES; s++)
            v->varied[s] = true;
    else
        OA_TRY(choose_words(t, text));
    OA_TRY(check(t));
    find_idle(t);
    v->values = (int)t->r->options->compare_vary_seeds;
    return OA_OK;
}

/* ---- the runs ---- */

/* The runs of one source that share a text: (value, entry) pairs in this order. */
struct batch {
    enum oa_chance source;
    const struct oa_workload *workload;
    int first, values; /* numbers of values: first … first + values - 1 */
    long before;       /* runs before these, for progress lines */
};

static long runs_in_all(const struct comparison *t)
{
    long sources = 0;
    for (int s = 0; s < OA_CHANCES; s++)
        sources += t->out->vary.varied[s];
    return sources * oa_comparison_contenders(t) * (t->out->vary.values - 1);
}

static uint64_t seed_of(const struct comparison *t, enum oa_chance source, int value)
{
    return oa_chance_seed(t->r->options, source) + (uint64_t)value;
}

static enum oa_error order_of(struct comparison *t, const struct batch *b, int entry, int value,
                              struct oa_run_order *out)
{
    const struct oa_entry *e = &t->out->entries[entry];
    uint64_t seed = seed_of(t, b->source, value);
    char name[96];
    *out = (struct oa_run_order){ .options = oa_comparison_options(t, entry, 0),
                                  .workload = b->workload,
                                  .title = oa_entry_name(e),
                                  .trainable = e->trainable,
                                  .frozen = e->frozen,
                                  .count = runs_in_all(t) };
    out->parent = oa_comparison_parent(t, entry, out->options.train_seed);
    oa_chance_set(&out->options, b->source, seed);
    snprintf(name, sizeof name, "vary/attention-%02d/%s-%llu", t->place[entry] + 1,
             oa_chance_name(b->source), (unsigned long long)seed);
    return oa_path(t->c, out->folder, t->r->folder, name);
}

static struct oa_varied *slot_of(struct comparison *t, const struct batch *b, long number)
{
    long entries = oa_comparison_contenders(t);
    int entry = 0, left = (int)(number % entries), value = b->first + (int)(number / entries);
    while (t->out->entries[entry].floor || left-- > 0)
        entry++;
    return &oa_varied_of(&t->out->vary, entry, b->source)[value];
}

static enum oa_error make_orders(struct comparison *t, const struct batch *b,
                                 struct oa_run_order *orders)
{
    long n = 0;
    for (int value = b->first; value < b->first + b->values; value++)
        for (int entry = 0; entry < t->out->count; entry++) {
            if (t->out->entries[entry].floor)
                continue;
            OA_TRY(order_of(t, b, entry, value, &orders[n]));
            orders[n].number = b->before + n + 1;
            n++;
        }
    return OA_OK;
}

/* What is told about the runs of a batch while they are made side by side. */
struct making {
    struct comparison *t;
    const struct batch *batch;
};

static enum oa_error ended(void *argument, long order, struct oa_run *run)
{
    const struct making *m = argument;
    slot_of(m->t, m->batch, order)->score =
        run->failed ? (double)NAN : oa_run_score(m->t->out, run);
    oa_run_free(run);
    return OA_OK;
}

static enum oa_error carry_out(struct comparison *t, const struct batch *b,
                               struct oa_run_order *orders, long count)
{
    int jobs;
    struct making m = { t, b };
    struct oa_jobs j = { .orders = orders,
                         .count = count,
                         .place = &t->here,
                         .overall = &t->overall,
                         .cluster = t->r->cluster,
                         .ended = ended,
                         .argument = &m };
    OA_TRY(make_orders(t, b, orders));
    OA_TRY(oa_jobs_choose(t->c, &j, t->r->options->compare_jobs, &jobs));
    return oa_jobs_carry_out(t->c, &j, jobs);
}

static enum oa_error run_batch(struct comparison *t, const struct batch *b)
{
    long count = oa_comparison_contenders(t) * b->values;
    struct oa_run_order *orders = oa_alloc(t->c, (size_t)count * sizeof *orders);
    enum oa_error e = orders ? carry_out(t, b, orders, count) : OA_NO_MEMORY;
    oa_free(orders);
    return e;
}

/* Another split is another text: one is open at a time, with the tokenizer of them all. */
static enum oa_error run_split(struct comparison *t, struct batch *b)
{
    struct oa_options o = t->asked;
    struct oa_workload work;
    oa_chance_set(&o, OA_CHANCE_SPLIT, seed_of(t, OA_CHANCE_SPLIT, b->first));
    OA_TRY(oa_workload_open(t->c, &o, &work));
    b->workload = &work;
    enum oa_error e = run_batch(t, b);
    oa_workload_close(&work);
    return e;
}

static enum oa_error run_source(struct comparison *t, enum oa_chance source, long before)
{
    int others = t->out->vary.values - 1;
    struct batch b = {
        .source = source, .workload = &t->workload, .first = 1, .values = others, .before = before
    };
    if (source != OA_CHANCE_SPLIT)
        return run_batch(t, &b);
    b.values = 1;
    for (; b.first <= others; b.first++, b.before += oa_comparison_contenders(t))
        OA_TRY(run_split(t, &b));
    return OA_OK;
}

void oa_vary_expect(struct comparison *t)
{
    struct oa_options o = { .train_steps = t->steps[0] };
    if (t->out->vary.values)
        oa_overall_expect(&t->overall, runs_in_all(t), oa_overall_weight(&t->overall, &o));
}

/* Seeds, and the first run, which all sources share. */
static enum oa_error prepare(struct comparison *t)
{
    struct oa_vary *v = &t->out->vary;
    v->runs =
        oa_alloc(t->c, (size_t)t->out->count * OA_CHANCES * (size_t)v->values * sizeof *v->runs);
    if (!v->runs)
        return OA_NO_MEMORY;
    for (int i = 0; i < t->out->count; i++)
        for (int s = 0; s < OA_CHANCES; s++)
            for (int k = 0; k < v->values; k++) {
                const struct oa_run *first = &t->out->entries[i].runs[0];
                bool known = k == 0 && !first->failed;
                oa_varied_of(v, i, s)[k] =
                    (struct oa_varied){ seed_of(t, s, k),
                                        known ? oa_run_score(t->out, first) : (double)NAN };
            }
    return OA_OK;
}

enum oa_error oa_comparison_vary(struct comparison *t)
{
    long before = 0;
    if (!t->out->vary.values)
        return OA_OK;
    OA_TRY(prepare(t));
    for (int s = 0; s < OA_CHANCES; s++) {
        if (!t->out->vary.varied[s])
            continue;
        OA_TRY(run_source(t, s, before));
        before += oa_comparison_contenders(t) * (t->out->vary.values - 1);
    }
    return OA_OK;
}
