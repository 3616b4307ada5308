/* SPDX-License-Identifier: Apache-2.0
 *
 * Oniguruma's regular expressions → PCRE2's, construct by construct, by recursive descent. Both engines backtrack and
 * try alternatives in the same order, so it is enough that each construct matches the same. What is written relies on
 * no option of PCRE2: the options of the pattern (i, m, x) are states of the reader.
 *
 * A set of characters is one member list of PCRE2 where it can be, and otherwise an alternative of expressions that
 * match one character each, with look-aheads for intersections and complements. Letters, numbers and other properties
 * have Unicode 16, the version of the reference, whatever the installed PCRE2 has from 14 on: what was added since is
 * in pattern_properties.h. The table of docs/tokenizers.md lists the constructs.
 */
#include "tokenizers/pattern.h"
#include "tokenizers/text.h"

#include <stdarg.h>
#include <string.h>
#include <utf8proc.h>

enum {
    MOST_DEPTH = 60, /* of groups and sets: PCRE2 takes 250, a part of which is written for each of ours */
    MOST_GROUPS = 99,
    MOST_NAMES = 99,
    MOST_REPEATS = 1000,
    MOST_BYTES = 32768, /* of a pattern */
};

enum oa_case { OA_NO_CASE, OA_BOTH_CASES, OA_CASE_MATTERS };
struct oa_property {
    const char *names, *members, *added, *removed;
    enum oa_case letters;
};
#include "tokenizers/pattern_properties.h"

struct group_name {
    const char *s;
    size_t n;
    int group;
};

struct translation {
    oa_context *context;
    const char *where, *pattern, *p; /* p: what is read next */
    struct oa_text *out;
    bool ignore_case, dot_is_all, extended;
    bool named;              /* a named group is in the pattern: "(" captures nothing */
    bool restart;            /* that was found out on the way */
    bool behind, not_behind; /* inside of a look-behind; of a negative one */
    bool from_start;         /* \G */
    int depth, groups, names;
    bool closed[MOST_GROUPS + 1];
    struct group_name name[MOST_NAMES];
    uint32_t literal; /* the one before, case ignored; 0: something else is before */
};

/* A union: members of a PCRE2 class, and alternatives of one character each. */
struct char_set {
    struct oa_text members, others;
};

