/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml_file.h"

enum oa_error oa_yaml_read(oa_context *c, const char *path, oa_yaml_reader *read, void *argument)
{
    yaml_parser_t parser;
    char *text;
    size_t length;
    OA_TRY(oa_file_read(c, path, &text, &length));
    if (!yaml_parser_initialize(&parser)) {
        oa_free(text);
        return oa_fail(c, OA_NO_MEMORY, "out of memory for reading %s", path);
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    enum oa_error e = read(argument, &parser);
    yaml_parser_delete(&parser);
    oa_free(text);
    return e;
}

enum oa_error oa_yaml_failed(oa_context *c, const char *path, const yaml_parser_t *p)
{
    return oa_fail(c, p->error == YAML_MEMORY_ERROR ? OA_NO_MEMORY : OA_FORMAT, "%s:%zu:%zu: not valid YAML: %s", path,
                   p->problem_mark.line + 1, p->problem_mark.column + 1, p->problem ? p->problem : "out of memory");
}
