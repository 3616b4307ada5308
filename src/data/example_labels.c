/* SPDX-License-Identifier: Apache-2.0
 * Labels → classes and numbers. Classes are numbered in the order of the sorted labels of the
 * training examples. */
#include "data/example_parts.h"
#include "tokenizers/word_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_HINT "if line 1 is a header, name its columns in data.columns"

enum { LONGEST_NUMBER = 64, LONGEST_SHOWN = 60 };
enum { FEW = 10 }; /* examples; with no more a label may well occur once */

bool oa_parse_finite(const char *s, size_t n, double *value)
{
    char text[LONGEST_NUMBER];
    if (n == 0 || n >= sizeof text)
        return false;
    memcpy(text, s, n);
    text[n] = 0;
    return oa_parse_real(text, value) && isfinite(*value);
}

/* ---- classes ---- */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_number(const void *a, const void *b)
{
    double x = 0, y = 0;
    oa_parse_real(*(char *const *)a, &x);
    oa_parse_real(*(char *const *)b, &y);
    return x != y ? (x > y) - (x < y) : by_bytes(a, b);
}

static bool all_numbers(char *const *name, long count)
{
    double value;
    for (long i = 0; i < count; i++)
        if (!oa_parse_finite(name[i], strlen(name[i]), &value))
            return false;
    return true;
}

static enum oa_error refuse_row_label(const struct oa_rows *rows, size_t row, const char *why,
                                      const char *label, size_t n)
{
    struct oa_text place;
    oa_text_init(&place, rows->context);
    oa_rows_print_place(rows, row, &place);
    enum oa_error error =
        oa_fail(rows->context, OA_FORMAT, "%s: the label \"%.*s\" %s", place.s ? place.s : "",
                (int)(n < LONGEST_SHOWN ? n : LONGEST_SHOWN), label, why);
    oa_text_free(&place);
    return error;
}

static enum oa_error gather_labels(const struct oa_rows *rows, struct oa_words *labels)
{
    for (size_t i = 0; i < rows->count; i++) {
        size_t n;
        const char *label = oa_rows_cell(rows, i, 0, &n);
        if (n == 0)
            return refuse_row_label(rows, i, "is empty", label, n);
        if (memchr(label, '\n', n) || memchr(label, '\t', n) || memchr(label, '\r', n))
            return refuse_row_label(
                rows, i,
                "contains a line end or a tab, which output lines cannot represent: replace it",
                label, n);
        if (oa_words_add(labels, label, n) < 0)
            return OA_NO_MEMORY;
    }
    return OA_OK;
}

/* A text column taken for the label gives almost every row a class of its own. */
static enum oa_error check_classes(const struct oa_rows *rows, const struct oa_words *labels)
{
    enum { MANY = 100 };
    if (labels->count < 2)
        return oa_fail(rows->context, OA_FORMAT,
                       "%s: all %zu training examples have the same label", rows->file[0],
                       rows->count);
    if (labels->count > MANY && (size_t)labels->count > rows->count / 2)
        return oa_fail(rows->context, OA_FORMAT,
                       "%s: %zu training examples have %d different labels; if the label is in "
                       "another column, name it in data.columns",
                       rows->file[0], rows->count, (int)labels->count);
    return OA_OK;
}

static enum oa_error take_names(oa_context *c, const struct oa_words *labels, struct oa_labels *out)
{
    out->name = oa_alloc(c, (size_t)labels->count * sizeof *out->name);
    if (!out->name)
        return OA_NO_MEMORY;
    for (; out->count < labels->count; out->count++)
        if (!(out->name[out->count] =
                  oa_copy_text(c, oa_words_at(labels, (int32_t)out->count, NULL))))
            return OA_NO_MEMORY;
    out->numeric = all_numbers(out->name, out->count);
    qsort(out->name, (size_t)out->count, sizeof *out->name, out->numeric ? by_number : by_bytes);
    return OA_OK;
}

