/* SPDX-License-Identifier: Apache-2.0
 * Scoring: logits, negative log-likelihood of the tokens of a text, accuracy. */
#include "model/model.h"

#include <math.h>

/* Rows of logits computed at a time: bounds memory with large vocabularies. */
enum { ROWS = 64 };

const void *oa_model_logits(oa_tape *t, const struct oa_model *m, const oa_tensor *hidden,
                            long first, long rows)
{
    struct oa_device *d = m->device;
    struct oa_parameter *w = m->output;
    const struct oa_parameter *b = m->output_bias;
    struct oa_gemm g = { .m = rows,
                         .n = w->dim[0],
                         .k = hidden->cols,
                         .lda = hidden->ld,
                         .ldb = hidden->cols,
                         .ldc = w->dim[0],
                         .tb = true,
                         .real_out = true,
                         .invariant_rows = t->invariant_rows };
    void *logits = oa_tape_take(t, (size_t)(rows * g.n) * d->numbers.real_size);
    const void *weights = oa_weight_operand(t, w, &g);
    if (logits)
        d->ops->gemm(d, &g, oa_act_at(d, hidden->data, first * hidden->ld), weights, logits);
    for (long i = 0; logits && b && i < rows; i++)
        d->ops->axpy(d, g.n, 1, b->value, oa_real_at(d, logits, i * g.n));
    if (logits && m->options.model_output_cap > 0)
        d->ops->soft_cap(d, rows * g.n, m->options.model_output_cap, logits);
    return logits;
}

/* −log softmax(row)[target] = log Σ e^(row − top) − (row[target] − top) */
static double negative_log_likelihood(struct oa_device *d, const void *logits, long start,
                                      long count, int32_t target)
{
    double top = -INFINITY, sum = 0;
    for (long i = 0; i < count; i++)
        top = fmax(top, oa_real_get(d, logits, start + i));
    for (long i = 0; i < count; i++)
        sum += exp(oa_real_get(d, logits, start + i) - top);
    return log(sum) - (oa_real_get(d, logits, start + target) - top);
}

static enum oa_error score_hidden_rows(oa_tape *t, const struct oa_model *m,
                                       const oa_tensor *hidden, long first, long rows,
                                       const int32_t *targets, double *nats)
{
    const void *logits = oa_model_logits(t, m, hidden, first, rows);
    struct oa_view v;
    OA_TRY(oa_status(m->context));
    size_t bytes = (size_t)(rows * m->vocabulary) * m->device->numbers.real_size;
    const void *host = oa_view_open(&v, m->device, logits, bytes, OA_VIEW_READ);
    for (long i = 0; host && i < rows; i++)
        nats[i] =
            negative_log_likelihood(m->device, host, i * m->vocabulary, m->vocabulary, targets[i]);
    oa_view_close(&v);
    return oa_status(m->context);
}

/* ---- accuracy ---- */

static bool is_most_likely(struct oa_device *d, const void *logits, long start, long count,
                           int32_t target)
{
    double top = oa_real_get(d, logits, start + target);
    for (long i = 0; i < count; i++) {
        double other = oa_real_get(d, logits, start + i);
        if (other > top || (other == top && i < target))
            return false;
    }
    return true;
}

static enum oa_error find_hits(oa_tape *t, const struct oa_model *m, const oa_tensor *hidden,
                               long first, long rows, const int32_t *targets, uint8_t *hit)
{
    const void *logits = oa_model_logits(t, m, hidden, first, rows);
    struct oa_view v;
    OA_TRY(oa_status(m->context));
    size_t bytes = (size_t)(rows * m->vocabulary) * m->device->numbers.real_size;
    const void *host = oa_view_open(&v, m->device, logits, bytes, OA_VIEW_READ);
    for (long i = 0; host && i < rows; i++)
        hit[i] = is_most_likely(m->device, host, i * m->vocabulary, m->vocabulary, targets[i]);
    oa_view_close(&v);
    return oa_status(m->context);
}

enum oa_error oa_model_hits(oa_tape *t, struct oa_model *m, const struct oa_batch *batch,
                            uint8_t *hit)
{
    const int32_t *targets;
    oa_tape_reset(t, false, false, (struct oa_stream){ 0 });
    const oa_tensor *hidden = oa_model_targets(t, m, batch, &targets);
    for (long i = 0; hidden && i < hidden->rows; i += ROWS)
        OA_TRY(find_hits(t, m, hidden, i, oa_min(ROWS, hidden->rows - i), targets + i, hit + i));
    return oa_status(m->context);
}

/* ---- texts ---- */

/* n + 1 ids, each but the last predicting the next. */
static enum oa_error score_window(oa_tape *t, struct oa_model *m, const int32_t *ids, long n,
                                  double *nats)
{
    oa_tape_reset(t, false, false, (struct oa_stream){ 0 });
    const oa_tensor *hidden = oa_model_hidden(
        t, m, &(struct oa_sequences){ .rows = 1, .length = n, .ids = ids }, NULL, NULL);
    OA_TRY(oa_status(m->context));
    for (long i = 0; i < n; i += ROWS)
        OA_TRY(score_hidden_rows(t, m, hidden, i, oa_min(ROWS, n - i), ids + i + 1, nats + i));
    return OA_OK;
}

enum oa_error oa_model_score(oa_tape *t, struct oa_model *m, const int32_t *ids, long n,
                             double *nats)
{
    long context = m->options.model_context;
    if (!oa_is_language_model(&m->form))
        return oa_fail(m->context, OA_UNSUPPORTED,
                       "the model is of architecture %s with output %s: only a language model (a "
                       "decoder of tokens) scores texts",
                       oa_architecture_name(&m->form), oa_output_name(m->form.output));
    for (long i = 0; i + 1 < n; i += context) {
        if (oa_stop_requested(m->context))
            return oa_fail(m->context, OA_INTERRUPTED, "stopped after %ld of %ld tokens", i, n);
        OA_TRY(score_window(t, m, ids + i, oa_min(context, n - 1 - i), nats + i));
    }
    return OA_OK;
}
