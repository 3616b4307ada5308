/* SPDX-License-Identifier: Apache-2.0
 * The tables of a page of evidence: predictions with their verdicts, the runs, and their scores.
 */
#include "evidence/pages.h"
#include "evidence/score_findings.h"
#include "report/notes.h"

#include <math.h>
#include <string.h>

/* ---- pieces ---- */

void oa_add_difference(const struct oa_estimate *e, int decimals, struct oa_text *out)
{
    char shown[OA_INTERVAL];
    oa_text_printf(out, "%s", oa_print_plus_minus(shown, e->mean, e->half, decimals));
}

void oa_add_variants(const struct oa_judged *j, const struct oa_finding *f, struct oa_text *out)
{
    const struct oa_experiment *e = j->experiment;
    if (oa_experiment_plain(e))
        return;
    oa_text_printf(out, "%s", e->variants[f->left].name);
    if (f->left != f->right)
        oa_text_printf(out, ", %s", e->variants[f->right].name);
}

struct oa_record_measure oa_finding_measure(const struct oa_judged *j, const struct oa_finding *f)
{
    return oa_record_measure_of(j->record[f->left]);
}

/* Moves the text into the next cell. */
static void evidence_cell(struct oa_table *t, struct oa_text *text)
{
    oa_table_cell(t, "%s", text->s ? text->s : "");
    oa_text_cut(text, 0);
}

/* ---- predictions ---- */

/* What was measured: a difference of scores, a speed, pairs, limits, a share. */
static void add_measured(const struct oa_judged *j, const struct oa_finding *f, struct oa_text *out)
{
    enum oa_relation relation = j->experiment->predictions[f->prediction].relation;
    char a[OA_NUMBER], b[OA_NUMBER], c[OA_NUMBER];
    if (relation == OA_FASTER_THAN) {
        if (isfinite(f->speed.low))
            oa_text_printf(out, "%s times as fast (%s to %s)", oa_number(a, f->speed.value, 3),
                           oa_number(b, f->speed.low, 3), oa_number(c, f->speed.high, 3));
    } else if (relation == OA_SAME_AS) {
        oa_text_printf(out, "pairs: %d alike, %d opposed, %d inconclusive", f->ranking.alike,
                       f->ranking.opposed, f->ranking.open);
    } else if (relation == OA_AS_STABLE_AS) {
        const struct oa_stability *s = &f->stability;
        oa_text_printf(out, "up to %s against %s; of %d seeds %d further, %d less far",
                       oa_number(a, s->left_limit, 3), oa_number(b, s->right_limit, 3), s->seeds,
                       s->left_larger, s->right_larger);
    } else if (relation == OA_KEEPS_AT_LEAST) {
        if (f->share.form == OA_FIELLER_BOUNDED)
            oa_text_printf(out, "keeps %s (%s to %s)", oa_number_fixed(a, f->share.value, 2),
                           oa_number_fixed(b, f->share.low, 2),
                           oa_number_fixed(c, f->share.high, 2));
    } else {
        struct oa_record_measure m = oa_finding_measure(j, f);
        struct oa_estimate shown = oa_against_interval(&f->against);
        oa_add_difference(&shown, m.decimals, out);
        if (isfinite(f->against.difference.mean))
            oa_text_printf(out, "%s%s", *m.unit ? " " : "", m.unit);
    }
}

static void add_finding(const struct oa_judged *j, const struct oa_finding *f, struct oa_table *t,
                        struct oa_text *text)
{
    bool run = f->verdict != OA_CLAIM_NOT_RUN,
         equivalent = f->against.verdict == OA_AGAINST_EQUIVALENT;
    double p = equivalent ? f->against.equivalence : f->against.adjusted;
    char number[OA_NUMBER];
    oa_table_cell(t, "%s", j->experiment->predictions[f->prediction].text);
    oa_add_variants(j, f, text);
    evidence_cell(t, text);
    if (run)
        add_measured(j, f, text);
    evidence_cell(t, text);
    if (run) {
        oa_text_printf(text, "%s", oa_finding_words(j, f));
        if (isfinite(p))
            oa_text_printf(text, ", %sp %s", equivalent ? "equivalence " : "",
                           p < 1e-4 ? "< 0.0001" : oa_number(number, p, 2));
    }
    evidence_cell(t, text);
    oa_table_cell(t, "%s", oa_claim_verdict_words(f->verdict));
}

