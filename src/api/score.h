/* SPDX-License-Identifier: Apache-2.0
 * score: from a request to text.
 *
 *     score_request.c → struct score_plan → api_score.c (files, scores) → struct score_row →
 * score_report.c */
#ifndef ORTHANT_API_SCORE_H
#define ORTHANT_API_SCORE_H

#include "api/api.h"
#include "metrics/confusion.h"

enum { SCORE_MOST = 32, SCORE_PARTS = 4 };

/* A metric of the request: one of segments, or of labels or numbers. */
enum score_kind {
    SCORE_SEGMENTS,
    SCORE_ACCURACY,
    SCORE_F1,
    SCORE_MCC,
    SCORE_CONFUSION,
    SCORE_PEARSON,
    SCORE_SPEARMAN
};
struct score_item {
    enum score_kind kind;
    const struct oa_metric *metric; /* of segments */
};

enum score_resample { SCORE_PLAIN, SCORE_CONFIDENCE, SCORE_PAIRED_BS, SCORE_PAIRED_AR };

/* The request, understood and checked. */
struct score_plan {
    const struct oa_score_request *request;
    struct score_item item[SCORE_MOST];
    int items;
    struct oa_metric_options options;
    enum score_resample resample;
    long samples;
    struct oa_number_text
        positive_number; /* the positive label, where it is a whole number: its digits; else "" */
};
enum oa_error score_plan_make(oa_context *c, const struct oa_score_request *r,
                              struct score_plan *out);

/* One number and what belongs to it; score_row_free it. */
struct score_row {
    struct oa_text title, signature, verbose;
    double score;
    double mean, half, p, strict_p; /* NaN: none */
    int decimals;
    const char *system;            /* a file */
    struct oa_confusion confusion; /* instead of a score; classes 0: none */
    struct {
        const char *name;
        double value;
    } part[SCORE_PARTS]; /* next to it in JSON */
    int parts;
};
void score_row_begin(struct score_row *row, oa_context *c);
void score_row_free(struct score_row *row);

/* rows: of one system, metric by metric. */
void score_report(const struct score_row *row, int rows, bool json, struct oa_text *out);
/* rows [metrics][systems]; explains p where it is printed. */
void score_report_systems(const struct score_plan *p, const struct score_row *row, int systems,
                          bool json, struct oa_text *out);
/* A score for each line; the row has the signature. */
void score_report_lines(const struct oa_statistics *s, struct score_row *row, bool json,
                        struct oa_text *out);

#endif
