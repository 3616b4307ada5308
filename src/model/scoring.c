/* SPDX-License-Identifier: Apache-2.0
 * Scoring: logits, negative log-likelihood of the tokens of a text, accuracy. */
#include "model/model.h"

#include <math.h>

/* Rows of logits computed at a time: bounds memory with large vocabularies. */
enum { ROWS = 64 };

const void *oa_model_logits(oa_tape *t, const struct oa_model *m, const oa_tensor *hidden,
                            long first, long rows)
{
    size_t bytes = (size_t)(rows * m->output->dim[0]) * m->device->numbers.real_size;
    void *logits = oa_tape_take(t, bytes);
    oa_model_write_logits(t, m, hidden, first, rows, logits);
    return logits;
}

void oa_model_write_logits(oa_tape *t, const struct oa_model *m, const oa_tensor *hidden,
                           long first, long rows, void *logits)
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
    const void *weights = oa_weight_operand(t, w, &g);
    if (logits)
        d->ops->gemm(d, &g, oa_act_at(d, hidden->data, first * hidden->ld), weights, logits);
    for (long i = 0; logits && b && i < rows; i++)
        d->ops->axpy(d, g.n, 1, b->value, oa_real_at(d, logits, i * g.n));
    if (logits && m->options.model_output_cap > 0)
        d->ops->soft_cap(d, rows * g.n, m->options.model_output_cap, logits);
}

struct oa_log_sum oa_log_sum_of(const double *logits, long count)
{
    struct oa_log_sum s = { .top = -INFINITY };
    double sum = 0;
    for (long i = 0; i < count; i++)
        s.top = fmax(s.top, logits[i]);
    for (long i = 0; i < count; i++)
        sum += exp(logits[i] - s.top);
    s.rest = log(sum);
    return s;
}

double oa_token_nats(const struct oa_log_sum *s, double logit)
{
    return s->rest - (logit - s->top);
}

/* position: of row 0. */
static enum oa_error visit_hidden_rows(oa_tape *t, const struct oa_model *m,
                                       const oa_tensor *hidden, long first, long rows,
                                       long position, const struct oa_logits_visitor *visitor)
{
    const void *logits = oa_model_logits(t, m, hidden, first, rows);
    double *row = oa_tape_take_host(t, (size_t)m->vocabulary * sizeof *row);
    struct oa_view v;
    OA_TRY(oa_status(m->context));
    size_t bytes = (size_t)(rows * m->vocabulary) * m->device->numbers.real_size;
    const void *host = oa_view_open(&v, m->device, logits, bytes, OA_VIEW_READ);
    for (long i = 0; host && i < rows; i++) {
        for (long k = 0; k < m->vocabulary; k++)
            row[k] = oa_real_get(m->device, host, i * m->vocabulary + k);
        visitor->visit(visitor->argument, position + first + i, row);
    }
    oa_view_close(&v);
    return oa_status(m->context);
}

enum oa_error oa_model_visit_hidden(oa_tape *t, const struct oa_model *m, oa_tensor *hidden,
                                    long position, const struct oa_logits_visitor *visitor)
{
    hidden = oa_model_head(t, m, hidden);
    OA_TRY(oa_status(m->context));
    long rows = hidden->rows;
    for (long i = oa_max(0, visitor->first - position); i < rows; i += ROWS)
        OA_TRY(visit_hidden_rows(t, m, hidden, i, oa_min(ROWS, rows - i), position, visitor));
    return OA_OK;
}

enum oa_error oa_model_visit_logits(oa_tape *t, struct oa_model *m, const int32_t *ids, long n,
                                    const struct oa_logits_visitor *visitor)
{
    const struct oa_sequences in = { .rows = 1, .length = n, .ids = ids };
    oa_tape_reset(t, false, false, (struct oa_stream){ 0 });
    return oa_model_visit_hidden(t, m, oa_model_hidden(t, m, &in, NULL, NULL), 0, visitor);
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

struct scored_window {
    const struct oa_model *model;
    const int32_t *ids; /* position 0 is the first of the window */
    long first;         /* token that is scored first */
    double *nats;
};

static void score_token(void *argument, long position, const double *logits)
{
    const struct scored_window *w = argument;
    const struct oa_log_sum s = oa_log_sum_of(logits, w->model->vocabulary);
    w->nats[position + 1 - w->first] = oa_token_nats(&s, logits[w->ids[position + 1]]);
}

static enum oa_error check_scores_texts(const struct oa_model *m)
{
    return oa_is_language_model(&m->form)
               ? OA_OK
               : oa_fail(m->context, OA_UNSUPPORTED,
                         "the model is of architecture %s with output %s: only a language model "
                         "(a decoder of tokens) scores texts",
                         oa_architecture_name(&m->form), oa_output_name(m->form.output));
}

/* n ids, each but the last predicting the next; nats [n - first] of those from `first` on. */
static enum oa_error score_window(oa_tape *t, struct oa_model *m, const int32_t *ids, long n,
                                  long first, double *nats)
{
    struct scored_window w = { m, ids, first, nats };
    return oa_model_visit_logits(t, m, ids, n - 1,
                                 &(struct oa_logits_visitor){ score_token, &w, first - 1 });
}

enum oa_error oa_model_score(oa_tape *t, struct oa_model *m, const int32_t *ids, long n,
                             double *nats)
{
    long context = m->options.model_context;
    OA_TRY(check_scores_texts(m));
    for (long i = 0; i + 1 < n; i += context) {
        if (oa_stop_requested(m->context))
            return oa_fail(m->context, OA_INTERRUPTED, "stopped after %ld of %ld tokens", i, n);
        OA_TRY(score_window(t, m, ids + i, oa_min(context, n - 1 - i) + 1, 1, nats + i));
    }
    return OA_OK;
}

enum oa_error oa_model_score_from(oa_tape *t, struct oa_model *m, const int32_t *ids, long n,
                                  long first, double *nats)
{
    OA_TRY(check_scores_texts(m));
    if (n - 1 > m->options.model_context || first < 1 || first > n)
        return oa_fail(m->context, OA_SHAPE,
                       "%ld tokens, scored from number %ld on: the model's context is %ld", n,
                       first, m->options.model_context);
    if (oa_stop_requested(m->context))
        return oa_fail(m->context, OA_INTERRUPTED, "stopped by signal %d",
                       oa_stop_requested(m->context));
    return first == n ? OA_OK : score_window(t, m, ids, n, first, nats);
}
