/* SPDX-License-Identifier: Apache-2.0
 * report.html: the order of the page, its head, and the table of results. */
#include "report/adjusted.h"
#include "report/metric_words.h"
#include "report/page.h"
#include "report/tuning.h"

#include <math.h>
#include <string.h>

/* ---- pieces that the sections share ---- */

static void add_piece(const char *text, size_t n, struct oa_text *out)
{
    struct oa_text piece;
    oa_text_init(&piece, out->context);
    oa_text_add(&piece, text, n);
    if (piece.s)
        oa_html_text(out, piece.s);
    oa_text_free(&piece);
}

/* A long spec may be broken after its brackets, commas and equals signs. */
void oa_page_name(const struct oa_contest *k, int entry, struct oa_text *out)
{
    oa_text_printf(out, "<span class=\"swatch c%d%s\"></span><span class=\"spec\">", entry % OA_COLORS,
                   entry < OA_COLORS ? "" : " again");
    for (const char *at = oa_entry_name(&k->entries[entry]); *at;) {
        size_t n = strcspn(at, "(,=");
        n += at[n] != 0;
        add_piece(at, n, out);
        oa_text_printf(out, at[n] ? "<wbr/>" : "");
        at += n;
    }
    oa_text_printf(out, "</span>");
}

static void page_verdict(const struct oa_contest *k, const struct oa_summary *s, int entry, struct oa_text *out)
{
    const struct oa_standing *e = &s->entries[entry];
    char says[OA_VERDICT];
    oa_text_printf(out, "<span class=\"verdict v%d\">", (int)e->verdict);
    oa_html_text(out, oa_verdict_says(k, e->verdict, says));
    if (e->verdict == OA_VERDICT_FAILED)
        oa_text_printf(out, " %d of %d", e->failed, e->made);
    oa_text_printf(out, "</span>");
}

/* ---- head ---- */

/* The longest attention whose spec begins at `text`, or -1. */
static int attention_at(const struct oa_contest *k, const char *text)
{
    int found = -1;
    size_t longest = 0;
    for (int i = 0; i < k->count; i++) {
        const char *name = oa_entry_name(&k->entries[i]);
        size_t n = strlen(name);
        if (n > longest && strncmp(text, name, n) == 0) {
            longest = n;
            found = i;
        }
    }
    return found;
}

/* n bytes of the conclusion with the specs in it set as code: a spec begins a word. */
static void add_sentence(const struct oa_contest *k, const char *text, size_t n, struct oa_text *out)
{
    for (const char *at = text; at < text + n;) {
        int found = attention_at(k, at);
        size_t step = found >= 0 ? strlen(oa_entry_name(&k->entries[found])) : strcspn(at, " ");
        step += found < 0 && at[step] == ' ';
        if (found >= 0)
            oa_text_printf(out, "<code>");
        add_piece(at, step, out);
        if (found >= 0)
            oa_text_printf(out, "</code>");
        at += step;
    }
}

/* The first sentence is the headline, the others follow in plain size. Sentences end with ". ": no spec holds that. */
static void add_conclusion(const struct oa_contest *k, const char *text, struct oa_text *out)
{
    const char *rest = strstr(text, ". ");
    size_t first = rest ? (size_t)(rest + 2 - text) : strlen(text);
    oa_text_printf(out, "<h1 id=\"conclusion\">");
    add_sentence(k, text, first, out);
    oa_text_printf(out, "</h1>\n");
    if (!rest)
        return;
    oa_text_printf(out, "<p class=\"lead\">");
    add_sentence(k, text + first, strlen(text) - first, out);
    oa_text_printf(out, "</p>\n");
}

static void add_fact(const char *value, const char *what, struct oa_text *out)
{
    oa_text_printf(out, "<li><b>");
    oa_html_text(out, value);
    oa_text_printf(out, "</b><span>");
    oa_html_text(out, what);
    oa_text_printf(out, "</span></li>\n");
}

static double first_finite(const struct oa_summary *s, size_t offset)
{
    for (int i = 0; i < s->count; i++) {
        double x = *(const double *)((const char *)&s->entries[s->order[i]] + offset);
        if (isfinite(x))
            return x;
    }
    return NAN;
}

