/* SPDX-License-Identifier: Apache-2.0
 *
 * A JSON object in a line, cut into its members without making anything of what nobody reads.
 * Accepted is what Python's json.loads accepts: NaN and Infinity, integers of any length, lone
 * surrogates, \u0000, keys that are there twice. What of it no text can hold is refused where the
 * value is read.
 */
#ifndef ORTHANT_DATA_JSON_LINE_H
#define ORTHANT_DATA_JSON_LINE_H

#include "base/base.h"

/* A value as it is written in its line; the first character tells of what kind it is. */
struct oa_json_value {
    const char *s;
    size_t length;
};

struct oa_json_object {
    struct oa_json_member {
        size_t key, key_length; /* in `keys` */
        struct oa_json_value value;
    } * member;
    size_t count, capacity;
    struct oa_text keys;
};
void oa_json_object_init(struct oa_json_object *o, oa_context *c);
void oa_json_object_free(struct oa_json_object *o);

struct oa_json_fault {
    const char *why; /* NULL: there is no memory left */
    size_t at;       /* the byte of the line, from 1 */
    bool cut_off;    /* the line ends within the value */
};
/* The members of the line's only value, which is an object; false: it is none. They point into the
 * line. */
bool oa_json_object_cut(struct oa_json_object *o, const char *line, size_t length,
                        struct oa_json_fault *fault);

/* How many members have the key; the last one, which json.loads takes, to *out. */
int oa_json_find(const struct oa_json_object *o, const char *key, size_t length,
                 struct oa_json_value *out);
/* The next item of a list; *at is 0 before the first. */
bool oa_json_list_next(const struct oa_json_value *list, size_t *at, struct oa_json_value *item);
/* A string's text, behind what is in *out; NULL, or why no text can hold it. */
const char *oa_json_string_text(const struct oa_json_value *string, struct oa_text *out);

#endif
