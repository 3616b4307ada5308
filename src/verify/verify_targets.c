/* SPDX-License-Identifier: Apache-2.0
 * Inputs and targets of batches: the next token of a text; the original token at a masked position;
 * source, target, segments and label of the same example; no target in padding. Token ids encode
 * their position or example. */
#include "data/examples.h"
#include "data/masking.h"
#include "verify/verify.h"

#include <math.h>
#include <string.h>

enum { TEXT = 40, ROWS = 3, STEPS = 8 };

/* Returns how many values of a batch are wrong. */
typedef double oa_batch_check(const struct oa_batch *b, const void *argument);

/* Wrong values of some training batches and of all validation batches. */
static double count_wrong_values(oa_context *c, const struct oa_batches_kind *kind, void *self,
                                 const struct oa_tokenizer *tok, oa_batch_check *check,
                                 const void *argument)
{
    struct oa_batch b;
    struct oa_cover cover;
    double wrong = 0;
    for (uint64_t step = 1; step <= STEPS && oa_status(c) == OA_OK; step++)
        if (kind->random(self, step, 1, 0, &b) == OA_OK)
            wrong += check(&b, argument);
    if (oa_status(c) != OA_OK || kind->cover(self, tok, 0, &cover) != OA_OK)
        return wrong;
    for (long i = 0; i < cover.batches; i++)
        if (kind->window(self, i, &b) == OA_OK)
            wrong += check(&b, argument);
    return wrong;
}

static void measure_wrong_values(struct oa_proof *p, double wrong, const char *what)
{
    if (oa_status(p->context) == OA_OK)
        oa_proof_measure_mechanism(p, "batches", wrong, 0, "%s", what);
}

/* ---- rows of a text: token i has id i ---- */

static double count_wrong_next_tokens(const struct oa_batch *b, const void *argument)
{
    double wrong = 0, last = *(const int32_t *)argument;
    for (int i = 0; i < b->rows * b->length; i++)
        wrong += b->target[i] == OA_IGNORED ? b->input[i] != 0 : b->target[i] != b->input[i] + 1;
    for (int r = 0; r < b->rows; r++) /* a row ends early only where the text does */
        for (int t = 1, i = r * b->length + 1; t < b->length; t++, i++)
            wrong += b->target[i] == OA_IGNORED && b->target[i - 1] != OA_IGNORED &&
                     b->target[i - 1] != last;
    return wrong;
}

static void check_text_batches(struct oa_proof *p, const struct oa_tokenizer *tok,
                               const struct oa_tokens *text)
{
    struct oa_batches *b;
    if (oa_batches_open(p->context, text, ROWS, 7, 1, &b) != OA_OK)
        return;
    measure_wrong_values(p,
                         count_wrong_values(p->context, b->kind, b->self, tok,
                                            count_wrong_next_tokens, &text->ids[TEXT - 1]),
                         "rows of a text: targets other than the next token");
    oa_batches_close(b);
}

/* ---- masked text ---- */

struct mask_ids {
    int32_t cls, sep, mask;
};

/* A row is a crop s, s + 1, …: every target, and every token without one, gives s. */
static double count_wrong_masked_tokens(const struct oa_batch *b, const void *argument)
{
    const struct mask_ids *k = argument;
    double wrong = 0;
    for (int r = 0; r < b->rows; r++) {
        const int32_t *input = b->input + r * b->length, *target = b->target + r * b->length;
        int n = b->lengths ? b->lengths[r] : b->length, start = -1, hidden = 0;
        for (int t = 1; t < n - 1; t++) {
            int32_t stood = target[t] == OA_IGNORED ? input[t] : target[t];
            start = t == 1 ? stood : start;
            wrong += stood != start + t - 1;
            hidden += target[t] != OA_IGNORED;
        }
        wrong += hidden != oa_masked_count(0.4, n - 2);
        wrong += input[0] != k->cls || input[n - 1] != k->sep;
        wrong += target[0] != OA_IGNORED;
        for (int t = n - 1; t < b->length; t++)
            wrong += target[t] != OA_IGNORED;
    }
    return wrong;
}

