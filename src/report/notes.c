/* SPDX-License-Identifier: Apache-2.0
 * Sentences of a report about what was run: validation data, machines, sources of chance that were
 * fixed, attention dropout. */
#include "report/notes.h"

#include "attention/attention.h"
#include "compare/initial_runs.h"
#include "report/metric_words.h"
#include "report/power.h"

#include <math.h>
#include <string.h>

/* ---- budget and seeds ---- */

const char *oa_budget_name(enum oa_equal equal)
{
    static const char *const names[] = {
        [OA_EQUAL_TOKENS] = "number of training tokens",
        [OA_EQUAL_TIME] = "training time, to within a step",
        [OA_EQUAL_PARAMS] = "number of trainable parameters and training tokens",
        [OA_EQUAL_FLOPS] = "training FLOPs, to within a step",
    };
    return names[equal];
}

void oa_seeds_text(struct oa_seeds_range range, struct oa_text *out)
{
    if (range.low > OA_SEEDS_CAP)
        oa_text_printf(out, "more than %d", OA_SEEDS_CAP);
    else if (range.high > OA_SEEDS_CAP)
        oa_text_printf(out, "%d or more", range.low);
    else if (range.high > range.low)
        oa_text_printf(out, "%d–%d", range.low, range.high);
    else
        oa_text_printf(out, "%d", range.low);
}

/* ---- the family ---- */

void oa_add_seeds_option(const struct oa_comparison *k, struct oa_text *out)
{
    if (!k->imported)
        oa_text_printf(out, " (--seeds %d)", OA_VERDICT_SEEDS);
}

void oa_add_seeds(const struct oa_comparison *k, const struct oa_summary *s, bool with_uniform,
                  struct oa_text *out)
{
    int least = oa_fewest_seeds(s, with_uniform);
    if (least < s->seeds)
        oa_text_printf(out, "%d to ", least);
    oa_text_printf(out, "%d %ss", s->seeds, oa_run_kind(k));
}

void oa_family_sentence(const struct oa_comparison *k, const struct oa_summary *s,
                        struct oa_text *out)
{
    enum oa_family_kind kind = oa_family_kind_of(k);
    int n = oa_family_size(k);
    if (n == 0)
        return;
    oa_text_printf(out, "Judged as one family: %d comparison%s ", n, oa_plural(n));
    if (kind == OA_FAMILY_PAIRS)
        oa_text_printf(out, "of all pairs");
    else if (kind == OA_FAMILY_UNIFORM)
        oa_text_printf(out, "with the uniform baseline");
    else
        oa_text_printf(out, "with the baseline, %s", oa_entry_name(&k->entries[k->baseline - 1]));
    oa_text_printf(out, "; their intervals contain all true differences together with %s.",
                   oa_percent_text(1 - oa_family_level(k)).s);
    oa_power_sentence(k, s, out);
}

/* ---- validation ---- */

double oa_validation_used(const struct oa_comparison *k)
{
    for (int e = 0; e < k->count; e++)
        for (int r = 0; r < k->seeds; r++)
            if (oa_run_finished(k, &k->entries[e].runs[r]))
                return k->entries[e].runs[r].valid_tokens;
    return NAN;
}

/* Classes and numbers are one an example. */
static bool tokens_are_predicted(const struct oa_comparison *k)
{
    return !k->measures || strstr(k->measures[0].unit, "token") != NULL;
}

const char *oa_validation_unit(const struct oa_comparison *k)
{
    return tokens_are_predicted(k) ? "validation tokens" : "validation examples";
}

void oa_validation_text(const struct oa_comparison *k, double used, struct oa_text *out)
{
    double all = k->examples ? k->valid_tokens : k->valid_tokens - 1;
    const char *of =
        tokens_are_predicted(k) ? "targets of the validation examples" : "validation examples";
    if (k->examples && used >= all)
        oa_text_printf(out, "all %.0f %s", all, of);
    else if (k->examples && isfinite(used))
        oa_text_printf(out, "%.0f of the %.0f %s", used, all, of);
    else if (used >= all)
        oa_text_printf(out, "all %.0f tokens of the validation text but its first", all);
    else if (isfinite(used) && isfinite(all))
        oa_text_printf(out, "%.0f of the %.0f tokens of the validation text", used,
                       k->valid_tokens);
    else
        oa_text_printf(out, "an unknown part of the validation text");
}

