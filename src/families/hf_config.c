/* SPDX-License-Identifier: Apache-2.0 */
#include "families/hf_config.h"

#include "base/json_write.h"

#include <math.h>
#include <string.h>

enum { MOST = 1 << 24 };

/* ---- values ---- */

static const json_t *hf_value(const struct oa_hf_config *h, const char *key)
{
    const json_t *value = json_object_get(h->root, key);
    return json_is_null(value) ? NULL : value;
}

static void refuse_config_value(const struct oa_hf_config *h, const char *key, const char *wanted)
{
    const json_t *value = hf_value(h, key);
    char *text = oa_json_dump(h->context, value, JSON_ENCODE_ANY);
    oa_fail(h->context, OA_FORMAT, "%s: \"%s\" is %.60s; expected %s", h->path, key,
            text ? text : "?", wanted);
    oa_free(text);
}

long oa_hf_count(const struct oa_hf_config *h, const char *key, long fallback)
{
    const json_t *value = hf_value(h, key);
    json_int_t n = json_integer_value(value);
    if (!value)
        return fallback;
    if (json_is_integer(value) && n >= 1 && n <= MOST)
        return (long)n;
    refuse_config_value(h, key, "an integer from 1 to 16777216");
    return fallback;
}

double oa_hf_real(const struct oa_hf_config *h, const char *key, double fallback)
{
    const json_t *value = hf_value(h, key);
    double x = json_number_value(value);
    if (!value)
        return fallback;
    if (json_is_number(value) && x > 0 && isfinite(x))
        return x;
    refuse_config_value(h, key, "a number above 0");
    return fallback;
}

