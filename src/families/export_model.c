/* SPDX-License-Identifier: Apache-2.0
 * A run as the folder of a Hugging Face model, of the first family that has its form: config.json,
 * model.safetensors, tokenizer.json, tokenizer_config.json and a model card. */
#include "attention/mechanism.h"
#include "base/folder_lock.h"
#include "base/json_write.h"
#include "base/safetensors.h"
#include "families/families.h"
#include "families/generation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the form ---- */

static bool is_local(const struct oa_layer_spec *layer)
{
    return strcmp(layer->group[0].atom.mechanism->name, "local") == 0;
}

bool oa_exported_windowed(const struct oa_exported *x, long layer)
{
    return is_local(&x->attention->layer[layer % x->attention->layers]);
}

/* "softmax(kv=2)" or "local(window=64, kv=2)"; false: the layer has another option that matters. */
static bool read_layer(const struct oa_options *o, const struct oa_layer_spec *layer, long *keys,
                       long *window)
{
    const struct oa_atom *a = &layer->group[0].atom;
    bool local = is_local(layer);
    if (layer->groups != 1 || (!local && strcmp(a->mechanism->name, "softmax") != 0))
        return false;
    for (int i = 0; a->mechanism->arguments[i].key; i++) {
        const char *key = a->mechanism->arguments[i].key;
        bool read = strcmp(key, "kv") == 0 || (local && strcmp(key, "window") == 0);
        if (!read && oa_atom_value_matters(a, i))
            return false;
    }
    *keys = oa_atom_int(a, "kv", o->model_heads);
    *window = local ? oa_atom_int(a, "window", 0) : 0;
    return true;
}

/* Layers with and without a window, which share its length and the number of key heads. */
static bool read_attention(struct oa_exported *x)
{
    bool whole = false;
    for (int i = 0; i < x->attention->layers; i++) {
        long keys, window;
        if (!read_layer(x->options, &x->attention->layer[i], &keys, &window))
            return false;
        if (i && (keys != x->keys || (window && x->window && window != x->window)))
            return false;
        x->keys = keys;
        x->window = window ? window : x->window;
        whole = whole || !window;
    }
    x->mixed = whole && x->window;
    return true;
}

/* Encoder-decoders: softmax in all stacks, without relative positions or with those of T5. */
static bool read_attention_of_stacks(struct oa_exported *x, const struct oa_model *m)
{
    const struct oa_group *first = m->encoder.block[0].attention.group;
    char wanted[128] = "softmax", whole[320];
    if (oa_group_relative(first).kind == OA_RELATIVE_T5) {
        x->buckets = oa_group_relative(first).buckets;
        x->distance = oa_group_relative(first).distance;
        snprintf(wanted, sizeof wanted,
                 "softmax(relative=t5, buckets=%ld, distance=%ld, share=layers)", x->buckets,
                 x->distance);
    }
    snprintf(whole, sizeof whole, "encoder: %s & decoder: %s & cross: softmax", wanted, wanted);
    const char *const spellings[] = { wanted, whole };
    bool same = false;
    for (int i = 0; i < 2 && !same; i++) {
        struct oa_stack_specs read;
        same =
            oa_stacks_parse(m->context, spellings[i], oa_form_stacks(&m->form), &read) == OA_OK &&
            oa_stacks_same_function(&read, &m->attention);
        oa_stacks_free(&read);
    }
    return same;
}

/* An option whose value no family has that is exported; NULL: none. decoder, both: a language
 * model, an encoder-decoder; their families have other scales and norms. */
static const char *option_of_no_family(const struct oa_options *o, bool decoder, bool both)
{
    struct oa_options defaults;
    oa_options_default(&defaults);
    return decoder && o->model_norm != OA_NORM_PRE                    ? "model.norm"
           : decoder && o->model_embedding_norm                       ? "model.embedding_norm"
           : decoder && o->model_output_bias                          ? "model.output_bias"
           : !o->model_norm_gain                                      ? "model.norm_gain"
           : o->model_residual_scale != 1                             ? "model.residual_scale"
           : !both && o->model_scale_embedding                        ? "model.scale_embedding"
           : !both && o->model_embedding_scale != 1                   ? "model.embedding_scale"
           : !both && o->model_scale_output                           ? "model.scale_output"
           : o->model_logit_cap > 0                                   ? "model.logit_cap"
           : o->model_output_cap > 0                                  ? "model.output_cap"
           : o->model_rotary_pairing != defaults.model_rotary_pairing ? "model.rotary_pairing"
           : o->model_rotary_scaling != defaults.model_rotary_scaling ? "model.rotary_scaling"
                                                                      : NULL;
}

