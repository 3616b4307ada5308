/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdlib.h>
#include <unistd.h>

/* The run's own options come first. */
static enum oa_error run_translate(struct call *call)
{
    long best = 0;
    struct input in = { .call = call, .fd = STDIN_FILENO };
    if (!want_words(call, 1, 1, "the folder of a run") ||
        !flag_number(call, "nbest", 1, 256, &best))
        return OA_ARGUMENT;
    if (best && flag_given(call, "scores"))
        return wrong_use(call, "--scores has no effect: --nbest prints log p already");
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
    { "beam", "N", .help = "beam width; 1 = greedy", .key = "decode.beam" },
    { "max-tokens", "N", .help = "most tokens of an output", .key = "decode.max_tokens" },
    { "nbest", "N", .help = "print the N best of each line as \"number ||| text ||| log p\"" },
    { "scores", .help = "print log p and a tab before each line" },
    { "alignment", .help = "append word alignments to each line, as \" ||| 0-0 2-1\"" },
    { .name = NULL },
};

const struct command command_translate = {
    .name = "translate",
    .sentence = "translates or summarizes each line",
    .usage = "DIR [--beam N] [--nbest N | --scores] [--alignment] [--json]... < INPUT > OUTPUT",
    .text =
        "For runs of the tasks translate, summarize and dialogue. Line i of the output is "
        "generated for line i of the input, independent of the other lines. An empty line gives "
        "an empty line (with --scores a tab alone). A line that is not UTF-8, has a zero byte, "
        "or has characters outside the vocabulary is reported on standard error and gives an "
        "empty line; one that is longer than the context is truncated and counted at the end. A "
        "line above 256 MiB and a read error end the command with 1. The training data are not "
        "needed. Only tokens that targets can have are generated, in whole UTF-8 characters.\n"
        "--nbest numbers lines from 0, as Moses does, and prints nothing for a line that is "
        "empty or could not be read. log p, in nats, includes the end token. If no hypothesis "
        "of a line ends within model.context, they are truncated there: log p is then that of "
        "the tokens alone, \"ended\" is false, and such lines are counted at the end. With "
        "--max-tokens "
        "they compete with those that ended, as with max_new_tokens of transformers.\n"
        "--alignment pairs each output word with the source word that its tokens attended to "
        "most. Words are separated by blanks and counted from 0, source first (Pharaoh format). "
        "Attention is averaged over the heads of the cross-attention of the last decoder layer "
        "but one (Garg et al. 2019, arXiv 1909.02074). It was not trained to be an alignment. "
        "--json prints an object per line, with its number from 1 and its hypotheses.",
    .examples = "$ orthant translate runs/de-en < news.de > news.en\n"
                "$ orthant translate runs/de-en --beam 8 --nbest 8 < news.de\n"
                "$ orthant translate runs/de-en --alignment < news.de",
    .sections = "decode",
    .flags = flags,
    .see = "train eval score",
    .run = run_translate,
};
