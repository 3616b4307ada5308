/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run_swap(struct call *call)
{
    const char *out = flag_value(call, "out"), *attention = flag_value(call, "attention");
    if (!want_words(call, 1, 1, "the folder of a run"))
        return OA_ARGUMENT;
    if (!out || !attention)
        return wrong_use(call, "swap needs --attention SPEC and --out FOLDER");
    return oa_swap(call->context, call->word[0], attention, out, &call->out);
}

static const struct flag flags[] = {
    { "attention", "SPEC", .help = "attention that replaces the run's own" },
    { "out", "DIR", .help = "folder of the run to make, which must not have one" },
    { .name = NULL },
};

const struct command command_swap = {
    .name = "swap",
    .sentence = "puts another attention into a trained model",
    .usage = "RUN --attention SPEC --out DIR",
    .text =
        "Makes a run with the weights of RUN and another attention. Every tensor that fits is "
        "taken; each head keeps the queries, keys and values of the same head in RUN, even if "
        "heads are grouped differently. For each layer, tensors that do not fit are initialised, "
        "and printed with the reason. Frozen projections are never replaced by learned ones. "
        "Nothing is trained: use 'orthant eval' to measure the cost, 'orthant distil' or 'orthant "
        "train --init' to repair it.",
    .examples =
        "$ orthant swap runs/m --attention \"local(window=256):8 | softmax:4\" --out runs/s\n"
        "$ orthant swap runs/m --attention \"orthogonal ; softmax\" --out runs/o",
    .flags = flags,
    .see = "train eval import",
    .run = run_swap,
};