static bool refuse_pattern(const struct translation *t, const char *at, const char *format, ...) OA_PRINTF(3, 4);
static bool refuse_pattern(const struct translation *t, const char *at, const char *format, ...)
{
    char sentence[300];
    va_list arguments;
    va_start(arguments, format);
    oa_format(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    oa_fail(t->context, OA_UNSUPPORTED, "%s: pattern \"%.200s\", byte %zu: %s", t->where, t->pattern,
            (size_t)(at - t->pattern), sentence);
    return false;
}

static bool go_deeper(struct translation *t)
{
    return ++t->depth <= MOST_DEPTH ||
           refuse_pattern(t, t->p, "groups and sets are nested more than %d deep", MOST_DEPTH);
}

static bool eat(struct translation *t, const char *text)
{
    size_t n = strlen(text);
    bool there = strncmp(t->p, text, n) == 0;
    t->p += there ? n : 0;
    return there;
}

static void print_code(struct oa_text *out, uint32_t code)
{
    bool plain =
        code < 0x80 && (code == ' ' || (code >= '0' && code <= '9') || ((code | 32) >= 'a' && (code | 32) <= 'z'));
    if (plain)
        oa_text_printf(out, "%c", (char)code);
    else
        oa_text_printf(out, "\\x{%X}", (unsigned)code);
}

/* ---- sets ---------------------------------------------------------------------------------------------------- */

static void set_init(struct char_set *s, oa_context *c)
{
    oa_text_init(&s->members, c);
    oa_text_init(&s->others, c);
}

static void set_free(struct char_set *s)
{
    oa_text_free(&s->members);
    oa_text_free(&s->others);
}

static void add_other(struct char_set *s, const char *open, const char *members, const char *added, const char *close)
{
    oa_text_printf(&s->others, "%s%s%s%s%s", s->others.length ? "|" : "", open, members, added, close);
}

static void add_property(struct char_set *s, const struct oa_property *p, bool negated)
{
    if (!negated && !*p->removed) {
        oa_text_printf(&s->members, "%s%s", p->members, p->added);
        return;
    }
    if (!negated) {
        oa_text_printf(&s->others, "%s(?![%s])[%s%s]", s->others.length ? "|" : "", p->removed, p->members, p->added);
        return;
    }
    add_other(s, "[^", p->members, p->added, "]");
    if (*p->removed)
        add_other(s, "[", p->removed, "", "]");
}

/* An expression for one character of the set, or of its complement. */
static void print_set(struct oa_text *out, const struct char_set *s, bool negated, bool ignore_case)
{
    const char *members = s->members.length ? s->members.s : "", *others = s->others.length ? s->others.s : "";
    const char *open = ignore_case ? "(?i:" : "(?:";
    if (!*members && !*others)
        oa_text_printf(out, "%s", negated ? "\\p{Any}" : "(?!)");
    else if (!*others)
        oa_text_printf(out, ignore_case ? "(?i:[%s%s])" : "[%s%s]", negated ? "^" : "", members);
    else
        oa_text_printf(out, "%s%s%s%s%s%s%s)%s", negated ? "(?:(?!" : "", open, *members ? "[" : "", members,
                       *members ? "]" : "", *members ? "|" : "", others, negated ? ")\\p{Any})" : "");
}

static const struct oa_property *find_property(const char *name, size_t n)
{
    char plain[64] = " ";
    size_t k = 1;
    for (size_t i = 0; i < n; i++) {
        if (k + 2 >= sizeof plain)
            return NULL;
        if (name[i] != ' ' && name[i] != '-' && name[i] != '_')
            plain[k++] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
    }
    if (k == 1)
        return NULL;
    plain[k++] = ' ';
    plain[k] = 0;
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (strstr(properties[i].names, plain))
            return &properties[i];
    return NULL;
}

/* The property of "\d", "\p{…}" and the like at t->p, which is the letter; *negated as it is written. NULL with no
 * error recorded: it is no such escape. */
static const struct oa_property *read_property(struct translation *t, bool *negated)
{
    static const char letters[] = "wsdh";
    static const char *const names[] = { "word", "space", "digit", "xdigit" };
    const char *at = t->p - 1, *found = strchr(letters, *t->p | 32);
    *negated = *t->p >= 'A' && *t->p <= 'Z';
    if (*t->p && found && *found) {
        t->p++;
        return find_property(names[found - letters], strlen(names[found - letters]));
    }
    if ((*t->p | 32) != 'p' || t->p[1] != '{')
        return NULL;
    t->p += 2;
    if (eat(t, "^"))
        *negated = !*negated;
    size_t n = strcspn(t->p, "}");
    const struct oa_property *p = t->p[n] ? find_property(t->p, n) : NULL;
    if (!p)
        refuse_pattern(t, at,
                       "\\p{%.*s} is no property that is read; read are general categories, scripts, the names of "
                       "POSIX brackets and some of emoji",
                       n < 40 ? (int)n : 40, t->p);
    t->p += n + (p != NULL);
    return p;
}

/* ---- characters ------------------------------------------------------------------------------------------------ */

static int digit_of(char c, int base)
{
    int value = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : 99;
    return value < base ? value : -1;
}

/* Up to `most` digits; the number of those that were there. */
static int read_digits(struct translation *t, int base, int most, uint32_t *value)
{
    int n = 0;
    for (*value = 0; n < most && digit_of(*t->p, base) >= 0; n++, t->p++)
        *value = *value * (uint32_t)base + (uint32_t)digit_of(*t->p, base);
    return n;
}

static bool check_code(const struct translation *t, const char *at, uint32_t code)
{
    return (code < 0x110000 && (code < 0xd800 || code > 0xdfff)) ||
           refuse_pattern(t, at, "U+%X is no character", (unsigned)code);
}

/* "\x…", "\u…", "\o…" and octal numbers; t->p is the letter or digit. */
static bool read_number(struct translation *t, uint32_t *code)
{
    const char *at = t->p - 1;
    char kind = *t->p;
    bool braces = t->p[1] == '{' && kind != 'u';
    int base = kind == 'x' || kind == 'u' ? 16 : 8, n;
    if (kind == 'x' || kind == 'u' || kind == 'o')
        t->p += braces ? 2 : 1;
    n = read_digits(t, base, braces ? 8 : kind == 'u' ? 4 : kind == 'x' ? 2 : 3, code);
    if (n == 0 || (kind == 'u' && n < 4) || (kind == 'o' && !braces) || (braces && !eat(t, "}")))
        return refuse_pattern(t, at, "this number of a character is not read; write \\x{HHHH} with one number");
    if (!braces && kind != 'u' && *code >= 0x80)
        return refuse_pattern(t, at, "a byte above 7F is no character; write \\x{HH}");
    return check_code(t, at, *code);
}

/* A character that stands for itself, or an escape for one; t->p is behind a backslash where `escaped`. */
static bool read_code(struct translation *t, bool escaped, bool in_set, uint32_t *code)
{
    static const char controls[] = "tnrfvae", values[] = "\t\n\r\f\v\a\x1b";
    const char *at = t->p, *control = escaped && *at ? strchr(controls, *at) : NULL;
    if (!*at)
        return refuse_pattern(t, at, "the pattern ends with a backslash");
    if (control) {
        t->p++;
        *code = (uint32_t)values[control - controls];
        return true;
    }
    if (escaped && (strchr("xuo", *at) || digit_of(*at, 8) >= 0)) {
        if (*at == 'o' && at[1] != '{') {
            *code = 'o';
            t->p++;
            return true;
        }
        return read_number(t, code);
    }
    if (escaped && strchr("cCM", *at))
        return refuse_pattern(t, at - 1, "\\%c is not read; write the control character as \\x{HH}", *at);
    if (escaped && !in_set && strchr("89yYXKGg", *at))
        return refuse_pattern(t, at - 1, "\\%c is not read", *at);
    int n = oa_utf8_decode(at, strlen(at), code);
    t->p += n;
    return n > 0 || refuse_pattern(t, at, "this is not UTF-8");
}

static uint32_t fold_of(uint32_t code, int *length)
{
    utf8proc_int32_t folded[8];
    int bound = 0;
    *length = (int)utf8proc_decompose_char((utf8proc_int32_t)code, folded, 8, UTF8PROC_CASEFOLD, &bound);
    return *length > 0 ? (uint32_t)folded[0] : code;
}

static bool code_has_case(uint32_t code)
{
    utf8proc_int32_t c = (utf8proc_int32_t)code;
    int length;
    return fold_of(code, &length) != code || length > 1 || utf8proc_tolower(c) != c || utf8proc_toupper(c) != c;
}

/* Letters whose other case came after Unicode 14, the version of PCRE2 10.42. */
static bool has_newer_case(uint32_t code)
{
    return code == 0x19b || code == 0x264 || (code >= 0x1c89 && code <= 0x1c8a) || (code >= 0xa7cb && code <= 0xa7dc) ||
           (code >= 0x10d50 && code <= 0x10d85);
}

/* Where case is ignored the reference takes one character for two ("ss" for "ß") and the other way round. Pairs with
 * which the folding of one character begins; more are refused than there are. */
static bool pair_is_folded(uint32_t a, uint32_t b)
{
    static const uint32_t second[] = { 0x2be, 0x307, 0x308, 0x30a, 0x30c, 0x313, 0x331, 0x342, 0x3b9 };
    for (size_t i = 0; i < sizeof second / sizeof *second; i++)
        if (b == second[i])
            return true;
    return (a == 'f' && (b == 'f' || b == 'i' || b == 'l')) || (a == 's' && (b == 's' || b == 't')) ||
           (a == 0x2bc && b == 'n') || (a >= 0x561 && a <= 0x586 && b >= 0x561 && b <= 0x586);
}

static bool check_fold(struct translation *t, const char *at, uint32_t code)
{
    int length;
    uint32_t folded = fold_of(code, &length), before = t->literal;
    t->literal = folded;
    if (length > 1 || has_newer_case(code))
        return refuse_pattern(t, at,
                              "without case, U+%04X also matches other characters in the reference than here; "
                              "write it outside of (?i…)",
                              (unsigned)code);
    if (before && pair_is_folded(before, folded))
        return refuse_pattern(t, at,
                              "without case, the reference takes these two letters for one character, as ss for ß; "
                              "write both cases in brackets instead of (?i…)");
    return true;
}

/* ---- [sets] ---------------------------------------------------------------------------------------------------- */

static bool read_set(struct translation *t, struct oa_text *out, struct char_set *outer);

static bool check_property_case(const struct translation *t, const char *at, const struct oa_property *p, bool whole)
{
    if (!t->ignore_case || p->letters == OA_NO_CASE || (whole && p->letters == OA_BOTH_CASES))
        return true;
    return refuse_pattern(t, at,
                          "in a set without case the reference takes other characters than here; write it outside "
                          "of (?i…)");
}

static bool check_range_case(const struct translation *t, const char *at, uint32_t first, uint32_t last)
{
    for (uint32_t code = first < 0x80 ? 0x80 : first; t->ignore_case && code <= last; code++)
        if (code_has_case(code) || has_newer_case(code))
            return refuse_pattern(t, at,
                                  "in a set without case only ASCII letters are read; write it outside of (?i…)");
    return true;
}

/* "[:name:]" and "[:^name:]"; t->p is behind "[:". */
static bool read_posix_bracket(struct translation *t, struct char_set *set, bool whole)
{
    static const char *const names[] = { "alnum", "alpha", "ascii", "blank", "cntrl", "digit",  "graph",
                                         "lower", "print", "punct", "space", "upper", "xdigit", "word" };
    const char *at = t->p - 2;
    bool negated = eat(t, "^");
    size_t n = strcspn(t->p, ":");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && strncmp(names[i], t->p, n) == 0 && strncmp(t->p + n, ":]", 2) == 0) {
            const char *name = strcmp(names[i], "punct") == 0 ? "posixpunct" : names[i];
            const struct oa_property *p = find_property(name, strlen(name));
            t->p += n + 2;
            add_property(set, p, negated);
            return check_property_case(t, at, p, whole);
        }
    return refuse_pattern(t, at, "this is no POSIX bracket that is read");
}

