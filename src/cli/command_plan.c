/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdlib.h>

static enum oa_error run(struct call *call)
{
    if (!want_words(call, 0, 0, "no words; attentions are given with --attention"))
        return OA_ARGUMENT;
    if (flag_given(call, "attention") &&
        !allow_none(call, "model.attention", "--attention says what to plan for"))
        return OA_ARGUMENT;
    const char **attentions = want_memory((size_t)call->givens + 1, sizeof *attentions);
    enum oa_error e = apply_options(call);
    if (e == OA_OK)
        e = oa_plan(call->config, attentions, flag_values(call, "attention", attentions),
                    &call->out);
    free(attentions);
    return e;
}

static const struct flag flags[] = {
    { .name = "attention",
      .argument = "SPEC",
      .help = "an attention to plan for; given once for each (default: model.attention)" },
    { .name = "task",
      .argument = "NAME",
      .key = "data.task",
      .help = "what is learnt; 'orthant list tasks' has them, and the options that suit each" },
    { .name = "init",
      .argument = "RUN",
      .key = "train.init",
      .help = "a trained run, or a comparison: its tokenizer is used, and nothing else" },
    { .name = "ranks",
      .argument = "N",
      .key = "cluster.ranks",
      .help = "also for 2 … N processes that train together, as many as divide train.accumulate" },
    { .name = "compare.ranks",
      .argument = "N",
      .key = "compare.ranks",
      .help = "the same for a comparison, of which each run is trained by N processes" },
    { .name = NULL },
};

const struct command command_plan = {
    .name = "plan",
    .sentence = "says what training would take, before anything runs",
    .usage = "[--config FILE] [--attention SPEC]... [--section.key VALUE]...",
    .text = "Runs one training step on a device that computes nothing and counts: parameters, "
            "FLOPs and memory are "
            "those of the real step. The time is measured: steps are made here, on made-up tokens, "
            "with the threads and "
            "the "
            "instruction set that are given. Where a step would take too long or too much memory, "
            "fewer rows and layers "
            "are made, and the time is scaled by what each operation has to do; the output says "
            "which. On a busy machine "
            "it says so, and gives processor time.\n"
            "--ranks N says what to expect of 2 … N machines like this one, or processes, that "
            "mpirun or srun starts: "
            "the time of a step, how much of it they wait for the network (cluster.bandwidth, "
            "cluster.latency), what each "
            "sends, and the memory that each takes.",
    .examples = "$ orthant plan --attention softmax --attention random --model.context 1024\n"
                "$ orthant plan --config small.yaml --train.precision bf16\n"
                "$ orthant plan --ranks 8 --train.accumulate 8 --cluster.bandwidth 25",
    .sections = "model data train cluster",
    .flags = flags,
    .see = "train compare bench explain",
    .run = run,
};
