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

/* ORTHANT_QUICK: the program is slow (sanitizers), or what its code calculates is tested in full elsewhere. Its value
 * says what counts there: "threads", what threads share; "memory", which memory is touched; otherwise all. */
static inline bool short_form(void)
{
    return getenv("ORTHANT_QUICK") != NULL;
}

/* How often something random is tried, of which a share is looked at. */
static inline int tries(int in_full)
{
    return short_form() ? in_full / 10 : in_full;
}

/* Under the thread sanitizer the program is slow and nothing counts but what several threads do: with
 * ORTHANT_QUICK=threads only the functions run whose names fit the pattern. */
static inline void threads_only(const char *pattern)
{
    const char *quick = getenv("ORTHANT_QUICK");
    if (quick && strcmp(quick, "threads") == 0)
        cmocka_set_test_filter(pattern);
}

#endif
