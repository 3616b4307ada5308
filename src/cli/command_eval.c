/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run_eval_choices(struct call *call)
{
    const struct oa_eval_choices_request request = { .pairs = flag_value(call, "pairs"),
                                                     .choices = flag_value(call, "choices"),
                                                     .prefix = flag_value(call, "prefix"),
                                                     .details = flag_value(call, "details") };
    if (request.pairs && request.choices)
        return wrong_use(call, "--pairs and --choices are two evaluations");
    if (!allow_none(call, "data columns unknown-labels stride context",
                    "--pairs and --choices have files of their own"))
        return OA_ARGUMENT;
    return oa_eval_choices(call->context, call->word[0], &request, &call->out);
}

static enum oa_error run_eval(struct call *call)
{
    long stride = 0, context = 0;
    if (!want_words(call, 1, 1, "the folder of a run"))
        return OA_ARGUMENT;
    if (flag_given(call, "pairs") || flag_given(call, "choices"))
        return run_eval_choices(call);
    if (!allow_none(call, "prefix details", "it needs --pairs or --choices"))
        return OA_ARGUMENT;
    if (!flag_given(call, "data") && !allow_none(call, "columns", "it needs --data"))
        return OA_ARGUMENT;
    if (!flag_number(call, "stride", 1, 1048576, &stride) ||
        !flag_number(call, "context", 1, 1048576, &context))
        return OA_ARGUMENT;
    const struct oa_eval_request request = { .files = flag_value(call, "data"),
                                             .columns = flag_value(call, "columns"),
                                             .unknown_labels = flag_value(call, "unknown-labels"),
                                             .stride = stride,
                                             .context = context };
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
    { "context", "N",
      .help = "language models: tokens of a window (default: the model's context, which is the "
              "most)" },
    { "stride", "N",
      .help = "language models: windows that begin N tokens apart, of which only the new tokens "
              "are scored; the loss is averaged as Hugging Face's guide does" },
    { "pairs", "FILES",
      .help = "JSON Lines with sentence_good and sentence_bad: the share of pairs of which the "
              "language model gives the good one the higher probability" },
    { "choices", "FILES",
      .help = "JSON Lines with context or question, choices, and label, counted from 0: the share "
              "of questions whose right choice has the highest probability" },
    { "prefix", "TEXT",
      .help = "with --pairs or --choices: what is before every text, such as <|endoftext|>" },
    { "details", "FILE",
      .help = "with --pairs or --choices: write the log-probabilities, an object for each line" },
    { .name = NULL },
};

const struct command command_eval = {
    .name = "eval",
    .sentence = "evaluates a trained model with the metrics of its task",
    .usage = "DIR [--data FILES [--columns LIST]] [--unknown-labels wrong|refuse] [--json]\n"
             "DIR [--data FILES] [--context N] [--stride N] [--json]\n"
             "DIR --pairs FILES | --choices FILES [--prefix TEXT] [--details FILE] [--json]",
    .text =
        "Language models predict every token of the text except the first once, from at most "
        "model.context tokens before it. Perplexity depends on the tokenizer; bits per character "
        "and bits per byte can be compared between tokenizers.\n"
        "Runs of other tasks are evaluated with the metrics of their task ('orthant list tasks'), "
        "on their test data if they have any, else on their validation data. Classification also "
        "prints the confusion matrix and precision, recall, F1 and support of each class.\n"
        "--pairs prints how often the good sentence of a pair has the higher log-probability. "
        "--choices prints how often the right choice has the highest log-probability after its "
        "context, in sum and per byte. Ties do not count as right.",
    .examples = "$ orthant eval runs/a\n$ orthant eval runs/a --data other.txt\n"
                "$ orthant eval runs/a --data other.txt --stride 32\n"
                "$ orthant eval runs/a --pairs pairs.jsonl --details out.jsonl",
    .flags = flags,
    .see = "train generate",
    .run = run_eval,
};
