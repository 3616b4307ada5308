/* SPDX-License-Identifier: Apache-2.0
 * Softmax attention in bf16 on the matrix units of a card (attention_units.cl): dot products alone,
 * over all keys, the past or a window. Everything else is the general engine's (gpu_logits.c). */
#include "device/gpu/gpu.h"

enum { UNIT_ROWS = 64 };
#define ANY_DISTANCE (1L << 40)

struct units_attention { /* attention of attention_units.cl */
    long batch, queries, keys, heads, key_heads, first, back, ahead;
    double scale;
    long ldq, ldk, ldv, ldo;
    const void *q, *k, *v, *o, *d_o, *lse, *delta, *dq, *dk, *dv;
    const int32_t *key_lengths, *query_lengths;
};

/* Rows are copied 16 bytes at a time. */
static bool is_aligned(const void *x, long ld)
{
    return (uintptr_t)x % 16 == 0 && ld % 8 == 0;
}

static bool units_wanted(const struct oa_device *d, const struct oa_logits *a)
{
    const struct oa_attention_shape *s = &a->shape;
    const struct oa_logits_part *p = &a->part[0];
    bool plain = a->parts == 1 && p->kind == OA_PART_DOT && !p->q_table && !p->k_table &&
                 !p->bias && p->scale > 0 && !a->alpha && !a->distances.table &&
                 !a->forgetting.query && a->normaliser == OA_NORMALISE_SOFTMAX && a->keep >= 1 &&
                 s->logit_cap == 0 && s->key_head_rows == 0;
    bool support = a->support.form == OA_SUPPORT_ALL || a->support.form == OA_SUPPORT_WINDOW;
    bool width =
        p->width == s->value_width && (p->width == 32 || p->width == 64 || p->width == 128);
    return oa_gpu_of(d)->facts.matrix_units && d->numbers.precision == OA_PRECISION_BF16 && plain &&
           support && width && s->queries > 1 && s->batch * s->heads <= 65535 &&
           s->heads % oa_key_heads(s) == 0 && is_aligned(p->q, p->ldq) &&
           is_aligned(p->k, p->ldk) && is_aligned(a->v, a->ldv) && is_aligned(a->o, a->ldo) &&
           is_aligned(a->d_o, 8) && is_aligned(p->dq, 8) && is_aligned(p->dk, 8) &&
           is_aligned(a->dv, 8);
}

static struct units_attention units_attention_of(const struct oa_logits *a)
{
    const struct oa_attention_shape *s = &a->shape;
    const struct oa_logits_part *p = &a->part[0];
    bool window = a->support.form == OA_SUPPORT_WINDOW;
    long reach = a->support.parameter[0];
    return (struct units_attention){
        .batch = s->batch,
        .queries = s->queries,
        .keys = s->keys,
        .heads = s->heads,
        .key_heads = oa_key_heads(s),
        .first = s->first,
        .back = !window     ? ANY_DISTANCE
                : s->causal ? reach - 1
                            : reach,
        .ahead = s->causal ? 0
                 : window  ? reach
                           : ANY_DISTANCE,
        .scale = p->scale,
        .ldq = p->ldq,
        .ldk = p->ldk,
        .ldv = a->ldv,
        .ldo = a->ldo,
        .q = p->q,
        .k = p->k,
        .v = a->v,
        .o = a->o,
        .d_o = a->d_o,
        .lse = a->lse,
        .dq = p->dq,
        .dk = p->dk,
        .dv = a->dv,
        .key_lengths = s->key_lengths,
        .query_lengths = s->query_lengths,
    };
}

static enum oa_gpu_kernel of_width(long width, enum oa_gpu_kernel of_32, enum oa_gpu_kernel of_64,
                                   enum oa_gpu_kernel of_128)
{
    return width == 32 ? of_32 : width == 64 ? of_64 : of_128;
}

static void launch_units(struct oa_device *d, enum oa_gpu_kernel kernel, long blocks, long heads,
                         const struct units_attention *u)
{
    oa_gpu_launch(d, kernel,
                  &(struct oa_gpu_grid){ .groups = { blocks, heads, 1 },
                                         .threads = OA_GPU_GROUP,
                                         .indirect = true,
                                         OA_GPU_ARGUMENTS(OA_GPU_STRUCT(*u)) });
}

bool oa_gpu_attention_units(struct oa_device *d, const struct oa_logits *a)
{
    if (!units_wanted(d, a))
        return false;
    struct units_attention u = units_attention_of(a);
    launch_units(d,
                 of_width(a->shape.value_width, OA_GPU_KERNEL_attention_forward_32,
                          OA_GPU_KERNEL_attention_forward_64, OA_GPU_KERNEL_attention_forward_128),
                 oa_blocks(u.queries, UNIT_ROWS), u.batch * u.heads, &u);
    return true;
}

bool oa_gpu_attention_units_gradient(struct oa_device *d, const struct oa_logits *a)
{
    long width = a->shape.value_width, rows = a->shape.batch * a->shape.heads * a->shape.queries;
    if (!units_wanted(d, a) || !a->part[0].dk != !a->dv)
        return false;
    size_t mark = oa_gpu_mark(d);
    struct units_attention u = units_attention_of(a);
    u.delta = oa_gpu_take_reals(d, rows);
    if (!u.delta)
        return true;
    OA_GPU_INDIRECT(d, attention_deltas, oa_blocks(rows, 4), 1, OA_GPU_STRUCT(u),
                    OA_GPU_LONG(width));
    if (u.dq)
        launch_units(d,
                     of_width(width, OA_GPU_KERNEL_attention_queries_32,
                              OA_GPU_KERNEL_attention_queries_64,
                              OA_GPU_KERNEL_attention_queries_128),
                     oa_blocks(u.queries, UNIT_ROWS), u.batch * u.heads, &u);
    if (u.dk && u.dv)
        launch_units(d,
                     of_width(width, OA_GPU_KERNEL_attention_keys_32,
                              OA_GPU_KERNEL_attention_keys_64, OA_GPU_KERNEL_attention_keys_128),
                     oa_blocks(u.keys, UNIT_ROWS), u.batch * u.key_heads, &u);
    oa_gpu_give_back(d, mark);
    return true;
}
