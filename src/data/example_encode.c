/* SPDX-License-Identifier: Apache-2.0
 * Rows of texts → rows of ids with special tokens around them, cut to what a model reads. */
#include "data/example_parts.h"
#include "data/turns.h"

#include <string.h>

enum { TEXTS = 2 };

struct coded {
    struct oa_ids ids, words;
    struct oa_text pixels; /* of patches */
};

struct encoder {
    struct oa_tokenizer *tok;
    const struct oa_rows *rows;
    const struct oa_example_layout *layout;
    int32_t source_begin, source_end, target_begin, target_end; /* -1: none */
    int between;                 /* source_end tokens between the texts of a pair */
    struct coded text[TEXTS];    /* of the current row, without special tokens */
    struct coded source, target; /* of all rows */
    struct oa_examples *out;
    struct oa_text place;
};

/* ---- special tokens ---- */

static enum oa_error find_special(struct oa_tokenizer *tok, const char *content, int32_t *id)
{
    *id = -1;
    return *content ? oa_tokenizer_add_special(tok, content, id) : OA_OK;
}

static enum oa_error find_specials(struct encoder *e)
{
    OA_TRY(find_special(e->tok, e->layout->source_begin, &e->source_begin));
    OA_TRY(find_special(e->tok, e->out->patch ? "" : e->layout->source_end, &e->source_end));
    e->between = oa_tokenizer_separators(e->tok, e->layout->source_end);
    OA_TRY(find_special(e->tok, e->layout->target_begin, &e->target_begin));
    return find_special(e->tok, e->layout->target_end, &e->target_end);
}

/* A special token is a word of its own; its pixels are 0. */
static enum oa_error append_special(struct encoder *e, struct coded *to, size_t start, int32_t id)
{
    if (id < 0)
        return OA_OK;
    OA_TRY(oa_ids_add(&to->ids, id));
    for (size_t i = 0; i < e->out->patch; i++)
        oa_text_add(&to->pixels, "", 1);
    if (!e->layout->words)
        return OA_OK;
    return oa_ids_add(&to->words,
                      to->words.count > start ? to->words.id[to->words.count - 1] + 1 : 0);
}

/* Appends the first or the last `count` tokens of a text to the row that begins at `start`. */
static enum oa_error append_text(struct encoder *e, struct coded *to, size_t start,
                                 const struct coded *text, size_t count, bool last)
{
    int32_t first = 0;
    size_t from = last ? text->ids.count - count : 0;
    if (e->layout->words && to->words.count > start)
        first = to->words.id[to->words.count - 1] + 1;
    if (e->layout->words && from)
        first -= text->words.id[from];
    OA_TRY(oa_ids_append(&to->ids, text->ids.id + from, count));
    for (size_t i = from; e->layout->words && i < from + count; i++)
        OA_TRY(oa_ids_add(&to->words, first + text->words.id[i]));
    if (e->out->patch)
        oa_text_add(&to->pixels, text->pixels.s + from * e->out->patch, count * e->out->patch);
    return OA_OK;
}

/* ---- a row ---- */

static enum oa_error encode_example_text(struct encoder *e, struct oa_tokenizer *tok, const char *s,
                                         size_t n, struct coded *out)
{
    out->ids.count = out->words.count = 0;
    if (e->out->patch) { /* each patch is a word */
        oa_text_cut(&out->pixels, 0);
        OA_TRY(oa_patches_encode(e->tok, e->place.s, s, n, &out->ids, &out->pixels));
        for (size_t i = 0; e->layout->words && i < out->ids.count; i++)
            OA_TRY(oa_ids_add(&out->words, (int32_t)i));
        return OA_OK;
    }
    return oa_tokenizer_encode_text(tok, e->place.s, s, n, &out->ids,
                                    e->layout->words ? &out->words : NULL);
}

static enum oa_error encode_cell(struct encoder *e, struct oa_tokenizer *tok, size_t row, int cell,
                                 struct coded *out)
{
    size_t n;
    const char *s = oa_rows_cell(e->rows, row, cell, &n);
    return encode_example_text(e, tok, s, n, out);
}

static enum oa_error refuse_long(const struct encoder *e, const char *what, size_t tokens,
                                 long limit)
{
    return oa_fail(oa_tokenizer_context(e->tok), OA_SHAPE,
                   "%s: the %s has %zu tokens, special ones included, but the model reads %ld; use "
                   "a larger model.context or data.long=cut",
                   e->place.s, what, tokens, limit);
}

