/* SPDX-License-Identifier: Apache-2.0
 * Beam search on incremental states: the log p of a text equals that of one pass over the text
 * (teacher forcing), and each source gives the same bits alone and in a batch. Decoders without a
 * source read several texts in a batch. */
#include "tasks/writer.h"
#include "verify/model_case.h"
#include "verify/verify.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 4, TEXTS = OA_CASE_ROWS * WIDTH };

/* A beam sums log p in f32: for logits up to `most` in size each of `tokens` terms is off by at
 * most two roundings of 2⁻²⁴ most. Decoding differs from a pass by the bounds of verify_decoding.c
 * for each of eight layers. */
static double beam_bound(const struct oa_model_case *m, double most, long tokens)
{
    static const double each[] = { [OA_PRECISION_F32] = 8 * 2e-5, [OA_PRECISION_F64] = 8 * 1e-12 };
    const struct oa_layer_spec *l = &m->label.single.spec.layer[0];
    double rounding = 1;
    for (int g = 0; g < l->groups; g++)
        rounding = fmax(rounding, l->group[g].atom.mechanism->rounding);
    return (double)tokens * most * (ldexp(2, -24) + rounding * each[m->label.setup.precision]);
}

/* ---- teacher forcing ---- */

/* A text as a batch of one row. */
struct forced_text {
    int32_t input[OA_CASE_LENGTH + 2], target[OA_CASE_LENGTH + 2];
    struct oa_batch batch;
};

static void set_forced_text(const struct oa_model_case *m, int row, const struct oa_hypothesis *h,
                            struct forced_text *out)
{
    int n = h->count + !h->cut;
    out->input[0] = OA_CASE_BEGIN;
    memcpy(out->input + 1, h->ids, (size_t)h->count * sizeof *h->ids);
    memcpy(out->target, h->ids, (size_t)h->count * sizeof *h->ids);
    out->target[h->count] = OA_CASE_END;
    out->batch =
        (struct oa_batch){ .rows = 1, .length = n, .input = out->input, .target = out->target };
    out->batch.source = m->source + row * OA_CASE_SOURCE;
    out->batch.source_words = m->source_words + row * OA_CASE_SOURCE;
    out->batch.source_length = m->batch.source_lengths[row];
}

/* log p of the targets by a pass over the text; *most: the largest |logit|. */
static double forced_score(struct oa_model_case *m, const struct forced_text *f, double *most)
{
    const int32_t *targets;
    long V = m->model->vocabulary;
    double score = 0;
    oa_tape_reset(&m->tape, false, false, (struct oa_stream){ 0 });
    const oa_tensor *hidden = oa_model_targets(&m->tape, m->model, &f->batch, &targets);
    const void *logits =
        hidden ? oa_model_logits(&m->tape, m->model, hidden, 0, hidden->rows) : NULL;
    double *x = logits ? oa_model_case_array(m, hidden->rows * V) : NULL;
    if (!x)
        return NAN;
    oa_reals_read(m->device, hidden->rows * V, logits, x);
    for (long t = 0; t < hidden->rows; t++) {
        double sum = 0;
        for (long i = 0; i < V; i++) {
            sum += exp(x[t * V + i]);
            *most = fmax(*most, fabs(x[t * V + i]));
        }
        score += x[t * V + targets[t]] - log(sum);
    }
    return score;
}

/* ---- beam search ---- */

struct case_search {
    struct oa_model_case *m;
    struct oa_writer writer;
    struct oa_source_ids source[OA_CASE_ROWS];
    struct oa_hypothesis found[TEXTS];
};

/* By how much log p changes if weights that are sums of cancelling terms, as (q·k)² is of what
 * decoding keeps, are off by rounding errors: the largest of some draws in the oracle, times a
 * margin. */
static double cancellation_bound(struct oa_model_case *m)
{
    enum { DRAWS = 8, MARGIN = 2 };
    double condition, exact, most = 0;
    const struct oa_layer_spec *l = &m->label.single.spec.layer[0];
    bool can_cancel = false;
    for (int g = 0; g < l->groups; g++)
        can_cancel |= l->group[g].atom.mechanism->sizes != NULL;
    if (!can_cancel)
        return 0;
    exact = oa_model_oracle(m, 0, &condition);
    m->noise = m->label.setup.precision == OA_PRECISION_F32 ? ldexp(1, -24) : ldexp(1, -53);
    for (m->draw = 0; m->draw < DRAWS; m->draw++)
        most = fmax(most, fabs(oa_model_oracle(m, 0, &condition) - exact));
    m->noise = 0;
    return MARGIN * most;
}

