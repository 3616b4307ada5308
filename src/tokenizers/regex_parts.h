/* SPDX-License-Identifier: Apache-2.0
 * Private to regex*.c: the state of the parser, characters (regex_characters.c) and character
 * classes (regex_sets.c). Functions that return false have recorded an error. */
#ifndef ORTHANT_REGEX_PARTS_H
#define ORTHANT_REGEX_PARTS_H

#include "tokenizers/regex.h"
#include "tokenizers/text.h"

#include <string.h>

enum {
    OA_REGEX_DEPTH = 60, /* of groups and sets; each takes several of PCRE2's 250 levels */
    OA_REGEX_GROUPS = 99,
    OA_REGEX_NAMES = 99
};

struct oa_regex_name {
    const char *s;
    size_t n;
    int group;
};

struct oa_regex {
    oa_context *context;
    const char *where, *pattern, *p; /* p: current position */
    struct oa_text *out;
    bool ignore_case, dot_is_all, extended;
    bool named;              /* the pattern has named groups, so "(" does not capture */
    bool restart;            /* a named group was found: parse again with `named` */
    bool behind, not_behind; /* inside a look-behind; inside a negative one */
    bool from_start;         /* \G */
    int depth, groups, names;
    bool closed[OA_REGEX_GROUPS + 1];
    struct oa_regex_name name[OA_REGEX_NAMES];
    uint32_t literal; /* the previous literal, case-folded; 0: none */
};

/* ---- characters ---- */

bool oa_regex_refuse(const struct oa_regex *t, const char *at, const char *format, ...)
    OA_PRINTF(3, 4);
bool oa_regex_deeper(struct oa_regex *t);
bool oa_regex_eat(struct oa_regex *t,
                  const char *text); /* consumes the text if it is next; records no error */
void oa_regex_print_code(struct oa_text *out, uint32_t code);
int oa_regex_digit(char c, int base); /* -1: none */
/* Reads up to `most` digits. Returns their number. */
int oa_regex_digits(struct oa_regex *t, int base, int most, uint32_t *value);
/* A literal or an escaped character; with `escaped`, t->p is after the backslash. */
bool oa_regex_code(struct oa_regex *t, bool escaped, bool in_set, uint32_t *code);
/* The first character of the case folding; *length: of the folding. */
uint32_t oa_regex_fold(uint32_t code, int *length);
bool oa_regex_has_case(uint32_t code);
bool oa_regex_newer_case(
    uint32_t code); /* its other case is newer than Unicode 14, the version of PCRE2 10.42 */

/* ---- sets ---- */

enum oa_case { OA_NO_CASE, OA_BOTH_CASES, OA_CASE_MATTERS };
struct oa_property {
    const char *names, *members, *added, *removed;
    enum oa_case letters;
};
/* A union: members of a PCRE2 class, and alternatives of one character each. */
struct oa_char_set {
    struct oa_text members, others;
};
void oa_char_set_init(struct oa_char_set *s, oa_context *c);
void oa_char_set_free(struct oa_char_set *s);
const struct oa_property *oa_regex_property(const char *name, size_t n); /* NULL: there is none */
/* The property of "\d", "\p{…}" and the like; t->p is at the letter. NULL without a recorded error:
 * another escape. */
const struct oa_property *oa_regex_read_property(struct oa_regex *t, bool *negated);
void oa_regex_add_property(struct oa_char_set *s, const struct oa_property *p, bool negated);
/* An expression for one character of the set, or of its complement. */
void oa_regex_print_set(struct oa_text *out, const struct oa_char_set *s, bool negated,
                        bool ignore_case);
/* t->p is after "[". Prints an expression for one character, or adds to the enclosing set. */
bool oa_regex_set(struct oa_regex *t, struct oa_text *out, struct oa_char_set *outer);

#endif
