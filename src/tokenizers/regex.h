/* SPDX-License-Identifier: Apache-2.0
 * Translates the patterns of tokenizer.json, in Oniguruma's own syntax (UTF-8, no options), to
 * PCRE2's. */
#ifndef ORTHANT_REGEX_H
#define ORTHANT_REGEX_H

#include "base/base.h"

/* Appends to `out` a pattern that PCRE2 (UTF, line ends "\n", no further options) matches as the
 * reference matches `pattern`. OA_UNSUPPORTED, with byte and reason: no equivalent, or the
 * reference rejects it. where: the file, for messages. *from_start: it contains \G. */
enum oa_error oa_regex_translate(oa_context *c, const char *where, const char *pattern,
                                 struct oa_text *out, bool *from_start);

#endif