static void check_masked_batches(struct oa_proof *p, struct oa_tokenizer *tok,
                                 const struct oa_tokens *text)
{
    struct mask_ids k;
    struct oa_batches *b;
    struct oa_masking how = {
        .rows = ROWS, .length = 9, .share = 0.4, .seed = 1, .tokenizer = tok
    };
    if (oa_tokenizer_add_special(tok, "[CLS]", &k.cls) != OA_OK ||
        oa_tokenizer_add_special(tok, "[SEP]", &k.sep) != OA_OK ||
        oa_tokenizer_add_special(tok, "[MASK]", &k.mask) != OA_OK ||
        oa_masked_batches_open(p->context, text, &how, &b) != OA_OK)
        return;
    measure_wrong_values(
        p, count_wrong_values(p->context, b->kind, b->self, tok, count_wrong_masked_tokens, &k),
        "masked text: targets other than the original token");
    oa_batches_close(b);
}

/* ---- examples: the tokens of example e are 100 e and more ---- */

enum { EXAMPLES = 9, MOST = 8 };
struct example_set {
    int32_t source[EXAMPLES * MOST], target[EXAMPLES * MOST], split[EXAMPLES], label[EXAMPLES];
    int32_t goal[EXAMPLES * MOST], goals[EXAMPLES];
    size_t from_source[EXAMPLES + 1], from_target[EXAMPLES + 1];
    struct oa_rows rows;
    struct oa_examples examples;
};

static size_t append_example_ids(int32_t *ids, size_t at, int example, int n)
{
    for (int t = 0; t < n; t++)
        ids[at++] = 100 * (example + 1) + t;
    return at;
}

/* Sources of 2 to 7 tokens, whose second text starts at token 1 to 3; targets of 2 to 8. */
static void make_example_set(struct example_set *m, bool decoder)
{
    *m = (struct example_set){ .rows = { .name = "made",
                                         .answer = decoder ? OA_ANSWER_TEXT : OA_ANSWER_CLASS } };
    for (int e = 0; e < EXAMPLES; e++) {
        m->from_source[e + 1] = append_example_ids(m->source, m->from_source[e], e, 2 + e * 5 % 6);
        m->from_target[e + 1] = append_example_ids(m->target, m->from_target[e], e, 2 + e * 4 % 7);
        m->split[e] = 1 + e % 3 % (1 + e * 5 % 6);
        m->label[e] = e % 4;
    }
    m->examples = (struct oa_examples){
        .rows = &m->rows,
        .count = EXAMPLES,
        .source = { .ids = m->source, .start = m->from_source, .longest = 7 }
    };
    if (decoder)
        m->examples.target =
            (struct oa_id_lists){ .ids = m->target, .start = m->from_target, .longest = 8 };
    else
        m->examples.split = m->split, m->examples.label = m->label;
}

/* Wrong ids of a row: n tokens of example e from token `first`, then `rest`. */
static double count_wrong_ids(const int32_t *row, long length, int e, int first, long n,
                              int32_t rest)
{
    double wrong = 0;
    for (long t = 0; t < length; t++)
        wrong += row[t] != (t < n ? 100 * (e + 1) + first + (int32_t)t : rest);
    return wrong;
}

static double count_wrong_row_values(const struct example_set *m, const struct oa_batch *b, int r)
{
    const int32_t *input = b->input + r * b->length;
    int e = input[0] / 100 - 1;
    if (e < 0 || e >= EXAMPLES)
        return 1;
    long sources = (long)(m->from_source[e + 1] - m->from_source[e]);
    if (!b->target) {
        double wrong =
            count_wrong_ids(input, b->length, e, 0, sources, 0) + (b->lengths[r] != sources);
        for (long t = 0; t < sources; t++)
            wrong += b->segments[r * b->length + t] != (t >= m->split[e]);
        return wrong + (b->label[r] != m->label[e]);
    }
    long n = (long)(m->from_target[e + 1] - m->from_target[e]) - 1;
    return count_wrong_ids(input, b->length, e, 0, n, 0) +
           count_wrong_ids(b->target + r * b->length, b->length, e, 1, n, OA_IGNORED) +
           count_wrong_ids(b->source + r * b->source_length, b->source_length, e, 0, sources, 0) +
           (b->lengths[r] != n) + (b->source_lengths[r] != sources);
}

static double count_wrong_examples(const struct oa_batch *b, const void *argument)
{
    double wrong = 0;
    for (int r = 0; r < b->rows; r++)
        wrong += count_wrong_row_values(argument, b, r);
    return wrong;
}

/* Of token t of example e, with a target where e + t is even: the target is 50 more. */
static void choose_targets(struct example_set *m)
{
    for (int e = 0; e < EXAMPLES; e++)
        for (size_t t = 0, i = m->from_source[e]; i < m->from_source[e + 1]; t++, i++) {
            m->goal[i] = ((size_t)e + t) % 2 ? OA_IGNORED : m->source[i] + 50;
            m->goals[e] += m->goal[i] != OA_IGNORED;
        }
    m->rows.answer = OA_ANSWER_TOKENS;
    m->examples.goal = m->goal;
    m->examples.goals = m->goals;
    m->examples.split = m->examples.label = NULL;
}

