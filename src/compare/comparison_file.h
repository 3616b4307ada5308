/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a comparison in its folder, each with a checksum.
 *
 * contest.json: the fingerprint of what all its runs share, and its members, each an attention with
 * its budget. The place of a member is the number of its folder, so that a later call of the same
 * comparison may add attentions, leave some out or name them in another order.
 *
 * spending.json: what a comparison with compare.until_resolved has used so far, over all calls for
 * its folder.
 */
#ifndef ORTHANT_COMPARISON_FILE_H
#define ORTHANT_COMPARISON_FILE_H

#include "train/fingerprint.h"

struct oa_member {
    const char *attention; /* canonical form */
    long steps, ffn;       /* what makes the budgets equal */
};

/* The members of the comparison in the folder, as a JSON array to be passed on (json_decref it):
 * none when there is no comparison, or one of which nothing was trained yet. OA_ARGUMENT when it
 * has another fingerprint, OA_FORMAT when the file was changed. */
enum oa_error oa_comparison_file_read(oa_context *c, const char *folder, const json_t *fingerprint,
                                      json_t **members);
/* The fingerprint of that comparison; NULL: there is none, or nothing was trained yet. json_decref
 * it. */
enum oa_error oa_comparison_file_fingerprint(oa_context *c, const char *folder, json_t **out);
enum oa_error oa_comparison_file_write(oa_context *c, const char *folder, json_t *fingerprint,
                                       json_t *members);
/* Where the data would decide on the tokenizer of BLEU, the one that the comparison began with: an
 * older version may have decided otherwise. */
enum oa_error oa_comparison_file_keep_bleu(oa_context *c, const char *folder, struct oa_options *o);
/* The place of the attention, and its budget; -1: not a member. */
int oa_comparison_file_find(const json_t *members, const char *attention, struct oa_member *out);
/* The values that were chosen for the member, {"train.lr": "0.003"}, borrowed; NULL: none were. Set
 * takes them over. seed: of the comparison, whose runs have them; NULL: those of all seeds. */
const json_t *oa_comparison_file_tuned(const json_t *members, int place, const char *seed);
void oa_comparison_file_set_tuned(json_t *members, int place, const char *seed, json_t *values);
/* Returns its place. */
int oa_comparison_file_add(json_t *members, const struct oa_member *member);

struct oa_spending {
    double clock;    /* wall-clock seconds of whole commands */
    double rounds;   /* of these, in rounds that trained something */
    double training; /* seconds of training without validation, of the runs made in these rounds */
};
/* Nothing was written yet: zeros. OA_FORMAT when the file was changed. */
enum oa_error oa_spending_read(oa_context *c, const char *folder, struct oa_spending *out);
enum oa_error oa_spending_write(oa_context *c, const char *folder,
                                const struct oa_spending *spending);

#endif
