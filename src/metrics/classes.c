/* SPDX-License-Identifier: Apache-2.0
 * Classification metrics: counts per label, and accuracy, F1 and Matthews' correlation from them,
 * as scikit-learn 1.9.1. Labels are compared byte by byte: "1" and "1.0" differ. */
#include "metrics/metrics_parts.h"

#include <math.h>
#include <stdlib.h>

/* ---- counting ---- */

int oa_line_order(struct oa_line x, struct oa_line y)
{
    size_t least = x.length < y.length ? x.length : y.length;
    int c = least ? memcmp(x.s, y.s, least) : 0;
    return c ? c : (x.length > y.length) - (x.length < y.length);
}

static int by_label(const void *a, const void *b)
{
    return oa_line_order(((const struct oa_class *)a)->label, ((const struct oa_class *)b)->label);
}

static int merge_equal(struct oa_class *item, long count)
{
    long kept = 0;
    for (long i = 1; i < count; i++) {
        if (oa_line_order(item[kept].label, item[i].label) != 0) {
            item[++kept] = item[i];
            continue;
        }
        item[kept].expected += item[i].expected;
        item[kept].found += item[i].found;
        item[kept].both += item[i].both;
    }
    return (int)kept + 1;
}

enum oa_error oa_classes_count(oa_context *c, const struct oa_line *hypothesis,
                               const struct oa_line *reference, long count, struct oa_classes *out)
{
    *out = (struct oa_classes){ .lines = count };
    if (count < 1)
        return oa_fail(c, OA_ARGUMENT, "no labels to score");
    out->item = oa_alloc(c, 2 * (size_t)count * sizeof *out->item);
    if (!out->item)
        return OA_NO_MEMORY;
    for (long i = 0; i < count; i++) {
        bool right = oa_line_order(hypothesis[i], reference[i]) == 0;
        out->item[2 * i] = (struct oa_class){ .label = reference[i], .expected = 1, .both = right };
        out->item[2 * i + 1] = (struct oa_class){ .label = hypothesis[i], .found = 1 };
    }
    qsort(out->item, 2 * (size_t)count, sizeof *out->item, by_label);
    out->count = merge_equal(out->item, 2 * count);
    for (int i = 0; i < out->count; i++)
        out->right += out->item[i].both;
    return OA_OK;
}

void oa_classes_free(struct oa_classes *k)
{
    oa_free(k->item);
    k->item = NULL;
}

/* ---- scores ---- */

double oa_accuracy(const struct oa_classes *k)
{
    return (double)k->right / (double)k->lines;
}

double oa_mcc(const struct oa_classes *k, bool *defined)
{
    double n = (double)k->lines, both = 0, found = 0, expected = 0;
    for (int i = 0; i < k->count; i++) {
        const struct oa_class *x = &k->item[i];
        both += (double)x->found * (double)x->expected;
        found += (double)x->found * (double)x->found;
        expected += (double)x->expected * (double)x->expected;
    }
    double variances = (n * n - found) * (n * n - expected);
    *defined = variances != 0;
    return *defined ? ((double)k->right * n - both) / sqrt(variances) : 0;
}

/* ---- F1 ---- */

static double safe_ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static struct oa_f1 f1_of_counts(double both, double found, double expected)
{
    return (struct oa_f1){ .precision = safe_ratio(both, found),
                           .recall = safe_ratio(both, expected),
                           .f1 = safe_ratio(2 * both, found + expected),
                           .no_precision = found == 0,
                           .no_recall = expected == 0 };
}

struct oa_f1 oa_f1_of_class(const struct oa_class *x)
{
    return f1_of_counts((double)x->both, (double)x->found, (double)x->expected);
}

