/* SPDX-License-Identifier: Apache-2.0 */
#include "data/turns.h"

#include "data/example_parts.h"

#include <string.h>

static const struct {
    char letter;
    const char *role, *token;
} roles[] = { { 's', "system", "<|system|>" },
              { 'u', "user", "<|user|>" },
              { 'a', "assistant", "<|assistant|>" },
              { 't', "tool", "<|tool|>" } };
enum { ROLES = sizeof roles / sizeof *roles };

char oa_role_letter(const char *role)
{
    for (int i = 0; i < ROLES; i++)
        if (strcmp(role, roles[i].role) == 0)
            return roles[i].letter;
    return 0;
}

enum oa_error oa_rows_add_roles(struct oa_rows *rows, bool aligned)
{
    return oa_rows_add_cell(rows, aligned ? "ig" : "ua", 2);
}

bool oa_rows_are_targets(const struct oa_rows *rows, size_t row, int cell)
{
    size_t n;
    const char *letters = oa_rows_cell(rows, row, 0, &n);
    return letters && cell > 0 && (size_t)cell <= n && letters[cell - 1] == 'g';
}

/* The next word from *s on, which is advanced past it; false: none is left. */
static bool next_turn_word(const char **s, const char *end, const char **word, size_t *length)
{
    while (*s < end && (**s == ' ' || **s == '\t'))
        ++*s;
    *word = *s;
    while (*s < end && **s != ' ' && **s != '\t')
        ++*s;
    *length = (size_t)(*s - *word);
    return *length > 0;
}

static bool is_no_target(const char *word, size_t length)
{
    return length == strlen(OA_NO_TARGET) && memcmp(word, OA_NO_TARGET, length) == 0;
}

void oa_add_targets(const char *s, size_t length, struct oa_text *out)
{
    const char *word, *end = s + length;
    size_t n;
    for (bool first = true; next_turn_word(&s, end, &word, &n);)
        if (!is_no_target(word, n)) {
            oa_text_add(out, " ", !first);
            oa_text_add(out, word, n);
            first = false;
        }
}

/* ---- a row ---- */

struct turn_coding {
    struct oa_tokenizer *tok;
    const struct oa_rows *rows;
    const struct oa_example_layout *layout;
    struct oa_examples *out;
    struct oa_ids ids, goals; /* of all rows */
    struct oa_ids word;       /* of the current word, or the current text */
    struct oa_text place;
    int32_t role[ROLES], end; /* −1: rows have no messages */
};

static enum oa_error add_token(struct turn_coding *k, int32_t id, int32_t goal)
{
    OA_TRY(oa_ids_add(&k->ids, id));
    return oa_ids_add(&k->goals, goal);
}

/* Appends a message; goals are, for now, those of the token itself. */
static enum oa_error add_message(struct turn_coding *k, char letter, const char *s, size_t n)
{
    int role = 0;
    while (roles[role].letter != letter)
        role++;
    OA_TRY(add_token(k, k->role[role], OA_IGNORED));
    k->word.count = 0;
    OA_TRY(oa_tokenizer_encode_text(k->tok, k->place.s, s, n, &k->word, NULL));
    for (size_t i = 0; i < k->word.count; i++)
        OA_TRY(add_token(k, k->word.id[i], letter == 'a' ? k->word.id[i] : OA_IGNORED));
    return add_token(k, k->end, letter == 'a' ? k->end : OA_IGNORED);
}

/* Each token predicts the next one; the last token, an end, is not read. */
static enum oa_error add_turns(struct turn_coding *k, size_t row, size_t start)
{
    size_t turns, n;
    const char *letters = oa_rows_cell(k->rows, row, 0, &turns);
    for (size_t i = 0; i < turns; i++) {
        const char *s = oa_rows_cell(k->rows, row, (int)i + 1, &n);
        OA_TRY(add_message(k, letters[i], s, n));
    }
    size_t reads = k->ids.count - start - 1;
    memmove(k->goals.id + start, k->goals.id + start + 1, reads * sizeof *k->goals.id);
    k->ids.count = k->goals.count = start + reads;
    return OA_OK;
}

static enum oa_error word_token(struct turn_coding *k, const char *word, size_t n, int32_t *id)
{
    k->word.count = 0;
    OA_TRY(oa_tokenizer_encode_text(k->tok, k->place.s, word, n, &k->word, NULL));
    *id = k->word.count ? k->word.id[0] : 0;
    if (k->word.count == 1)
        return OA_OK;
    return oa_fail(
        k->rows->context, OA_ARGUMENT,
        "%s: the word \"%.*s\" is %zu tokens, but words of tokens and targets must be one "
        "each; give data.tokenizer ids:N for numbers, or char for single characters",
        k->place.s, (int)(n < 40 ? n : 40), word, k->word.count);
}

static enum oa_error refuse_alignment(const struct turn_coding *k, const char *what)
{
    return oa_fail(k->rows->context, OA_FORMAT,
                   "%s: %s; there is a target for each word, and " OA_NO_TARGET
                   " where there is none",
                   k->place.s, what);
}

