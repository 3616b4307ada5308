/* SPDX-License-Identifier: Apache-2.0
 * The attentions of a comparison: those that were given, or else those of the configuration
 * (compare.attentions). */
#ifndef ORTHANT_ATTENTION_NAMES_H
#define ORTHANT_ATTENTION_NAMES_H

#include "api/api.h"

struct oa_names {
    char *text; /* owned, contains the names; NULL: they are the caller's */
    const char **name;
    int count;
};
/* Given ones override the configuration's, with a notice. oa_names_free also after an error. */
enum oa_error oa_names_open(const oa_config *config, const char *const *given, int count,
                            struct oa_names *out);
void oa_names_free(struct oa_names *n);

#endif
