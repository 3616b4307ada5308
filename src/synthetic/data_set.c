/* SPDX-License-Identifier: Apache-2.0
 * A data set: its parts are written under temporary names; then data.json is marked incomplete, the
 * files are renamed, those of an older data set removed, and data.json is completed. A program that
 * is killed in between leaves a folder marked as an incomplete data set. */
#include "base/checksum.h"
#include "base/folder_lock.h"
#include "base/json_write.h"
#include "synthetic/data_files.h"

#include <string.h>
#include <unistd.h>

enum { BETWEEN = 256 }; /* examples from one report of progress to the next */

struct data_set_making {
    oa_context *context;
    const struct oa_synthetic_plan *plan;
    const char *folder;
    oa_synthetic_progress *progress;
    void *argument;
    struct oa_drawing *drawing;
    struct oa_data_files files[OA_DATA_SETS];
    enum oa_synthetic_part part; /* being drawn */
    long done, shortest, longest;
    long *count[OA_DATA_SETS]; /* of each label; NULL: no labels */
    long labels;
};

/* ---- drawing ---- */

static enum oa_error take_example(void *argument, const struct oa_example *e)
{
    struct data_set_making *m = argument;
    const long *examples = m->plan->examples;
    m->shortest = m->done == 0 || e->words < m->shortest ? e->words : m->shortest;
    m->longest = e->words > m->longest ? e->words : m->longest;
    m->done++;
    if (m->labels)
        m->count[m->part][e->label]++;
    if (m->progress && m->done % BETWEEN == 0)
        m->progress(m->argument, m->done, examples[0] + examples[1] + examples[2]);
    return oa_data_files_add(&m->files[m->part], e);
}

static enum oa_error draw_parts(struct data_set_making *m)
{
    m->labels = m->plan->task->labels ? m->plan->task->labels(m->plan->size) : 0;
    for (int i = 0; i < OA_DATA_SETS; i++)
        m->count[i] = oa_alloc(m->context, (size_t)(m->labels + 1) * sizeof(long));
    OA_TRY(oa_status(m->context));
    OA_TRY(oa_drawing_open(m->context, m->plan, &m->drawing));
    for (int i = OA_DATA_SETS; i-- > 0;) {
        m->part = (enum oa_synthetic_part)i;
        if (m->plan->examples[i] == 0)
            continue;
        OA_TRY(
            oa_data_files_begin(m->context, m->folder, m->plan->task->form, m->part, &m->files[i]));
        OA_TRY(oa_drawing_part(m->drawing, m->part, take_example, m));
        OA_TRY(oa_data_files_flush(&m->files[i]));
    }
    return OA_OK;
}

/* ---- data.json ---- */

/* The share of test examples with the most frequent training label; null if undefined. */
static json_t *guessing_json(const struct data_set_making *m)
{
    const long *train = m->count[OA_TRAIN_SET], *test = m->count[OA_TEST_SET],
               *examples = m->plan->examples;
    long best = 0;
    for (long i = 1; i < m->labels; i++)
        best = train[i] > train[best] ? i : best;
    if (!m->labels || !examples[OA_TRAIN_SET] || !examples[OA_TEST_SET])
        return json_null();
    return json_real((double)test[best] / (double)examples[OA_TEST_SET]);
}

static json_t *record_json(const struct data_set_making *m)
{
    const struct oa_synthetic_plan *p = m->plan;
    long not_taken, repeated;
    json_t *examples = json_object(), *sizes = json_object();
    for (int i = 0; i < OA_SIZES; i++)
        if (p->size[i])
            oa_json_set(m->context, sizes, oa_size_names[i], json_integer(p->size[i]));
    oa_drawing_thrown(m->drawing, &not_taken, &repeated);
    for (int i = 0; i < OA_DATA_SETS; i++)
        oa_json_set(m->context, examples, oa_set_names[i], json_integer(p->examples[i]));
    return json_pack("{s:s, s:s, s:I, s:o, s:o, s:{s:I, s:I}, s:{s:I, s:I}, s:o}", "task",
                     p->task->name, "version", ORTHANT_VERSION, "seed", (json_int_t)p->seed,
                     "options", sizes, "examples", examples, "thrown_away", "not_taken",
                     (json_int_t)not_taken, "repeated", (json_int_t)repeated, "words", "shortest",
                     (json_int_t)m->shortest, "longest", (json_int_t)m->longest, "guessing",
                     guessing_json(m));
}

