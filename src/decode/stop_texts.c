/* SPDX-License-Identifier: Apache-2.0
 * Texts that end a continuation. They come in pieces, so what may be the beginning of one is held
 * back. */
#include "decode/decode.h"

#include <string.h>

/* Bytes at the end of a text that begin `stop` without being all of it; 0: none. */
static size_t begun(const char *text, size_t length, const char *stop)
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
        size_t held = length - begun(text, length, stop[i]);
        settled = held < settled ? held : settled;
        if (at && (*found < 0 || (size_t)(at - text) < first)) {
            first = (size_t)(at - text);
            *found = i;
        }
    }
    return *found < 0 ? settled : first;
}
