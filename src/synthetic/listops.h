/* SPDX-License-Identifier: Apache-2.0
 * Private to synthetic: the numbers in the rule of ListOps. */
#ifndef ORTHANT_LISTOPS_H
#define ORTHANT_LISTOPS_H

#define OA_LISTOPS_NODE 0.25 /* chance of an operator */
enum { OA_LISTOPS_OPERATORS = 4 };

#endif
