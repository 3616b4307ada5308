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

enum { WAITS = 32766 }; /* tag: the largest that every MPI has, but one */

/* Who gives up must say who stands still. All others wait, too: that a rank does, and that it does
 * no more, it tells the others when it has waited for half of its patience. */
static bool tell(struct oa_cluster *cl, bool waits)
{
    static const bool words[] = { false, true };
    bool free = !cl->mute && (!cl->word || cl->ops->arrived(cl->word));
    if (free && !cl->word)
        cl->word = cl->ops->open(cl);
    for (int r = 0; free && cl->word && r < cl->size; r++)
        if (r != cl->rank)
            cl->ops->send(cl->word, r, WAITS, &words[waits], sizeof *words);
    return free && waits;
}

/* Writes "rank 2, rank 5": the others that are late and do not wait themselves. late: of whom
 * messages are missing; NULL: any of them. */
static bool name_others(const struct oa_cluster *cl, const struct oa_messages *late,
                        const bool *waits, char *out, size_t size)
{
    size_t n = 0;
    for (int r = 0; r < cl->size && n < size; r++)
        if (r != cl->rank && !waits[r] && (!late || cl->ops->missing(late, r)))
            n += (size_t)snprintf(out + n, size - n, "%srank %d", n ? ", " : "", cl->first + r);
    return n > 0;
}

/* Whose messages are missing may wait as this rank does: then for one of those who do not. */
static void name_late(struct oa_cluster *cl, const struct oa_messages *m, char *out, size_t size)
{
    bool *waits = oa_alloc(cl->context, (size_t)cl->size * sizeof *waits);
    size_t bytes;
    bool word;
    int from;
    while (waits && cl->ops->hear(cl, WAITS, &from, &word, sizeof word, &bytes))
        waits[from] = word;
    if (!waits ||
        (!name_others(cl, m, waits, out, size) && !name_others(cl, NULL, waits, out, size)))
        snprintf(out, size, "the other ranks");
    oa_free(waits);
}

static enum oa_error fail_waiting(struct oa_cluster *cl, const struct oa_messages *m,
                                  const char *what)
{
    char who[256];
    name_late(cl, m, who, sizeof who);
    return oa_fail(
        cl->context, OA_IO,
        "rank %d on %s waited %.0f s for %s from %s: see what became of it; a longer wait is "
        "cluster.timeout",
        cl->first + cl->rank, cl->host, cl->patience, what, who);
}

/* Looks again and again: MPI moves messages only while it is asked. Others may have the core in
 * between. */
enum oa_error oa_cluster_wait(struct oa_cluster *cl, oa_step_on *step, void *argument,
                              const char *what)
{
    double began = oa_clock();
    bool told = false;
    struct oa_wait w;
    oa_wait_begin(&w);
    const struct oa_messages *late = step(argument);
    while (late && oa_wait_look(&w) < cl->patience) {
        sched_yield();
        told = told || (w.seconds > cl->patience / 2 && tell(cl, true));
        late = step(argument);
    }
    if (told && !late)
        tell(cl, false);
    cl->waited += oa_clock() - began;
    return late ? fail_waiting(cl, late, what) : oa_status(cl->context);
}

struct lot {
    const struct oa_cluster *cluster;
    struct oa_messages *messages;
};

static struct oa_messages *look(void *argument)
{
    const struct lot *lot = argument;
    return lot->cluster->ops->arrived(lot->messages) ? NULL : lot->messages;
}

