/* SPDX-License-Identifier: Apache-2.0
 * Beam search by incremental states: the log p that it says of a text is that of one pass over the
 * text (teacher forcing), and sources side by side have the bits that each has alone. Decoders
 * without a source are read the same way, several texts side by side. */
#include "tasks/writer.h"
#include "verify/model_case.h"
#include "verify/verify.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 4, TEXTS = OA_CASE_ROWS * WIDTH };

/* ---- how far two ways to a log p may be apart ---- */

/* A beam adds log p of log-odds in f32: of log-odds up to `most` in size each of `tokens` terms is
 * off by no more than two roundings of 2⁻²⁴ most. The pass itself rounds too: by what a state may
 * differ from the whole sequence in one layer (verify_decoding.c), through eight of them. */
static double bound_of(const struct oa_model_case *m, double most, long tokens)
{
    static const double each[] = { [OA_PRECISION_F32] = 8 * 2e-5, [OA_PRECISION_F64] = 8 * 1e-12 };
    const struct oa_layer_spec *l = &m->label.rig.spec.layer[0];
    double rounding = 1;
    for (int g = 0; g < l->groups; g++)
        rounding = fmax(rounding, l->group[g].atom.mechanism->rounding);
    return (double)tokens * most * (ldexp(2, -24) + rounding * each[m->label.setup.precision]);
}

/* ---- a forced pass ---- */

/* A text as a batch of one row: what a decoder reads, and what it is to say. */
struct forced {
    int32_t input[OA_CASE_LENGTH + 2], target[OA_CASE_LENGTH + 2];
    struct oa_batch batch;
};

static void force(const struct oa_model_case *m, int row, const struct oa_hypothesis *h,
                  struct forced *out)
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

/* log p of the targets, from the log-odds of the pass; *most: the largest of these in size. */
static double forced_score(struct oa_model_case *m, const struct forced *f, double *most)
{
    const int32_t *targets;
    long V = m->model->vocabulary;
    double score = 0;
    oa_tape_reset(&m->tape, false, false, (struct oa_stream){ 0 });
    const oa_tensor *hidden = oa_model_targets(&m->tape, m->model, &f->batch, &targets);
    const void *logits =
        hidden ? oa_model_logits(&m->tape, m->model, hidden, 0, hidden->rows) : NULL;
    double *x = logits ? oa_model_case_room(m, hidden->rows * V) : NULL;
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

/* ---- beams ---- */

struct search {
    struct oa_model_case *m;
    struct oa_writer writer;
    struct oa_source_ids source[OA_CASE_ROWS];
    struct oa_hypothesis found[TEXTS];
};

/* A beam reports what a pass over the same text says; its oracle says whether rounding decides. */
static void scores_are_forced(struct oa_proof *p, struct search *s)
{
    struct oa_model_case *m = s->m;
    double worst = 0, bound = 0, condition = 1;
    struct oa_batch kept = m->batch;
    for (int i = 0; i < TEXTS; i++) {
        struct forced f;
        double most = 0, of_row;
        if (s->found[i].count < 0)
            continue;
        force(m, i / WIDTH, &s->found[i], &f);
        double want = forced_score(m, &f, &most), error = fabs(s->found[i].score - want);
        m->batch = f.batch;
        oa_model_oracle(m, 0, &of_row);
        m->batch = kept;
        condition = fmax(condition, of_row);
        bound = fmax(bound, bound_of(m, most, f.batch.length));
        worst = error <= worst ? worst : error; /* NaN stays */
    }
    if (oa_status(p->context) != OA_OK)
        return;
    if (bound * condition < 1)
        oa_proof_measure(p, &m->label, worst / condition, bound,
                         "%s: log p of beam search, and of a pass over the text", m->form->name);
    else
        oa_proof_unjudged(p, &m->label, bound * condition,
                          "%s: log p of beam search: rounding alone can give %.3g", m->form->name,
                          bound * condition);
}

static bool same(const struct oa_hypothesis *a, const struct oa_hypothesis *b)
{
    return a->count == b->count && memcmp(&a->score, &b->score, sizeof a->score) == 0 &&
           (a->count <= 0 || memcmp(a->ids, b->ids, (size_t)a->count * sizeof *a->ids) == 0);
}

static void sources_do_not_meet(struct oa_proof *p, struct search *s)
{
    double different = 0;
    for (int r = 0; r < OA_CASE_ROWS && oa_status(p->context) == OA_OK; r++) {
        struct oa_hypothesis alone[WIDTH];
        if (oa_writer_write(&s->writer, &s->source[r], 1, alone) == OA_OK)
            for (int k = 0; k < WIDTH; k++)
                different += !same(&alone[k], &s->found[r * WIDTH + k]);
        oa_hypotheses_free(alone, WIDTH);
    }
    if (oa_status(p->context) == OA_OK)
        oa_proof_measure(p, &s->m->label, different, 0,
                         "%s: texts or scores with other bits, alone and side by side",
                         s->m->form->name);
}

static enum oa_error open_writer(struct search *s, struct oa_tokenizer **tok)
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
        return oa_fail(c, OA_INTERNAL, "the tokens <s> and </s> have the numbers %d and %d", begin,
                       end);
    oa_options_default(&decode);
    decode.decode_beam = WIDTH;
    decode.decode_length_penalty = 2; /* long texts have many steps in which a beam can go wrong */
    decode.decode_patient = true;
    return oa_writer_open(s->m->model, *tok, &decode, WIDTH, &s->writer);
}

