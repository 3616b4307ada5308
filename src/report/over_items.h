/* SPDX-License-Identifier: Apache-2.0
 *
 * Differences over seeds and items. Over seeds: would other seeds on these validation data agree?
 * Over seeds and items: would other seeds on other validation data of the same kind agree?
 * (statistics/crossed.c). Private to report/, but for its tests.
 */
#ifndef ORTHANT_REPORT_OVER_ITEMS_H
#define ORTHANT_REPORT_OVER_ITEMS_H

#include "print/print.h"
#include "report/summary.h"

#include <jansson.h>

enum oa_items_state {
    OA_ITEMS_KNOWN,
    OA_ITEMS_ONE,     /* one seed, or one item */
    OA_ITEMS_NO_MEAN, /* the measure is no mean over items, such as BLEU or F1 */
    OA_ITEMS_MISSING, /* a run has no file of items: an older version made it */
    OA_ITEMS_UNLIKE   /* runs have items of different sizes */
};
struct oa_over_items {
    enum oa_items_state state;
    bool text; /* items are blocks of a text; else examples */
    struct oa_crossed
        of; /* where known: of a's cost minus b's, over the seeds that both finished */
};
/* Neighbouring blocks of a text depend on each other: they are merged, as in the method of batch
 * means, into so many to twice as many (Schmeiser, Operations Research 30 (1982), 556-568: more
 * than 30 gain nothing). */
enum { OA_MERGED_BLOCKS = 30 };

enum oa_error oa_over_items_of(oa_context *c, const struct oa_comparison *k, int a, int b,
                               struct oa_over_items *out);
/* Half widths of both intervals of that difference at the level of its verdict, with the standard
 * error over seeds that the verdict has, which x->of gets, too; NaN: there is none, also with
 * interim analyses. */
struct oa_item_halves {
    double level, seeds, both;
};
struct oa_item_halves oa_item_halves_of(const struct oa_comparison *k, const struct oa_against *a,
                                        struct oa_over_items *x);

/* With compare.items random: standard errors and degrees of freedom over seeds and items, for
 * intervals at this level, of differences whose own are over seeds; NaN where there are none. */
enum oa_error oa_set_item_errors(oa_context *c, const struct oa_comparison *k, double level,
                                 struct oa_against *a, int n);

/* "872 examples", "31 blocks of the validation text". */
void oa_add_items(const struct oa_over_items *x, struct oa_text *out);

/* over_items_json.c: "over_seeds", "over_items" and "items_state" of a against b. */
void oa_set_item_intervals(oa_context *c, const struct oa_comparison *k, const struct oa_against *a,
                           json_t *object);

/* items_section.c: the table of both intervals; sentences about where they disagree, or why there
 * are none; nothing with one seed or with interim analyses. */
void oa_items_sentence(const struct oa_comparison *k, const struct oa_summary *s,
                       struct oa_text *out);
void oa_items_markdown(const struct oa_comparison *k, const struct oa_summary *s,
                       struct oa_text *out);
void oa_page_items(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out);

#endif
