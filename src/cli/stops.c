/* SPDX-License-Identifier: Apache-2.0
 * SIGINT and SIGTERM ask for a stop: the library saves and returns. Who asks twice does not want to wait. SIGXFSZ is
 * ignored: a write beyond ulimit -f then fails with a sentence instead of ending the program without one. */
#include "cli.h"

#include <signal.h>
#include <unistd.h>

static volatile int asked; /* a signal number; int, as the library wants it: stores of an int are whole everywhere */

static void note(int signal)
{
    if (asked)
        _exit(128 + signal);
    asked = signal;
}

/* The handler has a stack of its own: with its frame on that of the program, a bench that was stopped inside a matrix
 * product lost the heap once in seventy times, as if oneDNN's generated code kept data below the stack pointer. */
volatile int *catch_signals(void)
{
    static char stack[1 << 16];
    sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, NULL);
    struct sigaction action = { .sa_handler = note, .sa_flags = SA_RESTART | SA_ONSTACK };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGXFSZ, SIG_IGN);
    return &asked;
}

bool stop_asked(void)
{
    return asked != 0;
}
