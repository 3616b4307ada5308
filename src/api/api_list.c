/* SPDX-License-Identifier: Apache-2.0
 * list, explain: the registry of mechanisms and the table of tasks as text and JSON. */
#include "api/api.h"
#include "explain/explain.h"
#include "tasks/tasks.h"

enum oa_error oa_list(oa_context *c, const struct oa_output *out)
{
    struct oa_text t;
    OA_TRY(oa_status(c));
    oa_text_init(&t, c);
    if (oa_wants_json(out))
        oa_attention_list_json(c, &t);
    else
        oa_attention_list(c, &t);
    return oa_emit(out, &t);
}

enum oa_error oa_list_markdown(oa_context *c, const struct oa_output *out)
{
    struct oa_text t;
    OA_TRY(oa_status(c));
    oa_text_init(&t, c);
    oa_attention_list_markdown(c, &t);
    return oa_emit(out, &t);
}

static void tasks_text(struct oa_text *out)
{
    const struct oa_task *t;
    for (int i = 0; (t = oa_task_at(i)); i++) {
        oa_text_printf(out, "%s%-10s  %s\n            measured by ", i ? "\n" : "", t->name,
                       t->what);
        for (int k = 0; t->measures[k].name; k++)
            oa_text_printf(out, "%s%s (%s)", k ? ", " : "", t->measures[k].name,
                           t->measures[k].unit);
        struct oa_text list;
        oa_text_init(&list, out->context);
        oa_task_print_preset(t, &(struct oa_given){ 0 }, &list);
        if (list.length)
            oa_text_printf(out, "\n            defaults: %s", list.s);
        oa_text_free(&list);
        oa_text_printf(out, "\n            %s\n", t->citation);
    }
}

static json_t *tasks_json(oa_context *c)
{
    const struct oa_task *t;
    json_t *list = json_array();
    for (int i = 0; (t = oa_task_at(i)); i++) {
        json_t *measures = json_array(), *defaults = json_object();
        for (const struct oa_measure *m = t->measures; m->name; m++)
            oa_json_append(c, measures,
                           json_pack("{s:s, s:s, s:s, s:b}", "name", m->name, "title", m->title,
                                     "unit", m->unit, "higher_is_better", m->higher));
        for (const struct oa_preset *p = t->preset; p && p->key; p++)
            oa_json_set(c, defaults, p->key, json_string(p->value));
        oa_json_append(c, list,
                       json_pack("{s:s, s:s, s:o, s:o, s:s}", "name", t->name, "what", t->what,
                                 "measures", measures, "defaults", defaults, "citation",
                                 t->citation));
    }
    return list;
}

enum oa_error oa_list_tasks(oa_context *c, const struct oa_output *out)
{
    struct oa_text t;
    OA_TRY(oa_status(c));
    oa_text_init(&t, c);
    if (oa_wants_json(out))
        oa_json_add(&t, tasks_json(c));
    else
        tasks_text(&t);
    return oa_emit(out, &t);
}

enum oa_error oa_explain(const oa_config *config, const char *spec, const struct oa_output *out)
{
    struct oa_text t;
    OA_TRY(oa_status(config->context));
    oa_text_init(&t, config->context);
    if (oa_wants_json(out))
        oa_attention_explain_json(config->context, spec, &config->options, &t);
    else
        oa_attention_explain(config->context, spec, &config->options, &t);
    return oa_emit(out, &t);
}

int oa_mechanism_describe(int i, const char **name, const char **title)
{
    const struct oa_mechanism *m = oa_mechanism_at(i);
    if (!m)
        return 0;
    *name = m->name;
    *title = m->title;
    return 1;
}
