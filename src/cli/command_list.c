/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run(struct call *call)
{
    if (!want_words(call, 0, 0, "no words"))
        return OA_ARGUMENT;
    return oa_list(call->context, &call->out);
}

const struct command command_list = {
    .name = "list",
    .sentence = "lists the mechanisms of attention",
    .usage = "[--json]",
    .text = "What stands in the table can be written wherever an attention is asked for, with options in parentheses, "
            "mixed with + into one softmax, side by side in the heads of a layer with |, and layer by layer with ;",
    .examples = "$ orthant list\n"
                "$ orthant explain \"local(window=64) | pattern(previous):1 ; random + softmax\"",
    .see = "explain compare",
    .run = run,
};
