/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run_doctor(struct call *call)
{
    if (!want_words(call, 0, 0, "no arguments"))
        return OA_ARGUMENT;
    return oa_doctor(call->context, &call->out);
}

const struct command command_doctor = {
    .name = "doctor",
    .sentence = "shows the hardware and libraries in use, and why others are not used",
    .usage = "[--isa NAME] [--threads N] [--json]",
    .text =
        "Prints processor, instruction sets, caches, memory and threads, the kernels chosen for "
        "each precision, the reason for every unused instruction set, and the libraries with "
        "their versions. Include it in reports about speed.",
    .examples = "$ orthant doctor\n$ orthant doctor --isa avx2",
    .see = "bench",
    .run = run_doctor,
};
