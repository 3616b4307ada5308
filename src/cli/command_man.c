/* SPDX-License-Identifier: Apache-2.0
 * Manual pages, from the same tables as --help: the build writes them with this command. */
#include "cli.h"

#include <errno.h>
#include <string.h>

static void write_manual(FILE *f, const struct command *c)
{
    if (c)
        write_command(&roff_writer, f, c);
    else
        write_overview(&roff_writer, f);
}

static enum oa_error write_manual_file(struct call *call, const char *folder,
                                       const struct command *c)
{
    char path[4096];
    snprintf(path, sizeof path, "%.4000s/orthant%s%s.1", folder, c ? "-" : "", c ? c->name : "");
    FILE *f = fopen(path, "w");
    if (f) {
        write_manual(f, c);
        if (fclose(f) == 0)
            return OA_OK;
    }
    wrong_use(call, "cannot write %.800s: %s", path, strerror(errno));
    return OA_IO;
}

static enum oa_error write_manual_folder(struct call *call, const char *folder)
{
    enum oa_error e = write_manual_file(call, folder, NULL);
    for (int i = 0; e == OA_OK && command_at(i); i++)
        if (!command_at(i)->hidden)
            e = write_manual_file(call, folder, command_at(i));
    return e;
}

static enum oa_error run_man(struct call *call)
{
    const char *folder = flag_value(call, "out");
    if (!want_words(call, 0, 1, "at most one command"))
        return OA_ARGUMENT;
    if (folder)
        return write_manual_folder(call, folder);
    const struct command *c = call->words ? command_find(call->word[0]) : NULL;
    if (call->words && !c)
        return wrong_use(call, "there is no command \"%.60s\"", call->word[0]);
    write_manual(stdout, c);
    return OA_OK;
}

static const struct flag flags[] = {
    { "out", "DIR", .help = "write the pages of all commands into this folder" },
    { .name = NULL },
};

const struct command command_man = {
    .name = "man",
    .sentence = "prints a manual page in roff",
    .usage = "[COMMAND | --out DIR]",
    .examples = "$ orthant man train | man -l -",
    .flags = flags,
    .hidden = true,
    .run = run_man,
};
