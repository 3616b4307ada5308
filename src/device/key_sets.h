/* SPDX-License-Identifier: Apache-2.0
 * Key sets in closed form: does a pair of positions, or any pair of a rectangle of them, belong to
 * the set? What a support needs to skip tiles and a block layout needs to pool, without a list of
 * pairs.
 *
 * A set is given by its pairs j ≤ i, the past; `causal` asks for these alone, otherwise the set is
 * made symmetric. */
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
/* Is there a pair with i0 ≤ i < i1, j0 ≤ j < j1? Exact; the rectangle has at least one position on
 * each side. */
bool oa_keys_meet(const struct oa_key_sets *k, bool causal, long i0, long i1, long j0, long j1);
/* Pairs of n positions. At most one set of {BAND, CELL} with one of {STRIDED, SUMMARY}, as T1 and
 * T2 unite them. */
double oa_keys_count(const struct oa_key_sets *k, bool causal, long n);

#endif
