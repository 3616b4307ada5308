/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdlib.h>
#include <unistd.h>

static enum oa_error run_classify(struct call *call)
{
    long batch = 0;
    struct input in = { .call = call, .fd = STDIN_FILENO };
    if (!want_words(call, 1, 1, "the folder of a run") ||
        !flag_number(call, "batch", 1, 1024, &batch))
        return OA_ARGUMENT;
    struct oa_classify_request request = { .next = next_line,
                                           .argument = &in,
                                           .bytes = bytes_left(STDIN_FILENO),
                                           .files = flag_value(call, "data"),
                                           .columns = flag_value(call, "columns"),
                                           .batch = (int)batch,
                                           .scores = flag_given(call, "scores") };
    request.at_once = !request.files && isatty(STDIN_FILENO);
    call->out.sink = to_stdout_at_once;
    enum oa_error e = oa_classify(call->context, call->word[0], &request, &call->out);
    free(in.data);
    return e;
}

static const struct flag flags[] = {
    { "data", "FILES",
      .help = "text files or images (*.bin), separated by commas, instead of standard input" },
    { "columns", "LIST",
      .help = "tab-separated columns with the text, or with the two texts of a pair: numbers "
              "from 1, or names from line 1; 3+4 joins two columns" },
    { "batch", "N", .help = "texts per batch, 1 to 1024; the results are the same",
      .fallback = "32" },
    { "scores", .help =
                    "append the probability of every class, separated by tabs, and print the class "
                    "names first" },
    { .name = NULL },
};

const struct command command_classify = {
    .name = "classify",
    .sentence = "predicts the class or the number of each line",
    .usage =
        "DIR [--data FILES] [--columns LIST] [--batch N] [--scores] [--json] [< INPUT] > OUTPUT",
    .text =
        "For runs of the tasks classify and regress. Line i of the output is the label or the "
        "number that the model predicts for line i of the input, independent of the other lines. "
        "A line is one text, or for a model of pairs two texts separated by a tab. --columns "
        "selects them from lines with more columns; two columns are a pair for an imported model "
        "too, and a table (*.tsv) is one of pairs. If it gives names, line 1 of each file is a "
        "header. For other models of single texts a table needs --columns; CSV and JSON are "
        "refused. Files may be gzip; images are those that training reads, and their labels are "
        "ignored. The training data are not needed.\n"
        "A blank line is a text like any other, as in eval. A line that is not UTF-8, has a zero "
        "byte, lacks a column or has characters outside the vocabulary is reported on standard "
        "error and gives an empty line (with --scores only the tabs). A line longer than the "
        "context is truncated. Both are counted at the end. A line above 256 MiB and a read "
        "error end the command with 1.\n"
        "With --json each line is an object with its line number, counted from 1.",
    .examples = "$ orthant classify runs/c < questions.txt > labels.txt\n"
                "$ orthant classify runs/c --data test.tsv --columns 2 --scores",
    .flags = flags,
    .see = "train eval score",
    .run = run_classify,
};
