/* SPDX-License-Identifier: Apache-2.0
 * The prefix cache: decoding states after the first chunks of prompts, with the scores of their
 * tokens, so that a prompt that begins like an earlier one is read from there on. Chunks end at the
 * same places in every text (OA_DECODING_CHUNK), so the results are bit for bit those of reading
 * all of it.
 *
 * A state is stored after the last whole chunk of a text, and after the last one that the text has
 * in common with a recent one: the examples before all questions, the question before all answers.
 */
#ifndef ORTHANT_SERVE_PREFIXES_H
#define ORTHANT_SERVE_PREFIXES_H

#include "serve/serve.h"

enum { OA_MOST_PREFIXES = 16, OA_RECENT_TEXTS = 16 };
struct oa_choice;
struct oa_prefix;

struct oa_recent_text {
    const struct oa_served_model *model; /* NULL: none */
    struct oa_ids ids;
};
struct oa_prefixes {
    oa_context *context;
    size_t bytes, most_bytes;
    struct oa_prefix *stored; /* the last used first */
    int count;
    struct oa_recent_text recent[OA_RECENT_TEXTS];
    int next;      /* of recent: the oldest */
    double reused; /* tokens that were not read */
};
/* Where the state of a text that is being read is to be stored: numbers of tokens, 0: nowhere. */
struct oa_prefix_plan {
    long shared, last;
};

void oa_prefixes_open(oa_context *c, size_t most_bytes, struct oa_prefixes *out);
void oa_prefixes_close(struct oa_prefixes *p);
/* Copies the longest stored prefix of the choice's prompt, at least one token shorter than what the
 * choice reads, to the decoding, which must be empty, and its scores to the choice if it computes
 * them. */
enum oa_error oa_prefixes_start(struct oa_prefixes *p, struct oa_choice *c, struct oa_decoding *to,
                                struct oa_prefix_plan *plan);
/* After a chunk: stores the state if the plan has this length. logits [vocabulary]: of the next
 * token, used if the choice computes scores, of which it must have those of the tokens read. */
enum oa_error oa_prefixes_offer(struct oa_prefixes *p, struct oa_choice *c,
                                const struct oa_decoding *from, const struct oa_prefix_plan *plan,
                                const double *logits);

#endif
