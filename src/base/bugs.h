/* SPDX-License-Identifier: Apache-2.0
 *
 * Bugs on purpose (bugs.def): what `orthant verify` claims to find, it is made to find.
 * OA_BUG(NAME) is the constant false but in a build with ORTHANT_BUGS, where the environment
 * variable ORTHANT_BUG names the one that is on.
 */
#ifndef ORTHANT_BUGS_H
#define ORTHANT_BUGS_H

#include <stdbool.h>

enum oa_bug {
#define BUG(name, spec, text) OA_BUG_##name,
#include "base/bugs.def"
#undef BUG
    OA_BUG_COUNT
};

#ifdef ORTHANT_BUGS
bool oa_bug_is_on(enum oa_bug b);
#define OA_BUG(NAME) oa_bug_is_on(OA_BUG_##NAME)
#else
#define OA_BUG(NAME) false
#endif

#endif
