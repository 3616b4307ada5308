/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdlib.h>

static enum oa_error run_plan(struct call *call)
{
    if (!want_words(call, 0, 1,
                    "at most one argument, the folder of a run; attentions are given with "
                    "--attention"))
        return OA_ARGUMENT;
    if (flag_given(call, "attention") &&
        !allow_none(call, "model.attention", "--attention overrides it"))
        return OA_ARGUMENT;
    const char **attentions = want_memory((size_t)call->givens + 1, sizeof *attentions);
    enum oa_error e = apply_options_like(call);
    if (e == OA_OK)
        e = oa_plan_training(call->config, attentions, flag_values(call, "attention", attentions),
                             &call->out);
    free(attentions);
    return e;
}

static const struct flag flags[] = {
    { "attention", "SPEC",
      .help = "attention to plan for; repeat for several (default: model.attention)" },
    { "task", "NAME", .help = "task to learn; see 'orthant list tasks'", .key = "data.task" },
    { "preset", "NAME",
      .help = "block of the model as in gpt2, llama, nanochat, bert or vit; options on the command "
              "line "
              "override it",
      .key = "model.preset" },
    { "init", "RUN", .help = "trained run or comparison whose tokenizer is used",
      .key = "train.init" },
    { "ranks", "N",
      .help = "also plan for 2 … N ranks that train together, where they divide train.accumulate",
      .key = "cluster.ranks" },
    { "compare.ranks", "N", .help = "plan for a comparison that trains each run on N ranks",
      .key = "compare.ranks" },
    { .name = NULL },
};

const struct command command_plan = {
    .name = "plan",
    .sentence = "estimates time and memory of a training before it runs",
    .usage = "[DIR] [--config FILE] [--attention SPEC]... [--section.key VALUE]...",
    .text =
        "Counts parameters, FLOPs and memory exactly, by a training step on a device that "
        "computes nothing. The time is measured: steps run here on random tokens, with the given "
        "threads and instruction set. If a step would take too long or too much memory, fewer "
        "rows and layers run and the time is scaled by the work of each operation; the output "
        "reports it. On a busy machine it prints a notice and gives processor time.\n"
        "With the folder of a run, imported or trained, it plans the training of such a model, "
        "with the run's tokenizer and options; the command line overrides them. --init plans a "
        "training that starts from a run, with options of its own.\n"
        "--ranks N estimates runs on 2 … N machines like this one, or processes, started by "
        "mpirun or srun. It prints the time of a step, the share of it spent waiting for the "
        "network (cluster.bandwidth, cluster.latency), and for each rank the bytes sent and the "
        "memory.",
    .examples = "$ orthant plan --attention softmax --attention random --model.context 1024\n"
                "$ orthant plan --config small.yaml --train.precision bf16\n"
                "$ orthant plan runs/a --train.batch 32\n"
                "$ orthant plan --ranks 8 --train.accumulate 8 --cluster.bandwidth 25",
    .sections = "model data train cluster",
    .flags = flags,
    .see = "train compare bench explain",
    .run = run_plan,
};
