/* SPDX-License-Identifier: Apache-2.0
 * Orthonormalisation of columns, for random projections and their tests. */
#ifndef ORTHANT_ATTENTION_ORTHONORMAL_H
#define ORTHANT_ATTENTION_ORTHONORMAL_H

#include "base/base.h"

/* A = Q R with R_ll > 0: the k ≤ d columns of A become those of Q. Column l is x[l·d … l·d + d −
 * 1]. `work` has oa_qr_work(d, k) doubles. threads: context to run on in parallel (not inside
 * oa_parallel), or NULL. */
size_t oa_qr_work(long d, long k);
void oa_orthonormal_qr(oa_context *threads, long d, long k, double *x, double *work);
/* The same by modified Gram–Schmidt, run twice. */
void oa_orthonormal_gram_schmidt(long d, long k, double *x);

#endif
