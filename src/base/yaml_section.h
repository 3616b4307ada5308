/* SPDX-License-Identifier: Apache-2.0
 * A section of a YAML file that has no options, as a tree. */
#ifndef ORTHANT_YAML_SECTION_H
#define ORTHANT_YAML_SECTION_H

#include "base/base.h"

#include <jansson.h>

/* Maps are objects, lists arrays, and a scalar is the object {OA_YAML_TEXT: its text, OA_YAML_LINE:
 * its line}. */
#define OA_YAML_TEXT "text"
#define OA_YAML_LINE "line"

/* *out: the section, to be json_decref'ed, also after an error; NULL: the file does not have it.
 * OA_FORMAT names file and line. */
enum oa_error oa_yaml_section(oa_context *c, const char *path, const char *section, json_t **out);

#endif
