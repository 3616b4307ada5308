/* SPDX-License-Identifier: Apache-2.0
 * Stores sums of a product on tiles in C (tile_product.h). */
#include <stdbool.h>
#include <stddef.h>

struct tile_finish {
    const float *sums; /* rows of 32 */
    long rows, cols;   /* of them */
    bool real, add;    /* C is real, overwritten or added to; otherwise bf16 */
    bool past;         /* whole cache lines are stored past the caches */
    char *c;           /* place of the first */
    size_t next;       /* bytes from a row of C to the next */
    const char *ahead; /* address in C of the sums after these */
};
