/* SPDX-License-Identifier: Apache-2.0
 * An entry is a folder text-KEY with a record and the ids of the training and the validation side;
 * KEY is a digest of the content, the tokenizer and the split. seen-KEY.json contains the name of
 * the entry; there KEY is a digest of the files' names, sizes and times instead of their content.
 */
#include "data/text_cache.h"

#include "base/checksum.h"
#include "base/folder_lock.h"
#include "base/new_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SIDES = 2, MOST_HELD = 64 << 20, KEY = 32, PACKED_RATIO = 4 };
static const char *const side_file[SIDES] = { "train.bin", "valid.bin" };
static const char *const side_name[SIDES] = { "train", "valid" };

struct cached_side {
    struct oa_new_file file;
    char path[OA_PATH];
    struct oa_running_digest *digest;
    uint64_t tokens, characters, bytes;
};

struct caching {
    oa_context *c;
    struct oa_tokenizer *tok;
    const char *files;
    double fraction;
    uint64_t seed;
    bool held_out;              /* is the validation side encoded? */
    char folder[OA_PATH];       /* of the entry */
    int width;                  /* of an id */
    uint64_t characters, bytes; /* of the whole text */
    struct oa_digest content;
    struct cached_side side[SIDES];
    struct oa_text held; /* text that is not encoded yet */
    struct oa_ids ids;
    double began, logged; /* clock */
    uint64_t done;        /* bytes */
};

/* ---- size ---- */

bool oa_text_cache_wanted(const struct oa_tokenizer *tok, const char *files)
{
    const char *given = getenv("ORTHANT_TEXT_IN_MEMORY");
    double limit = given ? strtod(given, NULL) : 256, all = 0;
    char *list = oa_copy_text(oa_tokenizer_context(tok), files), *name;
    for (char *rest = list; rest;) {
        struct stat about;
        rest = oa_cut_name(rest, &name);
        bool plain = !oa_name_ends(name, ".gz") && !oa_name_ends(name, ".zst");
        if (stat(name, &about) != 0 || !S_ISREG(about.st_mode)) {
            all = 0; /* a pipe is read once */
            break;
        }
        all += (double)about.st_size * (plain ? 1 : PACKED_RATIO);
    }
    oa_free(list);
    return all > limit * 1048576 && oa_tokenizer_streams(tok);
}

/* ---- keys ---- */

static enum oa_error add_key(const struct caching *g, struct oa_text *key)
{
    struct oa_digest tokenizer;
    OA_TRY(oa_tokenizer_digest(g->c, g->tok, &tokenizer));
    oa_text_printf(key, OA_CACHE_FORMAT " %s %.17g %" PRIu64 " %d\n", tokenizer.hex, g->fraction,
                   g->seed, g->held_out);
    return oa_status(g->c);
}

static enum oa_error end_key(const struct caching *g, struct oa_text *key, char out[KEY + 1])
{
    struct oa_digest digest = oa_digest_of(key->s, key->length);
    enum oa_error e = oa_status(g->c);
    snprintf(out, KEY + 1, "%.*s", KEY, digest.hex);
    oa_text_free(key);
    return e;
}

