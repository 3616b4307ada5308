/* SPDX-License-Identifier: Apache-2.0
 * A run whose attention no family of transformers has, as a folder with a modelling file of its
 * own: config.json names it in auto_map and has the attention of each layer, group by group, with
 * all options, and the shape of every tensor. Tensors keep their names (oa_model_save). */
#include "base/json_write.h"
#include "families/families.h"

#include <math.h>
#include <string.h>

extern const char oa_modeling_orthant_py[], oa_configuration_orthant_py[]; /* embedded */

enum { NAME = 160 };

const struct oa_model_family oa_family_orthant = { .type = "orthant",
                                                   .class = "OrthantForCausalLM",
                                                   .classifier =
                                                       "OrthantForSequenceClassification" };

/* ---- what the modelling file has ---- */

/* Mechanisms are those in the table MECHANISMS of the modelling file. */
static enum oa_error check_atom(oa_context *c, const struct oa_atom *a)
{
    char line[80];
    snprintf(line, sizeof line, "\n    \"%s\": ", a->mechanism->name);
    if (!strstr(oa_modeling_orthant_py, line))
        return oa_fail(c, OA_UNSUPPORTED,
                       "%s has no class in the modelling file that is exported with a model: "
                       "models with it stay here",
                       a->mechanism->name);
    if (strcmp(a->mechanism->name, "pattern") == 0 && oa_atom_is(a, "unit", "word"))
        return oa_fail(
            c, OA_UNSUPPORTED,
            "pattern(unit=word) is not in the modelling file that is exported with a "
            "model: transformers gives a model token ids, not word numbers. Use unit=token");
    for (int i = 0; i < a->children; i++)
        OA_TRY(check_atom(c, &a->child[i]));
    return OA_OK;
}

/* As cross-attention only mechanisms for which keys and values of the source are all that a token
 * of the target needs: softmax, also with frozen projections. */
static enum oa_error check_groups(oa_context *c, const struct oa_layer *l, bool cross)
{
    for (int g = 0; g < l->groups; g++) {
        const char *name = l->group[g].mechanism->name;
        OA_TRY(check_atom(c, l->group[g].atom));
        if (cross && strcmp(name, "softmax") != 0 && strcmp(name, "orthogonal") != 0)
            return oa_fail(c, OA_UNSUPPORTED,
                           "%s as cross-attention is not in the modelling file that is exported "
                           "with a model: use softmax or orthogonal there",
                           name);
    }
    return OA_OK;
}

static enum oa_error check_stack(oa_context *c, const struct oa_stack *s)
{
    for (long l = 0; l < s->shape.layers; l++) {
        OA_TRY(check_groups(c, &s->block[l].attention, false));
        if (s->shape.cross)
            OA_TRY(check_groups(c, &s->block[l].cross, true));
    }
    return OA_OK;
}

static bool is_encoder_decoder(const struct oa_model *m)
{
    return m->form.encoder && m->form.decoder;
}

enum oa_error oa_check_modeling(const struct oa_model *m)
{
    const struct oa_options *o = &m->options;
    const char *option = o->model_scale_output                                ? "model.scale_output"
                         : o->model_position == OA_POSITION_SINUSOIDAL_HALVES ? "model.position"
                                                                              : NULL;
    if (option)
        return oa_fail(m->context, OA_UNSUPPORTED,
                       "the modelling file that is exported with a model has not this %s", option);
    if (is_encoder_decoder(m))
        OA_TRY(check_stack(m->context, &m->encoder));
    return check_stack(m->context, oa_model_stack(m));
}

/* ---- config.json ---- */

static json_t *option_json(oa_context *c, const struct oa_atom *a, const struct oa_argument *row)
{
    double weights[OA_MAX_ARGUMENTS], number = oa_atom_real(a, row->key, NAN);
    int count =
        row->kind == OA_VALUE_REALS ? oa_atom_reals(a, row->key, weights, OA_MAX_ARGUMENTS) : 0;
    const char *word = row->choices; /* "one|two|three" */
    json_t *list;
    switch (row->kind) {
    case OA_VALUE_FLAG:
        return json_boolean(oa_atom_flag(a, row->key));
    case OA_VALUE_CHOICE:
        for (int i = (int)oa_atom_value(a, row->key)->number; i > 0; i--)
            word += strcspn(word, "|") + 1;
        return json_stringn(word, strcspn(word, "|"));
    case OA_VALUE_INT:
        return isnan(number) ? json_null() : json_integer((json_int_t)number);
    case OA_VALUE_REAL:
        return isnan(number) ? json_null() : json_real(number);
    case OA_VALUE_REALS:
        list = json_array();
        for (int i = 0; i < count; i++)
            oa_json_append(c, list, json_real(weights[i]));
        return list;
    default:
        return json_null(); /* the name of a file, whose contents are a tensor */
    }
}

