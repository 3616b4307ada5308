/* SPDX-License-Identifier: Apache-2.0
 * A thread pool for calls as short as ten microseconds. The caller is worker 0; helper threads join
 * while the gate is open. When the items have run out the caller shuts the gate and waits only for
 * helpers that are inside; a helper that wakes too late finds the gate shut and is not waited for.
 *
 * Each worker starts with its own share of the items, the same for every call with that many items,
 * and then steals from the others' shares. So the rows that one operation wrote are read by the
 * next one on the core that has them in its cache, and the items of a slow worker are taken over.
 *
 * The gate is one atomic word: job number, open flag, number of helpers inside. Opening it
 * publishes the job, entering acquires it, leaving publishes the helper's results. Waiting threads
 * spin for SPIN_SECONDS before they sleep, because the next call of a training step usually follows
 * at once; with more threads than cores they sleep directly. */
#include "base/concurrent.h"
#include "base/context.h"

#include <signal.h>
#include <stdalign.h>
#include <string.h>

#define SPIN_SECONDS 100e-6

#define GATE_OPEN ((uint64_t)1 << 15)
#define GATE_INSIDE (GATE_OPEN - 1)
#define GATE_JOB_SHIFT 16

struct pool_member {
    struct oa_pool *pool;
    struct oa_worker worker;
    struct oa_arena scratch;
    pthread_t thread;
    uint64_t served;                    /* the last job it entered */
    alignas(OA_ALIGN) atomic_long next; /* next item of its share */
    long end;
};

struct oa_pool {
    struct pool_member *members; /* [0] is the caller */
    int threads;
    double spin_seconds; /* before a waiting thread sleeps */
    /* In the cache line of the gate, which a helper fetches from another core anyway. */
    alignas(OA_ALIGN) _Atomic uint64_t gate;
    oa_task *task;
    _Atomic(void *) argument;
    alignas(OA_ALIGN) pthread_mutex_t lock;
    pthread_cond_t opened, emptied;
    atomic_int sleepers; /* helpers that sleep on `opened` */
    atomic_bool caller_sleeps, quit, running;
};

static void cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- the gate ---- */

static bool gate_called(const struct pool_member *m)
{
    uint64_t gate = atomic_load(&m->pool->gate);
    return atomic_load(&m->pool->quit) ||
           ((gate & GATE_OPEN) && gate >> GATE_JOB_SHIFT != m->served);
}

static bool gate_empty(const struct pool_member *m)
{
    return (atomic_load(&m->pool->gate) & GATE_INSIDE) == 0;
}

static bool gate_enter(struct pool_member *m)
{
    uint64_t gate = atomic_load(&m->pool->gate);
    /* Prefetches what the job reads while the gate's cache line is being acquired. */
    const char *argument = atomic_load_explicit(&m->pool->argument, memory_order_relaxed);
    __builtin_prefetch(&m->next, 1);
    __builtin_prefetch(argument);
    __builtin_prefetch(argument + OA_ALIGN);
    while (gate & GATE_OPEN) {
        if (atomic_compare_exchange_weak(&m->pool->gate, &gate, gate + 1)) {
            m->served = gate >> GATE_JOB_SHIFT;
            return true;
        }
    }
    return false;
}

static void gate_leave(struct oa_pool *p)
{
    uint64_t gate = atomic_fetch_sub(&p->gate, 1) - 1;
    if ((gate & (GATE_OPEN | GATE_INSIDE)) == 0 && atomic_load(&p->caller_sleeps)) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_signal(&p->emptied);
        pthread_mutex_unlock(&p->lock);
    }
}

/* Busy-waits for SPIN_SECONDS at most; false: the condition did not become true. */
static bool gate_spin(const struct pool_member *m, bool (*condition)(const struct pool_member *))
{
    if (condition(m))
        return true;
    if (m->pool->spin_seconds <= 0)
        return false;
    double end = oa_clock() + m->pool->spin_seconds;
    do {
        for (int i = 0; i < 16; i++) {
            cpu_pause();
            if (condition(m))
                return true;
        }
    } while (oa_clock() < end);
    return false;
}

/* ---- workers ---- */

static void pool_run_item(struct oa_pool *p, struct pool_member *m, long item)
{
    size_t mark = oa_arena_mark(&m->scratch);
    p->task(atomic_load_explicit(&p->argument, memory_order_relaxed), item, &m->worker);
    oa_arena_release(&m->scratch, mark);
}

/* Its own share first. */
static void pool_run_items(struct oa_pool *p, struct pool_member *m)
{
    for (int i = 0; i < p->threads; i++) {
        struct pool_member *share = &p->members[(m->worker.index + i) % p->threads];
        long item;
        while ((item = atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed)) <
               share->end)
            pool_run_item(p, m, item);
    }
}

/* Returns when woken, even if the job is over by then: the helper then spins before it sleeps
 * again. */
static void pool_sleep(struct pool_member *m)
{
    struct oa_pool *p = m->pool;
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleepers, 1);
    if (!gate_called(m))
        pthread_cond_wait(&p->opened, &p->lock);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
}

static void *pool_helper(void *argument)
{
    struct pool_member *m = argument;
    for (;;) {
        if (!gate_spin(m, gate_called))
            pool_sleep(m);
        if (atomic_load(&m->pool->quit))
            return NULL;
        if (gate_enter(m)) {
            pool_run_items(m->pool, m);
            gate_leave(m->pool);
        }
    }
}

/* ---- the caller ---- */

/* Wakes at most `wanted` sleepers; those that stay asleep are not waited for. */
static void pool_wake(struct oa_pool *p, long wanted)
{
    if (atomic_load(&p->sleepers) == 0)
        return;
    pthread_mutex_lock(&p->lock);
    if (wanted >= atomic_load(&p->sleepers))
        pthread_cond_broadcast(&p->opened);
    else
        for (long i = 0; i < wanted; i++)
            pthread_cond_signal(&p->opened);
    pthread_mutex_unlock(&p->lock);
}

