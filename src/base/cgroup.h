/* SPDX-License-Identifier: Apache-2.0
 * Processor and memory limits from control groups (cgroups(7), versions 1 and 2): the lowest limit
 * of the process's own group and its visible ancestors. */
#ifndef ORTHANT_BASE_CGROUP_H
#define ORTHANT_BASE_CGROUP_H

#include <stddef.h>

struct oa_cgroup_limits {
    double cores;         /* CPU seconds per second; 0: no limit */
    size_t memory;        /* bytes; 0: no limit */
    char cores_file[160]; /* the file with that limit; "" without one */
};

/* root: prefix of /proc and /sys; "" except in tests. */
void oa_cgroup_limits_read(const char *root, struct oa_cgroup_limits *out);

#endif
