/* SPDX-License-Identifier: Apache-2.0
 * Products of random features f(ω, x)·f(ω, y), one for each direction ω, as layers compute them: Ω
 * of a performer layer, the device's features and fits, times the factors that cancel in an
 * attention. */
#ifndef ORTHANT_VERIFY_FEATURE_PRODUCTS_H
#define ORTHANT_VERIFY_FEATURE_PRODUCTS_H

#include "verify/verify.h"

enum { OA_NO_FIT = -1 };

struct oa_feature_draws {
    const char *draw; /* options of performer for Ω: "draw=iid" */
    enum oa_random_feature kind;
    double half_norm;    /* device.h: −½ (positive features), ½ (trig), 0 (relu) */
    int fit;             /* enum oa_random_fit, or OA_NO_FIT */
    long width;          /* K */
    const double *q, *k; /* [queries, K], [keys, K]: the fit is to all, the products are those of
                            the first rows */
    long queries, keys;
};

/* Products of `count` directions into out, in draws of OA_DRAW directions with consecutive seeds.
 */
enum { OA_DRAW = 4096 };
enum oa_error oa_feature_products(oa_context *c, const struct oa_feature_draws *f, long count,
                                  double *out);

/* Moments of x, y [K] as fits take them, and the exponents of a fit to them. oa_free(m->mean[0])
 * releases both. */
enum oa_error oa_feature_moments(oa_context *c, const struct oa_feature_draws *f,
                                 struct oa_moments *m, struct oa_exponents *e);
/* log det of the symmetric positive definite n × n matrix; work has n² doubles. */
double oa_log_determinant(long n, const double *matrix, double *work);

#endif
