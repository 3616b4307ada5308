/* SPDX-License-Identifier: Apache-2.0
 * The propositions as a page: an overview of those that hold and fail, then a section for each
 * family with its chart and propositions. theory_method.html describes the method. */
#include "print/print.h"
#include "theory/theory.h"

#include <math.h>
#include <string.h>

/* Lead of each section. */
static const char *const leads[OA_PARTS] = {
    [OA_PART_LENGTHS] =
        "A head projects to k of d dimensions. W Wᵀ is a projector of rank k, not the "
        "identity, so inner products are not preserved.",
    [OA_PART_CONDITION] = "Orthonormal columns have condition number 1. At the width of a head "
                          "Gaussian ones are nearly as well-conditioned.",
    [OA_PART_GRADIENTS] =
        "Orthonormal columns preserve the length of gradients. The softmax before them does not.",
    [OA_PART_HEADS] =
        "Columns are orthogonal within a head. Heads are orthogonal to each other only "
        "as slices of one matrix.",
    [OA_PART_LOGITS] = "Attention logits of untrained queries and keys.",
    [OA_PART_DISTORTION] = "The lemma that random projections preserve distances, at the widths of "
                           "heads.",
};

extern const char oa_theory_method_html[]; /* theory_method.html */

/* ---- elements ---- */

static void add_theory_tagged(struct oa_text *out, const char *before, const char *text,
                              const char *after)
{
    oa_text_printf(out, "%s", before);
    oa_html_text(out, text);
    oa_text_printf(out, "%s", after);
}

/* x_i, W_Q: the letters after _ become a subscript. */
static void add_math(struct oa_text *out, const char *before, const char *text, const char *after)
{
    oa_text_printf(out, "%s", before);
    while (*text) {
        char piece[400];
        size_t n = strcspn(text, "_"), letters = 0;
        snprintf(piece, sizeof piece, "%.*s", (int)n, text);
        oa_html_text(out, piece);
        text += n + (text[n] == '_');
        while (n && (text[letters] | 32) >= 'a' && (text[letters] | 32) <= 'z')
            letters++;
        if (letters)
            oa_text_printf(out, "<sub>%.*s</sub>", (int)letters, text);
        text += letters;
    }
    oa_text_printf(out, "%s", after);
}

static void add_theory_fact(struct oa_text *out, long number, const char *what)
{
    oa_text_printf(out, "<li><b>%ld</b><span>", number);
    oa_html_text(out, what);
    oa_text_printf(out, "</span></li>\n");
}

/* ---- head ---- */

static void add_theory_header(struct oa_text *out, const struct oa_theory_results *t)
{
    char headline[160];
    oa_theory_headline(t, headline, sizeof headline);
    add_theory_tagged(
        out, "<header>\n<p class=\"above\">Orthant · theory, measured</p>\n<h1 id=\"conclusion\">",
        headline, ".</h1>\n");
    oa_text_printf(out,
                   "<p class=\"lead\">It has been proposed to freeze the query and key projections "
                   "of attention as random matrices with orthonormal columns. This page lists each "
                   "claim about them, its closed form, and measurements on the matrices of this "
                   "library.</p>\n<ul class=\"facts\">\n");
    add_theory_fact(out, t->d, "width of the model, d");
    add_theory_fact(out, t->heads, "heads, H");
    add_theory_fact(out, t->k, "width of a head, k = d/H");
    add_theory_fact(out, t->findings - oa_theory_failing(t), "propositions hold");
    add_theory_fact(out, oa_theory_failing(t), "fail");
    oa_text_printf(out, "</ul>\n</header>\n");
}

static void add_verdict_list(struct oa_text *out, const struct oa_theory_results *t, bool holds)
{
    oa_text_printf(out, "<figure><figcaption><b>%s</b></figcaption><div class=\"glance\"><table>\n",
                   holds ? "Propositions that hold" : "Propositions that fail");
    for (int i = 0; i < t->findings; i++) {
        const struct oa_theory_finding *f = &t->finding[i];
        if (f->holds != holds)
            continue;
        add_math(out, "<tr><th scope=\"row\">", f->proposition, "</th>");
        add_theory_tagged(
            out, holds ? "<td><span class=\"verdict v0\">" : "<td><span class=\"verdict v5\">",
            f->verdict, "</span></td></tr>\n");
    }
    oa_text_printf(out, "</table></div></figure>\n");
}

static void add_theory_overview(struct oa_text *out, const struct oa_theory_results *t)
{
    oa_text_printf(
        out,
        "<section id=\"overview\">\n<h2>Overview</h2>\n<p>U [d, k] projects queries and T keys, "
        "τ = 1/√k, P = U Uᵀ; \"error 0\" claims that both sides are equal.</p>\n"
        "<div class=\"pair\">\n");
    add_verdict_list(out, t, true);
    add_verdict_list(out, t, false);
    oa_text_printf(out, "</div>\n</section>\n");
}

