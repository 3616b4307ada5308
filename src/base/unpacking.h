/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said of gzip data that cannot be unpacked.
 */
#ifndef ORTHANT_BASE_UNPACKING_H
#define ORTHANT_BASE_UNPACKING_H

/* A sentence of zlib's without the "<fd:3>: " that stands before it where a file was opened by its
 * descriptor. */
const char *oa_unpacking_fault(const char *said);

#endif
