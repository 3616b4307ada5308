/* SPDX-License-Identifier: Apache-2.0
 * A proof as a table for people: a line for each subject and mechanism with its worst error, then
 * failures in full. */
#include "print/print.h"
#include "verify/verify.h"

#include <math.h>
#include <string.h>

static const struct oa_column columns[] = {
    { .title = "subject" },
    { .title = "mechanism" },
    { .title = "checks", .right = true },
    { .title = "not\njudged", .right = true },
    { .title = "\nrefused", .right = true },
    { .title = "worst", .right = true },
    { .title = "bound", .right = true },
    { .title = "" },
    { .title = "where the worst was", .shorten = true },
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* Where something was measured: "causal, f64, dense(bias): gradient of x". */
static void add_place(const struct oa_check *f, struct oa_text *out)
{
    if (f->mode[0])
        oa_text_printf(out, "%s, %s, %s: ", f->mode, f->precision, f->spec);
    oa_text_printf(out, "%s", f->what);
}

static void add_line(const struct oa_proof *p, const struct oa_proof_line *l, struct oa_table *t)
{
    char number[OA_NUMBER];
    struct oa_text place;
    oa_text_init(&place, p->context);
    bool judged = l->checks > l->unjudged;
    if (judged && l->worst.error != 0)
        add_place(&l->worst, &place);
    oa_table_cell(t, "%s", l->subject);
    oa_table_cell(t, "%s", l->mechanism);
    oa_table_cell(t, "%ld", l->checks);
    oa_table_cell(t, "%s", l->unjudged ? oa_number(number, (double)l->unjudged, 6) : "");
    oa_table_cell(t, "%s", l->refused ? oa_number(number, (double)l->refused, 6) : "");
    oa_table_cell(t, "%s", judged ? oa_number(number, l->worst.error, 2) : "");
    oa_table_cell(t, "%s", judged ? oa_number(number, l->worst.bound, 2) : "");
    oa_table_cell(t, "%s", l->failed ? "FAIL" : judged ? "pass" : "");
    oa_table_cell(t, "%s", place.s ? place.s : "");
    oa_text_free(&place);
}

static void add_failures(const struct oa_proof *p, struct oa_text *out)
{
    for (int i = 0; i < p->failures; i++) {
        const struct oa_check *f = &p->failure[i];
        oa_text_printf(out, "%s%s: ", i ? "" : "\nFailures\n", f->subject);
        add_place(f, out);
        oa_text_printf(out, "; error %.3g, bound %.3g\n", f->error, f->bound);
    }
}

static void add_unjudged(const struct oa_proof *p, struct oa_text *out)
{
    for (int i = 0; i < p->unjudgeds; i++) {
        const struct oa_check *f = &p->unjudged[i];
        oa_text_printf(out, "%s%s, %s, %s, %s: not judged: %s\n", i ? "" : "\nNot judged\n",
                       f->subject, f->mode, f->precision, f->spec, f->what);
    }
}

static void add_refusals(const struct oa_proof *p, struct oa_text *out)
{
    for (int i = 0; i < p->refusals; i++)
        oa_text_printf(out, "%s%s, %s: %s\n", i ? "" : "\nRefused\n", p->refusal[i].spec,
                       p->refusal[i].mode, p->refusal[i].sentence);
}

void oa_proof_text(const struct oa_proof *p, int width, struct oa_text *out)
{
    struct oa_table t;
    char seconds[OA_NUMBER];
    long refused = 0;
    oa_table_init(&t, p->context, columns, COLUMNS);
    for (int i = 0; i < p->lines; i++) {
        add_line(p, &p->line[i], &t);
        refused += p->line[i].refused;
    }
    oa_table_text(&t, width, out);
    oa_table_free(&t);
    add_refusals(p, out);
    add_unjudged(p, out);
    add_failures(p, out);
    oa_text_printf(out,
                   "\n%d attentions, %ld checks: %ld passed, %d failed, %d not judged; %ld refused "
                   "forms, %s\n",
                   p->spec_count, p->checks, p->checks - p->failures - p->unjudgeds, p->failures,
                   p->unjudgeds, refused, oa_number_seconds(seconds, p->seconds));
}
