/* SPDX-License-Identifier: Apache-2.0
 * A stream of documents from text files, which are read in pieces and cut into lines and JSON
 * objects. */
#include "data/documents.h"

#include "base/reserve.h"
#include "data/json_line.h"
#include "tokenizers/text.h"

#include <glob.h>
#include <string.h>
#include <sys/stat.h>

struct oa_documents {
    oa_context *context;
    enum oa_document_kind kind;
    char *column;
    char **file;
    size_t room;
    int count, at;            /* files; the one that is read */
    struct oa_reader *reader; /* NULL: between two files */
    bool ended;               /* the reader */
    uint64_t line, empty, bytes, read;
    struct oa_text buffer; /* text that was read; the first `taken` bytes were passed on */
    size_t taken;
    struct oa_json_object object;
    struct oa_text text; /* of a JSON member */
};

/* ---- lists of files ---- */

static enum oa_error add_document_file(struct oa_documents *d, const char *name)
{
    struct stat about;
    if (!oa_reserve(d->context, &d->file, &d->room, (size_t)d->count + 1, sizeof *d->file))
        return OA_NO_MEMORY;
    d->file[d->count] = oa_copy_text(d->context, name);
    if (!d->file[d->count])
        return OA_NO_MEMORY;
    d->count++;
    d->bytes += stat(name, &about) == 0 ? (uint64_t)about.st_size : 0;
    return OA_OK;
}

static enum oa_error add_document_pattern(struct oa_documents *d, const char *pattern)
{
    glob_t found;
    enum oa_error e = OA_OK;
    int code = glob(pattern, 0, NULL, &found);
    if (code == GLOB_NOMATCH)
        return oa_fail(d->context, OA_IO, "no file matches %s", pattern);
    if (code)
        return oa_fail(d->context, OA_IO, "cannot list the files of %s", pattern);
    for (size_t i = 0; i < found.gl_pathc && e == OA_OK; i++)
        e = add_document_file(d, found.gl_pathv[i]);
    globfree(&found);
    return e;
}

static enum oa_error add_document_list(struct oa_documents *d, const char *path)
{
    char *names;
    size_t length;
    enum oa_error e = OA_OK;
    OA_TRY(oa_file_read(d->context, path, &names, &length));
    for (char *line = names, *end; line && e == OA_OK; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        size_t n = end ? (size_t)(end - line) : strlen(line);
        n -= n && line[n - 1] == '\r';
        line[n] = 0;
        if (n)
            e = add_document_file(d, line);
    }
    oa_free(names);
    return e;
}

static enum oa_error add_document_files(struct oa_documents *d, const char *files)
{
    char *list = oa_copy_text(d->context, files), *name;
    enum oa_error e = list ? OA_OK : OA_NO_MEMORY;
    for (char *rest = list; rest && e == OA_OK;) {
        rest = oa_cut_name(rest, &name);
        if (!*name)
            e = oa_fail(d->context, OA_ARGUMENT,
                        "the list of files has an empty name (a comma too many)");
        else if (*name == '@')
            e = add_document_list(d, name + 1);
        else
            e = !oa_file_exists(name) && strpbrk(name, "*?[") ? add_document_pattern(d, name)
                                                              : add_document_file(d, name);
    }
    oa_free(list);
    if (e == OA_OK && !d->count)
        e = oa_fail(d->context, OA_ARGUMENT, "%s names no file", files);
    return e;
}

/* ---- opening ---- */

enum oa_error oa_document_kind_read(oa_context *c, const char *name, enum oa_document_kind *out)
{
    static const char *const names[] = { [OA_DOCUMENTS_AUTO] = "auto",
                                         [OA_DOCUMENTS_FILES] = "files",
                                         [OA_DOCUMENTS_LINES] = "lines",
                                         [OA_DOCUMENTS_JSON] = "json" };
    *out = OA_DOCUMENTS_AUTO;
    for (int i = 0; name && i < 4; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (enum oa_document_kind)i;
            return OA_OK;
        }
    return !name ? OA_OK
                 : oa_fail(c, OA_ARGUMENT, "documents \"%s\" are not auto, files, lines or json",
                           name);
}

