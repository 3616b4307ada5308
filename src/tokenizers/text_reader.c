/* SPDX-License-Identifier: Apache-2.0
 * A list of files as one stream of bytes, gzip and zstd unpacked, in pieces of at most READER_PIECE
 * bytes. */
#include "base/gzip_reason.h"
#include "tokenizers/tokenizer_parts.h"
#include "tokenizers/zstd_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define READER_PIECE ((size_t)1 << 20)

struct oa_reader {
    oa_context *context;
    char *name;                /* the list */
    char *files;               /* the list, split at its commas */
    const char *next;          /* rest of the list; NULL: no more files */
    const char *open;          /* the open file */
    bool single;               /* the list is the name of one file, commas included */
    bool raw;                  /* not text, by its name: pictures */
    uint64_t limit;            /* most bytes of the file */
    gzFile file;               /* also of plain files; NULL: none is open */
    struct oa_zstd_file *zstd; /* NULL: none is open */
    char *buffer;              /* NULL for text from memory */
    const char *text;
    size_t left;
};

static enum oa_error reader_new(oa_context *c, struct oa_reader **out)
{
    *out = oa_alloc(c, sizeof **out);
    if (!*out)
        return OA_NO_MEMORY;
    (*out)->context = c;
    return OA_OK;
}

static void close_reader_file(struct oa_reader *r)
{
    if (r->file)
        gzclose(r->file);
    oa_zstd_close(r->zstd);
    r->file = NULL;
    r->zstd = NULL;
}

void oa_reader_close(struct oa_reader *r)
{
    if (!r)
        return;
    close_reader_file(r);
    oa_free(r->name);
    oa_free(r->files);
    oa_free(r->buffer);
    oa_free(r);
}

/* ---- the list ---- */

char *oa_cut_name(char *list, char **name)
{
    char *comma = strchr(list, ',');
    if (comma)
        *comma = 0;
    *name = list + strspn(list, " ");
    for (size_t n = strlen(*name); n > 0 && (*name)[n - 1] == ' '; n--)
        (*name)[n - 1] = 0;
    return comma ? comma + 1 : NULL;
}

