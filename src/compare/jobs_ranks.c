/* SPDX-License-Identifier: Apache-2.0
 * Other ranks among the workers: each is told its next order and heard, whenever the caller's
 * thread looks for news. What a rank has made is read from the folder of its run, as when a
 * comparison goes on. */
#include "compare/farm.h"
#include "compare/jobs_parts.h"

#include <string.h>

static const double late =
    60; /* seconds after which a file that another host wrote must be seen here */

/* Ranks that train a run together. */
static int group_of(const struct jobs *j)
{
    return j->r->cluster ? oa_rank_count(j->r->cluster->part) : 1;
}

int oa_ranks_others(const struct jobs *j)
{
    return oa_rank_count(j->r->cluster) / group_of(j) - 1;
}

void oa_ranks_start(struct jobs *j)
{
    int others = oa_ranks_others(j), group = group_of(j);
    j->distant = others;
    j->working += others;
    for (int i = 0; i < others; i++)
        j->others[i] = (struct worker){ .all = j, .rank = (i + 1) * group };
}

/* ---- orders ---- */

static enum oa_error fill_order(oa_context *c, const struct oa_run_order *r, long number,
                                struct oa_farm_order *o)
{
    *o = (struct oa_farm_order){ .what = OA_FARM_TRAIN,
                                 .order = number,
                                 .options = r->options,
                                 .held = r->held,
                                 .trainable = r->trainable,
                                 .frozen = r->frozen,
                                 .number = r->number,
                                 .count = r->count };
    snprintf(o->folder, sizeof o->folder, "%s", r->folder);
    snprintf(o->title, sizeof o->title, "%s", r->title);
    struct oa_workload w = oa_run_order_workload(r);
    return oa_origin_of(c, &w, &o->origin);
}

/* To the ranks from `first` on that are before `end`. */
static enum oa_error send_to(struct oa_cluster *cl, const struct oa_run_order *r, long number,
                             int first, int end)
{
    struct oa_farm_order *o = oa_alloc(cl->context, sizeof *o);
    enum oa_error e = o ? fill_order(cl->context, r, number, o) : OA_NO_MEMORY;
    for (int rank = first; rank < end && e == OA_OK; rank++)
        e = oa_farm_send(cl, rank, o);
    oa_free(o);
    return e;
}

static enum oa_error send_order(struct worker *w)
{
    struct jobs *j = w->all;
    enum oa_error e = oa_directory_make(j->c, w->order->folder);
    if (e == OA_OK)
        e = send_to(j->r->cluster, w->order, w->number, w->rank, w->rank + group_of(j));
    oa_wait_begin(&w->silent);
    w->ended = 0;
    return e;
}

enum oa_error oa_ranks_share(struct worker *w, struct oa_run_order *order)
{
    struct jobs *j = w->all;
    if (group_of(j) == 1)
        return OA_OK;
    struct oa_cluster from_here = *j->r->cluster; /* failures are this thread's */
    from_here.context = w->c;
    from_here.mute = true;
    OA_TRY(send_to(&from_here, order, 0, 1, group_of(j)));
    order->group = j->r->cluster->part;
    order->group->context = w->c;
    struct oa_workload here = oa_run_order_workload(order);
    return oa_same_everywhere(order->group, &order->options, &here, OA_OK);
}

static enum oa_error give_order(struct worker *w)
{
    long order = oa_jobs_take(w);
    w->number = order;
    if (order >= 0)
        return send_order(w);
    oa_jobs_leave(w, NULL);
    return OA_OK;
}

/* ---- news ---- */

/* The run is there, or will be seen in a moment. */
static enum oa_error take_result(struct worker *w)
{
    struct jobs *j = w->all;
    struct oa_run run = { 0 };
    bool found;
    enum oa_error e = oa_run_order_read(j->c, w->order, j->r->place, &run, &found);
    if (e == OA_OK && found) {
        oa_jobs_tell(j, &(struct news){ .order = w->number, .run = run });
        w->order = NULL;
        return OA_OK;
    }
    oa_run_free(&run);
    if (e != OA_OK || oa_clock() - w->ended < late)
        return e;
    return oa_fail(j->c, OA_IO,
                   "rank %d says that its run has ended, and %s has no result: a comparison on "
                   "several hosts needs a folder "
                   "that all of them see",
                   w->rank, w->order->folder);
}

