/* SPDX-License-Identifier: Apache-2.0
 * Splits a line with a JSON object into its members without converting values. Accepts what
 * Python's json.loads accepts: NaN and Infinity, integers of any length, lone surrogates, \u0000,
 * duplicate keys. Strings that are not valid text are rejected when they are read. */
#ifndef ORTHANT_DATA_JSON_LINE_H
#define ORTHANT_DATA_JSON_LINE_H

#include "base/base.h"

/* The source text of a value; its first character gives its type. */
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
    const char *why; /* NULL: out of memory */
    size_t at;       /* the byte of the line, from 1 */
    bool cut_off;    /* the line ends within the value */
};
/* The members of the object that is the line's only value; values point into the line. False:
 * *fault. */
bool oa_json_object_cut(struct oa_json_object *o, const char *line, size_t length,
                        struct oa_json_fault *fault);

/* The number of members with the key; *out: the last one, as json.loads. */
int oa_json_find(const struct oa_json_object *o, const char *key, size_t length,
                 struct oa_json_value *out);
/* The next item of a list; *at is 0 before the first. */
bool oa_json_list_next(const struct oa_json_value *list, size_t *at, struct oa_json_value *item);
/* Appends the text of a string to *out. Returns NULL, or what makes it invalid text. */
const char *oa_json_string_text(const struct oa_json_value *string, struct oa_text *out);

#endif
