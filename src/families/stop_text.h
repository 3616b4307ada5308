/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ORTHANT_STOP_TEXT_H
#define ORTHANT_STOP_TEXT_H

#include "tokenizers/tokenizer.h"

/* Appends what a token writes within a text, quoted for a shell; of a special token its name. */
void oa_stop_text_quoted(oa_context *c, const struct oa_tokenizer *tokenizer, int32_t id,
                         struct oa_text *out);

#endif
