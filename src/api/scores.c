/* SPDX-License-Identifier: Apache-2.0
 * Scores of a model as text and JSON: the loss in the unit of its task, and the task's measures. */
#include "api/api.h"

#include <math.h>
#include <string.h>

bool oa_predicts_tokens(const struct oa_workload *w)
{
    return w->form.output == OA_OUTPUT_TOKENS;
}

bool oa_reads_examples(const struct oa_workload *w)
{
    return w->train.rows != NULL;
}

struct oa_scores oa_scores_of(const struct oa_workload *w, const struct oa_run *run)
{
    bool tokens = oa_predicts_tokens(w);
    struct oa_scores s = { .loss = run->valid_loss,
                           .perplexity = tokens ? run->perplexity : (double)NAN,
                           .bits_per_character = tokens ? run->bits_per_character : (double)NAN,
                           .bits_per_byte = tokens ? run->bits_per_byte : (double)NAN,
                           .tokens = run->valid_tokens };
    for (const struct oa_measure *m = w->task->measures; m->name; m++, s.measures++)
        s.measured[s.measures] =
            (struct oa_task_score){ m->name, m->unit,
                                    s.measures ? run->scores[s.measures] : run->valid_loss };
    return s;
}

/* ---- text ---- */

/* Token ids that are written as numbers do not count as text. */
static bool has_text(const struct oa_workload *w)
{
    if (strcmp(oa_tokenizer_kind_name(w->tokenizer), "ids") == 0)
        return false;
    for (enum oa_side side = OA_TRAINING; side <= OA_TEST; side++)
        if (oa_workload_side(w, side).characters > 0)
            return true;
    return false;
}

static void bits_text(const struct oa_scores *s, const struct oa_workload *w, struct oa_text *out)
{
    oa_text_printf(out, "perplexity      %.4f a token\n", s->perplexity);
    if (isnan(s->bits_per_character)) {
        oa_text_printf(out, "bits/character  %s\n",
                       has_text(w) ? "none: the loss is of hidden tokens, not of the text"
                                   : "not known: there are token ids and no text");
        return;
    }
    oa_text_printf(out, "bits/character  %.4f\n", s->bits_per_character);
    oa_text_printf(out, "bits/byte       %.4f\n", s->bits_per_byte);
}

void oa_scores_text(const struct oa_scores *s, const struct oa_workload *w, struct oa_text *out)
{
    const struct oa_measure *m = w->task->measures;
    oa_text_printf(out, "loss            %.4f %s", s->loss, m[0].unit);
    if (oa_predicts_tokens(w)) {
        oa_text_printf(out, " (%s)\n", oa_tokenizer_kind_name(w->tokenizer));
        bits_text(s, w, out);
    } else
        oa_text_printf(out, "\n");
    for (int i = 1; i < s->measures; i++)
        if (isfinite(s->measured[i].value))
            oa_text_printf(out, "%-15s %.*f %s\n", m[i].name, m[i].decimals, s->measured[i].value,
                           m[i].unit);
}

/* ---- JSON ---- */

void oa_scores_json(oa_context *c, const struct oa_scores *s, const struct oa_workload *w,
                    json_t *object)
{
    oa_json_set(c, object, "loss", oa_json_number(s->loss));
    if (oa_predicts_tokens(w)) {
        oa_json_set(c, object, "perplexity", oa_json_number(s->perplexity));
        oa_json_set(c, object, "bits_per_character", oa_json_number(s->bits_per_character));
        oa_json_set(c, object, "bits_per_byte", oa_json_number(s->bits_per_byte));
    }
    for (int i = 1; i < s->measures; i++)
        oa_json_set(c, object, s->measured[i].name, oa_json_number(s->measured[i].value));
}
