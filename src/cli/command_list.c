/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run(struct call *call)
{
    if (!want_words(call, 0, 0, "no words"))
        return OA_ARGUMENT;
    if (flag_given(call, "markdown") && call->out.json)
        return wrong_use(call, "list writes Markdown or JSON, not both");
    return flag_given(call, "markdown") ? oa_list_markdown(call->context, &call->out)
                                        : oa_list(call->context, &call->out);
}

static const struct flag flags[] = {
    { .name = "markdown", .help = "everything about every mechanism, and the language, as Markdown" },
    { .name = NULL },
};

const struct command command_list = {
    .name = "list",
    .sentence = "lists the mechanisms of attention",
    .usage = "[--json | --markdown]",
    .text = "What stands in the table can be written wherever an attention is asked for, with options in parentheses, "
            "mixed with + into one softmax, side by side in the heads of a layer with |, layer by layer with ;, and "
            "stack by stack of a model with & "
            "(encoder: …, decoder: …, cross: …).",
    .examples = "$ orthant list\n"
                "$ orthant explain \"local(window=64) | pattern(previous):1 ; random + softmax\"",
    .flags = flags,
    .see = "explain compare",
    .run = run,
};