/* One text; *worst, *bound: the error in units of the condition number, and the bound, of the text
 * that is nearest to its bound. The oracle gives the condition number. */
static void text_matches_teacher_forcing(struct oa_proof *p, struct case_search *s, int i,
                                         double *worst, double *bound)
{
    struct oa_model_case *m = s->m;
    struct forced_text f;
    struct oa_batch saved = m->batch;
    double most = 0, condition;
    set_forced_text(m, i / WIDTH, &s->found[i], &f);
    double want = forced_score(m, &f, &most);
    m->batch = f.batch;
    oa_model_oracle(m, 0, &condition);
    double of_text = beam_bound(m, most, f.batch.length) + cancellation_bound(m);
    m->batch = saved;
    double error = fabs(s->found[i].score - want) / condition;
    if (!oa_row_is_well_conditioned(condition, of_text))
        oa_proof_inconclusive(
            p, &m->label, of_text * condition,
            "%s: log p of beam search is ill-conditioned, text %d: rounding alone can give %.3g",
            m->form->name, i, of_text * condition);
    else if (!isnan(*worst) && !(error / of_text <= *worst / *bound)) { /* NaN stays */
        *worst = error;
        *bound = of_text;
    }
}

static void scores_match_teacher_forcing(struct oa_proof *p, struct case_search *s)
{
    double worst = -1, bound = 1;
    for (int i = 0; i < TEXTS; i++)
        if (s->found[i].count >= 0)
            text_matches_teacher_forcing(p, s, i, &worst, &bound);
    if (oa_status(p->context) == OA_OK && worst != -1)
        oa_proof_measure(p, &s->m->label, worst, bound,
                         "%s: log p of beam search against teacher forcing", s->m->form->name);
}

static bool are_same_hypotheses(const struct oa_hypothesis *a, const struct oa_hypothesis *b)
{
    return a->count == b->count && memcmp(&a->score, &b->score, sizeof a->score) == 0 &&
           (a->count <= 0 || memcmp(a->ids, b->ids, (size_t)a->count * sizeof *a->ids) == 0);
}

static void other_sources_change_nothing(struct oa_proof *p, struct case_search *s)
{
    double different = 0;
    for (int r = 0; r < OA_CASE_ROWS && oa_status(p->context) == OA_OK; r++) {
        struct oa_hypothesis alone[WIDTH];
        if (oa_writer_write(&s->writer, &s->source[r], 1, alone) == OA_OK)
            for (int k = 0; k < WIDTH; k++)
                different += !are_same_hypotheses(&alone[k], &s->found[r * WIDTH + k]);
        oa_hypotheses_free(alone, WIDTH);
    }
    if (oa_status(p->context) == OA_OK)
        oa_proof_measure(p, &s->m->label, different, 0,
                         "%s: texts or scores changed by other sources in the batch",
                         s->m->form->name);
}

static enum oa_error open_case_writer(struct case_search *s, struct oa_tokenizer **tok)
{
    oa_context *c = s->m->context;
    struct oa_options decode;
    struct oa_text letters;
    int32_t begin, end;
    oa_text_init(&letters, c);
    oa_text_printf(&letters, "abcdefghijk");
    OA_TRY(oa_status(c));
    enum oa_error e = oa_tokenizer_open_texts(c, "char", &letters, NULL, tok);
    oa_text_free(&letters);
    OA_TRY(e);
    OA_TRY(oa_tokenizer_add_special(*tok, "<s>", &begin));
    OA_TRY(oa_tokenizer_add_special(*tok, "</s>", &end));
    if (begin != OA_CASE_BEGIN || end != OA_CASE_END)
        return oa_fail(c, OA_INTERNAL, "tokens <s> and </s> have ids %d and %d", begin, end);
    oa_options_default(&decode);
    decode.decode_beam = WIDTH;
    decode.decode_length_penalty = 2; /* prefers long texts, which check more steps */
    decode.decode_optimal_stopping = true;
    return oa_writer_open(s->m->model, *tok, &decode, WIDTH, &s->writer);
}

