/* SPDX-License-Identifier: Apache-2.0
 * The inspection as a page: the maps of each layer, the table of heads, the suggestion. The maps
 * are images, to which the script adds the tokens. */
#include "inspect/inspect.h"

#include "inspect/inspect_page.h"

#include <math.h>
#include <string.h>

/* ---- pieces ---- */

static void add_tagged(struct oa_text *out, const char *before, const char *text, const char *after)
{
    oa_text_printf(out, "%s", before);
    oa_html_text(out, text);
    oa_text_printf(out, "%s", after);
}

typedef void writer(const struct oa_layer_view *v, struct oa_text *out);

static void add_written(const struct oa_layer_view *v, writer *write, const char *before,
                        const char *after, struct oa_text *out)
{
    struct oa_text text;
    oa_text_init(&text, out->context);
    write(v, &text);
    add_tagged(out, before, text.s ? text.s : "", after);
    oa_text_free(&text);
}

static void add_head_cell(struct oa_text *out, double x, double factor, int decimals)
{
    char number[OA_NUMBER];
    if (isfinite(x))
        oa_text_printf(out, "<td class=\"num\" data-v=\"%.9g\">%s</td>", x,
                       oa_number_fixed(number, factor * x, decimals));
    else
        oa_text_printf(out, "<td class=\"num\" data-v=\"\">–</td>");
}

static void add_inspection_fact(struct oa_text *out, long number, const char *what)
{
    oa_text_printf(out, "<li><b>%ld</b><span>%s</span></li>\n", number, what);
}

static void add_tokens(struct oa_text *out, const char *id, const struct oa_token_names *t)
{
    oa_text_printf(out, "<ol class=\"tokens\" id=\"%s\">", id);
    for (long i = 0; i < t->count; i++)
        add_tagged(out, "<li>", t->name[i], "</li>");
    oa_text_printf(out, "</ol>\n");
}

/* ---- head ---- */

