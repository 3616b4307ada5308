/* SPDX-License-Identifier: Apache-2.0
 * Oniguruma's regular expressions → PCRE2's, construct by construct, by recursive descent. Both
 * engines backtrack in the same order, so it suffices that each construct matches the same. The
 * output needs no options of PCRE2: options of the pattern (i, m, x) are state of the parser.
 * docs/tokenizers.md lists what is supported. */
#include "tokenizers/regex_parts.h"

enum {
    MOST_REPEATS = 1000,
    MOST_BYTES = 32768, /* of a pattern */
};

/* ---- atoms ---- */

/* A parsed element, for its quantifier. */
struct element {
    size_t start;      /* in the output */
    bool unrepeatable; /* an anchor or look-around, which the reference does not repeat */
    bool last;         /* an option for the rest of the group: nothing follows */
};

static bool read_alternatives(struct oa_regex *t, bool *unrepeatable);

/* Without case the reference matches one character with two ("ß" with "ss") and vice versa. A
 * superset of the pairs with which the folding of one character begins. */
static bool pair_is_folded(uint32_t a, uint32_t b)
{
    static const uint32_t second[] = {
        0x2be, 0x307, 0x308, 0x30a, 0x30c, 0x313, 0x331, 0x342, 0x3b9
    };
    for (size_t i = 0; i < sizeof second / sizeof *second; i++)
        if (b == second[i])
            return true;
    return (a == 'f' && (b == 'f' || b == 'i' || b == 'l')) ||
           (a == 's' && (b == 's' || b == 't')) || (a == 0x2bc && b == 'n') ||
           (a >= 0x561 && a <= 0x586 && b >= 0x561 && b <= 0x586);
}

static bool check_fold(struct oa_regex *t, const char *at, uint32_t code)
{
    int length;
    uint32_t folded = oa_regex_fold(code, &length), before = t->literal;
    t->literal = folded;
    if (length > 1 || oa_regex_newer_case(code))
        return oa_regex_refuse(t, at,
                               "without case, U+%04X matches other characters in the reference; "
                               "write it outside of (?i…)",
                               (unsigned)code);
    if (before && pair_is_folded(before, folded))
        return oa_regex_refuse(
            t, at,
            "without case, the reference matches these two letters with one character, as ss with "
            "ß; write both cases in brackets instead of (?i…)");
    return true;
}

static bool read_literal(struct oa_regex *t, bool escaped)
{
    const char *at = t->p;
    uint32_t code;
    if (!oa_regex_code(t, escaped, false, &code))
        return false;
    if (t->ignore_case && !check_fold(t, at, code))
        return false;
    if (!t->ignore_case)
        t->literal = 0;
    bool cases = t->ignore_case && oa_regex_has_case(code);
    oa_text_printf(t->out, "%s", cases ? "(?i:" : "");
    oa_regex_print_code(t->out, code);
    oa_text_printf(t->out, "%s", cases ? ")" : "");
    return true;
}

/* Outside of a set, \w and \b include Latin-1's superscripts and fractions. */
static void print_word(struct oa_text *out, const char *open, const char *close)
{
    const struct oa_property *p = oa_regex_property("word", 4);
    oa_text_printf(out, "%s%s%s\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}%s", open, p->members, p->added,
                   close);
}

static void print_word_boundary(struct oa_text *out, bool negated)
{
    print_word(out, "(?:(?<=[", "])");
    print_word(out, negated ? "(?=[" : "(?![", "])|");
    print_word(out, "(?<![", "])");
    print_word(out, negated ? "(?![" : "(?=[", "]))");
}

static bool read_backreference(struct oa_regex *t, const char *at, int group)
{
    if (t->named)
        return oa_regex_refuse(
            t, at, "the reference does not allow numbered references with named groups");
    if (group < 1 || group > t->groups || !t->closed[group])
        return oa_regex_refuse(t, at, "reference to a group that does not end before it");
    if (t->ignore_case)
        return oa_regex_refuse(t, at, "references to groups are not supported without case");
    oa_text_printf(t->out, "\\g{%d}", group);
    return true;
}

