/* SPDX-License-Identifier: Apache-2.0
 * The results as a table, a line for each subject and mechanism with its worst error, followed by
 * all failures; and the same as JSON. */
#include "print/print.h"
#include "verify/verify.h"

#include "base/json_read.h"
#include "base/json_write.h"

#include <math.h>

static const struct oa_column columns[] = {
    { .title = "subject" },
    { .title = "mechanism" },
    { .title = "checks", .right = true },
    { .title = "inconclusive", .right = true },
    { .title = "skipped", .right = true },
    { .title = "worst", .right = true },
    { .title = "bound", .right = true },
    { .title = "" },
    { .title = "worst check", .shorten = true },
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* "causal, f64, dense(bias): gradient of x" */
static void print_check(const struct oa_check *f, struct oa_text *out)
{
    if (f->mode[0])
        oa_text_printf(out, "%s, %s, %s: ", f->mode, f->precision, f->spec);
    oa_text_printf(out, "%s", f->what);
}

/* The count, or an empty cell for 0. */
static void add_count_cell(struct oa_table *t, long count)
{
    if (count)
        oa_table_cell(t, "%ld", count);
    else
        oa_table_cell(t, "%s", "");
}

static void add_proof_row(const struct oa_proof *p, const struct oa_proof_line *l,
                          struct oa_table *t)
{
    char number[OA_NUMBER];
    struct oa_text check;
    oa_text_init(&check, p->context);
    bool measured = l->checks > l->inconclusive;
    if (measured && l->worst.error != 0)
        print_check(&l->worst, &check);
    oa_table_cell(t, "%s", l->subject);
    oa_table_cell(t, "%s", l->mechanism);
    oa_table_cell(t, "%ld", l->checks);
    add_count_cell(t, l->inconclusive);
    add_count_cell(t, l->refused);
    oa_table_cell(t, "%s", measured ? oa_number(number, l->worst.error, 2) : "");
    oa_table_cell(t, "%s", measured ? oa_number(number, l->worst.bound, 2) : "");
    oa_table_cell(t, "%s", l->failed ? "FAIL" : measured ? "pass" : "");
    oa_table_cell(t, "%s", check.s ? check.s : "");
    oa_text_free(&check);
}

void oa_proof_text(const struct oa_proof *p, int width, struct oa_text *out)
{
    struct oa_table t;
    char seconds[OA_NUMBER];
    long refused = 0;
    oa_table_init(&t, p->context, columns, COLUMNS);
    for (int i = 0; i < p->lines; i++) {
        add_proof_row(p, &p->line[i], &t);
        refused += p->line[i].refused;
    }
    oa_table_text(&t, width, out);
    oa_table_free(&t);
    for (int i = 0; i < p->refusals; i++)
        oa_text_printf(out, "%s%s, %s: %s\n", i ? "" : "\nUnsupported\n", p->refusal[i].spec,
                       p->refusal[i].mode, p->refusal[i].sentence);
    for (int i = 0; i < p->inconclusives; i++) {
        oa_text_printf(out, "%s%s: ", i ? "" : "\nInconclusive\n", p->inconclusive[i].subject);
        print_check(&p->inconclusive[i], out);
        oa_text_printf(out, "\n");
    }
    for (int i = 0; i < p->failures; i++) {
        const struct oa_check *f = &p->failure[i];
        oa_text_printf(out, "%s%s: ", i ? "" : "\nFailures\n", f->subject);
        print_check(f, out);
        oa_text_printf(out, "; error %.3g, bound %.3g\n", f->error, f->bound);
    }
    oa_text_printf(out,
                   "\n%d attentions, %ld checks: %ld passed, %d failed, %d inconclusive; %ld cases "
                   "skipped (unsupported mode); %s\n",
                   p->spec_count, p->checks, p->checks - p->failures - p->inconclusives,
                   p->failures, p->inconclusives, refused, oa_number_seconds(seconds, p->seconds));
}

/* ---- JSON ---- */

static json_t *check_object(const struct oa_check *f)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "subject", f->subject, "spec", f->spec,
                     "mode", f->mode, "precision", f->precision, "what", f->what, "error",
                     oa_json_number(f->error), "bound", oa_json_number(f->bound));
}

static json_t *line_object(const struct oa_proof_line *l)
{
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "subject", l->subject, "mechanism",
                     l->mechanism, "checks", (json_int_t)l->checks, "passed",
                     (json_int_t)(l->checks - l->failed - l->inconclusive), "failed",
                     (json_int_t)l->failed, "not_judged", (json_int_t)l->inconclusive, "refused",
                     (json_int_t)l->refused, "worst",
                     l->checks > l->inconclusive ? check_object(&l->worst) : json_null());
}

void oa_proof_json(const struct oa_proof *p, struct oa_text *out)
{
    json_t *lines = json_array(), *failures = json_array(), *refusals = json_array(),
           *left_out = json_array();
    long passed = p->checks - p->failures - p->inconclusives;
    for (int i = 0; i < p->lines; i++)
        oa_json_append(out->context, lines, line_object(&p->line[i]));
    for (int i = 0; i < p->failures; i++)
        oa_json_append(out->context, failures, check_object(&p->failure[i]));
    for (int i = 0; i < p->inconclusives; i++) {
        const struct oa_check *f = &p->inconclusive[i];
        oa_json_append(out->context, left_out,
                       json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "subject", f->subject, "spec",
                                 f->spec, "mode", f->mode, "precision", f->precision, "why",
                                 f->what, "rounding", oa_json_number(f->bound)));
    }
    for (int i = 0; i < p->refusals; i++)
        oa_json_append(out->context, refusals,
                       json_pack("{s:s, s:s, s:s}", "spec", p->refusal[i].spec, "mode",
                                 p->refusal[i].mode, "sentence", p->refusal[i].sentence));
    json_t *all = json_pack("{s:b, s:i, s:I, s:I, s:i, s:i, s:f, s:o, s:o, s:o, s:o}", "quick",
                            p->quick, "attentions", p->spec_count, "checks", (json_int_t)p->checks,
                            "passed", (json_int_t)passed, "failed", p->failures, "not_judged",
                            p->inconclusives, "seconds", p->seconds, "lines", lines, "failures",
                            failures, "left_out", left_out, "refusals", refusals);
    if (all)
        oa_json_text(all, out);
    else
        oa_fail(p->context, OA_NO_MEMORY, "out of memory while writing JSON");
    json_decref(all);
}