static bool add_range(struct translation *t, const char *at, struct char_set *set, uint32_t first)
{
    uint32_t last = first;
    if (t->p[0] == '-' && t->p[1] != ']') {
        t->p++;
        if (*t->p == '[' || (*t->p == '\\' && t->p[1] && strchr("wWsSdDhHpP", t->p[1])))
            return refuse_pattern(t, at, "a range must end with a character");
        if (!read_code(t, eat(t, "\\"), true, &last))
            return false;
        if (t->p[0] == '-' && t->p[1] != ']')
            return refuse_pattern(t, t->p, "\"-\" behind a range: write \\- or put it at the end of the set");
    }
    if (last < first)
        return refuse_pattern(t, at, "the range is empty");
    print_code(&set->members, first);
    if (last > first) {
        oa_text_add(&set->members, "-", 1);
        print_code(&set->members, last);
    }
    return check_range_case(t, at, first, last);
}

/* One item that is neither "]" nor "&&". whole: the set is negated and the outermost. */
static bool read_item(struct translation *t, struct char_set *set, bool first, bool whole)
{
    const char *at = t->p;
    uint32_t code;
    if (eat(t, "[:"))
        return read_posix_bracket(t, set, whole);
    if (eat(t, "["))
        return read_set(t, NULL, set);
    if (*t->p == '-' && (!first || t->p[1] == '-') && t->p[1] != ']')
        return refuse_pattern(t, at, "\"-\" in the middle of a set: write \\- or put it at the end");
    bool escaped = eat(t, "\\"), negated;
    const struct oa_property *p = escaped ? read_property(t, &negated) : NULL;
    if (p) {
        add_property(set, p, negated);
        if (t->p[0] == '-' && t->p[1] != ']')
            return refuse_pattern(t, t->p, "\"-\" behind a class: write \\- or put it at the end of the set");
        return check_property_case(t, at, p, whole);
    }
    if (oa_status(t->context) != OA_OK)
        return false;
    if (escaped && eat(t, "b"))
        code = '\b';
    else if (!read_code(t, escaped, true, &code))
        return false;
    return add_range(t, at, set, code);
}