enum oa_error oa_documents_open(oa_context *c, const char *files, enum oa_document_kind kind,
                                const char *column, struct oa_documents **out)
{
    struct oa_documents *d = oa_alloc(c, sizeof *d);
    *out = NULL;
    if (!d)
        return OA_NO_MEMORY;
    *d = (struct oa_documents){ .context = c, .kind = kind, .column = oa_copy_text(c, column) };
    oa_text_init(&d->buffer, c);
    oa_text_init(&d->text, c);
    oa_json_object_init(&d->object, c);
    enum oa_error e = d->column ? add_document_files(d, files) : OA_NO_MEMORY;
    if (e == OA_OK)
        *out = d;
    else
        oa_documents_close(d);
    return e;
}

void oa_documents_close(struct oa_documents *d)
{
    if (!d)
        return;
    oa_reader_close(d->reader);
    for (int i = 0; i < d->count; i++)
        oa_free(d->file[i]);
    oa_free(d->file);
    oa_free(d->column);
    oa_text_free(&d->buffer);
    oa_text_free(&d->text);
    oa_json_object_free(&d->object);
    oa_free(d);
}

int oa_documents_file_count(const struct oa_documents *d)
{
    return d->count;
}

const char *oa_documents_file(const struct oa_documents *d, int i)
{
    return d->file[i];
}

uint64_t oa_documents_bytes(const struct oa_documents *d)
{
    return d->bytes;
}

uint64_t oa_documents_bytes_read(const struct oa_documents *d)
{
    return d->read + (d->reader ? oa_reader_offset(d->reader) : 0);
}

uint64_t oa_documents_empty(const struct oa_documents *d)
{
    return d->empty;
}

/* ---- reading ---- */

static enum oa_document_kind kind_of_file(const struct oa_documents *d)
{
    const char *name = d->file[d->at];
    if (d->kind != OA_DOCUMENTS_AUTO)
        return d->kind;
    return oa_name_ends(name, ".jsonl") || oa_name_ends(name, ".ndjson") ? OA_DOCUMENTS_JSON
                                                                         : OA_DOCUMENTS_FILES;
}

/* Reads on until `wanted` bytes are buffered or the file ends. */
static enum oa_error buffer_bytes(struct oa_documents *d, size_t wanted)
{
    const char *piece;
    size_t n;
    while (!d->ended && d->buffer.length - d->taken < wanted) {
        if (d->taken) {
            memmove(d->buffer.s, d->buffer.s + d->taken, d->buffer.length - d->taken);
            oa_text_cut(&d->buffer, d->buffer.length - d->taken);
            d->taken = 0;
        }
        OA_TRY(oa_reader_next(d->reader, &piece, &n));
        d->ended = n == 0;
        oa_text_add(&d->buffer, piece, n);
        OA_TRY(oa_status(d->context));
    }
    return OA_OK;
}

/* A piece that is not the last one ends after a line, if there is one, else after a character. */
static enum oa_error next_of_file(struct oa_documents *d, struct oa_document *out)
{
    OA_TRY(buffer_bytes(d, (size_t)OA_DOCUMENT_PIECE + 1));
    const char *text = d->buffer.s ? d->buffer.s + d->taken : "";
    size_t have = d->buffer.length - d->taken, n = have;
    if (have > OA_DOCUMENT_PIECE) {
        const char *end = memrchr(text, '\n', OA_DOCUMENT_PIECE);
        n = end ? (size_t)(end - text) + 1 : OA_DOCUMENT_PIECE;
        while (!end && n > OA_DOCUMENT_PIECE - 4 && ((uint8_t)text[n] & 0xc0) == 0x80)
            n--;
    }
    *out = (struct oa_document){ .text = text, .length = n, .ends = n == have };
    d->taken += n;
    return OA_OK;
}

static enum oa_error refuse_document_line(const struct oa_documents *d, const char *why,
                                          const char *what)
{
    return oa_fail(d->context, OA_FORMAT, "%s, line %llu: %s%s", d->file[d->at],
                   (unsigned long long)d->line, why, what);
}