static enum oa_error key_of_files(const struct caching *g, char out[KEY + 1])
{
    struct oa_text key;
    char *list = oa_copy_text(g->c, g->files), *name;
    oa_text_init(&key, g->c);
    enum oa_error e = list ? add_key(g, &key) : OA_NO_MEMORY;
    for (char *rest = list; rest && e == OA_OK;) {
        struct stat about = { 0 };
        rest = oa_cut_name(rest, &name);
        char *real = realpath(name, NULL);
        stat(name, &about);
        oa_text_printf(&key, "%s %lld %lld %lld.%09ld\n", real ? real : name,
                       (long long)about.st_ino, (long long)about.st_size,
                       (long long)about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
        free(real);
    }
    oa_free(list);
    enum oa_error ended = end_key(g, &key, out);
    return e == OA_OK ? ended : e;
}

static enum oa_error key_of_content(const struct caching *g, char out[KEY + 1])
{
    struct oa_text key;
    oa_text_init(&key, g->c);
    enum oa_error e = add_key(g, &key);
    oa_text_printf(&key, "%s\n", g->content.hex);
    enum oa_error ended = end_key(g, &key, out);
    return e == OA_OK ? ended : e;
}

static enum oa_error cache_path(const struct caching *g, const char *first, const char *key,
                                const char *last, char out[OA_PATH])
{
    const char *given = getenv("ORTHANT_CACHE"),
               *cache = oa_is_given(given) ? given : OA_CACHE_FOLDER;
    int n = snprintf(out, OA_PATH, "%s/%s%s%s", cache, first, key, last);
    return n > 0 && n < OA_PATH
               ? OA_OK
               : oa_fail(g->c, OA_ARGUMENT, "the path of the cache %s is too long", cache);
}

/* ---- reading the text ---- */

static enum oa_error log_caching(struct caching *g, const char *what)
{
    int signal = oa_stop_requested(g->c);
    double now = oa_clock(), share = (double)g->done / (double)g->bytes;
    if (signal)
        return oa_fail(g->c, OA_INTERRUPTED,
                       "stopped by signal %d while reading %s; the next run begins anew", signal,
                       g->files);
    if (now - g->logged < 0.2)
        return OA_OK;
    g->logged = now;
    if (g->bytes && share > 0) {
        long left = (long)((now - g->began) * (1 - share) / share);
        oa_log(g->c, 1, "%s %.0f %%, %ld:%02ld left", what, 100 * share, left / 60, left % 60);
    } else
        oa_log(g->c, 1, "%s: %.0f MB", what, (double)g->done / 1e6);
    return OA_OK;
}

/* Counts the characters and bytes of the text, and makes the digest of its content. */
static enum oa_error survey_text(struct caching *g)
{
    struct oa_reader *r;
    struct oa_running_digest *digest = oa_digest_begin(g->c);
    const char *piece;
    size_t n = 1;
    if (!digest)
        return OA_NO_MEMORY;
    enum oa_error e = oa_reader_open(g->c, g->files, &r);
    for (uint64_t bytes = 0; e == OA_OK && n;) {
        e = oa_reader_next(r, &piece, &n);
        if (e != OA_OK)
            break;
        oa_digest_add(digest, piece, n);
        g->characters += oa_text_characters(piece, n);
        g->done = bytes += n;
        e = log_caching(g, "reading text");
    }
    g->bytes = g->done;
    g->content = oa_digest_end(digest);
    oa_free(digest);
    if (r)
        oa_reader_close(r);
    return e;
}

/* ---- encoding ---- */

static enum oa_error write_side_ids(struct caching *g, struct cached_side *s)
{
    OA_TRY(oa_new_file_add_ids(&s->file, NULL, g->ids.id, g->ids.count, g->width));
    s->tokens += g->ids.count;
    g->ids.count = 0;
    return OA_OK;
}

/* Adds text to a side; last: the span ends with it. */
static enum oa_error add_side_text(struct caching *g, struct cached_side *s, const char *text,
                                   size_t n, bool last)
{
    size_t consumed = 0;
    oa_text_add(&g->held, text, n);
    OA_TRY(oa_status(g->c));
    s->characters += oa_text_characters(text, n);
    s->bytes += n;
    oa_digest_add(s->digest, text, n);
    if (g->held.length)
        OA_TRY(oa_tokenizer_encode_settled(g->tok, g->files, g->held.s, g->held.length, last,
                                           &g->ids, &consumed));
    if (consumed) {
        memmove(g->held.s, g->held.s + consumed, g->held.length - consumed);
        oa_text_cut(&g->held, g->held.length - consumed);
    }
    if (g->held.length > MOST_HELD)
        return oa_fail(g->c, OA_UNSUPPORTED,
                       "%s has a word of more than %d MiB, too long for a text that does not stay "
                       "in memory: set ORTHANT_TEXT_IN_MEMORY to more MiB than the text has",
                       g->files, MOST_HELD >> 20);
    return write_side_ids(g, s);
}

/* The text in three spans: before the held-out block, the block, and after it. */
static enum oa_error encode_spans(struct caching *g, struct oa_reader *r)
{
    struct oa_text_block held = oa_held_block(g->characters, g->fraction, g->seed);
    const uint64_t end[3] = { held.from, held.to, g->characters };
    const char *piece;
    size_t n = 0;
    uint64_t at = 0; /* characters */
    g->done = 0;
    for (int span = 0; span < 3; span++) {
        struct cached_side *s = &g->side[span == 1];
        for (;;) {
            if (!n)
                OA_TRY(oa_reader_next(r, &piece, &n));
            bool last = span == 2 && !n;
            size_t some = span == 2 ? n : oa_character_offset(piece, n, end[span] - at);
            if (!n && span < 2)
                last = true;
            last = last || (span < 2 && some < n);
            if (span != 1 || g->held_out)
                OA_TRY(add_side_text(g, s, piece, some, last));
            at += oa_text_characters(piece, some);
            piece += some;
            n -= some;
            g->done += some;
            OA_TRY(log_caching(g, "tokenizing"));
            if (last)
                break;
        }
    }
    return g->done == g->bytes ? OA_OK
                               : oa_fail(g->c, OA_IO, "%s changed while it was read", g->files);
}

static enum oa_error open_cache_sides(struct caching *g)
{
    for (int i = 0; i < SIDES; i++) {
        OA_TRY(oa_path(g->c, g->side[i].path, g->folder, side_file[i]));
        g->side[i].file = (struct oa_new_file){ .context = g->c, .fd = -1 };
        g->side[i].digest = oa_digest_begin(g->c);
        if (!g->side[i].digest)
            return OA_NO_MEMORY;
        OA_TRY(oa_new_file_open(&g->side[i].file, g->c, g->side[i].path));
    }
    return OA_OK;
}

static enum oa_error write_cache_record(struct caching *g, const struct oa_digest digest[SIDES])
{
    char path[OA_PATH];
    json_t *record =
        json_pack("{s:s, s:s, s:i, s:f, s:I, s:b}", "format", OA_CACHE_FORMAT, "content",
                  g->content.hex, "width", g->width, "valid_fraction", g->fraction, "split_seed",
                  (json_int_t)g->seed, "held_out", g->held_out);
    for (int i = 0; i < SIDES && record; i++) {
        const struct cached_side *s = &g->side[i];
        json_object_set_new(record, side_name[i],
                            json_pack("{s:I, s:I, s:I, s:s}", "tokens", (json_int_t)s->tokens,
                                      "characters", (json_int_t)s->characters, "bytes",
                                      (json_int_t)s->bytes, "sha256", digest[i].hex));
    }
    enum oa_error e = oa_path(g->c, path, g->folder, OA_CACHE_RECORD);
    if (e == OA_OK)
        e = record ? oa_checksummed_write(g->c, path, record) : OA_NO_MEMORY;
    json_decref(record);
    return e;
}

/* The folder is locked. */
static enum oa_error write_entry(struct caching *g)
{
    struct oa_digest digest[SIDES];
    struct oa_reader *r = NULL;
    enum oa_error e = open_cache_sides(g);
    g->began = oa_clock();
    if (e == OA_OK)
        e = oa_reader_open(g->c, g->files, &r);
    if (e == OA_OK)
        e = encode_spans(g, r);
    for (int i = 0; i < SIDES; i++) {
        if (g->side[i].file.path)
            e = oa_new_file_finish(&g->side[i].file, e);
        if (g->side[i].digest)
            digest[i] = oa_digest_end(g->side[i].digest);
        oa_free(g->side[i].digest);
    }
    if (r)
        oa_reader_close(r);
    return e == OA_OK ? write_cache_record(g, digest) : e;
}

static enum oa_error make_entry(struct caching *g)
{
    char record[OA_PATH];
    struct oa_lock *lock;
    OA_TRY(oa_path(g->c, record, g->folder, OA_CACHE_RECORD));
    if (oa_file_exists(record))
        return OA_OK;
    OA_TRY(oa_folder_lock_wait(g->c, g->folder, &lock));
    enum oa_error e = OA_OK;
    if (!oa_file_exists(record)) { /* another process has not made it meanwhile */
        oa_log(
            g->c, 0,
            "%s: %.3g MB of text are tokenized once into %s (ORTHANT_CACHE names another folder; "
            "up to ORTHANT_TEXT_IN_MEMORY MiB, 256, stay in memory)",
            g->files, (double)g->bytes / 1e6, g->folder);
        e = write_entry(g);
    }
    oa_folder_unlock(lock);
    return e;
}

/* ---- opening ---- */

static enum oa_error damaged_entry(const struct caching *g)
{
    return oa_fail(g->c, OA_FORMAT, "%s is not a valid text of the cache: remove the folder",
                   g->folder);
}

static enum oa_error open_cached_side(const struct caching *g, const json_t *record, int side,
                                      struct oa_token_store *store, uint64_t from, const char *name,
                                      struct oa_tokens *out)
{
    json_t *about = json_object_get(record, side_name[side]);
    const char *hex = json_string_value(json_object_get(about, "sha256"));
    uint64_t tokens = (uint64_t)json_integer_value(json_object_get(about, "tokens"));
    if (!hex || strlen(hex) != 64)
        return damaged_entry(g);
    *out =
        (struct oa_tokens){ .span = { { NULL, oa_token_store_share(store), from, tokens } },
                            .spans = 1,
                            .count = tokens,
                            .characters =
                                (uint64_t)json_integer_value(json_object_get(about, "characters")),
                            .bytes = (uint64_t)json_integer_value(json_object_get(about, "bytes")),
                            .name = name };
    memcpy(out->digest.hex, hex, sizeof out->digest.hex);
    return OA_OK;
}

static enum oa_error open_entry(const struct caching *g, const char *name, struct oa_tokens *first,
                                struct oa_tokens *valid)
{
    char path[SIDES][OA_PATH];
    struct oa_id_file file[SIDES];
    struct oa_token_store *store = NULL;
    json_t *record;
    OA_TRY(oa_path(g->c, path[0], g->folder, OA_CACHE_RECORD));
    OA_TRY(oa_checksummed_read(g->c, path[0], "remove its folder", &record));
    int width = (int)json_integer_value(json_object_get(record, "width"));
    enum oa_error e = width == 2 || width == 4 ? OA_OK : damaged_entry(g);
    for (int i = 0; i < SIDES && e == OA_OK; i++) {
        json_int_t tokens =
            json_integer_value(json_object_get(json_object_get(record, side_name[i]), "tokens"));
        e = tokens < 0 || tokens > (json_int_t)1 << 56
                ? damaged_entry(g)
                : oa_path(g->c, path[i], g->folder, side_file[i]);
        file[i] = (struct oa_id_file){ path[i], 0, (uint64_t)tokens, width };
    }
    if (e == OA_OK)
        e = oa_token_store_open(g->tok, file, SIDES, &store);
    if (e == OA_OK)
        e = open_cached_side(g, record, 0, store, 0, name, first);
    if (e == OA_OK && valid)
        e = open_cached_side(g, record, 1, store, file[0].count, "validation text", valid);
    oa_token_store_release(store);
    json_decref(record);
    return e;
}

/* Sets g->folder to the entry of files that were read before; empty: none. */
static enum oa_error find_seen(struct caching *g, const char *seen)
{
    json_t *record;
    char entry[OA_PATH];
    if (!oa_file_exists(seen))
        return OA_OK;
    OA_TRY(oa_checksummed_read(g->c, seen, "remove it", &record));
    const char *key = json_string_value(json_object_get(record, "entry"));
    enum oa_error e = OA_OK;
    if (key && strlen(key) == KEY && strspn(key, "0123456789abcdef") == KEY)
        e = cache_path(g, "text-", key, "", g->folder);
    json_decref(record);
    if (e == OA_OK && g->folder[0])
        e = oa_path(g->c, entry, g->folder, OA_CACHE_RECORD);
    if (e == OA_OK && g->folder[0] && !oa_file_exists(entry))
        g->folder[0] = 0;
    return e;
}

static enum oa_error find_or_make_entry(struct caching *g)
{
    char key[KEY + 1], seen[OA_PATH];
    OA_TRY(key_of_files(g, key));
    OA_TRY(cache_path(g, "seen-", key, ".json", seen));
    OA_TRY(find_seen(g, seen));
    if (g->folder[0])
        return OA_OK;
    OA_TRY(survey_text(g));
    OA_TRY(key_of_content(g, key));
    OA_TRY(cache_path(g, "text-", key, "", g->folder));
    OA_TRY(make_entry(g));
    json_t *record = json_pack("{s:s}", "entry", key);
    enum oa_error e = record ? oa_checksummed_write(g->c, seen, record) : OA_NO_MEMORY;
    json_decref(record);
    return e;
}

enum oa_error oa_text_cache_open(struct oa_tokenizer *tok, const char *files, double fraction,
                                 uint64_t seed, const char *name, struct oa_tokens *first,
                                 struct oa_tokens *valid)
{
    struct caching g = { .c = oa_tokenizer_context(tok),
                         .tok = tok,
                         .files = files,
                         .fraction = fraction,
                         .seed = seed,
                         .held_out = valid != NULL,
                         .width = oa_tokenizer_size(tok) <= 65536 ? 2 : 4,
                         .began = oa_clock() };
    oa_text_init(&g.held, g.c);
    oa_ids_init(&g.ids, g.c);
    enum oa_error e = find_or_make_entry(&g);
    if (e == OA_OK)
        e = open_entry(&g, name, first, valid);
    oa_text_free(&g.held);
    oa_ids_free(&g.ids);
    return e;
}