/* Items up to "]" or "&&". */
static bool read_union(struct translation *t, struct char_set *set, const char *begin, bool whole)
{
    for (bool first = true; strncmp(t->p, "&&", 2) != 0; first = false) {
        bool literal = first && t->p == begin && *t->p == ']' && strchr(t->p + 1, ']');
        if (*t->p == ']' && !literal)
            return t->p != begin || refuse_pattern(t, begin, "the set is empty");
        if (!*t->p)
            return refuse_pattern(t, begin, "the set has no end; \"]\" is missing");
        if (literal ? (t->p++, !add_range(t, begin, set, ']')) : !read_item(t, set, first, whole))
            return false;
    }
    return true;
}

/* What "&&" parts: a look-ahead for each part, then the last part. */
static bool read_parts(struct translation *t, struct char_set *set, struct oa_text *ahead, const char *begin,
                       bool whole)
{
    while (read_union(t, set, begin, whole)) {
        if (*t->p == ']')
            return true;
        if (t->ignore_case)
            return refuse_pattern(t, t->p, "\"&&\" without case is not read; write the set outside of (?i…)");
        t->p += 2;
        oa_text_add(ahead, "(?=", 3);
        print_set(ahead, set, false, false);
        oa_text_add(ahead, ")", 1);
        set_free(set);
        set_init(set, t->context);
    }
    return false;
}

static void join_set(struct char_set *outer, const struct char_set *set, const struct oa_text *ahead, bool negated)
{
    if (!ahead->length && !negated) {
        oa_text_printf(&outer->members, "%s", set->members.length ? set->members.s : "");
        if (set->others.length)
            add_other(outer, "", set->others.s, "", "");
        return;
    }
    struct oa_text one;
    oa_text_init(&one, set->members.context);
    if (ahead->length && negated)
        oa_text_printf(&one, "(?!%s", ahead->s);
    else if (ahead->length)
        oa_text_printf(&one, "%s", ahead->s);
    print_set(&one, set, negated && !ahead->length, false);
    if (ahead->length && negated)
        oa_text_printf(&one, ")\\p{Any}");
    add_other(outer, "", one.s ? one.s : "", "", "");
    oa_text_free(&one);
}

