/* SPDX-License-Identifier: Apache-2.0
 * Contexts: settings, the recorded error, log and stop flag. All mutable state of the library
 * belongs to a context. */
#include "base/context.h"
#include "base/concurrent.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_THREADS 1024

/* ---- errors ---- */

static void escape_line_ends(char sentence[SENTENCE])
{
    char shown[SENTENCE];
    size_t n = 0;
    for (const char *s = sentence; *s && n + 5 <= sizeof shown; s++) {
        if (*s == '\n')
            n += (size_t)snprintf(shown + n, sizeof shown - n, "\\x0a");
        else
            shown[n++] = *s;
    }
    memcpy(sentence, shown, n);
    sentence[n] = 0;
}

static void record_error(oa_context *c, enum oa_error code, const char *excerpt, const char *format,
                         va_list arguments)
{
    pthread_mutex_lock(&c->error_lock);
    if (atomic_load(&c->error) == OA_OK) {
        oa_format(c->sentence, sizeof c->sentence, format, arguments);
        if (strchr(c->sentence, '\n'))
            escape_line_ends(c->sentence);
        size_t length = strlen(c->sentence);
        snprintf(c->sentence + length, sizeof c->sentence - length, "%s", excerpt);
        atomic_store(&c->error, code);
    }
    pthread_mutex_unlock(&c->error_lock);
}

enum oa_error oa_fail(oa_context *c, enum oa_error code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record_error(c, code, "", format, arguments);
    va_end(arguments);
    return code;
}

enum oa_error oa_fail_with_excerpt(oa_context *c, enum oa_error code, const char *excerpt,
                                   const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record_error(c, code, excerpt, format, arguments);
    va_end(arguments);
    return code;
}

enum oa_error oa_status(const oa_context *c)
{
    return (enum oa_error)atomic_load(&c->error);
}

enum oa_error oa_last_error(const oa_context *c, const char **sentence)
{
    enum oa_error code = oa_status(c);
    if (sentence)
        *sentence = code == OA_OK ? "" : c->sentence;
    return code;
}

enum oa_error oa_fail_as(oa_context *c, const oa_context *other)
{
    const char *sentence;
    enum oa_error code = oa_last_error(other, &sentence);
    pthread_mutex_lock(&c->error_lock);
    if (code != OA_OK && atomic_load(&c->error) == OA_OK) {
        snprintf(c->sentence, sizeof c->sentence, "%s", sentence);
        atomic_store(&c->error, code);
    }
    pthread_mutex_unlock(&c->error_lock);
    return code;
}

enum oa_error oa_fail_as_argument(oa_context *c)
{
    int unsupported = OA_UNSUPPORTED;
    atomic_compare_exchange_strong(&c->error, &unsupported, OA_ARGUMENT);
    return oa_status(c);
}

void oa_clear_error(oa_context *c)
{
    atomic_store(&c->error, OA_OK);
}

/* ---- log, stop, version ---- */

void oa_context_on_pause(oa_context *c, void (*pause)(void *argument), void *argument)
{
    c->pause = pause;
    c->pause_argument = argument;
}

void oa_pause(oa_context *c)
{
    if (c->pause && oa_status(c) == OA_OK)
        c->pause(c->pause_argument);
}

void oa_log(oa_context *c, int level, const char *format, ...)
{
    if (!c->settings.log)
        return;
    char line[SENTENCE];
    va_list arguments;
    va_start(arguments, format);
    oa_format(line, sizeof line, format, arguments);
    va_end(arguments);
    c->settings.log(c->settings.log_argument, level, line);
}

int oa_stop_requested(const oa_context *c)
{
    int signal = atomic_load(&c->stop_now);
    return signal || c->stop_deferred ? signal : oa_stop_pending(c);
}

int oa_stop_pending(const oa_context *c)
{
    int signal = atomic_load(&c->stop_asked);
    return signal || !c->settings.stop ? signal : *c->settings.stop;
}

void oa_context_defer_stop(oa_context *c, bool defer)
{
    c->stop_deferred = defer;
}

void oa_stop_ask(oa_context *c, int signal)
{
    atomic_store(&c->stop_asked, signal);
}

void oa_stop(oa_context *c, int signal)
{
    atomic_store(&c->stop_now, signal);
}

enum oa_error oa_check_reserved(oa_context *c, const char *structure, const long *reserved,
                                int count)
{
    for (int i = 0; i < count; i++)
        if (reserved[i])
            return oa_fail(c, OA_ARGUMENT,
                           "struct %s: reserved[%d] is %ld, must be 0; zero the whole struct "
                           "before setting its fields",
                           structure, i, reserved[i]);
    return OA_OK;
}

const char *oa_version(void)
{
    return ORTHANT_VERSION;
}

double oa_seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double oa_clock(void)
{
    return oa_seconds_of(CLOCK_MONOTONIC);
}

