/* SPDX-License-Identifier: Apache-2.0
 * Growing strings, numbers as text independent of the program's locale, and "did you mean". */
#include "base/base.h"

#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers and locales ---- */

struct plain_locale {
    locale_t plain, before;
};

static struct plain_locale locale_enter(void)
{
    struct plain_locale l = { .plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0) };
    if (l.plain)
        l.before = uselocale(l.plain);
    return l;
}

static void locale_leave(struct plain_locale l)
{
    if (!l.plain)
        return;
    uselocale(l.before);
    freelocale(l.plain);
}

int oa_format(char *out, size_t size, const char *format, va_list arguments)
{
    struct plain_locale l = locale_enter();
    int n = vsnprintf(out, size, format, arguments);
    locale_leave(l);
    return n;
}

bool oa_parse_real(const char *text, double *value)
{
    size_t length = strlen(text);
    if (length == 0 || strspn(text, "0123456789+-.eE") != length)
        return false;
    struct plain_locale l = locale_enter();
    char *end;
    *value = strtod(text, &end);
    locale_leave(l);
    return *end == 0;
}

/* ---- growing strings ---- */

void oa_text_init(struct oa_text *t, oa_context *c)
{
    *t = (struct oa_text){ .context = c };
}

void oa_text_free(struct oa_text *t)
{
    oa_free(t->s);
    *t = (struct oa_text){ .context = t->context };
}

/* Room for n more bytes and the terminating 0. */
static bool text_reserve(struct oa_text *t, size_t n)
{
    size_t wanted = t->length + n + 1;
    if (wanted <= t->capacity)
        return true;
    size_t capacity = t->capacity ? 2 * t->capacity : 256;
    if (capacity < wanted)
        capacity = wanted;
    char *s = oa_grow(t->context, t->s, t->s ? t->length + 1 : 0, capacity);
    if (!s)
        return false;
    t->s = s;
    t->capacity = capacity;
    return true;
}

void oa_text_add(struct oa_text *t, const char *s, size_t n)
{
    if (!text_reserve(t, n))
        return;
    if (n)
        memcpy(t->s + t->length, s, n);
    t->length += n;
    t->s[t->length] = 0;
}

void oa_text_printf(struct oa_text *t, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int n = oa_format(NULL, 0, format, arguments);
    if (n >= 0 && text_reserve(t, (size_t)n)) {
        oa_format(t->s + t->length, (size_t)n + 1, format, again);
        t->length += (size_t)n;
    }
    va_end(again);
    va_end(arguments);
}

void oa_text_cut(struct oa_text *t, size_t length)
{
    if (length < t->length)
        t->s[t->length = length] = 0;
}

/* ---- did you mean ---- */

#define LONGEST_WORD 63

/* Optimal string alignment distance: insertion, deletion, substitution and transposition cost 1.
 * Only three rows of the table are stored. */
static int edit_distance(const char *a, int la, const char *b, int lb)
{
    int rows[3][LONGEST_WORD + 1];
    for (int j = 0; j <= lb; j++)
        rows[0][j] = j;
    for (int i = 1; i <= la; i++) {
        int *row = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= lb; j++) {
            long best = oa_min(up[j], row[j - 1]) + 1;
            best = oa_min(best, up[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = oa_min(best, up2[j - 2] + 1);
            row[j] = (int)best;
        }
    }
    return rows[la % 3][lb];
}

/* At most a third of the letters may be wrong, but one always. */
const char *oa_nearest(const char *word, const char *const *candidates, int count)
{
    size_t length = strlen(word);
    if (length == 0 || length > LONGEST_WORD)
        return NULL;
    const char *nearest = NULL;
    int best = length < 6 ? 2 : (int)length / 3 + 1; /* the smallest distance that is too large */
    for (int i = 0; i < count; i++) {
        size_t n = strlen(candidates[i]);
        if (n > LONGEST_WORD)
            continue;
        int d = edit_distance(word, (int)length, candidates[i], (int)n);
        if (d < best) {
            best = d;
            nearest = candidates[i];
        }
    }
    return nearest;
}

const char *oa_plural(double count)
{
    return count == 1 ? "" : "s";
}
