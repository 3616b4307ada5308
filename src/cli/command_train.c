/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

/* With --resume the run's own options come first: nothing need be said twice. */
static enum oa_error read_run(struct call *call, const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%.4000s/config.json", folder);
    FILE *f = flag_given(call, "resume") ? fopen(path, "r") : NULL;
    if (!f)
        return OA_OK;
    fclose(f);
    return oa_config_read_run(call->config, folder);
}

static enum oa_error run(struct call *call)
{
    const char *folder = flag_value(call, "out");
    if (!want_words(call, 0, 0, "no words"))
        return OA_ARGUMENT;
    enum oa_error e = read_run(call, folder);
    if (e == OA_OK)
        e = apply_options(call);
    return e == OA_OK ? oa_train(call->config, folder, flag_given(call, "resume"), NULL, &call->out) : e;
}

static const struct flag flags[] = {
    { .name = "out", .argument = "DIR", .fallback = "run", .help = "folder of the run" },
    { .name = "resume", .help = "go on with the run in the folder, if there is one, with the options it has" },
    { .name = "attention", .argument = "SPEC", .key = "model.attention", .help = "the attention" },
    { .name = NULL },
};

const struct command command_train = {
    .name = "train",
    .sentence = "trains a model on text and keeps it in a folder",
    .usage = "[--config FILE] [--section.key VALUE]... [--out DIR] [--resume]",
    .text = "Without any option it trains a small Transformer with softmax attention on tiny Shakespeare. The folder "
            "gets model.safetensors, config.json, tokenizer.json, log.jsonl (one line every train.log_every steps) and "
            "checkpoints.\n"
            "A run that is stopped (Ctrl-C, a kill, a power cut) goes on with --resume from its newest checkpoint "
            "and ends with the same weights, bit for bit, as if it had never been stopped. The number of threads "
            "makes no difference to any bit either.",
    .examples = "$ orthant train --config small.yaml --model.attention \"random + softmax\" --out runs/a\n"
                "$ orthant train --resume --out runs/a\n"
                "$ orthant train --dump-config > small.yaml",
    .sections = "model data train",
    .flags = flags,
    .see = "eval generate compare plan",
    .run = run,
};
