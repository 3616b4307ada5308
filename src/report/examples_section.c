/* SPDX-License-Identifier: Apache-2.0
 * Outputs of all attentions for the same inputs, with the first seed, where they disagree most. */
#include "report/metric_words.h"
#include "report/page.h"

#include <string.h>

enum { SHOWN = OA_EXAMPLES_SHOWN };

/* An example that every attention has. */
struct shared {
    long row;
    int outputs;  /* different ones */
    bool decides; /* some are right, others wrong */
};

/* ---- choosing ---- */

static const struct oa_run *run_of(const struct oa_comparison *k, int entry)
{
    const struct oa_run *r = k->seeds ? &k->entries[entry].runs[0] : NULL;
    return r && oa_run_finished(k, r) && r->details.example_count ? r : NULL;
}

static const struct oa_specimen *answer_at(const struct oa_run *r, long row)
{
    for (int i = 0; r && i < r->details.example_count; i++)
        if (r->details.examples[i].row == row)
            return &r->details.examples[i];
    return NULL;
}

static bool same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static bool is_right(const struct oa_specimen *a)
{
    return same_text(a->output, a->reference);
}

/* Whether an earlier attention has the same output. */
static bool is_repeated(const struct oa_comparison *k, int entry, const struct oa_specimen *a)
{
    for (int i = 0; i < entry; i++) {
        const struct oa_specimen *b = answer_at(run_of(k, i), a->row);
        if (b && same_text(b->output, a->output))
            return true;
    }
    return false;
}

/* False where an attention that has examples lacks this one. */
static bool compare_at(const struct oa_comparison *k, long row, struct shared *out)
{
    int right = 0, all = 0;
    *out = (struct shared){ .row = row };
    for (int i = 0; i < k->count; i++) {
        const struct oa_run *r = run_of(k, i);
        const struct oa_specimen *a = answer_at(r, row);
        if (r && !a)
            return false;
        all += r != NULL;
        right += a && is_right(a);
        out->outputs += a && !is_repeated(k, i, a);
    }
    out->decides = right > 0 && right < all;
    return true;
}

static bool example_before(const struct shared *a, const struct shared *b)
{
    if (a->outputs != b->outputs)
        return a->outputs > b->outputs;
    return a->decides != b->decides ? a->decides : a->row < b->row;
}

/* Keeps the best ones in order; returns how many. */
static int insert(struct shared *list, int count, struct shared x)
{
    int at = count < SHOWN ? count++ : SHOWN;
    for (; at > 0 && example_before(&x, &list[at - 1]); at--)
        if (at < SHOWN)
            list[at] = list[at - 1];
    if (at < SHOWN)
        list[at] = x;
    return count;
}

static const struct oa_run *first_with_examples(const struct oa_comparison *k)
{
    for (int i = 0; i < k->count; i++)
        if (run_of(k, i))
            return run_of(k, i);
    return NULL;
}

int oa_examples_choose(const struct oa_comparison *k, long rows[OA_EXAMPLES_SHOWN])
{
    struct shared list[SHOWN], x;
    const struct oa_run *first = first_with_examples(k);
    int count = 0;
    for (int i = 0; first && i < first->details.example_count; i++)
        if (compare_at(k, first->details.examples[i].row, &x) && x.outputs > 1)
            count = insert(list, count, x);
    for (int i = 0; i < count; i++)
        rows[i] = list[i].row;
    return count;
}

/* ---- showing ---- */

static void add_text_cell(const char *text, bool right, struct oa_text *out)
{
    oa_text_printf(out, "<td style=\"white-space:pre-wrap;overflow-wrap:anywhere\">");
    oa_html_text(out, text ? text : "–");
    oa_text_printf(out, "%s</td></tr>\n", right ? " ✓" : "");
}

static void add_given(const char *what, const char *text, struct oa_text *out)
{
    if (!text)
        return;
    oa_text_printf(out, "<tr><th scope=\"row\">%s</th>", what);
    add_text_cell(text, false, out);
}

static void add_example(const struct oa_comparison *k, const struct oa_summary *s, long row,
                        struct oa_text *out)
{
    const struct oa_specimen *any = answer_at(first_with_examples(k), row);
    oa_text_printf(out, "<table><caption>Example %ld</caption><tbody>\n", row + 1);
    add_given("source", any->source, out);
    add_given("reference", any->reference, out);
    for (int o = 0; o < s->count; o++) {
        const struct oa_specimen *a = answer_at(run_of(k, s->order[o]), row);
        if (!a)
            continue;
        oa_text_printf(out, "<tr data-series=\"%d\"><th scope=\"row\">", s->order[o]);
        oa_page_name(k, s->order[o], out);
        oa_text_printf(out, "</th>");
        add_text_cell(a->output, is_right(a), out);
    }
    oa_text_printf(out, "</tbody></table>\n");
}

void oa_page_examples(const struct oa_comparison *k, const struct oa_summary *s,
                      struct oa_text *out)
{
    long rows[SHOWN];
    int count = oa_examples_choose(k, rows);
    if (!first_with_examples(k))
        return;
    oa_page_open("examples", "Examples", out);
    oa_text_printf(out, "<p>Outputs for the same input, with the first seed");
    if (count)
        oa_text_printf(
            out, ", most disagreement first. The examples are selected for disagreement and do not "
                 "show how often attentions disagree. ✓: equal to the reference.</p>\n");
    else
        oa_text_printf(out, ": all outputs are equal in the stored examples.</p>\n");
    oa_text_printf(out, "<div class=\"panel\">\n");
    for (int i = 0; i < count; i++)
        add_example(k, s, rows[i], out);
    oa_text_printf(out, "</div>\n");
    oa_page_close(out);
}
