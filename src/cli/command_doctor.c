/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run(struct call *call)
{
    if (!want_words(call, 0, 0, "no words"))
        return OA_ARGUMENT;
    return oa_doctor(call->context, &call->out);
}

const struct command command_doctor = {
    .name = "doctor",
    .sentence = "says what this machine has, what is used of it, and why the rest is not",
    .usage = "[--isa NAME] [--threads N] [--json]",
    .text = "Processor, instruction sets, caches, memory and threads; the kernels that were chosen "
            "for each precision "
            "and the reason for every instruction set that is not used; the libraries and their "
            "versions. The first "
            "thing to look at, and to send along, when speed is not what was expected.",
    .examples = "$ orthant doctor\n$ orthant doctor --isa avx2",
    .see = "bench",
    .run = run,
};
