/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run(struct call *call)
{
    if (!want_words(call, 0, 1, "at most one attention, in quotes if it has blanks"))
        return OA_ARGUMENT;
    return oa_verify(call->context, call->words ? call->word[0] : NULL, flag_given(call, "quick"),
                     &call->out);
}

static const struct flag flags[] = {
    { .name = "quick", .help = "fewer variants and draws: seconds instead of minutes" },
    { .name = NULL },
};

const struct command command_verify = {
    .name = "verify",
    .sentence = "proves on this machine that attentions do what they claim",
    .usage = "[SPEC] [--quick] [--json]",
    .text = "Every mechanism, with every value of every option, in every mode and precision: "
            "gradients against central "
            "differences, no look into the future (bit for bit), NaN in padding, batches, the "
            "plain oracle's map, "
            "shorter sequences, order, threads, models of every form that has it beside a plain "
            "oracle without padding, "
            "beam "
            "search beside a pass over its text, the claims of its table, limits that must equal "
            "another attention, "
            "parameter and FLOP counts, and the laws of random features and projections with their "
            "theoretical variances.\n"
            "With SPEC only that attention, and the laws that belong to it. A line has the worst "
            "error of all checks "
            "beside its bound, which is always below 1, and what it was measured on; failures "
            "follow in full, and the exit "
            "code is then 5. Rows of an output that rounding alone could change by as much as they "
            "are (weights of both "
            "signs, divided by a sum near 0) are inconclusive: they are counted and listed, and "
            "do not change the exit code. Unsupported modes are counted, and listed with SPEC.",
    .examples = "$ orthant verify --quick\n"
                "$ orthant verify \"performer(features=64)\"\n"
                "$ orthant verify --isa ref --json",
    .flags = flags,
    .see = "explain doctor attend",
    .run = run,
};
