/* SPDX-License-Identifier: Apache-2.0
 * Training, validation and test rows: reading, holding out, overlap, labels, notices, tokenizer. */
#include "data/example_parts.h"
#include "data/turns.h"

#include <string.h>

/* ---- notices ---- */

static void tell_rows(const struct oa_rows *rows)
{
    struct oa_text lines;
    oa_text_init(&lines, rows->context);
    for (uint64_t i = 0; i < rows->left_out && i < OA_ROWS_SHOWN; i++)
        oa_text_printf(&lines, "%s%llu", i ? ", " : "", (unsigned long long)rows->left_out_line[i]);
    oa_text_printf(&lines, "%s", rows->left_out > OA_ROWS_SHOWN ? " …" : "");
    if (rows->left_out)
        oa_log(rows->context, 0,
               "%s examples: %llu of %llu left out because of an empty text (line%s %s)",
               rows->name, (unsigned long long)rows->left_out,
               (unsigned long long)(rows->count + rows->left_out), oa_plural(rows->left_out),
               lines.s);
    if (rows->kept_empty)
        oa_log(rows->context, 0,
               "%s examples: %llu of %zu have an empty text; they are scored like the others",
               rows->name, (unsigned long long)rows->kept_empty, rows->count);
    if (rows->carriage_returns)
        oa_log(rows->context, 0, "%s examples: %llu line%s ended with CR LF; the CR was removed",
               rows->name, (unsigned long long)rows->carriage_returns,
               oa_plural(rows->carriage_returns));
    if (rows->respelled)
        oa_log(rows->context, 0,
               "%s examples: %llu label%s normalised: surrounding blanks removed, whole numbers "
               "written as integers (\"%s\" is \"%s\")",
               rows->name, (unsigned long long)rows->respelled, oa_plural(rows->respelled),
               rows->respelled_from, rows->respelled_to);
    oa_text_free(&lines);
}

static void tell_overlap(const struct oa_rows *side, const struct oa_overlap *o)
{
    if (o->sources)
        oa_log(side->context, 0,
               "warning: of the %zu %s examples %llu have a %s that is also in the training "
               "examples, %llu with the same %s: scores may reflect memorisation",
               side->count, side->name, (unsigned long long)o->sources,
               side->pictures                     ? "picture"
               : side->answer == OA_ANSWER_TEXT   ? "source"
               : side->answer == OA_ANSWER_TOKENS ? "prompt"
                                                  : "text",
               (unsigned long long)o->rows,
               side->answer == OA_ANSWER_TEXT     ? "target"
               : side->answer == OA_ANSWER_TOKENS ? "answer"
                                                  : "label");
}

/* ---- sides ---- */

static enum oa_error read_example_side(const char *files, const char *columns, struct oa_rows *rows)
{
    OA_TRY(oa_rows_read(rows, files, columns));
    tell_rows(rows);
    return OA_OK;
}

static enum oa_error read_test(const struct oa_example_request *r, struct oa_rows *rows)
{
    return read_example_side(r->test, r->test_columns ? r->test_columns : r->columns, rows);
}

static enum oa_error check_data_request(oa_context *c, const struct oa_example_request *r)
{
    if (!oa_is_given(r->train))
        return oa_fail(c, OA_ARGUMENT,
                       "data.train is empty: name the files of the training examples");
    if (!(r->valid_fraction >= 0 && r->valid_fraction < 1))
        return oa_fail(c, OA_ARGUMENT, "data.valid_fraction = %s must be at least 0 and below 1",
                       oa_real_text(r->valid_fraction).s);
    return OA_OK;
}

static enum oa_error hold_out_validation(const struct oa_example_request *r,
                                         struct oa_example_texts *t)
{
    OA_TRY(oa_rows_hold_out(&t->train, r->valid_fraction, r->split_seed,
                            r->stratify && r->answer == OA_ANSWER_CLASS, &t->valid));
    if (t->train.count)
        return OA_OK;
    return oa_fail(
        t->train.context, OA_ARGUMENT,
        "data.valid_fraction = %s holds out all %zu examples of %s and leaves none for training",
        oa_real_text(r->valid_fraction).s, t->valid.count, r->train);
}

static enum oa_error read_example_sides(const struct oa_example_request *r,
                                        struct oa_example_texts *t)
{
    t->test.whole = true;
    OA_TRY(read_example_side(r->train, r->columns, &t->train));
    if (oa_is_given(r->valid))
        OA_TRY(read_example_side(r->valid, r->columns, &t->valid));
    else if (r->valid_fraction > 0)
        OA_TRY(hold_out_validation(r, t));
    if (oa_is_given(r->test))
        OA_TRY(read_test(r, &t->test));
    return OA_OK;
}

/* ---- labels ---- */

