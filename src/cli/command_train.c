/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <string.h>
#include <unistd.h>

static int times_given(const struct call *call, const char *name)
{
    int times = 0;
    for (int i = 0; i < call->givens; i++)
        times += strcmp(call->given[i].name, name) == 0;
    return times;
}

static enum oa_error run_train(struct call *call)
{
    const char *folder = flag_value(call, "out");
    if (!want_words(call, 0, 0, "no arguments"))
        return OA_ARGUMENT;
    if (times_given(call, "attention") + times_given(call, "model.attention") > 1)
        return wrong_use(call, "train takes one attention; 'orthant compare' trains several");
    if (flag_given(call, "resume") && flag_given(call, "overwrite"))
        return wrong_use(call, "give --resume or --overwrite, not both");
    oa_config_overwrite(call->config, flag_given(call, "overwrite"));
    char path[4096]; /* of a run that goes on: its options are the defaults */
    snprintf(path, sizeof path, "%.4000s/config.json", folder);
    bool there = flag_given(call, "resume") && access(path, R_OK) == 0;
    enum oa_error e = there ? oa_config_read_run(call->config, folder) : OA_OK;
    if (e == OA_OK)
        e = apply_options(call);
    return e == OA_OK ? oa_train(call->config, folder, flag_given(call, "resume"), NULL, &call->out)
                      : e;
}

static const struct flag flags[] = {
    { "out", "DIR", .help = "folder of the run", .fallback = "run" },
    { "resume", .help = "continue the run in the folder, if there is one, with its options" },
    { "overwrite", .help = "replace another run in the folder" },
    { "attention", "SPEC", .help = "attention of the model", .key = "model.attention" },
    { "task", "NAME", .help = "task to learn; see 'orthant list tasks'", .key = "data.task" },
    { "preset", "NAME",
      .help = "block of the model as in gpt2, llama, nanochat, bert or vit; options on the command "
              "line "
              "override it",
      .key = "model.preset" },
    { "metric", "NAME",
      .help = "metric of train.keep_best and train.patience; see 'orthant list tasks'",
      .key = "compare.metric" },
    { "init", "RUN", .help = "start from every tensor of a trained run that fits",
      .key = "train.init" },
    { .name = NULL },
};

const struct command command_train = {
    .name = "train",
    .sentence = "trains a model on text or examples",
    .usage = "[--config FILE] [--section.key VALUE]... [--out DIR] [--resume]",
    .text =
        "With only --data.train FILE it trains a small Transformer language model with softmax "
        "attention. The folder gets model.safetensors, config.json, tokenizer.json, log.jsonl "
        "(one line every train.log_every steps) and checkpoints.\n"
        "--task selects what is learned: language modelling (lm) by default; 'orthant list "
        "tasks' prints the others, which read examples: parallel files, tables or JSON lines.\n"
        "--init starts from every tensor of a trained run with the same name and shape. It uses "
        "the tokenizer and, unless given, the options model.* of that run. A masked language "
        "model (mlm) can be fine-tuned to classify, a span-corruption model (span) to "
        "translate. init.json records which tensors were used, which were not, and why.\n"
        "A run that was stopped (Ctrl-C, a kill, a power failure) continues with --resume from "
        "its newest checkpoint and ends with the same weights, bit for bit. The number of "
        "threads does not change a bit either.\n"
        "Checkpoints are written every train.checkpoint_minutes (5), or a hundred times as long "
        "as one takes to write if that is longer; at a stop; at the end; and every "
        "train.checkpoint_every steps if set. --resume prints the step it continues from. "
        "Texts, tokenizer and options must be those of the run: all are compared before "
        "anything is written. If a kill came before the first checkpoint, the run starts again, "
        "and the old log is kept as log.jsonl.1. One process at a time writes to a folder.\n"
        "Started by mpirun or srun, the processes train together, each on some of the "
        "train.accumulate micro-batches of a step, and end with the same weights as one "
        "process, bit for bit (docs/cluster.md). --threads is per process.",
    .examples =
        "$ orthant train --config small.yaml --model.attention \"random + softmax\" --out runs/a\n"
        "$ orthant train --task classify --data.train reviews.tsv --out runs/b\n"
        "$ orthant train --task classify --init runs/m --data.train reviews.tsv --out runs/c\n"
        "$ orthant train --resume --out runs/a\n"
        "$ orthant train --data.train text.txt --dump-config > small.yaml",
    .sections = "model data train distil decode cluster",
    .ranks = true,
    .flags = flags,
    .see = "eval generate compare plan",
    .run = run_train,
};
