/* SPDX-License-Identifier: Apache-2.0
 * The columns of a comparison's tables: which there are, what they show, and as text. */
#include "report/columns.h"

#include "report/adjusted.h"
#include "report/notes.h"
#include "report/page.h"
#include "report/retained.h"
#include "report/tuning.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static char *print_four_digits(char *out, double x)
{
    return oa_number(out, x, 4);
}

static char *print_milliseconds(char *out, double seconds)
{
    return oa_number(out, 1e3 * seconds, 3);
}

const struct oa_report_column oa_report_columns[OA_COLUMNS] = {
#define COLUMN(name, kind, title, unit, explanation, print)                                        \
    [OA_COLUMN_##name] = { OA_KIND_##kind, title, unit, explanation, NULL, print, 0, 0 },
#define QUANTITY(name, field, title, unit, explanation, print)                                     \
    [OA_COLUMN_##name] = { OA_KIND_NUMBER,                                                         \
                           title,                                                                  \
                           unit,                                                                   \
                           explanation,                                                            \
                           #field,                                                                 \
                           print,                                                                  \
                           offsetof(struct oa_run, field),                                         \
                           offsetof(struct oa_standing, field) },
#include "report/columns.def"
#undef COLUMN
#undef QUANTITY
};

double oa_quantity_of_run(enum oa_column_name quantity, const struct oa_run *r)
{
    if (quantity == OA_COLUMN_STEPS) /* a long */
        return (double)r->steps;
    return *(const double *)((const char *)r + oa_report_columns[quantity].in_run);
}

double *oa_quantity_mean(enum oa_column_name quantity, struct oa_standing *e)
{
    return (double *)((char *)e + oa_report_columns[quantity].in_standing);
}

/* ---- which ---- */

static bool column_applies(const struct oa_comparison *k, const struct oa_summary *s,
                           enum oa_column_name name)
{
    switch ((int)name) {
    case OA_COLUMN_NONE:
        return false;
    case OA_COLUMN_OWN_SCORE:
        return s->uneven;
    case OA_COLUMN_UNEVEN_SEEDS:
        return oa_fewest_seeds(s, true) < s->seeds;
    case OA_COLUMN_PERPLEXITY:
    case OA_COLUMN_BITS:
        return oa_about_loss(k);
    case OA_COLUMN_ASKED_P:
        return !k->sequential && s->seeds >= OA_VERDICT_SEEDS;
    case OA_COLUMN_TO_BEST:
        return oa_family_kind_of(k) != OA_FAMILY_PAIRS;
    case OA_COLUMN_BASELINE:
        return k->baseline > 0 && oa_family_kind_of(k) != OA_FAMILY_BASELINE;
    case OA_COLUMN_UNIFORM:
        return s->uniform >= 0 && oa_family_kind_of(k) != OA_FAMILY_UNIFORM;
    case OA_COLUMN_RETAINED:
        return oa_retained_any(k, s);
    case OA_COLUMN_TUNED:
        return k->tuning.grid.options > 0;
    case OA_COLUMN_SPEEDUP:
        return k->rounds > 0;
    case OA_COLUMN_TRAINABLE:
    case OA_COLUMN_PEAK_MEMORY:
    case OA_COLUMN_TOKENS_PER_SECOND:
        return !k->imported; /* nothing is known of these */
    default:
        return true;
    }
}

static void choose_column(const struct oa_comparison *k, const struct oa_summary *s,
                          enum oa_column_name name, int measure, struct oa_shown_column *out)
{
    const struct oa_measure *m =
        name == OA_COLUMN_MEASURE ? oa_comparison_measure(k, measure) : oa_compared_measure(k);
    *out =
        (struct oa_shown_column){ name, &oa_report_columns[name], measure, m->decimals, false, "" };
    const char *title = out->column->title;
    if (name == OA_COLUMN_SCORE)
        oa_heading(m, oa_metric_word(k), out->title);
    else if (name == OA_COLUMN_MEASURE)
        oa_heading(m, m->title, out->title);
    else if (name == OA_COLUMN_SEEDS || name == OA_COLUMN_UNEVEN_SEEDS)
        snprintf(out->title, sizeof out->title, "%ss", oa_run_kind(k));
    else if (name == OA_COLUMN_TO_BEST)
        oa_to_the_best(k, s, out->title);
    else if (name == OA_COLUMN_ASKED)
        oa_to_the_compared(k, s, out->title);
    else
        snprintf(out->title, sizeof out->title, "%s", title);
}

int oa_columns_choose(const struct oa_comparison *k, const struct oa_summary *s,
                      const unsigned char *names, size_t count,
                      struct oa_shown_column out[OA_MOST_COLUMNS])
{
    int n = 0;
    for (size_t i = 0; i < count; i++) {
        if (names[i] != OA_COLUMN_MEASURE && column_applies(k, s, names[i]))
            choose_column(k, s, names[i], 0, &out[n++]);
        for (int m = 0; names[i] == OA_COLUMN_MEASURE && oa_comparison_measure(k, m); m++)
            if (m != k->metric)
                choose_column(k, s, names[i], m, &out[n++]);
    }
    return n;
}

const char oa_not_significant[] = "n.s.";

void oa_column_make_brief(struct oa_shown_column *column)
{
    static const char *const titles[OA_COLUMNS] = {
        [OA_COLUMN_TRAINABLE] = "trained\nparams",
        [OA_COLUMN_TOKENS] = "training\ntokens",
        [OA_COLUMN_PROCESSOR_SECONDS] = "CPU\ntime",
        [OA_COLUMN_TOKENS_PER_SECOND] = "tokens\n/s",
        [OA_COLUMN_SPEEDUP] = "speedup over\nfirst given",
    };
    column->brief = true;
    if (titles[column->name])
        snprintf(column->title, sizeof column->title, "%s", titles[column->name]);
}

/* ---- values ---- */

/* NaN where scores are in percent: a percentage of these would be ambiguous. */
static double shown_percent(const struct oa_comparison *k, const struct oa_summary *s, int entry)
{
    return strcmp(oa_compared_measure(k)->unit, "%") == 0 ? (double)NAN
                                                          : oa_percent_to_reference(s, entry);
}

static void set_asked(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                      enum oa_column_name name, struct oa_column_value *out)
{
    struct oa_asked a;
    oa_asked_of(k, s, entry, &a, out->words.context);
    out->number = a.difference;
    out->itself = a.itself;
    if (name == OA_COLUMN_ASKED_P)
        out->number.mean = a.p;
    if (name == OA_COLUMN_ASKED && oa_family_kind_of(k) == OA_FAMILY_PAIRS)
        out->percent = shown_percent(k, s, entry);
    out->style = a.style;
    if (name == OA_COLUMN_ASKED_VERDICT)
        out->words = a.verdict;
    else
        oa_text_free(&a.verdict);
}

/* The number alone. */
static void describe_difference(const struct oa_comparison *k, struct oa_estimate cost, bool itself,
                                struct oa_column_value *out)
{
    out->number = oa_shown(k, cost);
    out->number.half = NAN;
    out->itself = itself;
}

/* By definition 1 for the baseline of the shares, and 0 for the uniform baseline. */
static void set_retained_value(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                               struct oa_column_value *out)
{
    char ends[OA_INTERVAL];
    struct oa_retained r = oa_retained_of(k, s, entry);
    bool whole = entry == oa_retained_whole(k, s), known = whole || entry == s->uniform;
    if (known || oa_retained_shown(&r))
        out->number.mean = known ? whole : r.share.value;
    if (!known && r.state == OA_RETAINED_BOUNDED)
        oa_text_printf(&out->words, "%s", oa_retained_ends(ends, &r));
}

void oa_column_value_of(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                        const struct oa_shown_column *column, oa_context *c,
                        struct oa_column_value *out)
{
    struct oa_standing *e = &s->entries[entry];
    const struct oa_estimate *own = oa_standing_score(k, e);
    *out = (struct oa_column_value){ .number = oa_estimate_of(NULL, 0), .percent = NAN };
    oa_text_init(&out->words, c);
    switch ((int)column->name) {
    case OA_COLUMN_SCORE:
        out->number = oa_shown_score(k, e);
        break;
    case OA_COLUMN_OWN_SCORE:
        out->number = *own;
        break;
    case OA_COLUMN_OWN_SCORE_BELOW:
        if (!e->plain)
            out->number = *own;
        break;
    case OA_COLUMN_OWN_SEEDS:
        if (!e->plain)
            oa_text_printf(&out->words, "over its %d seed%s", own->n, oa_plural(own->n));
        break;
    case OA_COLUMN_PERPLEXITY:
        out->number.mean = oa_shown_perplexity(e);
        break;
    case OA_COLUMN_BITS:
        out->number.mean = oa_shown_bits(e);
        break;
    case OA_COLUMN_MEASURE:
        out->number = *oa_standing_measured(e, column->measure);
        break;
    case OA_COLUMN_ASKED:
    case OA_COLUMN_ASKED_VERDICT:
    case OA_COLUMN_ASKED_P:
        set_asked(k, s, entry, column->name, out);
        break;
    case OA_COLUMN_TO_BEST:
        describe_difference(k, oa_to_reference(k, s, entry), entry == s->reference, out);
        out->percent = shown_percent(k, s, entry);
        break;
    case OA_COLUMN_BASELINE:
        describe_difference(k, oa_compared_pair(s, entry, k->baseline - 1)->difference,
                            entry == k->baseline - 1, out);
        break;
    case OA_COLUMN_UNIFORM:
        describe_difference(k, oa_compared_pair(s, entry, s->uniform)->difference,
                            entry == s->uniform, out);
        break;
    case OA_COLUMN_RETAINED:
        set_retained_value(k, s, entry, out);
        break;
    case OA_COLUMN_SEEDS:
    case OA_COLUMN_UNEVEN_SEEDS:
        out->number.mean = e->made;
        break;
    case OA_COLUMN_SEEDS_NEEDED:
        if (e->seeds_range.low) {
            oa_seeds_text(e->seeds_range, &out->words);
            oa_text_printf(&out->words, " needed");
        }
        break;
    case OA_COLUMN_TUNED:
        oa_tuned_values(k, entry, &out->words);
        break;
    case OA_COLUMN_TRAINABLE:
        out->number.mean = k->entries[entry].trainable;
        break;
    case OA_COLUMN_FROZEN:
        out->number.mean = k->entries[entry].frozen;
        break;
    case OA_COLUMN_SPEEDUP:
        out->ratio = e->speed;
        break;
    default:
        out->number.mean = *oa_quantity_mean(column->name, e);
    }
}

bool oa_column_is_text(const struct oa_shown_column *column)
{
    return column->column->kind == OA_KIND_WORDS || column->column->kind == OA_KIND_VERDICT;
}

/* ---- as text ---- */

static void add_column_text(const struct oa_shown_column *column, const struct oa_column_value *v,
                            struct oa_table *t)
{
    char number[OA_INTERVAL], low[OA_NUMBER], high[OA_NUMBER];
    int decimals = column->decimals;
    double x = v->number.mean;
    char uniform[OA_VERDICT];
    const char *words = v->words.s;
    if (column->brief && words &&
        strcmp(words, oa_against_words(OA_AGAINST_UNRESOLVED, false)) == 0)
        words = oa_not_significant;
    else if (column->brief && words &&
             strcmp(words, oa_verdict_words(NULL, OA_VERDICT_UNIFORM, uniform)) == 0)
        words = "–";
    switch (column->column->kind) {
    case OA_KIND_WORDS:
    case OA_KIND_VERDICT:
        oa_table_cell(t, "%s", words ? words : "");
        break;
    case OA_KIND_NUMBER:
        oa_table_cell(t, "%s", column->column->print(number, x));
        break;
    case OA_KIND_SCORE:
        oa_number_fixed(number, x, decimals);
        if (isfinite(x) && isfinite(v->number.half))
            oa_table_cell(t, "%s ±%s", number, oa_number_fixed(low, v->number.half, decimals));
        else
            oa_table_cell(t, "%s", number);
        break;
    case OA_KIND_DIFFERENCE:
        oa_print_plus_minus(number, v->itself ? (double)NAN : x, v->number.half, decimals);
        oa_table_cell(t, words ? "%s %s" : "%s", number, words);
        break;
    case OA_KIND_SHARE:
        oa_table_cell(t, words ? "%s %s" : "%s", oa_number_fixed(number, x, 2), words);
        break;
    case OA_KIND_P:
        oa_table_cell(t, isnan(x) ? "–" : x < 0.0001 ? "<1e-4" : "%.4f", x);
        break;
    case OA_KIND_RATIO:
        oa_number(number, v->ratio.value, 3);
        if (v->ratio.low < v->ratio.high)
            oa_table_cell(t, "%s [%s, %s]", number, oa_number(low, v->ratio.low, 3),
                          oa_number(high, v->ratio.high, 3));
        else
            oa_table_cell(t, "%s", number);
        break;
    }
}

void oa_columns_table(const struct oa_comparison *k, const struct oa_summary *s,
                      const struct oa_shown_column *shown, int count, struct oa_column *titles,
                      oa_context *c, struct oa_table *out)
{
    titles[0] = (struct oa_column){ oa_entry_kind(k), false, true };
    for (int i = 0; i < count; i++) {
        titles[i + 1] = (struct oa_column){ shown[i].title, !oa_column_is_text(&shown[i]), false };
    }
    oa_table_init(out, c, titles, count + 1);
    for (int o = 0; o < s->count; o++) {
        oa_table_cell(out, "%s", oa_entry_name(&k->entries[s->order[o]]));
        for (int i = 0; i < count; i++) {
            struct oa_column_value v;
            oa_column_value_of(k, s, s->order[o], &shown[i], c, &v);
            add_column_text(&shown[i], &v, out);
            oa_text_free(&v.words);
        }
    }
}
