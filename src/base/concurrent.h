/* SPDX-License-Identifier: Apache-2.0
 * Several contexts at once. A context serves one thread at a time, so concurrent runs open one
 * each, with its own threads, error and log, and forward failures to the caller's context. */
#ifndef ORTHANT_BASE_CONCURRENT_H
#define ORTHANT_BASE_CONCURRENT_H

#include "base/base.h"

#include <pthread.h>

/* A context with `threads` threads of its own and the processor, instruction set and device of `c`,
 * for use from one other thread; oa_close it. `log` is called from that thread. It stops on oa_stop
 * only: the stop flag in the settings of `c` is not polled. NULL after a failure recorded in `c`.
 */
oa_context *oa_context_clone(oa_context *c, int threads,
                             void (*log)(void *argument, int level, const char *line),
                             void *argument);
/* From now on oa_stop_requested(c) returns `signal`. Any thread. */
void oa_stop(oa_context *c, int signal);
/* The same, unless stops are deferred (oa_context_defer_stop): then only oa_stop_pending(c) returns
 * it. Any thread. */
void oa_stop_ask(oa_context *c, int signal);
/* Records in `c` the failure that is recorded in `other`, word for word, and returns its code. */
enum oa_error oa_fail_as(oa_context *c, const oa_context *other);
/* Seconds of processor time of the calling thread and the context's other threads. */
double oa_context_clock(const oa_context *c);

/* pthread_create with all signals blocked in the new thread. Returns an errno. */
int oa_thread_start(pthread_t *out, void *(*body)(void *), void *argument);

#endif
