/* SPDX-License-Identifier: Apache-2.0
 * The supports of the Sparse Transformer (key_sets.h has the sets): strided = BAND ∪ STRIDED, fixed
 * = CELL ∪ SUMMARY, united in every head or, split, in turn over the heads.
 *
 * As disjoint pieces, with l the stride:
 *
 *     piece    strided                            fixed
 *     near     BAND                               CELL
 *     before   j < i, same residue modulo l       summary columns j of earlier cells
 *     after    j > i, same residue modulo l       summary columns i, all j of later cells
 *
 * `after` only without causality. In split heads without a near set, the near piece has the pairs
 * of the far set in its range.
 *
 * While decoding, the state of fixed has the summary columns of earlier cells before the keys of
 * whole cells, so positions count from the first key after the summaries (`summaries` of the shape;
 * 0 for whole sequences, and so in the pieces). */
#include "device/key_sets.h"
#include "device/support_functions.h"

enum { FIXED, STRIDE, SUMMARY, SPLIT };

static struct oa_key_sets sets_of(const struct oa_support *s, long head)
{
    unsigned near = s->parameter[FIXED] ? OA_KEYS_CELL : OA_KEYS_BAND;
    unsigned far = s->parameter[FIXED] ? OA_KEYS_SUMMARY : OA_KEYS_STRIDED;
    struct oa_key_sets k = { .sets = near | far,
                             .stride = s->parameter[STRIDE],
                             .summary = s->parameter[SUMMARY] };
    if (s->parameter[SPLIT])
        k.sets = head % 2 == 0 ? near : far;
    return k;
}

/* Far sets span the whole sequence; near ones a stride to each side, or the cell. */
static void key_sets_range(const struct oa_support *s, const struct oa_attention_shape *a,
                           long head, long i0, long i1, long *low, long *high)
{
    struct oa_key_sets k = sets_of(s, head);
    long front = a->summaries;
    *low = 0;
    *high = a->keys;
    if (k.sets == OA_KEYS_BAND) {
        *low = i0 - k.stride + 1;
        *high = i1 - 1 + k.stride;
    } else if (k.sets == OA_KEYS_CELL) {
        *low = front + (i0 - front) / k.stride * k.stride;
        *high = front + ((i1 - 1 - front) / k.stride + 1) * k.stride;
    }
    *low = *low < 0 ? 0 : *low;
    *high = *high > a->keys ? a->keys : *high;
}

static bool key_sets_empty(const struct oa_support *s, const struct oa_attention_shape *a,
                           long head, long i0, long i1, long j0, long j1)
{
    struct oa_key_sets k = sets_of(s, head);
    long front = a->summaries;
    if (j0 < front && k.sets & OA_KEYS_SUMMARY)
        return false;
    j0 = oa_max(j0, front);
    return j0 >= j1 || !oa_keys_meet(&k, a->causal, i0 - front, i1 - front, j0 - front, j1 - front);
}

static bool key_sets_visible(const struct oa_support *s, const struct oa_attention_shape *a,
                             long head, long i, long j)
{
    struct oa_key_sets k = sets_of(s, head);
    long front = a->summaries;
    return j < front ? k.sets & OA_KEYS_SUMMARY : oa_keys_hold(&k, a->causal, i - front, j - front);
}

static double key_sets_pairs(const struct oa_support *s, const struct oa_attention_shape *a,
                             long head)
{
    struct oa_key_sets k = sets_of(s, head);
    return oa_keys_count(&k, a->causal, a->queries);
}

/* ---- pieces: near, before, and without causality after ---- */

/* A band or a cell; in heads without these, the near pairs of their far set: the row itself, or the
 * summary columns of its own cell, visible to each other only. */
static void near_row(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                     long i, long *low, long *high)
{
    struct oa_key_sets k = sets_of(s, head);
    long cell = i / k.stride * k.stride, summary = cell + k.stride - k.summary;
    if (k.sets & OA_KEYS_BAND) {
        *low = oa_max(0, i - k.stride + 1);
        *high = i + k.stride;
    } else if (k.sets & OA_KEYS_CELL) {
        *low = cell;
        *high = cell + k.stride;
    } else if (k.sets & OA_KEYS_STRIDED) {
        *low = i;
        *high = i + 1;
    } else {
        *low = summary;
        *high = i < summary ? summary : cell + k.stride;
    }
    *low = oa_min(*low, a->keys);
    *high = oa_min(*high, a->keys);
}

