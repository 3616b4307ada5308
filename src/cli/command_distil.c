/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run_distil(struct call *call)
{
    const char *teacher = flag_value(call, "teacher"), *out = flag_value(call, "out");
    if (!want_words(call, 0, 0, "no arguments"))
        return OA_ARGUMENT;
    if (!teacher || !out || (!flag_given(call, "student") && !flag_given(call, "model.attention")))
        return wrong_use(call, "distil needs --teacher RUN, --student SPEC and --out FOLDER");
    enum oa_error e = apply_options(call);
    return e == OA_OK ? oa_distil(call->config, teacher, out, &call->out) : e;
}

static const struct flag flags[] = {
    { "teacher", "RUN", .help = "run to learn from" },
    { "student", "SPEC", .help = "attention that replaces the teacher's",
      .key = "model.attention" },
    { "out", "DIR", .help = "folder of the run to make" },
    { "task", "NAME",
      .help = "task of the student, such as lm, mlm or classify (default: the teacher's)",
      .key = "data.task" },
    { .name = NULL },
};

const struct command command_distil = {
    .name = "distil",
    .sentence = "puts another attention into a trained model and has it learn from that model",
    .usage = "--teacher RUN --student SPEC --out DIR [--section.key VALUE]...",
    .text =
        "The student starts with every tensor of the teacher that fits (as in 'orthant swap') and "
        "is trained in two stages. In the first (distil.attention_steps), each layer with a new "
        "attention learns the output of the teacher's layer from the teacher's input to that "
        "layer; nothing else is trained. In the second (train.steps), the model learns the "
        "teacher's probabilities (distil.soft) and the text (distil.hard); train.only restricts "
        "it to some parameters.\n"
        "Prints the losses of the teacher and of the student before and after each stage, and the "
        "share of the loss of the exchange that was recovered; distil.json in the folder has "
        "them. DIR/attention is the run of the first stage.\n"
        "If it is stopped, the same command continues it, and it ends with the same weights, bit "
        "for bit.",
    .examples = "$ orthant distil --config small.yaml --teacher runs/m --student hedgehog --out d\n"
                "$ orthant distil --config small.yaml --teacher runs/m --student local --out e \\\n"
                "    --train.only \"*.attention.*\"",
    .sections = "model data train distil",
    .flags = flags,
    .see = "swap train eval",
    .run = run_distil,
};
