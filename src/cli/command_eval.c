/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run_eval(struct call *call)
{
    if (!want_words(call, 1, 1, "the folder of a run"))
        return OA_ARGUMENT;
    if (!flag_given(call, "data") && !allow_none(call, "columns", "it needs --data"))
        return OA_ARGUMENT;
    const struct oa_eval_request request = { .files = flag_value(call, "data"),
                                             .columns = flag_value(call, "columns"),
                                             .unknown_labels = flag_value(call, "unknown-labels") };
    return oa_eval(call->context, call->word[0], &request, NULL, &call->out);
}

static const struct flag flags[] = {
    { "data", "FILES",
      .help = "text files, token ids (*.bin) or examples, separated by commas (default: the test "
              "data of the run, else its validation data)" },
    { "columns", "LIST",
      .help = "columns of --data, as in data.columns (default: those of the run)" },
    { "unknown-labels", "WORD",
      .help = "classify: examples with a label that training lacks: count as wrong, or refuse "
              "(default: data.unknown_labels of the run)",
      .words = "wrong|refuse" },
    { .name = NULL },
};

const struct command command_eval = {
    .name = "eval",
    .sentence = "evaluates a trained model with the metrics of its task",
    .usage = "DIR [--data FILES [--columns LIST]] [--unknown-labels wrong|refuse] [--json]",
    .text =
        "Language models predict every token of the text except the first once, from at most "
        "model.context tokens before it. Perplexity depends on the tokenizer; bits per character "
        "and bits per byte can be compared between tokenizers.\n"
        "Runs of other tasks are evaluated with the metrics of their task ('orthant list tasks'), "
        "on their test data if they have any, else on their validation data. Classification also "
        "prints the confusion matrix and precision, recall, F1 and support of each class.",
    .examples = "$ orthant eval runs/a\n$ orthant eval runs/a --data other.txt",
    .flags = flags,
    .see = "train generate",
    .run = run_eval,
};
