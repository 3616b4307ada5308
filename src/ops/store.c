/* SPDX-License-Identifier: Apache-2.0
 * The parameter store. Sections of the flat arrays: trainable parameters with weight decay,
 * trainable ones without, moving ones, frozen ones (the last two without moments). Each parameter
 * starts at a multiple of 16 elements; gaps are zero and stay zero. */
#include "ops/ops.h"

#include <string.h>

enum { ALIGNMENT = 16, INIT_BLOCK = 65536 };

void oa_store_init(struct oa_store *s, struct oa_device *d)
{
    *s = (struct oa_store){ .context = d->context, .device = d };
    oa_device_arena(&s->arena, d);
    oa_device_arena(&s->packed, d);
    oa_device_arena(&s->work, d);
}

void oa_store_free(struct oa_store *s)
{
    for (int i = 0; i < s->count; i++)
        oa_free(s->parameter[i]);
    oa_free(s->parameter);
    oa_arena_free(&s->arena);
    oa_arena_free(&s->packed);
    oa_arena_free(&s->work);
    *s = (struct oa_store){ 0 };
}

struct oa_parameter *oa_store_find(const struct oa_store *s, const char *name)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->parameter[i]->name, name) == 0)
            return s->parameter[i];
    return NULL;
}

static bool store_grow(struct oa_store *s)
{
    if (s->count < s->capacity)
        return true;
    int capacity = s->capacity ? 2 * s->capacity : 64;
    void *grown = oa_grow(s->context, s->parameter, (size_t)s->capacity * sizeof *s->parameter,
                          (size_t)capacity * sizeof *s->parameter);
    if (!grown)
        return false;
    s->parameter = grown;
    s->capacity = capacity;
    return true;
}

/* Refuses counts so large that a sum over parameters could overflow. */
static enum oa_error parameter_count(oa_context *c, struct oa_parameter *p)
{
    const long most = 1L << 44;
    p->count = 1;
    for (int i = 0; i < p->dims; i++)
        if (__builtin_mul_overflow(p->count, p->dim[i], &p->count) || p->count > most)
            return oa_fail(
                c, OA_SHAPE,
                "parameter %s would have more than 2^44 elements: make the model smaller", p->name);
    return OA_OK;
}

struct oa_parameter *oa_store_add(struct oa_store *s, const struct oa_parameter *p)
{
    struct oa_parameter *known = oa_store_find(s, p->name);
    if (known && known->dims == p->dims &&
        memcmp(known->dim, p->dim, (size_t)p->dims * sizeof *p->dim) == 0)
        return known;
    if (known || s->allocated) {
        oa_fail(s->context, OA_SHAPE, "parameter %s: registered %s", p->name,
                known ? "twice with different shapes" : "after the store was allocated");
        return NULL;
    }
    struct oa_parameter *copy = store_grow(s) ? oa_alloc(s->context, sizeof *copy) : NULL;
    if (!copy)
        return NULL;
    *copy = *p;
    if (parameter_count(s->context, copy) != OA_OK) {
        oa_free(copy);
        return NULL;
    }
    if (!copy->stream[0])
        snprintf(copy->stream, sizeof copy->stream, "init/%.150s", p->name);
    s->parameter[s->count++] = copy;
    *(p->trainable ? &s->trainable : &s->frozen) += copy->count;
    return copy;
}

void oa_store_exclude(struct oa_store *s, struct oa_parameter *p)
{
    p->trainable = false;
    p->excluded = p->stored = true;
    s->trainable -= p->count;
    s->frozen += p->count;
}

/* ---- layout ---- */

enum store_section { DECAYED, UNDECAYED, MOVING, FROZEN, SECTIONS };

static enum store_section parameter_section(const struct oa_parameter *p)
{
    if (p->trainable)
        return p->decay ? DECAYED : UNDECAYED;
    return p->moving ? MOVING : FROZEN;
}

static long store_section_size(const struct oa_store *s, enum store_section section)
{
    long n = 0;
    for (int i = 0; i < s->count; i++)
        if (parameter_section(s->parameter[i]) == section)
            n += oa_round_up(s->parameter[i]->count, ALIGNMENT);
    return n;
}

