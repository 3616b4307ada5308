/* SPDX-License-Identifier: Apache-2.0
 * The map of an experiment whose variants are different tasks: a row for each attention, a column
 * for each task, and in each cell the retained share with its 95 % interval.
 */
#include "evidence/pages.h"
#include "evidence/reading.h"
#include "evidence/score_findings.h"
#include "print/svg.h"

#include <math.h>

enum { ROW = 40, COLUMN = 116, TOP = 34 };

bool oa_evidence_share(const json_t *record, const char *attention, struct oa_fieller *out)
{
    static const struct oa_family alone = { .comparisons = 1 };
    int entry = oa_record_entry(record, attention), whole = oa_record_whole(record),
        uniform = oa_record_entry(record, OA_CLAIMED_UNIFORM);
    if (entry < 0 || whole < 0 || uniform < 0 || whole == uniform || entry == uniform)
        return false;
    *out = oa_recorded_share(record, entry, whole, uniform, &alone);
    return out->form == OA_FIELLER_BOUNDED && out->gain > 0;
}

/* Tasks share their attentions, and none of them is a point of an axis. */
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
    if (!record || !oa_evidence_share(record, attention, &share)) {
        oa_svg_text(g, x + COLUMN / 2.0, y + ROW / 2.0, "middle", "note", record ? "–" : "not run");
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

bool oa_evidence_map(const struct oa_judged *j, struct oa_text *out)
{
    const struct oa_experiment *e = j->experiment;
    const struct oa_variant *first = e->variants;
    if (!is_map(j))
        return false;
    double names = 0;
    for (int a = 0; a < first->attentions; a++)
        names = fmax(names, OA_SVG_NAME_ADVANCE * oa_text_width(first->attention[a]));
    struct oa_svg g = { .out = out,
                        .left = names + 24,
                        .width = names + 24 + e->variant_count * COLUMN + 8,
                        .height = TOP + first->attentions * ROW + 40 };
    oa_svg_begin(&g, oa_claim_text(e, "title"),
                 "Retained shares of attentions in several tasks, with 95 % intervals", true);
    for (int v = 0; v < e->variant_count; v++)
        oa_svg_text(&g, g.left + (v + 0.5) * COLUMN, TOP / 2.0, "middle", "name",
                    e->variants[v].name);
    for (int a = 0; a < first->attentions; a++) {
        double y = TOP + (double)a * ROW;
        oa_svg_text(&g, 8, y + ROW / 2.0, "start", "name", first->attention[a]);
        for (int v = 0; v < e->variant_count; v++)
            draw_cell(&g, g.left + (double)v * COLUMN, y, j->record[v], first->attention[a]);
    }
    oa_svg_text(&g, 8, g.height - 18, "start", "note",
                "share of what the baseline gains over the uniform average, with its 95 % interval;"
                " –: no gain was shown, or a run failed");
    oa_svg_end(&g);
    return true;
}
