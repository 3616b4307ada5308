/* SPDX-License-Identifier: Apache-2.0
 * Characters of regular expressions: literals, escapes, numeric escapes, case folding. */
#include "tokenizers/regex_parts.h"

#include <stdarg.h>
#include <utf8proc.h>

bool oa_regex_refuse(const struct oa_regex *t, const char *at, const char *format, ...)
    OA_PRINTF(3, 4);
bool oa_regex_refuse(const struct oa_regex *t, const char *at, const char *format, ...)
{
    char sentence[300];
    va_list arguments;
    va_start(arguments, format);
    oa_format(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    oa_fail(t->context, OA_UNSUPPORTED, "%s: pattern \"%.200s\", byte %zu: %s", t->where,
            t->pattern, (size_t)(at - t->pattern), sentence);
    return false;
}

bool oa_regex_deeper(struct oa_regex *t)
{
    return ++t->depth <= OA_REGEX_DEPTH ||
           oa_regex_refuse(t, t->p, "groups and sets are nested more than %d deep", OA_REGEX_DEPTH);
}

bool oa_regex_eat(struct oa_regex *t, const char *text)
{
    size_t n = strlen(text);
    bool there = strncmp(t->p, text, n) == 0;
    t->p += there ? n : 0;
    return there;
}

void oa_regex_print_code(struct oa_text *out, uint32_t code)
{
    bool plain = code < 0x80 && (code == ' ' || (code >= '0' && code <= '9') ||
                                 ((code | 32) >= 'a' && (code | 32) <= 'z'));
    if (plain)
        oa_text_printf(out, "%c", (char)code);
    else
        oa_text_printf(out, "\\x{%X}", (unsigned)code);
}

int oa_regex_digit(char c, int base)
{
    int value = c >= '0' && c <= '9'                 ? c - '0'
                : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                     : 99;
    return value < base ? value : -1;
}

int oa_regex_digits(struct oa_regex *t, int base, int most, uint32_t *value)
{
    int n = 0;
    for (*value = 0; n < most && oa_regex_digit(*t->p, base) >= 0; n++, t->p++)
        *value = *value * (uint32_t)base + (uint32_t)oa_regex_digit(*t->p, base);
    return n;
}

/* "\x…", "\u…", "\o…" and octal numbers; t->p is the letter or digit. */
static bool read_number(struct oa_regex *t, uint32_t *code)
{
    const char *at = t->p - 1;
    char kind = *t->p;
    bool braces = t->p[1] == '{' && kind != 'u';
    int base = kind == 'x' || kind == 'u' ? 16 : 8, n;
    if (kind == 'x' || kind == 'u' || kind == 'o')
        t->p += braces ? 2 : 1;
    n = oa_regex_digits(t, base, braces ? 8 : kind == 'u' ? 4 : kind == 'x' ? 2 : 3, code);
    if (n == 0 || (kind == 'u' && n < 4) || (kind == 'o' && !braces) ||
        (braces && !oa_regex_eat(t, "}")))
        return oa_regex_refuse(t, at, "unsupported numeric escape; write \\x{HHHH}");
    if (!braces && kind != 'u' && *code >= 0x80)
        return oa_regex_refuse(t, at, "a byte above 7F is not a character; write \\x{HH}");
    return (*code < 0x110000 && (*code < 0xd800 || *code > 0xdfff)) ||
           oa_regex_refuse(t, at, "U+%X is not a character", (unsigned)*code);
}

bool oa_regex_code(struct oa_regex *t, bool escaped, bool in_set, uint32_t *code)
{
    static const char controls[] = "tnrfvae", values[] = "\t\n\r\f\v\a\x1b";
    const char *at = t->p, *control = escaped && *at ? strchr(controls, *at) : NULL;
    if (!*at)
        return oa_regex_refuse(t, at, "the pattern ends with a backslash");
    if (control) {
        t->p++;
        *code = (uint32_t)values[control - controls];
        return true;
    }
    if (escaped && (strchr("xuo", *at) || oa_regex_digit(*at, 8) >= 0)) {
        if (*at == 'o' && at[1] != '{') {
            *code = 'o';
            t->p++;
            return true;
        }
        return read_number(t, code);
    }
    if (escaped && strchr("cCM", *at))
        return oa_regex_refuse(
            t, at - 1, "\\%c is not supported; write the control character as \\x{HH}", *at);
    if (escaped && !in_set && strchr("89yYXKGg", *at))
        return oa_regex_refuse(t, at - 1, "\\%c is not supported", *at);
    int n = oa_utf8_decode(at, strlen(at), code);
    t->p += n;
    return n > 0 || oa_regex_refuse(t, at, "this is not UTF-8");
}

uint32_t oa_regex_fold(uint32_t code, int *length)
{
    utf8proc_int32_t folded[8];
    int bound = 0;
    *length =
        (int)utf8proc_decompose_char((utf8proc_int32_t)code, folded, 8, UTF8PROC_CASEFOLD, &bound);
    return *length > 0 ? (uint32_t)folded[0] : code;
}

bool oa_regex_has_case(uint32_t code)
{
    utf8proc_int32_t c = (utf8proc_int32_t)code;
    int length;
    return oa_regex_fold(code, &length) != code || length > 1 || utf8proc_tolower(c) != c ||
           utf8proc_toupper(c) != c;
}

/* Letters whose other case came after Unicode 14, the version of PCRE2 10.42. */
bool oa_regex_newer_case(uint32_t code)
{
    return code == 0x19b || code == 0x264 || (code >= 0x1c89 && code <= 0x1c8a) ||
           (code >= 0xa7cb && code <= 0xa7dc) || (code >= 0x10d50 && code <= 0x10d85);
}
