/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cluster.h"

#include "base/concurrent.h"

#include <sched.h>
#include <string.h>

int oa_rank_of(const struct oa_cluster *cl)
{
    return cl ? cl->rank : 0;
}

int oa_rank_count(const struct oa_cluster *cl)
{
    return cl ? cl->size : 1;
}

double oa_cluster_waited(const struct oa_cluster *cl)
{
    return cl ? cl->waited : 0;
}

/* ---- waiting ---- */

enum { TAG_WAITS = 32766 }; /* the largest that every MPI has, but one */

/* A timeout must name the rank that hangs, but all others wait, too: so a rank that has waited for
 * half of its timeout tells the others, and again when it waits no more. */
static bool tell_waiting(struct oa_cluster *cl, bool waits)
{
    static const bool words[] = { false, true };
    bool free = !cl->mute && (!cl->word || cl->ops->arrived(cl->word));
    if (free && !cl->word)
        cl->word = cl->ops->open(cl);
    for (int r = 0; free && cl->word && r < cl->size; r++)
        if (r != cl->rank)
            cl->ops->send(cl->word, r, TAG_WAITS, &words[waits], sizeof *words);
    return free && waits;
}

/* Writes "rank 2, rank 5": the others that are late and do not wait themselves. late: of whom
 * messages are missing; NULL: any of them. */
static bool print_late_ranks(const struct oa_cluster *cl, const struct oa_messages *late,
                             const bool *waits, char *out, size_t size)
{
    size_t n = 0;
    for (int r = 0; r < cl->size && n < size; r++)
        if (r != cl->rank && !waits[r] && (!late || cl->ops->missing(late, r)))
            n += (size_t)snprintf(out + n, size - n, "%srank %d", n ? ", " : "", cl->first + r);
    return n > 0;
}

/* A rank whose messages are missing may only wait itself, for one that does not wait. */
static void name_late_ranks(struct oa_cluster *cl, const struct oa_messages *m, char *out,
                            size_t size)
{
    bool *waits = oa_alloc(cl->context, (size_t)cl->size * sizeof *waits);
    size_t bytes;
    bool word;
    int from;
    while (waits && cl->ops->hear(cl, TAG_WAITS, &from, &word, sizeof word, &bytes))
        waits[from] = word;
    if (!waits || (!print_late_ranks(cl, m, waits, out, size) &&
                   !print_late_ranks(cl, NULL, waits, out, size)))
        snprintf(out, size, "the other ranks");
    oa_free(waits);
}

/* Polls, since MPI moves messages only while it is called, and yields the core in between. */
enum oa_error oa_cluster_wait(struct oa_cluster *cl, oa_message_step *step, void *argument,
                              const char *what)
{
    double began = oa_clock();
    bool reported = false;
    struct oa_wait w;
    oa_wait_begin(&w);
    const struct oa_messages *late = step(argument);
    while (late && oa_wait_poll(&w) < cl->timeout) {
        sched_yield();
        reported = reported || (w.seconds > cl->timeout / 2 && tell_waiting(cl, true));
        late = step(argument);
    }
    if (reported && !late)
        tell_waiting(cl, false);
    cl->waited += oa_clock() - began;
    if (!late)
        return oa_status(cl->context);
    char who[256];
    name_late_ranks(cl, late, who, sizeof who);
    return oa_fail(cl->context, OA_IO,
                   "rank %d on %s timed out after %.0f s waiting for %s from %s: check its log; "
                   "cluster.timeout sets a longer timeout",
                   cl->first + cl->rank, cl->host, cl->timeout, what, who);
}

struct message_lot {
    const struct oa_cluster *cluster;
    struct oa_messages *messages;
};

static struct oa_messages *poll_lot(void *argument)
{
    const struct message_lot *lot = argument;
    return lot->cluster->ops->arrived(lot->messages) ? NULL : lot->messages;
}

enum oa_error oa_messages_wait(struct oa_cluster *cl, struct oa_messages *m, const char *what)
{
    return oa_cluster_wait(cl, poll_lot, &(struct message_lot){ cl, m }, what);
}

