/* SPDX-License-Identifier: Apache-2.0
 *
 * Scalars of TensorBoard's event files (train/event_file.c has the format). A folder with such
 * files is a run, whose name is the path to it; "train", "validation" and the like at its end
 * belong to the tags. Tags are Value.tag, numbers Value.simple_value or, as TensorFlow 2 writes,
 * Value.tensor.
 */
#include "base/crc32c.h"
#include "base/little_endian.h"
#include "import/observations.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LONGEST_PATH = 4096 };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5, HEAD = 12, TAIL = 4 };

struct event_reader {
    struct oa_observations *observations;
    int path;             /* of the request */
    const char *metric;   /* the tag that is wanted; NULL: the only one */
    struct oa_words tags; /* that were met */
    size_t files, damaged;
};

/* ---- protocol buffers ---- */

struct message {
    const uint8_t *at, *end;
};

struct field {
    unsigned number, kind;
    uint64_t value;        /* of VARINT, FIXED32 and FIXED64 */
    struct message inside; /* of BYTES */
};

static bool read_varint(struct message *m, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; m->at < m->end && shift < 64; shift += 7) {
        *out |= (uint64_t)(*m->at & 0x7f) << shift;
        if (!(*m->at++ & 0x80))
            return true;
    }
    return false;
}

/* False at the end, and where the message is damaged. */
static bool next_field(struct message *m, struct field *f)
{
    uint64_t key, length;
    if (m->at >= m->end || !read_varint(m, &key))
        return false;
    *f = (struct field){ .number = (unsigned)(key >> 3), .kind = key & 7 };
    if (f->kind == VARINT)
        return read_varint(m, &f->value);
    if (f->kind == BYTES && !read_varint(m, &length))
        return false;
    size_t size = f->kind == FIXED64 ? 8 : f->kind == FIXED32 ? 4 : 0;
    if (f->kind == BYTES)
        size = length < SIZE_MAX ? (size_t)length : 0;
    if ((f->kind != BYTES && !size) || size > (size_t)(m->end - m->at))
        return false;
    if (f->kind == BYTES)
        f->inside = (struct message){ m->at, m->at + size };
    else
        f->value = oa_get_little_endian(m->at, (int)size);
    m->at += size;
    return true;
}

static double float32_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float x;
    memcpy(&x, &low, sizeof x);
    return x;
}

static double float64_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- values ---- */

enum { DT_FLOAT = 1, DT_DOUBLE = 2, DT_INT32 = 3, DT_INT64 = 9 }; /* of TensorFlow's DataType */

static bool content_scalar(unsigned type, struct message content, double *out)
{
    size_t size = (size_t)(content.end - content.at);
    if (type == DT_FLOAT && size == 4)
        *out = float32_of(oa_get_little_endian(content.at, 4));
    else if (type == DT_DOUBLE && size == 8)
        *out = float64_of(oa_get_little_endian(content.at, 8));
    else if (type == DT_INT32 && size == 4)
        *out = (int32_t)oa_get_little_endian(content.at, 4);
    else if (type == DT_INT64 && size == 8)
        *out = (double)(int64_t)oa_get_little_endian(content.at, 8);
    else
        return false;
    return true;
}

/* TensorProto { dtype = 1, tensor_content = 4, float_val = 5, double_val = 6, int_val = 7,
 * int64_val = 10 } with one element; the repeated fields may be packed. */
static bool tensor_scalar(struct message tensor, double *out)
{
    struct field f;
    unsigned type = 0;
    bool found = false;
    while (next_field(&tensor, &f)) {
        struct message inside = f.inside;
        uint64_t whole = f.value;
        if (f.number == 1)
            type = (unsigned)f.value;
        else if (f.number == 4)
            found = content_scalar(type, inside, out);
        else if (f.number == 5 && f.kind == FIXED32) {
            *out = float32_of(f.value);
            found = true;
        } else if (f.number == 6 && f.kind == FIXED64) {
            *out = float64_of(f.value);
            found = true;
        } else if (f.number == 5 || f.number == 6) {
            found = content_scalar(f.number == 5 ? DT_FLOAT : DT_DOUBLE, inside, out);
        } else if (f.number == 7 || f.number == 10) {
            found = f.kind == VARINT || (read_varint(&inside, &whole) && inside.at == inside.end);
            *out = (double)(int64_t)whole;
        }
    }
    return found;
}

