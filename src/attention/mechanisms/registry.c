/* SPDX-License-Identifier: Apache-2.0
 * The list of mechanisms, in the order of registry.def. */
#include "attention/mechanism.h"

#include <string.h>

#define MECHANISM(id) extern const struct oa_mechanism oa_mechanism_##id;
#include "attention/mechanisms/registry.def"
#undef MECHANISM

static const struct oa_mechanism *const mechanisms[] = {
#define MECHANISM(id) &oa_mechanism_##id,
#include "attention/mechanisms/registry.def"
#undef MECHANISM
};
#define COUNT ((int)(sizeof mechanisms / sizeof mechanisms[0]))

const struct oa_mechanism *oa_mechanism_at(int i)
{
    return i >= 0 && i < COUNT ? mechanisms[i] : NULL;
}

const struct oa_mechanism *oa_mechanism_find(const char *name)
{
    for (int i = 0; i < COUNT; i++) {
        if (strcmp(mechanisms[i]->name, name) == 0)
            return mechanisms[i];
    }
    return NULL;
}
