/* SPDX-License-Identifier: Apache-2.0
 * Sources of variance (Bouthillier et al. 2021, arXiv 2103.03098): in addition to the runs of a
 * comparison, whose seeds vary initial values, batch order and dropout together, runs in which one
 * source alone has another seed than in the first run. They are in vary/attention-NN/SOURCE-SEED,
 * are resumed like all others, and enter no verdict. The uniform baseline is not varied. */
#include "compare/comparison_session.h"

#include <math.h>
#include <string.h>

/* ---- sources ---- */

static enum oa_error choose_source(struct comparison_session *t, const char *at, size_t length)
{
    bool *varied = t->out->vary.varied;
    int s = 0;
    while (s < OA_CHANCES &&
           (strlen(oa_chance_name(s)) != length || memcmp(oa_chance_name(s), at, length) != 0))
        s++;
    if (s == OA_CHANCES)
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.vary: unknown source \"%.*s\": give init, order, dropout or split, "
                       "several of them with commas, each for all of them, or together for none "
                       "alone",
                       (int)(length < 40 ? length : 40), at);
    if (varied[s])
        return oa_fail(t->c, OA_ARGUMENT, "compare.vary = %s names %s twice",
                       t->r->options->compare_vary, oa_chance_name(s));
    varied[s] = true;
    return OA_OK;
}

static enum oa_error choose_sources(struct comparison_session *t, const char *text)
{
    for (const char *at = text;; at++) {
        at += strspn(at, " ");
        size_t length = strcspn(at, ","), word = length;
        while (word > 0 && at[word - 1] == ' ')
            word--;
        OA_TRY(choose_source(t, at, word));
        at += length;
        if (!*at)
            return OA_OK;
    }
}

static enum oa_error check_variable(const struct comparison_session *t)
{
    const struct oa_options *o = t->r->options;
    if (oa_comparison_by_time(t))
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.vary = %s cannot be combined with --equal time, where the clock is "
                       "a source of spread that cannot be fixed",
                       o->compare_vary);
    if (t->out->vary.varied[OA_CHANCE_SPLIT] && *o->data_valid)
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.vary = %s: data.valid names the validation text, so the split "
                       "cannot vary; give init,order,dropout",
                       o->compare_vary);
    return OA_OK;
}

enum oa_error oa_comparison_vary_read(struct comparison_session *t)
{
    const struct oa_options *o = t->r->options;
    struct oa_vary *v = &t->out->vary;
    struct oa_options plain;
    if (strcmp(o->compare_vary, "together") == 0) {
        oa_options_default(&plain);
        if (o->compare_vary_seeds == plain.compare_vary_seeds)
            return OA_OK;
        return oa_fail(t->c, OA_ARGUMENT,
                       "compare.vary_seeds = %ld has no effect with compare.vary = together",
                       o->compare_vary_seeds);
    }
    if (strcmp(o->compare_vary, "each") == 0)
        for (int s = 0; s < OA_CHANCES; s++)
            v->varied[s] = true;
    else
        OA_TRY(choose_sources(t, o->compare_vary));
    OA_TRY(check_variable(t));
    /* A source without effect has no spread and needs no runs. Tuning may give an attention dropout
     * of its own. */
    if (v->varied[OA_CHANCE_DROPOUT] && o->model_dropout == 0 && o->model_attention_dropout == 0 &&
        !*o->compare_tune) {
        v->varied[OA_CHANCE_DROPOUT] = false;
        v->idle[OA_CHANCE_DROPOUT] = true;
    }
    v->values = (int)o->compare_vary_seeds;
    return OA_OK;
}

/* ---- the runs ---- */

/* The runs of one source that share a text: (value, entry) pairs in this order. */
struct vary_batch {
    struct comparison_session *t;
    enum oa_chance source;
    const struct oa_workload *workload;
    int first, values;      /* numbers of values: first … first + values - 1 */
    long before;            /* runs before these, for progress lines */
    struct oa_varied **out; /* where the score of each goes */
};

static long count_varied_runs(const struct comparison_session *t)
{
    long sources = 0;
    for (int s = 0; s < OA_CHANCES; s++)
        sources += t->out->vary.varied[s];
    return sources * oa_comparison_attention_count(t) * (t->out->vary.values - 1);
}

