/* SPDX-License-Identifier: Apache-2.0 */
#include "report/teacher_share.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "print/print.h"
#include "report/results.h"

#include <math.h>

struct oa_fieller oa_teacher_share_of(const struct oa_comparison *k, const struct oa_summary *s,
                                      int entry)
{
    double gain[OA_SEEDS_CAP], whole[OA_SEEDS_CAP];
    const struct oa_measure *m = oa_compared_measure(k);
    int n = 0;
    for (int r = 0; k->teacher && s->uniform >= 0 && entry != s->uniform && r < k->seeds; r++) {
        const struct oa_run *u = &k->entries[s->uniform].runs[r], *x = &k->entries[entry].runs[r];
        if (n == OA_SEEDS_CAP || !oa_run_finished(k, u) || !oa_run_finished(k, x))
            continue;
        double base = oa_cost(m, oa_run_score(k, u));
        gain[n] = base - oa_cost(m, oa_run_score(k, x));
        whole[n++] = base - oa_cost(m, k->teacher_score);
    }
    return oa_fieller_of(gain, whole, n, 0.05);
}

/* Something is to be retained: the teacher is shown to be better than the uniform baseline, or
 * there is one seed. */
static bool share_shown(const struct oa_fieller *f)
{
    return f->n > 0 && f->gain > 0 && (f->n == 1 || f->form == OA_FIELLER_BOUNDED);
}

/* The same share after the first stage alone, by means of losses over seeds; value NaN: none. */
struct first_stage {
    double tokens, loss, value;
};

static struct first_stage first_stage_of(const struct oa_comparison *k, const struct oa_summary *s,
                                         int entry)
{
    struct first_stage f = { .value = (double)NAN };
    double uniform = 0;
    int n = 0;
    for (int r = 0; k->teacher && s->uniform >= 0 && r < k->seeds; r++) {
        const struct oa_run *u = &k->entries[s->uniform].runs[r], *x = &k->entries[entry].runs[r];
        if (!oa_run_finished(k, u) || !oa_run_finished(k, x) || !(x->attention_tokens > 0))
            continue;
        f.tokens = x->attention_tokens;
        f.loss += x->attention_loss;
        uniform += u->valid_loss;
        n++;
    }
    if (n == 0)
        return f;
    f.loss /= n;
    uniform /= n;
    f.value = (uniform - f.loss) / (uniform - k->teacher_loss);
    return f;
}

static void add_teacher_share(const struct oa_comparison *k, const struct oa_summary *s, int entry,
                              const struct oa_fieller *f, struct oa_text *out)
{
    const struct oa_entry *e = &k->entries[entry];
    struct first_stage first = first_stage_of(k, s, entry);
    char value[OA_NUMBER], low[OA_NUMBER], high[OA_NUMBER], tokens[OA_NUMBER];
    oa_text_printf(out, "%s keeps %s %%", oa_entry_name(e),
                   oa_number_fixed(value, 100 * f->value, 1));
    if (f->n > 1)
        oa_text_printf(out, " (95 %% interval %s to %s %%)", oa_number_fixed(low, 100 * f->low, 1),
                       oa_number_fixed(high, 100 * f->high, 1));
    oa_text_printf(out, " after %s tokens, from %d of %d tensors",
                   oa_number_si(tokens, e->runs[0].tokens), e->started, e->tensors);
    if (first.tokens > 0)
        oa_text_printf(out, ", and kept %s %% by the loss after %s tokens of attention alone",
                       oa_number_fixed(value, 100 * first.value, 1),
                       oa_number_si(tokens, first.tokens));
}

/* Tokens of the first stage of an attention that has one; 0: none has. */
static double any_first_stage(const struct oa_comparison *k, const struct oa_summary *s)
{
    for (int i = 0; i < s->count; i++) {
        struct first_stage first = first_stage_of(k, s, i);
        if (first.tokens > 0)
            return first.tokens;
    }
    return 0;
}

void oa_teacher_note(const struct oa_comparison *k, const struct oa_summary *s, struct oa_text *out)
{
    const struct oa_measure *m = oa_compared_measure(k);
    char score[OA_NUMBER], tokens[OA_NUMBER];
    const char *before = " Of what it gains over the uniform baseline ";
    if (!k->teacher)
        return;
    oa_text_printf(out, "Teacher: %s, %s %s %s before any training.", k->teacher, m->title,
                   oa_number_fixed(score, k->teacher_score, m->decimals), m->unit);
    for (int o = 0; o < s->count; o++) {
        struct oa_fieller f = oa_teacher_share_of(k, s, s->order[o]);
        if (!share_shown(&f))
            continue;
        oa_text_printf(out, "%s", before);
        add_teacher_share(k, s, s->order[o], &f, out);
        before = "; ";
    }
    oa_text_printf(out, "%s",
                   *before == ';' ? "."
                   : s->uniform >= 0
                       ? " It is not shown to be better than the uniform baseline: no share of it."
                       : "");
    if (any_first_stage(k, s) > 0)
        oa_text_printf(out,
                       " Training tokens, FLOPs and times are of the stage that learns the output: "
                       "the %s tokens of attention alone are in no budget.",
                       oa_number_si(tokens, any_first_stage(k, s)));
    oa_text_printf(out, "\n");
}

json_t *oa_teacher_json(oa_context *c, const struct oa_comparison *k)
{
    if (!k->teacher)
        return json_null();
    json_t *object = json_object();
    oa_json_set(c, object, "run", oa_json_string(k->teacher));
    oa_json_set(c, object, "score", oa_json_number(k->teacher_score));
    oa_json_set(c, object, "loss", oa_json_number(k->teacher_loss));
    return object;
}

json_t *oa_teacher_share_json(oa_context *c, const struct oa_comparison *k,
                              const struct oa_summary *s, int entry)
{
    struct oa_fieller f = oa_teacher_share_of(k, s, entry);
    if (f.n == 0)
        return json_null();
    bool bounded = f.form == OA_FIELLER_BOUNDED && f.gain > 0;
    json_t *object = json_object();
    oa_json_set(c, object, "n", json_integer(f.n));
    oa_json_set(c, object, "value", oa_json_number(share_shown(&f) ? f.value : NAN));
    oa_json_set(c, object, "low", oa_json_number(bounded ? f.low : NAN));
    oa_json_set(c, object, "high", oa_json_number(bounded ? f.high : NAN));
    oa_json_set(c, object, "tensors_taken", json_integer(k->entries[entry].started));
    oa_json_set(c, object, "tensors", json_integer(k->entries[entry].tensors));
    struct first_stage first = first_stage_of(k, s, entry);
    if (first.tokens > 0)
        oa_json_set(c, object, "attention_stage",
                    json_pack("{s:f, s:f, s:o}", "tokens", first.tokens, "loss", first.loss,
                              "value", oa_json_number(first.value)));
    return object;
}
