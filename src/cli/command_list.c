/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <string.h>

static enum oa_error list_tasks(struct call *call)
{
    if (strcmp(call->word[0], "tasks") != 0)
        return wrong_use(
            call, "list lists mechanisms, and with the word \"tasks\" tasks; there is no \"%.60s\"",
            call->word[0]);
    if (flag_given(call, "markdown"))
        return wrong_use(call, "tasks are listed as text or JSON");
    return oa_list_tasks(call->context, &call->out);
}

static enum oa_error run(struct call *call)
{
    if (!want_words(call, 0, 1, "no word, or \"tasks\""))
        return OA_ARGUMENT;
    if (call->words)
        return list_tasks(call);
    if (flag_given(call, "markdown") && call->out.json)
        return wrong_use(call, "list writes Markdown or JSON, not both");
    return flag_given(call, "markdown") ? oa_list_markdown(call->context, &call->out)
                                        : oa_list(call->context, &call->out);
}

static const struct flag flags[] = {
    { .name = "markdown",
      .help = "everything about every mechanism, and the language, as Markdown" },
    { .name = NULL },
};

const struct command command_list = {
    .name = "list",
    .sentence = "lists the mechanisms of attention, or the tasks",
    .usage = "[--json | --markdown]\n"
             "tasks [--json]",
    .text = "What stands in the table can be written wherever an attention is asked for, with "
            "options in parentheses, "
            "mixed with + into one softmax, side by side in the heads of a layer with |, layer by "
            "layer with ;, and "
            "stack by stack of a model with & "
            "(encoder: …, decoder: …, cross: …).\n"
            "\"list tasks\" has what models can learn: the values of --task, what is read and "
            "predicted, by what it "
            "is measured, and where it comes from.",
    .examples = "$ orthant list\n"
                "$ orthant list tasks\n"
                "$ orthant explain \"local(window=64) | pattern(previous):1 ; random + softmax\"",
    .flags = flags,
    .see = "explain compare",
    .run = run,
};