/* A header with unknown names is read as a row, whose label no other row has. */
static void tell_first_line(const struct oa_rows *rows)
{
    size_t n, m, same = 0;
    const char *label = oa_rows_cell(rows, 0, 0, &n);
    for (size_t i = 1; i < rows->count; i++) {
        const char *other = oa_rows_cell(rows, i, 0, &m);
        same += n == m && memcmp(label, other, n) == 0;
    }
    if (!same && !rows->pictures && rows->place[0].line == 1 && rows->count > FEW)
        oa_log(rows->context, 0, "%s: only line 1 has the label \"%.*s\"; " HEADER_HINT,
               rows->file[0], (int)(n < LONGEST_SHOWN ? n : LONGEST_SHOWN), label);
}

static void print_labels(const struct oa_labels *classes, struct oa_text *out)
{
    enum { SHOWN = 20 };
    for (long i = 0; i < classes->count && i < SHOWN; i++)
        oa_text_printf(out, "%s\"%.*s\"", i ? ", " : "", LONGEST_SHOWN, classes->name[i]);
    if (classes->count > SHOWN)
        oa_text_printf(out, " and %ld more", classes->count - SHOWN);
}

static void tell_classes(const struct oa_rows *rows, const struct oa_labels *classes)
{
    struct oa_text names;
    oa_text_init(&names, rows->context);
    print_labels(classes, &names);
    oa_log(rows->context, 2, "%s: %ld classes, %s", rows->file[0], classes->count,
           names.s ? names.s : "");
    oa_text_free(&names);
}

enum oa_error oa_labels_make(oa_context *c, const struct oa_rows *train, struct oa_labels *out)
{
    struct oa_words labels;
    oa_words_init(&labels, c);
    enum oa_error error = gather_labels(train, &labels);
    if (error == OA_OK)
        error = check_classes(train, &labels);
    if (error == OA_OK)
        tell_first_line(train);
    if (error == OA_OK)
        error = take_names(c, &labels, out);
    if (error == OA_OK)
        tell_classes(train, out);
    oa_words_free(&labels);
    return error;
}

enum oa_error oa_labels_copy(oa_context *c, char *const *name, long count, struct oa_labels *out)
{
    struct oa_number_text whole;
    *out = (struct oa_labels){ .numeric = all_numbers(name, count) };
    out->name = oa_alloc(c, ((size_t)count + 1) * sizeof *out->name);
    for (; out->name && out->count < count; out->count++) {
        size_t n = strlen(name[out->count]);
        const char *label = name[out->count];
        oa_label_spell(&label, &n, &whole);
        char *copy = oa_alloc(c, n + 1);
        if (!copy)
            return OA_NO_MEMORY;
        memcpy(copy, label, n);
        if (oa_labels_find(out, copy, n) >= 0)
            oa_log(
                c, 0,
                "the model has the label \"%s\" in several spellings; they are read as one class",
                copy);
        out->name[out->count] = copy;
    }
    return out->name ? OA_OK : OA_NO_MEMORY;
}

void oa_labels_free(struct oa_labels *classes)
{
    for (long i = 0; i < classes->count; i++)
        oa_free(classes->name[i]);
    oa_free(classes->name);
    *classes = (struct oa_labels){ 0 };
}

long oa_labels_find(const struct oa_labels *classes, const char *label, size_t length)
{
    for (long i = 0; i < classes->count; i++)
        if (strlen(classes->name[i]) == length && memcmp(classes->name[i], label, length) == 0)
            return i;
    return -1;
}

int32_t oa_row_class(const struct oa_labels *classes, const struct oa_rows *rows, size_t row)
{
    size_t n;
    const char *label = oa_rows_cell(rows, row, 0, &n);
    long class = oa_labels_find(classes, label, n);
    return class < 0 ? OA_IGNORED : (int32_t) class;
}

