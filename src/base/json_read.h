/* SPDX-License-Identifier: Apache-2.0
 * JSON of files that another person may have made: a limit on its size, and a look at the stop
 * while it is read. (Its depth is limited by jansson, to 2,048.) */
#ifndef ORTHANT_BASE_JSON_READ_H
#define ORTHANT_BASE_JSON_READ_H

#include "base/base.h"

#include <jansson.h>

/* *out is to be released. What is wrong is said with file, line and column, and without the text
 * that is there, which may be a file that a link leads to. remedy: the end of the sentence; NULL:
 * none. */
enum oa_error oa_json_parse(oa_context *c, const char *path, const char *text, size_t length,
                            const char *remedy, json_t **out);
/* The same of a whole file, gzip unpacked. */
enum oa_error oa_json_read(oa_context *c, const char *path, const char *remedy, json_t **out);

#endif
