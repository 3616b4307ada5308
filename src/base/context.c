/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts: settings, the error that is recorded, log and stop. Everything mutable in the library hangs on one of
 * these.
 */
#include "base/context.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_THREADS 1024

/* ---- errors -------------------------------------------------------------------------------------------------- */

enum oa_error oa_fail(oa_context *c, enum oa_error code, const char *format, ...)
{
    pthread_mutex_lock(&c->error_lock);
    if (atomic_load(&c->error) == OA_OK) {
        va_list arguments;
        va_start(arguments, format);
        oa_format(c->sentence, sizeof c->sentence, format, arguments);
        va_end(arguments);
        atomic_store(&c->error, code);
    }
    pthread_mutex_unlock(&c->error_lock);
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

void oa_clear_error(oa_context *c)
{
    atomic_store(&c->error, OA_OK);
}

/* ---- log, stop, version -------------------------------------------------------------------------------------- */

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
    return c->settings.stop ? *c->settings.stop : 0;
}

const char *oa_version(void)
{
    return ORTHANT_VERSION;
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double oa_clock(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

double oa_processor_clock(void)
{
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

/* ---- opening and closing ------------------------------------------------------------------------------------- */

const struct oa_cpu *oa_context_cpu(const oa_context *c)
{
    return &c->cpu;
}

enum oa_isa oa_context_isa(const oa_context *c)
{
    return c->isa;
}

/* The instruction set that was asked for may only be lower than the best one of the processor. */
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
        oa_fail(c, OA_ARGUMENT, "isa is %s, but this processor (%s) has no more than %s; give that, or auto", wanted,
                c->cpu.name, oa_isa_name(best));
        return best;
    }
    oa_fail(c, OA_ARGUMENT, "isa is \"%s\"; choose auto, ref, avx2, avx512 or amx", wanted);
    return best;
}

static int choose_threads(oa_context *c, int wanted)
{
    if (wanted < 0 || wanted > MAX_THREADS)
        oa_fail(c, OA_ARGUMENT, "threads is %d; give 1 to %d, or 0 for all %d cores", wanted, MAX_THREADS,
                c->cpu.cores);
    else if (wanted > 0)
        return wanted;
    return c->cpu.cores < MAX_THREADS ? c->cpu.cores : MAX_THREADS;
}

/* A setting that cannot be honoured is recorded as an error in a context that works without it. */
oa_context *oa_open(const struct oa_settings *settings)
{
    oa_context *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    if (settings)
        c->settings = *settings;
    pthread_mutex_init(&c->error_lock, NULL);
    oa_cpu_detect(&c->cpu);
    c->isa = choose_isa(c, c->settings.isa);
    c->settings.isa = NULL; /* borrowed only for this call */
    c->pool = oa_pool_make(c, choose_threads(c, c->settings.threads));
    if (!c->pool) {
        oa_close(c);
        return NULL;
    }
    return c;
}

void oa_close(oa_context *c)
{
    if (!c)
        return;
    oa_pool_free(c->pool);
    pthread_mutex_destroy(&c->error_lock);
    free(c);
}
