/* SPDX-License-Identifier: Apache-2.0
 *
 * Beginning anew where a run or a comparison lies (--overwrite). Removed are files and folders that
 * such a one is made of, by the names in overwrite.c, and only where every other name is absent and
 * the file that says whose folder it is (config.json, contest.json) is one that this program wrote.
 * That file goes last, so that what a kill leaves is still known. Symbolic links are refused, not
 * followed.
 */
#ifndef ORTHANT_OVERWRITE_H
#define ORTHANT_OVERWRITE_H

#include "train/train.h"

enum oa_made { OA_MADE_RUN, OA_MADE_COMPARISON };

/* OA_ARGUMENT where the folder holds the other of the two: neither could be overwritten afterwards.
 * Where both lie in it already, each goes on. */
enum oa_error oa_folder_check_kind(oa_context *c, const char *folder, enum oa_made what);
/* OA_ARGUMENT where the folder is a run of a comparison, or is in the part of a comparison's folder
 * that holds runs: nothing but that comparison writes there. */
enum oa_error oa_folder_check_outside(oa_context *c, const char *folder);
/* OA_ARGUMENT, with the name of what stands against it, where the folder holds anything else. A
 * folder that is not there, or that is empty, is no obstacle. Writes nothing. */
enum oa_error oa_overwrite_check(oa_context *c, const char *folder, enum oa_made what);
/* The same, and then removes it all; the folder stays, and the lock in it. */
enum oa_error oa_overwrite(oa_context *c, const char *folder, enum oa_made what);

#endif
