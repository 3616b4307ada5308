/* SPDX-License-Identifier: Apache-2.0
 * eval --pairs, eval --choices: the share of questions for which the right one of several texts has
 * the highest log-probability.
 *
 * Context and choice are encoded together, with a blank between them where there is none; as in
 * lm-evaluation-harness, the first tokens, as many as the context alone has, are not scored. */
#include "api/api.h"
#include "base/reserve.h"
#include "data/questions.h"
#include "print/print.h"
#include "statistics/shares.h"

#include <ctype.h>
#include <string.h>

/* Of the questions of a file, or of all. Index 0: by log-probability; 1: by that per byte. */
struct choice_tally {
    int count, right[2];
    int ties[2]; /* of the right choice with another, which do not count as right */
};

struct choice_eval {
    struct oa_trained t;
    const struct oa_eval_choices_request *r;
    const char *folder, *data;
    struct oa_questions questions;
    struct oa_ids prefix, context, whole; /* the latter two begin with the prefix */
    struct oa_text text, details;
    double *nats; /* [room] */
    size_t room;
    double *score[2];           /* [choices]: log-probabilities, the same for each byte */
    int *tokens, *bytes;        /* [choices] scored */
    struct choice_tally *tally; /* [files + 1], the last of all */
    int files;
    long cut;    /* questions of which a context was shortened */
    bool unseen; /* the first token of some text was not scored */
};

/* ---- a choice ---- */

/* Context and choice as one text, with a blank between them; *context: its bytes, without blanks
 * at its end, which belong to the choice. */
static enum oa_error join_choice(struct choice_eval *x, const struct oa_question *q, int choice,
                                 size_t *context)
{
    const struct oa_question_text *b = &x->questions.choice[choice];
    const char *s = x->questions.text.s + q->context.at, *text = x->questions.text.s + b->at;
    size_t n = q->context.length;
    oa_text_cut(&x->text, 0);
    oa_text_add(&x->text, s, n);
    if (n && !isspace((unsigned char)s[n - 1]) && !isspace((unsigned char)*text))
        oa_text_add(&x->text, " ", 1);
    oa_text_add(&x->text, text, b->length);
    while (n && isspace((unsigned char)s[n - 1]))
        n--;
    *context = n;
    return oa_status(x->t.context);
}

static enum oa_error encode_after_prefix(struct choice_eval *x, const char *place, size_t length,
                                         struct oa_ids *out)
{
    out->count = 0;
    OA_TRY(oa_ids_append(out, x->prefix.id, x->prefix.count));
    return length ? oa_tokenizer_encode_text(x->t.tokenizer, place, x->text.s, length, out, NULL)
                  : OA_OK;
}

/* Drops tokens of the context from the left where the model reads fewer. */
static enum oa_error fit_choice(struct choice_eval *x, const char *place, size_t *from,
                                size_t *first, bool *cut)
{
    size_t most = (size_t)x->t.model->options.model_context + 1;
    *first = x->context.count;
    if (*first == 0) {
        *first = 1;
        x->unseen = true;
    }
    *from = x->whole.count > most ? x->whole.count - most : 0;
    *cut = *cut || *from > 0;
    if (x->whole.count <= *first)
        return oa_fail(x->t.context, OA_FORMAT,
                       "%s: a choice has no token after those of its context; give --prefix",
                       place);
    if (*from + 1 > *first)
        return oa_fail(x->t.context, OA_SHAPE,
                       "%s: a choice has %zu tokens, more than the model's context of %zu", place,
                       x->whole.count - *first, most - 1);
    return OA_OK;
}

static enum oa_error score_choice(struct choice_eval *x, const struct oa_question *q, int choice,
                                  const char *place, bool *cut)
{
    size_t context, from, first;
    OA_TRY(join_choice(x, q, choice, &context));
    OA_TRY(encode_after_prefix(x, place, context, &x->context));
    OA_TRY(encode_after_prefix(x, place, x->text.length, &x->whole));
    OA_TRY(fit_choice(x, place, &from, &first, cut));
    size_t n = x->whole.count - first;
    if (!oa_reserve(x->t.context, &x->nats, &x->room, n, sizeof *x->nats))
        return OA_NO_MEMORY;
    OA_TRY(oa_model_score_from(&x->t.tape, x->t.model, x->whole.id + from,
                               (long)(x->whole.count - from), (long)(first - from), x->nats));
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum -= x->nats[i];
    x->tokens[choice] = (int)n;
    x->bytes[choice] = (int)x->questions.choice[choice].length;
    x->score[0][choice] = sum;
    x->score[1][choice] = sum / x->bytes[choice];
    return OA_OK;
}

/* ---- a question ---- */

static json_t *integers_json(oa_context *c, const int *x, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        oa_json_append(c, list, json_integer(x[i]));
    return list;
}