/* What the best attention's runs had; under another budget than tokens the others differ, and the table says how. */
static void add_facts(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    char number[OA_NUMBER];
    struct oa_text plain;
    oa_text_init(&plain, out->context);
    int least = oa_fewest_seeds(s, true);
    oa_text_printf(&plain, least < s->seeds ? "%d × %d–%d" : "%d × %d", s->count, least, s->seeds);
    oa_text_printf(out, "<ul class=\"facts\">\n");
    add_fact(plain.s ? plain.s : "", s->seeds == 1 ? "attentions × seed" : "attentions × seeds", out);
    add_fact(oa_number_si(number, first_finite(s, offsetof(struct oa_standing, steps))), "training steps", out);
    add_fact(oa_number_si(number, first_finite(s, offsetof(struct oa_standing, tokens))), "training tokens", out);
    add_fact(oa_number_si(number, oa_validation_used(k)), oa_validation_unit(k), out);
    add_fact(oa_number_seconds(number, first_finite(s, offsetof(struct oa_standing, seconds))), "training time a run",
             out);
    oa_text_printf(out, "</ul>\n");
    oa_text_free(&plain);
}

static void add_head(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    oa_text_printf(out, "<header>\n<p class=\"above\">Orthant · a contest between attentions · same ");
    oa_html_text(out, oa_budget_name(k->equal));
    oa_text_printf(out, "</p>\n");
    add_conclusion(k, s->conclusion, out);
    add_facts(k, s, out);
    oa_text_printf(out, "</header>\n");
}

/* ---- results ---- */

/* A cell: the value to sort by, then the text. */
static void begin_cell(double value, struct oa_text *out)
{
    oa_text_printf(out, "<td class=\"num\" data-v=\"");
    if (isfinite(value))
        oa_text_real(out, value);
    oa_text_printf(out, "\">");
}

/* A number with another in small type below it. */
static void pair_cell(double value, const char *above, const char *below, const char *unit, struct oa_text *out)
{
    begin_cell(value, out);
    oa_text_printf(out, "%s<small>%s%s</small></td>", above, below, unit);
}

static void score_cell(const struct oa_estimate *e, int decimals, struct oa_text *out)
{
    char number[OA_NUMBER];
    begin_cell(e->mean, out);
    oa_text_printf(out, "%s", oa_number_fixed(number, e->mean, decimals));
    if (isfinite(e->half))
        oa_text_printf(out, "<small>± %s</small>", oa_number_fixed(number, e->half, decimals));
    oa_text_printf(out, "</td>");
}

/* An adjusted mean has the plain one, with its interval, below it. */
static void metric_cell(const struct oa_contest *k, const struct oa_standing *e, struct oa_text *out)
{
    char mean[OA_NUMBER], half[OA_NUMBER];
    const struct oa_estimate *own = oa_standing_score(k, e);
    if (e->plain) {
        score_cell(own, oa_decimals(k), out);
        return;
    }
    begin_cell(e->adjusted, out);
    oa_text_printf(out, "%s", oa_number_fixed(mean, e->adjusted, oa_decimals(k)));
    oa_text_printf(out, "<small>%s", oa_number_fixed(mean, own->mean, oa_decimals(k)));
    if (isfinite(own->half))
        oa_text_printf(out, " ± %s", oa_number_fixed(half, own->half, oa_decimals(k)));
    oa_text_printf(out, "</small><small>over its %d seed%s</small></td>", own->n, oa_plural(own->n));
}

