/* SPDX-License-Identifier: Apache-2.0
 * The parameter store. Layout of the flat arrays: trainable parameters with weight decay, trainable
 * ones without, those that move without a gradient, then the frozen ones (the last two have values
 * only). Each parameter starts at a multiple of 16 elements; the gap is zero and stays zero. */
#include "ops/ops.h"

#include <string.h>

enum { GAP = 16, RUN = 65536 };

void oa_store_init(struct oa_store *s, struct oa_device *d)
{
    *s = (struct oa_store){ .context = d->context, .device = d };
    oa_device_arena(&s->arena, d);
    oa_device_arena(&s->packed, d);
}

void oa_store_free(struct oa_store *s)
{
    for (int i = 0; i < s->count; i++)
        oa_free(s->parameter[i]);
    oa_free(s->parameter);
    oa_arena_free(&s->arena);
    oa_arena_free(&s->packed);
    *s = (struct oa_store){ 0 };
}

struct oa_parameter *oa_store_find(const struct oa_store *s, const char *name)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->parameter[i]->name, name) == 0)
            return s->parameter[i];
    return NULL;
}

static bool same_shape(const struct oa_parameter *a, const struct oa_parameter *b)
{
    return a->dims == b->dims && memcmp(a->dim, b->dim, (size_t)a->dims * sizeof *a->dim) == 0;
}

static bool make_room(struct oa_store *s)
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

/* Elements of a parameter; refused where no memory could hold them, so that no sum over parameters
 * overflows. */
static enum oa_error count_elements(oa_context *c, struct oa_parameter *p)
{
    const long most = 1L << 44;
    p->count = 1;
    for (int i = 0; i < p->dims; i++)
        if (__builtin_mul_overflow(p->count, p->dim[i], &p->count) || p->count > most)
            return oa_fail(c, OA_SHAPE,
                           "parameter %s would have more than 2^44 numbers: make the model smaller",
                           p->name);
    return OA_OK;
}

struct oa_parameter *oa_store_add(struct oa_store *s, const struct oa_parameter *p)
{
    struct oa_parameter *known = oa_store_find(s, p->name);
    if (known && same_shape(known, p))
        return known;
    if (known || s->allocated) {
        oa_fail(s->context, OA_SHAPE, "parameter %s: registered %s", p->name,
                known ? "twice with different shapes" : "after the store was laid out");
        return NULL;
    }
    struct oa_parameter *copy = make_room(s) ? oa_alloc(s->context, sizeof *copy) : NULL;
    if (!copy)
        return NULL;
    *copy = *p;
    if (count_elements(s->context, copy) != OA_OK) {
        oa_free(copy);
        return NULL;
    }
    if (!copy->stream[0])
        snprintf(copy->stream, sizeof copy->stream, "init/%.150s", p->name);
    s->parameter[s->count++] = copy;
    *(p->trainable ? &s->trainable : &s->frozen) += copy->count;
    return copy;
}

/* ---- layout ---- */

static long padded(long n)
{
    return (n + GAP - 1) / GAP * GAP;
}

enum section { DECAYED, UNDECAYED, MOVING, FROZEN, SECTIONS };

static enum section section_of(const struct oa_parameter *p)
{
    if (p->trainable)
        return p->decay ? DECAYED : UNDECAYED;
    return p->moving ? MOVING : FROZEN;
}

static long section_size(const struct oa_store *s, enum section section)
{
    long n = 0;
    for (int i = 0; i < s->count; i++)
        if (section_of(s->parameter[i]) == section)
            n += padded(s->parameter[i]->count);
    return n;
}

static void place(struct oa_store *s, bool training)
{
    const struct oa_device *d = s->device;
    long offset = 0;
    for (enum section section = 0; section < SECTIONS; section++)
        for (int i = 0; i < s->count; i++) {
            struct oa_parameter *p = s->parameter[i];
            if (section_of(p) != section)
                continue;
            p->value = oa_real_at(d, s->values, offset);
            p->act = oa_act_at(d, s->acts, offset);
            p->gradient = training && p->trainable ? oa_real_at(d, s->gradients, offset) : NULL;
            p->change = training && section == MOVING ? oa_real_at(d, s->gradients, offset) : NULL;
            offset += padded(p->count);
        }
}

static void *take_zeroed(struct oa_store *s, size_t bytes)
{
    void *memory = oa_arena_take(&s->arena, bytes);
    if (memory)
        s->device->ops->zero(s->device, bytes, memory);
    return memory;
}

/* ---- first values ---- */