/* Summary.Value { tag = 1, simple_value = 2, tensor = 8 } */
static bool read_scalar(struct message value, struct message *tag, double *out)
{
    struct field f;
    bool found = false;
    tag->at = tag->end = NULL;
    while (next_field(&value, &f)) {
        if (f.number == 1 && f.kind == BYTES)
            *tag = f.inside;
        else if (f.number == 2 && f.kind == FIXED32) {
            *out = float32_of(f.value);
            found = true;
        } else if (f.number == 8 && f.kind == BYTES)
            found = tensor_scalar(f.inside, out);
    }
    return found && tag->at < tag->end;
}

/* ---- events ---- */

/* A run's name in two: of the system with its seed, and what comes before its tags. */
struct run_folder {
    const char *name;
    char prefix[16]; /* "validation/" */
};

static enum oa_error observe_scalar(struct event_reader *r, const struct run_folder *run,
                                    struct message tag, double step, double value)
{
    struct oa_text name;
    oa_text_init(&name, r->observations->context);
    oa_text_printf(&name, "%s", run->prefix);
    oa_text_add(&name, (const char *)tag.at, (size_t)(tag.end - tag.at));
    enum oa_error e = oa_status(name.context);
    if (e == OA_OK && oa_words_add(&r->tags, name.s, name.length) < 0)
        e = OA_NO_MEMORY;
    if (e == OA_OK && (!r->metric || strcmp(name.s, r->metric) == 0))
        e = oa_observe(r->observations, run->name, NULL, step, isfinite(value) ? value : NAN,
                       r->path, 0);
    oa_text_free(&name);
    return e;
}

/* Event { step = 2, summary = 5 }, Summary { value = 1 } */
static enum oa_error observe_event(struct event_reader *r, const struct run_folder *run,
                                   struct message event)
{
    struct field f, v;
    struct message summary = { NULL, NULL }, tag;
    double step = 0, value;
    while (next_field(&event, &f)) {
        if (f.number == 2 && f.kind == VARINT)
            step = (double)(int64_t)f.value;
        else if (f.number == 5 && f.kind == BYTES)
            summary = f.inside;
    }
    while (next_field(&summary, &v))
        if (v.number == 1 && v.kind == BYTES && read_scalar(v.inside, &tag, &value))
            OA_TRY(observe_scalar(r, run, tag, step, value));
    return OA_OK;
}

/* A file that is being written ends within a record: what is before it counts. */
static enum oa_error observe_file(struct event_reader *r, const struct run_folder *run,
                                  const char *path)
{
    oa_context *c = r->observations->context;
    char *data;
    size_t length;
    enum oa_error e = oa_file_read(c, path, &data, &length);
    if (e != OA_OK)
        return e;
    const uint8_t *b = (const uint8_t *)data;
    size_t left = length;
    while (e == OA_OK && left >= HEAD + TAIL) {
        uint64_t size = oa_get_little_endian(b, 8);
        if (oa_get_little_endian(b + 8, 4) != oa_masked_crc32c(b, 8) || size > left - HEAD - TAIL ||
            oa_get_little_endian(b + HEAD + size, 4) != oa_masked_crc32c(b + HEAD, (size_t)size))
            break;
        e = observe_event(r, run, (struct message){ b + HEAD, b + HEAD + size });
        b += HEAD + size + TAIL;
        left -= HEAD + (size_t)size + TAIL;
    }
    if (e == OA_OK && left) {
        r->damaged++;
        oa_log(c, 0, "%s: the last %zu of %zu bytes are no whole records and were passed over",
               path, left, length);
    }
    r->files++;
    oa_free(data);
    return e;
}

/* ---- folders ---- */

static bool is_part_of_run(const char *name)
{
    static const char *const parts[] = { "train", "validation", "valid", "val",
                                         "eval",  "test",       "dev" };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(name, parts[i]) == 0)
            return true;
    return false;
}

/* room: of the name, which is cut. */
static struct run_folder run_of_folder(char *room)
{
    struct run_folder run = { .name = room };
    char *slash = strrchr(room, '/');
    if (slash && is_part_of_run(slash + 1)) {
        snprintf(run.prefix, sizeof run.prefix, "%s/", slash + 1);
        *slash = 0;
    }
    return run;
}

