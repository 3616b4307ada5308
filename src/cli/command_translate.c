/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdlib.h>
#include <unistd.h>

/* The run's own options come first. */
static enum oa_error run(struct call *call)
{
    long best = 0;
    struct input in = { .call = call, .fd = STDIN_FILENO };
    if (!want_words(call, 1, 1, "the folder of a run") ||
        !flag_number(call, "nbest", 1, 256, &best))
        return OA_ARGUMENT;
    if (best && flag_given(call, "scores"))
        return wrong_use(call, "--nbest has log p in every line already: leave --scores out");
    struct oa_translate_request request = { .next = next_line,
                                            .argument = &in,
                                            .best = (int)best,
                                            .scores = flag_given(call, "scores"),
                                            .alignment = flag_given(call, "alignment"),
                                            .at_once = isatty(STDIN_FILENO),
                                            .bytes = bytes_left(STDIN_FILENO) };
    call->out.sink = to_stdout_at_once;
    enum oa_error e = oa_config_read_run(call->config, call->word[0]);
    if (e == OA_OK)
        e = apply_options(call);
    if (e == OA_OK)
        e = oa_translate(call->config, call->word[0], &request, &call->out);
    free(in.data);
    return e;
}

static const struct flag flags[] = {
    { .name = "beam",
      .argument = "N",
      .key = "decode.beam",
      .help = "sequences that are followed at once; 1 = greedy" },
    { .name = "nbest",
      .argument = "N",
      .help = "the N best of each line, as \"number ||| text ||| log p\"" },
    { .name = "scores", .help = "log p and a tab before each line" },
    { .name = "alignment",
      .help = "behind each text which word of the line each of its words looked at, as \" ||| 0-0 "
              "2-1\"" },
    { .name = NULL },
};

const struct command command_translate = {
    .name = "translate",
    .sentence = "writes a translation or a summary of each line",
    .usage = "DIR [--beam N] [--nbest N | --scores] [--alignment] [--json] < INPUT > OUTPUT",
    .text = "Takes runs of the tasks translate, summarize and dialogue. Line i of the standard "
            "output is what the "
            "model writes "
            "for line i of the standard input, whatever lines stand beside it. An empty line gives "
            "an empty line (with "
            "--scores: a tab alone). A "
            "line that is not UTF-8, has a byte 0 in it, or has characters that the vocabulary "
            "lacks, is named on "
            "standard error and gives an empty line; one that is longer than the model reads is "
            "cut, and counted at "
            "the end. A line above 256 MiB and an error of reading end the command with 1. The "
            "training data "
            "are not needed. Only tokens are written that targets can contain, in whole characters "
            "of UTF-8.\n"
            "--nbest numbers lines from 0, as Moses does, and has nothing for a line that is empty "
            "or could not be "
            "read. log p is in nats, of the tokens and the end behind them. Where no hypothesis of "
            "a line ends within "
            "model.context, they are cut there: log p is of the tokens alone, \"ended\" is false, "
            "and such lines are "
            "counted at the end.\n"
            "--alignment pairs words, as blanks part them, counted from 0, that of the line first "
            "(Pharaoh's form): each "
            "word that is written with the one that its tokens looked at most, in the mean over "
            "the heads of the "
            "cross-attention of the last decoder layer but one (Garg et al. 2019, arXiv "
            "1909.02074). Nobody trained it "
            "to be an alignment. With --json there is an object a line, with its number from 1 and "
            "its hypotheses.",
    .examples = "$ orthant translate runs/de-en < news.de > news.en\n"
                "$ orthant translate runs/de-en --beam 8 --nbest 8 < news.de\n"
                "$ orthant translate runs/de-en --alignment < news.de",
    .sections = "decode",
    .flags = flags,
    .see = "train eval score",
    .run = run,
};
