/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bugs.h"

#ifdef ORTHANT_BUGS
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The only mutable globals there are, and in no library that anyone is given. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static enum oa_bug on = OA_BUG_COUNT;

static void read_name(void)
{
    static const char *const names[] = {
#define BUG(name, spec, text) #name,
#include "base/bugs.def"
#undef BUG
    };
    const char *wanted = getenv("ORTHANT_BUG");
    for (int i = 0; wanted && i < OA_BUG_COUNT; i++)
        on = strcmp(wanted, names[i]) == 0 ? (enum oa_bug)i : on;
}

bool oa_bug_is_on(enum oa_bug b)
{
    pthread_once(&once, read_name);
    return on == b;
}
#endif