/* t->p is behind "[". Prints an expression for one character, or adds to the set around this one. */
static bool read_set(struct translation *t, struct oa_text *out, struct char_set *outer)
{
    struct char_set set, whole_set;
    struct oa_text ahead;
    const char *at = t->p - 1;
    if (!go_deeper(t))
        return false;
    bool negated = eat(t, "^");
    if (negated && outer && t->ignore_case)
        return refuse_pattern(t, at,
                              "a negated set inside of a set is not read without case; write it outside of (?i…)");
    set_init(&set, t->context);
    set_init(&whole_set, t->context);
    oa_text_init(&ahead, t->context);
    bool done = read_parts(t, &set, &ahead, t->p, negated && !outer);
    if (done && outer) {
        join_set(outer, &set, &ahead, negated);
    } else if (done && !ahead.length) {
        print_set(out, &set, negated, t->ignore_case);
    } else if (done) {
        join_set(&whole_set, &set, &ahead, negated);
        print_set(out, &whole_set, false, false);
    }
    t->p += done;
    t->depth--;
    set_free(&set);
    set_free(&whole_set);
    oa_text_free(&ahead);
    return done;
}

/* ---- atoms ------------------------------------------------------------------------------------------------------- */

/* What was read, for the quantifier behind it. */
struct element {
    size_t start;      /* in the output */
    bool unrepeatable; /* an anchor or look-around, which the reference does not repeat */
    bool last;         /* an option for the rest of the group: nothing follows */
};

static bool read_alternatives(struct translation *t, bool *unrepeatable);

static bool read_literal(struct translation *t, bool escaped)
{
    const char *at = t->p;
    uint32_t code;
    if (!read_code(t, escaped, false, &code))
        return false;
    if (t->ignore_case && !check_fold(t, at, code))
        return false;
    if (!t->ignore_case)
        t->literal = 0;
    bool cases = t->ignore_case && code_has_case(code);
    oa_text_printf(t->out, "%s", cases ? "(?i:" : "");
    print_code(t->out, code);
    oa_text_printf(t->out, "%s", cases ? ")" : "");
    return true;
}

/* Outside of a set, \w takes Latin-1's superscripts and fractions in, and \b goes by it. */
static void print_word(struct oa_text *out, const char *open, const char *close)
{
    const struct oa_property *p = find_property("word", 4);
    oa_text_printf(out, "%s%s%s\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}%s", open, p->members, p->added, close);
}

static void print_word_boundary(struct oa_text *out, bool negated)
{
    print_word(out, "(?:(?<=[", "])");
    print_word(out, negated ? "(?=[" : "(?![", "])|");
    print_word(out, "(?<![", "])");
    print_word(out, negated ? "(?![" : "(?=[", "]))");
}

static bool read_backreference(struct translation *t, const char *at, int group)
{
    if (t->named)
        return refuse_pattern(t, at, "the reference has no references by number where a group has a name");
    if (group < 1 || group > t->groups || !t->closed[group])
        return refuse_pattern(t, at, "this refers to no group that is complete before it");
    if (t->ignore_case)
        return refuse_pattern(t, at, "a reference to a group is not read without case");
    oa_text_printf(t->out, "\\g{%d}", group);
    return true;
}

/* "\k<name>", "\k'name'", "\k<1>", "\k<-1>"; t->p is behind the k. */
static bool read_named_reference(struct translation *t)
{
    const char *at = t->p - 2, close = *t->p == '<' ? '>' : '\'', *end = *t->p ? strchr(t->p + 1, close) : NULL;
    size_t n = end ? (size_t)(end - t->p - 1) : 0;
    const char *name = t->p + 1;
    int sign = n && *name == '-' ? -1 : 1, number = 0;
    if (n == 0)
        return refuse_pattern(t, at, "\\k is read as \\k<name>");
    t->p = end + 1;
    for (int i = 0; i < t->names; i++)
        if (t->name[i].n == n && memcmp(t->name[i].s, name, n) == 0) {
            if (!t->closed[t->name[i].group] || t->ignore_case)
                return refuse_pattern(t, at, "a reference is read behind its group, and not without case");
            oa_text_printf(t->out, "\\g{%d}", t->name[i].group);
            return true;
        }
    for (const char *d = name + (sign < 0); d < end; d++)
        if (digit_of(*d, 10) < 0 || (number = 10 * number + digit_of(*d, 10)) > MOST_GROUPS)
            return refuse_pattern(t, at, "\\k<%.*s> refers to no group that is read", n < 40 ? (int)n : 40, name);
    return read_backreference(t, at, sign < 0 ? t->groups + 1 - number : number);
}

