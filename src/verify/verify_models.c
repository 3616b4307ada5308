/* SPDX-License-Identifier: Apache-2.0
 * Models of every form, with the attention in each stack that has one: the loss of a batch with
 * padding is that of an oracle which never sees padding; its gradient is that of differences; and
 * neither has another bit when other tokens, words and segments stand in the padding of texts and
 * sources. */
#include "verify/model_case.h"
#include "verify/verify.h"

#include <math.h>
#include <string.h>

/* A fit is to sums over all queries and keys, whose rounding a layer behind it meets as another
 * fit. */
static const double loss_bound = 1e-10, fitted_loss_bound = 1e-6, slope_bound = 1e-5;

static bool is_fitted(const struct oa_model_case *m)
{
    const struct oa_layer_spec *l = &m->label.rig.spec.layer[0];
    bool fitted = false;
    for (int i = 0; i < l->groups; i++) {
        struct oa_group g = { .mechanism = l->group[i].atom.mechanism, .atom = &l->group[i].atom };
        fitted |= g.mechanism->fitted && g.mechanism->fitted(&g);
    }
    return fitted;
}

/* ---- the oracle's loss ---- */

static void loss_is_the_oracles(struct oa_proof *p, struct oa_model_case *m, double *condition)
{
    double smoothing = oa_model_case_is_still(m) ? m->model->options.train_label_smoothing : 0;
    double bound = is_fitted(m) ? fitted_loss_bound : loss_bound;
    double got = oa_model_case_loss(m, false, smoothing > 0);
    double want = oa_model_oracle(m, smoothing, condition);
    if (oa_status(p->context) != OA_OK)
        return;
    if (!oa_row_is_judged(*condition, bound)) {
        oa_proof_unjudged(p, &m->label, bound * *condition,
                          "%s: loss: weights of both signs, divided by a sum near 0: rounding "
                          "alone can give %.3g "
                          "times the value",
                          m->form->name, bound * *condition);
        return;
    }
    oa_proof_measure(p, &m->label, fabs(got - want) / (1 + fabs(want)) / *condition, bound,
                     "%s: loss of a batch%s, and the oracle's", m->form->name,
                     smoothing > 0 ? " with smoothed labels" : "");
}

/* ---- its gradient ---- */

/* Adds `step` times a direction to all trainable parameters: N(0, 1/count), from a stream. */
static void move(const struct oa_model_case *m, double step)
{
    struct oa_store *store = &m->model->store;
    struct oa_stream s = oa_stream_named(14, "direction");
    for (int i = 0, n = 0; i < store->count; i++) {
        const struct oa_parameter *q = store->parameter[i];
        for (long j = 0; q->trainable && j < q->count; j++) {
            double along = oa_random_normal(s, (uint64_t)n++) / sqrt((double)store->updated);
            oa_real_write(m->device, q->value, j,
                          oa_real_read(m->device, q->value, j) + step * along);
        }
    }
    oa_store_refresh(store);
}

/* The gradient times the same direction. */
static double slope(const struct oa_model_case *m)
{
    struct oa_store *store = &m->model->store;
    struct oa_stream s = oa_stream_named(14, "direction");
    double sum = 0;
    for (int i = 0, n = 0; i < store->count; i++) {
        const struct oa_parameter *q = store->parameter[i];
        for (long j = 0; q->trainable && j < q->count; j++)
            sum += oa_real_read(m->device, q->gradient, j) * oa_random_normal(s, (uint64_t)n++) /
                   sqrt((double)store->updated);
    }
    return sum;
}

static void gradient_is_a_difference(struct oa_proof *p, struct oa_model_case *m, double condition)
{
    const double step = 1e-5;
    bool train = oa_model_case_is_still(m);
    oa_model_case_loss(m, true, train);
    double got = slope(m);
    move(m, step);
    double above = oa_model_case_loss(m, false, train);
    move(m, -2 * step);
    double below = oa_model_case_loss(m, false, train), want = (above - below) / (2 * step);
    move(m, step);
    if (oa_status(p->context) == OA_OK)
        oa_proof_measure(p, &m->label, fabs(got - want) / (1 + fabs(want)) / condition, slope_bound,
                         "%s: gradient along a random direction, and the difference",
                         m->form->name);
}

/* ---- padding ---- */

static void disturb(int32_t *ids, const int32_t *lengths, long length, int32_t below)
{
    for (long r = 0; ids && lengths && r < OA_CASE_ROWS; r++)
        for (long t = lengths[r]; t < length; t++)
            ids[r * length + t] = (ids[r * length + t] + 1 + (int32_t)t % 3) % below;
}

/* The loss and all gradients into out. */
static void results(struct oa_model_case *m, double *out)
{
    out[0] = oa_model_case_loss(m, true, false);
    oa_reals_read(m->device, m->model->store.updated, m->model->store.gradients, out + 1);
}

static void padding_says_nothing(struct oa_proof *p, struct oa_model_case *m)
{
    const struct oa_batch *b = &m->batch;
    long count = 1 + m->model->store.updated;
    double *before = oa_model_case_room(m, count), *after = oa_model_case_room(m, count),
           different = 0;
    if (!before || !after)
        return;
    results(m, before);
    disturb(m->input, b->lengths, b->length, OA_CASE_VOCABULARY);
    disturb(m->words, b->lengths, b->length, 2);
    disturb(m->segments, b->lengths, b->length, 2);
    disturb(m->source, b->source_lengths, b->source_length, OA_CASE_VOCABULARY);
    disturb(m->source_words, b->source_lengths, b->source_length, 2);
    results(m, after);
    for (long i = 0; i < count; i++)
        different += memcmp(&before[i], &after[i], sizeof *before) != 0;
    if (oa_status(p->context) == OA_OK)
        oa_proof_measure(p, &m->label, different, 0,
                         "%s: loss and gradients that change with tokens in padding",
                         m->form->name);
}

/* ---- the subject ---- */

static void look(struct oa_proof *p, struct oa_model_case *m)
{
    double condition = INFINITY;
    loss_is_the_oracles(p, m, &condition);
    if (!is_fitted(m) && condition < 1e3)
        gradient_is_a_difference(p, m, condition);
    if (m->form->padding)
        padding_says_nothing(p, m);
}

static void each(struct oa_proof *p, const char *spec)
{
    const struct oa_case_form *f;
    for (int i = 0; (f = oa_case_form_at(i)) && !oa_proof_stopped(p); i++) {
        struct oa_model_case m;
        if (oa_model_case_open(p->context, spec, f, OA_PRECISION_F64, &m) == OA_OK)
            look(p, &m);
        oa_proof_error(p, &m.label);
        oa_model_case_close(&m);
    }
}

const struct oa_subject oa_subject_models = {
    .name = "models",
    .claim = "losses of models of every form are those of a plain oracle without padding",
    .work = 6,
    .each = each,
};