enum oa_error oa_plain_files_check(oa_context *c, const char *files)
{
    char *list = oa_copy_text(c, files), *name;
    enum oa_error e = list ? OA_OK : OA_NO_MEMORY;
    for (char *rest = list; rest && e == OA_OK;) {
        struct stat about;
        rest = oa_cut_name(rest, &name);
        if (stat(name, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
            e = oa_fail(c, OA_IO, "cannot read %s: not a regular file", name);
    }
    oa_free(list);
    return e;
}

enum oa_error oa_reader_open(oa_context *c, const char *files, struct oa_reader **out)
{
    *out = NULL;
    struct oa_reader *r;
    OA_TRY(reader_new(c, &r));
    r->name = oa_copy_text(c, files ? files : "");
    r->files = oa_copy_text(c, files ? files : "");
    r->buffer = oa_alloc(c, READER_PIECE);
    if (!r->name || !r->files || !r->buffer) {
        oa_reader_close(r);
        return OA_NO_MEMORY;
    }
    r->next = oa_is_given(r->files) ? r->files : NULL;
    *out = r;
    return OA_OK;
}

enum oa_error oa_reader_open_file(oa_context *c, const char *path, struct oa_reader **out)
{
    OA_TRY(oa_reader_open(c, path, out));
    (*out)->single = true;
    return OA_OK;
}

enum oa_error oa_reader_open_text(oa_context *c, const char *text, size_t length,
                                  struct oa_reader **out)
{
    OA_TRY(reader_new(c, out));
    (*out)->text = text ? text : "";
    (*out)->left = length;
    return OA_OK;
}

uint64_t oa_reader_offset(const struct oa_reader *r)
{
    if (r->zstd)
        return oa_zstd_offset(r->zstd);
    return r->file ? (uint64_t)gzoffset(r->file) : 0;
}

const char *oa_reader_name(const struct oa_reader *r)
{
    return r->name ? r->name : "the text";
}

/* ---- reading ---- */

static bool is_zstd(int fd)
{
    uint8_t b[4];
    if (pread(fd, b, sizeof b, 0) != sizeof b)
        return false;
    /* The second is a skippable frame, which pzstd writes first. */
    return memcmp(b, "\x28\xb5\x2f\xfd", 4) == 0 ||
           ((b[0] & 0xf0) == 0x50 && memcmp(b + 1, "\x2a\x4d\x18", 3) == 0);
}

static enum oa_error open_next(struct oa_reader *r)
{
    char *name = r->files;
    r->next = r->single ? NULL : oa_cut_name((char *)r->next, &name);
    if (!*name)
        return oa_fail(r->context, OA_ARGUMENT,
                       "the list of files has an empty name (a comma too many)");
    char installed[OA_SAMPLE_PATH];
    int fd;
    OA_TRY(oa_input_open(r->context, oa_sample_text(name, installed), OA_CORPUS_REMEDY, &fd));
    r->open = name;
    r->raw = oa_name_ends(name, ".bin");
    r->limit = oa_read_limit(name);
    if (!r->raw && is_zstd(fd))
        return oa_zstd_open(r->context, fd, name, &r->zstd);
    r->file = gzdopen(fd, "rb");
    if (!r->file) {
        close(fd);
        return oa_fail(r->context, OA_NO_MEMORY, "out of memory for reading %s", name);
    }
    gzbuffer(r->file, 1 << 17);
    return OA_OK;
}

static enum oa_error read_failed(struct oa_reader *r)
{
    int code;
    const char *sentence = gzerror(r->file, &code);
    if (code == Z_ERRNO)
        return oa_fail(r->context, OA_IO, "cannot read %s: %s", r->open, strerror(errno));
    if (code == Z_MEM_ERROR)
        return oa_fail(r->context, OA_NO_MEMORY, "out of memory for reading %s", r->open);
    return oa_fail(r->context, OA_FORMAT,
                   "%s: gzip data damaged or truncated after %lld bytes of text: %s (byte %lld of "
                   "the file)",
                   r->open, (long long)gztell(r->file), oa_gzip_reason(sentence),
                   (long long)gzoffset(r->file));
}

/* gzread returns less at the end of the file; that gzip data is truncated shows only in gzerror. */
static enum oa_error read_gzip_piece(struct oa_reader *r, size_t *length, uint64_t *unpacked)
{
    int code = Z_OK, n = gzread(r->file, r->buffer, (unsigned)READER_PIECE);
    if (n >= 0)
        gzerror(r->file, &code);
    if (n < 0 || (code != Z_OK && code != Z_STREAM_END))
        return read_failed(r);
    *length = (size_t)n;
    *unpacked = (uint64_t)gztell(r->file);
    return OA_OK;
}

static enum oa_error read_file_piece(struct oa_reader *r, size_t *length)
{
    uint64_t unpacked = 0;
    if (r->zstd) {
        OA_TRY(oa_zstd_read(r->zstd, r->buffer, READER_PIECE, length));
        unpacked = oa_zstd_unpacked(r->zstd);
    } else {
        OA_TRY(read_gzip_piece(r, length, &unpacked));
    }
    const char *format =
        unpacked == *length && !r->raw ? oa_binary_format(r->buffer, *length) : NULL;
    if (format)
        return oa_fail(r->context, OA_FORMAT, "%s is not a text file: it is %s", r->open, format);
    if (unpacked > r->limit)
        return oa_fail_read_limit(r->context, r->open, r->limit);
    if (*length == 0)
        close_reader_file(r);
    return OA_OK;
}

enum oa_error oa_reader_next(struct oa_reader *r, const char **piece, size_t *length)
{
    *length = 0;
    *piece = r->buffer;
    if (!r->buffer) {
        *piece = r->text;
        *length = r->left < READER_PIECE ? r->left : READER_PIECE;
        r->text += *length;
        r->left -= *length;
        return OA_OK;
    }
    while (*length == 0 && (r->file || r->zstd || r->next)) {
        if (!r->file && !r->zstd)
            OA_TRY(open_next(r));
        OA_TRY(read_file_piece(r, length));
    }
    return OA_OK;
}

/* ---- feeding ---- */

enum oa_error oa_reader_feed(struct oa_reader *r, oa_feed *feed, void *argument)
{
    struct oa_text held;
    const char *piece;
    size_t n = 1;
    enum oa_error error = OA_OK;
    oa_text_init(&held, r->context);
    while (error == OA_OK && n) {
        error = oa_reader_next(r, &piece, &n);
        if (error == OA_OK)
            oa_text_add(&held, piece, n);
        if (error == OA_OK)
            error = oa_status(r->context);
        if (error == OA_OK && oa_stop_requested(r->context))
            error = oa_fail(r->context, OA_INTERRUPTED,
                            "stopped by signal %d while reading text; nothing was written",
                            oa_stop_requested(r->context));
        if (error != OA_OK || held.length == 0)
            continue;
        size_t used = 0;
        error = feed(argument, held.s, held.length, n == 0 || held.length > OA_MOST_FEED, &used);
        if (error != OA_OK)
            break;
        held.length -= used;
        memmove(held.s, held.s + used, held.length);
    }
    oa_text_free(&held);
    return error;
}

/* ---- whole files ---- */

static enum oa_error read_reader(struct oa_reader *r, struct oa_text *out)
{
    const char *piece;
    size_t length;
    do {
        OA_TRY(oa_reader_next(r, &piece, &length));
        oa_text_add(out, piece, length);
        if (oa_status(r->context) == OA_NO_MEMORY)
            return OA_NO_MEMORY;
    } while (length);
    return OA_OK;
}

enum oa_error oa_files_read(oa_context *c, const char *files, char **data, size_t *length)
{
    struct oa_text text;
    struct oa_reader *r;
    *data = NULL;
    *length = 0;
    OA_TRY(oa_reader_open(c, files, &r));
    oa_text_init(&text, c);
    enum oa_error error = read_reader(r, &text);
    oa_reader_close(r);
    if (error == OA_OK && !text.s)
        error = (text.s = oa_alloc(c, 1)) ? OA_OK : OA_NO_MEMORY;
    if (error != OA_OK) {
        oa_text_free(&text);
        return error;
    }
    *data = text.s;
    *length = text.length;
    return OA_OK;
}
