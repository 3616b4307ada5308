/* SPDX-License-Identifier: Apache-2.0
 * Measures all families of propositions; findings with their verdicts, and plots. */
#include "theory/draws.h"

#include "print/print.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *title;
    void (*measure)(struct oa_theory_results *t);
} parts[OA_PARTS] = {
    [OA_PART_LENGTHS] = { "Lengths and inner products", oa_measure_lengths },
    [OA_PART_CONDITION] = { "Conditioning", oa_measure_condition },
    [OA_PART_GRADIENTS] = { "Gradients", oa_measure_gradients },
    [OA_PART_HEADS] = { "Heads", oa_measure_heads },
    [OA_PART_LOGITS] = { "Attention logits", oa_measure_logits },
    [OA_PART_DISTORTION] = { "Johnson–Lindenstrauss", oa_measure_distortion },
};

const char *oa_part_title(enum oa_theory_part p)
{
    return parts[p].title;
}

/* ---- findings ---- */

static void set_verdict(struct oa_theory_finding *f)
{
    char number[OA_NUMBER];
    double off = f->measured - f->claim;
    /* a few draws may not show a small difference that the closed form has */
    bool denied = isfinite(f->law) && fabs(f->law - f->claim) > 1e-9;
    f->holds = fabs(off) <= 5 * f->error + 1e-9 && !denied;
    snprintf(f->verdict, sizeof f->verdict, f->holds ? "holds" : "fails by %s%s",
             off < 0 ? "−" : "+", oa_number(number, fabs(off), 3));
}

void oa_theory_add(struct oa_theory_results *t, const struct oa_theory_finding *f)
{
    if ((t->findings & (t->findings - 1)) == 0) { /* full */
        size_t old = (size_t)t->findings * sizeof *f;
        struct oa_theory_finding *grown =
            oa_grow(t->context, t->finding, old, old ? 2 * old : sizeof *f);
        if (!grown)
            return;
        t->finding = grown;
    }
    struct oa_theory_finding *own = &t->finding[t->findings++];
    *own = *f;
    if (isfinite(own->claim))
        set_verdict(own);
}

struct oa_theory_finding oa_theory_proposition(const char *name, double law, struct oa_measured m)
{
    static const struct oa_theory_finding propositions[] = {
#define OA_PROPOSITION(key, of, text, number, value, law_text, about)                              \
    { .part = OA_PART_##of,                                                                        \
      .name = key,                                                                                 \
      .proposition = text,                                                                         \
      .meaning = about,                                                                            \
      .claimed = number,                                                                           \
      .claim = value,                                                                              \
      .formula = law_text },
#include "theory/propositions.def"
#undef OA_PROPOSITION
    };
    size_t i = 0, last = sizeof propositions / sizeof *propositions - 1;
    while (i < last && strcmp(propositions[i].name, name) != 0)
        i++;
    struct oa_theory_finding f = propositions[i];
    f.law = law;
    f.measured = m.mean;
    f.error = m.error;
    return f;
}

void oa_theory_found(struct oa_theory_results *t, const char *name, double law,
                     struct oa_measured m)
{
    struct oa_theory_finding f = oa_theory_proposition(name, law, m);
    oa_theory_add(t, &f);
}

int oa_theory_failing(const struct oa_theory_results *t)
{
    int failing = 0;
    for (int i = 0; i < t->findings; i++)
        failing += !t->finding[i].holds;
    return failing;
}

/* ---- plots ---- */

struct oa_plot *oa_theory_plot(struct oa_theory_results *t, const struct oa_plot *p)
{
    struct oa_plot *own = &t->plot[t->plots++];
    *own = *p;
    return own;
}

struct oa_curve *oa_plot_curve(struct oa_theory_results *t, struct oa_plot *p, const char *name,
                               int color, int count)
{
    struct oa_curve *c = &p->curve[p->curves];
    size_t bytes = (size_t)count * sizeof(double);
    *c = (struct oa_curve){ .count = count, .color = color, .x = oa_alloc(t->context, bytes) };
    c->y = oa_alloc(t->context, bytes);
    snprintf(c->name, sizeof c->name, "%s", name);
    p->curves++;
    return c->x && c->y ? c : NULL;
}

enum oa_error oa_theory_measure(oa_context *c, long width, long heads,
                                struct oa_theory_results *out)
{
    *out = (struct oa_theory_results){
        .context = c, .d = width, .heads = heads, .k = heads > 0 ? width / heads : 0
    };
    if (heads < 2 || width % heads || width / heads < 4)
        return oa_fail(
            c, OA_ARGUMENT,
            "model.heads = %ld must be at least 2 and must divide model.width = %ld into "
            "heads of width 4 or more",
            heads, width);
    if (width > 2048)
        return oa_fail(c, OA_UNSUPPORTED, "model.width = %ld is too large for theory; at most 2048",
                       width);
    for (int p = 0; p < OA_PARTS && oa_status(c) == OA_OK; p++) {
        oa_log(c, 1, "measuring %d of %d: %s", p + 1, OA_PARTS, parts[p].title);
        parts[p].measure(out);
    }
    return oa_status(c);
}

void oa_theory_free(struct oa_theory_results *t)
{
    for (int p = 0; p < t->plots; p++)
        for (int i = 0; i < t->plot[p].curves; i++) {
            oa_free(t->plot[p].curve[i].x);
            oa_free(t->plot[p].curve[i].y);
        }
    oa_free(t->finding);
    *t = (struct oa_theory_results){ .context = t->context };
}
