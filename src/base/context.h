/* SPDX-License-Identifier: Apache-2.0
 *
 * What only base may see: the inside of a context, and the calls its files make to each other.
 */
#ifndef ORTHANT_BASE_CONTEXT_H
#define ORTHANT_BASE_CONTEXT_H

#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>

#define SENTENCE 4096 /* bytes of the longest error sentence; a text option fits with room to spare */

struct oa_context {
    struct oa_settings settings;
    struct oa_cpu cpu;
    enum oa_isa isa;
    struct oa_pool *pool;
    atomic_long allocations;
    pthread_mutex_t error_lock; /* guards the sentence while a failure is recorded */
    atomic_int error;           /* an oa_error; set after the sentence is complete */
    char sentence[SENTENCE];
};

/* memory.c: as oa_alloc, but what the memory holds is undefined; its pages cost nothing until they are touched. */
void *oa_alloc_raw(oa_context *c, size_t bytes);

/* threads.c: NULL after a recorded failure. */
struct oa_pool *oa_pool_make(oa_context *c, int threads);
void oa_pool_free(struct oa_pool *p);

#endif
