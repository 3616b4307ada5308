/* SPDX-License-Identifier: Apache-2.0 */
#include "report/metric_words.h"

#include <string.h>

struct oa_estimate oa_shown(const struct oa_comparison *k, struct oa_estimate cost)
{
    cost.mean = oa_cost(oa_compared_measure(k), cost.mean);
    return cost;
}

/* ---- words ---- */

bool oa_about_loss(const struct oa_comparison *k)
{
    return k->metric == 0 && !k->imported;
}

const char *oa_metric_word(const struct oa_comparison *k)
{
    return oa_about_loss(k) ? "loss" : oa_compared_measure(k)->title;
}

const char *oa_metric_long(const struct oa_comparison *k)
{
    return oa_about_loss(k) ? "validation loss" : oa_compared_measure(k)->title;
}

const char *oa_metric_best(const struct oa_comparison *k)
{
    return oa_compared_measure(k)->higher ? "highest" : "lowest";
}

const char *oa_metric_better(const struct oa_comparison *k)
{
    return oa_compared_measure(k)->higher ? "higher" : "lower";
}

int oa_decimals(const struct oa_comparison *k)
{
    return oa_compared_measure(k)->decimals;
}

/* ---- units ---- */

const char *oa_difference_unit(const struct oa_comparison *k)
{
    const char *unit = oa_compared_measure(k)->unit;
    return strcmp(unit, "%") == 0 ? "% points" : unit;
}

void oa_add_unit(const char *unit, struct oa_text *out)
{
    if (*unit)
        oa_text_printf(out, " %s", unit);
}

void oa_add_margin(const struct oa_comparison *k, struct oa_text *out)
{
    oa_text_real(out, k->margin);
    oa_add_unit(oa_difference_unit(k), out);
}

/* "nats a token" as "nats/token". */
static const char *shorten(const char *unit, char out[OA_LABEL])
{
    const char *a = strstr(unit, " a ");
    if (a)
        snprintf(out, OA_LABEL, "%.*s/%s", (int)(a - unit), unit, a + 3);
    else
        snprintf(out, OA_LABEL, "%s", unit);
    return out;
}

static const char *join(const char *what, const char *between, const char *unit, char out[OA_LABEL])
{
    snprintf(out, OA_LABEL, "%s%s%s", what, *unit ? between : "", unit);
    return out;
}

const char *oa_unit(const struct oa_measure *m, char out[OA_LABEL])
{
    return shorten(strcmp(m->unit, m->title) == 0 ? "" : m->unit, out);
}

const char *oa_heading(const struct oa_measure *m, const char *title, char out[OA_LABEL])
{
    char unit[OA_LABEL];
    return join(title, "\n", oa_unit(m, unit), out);
}

const char *oa_axis_of(const struct oa_measure *m, const char *what, char out[OA_LABEL])
{
    char unit[OA_LABEL];
    return join(what, ", ", oa_unit(m, unit), out);
}

const char *oa_axis_of_difference(const struct oa_comparison *k, char out[OA_LABEL])
{
    char unit[OA_LABEL];
    return join("difference", ", ", shorten(oa_difference_unit(k), unit), out);
}

const char *oa_best_word(const struct oa_comparison *k, const struct oa_summary *s)
{
    bool leads = s->reference >= 0 && s->entries[s->reference].verdict == OA_VERDICT_LEADS;
    return leads ? "leader" : oa_metric_best(k);
}

const char *oa_to_the_best(const struct oa_comparison *k, const struct oa_summary *s,
                           char out[OA_LABEL])
{
    snprintf(out, OA_LABEL, "difference\nto the %s", oa_best_word(k, s));
    return out;
}

const char *oa_to_the_compared(const struct oa_comparison *k, const struct oa_summary *s,
                               char out[OA_LABEL])
{
    enum oa_family_kind kind = oa_family_kind_of(k);
    if (kind == OA_FAMILY_PAIRS)
        return oa_to_the_best(k, s, out);
    snprintf(out, OA_LABEL, "%s",
             kind == OA_FAMILY_UNIFORM ? "difference to the\nuniform baseline"
                                       : "difference\nto the baseline");
    return out;
}
