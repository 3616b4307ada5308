/* SPDX-License-Identifier: Apache-2.0
 * Runs a model forward, records the input of every attention layer, and computes its maps by the
 * oracles. */
#include "inspect/inspect.h"

#include <math.h>

/* Most products for recomputing values that each row has of its own. */
#define OWN_VALUES_LIMIT 4e8

struct watching {
    struct oa_inspection *what;
    struct oa_model *model;
};

/* ---- recording the input of a layer ---- */

static double *read_rows(struct watching *w, const oa_tensor *x)
{
    double *out =
        x ? oa_arena_take(&w->what->arena, (size_t)(x->rows * x->cols) * sizeof *out) : NULL;
    for (long i = 0; out && i < x->rows; i++)
        oa_acts_read(w->model->device, x->cols, oa_act_at(w->model->device, x->data, i * x->ld),
                     out + i * x->cols);
    return out;
}

static double *read_angles(struct watching *w, const struct oa_rotary *r, const void *table,
                           long rows)
{
    long count = rows * (r->width / 2);
    double *out =
        table && count ? oa_arena_take(&w->what->arena, (size_t)count * sizeof *out) : NULL;
    if (out)
        oa_reals_read(w->model->device, count, table, out);
    return out;
}

static void watch_layer_input(void *argument, const struct oa_stack *s, const struct oa_layer *l,
                              const struct oa_layer_input *in, const oa_tensor *y)
{
    struct watching *w = argument;
    struct oa_inspection *what = w->what;
    if (what->layers == what->capacity)
        return;
    struct oa_layer_view *v = &what->layer[what->layers++];
    *v = (struct oa_layer_view){
        .stack = s, .layer = l, .number = l->group[0].layer, .y = read_rows(w, y)
    };
    long rows = oa_max(in->queries, in->keys);
    v->in = (struct oa_oracle){ .x = read_rows(w, in->x),
                                .memory = read_rows(w, in->memory),
                                .queries = in->queries,
                                .keys = in->keys,
                                .length = in->keys,
                                .words = in->words,
                                .cosine = read_angles(w, &in->rotary, in->rotary.cosine, rows),
                                .sine = read_angles(w, &in->rotary, in->rotary.sine, rows),
                                .turned = in->rotary.width,
                                .interleaved = in->rotary.interleaved };
}

/* ---- maps and their facts ---- */

const struct oa_group *oa_view_group(const struct oa_layer_view *v, long head)
{
    int g = 0;
    while (g + 1 < v->layer->groups && v->layer->group[g + 1].first_head <= head)
        g++;
    return &v->layer->group[g];
}

bool oa_view_visible(const struct oa_layer_view *v, long head, long i, long j)
{
    const struct oa_group *g = oa_view_group(v, head);
    return oa_oracle_visible(g, &v->in, head - g->first_head, i, j);
}

static struct oa_head_map map_of(const struct oa_layer_view *v, long head)
{
    return (struct oa_head_map){ .map = v->map + head * v->in.queries * v->in.keys,
                                 .queries = v->in.queries,
                                 .keys = v->in.keys,
                                 .visible = v->visible + head * v->in.queries };
}

struct comparing {
    struct oa_inspection *what;
    const struct oa_fixed_shape *shape;
};

static bool of_shape(const struct oa_layer_view *v, const struct oa_fixed_shape *s)
{
    return v->in.queries == s->queries && v->in.keys == s->keys &&
           v->layer->shape.causal == s->causal && v->layer->shape.cross == s->cross;
}

/* Compares a fixed map with all heads of its shape. */
static void compare_head_with_fixed(void *argument, const char *attention, const double *fixed)
{
    const struct comparing *k = argument;
    for (int i = 0; i < k->what->layers; i++) {
        const struct oa_layer_view *v = &k->what->layer[i];
        for (long h = 0; of_shape(v, k->shape) && h < v->layer->shape.heads; h++) {
            struct oa_head_map m = map_of(v, h);
            oa_pause(k->what->context);
            if (oa_status(k->what->context) != OA_OK)
                return;
            double covered =
                oa_view_group(v, h)->mechanism->weights ? oa_head_covered(&m, fixed) : 0;
            if (covered <= v->head[h].covered)
                continue;
            v->head[h].covered = covered;
            snprintf(v->head[h].nearest, sizeof v->head[h].nearest, "%s", attention);
        }
    }
}

/* Each shape once, with all layers that have it. */
static enum oa_error compare_heads_with_fixed(struct oa_inspection *what)
{
    for (int i = 0; i < what->layers; i++) {
        const struct oa_layer_view *v = &what->layer[i];
        struct oa_fixed_shape s = { v->in.queries, v->in.keys, v->layer->shape.causal,
                                    v->layer->shape.cross };
        struct comparing k = { what, &s };
        bool done = false;
        for (int b = 0; b < i; b++)
            done |= of_shape(&what->layer[b], &s);
        if (!done)
            OA_TRY(oa_fixed_maps(what->context, &s, compare_head_with_fixed, &k));
    }
    return OA_OK;
}

