/* SPDX-License-Identifier: Apache-2.0
 * The propositions as a table, and their numbers as text. */
#include "print/print.h"
#include "theory/theory.h"

#include <math.h>
#include <string.h>

/* ---- numbers ---- */

/* Significant digits with a Unicode minus; small numbers as 3.81·10⁻⁶. */
static char *print_scientific(char *out, double x, int digits)
{
    static const char *const superscripts[] = { "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹" };
    char number[OA_NUMBER];
    double size = fabs(x);
    int exponent = size > 0 ? (int)floor(log10(size)) : 0;
    if (exponent > -4 || exponent < -99) {
        snprintf(out, OA_THEORY_FINDING_TEXT, "%s%s", x < 0 ? "−" : "",
                 oa_number(number, size, digits));
        return out;
    }
    snprintf(out, OA_THEORY_FINDING_TEXT, "%s%s·10⁻%s%s", x < 0 ? "−" : "",
             oa_number(number, size * pow(10, -exponent), digits),
             exponent <= -10 ? superscripts[-exponent / 10] : "", superscripts[-exponent % 10]);
    return out;
}

char *oa_theory_finding_law(const struct oa_theory_finding *f, char *out)
{
    if (!isfinite(f->law))
        return strcpy(out, "–");
    bool whole = f->law == floor(f->law) && fabs(f->law) < 1000;
    char number[OA_THEORY_FINDING_TEXT];
    snprintf(out, OA_THEORY_FINDING_TEXT, "%s%.100s", f->asymptotic ? "≈ " : "",
             print_scientific(number, f->law, whole ? 1 : 4));
    return out;
}

/* Digits up to the second one of the error; one digit without an error. */
char *oa_theory_finding_measured(const struct oa_theory_finding *f, char *out)
{
    char value[OA_NUMBER], error[OA_THEORY_FINDING_TEXT];
    if (!isfinite(f->measured))
        return strcpy(out, "–");
    if (f->error <= 0)
        return print_scientific(out, f->measured, 1);
    int decimals = (int)fmax(0, 1 - floor(log10(f->error)));
    if (decimals > 6) {
        double scale = pow(10, floor(log10(fabs(f->measured))));
        print_scientific(error, scale, 1);
        snprintf(out, OA_THEORY_FINDING_TEXT, "(%.2f ± %.2f)%.60s", f->measured / scale,
                 f->error / scale, error + 1);
        return out;
    }
    oa_number_signed(value, fabs(f->measured), decimals);
    oa_number_signed(error, f->error, decimals);
    snprintf(out, OA_THEORY_FINDING_TEXT, "%s%s ± %.60s", f->measured < 0 ? "−" : "",
             value + (value[0] == '+'), error + (error[0] == '+'));
    return out;
}

void oa_theory_headline(const struct oa_theory_results *t, char *out, size_t size)
{
    int failing = oa_theory_failing(t);
    snprintf(out, size, "Of %d propositions on frozen orthogonal projections %d hold and %d fail",
             t->findings, t->findings - failing, failing);
}

/* ---- the table ---- */

static const struct oa_column columns[] = { { .title = "proposition" },
                                            { .title = "claimed", .right = true },
                                            { .title = "closed form" },
                                            { .title = "", .right = true },
                                            { .title = "measured", .right = true },
                                            { .title = "verdict" } };
enum { COLUMNS = sizeof columns / sizeof *columns };

void oa_theory_table(const struct oa_theory_results *t, int limit, struct oa_text *out)
{
    char headline[160];
    struct oa_table table;
    oa_theory_headline(t, headline, sizeof headline);
    oa_text_printf(out,
                   "%s.\nwidth d = %ld, H = %ld heads of k = %ld; U [d, k] projects queries, T "
                   "keys; τ = 1/√k\n\n",
                   headline, t->d, t->heads, t->k);
    oa_table_init(&table, t->context, columns, COLUMNS);
    for (int p = 0; p < OA_PARTS; p++) {
        oa_table_cell(&table, "%s", oa_part_title((enum oa_theory_part)p));
        for (int i = 1; i < COLUMNS; i++)
            oa_table_cell(&table, " ");
        for (int i = 0; i < t->findings; i++) {
            const struct oa_theory_finding *f = &t->finding[i];
            char law[OA_THEORY_FINDING_TEXT], measured[OA_THEORY_FINDING_TEXT];
            if ((int)f->part != p)
                continue;
            oa_table_cell(&table, "  %s", f->proposition);
            oa_table_cell(&table, "%s", f->claimed);
            oa_table_cell(&table, "%s", f->formula);
            oa_table_cell(&table, "%s", oa_theory_finding_law(f, law));
            oa_table_cell(&table, "%s", oa_theory_finding_measured(f, measured));
            oa_table_cell(&table, "%s", f->verdict);
        }
    }
    oa_table_text(&table, limit, out);
    oa_table_free(&table);
    oa_text_printf(out,
                   "\nMeasured: mean over draws of this library's generators ± one standard "
                   "error. A claim holds if the\nmeasured value is within five standard errors "
                   "and the closed form agrees.\n");
}
