/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run_verify(struct call *call)
{
    if (!want_words(call, 0, 1, "at most one attention, quoted if it has blanks"))
        return OA_ARGUMENT;
    return oa_verify(call->context, call->words ? call->word[0] : NULL, flag_given(call, "quick"),
                     &call->out);
}

static const struct flag flags[] = {
    { "quick", .help = "fewer variants and draws: seconds instead of minutes" },
    { .name = NULL },
};

const struct command command_verify = {
    .name = "verify",
    .sentence = "checks on this machine that attentions are computed correctly",
    .usage = "[SPEC] [--quick] [--json]",
    .text =
        "Checks every mechanism, with every value of every option, in every mode and precision. "
        "Layers: gradients against central differences, causality (bit for bit), NaN in padding, "
        "batches, attention maps against a plain implementation, shorter sequences, permutations "
        "and threads. Models and theory: models of every form against a plain implementation "
        "without padding, beam search against scoring its output, the properties declared by each "
        "mechanism, limits that must equal another attention, parameter and FLOP counts, and "
        "random features and projections against their theoretical means and variances.\n"
        "SPEC restricts it to one attention. Each line shows the largest error of all checks "
        "next to its bound, always below 1, and where it occurred; failures follow in full, and "
        "the exit code is then 5. Output rows that rounding alone can change by as much as "
        "their size (weights of both signs, divided by a sum near 0) are inconclusive: they are "
        "counted, listed, and do not change the exit code. Unsupported modes are counted, and "
        "listed with SPEC.",
    .examples = "$ orthant verify --quick\n"
                "$ orthant verify \"performer(features=64)\"\n"
                "$ orthant verify --isa ref --json",
    .flags = flags,
    .see = "explain doctor attend",
    .run = run_verify,
};
