/* SPDX-License-Identifier: Apache-2.0
 * The propositions and the curves as JSON. */
#include "theory/theory.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "print/print.h"

#include <jansson.h>
#include <math.h>

static json_t *proposition_object(oa_context *c, const struct oa_theory_finding *f)
{
    json_t *o =
        json_pack("{s:s, s:s, s:s, s:s, s:s}", "part", oa_part_title(f->part), "name", f->name,
                  "proposition", f->proposition, "meaning", f->meaning, "claimed", f->claimed);
    oa_json_set(c, o, "claim", oa_json_number(f->claim));
    oa_json_set(c, o, "formula", json_string(f->formula));
    oa_json_set(c, o, "law", oa_json_number(f->law));
    oa_json_set(c, o, "asymptotic", json_boolean(f->asymptotic));
    oa_json_set(c, o, "measured", oa_json_number(f->measured));
    oa_json_set(c, o, "standard_error", oa_json_number(f->error));
    oa_json_set(c, o, "holds", json_boolean(f->holds));
    oa_json_set(c, o, "verdict", json_string(f->verdict));
    return o;
}

static json_t *number_array(oa_context *c, const double *x, int n)
{
    json_t *array = json_array();
    for (int i = 0; i < n; i++)
        oa_json_append(c, array, oa_json_number(x[i]));
    return array;
}

static json_t *plot_object(oa_context *c, const struct oa_plot *p)
{
    json_t *curves = json_array();
    for (int i = 0; i < p->curves; i++) {
        const struct oa_curve *k = &p->curve[i];
        oa_json_append(c, curves,
                       json_pack("{s:s, s:b, s:o, s:o}", "name", k->name, "measured", (int)k->dots,
                                 "x", number_array(c, k->x, k->count), "y",
                                 number_array(c, k->y, k->count)));
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "part", oa_part_title(p->part), "name",
                     p->name, "title", p->title, "x", p->x_label, "y", p->y_label, "curves",
                     curves);
}

void oa_theory_json(const struct oa_theory_results *t, struct oa_text *out)
{
    json_t *findings = json_array(), *plots = json_array();
    for (int i = 0; i < t->findings; i++)
        oa_json_append(out->context, findings, proposition_object(out->context, &t->finding[i]));
    for (int i = 0; i < t->plots; i++)
        oa_json_append(out->context, plots, plot_object(out->context, &t->plot[i]));
    json_t *root =
        json_pack("{s:s, s:I, s:I, s:I, s:i, s:i, s:o, s:o}", "schema", "orthant.theory/1", "width",
                  (json_int_t)t->d, "heads", (json_int_t)t->heads, "head_width", (json_int_t)t->k,
                  "holding", t->findings - oa_theory_failing(t), "failing", oa_theory_failing(t),
                  "propositions", findings, "plots", plots);
    oa_json_text(root, out);
    json_decref(root);
}
