/* SPDX-License-Identifier: Apache-2.0
 * Character classes: a PCRE2 class if possible, otherwise an alternation of expressions for one
 * character, with look-aheads for intersections and complements. Properties are those of Unicode
 * 16, as in the reference: regex_properties.h has the additions since 14, so that PCRE2 may have
 * any version from 14 to 16. */
#include "tokenizers/regex_parts.h"

#include "tokenizers/regex_properties.h"

void oa_char_set_init(struct oa_char_set *s, oa_context *c)
{
    oa_text_init(&s->members, c);
    oa_text_init(&s->others, c);
}

void oa_char_set_free(struct oa_char_set *s)
{
    oa_text_free(&s->members);
    oa_text_free(&s->others);
}

static void add_other(struct oa_char_set *s, const char *open, const char *members,
                      const char *added, const char *close)
{
    oa_text_printf(&s->others, "%s%s%s%s%s", s->others.length ? "|" : "", open, members, added,
                   close);
}

void oa_regex_add_property(struct oa_char_set *s, const struct oa_property *p, bool negated)
{
    if (!negated && !*p->removed) {
        oa_text_printf(&s->members, "%s%s", p->members, p->added);
        return;
    }
    if (!negated) {
        oa_text_printf(&s->others, "%s(?![%s])[%s%s]", s->others.length ? "|" : "", p->removed,
                       p->members, p->added);
        return;
    }
    add_other(s, "[^", p->members, p->added, "]");
    if (*p->removed)
        add_other(s, "[", p->removed, "", "]");
}

void oa_regex_print_set(struct oa_text *out, const struct oa_char_set *s, bool negated,
                        bool ignore_case)
{
    const char *members = s->members.length ? s->members.s : "",
               *others = s->others.length ? s->others.s : "";
    const char *open = ignore_case ? "(?i:" : "(?:";
    if (!*members && !*others)
        oa_text_printf(out, "%s", negated ? "\\p{Any}" : "(?!)");
    else if (!*others)
        oa_text_printf(out, ignore_case ? "(?i:[%s%s])" : "[%s%s]", negated ? "^" : "", members);
    else
        oa_text_printf(out, "%s%s%s%s%s%s%s)%s", negated ? "(?:(?!" : "", open, *members ? "[" : "",
                       members, *members ? "]" : "", *members ? "|" : "", others,
                       negated ? ")\\p{Any})" : "");
}

const struct oa_property *oa_regex_property(const char *name, size_t n)
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

const struct oa_property *oa_regex_read_property(struct oa_regex *t, bool *negated)
{
    static const char letters[] = "wsdh";
    static const char *const names[] = { "word", "space", "digit", "xdigit" };
    const char *at = t->p - 1, *found = strchr(letters, *t->p | 32);
    *negated = *t->p >= 'A' && *t->p <= 'Z';
    if (*t->p && found && *found) {
        t->p++;
        return oa_regex_property(names[found - letters], strlen(names[found - letters]));
    }
    if ((*t->p | 32) != 'p' || t->p[1] != '{')
        return NULL;
    t->p += 2;
    if (oa_regex_eat(t, "^"))
        *negated = !*negated;
    size_t n = strcspn(t->p, "}");
    const struct oa_property *p = t->p[n] ? oa_regex_property(t->p, n) : NULL;
    if (!p)
        oa_regex_refuse(t, at,
                        "unsupported property \\p{%.*s}; supported are general categories, "
                        "scripts, POSIX names and some of emoji",
                        n < 40 ? (int)n : 40, t->p);
    t->p += n + (p != NULL);
    return p;
}

/* ---- [sets] ---- */

static bool check_property_case(const struct oa_regex *t, const char *at,
                                const struct oa_property *p, bool whole)
{
    if (!t->ignore_case || p->letters == OA_NO_CASE || (whole && p->letters == OA_BOTH_CASES))
        return true;
    return oa_regex_refuse(
        t, at,
        "in a set without case the reference matches other characters; write it outside of (?i…)");
}

/* "[:name:]" and "[:^name:]"; t->p is after "[:". */
static bool read_posix_bracket(struct oa_regex *t, struct oa_char_set *set, bool whole)
{
    static const char *const names[] = { "alnum", "alpha", "ascii",  "blank", "cntrl",
                                         "digit", "graph", "lower",  "print", "punct",
                                         "space", "upper", "xdigit", "word" };
    const char *at = t->p - 2;
    bool negated = oa_regex_eat(t, "^");
    size_t n = strcspn(t->p, ":");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && strncmp(names[i], t->p, n) == 0 &&
            strncmp(t->p + n, ":]", 2) == 0) {
            const char *name = strcmp(names[i], "punct") == 0 ? "posixpunct" : names[i];
            const struct oa_property *p = oa_regex_property(name, strlen(name));
            t->p += n + 2;
            oa_regex_add_property(set, p, negated);
            return check_property_case(t, at, p, whole);
        }
    return oa_regex_refuse(t, at, "unsupported POSIX bracket");
}