/* "\k<name>", "\k'name'", "\k<1>", "\k<-1>"; t->p is after the k. */
static bool read_named_reference(struct oa_regex *t)
{
    const char *at = t->p - 2, close = *t->p == '<' ? '>' : '\'',
               *end = *t->p ? strchr(t->p + 1, close) : NULL;
    size_t n = end ? (size_t)(end - t->p - 1) : 0;
    const char *name = t->p + 1;
    int sign = n && *name == '-' ? -1 : 1, number = 0;
    if (n == 0)
        return oa_regex_refuse(t, at, "\\k must be followed by <name>");
    t->p = end + 1;
    for (int i = 0; i < t->names; i++)
        if (t->name[i].n == n && memcmp(t->name[i].s, name, n) == 0) {
            if (!t->closed[t->name[i].group] || t->ignore_case)
                return oa_regex_refuse(
                    t, at, "a reference must follow its group, and is not supported without case");
            oa_text_printf(t->out, "\\g{%d}", t->name[i].group);
            return true;
        }
    for (const char *d = name + (sign < 0); d < end; d++)
        if (oa_regex_digit(*d, 10) < 0 ||
            (number = 10 * number + oa_regex_digit(*d, 10)) > OA_REGEX_GROUPS)
            return oa_regex_refuse(t, at, "\\k<%.*s> refers to no known group",
                                   n < 40 ? (int)n : 40, name);
    return read_backreference(t, at, sign < 0 ? t->groups + 1 - number : number);
}

static bool read_escape(struct oa_regex *t, struct element *e)
{
    static const struct {
        char letter;
        const char *written;
        bool anchor;
    } simple[] = { { 'A', "\\A", true },
                   { 'z', "\\z", true },
                   { 'Z', "(?=\\n?\\z)", true },
                   { 'G', "\\G", true },
                   { 'K', "\\K", true },
                   { 'R', "(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])", false },
                   { 'N', "[^\\n]", false },
                   { 'O', "\\p{Any}", false } };
    const char *at = t->p - 1;
    bool negated;
    uint32_t number;
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
        if (*t->p == simple[i].letter) {
            if (t->behind && (*t->p | 32) == 'z')
                return oa_regex_refuse(
                    t, at, "the reference does not allow \\%c inside a look-behind", *t->p);
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
        oa_regex_digits(t, 10, 3, &number);
        return read_backreference(t, at, (int)number);
    }
    const struct oa_property *p = oa_regex_read_property(t, &negated);
    if (!p)
        return oa_status(t->context) == OA_OK && read_literal(t, true);
    t->literal = 0; /* (?i) does not apply to a property outside of a set */
    struct oa_char_set set;
    oa_char_set_init(&set, t->context);
    if (strcmp(p->names, " word ") == 0)
        print_word(&set.members, "", "");
    else
        oa_regex_add_property(&set, p, false);
    oa_regex_print_set(t->out, &set, negated, false);
    oa_char_set_free(&set);
    return true;
}

/* ---- groups ---- */

static bool close_group(struct oa_regex *t, const char *open)
{
    if (!oa_regex_eat(t, ")"))
        return oa_status(t->context) == OA_OK &&
               oa_regex_refuse(t, open, "the group has no end; \")\" is missing");
    oa_text_add(t->out, ")", 1);
    return true;
}

static bool read_capture(struct oa_regex *t, const char *open)
{
    bool unrepeatable;
    if (t->not_behind)
        return oa_regex_refuse(
            t, open,
            "the reference does not allow capturing groups in a negative look-behind; write (?:…)");
    if (t->groups == OA_REGEX_GROUPS)
        return oa_regex_refuse(t, open,
                               "more than %d groups; write (?:…) for groups without references",
                               OA_REGEX_GROUPS);
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
        good = good && (s[i] == '_' || oa_regex_digit(s[i], 10) >= 0 ||
                        ((s[i] | 32) >= 'a' && (s[i] | 32) <= 'z'));
    return good;
}

/* t->p is after "(?<" or "(?'". */
static bool read_named_group(struct oa_regex *t, const char *open)
{
    const char close = t->p[-1] == '<' ? '>' : '\'', *name = t->p, *end = strchr(name, close);
    size_t n = end ? (size_t)(end - name) : 0;
    t->restart = t->restart || !t->named;
    if (!is_name(name, n))
        return oa_regex_refuse(
            t, open, "the name of a group must consist of ASCII letters, digits and \"_\"");
    for (int i = 0; i < t->names; i++)
        if (t->name[i].n == n && memcmp(t->name[i].s, name, n) == 0)
            return oa_regex_refuse(t, open, "two groups have the name %.*s", n < 40 ? (int)n : 40,
                                   name);
    if (t->names == OA_REGEX_NAMES)
        return oa_regex_refuse(t, open, "more than %d named groups", OA_REGEX_NAMES);
    t->name[t->names++] = (struct oa_regex_name){ name, n, t->groups + 1 };
    t->p = end + 1;
    return read_capture(t, open);
}

