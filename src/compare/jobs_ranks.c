/* SPDX-License-Identifier: Apache-2.0
 * Other ranks as workers: each is sent its next run and polled whenever the caller's thread looks
 * for events. The result of a rank is read from the folder of its run, as when a comparison is
 * resumed. */
#include "compare/dispatch.h"
#include "compare/jobs_parts.h"

#include <string.h>

/* Seconds after which a file that another host wrote must be seen here. */
static const double file_delay = 60;

/* Ranks that train a run together. */
static int group_size(const struct jobs *j)
{
    return j->batch->cluster ? oa_rank_count(j->batch->cluster->part) : 1;
}

int oa_ranks_others(const struct jobs *j)
{
    return oa_rank_count(j->batch->cluster) / group_size(j) - 1;
}

void oa_ranks_start(struct jobs *j)
{
    j->distant = oa_ranks_others(j);
    j->working += j->distant;
    for (int i = 0; i < j->distant; i++)
        j->others[i] = (struct worker){ .jobs = j, .rank = (i + 1) * group_size(j) };
}

/* ---- handing out runs ---- */

/* To the ranks from `first` on that are before `end`. */
static enum oa_error send_run(struct oa_cluster *cl, const struct oa_run_spec *spec, int first,
                              int end)
{
    struct oa_workload w = oa_run_spec_workload(spec);
    struct oa_rank_command *o = oa_alloc(cl->context, sizeof *o);
    if (!o)
        return OA_NO_MEMORY;
    *o = (struct oa_rank_command){ .kind = OA_COMMAND_TRAIN,
                                   .options = spec->options,
                                   .held_out = spec->held_out,
                                   .trainable = spec->trainable,
                                   .frozen = spec->frozen,
                                   .itemised = spec->itemised,
                                   .number = spec->number,
                                   .count = spec->count };
    snprintf(o->folder, sizeof o->folder, "%s", spec->folder);
    snprintf(o->title, sizeof o->title, "%s", spec->title);
    enum oa_error e = oa_origin_of(cl->context, &w, &o->origin);
    for (int rank = first; rank < end && e == OA_OK; rank++)
        e = oa_dispatch_send_command(cl, rank, o);
    oa_free(o);
    return e;
}

enum oa_error oa_ranks_share(struct worker *w, struct oa_run_spec *spec)
{
    struct jobs *j = w->jobs;
    if (group_size(j) == 1)
        return OA_OK;
    struct oa_cluster from_here = *j->batch->cluster; /* failures are this thread's */
    from_here.context = w->c;
    from_here.mute = true;
    OA_TRY(send_run(&from_here, spec, 1, group_size(j)));
    spec->group = j->batch->cluster->part;
    spec->group->context = w->c;
    struct oa_workload here = oa_run_spec_workload(spec);
    return oa_same_everywhere(spec->group, &spec->options, &here, OA_OK);
}

static enum oa_error hand_out_next(struct worker *w)
{
    struct jobs *j = w->jobs;
    w->number = oa_jobs_take(w);
    if (w->number < 0) {
        oa_jobs_leave(w, NULL);
        return OA_OK;
    }
    enum oa_error e = oa_directory_make(j->c, w->spec->folder);
    if (e == OA_OK)
        e = send_run(j->batch->cluster, w->spec, w->rank, w->rank + group_size(j));
    oa_wait_begin(&w->silent);
    w->ended = 0;
    return e;
}

/* ---- status messages ---- */

/* The result is in the folder, or will appear there: other hosts' files may be seen late. */
static enum oa_error read_remote_result(struct worker *w)
{
    struct jobs *j = w->jobs;
    struct oa_run run = { 0 };
    bool found;
    enum oa_error e = oa_run_spec_read(j->c, w->spec, j->batch->place, &run, &found);
    if (e == OA_OK && found) {
        oa_jobs_add_event(j, &(struct worker_event){ .number = w->number, .run = run });
        w->spec = NULL;
        return OA_OK;
    }
    oa_run_free(&run);
    if (e != OA_OK || oa_clock() - w->ended < file_delay)
        return e;
    return oa_fail(j->c, OA_IO,
                   "rank %d reports that its run has ended, but %s has no result: a comparison on "
                   "several hosts needs a folder that all of them see",
                   w->rank, w->spec->folder);
}

