/* SPDX-License-Identifier: Apache-2.0
 * The folder of a Hugging Face model, or a GGUF file, becomes the folder of a run. */
#include "base/folder_lock.h"
#include "base/json_read.h"
#include "families/families.h"
#include "families/generation.h"
#include "families/gguf_model.h"
#include "model/new_run.h"

#include <math.h>
#include <string.h>

static const char remedy[] = "fetch the file again";

/* Where a model comes from. */
struct import_source {
    const char *path;     /* of the folder, or of the file */
    struct oa_gguf *gguf; /* NULL: a folder */
};

/* ---- config.json ---- */

static enum oa_error refuse_family(oa_context *c, const char *path, const char *type)
{
    struct oa_text known;
    const struct oa_model_family *f;
    oa_text_init(&known, c);
    for (int i = 0; (f = oa_family_at(i)); i++)
        oa_text_printf(&known, "%s%s", i ? ", " : "", f->type);
    enum oa_error e = oa_fail(c, OA_UNSUPPORTED,
                              "%s: models of type \"%.60s\" are not supported; "
                              "these are: %s",
                              path, type, known.s);
    oa_text_free(&known);
    return e;
}

static enum oa_error read_family_config(oa_context *c, const char *path, json_t *root,
                                        struct oa_imported *out)
{
    const char *type = json_string_value(json_object_get(root, "model_type"));
    if (!json_is_object(root) || !type)
        return oa_fail(c, OA_FORMAT, "%s has no \"model_type\": it is not of a Hugging Face model",
                       path);
    out->family = oa_family_find(type);
    if (!out->family)
        return refuse_family(c, path, type);
    struct oa_hf_config h = { .context = c,
                              .path = path,
                              .root = root,
                              .options = &out->options,
                              .query_factor = 1,
                              .form = &out->form,
                              .labels = &out->labels };
    if (json_is_object(json_object_get(root, "quantization_config")))
        return oa_fail(c, OA_UNSUPPORTED,
                       "%s: \"quantization_config\": quantised weights are not read; import the "
                       "model that was quantised",
                       path);
    oa_options_default(&out->options);
    out->form = oa_language_model_form(0);
    out->family->read(&h);
    out->query_factor = h.query_factor;
    out->first_position = h.first_position;
    out->begin = h.begin;
    out->end = h.end;
    memcpy(out->absent_biases, h.absent_biases, sizeof out->absent_biases);
    return oa_status(c);
}

static enum oa_error read_family(oa_context *c, const struct import_source *from,
                                 struct oa_imported *out)
{
    char path[OA_PATH];
    json_t *root = NULL;
    enum oa_error e;
    if (from->gguf) {
        snprintf(path, sizeof path, "%s", from->path);
        e = oa_gguf_config(c, from->gguf, &root);
    } else {
        OA_TRY(oa_path(c, path, from->path, "config.json"));
        if (!oa_file_exists(path))
            return oa_fail(c, OA_IO,
                           "%s has no config.json: give the folder of a Hugging Face model, or a "
                           "*.gguf file",
                           from->path);
        e = oa_json_read(c, path, remedy, &root);
    }
    if (e == OA_OK)
        e = read_family_config(c, path, root, out);
    json_decref(root);
    return e;
}

/* ---- tokenizer.json ---- */

static void add_tokenizer_remedy(oa_context *c)
{
    const char *message;
    char why[1024];
    oa_last_error(c, &message);
    snprintf(why, sizeof why, "%s", message);
    oa_clear_error(c);
    oa_fail(c, OA_UNSUPPORTED, "%s; move the file away to import the model with ids instead", why);
}

/* T5's spiece.model lacks its sentinels, "<extra_id_0>" …, of which the last one comes first. */
static enum oa_error add_sentinels(oa_context *c, const char *folder, struct oa_tokenizer *tok)
{
    char path[OA_PATH], name[32];
    json_t *config = NULL;
    OA_TRY(oa_path(c, path, folder, "tokenizer_config.json"));
    if (oa_file_exists(path))
        OA_TRY(oa_json_read(c, path, remedy, &config));
    const json_t *given = json_object_get(config, "extra_ids");
    json_int_t count = given ? json_integer_value(given) : 100;
    bool valid = (!given || json_is_integer(given)) && count >= 0 && count <= 1000;
    json_decref(config);
    if (!valid)
        return oa_fail(c, OA_FORMAT, "%s: \"extra_ids\" must be a number from 0 to 1000", path);
    for (json_int_t i = count - 1; i >= 0; i--) {
        int32_t id;
        snprintf(name, sizeof name, "<extra_id_%d>", (int)i);
        OA_TRY(oa_tokenizer_add_special(tok, name, &id));
    }
    return OA_OK;
}

