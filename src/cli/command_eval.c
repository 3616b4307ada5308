/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run(struct call *call)
{
    if (!want_words(call, 1, 1, "the folder of a run"))
        return OA_ARGUMENT;
    if (!flag_given(call, "data") &&
        !allow_none(call, "columns", "it says which columns of --data are read"))
        return OA_ARGUMENT;
    return oa_eval(call->context, call->word[0], flag_value(call, "data"),
                   flag_value(call, "columns"), NULL, &call->out);
}

static const struct flag flags[] = {
    { .name = "data",
      .argument = "FILES",
      .help = "text files, files of token ids (*.bin), or files of examples, with commas between "
              "(default: what the "
              "run was "
              "tested or validated on)" },
    { .name = "columns",
      .argument = "LIST",
      .help = "columns of --data, as data.columns has them (default: those of the run)" },
    { .name = NULL },
};

const struct command command_eval = {
    .name = "eval",
    .sentence = "measures how well a trained model does what it was trained for",
    .usage = "DIR [--data FILES [--columns LIST]] [--json]",
    .text = "Every token of the text but the first is predicted once, from at most model.context "
            "tokens before it. "
            "Perplexity depends on the tokenizer; bits per character and per byte can be compared "
            "between "
            "tokenizers.\n"
            "A run of another task is measured by the measures of its task (orthant list tasks), "
            "on its test data if it "
            "was given some, else on its validation data. Of classes there are the confusion "
            "matrix, and precision, "
            "recall, "
            "F1 and support of each.",
    .examples = "$ orthant eval runs/a\n$ orthant eval runs/a --data other.txt",
    .flags = flags,
    .see = "train generate",
    .run = run,
};
