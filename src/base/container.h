/* SPDX-License-Identifier: Apache-2.0
 *
 * What the control groups of this process leave it of the machine (cgroups(7), versions 1 and 2):
 * the least limit of its own group and of those above it that can be seen.
 */
#ifndef ORTHANT_CONTAINER_H
#define ORTHANT_CONTAINER_H

#include <stddef.h>

struct oa_container {
    double cores;         /* processor time in a second; 0: no limit */
    size_t memory;        /* bytes; 0: no limit */
    char cores_file[160]; /* that limits `cores`; "": none does */
};

/* root: before the paths of /proc and /sys, "" but in tests. */
void oa_container_read(const char *root, struct oa_container *out);

#endif
