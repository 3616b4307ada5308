/* SPDX-License-Identifier: Apache-2.0
 * Private to base: the context, and functions shared by its files. */
#ifndef ORTHANT_BASE_CONTEXT_H
#define ORTHANT_BASE_CONTEXT_H

#include "base/base.h"
#include "base/new_file.h"
#include "base/processor.h"
#include "base/safetensors.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define SENTENCE 4096 /* bytes of the longest error message; longer than any text option */

struct oa_context {
    struct oa_settings settings;
    struct oa_cpu cpu;
    enum oa_isa isa;
    struct oa_pool *pool;
    const struct oa_device_ops *device; /* set by oa_context_set_device; NULL: by its name */
    enum oa_device_kind device_kind;
    int device_number;
    struct oa_cluster *cluster; /* joined; NULL: alone */
    const char *copies;         /* folder (file_copies.h); NULL: none */
    bool copies_only;
    bool stop_deferred;
    void (*pause)(void *argument); /* oa_pause; NULL: nothing */
    void *pause_argument;
    atomic_long allocations;
    pthread_mutex_t error_lock; /* while a failure is recorded */
    atomic_int error;           /* an oa_error; set after the sentence is complete */
    atomic_int stop_now;        /* signal given to oa_stop, or 0 */
    atomic_int stop_asked;      /* signal given to oa_stop_ask, or 0 */
    char sentence[SENTENCE];
};

double oa_seconds_of(clockid_t clock); /* context.c */

/* threads.c: NULL after a recorded failure. spin: whether a waiting thread may busy-wait
 * for a moment before it sleeps. */
struct oa_pool *oa_pool_make(oa_context *c, int threads, bool spin);
void oa_pool_free(struct oa_pool *p);
bool oa_pool_spins(const struct oa_pool *p);

/* files.c: records OA_IO "cannot WHAT PATH: REASON; REMEDY". code: an errno. */
enum oa_error oa_fail_system(oa_context *c, int code, const char *what, const char *path);
const char *oa_errno_remedy(int code);

/* files.c: OA_INTERRUPTED when a stop is requested after `done` ≥ OA_READING_PIECE bytes; shorter
 * files are always read whole, since stopping may need them. */
#define OA_READING_PIECE ((size_t)1 << 24)
enum oa_error oa_reading_stopped(oa_context *c, const char *path, size_t done);

/* pipes.c: poll(2) for `events`, at most 100 ms. OA_INTERRUPTED when a stop is requested. */
enum oa_error oa_poll_briefly(oa_context *c, const char *path, int fd, short events, bool *ready);
/* Opens a pipe or device for writing, non-blocking. Waiting for a pipe's reader ends with
 * OA_INTERRUPTED when a stop is requested. */
enum oa_error oa_special_open(oa_context *c, const char *path, int *fd);

/* new_file.c: writes all of it. before: bytes already written, for the error message. */
enum oa_error oa_write_all(oa_context *c, int fd, const char *path, const char *data, size_t length,
                           size_t before);

/* safetensors_checksum.c: of a header (a jansson object) and the CRC-32 of the tensors' bytes. */
struct json_t;
enum oa_error oa_tensors_checksum(oa_context *c, struct json_t *header, unsigned long crc,
                                  struct oa_digest *out);

/* options.c: sets one option. On failure `why` has the message, to be prefixed with file and line.
 */
enum oa_error oa_option_apply(struct oa_options *o, const char *key, const char *value,
                              char why[SENTENCE]);

/* options.c: the value of one option, plain, or as JSON and YAML both want it (texts in quotes). */
void oa_option_print(const struct oa_options *o, const struct oa_option_row *r,
                     struct oa_text *out);
void oa_option_quote(const struct oa_options *o, const struct oa_option_row *r,
                     struct oa_text *out);

#endif
