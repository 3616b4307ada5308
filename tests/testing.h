/* SPDX-License-Identifier: Apache-2.0
 * What every test includes: cmocka with the headers it needs before it. */
#ifndef ORTHANT_TESTING_H
#define ORTHANT_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ORTHANT_QUICK: the program is slow (sanitizers), or what its code calculates is tested in full
 * elsewhere. Its value says what counts there: "threads", what threads share; "memory", which
 * memory is touched; otherwise all. */
static inline bool short_form(void)
{
    return getenv("ORTHANT_QUICK") != NULL;
}

/* How often something random is tried, of which a share is looked at. */
static inline int tries(int in_full)
{
    return short_form() ? in_full / 10 : in_full;
}

static inline bool short_form_of(const char *what)
{
    return short_form() && strcmp(getenv("ORTHANT_QUICK"), what) == 0;
}

static inline bool only_threads(void)
{
    return short_form_of("threads");
}

static inline bool only_memory(void)
{
    return short_form_of("memory");
}

/* ORTHANT_FUNCTION: only the test functions whose names fit this pattern (`make check T=test_ops
 * F=*norm*`). */
__attribute__((constructor)) static void filter_functions(void)
{
    if (getenv("ORTHANT_FUNCTION"))
        cmocka_set_test_filter(getenv("ORTHANT_FUNCTION"));
}

/* Under the thread sanitizer the program is slow and nothing counts but what several threads do:
 * only the functions run whose names fit the pattern. */
static inline void threads_only(const char *pattern)
{
    if (only_threads())
        cmocka_set_test_filter(pattern);
}

/* Where nothing counts but what memory is touched, the functions do not run whose names fit the
 * pattern: they touch none that others do not touch too. */
static inline void memory_without(const char *pattern)
{
    if (only_memory())
        cmocka_set_skip_filter(pattern);
}

/* A text whose lines are wrapped, on one line. */
static inline void join_lines(char *text)
{
    for (; (text = strchr(text, '\n')); text++)
        *text = ' ';
}

#endif
