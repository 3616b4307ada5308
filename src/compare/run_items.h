/* SPDX-License-Identifier: Apache-2.0
 *
 * items.safetensors in the folder of a run: what the final model got on each item of the validation
 * data and of the test data (tasks/items.h). "validation.loss", "test.accuracy", …: [items, 2] in
 * f64, sums and targets. The metadata have the SHA-256 of the model's weights, and what an item is:
 * "1 examples", "4 windows".
 */
#ifndef ORTHANT_RUN_ITEMS_H
#define ORTHANT_RUN_ITEMS_H

#include "compare/run_result.h"

#define OA_ITEMS_FILE "items.safetensors"

/* Writes nothing where nothing was recorded. Needs run->weights. */
enum oa_error oa_run_items_save(oa_context *c, const char *folder,
                                const struct oa_measure *measures, const struct oa_run *run);
/* Into a run that was read from result.json; without the file, as of older programs, its items are
 * empty. OA_FORMAT with the name of a file that is damaged, altered or of another run: its sums
 * must be the scores of the result. */
enum oa_error oa_run_items_load(oa_context *c, const char *folder,
                                const struct oa_measure *measures, struct oa_run *run);

#endif
