/* SPDX-License-Identifier: Apache-2.0
 * Reads block layouts from text files (format: block_layout.h). */
#include "attention/supports/block_layout.h"

#include "base/file_copies.h"

#include <string.h>

struct layout_reader {
    oa_context *context;
    const struct oa_parameter *p;
    double *out;
    long heads, rows, line; /* heads so far; rows of the last one; line number, from 1 */
    bool open;              /* inside a head */
};

static enum oa_error layout_error(const struct layout_reader *r, const char *what)
{
    const long *dim = r->p->dim;
    return oa_fail(r->context, OA_FORMAT,
                   "%s:%ld: %s; expected %ld heads (or one for all), separated by empty lines, "
                   "with at least %ld rows of at least %ld blocks, 0 or 1",
                   r->p->source, r->line, what, dim[0], dim[1], dim[2]);
}

/* Returns the number of blocks in the line, −1 for invalid characters; stores the first `columns`.
 */
static long layout_read_row(const char *text, size_t n, long columns, double *row)
{
    long count = 0;
    for (size_t i = 0; i < n && text[i] != '#'; i++) {
        if (strchr(" \t\r", text[i]))
            continue;
        if (text[i] != '0' && text[i] != '1')
            return -1;
        if (row && count < columns)
            row[count] = text[i] - '0';
        count++;
    }
    return count;
}

static enum oa_error layout_end_head(struct layout_reader *r)
{
    bool wrong = r->open && r->rows < r->p->dim[1];
    r->open = false;
    return wrong ? layout_error(r, "too few rows in this head") : OA_OK;
}

static enum oa_error layout_read_line(struct layout_reader *r, const char *text, size_t n)
{
    const long *dim = r->p->dim;
    long count = layout_read_row(text, n, 0, NULL);
    bool comment = count == 0 && memchr(text, '#', n);
    r->line++;
    if (count < 0)
        return layout_error(r, "invalid character");
    if (count == 0)
        return comment ? OA_OK : layout_end_head(r);
    if (!r->open) {
        r->open = true;
        r->heads++;
        r->rows = 0;
    }
    if (r->heads > dim[0])
        return layout_error(r, "too many heads");
    if (count < dim[2])
        return layout_error(r, "row too short");
    if (r->rows < dim[1])
        layout_read_row(text, n, dim[2], r->out + ((r->heads - 1) * dim[1] + r->rows) * dim[2]);
    r->rows++;
    return OA_OK;
}

static enum oa_error layout_read_text(struct layout_reader *r, const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t n = end ? (size_t)(end - (text + at)) : length - at;
        OA_TRY(layout_read_line(r, text + at, n));
        at += n + 1;
    }
    OA_TRY(layout_end_head(r));
    if (r->heads != r->p->dim[0] && r->heads != 1)
        return layout_error(r, "too few heads");
    return OA_OK;
}

enum oa_error oa_layout_from_file(oa_context *c, const struct oa_parameter *p, uint64_t seed,
                                  double *out)
{
    struct layout_reader r = { .context = c, .p = p, .out = out };
    struct oa_text path;
    char *text = NULL;
    size_t length;
    long each = p->dim[1] * p->dim[2];
    (void)seed;
    for (long i = 0; i < p->count; i++)
        out[i] = -1;
    oa_text_init(&path, c);
    enum oa_error e = oa_copies_find(c, p->source, &path);
    bool exists = e == OA_OK && oa_file_exists(path.s);
    if (exists)
        e = oa_file_read(c, path.s, &text, &length);
    if (exists && e == OA_OK)
        e = layout_read_text(&r, text, length);
    oa_free(text);
    oa_text_free(&path);
    for (long h = 1; e == OA_OK && r.heads == 1 && h < p->dim[0]; h++)
        memcpy(out + h * each, out, (size_t)each * sizeof *out);
    return e;
}