/* Behind a difference in % points percents of a percentage would be read wrongly. */
static void difference_cell(const struct oa_contest *k, const struct oa_summary *s, int entry, struct oa_text *out)
{
    bool reference = entry == s->reference;
    struct oa_estimate d = oa_shown(k, oa_to_reference(k, s, entry));
    int decimals = oa_decimals(k);
    char a[OA_NUMBER], b[OA_NUMBER];
    begin_cell(d.mean, out);
    if (reference || isnan(d.mean))
        oa_text_printf(out, "–");
    else if (strcmp(oa_metric(k)->unit, "%") == 0)
        oa_text_printf(out, "%s", oa_number_signed(a, d.mean, decimals));
    else
        oa_text_printf(out, "%s (%s %%)", oa_number_signed(a, d.mean, decimals),
                       oa_number_signed(b, oa_percent_to_reference(s, entry), 2));
    if (!reference && isfinite(d.half))
        oa_text_printf(out, "<small>%s … %s</small>", oa_number_signed(a, d.mean - d.half, decimals),
                       oa_number_signed(b, d.mean + d.half, decimals));
    oa_text_printf(out, "</td>");
}

static void against_note(const char *what, const struct oa_against *a, struct oa_text *out)
{
    if (a->verdict != OA_AGAINST_NONE)
        oa_text_printf(out, "<small>%s: %s</small>", what, oa_against_name(a->verdict));
}

static void verdict_cell(const struct oa_contest *k, const struct oa_summary *s, int entry, struct oa_text *out)
{
    const struct oa_standing *e = &s->entries[entry];
    oa_text_printf(out, "<td>");
    page_verdict(k, s, entry, out);
    against_note("baseline", &e->baseline, out);
    against_note("floor", &e->floor, out);
    if (e->holm < 0.0001)
        oa_text_printf(out, "<small>p &lt; 0.0001</small>");
    else if (!isnan(e->holm))
        oa_text_printf(out, "<small>p = %.4f</small>", e->holm);
    if (e->plain && e->made < s->seeds)
        oa_text_printf(out, "<small>%d seeds</small>", e->made);
    if (e->seeds_range.low) {
        oa_text_printf(out, "<small>");
        oa_seeds_text(e->seeds_range, out);
        oa_text_printf(out, " seeds to resolve</small>");
    }
    oa_text_printf(out, "</td>");
}

/* Tokens a second, and below how many times that is the first contestant's, with the interval. */
static void speed_cell(const struct oa_standing *e, struct oa_text *out)
{
    char a[OA_NUMBER], b[OA_NUMBER];
    begin_cell(e->tokens_per_second, out);
    oa_text_printf(out, "%s<small>%s ms/step</small>", oa_number_si(a, e->tokens_per_second),
                   oa_number(b, 1e3 * e->seconds_per_step, 3));
    if (e->speed.low < e->speed.high)
        oa_text_printf(out, "<small>× %s … %s</small>", oa_number(a, e->speed.low, 3), oa_number(b, e->speed.high, 3));
    oa_text_printf(out, "</td>");
}

/* What the loss is in other words, or, where the contest is about another measure, the loss; and the rest. */
static void beside_cells(const struct oa_contest *k, const struct oa_standing *e, struct oa_text *out)
{
    char above[OA_NUMBER], below[OA_NUMBER];
    if (oa_about_loss(k))
        pair_cell(oa_shown_perplexity(e), oa_number(above, oa_shown_perplexity(e), 4),
                  oa_number(below, oa_shown_bits(e), 4), " bits/char", out);
    for (int i = 0; oa_contest_measure(k, i); i++)
        if (i != k->metric)
            score_cell(oa_standing_measured(e, i), oa_contest_measure(k, i)->decimals, out);
}

static void cost_cells(const struct oa_entry *entry, const struct oa_standing *e, struct oa_text *out)
{
    char above[OA_NUMBER], below[OA_NUMBER];
    pair_cell(entry->trainable, oa_number_si(above, entry->trainable), oa_number_si(below, entry->frozen), " frozen",
              out);
    speed_cell(e, out);
    pair_cell(e->peak_memory, oa_number_bytes(above, e->peak_memory), oa_number_si(below, e->flops_per_step),
              " FLOPs/step", out);
}

