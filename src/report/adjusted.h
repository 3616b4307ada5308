/* SPDX-License-Identifier: Apache-2.0
 *
 * The one estimate that an attention is ordered by and shown with where attentions have different
 * numbers of seeds. Private to report/, but for its tests.
 */
#ifndef ORTHANT_REPORT_ADJUSTED_H
#define ORTHANT_REPORT_ADJUSTED_H

#include "report/summary.h"

/* Sets `uneven` of the summary, `adjusted` and `plain` of its entries. Needs their means and twins,
 * and the uniform baseline. */
enum oa_error oa_adjust_means(oa_context *c, const struct oa_comparison *k, struct oa_summary *s);

double oa_adjusted_cost(const struct oa_comparison *k, const struct oa_summary *s, int entry);

/* The numbers that are compared. Where `plain`: the mean with its interval, and the paired
 * difference with that of its verdict; otherwise the adjusted mean, and the difference of two of
 * them, without any. */
struct oa_estimate oa_shown_score(const struct oa_comparison *k,
                                  const struct oa_standing *e); /* in its own direction */
struct oa_estimate oa_to_reference(const struct oa_comparison *k, const struct oa_summary *s,
                                   int entry); /* of costs */
/* The same in percent of the reference's score. */
double oa_percent_to_reference(const struct oa_summary *s, int entry);
double oa_shown_perplexity(
    const struct oa_standing *e); /* of the loss shown, in a comparison about the loss */
double oa_shown_bits(const struct oa_standing *e); /* a character, likewise */

/* " Attentions have different numbers of seeds: …"; nothing where nothing is adjusted. */
void oa_adjusted_sentences(const struct oa_comparison *k, const struct oa_summary *s,
                           struct oa_text *out);

#endif
