/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/characters.h"

#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* RFC 3629: a character of n bytes has n - 1 continuation bytes, 80 to BF; after E0, ED, F0 and F4
 * the range of the first one is smaller. */
enum { WHOLE, LAST, TWO, THREE, AFTER_E0, AFTER_ED, AFTER_F0, AFTER_F4 };
static const struct {
    uint8_t low, high, next;
} follow[OA_CHARACTER_STATES] = {
    [LAST] = { 0x80, 0xbf, WHOLE },    [TWO] = { 0x80, 0xbf, LAST },
    [THREE] = { 0x80, 0xbf, TWO },     [AFTER_E0] = { 0xa0, 0xbf, LAST },
    [AFTER_ED] = { 0x80, 0x9f, LAST }, [AFTER_F0] = { 0x90, 0xbf, TWO },
    [AFTER_F4] = { 0x80, 0x8f, TWO },
};

static uint8_t after_first(uint8_t byte, bool *valid)
{
    if (byte < 0x80)
        return WHOLE;
    if (byte >= 0xc2 && byte <= 0xdf)
        return LAST;
    if (byte >= 0xe0 && byte <= 0xef)
        return byte == 0xe0 ? AFTER_E0 : byte == 0xed ? AFTER_ED : TWO;
    if (byte >= 0xf0 && byte <= 0xf4)
        return byte == 0xf0 ? AFTER_F0 : byte == 0xf4 ? AFTER_F4 : THREE;
    *valid = false;
    return WHOLE;
}

uint8_t oa_character_after(uint8_t state, uint8_t byte, bool *valid)
{
    if (state == WHOLE)
        return after_first(byte, valid);
    if (byte >= follow[state].low && byte <= follow[state].high)
        return follow[state].next;
    *valid = false;
    return after_first(byte, valid);
}

void oa_characters_add(struct oa_characters *s, const char *bytes, size_t length,
                       struct oa_text *out)
{
    for (size_t i = 0; i < length; i++) {
        bool valid = true, begins = true;
        uint8_t state = oa_character_after(s->state, (uint8_t)bytes[i], &valid);
        if (!valid && s->held)
            oa_characters_end(s, out);
        if (!valid)
            (void)oa_character_after(WHOLE, (uint8_t)bytes[i], &begins);
        if (!begins) {
            oa_text_add(out, REPLACEMENT, 3);
            continue;
        }
        s->byte[s->held++] = bytes[i];
        s->state = state;
        if (state == WHOLE) {
            oa_text_add(out, s->byte, (size_t)s->held);
            s->held = 0;
        }
    }
}

void oa_characters_end(struct oa_characters *s, struct oa_text *out)
{
    if (s->held)
        oa_text_add(out, REPLACEMENT, 3);
    *s = (struct oa_characters){ 0 };
}

void oa_characters_text(const char *bytes, size_t length, struct oa_text *out)
{
    struct oa_characters s = { 0 };
    oa_characters_add(&s, bytes, length, out);
    oa_characters_end(&s, out);
}

void oa_text_one_line(struct oa_text *text, size_t from, bool tabs)
{
    for (size_t i = from; i < text->length; i++)
        if (text->s[i] == '\n' || text->s[i] == '\r' || text->s[i] == 0 ||
            (tabs && text->s[i] == '\t'))
            text->s[i] = ' ';
}
