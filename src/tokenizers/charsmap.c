/* SPDX-License-Identifier: Apache-2.0
 * SentencePiece's table of rewritings (Kudo and Richardson, EMNLP 2018), which `Precompiled` of a
 * tokenizer.json and `normalizer_spec` of a spiece.model contain:
 *
 *     4 bytes, little-endian: bytes of the trie
 *     the trie, a double array of 4-byte units (Yata's Darts-clone)
 *     the replacements, each ended by a 0
 *
 * A unit has a label (the byte that leads to it), the distance to its children and whether a string
 * ends there; the unit of the end has the place of the replacement. */
#include "base/little_endian.h"
#include "tokenizers/tokenizer_parts.h"

#include <utf8proc.h>

#define REMEDY "fetch the file again"

void oa_charsmap_free(struct oa_charsmap *m)
{
    oa_free(m->unit);
    oa_free(m->pool);
    *m = (struct oa_charsmap){ 0 };
}

/* ---- reading ---- */

size_t oa_base64_bytes(const char *text, size_t n, struct oa_text *out)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t letters = n;
    uint32_t bits = 0;
    while (letters && n - letters < 2 && text[letters - 1] == '=')
        letters--;
    if (n % 4)
        return n - n % 4;
    for (size_t i = 0; i < letters; i++) {
        const char *letter = text[i] ? strchr(alphabet, text[i]) : NULL;
        if (!letter)
            return i;
        bits = bits << 6 | (uint32_t)(letter - alphabet);
        if (i % 4)
            oa_text_add(out, &(char){ (char)(bits >> (6 - 2 * (i % 4))) }, 1);
    }
    return n;
}

static uint32_t read_unit(const char *bytes)
{
    return (uint32_t)oa_get_little_endian((const uint8_t *)bytes, 4);
}

enum oa_error oa_charsmap_parse(oa_context *c, const char *where, const char *blob, size_t n,
                                struct oa_charsmap *out)
{
    uint32_t trie = n >= 4 ? read_unit(blob) : 0;
    *out = (struct oa_charsmap){ 0 };
    if (n < 8 || trie % 4 || trie < 4 || trie > n - 4)
        return oa_fail(c, OA_FORMAT,
                       "%s: precompiled_charsmap has %zu bytes, of which the trie takes %u: it is "
                       "damaged; " REMEDY,
                       where, n, (unsigned)trie);
    out->units = trie / 4;
    out->length = n - 4 - trie;
    size_t valid = oa_utf8_valid_length(blob + 4 + trie, out->length);
    if (valid < out->length)
        return oa_fail(c, OA_FORMAT,
                       "%s: precompiled_charsmap, byte %zu: the replacement is not UTF-8; " REMEDY,
                       where, 4 + trie + valid);
    out->unit = oa_alloc(c, out->units * sizeof *out->unit);
    out->pool = oa_alloc(c, out->length + 1);
    if (!out->unit || !out->pool)
        return OA_NO_MEMORY;
    for (size_t i = 0; i < out->units; i++)
        out->unit[i] = read_unit(blob + 4 + 4 * i);
    memcpy(out->pool, blob + 4 + trie, out->length);
    return OA_OK;
}

enum oa_error oa_charsmap_read(oa_context *c, const char *where, const char *base64,
                               struct oa_charsmap *out)
{
    struct oa_text blob;
    size_t n = strlen(base64);
    oa_text_init(&blob, c);
    size_t read = oa_base64_bytes(base64, n, &blob);
    enum oa_error e =
        read == n
            ? oa_charsmap_parse(c, where, blob.s, blob.length, out)
            : oa_fail(c, OA_FORMAT, "%s: precompiled_charsmap is not base64 at letter %zu; " REMEDY,
                      where, read);
    oa_text_free(&blob);
    return e;
}

/* ---- rewriting ---- */

static size_t unit_offset(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
}

/* The replacement of the shortest prefix of the text that has one, or of the longest, whose length
 * is *taken. NULL: none. */
static const char *replacement_of(const struct oa_charsmap *m, const char *text, size_t n,
                                  bool longest, size_t *taken)
{
    const char *found = NULL;
    size_t at = m->units ? unit_offset(m->unit[0]) : 0;
    for (size_t i = 0; i < n && text[i]; i++) {
        uint8_t byte = (uint8_t)text[i];
        at ^= byte;
        uint32_t unit = at < m->units ? m->unit[at] : 0;
        if (at >= m->units || (unit & (1u << 31 | 0xff)) != byte)
            return found;
        at ^= unit_offset(unit);
        if (unit >> 8 & 1) {
            size_t place = at < m->units ? m->unit[at] & ~(1u << 31) : m->length;
            found = place < m->length ? m->pool + place : found;
            *taken = i + 1;
            if (!longest)
                return found;
        }
    }
    return found;
}

const char *oa_charsmap_longest(const struct oa_charsmap *m, const char *text, size_t n,
                                size_t *taken)
{
    return replacement_of(m, text, n, true, taken);
}

/* The shortest one, which the reference takes for the whole text. */
static const char *replacement(const struct oa_charsmap *m, const char *text, size_t n)
{
    size_t taken;
    return replacement_of(m, text, n, false, &taken);
}

/* Marks of Unicode 16 and 17, which the reference joins to what is before them, in at most three
 * bytes: with longer ones a cluster is not looked up as a whole. */
static bool is_newer_mark(uint32_t code)
{
    static const uint32_t ranges[][2] = { { 0x897, 0x897 },
                                          { 0x1acf, 0x1add },
                                          { 0x1ae0, 0x1aeb } };
    return OA_CODE_IN(code, ranges);
}

/* The length of the extended grapheme cluster (Unicode Annex 29) at the beginning. */
static size_t grapheme_length(const char *text, size_t n)
{
    utf8proc_int32_t state = 0;
    uint32_t last = 0, next;
    size_t at = (size_t)oa_utf8_decode(text, n, &last);
    while (at < n) {
        int length = oa_utf8_decode(text + at, n - at, &next);
        if (!is_newer_mark(next) && utf8proc_grapheme_break_stateful(
                                        (utf8proc_int32_t)last, (utf8proc_int32_t)next, &state))
            break;
        at += (size_t)length;
        last = next;
    }
    return at;
}

void oa_charsmap_apply(const struct oa_charsmap *m, const char *text, size_t n, struct oa_text *out)
{
    enum { LONGEST = 5 }; /* bytes of a cluster that is looked up as a whole */
    for (size_t i = 0, length; i < n; i += length) {
        length = grapheme_length(text + i, n - i);
        const char *whole = length <= LONGEST ? replacement(m, text + i, length) : NULL;
        if (whole) {
            oa_text_add(out, whole, strlen(whole));
            continue;
        }
        for (size_t at = i, width; at < i + length; at += width) {
            uint32_t code;
            width = (size_t)oa_utf8_decode(text + at, i + length - at, &code);
            const char *other = replacement(m, text + at, width);
            oa_text_add(out, other ? other : text + at, other ? strlen(other) : width);
        }
    }
}