struct filling {
    const struct oa_device *d;
    const struct oa_parameter *p;
    struct oa_stream stream;
    const double *custom;
    void *out; /* real, on the host */
};

static double first_value(const struct filling *f, long i)
{
    switch (f->p->init) {
    case OA_INIT_ZERO:
        return 0;
    case OA_INIT_ONE:
        return 1;
    case OA_INIT_NORMAL: /* fill */
        return 0;
    case OA_INIT_UNIFORM:
        return f->p->scale * (2 * oa_random_uniform(f->stream, (uint64_t)i) - 1);
    case OA_INIT_CUSTOM:
        return f->custom[i];
    }
    return 0;
}

static void fill_run(void *argument, long item, const struct oa_worker *worker)
{
    (void)worker;
    const struct filling *f = argument;
    for (long i = item * RUN; i < oa_min(f->p->count, (item + 1) * RUN); i++)
        oa_real_set(f->d, f->out, i, first_value(f, i));
}

/* The room of CUSTOM values comes from `scratch`. */
static enum oa_error fill(struct oa_store *s, const struct oa_parameter *p, uint64_t seed,
                          struct oa_arena *scratch)
{
    struct filling f = { .d = s->device, .p = p, .stream = oa_stream_named(seed, p->stream) };
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
        oa_parallel(s->context, oa_blocks(p->count, RUN), fill_run, &f);
    oa_view_close(&v);
    oa_arena_release(scratch, mark);
    return e;
}

/* What is drawn again takes the device's scratch from the first draw on: later draws then need no
 * memory, and plans know of it. */
enum oa_error oa_store_draw_from(struct oa_store *s, struct oa_parameter *p, uint64_t seed)
{
    struct oa_arena once;
    p->seed = seed;
    if (p->redrawn)
        return fill(s, p, seed, &s->device->scratch);
    oa_arena_init(&once, s->context, s->device->dry);
    enum oa_error e = fill(s, p, seed, &once);
    oa_arena_free(&once);
    return e;
}

enum oa_error oa_store_take_moments(struct oa_store *s, long count)
{
    size_t bytes = (size_t)count * s->device->numbers.real_size;
    s->moment1 = take_zeroed(s, bytes);
    s->moment2 = take_zeroed(s, bytes);
    return oa_status(s->context);
}

enum oa_error oa_store_allocate(struct oa_store *s, uint64_t seed, bool training)
{
    struct oa_device *d = s->device;
    s->decayed = section_size(s, DECAYED);
    s->updated = s->decayed + section_size(s, UNDECAYED);
    s->live = s->updated + section_size(s, MOVING);
    s->total = s->live + section_size(s, FROZEN);
    size_t real = d->numbers.real_size, all = (size_t)s->total;
    s->values = take_zeroed(s, all * real);
    s->acts =
        d->numbers.act == d->numbers.real ? s->values : take_zeroed(s, all * d->numbers.act_size);
    if (training) {
        s->gradients = take_zeroed(s, (size_t)s->live * real);
        if (!s->apart)
            OA_TRY(oa_store_take_moments(s, s->updated));
    }
    OA_TRY(oa_status(s->context));
    place(s, training);
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

static void make_acts(struct oa_store *s, long first, long end)
{
    struct oa_device *d = s->device;
    s->version++;
    if (s->acts != s->values && first < end)
        d->ops->act_from_real(d, end - first, oa_real_at(d, s->values, first),
                              oa_act_at(d, s->acts, first));
}

void oa_store_refresh(struct oa_store *s)
{
    make_acts(s, 0, s->live);
}

void oa_store_refresh_from(struct oa_store *s, long first)
{
    make_acts(s, first, s->live);
}

void oa_store_refresh_all(struct oa_store *s)
{
    make_acts(s, 0, s->total);
}

enum oa_error oa_store_redraw(struct oa_store *s, struct oa_parameter *p, uint64_t number)
{
    struct oa_parameter again = *p;
    snprintf(again.stream + strlen(again.stream), sizeof again.stream - strlen(again.stream),
             "/redraw/%llu", (unsigned long long)number);
    OA_TRY(fill(s, &again, s->seed, &s->device->scratch));
    s->version++;
    if (p->act != p->value)
        s->device->ops->act_from_real(s->device, p->count, p->value, p->act);
    return oa_status(s->context);
}

void oa_store_zero_gradients(struct oa_store *s)
{
    s->device->ops->zero(s->device, (size_t)s->live * s->device->numbers.real_size, s->gradients);
}

/* ---- weights of decoding ---- */

const void *oa_weights(oa_tape *t, struct oa_parameter *w, struct oa_gemm *g)
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