static double count_wrong_chosen_targets(const struct oa_batch *b, const void *argument)
{
    double wrong = !b->chosen;
    (void)argument;
    for (int i = 0; i < b->rows * b->length; i++) {
        int e = b->input[i / b->length * b->length] / 100 - 1, t = i % b->length;
        bool target = t < b->lengths[i / b->length] && (e + t) % 2 == 0;
        wrong += b->target[i] != (target ? b->input[i] + 50 : OA_IGNORED);
    }
    return wrong;
}

static void check_chosen_targets(struct oa_proof *p, const struct oa_tokenizer *tok)
{
    struct example_set m;
    struct oa_example_batches *b;
    struct oa_amount amount;
    struct oa_batch batch;
    const struct oa_batches_kind *kind = &oa_example_batches_kind;
    make_example_set(&m, false);
    choose_targets(&m);
    if (oa_example_batches_open(p->context, &m.examples,
                                &(struct oa_example_batching){ .rows = ROWS, .seed = 1 },
                                &b) != OA_OK)
        return;
    double wrong = count_wrong_values(p->context, kind, b, tok, count_wrong_chosen_targets, NULL);
    kind->amount(b, 1, 1, &amount);
    if (kind->random(b, 1, 1, 0, &batch) == OA_OK)
        for (int i = 0; i < batch.rows * batch.length; i++)
            amount.targets -= batch.target[i] != OA_IGNORED;
    measure_wrong_values(p, wrong + fabs(amount.targets),
                         "chosen targets: wrong ids, or another number of them");
    kind->close(b);
}

static void check_example_batches(struct oa_proof *p, const struct oa_tokenizer *tok, bool decoder,
                                  const char *what)
{
    struct example_set m;
    struct oa_example_batches *b;
    const struct oa_batches_kind *kind = &oa_example_batches_kind;
    make_example_set(&m, decoder);
    if (oa_example_batches_open(p->context, &m.examples,
                                &(struct oa_example_batching){ .rows = ROWS, .seed = 1 },
                                &b) != OA_OK)
        return;
    measure_wrong_values(p, count_wrong_values(p->context, kind, b, tok, count_wrong_examples, &m),
                         what);
    kind->close(b);
}

/* A text of TEXT different characters, in the order of their ids. */
static void verify_text_targets(struct oa_proof *p)
{
    struct oa_tokenizer *tok = NULL;
    struct oa_text letters;
    int32_t ids[TEXT];
    oa_text_init(&letters, p->context);
    for (int i = 0; i < TEXT; i++) {
        oa_text_printf(&letters, "%c", '0' + i);
        ids[i] = i;
    }
    struct oa_tokens text = { .ids = ids, .count = TEXT, .name = "made" };
    if (oa_status(p->context) == OA_OK &&
        oa_tokenizer_open_texts(p->context, "char", &letters, NULL, &tok) == OA_OK) {
        check_text_batches(p, tok, &text);
        check_masked_batches(p, tok, &text);
    }
    oa_tokenizer_close(tok);
    oa_text_free(&letters);
}

static void verify_example_targets(struct oa_proof *p)
{
    struct oa_tokenizer *tok = NULL;
    if (oa_tokenizer_open(p->context, "ids:1100", NULL, NULL, &tok) == OA_OK) {
        check_example_batches(p, tok, true, "sources and targets: wrong ids, targets or lengths");
        check_example_batches(p, tok, false, "pairs with a class: wrong ids, segments or classes");
        check_chosen_targets(p, tok);
    }
    oa_tokenizer_close(tok);
}

static void verify_targets(struct oa_proof *p)
{
    const char *sentence;
    verify_text_targets(p);
    verify_example_targets(p);
    enum oa_error e = oa_last_error(p->context, &sentence);
    if (e == OA_OK || e == OA_NO_MEMORY)
        return;
    char saved[OA_PROOF_TEXT];
    snprintf(saved, sizeof saved, "%s", sentence);
    oa_clear_error(p->context);
    oa_proof_measure_mechanism(p, "batches", INFINITY, 0, "error: %s", saved);
}

const struct oa_subject oa_subject_targets = { "targets", 0.1, NULL, verify_targets };