double oa_processor_clock(void)
{
    return oa_seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

double oa_thread_clock(void)
{
    return oa_seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

/* ---- opening and closing ---- */

const struct oa_cpu *oa_context_cpu(const oa_context *c)
{
    return &c->cpu;
}

enum oa_isa oa_context_isa(const oa_context *c)
{
    return c->isa;
}

void oa_context_set_device(oa_context *c, const struct oa_device_ops *device)
{
    c->device = device;
}

const struct oa_device_ops *oa_context_device(const oa_context *c)
{
    return c->device;
}

enum oa_device_kind oa_context_device_kind(const oa_context *c)
{
    return c->device_kind;
}

int oa_context_device_number(const oa_context *c)
{
    return c->device_number;
}

void oa_context_set_cluster(oa_context *c, struct oa_cluster *cluster, bool silent)
{
    c->cluster = cluster;
    if (silent)
        c->settings.log = NULL;
}

struct oa_cluster *oa_context_cluster(const oa_context *c)
{
    return c->cluster;
}

/* At most the best instruction set of the processor. */
static enum oa_isa choose_isa(oa_context *c, const char *wanted)
{
    enum oa_isa best = oa_cpu_isa(&c->cpu);
    if (!wanted || strcmp(wanted, "auto") == 0)
        return best;
    for (int i = OA_ISA_REF; i <= OA_ISA_AMX; i++) {
        if (strcmp(wanted, oa_isa_name((enum oa_isa)i)) != 0)
            continue;
        if ((enum oa_isa)i <= best)
            return (enum oa_isa)i;
        oa_fail(c, OA_ARGUMENT,
                "isa is %s, but this processor (%s) supports at most %s; use that, or auto", wanted,
                c->cpu.name, oa_isa_name(best));
        return best;
    }
    oa_fail(c, OA_ARGUMENT, "isa is \"%s\"; choose auto, ref, avx2, avx512 or amx", wanted);
    return best;
}

/* "cuda:1" */
static void choose_device(oa_context *c, const char *wanted)
{
    static const char *const names[] = { "cpu", "opencl", "cuda", "auto" };
    size_t length = wanted ? strcspn(wanted, ":") : 0;
    for (int i = 0; wanted && i <= OA_DEVICE_AUTO; i++) {
        bool numbered = wanted[length] && (i == OA_DEVICE_OPENCL || i == OA_DEVICE_CUDA);
        char *end = "";
        if (strlen(names[i]) != length || strncmp(wanted, names[i], length) != 0)
            continue;
        long number = numbered ? strtol(wanted + length + 1, &end, 10) : 0;
        if (*end || (wanted[length] && !numbered) || (numbered && !isdigit(wanted[length + 1])) ||
            number > 63)
            break;
        c->device_kind = (enum oa_device_kind)i;
        c->device_number = (int)number;
        return;
    }
    if (wanted)
        oa_fail(c, OA_ARGUMENT,
                "device is \"%s\"; choose cpu, opencl, opencl:N, cuda, cuda:N (N from 0) or auto",
                wanted);
}

static int choose_threads(oa_context *c, int wanted)
{
    if (wanted < 0 || wanted > MAX_THREADS)
        oa_fail(c, OA_ARGUMENT, "threads is %d; give 1 to %d, or 0 for all %d cores", wanted,
                MAX_THREADS, c->cpu.cores);
    else if (wanted > 0)
        return wanted;
    return c->cpu.cores < MAX_THREADS ? c->cpu.cores : MAX_THREADS;
}

/* An invalid setting is recorded as an error in a context that works without it. */
oa_context *oa_open(const struct oa_settings *settings)
{
    oa_context *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    if (settings)
        c->settings = *settings;
    pthread_mutex_init(&c->error_lock, NULL);
    oa_check_reserved(c, "oa_settings", c->settings.reserved, 3);
    oa_cpu_detect(&c->cpu);
    c->isa = choose_isa(c, c->settings.isa);
    choose_device(c, c->settings.device);
    c->settings.isa = c->settings.device = NULL; /* borrowed only for this call */
    int threads = choose_threads(c, c->settings.threads);
    c->pool = oa_pool_make(c, threads, threads <= c->cpu.cores);
    if (!c->pool) {
        oa_close(c);
        return NULL;
    }
    return c;
}

oa_context *oa_context_clone(oa_context *c, int threads,
                             void (*log)(void *argument, int level, const char *line),
                             void *argument)
{
    oa_context *clone = calloc(1, sizeof *clone);
    if (clone) {
        clone->settings =
            (struct oa_settings){ .threads = threads, .log = log, .log_argument = argument };
        clone->cpu = c->cpu;
        clone->isa = c->isa;
        clone->device = c->device;
        clone->device_kind = c->device_kind;
        clone->device_number = c->device_number;
        pthread_mutex_init(&clone->error_lock, NULL);
        clone->pool = oa_pool_make(clone, threads, oa_pool_spins(c->pool));
    }
    if (clone && clone->pool)
        return clone;
    oa_close(clone);
    oa_fail(c, OA_NO_MEMORY, "out of memory for %d more threads", threads);
    return NULL;
}

void oa_close(oa_context *c)
{
    if (!c)
        return;
    oa_pool_free(c->pool);
    pthread_mutex_destroy(&c->error_lock);
    free(c);
}
