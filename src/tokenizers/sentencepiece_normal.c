/* SPDX-License-Identifier: Apache-2.0
 * What SentencePiece (Kudo and Richardson, EMNLP 2018) makes of a text before it is cut: the
 * longest rewriting of its table at each place, a byte that is no UTF-8 becomes U+FFFD, blanks
 * become "▁", at the beginning and the end none and one for several where the model has it so.
 * Unlike Precompiled of a tokenizer.json it knows no grapheme clusters. */
#include "tokenizers/tokenizer_parts.h"

/* What the text begins with, rewritten; *taken: the bytes of the text. */
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
