/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <string.h>

static enum oa_error run_list(struct call *call)
{
    if (!want_words(call, 0, 1, "no argument, or \"tasks\""))
        return OA_ARGUMENT;
    if (call->words) {
        if (strcmp(call->word[0], "tasks") != 0)
            return wrong_use(
                call,
                "unexpected argument \"%.60s\": give \"tasks\", or nothing to list mechanisms",
                call->word[0]);
        if (flag_given(call, "markdown"))
            return wrong_use(call, "--markdown has no effect on tasks: use --json");
        return oa_list_tasks(call->context, &call->out);
    }
    if (flag_given(call, "markdown") && call->out.json)
        return wrong_use(call, "give --markdown or --json, not both");
    return flag_given(call, "markdown") ? oa_list_markdown(call->context, &call->out)
                                        : oa_list(call->context, &call->out);
}

static const struct flag flags[] = {
    { "markdown",
      .help = "everything about every mechanism, and the attention language, as Markdown" },
    { .name = NULL },
};

const struct command command_list = {
    .name = "list",
    .sentence = "lists the attention mechanisms, or the tasks",
    .usage = "[--json | --markdown]\n"
             "tasks [--json]",
    .text =
        "Mechanisms can be used wherever an attention is expected, with options in parentheses. "
        "+ mixes them into one softmax, | assigns them to heads of a layer, ; to layers, and & "
        "to stacks (encoder: …, decoder: …, cross: …).\n"
        "'orthant list tasks' prints what models can learn: the values of --task, input and "
        "output, metrics, and references.",
    .examples = "$ orthant list\n"
                "$ orthant list tasks\n"
                "$ orthant explain \"local(window=64) | pattern(previous):1 ; random + softmax\"",
    .flags = flags,
    .see = "explain compare",
    .run = run_list,
};
