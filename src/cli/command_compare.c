/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const usual[] = { "softmax",      "orthogonal", "random",
                                     "fixed-random", "dense",      "random + softmax" };
enum { USUAL = sizeof usual / sizeof *usual };

static enum oa_error check_use(struct call *call)
{
    char path[4096];
    const char *folder = flag_value(call, "out");
    if (!want_words(call, 0, 0, "no arguments; attentions are given with --attention") ||
        !allow_none(call, "model.attention",
                    "attentions are given with --attention, once for each") ||
        !allow_none(call, "compare.attentions",
                    "attentions are given with --attention, once for each"))
        return OA_ARGUMENT;
    if (flag_given(call, "resume") && flag_given(call, "overwrite"))
        return wrong_use(call, "give --resume or --overwrite, not both");
    snprintf(path, sizeof path, "%.4000s/contest.json", folder);
    if (flag_given(call, "resume") && access(path, F_OK) != 0)
        return wrong_use(call, "--resume: no comparison in %.200s; leave out --resume to begin one",
                         folder);
    return OA_OK;
}

/* The folder of a comparison records only the options that all runs share. */
static void warn_of_defaults(const struct call *call)
{
    bool some = flag_given(call, "config");
    for (int i = 0; i < call->givens; i++)
        some = some || strchr(call->given[i].name, '.');
    if (flag_given(call, "resume") && !some)
        progress_line(NULL, 0,
                      "--resume reads no options from the folder of the comparison, and neither "
                      "--config nor --section.key is given: all others have their defaults");
}

static enum oa_error compare_given(struct call *call, const char **attentions)
{
    warn_of_defaults(call);
    enum oa_error e = apply_options(call);
    if (e != OA_OK)
        return e;
    oa_config_overwrite(call->config, flag_given(call, "overwrite"));
    int count = flag_values(call, "attention", attentions);
    const char *configured;
    e = oa_config_get_text(call->config, "compare.attentions", &configured);
    if (e != OA_OK)
        return e;
    bool given = count > 0 || *configured;
    return oa_compare(call->config, given ? attentions : usual, given ? count : USUAL,
                      flag_value(call, "out"), &call->out);
}

static enum oa_error run_compare(struct call *call)
{
    if (check_use(call) != OA_OK)
        return OA_ARGUMENT;
    const char **attentions = want_memory((size_t)call->givens + 1, sizeof *attentions);
    enum oa_error e = compare_given(call, attentions);
    free(attentions);
    return e;
}

static const struct flag flags[] = {
    { "attention", "SPEC",
      .help = "attention to compare; repeat for each; overrides compare.attentions (default: "
              "softmax, orthogonal, random, fixed-random, dense, random + softmax)" },
    { "task", "NAME", .help = "task to learn; see 'orthant list tasks'", .key = "data.task" },
    { "preset", "NAME",
      .help = "block of the model as in gpt2, llama, nanochat, bert or vit; options on the command "
              "line "
              "override it",
      .key = "model.preset" },
    { "init", "RUN",
      .help = "start from every tensor of a trained run that fits; from a comparison: each "
              "attention starts from its own runs there",
      .key = "train.init" },
    { "metric", "NAME", .help = "metric of verdicts, tuning, train.keep_best and train.patience",
      .key = "compare.metric" },
    { "seeds", "N", .help = "runs per attention", .key = "compare.seeds" },
    { "until-resolved",
      .help = "add seeds until every comparison is resolved, or the seeds or the budget are used "
              "up",
      .key = "compare.until_resolved" },
    { "budget", "TIME", .help = "with --until-resolved: maximum wall time: 90s, 30min, 2h",
      .key = "compare.budget" },
    { "equal", "NAME", .help = "budget held equal", .key = "compare.equal",
      .words = "tokens|time|params|flops" },
    { "baseline", "SPEC",
      .help = "test every other attention against this one: better, worse or (with --margin) "
              "equivalent",
      .key = "compare.baseline" },
    { "margin", "NATS",
      .help = "equivalence margin in the unit of the metric: largest difference without "
              "practical relevance",
      .key = "compare.margin" },
    { "threshold", "METRIC=NUMBER",
      .help = "score at which a run has solved the task, as accuracy=95: compare shares of seeds "
              "that solve it and steps to it",
      .key = "compare.threshold" },
    { "sequential",
      .help = "verdicts stay valid at any number of interim analyses while seeds are added",
      .key = "compare.sequential" },
    { "looks", "NAME", .help = "", .key = "compare.looks", .hidden = true },
    { "out", "DIR", .help = "folder of the comparison", .fallback = "comparison" },
    { "overwrite", .help = "replace another comparison in the folder" },
    { "resume",
      .help =
          "continue the comparison in the folder, never begin one; give the same options again, "
          "since they are not read from the folder" },
    { .name = NULL },
};

