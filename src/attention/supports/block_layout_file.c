/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts of blocks from text files; block_layout.h describes the format.
 */
#include "attention/supports/block_layout.h"

#include <string.h>

struct reading {
    oa_context *context;
    const struct oa_parameter *p;
    double *out;
    long heads, rows,
        line;  /* heads that have begun; rows of the last of them; the line at work, from 1 */
    bool open; /* inside a head */
};

static enum oa_error refuse(const struct reading *r, const char *what)
{
    const long *dim = r->p->dim;
    return oa_fail(r->context, OA_FORMAT,
                   "%s, line %ld: %s; a layout here has %ld heads (or one for all) of at least %ld "
                   "rows of at least %ld "
                   "blocks, written as 0 and 1, with an empty line between heads",
                   r->p->source, r->line, what, dim[0], dim[1], dim[2]);
}

/* The blocks of a line; −1 when there is something else. Those beyond the layout are passed over.
 */
static long read_row(const char *text, size_t n, long columns, double *row)
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

static enum oa_error end_head(struct reading *r)
{
    bool wrong = r->open && r->rows < r->p->dim[1];
    r->open = false;
    return wrong ? refuse(r, "the head ends too early") : OA_OK;
}

static enum oa_error read_line(struct reading *r, const char *text, size_t n)
{
    const long *dim = r->p->dim;
    long count = read_row(text, n, 0, NULL);
    bool remark = count == 0 && memchr(text, '#', n);
    r->line++;
    if (count < 0)
        return refuse(r, "there is something other than 0 and 1");
    if (count == 0)
        return remark ? OA_OK : end_head(r);
    if (!r->open) {
        r->open = true;
        r->heads++;
        r->rows = 0;
    }
    if (r->heads > dim[0])
        return refuse(r, "there are more heads");
    if (count < dim[2])
        return refuse(r, "the row is too short");
    if (r->rows < dim[1])
        read_row(text, n, dim[2], r->out + ((r->heads - 1) * dim[1] + r->rows) * dim[2]);
    r->rows++;
    return OA_OK;
}

static enum oa_error read_text(struct reading *r, const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t n = end ? (size_t)(end - (text + at)) : length - at;
        OA_TRY(read_line(r, text + at, n));
        at += n + 1;
    }
    OA_TRY(end_head(r));
    if (r->heads != r->p->dim[0] && r->heads != 1)
        return refuse(r, "there are fewer heads");
    return OA_OK;
}

enum oa_error oa_layout_from_file(oa_context *c, const struct oa_parameter *p, uint64_t seed,
                                  double *out)
{
    char *text;
    size_t length;
    long each = p->dim[1] * p->dim[2];
    (void)seed;
    for (long i = 0; i < p->count; i++)
        out[i] = -1;
    if (!oa_file_exists(p->source))
        return OA_OK;
    OA_TRY(oa_file_read(c, p->source, &text, &length));
    struct reading r = { .context = c, .p = p, .out = out };
    enum oa_error e = read_text(&r, text, length);
    oa_free(text);
    for (long h = 1; e == OA_OK && r.heads == 1 && h < p->dim[0]; h++)
        memcpy(out + h * each, out, (size_t)each * sizeof *out);
    return e;
}
