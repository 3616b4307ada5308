/* SPDX-License-Identifier: Apache-2.0
 * Two clusters in the scores of several groups, such as runs that learned and runs that did not. */
#ifndef ORTHANT_STATISTICS_CLUSTERS_H
#define ORTHANT_STATISTICS_CLUSTERS_H

struct oa_grouped_value {
    double x;
    int group;
};

struct oa_clusters {
    int below;  /* values in the lower cluster; 0: there are no two clusters */
    double cut; /* the middle of the gap */
    double gap;
};
/* Sorts `values`. Two clusters are reported where
 * - the gap between them is at least 5 times s, and at least 15 times where one of them is a single
 *   value. s is the upper 95 % limit of the standard deviation in the wider cluster, with the
 *   degrees of freedom of both (n - 2), and at least `resolution`, a deviation below which
 *   differences are not relevant (0: none), which applies if a cluster has no spread;
 * - no cluster is wider than the gap;
 * - a group has values in both; otherwise it is only that groups differ.
 * Of several such gaps the one with the most deviations is reported. At least four values are
 * needed.
 */
struct oa_clusters oa_find_clusters(struct oa_grouped_value *values, int n, double resolution);

#endif
