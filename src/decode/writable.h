/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tokens a model may write next: those that the targets of its task can contain, and of these
 * the ones after which the text is still the beginning of a UTF-8 text. Applied to log-odds, before
 * a token is drawn or a beam chosen.
 */
#ifndef ORTHANT_DECODE_WRITABLE_H
#define ORTHANT_DECODE_WRITABLE_H

#include "data/examples.h"
#include "tokenizers/tokenizer.h"

/* Special tokens that may be written, besides the ones that encoding a text with plain special
 * tokens gives (oa_tokenizer_encode_text), such as that for unknown words. */
struct oa_writing_rules {
    int32_t end; /* ends a text, between characters only; -1: nothing does */
    bool spelt;  /* texts are encoded by oa_tokenizer_encode: they may spell special tokens */
    const struct oa_labels *specials; /* with `spelt`: only these may; NULL: all may */
};
struct oa_writable;
/* vocabulary: of the model; ids that are no tokens of the tokenizer are never written. Close also
 * after an error. */
enum oa_error oa_writable_open(oa_context *c, struct oa_tokenizer *tok, long vocabulary,
                               const struct oa_writing_rules *rules, struct oa_writable **out);
void oa_writable_close(struct oa_writable *w);
/* -∞ for the tokens that may not follow. state: of the text so far (decode/characters.h). Where no
 * token of the vocabulary continues the character that the text ends in, any token that a target
 * can contain may follow. */
void oa_writable_mask(const struct oa_writable *w, uint8_t state, float *logits);
uint8_t oa_writable_after(const struct oa_writable *w, uint8_t state, int32_t id);

#endif
