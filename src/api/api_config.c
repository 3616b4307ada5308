/* SPDX-License-Identifier: Apache-2.0
 * Options as callers of the library see them. */
#include "api/api.h"
#include "tasks/tasks.h"

int oa_option_describe(int i, struct oa_option *out)
{
    static const enum oa_kind kind[] = { [OA_OPTION_INT] = OA_KIND_INT,
                                         [OA_OPTION_REAL] = OA_KIND_REAL,
                                         [OA_OPTION_BOOL] = OA_KIND_BOOL,
                                         [OA_OPTION_WORDS] = OA_KIND_TEXT,
                                         [OA_OPTION_CHOICE] = OA_KIND_CHOICE };
    const struct oa_option_row *row = oa_option_at(i);
    if (!row)
        return 0;
    *out = (struct oa_option){ .section = row->section,
                               .name = row->name,
                               .kind = kind[row->kind],
                               .fallback = row->fallback,
                               .choices = row->choices,
                               .low = row->low,
                               .high = row->high,
                               .help = row->help,
                               .former = row->former };
    return 1;
}

oa_config *oa_config_new(oa_context *c)
{
    oa_config *config = oa_alloc(c, sizeof *config);
    if (!config)
        return NULL;
    config->context = c;
    oa_options_default(&config->options);
    return config;
}

void oa_config_overwrite(oa_config *config, int on)
{
    config->overwrite = on != 0;
}

void oa_config_free(oa_config *config)
{
    oa_free(config);
}

enum oa_error oa_config_set(oa_config *config, const char *key, const char *value)
{
    OA_TRY(oa_options_set(config->context, &config->options, key, value));
    config->given.option[oa_option_number(key)] = true;
    return oa_task_preset(config->context, &config->given, &config->options);
}

void oa_config_say_preset(const oa_config *config)
{
    const struct oa_task *task = oa_task_find(config->options.data_task);
    struct oa_text text;
    oa_text_init(&text, config->context);
    if (task)
        oa_task_print_preset(task, &config->given, &text);
    if (text.length)
        oa_log(config->context, 0, "using the defaults of task %s: %s", task->name, text.s);
    oa_text_free(&text);
    oa_text_init(&text, config->context);
    oa_model_print_preset(&config->options, &config->given, &text);
    if (text.length)
        oa_log(config->context, 0, "preset %s sets %s",
               oa_option_word("model.preset", (int)config->options.model_preset).s, text.s);
    oa_text_free(&text);
}

enum oa_error oa_config_get(const oa_config *config, const char *key, const struct oa_output *out)
{
    struct oa_text text;
    oa_text_init(&text, config->context);
    oa_options_get(config->context, &config->options, key, &text);
    return oa_emit(out, &text);
}

/* The row of a key and the address of its value; NULL after a failure. */
static const struct oa_option_row *config_find(const oa_config *config, const char *key,
                                               const void **value)
{
    struct oa_text ignored;
    const struct oa_option_row *row = oa_option_at(oa_option_number(key));
    if (row) {
        *value = (const char *)&config->options + row->offset;
        return row;
    }
    oa_text_init(&ignored, config->context);
    oa_options_get(config->context, &config->options, key, &ignored); /* records the error */
    oa_text_free(&ignored);
    return NULL;
}

enum oa_error oa_config_get_number(const oa_config *config, const char *key, double *value)
{
    const void *at;
    const struct oa_option_row *row = config_find(config, key, &at);
    if (!row)
        return OA_ARGUMENT;
    if (row->kind == OA_OPTION_INT)
        *value = (double)*(const long *)at;
    else if (row->kind == OA_OPTION_REAL)
        *value = *(const double *)at;
    else if (row->kind == OA_OPTION_BOOL)
        *value = *(const bool *)at;
    else
        return oa_fail(config->context, OA_ARGUMENT, "%s is not a number", row->key);
    return OA_OK;
}

enum oa_error oa_config_get_text(const oa_config *config, const char *key, const char **value)
{
    const void *at;
    const struct oa_option_row *row = config_find(config, key, &at);
    if (!row)
        return OA_ARGUMENT;
    if (row->kind != OA_OPTION_WORDS)
        return oa_fail(config->context, OA_ARGUMENT, "%s is not a text", row->key);
    *value = at;
    return OA_OK;
}

enum oa_error oa_config_read(oa_config *config, const char *path)
{
    OA_TRY(oa_options_load(config->context, &config->options, path, &config->given));
    return oa_task_preset(config->context, &config->given, &config->options);
}

enum oa_error oa_config_write(const oa_config *config, const struct oa_output *out)
{
    struct oa_text text;
    oa_text_init(&text, config->context);
    if (oa_wants_json(out)) {
        oa_options_json(&config->options, &text);
        oa_text_add(&text, "\n", 1);
    } else {
        oa_options_yaml(&config->options, &text);
    }
    return oa_emit(out, &text);
}