/* "(?i)", "(?m-x:…)"; t->p is after "(?". */
static bool read_regex_options(struct oa_regex *t, struct element *e, const char *open)
{
    bool ignore_case = t->ignore_case, dot_is_all = t->dot_is_all, extended = t->extended,
         on = true;
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
            return oa_regex_refuse(
                t, open,
                "the reference has no option s; use (?m:.) for a dot that matches line ends");
        else
            return oa_regex_refuse(t, open,
                                   "unsupported group (options are i, m and x; no conditions, "
                                   "calls or absent operator)");
    }
    if (!*t->p)
        return oa_regex_refuse(t, open, "the group has no end; \")\" is missing");
    e->last =
        *t->p++ == ')'; /* options apply to the end of the enclosing group, with its alternatives */
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

/* Groups with the same syntax in both, by what follows "(". */
static bool read_plain_group(struct oa_regex *t, struct element *e, const char *open,
                             const char *kind)
{
    bool negative = kind[strlen(kind) - 1] == '!',
         around = negative || kind[strlen(kind) - 1] == '=';
    bool look_behind = around && kind[1] == '<', unrepeatable, behind = t->behind,
         not_behind = t->not_behind;
    if (around && behind && (!look_behind || (negative && !not_behind)))
        return oa_regex_refuse(
            t, open, "the reference does not allow this look-around inside a look-behind");
    t->behind = behind || look_behind;
    t->not_behind = not_behind || (look_behind && negative);
    oa_text_printf(t->out, "(%s", kind);
    bool done = read_alternatives(t, &unrepeatable) && close_group(t, open);
    t->behind = behind;
    t->not_behind = not_behind;
    e->unrepeatable = around || (strcmp(kind, "?:") == 0 && unrepeatable);
    return done;
}

static bool read_group(struct oa_regex *t, struct element *e)
{
    static const char *const kinds[] = { "?:", "?=", "?!", "?<=", "?<!", "?>" };
    const char *open = t->p - 1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (oa_regex_eat(t, kinds[i]))
            return read_plain_group(t, e, open, kinds[i]);
    if (oa_regex_eat(t, "?<") || oa_regex_eat(t, "?'"))
        return read_named_group(t, open);
    if (oa_regex_eat(t, "?"))
        return read_regex_options(t, e, open);
    if (*t->p == '*')
        return oa_regex_refuse(t, open, "calls such as (*FAIL) are not supported");
    if (!t->named)
        return read_capture(t, open);
    return read_plain_group(t, e, open, "?:");
}

/* ---- elements and alternatives ---- */

/* Comments, and in (?x) white space and lines after "#". */
static bool skip_comments(struct oa_regex *t)
{
    for (;;) {
        uint32_t code;
        int n = t->extended ? oa_utf8_decode(t->p, strlen(t->p), &code) : 0;
        if (oa_regex_eat(t, "(?#")) {
            const char *open = t->p - 3;
            for (; *t->p && *t->p != ')'; t->p += t->p[0] == '\\' && t->p[1] ? 2 : 1)
                continue;
            if (!oa_regex_eat(t, ")"))
                return oa_regex_refuse(t, open, "the comment has no end; \")\" is missing");
        } else if (n && oa_is_space(code)) {
            t->p += n;
        } else if (n && code == '#') {
            t->p += strcspn(t->p, "\n");
        } else {
            return true;
        }
    }
}

