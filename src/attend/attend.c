/* SPDX-License-Identifier: Apache-2.0
 * One attention layer on tensors of a safetensors file (orthant attend --help): forward or token by
 * token, backward if the file has dy, and the attention map on request. Serves to compare this
 * library with any other, tensor by tensor. */
#include "attend/attend.h"

#include <math.h>
#include <string.h>

/* ---- input and results ---- */

static double *read_doubles(struct oa_attend_run *a, const struct oa_array *t, long first,
                            long count)
{
    double *out = oa_arena_take(&a->arena, (size_t)count * sizeof *out);
    for (long i = 0; out && i < count; i++)
        out[i] = oa_array_value(t, (size_t)(first + i));
    return out;
}

/* The array as acts in the arena of the tape. */
static void *read_acts(struct oa_attend_run *a, const struct oa_array *t, long count)
{
    void *act = oa_tape_take(&a->single.tape, (size_t)count * a->single.device->numbers.act_size);
    size_t mark = oa_arena_mark(&a->arena);
    const double *values = act ? read_doubles(a, t, 0, count) : NULL;
    if (values)
        oa_acts_write(a->single.device, count, values, act);
    oa_arena_release(&a->arena, mark);
    return values ? act : NULL;
}

/* The tensors to write, F32 or F64. */
struct attend_results {
    struct oa_attend_run *a;
    struct oa_array *array;
    int count, capacity;
    enum oa_type type;
};

static struct oa_array *add_result(struct attend_results *r, const char *name, int dims,
                                   const long *dim)
{
    if (r->count == r->capacity) {
        int capacity = r->capacity ? 2 * r->capacity : 16;
        void *grown = oa_grow(r->a->context, r->array, (size_t)r->capacity * sizeof *r->array,
                              (size_t)capacity * sizeof *r->array);
        if (!grown)
            return NULL;
        r->array = grown;
        r->capacity = capacity;
    }
    struct oa_array *out = &r->array[r->count++];
    size_t bytes = oa_type_size(r->type);
    for (int i = 0; i < dims; i++)
        bytes *= (size_t)dim[i];
    *out = (struct oa_array){
        .name = oa_copy_text(r->a->context, name), .type = r->type, .dims = dims, .bytes = bytes
    };
    memcpy(out->dim, dim, (size_t)dims * sizeof *dim);
    out->data = oa_alloc(r->a->context, bytes);
    return out->name && out->data ? out : NULL;
}

/* Adds acts or, with `real`, reals; NULL = zeros. */
static void add_tensor_result(struct attend_results *r, const char *name, int dims, const long *dim,
                              const void *values, bool real)
{
    struct oa_device *d = r->a->single.device;
    const struct oa_array *out = add_result(r, name, dims, dim);
    if (!out || !values)
        return;
    void *host = (void *)(uintptr_t)out->data;
    if (real)
        d->ops->download(d, out->bytes, values, host);
    else
        oa_acts_download(d, (long)(out->bytes / oa_type_size(out->type)), values, host);
}

/* ---- token by token ---- */

/* A view of `count` rows of a tensor; NULL without one. */
static oa_tensor *view_rows(oa_tape *t, const oa_tensor *x, long first, long count)
{
    return x ? oa_tensor_from(t, oa_act_at(t->device, x->data, first * x->ld), count, x->cols,
                              x->ld, false)
             : NULL;
}

/* Output of one token into its row of y. The tape is reset. */
static enum oa_error attend_one_token(const struct oa_attend_run *a,
                                      const struct oa_layer_input *whole, oa_tape *t,
                                      struct oa_state *state, long b, long token, void *y)
{
    struct oa_device *d = a->single.device;
    long row = b * a->queries + token;
    oa_tape_reset(t, false, false, (struct oa_stream){ 0 });
    struct oa_layer_input in = { .x = view_rows(t, whole->x, row, 1),
                                 .memory = view_rows(t, whole->memory, b * a->keys, a->keys),
                                 .batch = 1,
                                 .queries = 1,
                                 .keys = a->keys,
                                 .lengths = a->memory && a->lengths ? a->lengths + b : NULL,
                                 .state = state };
    const oa_tensor *out = oa_layer_forward(t, &a->single.layer, &in);
    OA_TRY(oa_status(a->context));
    d->ops->copy(d, (size_t)a->width * d->numbers.act_size, out->data,
                 oa_act_at(d, y, row * a->width));
    return OA_OK;
}

