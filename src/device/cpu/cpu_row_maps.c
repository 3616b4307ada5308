/* SPDX-License-Identifier: Apache-2.0
 * Maps of each head's row x [width] of a token:
 *
 *     UNIT        y = s/n, n = √(Σ s² + ε), s = x;   SILU_UNIT: s = x σ(x)
 *                 ds = (dy − y (y·dy))/n
 *     RMS         y = g ⊙ x/n, n = √(Σ x²/width + ε)
 *                 dx = (g ⊙ dy − (x/n)(g ⊙ dy · x/n)/width)/n,   dg = Σ dy ⊙ x/n
 *     HEDGEHOG    y = [softmax(x), softmax(−x)]   (Zhang et al. 2024, arXiv 2402.04347)
 *                 dx = y₁ ⊙ (dy₁ − y₁·dy₁) − y₂ ⊙ (dy₂ − y₂·dy₂)
 *
 * [tokens, heads·width] → the same, HEDGEHOG twice as wide; runs of tokens are items. dg is summed
 * item by item, then in their order. */
#include "device/cpu/cpu.h"
#include "device/cpu/cpu_logits.h"

#include <math.h>
#include <string.h>

struct row_map_call {
    struct oa_device *d;
    const struct oa_row_map *a;
    long run;
    void *partial; /* real [items, width] */
};

/* One token of an item. */
struct mapped_token {
    const struct oa_row_map *a;
    struct oa_device *d;
    const struct oa_kernels *k, *reals;
    long columns;
    void *s, *t;         /* real [heads·width or twice] */
    void *act, *other;   /* act [heads·width or twice] */
    void *factor;        /* real [heads] */
    void *top, *mass;    /* real [heads] */
    int32_t *low, *high; /* [heads] */
    void *dgain;         /* real [width] */
};

static bool open_mapped_token(struct mapped_token *m, const struct row_map_call *f,
                              const struct oa_worker *w)
{
    const struct oa_row_map *a = f->a;
    size_t real = f->d->numbers.real_size, act = f->d->numbers.act_size;
    size_t columns = (size_t)(2 * a->heads * a->width), heads = (size_t)a->heads;
    *m = (struct mapped_token){ .a = a,
                                .d = f->d,
                                .k = &f->d->cpu->kernels,
                                .reals = &f->d->cpu->real_kernels,
                                .columns = a->heads * a->width };
    m->s = oa_arena_take(w->scratch, columns * real);
    m->t = oa_arena_take(w->scratch, columns * real);
    m->act = oa_arena_take(w->scratch, columns * act);
    m->other = oa_arena_take(w->scratch, columns * act);
    m->factor = oa_arena_take(w->scratch, heads * real);
    m->top = oa_arena_take(w->scratch, heads * real);
    m->mass = oa_arena_take(w->scratch, heads * real);
    m->low = oa_arena_take(w->scratch, heads * sizeof *m->low);
    m->high = oa_arena_take(w->scratch, heads * sizeof *m->high);
    if (!m->s || !m->t || !m->act || !m->other || !m->factor || !m->top || !m->mass || !m->low ||
        !m->high)
        return false;
    for (long h = 0; h < a->heads; h++) {
        m->low[h] = 0;
        m->high[h] = (int32_t)a->width;
    }
    return true;
}

/* m->s: the rows divided by their norms, whose inverses are stored in m->factor. */
static void normalised(struct mapped_token *m, const void *x)
{
    const struct oa_row_map *a = m->a;
    double share = a->kind == OA_ROW_RMS ? 1 / (double)a->width : 1;
    if (a->kind == OA_ROW_SILU_UNIT)
        m->k->gate(m->columns, x, x, m->act);
    m->k->real_from_act(m->columns, a->kind == OA_ROW_SILU_UNIT ? m->act : x, m->s);
    for (long h = 0; h < a->heads; h++) {
        const void *row = oa_real_at(m->d, m->s, h * a->width);
        double sum = m->reals->dot(a->width, row, row) * share;
        oa_real_set(m->d, m->factor, h, 1 / sqrt(sum + a->epsilon));
    }
    m->reals->scale_rows(a->heads, a->width, m->factor, m->s, a->width);
}

static void norm_forward(struct mapped_token *m, const void *x, void *y)
{
    const struct oa_row_map *a = m->a;
    normalised(m, x);
    for (long h = 0; a->gain && h < a->heads; h++) {
        void *row = oa_real_at(m->d, m->s, h * a->width);
        m->reals->multiply(a->width, a->gain, row, row);
    }
    m->k->act_from_real(m->columns, m->s, y);
}

