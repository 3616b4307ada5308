/* SPDX-License-Identifier: Apache-2.0
 * Private to synthetic: probabilities and numbers of ListOps trees by length. A tree of depth k is
 * a digit, or an operator over n trees of depth k + 1 and 2 words longer than these together:
 *
 *     f_k(l) = leaf [l = 1] + node Σ_n f_{k+1}^{*n}(l - 2),    n = 2 … arguments
 *     f_depth(l) = last [l = 1]
 *
 * where *n is the n-fold convolution. */
#ifndef ORTHANT_LISTOPS_LAW_H
#define ORTHANT_LISTOPS_LAW_H

#include "base/base.h"

#define OA_LISTOPS_NODE 0.25 /* probability of an operator */
enum { OA_LISTOPS_OPERATORS = 4 };

/* Σ f_1 over the lengths least … most; NaN: no memory. */
double oa_listops_share(const long *size); /* the probability of such a tree */
double oa_listops_trees(const long *size); /* the number of such trees, at most 1e200 */

#endif