static enum oa_error check_side_labels(const struct oa_example_texts *t, const struct oa_rows *rows,
                                       const struct oa_example_request *r)
{
    double value;
    if (rows->answer == OA_ANSWER_CLASS)
        return oa_labels_check(&t->classes, rows, r->refuse_unknown);
    for (size_t i = 0; i < rows->count; i++)
        OA_TRY(oa_row_value(rows, i, &value));
    return OA_OK;
}

const char *oa_rows_kind(const struct oa_rows *rows)
{
    return rows->pictures               ? "pictures"
           : oa_rows_cells(rows, 0) > 2 ? "pairs of texts"
                                        : "single texts";
}

/* Of a class or a number. */
static bool has_labels(const struct oa_rows *rows)
{
    return rows->answer == OA_ANSWER_CLASS || rows->answer == OA_ANSWER_NUMBER;
}

static enum oa_error check_same_kind(const struct oa_rows *train, const struct oa_rows *rows)
{
    if (rows->count == 0 || !has_labels(rows) ||
        strcmp(oa_rows_kind(rows), oa_rows_kind(train)) == 0)
        return OA_OK;
    return oa_fail(rows->context, OA_FORMAT, "%s has %s, but %s has %s", train->file[0],
                   oa_rows_kind(train), rows->file[0], oa_rows_kind(rows));
}

static enum oa_error collect_classes(oa_context *c, const struct oa_example_request *r,
                                     struct oa_example_texts *t)
{
    if (!has_labels(&t->train))
        return OA_OK;
    if (t->train.answer == OA_ANSWER_CLASS)
        OA_TRY(oa_labels_make(c, &t->train, &t->classes));
    OA_TRY(check_side_labels(t, &t->train, r));
    OA_TRY(check_side_labels(t, &t->valid, r));
    OA_TRY(check_same_kind(&t->train, &t->valid));
    OA_TRY(check_side_labels(t, &t->test, r));
    return check_same_kind(&t->train, &t->test);
}

/* ---- all of it ---- */

static enum oa_error compare_side(const struct oa_rows *train, struct oa_rows *side,
                                  struct oa_overlap *out)
{
    oa_rows_set_digest(side);
    OA_TRY(oa_rows_overlap(train, side, out));
    tell_overlap(side, out);
    return OA_OK;
}

static enum oa_error open_example_texts(oa_context *c, const struct oa_example_request *r,
                                        struct oa_example_texts *t)
{
    OA_TRY(check_data_request(c, r));
    OA_TRY(read_example_sides(r, t));
    OA_TRY(collect_classes(c, r, t));
    oa_rows_set_digest(&t->train);
    OA_TRY(compare_side(&t->train, &t->valid, &t->valid_overlap));
    return compare_side(&t->train, &t->test, &t->test_overlap);
}

static enum oa_error close_texts_on_error(enum oa_error error, struct oa_example_texts *t)
{
    if (error != OA_OK)
        oa_example_texts_close(t);
    return error;
}

static void init_sides(oa_context *c, enum oa_answer answer, bool dialogues, const char *valid,
                       struct oa_example_texts *out)
{
    *out = (struct oa_example_texts){ 0 };
    oa_rows_init(&out->train, c, "training", answer);
    oa_rows_init(&out->valid, c, valid, answer);
    oa_rows_init(&out->test, c, "test", answer);
    out->train.dialogues = out->valid.dialogues = out->test.dialogues = dialogues;
}

enum oa_error oa_example_texts_open(oa_context *c, const struct oa_example_request *request,
                                    struct oa_example_texts *out)
{
    init_sides(c, request->answer, request->dialogues, "validation", out);
    return close_texts_on_error(open_example_texts(c, request, out), out);
}

/* ---- for evaluating a model ---- */

static enum oa_error read_measured(oa_context *c, const struct oa_example_request *r,
                                   struct oa_example_texts *t)
{
    t->test.whole = true;
    if (oa_is_given(r->test))
        return read_test(r, &t->test);
    if (oa_is_given(r->valid))
        return read_example_side(r->valid, r->columns, &t->valid);
    OA_TRY(check_data_request(c, r));
    if (!(r->valid_fraction > 0))
        return OA_OK;
    OA_TRY(read_example_side(r->train, r->columns, &t->train));
    return hold_out_validation(r, t);
}

/* The training rows, only to count overlap; none if they cannot be read. */
static enum oa_error read_compared(oa_context *c, const struct oa_example_request *r,
                                   struct oa_rows *train)
{
    const char *why;
    enum oa_error e = oa_plain_files_check(c, r->train);
    if (e == OA_OK)
        e = oa_rows_read(train, r->train, r->columns);
    if (e == OA_OK || e == OA_NO_MEMORY || e == OA_INTERRUPTED)
        return e;
    oa_last_error(c, &why);
    if (e != OA_IO) /* the message may quote lines of a file that the author of the model chose */
        why = "their format has changed";
    oa_log(c, 0, "cannot check whether the training examples contain some of these: %s", why);
    oa_clear_error(c);
    oa_rows_free(train);
    return OA_OK;
}

