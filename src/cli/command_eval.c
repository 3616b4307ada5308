/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run(struct call *call)
{
    if (!want_words(call, 1, 1, "the folder of a run"))
        return OA_ARGUMENT;
    return oa_eval(call->context, call->word[0], flag_value(call, "data"), NULL, &call->out);
}

static const struct flag flags[] = {
    { .name = "data",
      .argument = "FILES",
      .help =
          "text files, or files of token ids (*.bin), with commas between (default: the validation text of the run)" },
    { .name = NULL },
};

const struct command command_eval = {
    .name = "eval",
    .sentence = "measures how well a trained model predicts a text",
    .usage = "DIR [--data FILES] [--json]",
    .text = "Every token of the text but the first is predicted once, from at most model.context tokens before it. "
            "Perplexity depends on the tokenizer; bits per character and per byte can be compared between "
            "tokenizers.",
    .examples = "$ orthant eval runs/a\n$ orthant eval runs/a --data other.txt",
    .flags = flags,
    .see = "train generate",
    .run = run,
};