void oa_validation_sentence(const struct oa_comparison *k, struct oa_text *out)
{
    double used = oa_validation_used(k);
    if (isnan(used))
        return;
    oa_text_printf(out, " Losses are measured on ");
    oa_validation_text(k, used, out);
    oa_text_printf(out, ".");
}

/* ---- machines ---- */

static const struct oa_run *run_at(const struct oa_comparison *k, int i)
{
    return &k->entries[i / k->seeds].runs[i % k->seeds];
}

/* Length of "processor, instruction set" in "processor, instruction set, 1 of 2 threads": runs on
 * one machine may differ in their threads. Of a run that was begun on another machine the whole
 * text counts. */
static size_t name_length(const char *machine)
{
    size_t whole = strlen(machine);
    for (const char *at = machine; !strstr(machine, "begun on") && (at = strstr(at, ", ")); at += 2)
        if (strspn(at + 2, "0123456789") > 0 && strstr(at, " threads"))
            return (size_t)(at - machine);
    return whole;
}

/* Files of older versions lack the name of the matrix library at the end, so one may be a prefix of
 * the other. */
static bool same_machine(const char *a, const char *b)
{
    size_t n = name_length(a), m = name_length(b), least = n < m ? n : m;
    return strncmp(a, b, least) == 0 && (n == m || strncmp((n > m ? a : b) + least, ", ", 2) == 0);
}

/* Whether no earlier run in the order of the file was trained on the same machine. */
static bool first_of_machine(const struct oa_comparison *k, int run)
{
    const struct oa_run *it = run_at(k, run);
    for (int i = 0; i < run; i++)
        if (!run_at(k, i)->absent && same_machine(run_at(k, i)->machine, it->machine))
            return false;
    return !it->absent;
}

void oa_machines_sentence(const struct oa_comparison *k, struct oa_text *out)
{
    int machines = 0;
    for (int i = 0; i < k->count * k->seeds; i++)
        machines += first_of_machine(k, i);
    if (machines > 1)
        oa_text_printf(
            out,
            " The runs were trained on %d machines: their %s are comparable, their %s are not.",
            machines, oa_about_loss(k) ? "losses" : "scores",
            k->rounds ? "times" : "speeds and times");
}

/* ---- sources of chance ---- */

void oa_fixed_sources_sentence(const struct oa_comparison *k, const struct oa_summary *s,
                               struct oa_text *out)
{
    const char *before = " Fixed for all seeds:";
    for (enum oa_chance source = OA_CHANCE_INIT; source < OA_CHANCES && s->seeds > 1; source++) {
        if (!k->source[source].fixed)
            continue;
        oa_text_printf(out, "%s %s (train.seed_%s is %ld)", before, oa_chance_title(source),
                       oa_chance_name(source), k->source[source].seed);
        before = ",";
    }
    if (*before == ',')
        oa_text_printf(out, ". Intervals and verdicts are conditional on these.");
    oa_text_printf(out, "%s", k->initial_comparison ? " " : "");
    oa_initial_runs_sentence(k, s->seeds, out);
}

void oa_report_dropout(const struct oa_comparison *k, const struct oa_summary *s,
                       struct oa_text *out)
{
    for (int i = 0; i < s->count && k->attention_dropout > 0; i++) {
        struct oa_spec spec;
        enum oa_error e = oa_spec_parse(out->context, k->entries[s->order[i]].attention, &spec);
        if (e == OA_OK)
            oa_spec_dropout_notes(&spec, k->attention_dropout, out);
        else if (e != OA_NO_MEMORY)
            oa_clear_error(out->context); /* results of another version may have other mechanisms */
        oa_spec_free(&spec);
    }
}
