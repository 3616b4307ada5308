/* SPDX-License-Identifier: Apache-2.0
 * model.safetensors. Frozen tensors are saved too, so that the file is self-contained; a projection
 * stored as fast transforms is saved as its matrix. On loading, all values are taken from the file,
 * except those matrices, which must match the ones generated from the seed. */
#include "base/json_write.h"
#include "base/safetensors.h"
#include "model/model_identity.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

enum { NAME = 160 };

/* "…query.transform" is saved as "…query.weight". */
static void stored_name(const struct oa_parameter *p, char out[NAME])
{
    snprintf(out, NAME, "%s", p->name);
    if (p->expand)
        snprintf(strrchr(out, '.'), sizeof ".weight", ".weight");
}

static int stored_dims(const struct oa_parameter *p)
{
    return p->expand ? 2 : p->dims;
}

static const long *stored_dim(const struct oa_parameter *p)
{
    return p->expand ? p->expanded : p->dim;
}

/* ---- saving ---- */

/* Tensors to be saved, and memory allocated for some of them. */
struct model_saving {
    const struct oa_model *m;
    struct oa_array *array;
    char (*name)[NAME];
    void **made;
    struct oa_view *view;
    int count;
};

/* Parameters of bits are saved as integers. */
static enum oa_error save_add_integers(struct model_saving *s, const struct oa_parameter *p,
                                       struct oa_array *a)
{
    int32_t *out = s->made[s->count] = oa_alloc(s->m->context, (size_t)p->count * sizeof *out);
    for (long i = 0; out && i < p->count; i++)
        out[i] = (int32_t)oa_array_value(a, (size_t)i);
    a->type = OA_I32;
    a->bytes = (size_t)p->count * sizeof *out;
    a->data = out;
    return out ? OA_OK : OA_NO_MEMORY;
}

static enum oa_error save_add_matrix(struct model_saving *s, const struct oa_parameter *p,
                                     struct oa_array *a)
{
    const struct oa_model *m = s->m;
    long count = p->expanded[0] * p->expanded[1];
    double *exact = oa_alloc(m->context, (size_t)count * sizeof *exact);
    void *out = s->made[s->count] =
        oa_alloc(m->context, (size_t)count * m->device->numbers.real_size);
    if (exact && out && p->expand(m->context, p, p->seed, exact) == OA_OK)
        for (long i = 0; i < count; i++)
            oa_real_set(m->device, out, i, exact[i]);
    oa_free(exact);
    a->bytes = (size_t)count * m->device->numbers.real_size;
    a->data = out;
    return oa_status(m->context);
}

static enum oa_error save_add_tensor(struct model_saving *s, const struct oa_parameter *p)
{
    enum oa_type type = s->m->device->numbers.real;
    size_t bytes = (size_t)p->count * oa_type_size(type);
    struct oa_array *a = &s->array[s->count];
    stored_name(p, s->name[s->count]);
    *a = (struct oa_array){ .name = s->name[s->count],
                            .type = type,
                            .dims = stored_dims(p),
                            .data = oa_view_open(&s->view[s->count], s->m->device, p->value, bytes,
                                                 OA_VIEW_READ),
                            .bytes = bytes };
    OA_TRY(oa_status(s->m->context));
    memcpy(a->dim, stored_dim(p), (size_t)a->dims * sizeof *a->dim);
    if (p->expand)
        OA_TRY(save_add_matrix(s, p, a));
    if (p->bits)
        OA_TRY(save_add_integers(s, p, a));
    if (p->adapter.in) {
        void *sum = s->made[s->count] = oa_alloc(s->m->context, a->bytes);
        OA_TRY(sum ? oa_model_merge_adapter(s->m, p, sum) : OA_NO_MEMORY);
        a->data = sum;
    }
    s->count++;
    return OA_OK;
}

/* JSON {name: seed} of transforms from a pretrained model's seed (transfer.h); NULL: none. */
static char *save_other_seeds(const struct oa_model *m)
{
    json_t *seeds = json_object();
    for (int i = 0; i < m->store.count; i++) {
        const struct oa_parameter *p = m->store.parameter[i];
        if (p->expand && p->seed != m->store.seed)
            oa_json_set(m->context, seeds, p->name, json_integer((json_int_t)p->seed));
    }
    char *text = json_object_size(seeds) ? oa_json_dump(m->context, seeds, JSON_COMPACT) : NULL;
    json_decref(seeds);
    return text;
}

