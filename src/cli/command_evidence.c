/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static enum oa_error run(struct call *call)
{
    struct oa_evidence_request r = { .name = (const char *const *)call->word,
                                     .names = call->words,
                                     .experiments = flag_value(call, "experiments"),
                                     .data = flag_value(call, "data"),
                                     .folder = flag_value(call, "out"),
                                     .page = flag_value(call, "page"),
                                     .list = flag_given(call, "list"),
                                     .no_run = flag_given(call, "no-run") };
    if (r.list && !allow_none(call, "data page no-run", "--list only shows what there is"))
        return OA_ARGUMENT;
    if (r.names && (r.list || r.no_run))
        return wrong_use(call, "names say what is run; with --%s nothing is",
                         r.list ? "list" : "no-run");
    if (r.no_run && !allow_none(call, "data", "with --no-run no data are read"))
        return OA_ARGUMENT;
    return oa_evidence(call->context, &r, &call->out);
}

static const struct flag flags[] = {
    { .name = "experiments",
      .argument = "DIR",
      .fallback = "experiments",
      .help = "folder of the experiments" },
    { .name = "data",
      .argument = "DIR",
      .fallback = "data",
      .help = "folder of the data; experiments name their files in it" },
    { .name = "out",
      .argument = "DIR",
      .fallback = "evidence",
      .help = "folder of the runs and what they gave" },
    { .name = "page",
      .argument = "FILE",
      .fallback = "docs/evidence.md",
      .help = "the page; beside it a JSON file and a folder of charts have its name" },
    { .name = "list", .help = "show the experiments and their verdicts, run and write nothing" },
    { .name = "no-run", .help = "make the page of what there is, run nothing" },
    { .name = NULL },
};

const struct command command_evidence = {
    .name = "evidence",
    .sentence = "holds published claims against comparisons, and makes a page of what was found",
    .usage = "[NAME]... [--experiments DIR] [--data DIR] [--out DIR] [--page FILE]\n"
             "--no-run [--experiments DIR] [--out DIR] [--page FILE]\n"
             "--list [--experiments DIR] [--out DIR]",
    .text = "An experiment is a YAML file: the configuration of a comparison, as compare reads it, "
            "and a section 'claim' with "
            "what was published, where the data are to be had, and what should follow from it "
            "here, as \"random worse than "
            "softmax\". It may have variants, which are comparisons of their own: other numbers of "
            "heads, other amounts of "
            "text. docs/evidence-experiments.md describes the file.\n"
            "Runs the experiments that are named, or all: comparisons that were interrupted go on "
            "where they were, and those "
            "that came to their end are not run again. Before the first run, when every comparison "
            "was found to be one that "
            "can be held, predictions, options and the SHA-256 of the data are written down; a "
            "file in which they were "
            "changed afterwards, or other data, are refused. The data are not part of the program: "
            "when they are "
            "not there, the sentence says where to get them, and without names the other "
            "experiments are run.\n"
            "Then every prediction is judged by its comparison's own statistics: it holds here, "
            "fails here, is not resolved "
            "at "
            "this scale, or cannot be judged because runs diverged or nothing was better than a "
            "uniform average. The page "
            "has them with numbers, charts and costs; what "
            "was not run is on it as not run.",
    .examples = "$ orthant evidence --list\n"
                "$ orthant evidence heads --data ~/data --threads 1\n"
                "$ orthant evidence --no-run --page page.md",
    .sections = "",
    .flags = flags,
    .see = "compare plan theory",
    .run = run,
};