/* Shortens the texts to `room` tokens in all: always the longer one, of equal ones the second. */
static void shorten_texts(size_t room, int texts, size_t count[TEXTS])
{
    while (count[0] + (texts > 1 ? count[1] : 0) > room) {
        int longer = texts > 1 && count[1] >= count[0];
        size_t other = texts > 1 ? count[!longer] : 0, all = count[longer] + other;
        size_t excess = all - room, gap = count[longer] - other;
        count[longer] -= texts == 1 || excess <= gap ? excess : gap > 0 ? gap : 1;
    }
}

static enum oa_error fit_source(struct encoder *e, int texts, size_t count[TEXTS])
{
    const struct oa_example_layout *l = e->layout;
    size_t specials =
        (e->source_begin >= 0) + (size_t)(texts > 1 ? e->between + 1 : 1) * (e->source_end >= 0);
    size_t tokens = specials + count[0] + count[1], limit = (size_t)l->source_limit;
    const char *what = e->rows && e->rows->answer == OA_ANSWER_TEXT ? "source" : "text";
    if (tokens == 0)
        return oa_fail(oa_tokenizer_context(e->tok), OA_ARGUMENT, "%s: the %s has no tokens",
                       e->place.s, what);
    if (limit == 0 || tokens <= limit)
        return OA_OK;
    if (l->refuse_long || limit <= specials)
        return refuse_long(e, what, tokens, l->source_limit);
    shorten_texts(limit - specials, texts, count);
    e->out->source.cut++;
    return OA_OK;
}

/* The source of a row from e->text. */
static enum oa_error join_source(struct encoder *e, size_t row, int texts)
{
    size_t count[TEXTS] = { 0, 0 }, start = e->source.ids.count;
    for (int i = 0; i < texts; i++)
        count[i] = e->text[i].ids.count;
    OA_TRY(fit_source(e, texts, count));
    OA_TRY(append_special(e, &e->source, start, e->source_begin));
    for (int i = 0; i < texts; i++) {
        OA_TRY(append_text(e, &e->source, start, &e->text[i], count[i], e->layout->keep_end));
        for (int k = 0; k < (i + 1 < texts ? e->between : 1); k++)
            OA_TRY(append_special(e, &e->source, start, e->source_end));
        if (i == 0 && e->out->split)
            e->out->split[row] = (int32_t)(e->source.ids.count - start);
    }
    e->out->source.start[row + 1] = e->source.ids.count;
    return OA_OK;
}

/* A decoder reads all tokens but the last. */
static enum oa_error fit_target(struct encoder *e, size_t start)
{
    size_t reads = e->target.ids.count - start - 1, limit = (size_t)e->layout->target_limit;
    if (limit == 0 || reads <= limit)
        return OA_OK;
    if (e->layout->refuse_long)
        return refuse_long(e, "target", reads, e->layout->target_limit);
    e->target.ids.count = start + limit + 1;
    if (e->layout->words)
        e->target.words.count = e->target.ids.count;
    e->out->target.cut++;
    return OA_OK;
}

static enum oa_error add_target(struct encoder *e, size_t row)
{
    size_t start = e->target.ids.count;
    OA_TRY(encode_cell(e, oa_tokenizer_of_targets(e->tok), row, 1, &e->text[0]));
    OA_TRY(append_special(e, &e->target, start, e->target_begin));
    OA_TRY(append_text(e, &e->target, start, &e->text[0], e->text[0].ids.count, false));
    OA_TRY(append_special(e, &e->target, start, e->target_end));
    if (e->target.ids.count < start + 2)
        return oa_fail(
            oa_tokenizer_context(e->tok), OA_ARGUMENT,
            "%s: the target has %zu tokens; at least 2 are needed, an input and a target",
            e->place.s, e->target.ids.count - start);
    OA_TRY(fit_target(e, start));
    e->out->target.start[row + 1] = e->target.ids.count;
    return OA_OK;
}