/* "{n}", "{n,}", "{,n}", "{n,m}"; anything else is literal. most < 0: unbounded. */
static bool read_interval(struct oa_regex *t, long *fewest, long *most)
{
    const char *at = t->p;
    uint32_t n = 0, m = 0;
    t->p++;
    int low = oa_regex_digits(t, 10, 6, &n), comma = oa_regex_eat(t, ","),
        high = comma ? oa_regex_digits(t, 10, 6, &m) : 0;
    if (!oa_regex_eat(t, "}") || (!low && !high)) {
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

/* The quantifiers of an element. Each applies to all before it, so several are nested in groups. */
static bool read_quantifiers(struct oa_regex *t, const struct element *e)
{
    bool after_interval = false,
         after_fixed = false; /* {n,m}+ and {n}? are a quantifier of a group there */
    for (int count = 0;; count++) {
        long fewest = 0, most = 0;
        if (!skip_comments(t))
            return false;
        const char *at = t->p;
        bool interval = *at == '{' && read_interval(t, &fewest, &most);
        if (!interval && (!*at || !strchr("?*+", *at)))
            return true;
        if (e->unrepeatable)
            return oa_regex_refuse(
                t, at, "the reference does not allow quantifiers of anchors and look-around");
        if (count && !(*at == '+' && after_interval) && !(*at == '?' && after_fixed))
            return oa_regex_refuse(t, at, "quantifier of a quantifier; write a group, (?:…)");
        if (fewest > MOST_REPEATS || most > MOST_REPEATS)
            return oa_regex_refuse(t, at, "more than %d repetitions are not supported",
                                   MOST_REPEATS);
        if (interval && most >= 0 && fewest > most)
            return oa_regex_refuse(t, at, "the bounds of the interval are reversed");
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

static bool read_regex_element(struct oa_regex *t, struct element *e)
{
    uint32_t code;
    long fewest, most;
    const char *at = t->p;
    *e = (struct element){ .start = t->out->length };
    if (strchr("?*+", *at) || (*at == '{' && read_interval(t, &fewest, &most)))
        return oa_regex_refuse(t, at, "quantifier without anything to repeat");
    if (oa_regex_eat(t, "(")) {
        if (!oa_regex_deeper(t) || !read_group(t, e))
            return false;
        t->depth--;
        return e->last || read_quantifiers(t, e);
    }
    if (*at == '^' || *at == '$') {
        t->p++;
        e->unrepeatable = true;
        oa_text_printf(t->out, "%s", *at == '^' ? "(?m:^)" : "(?m:$)");
    } else if (oa_regex_eat(t, ".")) {
        oa_text_printf(t->out, "%s", t->dot_is_all ? "\\p{Any}" : "[^\\n]");
    } else if (oa_regex_eat(t, "[")) {
        if (!oa_regex_set(t, t->out, NULL))
            return false;
    } else if (oa_regex_eat(t, "\\")) {
        if (!read_escape(t, e))
            return false;
    } else {
        return oa_utf8_decode(at, strlen(at), &code)
                   ? read_literal(t, false) && read_quantifiers(t, e)
                   : oa_regex_refuse(t, at, "this is not UTF-8");
    }
    if (at[0] != '\\')
        t->literal = 0;
    return read_quantifiers(t, e);
}

/* Up to ")" or the end. *unrepeatable: as the reference has it, an alternative is nothing but an
 * anchor. */
static bool read_alternatives(struct oa_regex *t, bool *unrepeatable)
{
    *unrepeatable = false;
    for (;;) {
        struct element e = { 0 };
        int count = 0;
        if (!skip_comments(t))
            return false;
        for (; *t->p && *t->p != ')' && *t->p != '|'; count++)
            if (!read_regex_element(t, &e) || !skip_comments(t))
                return false;
        *unrepeatable = *unrepeatable || (count == 1 && e.unrepeatable);
        if (!oa_regex_eat(t, "|"))
            return oa_status(t->context) == OA_OK;
        oa_text_add(t->out, "|", 1);
        t->literal = 0;
    }
}

static bool translate_whole(struct oa_regex *t)
{
    bool unrepeatable;
    if (!read_alternatives(t, &unrepeatable))
        return false;
    return !*t->p || oa_regex_refuse(t, t->p, "\")\" closes no group");
}

enum oa_error oa_regex_translate(oa_context *c, const char *where, const char *pattern,
                                 struct oa_text *out, bool *from_start)
{
    size_t before = out->length;
    struct oa_regex t = {
        .context = c, .where = where, .pattern = pattern, .p = pattern, .out = out
    };
    if (strlen(pattern) > MOST_BYTES)
        return oa_fail(c, OA_UNSUPPORTED, "%s: a pattern of %zu bytes; at most %d are supported",
                       where, strlen(pattern), MOST_BYTES);
    bool done = translate_whole(&t);
    if (done && t.restart) {
        oa_text_cut(out, before);
        t = (struct oa_regex){ .context = c,
                               .where = where,
                               .pattern = pattern,
                               .p = pattern,
                               .out = out,
                               .named = true };
        done = translate_whole(&t);
    }
    *from_start = t.from_start;
    return done ? oa_status(c) : oa_status(c) != OA_OK ? oa_status(c) : OA_UNSUPPORTED;
}
