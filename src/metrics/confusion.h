/* SPDX-License-Identifier: Apache-2.0
 * The confusion matrix of labels, and precision, recall, F1 and support of each class, as
 * scikit-learn 1.9.1 (confusion_matrix, precision_recall_fscore_support), as text and JSON. */
#ifndef ORTHANT_METRICS_CONFUSION_H
#define ORTHANT_METRICS_CONFUSION_H

#include "metrics/metrics.h"
#include "print/print.h"

enum { OA_MOST_CONFUSED = 1000 }; /* most classes of a matrix */

/* All labels that are expected or predicted, in byte order. */
struct oa_confusion {
    int classes;
    char **label;
    struct oa_class *of; /* counts of each; label is the one above */
    long *count;         /* [expected][found]; NULL with more than OA_MOST_CONFUSED classes */
};
/* Free with oa_confusion_free, also after an error. */
enum oa_error oa_confusion_count(oa_context *c, const struct oa_line *hypothesis,
                                 const struct oa_line *reference, long count,
                                 struct oa_confusion *out);
void oa_confusion_free(struct oa_confusion *k);

/* unit: 1, or 100 for per cent. Undefined ratios are 0. Prints the matrix up to 20 classes. */
void oa_confusion_text(oa_context *c, const struct oa_confusion *k, double unit, int decimals,
                       struct oa_text *out);
/* Adds "labels", "confusion" (a row per expected label, or null without a matrix) and "by_class".
 */
void oa_confusion_json(oa_context *c, const struct oa_confusion *k, double unit, json_t *object);

#endif