/* Without the line's end; false: there is none. */
static enum oa_error next_document_line(struct oa_documents *d, const char **line, size_t *length,
                                        bool *found)
{
    const char *end = NULL;
    for (size_t wanted = 1; !end;) {
        OA_TRY(buffer_bytes(d, wanted));
        size_t have = d->buffer.length - d->taken;
        *line = d->buffer.s ? d->buffer.s + d->taken : "";
        end = memchr(*line, '\n', have < OA_DOCUMENT_LINE ? have : OA_DOCUMENT_LINE);
        if (!end && have > OA_DOCUMENT_LINE) {
            d->line++;
            return refuse_document_line(d, "the line is longer than 64 MiB; cut it into parts", "");
        }
        if (d->ended && !end)
            end = *line + have;
        wanted = have < OA_DOCUMENT_LINE / 2 ? 2 * have + 1 : OA_DOCUMENT_LINE + 1;
    }
    *length = (size_t)(end - *line);
    *found = d->taken < d->buffer.length;
    d->taken += *length + 1;
    if (d->taken > d->buffer.length)
        d->taken = d->buffer.length;
    d->line++;
    *length -= *length && (*line)[*length - 1] == '\r';
    return OA_OK;
}

static enum oa_error text_of_object(struct oa_documents *d, const char *line, size_t length,
                                    struct oa_document *out)
{
    struct oa_json_fault fault;
    struct oa_json_value value;
    if (!oa_json_object_cut(&d->object, line, length, &fault))
        return fault.why ? refuse_document_line(d, "no JSON object: ", fault.why) : OA_NO_MEMORY;
    if (!oa_json_find(&d->object, d->column, strlen(d->column), &value))
        return refuse_document_line(
            d, "the object lacks the text; name its member with --column, which is ", d->column);
    if (*value.s != '"')
        return refuse_document_line(d, "the value is no string: ", d->column);
    oa_text_cut(&d->text, 0);
    const char *why = oa_json_string_text(&value, &d->text);
    if (why)
        return refuse_document_line(d, "the text is not valid: ", why);
    *out = (struct oa_document){ .text = d->text.length ? d->text.s : "",
                                 .length = d->text.length,
                                 .ends = true,
                                 .object = line,
                                 .object_length = length };
    return oa_status(d->context);
}

/* out->text NULL: the file has no more. */
static enum oa_error next_of_lines(struct oa_documents *d, bool json, struct oa_document *out)
{
    const char *line = NULL;
    size_t length = 0;
    bool found = true;
    while (found) {
        OA_TRY(next_document_line(d, &line, &length, &found));
        if (!found)
            break;
        if (oa_is_blank(line, length)) {
            d->empty += !json;
            continue;
        }
        if (!json)
            *out = (struct oa_document){ .text = line, .length = length, .ends = true };
        else
            OA_TRY(text_of_object(d, line, length, out));
        if (out->length)
            return OA_OK;
        d->empty++;
    }
    *out = (struct oa_document){ 0 };
    return OA_OK;
}

enum oa_error oa_documents_next(struct oa_documents *d, struct oa_document *out)
{
    *out = (struct oa_document){ 0 };
    while (d->at < d->count) {
        bool fresh = !d->reader;
        enum oa_document_kind kind = kind_of_file(d);
        if (fresh) {
            d->line = 0;
            d->ended = false;
            d->taken = 0;
            oa_text_cut(&d->buffer, 0);
            OA_TRY(oa_reader_open_file(d->context, d->file[d->at], &d->reader));
        }
        if (kind == OA_DOCUMENTS_FILES)
            OA_TRY(next_of_file(d, out));
        else
            OA_TRY(next_of_lines(d, kind == OA_DOCUMENTS_JSON, out));
        out->file = d->file[d->at];
        out->file_index = d->at;
        out->line = kind == OA_DOCUMENTS_FILES ? 0 : d->line;
        if (out->length)
            return OA_OK;
        d->empty += fresh && kind == OA_DOCUMENTS_FILES;
        struct stat about;
        d->read += stat(d->file[d->at], &about) == 0 ? (uint64_t)about.st_size : 0;
        oa_reader_close(d->reader);
        d->reader = NULL;
        d->at++;
    }
    *out = (struct oa_document){ 0 };
    return OA_OK;
}