static struct oa_f1 mean_of_classes(const struct oa_classes *k, bool weighted)
{
    struct oa_f1 sum = { .f1 = 0 };
    double weights = weighted ? (double)k->lines : k->count;
    for (int i = 0; i < k->count; i++) {
        struct oa_f1 one = oa_f1_of_class(&k->item[i]);
        double weight = weighted ? (double)k->item[i].expected : 1;
        sum.precision += weight * one.precision;
        sum.recall += weight * one.recall;
        sum.f1 += weight * one.f1;
        sum.no_precision += one.no_precision;
        sum.no_recall += one.no_recall;
    }
    sum.precision /= weights;
    sum.recall /= weights;
    sum.f1 /= weights;
    return sum;
}

static enum oa_error binary_f1(oa_context *c, const struct oa_classes *k, struct oa_line positive,
                               struct oa_f1 *out)
{
    const struct oa_class *found = NULL;
    for (int i = 0; i < k->count; i++)
        if (oa_line_order(k->item[i].label, positive) == 0)
            found = &k->item[i];
    if (k->count > 2)
        return oa_fail(
            c, OA_ARGUMENT,
            "binary F1 needs two labels, but there are %d; use macro, micro or weighted F1",
            k->count);
    if (!found && k->count == 2)
        return oa_fail(c, OA_ARGUMENT,
                       "binary F1: no line has the positive label \"%.*s\"; the labels are "
                       "\"%.*s\" and \"%.*s\"",
                       (int)positive.length, positive.s, (int)k->item[0].label.length,
                       k->item[0].label.s, (int)k->item[1].label.length, k->item[1].label.s);
    *out = found ? oa_f1_of_class(found) : f1_of_counts(0, 0, 0);
    return OA_OK;
}

enum oa_error oa_f1_of(oa_context *c, const struct oa_classes *k, enum oa_average average,
                       struct oa_line positive, struct oa_f1 *out)
{
    if (average == OA_AVERAGE_BINARY)
        return binary_f1(c, k, positive, out);
    if (average == OA_AVERAGE_MICRO)
        *out = f1_of_counts((double)k->right, (double)k->lines, (double)k->lines);
    else
        *out = mean_of_classes(k, average == OA_AVERAGE_WEIGHTED);
    return OA_OK;
}

/* ---- resampling ---- */

enum { FOUND, EXPECTED, COLUMNS }; /* of a row: class numbers */

/* Counts of the classes that occur in the rows. False: no memory. */
static bool count_rows(const double *const *row, long count, struct oa_arena *scratch,
                       struct oa_classes *out)
{
    double last = 0;
    for (long i = 0; i < count; i++)
        last = fmax(last, fmax(row[i][FOUND], row[i][EXPECTED]));
    *out = (struct oa_classes){ .lines = count };
    out->item = oa_arena_take(scratch, ((size_t)last + 1) * sizeof *out->item);
    if (!out->item)
        return false;
    memset(out->item, 0, ((size_t)last + 1) * sizeof *out->item);
    for (long i = 0; i < count; i++) {
        bool right = row[i][FOUND] == row[i][EXPECTED];
        out->item[(int)row[i][FOUND]].found++;
        out->item[(int)row[i][EXPECTED]].expected++;
        out->item[(int)row[i][EXPECTED]].both += right;
        out->right += right;
    }
    for (int k = 0; k <= (int)last; k++)
        if (out->item[k].found + out->item[k].expected > 0)
            out->item[out->count++] = out->item[k];
    return true;
}

static double accuracy_of_rows(const struct oa_metric_options *o, const double *const *row,
                               long count, struct oa_arena *scratch)
{
    struct oa_classes k;
    (void)o;
    return count_rows(row, count, scratch, &k) ? oa_accuracy(&k) : (double)NAN;
}

static double mcc_of_rows(const struct oa_metric_options *o, const double *const *row, long count,
                          struct oa_arena *scratch)
{
    struct oa_classes k;
    bool defined;
    (void)o;
    return count_rows(row, count, scratch, &k) ? oa_mcc(&k, &defined) : (double)NAN;
}

