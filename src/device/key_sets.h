/* SPDX-License-Identifier: Apache-2.0
 * Key sets in closed form: whether a pair of positions, or any pair of a rectangle, belongs to the
 * set. Supports skip tiles and block layouts are pooled by it, without a list of pairs.
 *
 * A set is given by its pairs j ≤ i, the past; without `causal` it is made symmetric. */
#ifndef ORTHANT_DEVICE_KEY_SETS_H
#define ORTHANT_DEVICE_KEY_SETS_H

#include <stdbool.h>

/* Offsets d = i − j.  BAND: d < stride.  STRIDED: stride divides d.  CELL: ⌊i/stride⌋ = ⌊j/stride⌋.
 * SUMMARY: j mod stride ≥ stride − summary. */
enum oa_key_set { OA_KEYS_BAND = 1, OA_KEYS_STRIDED = 2, OA_KEYS_CELL = 4, OA_KEYS_SUMMARY = 8 };

/* The union of the sets whose flags are in `sets`. */
struct oa_key_sets {
    unsigned sets;
    long stride, summary;
};

bool oa_keys_hold(const struct oa_key_sets *k, bool causal, long i, long j);
/* Whether a pair has i0 ≤ i < i1 and j0 ≤ j < j1. Exact; neither range is empty. */
bool oa_keys_meet(const struct oa_key_sets *k, bool causal, long i0, long i1, long j0, long j1);
/* Number of pairs of n positions, for at most one of {BAND, CELL} with one of {STRIDED, SUMMARY}.
 */
double oa_keys_count(const struct oa_key_sets *k, bool causal, long n);

#endif