void oa_evidence_predictions(const struct oa_judged *j, struct oa_text *out)
{
    static const struct oa_column columns[] = {
        { .title = "prediction" }, { .title = "comparison" }, { .title = "difference" },
        { .title = "found" },      { .title = "verdict" },
    };
    struct oa_table t;
    struct oa_text text;
    oa_table_init(&t, out->context, columns, 5);
    oa_text_init(&text, out->context);
    for (int i = 0; i < j->count; i++)
        add_finding(j, &j->findings[i], &t, &text);
    oa_table_markdown(&t, out);
    oa_text_free(&text);
    oa_table_free(&t);
}

/* ---- runs ---- */

static void add_changes(const struct oa_experiment *e, struct oa_text *out)
{
    const json_t *list = json_object_get(e->claim, "variants");
    for (int i = 0; i < e->variant_count; i++) {
        const char *key;
        json_t *value;
        bool some = false;
        oa_text_printf(out, "%s`%s`: ", i ? "; " : "Comparisons: ", e->variants[i].name);
        if (e->variants[i].from >= 0) {
            oa_text_printf(out, "runs start from those of `%s`",
                           e->variants[e->variants[i].from].name);
            some = true;
        }
        json_object_foreach(json_object_get(json_array_get(list, (size_t)i), "set"), key, value)
        {
            struct oa_text text;
            oa_text_init(&text, out->context);
            oa_options_get(out->context, &e->variants[i].options, key, &text);
            for (char *line = text.s; line && (line = strchr(line, '\n'));)
                *line = ',';
            oa_text_printf(out, "%s%s = %s", some ? ", " : "", key, text.s ? text.s : "");
            oa_text_free(&text);
            some = true;
        }
    }
    oa_text_printf(out, ".\n\n");
}

static void add_statistics(const struct oa_options *o, struct oa_text *out)
{
    char margin[OA_NUMBER];
    if (*o->compare_tune)
        oa_text_printf(out, "; tuned for each attention: %s", o->compare_tune);
    else
        oa_text_printf(out, "; train.lr %s", oa_number(margin, o->train_lr, 3));
    if (*o->compare_baseline)
        oa_text_printf(out, "; baseline %s", o->compare_baseline);
    if (o->compare_margin > 0)
        oa_text_printf(out, "; margin %s", oa_number(margin, o->compare_margin, 4));
    oa_text_printf(out, "; the same %s", oa_budget_name(o->compare_equal));
}

void oa_evidence_runs(const struct oa_judged *j, struct oa_text *out)
{
    const struct oa_options *o = &j->experiment->variants[0].options;
    oa_text_printf(
        out,
        "\nRun%s: task %s on `%s`, tokenizer %s; %ld layer%s, width %ld, %ld head%s, context %ld; ",
        oa_experiment_plain(j->experiment) ? "" : " (first comparison)", o->data_task,
        o->data_train, o->data_tokenizer, o->model_layers, oa_plural(o->model_layers),
        o->model_width, o->model_heads, oa_plural(o->model_heads), o->model_context);
    if (o->train_batch_tokens)
        oa_text_printf(out, "%ld steps of %ld tokens per side; ", o->train_steps,
                       o->train_batch_tokens * o->train_accumulate);
    else
        oa_text_printf(out, "%ld steps of %ld rows; ", o->train_steps,
                       o->train_batch * o->train_accumulate);
    oa_text_printf(out, "%ld seeds from %ld on", o->compare_seeds, o->train_seed);
    if (o->compare_until_resolved)
        oa_text_printf(out, ", then more, at most %ld, until all comparisons are resolved",
                       o->compare_max_seeds);
    add_statistics(o, out);
    oa_text_printf(out, ".\n\n");
    if (!oa_experiment_plain(j->experiment))
        add_changes(j->experiment, out);
}