static enum oa_error find_family(oa_context *c, const struct oa_model *m, struct oa_exported *x)
{
    struct oa_text why;
    const struct oa_model_family *f;
    oa_text_init(&why, c);
    bool both = m->form.encoder && m->form.decoder, encoder = m->form.encoder && !both;
    x->attention = &m->attention.spec[encoder ? OA_STACK_ENCODER : OA_STACK_DECODER];
    const char *option = option_of_no_family(x->options, !m->form.encoder, both);
    if ((!encoder && !both && !oa_is_language_model(&m->form)) || m->form.patch ||
        m->form.output == OA_OUTPUT_STATES)
        oa_fail(c, OA_UNSUPPORTED,
                "language models, encoder-decoders and encoders of texts are exported; this model "
                "is of "
                "architecture %s with output %s%s",
                oa_architecture_name(&m->form), oa_output_name(m->form.output),
                m->form.patch ? ", and reads images" : "");
    else if (both ? !read_attention_of_stacks(x, m) : !read_attention(x))
        oa_text_printf(&why, "transformers has no class for this model.attention");
    else if (option)
        oa_text_printf(&why, "no family that is exported has this %s", option);
    bool excluded = why.length > 0;
    for (int i = 0; !excluded && oa_status(c) == OA_OK && !x->family && (f = oa_family_at(i));
         i++) {
        if (!f->refuses || f->encoder != encoder || f->encoder_decoder != both)
            continue;
        option = f->refuses(x);
        if (!option)
            x->family = f;
        else
            oa_text_printf(&why, "%s%s has not this %s", why.length ? ", " : "", f->type, option);
    }
    if (oa_status(c) == OA_OK && !x->family && oa_check_modeling(m) == OA_OK) {
        x->family = &oa_family_orthant;
        snprintf(x->why, sizeof x->why, "%s", why.s);
    }
    if (x->family)
        x->class = m->form.output != OA_OUTPUT_TOKENS    ? x->family->classifier
                   : encoder && !x->family->encoder      ? "OrthantForMaskedLM"
                   : both && !x->family->encoder_decoder ? "OrthantForConditionalGeneration"
                                                         : x->family->class;
    oa_text_free(&why);
    return oa_status(c);
}

/* ---- tensors ---- */

struct tensor_maker {
    const struct oa_model *model;
    const struct oa_exported *exported;
    const struct oa_family_tensor *row; /* the first one with this name */
    long layer;
    float *values; /* room for the largest tensor */
};

/* Writes the rows of one parameter into the tensor; zeros for a bias that the model lacks. */
static enum oa_error write_part(const struct tensor_maker *t, const struct oa_family_tensor *row)
{
    const struct oa_model *m = t->model;
    struct oa_device *d = m->device;
    char name[OA_TENSOR_NAME];
    struct oa_view v;
    oa_family_layer_name(row->ours, t->layer, name);
    struct oa_parameter *p = oa_store_find(&m->store, name);
    if (!p)
        return OA_OK;
    const void *host =
        oa_view_open(&v, d, p->value, (size_t)p->count * d->numbers.real_size, OA_VIEW_READ);
    long columns = p->dims == 2 ? p->dim[1] : 1, width = oa_head_width(&m->options);
    bool query = t->exported->family->unscaled_logits && strstr(name, "attention.query.");
    double divisor = query ? sqrt((double)width) : 1;
    for (long i = 0; host && i < p->dim[0]; i++)
        for (long j = 0; j < columns; j++)
            t->values[oa_family_place(row, p, width, i, j)] =
                (float)(oa_real_get(d, host, i * columns + j) / divisor);
    oa_view_close(&v);
    return oa_status(m->context);
}

