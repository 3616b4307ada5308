/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels: which there are and how often each is expected, found and right; accuracy, F1 and Matthews' correlation from
 * these counts, as scikit-learn 1.9.1. Labels are compared byte by byte: "1" and "1.0" are two.
 */
#include "metrics/metrics_parts.h"

#include <math.h>
#include <stdlib.h>

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static int order(struct oa_line x, struct oa_line y)
{
    size_t least = x.length < y.length ? x.length : y.length;
    int c = least ? memcmp(x.s, y.s, least) : 0;
    return c ? c : (x.length > y.length) - (x.length < y.length);
}

static int by_label(const void *a, const void *b)
{
    return order(((const struct oa_class *)a)->label, ((const struct oa_class *)b)->label);
}

/* One line of each side as counts of its two labels. */
static void add_line(struct oa_class *out, struct oa_line found, struct oa_line expected)
{
    bool right = order(found, expected) == 0;
    out[0] = (struct oa_class){ .label = expected, .expected = 1, .both = right };
    out[1] = (struct oa_class){ .label = found, .found = 1 };
}

static int merge_equal(struct oa_class *item, long count)
{
    long kept = 0;
    for (long i = 1; i < count; i++) {
        if (order(item[kept].label, item[i].label) != 0) {
            item[++kept] = item[i];
            continue;
        }
        item[kept].expected += item[i].expected;
        item[kept].found += item[i].found;
        item[kept].both += item[i].both;
    }
    return (int)kept + 1;
}

enum oa_error oa_classes_count(oa_context *c, const struct oa_line *hypothesis, const struct oa_line *reference,
                               long count, struct oa_classes *out)
{
    *out = (struct oa_classes){ .lines = count };
    if (count < 1)
        return oa_fail(c, OA_ARGUMENT, "there is no label to score");
    out->item = oa_alloc(c, 2 * (size_t)count * sizeof *out->item);
    if (!out->item)
        return OA_NO_MEMORY;
    for (long i = 0; i < count; i++)
        add_line(out->item + 2 * i, hypothesis[i], reference[i]);
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

/* ---- scores ------------------------------------------------------------------------------------------------------ */

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

/* ---- F1 ---------------------------------------------------------------------------------------------------------- */

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static struct oa_f1 f1_of_counts(double both, double found, double expected)
{
    return (struct oa_f1){ .precision = ratio(both, found),
                           .recall = ratio(both, expected),
                           .f1 = ratio(2 * both, found + expected),
                           .no_precision = found == 0,
                           .no_recall = expected == 0 };
}

static struct oa_f1 f1_of_class(const struct oa_class *x)
{
    return f1_of_counts((double)x->both, (double)x->found, (double)x->expected);
}

static struct oa_f1 mean_of_classes(const struct oa_classes *k, bool weighted)
{
    struct oa_f1 sum = { .f1 = 0 };
    double weights = weighted ? (double)k->lines : k->count;
    for (int i = 0; i < k->count; i++) {
        struct oa_f1 one = f1_of_class(&k->item[i]);
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

static enum oa_error binary(oa_context *c, const struct oa_classes *k, struct oa_line positive, struct oa_f1 *out)
{
    const struct oa_class *found = NULL;
    for (int i = 0; i < k->count; i++)
        if (order(k->item[i].label, positive) == 0)
            found = &k->item[i];
    if (k->count > 2)
        return oa_fail(c, OA_ARGUMENT,
                       "there are %d labels, but the binary F1 is about two; average over the classes "
                       "instead: macro, micro or weighted",
                       k->count);
    if (!found && k->count == 2)
        return oa_fail(c, OA_ARGUMENT,
                       "no line has the label \"%.*s\", of which the binary F1 is to be; the labels are "
                       "\"%.*s\" and \"%.*s\": say which is the positive one",
                       (int)positive.length, positive.s, (int)k->item[0].label.length, k->item[0].label.s,
                       (int)k->item[1].label.length, k->item[1].label.s);
    *out = found ? f1_of_class(found) : f1_of_counts(0, 0, 0);
    return OA_OK;
}

enum oa_error oa_f1_of(oa_context *c, const struct oa_classes *k, enum oa_average average, struct oa_line positive,
                       struct oa_f1 *out)
{
    if (average == OA_AVERAGE_BINARY)
        return binary(c, k, positive, out);
    if (average == OA_AVERAGE_MICRO)
        *out = f1_of_counts((double)k->right, (double)k->lines, (double)k->lines);
    else
        *out = mean_of_classes(k, average == OA_AVERAGE_WEIGHTED);
    return OA_OK;
}
