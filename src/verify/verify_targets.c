/* SPDX-License-Identifier: Apache-2.0
 * What batches ask of a model, in every row: the next token of a text, or what stood in a hidden
 * place; of examples their own source, target, segments and answer; and nothing behind the end.
 * Rows are told apart by the numbers of their tokens. */
#include "data/examples.h"
#include "data/masking.h"
#include "verify/verify.h"

#include <math.h>
#include <string.h>

enum { TEXT = 40, ROWS = 3, STEPS = 8 };

/* Looks at one batch, and returns how many of its numbers are wrong. */
typedef double oa_batch_check(const struct oa_batch *b, const void *argument);

/* Some batches of training, and all of a validation. */
static double wrong_in(oa_context *c, const struct oa_batches_kind *kind, void *self,
                       const struct oa_tokenizer *tok, oa_batch_check *check, const void *argument)
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

static void measure(struct oa_proof *p, double wrong, const char *law)
{
    if (oa_status(p->context) == OA_OK)
        oa_proof_law(p, "batches", wrong, 0, "%s", law);
}

/* ---- rows of a text: its token number i is i ---- */

static double not_the_next(const struct oa_batch *b, const void *argument)
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

static void look_at_texts(struct oa_proof *p, const struct oa_tokenizer *tok,
                          const struct oa_tokens *text)
{
    struct oa_batches *b;
    if (oa_batches_open(p->context, text, ROWS, 7, 1, &b) != OA_OK)
        return;
    measure(p, wrong_in(p->context, b->kind, b->self, tok, not_the_next, &text->ids[TEXT - 1]),
            "rows of a text: targets that are not the next token");
    oa_batches_close(b);
}

/* ---- masked text ---- */

struct masked {
    int32_t cls, sep, mask;
};

