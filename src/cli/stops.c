/* SPDX-License-Identifier: Apache-2.0
 * SIGINT, SIGTERM, SIGHUP and SIGPIPE ask for a stop: the library saves and returns, and the
 * program ends with 128 + the signal. A second SIGINT or SIGTERM exits at once; a second SIGHUP or
 * SIGPIPE does not: the kernel and the shell both send SIGHUP, and every write to a closed pipe
 * raises SIGPIPE. SIGHUP and SIGPIPE stay ignored if they were (nohup). SIGXFSZ is ignored: a write
 * beyond ulimit -f then fails with a message instead of killing the program. */
#include "cli.h"

#include <signal.h>
#include <unistd.h>

static volatile int asked; /* a signal number; int, as struct oa_settings has it: stores are atomic
                              on all targets */

static void note_signal(int signal)
{
    bool by_itself = signal == SIGHUP || signal == SIGPIPE;
    if (asked && !by_itself)
        _exit(128 + signal);
    if (!asked)
        asked = signal;
}

static void catch_unless_ignored(int signal, const struct sigaction *action)
{
    struct sigaction before;
    if (sigaction(signal, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(signal, action, NULL);
}

/* The handler has a stack of its own: with its frame on that of the program, a bench that was
 * stopped inside a matrix product corrupted the heap once in seventy times, as if oneDNN's
 * generated code had data below the stack pointer. */
volatile int *catch_signals(void)
{
    static char stack[1 << 16];
    sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, NULL);
    struct sigaction action = { .sa_handler = note_signal, .sa_flags = SA_RESTART | SA_ONSTACK };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    catch_unless_ignored(SIGHUP, &action);
    catch_unless_ignored(SIGPIPE, &action);
    signal(SIGXFSZ, SIG_IGN);
    return &asked;
}

bool stop_asked(void)
{
    return asked != 0;
}
