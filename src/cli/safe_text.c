/* SPDX-License-Identifier: Apache-2.0
 * Text for a terminal. Names of files and options may hold anything, also what a terminal takes for
 * a command: control characters and bytes that are not UTF-8 are shown as \xNN, everything else as
 * it is. */
#include "cli.h"

/* Bytes of the UTF-8 character at s (RFC 3629, without the exact ranges of its second byte), 0
 * where there is none. */
static int character_length(const unsigned char *s)
{
    int n = s[0] < 0x80                    ? 1
            : s[0] >= 0xc2 && s[0] <= 0xdf ? 2
            : s[0] >= 0xe0 && s[0] <= 0xef ? 3
                                           : 4;
    if (n == 4 && (s[0] < 0xf0 || s[0] > 0xf4))
        return 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

static bool is_c0(unsigned char byte) /* and DEL */
{
    return byte < 0x20 || byte == 0x7f;
}

static bool is_c1(unsigned char first, unsigned char second) /* U+0080 … U+009F */
{
    return first == 0xc2 && second >= 0x80 && second < 0xa0;
}

void print_safely(FILE *f, const char *text, size_t length)
{
    static unsigned char before; /* text may be cut anywhere, also inside a character */
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if ((is_c0(byte) && byte != '\n' && byte != '\t') || is_c1(before, byte))
            fprintf(f, "\\x%02x", byte);
        else
            putc(byte, f);
        before = byte;
    }
}

void safe_text(const char *text, bool lines, char *out, size_t size)
{
    size_t length = 0;
    for (const unsigned char *s = (const unsigned char *)text; *s && length + 5 <= size;) {
        int n = character_length(s), whole = n && !is_c0(s[0]) && !is_c1(s[0], s[1]);
        whole |= lines && *s == '\n';
        if (whole)
            length += (size_t)snprintf(out + length, size - length, "%.*s", n, (const char *)s);
        else
            length += (size_t)snprintf(out + length, size - length, "\\x%02x", s[0]);
        s += whole ? n : 1;
    }
    out[length] = 0;
}
