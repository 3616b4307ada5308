/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/deadline.h"

#include "cluster/cluster.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const long poll_nanoseconds = 200000000; /* from one poll of the clock to the next */

/* Nothing can be closed any more, since the blocked thread does not return. */
static void *deadline_watch(void *argument)
{
    struct oa_deadline *d = argument;
    struct oa_wait w;
    oa_wait_begin(&w);
    pthread_mutex_lock(&d->lock);
    while (!d->over && oa_wait_poll(&w) < d->seconds) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += poll_nanoseconds;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&d->changed, &d->lock, &until);
    }
    bool late = !d->over;
    pthread_mutex_unlock(&d->lock);
    if (late) {
        fprintf(stderr, "orthant: %s timed out after %.0f s waiting for a rank; check its log\n",
                d->what, d->seconds);
        _exit(1);
    }
    return NULL;
}

void oa_deadline_begin(struct oa_deadline *d, double seconds, const char *what)
{
    pthread_condattr_t monotonic;
    d->seconds = seconds;
    d->what = what;
    d->over = false;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    d->running = oa_thread_start(&d->thread, deadline_watch, d) == 0;
}

void oa_deadline_end(struct oa_deadline *d)
{
    pthread_mutex_lock(&d->lock);
    d->over = true;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
    if (d->running)
        pthread_join(d->thread, NULL);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
}