static int by_entry_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_hidden(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

/* name: of the run that the folder would be; "" of the one that was given. */
static enum oa_error observe_folder(struct event_reader *r, const char *folder, const char *name,
                                    int depth)
{
    oa_context *c = r->observations->context;
    struct dirent **entries;
    enum oa_error e = OA_OK;
    int n = scandir(folder, &entries, not_hidden, by_entry_name);
    if (n < 0)
        return oa_fail_folder(c, folder);
    for (int i = 0; i < n; i++) {
        char path[LONGEST_PATH], inner[LONGEST_PATH], room[LONGEST_PATH];
        struct stat about;
        const char *entry = entries[i]->d_name;
        int length = snprintf(path, sizeof path, "%s/%s", folder, entry);
        if (e == OA_OK && length >= (int)sizeof path)
            e = oa_fail(c, OA_IO, "%s/%s: the path is too long", folder, entry);
        if (e != OA_OK || stat(path, &about) != 0)
            continue;
        if (S_ISDIR(about.st_mode) && depth < 16) {
            snprintf(inner, sizeof inner, "%.1500s%s%.255s", name, *name ? "/" : "", entry);
            e = observe_folder(r, path, inner, depth + 1);
        } else if (strstr(entry, "tfevents")) {
            snprintf(room, sizeof room, "%.1500s", *name ? name : "run");
            struct run_folder run = run_of_folder(room);
            e = observe_file(r, &run, path);
        }
    }
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    return e;
}

/* ---- the tag ---- */

static enum oa_error refuse_tags(struct event_reader *r, const char *path)
{
    struct oa_text list;
    size_t length;
    oa_text_init(&list, r->observations->context);
    for (int32_t i = 0; i < r->tags.count; i++)
        oa_text_printf(&list, "%s'%s'", i ? ", " : "", oa_words_at(&r->tags, i, &length));
    enum oa_error e = oa_status(list.context);
    if (e == OA_OK && r->files == 0)
        e = oa_fail(list.context, OA_ARGUMENT,
                    "%s: no event files (*tfevents*) in it or its folders", path);
    else if (e == OA_OK && r->metric)
        e = oa_fail(list.context, OA_ARGUMENT, "%s: no scalar is called '%.256s'; there %s %s",
                    path, r->metric, r->tags.count == 1 ? "is" : "are", list.s ? list.s : "none");
    else if (e == OA_OK)
        e = oa_fail(list.context, OA_ARGUMENT,
                    "%s: several scalars may be the metric: %s; choose one with --metric", path,
                    list.s ? list.s : "");
    oa_text_free(&list);
    return e;
}

/* Of several folders the name of each comes first in those of its runs. */
static enum oa_error observe_given_folder(struct event_reader *r, const char *folder)
{
    char name[LONGEST_PATH];
    snprintf(name, sizeof name, "%s", folder);
    size_t n = strlen(name);
    while (n > 1 && name[n - 1] == '/')
        name[--n] = 0;
    const char *slash = strrchr(name, '/');
    bool several = r->observations->request->count > 1;
    return observe_folder(r, folder, several ? (slash ? slash + 1 : name) : "", 0);
}

enum oa_error oa_observe_events(struct oa_observations *o, int path)
{
    const char *given = o->request->paths[path];
    struct event_reader r = { .observations = o, .path = path, .metric = o->request->metric };
    struct run_folder alone = { .name = given };
    struct stat about;
    size_t before = o->count, length;
    oa_words_init(&r.tags, o->context);
    bool folder = stat(given, &about) == 0 && S_ISDIR(about.st_mode);
    enum oa_error e = folder ? observe_given_folder(&r, given) : observe_file(&r, &alone, given);
    if (e == OA_OK && (o->count == before || (!r.metric && r.tags.count != 1)))
        e = refuse_tags(&r, given);
    if (e == OA_OK)
        e = oa_observe_metric(o, r.metric ? r.metric : oa_words_at(&r.tags, 0, &length));
    if (e == OA_OK && r.damaged)
        oa_text_printf(&o->remarks,
                       " %zu event file%s had damaged or unfinished records at the "
                       "end, which do not count.",
                       r.damaged, oa_plural((double)r.damaged));
    oa_words_free(&r.tags);
    return e;
}
