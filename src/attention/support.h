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
long oa_default_stride(long length);     /* ⌈√N⌉ */

#endif
