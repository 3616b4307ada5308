/* SPDX-License-Identifier: Apache-2.0
 * data: data sets made by a rule. */
#include "api/api.h"
#include "synthetic/synthetic.h"

#include <string.h>

/* ---- making one ---- */

static void show_data_progress(void *bar, long done, long all)
{
    oa_bar_log(bar, done, all);
}

static long number_at(const json_t *record, const char *group, const char *name)
{
    return (long)json_integer_value(json_object_get(json_object_get(record, group), name));
}

static void report_text(const json_t *record, const char *folder, struct oa_text *t)
{
    const char *file;
    json_t *value, *share = json_object_get(record, "guessing");
    oa_name_add(t, folder);
    oa_text_printf(t,
                   ": %s, %ld examples for training, %ld for validation, %ld for the test; %ld to "
                   "%ld words\nfiles:",
                   json_string_value(json_object_get(record, "task")),
                   number_at(record, "examples", "train"), number_at(record, "examples", "valid"),
                   number_at(record, "examples", "test"), number_at(record, "words", "shortest"),
                   number_at(record, "words", "longest"));
    json_object_foreach(json_object_get(record, "files"), file, value)
        oa_text_printf(t, " %s", file);
    oa_text_printf(t,
                   " data.json\nthrown away: %ld draws that the rule does not take, %ld that were "
                   "there already\n",
                   number_at(record, "thrown_away", "not_taken"),
                   number_at(record, "thrown_away", "repeated"));
    if (json_is_real(share))
        oa_text_printf(
            t, "the most frequent label of the training examples is right in %.2f %% of the test\n",
            100 * json_real_value(share));
}

enum oa_error oa_data(oa_context *c, const struct oa_data_request *r, const char *folder,
                      const struct oa_output *out)
{
    const long size[OA_SIZES] = {
        [OA_LEAST] = r->min_length,
        [OA_MOST] = r->max_length,
        [OA_ALPHABET] = r->alphabet,
        [OA_VALUES] = r->values,
        [OA_DEPTH] = r->depth,
        [OA_ARGUMENTS] = r->arguments,
        [OA_PAIRS] = r->pairs,
        [OA_COPIES] = r->copies,
        [OA_MOTIF] = r->motif,
        [OA_NOISE] = r->noise,
        [OA_NOISE_WORDS] = r->noise_words,
    };
    const long examples[OA_DATA_SETS] = { r->train, r->valid, r->test };
    struct oa_synthetic_plan plan;
    struct oa_bar bar;
    json_t *record;
    OA_TRY(oa_status(c));
    OA_TRY(oa_check_reserved(c, "oa_data_request", r->reserved, 4));
    OA_TRY(oa_synthetic_make_plan(c, r->task, size, examples, r->seed, &plan));
    OA_TRY(oa_directory_check(c, folder));
    oa_bar_open(&bar, c, plan.task->name);
    OA_TRY(oa_synthetic_write(c, &plan, folder, show_data_progress, &bar, &record));
    struct oa_text t;
    oa_text_init(&t, c);
    if (oa_wants_json(out))
        oa_json_add(&t, json_deep_copy(record));
    else
        report_text(record, folder, &t);
    enum oa_error e = oa_emit(out, &t);
    json_decref(record);
    return e;
}

/* ---- the tasks ---- */

static const char *const forms[OA_FORMS] = { [OA_LABELLED] = "tsv",
                                             [OA_ANSWERED] = "tsv, txt",
                                             [OA_PAIRED] = "source, target",
                                             [OA_TARGETED] = "tsv" };

static json_t *data_task_sizes_json(oa_context *c, const struct oa_synthetic_task *task)
{
    json_t *sizes = json_object();
    for (int i = 0; i < OA_SIZES; i++)
        if (task->size[i].fallback)
            oa_json_set(c, sizes, oa_size_names[i],
                        json_pack("{s:I, s:I, s:I}", "default", (json_int_t)task->size[i].fallback,
                                  "low", (json_int_t)task->size[i].low, "high",
                                  (json_int_t)task->size[i].high));
    return sizes;
}

static void task_text(const struct oa_synthetic_task *task, struct oa_text *t)
{
    oa_text_printf(t, "%s: %s\n  %s\n  example  %s  →  %s\n  files    %s\n  options ", task->name,
                   task->title, task->rule, task->input, task->output, forms[task->form]);
    for (int i = 0; i < OA_SIZES; i++)
        if (task->size[i].fallback)
            oa_text_printf(t, " --%s %ld (%ld to %ld)", oa_size_names[i], task->size[i].fallback,
                           task->size[i].low, task->size[i].high);
    oa_text_printf(t, "; lengths are in %s\n  source   %s\n", task->length, task->source);
}

enum oa_error oa_data_list(oa_context *c, const struct oa_output *out)
{
    const struct oa_synthetic_task *task;
    struct oa_text t;
    json_t *rows = oa_wants_json(out) ? json_array() : NULL;
    OA_TRY(oa_status(c));
    oa_text_init(&t, c);
    for (int i = 0; (task = oa_synthetic_task_at(i)) != NULL; i++) {
        if (rows)
            oa_json_append(c, rows,
                           json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "task",
                                     task->name, "title", task->title, "rule", task->rule, "length",
                                     task->length, "input", task->input, "output", task->output,
                                     "files", forms[task->form], "source", task->source, "options",
                                     data_task_sizes_json(c, task)));
        else
            task_text(task, &t);
    }
    if (rows)
        oa_json_add(&t, rows);
    return oa_emit(out, &t);
}
