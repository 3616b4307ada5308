/* SPDX-License-Identifier: Apache-2.0
 * Runs in parallel. Each worker is a thread with a context of its own that takes one run after
 * another; the caller's thread waits for events: it passes on ended runs, logs notices and
 * progress, and forwards stops. So callbacks are called from the caller's thread only. */
#include "compare/jobs_parts.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

static const double poll_seconds = 0.1;      /* at most, between two checks for a stop */
static const double progress_interval = 0.2; /* seconds between two progress lines */
enum { PROGRESS = 4096 };                    /* bytes of one */

/* ---- in a worker's thread ---- */

void oa_jobs_add_event(struct jobs *j, const struct worker_event *e)
{
    struct worker_event *copy = oa_alloc(j->c, sizeof *copy);
    if (!copy) {
        oa_free(e->line);
        return;
    }
    *copy = *e;
    pthread_mutex_lock(&j->lock);
    *j->last = copy;
    j->last = &copy->next;
    pthread_cond_signal(&j->changed);
    pthread_mutex_unlock(&j->lock);
}

/* Level 1 is progress, which is logged once for all workers. */
static void forward_notice(void *argument, int level, const char *line)
{
    struct worker *w = argument;
    if (level != 1)
        oa_jobs_add_event(
            w->jobs, &(struct worker_event){
                         .number = -1, .level = level, .line = oa_copy_text(w->jobs->c, line) });
}

static void note_progress(void *argument, double done)
{
    struct worker *w = argument;
    pthread_mutex_lock(&w->jobs->lock);
    w->done = done;
    pthread_mutex_unlock(&w->jobs->lock);
}

long oa_jobs_take(struct worker *w)
{
    struct jobs *j = w->jobs;
    pthread_mutex_lock(&j->lock);
    long number = j->next < j->count && !j->stopping ? j->todo[j->next++] : -1;
    w->spec = number < 0 ? NULL : &j->batch->specs[number];
    w->done = 0;
    pthread_mutex_unlock(&j->lock);
    return number;
}

static enum oa_error train_taken(struct worker *w, long number)
{
    struct jobs *j = w->jobs;
    struct oa_run run = { 0 };
    struct oa_run_spec mine = *w->spec;
    mine.on_progress = note_progress;
    mine.progress_argument = w;
    enum oa_error e = oa_ranks_share(w, &mine);
    if (e == OA_OK)
        e = oa_run_spec_train(w->c, &mine, j->batch->place, &run);
    if (e == OA_OK) {
        oa_jobs_add_event(j, &(struct worker_event){ .number = number, .run = run });
        return OA_OK;
    }
    if (mine.group && !oa_cluster_all_failed(mine.group)) {
        /* A rank of this group failed alone: communication with the others is lost. */
        pthread_mutex_lock(&j->lock);
        j->batch->cluster->lost = true;
        pthread_mutex_unlock(&j->lock);
    }
    oa_run_free(&run);
    return e;
}

/* Reports the first failure; one that is not an interruption has priority. */
void oa_jobs_leave(struct worker *w, oa_context *failed)
{
    struct jobs *j = w->jobs;
    pthread_mutex_lock(&j->lock);
    if (failed && (!j->failed || oa_status(j->failed) == OA_INTERRUPTED))
        j->failed = failed;
    j->stopping = j->stopping || failed;
    j->working--;
    w->spec = NULL;
    w->gone = true;
    pthread_cond_signal(&j->changed);
    pthread_mutex_unlock(&j->lock);
}

static void *worker_main(void *argument)
{
    struct worker *w = argument;
    enum oa_error e = OA_OK;
    for (long number; e == OA_OK && (number = oa_jobs_take(w)) >= 0;)
        e = train_taken(w, number);
    oa_jobs_leave(w, e == OA_OK ? NULL : w->c);
    return NULL;
}

/* ---- in the caller's thread ---- */

static void jobs_stop_all(struct jobs *j, int signal)
{
    pthread_mutex_lock(&j->lock);
    j->stopping = true;
    pthread_mutex_unlock(&j->lock);
    for (int i = 0; i < j->started; i++)
        oa_stop_ask(j->workers[i].c, signal);
    oa_ranks_stop(j);
}

static struct worker_event *next_event(struct jobs *j)
{
    pthread_mutex_lock(&j->lock);
    struct worker_event *e = j->first;
    if (e)
        j->first = e->next;
    if (!j->first)
        j->last = &j->first;
    pthread_mutex_unlock(&j->lock);
    return e;
}

/* After a failure no more runs are passed on; notices are still logged. */
static enum oa_error handle_events(struct jobs *j, enum oa_error failed)
{
    for (struct worker_event *e; (e = next_event(j));) {
        if (e->number < 0)
            oa_log(j->c, e->level, "%s", e->line ? e->line : "");
        else if (failed == OA_OK)
            failed = oa_run_batch_ended(j->batch, e->number, &e->run, false);
        else
            oa_run_free(&e->run);
        oa_free(e->line);
        oa_free(e);
    }
    return failed;
}