static void norm_backward(struct mapped_token *m, const void *x, const void *dy, void *dx)
{
    const struct oa_row_map *a = m->a;
    double share = a->kind == OA_ROW_RMS ? 1 / (double)a->width : 1;
    bool silu = a->kind == OA_ROW_SILU_UNIT;
    normalised(m, x);
    m->k->real_from_act(m->columns, dy, m->t);
    for (long h = 0; h < a->heads; h++) {
        void *unit = oa_real_at(m->d, m->s, h * a->width),
             *d = oa_real_at(m->d, m->t, h * a->width);
        if (m->dgain)
            m->reals->multiply_gradient(a->width, unit, d, m->dgain);
        if (a->gain)
            m->reals->multiply(a->width, a->gain, d, d);
        m->reals->axpy(a->width, -share * m->reals->dot(a->width, unit, d), unit, d);
    }
    m->reals->scale_rows(a->heads, a->width, m->factor, m->t, a->width);
    m->k->act_from_real(m->columns, m->t, silu ? m->act : dx);
    if (!silu)
        return;
    m->k->gate_gradient(m->columns, x, x, m->act, m->other, m->act);
    m->k->add(m->columns, m->other, m->act, dx);
}

/* softmax of the rows of m->s into m->t, of which a row begins every 2·width numbers. */
static void softmax_rows(struct mapped_token *m, void *to)
{
    const struct oa_row_map *a = m->a;
    oa_real_fill(m->d, a->heads, -INFINITY, m->top);
    oa_real_fill(m->d, a->heads, 0, m->mass);
    m->reals->softmax_tile(a->heads, a->width, 1, m->low, m->high, m->s, a->width, m->top, m->mass,
                           m->factor);
    for (long h = 0; h < a->heads; h++)
        oa_real_set(m->d, m->factor, h, 1 / oa_real_get(m->d, m->mass, h));
    m->reals->scale_rows(a->heads, a->width, m->factor, m->s, a->width);
    m->reals->tile_to_real(a->heads, a->width, m->s, a->width, to, 2 * a->width);
}

static void hedgehog_forward(struct mapped_token *m, const void *x, void *y)
{
    m->k->real_from_act(m->columns, x, m->s);
    softmax_rows(m, m->t);
    m->k->real_from_act(m->columns, x, m->s);
    oa_real_fill(m->d, 1, -1, m->factor);
    m->reals->scale_rows(1, m->columns, m->factor, m->s, 0);
    softmax_rows(m, oa_real_at(m->d, m->t, m->a->width));
    m->k->act_from_real(2 * m->columns, m->t, y);
}

static void hedgehog_backward(struct mapped_token *m, const void *y, const void *dy, void *dx)
{
    long width = m->a->width, heads = m->a->heads;
    m->k->real_from_act(2 * m->columns, y, m->s);
    m->k->real_from_act(2 * m->columns, dy, m->t);
    for (int side = 0; side < 2; side++) {
        const void *p = oa_real_at(m->d, m->s, side * width),
                   *dp = oa_real_at(m->d, m->t, side * width);
        m->reals->row_dots(heads, width, p, 2 * width, dp, 2 * width, m->mass);
        m->k->softmax_gradient(heads, width, side ? -1 : 1, p, 2 * width, dp, 2 * width, m->mass,
                               side ? m->other : m->act, width);
    }
    m->k->add(m->columns, m->act, m->other, dx);
}

static void row_map_item(void *argument, long item, const struct oa_worker *worker)
{
    const struct row_map_call *f = argument;
    const struct oa_row_map *a = f->a;
    struct mapped_token m;
    if (!open_mapped_token(&m, f, worker))
        return;
    m.dgain = oa_real_at(f->d, f->partial, item * a->width);
    if (m.dgain)
        oa_real_fill(f->d, a->width, 0, m.dgain);
    for (long i = item * f->run; i < oa_min(a->tokens, (item + 1) * f->run); i++) {
        const void *x = oa_act_at(f->d, a->x, i * a->ldx), *dy = oa_act_at(f->d, a->dy, i * a->ldy);
        void *y = oa_act_at(f->d, a->y, i * a->ldy), *dx = oa_act_at(f->d, a->dx, i * a->ldx);
        if (a->kind == OA_ROW_HEDGEHOG && dx)
            hedgehog_backward(&m, y, dy, dx);
        else if (a->kind == OA_ROW_HEDGEHOG)
            hedgehog_forward(&m, x, y);
        else if (dx)
            norm_backward(&m, x, dy, dx);
        else
            norm_forward(&m, x, y);
    }
}

void oa_cpu_map_rows(struct oa_device *d, const struct oa_row_map *a)
{
    struct row_map_call f = { .d = d, .a = a, .run = oa_item_rows(a->heads * a->width) };
    oa_parallel(d->context, oa_blocks(a->tokens, f.run), row_map_item, &f);
}

void oa_cpu_map_rows_gradient(struct oa_device *d, const struct oa_row_map *a)
{
    struct row_map_call f = { .d = d, .a = a, .run = oa_item_rows(a->heads * a->width) };
    long items = oa_blocks(a->tokens, f.run);
    size_t mark = oa_arena_mark(&d->scratch);
    if (a->dgain) {
        f.partial = oa_arena_take(&d->scratch, oa_row_map_partials(d, a));
        if (!f.partial)
            return;
    }
    oa_parallel(d->context, items, row_map_item, &f);
    for (long i = 0; a->dgain && i < items; i++)
        d->cpu->real_kernels.axpy(a->width, 1, oa_real_at(d, f.partial, i * a->width), a->dgain);
    oa_arena_release(&d->scratch, mark);
}