static const void *make_tensor(void *argument, const struct oa_array *a)
{
    struct tensor_maker *t = argument;
    memset(t->values, 0, a->bytes);
    for (const struct oa_family_tensor *r = t->row; r->theirs; r++)
        if (strcmp(r->theirs, t->row->theirs) == 0 && write_part(t, r) != OA_OK)
            return NULL;
    return t->values;
}

/* A vector of the layout FLAT is a row. */
static void add_flat_dimension(const struct oa_family_tensor *row, struct oa_array *out)
{
    if (row->layout != OA_LAYOUT_FLAT || out->dims != 1)
        return;
    out->dims = 2;
    out->dim[1] = out->dim[0];
    out->dim[0] = 1;
}

/* Shape of the tensor of a row of the table; false: the model has no such parameter. */
static bool exported_shape(const struct oa_model *m, const struct oa_family_tensor *row, long layer,
                           struct oa_array *out)
{
    const struct oa_options *o = &m->options;
    char name[OA_TENSOR_NAME];
    oa_family_layer_name(row->ours, layer, name);
    const struct oa_parameter *p = oa_store_find(&m->store, name);
    long parts = row->parts ? row->parts : 1;
    if (p) {
        out->dims = p->dims;
        out->dim[0] = parts * p->dim[0];
        out->dim[1] = p->dims == 2 ? p->dim[1] : 1;
        if (row->layout == OA_LAYOUT_TRANSPOSED) {
            out->dim[1] = out->dim[0];
            out->dim[0] = p->dim[1];
        }
        add_flat_dimension(row, out);
        return true;
    }
    bool segment = strcmp(name, "segment.weight") == 0;
    if (segment || strcmp(name, "output.bias") == 0) {
        out->dims = segment ? 2 : 1;
        out->dim[0] = segment ? 2 : m->vocabulary;
        out->dim[1] = o->model_width;
        add_flat_dimension(row, out);
        return true;
    }
    if (!oa_name_ends(name, ".bias")) /* an output layer that is the embedding */
        return false;
    snprintf(name + strlen(name) - strlen("bias"), sizeof "weight", "weight");
    p = oa_store_find(&m->store, name);
    out->dims = 1;
    out->dim[0] = p ? parts * p->dim[0] : o->model_width;
    return p != NULL;
}

struct tensor_list {
    struct oa_array *array;
    struct tensor_maker *maker;
    char (*name)[OA_TENSOR_NAME];
    int count;
    size_t largest; /* bytes */
};

/* Biases and segments that the model lacks are zeros where the family always has them. */
static void list_tensor(const struct oa_model *m, const struct oa_exported *x,
                        const struct oa_family_tensor *row, long layer, struct tensor_list *l)
{
    struct oa_array *a = &l->array[l->count];
    char ours[OA_TENSOR_NAME];
    oa_family_layer_name(row->ours, layer, ours);
    *a = (struct oa_array){ .type = OA_F32 };
    if (!oa_store_find(&m->store, ours) && !x->family->zero_biases)
        return;
    if (!exported_shape(m, row, layer, a))
        return;
    oa_family_layer_name(row->theirs, layer, l->name[l->count]);
    a->name = l->name[l->count];
    a->bytes = sizeof(float) * (size_t)(a->dim[0] * (a->dims == 2 ? a->dim[1] : 1));
    a->make = make_tensor;
    a->argument = &l->maker[l->count];
    l->maker[l->count++] = (struct tensor_maker){ m, x, row, layer, NULL };
    l->largest = a->bytes > l->largest ? a->bytes : l->largest;
}

