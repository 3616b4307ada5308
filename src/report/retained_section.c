/* SPDX-License-Identifier: Apache-2.0
 * The part of report.html that shows retained shares as points with their intervals, between lines
 * at 0, the uniform baseline, and 1, softmax or the baseline. */
#include "report/page.h"
#include "report/retained.h"
#include "report/teacher_share.h"

#include <math.h>

/* notes: one text for each span. */
static int fill_spans(const struct oa_comparison *k, const struct oa_summary *s,
                      struct oa_span *spans, struct oa_text *notes)
{
    int n = 0, whole = oa_retained_whole(k, s);
    for (int o = 0; o < s->count; o++) {
        int i = s->order[o];
        struct oa_retained r = oa_retained_of(k, s, i);
        char value[OA_NUMBER], ends[OA_INTERVAL];
        bool bounded = r.state == OA_RETAINED_BOUNDED;
        if (i == whole || !oa_retained_shown(&r))
            continue;
        oa_text_printf(&notes[n], "%s %s", oa_number_fixed(value, r.share.value, 2),
                       oa_retained_ends(ends, &r));
        spans[n] = (struct oa_span){ .name = oa_entry_name(&k->entries[i]),
                                     .note = notes[n].s,
                                     .mean = r.share.value,
                                     .low = bounded ? r.share.low : NAN,
                                     .high = bounded ? r.share.high : NAN,
                                     .color = i };
        n++;
    }
    return n;
}

static void draw_shares(const struct oa_comparison *k, const struct oa_summary *s,
                        const struct oa_span *spans, int n, struct oa_text *out)
{
    struct oa_text label;
    oa_text_init(&label, out->context);
    oa_text_printf(&label, "0: uniform baseline,  1: %s",
                   oa_entry_name(&k->entries[oa_retained_whole(k, s)]));
    struct oa_interval_chart chart = { .title = "Retained share",
                                       .description = "The share of the gain over the uniform "
                                                      "baseline that each attention retains",
                                       .x_label = label.s,
                                       .also = 1,
                                       .spans = spans,
                                       .count = n,
                                       .width = 980 };
    oa_text_printf(out, "<div class=\"wide\">");
    oa_svg_intervals(&chart, out);
    oa_text_printf(out, "</div>\n<div class=\"narrow\">");
    chart.width = 380;
    oa_svg_intervals(&chart, out);
    oa_text_printf(out, "</div>\n");
    oa_text_free(&label);
}

static void draw_figure(const struct oa_comparison *k, const struct oa_summary *s,
                        struct oa_text *out)
{
    size_t count = (size_t)s->count + 1;
    struct oa_span *spans = oa_alloc(out->context, count * sizeof *spans);
    struct oa_text *notes = oa_alloc(out->context, count * sizeof *notes);
    for (size_t i = 0; notes && i < count; i++)
        oa_text_init(&notes[i], out->context);
    if (spans && notes)
        draw_shares(k, s, spans, fill_spans(k, s, spans, notes), out);
    for (size_t i = 0; notes && i < count; i++)
        oa_text_free(&notes[i]);
    oa_free(spans);
    oa_free(notes);
}

void oa_page_retained(const struct oa_comparison *k, const struct oa_summary *s,
                      struct oa_text *out)
{
    struct oa_text sentence;
    oa_text_init(&sentence, out->context);
    oa_retained_sentence(k, s, &sentence);
    if (sentence.length) {
        oa_text_printf(out, "<figure id=\"retained\">\n<figcaption><b>Retained share</b>");
        oa_html_text(out, sentence.s);
        oa_text_printf(out, "</figcaption>\n");
        if (oa_retained_any(k, s))
            draw_figure(k, s, out);
        oa_text_printf(out, "</figure>\n");
    }
    oa_text_cut(&sentence, 0);
    oa_teacher_note(k, s, &sentence);
    if (sentence.length) {
        oa_text_printf(out, "<p id=\"teacher\">");
        oa_html_text(out, sentence.s);
        oa_text_printf(out, "</p>\n");
    }
    oa_text_free(&sentence);
}