/* The number of the most likely choice; null: it is not the only one. */
static json_t *sole_answer_json(const double *score, int n)
{
    int best = (int)oa_likeliest(score, n), as_likely = 0;
    for (int i = 0; i < n; i++)
        as_likely += score[i] == score[best];
    return as_likely == 1 ? json_integer(best) : json_null();
}

static void add_choice_details(struct choice_eval *x, const struct oa_question *q)
{
    if (!x->r->details)
        return;
    json_t *file = oa_json_name(x->t.context, oa_questions_file(&x->questions, q->file));
    oa_json_line(&x->details,
                 json_pack("{s:o, s:I, s:i, s:o, s:o, s:o, s:o, s:o}", "file", file, "line",
                           (json_int_t)q->line, "label", q->label, "log_probabilities",
                           oa_json_numbers(x->t.context, x->score[0] + q->first, q->count),
                           "tokens", integers_json(x->t.context, x->tokens + q->first, q->count),
                           "bytes", integers_json(x->t.context, x->bytes + q->first, q->count),
                           "answer", sole_answer_json(x->score[0] + q->first, q->count),
                           "byte_answer", sole_answer_json(x->score[1] + q->first, q->count)));
}

static void tally_question(struct choice_tally *to, const struct oa_question *q,
                           double *const score[2])
{
    to->count++;
    for (int by = 0; by < 2; by++) {
        const double *s = score[by] + q->first;
        bool best = true, tie = false;
        for (int i = 0; i < q->count; i++) {
            best = best && s[i] <= s[q->label];
            tie = tie || (i != q->label && s[i] == s[q->label]);
        }
        to->right[by] += best && !tie;
        to->ties[by] += best && tie;
    }
}

static enum oa_error score_questions(struct choice_eval *x)
{
    struct oa_bar bar;
    oa_bar_open(&bar, x->t.context, "evaluating");
    for (size_t i = 0; i < x->questions.count; i++) {
        const struct oa_question *q = &x->questions.question[i];
        char place[OA_PATH];
        bool cut = false;
        snprintf(place, sizeof place, "%.900s, line %llu",
                 oa_questions_file(&x->questions, q->file), (unsigned long long)q->line);
        oa_bar_log(&bar, (long)i, (long)x->questions.count);
        for (int k = 0; k < q->count; k++)
            OA_TRY(score_choice(x, q, q->first + k, place, &cut));
        x->cut += cut;
        tally_question(&x->tally[q->file], q, x->score);
        tally_question(&x->tally[x->files], q, x->score);
        add_choice_details(x, q);
    }
    return oa_status(x->t.context);
}

/* ---- the answer ---- */

static const char *const by_names[2] = { "accuracy", "byte_accuracy" };

static void tally_json(const struct choice_eval *x, const struct choice_tally *t, json_t *to)
{
    oa_context *c = x->t.context;
    oa_json_set(c, to, "count", json_integer(t->count));
    for (int by = 0; by < (x->r->pairs ? 1 : 2); by++) {
        struct oa_share share = oa_share_of(t->right[by], t->count);
        oa_json_set(c, to, by_names[by],
                    json_pack("{s:f, s:f, s:f, s:i, s:i}", "value", (double)share.k / share.n,
                              "low", share.low, "high", share.high, "right", share.k, "ties",
                              t->ties[by]));
    }
}

static json_t *choice_eval_json(const struct choice_eval *x)
{
    oa_context *c = x->t.context;
    json_t *root = json_pack(
        "{s:o, s:o, s:s, s:s, s:s, s:o, s:I}", "run", oa_json_name(c, x->folder), "data",
        oa_json_name(c, x->data), "kind", x->r->pairs ? "minimal pairs" : "choices", "attention",
        x->t.options.model_attention, "tokenizer", oa_tokenizer_kind_name(x->t.tokenizer), "prefix",
        oa_json_name(c, x->r->prefix), "shortened", (json_int_t)x->cut);
    json_t *files = json_array();
    tally_json(x, &x->tally[x->files], root);
    for (int i = 0; i < x->files; i++) {
        json_t *file =
            json_pack("{s:o}", "file", oa_json_name(c, oa_questions_file(&x->questions, i)));
        tally_json(x, &x->tally[i], file);
        json_array_append_new(files, file);
    }
    oa_json_set(c, root, "files", files);
    oa_trained_json(&x->t, root);
    return root;
}

static void tally_text(const char *title, const struct choice_tally *t, int by, struct oa_text *out)
{
    struct oa_share share = oa_share_of(t->right[by], t->count);
    oa_text_printf(out,
                   "%-15s %.2f %%, 95 %% interval %.2f to %.2f %% (%d of %d; %d ties, not right)\n",
                   title, 100.0 * share.k / share.n, 100 * share.low, 100 * share.high, share.k,
                   share.n, t->ties[by]);
}