/* Only linear maps skip the gradient of a parameter without one; other ops write it in any case. */
static bool excluded_with_gradient(const struct oa_parameter *p)
{
    return p->excluded && !(p->matrix && p->dims == 2 && strstr(p->name, ".layers."));
}

static void store_assign_spare(struct oa_store *s)
{
    long offset = s->live;
    for (int i = 0; i < s->count; i++)
        if (excluded_with_gradient(s->parameter[i])) {
            s->parameter[i]->gradient = oa_real_at(s->device, s->gradients, offset);
            offset += oa_round_up(s->parameter[i]->count, ALIGNMENT);
        }
}

static void store_assign_memory(struct oa_store *s, bool training)
{
    const struct oa_device *d = s->device;
    long offset = 0;
    for (enum store_section section = 0; section < SECTIONS; section++)
        for (int i = 0; i < s->count; i++) {
            struct oa_parameter *p = s->parameter[i];
            if (parameter_section(p) != section)
                continue;
            p->value = oa_real_at(d, s->values, offset);
            p->act = oa_act_at(d, s->acts, offset);
            p->gradient = training && p->trainable ? oa_real_at(d, s->gradients, offset) : NULL;
            p->change = training && section == MOVING ? oa_real_at(d, s->gradients, offset) : NULL;
            offset += oa_round_up(p->count, ALIGNMENT);
        }
    if (training)
        store_assign_spare(s);
}

static void *store_take_zeroed(struct oa_store *s, size_t bytes)
{
    void *memory = oa_arena_take(&s->arena, bytes);
    if (memory)
        s->device->ops->zero(s->device, bytes, memory);
    return memory;
}

/* ---- initial values ---- */

struct initialisation {
    const struct oa_device *d;
    const struct oa_parameter *p;
    struct oa_stream stream;
    const double *custom;
    void *out; /* real, on the host */
};

static double initial_value(const struct initialisation *f, long i)
{
    switch (f->p->init) {
    case OA_INIT_ZERO:
        return 0;
    case OA_INIT_ONE:
        return 1;
    case OA_INIT_NORMAL: /* parameter_init */
        return 0;
    case OA_INIT_UNIFORM:
        return f->p->scale * (2 * oa_random_uniform(f->stream, (uint64_t)i) - 1);
    case OA_INIT_CUSTOM:
        return f->custom[i];
    }
    return 0;
}

static void init_block(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct initialisation *f = argument;
    for (long i = item * INIT_BLOCK; i < oa_min(f->p->count, (item + 1) * INIT_BLOCK); i++)
        oa_real_set(f->d, f->out, i, initial_value(f, i));
}

/* scratch: for CUSTOM values. */
static enum oa_error parameter_init(struct oa_store *s, const struct oa_parameter *p, uint64_t seed,
                                    struct oa_arena *scratch)
{
    struct initialisation f = { .d = s->device,
                                .p = p,
                                .stream = oa_stream_named(seed, p->stream) };
    struct oa_view v;
    size_t mark = oa_arena_mark(scratch);
    enum oa_error e = OA_OK;
    if (p->init == OA_INIT_NORMAL) {
        s->device->ops->normals(s->device, p->count, p->scale, f.stream, p->value);
        return OA_OK;
    }
    if (p->init == OA_INIT_CUSTOM) {
        double *custom = oa_arena_take(scratch, (size_t)(p->count + p->fill_room) * sizeof *custom);
        f.custom = custom;
        e = !custom ? OA_NO_MEMORY : s->device->dry ? OA_OK : p->fill(s->context, p, seed, custom);
    }
    f.out = oa_view_open(&v, s->device, p->value, (size_t)p->count * s->device->numbers.real_size,
                         OA_VIEW_WRITE);
    if (e == OA_OK && f.out)
        oa_parallel(s->context, oa_blocks(p->count, INIT_BLOCK), init_block, &f);
    oa_view_close(&v);
    oa_arena_release(scratch, mark);
    return e;
}

/* Redrawn parameters use the device's scratch from the first draw on: later ones then allocate
 * nothing, and plans count it. */
