/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdlib.h>

/* Options that compare has under the same names. */
static enum oa_error set_compared(struct call *call)
{
    static const char *const names[] = { "metric", "baseline",  "margin",    "family",
                                         "test",   "threshold", "sequential" };
    enum oa_error e = OA_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names && e == OA_OK; i++) {
        char key[64];
        const char *value = flag_value(call, names[i]);
        snprintf(key, sizeof key, "compare.%s", names[i]);
        if (value)
            e = oa_config_set(call->config, key, *value ? value : "on");
    }
    return e;
}

static bool read_level(struct call *call, double *level)
{
    const char *text = flag_value(call, "level");
    char *end = NULL;
    *level = text ? strtod(text, &end) : 0;
    if (!text || (end != text && !*end && *level > 0 && *level < 0.5))
        return true;
    wrong_use(call, "--level is \"%.40s\"; give a probability below 0.5, such as 0.01", text);
    return false;
}

static enum oa_error run_judge(struct call *call)
{
    if (!want_words(call, 1, 100000, "a file or folder of runs"))
        return OA_ARGUMENT;
    bool lower = flag_given(call, "lower"), higher = flag_given(call, "higher");
    double level;
    if (!read_level(call, &level))
        return OA_ARGUMENT;
    if (lower && higher)
        return wrong_use(call, "give --lower or --higher, not both");
    struct oa_judge_request request = { .path = (const char *const *)call->word,
                                        .paths = call->words,
                                        .system = flag_value(call, "system"),
                                        .seed = flag_value(call, "seed"),
                                        .step = flag_value(call, "step"),
                                        .at = flag_value(call, "at"),
                                        .better = higher - lower,
                                        .level = level,
                                        .unpaired = flag_given(call, "unpaired") };
    enum oa_error e = set_compared(call);
    return e == OA_OK ? oa_judge_runs(call->config, &request, flag_value(call, "out"), &call->out)
                      : e;
}

static const struct flag flags[] = {
    { .name = "system",
      .argument = "COLUMN",
      .help = "column of the systems that are compared (default: the one named system, model, "
              "method, name, group, config or the like)" },
    { .name = "seed",
      .argument = "COLUMN",
      .help = "column of the seeds (default: the one named seed, rep, trial, run or the like)" },
    { .name = "step",
      .argument = "COLUMN",
      .help = "column of the steps of training (default: the one named step, iteration, epoch or "
              "the like)" },
    { .name = "metric",
      .argument = "NAME",
      .help = "column, or scalar of event files, that is compared (default: the only numeric one "
              "left)" },
    { .name = "at",
      .argument = "STEP",
      .help = "which value of a run with steps counts: last, best (optimistic) or a step (default: "
              "last)" },
    { .name = "lower", .help = "lower values of the metric are better" },
    { .name = "higher", .help = "higher values of the metric are better" },
    { .name = "unpaired",
      .help = "treat runs as independent samples, although systems share seeds" },
    { .name = "baseline",
      .argument = "NAME",
      .help = "compare every other system with this one: better, worse or (with --margin) "
              "equivalent" },
    { .name = "margin",
      .argument = "X",
      .help = "equivalence margin in the unit of the metric: largest difference without practical "
              "relevance" },
    { .name = "family",
      .argument = "NAME",
      .help = "comparisons that are judged, as one family: with the baseline, or of all pairs "
              "(default: with the baseline if there is one, otherwise all pairs)",
      .words = "baseline|pairs" },
    { .name = "test",
      .argument = "NAME",
      .fallback = "paired",
      .help = "standard error of a difference of paired runs: from the two systems alone (paired t "
              "test), or from the table of all systems and seeds",
      .words = "paired|two-way" },
    { .name = "threshold",
      .argument = "X",
      .help = "value of the metric at which a run has solved its task: adds the share of such runs "
              "and the steps to it, with tests" },
    { .name = "level",
      .argument = "P",
      .fallback = "0.05",
      .help = "probability that any judged statement of the report is false" },
    { .name = "sequential",
      .help = "verdicts stay valid at any number of interim analyses while seeds are added" },
    { .name = "out",
      .argument = "DIR",
      .help = "folder for results.json, report.html, report.md and report.svg (default: none)" },
    { .name = NULL },
};

const struct command command_judge = {
    .name = "judge",
    .sentence = "tests the differences between runs that other programs made",
    .usage = "FILE... [--metric NAME] [--baseline NAME] [--margin X] [--out DIR]",
    .text =
        "Reads runs from CSV, TSV or JSON, from exports of Weights & Biases, or from folders of "
        "TensorBoard event files, and applies the statistics of 'orthant compare': intervals over "
        "seeds, corrected tests, a verdict for each system, a report. \"-\" is the standard "
        "input.\n"
        "A table has a row for each run: its system, its seed and the metric; with a column of "
        "steps, a row for each value. Also read are a column for each system, a column for each "
        "run (\"adam-seed1 - val_loss\"), and a file for each system. In names of runs and "
        "folders the number at the end is the seed. A value that is missing, NaN or infinite is a "
        "failed run.\n"
        "Runs with the same seed are paired. If systems share too few seeds, or none are given, "
        "runs are independent samples. Whether lower or higher is better follows from the "
        "metric's name (loss, bpb, error; accuracy, bleu, f1); otherwise give --lower or --higher.",
    .examples = "$ orthant judge runs.csv\n"
                "$ orthant judge runs.csv --baseline adamw --margin 0.005 --out verdict\n"
                "$ orthant judge wandb_export.csv --metric val_loss\n"
                "$ orthant judge lightning_logs/ --metric loss/valid --at 5000",
    .flags = flags,
    .see = "compare score",
    .run = run_judge,
};