static enum oa_error write_tensors(const struct oa_model *m, const struct oa_exported *x,
                                   const char *path)
{
    static const char *const metadata[] = { "format", "pt", NULL };
    oa_context *c = m->context;
    const struct oa_family_tensor *table = oa_family_tensors(x->family, &m->form, &m->options);
    struct tensor_list l = { 0 };
    long rows = 0, layers = oa_max(m->options.model_layers, m->options.model_encoder_layers);
    while (table[rows].theirs)
        rows++;
    size_t most = (size_t)(rows * layers);
    l.array = oa_alloc(c, most * sizeof *l.array);
    l.maker = oa_alloc(c, most * sizeof *l.maker);
    l.name = oa_alloc(c, most * sizeof *l.name);
    for (const struct oa_family_tensor *row = table; oa_status(c) == OA_OK && row->theirs; row++) {
        /* A tensor of several rows is listed at the first of them, a parameter once. */
        bool listed = row->layout == OA_LAYOUT_ZERO || row->layout == OA_LAYOUT_READ;
        for (const struct oa_family_tensor *r = table; r != row; r++)
            listed |= r->layout != OA_LAYOUT_READ &&
                      (strcmp(r->theirs, row->theirs) == 0 || strcmp(r->ours, row->ours) == 0);
        for (long i = 0; !listed && i < (strchr(row->theirs, '#') ? layers : 1); i++)
            list_tensor(m, x, row, i, &l);
    }
    float *values = oa_alloc(c, l.largest + 1);
    for (int i = 0; i < l.count; i++)
        l.maker[i].values = values;
    if (oa_status(c) == OA_OK)
        oa_tensors_write(c, path, l.array, l.count, metadata);
    oa_free(values);
    oa_free(l.array);
    oa_free(l.maker);
    oa_free(l.name);
    return oa_status(c);
}

/* ---- other files ---- */

const char *oa_hf_automatic_class(const struct oa_model_form *f)
{
    return f->encoder && f->decoder        ? "AutoModelForSeq2SeqLM"
           : f->output != OA_OUTPUT_TOKENS ? "AutoModelForSequenceClassification"
           : f->encoder                    ? "AutoModelForMaskedLM"
                                           : "AutoModelForCausalLM";
}