/* A stop of any rank is one of the comparison, by the signal that the rank got. */
static void note_interrupted(struct jobs *j, const struct oa_farm_news *n)
{
    pthread_mutex_lock(&j->lock);
    if (!j->stopping) {
        oa_stop(j->c, n->signal);
        snprintf(j->first_stopped, sizeof j->first_stopped, "rank %d on %s: %s", n->from, n->host,
                 n->line);
    }
    j->interrupted = j->stopping = true;
    pthread_mutex_unlock(&j->lock);
}

static enum oa_error fail_as_told(struct worker *w, const struct oa_farm_news *n)
{
    struct jobs *j = w->all;
    oa_jobs_leave(w, NULL);
    if (n->code == OA_INTERRUPTED) { /* if it was told to, what led to that is the result */
        note_interrupted(j, n);
        return OA_OK;
    }
    return oa_fail(j->c, (enum oa_error)n->code, "rank %d on %s: %s", n->from, n->host, n->line);
}

static enum oa_error take_in(struct jobs *j, const struct oa_farm_news *n)
{
    if (n->what == OA_FARM_STOPPED) { /* of any rank: of this one's group, too */
        note_interrupted(j, n);
        return OA_OK;
    }
    struct worker *w = &j->others[n->from / group_of(j) - 1];
    oa_wait_begin(&w->silent);
    w->share = n->share;
    if (n->what == OA_FARM_NOTICE)
        oa_log(j->c, n->level, "%s", n->line);
    if (n->what == OA_FARM_ENDED)
        w->ended = oa_clock();
    return n->what == OA_FARM_FAILED && !w->gone ? fail_as_told(w, n) : OA_OK;
}

static enum oa_error check_alive(struct worker *w)
{
    struct jobs *j = w->all;
    if (!w->order || w->ended > 0 || oa_wait_look(&w->silent) <= j->r->cluster->patience)
        return OA_OK;
    return oa_fail(j->c, OA_IO,
                   "rank %d, which trains %s, has said nothing for %.0f s: see what became of it; "
                   "a longer wait is "
                   "cluster.patience",
                   w->rank, w->order->folder, w->silent.seconds);
}

static enum oa_error look_after(struct worker *w)
{
    if (w->gone)
        return OA_OK;
    OA_TRY(check_alive(w));
    if (w->order && w->ended > 0)
        OA_TRY(take_result(w));
    return w->order || w->gone ? OA_OK : give_order(w);
}

/* After a wait that was given up none of them is heard any more, nor told anything: the end of this
 * rank is theirs. */
static bool lost(struct jobs *j)
{
    pthread_mutex_lock(&j->lock);
    bool lost = j->r->cluster && j->r->cluster->lost;
    pthread_mutex_unlock(&j->lock);
    for (int i = 0; lost && i < j->distant; i++)
        if (!j->others[i].gone)
            oa_jobs_leave(&j->others[i], NULL);
    return lost;
}

/* After a failure whoever is still there is heard to its end; it was told to stop. */
enum oa_error oa_ranks_attend(struct jobs *j)
{
    struct oa_farm_news n;
    if (lost(j))
        return oa_status(j->c);
    while (j->r->cluster && oa_farm_hear_news(j->r->cluster, &n))
        take_in(j, &n);
    for (int i = 0; i < j->distant; i++)
        if (look_after(&j->others[i]) != OA_OK && !j->others[i].gone)
            oa_jobs_leave(&j->others[i], NULL);
    return oa_status(j->c);
}

void oa_ranks_stop(struct jobs *j)
{
    struct oa_farm_order *stop = j->distant && !lost(j) ? oa_alloc(j->c, sizeof *stop) : NULL;
    if (!stop)
        return;
    stop->what = OA_FARM_STOP;
    stop->signal = oa_stop_requested(j->c);
    for (int i = 0; i < j->distant; i++) {
        struct worker *w = &j->others[i];
        if (w->order && !w->gone && !w->asked_to_stop)
            oa_farm_send(j->r->cluster, w->rank, stop);
        w->asked_to_stop = true;
    }
    oa_free(stop);
}