/* In a row of crop s, s + 1, … every target, and every token without one, says what s is. */
static double not_what_stood_there(const struct oa_batch *b, const void *argument)
{
    const struct masked *k = argument;
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

static void look_at_masks(struct oa_proof *p, struct oa_tokenizer *tok,
                          const struct oa_tokens *text)
{
    struct masked k;
    struct oa_batches *b;
    struct oa_masking how = {
        .rows = ROWS, .length = 9, .share = 0.4, .seed = 1, .tokenizer = tok
    };
    if (oa_tokenizer_add_special(tok, "[CLS]", &k.cls) != OA_OK ||
        oa_tokenizer_add_special(tok, "[SEP]", &k.sep) != OA_OK ||
        oa_tokenizer_add_special(tok, "[MASK]", &k.mask) != OA_OK ||
        oa_masked_batches_open(p->context, text, &how, &b) != OA_OK)
        return;
    measure(p, wrong_in(p->context, b->kind, b->self, tok, not_what_stood_there, &k),
            "masked text: targets that are not what stood there");
    oa_batches_close(b);
}

/* ---- examples: the tokens of example e are 100 e and more ---- */

enum { EXAMPLES = 9, MOST = 8 };
struct made {
    int32_t source[EXAMPLES * MOST], target[EXAMPLES * MOST], split[EXAMPLES], label[EXAMPLES];
    size_t from_source[EXAMPLES + 1], from_target[EXAMPLES + 1];
    struct oa_rows rows;
    struct oa_examples examples;
};

static size_t lengthen(int32_t *ids, size_t at, int example, int n)
{
    for (int t = 0; t < n; t++)
        ids[at++] = 100 * (example + 1) + t;
    return at;
}

/* Sources of 2 to 7 tokens, the second text of each beginning behind the first one to three;
 * targets of 2 to 8. */
static void make_examples(struct made *m, bool decoder)
{
    *m = (struct made){ .rows = { .name = "made",
                                  .answer = decoder ? OA_ANSWER_TEXT : OA_ANSWER_CLASS } };
    for (int e = 0; e < EXAMPLES; e++) {
        m->from_source[e + 1] = lengthen(m->source, m->from_source[e], e, 2 + e * 5 % 6);
        m->from_target[e + 1] = lengthen(m->target, m->from_target[e], e, 2 + e * 4 % 7);
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

/* A row of ids is that of example e, from token `first` of it on, and `rest` behind its end. */
static double differs(const int32_t *row, long length, int e, int first, long n, int32_t rest)
{
    double wrong = 0;
    for (long t = 0; t < length; t++)
        wrong += row[t] != (t < n ? 100 * (e + 1) + first + (int32_t)t : rest);
    return wrong;
}

static double wrong_row(const struct made *m, const struct oa_batch *b, int r)
{
    const int32_t *input = b->input + r * b->length;
    int e = input[0] / 100 - 1;
    if (e < 0 || e >= EXAMPLES)
        return 1;
    long sources = (long)(m->from_source[e + 1] - m->from_source[e]);
    if (!b->target) {
        double wrong = differs(input, b->length, e, 0, sources, 0) + (b->lengths[r] != sources);
        for (long t = 0; t < sources; t++)
            wrong += b->segments[r * b->length + t] != (t >= m->split[e]);
        return wrong + (b->label[r] != m->label[e]);
    }
    long n = (long)(m->from_target[e + 1] - m->from_target[e]) - 1;
    return differs(input, b->length, e, 0, n, 0) +
           differs(b->target + r * b->length, b->length, e, 1, n, OA_IGNORED) +
           differs(b->source + r * b->source_length, b->source_length, e, 0, sources, 0) +
           (b->lengths[r] != n) + (b->source_lengths[r] != sources);
}

static double not_of_the_example(const struct oa_batch *b, const void *argument)
{
    double wrong = 0;
    for (int r = 0; r < b->rows; r++)
        wrong += wrong_row(argument, b, r);
    return wrong;
}

/* Text of a target is counted by its tokenizer; it has to know the tokens. */
static void look_at_examples(struct oa_proof *p, const struct oa_tokenizer *tok, bool decoder,
                             const char *law)
{
    struct made m;
    struct oa_example_batches *b;
    const struct oa_batches_kind *kind = &oa_example_batches_kind;
    make_examples(&m, decoder);
    if (oa_example_batches_open(p->context, &m.examples,
                                &(struct oa_example_batching){ .rows = ROWS, .seed = 1 },
                                &b) != OA_OK)
        return;
    measure(p, wrong_in(p->context, kind, b, tok, not_of_the_example, &m), law);
    kind->close(b);
}

/* ---- the subject ---- */

/* A text of TEXT different letters, in the order of their numbers. */
static void look_at_tokens(struct oa_proof *p)
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
        look_at_texts(p, tok, &text);
        look_at_masks(p, tok, &text);
    }
    oa_tokenizer_close(tok);
    oa_text_free(&letters);
}

static void look_at_pairs(struct oa_proof *p)
{
    struct oa_tokenizer *tok = NULL;
    if (oa_tokenizer_open(p->context, "ids:1100", NULL, NULL, &tok) == OA_OK) {
        look_at_examples(p, tok, true,
                         "sources and targets: ids, targets or lengths that are not the example's");
        look_at_examples(p, tok, false,
                         "pairs with a class: ids, segments or classes that are not the example's");
    }
    oa_tokenizer_close(tok);
}

static void once(struct oa_proof *p)
{
    const char *sentence;
    look_at_tokens(p);
    look_at_pairs(p);
    enum oa_error e = oa_last_error(p->context, &sentence);
    if (e == OA_OK || e == OA_NO_MEMORY)
        return;
    char kept[OA_PROOF_TEXT];
    snprintf(kept, sizeof kept, "%s", sentence);
    oa_clear_error(p->context);
    oa_proof_law(p, "batches", INFINITY, 0, "error: %s", kept);
}

const struct oa_subject oa_subject_targets = {
    .name = "targets",
    .claim = "batches ask for the next token, for what is hidden, for the example's own answer, "
             "and nothing behind it",
    .work = 0.1,
    .once = once,
};
