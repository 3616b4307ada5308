/* SPDX-License-Identifier: Apache-2.0
 *
 * The supports of the Sparse Transformer (key_sets.h has the sets): strided = BAND ∪ STRIDED, fixed = CELL ∪ SUMMARY,
 * united in every head or, split, in turn over the heads.
 */
#include "attention/key_sets.h"
#include "attention/support.h"

enum { FIXED, STRIDE, SUMMARY, SPLIT };

static struct oa_key_sets sets_of(const struct oa_support *s, long head)
{
    unsigned near = s->parameter[FIXED] ? OA_KEYS_CELL : OA_KEYS_BAND;
    unsigned far = s->parameter[FIXED] ? OA_KEYS_SUMMARY : OA_KEYS_STRIDED;
    struct oa_key_sets k = { .sets = near | far, .stride = s->parameter[STRIDE], .summary = s->parameter[SUMMARY] };
    if (s->parameter[SPLIT])
        k.sets = head % 2 == 0 ? near : far;
    return k;
}

/* Far sets reach over the whole sequence; near ones a stride to each side, or to the borders of cells. */
static void range(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i0, long i1,
                  long *low, long *high)
{
    struct oa_key_sets k = sets_of(s, head);
    *low = 0;
    *high = a->keys;
    if (k.sets == OA_KEYS_BAND) {
        *low = i0 - k.stride + 1;
        *high = i1 - 1 + k.stride;
    } else if (k.sets == OA_KEYS_CELL) {
        *low = i0 / k.stride * k.stride;
        *high = ((i1 - 1) / k.stride + 1) * k.stride;
    }
    *low = *low < 0 ? 0 : *low;
    *high = *high > a->keys ? a->keys : *high;
}

static bool empty(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i0, long i1, long j0,
                  long j1)
{
    struct oa_key_sets k = sets_of(s, head);
    return !oa_keys_meet(&k, a->causal, i0, i1, j0, j1);
}

static bool visible(const struct oa_support *s, const struct oa_attention_shape *a, long head, long i, long j)
{
    struct oa_key_sets k = sets_of(s, head);
    return oa_keys_hold(&k, a->causal, i, j);
}

static double pairs(const struct oa_support *s, const struct oa_attention_shape *a, long head)
{
    struct oa_key_sets k = sets_of(s, head);
    return oa_keys_count(&k, a->causal, a->queries);
}

long oa_default_stride(long length)
{
    long l = 1;
    while (l * l < length)
        l++;
    return l;
}

struct oa_support oa_support_sparse(bool fixed, long stride, long summary, bool split)
{
    return (
        struct oa_support){ .name = "sparse",
                            .parameter = { [FIXED] = fixed, [STRIDE] = stride, [SUMMARY] = summary, [SPLIT] = split },
                            .range = range,
                            .empty = empty,
                            .visible = visible,
                            .pairs = pairs };
}
