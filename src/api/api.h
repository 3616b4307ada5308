/* SPDX-License-Identifier: Apache-2.0
 *
 * api: the functions of orthant.h that the program's commands stand on. Each file is one command: it takes options,
 * calls the folders that do the work, and turns what comes back into text. Nothing is computed here.
 */
#ifndef ORTHANT_API_H
#define ORTHANT_API_H

#include "base/base.h"

#include <jansson.h>

struct oa_config {
    oa_context *context;
    struct oa_options options;
};

/* Hands a finished text to the sink and frees it. Returns the state of the context: a failure while the text was made
 * is in it. */
enum oa_error oa_emit(const struct oa_output *out, struct oa_text *text);
bool oa_wants_text(const struct oa_output *out);
bool oa_wants_json(const struct oa_output *out);
/* Adds a JSON value, indented, with a line end, and frees it. */
void oa_json_add(struct oa_text *text, json_t *value);

#endif
