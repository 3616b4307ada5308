/* SPDX-License-Identifier: Apache-2.0
 * Memory that is refused where nobody can go on without it. The library records a failure of its
 * own allocations and returns. jansson, in which it builds what it writes, leaves out what found no
 * memory, or ends the program by an assertion; oneDNN throws an exception of C++ that nobody
 * catches. The program therefore ends when one of them gets no memory: with a sentence, and files
 * as after a kill, which every command copes with. */
#include "cli.h"

#include <dlfcn.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void end_without_memory(void)
{
    print_error(
        "out of memory; close other programs, raise the limit (ulimit -v) or take less at a time");
    _exit(FAILED); /* other threads still run */
}

void *want_memory(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    if (!memory)
        end_without_memory();
    return memory;
}

static void *allocate_or_end(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory && bytes)
        end_without_memory();
    return memory;
}

void watch_memory(void)
{
    json_set_alloc_funcs(allocate_or_end, free);
    /* std::set_new_handler, where a library has brought C++ along. */
    void *found = dlsym(RTLD_DEFAULT, "_ZSt15set_new_handlerPFvvE");
    void (*(*set_new_handler)(void (*)(void)))(void);
    memcpy(&set_new_handler, &found, sizeof found);
    if (set_new_handler)
        set_new_handler(end_without_memory);
}
