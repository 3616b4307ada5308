/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <string.h>

static enum oa_error run(struct call *call)
{
    struct oa_inspect_request r = { .text = flag_value(call, "text"),
                                    .target = flag_value(call, "target") };
    bool json = flag_given(call, "json");
    if (!want_words(call, 1, 1, "the folder of a run"))
        return OA_ARGUMENT;
    if (!r.text)
        return wrong_use(call, "inspect needs a text for the model to read: give --text");
    r.length = strlen(r.text);
    r.target_length = r.target ? strlen(r.target) : 0;
    r.page = flag_given(call, "out") || !json ? flag_value(call, "out") : NULL;
    return oa_inspect(call->context, call->word[0], &r, &call->out);
}

static const struct flag flags[] = {
    { .name = "text",
      .argument = "TEXT",
      .help = "what the model reads, no longer than its context" },
    { .name = "target",
      .argument = "TEXT",
      .help = "what the decoder beside an encoder reads, or the second text of a pair" },
    { .name = "out",
      .argument = "FILE",
      .fallback = "inspect.html",
      .help = "the page with the maps (HTML); with --json there is one only where this is given" },
    { .name = NULL },
};

const struct command command_inspect = {
    .name = "inspect",
    .sentence =
        "shows where each head of a trained model looks, and which a fixed pattern could replace",
    .usage = "DIR --text TEXT [--target TEXT] [--out FILE] [--json]",
    .text = "The model reads the text, and for every layer and head the attention map is made from "
            "what entered the layer. "
            "The page has the maps of each layer side by side with their tokens; where a text is "
            "too long for that, the "
            "pointer reads them, and a click enlarges a map. It is one file. Mechanisms without a "
            "map, such as linformer "
            "and mixer, say so.\n"
            "For each head: the entropy in nats and as a share of the logarithm of the keys it can "
            "see, the mean distance "
            "of what it looks at, and the fixed attention nearest to it (a form of pattern, or the "
            "uniform average) with "
            "the share of the attention mass that it covers: 1 minus the total variation distance, "
            "the mean over rows. "
            "Heads that one covers to 80 % or more are marked and make a suggestion. It is of one "
            "text, and says nothing "
            "of how a model "
            "learns with it: try it with orthant compare.",
    .examples = "$ orthant inspect runs/a --text \"To be, or not to be\" --out maps.html\n"
                "$ orthant inspect runs/en-de --text \"a house\" --target \"ein Haus\" --json",
    .flags = flags,
    .see = "compare explain attend",
    .run = run,
};
