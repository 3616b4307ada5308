/* SPDX-License-Identifier: Apache-2.0
 * The table of commands. A command is a const table in its own file and one line here. */
#include "cli.h"

#include <string.h>

#define COMMANDS(X) /* in the order of the overview */                                             \
    X(compare)                                                                                     \
    X(judge)                                                                                       \
    X(evidence)                                                                                    \
    X(train)                                                                                       \
    X(plan)                                                                                        \
    X(import)                                                                                      \
    X(export)                                                                                      \
    X(swap)                                                                                        \
    X(distil)                                                                                      \
    X(eval)                                                                                        \
    X(score)                                                                                       \
    X(generate)                                                                                    \
    X(translate)                                                                                   \
    X(classify)                                                                                    \
    X(serve)                                                                                       \
    X(inspect)                                                                                     \
    X(tokenizer)                                                                                   \
    X(data)                                                                                        \
    X(verify)                                                                                      \
    X(bench)                                                                                       \
    X(list)                                                                                        \
    X(explain)                                                                                     \
    X(theory)                                                                                      \
    X(attend)                                                                                      \
    X(forward)                                                                                     \
    X(doctor)                                                                                      \
    X(completion)                                                                                  \
    X(man)

#define DECLARE(name) extern const struct command command_##name;
COMMANDS(DECLARE)

static const struct command *const commands[] = {
#define LIST(name) &command_##name,
    COMMANDS(LIST)
};

static const struct flag common[] = {
    { "config", "FILE",
      .help = "read options from a YAML file; those on the command line override it" },
    { "dump-config", .help = "print all options as YAML and exit" },
    { "threads", "N", .help = "threads, 0 to 1024; 0 = all cores available to the process",
      .fallback = "0" },
    { "isa", "NAME",
      .help = "highest instruction set to use: auto, ref (plain C), avx2, avx512, amx",
      .fallback = "auto", .words = "auto|ref|avx2|avx512|amx" },
    { "device", "NAME",
      .help =
          "what computes: cpu, opencl, opencl:N, cuda, cuda:N (N from 0), or auto: a GPU if there "
          "is one",
      .fallback = "cpu" },
    { "json", .help = "print results as JSON" },
    { "quiet", .help = "print no progress" },
    { "help", .help = "print this help" },
    { .name = NULL },
};

const struct command *command_at(int i)
{
    return i >= 0 && i < (int)(sizeof commands / sizeof *commands) ? commands[i] : NULL;
}

const struct command *command_find(const char *name)
{
    for (int i = 0; command_at(i); i++)
        if (strcmp(command_at(i)->name, name) == 0)
            return command_at(i);
    return NULL;
}

const struct flag *common_flags(void)
{
    return common;
}
