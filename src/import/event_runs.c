/* SPDX-License-Identifier: Apache-2.0
 *
 * Scalars of TensorBoard's event files (train/event_file.c has the format). A folder with such
 * files is a run, whose name is the path to it; "train", "validation" and the like at its end
 * belong to the tags. Tags are Value.tag, numbers Value.simple_value or, as TensorFlow 2 writes,
 * Value.tensor.
 */
#include "base/crc32c.h"
#include "base/little_endian.h"
#include "base/protobuf.h"
#include "import/observations.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { HEAD = 12, TAIL = 4 }; /* bytes of a record before and after its data */

struct event_reader {
    struct oa_observations *observations;
    int path;             /* of the request */
    const char *metric;   /* the tag that is wanted; NULL: the only one */
    struct oa_words tags; /* that were met */
    size_t files, damaged;
};

/* ---- values ---- */

enum { DT_FLOAT = 1, DT_DOUBLE = 2, DT_INT32 = 3, DT_INT64 = 9 }; /* of TensorFlow's DataType */

static bool content_scalar(unsigned type, struct oa_message content, double *out)
{
    size_t size = (size_t)(content.end - content.at);
    if (type == DT_FLOAT && size == 4)
        *out = oa_float_of_bits((uint32_t)oa_get_little_endian(content.at, 4));
    else if (type == DT_DOUBLE && size == 8)
        *out = oa_double_of_bits(oa_get_little_endian(content.at, 8));
    else if (type == DT_INT32 && size == 4)
        *out = (int32_t)oa_get_little_endian(content.at, 4);
    else if (type == DT_INT64 && size == 8)
        *out = (double)(int64_t)oa_get_little_endian(content.at, 8);
    else
        return false;
    return true;
}

/* False at the end, and where a message is damaged. */
static bool next_event_field(struct oa_message *m, struct oa_field *f)
{
    return !oa_message_next(m, f) && f->number;
}

/* TensorProto { dtype = 1, tensor_content = 4, float_val = 5, double_val = 6, int_val = 7,
 * int64_val = 10 } with one element; the repeated fields may be packed. */
static bool tensor_scalar(struct oa_message tensor, double *out)
{
    struct oa_field f;
    unsigned type = 0;
    bool found = false;
    while (next_event_field(&tensor, &f)) {
        struct oa_message inside = f.bytes;
        uint64_t whole = f.value;
        if (f.number == 1)
            type = (unsigned)f.value;
        else if (f.number == 4)
            found = content_scalar(type, inside, out);
        else if (f.number == 5 && f.type == OA_WIRE_32) {
            *out = oa_float_of_bits((uint32_t)f.value);
            found = true;
        } else if (f.number == 6 && f.type == OA_WIRE_64) {
            *out = oa_double_of_bits(f.value);
            found = true;
        } else if (f.number == 5 || f.number == 6) {
            found = content_scalar(f.number == 5 ? DT_FLOAT : DT_DOUBLE, inside, out);
        } else if (f.number == 7 || f.number == 10) {
            found = f.type == OA_WIRE_VARINT ||
                    (!oa_varint_read(&inside, &whole) && inside.at == inside.end);
            *out = (double)(int64_t)whole;
        }
    }
    return found;
}

/* Summary.Value { tag = 1, simple_value = 2, tensor = 8 } */
static bool read_scalar(struct oa_message value, struct oa_message *tag, double *out)
{
    struct oa_field f;
    bool found = false;
    tag->at = tag->end = NULL;
    while (next_event_field(&value, &f)) {
        if (f.number == 1 && f.type == OA_WIRE_BYTES)
            *tag = f.bytes;
        else if (f.number == 2 && f.type == OA_WIRE_32) {
            *out = oa_float_of_bits((uint32_t)f.value);
            found = true;
        } else if (f.number == 8 && f.type == OA_WIRE_BYTES)
            found = tensor_scalar(f.bytes, out);
    }
    return found && tag->at < tag->end;
}

/* ---- events ---- */

/* The name of a run, and the prefix of its tags. */
struct run_folder {
    const char *name;
    char prefix[16]; /* "validation/" */
};

static enum oa_error observe_scalar(struct event_reader *r, const struct run_folder *run,
                                    struct oa_message tag, double step, double value)
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
                                   struct oa_message event)
{
    struct oa_field f, v;
    struct oa_message summary = { NULL, NULL }, tag;
    double step = 0, value;
    while (next_event_field(&event, &f)) {
        if (f.number == 2 && f.type == OA_WIRE_VARINT)
            step = (double)(int64_t)f.value;
        else if (f.number == 5 && f.type == OA_WIRE_BYTES)
            summary = f.bytes;
    }
    while (next_event_field(&summary, &v))
        if (v.number == 1 && v.type == OA_WIRE_BYTES && read_scalar(v.bytes, &tag, &value))
            OA_TRY(observe_scalar(r, run, tag, step, value));
    return OA_OK;
}

/* A file that is being written ends within a record: the records before it are used. */
static enum oa_error observe_file(struct event_reader *r, const struct run_folder *run,
                                  const char *path)
{
    oa_context *c = r->observations->context;
    char *data;
    size_t length;
    OA_TRY(oa_file_read(c, path, &data, &length));
    enum oa_error e = OA_OK;
    const uint8_t *b = (const uint8_t *)data;
    size_t left = length;
    while (e == OA_OK && left >= HEAD + TAIL) {
        uint64_t size = oa_get_little_endian(b, 8);
        if (oa_get_little_endian(b + 8, 4) != oa_masked_crc32c(b, 8) || size > left - HEAD - TAIL ||
            oa_get_little_endian(b + HEAD + size, 4) != oa_masked_crc32c(b + HEAD, (size_t)size))
            break;
        e = observe_event(r, run, (struct oa_message){ b + HEAD, b + HEAD + size });
        b += HEAD + size + TAIL;
        left -= HEAD + (size_t)size + TAIL;
    }
    if (e == OA_OK && left) {
        r->damaged++;
        oa_log(c, 0, "%s: the last %zu of %zu bytes are no whole records and were ignored", path,
               left, length);
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

/* name: is cut. */
static struct run_folder run_of_folder(char *name)
{
    struct run_folder run = { .name = name };
    char *slash = strrchr(name, '/');
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

/* name: of the run if the folder is one; "" for the folder of the request. */
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
        char path[OA_PATH], inner[OA_PATH], room[OA_PATH];
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
    oa_text_init(&list, r->observations->context);
    for (int32_t i = 0; i < r->tags.count; i++)
        oa_text_printf(&list, "%s'%s'", i ? ", " : "", oa_words_at(&r->tags, i, NULL));
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

/* If several folders are given, the names of runs begin with that of their folder. */
static enum oa_error observe_given_folder(struct event_reader *r, const char *folder)
{
    char name[OA_PATH];
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
    size_t before = o->count;
    oa_words_init(&r.tags, o->context);
    bool folder = stat(given, &about) == 0 && S_ISDIR(about.st_mode);
    enum oa_error e = folder ? observe_given_folder(&r, given) : observe_file(&r, &alone, given);
    if (e == OA_OK && (o->count == before || (!r.metric && r.tags.count != 1)))
        e = refuse_tags(&r, given);
    if (e == OA_OK)
        e = oa_observe_metric(o, r.metric ? r.metric : oa_words_at(&r.tags, 0, NULL));
    if (e == OA_OK && r.damaged)
        oa_text_printf(&o->remarks,
                       " %zu event file%s had damaged or unfinished records at the "
                       "end, which do not count.",
                       r.damaged, oa_plural((double)r.damaged));
    oa_words_free(&r.tags);
    return e;
}