static void choices_text(const struct choice_eval *x, struct oa_text *out)
{
    const struct choice_tally *all = &x->tally[x->files];
    oa_text_printf(out, "run             ");
    oa_name_add(out, x->folder);
    oa_text_printf(out, "\n%-15s ", x->r->pairs ? "pairs" : "questions");
    oa_name_add(out, x->data);
    oa_text_printf(out, ", %d\n", all->count);
    tally_text("accuracy", all, 0, out);
    if (!x->r->pairs)
        tally_text("per byte", all, 1, out);
    for (int i = 0; i < x->files && x->files > 1; i++) {
        oa_name_add(out, oa_questions_file(&x->questions, i));
        oa_text_printf(out, "\n");
        tally_text("  accuracy", &x->tally[i], 0, out);
        if (!x->r->pairs)
            tally_text("  per byte", &x->tally[i], 1, out);
    }
    if (x->unseen)
        oa_text_printf(out, "Texts without context are scored from their second token on: "
                            "--prefix gives a token before the first one.\n");
    if (x->cut)
        oa_text_printf(out, "The contexts of %ld were shortened from the left to %ld tokens.\n",
                       x->cut, x->t.options.model_context);
}

static enum oa_error report_choices(struct choice_eval *x, const struct oa_output *out)
{
    struct oa_text text;
    if (x->r->details)
        OA_TRY(oa_file_write(x->t.context, x->r->details, x->details.s, x->details.length));
    oa_text_init(&text, x->t.context);
    if (oa_wants_json(out))
        oa_json_add(&text, choice_eval_json(x));
    else
        choices_text(x, &text);
    return oa_emit(out, &text);
}

/* ---- the command ---- */

static enum oa_error open_choices(struct choice_eval *x)
{
    oa_context *c = x->t.context;
    enum oa_question_kind kind = x->r->pairs ? OA_MINIMAL_PAIRS : OA_MULTIPLE_CHOICE;
    OA_TRY(oa_questions_read(c, x->data, kind, &x->questions));
    OA_TRY(oa_trained_open(c, x->folder, &x->t));
    if (!oa_is_language_model(&x->t.model->form))
        return oa_fail(c, OA_UNSUPPORTED,
                       "%s is no language model that reads from left to right: only such a model "
                       "gives whole texts a probability",
                       x->folder);
    if (x->r->prefix)
        OA_TRY(oa_tokenizer_encode(x->t.tokenizer, x->r->prefix, strlen(x->r->prefix), &x->prefix));
    x->files = x->questions.question[x->questions.count - 1].file + 1;
    for (int by = 0; by < 2; by++)
        x->score[by] = oa_alloc(c, x->questions.choices * sizeof *x->score[by]);
    x->tokens = oa_alloc(c, x->questions.choices * sizeof *x->tokens);
    x->bytes = oa_alloc(c, x->questions.choices * sizeof *x->bytes);
    x->tally = oa_alloc(c, ((size_t)x->files + 1) * sizeof *x->tally);
    return oa_status(c);
}

static void close_choices(struct choice_eval *x)
{
    oa_questions_close(&x->questions);
    oa_ids_free(&x->prefix);
    oa_ids_free(&x->context);
    oa_ids_free(&x->whole);
    oa_text_free(&x->text);
    oa_text_free(&x->details);
    oa_free(x->nats);
    oa_free(x->score[0]);
    oa_free(x->score[1]);
    oa_free(x->tokens);
    oa_free(x->bytes);
    oa_free(x->tally);
    oa_trained_close(&x->t);
}

enum oa_error oa_eval_choices(oa_context *c, const char *folder,
                              const struct oa_eval_choices_request *r, const struct oa_output *out)
{
    struct choice_eval x = { .t.context = c, .r = r, .folder = folder };
    OA_TRY(oa_status(c));
    OA_TRY(oa_check_reserved(c, "oa_eval_choices_request", r->reserved, 4));
    if (!r->pairs == !r->choices)
        return oa_fail(c, OA_ARGUMENT, "give minimal pairs or questions with choices");
    if (r->details)
        OA_TRY(oa_file_check(c, r->details));
    x.data = r->pairs ? r->pairs : r->choices;
    oa_ids_init(&x.prefix, c);
    oa_ids_init(&x.context, c);
    oa_ids_init(&x.whole, c);
    oa_text_init(&x.text, c);
    oa_text_init(&x.details, c);
    enum oa_error e = open_choices(&x);
    if (e == OA_OK)
        e = score_questions(&x);
    if (e == OA_OK)
        e = report_choices(&x, out);
    close_choices(&x);
    return e;
}
