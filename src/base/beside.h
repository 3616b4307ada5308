/* SPDX-License-Identifier: Apache-2.0
 *
 * Work side by side: a context serves one thread at a time, so whoever does several things at once
 * opens one for each, with its own threads, error and log, and forwards to the caller's context
 * what belongs there.
 */
#ifndef ORTHANT_BESIDE_H
#define ORTHANT_BESIDE_H

#include "base/base.h"

#include <pthread.h>

/* A context with `threads` threads of its own and the processor and instruction set of `c`, to be
 * used from one other thread; oa_close it. What is said in it goes to `log`, called from that
 * thread. A stop is asked for with oa_stop alone: the caller's own is only looked at where the
 * caller's thread is. NULL after a failure recorded in `c`. */
oa_context *oa_open_beside(oa_context *c, int threads,
                           void (*log)(void *argument, int level, const char *line),
                           void *argument);
/* From then on oa_stop_requested(c) is `signal`. Safe from any thread. */
void oa_stop(oa_context *c, int signal);
/* The same where nobody holds stops; else oa_stop_held(c) is, until all ranks have agreed on the
 * step. From any thread.
 */
void oa_stop_ask(oa_context *c, int signal);
/* Records in `c` the failure that is recorded in `other`, word for word, and returns its code. */
enum oa_error oa_fail_as(oa_context *c, const oa_context *other);
/* Seconds of processor time of the calling thread and of the context's helpers: what is done beside
 * them is not in it.
 */
double oa_context_clock(const oa_context *c);

/* As pthread_create, but signals do not go to the thread: they are for the program's own. */
int oa_thread_start(pthread_t *out, void *(*body)(void *), void *argument);

#endif
