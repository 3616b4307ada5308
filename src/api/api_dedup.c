/* SPDX-License-Identifier: Apache-2.0
 * data dedup: documents → a report of duplicates, and the documents without them. */
#include "api/api.h"
#include "data/duplicates.h"

#include <string.h>

/* A bar for each stage. */
static void show_dedup_progress(void *argument, const char *stage, long done, long all)
{
    struct oa_bar *bar = argument;
    if (strcmp(bar->title, stage) != 0)
        oa_bar_open(bar, bar->context, stage);
    oa_bar_log(bar, done, all);
}

static json_int_t count_of(const json_t *record, const char *name)
{
    return json_integer_value(json_object_get(record, name));
}

static void add_place(const json_t *example, const char *file, const char *line, struct oa_text *t)
{
    oa_name_add(t, json_string_value(json_object_get(example, file)));
    if (json_object_get(example, line))
        oa_text_printf(t, ":%lld", (long long)count_of(example, line));
}

static void add_duplicate_examples(const json_t *record, struct oa_text *t)
{
    size_t i;
    json_t *example;
    json_array_foreach(json_object_get(record, "examples"), i, example)
    {
        oa_text_printf(t, "  %-5s  %.2f  ", json_string_value(json_object_get(example, "kind")),
                       json_real_value(json_object_get(example, "similarity")));
        add_place(example, "file", "line", t);
        oa_text_printf(t, "  of  ");
        add_place(example, "of_file", "of_line", t);
        oa_text_printf(t, "\n");
    }
}

static void add_duplicate_counts(const json_t *record, struct oa_text *t)
{
    long long all = count_of(record, "documents"), exact = count_of(record, "exact"),
              near = count_of(record, "near"), empty = count_of(record, "empty_documents");
    double threshold = json_real_value(json_object_get(record, "threshold"));
    oa_text_printf(t, "%lld document%s in %lld file%s\nexact duplicates: %lld (%.2f %%)\n", all,
                   oa_plural((double)all), (long long)count_of(record, "files"),
                   oa_plural((double)count_of(record, "files")), exact,
                   100 * (double)exact / (double)all);
    if (threshold > 0)
        oa_text_printf(t,
                       "near duplicates:  %lld (%.2f %%), by an estimated similarity of at least "
                       "%g; MinHash with %lld bands of %lld rows compares %.1f %% of the pairs at "
                       "%g\n",
                       near, 100 * (double)near / (double)all, threshold,
                       (long long)count_of(record, "bands"), (long long)count_of(record, "rows"),
                       100 * json_real_value(json_object_get(record, "candidates_at_threshold")),
                       threshold);
    if (empty)
        oa_text_printf(t, "left out: %lld empty document%s\n", empty, oa_plural((double)empty));
}

static enum oa_error report_duplicates(oa_context *c, const json_t *record, const char *folder,
                                       const struct oa_output *out)
{
    struct oa_text t;
    oa_text_init(&t, c);
    if (oa_wants_json(out)) {
        oa_json_add(&t, json_deep_copy(record));
        return oa_emit(out, &t);
    }
    add_duplicate_counts(record, &t);
    add_duplicate_examples(record, &t);
    if (folder) {
        oa_name_add(&t, folder);
        oa_text_printf(&t, "/" OA_DEDUP_TEXT " has the %lld documents that are kept, ",
                       (long long)count_of(record, "kept"));
        oa_name_add(&t, folder);
        oa_text_printf(&t, "/" OA_DEDUP_LIST " the others\n");
    }
    return oa_emit(out, &t);
}

enum oa_error oa_dedup(oa_context *c, const struct oa_dedup_files *r, const char *folder,
                       const struct oa_output *out)
{
    struct oa_bar bar;
    struct oa_dedup_request request = { .files = r->files,
                                        .column = r->column ? r->column : "text",
                                        .threshold = r->near,
                                        .shingle = r->shingle ? r->shingle : 5,
                                        .memory = r->memory ? r->memory : (uint64_t)1 << 30,
                                        .folder = folder,
                                        .progress = show_dedup_progress,
                                        .argument = &bar };
    json_t *record;
    OA_TRY(oa_status(c));
    OA_TRY(oa_check_reserved(c, "oa_dedup_files", r->reserved, 4));
    OA_TRY(oa_document_kind_read(c, r->documents, &request.kind));
    if (!(r->near >= 0 && r->near <= 1) || request.shingle < 1 || request.shingle > OA_MOST_SHINGLE)
        return oa_fail(c, OA_ARGUMENT,
                       "a similarity of %g and shingles of %d words: they must be 0 to 1 and 1 to "
                       "%d",
                       r->near, request.shingle, OA_MOST_SHINGLE);
    if (folder)
        OA_TRY(oa_directory_check(c, folder));
    oa_bar_open(&bar, c, "reading documents");
    enum oa_error e = oa_deduplicate(c, &request, &record);
    if (e == OA_OK)
        e = report_duplicates(c, record, folder, out);
    json_decref(record);
    return e;
}
