/* SPDX-License-Identifier: Apache-2.0
 * Reads memory in order. Included after READ_WORDS, the bytes of a load: the number of outstanding
 * loads of a core is limited, so that wider loads read more. */
#include "kernels/kernel_bench.h"

enum { READ_ROW = 2048 }; /* bytes */

typedef uint64_t words __attribute__((vector_size(READ_WORDS)));
enum { WORDS = OA_ALIGN / READ_WORDS }; /* in a line */

/* Lines of some rows in turn, each prefetched or not, are summed: the result depends on all of
 * them. */
static uint64_t read_words(const char *from, size_t bytes, struct oa_read_way way)
{
    words sum[WORDS] = { { 0 } };
    for (size_t block = 0; block < bytes; block += way.rows * READ_ROW)
        for (size_t column = 0; column < READ_ROW; column += OA_ALIGN)
            for (size_t row = 0; row < way.rows; row++) {
                const char *at = from + block + row * READ_ROW + column;
                const words *x = (const words *)(const void *)at;
                if (way.ahead)
                    __builtin_prefetch(at + way.ahead);
                for (int j = 0; j < WORDS; j++)
                    sum[j] += x[j];
            }
    for (int j = 1; j < WORDS; j++)
        sum[0] += sum[j];
    uint64_t all = 0;
    for (size_t j = 0; j < READ_WORDS / sizeof all; j++)
        all += sum[0][j];
    return all;
}
