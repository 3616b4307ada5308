/* SPDX-License-Identifier: Apache-2.0
 * Token ids in files, read in place. At most OPEN_FILES of them are open. */
#include "data/token_store.h"

#include "base/little_endian.h"
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_FILES = 64, PIECE = 4096 }; /* PIECE: ids read, or bytes written, at a time */

struct stored_shard {
    struct oa_id_file what;
    uint64_t first; /* ids of all shards before */
    uint64_t documents;
    int fd;        /* -1: closed */
    uint64_t used; /* when it was read last, by the store's clock */
    struct stat about;
};

struct oa_token_store {
    struct stored_shard *shard;
    int count, owners;
    uint64_t tokens;
    uint8_t *known; /* [vocabulary] 1: the id is a token */
    int32_t vocabulary;
    pthread_mutex_t lock; /* of what is below, and of fd and used */
    int open;
    uint64_t clock;
};

/* ---- files ---- */

static enum oa_error fail_reading(oa_context *c, const char *path)
{
    return oa_fail(c, OA_IO, "cannot read %s: %s; " OA_CORPUS_REMEDY, path, strerror(errno));
}

enum oa_error oa_check_unchanged(oa_context *c, int fd, const char *path, const struct stat *about)
{
    struct stat now;
    if (fstat(fd, &now) != 0)
        return fail_reading(c, path);
    bool same = now.st_size == about->st_size && now.st_ino == about->st_ino &&
                now.st_dev == about->st_dev && now.st_mtim.tv_sec == about->st_mtim.tv_sec &&
                now.st_mtim.tv_nsec == about->st_mtim.tv_nsec;
    return same ? OA_OK
                : oa_fail(c, OA_IO,
                          "%s has changed since this run opened it: start the run again with data "
                          "that stay as they are",
                          path);
}

enum oa_error oa_read_at(oa_context *c, int fd, const char *path, uint64_t offset, void *to,
                         size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(fd, (char *)to + done, bytes - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return oa_fail(c, OA_IO, "cannot read %s at byte %llu: %s", path,
                           (unsigned long long)(offset + done), strerror(errno));
        if (n == 0)
            return oa_fail(c, OA_IO, "%s ends at byte %llu: the file was truncated", path,
                           (unsigned long long)(offset + done));
        done += (size_t)n;
    }
    return OA_OK;
}

enum oa_error oa_new_file_add_ids(struct oa_new_file *f, struct oa_running_digest *digest,
                                  const int32_t *id, size_t n, int width)
{
    uint8_t bytes[PIECE];
    const size_t most = sizeof bytes / (size_t)width;
    for (size_t done = 0, some; done < n; done += some) {
        some = n - done < most ? n - done : most;
        for (size_t i = 0; i < some; i++)
            oa_put_little_endian(bytes + i * (size_t)width, (uint32_t)id[done + i], width);
        if (digest)
            oa_digest_add(digest, bytes, some * (size_t)width);
        OA_TRY(oa_new_file_add(f, bytes, some * (size_t)width));
    }
    return OA_OK;
}

static enum oa_error open_stored_shard(oa_context *c, struct oa_token_store *s,
                                       struct stored_shard *shard)
{
    shard->used = ++s->clock;
    if (shard->fd >= 0)
        return OA_OK;
    if (s->open == OPEN_FILES) {
        struct stored_shard *oldest = NULL;
        for (int i = 0; i < s->count; i++)
            if (s->shard[i].fd >= 0 && (!oldest || s->shard[i].used < oldest->used))
                oldest = &s->shard[i];
        close(oldest->fd);
        oldest->fd = -1;
        s->open--;
    }
    shard->fd = open(shard->what.path, O_RDONLY | O_CLOEXEC);
    if (shard->fd < 0)
        return fail_reading(c, shard->what.path);
    s->open++;
    return OA_OK;
}

/* ---- reading ---- */

static enum oa_error take_ids(oa_context *c, const struct oa_token_store *s,
                              const struct stored_shard *shard, const uint8_t *bytes, uint64_t at,
                              size_t n, int32_t *out)
{
    for (size_t i = 0; i < n; i++, bytes += shard->what.width) {
        uint32_t id = (uint32_t)oa_get_little_endian(bytes, shard->what.width);
        if (id >= (uint32_t)s->vocabulary || !s->known[id])
            return oa_fail(
                c, OA_FORMAT,
                "%s: token %llu is id %u, which the tokenizer lacks (ids 0 to %d), at "
                "byte %llu: the file is damaged, or was made with another tokenizer",
                shard->what.path, (unsigned long long)(at + i), id, (int)s->vocabulary - 1,
                (unsigned long long)(shard->what.offset + (at + i) * (uint64_t)shard->what.width));
        out[i] = (int32_t)id;
    }
    return OA_OK;
}