/* Adds "; [4/24] softmax 30 %"; the weight of what is done. */
static double add_worker_progress(const struct worker *w, char out[PROGRESS], size_t *n)
{
    if (!w->spec)
        return 0;
    if (*n < PROGRESS)
        *n += (size_t)snprintf(out + *n, PROGRESS - *n, "; [%ld/%ld] %.200s %.0f %%",
                               w->spec->number, w->spec->count, w->spec->title, 100 * w->done);
    return w->done * oa_overall_weight(w->jobs->batch->overall, &w->spec->options);
}

/* "3 of 24 runs, 1:42 left; [4/24] softmax 30 %; [5/24] orthogonal 12 %" */
static void log_jobs_progress(struct jobs *j)
{
    char whole[OA_OVERALL], runs[PROGRESS] = "";
    double under_way = 0, now = oa_clock();
    size_t n = 0;
    if (now - j->logged < progress_interval)
        return;
    j->logged = now;
    pthread_mutex_lock(&j->lock);
    for (int i = 0; i < j->started; i++)
        under_way += add_worker_progress(&j->workers[i], runs, &n);
    for (int i = 0; i < j->distant; i++)
        under_way += add_worker_progress(&j->others[i], runs, &n);
    oa_overall_text(j->batch->overall, under_way, oa_clock(), whole);
    pthread_mutex_unlock(&j->lock);
    oa_log(j->c, 1, "%s%.*s", whole, PROGRESS - OA_OVERALL, runs);
}

/* Waits for an event, at most poll_seconds. False: all workers have ended, no event is left. */
static bool wait_for_event(struct jobs *j, bool *stopping)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    long nanoseconds = until.tv_nsec + (long)(1e9 * poll_seconds);
    until.tv_sec += nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    pthread_mutex_lock(&j->lock);
    while (!j->first && j->working > 0 && j->stopping == *stopping &&
           pthread_cond_timedwait(&j->changed, &j->lock, &until) != ETIMEDOUT)
        ;
    bool more = j->first || j->working > 0;
    *stopping = j->stopping;
    pthread_mutex_unlock(&j->lock);
    return more;
}

/* Until every worker has left and every event is handled. A failure or a stop ends the others after
 * they saved. */
static void supervise_workers(struct jobs *j)
{
    enum oa_error e = OA_OK;
    for (bool stopping = false; wait_for_event(j, &stopping);) {
        if (oa_ranks_poll(j) != OA_OK && e == OA_OK)
            e = oa_status(j->c);
        e = handle_events(j, e);
        int signal = oa_stop_requested(j->c);
        if (signal || stopping || e != OA_OK)
            jobs_stop_all(j, signal ? signal : SIGTERM);
        log_jobs_progress(j);
    }
}

/* ---- beginning and ending ---- */

static void start_workers(struct jobs *j, int jobs)
{
    int threads = oa_thread_count(j->c);
    for (int i = 0; i < jobs; i++) {
        struct worker *w = &j->workers[i];
        *w = (struct worker){ .jobs = j };
        w->c = oa_context_clone(j->c, threads / jobs + (i < threads % jobs), forward_notice, w);
        if (!w->c)
            break;
        pthread_mutex_lock(&j->lock);
        j->working++;
        pthread_mutex_unlock(&j->lock);
        int e = oa_thread_start(&w->thread, worker_main, w);
        if (e) {
            oa_jobs_leave(w, NULL);
            oa_close(w->c);
            oa_fail(j->c, OA_NO_MEMORY,
                    "cannot start a thread for a run next to %d others: %s; give compare.jobs 1", i,
                    strerror(e));
            break;
        }
        j->started++;
    }
}

/* If another rank of this one's group was stopped, only the run has recorded it. */
static void fail_as_workers(struct jobs *j)
{
    bool stopped = j->failed && oa_status(j->failed) == OA_INTERRUPTED;
    if (stopped && !oa_stop_requested(j->c))
        oa_stop(j->c, oa_stop_requested(j->failed));
    if ((!j->failed || stopped) && j->first_stopped[0])
        oa_fail(j->c, OA_INTERRUPTED, "%s", j->first_stopped);
    else if (j->failed)
        oa_fail_as(j->c, j->failed);
    else if (j->interrupted)
        oa_fail(j->c, OA_INTERRUPTED,
                "stopped by signal %d; run the same command again to continue",
                oa_stop_requested(j->c));
}

enum oa_error oa_jobs_side_by_side(oa_context *c, const struct oa_run_batch *b, const long *todo,
                                   long count, int jobs)
{
    struct jobs j = { .c = c, .batch = b, .todo = todo, .count = count };
    j.workers = oa_alloc(c, (size_t)(jobs + oa_ranks_others(&j)) * sizeof *j.workers);
    if (!j.workers)
        return OA_NO_MEMORY;
    j.others = j.workers + jobs;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&j.lock, NULL);
    pthread_cond_init(&j.changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    j.last = &j.first;
    oa_ranks_start(&j);
    start_workers(&j, jobs);
    if (j.started < jobs)
        jobs_stop_all(&j, SIGTERM);
    supervise_workers(&j);
    for (int i = 0; i < j.started; i++)
        pthread_join(j.workers[i].thread, NULL);
    fail_as_workers(&j);
    for (int i = 0; i < j.started; i++)
        oa_close(j.workers[i].c);
    pthread_mutex_destroy(&j.lock);
    pthread_cond_destroy(&j.changed);
    oa_free(j.workers);
    return oa_status(c);
}
