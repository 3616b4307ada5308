/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdlib.h>

static const char *const usual[] = { "softmax", "orthogonal", "random", "fixed-random", "dense", "random + softmax" };
enum { USUAL = sizeof usual / sizeof *usual };

static enum oa_error compare(struct call *call, const char **attentions)
{
    enum oa_error e = apply_options(call);
    if (e != OA_OK)
        return e;
    int count = flag_values(call, "attention", attentions);
    return oa_compare(call->config, count ? attentions : usual, count ? count : USUAL, flag_value(call, "out"),
                      &call->out);
}

static enum oa_error run(struct call *call)
{
    if (!want_words(call, 0, 0, "no words; attentions are given with --attention"))
        return OA_ARGUMENT;
    const char **attentions = calloc((size_t)call->givens + 1, sizeof *attentions);
    enum oa_error e = attentions ? compare(call, attentions) : OA_NO_MEMORY;
    free(attentions);
    return e;
}

static const struct flag flags[] = {
    { .name = "attention",
      .argument = "SPEC",
      .help = "an attention that takes part; given once for each (default: softmax, orthogonal, random, fixed-random, "
              "dense, random + softmax)" },
    { .name = "seeds", .argument = "N", .key = "compare.seeds", .help = "runs of each attention" },
    { .name = "equal",
      .argument = "NAME",
      .key = "compare.equal",
      .help = "what every run gets the same amount of",
      .words = "tokens|time|params|flops" },
    { .name = "out", .argument = "DIR", .fallback = "contest", .help = "folder of the contest" },
    { .name = "resume", .help = "go on with the contest in the folder; it is done in any case" },
    { .name = NULL },
};

const struct command command_compare = {
    .name = "compare",
    .sentence = "holds a contest between attentions and says what the data show",
    .usage = "[--config FILE] [--attention SPEC]... [--seeds N] [--equal NAME] [--out DIR]",
    .text = "Trains every attention with every seed under one budget: the same text, the same batches, the same first "
            "values of every tensor that two models share, and the same number of tokens (or of seconds, parameters, "
            "FLOPs). Prints a table and writes results.json, report.html and report.md.\n"
            "Losses come with 95 % confidence intervals over the seeds; differences to the best are tested seed by "
            "seed, with Holm's correction for the number of attentions. Where the data cannot tell two attentions "
            "apart, no winner is named and the table says how many seeds it would take.\n"
            "A contest that is interrupted goes on where it was when it is started again.",
    .examples = "$ orthant compare --config small.yaml --attention softmax --attention orthogonal --seeds 3 --out "
                "contest\n"
                "$ orthant compare --attention softmax --attention \"local(window=16)\" --equal time",
    .sections = "model data train compare",
    .flags = flags,
    .see = "train plan explain",
    .run = run,
};
