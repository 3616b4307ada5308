/* SPDX-License-Identifier: Apache-2.0
 *
 * What only base may see: the inside of a context, and the calls its files make to each other.
 */
#ifndef ORTHANT_BASE_CONTEXT_H
#define ORTHANT_BASE_CONTEXT_H

#include "base/base.h"
#include "base/new_file.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define SENTENCE                                                                                   \
    4096 /* bytes of the longest error sentence; a text option fits with room to spare */

struct oa_context {
    struct oa_settings settings;
    struct oa_cpu cpu;
    enum oa_isa isa;
    struct oa_pool *pool;
    const struct oa_device_ops *device; /* chosen; NULL: none was */
    struct oa_cluster *cluster;         /* joined; NULL: alone */
    bool stop_held;
    atomic_long allocations;
    pthread_mutex_t error_lock; /* guards the sentence while a failure is recorded */
    atomic_int error;           /* an oa_error; set after the sentence is complete */
    atomic_int asked;           /* the signal given to oa_stop, or 0 */
    atomic_int wished;          /* to oa_stop_ask */
    char sentence[SENTENCE];
};

double oa_seconds_of(clockid_t clock); /* context.c */

/* threads.c: NULL after a recorded failure. spin: whether a waiting thread may busy-wait
 * for a moment before it sleeps. */
struct oa_pool *oa_pool_make(oa_context *c, int threads, bool spin);
void oa_pool_free(struct oa_pool *p);
bool oa_pool_spins(const struct oa_pool *p);

/* files.c: records why the system refused `what` ("read", "write", …) on a path, with a remedy;
 * `code` is an errno. */
enum oa_error oa_fail_system(oa_context *c, int code, const char *what, const char *path);
const char *oa_remedy(int code); /* what to do about it */

/* files.c: OA_INTERRUPTED when a stop is asked for, once OA_READING_PIECE bytes were read: what is
 * small is read whole, for it may be what a stop has to be noted in. */
#define OA_READING_PIECE ((size_t)1 << 24)
enum oa_error oa_reading_stopped(oa_context *c, const char *path, size_t done);

/* pipes.c: until something can be read or written (poll's `events`), but a moment at most. Looks
 * first whether a stop is asked for: OA_INTERRUPTED. */
enum oa_error oa_wait_a_moment(oa_context *c, const char *path, int fd, short events, bool *ready);
/* A pipe or a device, opened for writing without waits; that of a pipe for its reader ends when a
 * stop is asked for. */
enum oa_error oa_special_open(oa_context *c, const char *path, int *fd);

/* new_file.c: writes everything; `before` bytes were written already (for the sentence). */
enum oa_error oa_write_all(oa_context *c, int fd, const char *path, const char *data, size_t length,
                           size_t before);

/* safetensors_checksum.c: the checksum that fits a header (a jansson object) and the CRC-32 of the
 * tensors' bytes. */
struct json_t;
enum oa_error oa_tensors_checksum(oa_context *c, struct json_t *header, unsigned long crc,
                                  struct oa_digest *out);

/* options.c: sets one option. On failure `why` holds the sentence, so that the caller can put file
 * and line before it.
 */
enum oa_error oa_option_apply(struct oa_options *o, const char *key, const char *value,
                              char why[SENTENCE]);

/* options.c: the value of one option, plain, or as JSON and YAML both want it (texts in quotes). */
void oa_option_print(const struct oa_options *o, const struct oa_option_row *r,
                     struct oa_text *out);
void oa_option_quote(const struct oa_options *o, const struct oa_option_row *r,
                     struct oa_text *out);

#endif
