/* SPDX-License-Identifier: Apache-2.0
 * The layer that the parameters of an `orthant attend` file describe: widths and table lengths come
 * from its tensors, missing parameters are initialised from the seed as in training, and unknown
 * tensors are errors. */
#include "attend/attend.h"

#include <math.h>
#include <string.h>

/* ---- shapes from stored tensors ---- */

struct stored_group {
    const struct oa_tensors *file;
    const char *prefix;
};

static long stored_axis(const void *argument, const char *name, int axis)
{
    const struct stored_group *s = argument;
    char full[200];
    snprintf(full, sizeof full, "%s%s", s->prefix, name);
    const struct oa_array *t = oa_tensors_find(s->file, full);
    int i = t ? (axis < 0 ? t->dims + axis : axis) : -1;
    return t && i >= 0 && i < t->dims ? t->dim[i] : 0;
}

/* Width of a head by the rows of a tensor, if there is one and they divide. */
static long stored_head_width(const struct stored_group *s, const char *name, long heads,
                              long fallback)
{
    long rows = stored_axis(s, name, 0);
    return rows > 0 && rows % heads == 0 ? rows / heads : fallback;
}

static void refine_group(void *argument, struct oa_group *g)
{
    const struct oa_attend_run *a = argument;
    struct stored_group s = { .file = a->file, .prefix = g->prefix };
    long heads = g->shape.heads, diagonal = stored_axis(&s, "query.diagonal", -1);
    bool statistics =
        stored_axis(&s, "features.mean", 0) > 0 && stored_axis(&s, "features.square", 0) > 0;
    g->statistics = statistics ? OA_STATISTICS_STORED : OA_STATISTICS_ABSENT;
    g->stored_weights =
        stored_axis(&s, "query.weight", 0) > 0 || stored_axis(&s, "key.weight", 0) > 0;
    long width = diagonal > 0 ? diagonal : g->shape.head_width;
    width = stored_head_width(&s, "key.weight", g->key_heads, width);
    g->shape.head_width = stored_head_width(&s, "query.weight", heads, width);
    if (!g->no_value || g->mechanism->can & OA_OWN_VALUES) {
        long output = a->single.spec.layer[0].groups == 1
                          ? stored_axis(&(struct stored_group){ a->file, "" }, "output.weight", -1)
                          : 0;
        g->shape.value_width = stored_head_width(
            &s, "value.weight", g->key_heads,
            output > 0 && output % heads == 0 ? output / heads : g->shape.value_width);
    }
    long N = g->mechanism->length ? g->mechanism->length(g->atom, stored_axis, &s) : 0;
    if (N > 0)
        g->shape.length = g->shape.memory_length = N;
    if (N > 0 && g->mechanism->memory_length)
        g->shape.memory_length = g->mechanism->memory_length(g->atom, stored_axis, &s);
}

/* ---- names ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool is_projection_bias(const char *name)
{
    return ends_with(name, "query.bias") || ends_with(name, "key.bias") ||
           ends_with(name, "value.bias") || ends_with(name, "output.bias") ||
           ends_with(name, "gate.bias") || ends_with(name, "beta.bias");
}

static bool file_has_biases(const struct oa_attend_run *a)
{
    for (int i = 0; i < oa_tensors_count(a->file); i++) {
        const char *name = oa_tensors_at(a->file, i)->name;
        if (is_projection_bias(name) && strncmp(name, "expect.", 7) != 0)
            return true;
    }
    return false;
}

bool oa_attend_has_parameter(const struct oa_attend_run *a, const struct oa_parameter *p)
{
    return !is_projection_bias(p->name) || oa_tensors_find(a->file, p->name);
}

static bool is_known_tensor(const struct oa_attend_run *a, const struct oa_array *t)
{
    if (strncmp(t->name, "expect.", 7) == 0 || oa_store_find(&a->single.store, t->name))
        return true;
    if (strcmp(t->name, "word_ids") != 0)
        return oa_attend_is_input(t->name);
    for (int g = 0; g < a->single.layer.groups; g++) {
        if (a->single.layer.group[g].needs_words)
            return true;
    }
    return false;
}

static enum oa_error reject_unknown_tensor(const struct oa_attend_run *a, const struct oa_array *t)
{
    const char *names[64];
    int count = 0;
    struct oa_text list;
    oa_text_init(&list, a->context);
    for (int i = 0; i < a->single.store.count && count < 64; i++) {
        names[count] = a->single.store.parameter[i]->name;
        oa_text_printf(&list, "%s%s", count++ ? ", " : "", a->single.store.parameter[i]->name);
    }
    const char *nearest = oa_nearest(t->name, names, count);
    enum oa_error e =
        oa_fail(a->context, OA_ARGUMENT,
                "%s: unknown tensor %s for \"%s\"%s%s%s. Expected x, optionally memory, dy, "
                "lengths%s, and the parameters %s",
                a->options->in, t->name, a->options->spec, nearest ? "; did you mean " : "",
                nearest ? nearest : "", nearest ? "?" : "", a->words ? "" : ", word_ids", list.s);
    oa_text_free(&list);
    return e;
}

/* ---- values ---- */