/* ---- checking the maps ---- */

static bool can_be_checked(const struct oa_layer_view *v)
{
    double products = (double)v->in.queries * (double)v->in.keys * (double)v->layer->shape.width;
    bool own = false;
    for (int g = 0; g < v->layer->groups; g++)
        own |= v->layer->group[g].mechanism->values != NULL;
    return !oa_layer_without_map(v->layer) &&
           (!own || products * (double)v->layer->shape.width < OWN_VALUES_LIMIT);
}

static enum oa_error check_maps_against_output(struct oa_inspection *what, struct oa_layer_view *v)
{
    long count = v->in.queries * v->layer->shape.width;
    double top = 0, worst = 0;
    v->deviation = NAN;
    if (!can_be_checked(v))
        return OA_OK;
    double *y = oa_alloc(what->context, (size_t)count * sizeof *y);
    enum oa_error e = y ? oa_layer_apply_map(v->layer, &v->in, v->map, y) : OA_NO_MEMORY;
    for (long i = 0; i < count && e == OA_OK; i++) {
        top = fmax(top, fabs(v->y[i]));
        worst = fmax(worst, fabs(v->y[i] - y[i]));
    }
    v->deviation = top > 0 ? worst / top : worst;
    oa_free(y);
    return e;
}

/* ---- all of it ---- */

static enum oa_error weigh_heads(struct oa_inspection *what, struct oa_layer_view *v)
{
    long H = v->layer->shape.heads, T = v->in.queries, S = v->in.keys;
    v->map = oa_arena_take(&what->arena, (size_t)(H * T * S) * sizeof *v->map);
    v->visible = oa_arena_take(&what->arena, (size_t)(H * T) * sizeof *v->visible);
    v->head = oa_arena_take(&what->arena, (size_t)H * sizeof *v->head);
    OA_TRY(oa_status(what->context));
    OA_TRY(oa_layer_weights(v->layer, &v->in, v->map));
    for (long h = 0; h < H; h++) {
        struct oa_head_map m = map_of(v, h);
        v->head[h] = (struct oa_head_facts){ .covered = 0 };
        oa_pause(what->context);
        OA_TRY(oa_status(what->context));
        for (long i = 0; i < v->in.queries; i++) {
            long *n = &v->visible[h * v->in.queries + i];
            *n = 0;
            for (long j = 0; j < v->in.keys; j++)
                *n += oa_view_visible(v, h, i, j);
        }
        oa_head_measure(&m, &v->head[h]);
    }
    return check_maps_against_output(what, v);
}

static enum oa_error run_model_forward(oa_tape *t, struct oa_model *m,
                                       const struct oa_sequences *in,
                                       const struct oa_sequences *source)
{
    struct oa_memory memory = { .length = source ? source->length : 0 };
    oa_tape_reset(t, false, false, (struct oa_stream){ 0 });
    if (source)
        memory.x = oa_model_encode(t, m, source);
    if (oa_status(m->context) == OA_OK)
        oa_model_hidden(t, m, in, source ? &memory : NULL, NULL);
    return oa_status(m->context);
}

enum oa_error oa_watch_model(oa_tape *t, struct oa_model *m, const struct oa_sequences *in,
                             const struct oa_sequences *source, struct oa_inspection *out)
{
    struct watching w = { out, m };
    struct oa_attention_hook watch = { watch_layer_input, &w };
    *out = (struct oa_inspection){ .context = m->context };
    oa_arena_init(&out->arena, m->context, false);
    out->capacity = m->encoder.shape.layers + 2 * m->decoder.shape.layers;
    out->layer = oa_alloc(m->context, (size_t)out->capacity * sizeof *out->layer);
    if (!out->layer)
        return OA_NO_MEMORY;
    t->hook = &watch;
    enum oa_error e = run_model_forward(t, m, in, source);
    t->hook = NULL;
    return e;
}

enum oa_error oa_inspect_model(oa_tape *t, struct oa_model *m, const struct oa_sequences *in,
                               const struct oa_sequences *source, struct oa_inspection *out)
{
    enum oa_error e = oa_watch_model(t, m, in, source, out);
    for (int i = 0; i < out->layers && e == OA_OK; i++) {
        if (oa_stop_requested(m->context))
            return oa_fail(m->context, OA_INTERRUPTED, "stopped after the maps of %d of %d layers",
                           i, out->layers);
        e = weigh_heads(out, &out->layer[i]);
    }
    return e == OA_OK ? compare_heads_with_fixed(out) : e;
}

void oa_inspection_close(struct oa_inspection *i)
{
    if (i->context)
        oa_arena_free(&i->arena);
    oa_free(i->layer);
    *i = (struct oa_inspection){ 0 };
}