/* ---- together ---- */

static enum oa_error wait_and_close(struct oa_cluster *cl, struct oa_messages *m, const char *what)
{
    enum oa_error e = oa_messages_wait(cl, m, what);
    cl->ops->close(m);
    return e;
}

enum oa_error oa_cluster_gather(struct oa_cluster *cl, const char *what, const void *mine,
                                size_t bytes, void *all)
{
    if (!cl) {
        memcpy(all, mine, bytes);
        return OA_OK;
    }
    struct oa_messages *m = cl->ops->open(cl);
    if (!m)
        return OA_NO_MEMORY;
    cl->ops->gather(m, mine, bytes, all);
    return wait_and_close(cl, m, what);
}

enum oa_error oa_cluster_broadcast(struct oa_cluster *cl, const char *what, void *data,
                                   size_t bytes)
{
    struct oa_messages *m = cl ? cl->ops->open(cl) : NULL;
    if (!m)
        return cl ? OA_NO_MEMORY : OA_OK;
    cl->ops->broadcast(m, data, bytes);
    return wait_and_close(cl, m, what);
}

/* ---- agreeing ---- */

struct rank_outcome {
    int code, signal; /* OA_INTERRUPTED: by that signal */
    char host[OA_HOST], sentence[1024];
};

/* The message begins with the rank that failed. */
static void fail_with_rank(struct oa_cluster *cl, int code, int rank, const char *host,
                           const char *sentence)
{
    char name[OA_HOST + 32];
    int n = snprintf(name, sizeof name, "rank %d on %s", rank, host);
    bool named = strncmp(sentence, name, (size_t)n) == 0;
    oa_fail(cl->context, (enum oa_error)code, "%s%s%s", named ? "" : name, named ? "" : ": ",
            sentence);
}

static enum oa_error adopt_failure(struct oa_cluster *cl, const struct rank_outcome *all)
{
    int first = 0;
    bool alike = true;
    while (first < cl->size && all[first].code == OA_OK)
        first++;
    if (first == cl->size)
        return OA_OK;
    const struct rank_outcome *v = &all[first];
    for (int r = 0; r < cl->size; r++)
        alike = alike && all[r].code == v->code && strcmp(all[r].sentence, v->sentence) == 0;
    oa_clear_error(cl->context);
    if (v->signal) /* a stop of one is a stop of all, by its signal */
        oa_stop(cl->context, v->signal);
    if (alike)
        return oa_fail(cl->context, (enum oa_error)v->code, "%s", v->sentence);
    fail_with_rank(cl, v->code, cl->first + first, v->host, v->sentence);
    return (enum oa_error)v->code;
}

enum oa_error oa_cluster_agree(struct oa_cluster *cl, enum oa_error mine)
{
    const char *sentence;
    struct rank_outcome own = { .code = mine };
    struct rank_outcome *all = cl ? oa_alloc(cl->context, (size_t)cl->size * sizeof *all) : NULL;
    if (!all)
        return cl ? OA_NO_MEMORY : mine;
    if (mine == OA_INTERRUPTED)
        own.signal = oa_stop_requested(cl->context) ? oa_stop_requested(cl->context)
                                                    : oa_stop_pending(cl->context);
    oa_last_error(cl->context, &sentence);
    snprintf(own.host, sizeof own.host, "%s", cl->host);
    snprintf(own.sentence, sizeof own.sentence, "%s", sentence);
    oa_clear_error(cl->context);
    enum oa_error e = oa_cluster_gather(cl, "agreement", &own, sizeof own, all);
    if (e == OA_OK)
        e = adopt_failure(cl, all);
    oa_free(all);
    return e;
}

/* ---- groups ---- */

enum oa_error oa_cluster_split(struct oa_cluster *cl, long size)
{
    if (!cl)
        return OA_OK;
    OA_TRY(oa_cluster_broadcast(cl, "the size of groups", &size, sizeof size));
    if (size == 1)
        return OA_OK;
    if (cl->size % size)
        return oa_fail(
            cl->context, OA_ARGUMENT,
            "%d ranks cannot be divided into groups of compare.ranks = %ld: start another "
            "number of them, or give another compare.ranks",
            cl->size, size);
    cl->part = cl->ops->split(cl, (int)size);
    return oa_status(cl->context);
}

