/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <string.h>

static bool only_the_shape(struct call *call)
{
    struct oa_option o;
    for (int i = 0; oa_option_describe(i, &o); i++) {
        char key[96];
        snprintf(key, sizeof key, "%s.%s", o.section, o.name);
        if (strcmp(key, "model.width") != 0 && strcmp(key, "model.heads") != 0 &&
            !allow_none(call, key, "theory uses only model.width and model.heads"))
            return false;
    }
    return true;
}

static enum oa_error run_theory(struct call *call)
{
    if (!want_words(call, 0, 0, "no arguments") || !only_the_shape(call))
        return OA_ARGUMENT;
    enum oa_error e = oa_config_set(call->config, "model.width", "512");
    if (e == OA_OK)
        e = oa_config_set(call->config, "model.heads", "8");
    if (e == OA_OK)
        e = apply_options(call);
    return e == OA_OK ? oa_theory(call->config, flag_value(call, "out"), &call->out) : e;
}

static const struct flag flags[] = {
    { "out", "FILE", .help = "HTML page to write, with charts" },
    { .name = NULL },
};

const struct command command_theory = {
    .name = "theory",
    .sentence = "measures the published claims about frozen orthogonal projections",
    .usage = "[--model.width N] [--model.heads N] [--out FILE] [--json]",
    .text = "Do frozen orthogonal projections preserve inner products, lengths and gradients? Are "
            "they better conditioned than Gaussian ones? Do they keep heads apart? Does the "
            "Johnson–Lindenstrauss lemma "
            "apply at the width of a head? For each proposition: the claim, the closed form, the "
            "measured value with its standard error, and whether the claim holds. Takes seconds.\n"
            "The shape is that of a model of width 512 with 8 heads unless model.width and "
            "model.heads are given; other options model.* are refused.",
    .examples = "$ orthant theory --out theory.html\n"
                "$ orthant theory --model.width 768 --model.heads 12",
    .sections = "model",
    .flags = flags,
    .see = "explain compare",
    .run = run_theory,
};
