/* SPDX-License-Identifier: Apache-2.0
 * Fingerprints: everything that affects the results of a run, as a flat JSON object of texts. Files
 * with different fingerprints are never mixed: oa_fingerprint_check reports the first difference.
 *
 *     "numbers version": "1"            the one below
 *     "training text": "sha256:…"       after unpacking and cutting, so its path may change
 *     "validation text": "sha256:…"
 *     "test data": "sha256:…"           if there are any: the runs have scores on them
 *     "tokenizer": "sha256:…"           of its tokenizer.json
 *     "first values": "sha256:…"        of the model file that train.init names, if it does
 *     "model.layers": "4", …            every option of the table but those that decide no number
 * of a run
 *
 * What computes (processor, instruction set, threads) is not in it: results on another instruction
 * set differ by rounding and are equivalent. A run records its machine (comparison.h), and a
 * comparison reports when there were several. */
#ifndef ORTHANT_FINGERPRINT_H
#define ORTHANT_FINGERPRINT_H

#include "train/train.h"

#include <jansson.h>

/* Raised by whoever makes the same options and texts give other numbers by more than rounding:
 * other initial values, streams, batches, formulas, update rules. The version of the package would
 * refuse finished runs for nothing. By rounding only, and so not a new version: gradients of
 * several micro-batches are summed in a tree (cluster/tree_sum.h), where they once were one after
 * another. tests/test_comparison.c holds the loss of a training of this version and fails when it
 * moves. */
#define OA_NUMBERS_VERSION                                                                         \
    2 /* 2: what models write (decode/writable.h), and with it BLEU, chrF and ROUGE */

#define OA_TEST_DATA "test data" /* the key of their digest */
/* Of one run. json_decref it. */
enum oa_error oa_fingerprint_make(oa_context *c, const struct oa_options *o,
                                  const struct oa_workload *w, json_t **out);
/* OA_ARGUMENT when they differ, with a sentence that names `path`, what differs with both values,
 * and the remedy. */
enum oa_error oa_fingerprint_check(oa_context *c, const char *path, const json_t *before,
                                   const json_t *now, const char *remedy);

#endif
