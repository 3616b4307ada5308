/* SPDX-License-Identifier: Apache-2.0 */
#include "data/json_line.h"

#include "base/reserve.h"
#include "tokenizers/text.h"

#include <string.h>

struct json_scan {
    const char *s, *end;
    const char *why;
};

static bool scan_fails(struct json_scan *p, const char *why)
{
    p->why = why;
    return false;
}

static void skip_white(struct json_scan *p)
{
    while (p->s < p->end && strchr(" \t\r\n", *p->s) && *p->s)
        p->s++;
}

static bool at_char(const struct json_scan *p, char c)
{
    return p->s < p->end && *p->s == c;
}

/* ---- values ---- */

/* Four hexadecimal digits, or -1. */
static long hex_unit(const char *s, const char *end)
{
    long value = 0;
    if (end - s < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdef",
                   c = s[i] >= 'A' && s[i] <= 'F' ? (char)(s[i] + 32) : s[i];
        const char *digit = c ? strchr(digits, c) : NULL;
        if (!digit)
            return -1;
        value = 16 * value + (digit - digits);
    }
    return value;
}

static bool scan_string(struct json_scan *p)
{
    for (p->s++; p->s < p->end && *p->s != '"'; p->s++) {
        if ((unsigned char)*p->s < 0x20)
            return scan_fails(p, "a string has an unescaped control character");
        if (*p->s != '\\')
            continue;
        if (++p->s == p->end)
            break;
        if (*p->s == 'u' && hex_unit(p->s + 1, p->end) < 0)
            return scan_fails(p, "\\u must be followed by four hexadecimal digits");
        if (!*p->s || !strchr("\"\\/bfnrtu", *p->s))
            return scan_fails(p, "\\ must be followed by one of \" \\ / b f n r t u");
    }
    if (p->s == p->end)
        return scan_fails(p, "unterminated string");
    p->s++;
    return true;
}

static size_t skip_digits(struct json_scan *p)
{
    const char *from = p->s;
    while (p->s < p->end && *p->s >= '0' && *p->s <= '9')
        p->s++;
    return (size_t)(p->s - from);
}

static bool scan_number(struct json_scan *p)
{
    p->s += at_char(p, '-');
    if (at_char(p, '0'))
        p->s++;
    else if (!skip_digits(p))
        return scan_fails(p, "expected a value");
    if (at_char(p, '.')) {
        p->s++;
        if (!skip_digits(p))
            return scan_fails(p, "expected digits after the decimal point");
    }
    if (at_char(p, 'e') || at_char(p, 'E')) {
        p->s++;
        p->s += at_char(p, '+') || at_char(p, '-');
        if (!skip_digits(p))
            return scan_fails(p, "expected digits in the exponent");
    }
    return true;
}

static bool scan_word(struct json_scan *p)
{
    static const char *const words[] = { "true", "false", "null", "NaN", "Infinity", "-Infinity" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(p->end - p->s) >= n && memcmp(p->s, words[i], n) == 0) {
            p->s += n;
            return true;
        }
    }
    return scan_number(p);
}

static bool scan_json_value(struct json_scan *p, int depth);

/* A key with its colon. */
static bool scan_key(struct json_scan *p)
{
    skip_white(p);
    if (!at_char(p, '"'))
        return scan_fails(p, "expected a quoted key");
    if (!scan_string(p))
        return false;
    skip_white(p);
    if (!at_char(p, ':'))
        return scan_fails(p, "expected ':'");
    p->s++;
    return true;
}

/* After an item: true where a comma and another item follow; false at the closing bracket or an
 * error. */
