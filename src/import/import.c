/* SPDX-License-Identifier: Apache-2.0
 * Files by their kind: folders and event files, JSON, tables. */
#include "import/import.h"

#include "import/observations.h"
#include "tokenizers/text.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_NAMED = 100 };

static bool is_event_path(const char *path)
{
    struct stat about;
    const char *slash = strrchr(path, '/');
    return (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) ||
           strstr(slash ? slash + 1 : path, "tfevents") != NULL;
}

/* By the name or the first character: a table begins with the name of a column. */
static bool is_json(const char *path, const char *data)
{
    char first = data[strspn(data, " \t\r\n")];
    return oa_name_ends(path, ".json") || oa_name_ends(path, ".jsonl") ||
           oa_name_ends(path, ".ndjson") || first == '{' || first == '[';
}

static enum oa_error check_text(oa_context *c, const char *path, const char *data, size_t length)
{
    const char *binary = oa_binary_format(data, length);
    if (binary)
        return oa_fail(c, OA_FORMAT, "%s is %s", path, binary);
    if (length > 1 && (memcmp(data, "\xff\xfe", 2) == 0 || memcmp(data, "\xfe\xff", 2) == 0))
        return oa_fail(c, OA_FORMAT, "%s is UTF-16; store it as UTF-8", path);
    if (memchr(data, 0, length))
        return oa_fail(c, OA_FORMAT, "%s is no text: it has bytes of value 0", path);
    return OA_OK;
}

static enum oa_error observe_text_file(struct oa_observations *o, int path)
{
    const char *name = o->request->paths[path],
               *file = strcmp(name, "-") == 0 ? "/dev/stdin" : name;
    struct oa_sheet sheet;
    char *data;
    size_t length;
    OA_TRY(oa_file_read(o->context, file, &data, &length));
    oa_sheet_init(&sheet, o->context, name);
    enum oa_error e = check_text(o->context, name, data, length);
    size_t mark = oa_utf8_mark_length(data, length);
    if (e == OA_OK)
        e = is_json(name, data + mark) ? oa_sheet_read_json(&sheet, data + mark, length - mark)
                                       : oa_sheet_read_table(&sheet, data + mark, length - mark);
    if (e == OA_OK)
        e = oa_observe_sheet(o, &sheet, path);
    oa_sheet_free(&sheet);
    oa_free(data);
    return e;
}

static enum oa_error refuse_baseline(oa_context *c, const char *name, const struct oa_comparison *k)
{
    const char *names[MOST_NAMED];
    int count = k->count < MOST_NAMED ? k->count : MOST_NAMED;
    for (int i = 0; i < count; i++)
        names[i] = k->entries[i].attention;
    const char *nearest = oa_nearest(name, names, count);
    if (nearest)
        return oa_fail(c, OA_ARGUMENT, "no system is called '%s' (--baseline); did you mean '%s'?",
                       name, nearest);
    return oa_fail(c, OA_ARGUMENT, "no system is called '%s' (--baseline); the first is '%s'", name,
                   names[0]);
}

/* given: "X" or "METRIC=X", as in compare.threshold. */
static enum oa_error set_threshold(oa_context *c, const char *given, struct oa_comparison *k)
{
    const char *metric = oa_compared_measure(k)->name, *equals;
    struct oa_threshold *t = &k->threshold;
    if (!given || !*given)
        return OA_OK;
    equals = strrchr(given, '=');
    if (equals &&
        ((size_t)(equals - given) != strlen(metric) || strncmp(given, metric, strlen(metric)) != 0))
        return oa_fail(c, OA_ARGUMENT, "--threshold is of '%.*s', but the metric is %s",
                       (int)(equals - given), given, metric);
    if (!oa_parse_real(equals ? equals + 1 : given, &t->value) || !isfinite(t->value))
        return oa_fail(c, OA_ARGUMENT, "--threshold is '%s'; give a number", given);
    t->given = true;
    t->measure = k->metric;
    return OA_OK;
}

static enum oa_error set_questions(oa_context *c, const struct oa_import_request *r,
                                   struct oa_comparison *k)
{
    k->margin = r->margin;
    k->sequential = r->sequential;
    k->family = r->family;
    k->test = r->test;
    k->level = r->level;
    OA_TRY(set_threshold(c, r->threshold, k));
    if (r->family == OA_FAMILY_UNIFORM)
        return oa_fail(c, OA_ARGUMENT,
                       "--family uniform needs a uniform baseline, which only "
                       "compare trains: give baseline or pairs");
    if (k->sequential && k->unpaired)
        return oa_fail(
            c, OA_ARGUMENT,
            "--sequential needs runs that are paired by seed; give every system the same "
            "seeds");
    if (!r->baseline || !*r->baseline)
        return r->family == OA_FAMILY_BASELINE
                   ? oa_fail(c, OA_ARGUMENT, "--family baseline needs --baseline: give it, too")
                   : OA_OK;
    for (int i = 0; i < k->count; i++)
        if (strcmp(k->entries[i].attention, r->baseline) == 0)
            k->baseline = i + 1;
    return k->baseline ? OA_OK : refuse_baseline(c, r->baseline, k);
}

enum oa_error oa_import_runs(oa_context *c, const struct oa_import_request *r,
                             struct oa_comparison *out)
{
    struct oa_observations o;
    enum oa_error e = OA_OK;
    oa_observations_init(&o, c, r);
    for (int i = 0; i < r->count && e == OA_OK; i++)
        e = is_event_path(r->paths[i]) ? oa_observe_events(&o, i) : observe_text_file(&o, i);
    if (e == OA_OK)
        e = oa_split_runs(&o);
    if (e == OA_OK)
        e = oa_compare_observations(&o, out);
    if (e == OA_OK)
        e = set_questions(c, r, out);
    if (e == OA_OK && o.remarks.length)
        e = (out->remarks = oa_copy_text(c, o.remarks.s)) ? OA_OK : OA_NO_MEMORY;
    oa_observations_free(&o);
    return e;
}