static enum oa_error encode_row(struct encoder *e, const struct oa_example_texts *texts, size_t row)
{
    oa_text_cut(&e->place, 0);
    oa_rows_print_place(e->rows, row, &e->place);
    if (oa_stop_requested(oa_tokenizer_context(e->tok)))
        return oa_fail(oa_tokenizer_context(e->tok), OA_INTERRUPTED,
                       "stopped by signal %d while encoding %s",
                       oa_stop_requested(oa_tokenizer_context(e->tok)), e->place.s);
    int first = oa_rows_first_text(e->rows),
        count = first ? oa_rows_cells(e->rows, row) - first : 1;
    for (int i = 0; i < count; i++)
        OA_TRY(encode_cell(e, e->tok, row, first + i, &e->text[i]));
    OA_TRY(join_source(e, row, count));
    if (e->rows->answer == OA_ANSWER_TEXT)
        return add_target(e, row);
    if (e->rows->answer == OA_ANSWER_NUMBER)
        return oa_row_value(e->rows, row, &e->out->value[row]);
    e->out->label[row] = oa_row_class(&texts->classes, e->rows, row);
    return OA_OK;
}

/* ---- all rows ---- */

static bool allocate_examples(oa_context *c, const struct oa_rows *rows, struct oa_examples *out)
{
    size_t n = rows->count;
    bool text = rows->answer == OA_ANSWER_TEXT, class = rows->answer == OA_ANSWER_CLASS;
    bool pairs = !text && n && oa_rows_cells(rows, 0) > 2;
    out->source.start = oa_alloc(c, (n + 1) * sizeof *out->source.start);
    out->target.start = text ? oa_alloc(c, (n + 1) * sizeof *out->target.start) : NULL;
    out->label = class ? oa_alloc(c, (n + 1) * sizeof *out->label) : NULL;
    out->value = !text && !class ? oa_alloc(c, (n + 1) * sizeof *out->value) : NULL;
    out->split = pairs ? oa_alloc(c, (n + 1) * sizeof *out->split) : NULL;
    return out->source.start && (!pairs || out->split) &&
           (out->target.start || out->label || out->value);
}

static void take_encoded(struct coded *from, struct oa_id_lists *to, size_t count)
{
    to->ids = from->ids.id;
    to->words = from->words.id;
    to->pixels = (uint8_t *)from->pixels.s;
    from->ids.id = from->words.id = NULL;
    from->pixels.s = NULL;
    for (size_t i = 0; to->start && i < count; i++)
        to->longest = oa_max(to->longest, (long)(to->start[i + 1] - to->start[i]));
}

static void tell_cut(const struct encoder *e, const struct oa_id_lists *s, const char *what,
                     long limit)
{
    if (s->cut)
        oa_log(oa_tokenizer_context(e->tok), 0,
               "%s examples: %llu of %zu %s were cut to %ld tokens", e->rows->name,
               (unsigned long long)s->cut, e->rows->count, what, limit);
}

static enum oa_error encode_rows(struct encoder *e, const struct oa_example_texts *texts)
{
    OA_TRY(find_specials(e));
    if (!allocate_examples(oa_tokenizer_context(e->tok), e->rows, e->out))
        return OA_NO_MEMORY;
    for (size_t i = 0; i < e->rows->count; i++)
        OA_TRY(encode_row(e, texts, i));
    tell_cut(e, &e->out->source, e->rows->answer == OA_ANSWER_TEXT ? "sources" : "texts",
             e->layout->source_limit);
    tell_cut(e, &e->out->target, "targets", e->layout->target_limit);
    return OA_OK;
}

static void open_encoder(struct encoder *e)
{
    long side = oa_tokenizer_patch(e->tok);
    e->out->patch = (size_t)(side * side);
    struct coded *const all[] = { &e->text[0], &e->text[1], &e->source, &e->target };
    oa_context *c = oa_tokenizer_context(e->tok);
    for (int i = 0; i < 4; i++) {
        oa_ids_init(&all[i]->ids, c);
        oa_ids_init(&all[i]->words, c);
        oa_text_init(&all[i]->pixels, c);
    }
    oa_text_init(&e->place, c);
}

/* Moves the result into e->out, or closes e->out after an error. Returns that error. */
static enum oa_error close_encoder(struct encoder *e, enum oa_error error)
{
    struct coded *const all[] = { &e->text[0], &e->text[1], &e->source, &e->target };
    if (error == OA_OK) {
        take_encoded(&e->source, &e->out->source, e->out->count);
        take_encoded(&e->target, &e->out->target, e->out->count);
    }
    for (int i = 0; i < 4; i++) {
        oa_ids_free(&all[i]->ids);
        oa_ids_free(&all[i]->words);
        oa_text_free(&all[i]->pixels);
    }
    oa_text_free(&e->place);
    if (error != OA_OK)
        oa_examples_close(e->out);
    return error;
}