static void check_beam_search(struct oa_proof *p, struct oa_model_case *m)
{
    struct case_search s = { .m = m };
    struct oa_tokenizer *tok = NULL;
    for (int r = 0; r < OA_CASE_ROWS; r++) {
        long first = r * OA_CASE_SOURCE;
        s.source[r] = (struct oa_source_ids){ m->source + first, m->source_words + first,
                                              (size_t)m->batch.source_lengths[r] };
    }
    if (open_case_writer(&s, &tok) == OA_OK &&
        oa_writer_write(&s.writer, s.source, OA_CASE_ROWS, s.found) == OA_OK) {
        if (m->label.setup.precision !=
            OA_PRECISION_BF16) /* rounding errors of a text exceed its log p */
            scores_match_teacher_forcing(p, &s);
        other_sources_change_nothing(p, &s);
    }
    oa_hypotheses_free(s.found, TEXTS);
    oa_writer_close(&s.writer);
    oa_tokenizer_close(tok);
}

/* ---- decoders without a source ---- */

/* Reads `rows` texts from row `first` of the batch together; out [OA_CASE_LENGTH, rows, V] gets the
 * logits. */
static void read_case_texts(struct oa_model_case *m, struct oa_decoding_batch *d, int first,
                            int rows, float *out)
{
    long V = m->model->vocabulary;
    if (oa_decoding_batch_begin(d, rows, NULL) != OA_OK)
        return;
    for (int t = 0; t < OA_CASE_LENGTH; t++) {
        int32_t next[OA_CASE_ROWS];
        for (int r = 0; r < rows; r++)
            next[r] = m->input[(first + r) * OA_CASE_LENGTH + t];
        if (oa_decoding_batch_read(d, next, out + t * rows * V, NULL) != OA_OK)
            return;
    }
}

static void other_texts_change_nothing(struct oa_proof *p, struct oa_model_case *m)
{
    enum { NUMBERS = OA_CASE_LENGTH * OA_CASE_ROWS * OA_CASE_VOCABULARY };
    struct oa_decoding_batch d;
    float all[NUMBERS] = { 0 }, one[NUMBERS] = { 0 };
    size_t row = OA_CASE_VOCABULARY;
    double different = 0;
    if (oa_decoding_batch_open(m->model, OA_CASE_ROWS, &d) == OA_OK)
        read_case_texts(m, &d, 0, OA_CASE_ROWS, all);
    for (int r = 0; r < OA_CASE_ROWS && oa_status(p->context) == OA_OK; r++) {
        read_case_texts(m, &d, r, 1, one);
        for (size_t t = 0; t < OA_CASE_LENGTH; t++)
            different += memcmp(one + t * row, all + (t * OA_CASE_ROWS + (size_t)r) * row,
                                row * sizeof *one) != 0;
    }
    oa_decoding_batch_close(&d);
    if (oa_status(p->context) == OA_OK)
        oa_proof_measure(p, &m->label, different, 0,
                         "%s: logits changed by other texts in the batch", m->form->name);
}

/* ---- the subject ---- */

static bool can_decode(const struct oa_model *m)
{
    bool all = false;
    for (long i = 0; i < m->decoder.shape.layers; i++) {
        const struct oa_block *b = &m->decoder.block[i];
        all |= oa_layer_needs_all_tokens(&b->attention) || oa_layer_needs_all_tokens(&b->cross);
    }
    return m->form.decoder && m->form.output == OA_OUTPUT_TOKENS && !all;
}

static void verify_beams(struct oa_proof *p, const char *spec)
{
    static const enum oa_precision precisions[] = { OA_PRECISION_F64, OA_PRECISION_F32,
                                                    OA_PRECISION_BF16 };
    const struct oa_case_form *f;
    for (int k = 0; k < (p->quick ? 1 : 3); k++)
        for (int i = 0; (f = oa_case_form_at(i)) && !oa_proof_stopped(p); i++) {
            struct oa_model_case m;
            if (!f->decoder || f->output != OA_OUTPUT_TOKENS)
                continue;
            if (oa_model_case_open(p->context, spec, f, precisions[k], &m) == OA_OK) {
                if (can_decode(m.model) && f->encoder)
                    check_beam_search(p, &m);
                else if (can_decode(m.model))
                    other_texts_change_nothing(p, &m);
            }
            oa_proof_error(p, &m.label);
            oa_model_case_close(&m);
        }
}

const struct oa_subject oa_subject_beams = { "beams", 4, verify_beams, NULL };