/* ---- the end ---- */

static const double grace_seconds = 3; /* in which ranks that fail alike come to the end */

enum oa_error oa_cluster_check_first(struct oa_cluster *cl, bool begins)
{
    double silence = cl->ops->silence(cl, begins);
    if (silence <= cl->timeout)
        return OA_OK;
    return oa_fail(cl->context, OA_IO,
                   "timed out: no sign of life from rank 0 for %.0f s: check its log; "
                   "cluster.timeout sets a longer timeout",
                   silence);
}

/* The files of the first rank are complete by then. */
static void fail_unmet(struct oa_cluster *cl)
{
    if (cl->rank == 0)
        oa_fail(cl->context, OA_IO,
                "timed out after %.0f s waiting for the other ranks to end: check their logs; the "
                "work is done and its results are written",
                cl->timeout);
    else
        oa_fail(cl->context, OA_IO,
                "timed out after %.0f s waiting for rank 0, which writes the results: check its "
                "log; --resume continues from what it wrote",
                cl->timeout);
}

struct oa_late {
    struct oa_late *before;
    int code[]; /* [size] */
};

void oa_cluster_free_late(struct oa_cluster *cl)
{
    while (cl->late) {
        struct oa_late *last = cl->late;
        cl->late = last->before;
        oa_free(last);
    }
}

bool oa_cluster_all_failed(struct oa_cluster *cl)
{
    const char *sentence;
    char copy[4096];
    double timeout = cl->timeout;
    enum oa_error code = oa_last_error(cl->context, &sentence);
    int mine = (int)code;
    struct oa_late *all = oa_alloc(cl->context, sizeof *all + (size_t)cl->size * sizeof *all->code);
    if (!all)
        return false;
    all->before = cl->late;
    cl->late = all;
    snprintf(copy, sizeof copy, "%s", sentence);
    oa_clear_error(cl->context);
    cl->timeout = timeout < grace_seconds ? timeout : grace_seconds;
    enum oa_error e = oa_cluster_gather(cl, "a failure", &mine, sizeof mine, all->code);
    cl->timeout = timeout;
    oa_clear_error(cl->context);
    oa_fail(cl->context, code, "%s", copy);
    return e == OA_OK;
}

bool oa_cluster_end(struct oa_cluster *cl)
{
    if (!cl)
        return true;
    int mine = (int)oa_status(cl->context), first = 0;
    int *codes = oa_alloc(cl->context, (size_t)cl->size * sizeof *codes);
    /* 0: while the first rank lives */
    double seconds = mine != OA_OK ? grace_seconds : cl->rank == 0 ? cl->timeout : 0;
    cl->lost = !codes || !cl->ops->leave(cl, mine, seconds, codes);
    while (!cl->lost && first < cl->size - 1 && codes[first] == OA_OK)
        first++;
    if (!cl->lost) /* else codes may still come in */
        oa_free(codes);
    if (cl->lost && mine == OA_OK)
        fail_unmet(cl);
    if (cl->lost) { /* this rank failed while the others work on */
        const char *sentence;
        char copy[4096];
        enum oa_error code = oa_last_error(cl->context, &sentence);
        snprintf(copy, sizeof copy, "%s", sentence);
        oa_clear_error(cl->context);
        fail_with_rank(cl, code, cl->rank, cl->host, copy);
    }
    return cl->lost || first == cl->rank;
}

void oa_cluster_close(struct oa_cluster *cl, int code)
{
    if (!cl)
        return;
    if (cl->part && cl->part->word)
        cl->ops->close(cl->part->word);
    if (cl->word)
        cl->ops->close(cl->word);
    if (cl->lost)
        cl->ops->abandon(cl, code);
    else
        cl->ops->finish(cl);
    if (cl->part)
        oa_cluster_free_late(cl->part);
    oa_free(cl->part);
    oa_cluster_free_late(cl);
    oa_free(cl);
}
