/* SPDX-License-Identifier: Apache-2.0
 * Reads a YAML file by libyaml's parser. */
#ifndef ORTHANT_YAML_FILE_H
#define ORTHANT_YAML_FILE_H

#include "base/base.h"

#include <yaml.h>

/* Calls read with a parser at the beginning of the file; its result is that of the call. */
typedef enum oa_error oa_yaml_reader(void *argument, yaml_parser_t *p);
enum oa_error oa_yaml_read(oa_context *c, const char *path, oa_yaml_reader *read, void *argument);
/* After yaml_parser_load failed: OA_FORMAT with file, line and column, or OA_NO_MEMORY. */
enum oa_error oa_yaml_failed(oa_context *c, const char *path, const yaml_parser_t *p);

#endif
