/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of random features f(ω, x)·f(ω, y), direction by direction, as the product code makes
 * them: Ω of a performer layer, the device's features and fits. Only factors that cancel in an
 * attention, and are left out there, are put back.
 */
#ifndef ORTHANT_VERIFY_FEATURE_PRODUCTS_H
#define ORTHANT_VERIFY_FEATURE_PRODUCTS_H

#include "verify/verify.h"

enum { OA_NO_FIT = -1 };

struct oa_feature_law {
    const char *draw; /* options of performer that say how Ω is drawn: "draw=iid" */
    enum oa_random_feature kind;
    double half_norm;    /* device.h: −½ (positive features), ½ (trig), 0 (relu) */
    int fit;             /* enum oa_random_fit, or OA_NO_FIT */
    long width;          /* K */
    const double *q, *k; /* [queries, K], [keys, K]: the fit is to all, the products are those of
                            the first rows */
    long queries, keys;
};

/* Products of `count` directions into out: draws of OA_DRAW directions with seeds one after the
 * other. */
enum { OA_DRAW = 4096 };
enum oa_error oa_feature_products(oa_context *c, const struct oa_feature_law *f, long count,
                                  double *out);

/* Moments of x, y [K] as fits take them, and the exponents of a fit to them. Room for both is in
 * one piece that oa_free(m->mean[0]) gives back. */
enum oa_error oa_feature_moments(oa_context *c, const struct oa_feature_law *f,
                                 struct oa_moments *m, struct oa_exponents *e);
/* log det of the symmetric positive definite n × n matrix; work has n² doubles. */
double oa_log_determinant(long n, const double *matrix, double *work);

#endif
