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

/* files.c: records why the system refused `what` ("read", "write", …) on a path, with a remedy; `code` is an errno. */
enum oa_error oa_fail_system(oa_context *c, int code, const char *what, const char *path);

/* files.c: a file that takes the place of the old one only when it is complete and on the disk. */
struct oa_new_file {
    oa_context *context;
    const char *path;
    char *temporary; /* NULL: a device or pipe, which is written to directly */
    int fd;
    size_t written;
};
enum oa_error oa_new_file_open(struct oa_new_file *f, oa_context *c, const char *path);
enum oa_error oa_new_file_add(struct oa_new_file *f, const void *data, size_t length);
/* so_far: how writing went. Unless it is OA_OK the old file stays. Returns the first failure. */
enum oa_error oa_new_file_finish(struct oa_new_file *f, enum oa_error so_far);

#define MOST_OPTIONS 256 /* rows that options.def may have */

/* options.c: sets one option. On failure `why` holds the sentence, so that the caller can put file and line before it.
 */
enum oa_error oa_option_apply(struct oa_options *o, const char *key, const char *value, char why[SENTENCE]);

/* options.c: the value of one option, plain, or as JSON and YAML both want it (texts in quotes). */
void oa_option_print(const struct oa_options *o, const struct oa_option_row *r, struct oa_text *out);
void oa_option_quote(const struct oa_options *o, const struct oa_option_row *r, struct oa_text *out);

#endif
