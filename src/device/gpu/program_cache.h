/* SPDX-License-Identifier: Apache-2.0
 * Compiled programs of the GPU device, cached for the next run in $XDG_CACHE_HOME/orthant or
 * ~/.cache/orthant, one file each. It is a convenience: what cannot be read or written there is
 * compiled again, and no failure is recorded. */
#ifndef ORTHANT_DEVICE_GPU_PROGRAM_CACHE_H
#define ORTHANT_DEVICE_GPU_PROGRAM_CACHE_H

#include "base/base.h"

enum { OA_PROGRAM_KEY = 65 };

/* Of everything that the machine code depends on. */
void oa_program_key(char key[OA_PROGRAM_KEY], const char *architecture, int compiler,
                    const char *text);
/* NULL: not there. Free it with oa_free. */
char *oa_program_cached(oa_context *c, const char *name, const char *key);
void oa_program_cache(oa_context *c, const char *name, const char *key, const char *code,
                      size_t bytes);

#endif
