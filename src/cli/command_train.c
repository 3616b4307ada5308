/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <string.h>
#include <unistd.h>

/* With --resume the run's own options come first: nothing need be said twice. */
static enum oa_error read_run(struct call *call, const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%.4000s/config.json", folder);
    bool there = flag_given(call, "resume") && access(path, R_OK) == 0;
    return there ? oa_config_read_run(call->config, folder) : OA_OK;
}

static int times_given(const struct call *call, const char *name)
{
    int times = 0;
    for (int i = 0; i < call->givens; i++)
        times += strcmp(call->given[i].name, name) == 0;
    return times;
}

static enum oa_error run(struct call *call)
{
    const char *folder = flag_value(call, "out");
    if (!want_words(call, 0, 0, "no words"))
        return OA_ARGUMENT;
    if (times_given(call, "attention") + times_given(call, "model.attention") > 1)
        return wrong_use(call, "train takes one attention; 'orthant compare' trains several");
    if (flag_given(call, "resume") && flag_given(call, "overwrite"))
        return wrong_use(call, "a run either goes on (--resume) or begins anew (--overwrite)");
    oa_config_overwrite(call->config, flag_given(call, "overwrite"));
    enum oa_error e = read_run(call, folder);
    if (e == OA_OK)
        e = apply_options(call);
    return e == OA_OK ? oa_train(call->config, folder, flag_given(call, "resume"), NULL, &call->out)
                      : e;
}

static const struct flag flags[] = {
    { .name = "out", .argument = "DIR", .fallback = "run", .help = "folder of the run" },
    { .name = "resume",
      .help = "go on with the run in the folder, if there is one, with the options it has" },
    { .name = "overwrite",
      .help = "begin anew in a folder that holds another run, which is removed" },
    { .name = "attention", .argument = "SPEC", .key = "model.attention", .help = "the attention" },
    { .name = "task",
      .argument = "NAME",
      .key = "data.task",
      .help = "what is learnt; 'orthant list tasks' has them, and the options that suit each" },
    { .name = "metric",
      .argument = "NAME",
      .key = "compare.metric",
      .help = "the measure that train.keep_best and train.patience go by; 'orthant list tasks' has "
              "those of a task" },
    { .name = "init",
      .argument = "RUN",
      .key = "train.init",
      .help = "begin with every tensor of a trained run that fits" },
    { .name = NULL },
};

const struct command command_train = {
    .name = "train",
    .sentence = "trains a model on text or examples and keeps it in a folder",
    .usage = "[--config FILE] [--section.key VALUE]... [--out DIR] [--resume]",
    .text = "Given only --data.train FILE, it trains a small Transformer language model with "
            "softmax attention. The folder "
            "gets model.safetensors, config.json, tokenizer.json, log.jsonl (one line every "
            "train.log_every steps) and "
            "checkpoints.\n"
            "--task says what is learnt: language models (lm) are the default; 'orthant list "
            "tasks' has the others, "
            "which read examples: parallel files, tables or JSON lines.\n"
            "--init begins with every tensor of a trained run that fits, by name and shape, has "
            "its model.* where they are "
            "not given, and reads text with its tokenizer: a masked language model (mlm) can be "
            "fine-tuned to classify, "
            "one of corrupted spans (span) to "
            "translate. What was taken, and what was not and why, is in init.json.\n"
            "A run that is stopped (Ctrl-C, a kill, a power cut) goes on with --resume from its "
            "newest checkpoint "
            "and ends with the same weights, bit for bit, as if it had never been stopped. The "
            "number of threads "
            "makes no difference to any bit either.\n"
            "Checkpoints are written every train.checkpoint_minutes (5), or a hundred times as "
            "long as one takes if "
            "that is longer, so that they cost less than a hundredth of the time; at a stop; at "
            "the end; and every "
            "train.checkpoint_every steps if that is given. --resume says where it goes on. Texts, "
            "tokenizer and "
            "options must be those the run was begun with: all is compared before anything is "
            "written. Where a kill "
            "came before the first checkpoint the run begins again, and the old log is kept as "
            "log.jsonl.1. One "
            "process at a time writes to a folder.\n"
            "Started by mpirun or srun, as many processes train together, each some of the "
            "train.accumulate micro-batches "
            "of a step, and end with the same weights as one, bit for bit (docs/cluster.md). "
            "--threads is of each.",
    .examples =
        "$ orthant train --config small.yaml --model.attention \"random + softmax\" --out runs/a\n"
        "$ orthant train --task classify --data.train reviews.tsv --out runs/b\n"
        "$ orthant train --task classify --init runs/m --data.train reviews.tsv --out runs/c\n"
        "$ orthant train --resume --out runs/a\n"
        "$ orthant train --data.train text.txt --dump-config > small.yaml",
    .sections = "model data train decode cluster",
    .ranks = true,
    .flags = flags,
    .see = "eval generate compare plan",
    .run = run,
};
