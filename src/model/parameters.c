/* SPDX-License-Identifier: Apache-2.0
 * Matrices and vectors of a model beside those of attention. */
#include "model/stack.h"

struct oa_parameter *oa_add_matrix(struct oa_store *s, const char *name, long rows, long cols,
                                   double deviation)
{
    struct oa_parameter p = { .dims = 2,
                              .dim = { rows, cols },
                              .trainable = true,
                              .decay = true,
                              .matrix = true,
                              .init = OA_INIT_NORMAL,
                              .scale = deviation };
    snprintf(p.name, sizeof p.name, "%s", name);
    return oa_store_add(s, &p);
}

struct oa_parameter *oa_add_vector(struct oa_store *s, const char *name, long n, enum oa_init init)
{
    struct oa_parameter p = { .dims = 1, .dim = { n }, .trainable = true, .init = init };
    snprintf(p.name, sizeof p.name, "%s", name);
    return oa_store_add(s, &p);
}
