/* SPDX-License-Identifier: Apache-2.0
 * The section of report.html that shows each interval as seeds were added, a chart for each
 * attention. */
#include "report/metric_words.h"
#include "report/page.h"
#include "report/until.h"

#include <math.h>

struct trajectory {
    double *scratch, *x, *mean, *low, *high;
    struct oa_estimate *intervals;
};

static bool trajectory_open(oa_context *c, int seeds, struct trajectory *r)
{
    size_t n = (size_t)seeds + 1;
    *r = (struct trajectory){ .scratch = oa_alloc(c, 5 * n * sizeof *r->scratch),
                              .intervals = oa_alloc(c, n * sizeof *r->intervals) };
    r->x = r->scratch ? r->scratch + n : NULL;
    r->mean = r->x ? r->x + n : NULL;
    r->low = r->mean ? r->mean + n : NULL;
    r->high = r->low ? r->low + n : NULL;
    return r->scratch && r->intervals;
}

/* The first intervals are infinite or very wide: the axis covers three times the last interval,
 * and the margin. */
static void trajectory_draw(const struct oa_comparison *k, int entry, const struct trajectory *r,
                            int n, struct oa_text *out)
{
    const char *name = oa_entry_name(&k->entries[entry]);
    char label[OA_LABEL];
    double margin = k->margin;
    double levels[] = { 0, margin, -margin }, reach = 3 * r->intervals[n - 1].half;
    struct oa_series series = { .x = r->x,
                                .y = r->mean,
                                .low = r->low,
                                .high = r->high,
                                .count = n,
                                .color = entry,
                                .dots = n <= 12 };
    struct oa_line_chart chart = {
        .title = name,
        .description = "The mean difference after each seed, with its anytime-valid interval",
        .x_label = "seeds",
        .y_label = oa_axis_of_difference(k, label),
        .y_least = fmin(-margin, r->mean[n - 1] - (isfinite(reach) ? reach : 0)),
        .y_most = fmax(margin, r->mean[n - 1] + (isfinite(reach) ? reach : 0)),
        .levels = levels,
        .level_count = margin > 0 ? 3 : 1,
        .series = &series,
        .count = 1,
        .width = 470,
        .height = 280
    };
    oa_svg_lines(&chart, out);
}

static void trajectory_add_chart(const struct oa_comparison *k, const struct oa_summary *s, int i,
                                 struct trajectory *r, struct oa_text *out)
{
    char low[OA_NUMBER], high[OA_NUMBER];
    int n = oa_trajectory(k, s, i, r->scratch, r->intervals);
    if (n == 0)
        return;
    for (int j = 0; j < n; j++) {
        struct oa_estimate e = r->intervals[j] = oa_shown(k, r->intervals[j]);
        r->x[j] = e.n;
        r->mean[j] = e.mean;
        r->low[j] = e.mean - e.half;
        r->high[j] = e.mean + e.half;
    }
    oa_text_printf(out, "<figure><figcaption><b>");
    oa_html_text(out, oa_entry_name(&k->entries[i]));
    oa_text_printf(out, "</b>after %d seeds: ", r->intervals[n - 1].n);
    if (isfinite(r->intervals[n - 1].half))
        oa_text_printf(out, "%s … %s", oa_number_signed(low, r->low[n - 1], oa_decimals(k)),
                       oa_number_signed(high, r->high[n - 1], oa_decimals(k)));
    else
        oa_text_printf(out, "no finite interval yet");
    oa_text_printf(out, "</figcaption>\n");
    trajectory_draw(k, i, r, n, out);
    oa_text_printf(out, "</figure>\n");
}

static void trajectory_add_head(const struct oa_comparison *k, const struct oa_summary *s,
                                struct oa_text *out)
{
    oa_page_open("trajectories", "Intervals as seeds were added", out);
    oa_text_printf(out, "<p>The ");
    oa_html_text(out, oa_metric_word(k));
    oa_text_printf(out, " of each %s minus that of ", oa_entry_kind(k));
    oa_html_text(out, oa_entry_name(&k->entries[oa_compared_to(k, s)]));
    oa_text_printf(out,
                   ", after each seed, with the anytime-valid interval of the mean difference: all "
                   "intervals, at all numbers of seeds, cover with a probability of %s "
                   "together. Horizontal lines: 0%s.</p>\n<div class=\"pair\">\n",
                   oa_percent_text(1 - oa_family_level(k)).s,
                   k->margin > 0 ? " and the margin on both sides" : "");
}

void oa_page_trajectories(const struct oa_comparison *k, const struct oa_summary *s,
                          struct oa_text *out)
{
    struct trajectory r;
    if (!k->sequential || s->seeds < 2 || oa_compared_to(k, s) < 0 ||
        s->entries[oa_compared_to(k, s)].failed)
        return;
    if (trajectory_open(out->context, s->seeds, &r)) {
        trajectory_add_head(k, s, out);
        for (int o = 0; o < s->count; o++)
            trajectory_add_chart(k, s, s->order[o], &r, out);
        oa_text_printf(out, "</div>\n");
        oa_page_close(out);
    }
    oa_free(r.scratch);
    oa_free(r.intervals);
}