const struct command command_compare = {
    .name = "compare",
    .sentence = "compares attentions under one budget and tests the differences",
    .usage = "[--config FILE] [--attention SPEC]... [--seeds N] [--equal NAME] [--out DIR]",
    .text =
        "Trains every attention with every seed under one budget. All have the same text, the "
        "same batches, the same initial values of every tensor that two models share, and the "
        "same number of tokens (or seconds, parameters, FLOPs; the table shows what each run "
        "used). Prints a table and writes results.json, report.html, report.md and report.svg.\n"
        "The uniform baseline is trained too: the same model with a uniform average of the "
        "visible tokens instead of attention. It is compared and not ranked; an attention without "
        "a significant difference to it has not been shown to attend to anything "
        "(--compare.uniform_baseline off omits it).\n"
        "With --equal time every run trains for as much processor time as the first attention's "
        "run of the same seed took, or for train.seconds; 'orthant train --train.pace' with the "
        "pace.json in its folder repeats it exactly.\n"
        "Losses have 95 % confidence intervals over the seeds. One family of comparisons is "
        "judged, paired by seed: with the baseline if there is one, otherwise all pairs "
        "(--compare.family). Its intervals contain all true differences together with 95 %: one "
        "that excludes 0 is a significant difference, one within --margin shows equivalence. "
        "Other differences are shown without a verdict. Fewer than 5 seeds give estimates and no "
        "verdicts. The last sentence is a recommendation: keep or change, what is equivalent and "
        "cheaper, or how many more seeds and how much time are needed.\n"
        "One learning rate for all favours the attention that it suits. With --compare.tune "
        "\"train.lr=3e-4,1e-3,3e-3\" every attention, the uniform baseline too, is first trained "
        "with each value on the training text without its last tenth and scored on that tenth; "
        "the best value is used in the comparison. Each seed tunes for itself, so that the luck "
        "of the choice is in the intervals (--compare.tune_per once: one choice for all seeds). "
        "If the best value is the smallest or the largest, more are tried "
        "(--compare.tune_extend). The report shows the losses of all values and the cost.\n"
        "An interrupted comparison continues when the command is repeated, and with more seeds or "
        "attentions the existing runs are reused. A folder with another comparison, or with other "
        "texts, is refused.\n"
        "With --init RUN --distil.teacher RUN every run is distilled from RUN, in two stages, as "
        "by 'orthant distil'; the report has the share of RUN that is retained after each.\n"
        "Started by mpirun or srun, each process trains one run after another, in a folder that "
        "all of them see (docs/cluster.md).\n"
        "Exits with 4 if every attention had runs that diverged, so that nothing can be compared.",
    .examples = "$ orthant compare --config small.yaml --attention softmax --attention orthogonal "
                "--seeds 5 --out comparison\n"
                "$ orthant compare --data.train text.txt --attention softmax --attention "
                "\"local(window=16)\" --equal time",
    .sections = "model data train distil decode compare cluster",
    .ranks = true,
    .flags = flags,
    .see = "train plan explain",
    .run = run_compare,
};
