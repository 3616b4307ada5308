/* SPDX-License-Identifier: Apache-2.0
 *
 * The propositions as a page: what holds and what does not at a glance, then a section for each
 * family with its chart and its propositions in words. In the style of the comparison's report.
 */
#include "print/print.h"
#include "theory/theory.h"

#include <math.h>
#include <string.h>

/* What each section is about, in a sentence or two. */
static const char *const leads[OA_PARTS] = {
    [OA_PART_LENGTHS] = "A head sees k of d dimensions. WᵀW = I makes W Wᵀ a projector of rank k, "
                        "not the identity, and "
                        "the claim that inner products survive rests on taking one for the other.",
    [OA_PART_CONDITION] = "Orthonormal columns are perfectly conditioned. So, nearly, are Gaussian "
                          "ones at the width of a "
                          "head.",
    [OA_PART_GRADIENTS] = "Orthonormal columns pass gradients on without loss. Whether any arrives "
                          "is decided elsewhere.",
    [OA_PART_HEADS] =
        "Columns are orthogonal within a head; between heads only if they are cut from one matrix.",
    [OA_PART_LOGITS] = "What a token attends to when nobody trains how it asks.",
    [OA_PART_DISTORTION] =
        "The lemma that random projections keep distances, at the widths that heads have.",
};

/* ---- pieces
 * ----------------------------------------------------------------------------------------------------
 */

static void add_tagged(struct oa_text *out, const char *before, const char *text, const char *after)
{
    oa_text_printf(out, "%s", before);
    oa_html_text(out, text);
    oa_text_printf(out, "%s", after);
}

/* x_i, W_Q: the letters after the line become a subscript. */
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

static void add_fact(struct oa_text *out, long number, const char *what)
{
    oa_text_printf(out, "<li><b>%ld</b><span>", number);
    oa_html_text(out, what);
    oa_text_printf(out, "</span></li>\n");
}

/* ---- head
 * ------------------------------------------------------------------------------------------------------
 */

static void add_head(struct oa_text *out, const struct oa_theory *t)
{
    char headline[160];
    oa_theory_headline(t, headline, sizeof headline);
    add_tagged(
        out,
        "<header>\n<p class=\"above\">Orthant · the theory, measured</p>\n<h1 id=\"conclusion\">",
        headline, ".</h1>\n");
    oa_text_printf(
        out, "<p class=\"lead\">It has been proposed to freeze the query and key projections of "
             "attention as random "
             "matrices with orthonormal columns. Here is each claim that was made for them: what "
             "it says, what the closed "
             "form gives, and what the matrices of this library do.</p>\n<ul class=\"facts\">\n");
    add_fact(out, t->d, "width of the model, d");
    add_fact(out, t->heads, "heads, H");
    add_fact(out, t->k, "width of a head, k = d/H");
    add_fact(out, t->findings - oa_theory_failing(t), "propositions hold");
    add_fact(out, oa_theory_failing(t), "fail");
    oa_text_printf(out, "</ul>\n</header>\n");
}

/* What holds and what fails, side by side. */
static void add_list(struct oa_text *out, const struct oa_theory *t, bool holds)
{
    oa_text_printf(out, "<figure><figcaption><b>%s</b></figcaption><div class=\"glance\"><table>\n",
                   holds ? "What holds" : "What fails");
    for (int i = 0; i < t->findings; i++) {
        const struct oa_finding *f = &t->finding[i];
        if (f->holds != holds)
            continue;
        add_math(out, "<tr><th scope=\"row\">", f->proposition, "</th>");
        add_tagged(out,
                   holds ? "<td><span class=\"verdict v0\">" : "<td><span class=\"verdict v5\">",
                   f->verdict, "</span></td></tr>\n");
    }
    oa_text_printf(out, "</table></div></figure>\n");
}

static void add_overview(struct oa_text *out, const struct oa_theory *t)
{
    oa_text_printf(
        out,
        "<section id=\"overview\">\n<h2>At a glance</h2>\n<p>U [d, k] projects queries and T keys, "
        "τ = 1/√k, P = U Uᵀ; \"0 off\" is a claim that both sides are equal.</p>\n"
        "<div class=\"pair\">\n");
    add_list(out, t, true);
    add_list(out, t, false);
    oa_text_printf(out, "</div>\n</section>\n");
}

/* ---- charts
 * ----------------------------------------------------------------------------------------------------
 */

