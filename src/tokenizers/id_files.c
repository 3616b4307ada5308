/* SPDX-License-Identifier: Apache-2.0
 * Files of token ids, little-endian, known by the name *.bin:
 *
 *     nanoGPT          16-bit ids without a header
 *     llm.c, GPT-2     a header of 256 32-bit numbers (20240520, version 1, count), 16-bit ids
 *     llm.c, Llama 3   the same with 20240801, version 7 and 32-bit ids
 *
 * They are never unpacked: the first id may look like the beginning of a gzip file. */
#include "base/little_endian.h"
#include "tokenizers/tokenizer_parts.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEADER = 256,
    PIECE = 1 << 12,
    MAGIC_16 = 20240520,
    MAGIC_32 = 20240801,
    MAGIC_TASKS = 20240522
};

struct id_file {
    oa_context *context;
    const char *path;
    FILE *file;
    uint64_t size, count; /* bytes, ids */
    size_t width;         /* bytes of an id */
};

enum oa_error oa_id_files_are(oa_context *c, const char *files, bool *are)
{
    int of_ids = 0, all = 0;
    char *list = oa_copy_text(c, files ? files : ""), *name;
    if (!list)
        return OA_NO_MEMORY;
    for (char *rest = list; rest; all++) {
        rest = oa_cut_name(rest, &name);
        of_ids += oa_name_ends(name, ".bin");
    }
    oa_free(list);
    *are = of_ids == all;
    return of_ids == 0 || *are ? OA_OK
                               : oa_fail(c, OA_ARGUMENT,
                                         "%s: %d of %d files contain token ids (*.bin), the others "
                                         "text; give either kind",
                                         files, of_ids, all);
}

/* ---- a file ---- */

static enum oa_error check_id_header(struct id_file *f, const uint8_t *header)
{
    uint32_t magic = (uint32_t)oa_get_little_endian(header, 4),
             version = (uint32_t)oa_get_little_endian(header + 4, 4),
             wanted = magic == MAGIC_16 ? 1 : 7;
    f->width = magic == MAGIC_16 ? 2 : 4;
    f->count = (uint32_t)oa_get_little_endian(header + 8, 4);
    if (version != wanted)
        return oa_fail(f->context, OA_FORMAT,
                       "%s: version %u of llm.c header %u is not supported, only version %u",
                       f->path, version, magic, wanted);
    if (f->size != 4 * HEADER + f->count * f->width)
        return oa_fail(f->context, OA_FORMAT,
                       "%s: the header gives %llu ids of %zu bytes, but %llu bytes follow; the "
                       "file is damaged",
                       f->path, (unsigned long long)f->count, f->width,
                       (unsigned long long)f->size - 4 * HEADER);
    return OA_OK;
}

/* Detects the format and moves to the first id. */
static enum oa_error read_id_header(struct id_file *f)
{
    uint8_t header[4 * HEADER];
    bool whole = fread(header, 1, sizeof header, f->file) == sizeof header;
    uint32_t magic = whole ? (uint32_t)oa_get_little_endian(header, 4) : 0;
    if (ferror(f->file))
        return oa_fail(f->context, OA_IO, "cannot read %s: %s", f->path, strerror(errno));
    if (magic == MAGIC_TASKS)
        return oa_fail(f->context, OA_UNSUPPORTED,
                       "%s: an evaluation file of llm.c (magic %d), not a stream of tokens",
                       f->path, MAGIC_TASKS);
    if (magic == MAGIC_16 || magic == MAGIC_32)
        return check_id_header(f, header);
    f->width = 2;
    f->count = f->size / 2;
    rewind(f->file);
    if (f->size % 2)
        return oa_fail(
            f->context, OA_FORMAT,
            "%s: %llu bytes are not a whole number of 16-bit ids, and there is no llm.c header",
            f->path, (unsigned long long)f->size);
    return OA_OK;
}

