/* SPDX-License-Identifier: Apache-2.0
 * The charts of an experiment: the differences that were predicted, and scores over the variants.
 */
#include "evidence/pages.h"

#include <math.h>
#include <string.h>

/* ---- differences ---- */

/* Of a row: the left attention, which is shortened where it is long; the rest of the prediction. */
struct texts {
    struct oa_text name, note;
};

static void fill_span(const struct oa_judged *j, const struct oa_finding *f, struct texts *t,
                      struct oa_span *out)
{
    const struct oa_prediction *p = &j->experiment->predictions[f->prediction];
    struct oa_record_measure m = oa_finding_measure(j, f);
    oa_text_printf(&t->name, "%s", p->left.attention);
    if (!oa_experiment_plain(j->experiment)) {
        oa_text_printf(&t->note, "@ ");
        oa_add_variants(j, f, &t->note);
        oa_text_printf(&t->note, ": ");
    }
    oa_text_printf(&t->note, "%s %s  ", oa_relation_words(p->relation), p->right.attention);
    struct oa_estimate shown = oa_against_interval(&f->against);
    oa_add_difference(&shown, m.decimals, &t->note);
    *out = (struct oa_span){ .name = t->name.s,
                             .note = t->note.s,
                             .verdict = oa_claim_verdict_words(f->verdict),
                             .mean = f->against.difference.mean,
                             .low = f->against.difference.mean - shown.half,
                             .high = f->against.difference.mean + shown.half,
                             .color = f->prediction };
}

/* Findings with a difference in the measure of the first one: an axis has one unit. */
static bool finding_drawable(const struct oa_judged *j, const struct oa_finding *f,
                             const struct oa_finding *first)
{
    return f->verdict != OA_CLAIM_NOT_RUN && isfinite(f->against.difference.mean) &&
           (!first ||
            strcmp(oa_finding_measure(j, f).name, oa_finding_measure(j, first).name) == 0);
}

static void draw_intervals(const struct oa_judged *j, struct oa_span *spans, struct texts *texts,
                           struct oa_text *out)
{
    const struct oa_finding *first = NULL;
    char axis[160];
    int n = 0;
    for (const struct oa_finding *f = j->findings; f < j->findings + j->count; f++) {
        oa_text_init(&texts[n].name, out->context);
        oa_text_init(&texts[n].note, out->context);
        if (!finding_drawable(j, f, first))
            continue;
        first = first ? first : f;
        fill_span(j, f, &texts[n], &spans[n]);
        n++;
    }
    if (n > 0) {
        struct oa_record_measure m = oa_finding_measure(j, first);
        snprintf(axis, sizeof axis, "%sdifference of %s%s%s, left of the prediction minus right%s",
                 m.higher ? "worse  ← " : "", m.name, *m.unit ? ", " : "", m.unit,
                 m.higher ? "" : " →  worse");
        oa_svg_intervals(
            &(struct oa_interval_chart){ .title = oa_claim_text(j->experiment, "title"),
                                         .description =
                                             "Differences with the intervals of their verdicts",
                                         .x_label = axis,
                                         .spans = spans,
                                         .count = n,
                                         .width = 1200,
                                         .standalone = true },
            out);
    }
    for (int i = 0; i < n; i++) {
        oa_text_free(&texts[i].name);
        oa_text_free(&texts[i].note);
    }
}

bool oa_evidence_intervals(const struct oa_judged *j, struct oa_text *out)
{
    size_t before = out->length, count = (size_t)j->count + 1;
    struct oa_span *spans = oa_alloc(out->context, count * sizeof *spans);
    struct texts *texts = oa_alloc(out->context, count * sizeof *texts);
    if (spans && texts)
        draw_intervals(j, spans, texts, out);
    oa_free(spans);
    oa_free(texts);
    return out->length > before;
}

/* ---- over the variants ---- */

/* The scores of one attention; memory: 4 numbers a variant. */
static void fill_series(const struct oa_judged *j, const char *attention, double *memory,
                        struct oa_series *s)
{
    int n = 0, most = j->experiment->variant_count;
    double *x = memory, *y = x + most, *low = y + most, *high = low + most;
    for (int v = 0; v < most; v++) {
        int entry = j->record[v] ? oa_record_entry(j->record[v], attention) : -1;
        struct oa_estimate score =
            entry < 0 ? oa_estimate_of(NULL, 0) : oa_record_score(j->record[v], entry);
        double half = isfinite(score.half) ? score.half : 0;
        if (score.n < 1)
            continue;
        x[n] = j->experiment->variants[v].at;
        y[n] = score.mean;
        low[n] = score.mean - half;
        high[n++] = score.mean + half;
    }
    s->x = x;
    s->y = y;
    s->low = low;
    s->high = high;
    s->count = n;
    s->dots = true;
}

/* Attentions of all variants, each once, and the uniform baseline; names are the experiment's. */
static int list_names(const struct oa_experiment *e, const char **names)
{
    int n = 0;
    for (int v = 0; v < e->variant_count; v++)
        for (int a = 0; a < e->variants[v].attentions; a++) {
            int known = 0;
            while (known < n && strcmp(names[known], e->variants[v].attention[a]) != 0)
                known++;
            if (known == n)
                names[n++] = e->variants[v].attention[a];
        }
    names[n++] = OA_CLAIMED_UNIFORM;
    return n;
}

static void draw_lines(const struct oa_judged *j, const char **names, struct oa_series *series,
                       double *memory, struct oa_text *out)
{
    const struct oa_experiment *e = j->experiment;
    int count = list_names(e, names), n = 0, first = 0;
    double least = INFINITY, most = -INFINITY; /* of all intervals */
    double nearest = INFINITY, farthest = 0;   /* of all values on the axis */
    while (!j->record[first])
        first++;
    for (int v = 0; v < e->variant_count; v++) {
        nearest = fmin(nearest, e->variants[v].at);
        farthest = fmax(farthest, e->variants[v].at);
    }
    for (int i = 0; i < count; i++) {
        series[n] = (struct oa_series){ .name = names[i], .color = i };
        fill_series(j, names[i], memory + (size_t)i * 4 * (size_t)e->variant_count, &series[n]);
        for (int v = 0; v < series[n].count; v++) {
            least = fmin(least, series[n].low[v]);
            most = fmax(most, series[n].high[v]);
        }
        n += series[n].count > 0;
    }
    oa_svg_lines(
        &(struct oa_line_chart){
            .title = oa_claim_text(e, "title"),
            .description = "Scores over the comparisons of the experiment, with 95 % intervals",
            .x_label = oa_claim_text(e, "axis"),
            .y_label = oa_record_measure_of(j->record[first]).name,
            .x_log = nearest > 0 && farthest >= 8 * nearest,
            .y_least = least,
            .y_most = most,
            .series = series,
            .count = n,
            .standalone = true },
        out);
}

bool oa_evidence_lines(const struct oa_judged *j, struct oa_text *out)
{
    const struct oa_experiment *e = j->experiment;
    size_t most = 1, variants = (size_t)e->variant_count;
    for (size_t v = 0; v < variants; v++)
        most += (size_t)e->variants[v].attentions;
    if (!*oa_claim_text(e, "axis") || oa_judged_records(j) < 2)
        return false;
    const char **names = oa_alloc(out->context, most * sizeof *names);
    struct oa_series *series = oa_alloc(out->context, most * sizeof *series);
    double *memory = oa_alloc(out->context, most * variants * 4 * sizeof *memory);
    if (names && series && memory)
        draw_lines(j, names, series, memory, out);
    oa_free(names);
    oa_free(series);
    oa_free(memory);
    return true;
}
