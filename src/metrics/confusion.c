/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/confusion.h"

#include "base/json_write.h"

#include <string.h>

enum { MOST_COLUMNS = 20 }; /* classes, up to which the text has the matrix */

/* ---- counting ---- */

static enum oa_error copy_classes(oa_context *c, const struct oa_classes *from,
                                  struct oa_confusion *out)
{
    out->label = oa_alloc(c, (size_t)from->count * sizeof *out->label);
    out->of = oa_alloc(c, (size_t)from->count * sizeof *out->of);
    if (!out->label || !out->of)
        return OA_NO_MEMORY;
    out->classes = from->count;
    for (int i = 0; i < from->count; i++) {
        struct oa_line label = from->item[i].label;
        out->label[i] = oa_alloc(c, label.length + 1);
        if (!out->label[i])
            return OA_NO_MEMORY;
        memcpy(out->label[i], label.s, label.length);
        out->of[i] = from->item[i];
        out->of[i].label.s = out->label[i];
    }
    return OA_OK;
}

static int number_of_label(const struct oa_confusion *k, struct oa_line label)
{
    int low = 0, high = k->classes - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (oa_line_order(k->of[middle].label, label) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum oa_error oa_confusion_count(oa_context *c, const struct oa_line *hypothesis,
                                 const struct oa_line *reference, long count,
                                 struct oa_confusion *out)
{
    struct oa_classes classes;
    *out = (struct oa_confusion){ 0 };
    enum oa_error e = oa_classes_count(c, hypothesis, reference, count, &classes);
    if (e == OA_OK)
        e = copy_classes(c, &classes, out);
    oa_classes_free(&classes);
    if (e != OA_OK || out->classes > OA_MOST_CONFUSED)
        return e;
    out->count = oa_alloc(c, (size_t)out->classes * (size_t)out->classes * sizeof *out->count);
    if (!out->count)
        return OA_NO_MEMORY;
    for (long i = 0; i < count; i++)
        out->count[number_of_label(out, reference[i]) * out->classes +
                   number_of_label(out, hypothesis[i])]++;
    return OA_OK;
}

void oa_confusion_free(struct oa_confusion *k)
{
    for (int i = 0; k->label && i < k->classes; i++)
        oa_free(k->label[i]);
    oa_free(k->label);
    oa_free(k->of);
    oa_free(k->count);
    *k = (struct oa_confusion){ 0 };
}

/* ---- text ---- */

/* Labels with control characters made visible. Caller frees each and the array. NULL: no memory. */
static char **visible_labels(oa_context *c, const struct oa_confusion *k)
{
    char **label = oa_alloc(c, (size_t)k->classes * sizeof *label + 1), shown[8];
    for (int i = 0; label && i < k->classes; i++) {
        struct oa_text text;
        oa_text_init(&text, c);
        for (const char *s = k->label[i]; *s;) {
            s += oa_text_visible(s, shown);
            oa_text_printf(&text, "%s", *shown == '\n' ? "\\n" : *shown == '\t' ? "\\t" : shown);
        }
        label[i] = oa_copy_text(c, text.s ? text.s : "");
        oa_text_free(&text);
    }
    return label;
}

void oa_confusion_text(oa_context *c, const struct oa_confusion *k, double unit, int decimals,
                       struct oa_text *out)
{
    struct oa_column columns[MOST_COLUMNS + 5] = { { .title = "expected" } };
    static const char *const names[] = { "precision", "recall", "F1", "support" };
    bool matrix = k->count && k->classes <= MOST_COLUMNS;
    int width = 1;
    struct oa_table t;
    char **label = visible_labels(c, k);
    if (oa_status(c) == OA_NO_MEMORY || !label)
        return;
    for (int i = 0; matrix && i < k->classes; i++)
        columns[width++] = (struct oa_column){ .title = label[i], .right = true };
    for (int i = 0; i < 4; i++)
        columns[width++] = (struct oa_column){ .title = names[i], .right = true };
    oa_table_init(&t, c, columns, width);
    for (int i = 0; i < k->classes; i++) {
        oa_table_cell(&t, "%s", label[i]);
        for (int j = 0; matrix && j < k->classes; j++)
            oa_table_cell(&t, "%ld", k->count[i * k->classes + j]);
        struct oa_f1 f = oa_f1_of_class(&k->of[i]);
        oa_table_cell(&t, "%.*f", decimals, unit * f.precision);
        oa_table_cell(&t, "%.*f", decimals, unit * f.recall);
        oa_table_cell(&t, "%.*f", decimals, unit * f.f1);
        oa_table_cell(&t, "%ld", k->of[i].expected);
    }
    oa_text_printf(out, "%s\n",
                   matrix ? "Confusion matrix: rows expected, columns predicted."
                          : "Too many classes to show the confusion matrix.");
    oa_table_text(&t, 0, out);
    oa_table_free(&t);
    for (int i = 0; i < k->classes; i++)
        oa_free(label[i]);
    oa_free(label);
}

/* ---- JSON ---- */

static json_t *matrix_json(oa_context *c, const struct oa_confusion *k)
{
    json_t *rows = json_array();
    for (int i = 0; i < k->classes; i++) {
        json_t *row = json_array();
        for (int j = 0; j < k->classes; j++)
            oa_json_append(c, row, json_integer(k->count[i * k->classes + j]));
        oa_json_append(c, rows, row);
    }
    return rows;
}

void oa_confusion_json(oa_context *c, const struct oa_confusion *k, double unit, json_t *object)
{
    json_t *labels = json_array(), *classes = json_array();
    for (int i = 0; i < k->classes; i++) {
        oa_json_append(c, labels, oa_json_string(k->label[i]));
        struct oa_f1 f = oa_f1_of_class(&k->of[i]);
        oa_json_append(c, classes,
                       json_pack("{s:o, s:f, s:f, s:f, s:I}", "label", oa_json_string(k->label[i]),
                                 "precision", unit * f.precision, "recall", unit * f.recall, "f1",
                                 unit * f.f1, "support", (json_int_t)k->of[i].expected));
    }
    oa_json_set(c, object, "labels", labels);
    oa_json_set(c, object, "confusion", k->count ? matrix_json(c, k) : json_null());
    oa_json_set(c, object, "by_class", classes);
}
