/* SPDX-License-Identifier: Apache-2.0
 * What several tests set up alike: options by their words. */
#ifndef ORTHANT_SETUPS_H
#define ORTHANT_SETUPS_H

#include "base/base.h"
#include "testing.h"

static inline void set_option(struct oa_options *o, const char *key, const char *value)
{
    assert_int_equal(oa_options_set(NULL, o, key, value), OA_OK);
}

#endif
