/* SPDX-License-Identifier: Apache-2.0
 * Models of every form, with the attention in each stack: the loss of a batch with padding equals
 * that of an oracle without padding, its gradient equals central differences, and the tokens, words
 * and segments in padding change no bit of either. */
#include "verify/model_case.h"
#include "verify/verify.h"

#include <math.h>
#include <string.h>

/* Losses in double differ by the order of sums in two blocks, with fitted features also by the fit
 * of the second, which depends on rounding errors of the first; slopes differ by the truncation
 * error of a difference with step 1e-5, too. */
static const double loss_bound = 1e-10, fitted_loss_bound = 1e-6, slope_bound = 1e-5;

static bool model_case_is_fitted(const struct oa_model_case *m)
{
    const struct oa_layer_spec *l = &m->label.single.spec.layer[0];
    bool fitted = false;
    for (int i = 0; i < l->groups; i++) {
        struct oa_group g = { .mechanism = l->group[i].atom.mechanism, .atom = &l->group[i].atom };
        fitted |= g.mechanism->fitted && g.mechanism->fitted(&g);
    }
    return fitted;
}

/* ---- loss ---- */

static void loss_matches_oracle(struct oa_proof *p, struct oa_model_case *m, double *condition)
{
    double smoothing = oa_model_case_is_static(m) ? m->model->options.train_label_smoothing : 0;
    double bound = model_case_is_fitted(m) ? fitted_loss_bound : loss_bound;
    double got = oa_model_case_loss(m, false, smoothing > 0);
    double want = oa_model_oracle(m, smoothing, condition);
    if (oa_status(p->context) != OA_OK)
        return;
    if (!oa_row_is_well_conditioned(*condition, bound)) {
        oa_proof_inconclusive(
            p, &m->label, bound * *condition,
            "%s: loss is ill-conditioned (weights of both signs divided by a sum near 0): "
            "rounding alone can give %.3g times the value",
            m->form->name, bound * *condition);
        return;
    }
    oa_proof_measure(p, &m->label, fabs(got - want) / (1 + fabs(want)) / *condition, bound,
                     "%s: loss of a batch%s against the oracle", m->form->name,
                     smoothing > 0 ? " with smoothed labels" : "");
}

/* ---- gradient ---- */

/* Adds `step` times a random direction, N(0, 1/count), to all trainable parameters. */
static void move_model_case(const struct oa_model_case *m, double step)
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

/* The derivative along the same direction. */
static double model_case_slope(const struct oa_model_case *m)
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

static void gradient_matches_difference(struct oa_proof *p, struct oa_model_case *m,
                                        double condition)
{
    const double step = 1e-5;
    bool train = oa_model_case_is_static(m);
    oa_model_case_loss(m, true, train);
    double got = model_case_slope(m);
    move_model_case(m, step);
    double above = oa_model_case_loss(m, false, train);
    move_model_case(m, -2 * step);
    double below = oa_model_case_loss(m, false, train), want = (above - below) / (2 * step);
    move_model_case(m, step);
    if (oa_status(p->context) == OA_OK)
        oa_proof_measure(p, &m->label, fabs(got - want) / (1 + fabs(want)) / condition, slope_bound,
                         "%s: directional derivative against a central difference", m->form->name);
}

/* ---- padding ---- */

/* Changes the ids in padding. */
static void change_padded_ids(int32_t *ids, const int32_t *lengths, long length, int32_t below)
{
    for (long r = 0; ids && lengths && r < OA_CASE_ROWS; r++)
        for (long t = lengths[r]; t < length; t++)
            ids[r * length + t] = (ids[r * length + t] + 1 + (int32_t)t % 3) % below;
}

/* Loss and gradients into out. */
static void model_case_results(struct oa_model_case *m, double *out)
{
    out[0] = oa_model_case_loss(m, true, false);
    oa_reals_read(m->device, m->model->store.updated, m->model->store.gradients, out + 1);
}

static void padded_ids_change_nothing(struct oa_proof *p, struct oa_model_case *m)
{
    const struct oa_batch *b = &m->batch;
    long count = 1 + m->model->store.updated;
    double *before = oa_model_case_array(m, count), *after = oa_model_case_array(m, count),
           different = 0;
    if (!before || !after)
        return;
    model_case_results(m, before);
    change_padded_ids(m->input, b->lengths, b->length, OA_CASE_VOCABULARY);
    change_padded_ids(m->words, b->lengths, b->length, 2);
    change_padded_ids(m->segments, b->lengths, b->length, 2);
    change_padded_ids(m->source, b->source_lengths, b->source_length, OA_CASE_VOCABULARY);
    change_padded_ids(m->source_words, b->source_lengths, b->source_length, 2);
    model_case_results(m, after);
    for (long i = 0; i < count; i++)
        different += memcmp(&before[i], &after[i], sizeof *before) != 0;
    if (oa_status(p->context) == OA_OK)
        oa_proof_measure(p, &m->label, different, 0,
                         "%s: loss and gradients changed by tokens in padding", m->form->name);
}

/* ---- the subject ---- */

static void verify_models(struct oa_proof *p, const char *spec)
{
    const struct oa_case_form *f;
    for (int i = 0; (f = oa_case_form_at(i)) && !oa_proof_stopped(p); i++) {
        struct oa_model_case m;
        if (oa_model_case_open(p->context, spec, f, OA_PRECISION_F64, &m) == OA_OK) {
            double condition = INFINITY;
            loss_matches_oracle(p, &m, &condition);
            if (!model_case_is_fitted(&m) && condition < 1e3)
                gradient_matches_difference(p, &m, condition);
            if (f->padding)
                padded_ids_change_nothing(p, &m);
        }
        oa_proof_error(p, &m.label);
        oa_model_case_close(&m);
    }
}

const struct oa_subject oa_subject_models = { "models", 6, verify_models, NULL };
