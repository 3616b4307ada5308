/* SPDX-License-Identifier: Apache-2.0
 * Shortest decimal representation that reads back as the same double; plain notation from 1e-4 to
 * below 1e16 as in Python's repr, integers without a point. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ±0.DIGITS · 10^point; count 0: zero. */
struct decimal {
    bool negative;
    const char *digits;
    int count;
    long point;
};

static void decimal_print_plain(const struct decimal *d, char *out)
{
    int n = 0;
    if (d->point <= 0)
        out[n++] = '0';
    for (long i = 0; i < d->point; i++)
        out[n++] = i < d->count ? d->digits[i] : '0';
    if (d->count > d->point)
        out[n++] = '.';
    for (long i = d->point; i < d->count; i++)
        out[n++] = i < 0 ? '0' : d->digits[i];
    out[n] = 0;
}

static void decimal_print(const struct decimal *d, struct oa_number_text *out)
{
    enum { SMALLEST = -3, LARGEST = 16 };
    char *s = out->s;
    if (d->negative && d->count)
        *s++ = '-';
    if (!d->count)
        snprintf(s, 2, "0");
    else if (d->point >= SMALLEST && d->point <= LARGEST)
        decimal_print_plain(d, s);
    else
        snprintf(s, sizeof out->s - 1, "%c%s%.*se%+03ld", d->digits[0], d->count > 1 ? "." : "",
                 d->count - 1, d->digits + 1, d->point - 1);
}

/* printed: "-d.ddde+XX", with any locale's decimal point. */
static void decimal_from_printf(const char *printed, double value, struct oa_number_text *out)
{
    char digits[sizeof out->s];
    struct decimal d = { .negative = value < 0, .digits = digits };
    const char *e = strchr(printed, 'e');
    for (const char *s = printed; s < e; s++)
        if (*s >= '0' && *s <= '9')
            digits[d.count++] = *s;
    while (d.count && digits[d.count - 1] == '0')
        d.count--;
    d.point = strtol(e + 1, NULL, 10) + 1;
    decimal_print(&d, out);
}

struct oa_number_text oa_real_rounded(double value, int digits)
{
    char printed[48];
    struct oa_number_text out;
    snprintf(printed, sizeof printed, "%.*e", digits - 1, value);
    if (isfinite(value))
        decimal_from_printf(printed, value, &out);
    else
        snprintf(out.s, sizeof out.s, "%s", printed); /* nan, inf */
    return out;
}

struct oa_number_text oa_real_text(double value)
{
    char printed[48];
    int digits = 1;
    for (; digits < 17; digits++) {
        snprintf(printed, sizeof printed, "%.*e", digits - 1, value);
        if (strtod(printed, NULL) == value)
            break;
    }
    return oa_real_rounded(value, digits);
}

void oa_text_real(struct oa_text *t, double value)
{
    struct oa_number_text text = oa_real_text(value);
    oa_text_add(t, text.s, strlen(text.s));
}

/* ---- integers in any notation ---- */

/* Digits with at most one point. Returns the characters read; 0: no number, or a code with leading
 * zeros. */
static size_t decimal_read_digits(const char *s, size_t n, struct decimal *d, char *digits)
{
    size_t i = 0, whole = 0;
    bool point = false;
    for (; i < n && ((s[i] >= '0' && s[i] <= '9') || (s[i] == '.' && !point)); i++) {
        point = point || s[i] == '.';
        whole += !point;
        if (s[i] != '.' && (d->count || s[i] != '0'))
            digits[d->count++] = s[i];
        else if (s[i] != '.' && point)
            d->point--;
    }
    if (whole == 0 || (whole > 1 && s[0] == '0'))
        return 0;
    d->point += s[0] == '0' ? 0 : (long)whole;
    while (d->count && digits[d->count - 1] == '0')
        d->count--;
    return i;
}

/* "e+02". Returns the characters read; 0: no exponent. */
static size_t decimal_read_exponent(const char *s, size_t n, long *exponent)
{
    size_t i = 1 + (n > 1 && (s[1] == '+' || s[1] == '-')), from = i;
    if (n < 2 || (s[0] != 'e' && s[0] != 'E'))
        return 0;
    for (*exponent = 0; i < n && i < from + 3 && s[i] >= '0' && s[i] <= '9'; i++)
        *exponent = *exponent * 10 + (s[i] - '0');
    *exponent = s[1] == '-' ? -*exponent : *exponent;
    return i > from ? i : 0;
}

bool oa_whole_number(const char *s, size_t n, struct oa_number_text *out)
{
    enum { MOST_DIGITS = 20, LONGEST = 64 };
    char digits[LONGEST];
    struct decimal d = { .digits = digits };
    long exponent = 0;
    size_t sign = n > 0 && (s[0] == '-' || s[0] == '+');
    if (n == sign || n > LONGEST)
        return false;
    d.negative = s[0] == '-';
    size_t at = sign + decimal_read_digits(s + sign, n - sign, &d, digits);
    if (at == sign || (at < n && (at += decimal_read_exponent(s + at, n - at, &exponent)) < n))
        return false;
    d.point += exponent;
    if (d.count && (d.point < d.count || d.point > MOST_DIGITS))
        return false;
    out->s[0] = '-';
    if (d.count)
        decimal_print_plain(&d, out->s + d.negative);
    else
        snprintf(out->s, 2, "0");
    return true;
}

/* ---- labels ---- */

static size_t blank_at(const char *s, size_t n, bool end)
{
    static const char *const blanks[] = { " ",  "\t", "\n",       "\v",
                                          "\f", "\r", "\xc2\xa0", "\xe3\x80\x80" };
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++) {
        size_t length = strlen(blanks[i]);
        if (length <= n && memcmp(end ? s + n - length : s, blanks[i], length) == 0)
            return length;
    }
    return 0;
}

bool oa_label_spell(const char **s, size_t *n, struct oa_number_text *whole)
{
    size_t before = *n, blank;
    while ((blank = blank_at(*s, *n, true)))
        *n -= blank;
    while ((blank = blank_at(*s, *n, false))) {
        *s += blank;
        *n -= blank;
    }
    if (!oa_whole_number(*s, *n, whole))
        return *n != before;
    bool same = before == strlen(whole->s) && memcmp(*s, whole->s, before) == 0;
    *s = whole->s;
    *n = strlen(whole->s);
    return !same;
}
