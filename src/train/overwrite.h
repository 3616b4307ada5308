/* SPDX-License-Identifier: Apache-2.0
 * Starting anew in a folder (--overwrite). Only files and folders that such a folder consists of
 * are removed, and only where no other name is in it and its marker file is one that this program
 * wrote. The marker goes last, so that the rest of an interrupted removal is still known. Symbolic
 * links are refused, not followed. */
#ifndef ORTHANT_OVERWRITE_H
#define ORTHANT_OVERWRITE_H

#include "train/train.h"

/* A name in a folder: # stands for digits, a * at the beginning for anything. below: it is a folder
 * with these names; else it is a file. A list ends with name NULL, where below is the rest of it,
 * or NULL. */
struct oa_folder_name {
    const char *name;
    const struct oa_folder_name *below;
};
#define OA_TEMPORARY_NAME "*.#-#.tmp" /* of a process that was killed */
struct oa_folder_kind {
    const char *title;  /* "run" */
    const char *marker; /* the file that tells the kind of the folder */
    const struct oa_folder_name *names;
    /* Fails where the marker was not written by this program. */
    enum oa_error (*check_marker)(oa_context *c, const char *path);
};
extern const struct oa_folder_name oa_run_names[];
extern const struct oa_folder_kind oa_run_folder;

/* OA_ARGUMENT where the folder has the marker of the other kind and not its own: neither could be
 * overwritten afterwards. */
enum oa_error oa_folder_check_kind(oa_context *c, const char *folder,
                                   const struct oa_folder_kind *own,
                                   const struct oa_folder_kind *other);
/* OA_ARGUMENT, with the name, where the folder contains anything else. A folder that does not exist
 * or is empty may be overwritten. Writes nothing. */
enum oa_error oa_overwrite_check(oa_context *c, const char *folder,
                                 const struct oa_folder_kind *kind);
/* The same, and then removes it all; the folder stays, and the lock in it. */
enum oa_error oa_overwrite(oa_context *c, const char *folder, const struct oa_folder_kind *kind);

#endif