static enum oa_error refuse_unknown(const struct oa_labels *classes, const struct oa_rows *rows,
                                    size_t row, const char *remedy)
{
    size_t n;
    const char *label = oa_rows_cell(rows, row, 0, &n);
    struct oa_text why;
    oa_text_init(&why, rows->context);
    oa_text_printf(&why, "%sis not a label of the training examples; these are ",
                   rows->drawn ? "(of a row held out for validation) " : "");
    print_labels(classes, &why);
    oa_text_printf(&why, "%s%s", remedy, rows->place[row].line > 1 ? "" : "; " HEADER_HINT);
    enum oa_error e = refuse_row_label(rows, row, why.s ? why.s : "", label, n);
    oa_text_free(&why);
    return e;
}

static void tell_unknown(const struct oa_rows *rows, size_t unknown, size_t first,
                         const struct oa_words *labels, const size_t *count)
{
    struct oa_text names;
    oa_text_init(&names, rows->context);
    oa_text_printf(&names, "%s examples%s: %zu of %zu have labels that no training example has (",
                   rows->name, rows->drawn ? " held out of the training files" : "", unknown,
                   rows->count);
    enum { SHOWN = 10 };
    for (int32_t i = 0; i < labels->count && i < SHOWN; i++)
        oa_text_printf(&names, "%s\"%.*s\" (%zu)", i ? ", " : "", LONGEST_SHOWN,
                       oa_words_at(labels, i, NULL), count[i]);
    if (labels->count > SHOWN)
        oa_text_printf(&names, " and %d more", (int)(labels->count - SHOWN));
    oa_text_printf(&names, "; first at ");
    oa_rows_print_place(rows, first, &names);
    oa_log(rows->context, 0, "%s): counted as wrong, excluded from the loss%s",
           names.s ? names.s : "", rows->place[first].line == 1 ? "; " HEADER_HINT : "");
    oa_text_free(&names);
}

enum oa_error oa_labels_check(const struct oa_labels *classes, const struct oa_rows *rows,
                              bool refuse)
{
    struct oa_words labels;
    size_t *count = oa_alloc(rows->context, (rows->count + 1) * sizeof *count), unknown = 0,
           first = 0, n;
    enum oa_error e = count ? OA_OK : OA_NO_MEMORY;
    oa_words_init(&labels, rows->context);
    for (size_t i = 0; i < rows->count && e == OA_OK; i++) {
        const char *label = oa_rows_cell(rows, i, 0, &n);
        if (n == 0)
            e = refuse_row_label(rows, i, "is empty", label, n);
        else if (oa_labels_find(classes, label, n) < 0) {
            int32_t k = oa_words_add(&labels, label, n);
            e = k < 0 ? OA_NO_MEMORY : OA_OK;
            if (k >= 0)
                count[k]++;
            first = unknown++ ? first : i;
        }
    }
    if (e == OA_OK && unknown && refuse)
        e = refuse_unknown(classes, rows, first,
                           "; to count it as wrong, set data.unknown_labels = wrong");
    else if (e == OA_OK && unknown && unknown == rows->count)
        e = refuse_unknown(
            classes, rows, first,
            "; no example of this side has one of them: is the label in another column?");
    else if (e == OA_OK && unknown)
        tell_unknown(rows, unknown, first, &labels, count);
    oa_words_free(&labels);
    oa_free(count);
    return e;
}

/* ---- numbers ---- */

static const double largest = 1e18; /* its square is finite in single precision */

enum oa_error oa_row_value(const struct oa_rows *rows, size_t row, double *out)
{
    size_t n;
    const char *label = oa_rows_cell(rows, row, 0, &n);
    if (!oa_parse_finite(label, n, out))
        return refuse_row_label(rows, row, "is not a finite number; " HEADER_HINT, label, n);
    if (fabs(*out) <= largest)
        return OA_OK;
    return refuse_row_label(
        rows, row, "is larger than 1e18, so its squared error would overflow: use another unit",
        label, n);
}
