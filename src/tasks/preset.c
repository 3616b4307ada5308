/* SPDX-License-Identifier: Apache-2.0
 * Defaults of options by task, and by model.preset. */
#include "tasks/tasks.h"

#include <string.h>

/* ---- model.preset: the blocks of known models ---- */

static const struct oa_preset gpt2[] = { { "model.position", "learned", NULL },
                                         { "model.norm", "pre", NULL },
                                         { "model.norm_kind", "layer", NULL },
                                         { "model.norm_epsilon", "1e-5", NULL },
                                         { "model.bias", "true", NULL },
                                         { "model.activation", "gelu", NULL },
                                         { "model.ffn_gate", "false", NULL },
                                         { "model.tie_output", "true", NULL },
                                         { NULL, NULL, NULL } };
static const struct oa_preset llama[] = { { "model.position", "rotary", NULL },
                                          { "model.norm", "pre", NULL },
                                          { "model.norm_kind", "rms", NULL },
                                          { "model.norm_epsilon", "1e-5", NULL },
                                          { "model.bias", "false", NULL },
                                          { "model.activation", "silu", NULL },
                                          { "model.ffn_gate", "true", NULL },
                                          { "model.tie_output", "false", NULL },
                                          { NULL, NULL, NULL } };
static const struct oa_preset nanochat[] = {
    { "model.position", "rotary", NULL }, { "model.norm", "pre", NULL },
    { "model.norm_kind", "rms", NULL },   { "model.norm_epsilon", "1.1920929e-7", NULL },
    { "model.norm_gain", "false", NULL }, { "model.embedding_norm", "true", NULL },
    { "model.bias", "false", NULL },      { "model.activation", "relu2", NULL },
    { "model.ffn_gate", "false", NULL },  { "model.tie_output", "false", NULL },
    { "model.output_cap", "15", NULL },   { NULL, NULL, NULL }
};
static const struct oa_preset bert[] = { { "model.position", "learned", NULL },
                                         { "model.norm", "post", NULL },
                                         { "model.norm_kind", "layer", NULL },
                                         { "model.norm_epsilon", "1e-12", NULL },
                                         { "model.embedding_norm", "true", NULL },
                                         { "model.bias", "true", NULL },
                                         { "model.activation", "gelu-exact", NULL },
                                         { "model.ffn_gate", "false", NULL },
                                         { NULL, NULL, NULL } };
static const struct oa_preset vit[] = {
    { "model.position", "learned", NULL }, { "model.norm", "pre", NULL },
    { "model.norm_kind", "layer", NULL },  { "model.norm_epsilon", "1e-12", NULL },
    { "model.bias", "true", NULL },        { "model.activation", "gelu-exact", NULL },
    { "model.ffn_gate", "false", NULL },   { NULL, NULL, NULL }
};
static const struct oa_preset *const model_presets[] = {
    [OA_PRESET_GPT2] = gpt2, [OA_PRESET_LLAMA] = llama, [OA_PRESET_NANOCHAT] = nanochat,
    [OA_PRESET_BERT] = bert, [OA_PRESET_VIT] = vit,
};

static bool is_option_given(const struct oa_given *g, const char *key)
{
    return key && g->option[oa_option_number(key)];
}

/* Whether a row of a preset applies: the caller set neither the option nor its alternative. */
static bool preset_applies(const struct oa_preset *p, const struct oa_given *g)
{
    return !is_option_given(g, p->key) && !is_option_given(g, p->unless);
}

static enum oa_error preset_apply(oa_context *c, const struct oa_preset *p,
                                  const struct oa_given *g, struct oa_options *o)
{
    for (; p && p->key; p++)
        if (preset_applies(p, g))
            OA_TRY(oa_options_set(c, o, p->key, p->value));
    return OA_OK;
}

static void preset_print(const struct oa_preset *p, const struct oa_given *g, struct oa_text *out)
{
    for (; p && p->key; p++)
        if (preset_applies(p, g))
            oa_text_printf(out, "%s%s %s", out->length ? ", " : "", p->key, p->value);
}

enum oa_error oa_task_preset(oa_context *c, const struct oa_given *g, struct oa_options *o)
{
    const struct oa_option_row *r;
    for (int i = 0; (r = oa_option_at(i)); i++)
        if (!g->option[i])
            oa_options_set(c, o, r->key, r->fallback);
    OA_TRY(oa_status(c));
    const struct oa_task *task = oa_task_find(o->data_task);
    OA_TRY(preset_apply(c, task ? task->preset : NULL, g, o));
    OA_TRY(preset_apply(c, model_presets[o->model_preset], g, o));
    bool by_steps = o->train_seconds <= 0 && !*o->train_pace;
    if (by_steps && !is_option_given(g, "train.warmup") && o->train_steps < 10 * o->train_warmup)
        o->train_warmup = o->train_steps / 10;
    return OA_OK;
}

void oa_task_print_preset(const struct oa_task *task, const struct oa_given *g, struct oa_text *out)
{
    preset_print(task->preset, g, out);
}

void oa_model_print_preset(const struct oa_options *o, const struct oa_given *g,
                           struct oa_text *out)
{
    preset_print(model_presets[o->model_preset], g, out);
}
