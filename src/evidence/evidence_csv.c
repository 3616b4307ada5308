/* SPDX-License-Identifier: Apache-2.0
 * evidence.csv: a line for each run of a page, so that others can analyse them.
 * docs/evidence-experiments.md has the columns. */
#include "evidence/pages.h"

#include <math.h>
#include <string.h>

/* RFC 4180. */
static void csv_add_field(struct oa_text *out, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        oa_text_printf(out, "%s,", text);
        return;
    }
    oa_text_add(out, "\"", 1);
    for (const char *p = text; *p; p++)
        oa_text_printf(out, "%s%c", *p == '"' ? "\"" : "", *p);
    oa_text_printf(out, "\",");
}

/* Empty where there is no number. */
static void csv_add_value(struct oa_text *out, double value, char after)
{
    if (isfinite(value))
        oa_text_printf(out, "%.17g", value);
    oa_text_add(out, &after, 1);
}

static void csv_add_runs(const struct oa_judged *j, int variant, int entry, struct oa_text *out)
{
    const struct oa_experiment *e = j->experiment;
    const json_t *record = j->record[variant];
    const json_t *of = json_array_get(json_object_get(record, "entries"), (size_t)entry);
    bool uniform = json_is_true(json_object_get(of, "floor"));
    for (int r = 0; r < oa_record_runs(record, entry); r++) {
        json_int_t seed;
        double score = oa_record_run(record, entry, r, &seed),
               loss = oa_record_loss(record, entry, r, &seed);
        csv_add_field(out, e->name);
        csv_add_field(out, e->variants[variant].name);
        csv_add_field(out, uniform ? OA_CLAIMED_UNIFORM
                                   : json_string_value(json_object_get(of, "attention")));
        oa_text_printf(out, "%" JSON_INTEGER_FORMAT ",", seed);
        csv_add_field(out, oa_record_measure_of(record).name);
        csv_add_value(out, score, ',');
        csv_add_value(out, loss, '\n');
    }
}

void oa_evidence_csv(const struct oa_judged *j, int count, struct oa_text *out)
{
    oa_text_printf(out, "experiment,comparison,attention,seed,metric,score,loss\n");
    for (int i = 0; i < count; i++)
        for (int v = 0; v < j[i].experiment->variant_count; v++)
            for (size_t n = 0; n < json_array_size(json_object_get(j[i].record[v], "entries")); n++)
                csv_add_runs(&j[i], v, (int)n, out);
}
