/* SPDX-License-Identifier: Apache-2.0
 * Copies, in the folder of a run, of the text files that its attention names, so that the run can
 * be resumed and read where the files themselves are missing. */
#ifndef ORTHANT_BASE_FILE_COPIES_H
#define ORTHANT_BASE_FILE_COPIES_H

#include "base/base.h"

/* From now on copies in `folder`, borrowed, are read where a file is not found or, with `only`,
 * instead of it. NULL: no copies. */
void oa_copies_use(oa_context *c, const char *folder, bool only);
/* The path to read for `file`; it need not exist. With `only`, nothing but a regular file. */
enum oa_error oa_copies_find(oa_context *c, const char *file, struct oa_text *path);
/* Copies the file, if it exists, into the folder. */
enum oa_error oa_copies_save(oa_context *c, const char *folder, const char *file);

#endif
