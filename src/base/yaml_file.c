/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml_file.h"

/* Limits of a file of options, far above those of files written by hand. */
enum {
    MOST_BYTES = 4 << 20,
    DEEPEST = 32,
    MOST_NODES = 200000,
    MOST_ANCHORS = 1000,
    MOST_ALIASES = 10000
};

struct yaml_extent {
    long depth, nodes, anchors, aliases;
};

/* Counts an event. Returns a message if there is too much of something, or NULL. */
static const char *count_event(const yaml_event_t *e, struct yaml_extent *x)
{
    bool begins = e->type == YAML_SEQUENCE_START_EVENT || e->type == YAML_MAPPING_START_EVENT;
    x->depth += begins;
    x->depth -= e->type == YAML_SEQUENCE_END_EVENT || e->type == YAML_MAPPING_END_EVENT;
    x->nodes += begins || e->type == YAML_SCALAR_EVENT;
    x->aliases += e->type == YAML_ALIAS_EVENT;
    x->anchors += (e->type == YAML_SEQUENCE_START_EVENT && e->data.sequence_start.anchor) ||
                  (e->type == YAML_MAPPING_START_EVENT && e->data.mapping_start.anchor) ||
                  (e->type == YAML_SCALAR_EVENT && e->data.scalar.anchor);
    return x->depth > DEEPEST          ? "lists and maps are nested more than 32 deep here"
           : x->nodes > MOST_NODES     ? "more than 200000 values"
           : x->anchors > MOST_ANCHORS ? "more than 1000 anchors"
           : x->aliases > MOST_ALIASES ? "more than 10000 aliases"
                                       : NULL;
}

/* Event by event, before libyaml builds a tree, which takes time quadratic in the depth and in the
 * number of anchors. Invalid YAML is reported later, when the file is read. */
static enum oa_error check_extent(oa_context *c, const char *path, const char *text, size_t length)
{
    yaml_parser_t parser;
    yaml_event_t event;
    struct yaml_extent extent = { 0 };
    enum oa_error e = OA_OK;
    if (length > MOST_BYTES)
        return oa_fail(
            c, OA_FORMAT,
            "%s has %zu bytes, and a file of options has at most 4 MiB: is it another file?", path,
            length);
    if (!yaml_parser_initialize(&parser))
        return oa_fail(c, OA_NO_MEMORY, "out of memory for reading %s", path);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    for (bool more = true; more && e == OA_OK && yaml_parser_parse(&parser, &event);
         yaml_event_delete(&event)) {
        const char *much = count_event(&event, &extent);
        more = event.type != YAML_STREAM_END_EVENT;
        if (much)
            e = oa_fail(c, OA_FORMAT, "%s:%zu:%zu: %s: no options are written so", path,
                        event.start_mark.line + 1, event.start_mark.column + 1, much);
        else if (oa_stop_requested(c))
            e = oa_fail(c, OA_INTERRUPTED, "stopped by signal %d while reading %s",
                        oa_stop_requested(c), path);
    }
    yaml_parser_delete(&parser);
    return e;
}

enum oa_error oa_yaml_read(oa_context *c, const char *path, oa_yaml_reader *read, void *argument)
{
    yaml_parser_t parser;
    char *text;
    size_t length;
    OA_TRY(oa_file_read(c, path, &text, &length));
    enum oa_error e = check_extent(c, path, text, length);
    if (e != OA_OK) {
        oa_free(text);
        return e;
    }
    if (!yaml_parser_initialize(&parser)) {
        oa_free(text);
        return oa_fail(c, OA_NO_MEMORY, "out of memory for reading %s", path);
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    e = read(argument, &parser);
    yaml_parser_delete(&parser);
    oa_free(text);
    return e;
}

enum oa_error oa_yaml_failed(oa_context *c, const char *path, const yaml_parser_t *p)
{
    return oa_fail(c, p->error == YAML_MEMORY_ERROR ? OA_NO_MEMORY : OA_FORMAT,
                   "%s:%zu:%zu: not valid YAML: %s", path, p->problem_mark.line + 1,
                   p->problem_mark.column + 1, p->problem ? p->problem : "out of memory");
}
