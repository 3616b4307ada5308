/* SPDX-License-Identifier: Apache-2.0 */
#include "api/eval_stride.h"

#include "tokenizers/text.h"

#include <math.h>
#include <string.h>

static void count_target_text(const struct oa_trained *t, const struct oa_tokens *tokens,
                              const int32_t *ids, long n, struct oa_stride_loss *out)
{
    if (strcmp(oa_tokenizer_kind_name(t->tokenizer), "ids") == 0)
        return;
    for (long i = 0; i < n; i++) {
        size_t bytes;
        const char *s = oa_tokenizer_bytes(t->tokenizer, ids[i], &bytes);
        if (!s || (tokens->marked && oa_tokenizer_is_special(t->tokenizer, ids[i])))
            continue;
        out->bytes += bytes;
        out->characters += oa_text_characters(s, bytes);
    }
}

/* The sum of the nats of the targets, ids[first … n - 1], in *sum. */
static enum oa_error add_stride_window(struct oa_trained *t, const struct oa_tokens *tokens,
                                       const int32_t *ids, long n, long first, double *nats,
                                       struct oa_stride_loss *out, double *sum)
{
    OA_TRY(oa_model_score_from(&t->tape, t->model, ids, n, first, nats));
    *sum = 0;
    for (long i = 0; i < n - first; i++)
        *sum += nats[i];
    count_target_text(t, tokens, ids + first, n - first, out);
    out->windows++;
    out->targets += (uint64_t)(n - first);
    out->sum += *sum;
    return OA_OK;
}

static enum oa_error add_stride_windows(struct oa_trained *t, const struct oa_tokens *tokens,
                                        long context, long stride, int32_t *ids, double *nats,
                                        struct oa_stride_loss *out)
{
    struct oa_bar bar;
    uint64_t count = tokens->count, end = 0;
    double weighted = 0, weights = 0;
    oa_bar_open(&bar, t->context, "evaluating");
    for (uint64_t at = 0; end < count; at += (uint64_t)stride) {
        uint64_t before = end, left = count - at;
        long n = left < (uint64_t)context ? (long)left : context,
             first = before > at ? (long)(before - at) : 1;
        double sum, weight;
        end = at + (uint64_t)n;
        if (first >= n)
            continue;
        oa_bar_log(&bar, (long)at, (long)count);
        OA_TRY(oa_tokens_read(t->context, tokens, at, (size_t)n, ids));
        OA_TRY(add_stride_window(t, tokens, ids, n, first, nats, out, &sum));
        weight = (double)(end - before) - 1;
        weighted += weight * sum / (double)(n - first);
        weights += weight;
    }
    out->guide = weights > 0 ? weighted / weights : (double)NAN;
    return OA_OK;
}

enum oa_error oa_eval_stride(struct oa_trained *t, const struct oa_tokens *tokens, long context,
                             long stride, struct oa_stride_loss *out)
{
    int32_t *ids = oa_alloc(t->context, (size_t)context * sizeof *ids);
    double *nats = oa_alloc(t->context, (size_t)context * sizeof *nats);
    *out = (struct oa_stride_loss){ 0 };
    enum oa_error e =
        ids && nats ? add_stride_windows(t, tokens, context, stride, ids, nats, out) : OA_NO_MEMORY;
    oa_free(ids);
    oa_free(nats);
    return e;
}