static bool add_code_range(struct oa_regex *t, const char *at, struct oa_char_set *set,
                           uint32_t first)
{
    uint32_t last = first;
    if (t->p[0] == '-' && t->p[1] != ']') {
        t->p++;
        if (*t->p == '[' || (*t->p == '\\' && t->p[1] && strchr("wWsSdDhHpP", t->p[1])))
            return oa_regex_refuse(t, at, "a range must end with a character");
        if (!oa_regex_code(t, oa_regex_eat(t, "\\"), true, &last))
            return false;
        if (t->p[0] == '-' && t->p[1] != ']')
            return oa_regex_refuse(
                t, t->p, "\"-\" after a range: write \\- or put it at the end of the set");
    }
    if (last < first)
        return oa_regex_refuse(t, at, "the range is empty");
    oa_regex_print_code(&set->members, first);
    if (last > first) {
        oa_text_add(&set->members, "-", 1);
        oa_regex_print_code(&set->members, last);
    }
    for (uint32_t code = first < 0x80 ? 0x80 : first; t->ignore_case && code <= last; code++)
        if (oa_regex_has_case(code) || oa_regex_newer_case(code))
            return oa_regex_refuse(t, at,
                                   "in a set without case only ASCII letters are supported; write "
                                   "it outside of (?i…)");
    return true;
}

/* An item other than "]" and "&&". whole: the set is negated and outermost. */
static bool read_set_item(struct oa_regex *t, struct oa_char_set *set, bool first, bool whole)
{
    const char *at = t->p;
    uint32_t code;
    if (oa_regex_eat(t, "[:"))
        return read_posix_bracket(t, set, whole);
    if (oa_regex_eat(t, "["))
        return oa_regex_set(t, NULL, set);
    if (*t->p == '-' && (!first || t->p[1] == '-') && t->p[1] != ']')
        return oa_regex_refuse(t, at,
                               "\"-\" in the middle of a set: write \\- or put it at the end");
    bool escaped = oa_regex_eat(t, "\\"), negated;
    const struct oa_property *p = escaped ? oa_regex_read_property(t, &negated) : NULL;
    if (p) {
        oa_regex_add_property(set, p, negated);
        if (t->p[0] == '-' && t->p[1] != ']')
            return oa_regex_refuse(
                t, t->p, "\"-\" after a class: write \\- or put it at the end of the set");
        return check_property_case(t, at, p, whole);
    }
    if (oa_status(t->context) != OA_OK)
        return false;
    if (escaped && oa_regex_eat(t, "b"))
        code = '\b';
    else if (!oa_regex_code(t, escaped, true, &code))
        return false;
    return add_code_range(t, at, set, code);
}

/* Items up to "]" or "&&". */
static bool read_set_union(struct oa_regex *t, struct oa_char_set *set, const char *begin,
                           bool whole)
{
    for (bool first = true; strncmp(t->p, "&&", 2) != 0; first = false) {
        bool literal = first && t->p == begin && *t->p == ']' && strchr(t->p + 1, ']');
        if (*t->p == ']' && !literal)
            return t->p != begin || oa_regex_refuse(t, begin, "the set is empty");
        if (!*t->p)
            return oa_regex_refuse(t, begin, "the set has no end; \"]\" is missing");
        if (literal ? (t->p++, !add_code_range(t, begin, set, ']'))
                    : !read_set_item(t, set, first, whole))
            return false;
    }
    return true;
}

/* The operands of "&&": a look-ahead for each but the last. */
static bool read_set_parts(struct oa_regex *t, struct oa_char_set *set, struct oa_text *ahead,
                           const char *begin, bool whole)
{
    while (read_set_union(t, set, begin, whole)) {
        if (*t->p == ']')
            return true;
        if (t->ignore_case)
            return oa_regex_refuse(
                t, t->p, "\"&&\" without case is not supported; write the set outside of (?i…)");
        t->p += 2;
        oa_text_add(ahead, "(?=", 3);
        oa_regex_print_set(ahead, set, false, false);
        oa_text_add(ahead, ")", 1);
        oa_char_set_free(set);
        oa_char_set_init(set, t->context);
    }
    return false;
}

static void join_set(struct oa_char_set *outer, const struct oa_char_set *set,
                     const struct oa_text *ahead, bool negated)
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
    oa_regex_print_set(&one, set, negated && !ahead->length, false);
    if (ahead->length && negated)
        oa_text_printf(&one, ")\\p{Any}");
    add_other(outer, "", one.s ? one.s : "", "", "");
    oa_text_free(&one);
}

bool oa_regex_set(struct oa_regex *t, struct oa_text *out, struct oa_char_set *outer)
{
    struct oa_char_set set, whole_set;
    struct oa_text ahead;
    const char *at = t->p - 1;
    if (!oa_regex_deeper(t))
        return false;
    bool negated = oa_regex_eat(t, "^");
    if (negated && outer && t->ignore_case)
        return oa_regex_refuse(
            t, at,
            "a negated set inside a set is not supported without case; write it outside of (?i…)");
    oa_char_set_init(&set, t->context);
    oa_char_set_init(&whole_set, t->context);
    oa_text_init(&ahead, t->context);
    bool done = read_set_parts(t, &set, &ahead, t->p, negated && !outer);
    if (done && outer) {
        join_set(outer, &set, &ahead, negated);
    } else if (done && !ahead.length) {
        oa_regex_print_set(out, &set, negated, t->ignore_case);
    } else if (done) {
        join_set(&whole_set, &set, &ahead, negated);
        oa_regex_print_set(out, &whole_set, false, false);
    }
    t->p += done;
    t->depth--;
    oa_char_set_free(&set);
    oa_char_set_free(&whole_set);
    oa_text_free(&ahead);
    return done;
}