static enum oa_error open_measured(oa_context *c, const struct oa_example_request *r,
                                   const struct oa_labels *classes, struct oa_example_texts *t)
{
    bool test = oa_is_given(r->test);
    struct oa_rows *side = test ? &t->test : &t->valid;
    OA_TRY(read_measured(c, r, t));
    OA_TRY(oa_labels_copy(c, classes->name, classes->count, &t->classes));
    if (has_labels(side))
        OA_TRY(check_side_labels(t, side, r));
    if (!t->train.count && oa_is_given(r->train))
        OA_TRY(read_compared(c, r, &t->train));
    return compare_side(&t->train, side, test ? &t->test_overlap : &t->valid_overlap);
}

enum oa_error oa_example_texts_open_measured(oa_context *c,
                                             const struct oa_example_request *request,
                                             const struct oa_labels *classes,
                                             struct oa_example_texts *out)
{
    init_sides(c, request->answer, request->dialogues, "validation", out);
    return close_texts_on_error(open_measured(c, request, classes, out), out);
}

/* ---- held out ---- */

enum oa_error oa_example_texts_hold_out(const struct oa_example_texts *whole, double fraction,
                                        uint64_t seed, struct oa_example_texts *out)
{
    oa_context *c = whole->train.context;
    init_sides(c, whole->train.answer, whole->train.dialogues, "held-out", out);
    enum oa_error e =
        oa_rows_divide(&whole->train, fraction, seed, false, &out->train, &out->valid);
    if (e == OA_OK)
        e = oa_labels_copy(c, whole->classes.name, whole->classes.count, &out->classes);
    oa_rows_set_digest(&out->train);
    oa_rows_set_digest(&out->valid);
    return close_texts_on_error(e, out);
}

void oa_example_texts_close(struct oa_example_texts *texts)
{
    oa_rows_free(&texts->train);
    oa_rows_free(&texts->valid);
    oa_rows_free(&texts->test);
    oa_labels_free(&texts->classes);
}

/* ---- the tokenizer ---- */

/* One text per line. */
static void add_texts(const struct oa_rows *rows, struct oa_text *out)
{
    for (size_t i = 0; i < rows->count; i++)
        for (int k = oa_rows_first_text(rows); k < oa_rows_cells(rows, i); k++) {
            size_t n;
            const char *s = oa_rows_cell(rows, i, k, &n);
            if (rows->answer == OA_ANSWER_TOKENS && oa_rows_are_targets(rows, i, k))
                oa_add_targets(s, n, out);
            else
                oa_text_add(out, s, n);
            oa_text_add(out, "\n", 1);
        }
}

static enum oa_error refuse_kind(oa_context *c, const char *spec, bool pictures)
{
    return oa_fail(c, OA_ARGUMENT,
                   pictures
                       ? "tokenizer \"%s\" is not for pictures: use byte (a token per pixel) "
                         "or patch:P (a token per square of P x P pixels)"
                       : "tokenizer \"%s\" is for pictures (*.bin), but the examples are texts",
                   spec);
}

/* That of a run, such as train.init. */
static enum oa_error load_for_rows(oa_context *c, const char *file, bool pictures,
                                   struct oa_tokenizer **out)
{
    OA_TRY(oa_tokenizer_load(c, file, out));
    bool patches = oa_tokenizer_patch(*out) > 0,
         bytes = oa_tokenizer_kind_of(*out) == OA_TOKENIZER_BYTE;
    oa_tokenizer_note_unapplied(*out, file);
    return pictures == patches || (pictures && bytes) ? OA_OK : refuse_kind(c, file, pictures);
}

enum oa_error oa_example_texts_tokenizer(oa_context *c, const struct oa_example_texts *texts,
                                         const char *spec, struct oa_tokenizer **out)
{
    struct oa_text train, others;
    *out = NULL;
    bool pictures = texts->train.pictures,
         patches = strncmp(spec, OA_PATCHES, strlen(OA_PATCHES)) == 0;
    if (oa_name_ends(spec, ".json") && oa_file_exists(spec))
        return load_for_rows(c, spec, pictures, out);
    if (pictures != patches && (patches || strcmp(spec, "byte") != 0))
        return refuse_kind(c, spec, pictures);
    if (patches)
        return oa_tokenizer_make_patches(c, spec, out);
    oa_text_init(&train, c);
    oa_text_init(&others, c);
    add_texts(&texts->train, &train);
    add_texts(&texts->valid, &others);
    add_texts(&texts->test, &others);
    enum oa_error error = oa_status(c) == OA_NO_MEMORY
                              ? OA_NO_MEMORY
                              : oa_tokenizer_open_texts(c, spec, &train, &others, out);
    oa_text_free(&train);
    oa_text_free(&others);
    return error;
}
