/* SPDX-License-Identifier: Apache-2.0
 *
 * Supports: which keys a query may see (struct oa_support of device.h). Each is made by one function; causality and
 * padding are the engine's.
 */
#ifndef ORTHANT_ATTENTION_SUPPORT_H
#define ORTHANT_ATTENTION_SUPPORT_H

#include "device/device.h"

struct oa_support oa_support_local(long window, long dilation);
struct oa_support oa_support_blocks(long size);
struct oa_support oa_support_sparse(bool fixed, long stride, long summary, bool split);
/* Blocks that are on in a layout [H, rows, columns], which must outlive the support; or in which any pair of a key set
 * over `length` tokens lies: that of `sparse` with its defaults, or of `local`. */
struct oa_support oa_support_layout(long block, long rows, long columns, const int32_t *layout);
struct oa_support oa_support_pooled_sparse(long block, long length, bool fixed);
struct oa_support oa_support_pooled_local(long block, long length, long window, bool causal);
/* global_rows: whether the rows of the global tokens see everything, or nothing. */
struct oa_support oa_support_longformer(long window, long global, bool global_rows);
long oa_default_stride(long length); /* ⌈√N⌉ */

#endif
