/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run_explain(struct call *call)
{
    if (!want_words(call, 1, 1, "one attention, quoted if it has blanks"))
        return OA_ARGUMENT;
    enum oa_error e = apply_options(call);
    return e == OA_OK ? oa_explain(call->config, call->word[0], &call->out) : e;
}

const struct command command_explain = {
    .name = "explain",
    .sentence = "explains an attention: formula, parameters, FLOPs, modes, caveats, citation",
    .usage = "SPEC [--model.width N] [--model.heads N] [--model.context N] [--json]",
    .text = "Numbers are for the shape given by the options model.*. Stacks of a model with labels "
            "(encoder: … & decoder: … & cross: …) are explained one by one, each in its mode.",
    .examples =
        "$ orthant explain \"local(window=64, qk=haar)\"\n"
        "$ orthant explain \"random + softmax\" --model.context 512\n"
        "$ orthant explain \"encoder: raganato & decoder: local(window=64) & cross: linear\"",
    .sections = "model",
    .see = "list attend plan",
    .run = run_explain,
};