/* ---- scores ---- */

/* "lr=0.003, clip=1" */
static void add_values(const json_t *values, struct oa_text *out)
{
    const char *key;
    json_t *value;
    bool some = false;
    json_object_foreach((json_t *)(uintptr_t)values, key, value)
    {
        const char *point = strchr(key, '.');
        oa_text_printf(out, "%s%s=", some ? ", " : "", point ? point + 1 : key);
        if (json_is_number(value))
            oa_text_real(out, json_number_value(value));
        else
            oa_text_printf(out, "%s", json_string_value(value));
        some = true;
    }
}

/* "lr=0.003", where seeds chose differently "lr=0.003 (4 seeds), lr=0.01 (1 seed)"; nothing where
 * nothing was tuned. */
static void add_tuned(const json_t *entry, struct oa_text *out)
{
    const json_t *tuning = json_object_get(entry, "tuning");
    const json_t *choices = json_object_get(tuning, "choices"); /* older records have none */
    size_t count = json_array_size(choices);
    if (count <= 1)
        add_values(json_object_get(count ? json_array_get(choices, 0) : tuning, "values"), out);
    for (size_t i = 0; count > 1 && i < count; i++) {
        const json_t *choice = json_array_get(choices, i);
        long seeds = (long)json_array_size(json_object_get(choice, "seeds"));
        oa_text_printf(out, "%s", i ? ", " : "");
        add_values(json_object_get(choice, "values"), out);
        oa_text_printf(out, " (%ld seed%s)", seeds, oa_plural(seeds));
    }
    if (json_object_size(json_object_get(tuning, "edges")) > 0)
        oa_text_printf(out, " (the smallest or largest value tried)");
}

static void evidence_add_difference(const json_t *record, int entry, int other, int decimals,
                                    struct oa_text *out)
{
    if (other < 0 || other == entry)
        return;
    struct oa_estimate d = oa_recorded_difference(&(struct oa_recorded){ record, entry },
                                                  &(struct oa_recorded){ record, other });
    if (oa_record_measure_of(record).higher)
        d.mean = -d.mean;
    if (d.n > 0)
        oa_add_difference(&d, decimals, out);
}

static void add_entry(const struct oa_judged *j, int variant, int entry, struct oa_table *t,
                      struct oa_text *text)
{
    const json_t *record = j->record[variant], *baseline = json_object_get(record, "baseline");
    const json_t *e = json_array_get(json_object_get(record, "entries"), (size_t)entry);
    bool uniform = json_is_true(json_object_get(e, "floor"));
    struct oa_record_measure m = oa_record_measure_of(record);
    struct oa_estimate score = oa_record_score(record, entry);
    char number[OA_NUMBER];
    oa_table_cell(t, "%s",
                  oa_experiment_plain(j->experiment) ? "" : j->experiment->variants[variant].name);
    oa_table_cell(
        t, "%s", uniform ? "uniform baseline" : json_string_value(json_object_get(e, "attention")));
    oa_text_printf(text, "%s", oa_number_fixed(number, score.mean, m.decimals));
    if (isfinite(score.half))
        oa_text_printf(text, " ±%s", oa_number_fixed(number, score.half, m.decimals));
    evidence_cell(t, text);
    evidence_add_difference(record, entry,
                            json_is_integer(baseline) ? (int)json_integer_value(baseline) : -1,
                            m.decimals, text);
    evidence_cell(t, text);
    evidence_add_difference(record, entry, oa_record_entry(record, OA_CLAIMED_UNIFORM), m.decimals,
                            text);
    evidence_cell(t, text);
    oa_table_cell(t, "%d", oa_record_runs(record, entry));
    oa_table_cell(t, "%s",
                  oa_number_si(number, json_number_value(json_object_get(e, "trainable"))));
    oa_table_cell(t, "%s", oa_number_si(number, json_number_value(json_object_get(e, "frozen"))));
    add_tuned(e, text);
    evidence_cell(t, text);
}

