/* SPDX-License-Identifier: Apache-2.0
 * A command as an attention to verify: calls as files of tensors (docs/foreign.md). */
#ifndef ORTHANT_VERIFY_FOREIGN_H
#define ORTHANT_VERIFY_FOREIGN_H

#include "base/base.h"
#include "verify/callable.h"

struct oa_foreign {
    oa_context *context;
    const char *command; /* for sh; the names of files are appended */
    const char *folder;  /* of the files */
    bool kept;           /* files stay */
    double timeout_seconds;
    long files; /* calls so far */
    long limit; /* calls of one process */
};
/* struct oa_callable.run of a struct oa_foreign. */
int oa_foreign_run(void *argument, struct oa_callable_call *calls, long count);
/* Runs sh with the command and the words after it, output into the file `log`; waits until it ends,
 * the timeout is over or a stop is requested, which ends its process group. *status: as waitpid
 * gives it. */
enum oa_error oa_foreign_process(oa_context *c, const char *command, char *const *words, long count,
                                 const char *log, double timeout_seconds, int *status);

#endif