enum oa_error oa_messages_wait(struct oa_cluster *cl, struct oa_messages *m, const char *what)
{
    return oa_cluster_wait(cl, look, &(struct lot){ cl, m }, what);
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

struct verdict {
    int code, signal; /* OA_INTERRUPTED: by that signal */
    char host[OA_HOST], sentence[1024];
};

/* The lowest rank that failed; -1: none did. */
static int first_failure(const struct verdict *all, int size)
{
    for (int r = 0; r < size; r++)
        if (all[r].code != OA_OK)
            return r;
    return -1;
}

/* Who failed stands in front, unless the sentence begins with that. */
static void fail_of(struct oa_cluster *cl, int code, int rank, const char *host,
                    const char *sentence)
{
    char name[OA_HOST + 32];
    int n = snprintf(name, sizeof name, "rank %d on %s", rank, host);
    bool named = strncmp(sentence, name, (size_t)n) == 0;
    oa_fail(cl->context, (enum oa_error)code, "%s%s%s", named ? "" : name, named ? "" : ": ",
            sentence);
}

static enum oa_error take_over(struct oa_cluster *cl, const struct verdict *all)
{
    int first = first_failure(all, cl->size);
    bool alike = true;
    if (first < 0)
        return OA_OK;
    const struct verdict *v = &all[first];
    for (int r = 0; r < cl->size; r++)
        alike = alike && all[r].code == v->code && strcmp(all[r].sentence, v->sentence) == 0;
    oa_clear_error(cl->context);
    if (v->signal) /* a stop of one is one of all, and how they end tells by what signal */
        oa_stop(cl->context, v->signal);
    if (alike)
        return oa_fail(cl->context, (enum oa_error)v->code, "%s", v->sentence);
    fail_of(cl, v->code, cl->first + first, v->host, v->sentence);
    return (enum oa_error)v->code;
}

enum oa_error oa_cluster_agree(struct oa_cluster *cl, enum oa_error mine)
{
    const char *sentence;
    struct verdict own = { .code = mine };
    struct verdict *all = cl ? oa_alloc(cl->context, (size_t)cl->size * sizeof *all) : NULL;
    if (!all)
        return cl ? OA_NO_MEMORY : mine;
    if (mine == OA_INTERRUPTED)
        own.signal = oa_stop_requested(cl->context) ? oa_stop_requested(cl->context)
                                                    : oa_stop_pending(cl->context);
    oa_last_error(cl->context, &sentence);
    snprintf(own.host, sizeof own.host, "%s", cl->host);
    snprintf(own.sentence, sizeof own.sentence, "%s", sentence);
    oa_clear_error(cl->context);
    enum oa_error e = oa_cluster_gather(cl, "word that it is ready", &own, sizeof own, all);
    if (e == OA_OK)
        e = take_over(cl, all);
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
        return oa_fail(cl->context, OA_ARGUMENT,
                       "compare.ranks = %ld does not divide the %d ranks into groups: start "
                       "another number of them, "
                       "or give another compare.ranks",
                       size, cl->size);
    cl->part = cl->ops->split(cl, (int)size);
    return oa_status(cl->context);
}

/* ---- the end ---- */

static const double grace = 3; /* seconds in which ranks that fail alike come to the end */

enum oa_error oa_cluster_check_first(struct oa_cluster *cl, bool begins)
{
    double silence = cl->ops->silence(cl, begins);
    if (silence <= cl->patience)
        return OA_OK;
    return oa_fail(cl->context, OA_IO,
                   "rank 0 has given no sign of life for %.0f s: see what became of it; a longer "
                   "wait is cluster.timeout",
                   silence);
}

/* Seconds; 0: while the first rank lives. */
static double limit_of(const struct oa_cluster *cl, int code)
{
    return code != OA_OK ? grace : cl->rank == 0 ? cl->patience : 0;
}

/* The first rank's files are whole by then; the others know nothing of them. */
static void fail_to_meet(struct oa_cluster *cl)
{
    if (cl->rank == 0)
        oa_fail(cl->context, OA_IO,
                "the work is done and what it made is written, so nothing need be repeated; but "
                "other ranks did not "
                "come to the end for %.0f s: see what became of them",
                cl->patience);
    else
        oa_fail(cl->context, OA_IO,
                "this rank's work is done, and rank 0, which writes, did not come to the end for "
                "%.0f s: see what "
                "became of it; --resume goes on with what it wrote",
                cl->patience);
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
    double patience = cl->patience;
    enum oa_error code = oa_last_error(cl->context, &sentence);
    int mine = (int)code;
    struct oa_late *all = oa_alloc(cl->context, sizeof *all + (size_t)cl->size * sizeof *all->code);
    if (!all)
        return false;
    all->before = cl->late;
    cl->late = all;
    snprintf(copy, sizeof copy, "%s", sentence);
    oa_clear_error(cl->context);
    cl->patience = patience < grace ? patience : grace;
    enum oa_error e = oa_cluster_gather(cl, "word of a failure", &mine, sizeof mine, all->code);
    cl->patience = patience;
    oa_clear_error(cl->context);
    oa_fail(cl->context, code, "%s", copy);
    return e == OA_OK;
}

/* One that failed while the others work on. */
static void name_speaker(struct oa_cluster *cl)
{
    const char *sentence;
    char copy[4096];
    enum oa_error code = oa_last_error(cl->context, &sentence);
    snprintf(copy, sizeof copy, "%s", sentence);
    oa_clear_error(cl->context);
    fail_of(cl, code, cl->rank, cl->host, copy);
}

bool oa_cluster_end(struct oa_cluster *cl)
{
    if (!cl)
        return true;
    int mine = (int)oa_status(cl->context), first = 0;
    int *codes = oa_alloc(cl->context, (size_t)cl->size * sizeof *codes);
    cl->lost = !codes || !cl->ops->leave(cl, mine, limit_of(cl, mine), codes);
    while (!cl->lost && first < cl->size - 1 && codes[first] == OA_OK)
        first++;
    if (!cl->lost) /* else codes may still come in */
        oa_free(codes);
    if (cl->lost && mine == OA_OK)
        fail_to_meet(cl);
    if (cl->lost)
        name_speaker(cl);
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
