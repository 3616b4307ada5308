/* SPDX-License-Identifier: Apache-2.0
 * Exclusive use of a folder by one process. */
#ifndef ORTHANT_BASE_FOLDER_LOCK_H
#define ORTHANT_BASE_FOLDER_LOCK_H

#include "base/base.h"

/* Creates the folder if need be, locks it and removes temporary files that killed writers left. The
 * kernel releases the lock when the process ends. A folder locked by another process is refused,
 * with its pid, host and time; on file systems without locks only a notice is logged. */
struct oa_lock;
enum oa_error oa_folder_lock(oa_context *c, const char *folder, struct oa_lock **out);
/* The same, but waits while another process has the folder. */
enum oa_error oa_folder_lock_wait(oa_context *c, const char *folder, struct oa_lock **out);
/* Also removes the folder if the lock created it and it is empty. */
void oa_folder_unlock(struct oa_lock *l);
/* Removes the path.PID-N.tmp of killed writers; only in a locked folder. */
void oa_folder_remove_temporaries(const char *folder);
/* Whether it has files other than hidden ones, such as the lock. */
bool oa_folder_has_files(const char *folder);

#endif
