/* SPDX-License-Identifier: Apache-2.0
 * The page of evidence as Markdown: an overview, and for each experiment the claim, the runs and
 * the findings.
 */
#include "evidence/pages.h"

#include <string.h>

static void evidence_add_markdown(struct oa_text *out, const char *before, const char *text,
                                  const char *after)
{
    oa_text_printf(out, "%s", before);
    oa_markdown_text(out, text);
    oa_text_printf(out, "%s", after);
}

/* ---- the overview ---- */

static const char title[] =
    "<!-- Made by `orthant evidence` from the folder of its runs: edit experiments/ instead. -->\n"
    "# Evidence: published claims tested by our own measurements\n"
    "\n";

static const char method[] =
    "Each claim is an experiment in `experiments/`: one or more comparisons, and predictions that "
    "were written down before the first run\n"
    "(`declared.json` in its folder; a prediction or option that was changed afterwards is "
    "refused). All predictions of an experiment about\n"
    "scores are one family: they are judged by intervals that all contain the truth together with "
    "a probability of 95 % (Bonferroni), anytime-valid\n"
    "where seeds were added until the comparisons were resolved. The experiments on this page are "
    "not corrected for their number. Speeds have a 95 %\n"
    "interval each, from rounds in which the attentions of a comparison are timed in turn.\n"
    "\n"
    "- **holds here**: every prediction was confirmed.\n"
    "- **fails here**: for at least one prediction the opposite was shown, or, where a difference "
    "was predicted, equivalence within the declared margin.\n"
    "- **inconclusive at this scale**: the runs show neither.\n"
    "- **not testable**: runs diverged, do not vary by seed or have one seed; or two "
    "attentions are equivalent and neither was shown to be better\n"
    "  than the uniform baseline: where attention has no use, all attentions are equal.\n"
    "\n"
    "The models here are hundreds to thousands of times smaller than those of the papers, and "
    "trained on a fraction of their data. A claim that\n"
    "fails here is not refuted at the scale of the paper, and one that holds here is not confirmed "
    "at it.\n"
    "\n";

static void add_counts(const struct oa_judged *j, struct oa_text *out)
{
    static const enum oa_claim_verdict order[] = { OA_CLAIM_HOLDS, OA_CLAIM_FAILS,
                                                   OA_CLAIM_INCONCLUSIVE, OA_CLAIM_UNTESTABLE,
                                                   OA_CLAIM_NOT_RUN };
    static const char *const words[] = { "hold", "fail", "inconclusive", "not testable",
                                         "not run" };
    bool some = false;
    for (int i = 0; i < 5; i++) {
        int n = oa_judged_count(j, order[i]);
        if (n == 0)
            continue;
        oa_text_printf(out, "%s%d %s%s", some ? ", " : "", n, words[i], i < 2 && n == 1 ? "s" : "");
        some = true;
    }
    oa_text_printf(out, " of %d", j->experiment->prediction_count);
}

static void add_overview(const struct oa_judged *j, int count, struct oa_text *out)
{
    char time[OA_NUMBER];
    oa_text_printf(out, "| claim | verdict | predictions | comparisons run | processor time |\n| "
                        ":-- | :-- | :-- | --: | --: |\n");
    for (int i = 0; i < count; i++) {
        evidence_add_markdown(out, "| ", oa_claim_text(j[i].experiment, "title"), " ");
        oa_text_printf(out, "(`%s`) | %s | ", j[i].experiment->name, oa_judged_words(&j[i]));
        add_counts(&j[i], out);
        oa_text_printf(out, " | %d of %d | %s |\n", oa_judged_records(&j[i]),
                       j[i].experiment->variant_count,
                       oa_judged_records(&j[i])
                           ? oa_number_seconds(time, oa_judged_cost(&j[i]).processor_seconds)
                           : "–");
    }
}

/* ---- one experiment ---- */

static void evidence_add_map(const struct oa_judged *j, const char *charts, struct oa_text *out)
{
    struct oa_text chart;
    oa_text_init(&chart, out->context);
    if (oa_evidence_map(j, &chart))
        oa_text_printf(out, "![Retained shares](%s/%s-map.svg)\n\n", charts, j->experiment->name);
    oa_text_free(&chart);
}

static void evidence_add_answer(const struct oa_experiment *e, struct oa_text *out)
{
    if (*oa_claim_text(e, "answer"))
        evidence_add_markdown(out, "", oa_claim_text(e, "answer"), "\n\n");
}