static void add_scale(struct oa_text *out)
{
    static const double marks[] = { 0, 0.01, 0.1, 0.25, 0.5, 1 };
    oa_text_printf(
        out,
        "<div class=\"scale\" role=\"img\" aria-label=\"colours from weight 0, dark, to weight 1, "
        "light\" style=\"background:linear-gradient(to right");
    for (int i = 0; i <= 20; i++) {
        unsigned char rgb[3];
        oa_heat_color(i / 20.0, rgb);
        oa_text_printf(out, ",#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
    }
    oa_text_printf(out, ")\">");
    for (int i = 0; i < 6; i++)
        oa_text_printf(out, "<span style=\"left:%.1f%%\">%g</span>", 100 * sqrt(marks[i]),
                       marks[i]);
    oa_text_printf(out, "</div>\n");
}

static void add_inspection_header(struct oa_text *out, const struct oa_inspected *s)
{
    const struct oa_inspection *what = s->what;
    add_tagged(
        out, "<header>\n<p class=\"above\">Orthant · inspection</p>\n<h1>Attention maps of <code>",
        s->run, "</code></h1>\n");
    add_tagged(
        out,
        "<p class=\"lead\">What each token of a text attends to, for every layer and head. The "
        "attention is <code>",
        s->attention, "</code>.</p>\n<ul class=\"facts\">\n");
    add_inspection_fact(out, what->layers, "attention layers");
    add_inspection_fact(out, oa_inspection_heads(what), "heads");
    add_inspection_fact(out, s->queries->count, "tokens");
    if (s->source)
        add_inspection_fact(out, s->source->count, "tokens of the source");
    long replaceable = 0;
    for (int i = 0; i < what->layers; i++)
        replaceable += oa_replaceable_heads(&what->layer[i]);
    add_inspection_fact(out, replaceable, "heads that a fixed attention covers to 80 % or more");
    oa_text_printf(out, "</ul>\n</header>\n<h2>The text</h2>\n");
    if (s->source)
        add_tokens(out, "source", s->source);
    add_tokens(out, "text", s->queries);
}

/* ---- maps ---- */

struct picture {
    const struct oa_layer_view *v;
    long head;
};

static double map_share(void *argument, long i, long j)
{
    const struct picture *p = argument;
    double w = fabs(p->v->map[(p->head * p->v->in.queries + i) * p->v->in.keys + j]);
    return w == 0 && !oa_view_visible(p->v, p->head, i, j) ? -1 : sqrt(w);
}

/* The title of a card: the number of the head, and the fixed attention that covers most of its map.
 */
static void add_map_title(struct oa_text *out, const struct oa_layer_view *v, long h)
{
    bool marked = oa_head_replaceable(v, h);
    oa_text_printf(out, "<p class=\"name\"><b>head %ld</b>", h);
    if (oa_view_group(v, h)->mechanism->weights) {
        add_tagged(out, marked ? "<span class=\"covered\">✓ " : "<span>nearest: ",
                   oa_fixed_name(v->head[h].nearest), marked ? " covers" : ",");
        oa_text_printf(out, " %.0f %%</span>", 100 * v->head[h].covered);
    }
    oa_text_printf(out, "</p>\n");
}

static void add_map(struct oa_text *out, const struct oa_inspected *s,
                    const struct oa_layer_view *v, long h)
{
    struct picture p = { v, h };
    const struct oa_heat heat = { v->in.queries, v->in.keys, map_share, &p };
    oa_text_printf(out, "<li class=\"head\">");
    add_map_title(out, v, h);
    if (oa_view_group(v, h)->mechanism->weights) {
        oa_text_printf(out,
                       "<div class=\"map\"><img width=\"%ld\" height=\"%ld\" data-rows=\"%s\" "
                       "data-columns=\"%s\" alt=\"",
                       v->in.keys, v->in.queries,
                       oa_view_queries(s, v) == s->source ? "source" : "text",
                       oa_view_keys(s, v) == s->source ? "source" : "text");
        add_written(v, oa_view_title, "map of ", "", out);
        oa_text_printf(out, ", head %ld\" src=\"", h);
        oa_heat_data(&heat, out);
        oa_text_printf(out, "\"/></div>");
    } else {
        add_tagged(out, "<p class=\"none\">", oa_view_group(v, h)->mechanism->name,
                   " has no map</p>");
    }
    oa_text_printf(out, "</li>\n");
}

static void add_layer(struct oa_text *out, const struct oa_inspected *s,
                      const struct oa_layer_view *v)
{
    long card =
        oa_max(200, oa_min(440, 90 + 12 * v->in.keys)); /* pixels: names of rows, and 12 a key */
    oa_text_printf(out, "<section class=\"layer\">\n");
    add_written(v, oa_view_title, "<h2>", "</h2>\n", out);
    add_written(v, oa_view_attention, "<figure><figcaption><code>", "</code>.", out);
    if (isfinite(v->deviation))
        oa_text_printf(out,
                       " Maps times values reproduce the output of the layer to within %.1g of its "
                       "largest element.",
                       v->deviation);
    else
        oa_text_printf(out, " The maps were not checked against the output of the layer: %s.",
                       oa_layer_without_map(v->layer) ? "a head has no map"
                                                      : "each row has values of its own");
    oa_text_printf(out, "</figcaption>\n<ul class=\"heads\" style=\"--card:%ldpx\">\n", card);
    for (long h = 0; h < v->layer->shape.heads; h++)
        add_map(out, s, v, h);
    oa_text_printf(out, "</ul>\n");
    if (oa_replaceable_heads(v) > 0)
        add_written(v, oa_view_suggestion,
                    "<p class=\"suggestion\">Suggestion, to be tested with <code>orthant "
                    "compare</code>: <code>",
                    "</code></p>\n", out);
    oa_text_printf(out, "</figure>\n</section>\n");
}

/* ---- the table ---- */

static void add_head_facts_row(struct oa_text *out, const struct oa_layer_view *v, int layer,
                               long head)
{
    const struct oa_head_facts *f = &v->head[head];
    bool marked = oa_head_replaceable(v, head);
    struct oa_text own;
    oa_text_init(&own, out->context);
    oa_atom_print(oa_view_group(v, head)->atom, &own);
    oa_text_printf(out, "<tr%s><th scope=\"row\" data-v=\"%d\">",
                   marked ? " class=\"covered\"" : "", layer);
    add_written(v, oa_view_title, "", "", out);
    oa_text_printf(out, "</th><td class=\"num\" data-v=\"%ld\">%ld</td>", head, head);
    add_tagged(out, "<td class=\"spec\">", own.s ? own.s : "", "</td>");
    add_head_cell(out, f->entropy, 1, 3);
    add_head_cell(out, f->entropy_share, 100, 1);
    add_head_cell(out, f->distance, 1, 2);
    add_tagged(out, "<td class=\"spec\"><span class=\"name\">", oa_fixed_name(f->nearest),
               "</span></td>");
    add_head_cell(out, f->covered, 100, 1);
    oa_text_printf(out, "</tr>\n");
    oa_text_free(&own);
}

static void add_heads_table(struct oa_text *out, const struct oa_inspected *s)
{
    oa_text_printf(out,
                   "<section id=\"heads\">\n<h2>Heads that a fixed attention could replace</h2>\n"
                   "<p>Each head with the fixed attention that covers most of its mass; heads "
                   "covered to %.0f %% or more are marked.</p>\n<div class=\"panel\"><div "
                   "class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"heads\"><table "
                   "class=\"sortable\">\n<thead><tr><th scope=\"col\">layer</th><th scope=\"col\" "
                   "class=\"num\">head</th><th scope=\"col\">attention</th><th scope=\"col\" "
                   "class=\"num\">entropy\nnats</th><th scope=\"col\" class=\"num\">entropy\n%% of "
                   "maximum</th><th scope=\"col\" class=\"num\">distance\ntokens</th><th "
                   "scope=\"col\">nearest fixed attention</th><th scope=\"col\" "
                   "class=\"num\">covers\n%% of mass</th></tr></thead>\n<tbody>\n",
                   100 * OA_REPLACEABLE);
    for (int l = 0; l < s->what->layers; l++)
        for (long h = 0; h < s->what->layer[l].layer->shape.heads; h++)
            if (oa_view_group(&s->what->layer[l], h)->mechanism->weights)
                add_head_facts_row(out, &s->what->layer[l], l, h);
    oa_text_printf(out, "</tbody></table></div></div>\n");
}

static void add_suggestion(struct oa_text *out, const struct oa_inspected *s)
{
    struct oa_text suggestion;
    oa_text_init(&suggestion, out->context);
    if (oa_inspection_suggestion(s->what, &suggestion))
        add_tagged(out,
                   "<p id=\"suggestion\">With the heads that are covered to 80 % or more replaced, "
                   "the attention is <code>",
                   suggestion.s,
                   "</code>. This suggestion is based on one text; test how a model trains with "
                   "it with <code>orthant compare</code>.</p>\n");
    oa_text_free(&suggestion);
    oa_text_printf(out, "</section>\n");
}

static void add_method(struct oa_text *out)
{
    oa_text_printf(
        out,
        "<section id=\"method\">\n<h2>How the numbers are computed</h2>\n"
        "<dl class=\"method\">\n"
        "<div><dt>Maps</dt><dd>The attention weights that the plain definition of the "
        "mechanism, in double precision, gives for the input of the layer. Rows are "
        "queries, columns keys; keys that a query cannot see are blank. The colour shows "
        "the square root of a weight's magnitude, from 0 to 1 and more.</dd></div>\n"
        "<div><dt>Mass</dt><dd>|A<sub>ij</sub>| divided by the sum of its row: the weight "
        "itself where rows are averages.</dd></div>\n"
        "<div><dt>Entropy</dt><dd>The mean over rows of −Σ p ln p, in nats and as a percentage of "
        "its maximum, the logarithm of the number of visible keys, summed over rows.</dd></div>\n"
        "<div><dt>Distance</dt><dd>The mean over rows of Σ p |i − j|, in tokens. In "
        "cross-attention i and j are positions in two texts.</dd></div>\n"
        "<div><dt>Covers</dt><dd>The mean over rows of Σ min(p, w) with the fixed weights "
        "w: 1 minus the total variation distance. Candidates are all forms of "
        "<code>pattern</code> in this mode and the uniform average, <code>" OA_UNIFORM_ATTENTION
        "</code>, which is the only one in cross-attention.</dd></div>\n</dl>\n</section>\n");
}

void oa_inspection_html(const struct oa_inspected *s, struct oa_text *out)
{
    oa_html_begin(out, "Attention maps");
    oa_text_printf(out, "<style>\n%s</style>\n", oa_inspect_page_css);
    add_inspection_header(out, s);
    oa_text_printf(out, "<h2>Weights</h2>\n");
    add_scale(out);
    for (int i = 0; i < s->what->layers; i++)
        add_layer(out, s, &s->what->layer[i]);
    add_heads_table(out, s);
    add_suggestion(out, s);
    add_method(out);
    oa_text_printf(out, "<script>\n%s</script>\n", oa_inspect_page_js);
    oa_html_end(out);
}
