/* SPDX-License-Identifier: Apache-2.0
 * cluster: several processes ("ranks") that do one piece of work, started by mpirun or srun.
 *
 * Blocks of bytes go from rank to rank, and every wait for them has a timeout. mpi.c is the only
 * file that uses MPI; a program that is built without it has alone.c in its place, for a single
 * rank. A single rank has no cluster at all: every function here takes NULL for it and does
 * nothing.
 *
 *     cluster.c     who is there, gathering, agreeing, waiting
 *     wait.c        the length of a wait
 *     tree_sum.c    sums over micro-batches in one order, whichever rank made which
 *     mpi.c         MPI, or alone.c
 *
 * A context belongs to one rank; messages are sent and received in the thread that joined. */
#ifndef ORTHANT_CLUSTER_H
#define ORTHANT_CLUSTER_H

#include "base/base.h"

enum { OA_HOST = 64, OA_ENGINE = 64 };

struct oa_messages; /* that are under way */

struct oa_cluster_ops {
    /* Messages that are waited for together; NULL after a recorded failure. Those that are still
     * under way when it is closed must be over, or the cluster lost. */
    struct oa_messages *(*open)(struct oa_cluster *cl);
    void (*close)(struct oa_messages *m);
    /* Blocks stay where they are until oa_messages_wait. From one rank to another those of a tag
     * arrive in order. */
    void (*send)(struct oa_messages *m, int to, int tag, const void *data, size_t bytes);
    void (*receive)(struct oa_messages *m, int from, int tag, void *data, size_t bytes);
    /* Everybody takes part, in the same order: `bytes` of each rank into all [size · bytes]; rank
     * 0's to all. */
    void (*gather)(struct oa_messages *m, const void *mine, size_t bytes, void *all);
    void (*broadcast)(struct oa_messages *m, void *data, size_t bytes);
    bool (*arrived)(struct oa_messages *m); /* all of them; does not wait */
    /* Has something of that rank alone not come yet, or gone? False for all: it is of everybody
     * together. */
    bool (*missing)(const struct oa_messages *m, int rank);
    /* A message of `tag` that somebody sent and that has come in: at most `room` bytes; false:
     * there is none. */
    bool (*hear)(struct oa_cluster *cl, int tag, int *from, void *data, size_t room, size_t *bytes);
    /* Seconds for which the first rank has given no sign of life, since the wait for it began: the
     * first call. Asks. */
    double (*silence)(struct oa_cluster *cl, bool begins);
    /* Codes [size] of all that came here; false when they have not within `seconds`, or, with 0,
     * when the first rank is silent for longer than the cluster's timeout. Then nothing else is
     * sent. */
    bool (*leave)(struct oa_cluster *cl, int code, double seconds, int *codes);
    /* This rank's group of `size` ranks that follow one another, all together; NULL after a
     * recorded failure. */
    struct oa_cluster *(*split)(struct oa_cluster *cl, int size);
    void (*finish)(struct oa_cluster *cl);
    void (*abandon)(struct oa_cluster *cl, int code); /* ends every rank, this one too */
};

struct oa_cluster {
    oa_context *context;
    int rank, size;
    int first;                        /* of a group: the rank of its first in the whole */
    double timeout;                   /* seconds that a wait takes at most */
    double waited;                    /* seconds that were spent in waits */
    const struct oa_cluster_ops *ops; /* NULL: there is only talk of one, in a plan */
    char host[OA_HOST];
    bool lost; /* not all came to the end */
    bool mute; /* a copy for another thread, which does not tell the others about long waits */
    struct oa_messages *word; /* of such waits, under way; NULL: none */
    void *own;
    struct oa_cluster *part; /* the group of this rank; NULL: it works alone. It may be used from
                                another thread. */
    struct oa_late *
        late; /* memory that messages which were given up may still come into; kept until the end */
};

/* What joins ranks: "Open MPI 4.1.4", or "" where the program was built without MPI. */
void oa_cluster_engine(char out[OA_ENGINE]);
/* Joins the ranks that were started with this one; *out is NULL where there is none. Several
 * ranks of a program without MPI are refused: each would do all the work, in the same folder. Once
 * a process. timeout: seconds within which the others must join, but OA_LEAST_TIMEOUT at least:
 * programs do not start at the same time; 0: 600. */
enum { OA_LEAST_TIMEOUT = 10 };
enum oa_error oa_cluster_open(oa_context *c, double timeout, struct oa_cluster **out);

/* ---- wait.c ---- */

/* The length of a wait, in which the time between two polls counts for a second at most: a process
 * that was suspended (a batch system may do so for hours) has heard nobody meanwhile, and the ranks
 * that it waits for may have been suspended with it. */
struct oa_wait {
    double polled, seconds; /* clock; of the wait so far */
};
void oa_wait_begin(struct oa_wait *w);
double oa_wait_poll(struct oa_wait *w); /* seconds so far */

/* ---- cluster.c ---- */

int oa_rank_of(const struct oa_cluster *cl);    /* 0: alone, too */
int oa_rank_count(const struct oa_cluster *cl); /* 1: alone */
double
oa_cluster_waited(const struct oa_cluster *cl); /* seconds that were spent in waits; 0: alone */
/* Until all have arrived, or the timeout: OA_IO then, with a message that names the late ranks and
 * `what` was waited for. */
enum oa_error oa_messages_wait(struct oa_cluster *cl, struct oa_messages *m, const char *what);
/* The same for more than one lot of messages. step: handles what has come in; returns messages that
 * are still under way, or NULL. */
typedef struct oa_messages *oa_message_step(void *argument);
enum oa_error oa_cluster_wait(struct oa_cluster *cl, oa_message_step *step, void *argument,
                              const char *what);
enum oa_error oa_cluster_gather(struct oa_cluster *cl, const char *what, const void *mine,
                                size_t bytes, void *all);
enum oa_error oa_cluster_broadcast(struct oa_cluster *cl, const char *what, void *data,
                                   size_t bytes);
/* OA_OK when every rank comes here without a failure. Otherwise that of the lowest rank that has
 * one is recorded everywhere: as it is where all have the same, else after the rank and its host.
 */
enum oa_error oa_cluster_agree(struct oa_cluster *cl, enum oa_error mine);

/* Makes cl->part, of `size` ranks each; 1: there are no groups. All ranks together; the size is
 * rank 0's. */
enum oa_error oa_cluster_split(struct oa_cluster *cl, long size);
/* After a failure in what all ranks do together: true when all come here with one within a few
 * seconds. The failure stays. A rank that fails while others work on has to end them. */
bool oa_cluster_all_failed(struct oa_cluster *cl);
void oa_cluster_free_late(struct oa_cluster *cl); /* when no message can come in any more */

/* While waiting for the first rank, which may take however long: OA_IO when it has given no sign of
 * life for longer than the timeout. begins: the wait does. */
enum oa_error oa_cluster_check_first(struct oa_cluster *cl, bool begins);

/* At the end of the work, also after a failure. True: this rank is to report the failure, since it
 * is the first that has one, or the only one; its message then begins with the rank and the host. A
 * rank with a failure waits a few seconds for the others, one without until all have come: the
 * first for the timeout, the others as long as the first, which may have files to write yet, lives.
 * A rank that does not come is a failure. */
bool oa_cluster_end(struct oa_cluster *cl);
/* After that: leaves, or ends the ranks that did not come, with the exit code `code`. */
void oa_cluster_close(struct oa_cluster *cl, int code);

/* ---- launch.c ---- */

/* Ranks that mpirun or srun started together with this process, by what they put into its
 * environment; 1: none. */
long oa_launched_ranks(void);

#endif
