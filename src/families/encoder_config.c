/* SPDX-License-Identifier: Apache-2.0
 * config.json of encoders: classes, their names, and the blocks of BERT. */
#include "base/json_write.h"
#include "families/hf_config.h"

#include <string.h>

/* ---- classes ---- */

/* id2label: {"0": "no", "1": "yes"}; without it num_labels, whose default in transformers is 2. */
static void read_labels(const struct oa_hf_config *h)
{
    const json_t *names = json_object_get(h->root, "id2label");
    long count =
        json_is_object(names) ? (long)json_object_size(names) : oa_hf_count(h, "num_labels", 2);
    char **name = oa_alloc(h->context, ((size_t)count + 1) * sizeof *name), number[32];
    bool named = name != NULL;
    for (long i = 0; named && i < count; i++) {
        snprintf(number, sizeof number, "%ld", i);
        const char *text = json_string_value(json_object_get(names, number));
        char standard[48];
        snprintf(standard, sizeof standard, "LABEL_%s", number);
        named = text || !json_is_object(names);
        name[i] = named ? oa_copy_text(h->context, text && *text ? text : standard) : NULL;
    }
    if (name && !named)
        oa_hf_refuse(h, "id2label", "a name for each number from 0 on is");
    else if (oa_status(h->context) == OA_OK)
        oa_labels_copy(h->context, name, count, h->labels);
    for (long i = 0; name && i < count; i++)
        oa_free(name[i]);
    oa_free(name);
    h->form->classes = count;
    h->form->labels = h->labels->name;
}

/* A single label is a number. */
static void set_classes(const struct oa_hf_config *h)
{
    const char *kind = oa_hf_word(h, "problem_type", "");
    bool number = json_object_size(json_object_get(h->root, "id2label")) == 1;
    if (strcmp(kind, "multi_label_classification") == 0 ||
        (strcmp(kind, "regression") == 0 && !number))
        oa_hf_refuse(h, "problem_type", "one of several classes, or one number, is");
    h->form->output = number ? OA_OUTPUT_NUMBER : OA_OUTPUT_CLASSES;
    oa_hf_set(h, "data.task", number ? "regress" : "classify");
    if (!number)
        read_labels(h);
}

void oa_hf_set_encoder(const struct oa_hf_config *h, const char *name, bool images)
{
    const char *class =
        json_string_value(json_array_get(json_object_get(h->root, "architectures"), 0));
    size_t n = strlen(name);
    const char *end = class && strncmp(class, name, n) == 0 ? class + n : "";
    *h->form = (struct oa_model_form){ .encoder = true };
    if (strcmp(end, images ? "ForImageClassification" : "ForSequenceClassification") == 0) {
        set_classes(h);
    } else if (!images && (strcmp(end, "ForMaskedLM") == 0 || strcmp(end, "ForPreTraining") == 0)) {
        h->form->output = OA_OUTPUT_TOKENS;
        oa_hf_set(h, "data.task", "mlm");
    } else if (strcmp(end, "Model") == 0) {
        h->form->output = OA_OUTPUT_STATES;
        oa_hf_set(h, "data.task", images ? "classify" : "mlm");
    } else {
        oa_hf_refuse(h, "architectures",
                     images ? "of this family ForImageClassification and the bare model are"
                            : "of this family ForMaskedLM, ForSequenceClassification and the bare "
                              "model are");
    }
}

void oa_hf_labels_write(oa_context *c, const struct oa_model_form *f, json_t *config)
{
    json_t *names = json_object(), *numbers = json_object();
    for (long i = 0; i < f->classes && f->labels; i++) {
        char number[32];
        snprintf(number, sizeof number, "%ld", i);
        oa_json_set(c, names, number, json_string(f->labels[i]));
        oa_json_set(c, numbers, f->labels[i], json_integer(i));
    }
    if (f->output == OA_OUTPUT_NUMBER) {
        oa_json_set(c, names, "0", json_string("LABEL_0"));
        oa_json_set(c, numbers, "LABEL_0", json_integer(0));
    }
    oa_json_set(c, config, "id2label", names);
    oa_json_set(c, config, "label2id", numbers);
    oa_json_set(
        c, config, "problem_type",
        json_string(f->output == OA_OUTPUT_NUMBER ? "regression" : "single_label_classification"));
}

void oa_hf_set_head(const struct oa_hf_config *h, const char *activation)
{
    bool tokens = h->form->output == OA_OUTPUT_TOKENS;
    int own = (int)h->options->model_activation;
    oa_hf_set(h, "model.head", tokens ? oa_option_word("model.activation", own).s : activation);
    oa_hf_set_flag(h, "model.head_norm", tokens);
    oa_hf_set_flag(h, "model.output_bias", tokens);
}

/* ---- BERT ---- */