static enum oa_error add_aligned(struct turn_coding *k, size_t row)
{
    size_t n, length;
    const char *word, *tokens = oa_rows_cell(k->rows, row, 1, &n), *end = tokens + n;
    const char *targets = oa_rows_cell(k->rows, row, 2, &n), *last = targets + n;
    while (next_turn_word(&tokens, end, &word, &length)) {
        int32_t id, goal = OA_IGNORED;
        OA_TRY(word_token(k, word, length, &id));
        if (!next_turn_word(&targets, last, &word, &length))
            return refuse_alignment(k, "fewer targets than words");
        if (!is_no_target(word, length))
            OA_TRY(word_token(k, word, length, &goal));
        OA_TRY(add_token(k, id, goal));
    }
    return next_turn_word(&targets, last, &word, &length)
               ? refuse_alignment(k, "more targets than words")
               : OA_OK;
}

/* Removes the beginning of what is too long. */
static enum oa_error fit_sequence(struct turn_coding *k, size_t start)
{
    size_t tokens = k->ids.count - start, limit = (size_t)k->layout->source_limit;
    if (limit == 0 || tokens <= limit)
        return OA_OK;
    if (k->layout->refuse_long)
        return oa_fail(
            k->rows->context, OA_SHAPE,
            "%s: the sequence has %zu tokens, special ones included, but the model reads "
            "%zu; use a larger model.context or data.long=cut",
            k->place.s, tokens, limit);
    size_t over = tokens - limit, bytes = limit * sizeof *k->ids.id;
    memmove(k->ids.id + start, k->ids.id + start + over, bytes);
    memmove(k->goals.id + start, k->goals.id + start + over, bytes);
    k->ids.count = k->goals.count = start + limit;
    k->out->source.cut++;
    return OA_OK;
}

static enum oa_error code_row(struct turn_coding *k, size_t row)
{
    size_t start = k->ids.count;
    oa_text_cut(&k->place, 0);
    oa_rows_print_place(k->rows, row, &k->place);
    if (oa_stop_requested(k->rows->context))
        return oa_fail(k->rows->context, OA_INTERRUPTED, "stopped by signal %d while encoding %s",
                       oa_stop_requested(k->rows->context), k->place.s);
    OA_TRY(k->end < 0 ? add_aligned(k, row) : add_turns(k, row, start));
    OA_TRY(fit_sequence(k, start));
    k->out->source.start[row + 1] = k->ids.count;
    k->out->source.longest = oa_max(k->out->source.longest, (long)(k->ids.count - start));
    for (size_t i = start; i < k->goals.count; i++)
        k->out->goals[row] += k->goals.id[i] != OA_IGNORED;
    return k->out->goals[row] ? OA_OK
                              : oa_fail(k->rows->context, OA_FORMAT,
                                        "%s: no token has a target; delete the line or raise "
                                        "model.context",
                                        k->place.s);
}

/* ---- all rows ---- */

static enum oa_error code_rows(struct turn_coding *k)
{
    bool aligned = oa_rows_are_targets(k->rows, 0, 2);
    size_t count = k->rows->count;
    for (size_t i = 1; i < count; i++)
        if (oa_rows_are_targets(k->rows, i, 2) != aligned)
            return oa_fail(k->rows->context, OA_FORMAT,
                           "%s examples: some have tokens and targets, others prompts and answers; "
                           "give files of one kind",
                           k->rows->name);
    k->end = -1;
    if (!aligned) {
        for (int i = 0; i < ROLES; i++)
            OA_TRY(oa_tokenizer_add_special(k->tok, roles[i].token, &k->role[i]));
        OA_TRY(oa_tokenizer_add_special(k->tok, OA_TURN_END, &k->end));
    }
    k->out->source.start = oa_alloc(k->rows->context, (count + 1) * sizeof *k->out->source.start);
    k->out->goals = oa_alloc(k->rows->context, (count + 1) * sizeof *k->out->goals);
    if (!k->out->source.start || !k->out->goals)
        return OA_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        OA_TRY(code_row(k, i));
    if (k->out->source.cut)
        oa_log(
            k->rows->context, 0,
            "%s examples: %llu of %zu sequences lost their beginning: the model reads %ld tokens",
            k->rows->name, (unsigned long long)k->out->source.cut, count, k->layout->source_limit);
    return OA_OK;
}

enum oa_error oa_turns_encode(struct oa_tokenizer *tok, const struct oa_rows *rows,
                              const struct oa_example_layout *layout, struct oa_examples *out)
{
    struct turn_coding k = { .tok = tok, .rows = rows, .layout = layout, .out = out };
    oa_ids_init(&k.ids, rows->context);
    oa_ids_init(&k.goals, rows->context);
    oa_ids_init(&k.word, rows->context);
    oa_text_init(&k.place, rows->context);
    enum oa_error e = code_rows(&k);
    out->source.ids = k.ids.id;
    out->goal = k.goals.id;
    oa_ids_free(&k.word);
    oa_text_free(&k.place);
    if (e != OA_OK)
        oa_examples_close(out);
    return e;
}

enum oa_error oa_turns_encode_prompt(struct oa_tokenizer *tok, const char *prompt, size_t length,
                                     struct oa_ids *ids)
{
    OA_TRY(oa_ids_add(ids, oa_tokenizer_find(tok, "<|user|>")));
    OA_TRY(oa_tokenizer_encode_text(tok, "the prompt", prompt, length, ids, NULL));
    OA_TRY(oa_ids_add(ids, oa_tokenizer_find(tok, OA_TURN_END)));
    return oa_ids_add(ids, oa_tokenizer_find(tok, "<|assistant|>"));
}
