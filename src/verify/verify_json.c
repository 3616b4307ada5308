/* SPDX-License-Identifier: Apache-2.0
 * A proof as JSON: what the table has, with every failure, and numbers in full. */
#include "print/print.h"
#include "verify/verify.h"

#include <math.h>

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *finding(const struct oa_check *f)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "subject", f->subject, "spec", f->spec,
                     "mode", f->mode, "precision", f->precision, "what", f->what, "error",
                     number(f->error), "bound", number(f->bound));
}

static json_t *unjudged(const struct oa_check *f)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "subject", f->subject, "spec", f->spec,
                     "mode", f->mode, "precision", f->precision, "why", f->what, "rounding",
                     number(f->bound));
}

static json_t *line(const struct oa_proof_line *l)
{
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "subject", l->subject, "mechanism",
                     l->mechanism, "checks", (json_int_t)l->checks, "passed",
                     (json_int_t)(l->checks - l->failed - l->unjudged), "failed",
                     (json_int_t)l->failed, "not_judged", (json_int_t)l->unjudged, "refused",
                     (json_int_t)l->refused, "worst",
                     l->checks > l->unjudged ? finding(&l->worst) : json_null());
}

void oa_proof_json(const struct oa_proof *p, struct oa_text *out)
{
    json_t *lines = json_array(), *failures = json_array(), *refusals = json_array(),
           *left_out = json_array();
    long passed = p->checks - p->failures - p->unjudgeds;
    for (int i = 0; i < p->lines; i++)
        json_array_append_new(lines, line(&p->line[i]));
    for (int i = 0; i < p->failures; i++)
        json_array_append_new(failures, finding(&p->failure[i]));
    for (int i = 0; i < p->unjudgeds; i++)
        json_array_append_new(left_out, unjudged(&p->unjudged[i]));
    for (int i = 0; i < p->refusals; i++)
        json_array_append_new(refusals,
                              json_pack("{s:s, s:s, s:s}", "spec", p->refusal[i].spec, "mode",
                                        p->refusal[i].mode, "sentence", p->refusal[i].sentence));
    json_t *all = json_pack("{s:b, s:i, s:I, s:I, s:i, s:i, s:f, s:o, s:o, s:o, s:o}", "quick",
                            p->quick, "attentions", p->spec_count, "checks", (json_int_t)p->checks,
                            "passed", (json_int_t)passed, "failed", p->failures, "not_judged",
                            p->unjudgeds, "seconds", p->seconds, "lines", lines, "failures",
                            failures, "left_out", left_out, "refusals", refusals);
    if (all)
        oa_json_text(all, out);
    else
        oa_fail(p->context, OA_NO_MEMORY, "no memory left to write JSON");
    json_decref(all);
}
