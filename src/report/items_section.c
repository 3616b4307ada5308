/* SPDX-License-Identifier: Apache-2.0
 * Differences over seeds, and over seeds and items: a table in the page and in Markdown, and where
 * the two disagree about 0 a sentence everywhere. */
#include "report/metric_words.h"
#include "report/over_items.h"
#include "report/page.h"
#include "report/until.h"

#include <math.h>

/* An attention against what it is compared with. */
struct item_row {
    int entry, other;
    struct oa_against against;
    struct oa_over_items items;
    struct oa_item_halves half;
};

/* False: it is not compared, or has no interval over seeds. */
static bool find_item_row(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                          oa_context *c, struct item_row *out)
{
    *out = (struct item_row){ .entry = entry, .other = oa_compared_to(k, s) };
    if (out->other < 0 || entry == out->other)
        return false;
    out->against = s->pairs[entry * s->count + out->other];
    if (oa_over_items_of(c, k, entry, out->other, &out->items) != OA_OK)
        return false;
    out->half = oa_item_halves_of(k, &out->against, &out->items);
    return isfinite(out->half.seeds);
}

static bool excludes_zero(const struct item_row *r, double half)
{
    return fabs(r->against.difference.mean) > half;
}

/* The first row with an interval over seeds and items, or, where there is none, the first row. */
static bool find_typical_row(const struct oa_comparison *k, const struct oa_summary *s,
                             oa_context *c, struct item_row *out)
{
    bool found = false;
    for (int i = 0; i < s->count; i++) {
        struct item_row r;
        if (!find_item_row(k, s, s->order[i], c, &r))
            continue;
        if (!found || r.items.state == OA_ITEMS_KNOWN)
            *out = r;
        found = true;
        if (r.items.state == OA_ITEMS_KNOWN)
            break;
    }
    return found;
}

/* ---- sentences ---- */

/* Where no attention has an interval over seeds and items. */
static void add_lack(const struct oa_comparison *k, enum oa_items_state state, struct oa_text *out)
{
    static const char *const words[] = { [OA_ITEMS_ONE] = "there is one item",
                                         [OA_ITEMS_MISSING] =
                                             "an older version made runs of this comparison",
                                         [OA_ITEMS_UNLIKE] = "the runs have different items" };
    if (state == OA_ITEMS_NO_MEAN)
        oa_text_printf(out,
                       "Intervals are over seeds only: %s is no mean over validation data that "
                       "might have been others.\n",
                       oa_metric_word(k));
    else
        oa_text_printf(out, "Intervals over seeds and items are not available: %s.\n",
                       words[state]);
}

static void add_disagreement(const struct oa_comparison *k, const struct item_row *r,
                             struct oa_text *out)
{
    char mean[OA_NUMBER], seeds[OA_NUMBER], both[OA_NUMBER];
    struct oa_estimate e = oa_shown(k, r->against.difference);
    int decimals = oa_decimals(k);
    oa_text_printf(out,
                   "%s: the difference to %s, %s ±%s over seeds, is ±%s over seeds and items, "
                   "which includes 0: other validation data of the same kind may not show it.\n",
                   oa_entry_name(&k->entries[r->entry]), oa_entry_name(&k->entries[r->other]),
                   oa_number_signed(mean, e.mean, decimals),
                   oa_number_fixed(seeds, r->half.seeds, decimals),
                   oa_number_fixed(both, r->half.both, decimals));
}

void oa_items_sentence(const struct oa_comparison *k, const struct oa_summary *s,
                       struct oa_text *out)
{
    struct item_row r;
    int disagree = 0, excluded = 0;
    if (k->imported || !find_typical_row(k, s, out->context, &r))
        return;
    if (r.items.state != OA_ITEMS_KNOWN) {
        add_lack(k, r.items.state, out);
        return;
    }
    for (int i = 0; i < s->count; i++) {
        struct item_row row;
        if (!find_item_row(k, s, s->order[i], out->context, &row) ||
            row.items.state != OA_ITEMS_KNOWN || !excludes_zero(&row, row.half.seeds))
            continue;
        excluded++;
        if (excludes_zero(&row, row.half.both))
            continue;
        add_disagreement(k, &row, out);
        disagree++;
    }
    if (disagree)
        return;
    oa_text_printf(out, "Over seeds and items (");
    oa_add_items(&r.items, out);
    oa_text_printf(out, "), as over seeds alone, %s to %s exclude%s 0.\n",
                   excluded ? "the same differences" : "no difference",
                   oa_entry_name(&k->entries[r.other]), excluded ? "" : "s");
}