static json_t *group_json(oa_context *c, const struct oa_group *g)
{
    json_t *options = json_object(), *components = json_array(), *group;
    char tensors[NAME];
    snprintf(tensors, sizeof tensors, "%.*s", (int)strlen(g->prefix) - 1, g->prefix);
    for (const struct oa_argument *row = g->mechanism->arguments; row->key; row++)
        oa_json_set(c, options, row->key[0] ? row->key : "kind", option_json(c, g->atom, row));
    for (int i = 0; i < g->components; i++)
        oa_json_append(c, components, group_json(c, &g->component[i]));
    group =
        json_pack("{s:s, s:s, s:i, s:i, s:i, s:o, s:o}", "mechanism", g->mechanism->name, "tensors",
                  tensors, "heads", (int)g->shape.heads, "key_heads", (int)g->key_heads,
                  "first_head", g->first_head, "options", options, "components", components);
    if (g->relative)
        oa_json_set(c, group, "relative_bias", json_string(g->relative->name));
    return group;
}

/* Of each layer its groups of heads; cross: those of its cross-attention. */
static json_t *layers_json(oa_context *c, const struct oa_stack *s, bool cross)
{
    json_t *layers = json_array();
    for (long l = 0; l < s->shape.layers; l++) {
        const struct oa_layer *layer = cross ? &s->block[l].cross : &s->block[l].attention;
        json_t *groups = json_array();
        for (int g = 0; g < layer->groups; g++)
            oa_json_append(c, groups, group_json(c, &layer->group[g]));
        oa_json_append(c, layers, groups);
    }
    return layers;
}

static void set_layers(const struct oa_model *m, const struct oa_exported *x, json_t *config)
{
    oa_context *c = m->context;
    oa_json_set(c, config, "layers", layers_json(c, oa_model_stack(m), false));
    if (!is_encoder_decoder(m))
        return;
    oa_json_set(c, config, "encoder_layers", layers_json(c, &m->encoder, false));
    oa_json_set(c, config, "cross_layers", layers_json(c, &m->decoder, true));
    oa_json_set(c, config, "is_encoder_decoder", json_true());
    oa_json_set(c, config, "encoder_attention_heads", json_integer(m->encoder.shape.heads));
    oa_json_set(c, config, "max_source_positions", json_integer(m->encoder.shape.length));
    oa_hf_target_ids_write(c, x, config);
}

static void set_tensors(const struct oa_model *m, json_t *config)
{
    oa_context *c = m->context;
    json_t *shapes = json_object(), *frozen = json_array();
    for (int i = 0; i < m->store.count; i++) {
        const struct oa_parameter *p = m->store.parameter[i];
        char name[NAME];
        json_t *shape = json_array();
        snprintf(name, sizeof name, "%s", p->name);
        if (p->expand)
            snprintf(strrchr(name, '.'), sizeof ".weight", ".weight");
        for (int d = 0; d < (p->expand ? 2 : p->dims); d++)
            oa_json_append(c, shape, json_integer(p->expand ? p->expanded[d] : p->dim[d]));
        if (p->merged) {
            json_decref(shape);
            continue;
        }
        oa_json_set(c, shapes, name, shape);
        if (!p->trainable)
            oa_json_append(c, frozen, json_string(name));
    }
    oa_json_set(c, config, "tensors", shapes);
    oa_json_set(c, config, "frozen", frozen);
}

static json_t *blocks_json(oa_context *c, const struct oa_options *o)
{
    static const char *const words[] = { "model.norm", "model.norm_kind", "model.activation",
                                         "model.head", "model.pool",      "model.rotary_pairing" };
    json_t *blocks = json_object();
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct oa_text value;
        oa_text_init(&value, c);
        if (oa_options_get(c, o, words[i], &value) == OA_OK && value.s)
            oa_json_set(c, blocks, words[i] + strlen("model."), json_string(value.s));
        oa_text_free(&value);
    }
    oa_json_set(c, blocks, "norm_epsilon", json_real(o->model_norm_epsilon));
    oa_json_set(c, blocks, "first_norm", json_boolean(o->model_first_norm));
    oa_json_set(c, blocks, "embedding_norm", json_boolean(o->model_embedding_norm));
    oa_json_set(c, blocks, "embedding_factor", json_real(oa_embedding_factor(o)));
    oa_json_set(c, blocks, "parallel", json_boolean(o->model_parallel));
    oa_json_set(c, blocks, "residual_scale", json_real(o->model_residual_scale));
    oa_json_set(c, blocks, "ffn_gate", json_boolean(o->model_ffn_gate));
    oa_json_set(c, blocks, "head_norm", json_boolean(o->model_head_norm));
    oa_json_set(c, blocks, "logit_cap", json_real(o->model_logit_cap));
    oa_json_set(c, blocks, "output_cap", json_real(o->model_output_cap));
    oa_json_set(c, blocks, "qknorm_epsilon",
                json_real(o->model_qknorm_epsilon > 0 ? o->model_qknorm_epsilon : 1e-6));
    return blocks;
}

