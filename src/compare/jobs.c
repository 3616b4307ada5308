/* SPDX-License-Identifier: Apache-2.0
 * Runs side by side. Each worker is a thread with a context of its own and takes one order after
 * another; the caller's thread waits for news: it hands over ended runs, says notices and progress,
 * and passes stops on. So whoever called sees calls of its functions from its own thread alone, as
 * if there were one run at a time. */
#include "compare/jobs_parts.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

static const double patience =
    0.1; /* seconds after which the caller's thread looks for a stop at the latest */
static const double between = 0.2;     /* seconds between two progress lines */
enum { LINE = 1024, PROGRESS = 4096 }; /* bytes */

/* ---- in a worker's thread ---- */

void oa_jobs_tell(struct jobs *j, const struct news *n)
{
    struct news *copy = oa_alloc(j->c, sizeof *copy);
    if (!copy) {
        oa_free(n->line);
        return;
    }
    *copy = *n;
    pthread_mutex_lock(&j->lock);
    *j->last = copy;
    j->last = &copy->next;
    pthread_cond_signal(&j->something);
    pthread_mutex_unlock(&j->lock);
}

/* Progress is told by all together. */
static void say(void *argument, int level, const char *line)
{
    struct worker *w = argument;
    if (level != 1)
        oa_jobs_tell(
            w->all,
            &(struct news){ .order = -1, .level = level, .line = oa_copy_text(w->all->c, line) });
}

static void note_share(void *argument, double done)
{
    struct worker *w = argument;
    pthread_mutex_lock(&w->all->lock);
    w->share = done;
    pthread_mutex_unlock(&w->all->lock);
}

long oa_jobs_take(struct worker *w)
{
    struct jobs *j = w->all;
    pthread_mutex_lock(&j->lock);
    long order = j->next < j->count && !j->stopping ? j->todo[j->next++] : -1;
    w->order = order < 0 ? NULL : &j->r->orders[order];
    w->share = 0;
    pthread_mutex_unlock(&j->lock);
    return order;
}

/* A rank of this one's group failed alone: no other is heard any more. */
static void note_lost(struct jobs *j)
{
    pthread_mutex_lock(&j->lock);
    j->r->cluster->lost = true;
    pthread_mutex_unlock(&j->lock);
}

static enum oa_error carry_out(struct worker *w, long order, struct oa_run *run)
{
    struct oa_run_order mine = *w->order;
    mine.share = note_share;
    mine.share_argument = w;
    enum oa_error e = oa_ranks_share(w, &mine);
    if (e == OA_OK)
        e = oa_run_order_train(w->c, &mine, w->all->r->place, run);
    if (e != OA_OK && mine.group && !oa_cluster_all_failed(mine.group))
        note_lost(w->all);
    if (e == OA_OK)
        oa_jobs_tell(w->all, &(struct news){ .order = order, .run = *run });
    return e;
}

/* The first failure is the result; but that of one alone comes before the stops that follow it or
 * came with it. */
void oa_jobs_leave(struct worker *w, oa_context *failed)
{
    struct jobs *j = w->all;
    pthread_mutex_lock(&j->lock);
    if (failed && (!j->failed || oa_status(j->failed) == OA_INTERRUPTED))
        j->failed = failed;
    j->stopping = j->stopping || failed;
    j->working--;
    w->order = NULL;
    w->gone = true;
    pthread_cond_signal(&j->something);
    pthread_mutex_unlock(&j->lock);
}

static void *work(void *argument)
{
    struct worker *w = argument;
    enum oa_error e = OA_OK;
    long order;
    while (e == OA_OK && (order = oa_jobs_take(w)) >= 0) {
        struct oa_run run = { 0 };
        e = carry_out(w, order, &run);
        if (e != OA_OK)
            oa_run_free(&run);
    }
    oa_jobs_leave(w, e == OA_OK ? NULL : w->c);
    return NULL;
}

/* ---- in the caller's thread ---- */

static void stop_all(struct jobs *j, int signal)
{
    pthread_mutex_lock(&j->lock);
    j->stopping = true;
    pthread_mutex_unlock(&j->lock);
    for (int i = 0; i < j->started; i++)
        oa_stop_ask(j->workers[i].c, signal);
    oa_ranks_stop(j);
}