/* ---- charts ---- */

static void add_plot_legend(struct oa_text *out, const struct oa_plot *p)
{
    oa_text_printf(out, "<ul class=\"legend\">");
    for (int i = 0; i < p->curves; i++)
        if (p->curve[i].name[0]) {
            oa_text_printf(out, "<li data-series=\"%d\"><span class=\"swatch c%d\"></span>",
                           p->curve[i].color, p->curve[i].color % OA_COLORS);
            add_theory_tagged(out, "<span class=\"spec\">", p->curve[i].name, "</span></li>");
        }
    oa_text_printf(out, "</ul>\n");
}

static void add_plot(struct oa_text *out, const struct oa_plot *p)
{
    struct oa_series series[OA_PLOT_CURVES];
    struct oa_line_chart chart = { .title = p->title,
                                   .description = p->caption,
                                   .x_label = p->x_label,
                                   .y_label = p->y_label,
                                   .x_log = p->x_log,
                                   .y_log = p->y_log,
                                   .series = series,
                                   .count = p->curves };
    for (int i = 0; i < p->curves; i++) {
        const struct oa_curve *c = &p->curve[i];
        series[i] = (struct oa_series){ .name = c->name[0] ? c->name : NULL,
                                        .x = c->x,
                                        .y = c->y,
                                        .count = c->count,
                                        .color = c->color,
                                        .faint = c->faint,
                                        .dots = c->dots,
                                        .loose = c->loose };
    }
    oa_text_printf(out, "<figure id=\"%s\">\n", p->name);
    add_theory_tagged(out, "<figcaption><b>", p->title, "</b>");
    add_math(out, "", p->caption, "</figcaption>\n");
    oa_text_printf(out, "<div class=\"wide\">");
    oa_svg_lines(&chart, out);
    oa_text_printf(out, "</div>\n<div class=\"narrow\">");
    add_plot_legend(out, p);
    chart.width = 380;
    chart.height = 300;
    oa_svg_lines(&chart, out);
    oa_text_printf(out, "</div>\n</figure>\n");
}

/* ---- propositions ---- */

static void add_proposition_row(struct oa_text *out, const struct oa_theory_finding *f)
{
    char law[OA_THEORY_FINDING_TEXT], measured[OA_THEORY_FINDING_TEXT];
    add_math(out, "<tr><th scope=\"row\">", f->proposition, "<small>");
    add_math(out, "", f->meaning, "</small></th>");
    add_theory_tagged(out, "<td class=\"num\" data-label=\"claimed\">", f->claimed, "</td>");
    add_theory_tagged(out, "<td class=\"num\" data-label=\"closed form\">",
                      oa_theory_finding_law(f, law), "<small>");
    add_theory_tagged(out, f->asymptotic ? "for large d: " : "", f->formula, "</small></td>");
    add_theory_tagged(out, "<td class=\"num\" data-label=\"measured\">",
                      oa_theory_finding_measured(f, measured), "</td>");
    oa_text_printf(out, "<td><span class=\"verdict %s\">", f->holds ? "v0" : "v5");
    oa_html_text(out, f->verdict);
    oa_text_printf(out, "</span></td></tr>\n");
}

static void add_theory_section(struct oa_text *out, const struct oa_theory_results *t,
                               enum oa_theory_part part)
{
    oa_text_printf(out, "<section>\n");
    add_theory_tagged(out, "<h2>", oa_part_title(part), "</h2>\n");
    add_theory_tagged(out, "<p>", leads[part], "</p>\n");
    for (int i = 0; i < t->plots; i++)
        if (t->plot[i].part == part)
            add_plot(out, &t->plot[i]);
    oa_text_printf(out, "<div class=\"panel claims\"><div class=\"scroll\" tabindex=\"0\" "
                        "role=\"region\" aria-label=\"");
    oa_html_text(out, oa_part_title(part));
    oa_text_printf(out, "\"><table>\n<thead><tr><th scope=\"col\">proposition</th><th "
                        "scope=\"col\" class=\"num\">claimed"
                        "</th><th scope=\"col\" class=\"num\">closed form</th><th scope=\"col\" "
                        "class=\"num\">measured</th>"
                        "<th scope=\"col\">verdict</th></tr></thead>\n<tbody>\n");
    for (int i = 0; i < t->findings; i++)
        if (t->finding[i].part == part)
            add_proposition_row(out, &t->finding[i]);
    oa_text_printf(out, "</tbody></table></div></div>\n</section>\n");
}

void oa_theory_html(const struct oa_theory_results *t, struct oa_text *out)
{
    oa_html_begin(out, "Frozen orthogonal projections: the theory, measured");
    add_theory_header(out, t);
    add_theory_overview(out, t);
    for (int p = 0; p < OA_PARTS; p++)
        add_theory_section(out, t, (enum oa_theory_part)p);
    oa_text_printf(out, "%s", oa_theory_method_html);
    oa_html_end(out);
}
