/* SPDX-License-Identifier: Apache-2.0
 * Stop texts. Text arrives in pieces, so a suffix that may begin a stop text is not passed on yet.
 */
#include "decode/decode.h"

#include <string.h>

/* The length of the longest suffix of the text that is a proper prefix of `stop`. */
static size_t partial_stop(const char *text, size_t length, const char *stop)
{
    size_t n = strlen(stop) - 1;
    for (n = n < length ? n : length; n > 0; n--)
        if (memcmp(text + length - n, stop, n) == 0)
            break;
    return n;
}

size_t oa_before_stop(const char *text, size_t length, const char *const *stop, int stops,
                      int *found)
{
    size_t settled = length, first = length;
    *found = -1;
    for (int i = 0; i < stops; i++) {
        const char *at = length ? memmem(text, length, stop[i], strlen(stop[i])) : NULL;
        size_t certain = length - partial_stop(text, length, stop[i]);
        settled = certain < settled ? certain : settled;
        if (at && (*found < 0 || (size_t)(at - text) < first)) {
            first = (size_t)(at - text);
            *found = i;
        }
    }
    return *found < 0 ? settled : first;
}
