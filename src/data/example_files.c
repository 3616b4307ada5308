/* SPDX-License-Identifier: Apache-2.0
 * Text files of examples, line by line. Files that are not UTF-8 text are rejected with the line.
 */
#include "data/example_parts.h"

#include <string.h>

static uint64_t line_number_at(const char *data, size_t at)
{
    uint64_t line = 1;
    for (size_t i = 0; i < at; i++)
        line += data[i] == '\n';
    return line;
}

/* ASCII text in UTF-16 has a 0 in every other byte. */
static bool is_utf16(const char *data, size_t length)
{
    size_t zeros[2] = { 0, 0 }, n = length < 64 ? length : 64;
    for (size_t i = 0; i < n; i++)
        zeros[i % 2] += data[i] == 0;
    return (zeros[0] == 0 || zeros[1] == 0) && (zeros[0] + zeros[1]) * 10 >= n * 4;
}

static enum oa_error check_text_file(oa_context *c, const char *name, const char *data,
                                     size_t length)
{
    size_t valid = oa_utf8_valid_length(data, length);
    const char *zero = length ? memchr(data, 0, length) : NULL;
    if (zero)
        return oa_fail(c, OA_FORMAT, "%s, line %llu: not a text file: it has a zero byte%s", name,
                       (unsigned long long)line_number_at(data, (size_t)(zero - data)),
                       is_utf16(data, length)
                           ? "; if it is UTF-16, convert it (iconv -f UTF-16LE -t UTF-8)"
                           : "");
    if (valid < length)
        return oa_fail(c, OA_FORMAT,
                       "%s, line %llu: byte 0x%02X is not UTF-8; convert the file, e.g. iconv -f "
                       "WINDOWS-1252 -t UTF-8",
                       name, (unsigned long long)line_number_at(data, valid),
                       (unsigned)(uint8_t)data[valid]);
    return OA_OK;
}

enum oa_error oa_text_file_open(oa_context *c, const char *name, struct oa_text_file *out)
{
    size_t length;
    *out = (struct oa_text_file){ .name = name, .line = 1 };
    OA_TRY(oa_files_read(c, name, &out->data, &length));
    OA_TRY(check_text_file(c, name, out->data, length));
    out->at = out->data + oa_utf8_mark_length(out->data, length);
    out->end = out->data + length;
    return out->at < out->end ? OA_OK : oa_fail(c, OA_FORMAT, "%s is empty", name);
}

void oa_text_file_close(struct oa_text_file *f)
{
    oa_free(f->data);
    *f = (struct oa_text_file){ 0 };
}

bool oa_text_file_line(struct oa_text_file *f, char **line, size_t *length)
{
    if (f->at == f->end)
        return false;
    char *feed = memchr(f->at, '\n', (size_t)(f->end - f->at)), *stop = feed ? feed : f->end;
    *line = f->at;
    *length = (size_t)(stop - f->at);
    f->at = feed ? feed + 1 : f->end;
    f->line++;
    if (feed && *length && feed[-1] == '\r') {
        --*length;
        f->carriage_returns++;
    }
    return true;
}

uint64_t oa_text_file_count(const struct oa_text_file *f)
{
    size_t left = (size_t)(f->end - f->at);
    return left ? line_number_at(f->at, left) - (f->end[-1] == '\n') : 0;
}