void oa_hf_set_post_norm(const struct oa_hf_config *h, double epsilon)
{
    oa_hf_set_real(h, "model.norm_epsilon", epsilon);
    oa_hf_set(h, "model.norm", "post");
    oa_hf_set(h, "model.embedding_norm", "true");
    oa_hf_set(h, "model.bias", "true");
    oa_hf_set(h, "model.attention", "softmax");
}

void oa_hf_set_bert(const struct oa_hf_config *h, const char *name, long vocabulary)
{
    oa_hf_set_encoder(h, name, false);
    oa_hf_demand(h, "is_decoder", false, false);
    oa_hf_demand(h, "add_cross_attention", false, false);
    if (strcmp(oa_hf_word(h, "position_embedding_type", "absolute"), "absolute") != 0)
        oa_hf_refuse(h, "position_embedding_type", NULL);
    oa_hf_set_count(h, "model.width", oa_hf_count(h, "hidden_size", 768));
    oa_hf_set_count(h, "model.heads", oa_hf_count(h, "num_attention_heads", 12));
    oa_hf_set_count(h, "model.layers", oa_hf_count(h, "num_hidden_layers", 12));
    oa_hf_set_count(h, "model.ffn", oa_hf_count(h, "intermediate_size", 3072));
    oa_hf_set_count(h, "model.vocabulary", oa_hf_count(h, "vocab_size", vocabulary));
    oa_hf_set_count(h, "model.segments", oa_hf_count(h, "type_vocab_size", 2));
    oa_hf_set_activation(h, "hidden_act", "gelu");
    oa_hf_set_flag(h, "model.tie_output", oa_hf_flag(h, "tie_word_embeddings", true));
    oa_hf_set_post_norm(h, oa_hf_real(h, "layer_norm_eps", 1e-12));
    oa_hf_set_head(h, "tanh");
}

/* ---- ViT ---- */

/* A number for both sides, or [height, width]. */
static void read_image_sides(const struct oa_hf_config *h, const char *key, long fallback,
                             long out[2])
{
    json_t *value = json_object_get(h->root, key);
    out[0] = out[1] = 0;
    if (!json_is_array(value)) {
        out[0] = out[1] = oa_hf_count(h, key, fallback);
        return;
    }
    for (size_t i = 0; json_array_size(value) == 2 && i < 2; i++)
        out[i] = (long)json_integer_value(json_array_get(value, i));
    if (out[0] < 1 || out[1] < 1)
        oa_hf_refuse(h, key, "a number or two are");
}

static void set_image(struct oa_hf_config *h, long leading)
{
    long sides[2], patch[2], channels = oa_hf_count(h, "num_channels", 3);
    read_image_sides(h, "image_size", 224, sides);
    read_image_sides(h, "patch_size", 16, patch);
    if (patch[0] != patch[1])
        oa_hf_refuse(h, "patch_size", "a square is");
    else if (oa_status(h->context) == OA_OK && (sides[0] % patch[0] || sides[1] % patch[0]))
        oa_hf_refuse(h, "image_size", "a multiple of patch_size is");
    if (oa_status(h->context) != OA_OK)
        return;
    h->form->channels = channels;
    h->form->image_height = sides[0];
    h->form->image_width = sides[1];
    h->form->patch = channels * patch[0] * patch[0];
    oa_hf_set_count(h, "model.context", leading + (sides[0] / patch[0]) * (sides[1] / patch[0]));
}

void oa_hf_set_vit(struct oa_hf_config *h, const char *name, long leading)
{
    static const char *const parts[] = { "attention.query", "attention.key", "attention.value" };
    oa_hf_set_encoder(h, name, true);
    set_image(h, leading);
    oa_hf_set_count(h, "model.width", oa_hf_count(h, "hidden_size", 768));
    oa_hf_set_count(h, "model.heads", oa_hf_count(h, "num_attention_heads", 12));
    oa_hf_set_count(h, "model.layers", oa_hf_count(h, "num_hidden_layers", 12));
    oa_hf_set_count(h, "model.ffn", oa_hf_count(h, "intermediate_size", 3072));
    oa_hf_set_count(h, "model.vocabulary", 1 + leading);
    oa_hf_set_real(h, "model.norm_epsilon", oa_hf_real(h, "layer_norm_eps", 1e-12));
    oa_hf_set_activation(h, "hidden_act", "gelu");
    oa_hf_set(h, "model.bias", "true");
    oa_hf_set(h, "model.attention", "softmax");
    if (h->form->output == OA_OUTPUT_STATES)
        oa_hf_set(h, "model.head", oa_hf_word(h, "pooler_act", "tanh"));
    for (int i = 0; i < 3 && !oa_hf_flag(h, "qkv_bias", true); i++)
        h->absent_biases[i] = parts[i];
}
