/* SPDX-License-Identifier: Apache-2.0
 * SIGINT and SIGTERM ask for a stop: the library saves and returns. Who asks twice does not want to wait. */
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

volatile int *catch_signals(void)
{
    struct sigaction action = { .sa_handler = note, .sa_flags = SA_RESTART };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &asked;
}
