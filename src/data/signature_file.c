/* SPDX-License-Identifier: Apache-2.0
 * The signatures of all documents, in a temporary file: memory does not grow with their number. */
#include "data/duplicates.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PORTION = 1 << 20, MOST_ITEMS = 4096 }; /* bytes of text and documents read at a time */

struct oa_signature_file {
    oa_context *context;
    const char *folder; /* borrowed */
    int fd;
    size_t width; /* bytes of a document: without min where there are no shingles */
    uint64_t count;
};

/* ---- the file ---- */

static enum oa_error fail_writing(const struct oa_signature_file *f)
{
    return oa_fail(f->context, OA_IO,
                   "cannot write the signatures of documents in %s: %s; a document takes %zu bytes "
                   "there: free some, or choose another folder (--out, or without it TMPDIR)",
                   f->folder, strerror(errno), f->width);
}

static enum oa_error open_signature_file(struct oa_signature_file *f)
{
    char path[OA_PATH];
    f->fd = open(f->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (f->fd >= 0)
        return OA_OK;
    int n = snprintf(path, sizeof path, "%s/.signatures-XXXXXX", f->folder);
    f->fd = n > 0 && n < (int)sizeof path ? mkostemp(path, O_CLOEXEC) : -1;
    if (f->fd < 0)
        return fail_writing(f);
    unlink(path);
    return OA_OK;
}

enum oa_error oa_signature_file_read(const struct oa_signature_file *f, uint64_t at, size_t n,
                                     struct oa_signed_document *out)
{
    enum { TOGETHER = 32 };
    uint8_t bytes[TOGETHER * (32 + sizeof out->signature.min)];
    for (size_t done = 0, some; done < n; done += some) {
        some = n - done < TOGETHER ? n - done : TOGETHER;
        ssize_t got = pread(f->fd, bytes, some * f->width, (off_t)((at + done) * f->width));
        if (got != (ssize_t)(some * f->width))
            return oa_fail(f->context, OA_IO, "cannot read the signatures of documents in %s: %s",
                           f->folder, got < 0 ? strerror(errno) : "unexpected end of file");
        for (size_t i = 0; i < some; i++) {
            const uint8_t *from = bytes + i * f->width;
            struct oa_signed_document *d = &out[done + i];
            memset(d, 0, sizeof *d);
            memcpy(&d->file, from, 4);
            memcpy(&d->line, from + 4, 8);
            memcpy(&d->signature.words, from + 12, 4);
            memcpy(d->signature.digest, from + 16, 16);
            memcpy(d->signature.min, from + 32, f->width - 32);
        }
    }
    return OA_OK;
}

uint64_t oa_signature_file_count(const struct oa_signature_file *f)
{
    return f->count;
}

void oa_signature_file_close(struct oa_signature_file *f)
{
    if (f && f->fd >= 0)
        close(f->fd);
    oa_free(f);
}

/* ---- portions ---- */

struct signing_item {
    struct oa_signature_maker *maker;
    size_t from, length; /* in the portion's text */
    bool ends;
    struct oa_signed_document made;
};

struct signing {
    oa_context *context;
    struct oa_signature_file *file;
    struct oa_documents *documents;
    int shingle;
    struct oa_text text;
    struct signing_item *item; /* [MOST_ITEMS] */
    size_t items;
    bool inside;    /* the last item goes on in the next piece */
    uint8_t *bytes; /* [MOST_ITEMS * width] */
};

static void sign_item(void *argument, long i, const struct oa_worker *worker)
{
    const struct signing *s = argument;
    struct signing_item *item = &s->item[i];
    (void)worker;
    oa_signature_add(item->maker, s->text.s + item->from, item->length);
    if (item->ends)
        oa_signature_end(item->maker, &item->made.signature);
}

static enum oa_error flush_signing(struct signing *s)
{
    size_t done = s->inside ? s->items - 1 : s->items, width = s->file->width;
    oa_parallel(s->context, (long)s->items, sign_item, s);
    for (size_t i = 0; i < done; i++) {
        const struct oa_signed_document *d = &s->item[i].made;
        uint8_t *to = s->bytes + i * width;
        memcpy(to, &d->file, 4);
        memcpy(to + 4, &d->line, 8);
        memcpy(to + 12, &d->signature.words, 4);
        memcpy(to + 16, d->signature.digest, 16);
        memcpy(to + 32, d->signature.min, width - 32);
        oa_signature_close(s->item[i].maker);
    }
    if (s->inside && done)
        s->item[0] = s->item[done];
    s->items = s->inside;
    s->file->count += done;
    oa_text_cut(&s->text, 0);
    for (size_t written = 0; written < done * width;) {
        ssize_t n = write(s->file->fd, s->bytes + written, done * width - written);
        if (n < 0 && errno != EINTR)
            return fail_writing(s->file);
        written += n > 0 ? (size_t)n : 0;
    }
    return OA_OK;
}

static enum oa_error add_signing_piece(struct signing *s, const struct oa_document *d)
{
    struct signing_item *item = &s->item[s->inside ? s->items - 1 : s->items];
    if (!s->inside) {
        *item = (struct signing_item){ 0 };
        OA_TRY(oa_signature_begin(s->context, s->shingle, &item->maker));
        s->items++;
        item->made.file = (uint32_t)d->file_index;
        item->made.line = d->line;
    }
    item->from = s->text.length;
    item->length = d->length;
    item->ends = d->ends;
    s->inside = !d->ends;
    oa_text_add(&s->text, d->text, d->length);
    return oa_status(s->context);
}

static enum oa_error sign_all(struct signing *s, oa_duplicates_progress *progress, void *argument)
{
    struct oa_document d;
    uint64_t all = oa_documents_bytes(s->documents);
    do {
        int signal = oa_stop_requested(s->context);
        if (signal)
            return oa_fail(s->context, OA_INTERRUPTED,
                           "stopped by signal %d while reading documents; nothing was written",
                           signal);
        OA_TRY(oa_documents_next(s->documents, &d));
        if (d.text)
            OA_TRY(add_signing_piece(s, &d));
        if (d.text && d.ends && s->text.length < PORTION && s->items < MOST_ITEMS)
            continue;
        OA_TRY(flush_signing(s));
        if (progress && all)
            progress(argument, "reading documents",
                     (long)(oa_documents_bytes_read(s->documents) * 1000 / all), 1000);
    } while (d.text);
    return s->file->count < OA_NO_DUPLICATE
               ? OA_OK
               : oa_fail(s->context, OA_UNSUPPORTED,
                         "more than %u documents: give fewer files at a time", OA_NO_DUPLICATE - 1);
}

enum oa_error oa_signature_file_make(oa_context *c, struct oa_documents *d, int shingle,
                                     const char *folder, oa_duplicates_progress *progress,
                                     void *argument, struct oa_signature_file **out)
{
    struct signing s = { .context = c, .documents = d, .shingle = shingle };
    struct oa_signature_file *f = oa_alloc(c, sizeof *f);
    *out = NULL;
    if (!f)
        return OA_NO_MEMORY;
    size_t width = 32 + (shingle ? sizeof(uint32_t) * OA_SIGNATURE_HASHES : 0);
    *f = (struct oa_signature_file){ .context = c, .folder = folder, .fd = -1, .width = width };
    s.file = f;
    s.item = oa_alloc(c, MOST_ITEMS * sizeof *s.item);
    s.bytes = oa_alloc(c, MOST_ITEMS * width);
    oa_text_init(&s.text, c);
    enum oa_error e = s.item && s.bytes ? open_signature_file(f) : OA_NO_MEMORY;
    if (e == OA_OK)
        e = sign_all(&s, progress, argument);
    for (size_t i = 0; i < s.items; i++)
        oa_signature_close(s.item[i].maker);
    oa_free(s.item);
    oa_free(s.bytes);
    oa_text_free(&s.text);
    if (e == OA_OK)
        *out = f;
    else
        oa_signature_file_close(f);
    return e;
}