bool oa_hf_flag(const struct oa_hf_config *h, const char *key, bool fallback)
{
    const json_t *value = hf_value(h, key);
    if (value && !json_is_boolean(value))
        refuse_config_value(h, key, "true or false");
    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

const char *oa_hf_word(const struct oa_hf_config *h, const char *key, const char *fallback)
{
    const json_t *value = hf_value(h, key);
    if (value && !json_is_string(value))
        refuse_config_value(h, key, "a string");
    return json_is_string(value) ? json_string_value(value) : fallback;
}

/* ---- refusals ---- */

void oa_hf_refuse(const struct oa_hf_config *h, const char *key, const char *why)
{
    const json_t *value = json_object_get(h->root, key);
    char *text = value ? oa_json_dump(h->context, value, JSON_ENCODE_ANY) : NULL;
    oa_fail(h->context, OA_UNSUPPORTED, "%s: \"%s\": %.60s is not supported%s%s", h->path, key,
            text ? text : "its absence", why ? ": " : "", why ? why : "");
    oa_free(text);
}

void oa_hf_demand(const struct oa_hf_config *h, const char *key, bool fallback, bool wanted)
{
    if (oa_hf_flag(h, key, fallback) != wanted)
        oa_hf_refuse(h, key, NULL);
}

void oa_hf_demand_language_model(const struct oa_hf_config *h, const char *name)
{
    static const char *const ends[] = { "LMHeadModel", "ForCausalLM", "Model" };
    const json_t *all = hf_value(h, "architectures");
    const char *class = json_string_value(json_array_get(all, 0));
    size_t n = strlen(name);
    if (!all || !json_array_size(all))
        return;
    for (size_t i = 0; class && i < sizeof ends / sizeof *ends; i++)
        if (strncmp(class, name, n) == 0 && strcmp(class + n, ends[i]) == 0)
            return;
    oa_hf_refuse(h, "architectures", "only the language model of this family is");
}

/* ---- options ---- */

void oa_hf_set(const struct oa_hf_config *h, const char *option, const char *value)
{
    if (oa_status(h->context) == OA_OK)
        oa_options_set(h->context, h->options, option, value);
}

void oa_hf_set_count(const struct oa_hf_config *h, const char *option, long value)
{
    char text[32];
    snprintf(text, sizeof text, "%ld", value);
    oa_hf_set(h, option, text);
}

void oa_hf_set_real(const struct oa_hf_config *h, const char *option, double value)
{
    oa_hf_set(h, option, oa_real_text(value).s);
}

void oa_hf_set_flag(const struct oa_hf_config *h, const char *option, bool value)
{
    oa_hf_set(h, option, value ? "true" : "false");
}

static const struct {
    const char *theirs;
    enum oa_activation ours;
} activations[] = {
    { "gelu_new", OA_ACTIVATION_GELU },  { "gelu_pytorch_tanh", OA_ACTIVATION_GELU },
    { "gelu_fast", OA_ACTIVATION_GELU }, { "gelu", OA_ACTIVATION_GELU_EXACT },
    { "relu", OA_ACTIVATION_RELU },      { "relu2", OA_ACTIVATION_RELU2 },
    { "silu", OA_ACTIVATION_SILU },      { "swish", OA_ACTIVATION_SILU }
};

void oa_hf_set_activation(const struct oa_hf_config *h, const char *key, const char *fallback)
{
    oa_hf_set_activation_word(h, key, oa_hf_word(h, key, fallback));
}

void oa_hf_set_activation_word(const struct oa_hf_config *h, const char *key, const char *word)
{
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (strcmp(word, activations[i].theirs) == 0) {
            h->options->model_activation = activations[i].ours;
            return;
        }
    oa_hf_refuse(h, key, NULL);
}

const char *oa_hf_activation(int activation)
{
    int i = 0;
    while ((int)activations[i].ours != activation)
        i++;
    return activations[i].theirs;
}

/* An id within the vocabulary that is set already. */
static long hf_id(const struct oa_hf_config *h, const char *key, long fallback)
{
    const json_t *value = hf_value(h, key);
    json_int_t id = value ? json_integer_value(value) : fallback;
    if (value && (!json_is_integer(value) || id < 0 || id >= h->options->model_vocabulary))
        oa_hf_refuse(h, key, "an id of the vocabulary is");
    return (long)id;
}

void oa_hf_set_encoder_decoder(struct oa_hf_config *h, const char *name)
{
    const json_t *all = hf_value(h, "architectures");
    const char *class = json_string_value(json_array_get(all, 0));
    if (json_array_size(all) && (!class || strcmp(class, name) != 0))
        oa_hf_refuse(h, "architectures", "of this family the model that writes texts is");
    oa_hf_demand(h, "is_encoder_decoder", true, true);
    *h->form =
        (struct oa_model_form){ .encoder = true, .decoder = true, .output = OA_OUTPUT_TOKENS };
    oa_hf_set(h, "data.task", "translate");
    h->begin = hf_id(h, "decoder_start_token_id", hf_id(h, "pad_token_id", 0));
    h->end = hf_id(h, "eos_token_id", 1);
}

/* r: the same with the object that has it, of that name. */
static void set_rotary_scaling(const struct oa_hf_config *h, const struct oa_hf_config *r,
                               const char *name)
{
    const char *type = oa_hf_word(r, "rope_type", oa_hf_word(r, "type", "default"));
    if (strcmp(type, "default") == 0)
        return;
    if (strcmp(type, "linear") != 0 && strcmp(type, "llama3") != 0) {
        oa_hf_refuse(r, json_object_get(r->root, "rope_type") ? "rope_type" : "type",
                     "of scaled rotary positions linear and llama3 are");
        return;
    }
    oa_hf_set(h, "model.rotary_scaling", type);
    bool all = hf_value(r, "factor") != NULL;
    oa_hf_set_real(h, "model.rotary_factor", oa_hf_real(r, "factor", 1));
    if (strcmp(type, "llama3") == 0) {
        all = all && hf_value(r, "original_max_position_embeddings") &&
              hf_value(r, "low_freq_factor") && hf_value(r, "high_freq_factor");
        oa_hf_set_count(h, "model.rotary_context",
                        oa_hf_count(r, "original_max_position_embeddings", 8192));
        oa_hf_set_real(h, "model.rotary_slow", oa_hf_real(r, "low_freq_factor", 1));
        oa_hf_set_real(h, "model.rotary_fast", oa_hf_real(r, "high_freq_factor", 4));
    }
    if (!all)
        oa_hf_refuse(h, name,
                     strcmp(type, "linear") == 0
                         ? "linear needs factor"
                         : "llama3 needs factor, low_freq_factor, high_freq_factor and "
                           "original_max_position_embeddings");
}

/* transformers 5 has all of it in rope_parameters; 4 has rope_theta and rope_scaling, GPT-NeoX
 * rotary_emb_base and rotary_pct. */
void oa_hf_set_rotary(const struct oa_hf_config *h, double base, double share)
{
    const json_t *now = hf_value(h, "rope_parameters"), *scaling = hf_value(h, "rope_scaling");
    struct oa_hf_config r = *h;
    if (now && !json_is_object(now))
        refuse_config_value(h, "rope_parameters", "an object");
    if (!now && scaling && !json_is_object(scaling))
        refuse_config_value(h, "rope_scaling", "an object");
    r.root = (json_t *)(uintptr_t)(now ? now : h->root);
    base = oa_hf_real(&r, "rope_theta",
                      oa_hf_real(h, "rope_theta", oa_hf_real(h, "rotary_emb_base", base)));
    share = oa_hf_real(&r, "partial_rotary_factor",
                       oa_hf_real(h, "partial_rotary_factor", oa_hf_real(h, "rotary_pct", share)));
    r.root = (json_t *)(uintptr_t)(now ? now : scaling);
    if (r.root)
        set_rotary_scaling(h, &r, now ? "rope_parameters" : "rope_scaling");
    oa_hf_set(h, "model.position", "rotary");
    oa_hf_set_real(h, "model.rotary_base", base);
    oa_hf_set_real(h, "model.rotary_share", share);
}

bool oa_hf_never(const struct oa_hf_config *h, long layer)
{
    (void)h;
    (void)layer;
    return false;
}

bool oa_hf_always(const struct oa_hf_config *h, long layer)
{
    return !oa_hf_never(h, layer);
}

bool oa_hf_sliding(const struct oa_hf_config *h, long layer, bool older)
{
    const json_t *types = hf_value(h, "layer_types");
    const char *type = json_string_value(json_array_get(types, (size_t)layer));
    if (!types)
        return older;
    if (type && strcmp(type, "sliding_attention") == 0)
        return true;
    if (!type || strcmp(type, "full_attention") != 0)
        oa_hf_refuse(h, "layer_types", "of each layer full_attention or sliding_attention is");
    return false;
}

/* The shortest list of layers that, repeated, is the list of all. */
static long period_of(const struct oa_hf_config *h, oa_hf_layer_is *local)
{
    long layers = h->options->model_layers;
    for (long period = 1; period < layers; period++) {
        long i = period;
        while (i < layers && local(h, i) == local(h, i - period))
            i++;
        if (i == layers)
            return period;
    }
    return layers;
}

void oa_hf_set_attention(const struct oa_hf_config *h, oa_hf_layer_is *local, long window,
                         long keys, const char *options)
{
    struct oa_text spec;
    long period = period_of(h, local);
    bool grouped = keys != h->options->model_heads;
    oa_text_init(&spec, h->context);
    for (long i = 0; i < period; i++) {
        bool near = local(h, i) && window > 0 && window < h->options->model_context;
        oa_text_printf(&spec, "%s%s", i ? " ; " : "", near ? "local(" : "softmax(");
        if (near)
            oa_text_printf(&spec, "window=%ld, ", window);
        if (grouped)
            oa_text_printf(&spec, "kv=%ld, ", keys);
        if (*options)
            oa_text_printf(&spec, "%s, ", options);
        bool any = near || grouped || *options;
        oa_text_cut(&spec, spec.length - (any ? 2 : 1));
        oa_text_printf(&spec, any ? ")" : "");
    }
    oa_hf_set(h, "model.attention", spec.s ? spec.s : "");
    oa_text_free(&spec);
}

long oa_hf_keys(const struct oa_hf_config *h, const struct oa_llama_defaults *d)
{
    return oa_hf_count(h, "num_key_value_heads", d->keys ? d->keys : h->options->model_heads);
}

void oa_hf_set_llama(const struct oa_hf_config *h, const struct oa_llama_defaults *d)
{
    long width = oa_hf_count(h, "hidden_size", d->hidden),
         heads = oa_hf_count(h, "num_attention_heads", d->heads),
         head_width = oa_hf_count(h, "head_dim", d->head_width);
    oa_hf_set_count(h, "model.width", width);
    oa_hf_set_count(h, "model.heads", heads);
    oa_hf_set_count(h, "model.head_width", head_width * heads == width ? 0 : head_width);
    oa_hf_set_count(h, "model.layers", oa_hf_count(h, "num_hidden_layers", d->layers));
    oa_hf_set_count(h, "model.ffn", oa_hf_count(h, "intermediate_size", d->ffn));
    oa_hf_set_count(h, "model.context", oa_hf_count(h, "max_position_embeddings", d->context));
    oa_hf_set_count(h, "model.vocabulary", oa_hf_count(h, "vocab_size", d->vocabulary));
    oa_hf_set(h, "model.norm_kind", "rms");
    oa_hf_set_real(h, "model.norm_epsilon", oa_hf_real(h, "rms_norm_eps", 1e-6));
    oa_hf_set(h, "model.ffn_gate", "true");
    oa_hf_set_activation(h, "hidden_act", "silu");
    oa_hf_set_flag(h, "model.tie_output", oa_hf_flag(h, "tie_word_embeddings", false));
    oa_hf_set_rotary(h, 10000, 1);
    if (h->options->model_rotary_share != 1)
        oa_fail(h->context, OA_UNSUPPORTED,
                "%s: \"partial_rotary_factor\" is %g: transformers turns whole heads in this "
                "family; remove the key if the model was trained so",
                h->path, h->options->model_rotary_share);
}