static enum oa_error open_id_file(struct id_file *f)
{
    int fd;
    if (oa_name_ends(f->path, ".gz"))
        return oa_fail(
            f->context, OA_UNSUPPORTED,
            "%s: compressed files of token ids are not supported; unpack the file (gunzip)",
            f->path);
    OA_TRY(oa_input_open(f->context, f->path, OA_CORPUS_REMEDY, &fd));
    f->file = fdopen(fd, "rb");
    if (!f->file) {
        close(fd);
        return oa_fail(f->context, OA_NO_MEMORY, "out of memory for reading %s", f->path);
    }
    if (fseeko(f->file, 0, SEEK_END) != 0 || ftello(f->file) < 0)
        return oa_fail(f->context, OA_IO, "cannot read %s: %s", f->path, strerror(errno));
    f->size = (uint64_t)ftello(f->file);
    rewind(f->file);
    return read_id_header(f);
}

/* ---- lists of files ---- */

uint64_t oa_id_files_bytes(oa_context *c, const char *files)
{
    char *list = oa_copy_text(c, files), *name;
    uint64_t bytes = 0;
    bool regular = list != NULL;
    for (char *rest = list; rest && regular;) {
        struct stat about;
        rest = oa_cut_name(rest, &name);
        regular = stat(name, &about) == 0 && S_ISREG(about.st_mode);
        bytes += regular ? (uint64_t)about.st_size : 0;
    }
    oa_free(list);
    return regular ? bytes : 0;
}

static enum oa_error list_file(oa_context *c, const char *path, struct oa_id_file *out)
{
    struct id_file f = { .context = c, .path = path };
    enum oa_error e = open_id_file(&f);
    if (e == OA_OK)
        *out = (struct oa_id_file){ oa_copy_text(c, path), (uint64_t)ftello(f.file), f.count,
                                    (int)f.width };
    if (f.file)
        fclose(f.file);
    return e == OA_OK && !out->path ? OA_NO_MEMORY : e;
}

enum oa_error oa_id_files_list(oa_context *c, const char *files, struct oa_id_file **list,
                               int *count)
{
    char *names = oa_copy_text(c, files), *name;
    size_t room = 0;
    *list = NULL;
    *count = 0;
    enum oa_error e = names ? OA_OK : OA_NO_MEMORY;
    for (char *rest = names; rest && e == OA_OK;) {
        rest = oa_cut_name(rest, &name);
        if (!oa_reserve(c, list, &room, (size_t)*count + 1, sizeof **list))
            e = OA_NO_MEMORY;
        else if ((e = list_file(c, name, &(*list)[*count])) == OA_OK)
            ++*count;
    }
    oa_free(names);
    if (e != OA_OK)
        oa_id_files_free(*list, *count);
    return e;
}

void oa_id_files_free(struct oa_id_file *list, int count)
{
    for (int i = 0; i < count; i++)
        oa_free(list[i].path);
    oa_free(list);
}

/* ---- reading ---- */

static enum oa_error feed_ids(struct id_file *f, oa_id_sink *sink, void *argument)
{
    uint8_t piece[4 * PIECE];
    for (uint64_t at = 0; at < f->count;) {
        size_t wanted = f->count - at < PIECE ? (size_t)(f->count - at) : PIECE;
        if (fread(piece, f->width, wanted, f->file) != wanted)
            return oa_fail(f->context, OA_IO, "cannot read %s: %s", f->path,
                           ferror(f->file) ? strerror(errno) : "the file was truncated");
        if (oa_stop_requested(f->context))
            return oa_fail(f->context, OA_INTERRUPTED, "stopped by signal %d while reading %s",
                           oa_stop_requested(f->context), f->path);
        for (size_t i = 0; i < wanted; i++, at++)
            OA_TRY(sink(argument, f->path, at,
                        (uint32_t)oa_get_little_endian(piece + i * f->width, (int)f->width)));
    }
    return OA_OK;
}

enum oa_error oa_id_files_read(oa_context *c, const char *files, oa_id_sink *sink, void *argument)
{
    char *list = oa_copy_text(c, files), *name;
    enum oa_error e = list ? OA_OK : OA_NO_MEMORY;
    for (char *rest = list; rest && e == OA_OK;) {
        rest = oa_cut_name(rest, &name);
        struct id_file f = { .context = c, .path = name };
        e = open_id_file(&f);
        if (e == OA_OK)
            e = feed_ids(&f, sink, argument);
        if (f.file)
            fclose(f.file);
    }
    oa_free(list);
    return e;
}
