/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run_evidence(struct call *call)
{
    struct oa_evidence_request r = { (const char *const *)call->word,
                                     .names = call->words,
                                     .experiments = flag_value(call, "experiments"),
                                     .data = flag_value(call, "data"),
                                     .folder = flag_value(call, "out"),
                                     .page = flag_value(call, "page"),
                                     .list = flag_given(call, "list"),
                                     .no_run = flag_given(call, "no-run") };
    if (r.list && !allow_none(call, "data page no-run", "--list runs and writes nothing"))
        return OA_ARGUMENT;
    if (r.names && (r.list || r.no_run))
        return wrong_use(call, "names have no effect: --%s runs nothing",
                         r.list ? "list" : "no-run");
    if (r.no_run && !allow_none(call, "data", "--no-run reads no data"))
        return OA_ARGUMENT;
    return oa_evidence(call->context, &r, &call->out);
}

static const struct flag flags[] = {
    { "experiments", "DIR", .help = "folder with the experiments (*.yaml)",
      .fallback = "experiments" },
    { "data", "DIR", .help = "folder with the data files that experiments name",
      .fallback = "data" },
    { "out", "DIR", .help = "folder of runs and results", .fallback = "evidence" },
    { "page", "FILE",
      .help = "report to write; a JSON file, a CSV file of all runs and a folder of charts get the "
              "same name",
      .fallback = "docs/evidence.md" },
    { "list", .help = "print the experiments and their verdicts; run and write nothing" },
    { "no-run", .help = "write the report from the existing results; run nothing" },
    { .name = NULL },
};

const struct command command_evidence = {
    .name = "evidence",
    .sentence = "tests published claims by comparisons and reports the verdicts",
    .usage = "[NAME]... [--experiments DIR] [--data DIR] [--out DIR] [--page FILE]\n"
             "--no-run [--experiments DIR] [--out DIR] [--page FILE]\n"
             "--list [--experiments DIR] [--out DIR]",
    .text =
        "An experiment is a YAML file: the configuration of a comparison, as compare reads it, and "
        "a section 'claim' with what was published, where to get the data, and predictions such as "
        "\"random worse than softmax\". It may have variants, each a comparison of its own, e.g. "
        "with other numbers of heads. docs/evidence-experiments.md describes the file.\n"
        "Runs the named experiments, or all. Interrupted comparisons continue, completed ones "
        "are not run again. Before the first run predictions, options and the SHA-256 of the "
        "data are recorded; if they change afterwards, the experiment is refused. Data are not "
        "included: if they are missing, the message names the place to get them, and without names "
        "the other experiments are run.\n"
        "Each prediction is then judged by the statistics of its comparison: it holds, fails, "
        "is inconclusive at this scale, or is not testable because runs diverged "
        "or nothing beat the uniform baseline. The report has numbers, charts and costs, and "
        "lists experiments that were not run.",
    .examples = "$ orthant evidence --list\n"
                "$ orthant evidence heads --data ~/data --threads 1\n"
                "$ orthant evidence --no-run --page page.md",
    .sections = "",
    .flags = flags,
    .see = "compare plan theory",
    .run = run_evidence,
};