enum oa_error oa_store_draw_from(struct oa_store *s, struct oa_parameter *p, uint64_t seed)
{
    struct oa_arena once;
    p->seed = seed;
    if (p->redrawn)
        return parameter_init(s, p, seed, &s->device->scratch);
    oa_arena_init(&once, s->context, s->device->dry);
    enum oa_error e = parameter_init(s, p, seed, &once);
    oa_arena_free(&once);
    return e;
}

enum oa_error oa_store_allocate_moments(struct oa_store *s, long count)
{
    size_t bytes = (size_t)count * s->device->numbers.real_size;
    s->moment1 = store_take_zeroed(s, bytes);
    s->moment2 = store_take_zeroed(s, bytes);
    return oa_status(s->context);
}

enum oa_error oa_store_allocate(struct oa_store *s, uint64_t seed, bool training)
{
    struct oa_device *d = s->device;
    s->decayed = store_section_size(s, DECAYED);
    s->updated = s->decayed + store_section_size(s, UNDECAYED);
    s->live = s->updated + store_section_size(s, MOVING);
    s->total = s->live + store_section_size(s, FROZEN);
    size_t real = d->numbers.real_size, all = (size_t)s->total;
    s->values = store_take_zeroed(s, all * real);
    s->acts = d->numbers.act == d->numbers.real ? s->values
                                                : store_take_zeroed(s, all * d->numbers.act_size);
    for (int i = 0; training && i < s->count; i++)
        if (excluded_with_gradient(s->parameter[i]))
            s->spare += oa_round_up(s->parameter[i]->count, ALIGNMENT);
    if (training) {
        s->gradients = store_take_zeroed(s, (size_t)(s->live + s->spare) * real);
        if (!s->sharded)
            OA_TRY(oa_store_allocate_moments(s, s->updated));
    }
    OA_TRY(oa_status(s->context));
    store_assign_memory(s, training);
    s->allocated = true;
    s->seed = seed;
    for (int i = 0; i < s->count; i++) {
        s->parameter[i]->seed = seed;
        if (!s->parameter[i]->given)
            OA_TRY(oa_store_draw_from(s, s->parameter[i], seed));
    }
    oa_store_refresh_all(s);
    return oa_status(s->context);
}

static void store_update_acts(struct oa_store *s, long first, long end)
{
    struct oa_device *d = s->device;
    s->version++;
    if (s->acts != s->values && first < end)
        d->ops->act_from_real(d, end - first, oa_real_at(d, s->values, first),
                              oa_act_at(d, s->acts, first));
}

void oa_store_refresh(struct oa_store *s)
{
    store_update_acts(s, 0, s->live);
}

void oa_store_refresh_from(struct oa_store *s, long first)
{
    store_update_acts(s, first, s->live);
}

void oa_store_refresh_all(struct oa_store *s)
{
    store_update_acts(s, 0, s->total);
}

enum oa_error oa_store_redraw(struct oa_store *s, struct oa_parameter *p, uint64_t number)
{
    struct oa_parameter again = *p;
    snprintf(again.stream + strlen(again.stream), sizeof again.stream - strlen(again.stream),
             "/redraw/%llu", (unsigned long long)number);
    OA_TRY(parameter_init(s, &again, s->seed, &s->device->scratch));
    s->version++;
    if (p->act != p->value)
        s->device->ops->act_from_real(s->device, p->count, p->value, p->act);
    return oa_status(s->context);
}

void oa_store_zero_gradients(struct oa_store *s)
{
    s->device->ops->zero(s->device, (size_t)(s->live + s->spare) * s->device->numbers.real_size,
                         s->gradients);
}

/* ---- packed weights, for decoding ---- */

const void *oa_weight_operand(oa_tape *t, struct oa_parameter *w, struct oa_gemm *g)
{
    struct oa_store *s = t->packs;
    struct oa_device *d = t->device;
    size_t bytes = s && d->ops->weights_bytes ? d->ops->weights_bytes(d, g) : 0;
    if (bytes && !w->packed)
        w->packed = oa_arena_take(&s->packed, bytes);
    if (!bytes || !w->packed)
        return w->act;
    if (w->packed_version != s->version)
        d->ops->pack_weights(d, g, w->act, w->packed);
    w->packed_version = s->version;
    g->packed = true;
    return w->packed;
}
