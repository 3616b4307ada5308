/* SPDX-License-Identifier: Apache-2.0
 * The section of report.html with every attention against every other. Colours repeat what the
 * words in the cells say. */
#include "report/metric_words.h"
#include "report/page.h"

#include <math.h>

static void pairs_add_cell(const struct oa_comparison *k, const struct oa_against *a,
                           struct oa_text *out)
{
    char mean[OA_NUMBER], ends[OA_INTERVAL];
    struct oa_estimate d = oa_shown(k, oa_against_interval(a));
    oa_text_printf(out, "<td class=\"%s\"><b>%s</b>%s",
                   a->verdict == OA_AGAINST_BETTER       ? "better"
                   : a->verdict == OA_AGAINST_WORSE      ? "worse"
                   : a->verdict == OA_AGAINST_EQUIVALENT ? "good"
                   : a->verdict == OA_AGAINST_IDENTICAL  ? "good"
                                                         : "open",
                   a->verdict == OA_AGAINST_NONE ? ""
                                                 : oa_against_words(a->verdict, oa_is_practical(k)),
                   oa_number_signed(mean, d.mean, oa_decimals(k)));
    if (isfinite(d.half))
        oa_text_printf(out, "<small>%s</small>",
                       oa_print_ends(ends, d.mean, d.half, oa_decimals(k)));
    if (!isnan(a->adjusted))
        oa_text_printf(
            out, a->adjusted < 0.0001 ? "<small>p &lt; 0.0001</small>" : "<small>p = %.4f</small>",
            a->adjusted);
    oa_text_printf(out, "</td>");
}

static void pairs_add_row(const struct oa_comparison *k, const struct oa_summary *s, int i,
                          int number, struct oa_text *out)
{
    oa_text_printf(out, "<tr><th scope=\"row\">%d&#160; ", number);
    oa_page_name(k, i, out);
    oa_text_printf(out, "</th>");
    for (int o = 0; o < s->count; o++) {
        int j = s->order[o];
        if (i == j)
            oa_text_printf(out, "<td class=\"self\">–</td>");
        else if (!s->entries[j].failed)
            pairs_add_cell(k, oa_compared_pair(s, i, j), out);
    }
    oa_text_printf(out, "</tr>\n");
}

static int pairs_add_head(const struct oa_comparison *k, const struct oa_summary *s,
                          struct oa_text *out)
{
    int n = 0;
    oa_text_printf(out, "<thead><tr><th scope=\"col\">row minus column</th>");
    for (int o = 0; o < s->count; o++)
        if (!s->entries[s->order[o]].failed) {
            oa_text_printf(out, "<th scope=\"col\" title=\"");
            oa_html_text(out, oa_entry_name(&k->entries[s->order[o]]));
            oa_text_printf(out, "\">%d</th>", ++n);
        }
    oa_text_printf(out, "</tr></thead>\n");
    return n;
}

static void pairs_add_explanation(const struct oa_comparison *k, struct oa_text *out)
{
    oa_page_open("pairs", "Pairwise comparisons", out);
    oa_text_printf(out, "<p>The row’s ");
    oa_html_text(out, oa_metric_word(k));
    oa_text_printf(out, " minus the column’s%s: %s 0 the row is better. ",
                   k->unpaired ? "" : ", seed by seed",
                   oa_compared_measure(k)->higher ? "above" : "below");
    if (k->sequential)
        oa_text_printf(out,
                       "Intervals are anytime-valid: they cover all %d differences, at all numbers "
                       "of seeds, with a probability of %s together.",
                       oa_family_size(k), oa_percent_text(1 - oa_family_level(k)).s);
    else
        oa_text_printf(out,
                       "Small print: the simultaneous %s interval and the adjusted p-value, "
                       "of the %d comparisons of the declared family. A number alone is a "
                       "description: that pair is not in the family.",
                       oa_percent_text(1 - oa_family_level(k)).s, oa_family_size(k));
    if (k->margin > 0) {
        oa_text_printf(out, " Equivalent: within ");
        oa_add_margin(k, out);
        oa_text_printf(out, ".");
    }
    oa_text_printf(out, "</p>\n");
}

void oa_page_pairs(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    int number = 0;
    if (s->seeds < 2 || s->count < 3)
        return;
    pairs_add_explanation(k, out);
    oa_text_printf(out, "<div class=\"panel\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                        "aria-label=\"Pairwise comparisons\"><table class=\"pairs\">\n");
    pairs_add_head(k, s, out);
    oa_text_printf(out, "<tbody>\n");
    for (int o = 0; o < s->count; o++)
        if (!s->entries[s->order[o]].failed)
            pairs_add_row(k, s, s->order[o], ++number, out);
    oa_text_printf(out, "</tbody></table></div></div>\n");
    oa_page_close(out);
}
