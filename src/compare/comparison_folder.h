/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder of a comparison: which files and folders it consists of.
 */
#ifndef ORTHANT_COMPARISON_FOLDER_H
#define ORTHANT_COMPARISON_FOLDER_H

#include "train/overwrite.h"

#include <jansson.h>

extern const struct oa_folder_kind oa_comparison_folder;

/* OA_ARGUMENT where the folder is a run of a comparison, or is below the runs of one: nothing but
 * that comparison writes there. */
enum oa_error oa_comparison_check_outside(oa_context *c, const char *folder);

#endif