/* *out stays NULL where there is none. */
static enum oa_error load_tokenizer(oa_context *c, const struct import_source *from,
                                    const struct oa_imported *imported, struct oa_tokenizer **out)
{
    static const char *const names[] = { "tokenizer.json", "tokenizer.model", "spiece.model" };
    char path[OA_PATH], *text;
    if (!from->gguf && oa_marian_files_exist(c, from->path))
        return oa_tokenizer_load_marian(c, from->path, out);
    for (int i = 0; i < 3 && !from->gguf; i++) {
        OA_TRY(oa_path(c, path, from->path, names[i]));
        if (!oa_file_exists(path))
            continue;
        if (oa_tokenizer_load(c, path, out) == OA_UNSUPPORTED)
            add_tokenizer_remedy(c);
        if (oa_status(c) == OA_OK && i > 0 && imported->family == oa_family_find("t5"))
            add_sentinels(c, from->path, *out);
        return oa_status(c);
    }
    if (!from->gguf)
        return OA_OK;
    OA_TRY(oa_gguf_tokenizer(c, from->gguf, &text));
    enum oa_error e = text ? oa_tokenizer_parse(c, from->path, text, strlen(text), out) : OA_OK;
    oa_free(text);
    return e;
}

/* Without a tokenizer the model reads and writes ids. */
static enum oa_error open_family_tokenizer(oa_context *c, const struct import_source *from,
                                           struct oa_imported *i, struct oa_tokenizer **out)
{
    char ids[32];
    long rows = i->options.model_vocabulary;
    OA_TRY(load_tokenizer(c, from, i, out));
    i->tokenizer = *out != NULL;
    if (i->tokenizer)
        oa_tokenizer_note_unapplied(*out, from->path);
    snprintf(ids, sizeof ids, "ids:%ld", rows);
    if (!i->tokenizer)
        OA_TRY(oa_tokenizer_open(c, ids, NULL, NULL, out));
    if (oa_tokenizer_size(*out) <= rows)
        return OA_OK;
    return oa_fail(c, OA_FORMAT,
                   "%s: the tokenizer has %ld tokens, but config.json has a vocabulary of %ld",
                   from->path, (long)oa_tokenizer_size(*out), rows);
}

/* ---- the run ---- */

static enum oa_error read_weights(struct oa_device *d, const struct import_source *from,
                                  const struct oa_tokenizer *tok, struct oa_imported *i,
                                  struct oa_model **m)
{
    oa_context *c = d->context;
    struct oa_weight_files *files = NULL;
    i->form.vocabulary = oa_tokenizer_size(tok);
    enum oa_error e = from->gguf ? oa_weight_files_read_gguf(c, from->gguf, i, &files)
                                 : oa_weight_files_open(c, from->path, i, &files);
    if (e == OA_OK && i->form.output == OA_OUTPUT_STATES && !oa_family_has(files, "head.weight")) {
        i->options.model_head = OA_HEAD_NONE; /* a model without a pooler */
        i->options.model_head_norm = false;
    }
    if (e == OA_OK && i->family->tied_by_tensors)
        i->options.model_tie_output = !oa_family_has_own_output(files);
    if (e == OA_OK)
        e = oa_model_describe(d, &i->options, &i->form, m);
    if (e == OA_OK)
        e = oa_family_check(files, *m);
    if (e == OA_OK) {
        oa_family_mark_given(files, *m);
        e = oa_store_allocate(&(*m)->store, oa_chance_seed(&i->options, OA_CHANCE_INIT), false);
    }
    if (e == OA_OK)
        e = oa_family_copy(files, *m);
    if (e == OA_OK)
        i->parameters = (double)(*m)->store.trainable;
    oa_weight_files_close(files);
    return e;
}

/* Sets the tokens around a target by their names, which are numbers without a tokenizer. */
static enum oa_error name_target_tokens(oa_context *c, const struct oa_tokenizer *tok,
                                        struct oa_imported *i)
{
    const char *begin = oa_tokenizer_piece(tok, (int32_t)i->begin),
               *end = oa_tokenizer_piece(tok, (int32_t)i->end);
    if (!i->form.encoder || !i->form.decoder)
        return OA_OK;
    if (!begin || !end)
        return oa_fail(c, OA_FORMAT,
                       "the tokenizer has no token %ld, with which config.json %s each target",
                       begin ? i->end : i->begin, begin ? "ends" : "begins");
    OA_TRY(oa_options_set(c, &i->options, "model.begin_token", begin));
    return oa_options_set(c, &i->options, "model.end_token", end);
}

static enum oa_error write_imported(const struct oa_model *m, const struct oa_tokenizer *tok,
                                    bool frozen, const char *out)
{
    struct oa_lock *lock = NULL;
    OA_TRY(oa_folder_lock(m->context, out, &lock));
    enum oa_error e = oa_new_run_write(m, tok, NULL, frozen, out);
    oa_folder_unlock(lock);
    return e;
}