static void evidence_add_question(const struct oa_judged *j, struct oa_text *out)
{
    evidence_add_markdown(out, "\n## ", oa_claim_text(j->experiment, "title"), "\n\n");
    oa_text_printf(out, "**%s** (", oa_judged_words(j));
    add_counts(j, out);
    evidence_add_markdown(out, ")\n\n", oa_claim_text(j->experiment, "question"), "\n\n");
}

static void add_claim(const struct oa_experiment *e, struct oa_text *out)
{
    evidence_add_markdown(out, "Published: ", oa_claim_text(e, "source"), "\n\n");
    for (int i = 0; oa_claim_published(e, i); i++)
        evidence_add_markdown(out, "- ", oa_claim_published(e, i), "\n");
    evidence_add_markdown(out, "\nData: ", oa_claim_data(e, "name"), "; ");
    evidence_add_markdown(out, "", oa_claim_data(e, "get"), "; ");
    evidence_add_markdown(out, "licence: ", oa_claim_data(e, "licence"), ".\n\n");
    evidence_add_markdown(out, "Scale: ", oa_claim_text(e, "scale"), "\n\n");
}

static void add_results(const struct oa_judged *j, const char *charts, struct oa_text *out)
{
    const struct oa_experiment *e = j->experiment;
    struct oa_record_cost cost = oa_judged_cost(j);
    char time[OA_NUMBER], flops[OA_NUMBER];
    struct oa_text chart;
    oa_text_init(&chart, out->context);
    if (oa_evidence_intervals(j, &chart))
        oa_text_printf(out, "![Differences that were predicted](%s/%s.svg)\n\n", charts, e->name);
    if (oa_evidence_lines(j, &chart))
        oa_text_printf(out, "![Scores over %s](%s/%s-over.svg)\n\n", oa_claim_text(e, "axis"),
                       charts, e->name);
    oa_text_free(&chart);
    oa_evidence_predictions(j, out);
    oa_evidence_runs(j, out);
    oa_evidence_numbers(j, out);
    oa_text_printf(out, "\nCost, tuning included: %.0f runs, %s of processor time, %sFLOPs. ",
                   cost.runs, oa_number_seconds(time, cost.processor_seconds),
                   oa_number_si(flops, cost.flops));
}

static void add_declaration(const struct oa_judged *j, struct oa_text *out)
{
    size_t i;
    json_t *name;
    if (!*j->declared.date)
        return;
    oa_text_printf(out, "Declared on %s. ", j->declared.date);
    json_array_foreach(j->declared.changed, i, name)
    {
        oa_text_printf(out, "%s`%s`",
                       i ? ", " : "**Changed since then**: ", json_string_value(name));
    }
    oa_text_printf(out, "%s", i ? ". " : "");
}

/* leads: its map and its answer are above the overview. */
static void add_experiment(const struct oa_judged *j, bool leads, const char *charts,
                           struct oa_text *out)
{
    evidence_add_question(j, out);
    if (!leads)
        evidence_add_answer(j->experiment, out);
    if (oa_judged_records(j) > 0) {
        if (!leads)
            evidence_add_map(j, charts, out);
        add_claim(j->experiment, out);
        add_results(j, charts, out);
    } else {
        for (int i = 0; i < j->experiment->prediction_count; i++)
            evidence_add_markdown(out, "- ", j->experiment->predictions[i].text, "\n");
        oa_text_printf(out, "\n");
    }
    add_declaration(j, out);
    oa_text_printf(out, "Run it with `orthant evidence %s --data FOLDER`.\n", j->experiment->name);
}

void oa_evidence_markdown(const struct oa_judged *j, int count, const char *charts,
                          struct oa_text *out)
{
    bool leads = count > 0 && *oa_claim_text(j[0].experiment, "answer");
    oa_text_printf(out, "%s", title);
    if (leads) {
        evidence_add_map(&j[0], charts, out);
        evidence_add_answer(j[0].experiment, out);
    }
    oa_text_printf(out, "%s", method);
    add_overview(j, count, out);
    for (int results = 1; results >= 0; results--)
        for (int i = 0; i < count; i++)
            if ((oa_judged_records(&j[i]) > 0) == results)
                add_experiment(&j[i], leads && i == 0, charts, out);
}