/* Ids at … at + n - 1 of the shard. */
static enum oa_error read_shard(oa_context *c, struct oa_token_store *s, struct stored_shard *shard,
                                uint64_t at, size_t n, int32_t *out)
{
    uint8_t bytes[4 * PIECE];
    enum oa_error e = OA_OK;
    for (size_t done = 0; done < n && e == OA_OK;) {
        size_t some = n - done < PIECE ? n - done : PIECE, width = (size_t)shard->what.width;
        pthread_mutex_lock(&s->lock);
        e = open_stored_shard(c, s, shard);
        if (e == OA_OK)
            e = oa_check_unchanged(c, shard->fd, shard->what.path, &shard->about);
        if (e == OA_OK)
            e = oa_read_at(c, shard->fd, shard->what.path, shard->what.offset + (at + done) * width,
                           bytes, some * width);
        pthread_mutex_unlock(&s->lock);
        if (e == OA_OK)
            e = take_ids(c, s, shard, bytes, at + done, some, out + done);
        done += some;
    }
    return e;
}

/* The last shard that begins at or before the id and is not empty. */
static int shard_of(const struct oa_token_store *s, uint64_t at)
{
    int low = 0, high = s->count - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (s->shard[middle].first <= at)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

enum oa_error oa_token_store_read(oa_context *c, struct oa_token_store *s, uint64_t at, size_t n,
                                  int32_t *out)
{
    if (at > s->tokens || n > s->tokens - at)
        return oa_fail(c, OA_INTERNAL, "tokens %llu to %llu of %llu do not exist",
                       (unsigned long long)at, (unsigned long long)at + n,
                       (unsigned long long)s->tokens);
    for (int i = n ? shard_of(s, at) : 0; n; i++) {
        struct stored_shard *shard = &s->shard[i];
        uint64_t inside = at - shard->first, left = shard->what.count - inside;
        size_t some = left < n ? (size_t)left : n;
        OA_TRY(read_shard(c, s, shard, inside, some, out));
        at += some;
        out += some;
        n -= some;
    }
    return OA_OK;
}

uint64_t oa_token_store_count(const struct oa_token_store *s)
{
    return s->tokens;
}

void oa_token_store_add_documents(struct oa_token_store *s, const uint64_t *documents)
{
    for (int i = 0; i < s->count; i++)
        s->shard[i].documents = documents[i];
}

int oa_token_store_files(const struct oa_token_store *s)
{
    return s->count;
}

struct oa_store_file oa_token_store_file(const struct oa_token_store *s, int i)
{
    const struct stored_shard *shard = &s->shard[i];
    return (struct oa_store_file){ shard->what.path, shard->first, shard->what.count,
                                   shard->documents };
}

/* ---- opening ---- */

static enum oa_error add_shard(oa_context *c, struct oa_token_store *s,
                               const struct oa_id_file *what)
{
    struct stored_shard *shard = &s->shard[s->count];
    *shard = (struct stored_shard){ .what = *what, .first = s->tokens, .fd = -1 };
    shard->what.path = oa_copy_text(c, what->path);
    if (!shard->what.path)
        return OA_NO_MEMORY;
    s->count++;
    s->tokens += what->count;
    uint64_t bytes = what->offset + what->count * (uint64_t)what->width;
    if (stat(shard->what.path, &shard->about) != 0)
        return fail_reading(c, shard->what.path);
    if (!S_ISREG(shard->about.st_mode))
        return oa_fail(c, OA_IO, "cannot read %s: not a regular file", shard->what.path);
    if ((uint64_t)shard->about.st_size < bytes)
        return oa_fail(c, OA_FORMAT, "%s has %llu bytes, not the %llu of its %llu ids: truncated",
                       shard->what.path, (unsigned long long)shard->about.st_size,
                       (unsigned long long)bytes, (unsigned long long)what->count);
    return OA_OK;
}

static enum oa_error fill_store(const struct oa_tokenizer *tok, const struct oa_id_file *files,
                                int count, struct oa_token_store *s)
{
    oa_context *c = oa_tokenizer_context(tok);
    s->vocabulary = oa_tokenizer_size(tok);
    s->known = oa_alloc(c, (size_t)s->vocabulary + 1);
    s->shard = oa_alloc(c, ((size_t)count + 1) * sizeof *s->shard);
    if (!s->known || !s->shard)
        return OA_NO_MEMORY;
    for (int32_t id = 0; id < s->vocabulary; id++)
        s->known[id] = oa_tokenizer_piece(tok, id) != NULL;
    for (int i = 0; i < count; i++)
        OA_TRY(add_shard(c, s, &files[i]));
    return OA_OK;
}

enum oa_error oa_token_store_open(const struct oa_tokenizer *tok, const struct oa_id_file *files,
                                  int count, struct oa_token_store **out)
{
    struct oa_token_store *s = oa_alloc(oa_tokenizer_context(tok), sizeof *s);
    *out = NULL;
    if (!s)
        return OA_NO_MEMORY;
    *s = (struct oa_token_store){ .owners = 1 };
    pthread_mutex_init(&s->lock, NULL);
    enum oa_error e = fill_store(tok, files, count, s);
    if (e == OA_OK)
        *out = s;
    else
        oa_token_store_release(s);
    return e;
}

struct oa_token_store *oa_token_store_share(struct oa_token_store *s)
{
    s->owners++;
    return s;
}

void oa_token_store_release(struct oa_token_store *s)
{
    if (!s || --s->owners)
        return;
    for (int i = 0; i < s->count; i++) {
        if (s->shard[i].fd >= 0)
            close(s->shard[i].fd);
        oa_free(s->shard[i].what.path);
    }
    pthread_mutex_destroy(&s->lock);
    oa_free(s->shard);
    oa_free(s->known);
    oa_free(s);
}