/* ---- the folder ---- */

static enum oa_error write_record(const struct data_set_making *m, json_t *record, bool complete,
                                  json_t *files)
{
    struct oa_text path;
    oa_json_set(m->context, record, "complete", json_boolean(complete));
    oa_json_set(m->context, record, "files", json_incref(files));
    oa_text_init(&path, m->context);
    oa_text_printf(&path, "%s/%s", m->folder, OA_DATA_RECORD);
    enum oa_error e = oa_status(m->context);
    if (e == OA_OK)
        e = oa_checksummed_write(m->context, path.s, record);
    oa_text_free(&path);
    json_object_del(record, "seal");
    return e;
}

/* The names of old and new files, with null for digests. */
static json_t *all_names(const struct data_set_making *m, json_t *old)
{
    json_t *names = json_object();
    const char *name;
    json_t *value;
    json_object_foreach(old, name, value) oa_json_set(m->context, names, name, json_null());
    for (int i = 0; i < OA_DATA_SETS; i++)
        for (int j = 0; j < OA_FILES_OF_PART; j++)
            if (m->files[i].file[j].open)
                oa_json_set(m->context, names, m->files[i].file[j].name, json_null());
    return names;
}

static void remove_old_files(const struct data_set_making *m, json_t *old, const json_t *files)
{
    const char *name;
    json_t *value;
    struct oa_text path;
    oa_text_init(&path, m->context);
    json_object_foreach(old, name, value)
    {
        oa_text_cut(&path, 0);
        oa_text_printf(&path, "%s/%s", m->folder, name);
        if (path.s && !json_object_get(files, name))
            unlink(path.s);
    }
    oa_text_free(&path);
}

static enum oa_error end_files(struct data_set_making *m, enum oa_error so_far, json_t *files)
{
    for (int i = 0; i < OA_DATA_SETS; i++)
        so_far = oa_data_files_end(&m->files[i], so_far, files);
    return so_far;
}

static enum oa_error install_files(struct data_set_making *m, json_t *old, json_t *record)
{
    json_t *files = json_object(), *names = all_names(m, old);
    enum oa_error e = end_files(m, write_record(m, record, false, names), files);
    if (e == OA_OK) {
        remove_old_files(m, old, files);
        e = write_record(m, record, true, files);
    }
    json_decref(names);
    json_decref(files);
    return e;
}

static enum oa_error make_data_set(struct data_set_making *m, json_t *old, json_t **record)
{
    OA_TRY(draw_parts(m));
    *record = record_json(m);
    enum oa_error e = *record ? install_files(m, old, *record)
                              : oa_fail(m->context, OA_NO_MEMORY, "out of memory");
    if (e == OA_OK)
        return OA_OK;
    json_decref(*record);
    *record = NULL;
    return e;
}

enum oa_error oa_synthetic_write(oa_context *c, const struct oa_synthetic_plan *plan,
                                 const char *folder, oa_synthetic_progress *progress,
                                 void *argument, json_t **record)
{
    struct data_set_making m = {
        .context = c, .plan = plan, .folder = folder, .progress = progress, .argument = argument
    };
    struct oa_lock *lock;
    json_t *old;
    *record = NULL;
    OA_TRY(oa_folder_lock(c, folder, &lock));
    enum oa_error e = oa_data_folder_names(c, folder, &old);
    if (e == OA_OK) {
        e = make_data_set(&m, old, record);
        end_files(&m, OA_INTERNAL, NULL); /* files left open by an error */
        oa_drawing_close(m.drawing);
        for (int i = 0; i < OA_DATA_SETS; i++)
            oa_free(m.count[i]);
        json_decref(old);
    }
    oa_folder_unlock(lock);
    return e;
}