/* The first item of a worker's share. With fewer items than workers, the caller has item 0. */
static long share_begin(const struct oa_pool *p, long items, int worker)
{
    long whole = items / p->threads, rest = items % p->threads;
    return whole * worker + (rest * worker + p->threads - 1) / p->threads;
}

static void gate_open(struct oa_pool *p, long items, oa_task *task, void *argument)
{
    p->task = task;
    atomic_store_explicit(&p->argument, argument, memory_order_relaxed);
    for (int i = 0; i < p->threads; i++) {
        atomic_store_explicit(&p->members[i].next, share_begin(p, items, i), memory_order_relaxed);
        p->members[i].end = share_begin(p, items, i + 1);
    }
    uint64_t job = (atomic_load(&p->gate) >> GATE_JOB_SHIFT) + 1;
    atomic_store(&p->gate, job << GATE_JOB_SHIFT | GATE_OPEN);
    pool_wake(p, items - 1);
}

static void gate_shut(struct oa_pool *p)
{
    atomic_fetch_and(&p->gate, ~GATE_OPEN);
    struct pool_member *caller = &p->members[0];
    if (gate_spin(caller, gate_empty))
        return;
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->caller_sleeps, true);
    while (!gate_empty(caller))
        pthread_cond_wait(&p->emptied, &p->lock);
    atomic_store(&p->caller_sleeps, false);
    pthread_mutex_unlock(&p->lock);
}

void oa_parallel(oa_context *c, long items, oa_task *task, void *argument)
{
    struct oa_pool *p = c->pool;
    if (atomic_exchange(&p->running, true)) {
        oa_fail(c, OA_INTERNAL,
                "oa_parallel called inside a parallel call, or from two threads at once");
        return;
    }
    if (p->threads == 1 || items <= 1) {
        p->task = task;
        atomic_store_explicit(&p->argument, argument, memory_order_relaxed);
        for (long i = 0; i < items; i++)
            pool_run_item(p, &p->members[0], i);
    } else {
        gate_open(p, items, task, argument);
        pool_run_items(p, &p->members[0]);
        gate_shut(p);
    }
    atomic_store(&p->running, false);
}

int oa_thread_count(const oa_context *c)
{
    return c->pool->threads;
}

bool oa_pool_spins(const struct oa_pool *p)
{
    return p->spin_seconds > 0;
}

double oa_context_clock(const oa_context *c)
{
    double seconds = oa_thread_clock();
    for (int i = 1; i < c->pool->threads; i++) {
        clockid_t clock;
        if (pthread_getcpuclockid(c->pool->members[i].thread, &clock) == 0)
            seconds += oa_seconds_of(clock);
    }
    return seconds;
}

static size_t largest_scratch(const struct oa_pool *p)
{
    size_t peak = 0;
    for (int i = 0; i < p->threads; i++)
        peak = p->members[i].scratch.peak > peak ? p->members[i].scratch.peak : peak;
    return peak;
}

void oa_scratch_share(oa_context *c)
{
    struct oa_pool *p = c->pool;
    size_t peak = largest_scratch(p);
    for (int i = 0; i < p->threads; i++) {
        struct oa_arena *scratch = &p->members[i].scratch;
        if (scratch->peak < peak)
            oa_arena_reserve(scratch, peak);
    }
}

size_t oa_scratch_peak(oa_context *c)
{
    size_t peak = largest_scratch(c->pool);
    for (int i = 0; i < c->pool->threads; i++)
        c->pool->members[i].scratch.peak = 0;
    return peak;
}

/* ---- making and freeing ---- */

/* The new thread inherits the blocked signals. */
int oa_thread_start(pthread_t *out, void *(*body)(void *), void *argument)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int e = pthread_create(out, NULL, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return e;
}

static void pool_start_helpers(struct oa_pool *p, oa_context *c, int threads)
{
    for (p->threads = 1; p->threads < threads; p->threads++) {
        struct pool_member *m = &p->members[p->threads];
        int e = oa_thread_start(&m->thread, pool_helper, m);
        if (e) {
            oa_log(c, 0, "started only %d of %d threads: %s", p->threads, threads, strerror(e));
            break;
        }
    }
}

struct oa_pool *oa_pool_make(oa_context *c, int threads, bool spin)
{
    struct oa_pool *p = oa_alloc(c, sizeof *p);
    if (!p)
        return NULL;
    p->members = oa_alloc(c, (size_t)threads * sizeof *p->members);
    if (!p->members) {
        oa_free(p);
        return NULL;
    }
    for (int i = 0; i < threads; i++) {
        struct pool_member *m = &p->members[i];
        m->pool = p;
        oa_arena_init(&m->scratch, c, false);
        m->worker = (struct oa_worker){ .index = i, .scratch = &m->scratch };
    }
    p->spin_seconds = spin ? SPIN_SECONDS : 0;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->opened, NULL);
    pthread_cond_init(&p->emptied, NULL);
    pool_start_helpers(p, c, threads);
    return p;
}

void oa_pool_free(struct oa_pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->quit, true);
    pthread_cond_broadcast(&p->opened);
    pthread_mutex_unlock(&p->lock);
    for (int i = 1; i < p->threads; i++)
        pthread_join(p->members[i].thread, NULL);
    for (int i = 0; i < p->threads; i++)
        oa_arena_free(&p->members[i].scratch);
    pthread_cond_destroy(&p->emptied);
    pthread_cond_destroy(&p->opened);
    pthread_mutex_destroy(&p->lock);
    oa_free(p->members);
    oa_free(p);
}