static enum oa_error save_write(const struct model_saving *s, const struct oa_tokenizer *tokenizer,
                                const char *path)
{
    const struct oa_model *m = s->m;
    struct oa_text spec;
    struct oa_digest tokens;
    char trainable[32], hidden[32],
        *identity = oa_model_identity(m->context, &m->options, &m->form),
        *drawn = save_other_seeds(m);
    oa_text_init(&spec, m->context);
    oa_stacks_print(&m->attention, &spec);
    snprintf(trainable, sizeof trainable, "%ld", m->store.trainable);
    snprintf(hidden, sizeof hidden, "%ld", m->store.frozen);
    enum oa_error e = oa_status(m->context);
    if (e == OA_OK)
        e = oa_tokenizer_digest(m->context, tokenizer, &tokens);
    if (e == OA_OK) {
        const char *metadata[] = { "format",
                                   "pt",
                                   "orthant",
                                   oa_version(),
                                   "attention",
                                   spec.s,
                                   "trainable",
                                   trainable,
                                   "frozen",
                                   hidden,
                                   OA_MODEL_IDENTITY,
                                   identity,
                                   OA_MODEL_TOKENIZER,
                                   tokens.hex,
                                   drawn ? OA_MODEL_DRAWN : NULL,
                                   drawn,
                                   NULL };
        e = oa_tensors_write_checksummed(m->context, path, s->array, s->count, metadata);
    }
    oa_free(identity);
    oa_free(drawn);
    oa_text_free(&spec);
    return e;
}

enum oa_error oa_model_save(const struct oa_model *m, const struct oa_tokenizer *tokenizer,
                            const char *path, bool frozen)
{
    size_t most = (size_t)m->store.count;
    struct model_saving s = { .m = m,
                              .array = oa_alloc(m->context, most * sizeof *s.array),
                              .name = oa_alloc(m->context, most * sizeof *s.name),
                              .made = oa_alloc(m->context, most * sizeof *s.made),
                              .view = oa_alloc(m->context, most * sizeof *s.view) };
    enum oa_error e = oa_status(m->context);
    for (int i = 0; e == OA_OK && i < m->store.count; i++) {
        const struct oa_parameter *p = m->store.parameter[i];
        bool saved = p->trainable || frozen || p->stored || p->moving || m->options.train_init[0];
        if (saved && !p->merged)
            e = save_add_tensor(&s, p);
    }
    if (e == OA_OK)
        e = save_write(&s, tokenizer, path);
    for (size_t i = 0; s.made && i < most; i++)
        oa_free(s.made[i]);
    for (size_t i = 0; s.view && i < most; i++)
        oa_view_close(&s.view[i]);
    oa_free(s.array);
    oa_free(s.name);
    oa_free(s.made);
    oa_free(s.view);
    return e;
}

/* ---- opening ---- */

static bool stored_fits(const struct oa_array *a, const struct oa_parameter *p)
{
    const long *dim = stored_dim(p);
    if (a->dims != stored_dims(p))
        return false;
    for (int i = 0; i < a->dims; i++)
        if (a->dim[i] != dim[i])
            return false;
    if (p->bits)
        return a->type == OA_I32 || a->type == OA_I64;
    return a->type == OA_F32 || a->type == OA_F64 || a->type == OA_BF16;
}

static const struct oa_array *stored_array(const struct oa_tensors *f, const struct oa_parameter *p)
{
    char name[NAME];
    stored_name(p, name);
    return oa_tensors_find(f, name);
}

static enum oa_error stored_check_shape(const struct oa_model *m, const char *path,
                                        const struct oa_array *a, const struct oa_parameter *p)
{
    if (!a && (p->trainable || p->moving || p->source)) /* source: of a file in config.json */
        return oa_fail(m->context, OA_FORMAT, "%s: tensor %s is missing", path, p->name);
    if (a && !stored_fits(a, p))
        return oa_fail(m->context, OA_SHAPE,
                       "%s: tensor %s has type %s and %d dimensions (first %ld); the model needs "
                       "%d dimensions (first %ld): was it trained with other model.* options?",
                       path, a->name, oa_type_name(a->type), a->dims, a->dims ? a->dim[0] : 1,
                       stored_dims(p), stored_dim(p)[0]);
    return OA_OK;
}

static enum oa_error stored_check_shapes(const struct oa_model *m, const char *path,
                                         const struct oa_tensors *f)
{
    for (int i = 0; i < m->store.count; i++)
        OA_TRY(stored_check_shape(m, path, stored_array(f, m->store.parameter[i]),
                                  m->store.parameter[i]));
    for (int i = 0; i < oa_tensors_count(f); i++) {
        const char *tensor = oa_tensors_at(f, i)->name;
        char name[NAME];
        bool known = false;
        for (int k = 0; k < m->store.count && !known; k++) {
            stored_name(m->store.parameter[k], name);
            known = strcmp(name, tensor) == 0;
        }
        if (!known)
            return oa_fail(m->context, OA_FORMAT, "%s: tensor %s is not part of this model", path,
                           tensor);
    }
    return OA_OK;
}

