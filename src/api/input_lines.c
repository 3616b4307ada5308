/* SPDX-License-Identifier: Apache-2.0 */
#include "api/input_lines.h"

#include <string.h>

/* ---- encoding ---- */

static enum oa_error encode_texts(struct oa_input_lines *l, const char *place, const char *s,
                                  size_t n, bool *header, struct oa_examples *out)
{
    struct oa_input_text text[2] = { { s, n } };
    int texts = 1;
    if (l->columns) {
        OA_TRY(oa_input_columns_cut(l->columns, place, s, n, text, header));
        texts = oa_input_columns_texts(l->columns);
    }
    if (*header || (!l->blanks && oa_is_blank(text[0].s, text[0].length)))
        return OA_OK;
    return oa_source_encode(l->tokenizer, &l->layout, place, text, texts, out);
}

static const char *why_unreadable(const struct oa_input_lines *l, const char *s, size_t n)
{
    uint32_t code;
    for (int k; n && !l->pictures; s += k, n -= (size_t)k) {
        k = oa_utf8_decode(s, n, &code);
        if (k < 1 || code == 0)
            return k < 1 ? "is not UTF-8" : "has a byte 0 in it";
    }
    return NULL;
}

/* A line that cannot be read is reported and counted. A missing column is an error of the whole
 * file.
 */
static enum oa_error encode_input_line(struct oa_input_lines *l, const char *s, size_t n,
                                       bool *header, struct oa_examples *out)
{
    char place[1024];
    oa_context *c = l->context;
    const char *why = why_unreadable(l, s, n);
    const char *what = l->pictures ? "picture" : "line";
    unsigned long long number = l->lines - l->before;
    if (l->file)
        snprintf(place, sizeof place, "%.800s, %s %llu", l->file, what, number);
    else
        snprintf(place, sizeof place, "%s %llu", what, number);
    if (why) {
        l->bad++;
        oa_log(c, 0, "%s %s: printing an empty line", place, why);
        return OA_OK;
    }
    enum oa_error e = encode_texts(l, place, s, n, header, out);
    if (e != OA_FORMAT && e != OA_SHAPE)
        return e;
    oa_last_error(c, &why);
    oa_log(c, 0, "%s; printing an empty line", why);
    oa_clear_error(c);
    l->bad++;
    return OA_OK;
}

/* ---- reading ---- */

void oa_input_line_trim(bool first, const char **s, size_t *n)
{
    size_t mark = first ? oa_utf8_mark_length(*s, *n) : 0;
    *s += mark;
    *n -= mark;
    *n -= *n && (*s)[*n - 1] == '\r';
}

static enum oa_error take_input_line(struct oa_input_lines *l, const char *s, size_t n,
                                     struct oa_coded_line *to, int *count)
{
    bool header = false;
    *to = (struct oa_coded_line){ .line = ++l->lines };
    l->bytes += (double)n + !l->pictures;
    if (!l->pictures)
        oa_input_line_trim(l->lines - l->before == 1, &s, &n);
    if (l->pictures || !oa_is_blank(s, n) ||
        (l->blanks &&
         (!l->columns || oa_input_columns_whole(l->columns) || (n && memchr(s, '\t', n)))))
        OA_TRY(encode_input_line(l, s, n, &header, &to->coded));
    l->cut += to->coded.source.cut;
    *count += !header;
    return OA_OK;
}

enum oa_error oa_input_failed(oa_context *c, uint64_t line)
{
    OA_TRY(oa_status(c));
    return oa_fail(c, OA_IO, "line %llu of the input could not be read", (unsigned long long)line);
}

enum oa_error oa_input_lines_read(struct oa_input_lines *l, int most, struct oa_coded_line *to,
                                  int *count, bool *more)
{
    const char *s;
    size_t n;
    int there = l->failed ? -1 : 1;
    if (!l->bar.context)
        oa_bar_open(&l->bar, l->context, l->title);
    for (*count = 0; *count < most && there > 0;) {
        there = l->next(l->argument, &s, &n);
        if (there > 0)
            OA_TRY(take_input_line(l, s, n, &to[*count], count));
    }
    if (oa_stop_requested(l->context))
        return oa_fail(l->context, OA_INTERRUPTED,
                       "stopped by signal %d while waiting for line %llu",
                       oa_stop_requested(l->context), (unsigned long long)l->lines + 1);
    *more = there != 0;
    l->failed = there < 0;
    if (l->failed && *count == 0)
        return oa_input_failed(l->context, l->lines + 1);
    if (l->all > 0)
        oa_bar_log(&l->bar, (long)l->bytes, (long)(l->all > l->bytes ? l->all : l->bytes));
    else
        oa_log(l->context, 1, "%llu lines", (unsigned long long)l->lines);
    return oa_status(l->context);
}

void oa_input_lines_release(struct oa_coded_line *lines, int count)
{
    for (int i = 0; i < count; i++)
        oa_examples_close(&lines[i].coded);
}

/* ---- notices ---- */

void oa_input_lines_account(const struct oa_input_lines *l)
{
    const char *what = l->pictures ? "pictures" : "lines";
    if (l->cut)
        oa_log(l->context, 0, "%llu of %llu %s were truncated to the %ld tokens of the context",
               (unsigned long long)l->cut, (unsigned long long)l->lines, what,
               l->layout.source_limit);
    if (l->bad)
        oa_log(l->context, 0, "%llu of %llu %s could not be read", (unsigned long long)l->bad,
               (unsigned long long)l->lines, what);
}