/* A stop of any rank is one of the comparison, by the signal that the rank got. */
static void note_rank_stopped(struct jobs *j, const struct oa_rank_status *s)
{
    pthread_mutex_lock(&j->lock);
    if (!j->stopping) {
        oa_stop(j->c, s->signal);
        snprintf(j->first_stopped, sizeof j->first_stopped, "rank %d on %s: %s", s->from, s->host,
                 s->line);
    }
    j->interrupted = j->stopping = true;
    pthread_mutex_unlock(&j->lock);
}

static void handle_status(struct jobs *j, const struct oa_rank_status *s)
{
    if (s->kind == OA_STATUS_STOPPED) { /* of any rank: of this one's group, too */
        note_rank_stopped(j, s);
        return;
    }
    struct worker *w = &j->others[s->from / group_size(j) - 1];
    oa_wait_begin(&w->silent);
    w->done = s->done;
    if (s->kind == OA_STATUS_NOTICE)
        oa_log(j->c, s->level, "%s", s->line);
    if (s->kind == OA_STATUS_ENDED)
        w->ended = oa_clock();
    if (s->kind != OA_STATUS_FAILED || w->gone)
        return;
    oa_jobs_leave(w, NULL);
    if (s->code == OA_INTERRUPTED) /* if it was told to, what led to that is the result */
        note_rank_stopped(j, s);
    else
        oa_fail(j->c, (enum oa_error)s->code, "rank %d on %s: %s", s->from, s->host, s->line);
}

static enum oa_error poll_rank(struct worker *w)
{
    struct jobs *j = w->jobs;
    if (w->gone)
        return OA_OK;
    if (w->spec && w->ended <= 0 && oa_wait_poll(&w->silent) > j->batch->cluster->timeout)
        return oa_fail(j->c, OA_IO,
                       "rank %d, which trains %s, has been silent for %.0f s: check its log; "
                       "cluster.timeout sets a longer timeout",
                       w->rank, w->spec->folder, w->silent.seconds);
    if (w->spec && w->ended > 0)
        OA_TRY(read_remote_result(w));
    return w->spec || w->gone ? OA_OK : hand_out_next(w);
}

/* After a timeout there are no more messages to or from the ranks: they end with this one. */
static bool leave_lost_ranks(struct jobs *j)
{
    pthread_mutex_lock(&j->lock);
    bool lost = j->batch->cluster && j->batch->cluster->lost;
    pthread_mutex_unlock(&j->lock);
    for (int i = 0; lost && i < j->distant; i++)
        if (!j->others[i].gone)
            oa_jobs_leave(&j->others[i], NULL);
    return lost;
}

/* After a failure it waits until the remaining ranks, which were told to stop, have ended. */
enum oa_error oa_ranks_poll(struct jobs *j)
{
    struct oa_rank_status s;
    if (leave_lost_ranks(j))
        return oa_status(j->c);
    while (j->batch->cluster && oa_dispatch_receive_status(j->batch->cluster, &s))
        handle_status(j, &s);
    for (int i = 0; i < j->distant; i++)
        if (poll_rank(&j->others[i]) != OA_OK && !j->others[i].gone)
            oa_jobs_leave(&j->others[i], NULL);
    return oa_status(j->c);
}

void oa_ranks_stop(struct jobs *j)
{
    struct oa_rank_command *stop =
        j->distant && !leave_lost_ranks(j) ? oa_alloc(j->c, sizeof *stop) : NULL;
    if (!stop)
        return;
    stop->kind = OA_COMMAND_STOP;
    stop->signal = oa_stop_requested(j->c);
    for (int i = 0; i < j->distant; i++) {
        struct worker *w = &j->others[i];
        if (w->spec && !w->gone && !w->asked_to_stop)
            oa_dispatch_send_command(j->batch->cluster, w->rank, stop);
        w->asked_to_stop = true;
    }
    oa_free(stop);
}
