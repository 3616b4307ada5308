/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to synthetic: how long the trees of ListOps are, and how many there are. A tree of depth
 * k is a digit, or an operator over n trees of depth k + 1, whose length is 2 more than theirs
 * together; so what belongs to the length l, a chance or a number of trees, is
 *
 *     f_k(l) = leaf [l = 1] + node Σ_n f_{k+1}^{*n}(l - 2),    n = 2 … arguments,    f_depth(l) =
 * last [l = 1]
 *
 * with *n for the n-fold convolution.
 */
#ifndef ORTHANT_LISTOPS_LAW_H
#define ORTHANT_LISTOPS_LAW_H

#include "base/base.h"

/* f_1 from least to most, summed up; a NaN when there is no memory. */
double oa_listops_share(const long *size); /* the chance that a tree is as long as that */
double
oa_listops_trees(const long *size); /* how many there are; from 1e200 on no more is counted */

#endif