static struct news *next_news(struct jobs *j)
{
    pthread_mutex_lock(&j->lock);
    struct news *n = j->first;
    if (n)
        j->first = n->next;
    if (!j->first)
        j->last = &j->first;
    pthread_mutex_unlock(&j->lock);
    return n;
}

static enum oa_error hand_over_run(struct jobs *j, long order, struct oa_run *run, bool was_there)
{
    struct oa_overall *all = j->r->overall;
    oa_overall_ended(all, oa_overall_weight(all, &j->r->orders[order].options), was_there);
    return j->r->ended(j->r->argument, order, run);
}

/* After a failure nothing more is handed over; notices are still said. */
static enum oa_error hand_over(struct jobs *j, enum oa_error e)
{
    for (struct news *n; (n = next_news(j));) {
        if (n->order < 0)
            oa_log(j->c, n->level, "%s", n->line ? n->line : "");
        else if (e == OA_OK)
            e = hand_over_run(j, n->order, &n->run, false);
        else
            oa_run_free(&n->run);
        oa_free(n->line);
        oa_free(n);
    }
    return e;
}

/* What it has done of its run. */
static double print_worker(const struct worker *w, char out[PROGRESS], size_t *n)
{
    if (!w->order)
        return 0;
    if (*n < PROGRESS)
        *n += (size_t)snprintf(out + *n, PROGRESS - *n, "; [%ld/%ld] %.200s %.0f %%",
                               w->order->number, w->order->count, w->order->title, 100 * w->share);
    return w->share * oa_overall_weight(w->all->r->overall, &w->order->options);
}

/* "3 of 24 runs, 1:42 left; [4/24] softmax 30 %; [5/24] orthogonal 12 %" */
static void print_progress(struct jobs *j, char out[PROGRESS])
{
    double under_way = 0;
    char runs[PROGRESS] = "", whole[OA_OVERALL];
    size_t n = 0;
    for (int i = 0; i < j->started; i++)
        under_way += print_worker(&j->workers[i], runs, &n);
    for (int i = 0; i < j->distant; i++)
        under_way += print_worker(&j->others[i], runs, &n);
    oa_overall_text(j->r->overall, under_way, oa_clock(), whole);
    snprintf(out, PROGRESS, "%s%s", whole, runs);
}

static void say_progress(struct jobs *j)
{
    char line[PROGRESS];
    double now = oa_clock();
    if (now - j->said < between)
        return;
    j->said = now;
    pthread_mutex_lock(&j->lock);
    print_progress(j, line);
    pthread_mutex_unlock(&j->lock);
    oa_log(j->c, 1, "%s", line);
}

/* Waits for news, but a moment at most. False: there is nothing more to wait for. */
static bool wait(struct jobs *j, bool *stopping)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    long nanoseconds = until.tv_nsec + (long)(1e9 * patience);
    until.tv_sec += nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    pthread_mutex_lock(&j->lock);
    while (!j->first && j->working > 0 && j->stopping == *stopping &&
           pthread_cond_timedwait(&j->something, &j->lock, &until) != ETIMEDOUT)
        ;
    bool more = j->first || j->working > 0;
    *stopping = j->stopping;
    pthread_mutex_unlock(&j->lock);
    return more;
}

/* Until every worker has left and everything is handed over. A failure or a stop ends the others
 * after they saved. */
static void attend(struct jobs *j)
{
    enum oa_error e = OA_OK;
    for (bool stopping = false; wait(j, &stopping);) {
        if (oa_ranks_attend(j) != OA_OK && e == OA_OK)
            e = oa_status(j->c);
        e = hand_over(j, e);
        int signal = oa_stop_requested(j->c);
        if (signal || stopping || e != OA_OK)
            stop_all(j, signal ? signal : SIGTERM);
        say_progress(j);
    }
}

/* ---- beginning and ending ---- */

static void start(struct jobs *j, int jobs)
{
    int threads = oa_thread_count(j->c);
    for (int i = 0; i < jobs; i++) {
        struct worker *w = &j->workers[i];
        *w = (struct worker){ .all = j };
        w->c = oa_context_clone(j->c, threads / jobs + (i < threads % jobs), say, w);
        if (!w->c)
            break;
        pthread_mutex_lock(&j->lock);
        j->working++;
        pthread_mutex_unlock(&j->lock);
        int e = oa_thread_start(&w->thread, work, w);
        if (e) {
            oa_jobs_leave(w, NULL);
            oa_close(w->c);
            oa_fail(j->c, OA_NO_MEMORY,
                    "no thread for a run beside %d others: %s; give compare.jobs 1", i,
                    strerror(e));
            break;
        }
        j->started++;
    }
}