static enum oa_error check_stored_parameter(const struct oa_attend_run *a,
                                            const struct oa_parameter *p, const struct oa_array *t)
{
    char found[120], wanted[120];
    oa_attend_print_sizes(t->dims, t->dim, found, sizeof found);
    oa_attend_print_sizes(p->dims, p->dim, wanted, sizeof wanted);
    if (strcmp(found, wanted) != 0)
        return oa_fail(a->context, OA_SHAPE,
                       "%s: tensor %s is [%s]; expected [%s] for %ld heads and width %ld",
                       a->options->in, p->name, found, wanted, a->heads, a->width);
    if (p->bits && t->type != OA_I32 && t->type != OA_I64)
        return oa_fail(a->context, OA_SHAPE, "%s: tensor %s is of type %s; expected I32",
                       a->options->in, p->name, oa_type_name(t->type));
    if (!p->bits && t->type != OA_F32 && t->type != OA_F64 && t->type != OA_BF16)
        return oa_fail(a->context, OA_SHAPE,
                       "%s: tensor %s is of type %s; expected F32, F64 or BF16", a->options->in,
                       p->name, oa_type_name(t->type));
    return OA_OK;
}

static enum oa_error copy_parameter_values(const struct oa_attend_run *a,
                                           const struct oa_parameter *p, const struct oa_array *t,
                                           void *out)
{
    for (long i = 0; i < p->count; i++) {
        double value = oa_array_value(t, (size_t)i);
        if (!isfinite(value))
            return oa_fail(a->context, OA_DIVERGED, "%s: element %ld of %s is not finite",
                           a->options->in, i, p->name);
        if (p->bits && value != 0 && value != 1)
            return oa_fail(a->context, OA_FORMAT, "%s: element %ld of %s is %s; expected 0 or 1",
                           a->options->in, i, p->name, oa_real_text(value).s);
        oa_real_set(a->single.device, out, i, value);
    }
    return OA_OK;
}

static enum oa_error load_attend_parameter(const struct oa_attend_run *a, struct oa_parameter *p)
{
    const struct oa_array *t = oa_tensors_find(a->file, p->name);
    struct oa_view v;
    if (!t)
        return OA_OK;
    void *host =
        oa_view_open(&v, a->single.device, p->value,
                     (size_t)p->count * a->single.device->numbers.real_size, OA_VIEW_WRITE);
    enum oa_error e = host ? copy_parameter_values(a, p, t, host) : oa_status(a->context);
    oa_view_close(&v);
    return e;
}

/* Parameters in the file are not initialised, nor is a layout file opened for them. */
static enum oa_error fill_attend_store(struct oa_attend_run *a)
{
    for (int i = 0; i < a->single.store.count; i++) {
        if (oa_tensors_find(a->file, a->single.store.parameter[i]->name))
            a->single.store.parameter[i]->init = OA_INIT_ZERO;
    }
    OA_TRY(oa_store_allocate(&a->single.store, a->options->seed, a->dy != NULL));
    for (int i = 0; i < a->single.store.count; i++)
        OA_TRY(load_attend_parameter(a, a->single.store.parameter[i]));
    oa_store_refresh_all(&a->single.store);
    return oa_status(a->context);
}

enum oa_error oa_attend_open_layer(struct oa_attend_run *a)
{
    struct oa_layer_shape shape =
        oa_equal_heads_shape(a->width, a->heads, oa_max(a->queries, a->keys));
    shape.causal = a->options->causal;
    shape.cross = a->memory != NULL;
    shape.bias = file_has_biases(a);
    OA_TRY(oa_layer_open_refined(a->context, &a->single.spec, 0, &shape, &a->single.store, "",
                                 refine_group, a, &a->single.layer));
    for (int i = 0; i < oa_tensors_count(a->file); i++)
        if (!is_known_tensor(a, oa_tensors_at(a->file, i)))
            return reject_unknown_tensor(a, oa_tensors_at(a->file, i));
    /* before anything is allocated, since the file decides the sizes */
    for (int i = 0; i < a->single.store.count; i++) {
        const struct oa_array *t = oa_tensors_find(a->file, a->single.store.parameter[i]->name);
        if (t)
            OA_TRY(check_stored_parameter(a, a->single.store.parameter[i], t));
    }
    return fill_attend_store(a);
}