enum oa_error oa_examples_encode(struct oa_tokenizer *tok, const struct oa_example_texts *texts,
                                 const struct oa_rows *rows, const struct oa_example_layout *layout,
                                 struct oa_examples *out)
{
    struct encoder e = { .tok = tok, .rows = rows, .layout = layout, .out = out };
    *out = (struct oa_examples){ .rows = rows, .count = rows->count };
    if (rows->answer == OA_ANSWER_TOKENS)
        return oa_turns_encode(tok, rows, layout, out);
    open_encoder(&e);
    return close_encoder(&e, encode_rows(&e, texts));
}

/* ---- one unlabelled text ---- */

static enum oa_error encode_unlabelled(struct encoder *e, const struct oa_input_text *text,
                                       int texts)
{
    oa_context *c = oa_tokenizer_context(e->tok);
    e->out->source.start = oa_alloc(c, 2 * sizeof *e->out->source.start);
    e->out->split = texts > 1 ? oa_alloc(c, sizeof *e->out->split) : NULL;
    if (!e->out->source.start || (texts > 1 && !e->out->split))
        return OA_NO_MEMORY;
    OA_TRY(find_specials(e));
    for (int i = 0; i < texts; i++)
        OA_TRY(encode_example_text(e, e->tok, text[i].s, text[i].length, &e->text[i]));
    return join_source(e, 0, texts);
}

enum oa_error oa_source_encode(struct oa_tokenizer *tok, const struct oa_example_layout *layout,
                               const char *name, const struct oa_input_text *text, int texts,
                               struct oa_examples *out)
{
    struct encoder e = { .tok = tok, .layout = layout, .out = out };
    *out = (struct oa_examples){ .count = 1 };
    open_encoder(&e);
    oa_text_printf(&e.place, "%s", name);
    return close_encoder(&e, encode_unlabelled(&e, text, texts));
}

static void append_source(const struct oa_examples *one, struct oa_examples *out)
{
    size_t from = out->source.start[out->count], n = one->source.start[1];
    memcpy(out->source.ids + from, one->source.ids, n * sizeof *out->source.ids);
    if (out->source.words)
        memcpy(out->source.words + from, one->source.words, n * sizeof *out->source.words);
    if (out->source.pixels)
        memcpy(out->source.pixels + from * out->patch, one->source.pixels, n * out->patch);
    if (out->split)
        out->split[out->count] = one->split[0];
    out->source.longest = oa_max(out->source.longest, (long)n);
    out->source.start[++out->count] = from + n;
}

enum oa_error oa_sources_join(oa_context *c, const struct oa_examples *const *part, int parts,
                              struct oa_examples *out)
{
    const struct oa_examples *some = NULL;
    size_t ids = 0;
    for (int i = 0; i < parts; i++) {
        ids += part[i]->count ? part[i]->source.start[1] : 0;
        some = part[i]->count ? part[i] : some;
    }
    *out = (struct oa_examples){ .patch = some ? some->patch : 0 };
    out->source.start = oa_alloc(c, ((size_t)parts + 1) * sizeof *out->source.start);
    out->source.ids = oa_alloc(c, (ids + 1) * sizeof *out->source.ids);
    out->source.words =
        some && some->source.words ? oa_alloc(c, ids * sizeof *out->source.words) : NULL;
    out->source.pixels = out->patch ? oa_alloc(c, (ids + 1) * out->patch) : NULL;
    out->split = some && some->split ? oa_alloc(c, (size_t)parts * sizeof *out->split) : NULL;
    OA_TRY(oa_status(c));
    for (int i = 0; i < parts; i++)
        if (part[i]->count)
            append_source(part[i], out);
    return OA_OK;
}

void oa_examples_close(struct oa_examples *e)
{
    struct oa_id_lists *const sides[] = { &e->source, &e->target };
    for (int i = 0; i < 2; i++) {
        oa_free(sides[i]->ids);
        oa_free(sides[i]->words);
        oa_free(sides[i]->pixels);
        oa_free(sides[i]->start);
    }
    oa_free(e->split);
    oa_free(e->label);
    oa_free(e->value);
    oa_free(e->goal);
    oa_free(e->goals);
    *e = (struct oa_examples){ 0 };
}