static int collect(const struct oa_plot *p, struct oa_series *series)
{
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
    return p->curves;
}

static void add_legend(struct oa_text *out, const struct oa_plot *p)
{
    oa_text_printf(out, "<ul class=\"legend\">");
    for (int i = 0; i < p->curves; i++)
        if (p->curve[i].name[0]) {
            oa_text_printf(out, "<li data-series=\"%d\"><span class=\"swatch c%d\"></span>",
                           p->curve[i].color, p->curve[i].color % OA_COLORS);
            add_tagged(out, "<span class=\"spec\">", p->curve[i].name, "</span></li>");
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
                                   .count = collect(p, series) };
    oa_text_printf(out, "<figure id=\"%s\">\n", p->name);
    add_tagged(out, "<figcaption><b>", p->title, "</b>");
    add_math(out, "", p->caption, "</figcaption>\n");
    oa_text_printf(out, "<div class=\"wide\">");
    oa_svg_lines(&chart, out);
    oa_text_printf(out, "</div>\n<div class=\"narrow\">");
    add_legend(out, p);
    chart.width = 380;
    chart.height = 300;
    oa_svg_lines(&chart, out);
    oa_text_printf(out, "</div>\n</figure>\n");
}

/* ---- propositions
 * ---------------------------------------------------------------------------------------------- */

static void add_row(struct oa_text *out, const struct oa_finding *f)
{
    char law[OA_FINDING_TEXT], measured[OA_FINDING_TEXT];
    add_math(out, "<tr><th scope=\"row\">", f->proposition, "<small>");
    add_math(out, "", f->meaning, "</small></th>");
    add_tagged(out, "<td class=\"num\" data-label=\"claimed\">", f->claimed, "</td>");
    add_tagged(out, "<td class=\"num\" data-label=\"closed form\">", oa_finding_law(f, law),
               "<small>");
    add_tagged(out, f->asymptotic ? "for large d: " : "", f->formula, "</small></td>");
    add_tagged(out, "<td class=\"num\" data-label=\"measured\">", oa_finding_measured(f, measured),
               "</td>");
    oa_text_printf(out, "<td><span class=\"verdict %s\">", f->holds ? "v0" : "v5");
    oa_html_text(out, f->verdict);
    oa_text_printf(out, "</span></td></tr>\n");
}

static void add_part(struct oa_text *out, const struct oa_theory *t, enum oa_theory_part part)
{
    oa_text_printf(out, "<section>\n");
    add_tagged(out, "<h2>", oa_part_title(part), "</h2>\n");
    add_tagged(out, "<p>", leads[part], "</p>\n");
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
            add_row(out, &t->finding[i]);
    oa_text_printf(out, "</tbody></table></div></div>\n</section>\n");
}

static void add_method(struct oa_text *out)
{
    oa_text_printf(
        out, "<section id=\"method\">\n<h2>How this was measured</h2>\n<dl class=\"method\">\n"
             "<div><dt>Draws</dt><dd>The matrices are those that training uses, from the same "
             "generators. Streams have "
             "fixed seeds and sums a fixed order, so every run gives the same numbers, whatever "
             "the number of threads."
             "</dd></div>\n"
             "<div><dt>Errors</dt><dd>Means over independent draws, ± one standard error over the "
             "draws; the vectors "
             "inside a draw only make its number steadier.</dd></div>\n"
             "<div><dt>Verdicts</dt><dd>A claim that is a number holds when the measured value "
             "lies within five standard "
             "errors of it, or within 10⁻⁹ where there is no chance, and the closed form does not "
             "say otherwise. Claims in "
             "words are judged by the number that is "
             "given with the verdict.</dd></div>\n"
             "<div><dt>What this does not say</dt><dd>How well a model with frozen projections "
             "learns. The tokens that are "
             "projected are trained, and training can use whatever form the draw has. That is what "
             "<code>orthant "
             "compare</code> is for.</dd></div>\n</dl>\n</section>\n");
}

void oa_theory_html(const struct oa_theory *t, struct oa_text *out)
{
    oa_html_begin(out, "Frozen orthogonal projections: the theory, measured");
    add_head(out, t);
    add_overview(out, t);
    for (int p = 0; p < OA_PARTS; p++)
        add_part(out, t, (enum oa_theory_part)p);
    add_method(out);
    oa_html_end(out);
}