/* --steps: y, act [B·n, D] in the arena of the tape, by the decoding path, each sequence alone and
 * token by token. `whole` has the tensors of all sequences. */
static enum oa_error attend_by_steps(struct oa_attend_run *a, const struct oa_layer_input *whole,
                                     void **y)
{
    struct oa_device *d = a->single.device;
    struct oa_state *state = NULL;
    oa_tape tape; /* of one token */
    size_t bytes = (size_t)(a->batch * a->queries * a->width) * d->numbers.act_size;
    *y = oa_tape_take(&a->single.tape, bytes);
    if (!*y)
        return OA_NO_MEMORY;
    d->ops->fill(d, bytes, 0, *y); /* rows of padding */
    oa_tape_init(&tape, d);
    enum oa_error e = oa_layer_state_open(&a->single.layer, a->queries, &state);
    for (long b = 0; e == OA_OK && b < a->batch; b++) {
        oa_layer_state_reset(&a->single.layer, state);
        for (long token = 0; e == OA_OK && token < oa_attend_query_length(a, b); token++)
            e = attend_one_token(a, whole, &tape, state, b, token, *y);
    }
    oa_layer_state_close(&a->single.layer, state);
    oa_tape_free(&tape);
    return e;
}

/* ---- forward and backward ---- */

static void add_gradient_results(struct attend_results *r, const oa_tensor *x,
                                 const oa_tensor *memory)
{
    struct oa_attend_run *a = r->a;
    char name[200];
    add_tensor_result(r, "grad.x", 3, (const long[]){ a->batch, a->queries, a->width }, x->gradient,
                      false);
    if (memory)
        add_tensor_result(r, "grad.memory", 3, (const long[]){ a->batch, a->keys, a->width },
                          memory->gradient, false);
    for (int i = 0; i < a->single.store.count; i++) {
        const struct oa_parameter *p = a->single.store.parameter[i];
        if (!p->trainable || !oa_attend_has_parameter(a, p))
            continue;
        snprintf(name, sizeof name, "grad.%s", p->name);
        add_tensor_result(r, name, p->dims, p->dim, p->gradient, true);
    }
}

static enum oa_error run_attend_passes(struct oa_attend_run *a, struct attend_results *r)
{
    oa_tape *t = &a->single.tape;
    long rows = a->batch * a->queries, memory_rows = a->batch * a->keys, D = a->width;
    oa_tape_reset(t, a->dy != NULL, false, oa_stream_named(a->options->seed, "attend"));
    void *x = read_acts(a, a->x, rows * D),
         *m = a->memory ? read_acts(a, a->memory, memory_rows * D) : NULL;
    OA_TRY(oa_status(a->context));
    struct oa_layer_input in = { .x = oa_tensor_from(t, x, rows, D, D, true),
                                 .memory = m ? oa_tensor_from(t, m, memory_rows, D, D, true) : NULL,
                                 .batch = a->batch,
                                 .queries = a->queries,
                                 .keys = a->keys,
                                 .lengths = a->lengths,
                                 .words = a->words };
    void *stepped = NULL;
    if (a->options->steps)
        OA_TRY(attend_by_steps(a, &in, &stepped));
    oa_tensor *y = stepped && !a->dy ? NULL : oa_layer_forward(t, &a->single.layer, &in);
    OA_TRY(oa_status(a->context));
    add_tensor_result(r, "y", 3, (const long[]){ a->batch, a->queries, D },
                      stepped ? stepped : y->data, false);
    if (!a->dy)
        return oa_status(a->context);
    y->gradient = read_acts(a, a->dy, rows * D);
    oa_tape_backward(t);
    OA_TRY(oa_status(a->context));
    add_gradient_results(r, in.x, in.memory);
    return oa_status(a->context);
}

/* ---- the attention map, by the oracles ---- */