static bool has_far(const struct oa_support *s, long head)
{
    return sets_of(s, head).sets & (OA_KEYS_STRIDED | OA_KEYS_SUMMARY);
}

/* Rows of a residue class modulo the stride: those before this one. */
static void class_before(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                         long i, long *low, long *high)
{
    (void)a;
    *low = 0;
    *high = has_far(s, head) ? i : 0;
}

static void class_after(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                        long i, long *low, long *high)
{
    *low = oa_min(i + 1, a->keys);
    *high = has_far(s, head) ? a->keys : *low;
}

/* Keys are the summary columns: those of the cells before that of row i. */
static void summary_before(const struct oa_support *s, const struct oa_attention_shape *a,
                           long head, long i, long *low, long *high)
{
    *low = 0;
    *high =
        has_far(s, head) ? oa_min(a->keys, i / s->parameter[STRIDE] * s->parameter[SUMMARY]) : 0;
}

/* Queries are the rows of the summary columns: all keys of the cells after that of summary i. */
static void summary_after(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                          long i, long *low, long *high)
{
    *low = oa_min(a->keys, (i / s->parameter[SUMMARY] + 1) * s->parameter[STRIDE]);
    *high = has_far(s, head) ? a->keys : *low;
}

/* Bounds do not fall from row to row. */
static void piece_range(const struct oa_support *s, const struct oa_attention_shape *a, long head,
                        long i0, long i1, long *low, long *high)
{
    const struct oa_support_functions *f = oa_support_functions_of(s);
    long ignored;
    f->row(s, a, head, i0, low, &ignored);
    f->row(s, a, head, i1 - 1, &ignored, high);
}

const struct oa_support_functions oa_support_near = { .range = piece_range, .row = near_row };
const struct oa_support_functions oa_support_class_before = { .range = piece_range,
                                                              .row = class_before };
const struct oa_support_functions oa_support_class_after = { .range = piece_range,
                                                             .row = class_after };
const struct oa_support_functions oa_support_summary_before = { .range = piece_range,
                                                                .row = summary_before };
const struct oa_support_functions oa_support_summary_after = { .range = piece_range,
                                                               .row = summary_after };

/* With causality the near piece is cut and there is no piece `after`. */
static bool key_sets_piece(const struct oa_support *s, const struct oa_attention_shape *a,
                           int number, struct oa_piece *out)
{
    bool fixed = s->parameter[FIXED];
    long l = s->parameter[STRIDE], c = s->parameter[SUMMARY],
         full = oa_min(l, oa_max(1, a->queries));
    const struct oa_row_order all = { 1, 1, 0, 1 }, summary = { 1, l, l - c, c },
                              classes = { full, full, 0, 1 }; /* only those that have rows */
    *out = (struct oa_piece){ .queries = all, .keys = all, .support = *s };
    out->support.form = OA_SUPPORT_NEAR;
    if (number > 0 && !fixed) {
        out->queries = out->keys = classes;
        out->support.form = number == 1 ? OA_SUPPORT_CLASS_BEFORE : OA_SUPPORT_CLASS_AFTER;
    } else if (number == 1) {
        out->keys = summary;
        out->support.form = OA_SUPPORT_SUMMARY_BEFORE;
    } else if (number == 2) {
        out->queries = summary;
        out->support.form = OA_SUPPORT_SUMMARY_AFTER;
    }
    return number < (a->causal ? 2 : 3);
}

const struct oa_support_functions oa_support_key_sets = { .range = key_sets_range,
                                                          .empty = key_sets_empty,
                                                          .visible = key_sets_visible,
                                                          .pairs = key_sets_pairs,
                                                          .piece = key_sets_piece };

/* ---- making ---- */

long oa_default_stride(long length)
{
    long l = 1;
    while (l * l < length)
        l++;
    return l;
}

struct oa_support oa_support_sparse(bool fixed, long stride, long summary, bool split)
{
    long c = oa_min(summary, stride);
    struct oa_horizon cells = { .block = stride, .summary = c }, endless = { 0 };
    return (struct oa_support){
        .form = OA_SUPPORT_KEY_SETS,
        .parameter = { [FIXED] = fixed, [STRIDE] = stride, [SUMMARY] = c, [SPLIT] = split },
        .horizon = fixed && c < stride ? cells : endless
    };
}
