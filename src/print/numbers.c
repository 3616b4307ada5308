/* SPDX-License-Identifier: Apache-2.0
 * Numbers as people read them. */
#include "print/print.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static char *dash(char *out)
{
    return strcpy(out, "–");
}

OA_PRINTF(2, 3) static char *print(char *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    oa_format(out, OA_NUMBER, format, arguments);
    va_end(arguments);
    return out;
}

/* Digits after the point that show `digits` significant ones of x, after rounding (9.996 has one
 * digit before). */
static int decimals(double x, int digits)
{
    char text[OA_NUMBER];
    print(text, "%.*e", digits - 1, x);
    int exponent = atoi(strchr(text, 'e') + 1);
    return exponent >= digits - 1 ? 0 : digits - 1 - exponent;
}

char *oa_number(char *out, double x, int digits)
{
    if (!isfinite(x))
        return dash(out);
    if (x == 0)
        return print(out, "0"); /* -0 too */
    if (fabs(x) >= 1e15 || fabs(x) < 1e-6)
        return print(out, "%.*g", digits, x);
    return print(out, "%.*f", decimals(x, digits), x);
}

enum { MOST_DECIMALS = 13 };

/* As far as the decimals go, with an exponent: "1.25e-12" for 14; "0" where no digit is left. */
static char *small(char *out, double x, int decimals_shown)
{
    int digits = x == 0 ? 0 : decimals_shown + 1 + (int)floor(log10(fabs(x)));
    return digits < 1 ? print(out, "0") : print(out, "%s", oa_real_rounded(x, digits).s);
}

/* Decimals of a number of more than nine digits have no use, and hundreds of digits would fit
 * no cell. */
static char *fixed(char *out, double x, int decimals_shown)
{
    if (fabs(x) >= 1e9)
        return print(out, "%s", oa_real_rounded(x, 9).s);
    return decimals_shown > MOST_DECIMALS && fabs(x) < 1e-3 ? small(out, x, decimals_shown)
                                                            : print(out, "%.*f", decimals_shown, x);
}

char *oa_number_fixed(char *out, double x, int decimals_shown)
{
    if (!isfinite(x))
        return dash(out);
    fixed(out, x, decimals_shown);
    bool zero = strspn(out, "-0.") == strlen(out);
    return zero ? fixed(out, 0, decimals_shown) : out;
}

char *oa_number_signed(char *out, double x, int decimals_shown)
{
    if (!isfinite(x))
        return dash(out);
    fixed(out, fabs(x), decimals_shown);
    bool zero = strspn(out, "0.") == strlen(out);
    char digits[OA_NUMBER];
    strcpy(digits, out);
    return print(out, "%s%.40s", zero ? "" : x < 0 ? "−" : "+", digits);
}

/* x as it is printed. */
static double as_printed(double x, int decimals_shown)
{
    char text[OA_NUMBER];
    return strtod(fixed(text, x, decimals_shown), NULL);
}

enum { MORE_DECIMALS = 9 }; /* a mean and a half that differ by less are equal to a reader */

/* Decimals with which the printed interval excludes 0 exactly if the numbers do. */
static int telling_decimals(double mean, double half, int least)
{
    bool excludes = fabs(mean) > half;
    int most = least + MORE_DECIMALS, n = least;
    double ends[] = { mean - half, mean + half };
    while (n < most && ((fabs(as_printed(mean, n)) > as_printed(half, n)) != excludes ||
                        (as_printed(ends[0], n) * as_printed(ends[1], n) > 0) != excludes))
        n++;
    return n;
}

char *oa_print_plus_minus(char *out, double mean, double half, int decimals_shown)
{
    char number[OA_NUMBER], width[OA_NUMBER];
    if (!isfinite(mean) || !isfinite(half))
        return oa_number_signed(out, mean, decimals_shown);
    int n = telling_decimals(mean, half, decimals_shown);
    snprintf(out, OA_INTERVAL, "%s ±%s", oa_number_signed(number, mean, n),
             oa_number_fixed(width, half, n));
    return out;
}

char *oa_print_ends(char *out, double mean, double half, int decimals_shown)
{
    char low[OA_NUMBER], high[OA_NUMBER];
    if (!isfinite(mean) || !isfinite(half))
        return dash(out);
    int n = telling_decimals(mean, half, decimals_shown);
    snprintf(out, OA_INTERVAL, "%s … %s", oa_number_signed(low, mean - half, n),
             oa_number_signed(high, mean + half, n));
    return out;
}

/* The largest unit of which x has at least one, after rounding to three digits. */
static char *with_unit(char *out, double x, double step, const char *const *units, int count)
{
    int u = 0;
    if (x == floor(x) && fabs(x) < 10000 && step == 1000)
        count = 1; /* 2048 rather than 2.05k */
    for (; u + 1 < count && fabs(x) >= 999.5; u++)
        x /= step;
    if (u == 0 && x == floor(x))
        print(out, "%.0f", x + 0.0); /* + 0.0: no minus before 0 */
    else
        oa_number(out, x, 3);
    return strcat(out, units[u]);
}

char *oa_number_si(char *out, double x)
{
    static const char *const units[] = { "", "k", "M", "G", "T", "P", "E" };
    return isfinite(x) ? with_unit(out, x, 1000, units, 7) : dash(out);
}

char *oa_number_bytes(char *out, double x)
{
    static const char *const units[] = { " B", " KiB", " MiB", " GiB", " TiB" };
    return isfinite(x) ? with_unit(out, x, 1024, units, 5) : dash(out);
}

static char *long_time(char *out, double x)
{
    long long s = llround(x);
    if (s < 3600)
        return print(out, "%lld min %lld s", s / 60, s % 60);
    if (s < 48 * 3600)
        return print(out, "%lld h %lld min", s / 3600, s % 3600 / 60);
    return print(out, "%lld d %lld h", s / 86400, s % 86400 / 3600);
}

char *oa_number_seconds(char *out, double x)
{
    if (!(x >= 0 && x <= 1e15))
        return dash(out); /* NaN too */
    if (x >= 99.5)
        return long_time(out, x);
    const char *unit = x >= 0.9995 || x == 0 ? " s" : x >= 0.9995e-3 ? " ms" : " µs";
    oa_number(out, x >= 0.9995 ? x : x >= 0.9995e-3 ? x * 1e3 : x * 1e6, 3);
    return strcat(out, unit);
}
