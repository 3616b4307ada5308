/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

/* Text is to be seen as it comes. */
static void at_once(void *argument, const char *text, size_t length)
{
    (void)argument;
    fwrite(text, 1, length, stdout);
    fflush(stdout);
}

static enum oa_error run(struct call *call)
{
    if (!want_words(call, 1, 1, "the folder of a run"))
        return OA_ARGUMENT;
    call->out.sink = at_once;
    enum oa_error e = apply_options(call);
    return e == OA_OK ? oa_generate(call->config, call->word[0], &call->out) : e;
}

static const struct flag flags[] = {
    { .name = "prompt", .argument = "TEXT", .key = "generate.prompt", .help = "text to go on from" },
    { .name = "tokens", .argument = "N", .key = "generate.tokens", .help = "tokens to write" },
    { .name = "seed", .argument = "N", .key = "generate.seed", .help = "seed of the sampling" },
    { .name = "temperature", .argument = "X", .key = "generate.temperature", .help = "0 = always the likeliest" },
    { .name = "top-k", .argument = "N", .key = "generate.top_k", .help = "draw from the N likeliest tokens" },
    { .name = "top-p", .argument = "X", .key = "generate.top_p", .help = "draw from the likeliest that make up X" },
    { .name = NULL },
};

const struct command command_generate = {
    .name = "generate",
    .sentence = "writes text with a trained model",
    .usage = "DIR [--prompt TEXT] [--tokens N] [--seed N] [--temperature X] [--top-k N] [--top-p X]",
    .text = "The prompt is printed first and the text follows token by token. The same folder, prompt, seed and "
            "options give the same text. A token is made from the state that the ones before it left, so it costs "
            "the same however long the text is, but for attention over all keys. When model.context is full, the "
            "model goes on from the last half of it, which it reads again: it sees the last model.context / 2 to "
            "model.context tokens.",
    .examples = "$ orthant generate runs/a --prompt \"To be\" --tokens 200 --seed 1",
    .sections = "generate",
    .flags = flags,
    .see = "train eval",
    .run = run,
};
