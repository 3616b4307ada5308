/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison on several ranks: the first holds it and hands out its runs, each of the others
 * carries out one at a time, in the folder of the comparison, which all must see. With
 * compare.ranks above 1 groups of ranks train a run together: every rank of a group gets the order,
 * and the group's first is the one that speaks and writes. What a run is and what it left there is
 * compared as it is when a comparison goes on, so a rank that is lost costs what it did since its
 * run's newest checkpoint.
 *
 *     farm.c         messages
 *     farm_serve.c   a rank that carries out orders
 *     jobs_ranks.c   the first rank, beside the runs that it makes itself
 */
#ifndef ORTHANT_FARM_H
#define ORTHANT_FARM_H

#include "compare/run_order.h"

/* What the first rank tells another. */
enum oa_farm_do { OA_FARM_TRAIN, OA_FARM_STOP, OA_FARM_LEAVE };
struct oa_farm_order {
    enum oa_farm_do what;
    int signal; /* STOP, LEAVE: that stopped the comparison; 0: none did */
    long order; /* its number where it came from */
    struct oa_options options;
    struct oa_origin origin; /* what its texts must be */
    double held;             /* as in struct oa_run_order */
    double trainable, frozen;
    long number, count;
    char folder[OA_PATH], title[OA_OPTION_TEXT];
};
/* What comes back. */
enum oa_farm_said {
    OA_FARM_WORKING,
    OA_FARM_NOTICE,
    OA_FARM_ENDED,
    OA_FARM_FAILED,
    OA_FARM_STOPPED
};
struct oa_farm_news {
    enum oa_farm_said what;
    int from, level, code; /* NOTICE: level; FAILED: an oa_error */
    int signal;   /* FAILED: that the run was stopped by; 0: none. STOPPED, without a run: that the
                     rank was */
    double share; /* of the run that is done */
    char host[OA_HOST], line[1024];
};

enum oa_error oa_farm_send(struct oa_cluster *cl, int to, const struct oa_farm_order *order);
bool oa_farm_hear_order(struct oa_cluster *cl, struct oa_farm_order *out);
enum oa_error oa_farm_tell(struct oa_cluster *cl,
                           const struct oa_farm_news *news); /* the first rank */
bool oa_farm_hear_news(struct oa_cluster *cl, struct oa_farm_news *out);
void oa_farm_hear_stops(
    struct oa_cluster *cl); /* on the first rank, while no other has a run: theirs become its own */

/* On the first rank, whatever became of the comparison: the others may go, unless they are lost;
 * stopped, if it was. */
void oa_farm_dismiss(struct oa_cluster *cl);
/* On the others, with the options that they were given: are they, and the texts, those of the
 * first? Then carries out orders until it may go; failures in these are the first rank's to tell.
 * OA_INTERRUPTED, without a sentence, when the comparison was stopped: the context says by what
 * signal. */
enum oa_error oa_farm_serve(struct oa_cluster *cl, const struct oa_options *own);

#endif