enum oa_error oa_hf_json_write(oa_context *c, const char *out, const char *name, json_t *root)
{
    char path[OA_PATH],
        *text = root ? oa_json_dump(c, root, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;
    if (oa_status(c) == OA_OK && oa_path(c, path, out, name) == OA_OK)
        oa_file_write(c, path, text, strlen(text));
    oa_free(text);
    json_decref(root);
    return oa_status(c);
}

void oa_hf_sizes_write(oa_context *c, const struct oa_options *o, json_t *config)
{
    oa_json_set(c, config, "hidden_size", json_integer(o->model_width));
    oa_json_set(c, config, "num_attention_heads", json_integer(o->model_heads));
    oa_json_set(c, config, "num_hidden_layers", json_integer(o->model_layers));
    oa_json_set(c, config, "intermediate_size", json_integer(oa_ffn_width(o)));
    oa_json_set(c, config, "max_position_embeddings", json_integer(o->model_context));
}

void oa_hf_target_ids_write(oa_context *c, const struct oa_exported *x, json_t *config)
{
    oa_json_set(c, config, "decoder_start_token_id", json_integer(x->begin));
    oa_json_set(c, config, "pad_token_id", json_integer(x->begin));
    oa_json_set(c, config, "eos_token_id", json_integer(x->end));
}

static enum oa_error write_config(oa_context *c, const struct oa_model *m,
                                  const struct oa_exported *x, const char *out)
{
    json_t *config = json_object();
    oa_json_set(c, config, "architectures", json_pack("[s]", x->class));
    oa_json_set(c, config, "model_type", json_string(x->family->type));
    oa_json_set(c, config, "vocab_size", json_integer(m->vocabulary));
    oa_json_set(c, config, "tie_word_embeddings", json_boolean(m->options.model_tie_output));
    oa_json_set(c, config, "torch_dtype", json_string("float32"));
    oa_json_set(c, config, "bos_token_id", json_null()); /* classes have ids of their own */
    oa_json_set(c, config, "eos_token_id", json_null());
    x->family->write(c, x, config);
    return oa_hf_json_write(c, out, "config.json", config);
}

static enum oa_error write_card(const struct oa_model *m, const struct oa_exported *x,
                                const char *run, const char *out)
{
    oa_context *c = m->context;
    char path[OA_PATH];
    struct oa_text text;
    const char *automatic = oa_hf_automatic_class(&m->form);
    oa_text_init(&text, c);
    oa_text_printf(&text,
                   "---\nlibrary_name: transformers\n---\n\n# %s\n\n%s of the family "
                   "%s with %ld parameters (%ld layers, width %ld, %ld heads, context %ld), "
                   "exported by Orthant %s from `%s`.\n\n",
                   strrchr(run, '/') ? strrchr(run, '/') + 1 : run,
                   x->family->encoder_decoder ? "An encoder-decoder"
                   : x->family->encoder       ? "An encoder"
                                              : "A language model",
                   x->family->type, m->store.trainable, m->options.model_layers,
                   m->options.model_width, m->options.model_heads, m->options.model_context,
                   oa_version(), run);
    oa_text_printf(&text,
                   "```python\nfrom transformers import %s, AutoTokenizer\nmodel = "
                   "%s.from_pretrained(\".\")\ntokenizer = "
                   "AutoTokenizer.from_pretrained(\".\")\n```\n",
                   automatic, automatic);
    if (x->family->encoder)
        oa_text_printf(
            &text, "\nIt was trained on rows of [CLS] text [SEP], of pairs [CLS] text [SEP] text "
                   "[SEP]; check that the tokenizer adds these tokens.\n");
    if (oa_path(c, path, out, "README.md") == OA_OK && text.s)
        oa_file_write(c, path, text.s, text.length);
    oa_text_free(&text);
    return oa_status(c);
}

static enum oa_error write_exported(const struct oa_model *m, const struct oa_tokenizer *tok,
                                    const struct oa_exported *x, const char *run, const char *out)
{
    oa_context *c = m->context;
    char path[OA_PATH];
    bool text = oa_tokenizer_kind_of(tok) != OA_TOKENIZER_IDS,
         own = x->family == &oa_family_orthant;
    OA_TRY(own ? oa_modeling_write(m, x, run, out) : write_config(c, m, x, out));
    if (x->family->encoder_decoder)
        OA_TRY(oa_hf_json_write(c, out, "generation_config.json", oa_generation_json(c, x, tok)));
    if (oa_tokenizer_kind_of(tok) == OA_TOKENIZER_MARIAN) {
        OA_TRY(oa_tokenizer_save_marian(c, tok, out));
        OA_TRY(
            oa_hf_json_write(c, out, "tokenizer_config.json",
                             json_pack("{s:s, s:I}", "tokenizer_class", "MarianTokenizer",
                                       "model_max_length", (json_int_t)m->options.model_context)));
    } else if (text) {
        OA_TRY(oa_path(c, path, out, "tokenizer.json"));
        OA_TRY(oa_tokenizer_save(c, tok, path));
        OA_TRY(
            oa_hf_json_write(c, out, "tokenizer_config.json",
                             json_pack("{s:s, s:b, s:I}", "tokenizer_class",
                                       "PreTrainedTokenizerFast", "clean_up_tokenization_spaces", 0,
                                       "model_max_length", (json_int_t)m->options.model_context)));
    }
    OA_TRY(oa_path(c, path, out, "model.safetensors"));
    if (own)
        return oa_model_save(m, tok, path, true);
    OA_TRY(write_card(m, x, run, out));
    return write_tensors(m, x, path);
}

enum oa_error oa_export_model(const struct oa_model *m, const struct oa_tokenizer *tok,
                              const char *run, const char *out, struct oa_exported *x)
{
    static const char *const names[] = { "model.safetensors", "model.safetensors.index.json",
                                         "pytorch_model.bin", "log.jsonl", "contest.json" };
    oa_context *c = m->context;
    char path[OA_PATH];
    struct oa_lock *lock = NULL;
    *x = (struct oa_exported){ .options = &m->options,
                               .form = &m->form,
                               .begin = oa_tokenizer_find(tok, m->options.model_begin_token),
                               .end = oa_tokenizer_find(tok, m->options.model_end_token) };
    OA_TRY(oa_directory_check(c, out));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        OA_TRY(oa_path(c, path, out, names[i]));
        if (oa_file_exists(path))
            return oa_fail(c, OA_ARGUMENT, "%s exists; choose another folder", path);
    }
    OA_TRY(find_family(c, m, x));
    enum oa_error e = oa_folder_lock(c, out, &lock);
    if (e == OA_OK)
        e = write_exported(m, tok, x, run, out);
    oa_folder_unlock(lock);
    return e;
}