/* ---- the table ---- */

static void add_item_row(const struct oa_comparison *k, const struct item_row *r,
                         struct oa_table *t)
{
    static const char *const why_not[] = { [OA_ITEMS_ONE] = "one item",
                                           [OA_ITEMS_NO_MEAN] = "no mean over items",
                                           [OA_ITEMS_MISSING] = "run of an older version",
                                           [OA_ITEMS_UNLIKE] = "runs with different items" };
    char mean[OA_NUMBER], half[OA_NUMBER];
    struct oa_estimate e = oa_shown(k, r->against.difference);
    int decimals = oa_decimals(k);
    oa_table_cell(t, "%s", oa_entry_name(&k->entries[r->entry]));
    oa_table_cell(t, "%s", oa_number_signed(mean, e.mean, decimals));
    oa_table_cell(t, "±%s", oa_number_fixed(half, r->half.seeds, decimals));
    if (r->items.state != OA_ITEMS_KNOWN) {
        oa_table_cell(t, "%s", why_not[r->items.state]);
        oa_table_cell(t, "%s", excludes_zero(r, r->half.seeds) ? "over seeds" : "no");
        return;
    }
    oa_table_cell(t, "±%s", oa_number_fixed(half, r->half.both, decimals));
    oa_table_cell(t, "%s",
                  excludes_zero(r, r->half.both)    ? "yes"
                  : excludes_zero(r, r->half.seeds) ? "over seeds alone"
                                                    : "no");
}

static void write_items(const struct oa_comparison *k, const struct oa_summary *s,
                        const struct item_row *typical, oa_table_print *print, struct oa_text *out)
{
    static const struct oa_column columns[] = { { "attention", false, true },
                                                { "difference", true, false },
                                                { "over seeds", true, false },
                                                { "over seeds\nand items", true, false },
                                                { "excludes 0", false, false } };
    struct oa_table t;
    struct oa_text title;
    oa_text_init(&title, out->context);
    oa_table_init(&t, out->context, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < s->count; i++) {
        struct item_row r;
        if (find_item_row(k, s, s->order[i], out->context, &r))
            add_item_row(k, &r, &t);
    }
    oa_text_printf(&title,
                   "Differences of %s to %s. Over seeds: other seeds, the same validation "
                   "data. Over seeds and items: other seeds, and other validation data of "
                   "the same kind",
                   oa_metric_word(k), oa_entry_name(&k->entries[typical->other]));
    oa_text_printf(&title, "; items: ");
    oa_add_items(&typical->items, &title);
    oa_text_printf(&title,
                   ". ±: half-width at the level of the verdict. Verdicts use the interval over "
                   "seeds%s.",
                   k->random_items ? " and items" : "");
    print(&t, title.s ? title.s : "", out);
    oa_table_free(&t);
    oa_text_free(&title);
}

void oa_items_markdown(const struct oa_comparison *k, const struct oa_summary *s,
                       struct oa_text *out)
{
    struct item_row typical;
    if (!find_typical_row(k, s, out->context, &typical) || typical.items.state != OA_ITEMS_KNOWN)
        return;
    write_items(k, s, &typical, oa_table_titled_markdown, out);
    oa_text_printf(out, "\n");
}

void oa_page_items(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    struct item_row typical;
    if (!find_typical_row(k, s, out->context, &typical) || typical.items.state != OA_ITEMS_KNOWN)
        return;
    oa_text_printf(out, "<section id=\"items\">\n<h2>Other validation data</h2>\n"
                        "<div class=\"panel\">\n");
    write_items(k, s, &typical, oa_table_html, out);
    oa_text_printf(out, "</div>\n</section>\n");
}
