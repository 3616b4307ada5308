/* SPDX-License-Identifier: Apache-2.0
 * Fixed patterns (pattern.cl). */
#include "device/gpu/gpu.h"

enum { PATTERN_RUN = 64 }; /* units of a thread */

enum gpu_pattern_form { FORM_SHIFT, FORM_LAST, FORM_CONTEXT, FORM_WHOLE, FORM_CUBIC };

struct fixed_pattern { /* of pattern.cl */
    long batch, heads, values, in_length, out_length, first, run, chunks;
    long form, offset, mirrored, reversed, transposed, edge, kept, state_rows;
    const void *key_lengths, *query_lengths, *words;
    void *starts, *units, *state, *carry;
    const void *x;
    void *y;
    long ldx, ldy;
};

static enum gpu_pattern_form pattern_form(const struct oa_pattern_attention *a)
{
    switch (a->pattern) {
    case OA_PATTERN_LEFT:
    case OA_PATTERN_RIGHT:
        return FORM_CONTEXT;
    case OA_PATTERN_END:
        return FORM_WHOLE;
    case OA_PATTERN_START:
        return a->shape.causal ? FORM_CUBIC : FORM_WHOLE;
    case OA_PATTERN_LAST:
        return FORM_LAST;
    default:
        return FORM_SHIFT;
    }
}

static struct fixed_pattern fixed_pattern_of(const struct oa_pattern_attention *a, bool transposed)
{
    const struct oa_attention_shape *s = &a->shape;
    enum oa_pattern_kind p = a->pattern;
    enum gpu_pattern_form form = pattern_form(a);
    bool mirrored = p == OA_PATTERN_RIGHT || (p == OA_PATTERN_START && form == FORM_WHOLE);
    bool scans = form == FORM_CONTEXT || form == FORM_CUBIC;
    return (struct fixed_pattern){ .batch = s->batch,
                                   .heads = s->heads,
                                   .values = s->value_width,
                                   .in_length = transposed ? s->queries : s->keys,
                                   .out_length = transposed ? s->keys : s->queries,
                                   .first = s->first,
                                   .run = PATTERN_RUN,
                                   .chunks = oa_blocks(oa_max(s->keys, s->queries), PATTERN_RUN),
                                   .form = form,
                                   .offset = p == OA_PATTERN_NEXT       ? 1
                                             : p == OA_PATTERN_PREVIOUS ? -1
                                                                        : 0,
                                   .mirrored = mirrored,
                                   .reversed = scans && mirrored != transposed,
                                   .transposed = transposed,
                                   .edge = a->edge,
                                   .kept = !a->state                  ? 0
                                           : p == OA_PATTERN_PREVIOUS ? 1
                                           : p == OA_PATTERN_LEFT     ? 2
                                                                      : 0,
                                   .state_rows = a->state ? oa_pattern_state(p) : 0,
                                   .key_lengths = s->key_lengths,
                                   .query_lengths = s->query_lengths,
                                   .words = a->words,
                                   .state = a->state,
                                   .x = transposed ? a->d_o : a->v,
                                   .y = transposed ? a->dv : a->o,
                                   .ldx = transposed ? a->ldo : a->ldv,
                                   .ldy = transposed ? a->ldv : a->ldo };
}

static bool take_pattern_scratch(struct oa_device *d, struct fixed_pattern *s)
{
    long cols = s->heads * s->values, planes = s->form == FORM_CUBIC ? 4 : 1;
    s->carry =
        oa_gpu_take(d, (size_t)(planes * s->batch * (s->chunks + 1) * cols) * sizeof(double));
    s->starts = oa_gpu_take(d, (size_t)(s->batch * (s->in_length + 1)) * sizeof(int32_t));
    s->units = oa_gpu_take(d, (size_t)s->batch * sizeof(int32_t));
    return s->carry && s->starts && s->units;
}

static void run_fixed_pattern(struct oa_device *d, struct fixed_pattern *s)
{
    long cols = s->heads * s->values, runs = oa_blocks(s->batch * s->chunks * cols, OA_GPU_GROUP),
         columns = oa_blocks(s->batch * cols, OA_GPU_GROUP);
    size_t mark = oa_gpu_mark(d);
    if (!take_pattern_scratch(d, s))
        return;
    if (s->words)
        OA_GPU_INDIRECT(d, find_words, s->batch, 1, OA_GPU_STRUCT(*s));
    if (s->form != FORM_SHIFT && (s->form != FORM_LAST || s->transposed)) {
        OA_GPU_INDIRECT(d, run_sums, runs, 1, OA_GPU_STRUCT(*s));
        OA_GPU_INDIRECT(d, carry_sums, columns, 1, OA_GPU_STRUCT(*s));
    }
    OA_GPU_INDIRECT(d, pattern_rows, runs, 1, OA_GPU_STRUCT(*s));
    if (s->state_rows)
        OA_GPU_INDIRECT(d, keep_pattern, columns, 1, OA_GPU_STRUCT(*s));
    oa_gpu_give_back(d, mark);
}

void oa_gpu_pattern(struct oa_device *d, const struct oa_pattern_attention *a)
{
    struct fixed_pattern s = fixed_pattern_of(a, false);
    run_fixed_pattern(d, &s);
}

void oa_gpu_pattern_gradient(struct oa_device *d, const struct oa_pattern_attention *a)
{
    struct fixed_pattern s = fixed_pattern_of(a, true);
    if (a->dv)
        run_fixed_pattern(d, &s);
}