static void init(struct jobs *j)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->something, &monotonic);
    pthread_condattr_destroy(&monotonic);
    j->last = &j->first;
}

/* Of a stop that a rank of this one's group was asked for the run alone knows. */
static void fail_as_others(struct jobs *j)
{
    bool stopped = j->failed && oa_status(j->failed) == OA_INTERRUPTED;
    if (stopped && !oa_stop_requested(j->c))
        oa_stop(j->c, oa_stop_requested(j->failed));
    if ((!j->failed || stopped) && j->first_stopped[0])
        oa_fail(j->c, OA_INTERRUPTED, "%s", j->first_stopped);
    else if (j->failed)
        oa_fail_as(j->c, j->failed);
    else if (j->interrupted)
        oa_fail(j->c, OA_INTERRUPTED, "stopped by signal %d; the same command goes on from here",
                oa_stop_requested(j->c));
}

static enum oa_error side_by_side(struct jobs *j, int jobs)
{
    int others = oa_ranks_others(j);
    j->workers = oa_alloc(j->c, (size_t)(jobs + others) * sizeof *j->workers);
    if (!j->workers)
        return OA_NO_MEMORY;
    j->others = j->workers + jobs;
    init(j);
    oa_ranks_start(j);
    start(j, jobs);
    if (j->started < jobs)
        stop_all(j, SIGTERM);
    attend(j);
    for (int i = 0; i < j->started; i++)
        pthread_join(j->workers[i].thread, NULL);
    fail_as_others(j);
    for (int i = 0; i < j->started; i++)
        oa_close(j->workers[i].c);
    pthread_mutex_destroy(&j->lock);
    pthread_cond_destroy(&j->something);
    oa_free(j->workers);
    return oa_status(j->c);
}

struct alone {
    struct jobs *j;
    const struct oa_run_order *order;
};

/* The run speaks for itself, and after this. */
static void note_share_alone(void *argument, double done)
{
    const struct alone *a = argument;
    char whole[OA_OVERALL];
    struct oa_overall *all = a->j->r->overall;
    oa_overall_text(all, done * oa_overall_weight(all, &a->order->options), oa_clock(), whole);
    snprintf(a->j->whole, sizeof a->j->whole, "%s; ", whole);
}

static enum oa_error one_after_another(struct jobs *j)
{
    for (long i = 0; i < j->count; i++) {
        struct oa_run run = { 0 };
        struct oa_run_order order = j->r->orders[j->todo[i]];
        struct alone alone = { j, &order };
        order.share = note_share_alone;
        order.share_argument = &alone;
        order.whole = j->whole;
        note_share_alone(&alone, 0);
        enum oa_error e = oa_run_order_train(j->c, &order, j->r->place, &run);
        if (e != OA_OK)
            oa_run_free(&run);
        OA_TRY(e);
        OA_TRY(hand_over_run(j, j->todo[i], &run, false));
    }
    return OA_OK;
}

static enum oa_error read_ended(struct jobs *j)
{
    for (long i = 0; i < j->r->count; i++) {
        struct oa_run run = { 0 };
        bool found;
        enum oa_error e = oa_run_order_read(j->c, &j->r->orders[i], j->r->place, &run, &found);
        if (e != OA_OK)
            oa_run_free(&run);
        OA_TRY(e);
        if (found)
            OA_TRY(hand_over_run(j, i, &run, true));
        else
            j->todo[j->count++] = i;
    }
    return OA_OK;
}

enum oa_error oa_jobs_carry_out(oa_context *c, const struct oa_jobs *r, int jobs)
{
    struct jobs j = { .c = c,
                      .r = r,
                      .todo = oa_alloc(c, ((size_t)r->count + 1) * sizeof *j.todo) };
    if (!j.todo)
        return OA_NO_MEMORY;
    enum oa_error e = read_ended(&j);
    if (jobs > j.count)
        jobs = (int)j.count;
    if (j.count && r->overall->began == 0)
        r->overall->began = oa_clock();
    if (e == OA_OK)
        e = jobs > 1 || (r->cluster && j.count) ? side_by_side(&j, jobs) : one_after_another(&j);
    oa_free(j.todo);
    return e;
}