static enum oa_error import_from(oa_context *c, const struct import_source *from, const char *out,
                                 const char *precision, struct oa_imported *i)
{
    struct oa_device *d = NULL;
    struct oa_tokenizer *tok = NULL;
    struct oa_model *m = NULL;
    OA_TRY(read_family(c, from, i));
    if (precision)
        OA_TRY(oa_options_set(c, &i->options, "train.precision", precision));
    /* In single precision, weights that are calculated and not copied would be rounded. A factor
     * that is a power of two changes no bit of the fraction. */
    int exponent;
    bool calculated = i->family->unit_norms || frexp(i->query_factor, &exponent) != 0.5;
    enum oa_error e =
        oa_device_open(c, calculated ? OA_PRECISION_F64 : OA_PRECISION_F32, false, &d);
    if (e == OA_OK)
        e = open_family_tokenizer(c, from, i, &tok);
    if (e == OA_OK)
        e = name_target_tokens(c, tok, i);
    if (e == OA_OK && !from->gguf)
        e = oa_generation_read(c, from->path, tok, i);
    if (e == OA_OK)
        e = read_weights(d, from, tok, i, &m);
    if (e == OA_OK)
        e = write_imported(m, tok, false, out);
    oa_model_close(m);
    oa_tokenizer_close(tok);
    oa_device_close(d);
    return e;
}

/* ---- folders with modeling_orthant.py ---- */

/* Whether `export` wrote the folder with a modelling file. */
static bool is_exported_run(oa_context *c, const char *folder)
{
    char path[OA_PATH];
    json_t *root = NULL;
    bool own = oa_path(c, path, folder, "config.json") == OA_OK && oa_file_exists(path) &&
               oa_json_read(c, path, remedy, &root) == OA_OK;
    const char *type = json_string_value(json_object_get(root, "model_type"));
    own = own && type && strcmp(type, oa_family_orthant.type) == 0;
    json_decref(root);
    return own;
}

static enum oa_error import_exported_run(oa_context *c, const char *folder, const char *out,
                                         const char *precision, struct oa_imported *i)
{
    char path[OA_PATH], ids[32];
    struct oa_device *d = NULL;
    struct oa_tokenizer *tok = NULL;
    struct oa_model *m = NULL;
    OA_TRY(oa_path(c, path, folder, OA_EXPORTED_RUN));
    if (!oa_file_exists(path))
        return oa_fail(c, OA_UNSUPPORTED,
                       "%s has no " OA_EXPORTED_RUN ", the configuration of the model: export "
                       "the run again",
                       folder);
    i->family = &oa_family_orthant;
    oa_options_default(&i->options);
    OA_TRY(oa_config_load(c, path, &i->options, &i->form));
    OA_TRY(oa_config_labels(c, path, &i->form, &i->labels));
    if (precision)
        OA_TRY(oa_options_set(c, &i->options, "train.precision", precision));
    OA_TRY(oa_path(c, path, folder, "tokenizer.json"));
    i->tokenizer = oa_file_exists(path);
    snprintf(ids, sizeof ids, "ids:%ld", i->form.vocabulary);
    enum oa_error e = oa_device_open(c, OA_PRECISION_F64, false, &d); /* as export writes weights */
    if (e == OA_OK)
        e = oa_tokenizer_open(c, i->tokenizer ? path : ids, NULL, NULL, &tok);
    if (e == OA_OK)
        e = oa_path(c, path, folder, "model.safetensors");
    if (e == OA_OK)
        e = oa_model_open_saved(d, path, &i->options, &i->form, tok, &m);
    if (e == OA_OK)
        i->parameters = (double)m->store.trainable;
    if (e == OA_OK)
        e = write_imported(m, tok, true, out);
    oa_model_close(m);
    oa_tokenizer_close(tok);
    oa_device_close(d);
    return e;
}

enum oa_error oa_import_model(oa_context *c, const char *source, const char *out,
                              const char *precision, struct oa_imported *imported)
{
    struct import_source from = { .path = source };
    *imported = (struct oa_imported){ 0 };
    OA_TRY(oa_new_run_check(c, out));
    enum oa_error e = oa_name_ends(source, ".gguf") ? oa_gguf_open(c, source, &from.gguf) : OA_OK;
    bool exported = e == OA_OK && !from.gguf && is_exported_run(c, source);
    if (exported)
        e = import_exported_run(c, source, out, precision, imported);
    else if (oa_status(c) == OA_OK)
        e = import_from(c, &from, out, precision, imported);
    else
        e = oa_status(c);
    oa_gguf_close(from.gguf);
    oa_labels_free(&imported->labels);
    imported->form.labels = NULL;
    return e;
}