/* The tolerance covers rounding and other math libraries; another seed differs far more. */
static enum oa_error stored_compare_matrix(const struct oa_model *m, const char *path,
                                           const struct oa_array *a, const struct oa_parameter *p)
{
    long count = p->expanded[0] * p->expanded[1];
    double *made = oa_alloc(m->context, (size_t)count * sizeof *made), largest = 0, difference = 0;
    enum oa_error e = made ? p->expand(m->context, p, p->seed, made) : OA_NO_MEMORY;
    for (long i = 0; e == OA_OK && i < count; i++) {
        largest = fmax(largest, fabs(made[i]));
        difference = fmax(difference, fabs(made[i] - oa_array_value(a, (size_t)i)));
    }
    oa_free(made);
    if (e == OA_OK && !(difference <= (a->type == OA_BF16 ? 1e-2 : 1e-5) * largest))
        e = oa_fail(
            m->context, OA_FORMAT,
            "%s: tensor %s differs from the matrix of seed %llu by %g: was train.seed changed?",
            path, a->name, (unsigned long long)p->seed, difference);
    return e;
}

static enum oa_error load_parameter(const struct oa_model *m, const char *path,
                                    const struct oa_array *a, struct oa_parameter *p)
{
    if (p->expand)
        return stored_compare_matrix(m, path, a, p);
    struct oa_view v;
    void *host = oa_view_open(&v, m->device, p->value,
                              (size_t)p->count * m->device->numbers.real_size, OA_VIEW_WRITE);
    bool same = a->type == m->device->numbers.real;
    if (host && same)
        memcpy(host, a->data, a->bytes);
    for (long i = 0; host && !same && i < p->count; i++)
        oa_real_set(m->device, host, i, oa_array_value(a, (size_t)i));
    oa_view_close(&v);
    return oa_status(m->context);
}

static enum oa_error load_other_seeds(struct oa_model *m, const struct oa_tensors *f)
{
    const char *text = oa_tensors_metadata(f, OA_MODEL_DRAWN);
    json_t *seeds = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    enum oa_error e = OA_OK;
    for (int i = 0; e == OA_OK && i < m->store.count; i++) {
        struct oa_parameter *p = m->store.parameter[i];
        json_t *seed = json_object_get(seeds, p->name);
        if (p->expand && json_is_integer(seed))
            e = oa_store_draw_from(&m->store, p, (uint64_t)json_integer_value(seed));
    }
    json_decref(seeds);
    return e;
}

static enum oa_error load_values(struct oa_model *m, const char *path, const struct oa_tensors *f)
{
    /* Parameters in the file need no initialisation; redrawn ones allocate their scratch by it. */
    for (int i = 0; i < m->store.count; i++) {
        struct oa_parameter *p = m->store.parameter[i];
        p->given = stored_array(f, p) && !p->expand && !p->redrawn;
    }
    OA_TRY(oa_store_allocate(&m->store, oa_chance_seed(&m->options, OA_CHANCE_INIT), false));
    OA_TRY(load_other_seeds(m, f));
    for (int i = 0; i < m->store.count; i++) {
        const struct oa_array *a = stored_array(f, m->store.parameter[i]);
        if (a)
            OA_TRY(load_parameter(m, path, a, m->store.parameter[i]));
    }
    oa_store_refresh_all(&m->store);
    return OA_OK;
}

static enum oa_error model_check_metadata(oa_context *c, const char *path,
                                          const struct oa_tensors *f, const struct oa_options *o,
                                          const struct oa_model_form *form,
                                          const struct oa_tokenizer *tokenizer)
{
    struct oa_digest tokens;
    const char *identity = oa_tensors_metadata(f, OA_MODEL_IDENTITY),
               *trained = oa_tensors_metadata(f, OA_MODEL_TOKENIZER);
    if (identity)
        OA_TRY(oa_model_check_identity(c, path, identity, o, form));
    if (!trained)
        return OA_OK;
    OA_TRY(oa_tokenizer_digest(c, tokenizer, &tokens));
    if (strcmp(trained, tokens.hex) != 0)
        return oa_fail(c, OA_FORMAT,
                       "%s: the model was trained with another tokenizer; tokenizer.json was "
                       "altered or belongs to another run",
                       path);
    return OA_OK;
}

enum oa_error oa_model_open_saved(struct oa_device *d, const char *path, const struct oa_options *o,
                                  const struct oa_model_form *form,
                                  const struct oa_tokenizer *tokenizer, struct oa_model **out)
{
    struct oa_tensors *f;
    *out = NULL;
    OA_TRY(oa_tensors_open(d->context, path, &f));
    enum oa_error e = model_check_metadata(d->context, path, f, o, form, tokenizer);
    if (e == OA_OK)
        e = oa_model_describe(d, o, form, out);
    if (e == OA_OK) /* before memory is allocated by the numbers of config.json */
        e = stored_check_shapes(*out, path, f);
    if (e == OA_OK)
        e = load_values(*out, path, f);
    if (e != OA_OK) {
        oa_model_close(*out);
        *out = NULL;
    }
    oa_tensors_close(f);
    return e;
}
