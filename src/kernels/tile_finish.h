/* SPDX-License-Identifier: Apache-2.0
 * Sums of a product on tiles on their way to C (tile_product.h). */
#include <stdbool.h>
#include <stddef.h>

struct tile_finish {
    const float *sums; /* rows of 32 */
    long rows, cols;   /* of them that there are */
    bool real, add;    /* they become reals, or are added to them; otherwise bf16 */
    bool past;         /* whole cache lines are stored past the caches */
    char *c;           /* where the first goes */
    size_t next;       /* bytes from a row of C to the next */
    const char *ahead; /* address in C of the sums after these */
};
