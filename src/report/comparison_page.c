/* SPDX-License-Identifier: Apache-2.0
 *
 * report.html: the order of the page, and its head. The answer comes first: the recommendation, one
 * chart of the judged differences, a table with one verdict a row; the rest is folded below.
 */
#include "report/metric_words.h"
#include "report/notes.h"
#include "report/over_items.h"
#include "report/page.h"
#include "report/report.h"
#include "report/retained.h"

#include <ctype.h>
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
void oa_page_name(const struct oa_comparison *k, int entry, struct oa_text *out)
{
    oa_text_printf(out, "<span class=\"swatch c%d%s\"></span><span class=\"spec\">",
                   entry % OA_COLORS, entry < OA_COLORS ? "" : " again");
    for (const char *at = oa_entry_name(&k->entries[entry]); *at;) {
        size_t n = strcspn(at, "(,=");
        n += at[n] != 0;
        add_piece(at, n, out);
        oa_text_printf(out, at[n] ? "<wbr/>" : "");
        at += n;
    }
    oa_text_printf(out, "</span>");
}

void oa_page_open(const char *id, const char *heading, struct oa_text *out)
{
    oa_text_printf(out, "<section id=\"%s\"><details class=\"fold\"><summary><h2>", id);
    oa_html_text(out, heading);
    oa_text_printf(out, "</h2></summary>\n");
}

void oa_page_close(struct oa_text *out)
{
    oa_text_printf(out, "</details></section>\n");
}

/* ---- head ---- */

static bool continues_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* The longest attention whose spec begins at `text` and ends with a word, or -1. */
static int attention_at(const struct oa_comparison *k, const char *text)
{
    int found = -1;
    size_t longest = 0;
    for (int i = 0; i < k->count; i++) {
        const char *name = oa_entry_name(&k->entries[i]);
        size_t n = strlen(name);
        if (n > longest && strncmp(text, name, n) == 0 &&
            !(continues_word(name[n - 1]) && continues_word(text[n]))) {
            longest = n;
            found = i;
        }
    }
    return found;
}

/* n bytes of the conclusion, with specs, which begin a word, as code. */
static void add_sentence(const struct oa_comparison *k, const char *text, size_t n,
                         struct oa_text *out)
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

/* The first sentence is the headline, the others follow in plain size. Sentences end with ". ": no
 * spec holds that. */
static void add_recommendation(const struct oa_comparison *k, const char *text, struct oa_text *out)
{
    const char *rest = strstr(text, ". ");
    size_t first = rest ? (size_t)(rest + 2 - text) : strlen(text);
    oa_text_printf(out, "<h1 id=\"recommendation\">");
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

/* Of the best attention's runs; under another budget than tokens those of others differ, as the
 * table shows. */
static void add_facts(const struct oa_comparison *k, const struct oa_summary *s,
                      struct oa_text *out)
{
    char number[OA_NUMBER];
    struct oa_text plain;
    oa_text_init(&plain, out->context);
    int least = oa_fewest_seeds(s, true);
    oa_text_printf(&plain, least < s->seeds ? "%d × %d–%d" : "%d × %d", s->count, least, s->seeds);
    oa_text_printf(out, "<ul class=\"facts\">\n");
    char what[OA_LABEL];
    snprintf(what, sizeof what, "%ss × %s%s", oa_entry_kind(k), k->unpaired ? "run" : "seed",
             oa_plural(s->seeds));
    add_fact(plain.s ? plain.s : "", what, out);
    double steps = first_finite(s, offsetof(struct oa_standing, steps));
    if (steps > 0)
        add_fact(oa_number_si(number, steps), "training steps", out);
    if (!k->imported) {
        add_fact(oa_number_si(number, first_finite(s, offsetof(struct oa_standing, tokens))),
                 "training tokens", out);
        add_fact(oa_number_si(number, oa_validation_used(k)), oa_validation_unit(k), out);
        add_fact(oa_number_seconds(number, first_finite(s, offsetof(struct oa_standing, seconds))),
                 "training time per run", out);
    }
    oa_text_printf(out, "</ul>\n");
    oa_text_free(&plain);
}

/* ---- the page ---- */

void oa_report_html(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    oa_html_begin(out, s->recommendation);
    oa_text_printf(out, "<header>\n<p class=\"above\">Orthant · a comparison of %ss%s",
                   oa_entry_kind(k), k->imported ? "" : " · same ");
    oa_html_text(out, k->imported ? "" : oa_budget_name(k->equal));
    oa_text_printf(out, "</p>\n");
    add_recommendation(k, s->recommendation, out);
    oa_text_printf(out, "</header>\n");
    oa_page_differences(k, s, out);
    oa_page_results(k, s, out);
    oa_page_retained(k, s, out);
    oa_page_solved(k, s, out);
    oa_page_items(k, s, out);
    oa_page_test(k, s, out);
    oa_text_printf(out, "<p id=\"conclusion\">");
    add_sentence(k, s->conclusion, strlen(s->conclusion), out);
    oa_text_printf(out, "</p>\n");
    add_facts(k, s, out);
    oa_page_tuning(k, s, out);
    oa_page_trajectories(k, s, out);
    oa_page_pairs(k, s, out);
    oa_page_variances(k, out);
    oa_page_metric_curves(k, s, out);
    oa_page_curves(k, s, out);
    oa_page_parts(k, s, out);
    oa_page_examples(k, s, out);
    if (!k->imported)
        oa_page_trade_offs(k, s, out);
    oa_page_runs(k, s, out);
    oa_page_method(k, s, out);
    if (!k->imported)
        oa_page_settings(k, out);
    oa_html_end(out);
}