static json_t *modeling_config(const struct oa_model *m, const struct oa_exported *x)
{
    oa_context *c = m->context;
    const struct oa_options *o = &m->options;
    char class[80];
    struct oa_text attention;
    json_t *config = json_object(), *automatic = json_object();
    snprintf(class, sizeof class, "modeling_orthant.%s", x->class);
    oa_text_init(&attention, c);
    oa_stacks_print(&m->attention, &attention);
    oa_json_set(c, automatic, "AutoConfig", json_string("configuration_orthant.OrthantConfig"));
    oa_json_set(c, automatic, oa_hf_automatic_class(&m->form), json_string(class));
    oa_json_set(c, config, "architectures", json_pack("[s]", x->class));
    oa_json_set(c, config, "auto_map", automatic);
    oa_json_set(c, config, "model_type", json_string(x->family->type));
    oa_json_set(c, config, "orthant_version", json_string(oa_version()));
    oa_json_set(c, config, "attention", json_string(attention.s ? attention.s : ""));
    oa_json_set(c, config, "causal", json_boolean(m->form.decoder));
    oa_json_set(c, config, "vocab_size", json_integer(m->vocabulary));
    oa_json_set(c, config, "hidden_size", json_integer(o->model_width));
    oa_json_set(c, config, "num_hidden_layers", json_integer(o->model_layers));
    oa_json_set(c, config, "num_attention_heads", json_integer(o->model_heads));
    oa_json_set(c, config, "max_position_embeddings", json_integer(o->model_context));
    oa_json_set(c, config, "tie_word_embeddings", json_false()); /* the model does it itself */
    oa_json_set(c, config, "dtype",
                json_string(m->device->numbers.real == OA_F64 ? "float64" : "float32"));
    oa_json_set(c, config, "use_cache", json_boolean(m->form.decoder));
    oa_json_set(c, config, "bos_token_id", json_null());
    oa_json_set(c, config, "eos_token_id", json_null());
    oa_json_set(c, config, "blocks", blocks_json(c, o));
    if (m->form.output != OA_OUTPUT_TOKENS)
        oa_hf_labels_write(c, &m->form, config);
    set_layers(m, x, config);
    set_tensors(m, config);
    oa_text_free(&attention);
    return config;
}

/* ---- the card ---- */

/* The newest loss on validation data in the log of a run; false: there is none. */
static bool read_validation(oa_context *c, const char *run, long *step, double *loss)
{
    char path[OA_PATH], *text = NULL;
    size_t length;
    bool found = false;
    if (oa_path(c, path, run, "log.jsonl") != OA_OK || !oa_file_exists(path) ||
        oa_file_read(c, path, &text, &length) != OA_OK)
        return false;
    for (char *line = text, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        end += *end != 0;
        json_t *root = json_loadb(line, (size_t)(end - line), 0, NULL);
        const json_t *value = json_object_get(root, "valid_loss");
        if (json_is_number(value)) {
            *loss = json_number_value(value);
            *step = (long)json_integer_value(json_object_get(root, "step"));
            found = true;
        }
        json_decref(root);
    }
    oa_free(text);
    return found;
}

static void add_training(const struct oa_model *m, const char *run, struct oa_text *out)
{
    const struct oa_options *o = &m->options;
    double loss;
    long step;
    oa_text_printf(out, "## Training\n\n");
    if (o->data_train[0])
        oa_text_printf(out, "Trained on `%s`, %ld steps, seed %ld.", o->data_train,
                       (long)o->train_steps, (long)o->train_seed);
    else
        oa_text_printf(out, "The run does not say on what it was trained.");
    if (read_validation(m->context, run, &step, &loss))
        oa_text_printf(out, " Loss on its validation text at step %ld: %.4f nats a token.", step,
                       loss);
    else
        oa_text_printf(out, " No loss on validation data was measured.");
    oa_text_printf(out, "\n\n");
}

/* Whether the group or a component of it has the mechanism. */
static bool card_group_uses(const struct oa_group *g, const struct oa_mechanism *mechanism)
{
    bool uses = g->mechanism == mechanism;
    for (int i = 0; i < g->components; i++)
        uses = uses || card_group_uses(&g->component[i], mechanism);
    return uses;
}