static bool read_escape(struct translation *t, struct element *e)
{
    static const struct {
        char letter;
        const char *written;
        bool anchor;
    } simple[] = { { 'A', "\\A", true },         { 'z', "\\z", true },
                   { 'Z', "(?=\\n?\\z)", true }, { 'G', "\\G", true },
                   { 'K', "\\K", true },         { 'R', "(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])", false },
                   { 'N', "[^\\n]", false },     { 'O', "\\p{Any}", false } };
    const char *at = t->p - 1;
    bool negated;
    uint32_t number;
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
        if (*t->p == simple[i].letter) {
            if (t->behind && (*t->p | 32) == 'z')
                return refuse_pattern(t, at, "the reference has no \\%c inside of a look-behind", *t->p);
            t->p++;
            t->from_start = t->from_start || simple[i].letter == 'G';
            e->unrepeatable = simple[i].anchor;
            oa_text_printf(t->out, "%s", simple[i].written);
            return true;
        }
    if (*t->p == 'b' || *t->p == 'B') {
        e->unrepeatable = true;
        print_word_boundary(t->out, *t->p++ == 'B');
        return true;
    }
    if (*t->p == 'k' && (t->p[1] == '<' || t->p[1] == '\'')) {
        t->p++;
        return read_named_reference(t);
    }
    if (*t->p >= '1' && *t->p <= '9') {
        read_digits(t, 10, 3, &number);
        return read_backreference(t, at, (int)number);
    }
    const struct oa_property *p = read_property(t, &negated);
    if (!p)
        return oa_status(t->context) == OA_OK && read_literal(t, true);
    t->literal = 0;
    if (t->ignore_case && p->letters == OA_CASE_MATTERS)
        return refuse_pattern(t, at, "without case the reference takes the other case in; write it outside of (?i…)");
    struct char_set set;
    set_init(&set, t->context);
    if (strcmp(p->names, " word ") == 0)
        print_word(&set.members, "", "");
    else
        add_property(&set, p, false);
    print_set(t->out, &set, negated, false);
    set_free(&set);
    return true;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static bool close_group(struct translation *t, const char *open)
{
    if (!eat(t, ")"))
        return oa_status(t->context) == OA_OK && refuse_pattern(t, open, "the group has no end; \")\" is missing");
    oa_text_add(t->out, ")", 1);
    return true;
}

static bool read_capture(struct translation *t, const char *open)
{
    bool unrepeatable;
    if (t->not_behind)
        return refuse_pattern(t, open, "the reference has no capturing groups in a negative look-behind; write (?:…)");
    if (t->groups == MOST_GROUPS)
        return refuse_pattern(t, open, "there are more than %d groups; write (?:…) where none is referred to",
                              MOST_GROUPS);
    int group = ++t->groups;
    oa_text_add(t->out, "(", 1);
    if (!read_alternatives(t, &unrepeatable) || !close_group(t, open))
        return false;
    t->closed[group] = true;
    return true;
}

static bool is_name(const char *s, size_t n)
{
    bool good = n > 0 && (*s < '0' || *s > '9');
    for (size_t i = 0; i < n; i++)
        good = good && (s[i] == '_' || digit_of(s[i], 10) >= 0 || ((s[i] | 32) >= 'a' && (s[i] | 32) <= 'z'));
    return good;
}

/* t->p is behind "(?<" or "(?'". */
static bool read_named_group(struct translation *t, const char *open)
{
    const char close = t->p[-1] == '<' ? '>' : '\'', *name = t->p, *end = strchr(name, close);
    size_t n = end ? (size_t)(end - name) : 0;
    t->restart = t->restart || !t->named;
    if (!is_name(name, n))
        return refuse_pattern(t, open, "the name of a group is made of ASCII letters, digits and \"_\"");
    for (int i = 0; i < t->names; i++)
        if (t->name[i].n == n && memcmp(t->name[i].s, name, n) == 0)
            return refuse_pattern(t, open, "two groups have the name %.*s", n < 40 ? (int)n : 40, name);
    if (t->names == MOST_NAMES)
        return refuse_pattern(t, open, "there are more than %d named groups", MOST_NAMES);
    t->name[t->names++] = (struct group_name){ name, n, t->groups + 1 };
    t->p = end + 1;
    return read_capture(t, open);
}

/* "(?i)", "(?m-x:…)"; t->p is behind "(?". */
static bool read_options(struct translation *t, struct element *e, const char *open)
{
    bool ignore_case = t->ignore_case, dot_is_all = t->dot_is_all, extended = t->extended, on = true;
    for (; *t->p && *t->p != ')' && *t->p != ':'; t->p++) {
        if (*t->p == '-')
            on = false;
        else if (*t->p == 'i')
            t->ignore_case = on;
        else if (*t->p == 'm')
            t->dot_is_all = on;
        else if (*t->p == 'x')
            t->extended = on;
        else if (*t->p == 's')
            return refuse_pattern(t, open,
                                  "the reference has no option s; a dot that takes line ends in is (?m:.) there");
        else
            return refuse_pattern(t, open,
                                  "this kind of group is not read (options are i, m and x; no conditions, no "
                                  "calls, no absent operator)");
    }
    if (!*t->p)
        return refuse_pattern(t, open, "the group has no end; \")\" is missing");
    e->last = *t->p++ == ')'; /* the options hold to the end of the group around them, alternatives included */
    bool unrepeatable, done;
    oa_text_add(t->out, "(?:", 3);
    done = read_alternatives(t, &unrepeatable);
    if (done && e->last)
        oa_text_add(t->out, ")", 1);
    else if (done)
        done = close_group(t, open);
    t->ignore_case = ignore_case;
    t->dot_is_all = dot_is_all;
    t->extended = extended;
    return done;
}

/* The groups that both write alike, by what is behind "(". */
static bool read_plain_group(struct translation *t, struct element *e, const char *open, const char *kind)
{
    bool negative = kind[strlen(kind) - 1] == '!', around = negative || kind[strlen(kind) - 1] == '=';
    bool look_behind = around && kind[1] == '<', unrepeatable, behind = t->behind, not_behind = t->not_behind;
    if (around && behind && (!look_behind || (negative && !not_behind)))
        return refuse_pattern(t, open, "the reference has no such look-around inside of a look-behind");
    t->behind = behind || look_behind;
    t->not_behind = not_behind || (look_behind && negative);
    oa_text_printf(t->out, "(%s", kind);
    bool done = read_alternatives(t, &unrepeatable) && close_group(t, open);
    t->behind = behind;
    t->not_behind = not_behind;
    e->unrepeatable = around || (strcmp(kind, "?:") == 0 && unrepeatable);
    return done;
}

static bool read_group(struct translation *t, struct element *e)
{
    static const char *const kinds[] = { "?:", "?=", "?!", "?<=", "?<!", "?>" };
    const char *open = t->p - 1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (eat(t, kinds[i]))
            return read_plain_group(t, e, open, kinds[i]);
    if (eat(t, "?<") || eat(t, "?'"))
        return read_named_group(t, open);
    if (eat(t, "?"))
        return read_options(t, e, open);
    if (*t->p == '*')
        return refuse_pattern(t, open, "calls such as (*FAIL) are not read");
    if (!t->named)
        return read_capture(t, open);
    return read_plain_group(t, e, open, "?:");
}

/* ---- elements and alternatives -------------------------------------------------------------------------------------
 */

/* Comments, and in (?x) white space and the rest of a line behind "#". */
static bool skip_comments(struct translation *t)
{
    for (;;) {
        uint32_t code;
        int n = t->extended ? oa_utf8_decode(t->p, strlen(t->p), &code) : 0;
        if (eat(t, "(?#")) {
            const char *open = t->p - 3;
            for (; *t->p && *t->p != ')'; t->p += t->p[0] == '\\' && t->p[1] ? 2 : 1)
                continue;
            if (!eat(t, ")"))
                return refuse_pattern(t, open, "the comment has no end; \")\" is missing");
        } else if (n && oa_is_space(code)) {
            t->p += n;
        } else if (n && code == '#') {
            t->p += strcspn(t->p, "\n");
        } else {
            return true;
        }
    }
}

/* "{n}", "{n,}", "{,n}", "{n,m}"; anything else is a text. most < 0: no end. */
static bool read_interval(struct translation *t, long *fewest, long *most)
{
    const char *at = t->p;
    uint32_t n = 0, m = 0;
    t->p++;
    int low = read_digits(t, 10, 6, &n), comma = eat(t, ","), high = comma ? read_digits(t, 10, 6, &m) : 0;
    if (!eat(t, "}") || (!low && !high)) {
        t->p = at;
        return false;
    }
    *fewest = (long)n;
    *most = !comma ? (long)n : high ? (long)m : -1;
    return true;
}

static void wrap_in_group(struct oa_text *out, size_t start)
{
    oa_text_add(out, "(?:)", 4);
    if (!out->s)
        return;
    memmove(out->s + start + 3, out->s + start, out->length - start - 4);
    memcpy(out->s + start, "(?:", 3);
    out->s[out->length - 1] = ')';
}

/* The quantifiers behind an element. Each one is of all before it: where there are several, groups part them. */
static bool read_quantifiers(struct translation *t, const struct element *e)
{
    bool after_interval = false, after_fixed = false; /* {n,m}+ and {n}? are a quantifier of a group there */
    for (int count = 0;; count++) {
        long fewest = 0, most = 0;
        if (!skip_comments(t))
            return false;
        const char *at = t->p;
        bool interval = *at == '{' && read_interval(t, &fewest, &most);
        if (!interval && (!*at || !strchr("?*+", *at)))
            return true;
        if (e->unrepeatable)
            return refuse_pattern(t, at, "the reference repeats no anchors and no look-around");
        if (count && !(*at == '+' && after_interval) && !(*at == '?' && after_fixed))
            return refuse_pattern(t, at, "a quantifier of a quantifier; write a group, (?:…)");
        if (fewest > MOST_REPEATS || most > MOST_REPEATS)
            return refuse_pattern(t, at, "repetitions of more than %d are not read", MOST_REPEATS);
        if (interval && most >= 0 && fewest > most)
            return refuse_pattern(t, at, "the interval ends before it begins");
        t->p += !interval;
        char written[48] = { *at };
        if (count)
            wrap_in_group(t->out, e->start);
        bool fixed = interval && fewest == most && !memchr(at, ',', (size_t)(t->p - at));
        if (interval)
            snprintf(written, sizeof written, most < 0 ? "{%ld,}" : "{%ld,%ld}", fewest, most);
        if (!fixed && (*t->p == '?' || (!interval && *t->p == '+')))
            strncat(written, (const char[2]){ *t->p++, 0 }, 1);
        after_interval = interval;
        after_fixed = fixed;
        oa_text_printf(t->out, "%s", written);
    }
}

static bool read_element(struct translation *t, struct element *e)
{
    uint32_t code;
    long fewest, most;
    const char *at = t->p;
    *e = (struct element){ .start = t->out->length };
    if (strchr("?*+", *at) || (*at == '{' && read_interval(t, &fewest, &most)))
        return refuse_pattern(t, at, "there is nothing to repeat before this");
    if (eat(t, "(")) {
        if (!go_deeper(t) || !read_group(t, e))
            return false;
        t->depth--;
        return e->last || read_quantifiers(t, e);
    }
    if (*at == '^' || *at == '$') {
        t->p++;
        e->unrepeatable = true;
        oa_text_printf(t->out, "%s", *at == '^' ? "(?m:^)" : "(?m:$)");
    } else if (eat(t, ".")) {
        oa_text_printf(t->out, "%s", t->dot_is_all ? "\\p{Any}" : "[^\\n]");
    } else if (eat(t, "[")) {
        if (!read_set(t, t->out, NULL))
            return false;
    } else if (eat(t, "\\")) {
        if (!read_escape(t, e))
            return false;
    } else {
        return oa_utf8_decode(at, strlen(at), &code) ? read_literal(t, false) && read_quantifiers(t, e)
                                                     : refuse_pattern(t, at, "this is not UTF-8");
    }
    if (at[0] != '\\')
        t->literal = 0;
    return read_quantifiers(t, e);
}

/* Up to ")" or the end. *unrepeatable: as the reference has it, an alternative is nothing but an anchor. */
static bool read_alternatives(struct translation *t, bool *unrepeatable)
{
    *unrepeatable = false;
    for (;;) {
        struct element e = { 0 };
        int count = 0;
        if (!skip_comments(t))
            return false;
        for (; *t->p && *t->p != ')' && *t->p != '|'; count++)
            if (!read_element(t, &e) || !skip_comments(t))
                return false;
        *unrepeatable = *unrepeatable || (count == 1 && e.unrepeatable);
        if (!eat(t, "|"))
            return oa_status(t->context) == OA_OK;
        oa_text_add(t->out, "|", 1);
        t->literal = 0;
    }
}

static bool translate_whole(struct translation *t)
{
    bool unrepeatable;
    if (!read_alternatives(t, &unrepeatable))
        return false;
    return !*t->p || refuse_pattern(t, t->p, "\")\" closes no group");
}

enum oa_error oa_pattern_translate(oa_context *c, const char *where, const char *pattern, struct oa_text *out,
                                   bool *from_start)
{
    size_t before = out->length;
    struct translation t = { .context = c, .where = where, .pattern = pattern, .p = pattern, .out = out };
    if (strlen(pattern) > MOST_BYTES)
        return oa_fail(c, OA_UNSUPPORTED, "%s: a pattern of %zu bytes; read are %d", where, strlen(pattern),
                       MOST_BYTES);
    bool done = translate_whole(&t);
    if (done && t.restart) {
        oa_text_cut(out, before);
        t = (struct translation){
            .context = c, .where = where, .pattern = pattern, .p = pattern, .out = out, .named = true
        };
        done = translate_whole(&t);
    }
    *from_start = t.from_start;
    return done ? oa_status(c) : oa_status(c) != OA_OK ? oa_status(c) : OA_UNSUPPORTED;
}
