/* SPDX-License-Identifier: Apache-2.0
 * SentencePiece's own normalisation (Kudo and Richardson, EMNLP 2018): at each position the longest
 * match in its table is replaced, a byte that is not UTF-8 becomes U+FFFD and a blank "▁". With
 * single_blanks, runs of blanks become one and are removed at both ends. Unlike Precompiled of a
 * tokenizer.json it does not look at grapheme clusters. */
#include "tokenizers/tokenizer_parts.h"

/* The replacement of the beginning of the text, of *length bytes; *taken: bytes that it replaces.
 */
static const char *rewritten_prefix(const struct oa_charsmap *m, const char *text, size_t n,
                                    size_t *length, size_t *taken)
{
    uint32_t code;
    const char *other = oa_charsmap_longest(m, text, n, taken);
    if (other) {
        *length = strlen(other);
        return other;
    }
    int known = oa_utf8_decode(text, n, &code);
    *taken = known ? (size_t)known : 1;
    *length = known ? (size_t)known : 3;
    return known ? text : "\xef\xbf\xbd";
}

void oa_normal_sentencepiece(const struct oa_text_normaliser *step, const char *text, size_t n,
                             struct oa_text *out)
{
    size_t at = 0, length, taken;
    const char *s;
    for (; at < n && step->single_blanks; at += taken) {
        s = rewritten_prefix(&step->map, text + at, n - at, &length, &taken);
        if (length != 1 || *s != ' ')
            break;
    }
    if (at == n)
        return;
    if (step->dummy_prefix)
        oa_text_add(out, OA_SPACE_PIECE, strlen(OA_SPACE_PIECE));
    for (bool blank = step->single_blanks; at < n; at += taken) {
        s = rewritten_prefix(&step->map, text + at, n - at, &length, &taken);
        for (; blank && length && *s == ' '; s++)
            length--;
        for (size_t i = 0; i < length; i++)
            if (s[i] == ' ')
                oa_text_add(out, OA_SPACE_PIECE, strlen(OA_SPACE_PIECE));
            else
                oa_text_add(out, s + i, 1);
        if (length)
            blank = step->single_blanks && s[length - 1] == ' ';
    }
    const size_t width = strlen(OA_SPACE_PIECE);
    while (step->single_blanks && out->length >= width &&
           memcmp(out->s + out->length - width, OA_SPACE_PIECE, width) == 0)
        oa_text_cut(out, out->length - width);
}