static bool card_stack_uses(const struct oa_stack *s, const struct oa_mechanism *mechanism)
{
    bool uses = false;
    for (long l = 0; l < s->shape.layers; l++) {
        for (int g = 0; g < s->block[l].attention.groups; g++)
            uses = uses || card_group_uses(&s->block[l].attention.group[g], mechanism);
        for (int g = 0; s->shape.cross && g < s->block[l].cross.groups; g++)
            uses = uses || card_group_uses(&s->block[l].cross.group[g], mechanism);
    }
    return uses;
}

static void card_add_mechanisms(const struct oa_model *m, struct oa_text *out)
{
    const struct oa_mechanism *mechanism;
    for (int i = 0; (mechanism = oa_mechanism_at(i)); i++)
        if (card_stack_uses(&m->encoder, mechanism) || card_stack_uses(&m->decoder, mechanism))
            oa_text_printf(out, "- %s: %s. %s\n", mechanism->name, mechanism->title,
                           mechanism->citation);
}

static enum oa_error write_modeling_card(const struct oa_model *m, const char *run, const char *out)
{
    oa_context *c = m->context;
    char path[OA_PATH];
    const char *automatic = oa_hf_automatic_class(&m->form), *name = strrchr(run, '/');
    const struct oa_options *o = &m->options;
    struct oa_text t, attention;
    oa_text_init(&t, c);
    oa_text_init(&attention, c);
    oa_stacks_print(&m->attention, &attention);
    oa_text_printf(&t,
                   "---\nlibrary_name: transformers\ntags: [orthant]\n---\n\n# %s\n\n%s with %ld "
                   "trained and %ld frozen parameters (%ld layers, width %ld, %ld heads, context "
                   "%ld), exported by Orthant %s from `%s`.\n\nIts attention is `%s`:\n\n",
                   name ? name + 1 : run,
                   is_encoder_decoder(m) ? "An encoder-decoder"
                   : m->form.decoder     ? "A language model"
                                         : "An encoder",
                   m->store.trainable, m->store.frozen, o->model_layers, o->model_width,
                   o->model_heads, o->model_context, oa_version(), run, attention.s);
    card_add_mechanisms(m, &t);
    oa_text_printf(&t, "\n");
    add_training(m, run, &t);
    oa_text_printf(&t,
                   "## Use\n\n```python\nfrom transformers import %s, AutoTokenizer\nmodel = "
                   "%s.from_pretrained(\".\", trust_remote_code=True)\ntokenizer = "
                   "AutoTokenizer.from_pretrained(\".\", trust_remote_code=True)\n```\n\n"
                   "`modeling_orthant.py` is plain PyTorch, written as the definitions of the "
                   "attentions and not for speed: rows of at most %ld tokens, padded on the left "
                   "or on the right; without dropout.%s\n\n",
                   automatic, automatic, o->model_context,
                   m->form.decoder ? ""
                                   : " It was trained on rows of [CLS] text [SEP]; check that "
                                     "the tokenizer adds these tokens.");
    oa_text_printf(&t, "## Licence\n\n`modeling_orthant.py` and `configuration_orthant.py`: "
                       "Apache-2.0. The weights have the licence that their owner gives them, "
                       "which may depend on the training data.\n");
    if (oa_path(c, path, out, "README.md") == OA_OK && t.s)
        oa_file_write(c, path, t.s, t.length);
    oa_text_free(&t);
    oa_text_free(&attention);
    return oa_status(c);
}

static enum oa_error write_python(oa_context *c, const char *out, const char *name,
                                  const char *text)
{
    char path[OA_PATH];
    OA_TRY(oa_path(c, path, out, name));
    return oa_file_write(c, path, text, strlen(text));
}

enum oa_error oa_modeling_write(const struct oa_model *m, const struct oa_exported *x,
                                const char *run, const char *out)
{
    oa_context *c = m->context;
    OA_TRY(oa_hf_json_write(c, out, "config.json", modeling_config(m, x)));
    if (m->form.decoder) {
        json_t *generation = json_pack("{s:b, s:b, s:I}", "do_sample", 0, "use_cache", 1,
                                       "max_length", (json_int_t)m->options.model_context);
        if (is_encoder_decoder(m))
            oa_hf_target_ids_write(c, x, generation);
        OA_TRY(oa_hf_json_write(c, out, "generation_config.json", generation));
    }
    char path[OA_PATH];
    OA_TRY(oa_path(c, path, out, OA_EXPORTED_RUN));
    OA_TRY(oa_model_save_config(m, NULL, path));
    OA_TRY(write_python(c, out, "configuration_orthant.py", oa_configuration_orthant_py));
    OA_TRY(write_python(c, out, "modeling_orthant.py", oa_modeling_orthant_py));
    return write_modeling_card(m, run, out);
}
