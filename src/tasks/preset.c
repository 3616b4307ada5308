/* SPDX-License-Identifier: Apache-2.0
 * Task-specific defaults of options. */
#include "tasks/tasks.h"

#include <string.h>

static bool is_option_given(const struct oa_given *g, const char *key)
{
    return key && g->option[oa_option_number(key)];
}

/* A row of the preset that applies, or NULL where the caller set the option or its alternative. */
static const struct oa_preset *holding(const struct oa_preset *p, const struct oa_given *g)
{
    return is_option_given(g, p->key) || is_option_given(g, p->unless) ? NULL : p;
}

enum oa_error oa_task_preset(oa_context *c, const struct oa_given *g, struct oa_options *o)
{
    const struct oa_option_row *r;
    for (int i = 0; (r = oa_option_at(i)); i++)
        if (!g->option[i])
            oa_options_set(c, o, r->key, r->fallback);
    OA_TRY(oa_status(c));
    const struct oa_task *task = oa_task_find(o->data_task);
    for (const struct oa_preset *p = task ? task->preset : NULL; p && p->key; p++)
        if (holding(p, g))
            OA_TRY(oa_options_set(c, o, p->key, p->value));
    bool by_steps = o->train_seconds <= 0 && !*o->train_pace;
    if (by_steps && !is_option_given(g, "train.warmup") && o->train_steps < 10 * o->train_warmup)
        o->train_warmup = o->train_steps / 10;
    return OA_OK;
}

void oa_task_print_preset(const struct oa_task *task, const struct oa_given *g, struct oa_text *out)
{
    for (const struct oa_preset *p = task->preset; p && p->key; p++)
        if (holding(p, g))
            oa_text_printf(out, "%s%s %s", out->length ? ", " : "", p->key, p->value);
}