static void add_machines(const struct oa_judged *j, struct oa_text *out)
{
    const char *last = "";
    for (int v = 0; v < j->experiment->variant_count; v++) {
        const json_t *machine = json_object_get(j->record[v], "machine");
        const char *name = json_string_value(json_object_get(machine, "processor"));
        if (!name || strcmp(name, last) == 0)
            continue;
        oa_text_printf(out, "%s%s, %s", *last ? "; " : "\nOn ", name,
                       json_string_value(json_object_get(machine, "isa")));
        last = name;
    }
    oa_text_printf(out, "%s", *last ? ".\n" : "");
}

static bool same_measure(const struct oa_judged *j, int a, int b)
{
    if (!j->record[a] || !j->record[b])
        return false;
    struct oa_record_measure x = oa_record_measure_of(j->record[a]),
                             y = oa_record_measure_of(j->record[b]);
    return strcmp(x.name, y.name) == 0 && strcmp(x.unit, y.unit) == 0;
}

static bool first_with_measure(const struct oa_judged *j, int variant)
{
    for (int v = 0; v < variant; v++)
        if (same_measure(j, v, variant))
            return false;
    return j->record[variant] != NULL;
}

/* "`one`, `two`: accuracy, differences in % points, higher is better"; comparisons are named where
 * they differ in it. */
static void add_measure(const struct oa_judged *j, int variant, bool several, struct oa_text *out)
{
    struct oa_record_measure m = oa_record_measure_of(j->record[variant]);
    for (int v = variant; several && v < j->experiment->variant_count; v++)
        if (same_measure(j, v, variant))
            oa_text_printf(out, "%s`%s`", v > variant ? ", " : "", j->experiment->variants[v].name);
    oa_text_printf(out, "%s%s%s%s, %s is better; ", several ? ": " : "", m.name,
                   *m.unit ? ", differences in " : "", m.unit, m.higher ? "higher" : "lower");
}

/* The measures that the comparisons rank by. */
static void add_measures(const struct oa_judged *j, struct oa_text *out)
{
    int measures = 0;
    for (int v = 0; v < j->experiment->variant_count; v++)
        measures += first_with_measure(j, v);
    oa_text_printf(out, "%s", measures ? "Scores: " : "");
    for (int v = 0; v < j->experiment->variant_count; v++)
        if (first_with_measure(j, v))
            add_measure(j, v, measures > 1, out);
    oa_text_printf(out, "%s",
                   measures
                       ? "±: half-width of the 95 % interval over the seeds, of each number "
                         "alone; the predictions above are judged by wider, simultaneous ones.\n\n"
                       : "");
}

void oa_evidence_numbers(const struct oa_judged *j, struct oa_text *out)
{
    static const struct oa_column columns[] = {
        { .title = "comparison" },
        { .title = "attention" },
        { .title = "score", .right = true },
        { .title = "against the baseline", .right = true },
        { .title = "against the uniform baseline", .right = true },
        { .title = "seeds", .right = true },
        { .title = "trained params", .right = true },
        { .title = "frozen", .right = true },
        { .title = "tuned" },
    };
    struct oa_table t;
    struct oa_text text;
    add_measures(j, out);
    oa_table_init(&t, out->context, columns, 9);
    oa_text_init(&text, out->context);
    for (int v = 0; v < j->experiment->variant_count; v++) {
        const json_t *order = json_object_get(j->record[v], "order");
        for (size_t i = 0; i < json_array_size(order); i++)
            add_entry(j, v, (int)json_integer_value(json_array_get(order, i)), &t, &text);
    }
    oa_table_markdown(&t, out);
    add_machines(j, out);
    oa_text_free(&text);
    oa_table_free(&t);
}
