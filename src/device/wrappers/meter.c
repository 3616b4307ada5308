/* SPDX-License-Identifier: Apache-2.0 */
#include "device/wrappers/meter.h"

#include <string.h>

static bool same_literal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static struct oa_metered *find_metered(struct oa_meter *m, const char *op)
{
    for (int i = 0; i < m->rows; i++) {
        struct oa_metered *r = &m->row[i];
        if (r->backward == m->backward && same_literal(r->op, op) &&
            same_literal(r->place, m->place) && same_literal(r->stack, m->stack))
            return r;
    }
    struct oa_metered *r = &m->row[m->rows < OA_METERED ? m->rows++ : OA_METERED - 1];
    *r = (struct oa_metered){
        .op = op, .stack = m->stack, .place = m->place, .backward = m->backward
    };
    return r;
}

struct meter_reading {
    double seconds, flops, computed, bytes;
};

static struct meter_reading read_meter(const struct oa_device *d)
{
    return (struct meter_reading){ d->meter->clock(), d->flops, d->computed, d->bytes };
}

static void add_since(struct oa_device *d, const char *op, const struct meter_reading *before)
{
    struct oa_metered *r = find_metered(d->meter, op);
    oa_device_sync(d);
    struct meter_reading now = read_meter(d);
    r->calls++;
    r->seconds += now.seconds - before->seconds;
    r->flops += now.flops - before->flops;
    r->computed += now.computed - before->computed;
    r->bytes += now.bytes - before->bytes;
}

/* ---- the table: each operation between two readings ---- */

#define AT(x) x
#define OF(type, a) a
#define ALL(type, n, a) a
#define OA_FAMILY(names, name, parameters, arguments)                                              \
    static void metered_##name parameters                                                          \
    {                                                                                              \
        struct meter_reading before = read_meter(d);                                               \
        d->meter->base->name arguments;                                                            \
        add_since(d, names[kind], &before);                                                        \
    }
#define OA_DO(name, parameters, arguments)                                                         \
    static void metered_##name parameters                                                          \
    {                                                                                              \
        struct meter_reading before = read_meter(d);                                               \
        d->meter->base->name arguments;                                                            \
        add_since(d, #name, &before);                                                              \
    }
#define OA_ASK(type, name, parameters, arguments)                                                  \
    static type metered_##name parameters                                                          \
    {                                                                                              \
        struct meter_reading before = read_meter(d);                                               \
        type answer = d->meter->base->name arguments;                                              \
        add_since(d, #name, &before);                                                              \
        return answer;                                                                             \
    }
#include "device/operations.def"

void oa_meter_open(struct oa_meter *m, struct oa_device *d, double (*clock)(void))
{
    m->device = d;
    m->base = d->ops;
    m->ops = *d->ops;
#define OA_DO(name, parameters, arguments) m->ops.name = m->base->name ? metered_##name : NULL;
#define OA_ASK(type, name, parameters, arguments) OA_DO(name, parameters, arguments)
#include "device/operations.def"
    m->clock = clock;
    m->stack = m->place = NULL;
    m->backward = false;
    m->rows = 0;
    d->ops = &m->ops;
    d->meter = m;
}

void oa_meter_close(struct oa_meter *m)
{
    m->device->ops = m->base;
    m->device->meter = NULL;
}

void oa_meter_clear(struct oa_meter *m)
{
    for (int i = 0; i < m->rows; i++) {
        struct oa_metered *r = &m->row[i];
        r->calls = 0;
        r->seconds = r->flops = r->computed = r->bytes = 0;
    }
}

void oa_meter_at(struct oa_device *d, const char *stack, const char *place, bool backward)
{
    if (!d->meter)
        return;
    d->meter->stack = stack;
    d->meter->place = place;
    d->meter->backward = backward;
}
