/* SPDX-License-Identifier: Apache-2.0
 * The map of an experiment whose variants are different tasks: a row for each attention, a column
 * for each task that was run, and in each cell the retained share with its 95 % interval.
 */
#include "evidence/pages.h"
#include "evidence/reading.h"
#include "evidence/score_findings.h"
#include "print/svg.h"

#include <math.h>

enum { ROW = 40, COLUMN = 116, TOP = 34, LEAST = 3 /* columns, for the notes below */ };

bool oa_evidence_share(const json_t *record, const char *attention, struct oa_fieller *out)
{
    static const struct oa_family alone = { .comparisons = 1 };
    int entry = oa_record_entry(record, attention), whole = oa_record_whole(record),
        uniform = oa_record_entry(record, OA_CLAIMED_UNIFORM);
    if (entry < 0 || whole < 0 || uniform < 0 || whole == uniform || entry == uniform)
        return false;
    *out = oa_recorded_share(record, entry, whole, uniform, &alone);
    if (out->form != OA_FIELLER_BOUNDED || !(out->gain > 0))
        return false;
    /* the gain is judged as in the report of the comparison, in its family */
    const json_t *n = json_object_get(json_object_get(record, "family"), "comparisons");
    struct oa_family own = { .comparisons = (int)json_integer_value(n),
                             .verdict_seeds = OA_VERDICT_SEEDS };
    if (own.comparisons < 1) /* records of earlier versions */
        own.comparisons = (int)json_array_size(json_object_get(record, "entries")) - 1;
    struct oa_recorded left = { record, whole }, right = { record, uniform };
    return oa_recorded_against(&left, &right, &own).verdict != OA_AGAINST_UNRESOLVED;
}

/* All variants have the same attentions, and there is no axis. */
static bool is_map(const struct oa_judged *j)
{
    const struct oa_experiment *e = j->experiment;
    const struct oa_variant *first = e->variants;
    if (e->variant_count < 2 || *oa_claim_text(e, "axis") || oa_judged_records(j) < 1)
        return false;
    for (int v = 1; v < e->variant_count; v++)
        for (int a = 0; a < first->attentions; a++)
            if (e->variants[v].attentions != first->attentions ||
                !oa_variant_has(&e->variants[v], first->attention[a]))
                return false;
    return true;
}

/* Darker where more is retained; without a bounded share the cell is empty. */
static void draw_cell(struct oa_svg *g, double x, double y, const json_t *record,
                      const char *attention)
{
    struct oa_fieller share;
    char text[160], low[OA_NUMBER], high[OA_NUMBER];
    if (!oa_evidence_share(record, attention, &share)) {
        oa_svg_text(g, x + COLUMN / 2.0, y + ROW / 2.0, "middle", "note", "–");
        return;
    }
    oa_text_printf(g->out,
                   "<rect class=\"c0 band\" style=\"fill-opacity:%.2f\" x=\"%.0f\" y=\"%.0f\" "
                   "width=\"%d\" height=\"%d\"/>\n",
                   0.5 * fmin(1, fmax(0, share.value)), x + 1, y + 1, COLUMN - 2, ROW - 2);
    snprintf(text, sizeof text, "%s %%", oa_number_fixed(low, 100 * share.value, 0));
    oa_svg_text(g, x + COLUMN / 2.0, y + 13, "middle", "name", text);
    snprintf(text, sizeof text, "%s to %s", oa_number_fixed(low, 100 * share.low, 0),
             oa_number_fixed(high, 100 * share.high, 0));
    oa_svg_text(g, x + COLUMN / 2.0, y + 28, "middle", "note", text);
}

/* "not run yet: trec, wikitext" */
static void draw_missing(struct oa_svg *g, const struct oa_judged *j, double y)
{
    struct oa_text names;
    oa_text_init(&names, g->out->context);
    for (int v = 0; v < j->experiment->variant_count; v++)
        if (!j->record[v])
            oa_text_printf(&names, "%s%s",
                           names.length ? ", " : "not run yet: ", j->experiment->variants[v].name);
    if (names.length)
        oa_svg_text(g, 8, y, "start", "note", names.s);
    oa_text_free(&names);
}

bool oa_evidence_map(const struct oa_judged *j, struct oa_text *out)
{
    static const char legend[] =
        "share of the baseline's gain over the uniform average, with its 95 % interval";
    static const char empty[] = "–: no gain was shown, or a run failed";
    const struct oa_experiment *e = j->experiment;
    const struct oa_variant *first = e->variants;
    if (!is_map(j))
        return false;
    double names = 0;
    for (int a = 0; a < first->attentions; a++)
        names = fmax(names, OA_SVG_NAME_ADVANCE * oa_text_width(first->attention[a]));
    struct oa_svg g = { .out = out,
                        .left = names + 24,
                        .width = names + 24 + fmax(oa_judged_records(j), LEAST) * COLUMN + 8,
                        .height = TOP + first->attentions * ROW + 64 };
    double x = g.left;
    oa_svg_begin(&g, oa_claim_text(e, "title"),
                 "Retained shares of attentions by task, with 95 % intervals", true);
    for (int a = 0; a < first->attentions; a++)
        oa_svg_text(&g, 8, TOP + (a + 0.5) * ROW, "start", "name", first->attention[a]);
    for (int v = 0; v < e->variant_count; v++)
        if (j->record[v]) {
            oa_svg_text(&g, x + COLUMN / 2.0, TOP / 2.0, "middle", "name", e->variants[v].name);
            for (int a = 0; a < first->attentions; a++)
                draw_cell(&g, x, TOP + (double)a * ROW, j->record[v], first->attention[a]);
            x += COLUMN;
        }
    oa_svg_text(&g, 8, g.height - 50, "start", "note", legend);
    oa_svg_text(&g, 8, g.height - 32, "start", "note", empty);
    draw_missing(&g, j, g.height - 14);
    oa_svg_end(&g);
    return true;
}