static uint64_t varied_seed(const struct comparison_session *t, enum oa_chance source, int value)
{
    return oa_chance_seed(t->r->options, source) + (uint64_t)value;
}

static enum oa_error fill_varied_specs(const struct vary_batch *b, struct oa_run_spec *specs)
{
    struct comparison_session *t = b->t;
    long n = 0;
    for (int value = b->first; value < b->first + b->values; value++)
        for (int entry = 0; entry < t->out->count; entry++) {
            if (t->out->entries[entry].uniform)
                continue;
            char folder[96];
            struct oa_options o = oa_comparison_options(t, entry, 0);
            uint64_t seed = varied_seed(t, b->source, value);
            snprintf(folder, sizeof folder, "vary/attention-%02d/%s-%llu", t->place[entry] + 1,
                     oa_chance_name(b->source), (unsigned long long)seed);
            OA_TRY(oa_comparison_spec(t, entry, &o, b->workload, folder, &specs[n]));
            oa_chance_set(&specs[n].options, b->source, seed);
            specs[n].number = b->before + n + 1;
            specs[n].count = count_varied_runs(t);
            b->out[n++] = &oa_varied_of(&t->out->vary, entry, b->source)[value];
        }
    return OA_OK;
}

static enum oa_error varied_ended(void *argument, long number, struct oa_run *run)
{
    const struct vary_batch *b = argument;
    b->out[number]->score = run->failed ? (double)NAN : oa_run_score(b->t->out, run);
    oa_run_free(run);
    return OA_OK;
}

static enum oa_error train_vary_batch(struct vary_batch *b)
{
    struct comparison_session *t = b->t;
    long count = oa_comparison_attention_count(t) * b->values;
    struct oa_run_spec *specs = oa_alloc(t->c, (size_t)count * sizeof *specs);
    b->out = oa_alloc(t->c, (size_t)count * sizeof *b->out);
    enum oa_error e = specs && b->out ? fill_varied_specs(b, specs) : OA_NO_MEMORY;
    if (e == OA_OK)
        e = oa_comparison_train(t, specs, count, &t->here, varied_ended, b);
    oa_free(b->out);
    oa_free(specs);
    return e;
}

/* Each split is another text: one is open at a time, all with the same tokenizer. */
static enum oa_error train_split(struct vary_batch *b)
{
    struct oa_options o = b->t->asked;
    struct oa_workload work;
    oa_chance_set(&o, OA_CHANCE_SPLIT, varied_seed(b->t, OA_CHANCE_SPLIT, b->first));
    OA_TRY(oa_workload_open(b->t->c, &o, &work));
    b->workload = &work;
    enum oa_error e = train_vary_batch(b);
    oa_workload_close(&work);
    return e;
}

static enum oa_error train_varied_source(struct comparison_session *t, enum oa_chance source,
                                         long before)
{
    int others = t->out->vary.values - 1;
    struct vary_batch b = { .t = t,
                            .source = source,
                            .workload = &t->workload,
                            .first = 1,
                            .values = others,
                            .before = before };
    if (source != OA_CHANCE_SPLIT)
        return train_vary_batch(&b);
    b.values = 1;
    for (; b.first <= others; b.first++, b.before += oa_comparison_attention_count(t))
        OA_TRY(train_split(&b));
    return OA_OK;
}

void oa_comparison_vary_expect(struct comparison_session *t)
{
    struct oa_options o = { .train_steps = t->steps[0] };
    if (t->out->vary.values)
        oa_overall_expect(&t->overall, count_varied_runs(t), oa_overall_weight(&t->overall, &o));
}

/* Seeds, and the score of the first run, which all sources share. */
static enum oa_error open_varied_runs(struct comparison_session *t)
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
                    (struct oa_varied){ varied_seed(t, s, k),
                                        known ? oa_run_score(t->out, first) : (double)NAN };
            }
    return OA_OK;
}

enum oa_error oa_comparison_vary(struct comparison_session *t)
{
    long before = 0;
    if (!t->out->vary.values)
        return OA_OK;
    OA_TRY(open_varied_runs(t));
    for (int s = 0; s < OA_CHANCES; s++) {
        if (!t->out->vary.varied[s])
            continue;
        OA_TRY(train_varied_source(t, s, before));
        before += oa_comparison_attention_count(t) * (t->out->vary.values - 1);
    }
    return OA_OK;
}
