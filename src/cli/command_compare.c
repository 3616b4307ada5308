/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const usual[] = { "softmax",      "orthogonal", "random",
                                     "fixed-random", "dense",      "random + softmax" };
enum { USUAL = sizeof usual / sizeof *usual };

/* What would have no effect is refused. */
static enum oa_error check_use(struct call *call)
{
    char path[4096];
    const char *folder = flag_value(call, "out");
    if (!want_words(call, 0, 0, "no words; attentions are given with --attention") ||
        !allow_none(call, "model.attention",
                    "who takes part is said with --attention, once for each") ||
        !allow_none(call, "compare.attentions",
                    "on the command line attentions are given with --attention"))
        return OA_ARGUMENT;
    if (flag_given(call, "resume") && flag_given(call, "overwrite"))
        return wrong_use(call,
                         "a comparison either goes on (--resume) or begins anew (--overwrite)");
    snprintf(path, sizeof path, "%.4000s/contest.json", folder);
    if (flag_given(call, "resume") && access(path, F_OK) != 0)
        return wrong_use(call,
                         "--resume: %.200s holds no comparison, there is no contest.json in it; "
                         "without --resume one "
                         "is begun",
                         folder);
    return OA_OK;
}

/* The folder of a comparison has what was trained; of the options only what its runs share stands
 * there. */
static void say_defaults(const struct call *call)
{
    bool some = flag_given(call, "config");
    for (int i = 0; i < call->givens; i++)
        some = some || strchr(call->given[i].name, '.');
    if (flag_given(call, "resume") && !some)
        progress_line(NULL, 0,
                      "--resume takes no options from the comparison's folder, and neither "
                      "--config nor --section.key is "
                      "given: all but what is said have their defaults; give them as they were "
                      "when it began");
}

static enum oa_error compare(struct call *call, const char **attentions)
{
    say_defaults(call);
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

static enum oa_error run(struct call *call)
{
    if (check_use(call) != OA_OK)
        return OA_ARGUMENT;
    const char **attentions = want_memory((size_t)call->givens + 1, sizeof *attentions);
    enum oa_error e = compare(call, attentions);
    free(attentions);
    return e;
}

static const struct flag flags[] = {
    { .name = "attention",
      .argument = "SPEC",
      .help = "an attention that takes part; given once for each; they take the place of "
              "compare.attentions in "
              "a configuration (default: softmax, orthogonal, random, fixed-random, dense, random "
              "+ softmax)" },
    { .name = "task",
      .argument = "NAME",
      .key = "data.task",
      .help = "what is learnt; 'orthant list tasks' has them, and the options that suit each" },
    { .name = "init",
      .argument = "RUN",
      .key = "train.init",
      .help = "begin with every tensor of a trained run that fits; of a comparison, each attention "
              "of its own run there" },
    { .name = "metric",
      .argument = "NAME",
      .key = "compare.metric",
      .help = "the measure that verdicts, tuning, train.keep_best and train.patience are about" },
    { .name = "seeds", .argument = "N", .key = "compare.seeds", .help = "runs of each attention" },
    { .name = "until-resolved",
      .key = "compare.until_resolved",
      .help = "add seeds where a question is open, until none is, or the seeds or the budget are "
              "used up" },
    { .name = "budget",
      .argument = "TIME",
      .key = "compare.budget",
      .help = "what that may take: 90s, 30min, 2h" },
    { .name = "equal",
      .argument = "NAME",
      .key = "compare.equal",
      .help = "what every run gets the same amount of",
      .words = "tokens|time|params|flops" },
    { .name = "baseline",
      .argument = "SPEC",
      .key = "compare.baseline",
      .help = "the attention that is in use today: is another one better, worse, or (with "
              "--margin) equivalent?" },
    { .name = "margin",
      .argument = "NATS",
      .key = "compare.margin",
      .help = "a difference to the baseline that does not matter, in nats a token" },
    { .name = "sequential",
      .key = "compare.sequential",
      .help = "verdicts stay valid at any number of interim analyses while seeds are added" },
    { .name = "looks", .argument = "NAME", .key = "compare.looks", .help = "", .hidden = true },
    { .name = "out",
      .argument = "DIR",
      .fallback = "comparison",
      .help = "folder of the comparison" },
    { .name = "overwrite",
      .help = "begin anew in a folder that holds another comparison, which is removed" },
    { .name = "resume",
      .help = "refuse to begin: go on with the comparison in the folder, as is done in any case; "
              "options are given as they "
              "were, the folder does not keep them all" },
    { .name = NULL },
};

const struct command command_compare = {
    .name = "compare",
    .sentence = "holds a comparison between attentions and says what the data show",
    .usage = "[--config FILE] [--attention SPEC]... [--seeds N] [--equal NAME] [--out DIR]",
    .text =
        "Trains every attention with every seed under one budget: the same text, the same batches, "
        "the same first "
        "values of every tensor that two models share, and the same number of tokens (or of "
        "seconds, parameters, "
        "FLOPs; what each really got is in the table). Prints a table and writes results.json, "
        "report.html, report.md "
        "and report.svg.\n"
        "One more takes part, the uniform baseline: the same model with a uniform average of the "
        "visible tokens in the "
        "place of its attention. It is compared and not ranked; what shows no significant "
        "difference to it has not "
        "been shown to attend to anything (--compare.uniform_baseline off leaves it out).\n"
        "With --equal time every run trains until it has had as much processor time as the first "
        "attention's run of "
        "the same seed took, or --train.seconds; pace.json in its folder repeats it exactly.\n"
        "Losses come with 95 % confidence intervals over the seeds; differences to the best are "
        "tested seed by "
        "seed, with Holm's correction for the number of attentions, and have the intervals of "
        "these tests: one "
        "that excludes 0 is a verdict. Where there is no significant difference, no winner is "
        "named and the table "
        "says how many seeds it would take. The last sentence is a recommendation: keep or change, "
        "what is "
        "equivalent and cheaper, or how many more seeds and how much time are needed.\n"
        "One learning rate for all favours the attention that it suits. With --compare.tune "
        "\"train.lr=3e-4,1e-3,3e-3\" every attention, the floor too, first tries these values on "
        "the training text "
        "without its last tenth, which judges them, with seeds of its own, and has the best of "
        "them in the comparison. "
        "The report shows each attention's losses, says where the best value is the largest or the "
        "smallest tried, "
        "and counts the cost.\n"
        "A comparison that is interrupted goes on where it was when it is started again, and one "
        "that is given more "
        "seeds or attentions uses the runs that it has. What lies in the folder is compared with "
        "what is asked for, "
        "texts by their content: another comparison is refused, and so are files that were "
        "changed.\n"
        "Progress tells how many of all runs have ended, those of --compare.tune and "
        "--compare.vary too, and the time "
        "that is left; where it is no terminal that reads it, in a line now and then, ever more "
        "rarely.\n"
        "Started by mpirun or srun, each process trains a run, and then the next one, in a folder "
        "that all of them "
        "see (docs/cluster.md).\n"
        "Ends with 4 when every attention had runs that diverged, so that nothing can be judged.",
    .examples = "$ orthant compare --config small.yaml --attention softmax --attention orthogonal "
                "--seeds 3 --out "
                "comparison\n"
                "$ orthant compare --data.train text.txt --attention softmax --attention "
                "\"local(window=16)\" --equal time",
    .sections = "model data train decode compare cluster",
    .ranks = true,
    .flags = flags,
    .see = "train plan explain",
    .run = run,
};
