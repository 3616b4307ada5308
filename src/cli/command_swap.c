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
    { "attention", "SPEC", .help = "attention in the place of the run's own" },
    { "out", "DIR", .help = "folder of the run to make, which must not have one" },
    { .name = NULL },
};

const struct command command_swap = {
    .name = "swap",
    .sentence = "puts another attention into a trained model",
    .usage = "RUN --attention SPEC --out DIR",
    .text =
        "Makes a run with the weights of RUN and another attention. Every tensor that fits is "
        "taken; of queries, keys and values each head has those of the same head in RUN, also "
        "where heads are grouped in another way. What does not fit is initialised, and printed "
        "with the reason, for each layer. Frozen projections are never replaced by learned ones. "
        "Nothing is trained: 'orthant train --init' and 'orthant eval' show what the exchange "
        "cost.",
    .examples =
        "$ orthant swap runs/m --attention \"local(window=256):8 | softmax:4\" --out runs/s\n"
        "$ orthant swap runs/m --attention \"orthogonal ; softmax\" --out runs/o",
    .flags = flags,
    .see = "train eval import",
    .run = run_swap,
};
