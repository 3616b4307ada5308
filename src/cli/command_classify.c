/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdlib.h>
#include <unistd.h>

static enum oa_error run(struct call *call)
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
    { .name = "data",
      .argument = "FILES",
      .help = "files of lines, or of pictures (*.bin), with commas between, instead of the "
              "standard input" },
    { .name = "columns",
      .argument = "LIST",
      .help = "which columns of a line, between tabs, are the text, or the two of a pair: numbers "
              "from 1, or names that "
              "line 1 has; 3+4 joins two" },
    { .name = "batch",
      .argument = "N",
      .fallback = "32",
      .help = "texts that are computed side by side, 1 to 1024; it changes no result" },
    { .name = "scores",
      .help = "the probability of every class behind it, between tabs, and a first line that names "
              "them" },
    { .name = NULL },
};

const struct command command_classify = {
    .name = "classify",
    .sentence = "says the class, or the number, of each line",
    .usage =
        "DIR [--data FILES] [--columns LIST] [--batch N] [--scores] [--json] [< INPUT] > OUTPUT",
    .text = "Takes runs of the tasks classify and regress. Line i of the standard output is the "
            "label that the model "
            "gives line i of the input, or the number, whatever lines stand beside it. A line is "
            "one text; for a model "
            "of pairs it is two, with a tab between. --columns takes them out of lines that have "
            "more columns; where it "
            "names them, line 1 of each file has the names and no text. A table (*.tsv) of which a "
            "model reads one text is "
            "refused without --columns; CSV and JSON are refused. Files may be packed with gzip; "
            "pictures are "
            "those that training reads, and their classes are not looked at. The training data are "
            "not needed.\n"
            "A blank line has an answer like others, as eval counts it. One that is not UTF-8, has "
            "a byte 0 in it, "
            "lacks a column or has "
            "characters that the vocabulary lacks is named on standard error and gives an empty "
            "line (with --scores: its "
            "tabs alone); one that is "
            "longer than the model reads is cut. Both are counted at the end. A line above 256 MiB "
            "and an error of reading "
            "end the command with 1.\n"
            "With --json there is an object a line, with the number of its line from 1.",
    .examples = "$ orthant classify runs/c < questions.txt > labels.txt\n"
                "$ orthant classify runs/c --data test.tsv --columns 2 --scores",
    .flags = flags,
    .see = "train eval score",
    .run = run,
};
