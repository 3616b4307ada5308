/* SPDX-License-Identifier: Apache-2.0
 *
 * The patterns of tokenizer.json, written for Oniguruma as the package tokenizers sets it up (its
 * own syntax, UTF-8, no options), in PCRE2's language.
 */
#ifndef ORTHANT_REGEX_H
#define ORTHANT_REGEX_H

#include "base/base.h"

/* Appends to `out` a pattern that PCRE2 (UTF, line ends are "\n", no further options) matches as
 * the reference matches `pattern`. What has no equal there is refused (OA_UNSUPPORTED) with its
 * byte and the reason; what the reference refuses is refused. `where` names the file for the
 * message. *from_start: whether \G is in it, which asks where the search began. */
enum oa_error oa_regex_translate(oa_context *c, const char *where, const char *pattern,
                                 struct oa_text *out, bool *from_start);

#endif