/* Binary F1: class 1 is the positive one, 0 all others. */
static double f1_of_rows(const struct oa_metric_options *o, const double *const *row, long count,
                         struct oa_arena *scratch)
{
    struct oa_classes k;
    double both = 0, found = 0, expected = 0;
    if (o->f1_average != OA_AVERAGE_BINARY && !count_rows(row, count, scratch, &k))
        return (double)NAN;
    if (o->f1_average == OA_AVERAGE_MICRO)
        return oa_accuracy(&k);
    if (o->f1_average != OA_AVERAGE_BINARY)
        return mean_of_classes(&k, o->f1_average == OA_AVERAGE_WEIGHTED).f1;
    for (long i = 0; i < count; i++) {
        both += row[i][FOUND] * row[i][EXPECTED];
        found += row[i][FOUND];
        expected += row[i][EXPECTED];
    }
    return f1_of_counts(both, found, expected).f1;
}

const struct oa_metric oa_label_accuracy = { .name = "accuracy",
                                             .score_of_rows = accuracy_of_rows };
const struct oa_metric oa_label_f1 = { .name = "f1", .score_of_rows = f1_of_rows };
const struct oa_metric oa_label_mcc = { .name = "mcc", .score_of_rows = mcc_of_rows };

static double class_number(const struct oa_classes *k, struct oa_line label)
{
    const struct oa_class key = { .label = label };
    const struct oa_class *at = bsearch(&key, k->item, (size_t)k->count, sizeof key, by_label);
    return (double)(at - k->item);
}

static enum oa_error all_classes(oa_context *c, const struct oa_line *const *hypothesis,
                                 int systems, const struct oa_line *reference, long count,
                                 struct oa_classes *out)
{
    *out = (struct oa_classes){ .count = 0 };
    struct oa_line *all = oa_alloc(c, 2 * (size_t)systems * (size_t)count * sizeof *all);
    if (!all)
        return OA_NO_MEMORY;
    for (int k = 0; k < systems; k++) {
        memcpy(all + k * count, hypothesis[k], (size_t)count * sizeof *all);
        memcpy(all + (systems + k) * count, reference, (size_t)count * sizeof *all);
    }
    enum oa_error e = oa_classes_count(c, all, all + systems * count, systems * count, out);
    oa_free(all);
    return e;
}

static enum oa_error number_labels(oa_context *c, struct oa_statistics *out,
                                   const struct oa_classes *k, const struct oa_line *hypothesis,
                                   const struct oa_line *reference, struct oa_line positive)
{
    bool binary = out->metric == &oa_label_f1 && out->options->f1_average == OA_AVERAGE_BINARY;
    out->row = oa_alloc(c, (size_t)out->count * COLUMNS * sizeof *out->row);
    if (!out->row)
        return OA_NO_MEMORY;
    for (long i = 0; i < out->count; i++) {
        double *row = out->row + i * COLUMNS;
        row[FOUND] =
            binary ? oa_line_order(hypothesis[i], positive) == 0 : class_number(k, hypothesis[i]);
        row[EXPECTED] =
            binary ? oa_line_order(reference[i], positive) == 0 : class_number(k, reference[i]);
    }
    return oa_statistics_of_rows(c, out);
}

enum oa_error oa_label_statistics(oa_context *c, const struct oa_metric *m,
                                  const struct oa_metric_options *o,
                                  const struct oa_line *const *hypothesis, int systems,
                                  const struct oa_line *reference, long count,
                                  struct oa_line positive, struct oa_statistics *out)
{
    struct oa_classes k;
    for (int i = 0; i < systems; i++)
        out[i] =
            (struct oa_statistics){ .metric = m, .options = o, .count = count, .numbers = COLUMNS };
    enum oa_error e = all_classes(c, hypothesis, systems, reference, count, &k);
    for (int i = 0; i < systems && e == OA_OK; i++)
        e = number_labels(c, &out[i], &k, hypothesis[i], reference, positive);
    oa_classes_free(&k);
    return e;
}
