/* SPDX-License-Identifier: Apache-2.0
 * Files of lines: texts, labels or numbers. Invalid lines are rejected with file and line. */
#include "data/examples.h"
#include "metrics/metrics_parts.h"

#include <math.h>

static enum oa_error check_line_text(oa_context *c, const struct oa_lines *lines, long i)
{
    struct oa_line line = lines->line[i];
    size_t valid = oa_utf8_valid_length(line.s, line.length);
    if (valid == line.length)
        return OA_OK;
    return oa_fail(
        c, OA_FORMAT,
        "%s, line %ld: not UTF-8 (byte %zu of the line is 0x%02X); convert the file (iconv)",
        lines->name, i + 1, valid + 1, (unsigned)(uint8_t)line.s[valid]);
}

static enum oa_error cut_text_lines(oa_context *c, struct oa_lines *out, size_t length)
{
    const char *s = out->data, *end = s + length;
    for (long i = 0; i < out->count; i++) {
        const char *next = memchr(s, '\n', (size_t)(end - s));
        out->line[i] = (struct oa_line){ s, (size_t)((next ? next : end) - s) };
        OA_TRY(check_line_text(c, out, i));
        out->line[i] = oa_python_rstrip(out->line[i]);
        s = next ? next + 1 : end;
    }
    return OA_OK;
}

enum oa_error oa_lines_read(oa_context *c, const char *path, struct oa_lines *out)
{
    size_t length;
    *out = (struct oa_lines){ .name = path };
    OA_TRY(oa_file_read(c, path, &out->data, &length));
    OA_TRY(oa_check_lines(c, path, out->data, length));
    for (size_t i = 0; i < length; i++)
        out->count += out->data[i] == '\n' || i + 1 == length;
    if (out->count == 0)
        return oa_fail(c, OA_FORMAT, "%s is empty", path);
    out->line = oa_alloc(c, (size_t)out->count * sizeof *out->line);
    return out->line ? cut_text_lines(c, out, length) : OA_NO_MEMORY;
}

enum oa_error oa_lines_respell(oa_context *c, struct oa_lines *lines)
{
    struct oa_number_text whole;
    long respelled = 0, first = 0;
    size_t at = 0;
    for (long i = 0; i < lines->count; i++) {
        struct oa_line *line = &lines->line[i];
        size_t skipped = i == 0 ? oa_utf8_mark_length(line->s, line->length) : 0;
        struct oa_line label = { line->s + skipped, line->length - skipped };
        if (!oa_label_spell(&label.s, &label.length, &whole) && !skipped)
            continue;
        first = respelled++ ? first : i;
        if (label.s == whole.s) { /* a new spelling, not a part of the line */
            if (!lines->respelled &&
                !(lines->respelled = oa_alloc(c, (size_t)(lines->count - i) * sizeof whole.s)))
                return OA_NO_MEMORY;
            memcpy(lines->respelled + at, whole.s, label.length);
            label.s = lines->respelled + at;
            at += label.length;
        }
        *line = label;
    }
    if (respelled)
        oa_log(c, 0,
               "%s: %ld label%s normalised: surrounding blanks or a byte order mark removed, whole "
               "numbers written as integers (line %ld: %.*s)",
               lines->name, respelled, oa_plural(respelled), first + 1,
               (int)lines->line[first].length, lines->line[first].s);
    return OA_OK;
}

void oa_lines_free(struct oa_lines *lines)
{
    oa_free(lines->line);
    oa_free(lines->respelled);
    oa_free(lines->data);
    lines->line = NULL;
    lines->data = NULL;
}

/* ---- numbers ---- */

static bool parse_number_line(struct oa_line line, double *value)
{
    while (line.length && (*line.s == ' ' || *line.s == '\t')) {
        line.s++;
        line.length--;
    }
    return oa_parse_finite(line.s, line.length, value);
}

enum oa_error oa_lines_numbers(oa_context *c, const struct oa_lines *lines, double **out)
{
    *out = oa_alloc(c, (size_t)lines->count * sizeof **out);
    if (!*out)
        return OA_NO_MEMORY;
    for (long i = 0; i < lines->count; i++)
        if (!parse_number_line(lines->line[i], &(*out)[i]))
            return oa_fail(
                c, OA_FORMAT, "%s, line %ld: \"%.*s\" is not a finite number", lines->name, i + 1,
                lines->line[i].length > 40 ? 40 : (int)lines->line[i].length, lines->line[i].s);
    return OA_OK;
}
