/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <string.h>

static enum oa_error run_inspect(struct call *call)
{
    struct oa_inspect_request r = { .text = flag_value(call, "text"),
                                    .target = flag_value(call, "target") };
    bool json = flag_given(call, "json");
    if (!want_words(call, 1, 1, "the folder of a run"))
        return OA_ARGUMENT;
    if (!r.text)
        return wrong_use(call, "inspect needs --text TEXT");
    r.length = strlen(r.text);
    r.target_length = r.target ? strlen(r.target) : 0;
    r.page = flag_given(call, "out") || !json ? flag_value(call, "out") : NULL;
    return oa_inspect(call->context, call->word[0], &r, &call->out);
}

static const struct flag flags[] = {
    { "text", "TEXT", .help = "text for the model, no longer than its context" },
    { "target", "TEXT",
      .help = "text for the decoder of an encoder-decoder model, or second text of a pair" },
    { "out", "FILE", .help = "HTML page with the attention maps; with --json written only if given",
      .fallback = "inspect.html" },
    { .name = NULL },
};

const struct command command_inspect = {
    .name = "inspect",
    .sentence =
        "shows the attention maps of a trained model, and which heads a fixed pattern could "
        "replace",
    .usage = "DIR --text TEXT [--target TEXT] [--out FILE] [--json]",
    .text =
        "Runs the model on the text and computes the attention map of every layer and head from "
        "the input of the layer. The page, a single file, shows the maps of each layer with "
        "their tokens; where a text is too long to label, pointing at a map shows tokens and "
        "weights, and a click enlarges it. Mechanisms without a map, such as linformer and "
        "mixer, are marked.\n"
        "For each head: the entropy in nats and as a percentage of its maximum, the logarithm of "
        "the number of visible keys; the mean attention distance; and the nearest fixed "
        "attention (a form of pattern, or the uniform average) with the share of attention mass "
        "that it covers: 1 minus the total variation distance, averaged over rows. Heads covered "
        "to 80 % or more are marked, and a replacement is suggested. It is based on one text, "
        "and does not tell how a model trains with it: test it with orthant compare.",
    .examples = "$ orthant inspect runs/a --text \"To be, or not to be\" --out maps.html\n"
                "$ orthant inspect runs/en-de --text \"a house\" --target \"ein Haus\" --json",
    .flags = flags,
    .see = "compare explain attend",
    .run = run_inspect,
};