static bool scan_comma(struct json_scan *p, char close)
{
    skip_white(p);
    if (at_char(p, ',')) {
        p->s++;
        return true;
    }
    if (at_char(p, close))
        p->s++;
    else
        scan_fails(p, close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
    return false;
}

/* A list or an object. */
static bool scan_nested(struct json_scan *p, int depth)
{
    enum { DEEPEST = 500 };
    bool object = *p->s++ == '{';
    char close = object ? '}' : ']';
    if (depth > DEEPEST)
        return scan_fails(p, "nested more than 500 levels deep");
    skip_white(p);
    if (at_char(p, close)) {
        p->s++;
        return true;
    }
    do {
        if ((object && !scan_key(p)) || !scan_json_value(p, depth + 1))
            return false;
    } while (scan_comma(p, close));
    return !p->why;
}

/* With the white space around it. */
static bool scan_json_value(struct json_scan *p, int depth)
{
    skip_white(p);
    bool good = at_char(p, '"')                      ? scan_string(p)
                : at_char(p, '{') || at_char(p, '[') ? scan_nested(p, depth)
                                                     : scan_word(p);
    if (good)
        skip_white(p);
    return good;
}

/* ---- the object ---- */

void oa_json_object_init(struct oa_json_object *o, oa_context *c)
{
    *o = (struct oa_json_object){ .count = 0 };
    oa_text_init(&o->keys, c);
}

void oa_json_object_free(struct oa_json_object *o)
{
    oa_free(o->member);
    oa_text_free(&o->keys);
}

static struct oa_json_value trimmed_value(const char *from, const char *to)
{
    while (from < to && strchr(" \t\r\n", *from))
        from++;
    while (to > from && strchr(" \t\r\n", to[-1]))
        to--;
    return (struct oa_json_value){ from, (size_t)(to - from) };
}

/* A key that is not valid text is stored as it is spelled: it matches no name. */
static bool cut_member(struct oa_json_object *o, struct json_scan *p)
{
    struct oa_json_member *m;
    if (!oa_reserve(o->keys.context, &o->member, &o->capacity, o->count + 1, sizeof *o->member))
        return false;
    m = &o->member[o->count];
    skip_white(p);
    struct oa_json_value key = { p->s, 0 };
    if (!scan_key(p))
        return false;
    for (key.length = (size_t)(p->s - key.s); key.s[key.length - 1] != '"'; key.length--)
        ;
    m->key = o->keys.length;
    if (oa_json_string_text(&key, &o->keys)) {
        oa_text_cut(&o->keys, m->key);
        oa_text_add(&o->keys, key.s, key.length);
    }
    m->key_length = o->keys.length - m->key;
    const char *from = p->s;
    if (!scan_json_value(p, 1))
        return false;
    m->value = trimmed_value(from, p->s);
    o->count++;
    return oa_status(o->keys.context) != OA_NO_MEMORY;
}

static bool cut_members(struct oa_json_object *o, struct json_scan *p)
{
    skip_white(p);
    if (!at_char(p, '{'))
        return scan_fails(p, "expected an object {\"key\": value, …}");
    p->s++;
    skip_white(p);
    if (at_char(p, '}')) {
        p->s++;
    } else {
        do {
            if (!cut_member(o, p))
                return false;
        } while (scan_comma(p, '}'));
    }
    if (p->why)
        return false;
    skip_white(p);
    return p->s == p->end || scan_fails(p, "unexpected text after the object");
}

bool oa_json_object_cut(struct oa_json_object *o, const char *line, size_t length,
                        struct oa_json_fault *fault)
{
    struct json_scan p = { line, line + length, NULL };
    o->count = 0;
    oa_text_cut(&o->keys, 0);
    bool good = cut_members(o, &p);
    *fault = (struct oa_json_fault){ p.why, (size_t)(p.s - line) + 1, p.s == p.end };
    return good;
}

int oa_json_find(const struct oa_json_object *o, const char *key, size_t length,
                 struct oa_json_value *out)
{
    int found = 0;
    for (size_t i = 0; i < o->count; i++) {
        const struct oa_json_member *m = &o->member[i];
        if (m->key_length != length || memcmp(o->keys.s + m->key, key, length) != 0)
            continue;
        *out = m->value;
        found++;
    }
    return found;
}

bool oa_json_list_next(const struct oa_json_value *list, size_t *at, struct oa_json_value *item)
{
    struct json_scan p = { list->s + *at + 1, list->s + list->length, NULL };
    const char *from = p.s;
    if (p.s >= p.end || !scan_json_value(&p, 0))
        return false;
    *item = trimmed_value(from, p.s);
    *at = (size_t)(p.s - list->s);
    return true;
}

/* ---- texts ---- */

/* Appends the character of \uXXXX or of a surrogate pair; *s is after the u. */
static const char *add_escaped_unit(const char **s, const char *end, struct oa_text *out)
{
    char bytes[4];
    long unit = hex_unit(*s, end), low = 0;
    *s += 4;
    if (unit == 0)
        return "contains \\u0000";
    if (unit >= 0xd800 && unit < 0xdc00 && end - *s >= 6 && (*s)[0] == '\\' && (*s)[1] == 'u')
        low = hex_unit(*s + 2, end);
    bool pair = low >= 0xdc00 && low < 0xe000;
    if (unit >= 0xd800 && unit < 0xe000 && !pair)
        return "contains an unpaired surrogate";
    *s += pair ? 6 : 0;
    uint32_t code = pair ? 0x10000u + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00)
                         : (uint32_t)unit;
    oa_text_add(out, bytes, (size_t)oa_utf8_encode(code, bytes));
    return NULL;
}

const char *oa_json_string_text(const struct oa_json_value *string, struct oa_text *out)
{
    static const char names[] = "bfnrt", controls[] = "\b\f\n\r\t";
    const char *s = string->s + 1, *end = string->s + string->length - 1;
    while (s < end) {
        const char *escape = memchr(s, '\\', (size_t)(end - s)), *to = escape ? escape : end;
        oa_text_add(out, s, (size_t)(to - s));
        s = to;
        if (!escape)
            break;
        s += 2;
        const char *known = strchr(names, s[-1]);
        char plain = known ? controls[known - names] : s[-1];
        const char *why =
            s[-1] == 'u' ? add_escaped_unit(&s, end, out) : (oa_text_add(out, &plain, 1), NULL);
        if (why)
            return why;
    }
    return NULL;
}
