/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8 byte by byte, as models write it: whether the bytes so far end within a character, and the
 * text that they are.
 */
#ifndef ORTHANT_DECODE_CHARACTERS_H
#define ORTHANT_DECODE_CHARACTERS_H

#include "base/base.h"

/* Between bytes: how much of a character is missing, and which byte may follow. */
enum { OA_CHARACTER_WHOLE, OA_CHARACTER_STATES = 8 };
/* The state after one more byte; *valid becomes false when no UTF-8 text has it there. The byte
 * then begins anew. */
uint8_t oa_character_after(uint8_t state, uint8_t byte, bool *valid);

/* Bytes that come in pieces, turned into UTF-8 text: each maximal stretch that begins a character
 * and does not end it, and each byte that begins none, becomes U+FFFD, as in Python's
 * bytes.decode("utf-8", errors="replace") and in section 3.9 of the Unicode Standard. Zeroed, it is
 * at the beginning of a text. */
struct oa_characters {
    uint8_t state;
    int held; /* bytes of a character that is not whole */
    char byte[4];
};
void oa_characters_add(struct oa_characters *s, const char *bytes, size_t length,
                       struct oa_text *out);
void oa_characters_end(struct oa_characters *s,
                       struct oa_text *out); /* what is held will not become whole */
/* The same of a text that is whole. */
void oa_characters_text(const char *bytes, size_t length, struct oa_text *out);
/* Line ends and zeros from byte `from` on become blanks, and so do tabs where a line is cut at
 * them. */
void oa_text_one_line(struct oa_text *text, size_t from, bool tabs);

#endif