static enum oa_error add_weight_result(struct oa_attend_run *a, struct attend_results *r)
{
    long n = a->queries, m = a->keys, D = a->width, each = a->heads * n * m;
    const struct oa_group *without = oa_layer_without_map(&a->single.layer);
    if (without)
        return oa_fail(a->context, OA_UNSUPPORTED, "--weights: %s has no attention map",
                       without->mechanism->name);
    struct oa_array *out = add_result(r, "weights", 4, (const long[]){ a->batch, a->heads, n, m });
    double *map = oa_arena_take(&a->arena, (size_t)each * sizeof *map);
    for (long b = 0; out && map && b < a->batch; b++) {
        size_t mark = oa_arena_mark(&a->arena);
        struct oa_oracle in = { .x = read_doubles(a, a->x, b * n * D, n * D),
                                .memory =
                                    a->memory ? read_doubles(a, a->memory, b * m * D, m * D) : NULL,
                                .queries = n,
                                .keys = m,
                                .length = oa_attend_key_length(a, b),
                                .words = a->words ? a->words + b * n : NULL };
        OA_TRY(oa_status(a->context));
        OA_TRY(oa_layer_weights(&a->single.layer, &in, map));
        oa_arena_release(&a->arena, mark);
        for (long i = 0; i < each; i++) {
            if (out->type == OA_F64)
                ((double *)(uintptr_t)out->data)[b * each + i] = map[i];
            else
                ((float *)(uintptr_t)out->data)[b * each + i] = (float)map[i];
        }
    }
    return oa_status(a->context);
}

/* ---- overflow ---- */

static bool is_padded_element(const struct oa_attend_run *a, const struct oa_array *t, long i)
{
    bool queries = strcmp(t->name, "y") == 0 || strcmp(t->name, "grad.x") == 0;
    bool keys = strcmp(t->name, "grad.memory") == 0;
    long rows = keys ? a->keys : a->queries, b = i / (rows * a->width), row = i / a->width % rows;
    return (queries && row >= oa_attend_query_length(a, b)) ||
           (keys && row >= oa_attend_key_length(a, b));
}

static enum oa_error check_results_are_finite(const struct attend_results *r)
{
    const struct oa_attend_run *a = r->a;
    for (const struct oa_array *t = r->array; t < r->array + r->count; t++) {
        long count = (long)(t->bytes / oa_type_size(t->type));
        for (long i = 0; i < count; i++)
            if (!isfinite(oa_array_value(t, (size_t)i)) && !is_padded_element(a, t, i))
                return oa_fail(a->context, OA_DIVERGED,
                               "%s: element %ld of result %s is not finite; nothing was written. "
                               "Scale the input down or use --precision f64",
                               a->options->in, i, t->name);
    }
    return OA_OK;
}

/* ---- the command ---- */

static enum oa_error open_attend_spec(struct oa_attend_run *a)
{
    enum oa_precision precision = OA_PRECISION_F32;
    const char *name = a->options->precision;
    if (name && !oa_precision_parse(name, &precision))
        return oa_fail(a->context, OA_ARGUMENT, "--precision \"%s\": expected f32, bf16 or f64",
                       name);
    OA_TRY(oa_single_layer_open(a->context, a->options->spec, precision, false, &a->single));
    if (a->single.spec.layers > 1)
        return oa_fail(a->context, OA_ARGUMENT, "attend runs one layer; \"%s\" has %d",
                       a->options->spec, a->single.spec.layers);
    return OA_OK;
}

static enum oa_error write_attention(struct oa_attend_run *a, struct attend_results *r)
{
    OA_TRY(open_attend_spec(a));
    OA_TRY(oa_attend_read(a));
    OA_TRY(oa_attend_open_layer(a));
    r->type = a->single.device->numbers.real;
    OA_TRY(run_attend_passes(a, r));
    if (a->options->weights)
        OA_TRY(add_weight_result(a, r));
    OA_TRY(check_results_are_finite(r));
    return oa_tensors_write(a->context, a->options->out, r->array, r->count, NULL);
}

enum oa_error oa_attend(oa_context *c, const struct oa_attend_options *o)
{
    OA_TRY(oa_status(c));
    OA_TRY(oa_check_reserved(c, "oa_attend_options", o->reserved, 4));
    if (!o->spec || !o->in || !o->out)
        return oa_fail(c, OA_ARGUMENT,
                       "attend needs an attention, an input file and an output file");
    OA_TRY(oa_file_check(c, o->out));
    if (oa_same_file(o->in, o->out))
        return oa_fail(c, OA_ARGUMENT, "%s and %s are the same file; choose another output file",
                       o->in, o->out);
    struct oa_attend_run a = { .context = c, .options = o };
    struct attend_results r = { .a = &a };
    oa_arena_init(&a.arena, c, false);
    enum oa_error e = write_attention(&a, &r);
    for (int i = 0; i < r.count; i++) {
        oa_free(r.array[i].name);
        oa_free((void *)(uintptr_t)r.array[i].data);
    }
    oa_free(r.array);
    oa_single_layer_close(&a.single);
    oa_tensors_close(a.file);
    oa_arena_free(&a.arena);
    return e;
}
