/* SPDX-License-Identifier: Apache-2.0
 *
 * The dispatcher of a comparison on several ranks: the first rank runs the comparison and hands out
 * its runs; each of the others trains one at a time, in the folder of the comparison, which all
 * must see. With compare.ranks above 1 groups of ranks train a run together: every rank of a group
 * gets the command, and the group's first reports and writes. The results are checked as when a
 * comparison is resumed, so a lost rank costs what it did since its run's newest checkpoint.
 *
 *     dispatch.c      messages
 *     worker_rank.c   a rank that trains what it is handed
 *     jobs_ranks.c    the first rank, next to the runs that it trains itself
 */
#ifndef ORTHANT_DISPATCH_H
#define ORTHANT_DISPATCH_H

#include "compare/run_spec.h"

/* From the first rank to another. */
enum oa_rank_command_kind { OA_COMMAND_TRAIN, OA_COMMAND_STOP, OA_COMMAND_LEAVE };
struct oa_rank_command {
    enum oa_rank_command_kind kind;
    int signal; /* STOP, LEAVE: that stopped the comparison; 0: none did */
    struct oa_options options;
    struct oa_origin origin; /* what its texts must be */
    double held_out;         /* as in struct oa_run_spec */
    double trainable, frozen;
    bool itemised;
    long number, count;
    char folder[OA_PATH], title[OA_OPTION_TEXT];
};
/* The answers. */
enum oa_rank_status_kind {
    OA_STATUS_WORKING,
    OA_STATUS_NOTICE,
    OA_STATUS_ENDED,
    OA_STATUS_FAILED,
    OA_STATUS_STOPPED /* of a rank without a run */
};
struct oa_rank_status {
    enum oa_rank_status_kind kind;
    int from, level, code; /* NOTICE: level; FAILED: an oa_error */
    int signal;            /* FAILED, STOPPED: that the run or the rank was stopped by; 0: none */
    double done;           /* share of the run */
    char host[OA_HOST], line[1024];
};

enum oa_error oa_dispatch_send_command(struct oa_cluster *cl, int to,
                                       const struct oa_rank_command *command);
bool oa_dispatch_receive_command(struct oa_cluster *cl, struct oa_rank_command *out);
/* To the first rank. */
enum oa_error oa_dispatch_send_status(struct oa_cluster *cl, const struct oa_rank_status *status);
bool oa_dispatch_receive_status(struct oa_cluster *cl, struct oa_rank_status *out);
/* On the first rank, while no other has a run: a stop of theirs becomes its own. */
void oa_dispatch_receive_stops(struct oa_cluster *cl);

/* On the first rank, however the comparison ended: the others may leave, unless they are lost. */
void oa_dispatch_dismiss(struct oa_cluster *cl);
/* On the others, with their own options: checks that these and the texts are those of the first
 * rank, then trains runs until dismissed; failures of runs are reported by the first rank.
 * OA_INTERRUPTED, without a message, when the comparison was stopped: the context has the signal.
 */
enum oa_error oa_worker_rank_run(struct oa_cluster *cl, const struct oa_options *own);

#endif
