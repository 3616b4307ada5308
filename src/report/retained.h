/* SPDX-License-Identifier: Apache-2.0
 * The share that an attention retains of what softmax, or the baseline, gains over the uniform
 * baseline. Private to report/, but for its tests. */
#ifndef ORTHANT_REPORT_RETAINED_H
#define ORTHANT_REPORT_RETAINED_H

#include "print/print.h"
#include "report/summary.h"
#include "statistics/fieller.h"

#include <jansson.h>

enum oa_retained_state {
    OA_RETAINED_NONE,         /* it is the uniform baseline, or a run of the three failed */
    OA_RETAINED_BOUNDED,      /* share.low … share.high is its 95 % interval */
    OA_RETAINED_ONE_SEED,     /* no interval can be given */
    OA_RETAINED_UNBOUNDED,    /* the gain is not shown to differ from 0: no interval */
    OA_RETAINED_LOSS,         /* the gain is shown to be below 0: there is nothing to retain */
    OA_RETAINED_INSIGNIFICANT /* the verdict of the family leaves the gain open */
};
struct oa_retained {
    enum oa_retained_state state;
    struct oa_fieller share; /* (uniform - x) / (uniform - baseline), of costs */
};

/* The entry whose gain over the uniform baseline is 1: the baseline, or softmax where there is
 * none. -1: neither is among the entries, or there is no uniform baseline. */
int oa_retained_whole(const struct oa_comparison *k, const struct oa_summary *s);
/* Over the seeds that the entry, the whole and the uniform baseline have in common. */
struct oa_retained oa_retained_of(const struct oa_comparison *k, const struct oa_summary *s,
                                  int entry);
bool oa_retained_shown(const struct oa_retained *r); /* whether there is a value to show */
/* "[0.71, 1.02]"; "" where there is no interval. */
char *oa_retained_ends(char out[OA_INTERVAL], const struct oa_retained *r);
/* Whether any attention but the whole has a value to show. */
bool oa_retained_any(const struct oa_comparison *k, const struct oa_summary *s);

/* Why there is no interval: "not bounded: softmax is not shown to differ from the uniform
 * baseline"; nothing where there is one. */
void oa_retained_reason(const struct oa_comparison *k, const struct oa_summary *s,
                        enum oa_retained_state state, struct oa_text *out);
/* "linear keeps 85 % (95 % interval 71 to 102 %), … of what softmax gains over the uniform
 * baseline.", or the reason why nothing can be said; nothing where there is no whole. */
void oa_retained_sentence(const struct oa_comparison *k, const struct oa_summary *s,
                          struct oa_text *out);
/* A line below a table: what its column means, or, where it has none, the sentence. */
void oa_retained_note(const struct oa_comparison *k, const struct oa_summary *s, bool column,
                      struct oa_text *out);
json_t *oa_retained_json(oa_context *c, const struct oa_comparison *k, const struct oa_summary *s,
                         int entry); /* retained_json.c; null: does not apply */
/* retained_section.c: nothing where there is no whole or no other attention. */
void oa_page_retained(const struct oa_comparison *k, const struct oa_summary *s,
                      struct oa_text *out);

#endif