static void add_row(const struct oa_contest *k, const struct oa_summary *s, int i, struct oa_text *out)
{
    const struct oa_standing *e = &s->entries[i];
    char tuned[OA_GRID_NAME];
    oa_text_printf(out, "<tr data-series=\"%d\"%s><th scope=\"row\"><span class=\"named\">", i,
                   i == s->reference ? " class=\"reference\"" : "");
    oa_page_name(k, i, out);
    oa_text_printf(out, "</span>");
    if (k->tuning.grid.options)
        oa_text_printf(out, "<small>%s</small>", oa_tuned_values(k, i, tuned));
    oa_text_printf(out, "</th>");
    metric_cell(k, e, out);
    difference_cell(k, s, i, out);
    verdict_cell(k, s, i, out);
    beside_cells(k, e, out);
    cost_cells(&k->entries[i], e, out);
    oa_text_printf(out, "</tr>\n");
}

static void add_column(const char *title, bool number, struct oa_text *out)
{
    oa_text_printf(out, "<th scope=\"col\"%s>", number ? " class=\"num\"" : "");
    oa_html_text(out, title);
    oa_text_printf(out, "</th>");
}

static void add_heads(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    char label[OA_LABEL];
    oa_text_printf(out, "<thead><tr>");
    add_column("attention", false, out);
    add_column(oa_heading(oa_metric(k), oa_metric_word(k), label), true, out);
    add_column(oa_to_the_best(k, s, label), true, out);
    add_column("verdict", false, out);
    if (oa_about_loss(k))
        add_column("perplexity", true, out);
    for (int i = 0; oa_contest_measure(k, i); i++)
        if (i != k->metric)
            add_column(oa_heading(oa_contest_measure(k, i), oa_contest_measure(k, i)->title, label), true, out);
    add_column("trained\nparameters", true, out);
    add_column("speed\ntokens/s", true, out);
    add_column("peak\nmemory", true, out);
    oa_text_printf(out, "</tr></thead>\n");
}

static void add_dropout(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    struct oa_text notes;
    oa_text_init(&notes, out->context);
    oa_report_dropout(k, s, &notes);
    if (notes.length) {
        oa_text_printf(out, "<p>");
        oa_html_text(out, notes.s);
        oa_text_printf(out, "</p>\n");
    }
    oa_text_free(&notes);
}

static void page_results(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    oa_text_printf(out, "<section id=\"results\">\n<h2>Results</h2>\n<p>");
    oa_html_text(out, oa_about_loss(k) ? "Validation loss" : oa_metric(k)->title);
    oa_text_printf(out, " after the same %s, %s first.", oa_budget_name(k->equal), oa_metric_best(k));
    if (s->uneven)
        oa_text_printf(out, " Small: the plain mean over an attention’s own seeds with its 95 %% interval.");
    else if (k->any_looks)
        oa_text_printf(out, " Small: 95 %% intervals, of differences at any number of looks.");
    else if (s->seeds > 1)
        oa_text_printf(out, " Small: 95 %% intervals over %d seeds, Holm-corrected p.", s->seeds);
    oa_adjusted_sentences(k, s, out);
    oa_validation_sentence(k, out);
    oa_text_printf(out, "</p>\n<div class=\"panel results\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                        "aria-label=\"Results\"><table class=\"sortable\">\n");
    add_heads(k, s, out);
    oa_text_printf(out, "<tbody>\n");
    for (int i = 0; i < s->count; i++)
        add_row(k, s, s->order[i], out);
    oa_text_printf(out, "</tbody></table></div></div>\n");
    add_dropout(k, s, out);
    oa_text_printf(out, "</section>\n");
}

/* ---- the page ---- */

void oa_report_html(const struct oa_contest *k, const struct oa_summary *s, struct oa_text *out)
{
    oa_html_begin(out, s->conclusion);
    add_head(k, s, out);
    page_results(k, s, out);
    oa_page_tuning(k, s, out);
    oa_page_differences(k, s, out);
    oa_page_trajectories(k, s, out);
    oa_page_pairs(k, s, out);
    oa_page_variances(k, out);
    oa_page_metric_curves(k, s, out);
    oa_page_curves(k, s, out);
    oa_page_parts(k, s, out);
    oa_page_examples(k, s, out);
    oa_page_trade_offs(k, s, out);
    oa_page_runs(k, s, out);
    oa_page_method(k, s, out);
    oa_page_settings(k, out);
    oa_html_end(out);
}