static void search(struct oa_proof *p, struct oa_model_case *m)
{
    struct search s = { .m = m };
    struct oa_tokenizer *tok = NULL;
    for (int r = 0; r < OA_CASE_ROWS; r++) {
        long first = r * OA_CASE_SOURCE;
        s.source[r] = (struct oa_source_ids){ m->source + first, m->source_words + first,
                                              (size_t)m->batch.source_lengths[r] };
    }
    if (open_writer(&s, &tok) == OA_OK &&
        oa_writer_write(&s.writer, s.source, OA_CASE_ROWS, s.found) == OA_OK) {
        if (m->label.setup.precision !=
            OA_PRECISION_BF16) /* whose roundings of a text add up to more than its log p */
            scores_are_forced(p, &s);
        sources_do_not_meet(p, &s);
    }
    oa_hypotheses_free(s.found, TEXTS);
    oa_writer_close(&s.writer);
    oa_tokenizer_close(tok);
}

/* ---- decoders alone ---- */

/* Reads the first `rows` texts of the batch from `first` on side by side, and writes all log-odds.
 */
static void read_rows(struct oa_model_case *m, struct oa_decoding_batch *d, int first, int rows,
                      float *out)
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

static void rows_do_not_meet(struct oa_proof *p, struct oa_model_case *m)
{
    enum { NUMBERS = OA_CASE_LENGTH * OA_CASE_ROWS * OA_CASE_VOCABULARY };
    struct oa_decoding_batch d;
    float all[NUMBERS] = { 0 }, one[NUMBERS] = { 0 };
    size_t row = OA_CASE_VOCABULARY;
    double different = 0;
    if (oa_decoding_batch_open(m->model, OA_CASE_ROWS, &d) == OA_OK)
        read_rows(m, &d, 0, OA_CASE_ROWS, all);
    for (int r = 0; r < OA_CASE_ROWS && oa_status(p->context) == OA_OK; r++) {
        read_rows(m, &d, r, 1, one);
        for (size_t t = 0; t < OA_CASE_LENGTH; t++)
            different += memcmp(one + t * row, all + (t * OA_CASE_ROWS + (size_t)r) * row,
                                row * sizeof *one) != 0;
    }
    oa_decoding_batch_close(&d);
    if (oa_status(p->context) == OA_OK)
        oa_proof_measure(p, &m->label, different, 0,
                         "%s: log-odds with other bits, alone and side by side", m->form->name);
}

/* ---- the subject ---- */

/* A layer that needs all tokens at once reads none on. */
static bool reads_on(const struct oa_model *m)
{
    bool all = false;
    for (long i = 0; i < m->decoder.shape.layers; i++) {
        const struct oa_block *b = &m->decoder.block[i];
        for (int g = 0; g < b->attention.groups; g++)
            all |= b->attention.group[g].needs_all != NULL;
        for (int g = 0; g < b->cross.groups; g++)
            all |= b->cross.group[g].needs_all != NULL;
    }
    return m->form.decoder && m->form.output == OA_OUTPUT_TOKENS && !all;
}

static void look(struct oa_proof *p, struct oa_model_case *m)
{
    if (!reads_on(m->model))
        return;
    if (m->form->encoder)
        search(p, m);
    else
        rows_do_not_meet(p, m);
}

static void each(struct oa_proof *p, const char *spec)
{
    static const enum oa_precision precisions[] = { OA_PRECISION_F64, OA_PRECISION_F32,
                                                    OA_PRECISION_BF16 };
    const struct oa_case_form *f;
    for (int k = 0; k < (p->quick ? 1 : 3); k++)
        for (int i = 0; (f = oa_case_form_at(i)) && !oa_proof_stopped(p); i++) {
            struct oa_model_case m;
            if (!f->decoder || f->output != OA_OUTPUT_TOKENS)
                continue;
            if (oa_model_case_open(p->context, spec, f, precisions[k], &m) == OA_OK)
                look(p, &m);
            oa_proof_error(p, &m.label);
            oa_model_case_close(&m);
        }
}

const struct oa_subject oa_subject_beams = {
    .name = "beams",
    .claim = "beam search says the log p that a pass over its text has; sources side by side do "
             "not meet",
    .work = 4,
    .each = each,
};
