/* SPDX-License-Identifier: Apache-2.0
 * Masks tokens before sampling and beam search: allowed are tokens that targets can contain and
 * that keep the text a prefix of valid UTF-8. */
#ifndef ORTHANT_DECODE_WRITABLE_H
#define ORTHANT_DECODE_WRITABLE_H

#include "data/examples.h"
#include "tokenizers/tokenizer.h"

/* Special tokens that may be written, besides those that oa_tokenizer_encode_text produces, such as
 * <unk>. */
struct oa_writing_rules {
    int32_t end; /* end token, allowed between characters only; -1: none */
    bool spelt;  /* texts are encoded by oa_tokenizer_encode: they may spell special tokens */
    const struct oa_labels *specials; /* with `spelt`: only these may; NULL: all may */
};
struct oa_writable;
/* vocabulary: of the model; ids without a token are never allowed. Close also after an error. */
enum oa_error oa_writable_open(oa_context *c, struct oa_tokenizer *tok, long vocabulary,
                               const struct oa_writing_rules *rules, struct oa_writable **out);
void oa_writable_close(struct oa_writable *w);
/* Sets the logits of disallowed tokens to -∞. state: of the text so far (decode/characters.h). If
 * no token completes the last character, any token that targets can contain is allowed. */
void oa_writable_mask(const struct oa_writable *w, uint8_t state, float *logits);
uint8_t oa_writable_after(const struct oa_writable *w, uint8_t state, int32_t id);

#endif
