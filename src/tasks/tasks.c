/* SPDX-License-Identifier: Apache-2.0
 * The table of tasks, and the workload of the one that data.task names. */
#include "tasks/tasks.h"

#include "data/turns.h"
#include "model/pretrained.h"

#include <string.h>

#define OA_TASK(name) extern const struct oa_task oa_task_##name;
#include "tasks/tasks.def"
#undef OA_TASK

static const struct oa_task *const tasks[] = {
#define OA_TASK(name) &oa_task_##name,
#include "tasks/tasks.def"
#undef OA_TASK
};
enum { TASKS = sizeof tasks / sizeof *tasks };

const struct oa_task *oa_task_at(int i)
{
    return i >= 0 && i < TASKS ? tasks[i] : NULL;
}

const struct oa_task *oa_task_find(const char *name)
{
    for (int i = 0; i < TASKS; i++)
        if (strcmp(tasks[i]->name, name) == 0)
            return tasks[i];
    return NULL;
}

unsigned oa_options_stacks(const struct oa_options *o)
{
    const struct oa_task *task = oa_task_find(o->data_task);
    return task ? task->stacks : OA_LANGUAGE_MODEL;
}

bool oa_task_has_items(const struct oa_task *task, int m)
{
    return m == 0 || (task->item_measures >> m & 1);
}

bool oa_task_writes(const struct oa_task *task)
{
    return task->layout && task->answer == OA_ANSWER_TEXT;
}

int32_t oa_task_answer_end(const struct oa_task *task, const struct oa_tokenizer *tokenizer)
{
    bool answers = task && task->answer == OA_ANSWER_TOKENS && task->layout;
    return answers ? oa_tokenizer_find(tokenizer, OA_TURN_END) : -1;
}

/* Rows of running text have no word indices. */
static enum oa_error check_words(const struct oa_task *task, const struct oa_model *m)
{
    const struct oa_group *g = oa_stack_needs_words(&m->encoder);
    if (!g || (task->layout && task->layout->words))
        return OA_OK;
    struct oa_text name;
    oa_text_init(&name, m->context);
    oa_atom_print(g->atom, &name);
    enum oa_error e = oa_fail(
        m->context, OA_ARGUMENT,
        "%s needs word indices, which the running text of task %s does not have; use unit=token",
        name.s ? name.s : g->mechanism->name, task->name);
    oa_text_free(&name);
    return e;
}

enum oa_error oa_task_check_model(const struct oa_model *m)
{
    const struct oa_task *task = oa_task_find(m->options.data_task);
    if (!task)
        return OA_OK;
    OA_TRY(check_words(task, m));
    enum oa_error e = oa_task_writes(task) ? oa_model_check_decoding(m) : OA_OK;
    return e == OA_OK ? OA_OK : oa_fail_as_argument(m->context);
}

static enum oa_error refuse_task(oa_context *c, const char *name)
{
    const char *names[TASKS];
    struct oa_text known;
    oa_text_init(&known, c);
    for (int i = 0; i < TASKS; i++) {
        names[i] = tasks[i]->name;
        oa_text_printf(&known, "%s%s", i ? ", " : "", tasks[i]->name);
    }
    const char *near = oa_nearest(name, names, TASKS);
    enum oa_error e = oa_fail(c, OA_ARGUMENT, "data.task: unknown task \"%s\"%s%s%s; available: %s",
                              name, near ? "; did you mean " : "", near ? near : "",
                              near ? "?" : "", known.s ? known.s : "");
    oa_text_free(&known);
    return e;
}

void oa_workload_settle(const struct oa_workload *w, struct oa_options *o)
{
    if (w->bleu_tokenize != OA_BLEU_TOKENIZE_AUTO)
        o->data_bleu_tokenize = w->bleu_tokenize;
}

/* ---- warm start from another run ---- */

/* Uses the tokenizer of the initial run unless data.tokenizer differs from its default. */
static enum oa_error name_tokenizer(oa_context *c, const struct oa_pretrained *start,
                                    struct oa_options *o)
{
    struct oa_options plain;
    oa_options_default(&plain);
    if (strcmp(o->data_tokenizer, plain.data_tokenizer) != 0)
        return OA_OK;
    if (strlen(start->tokenizer) >= sizeof o->data_tokenizer)
        return oa_fail(c, OA_ARGUMENT,
                       "train.init = %.60s…: the path of its tokenizer exceeds %d bytes",
                       o->train_init, OA_OPTION_TEXT - 1);
    memcpy(o->data_tokenizer, start->tokenizer, strlen(start->tokenizer) + 1);
    return OA_OK;
}

enum oa_error oa_check_training_data(oa_context *c, const struct oa_options *o)
{
    const struct oa_task *task = oa_task_find(o->data_task);
    if (oa_is_given(o->data_train) || !task)
        return OA_OK;
    return oa_fail(c, OA_ARGUMENT,
                   "data.train is empty: name a file to train on, e.g. --data.train %s (task %s)",
                   task->layout ? "examples.tsv" : "text.txt", task->name);
}

/* Models of other programs read images as tensors, which no file of pictures has. */
static enum oa_error refuse_tensor_images(oa_context *c, const struct oa_pretrained *start,
                                          const char *run)
{
    struct oa_options theirs;
    struct oa_model_form form;
    oa_options_default(&theirs);
    OA_TRY(oa_config_load(c, start->config, &theirs, &form));
    if (!form.channels)
        return OA_OK;
    return oa_fail(
        c, OA_UNSUPPORTED,
        "train.init = %s reads images of %ld x %ld pixels in %ld channels as tensors, and "
        "there are no files of such pictures to train on; 'orthant forward' runs it",
        run, form.image_height, form.image_width, form.channels);
}

/* The options with the sample text and the tokenizer of train.init filled in. */
static enum oa_error reading_options(oa_context *c, const struct oa_options *o,
                                     struct oa_options *out)
{
    struct oa_pretrained start;
    *out = *o;
    const struct oa_task *task = oa_task_find(o->data_task);
    if (!oa_is_given(o->data_train) && task &&
        !task->layout) /* plans and timings; training requires data (oa_check_training_data) */
        snprintf(out->data_train, sizeof out->data_train, "%s", OA_SAMPLE_TEXT);
    if (!o->train_init[0])
        return OA_OK;
    OA_TRY(oa_pretrained_find(c, o->train_init, &start));
    OA_TRY(refuse_tensor_images(c, &start, o->train_init));
    return name_tokenizer(c, &start, out);
}

enum oa_error oa_workload_start(oa_context *c, const struct oa_options *o, struct oa_workload *w)
{
    struct oa_pretrained start;
    struct oa_tokenizer *there;
    if (!o->train_init[0])
        return OA_OK;
    OA_TRY(oa_pretrained_find(c, o->train_init, &start));
    OA_TRY(oa_pretrained_tokenizer(c, &start, &there));
    bool agree = oa_tokenizers_agree(there, w->tokenizer);
    oa_tokenizer_close(there);
    if (!agree)
        return oa_fail(
            c, OA_ARGUMENT,
            "train.init = %s: its tokenizer differs from data.tokenizer = %s, so its embeddings "
            "would belong to other tokens; leave out data.tokenizer to use that of the run",
            o->train_init, o->data_tokenizer);
    return oa_digest_of_file(c, start.model, &w->start);
}

static enum oa_error open_task_data(oa_context *c, const struct oa_options *o,
                                    struct oa_workload *out)
{
    struct oa_options reading;
    OA_TRY(reading_options(c, o, &reading));
    OA_TRY(out->task->open(c, &reading, out));
    return oa_workload_start(c, o, out);
}

enum oa_error oa_workload_open(oa_context *c, const struct oa_options *o, struct oa_workload *out)
{
    *out = (struct oa_workload){ .task = oa_task_find(o->data_task) };
    if (!out->task)
        return refuse_task(c, o->data_task);
    enum oa_error e = open_task_data(c, o, out);
    if (e != OA_OK)
        oa_workload_close(out);
    return e;
}

void oa_workload_close(struct oa_workload *w)
{
    if (!w->lent_ids)
        oa_corpus_close(&w->corpus);
    oa_examples_close(&w->train);
    oa_examples_close(&w->valid);
    oa_examples_close(&w->test);
    oa_example_texts_close(&w->texts);
    if (!w->lent)
        oa_tokenizer_close(w->tokenizer);
    *w = (struct oa_workload){ 0 };
}

enum oa_error oa_workload_open_measured(oa_context *c, const struct oa_options *o,
                                        struct oa_tokenizer *tokenizer,
                                        const struct oa_model_form *form,
                                        const struct oa_measured_data *data,
                                        struct oa_workload *out, enum oa_side *side)
{
    *out = (struct oa_workload){
        .task = oa_task_find(o->data_task), .tokenizer = tokenizer, .lent = true, .form = *form
    };
    if (!out->task)
        return refuse_task(c, o->data_task);
    enum oa_error e = out->task->open_measured(c, o, data, out, side);
    if (e == OA_OK && oa_workload_side(out, *side).targets == 0)
        e = oa_fail(c, OA_ARGUMENT, "the run has no validation data; give --data FILE");
    if (e != OA_OK)
        oa_workload_close(out);
    return e;
}

/* How full rows are depends on the lengths of the documents. */
static enum oa_error subtract_padding(oa_context *c, const struct oa_options *o,
                                      const struct oa_workload *w, struct oa_step_shape *shape)
{
    struct oa_batches *b;
    struct oa_reading reading;
    OA_TRY(w->task->batches(c, o, w, OA_TRAINING, 0, &b));
    oa_batches_reading(b, 1, o->train_accumulate, &reading);
    shape->tokens *= 1 - reading.padding;
    oa_batches_close(b);
    return OA_OK;
}

enum oa_error oa_task_sketch(oa_context *c, const struct oa_options *o, struct oa_model_form *form,
                             struct oa_step_shape *shape)
{
    const struct oa_task *task = oa_task_find(o->data_task);
    struct oa_workload w;
    bool padded = task && !task->layout && o->data_documents == OA_BORDERS_SEPARATE;
    if (task && task->form && !padded) {
        struct oa_options reading;
        OA_TRY(reading_options(c, o, &reading));
        OA_TRY(task->shape(c, &reading, NULL, shape));
        return task->form(c, &reading, form);
    }
    OA_TRY(oa_workload_open(c, o, &w));
    *form = w.form;
    enum oa_error e = w.task->shape(c, o, &w, shape);
    if (e == OA_OK && padded)
        e = subtract_padding(c, o, &w, shape);
    oa_workload_close(&w);
    return e;
}

static struct oa_extent of_text(const struct oa_tokens *t)
{
    return (struct oa_extent){ (double)t->count, (double)t->characters, (double)t->bytes,
                               t->digest };
}

/* Targets: of a decoder all tokens but the first of each target, or the chosen ones; otherwise one
 * per example. */
static struct oa_extent of_examples(const struct oa_examples *e)
{
    struct oa_extent out = { .targets = (double)e->count };
    if (e->rows)
        out.digest = e->rows->digest;
    if (e->target.start)
        out.targets = (double)(e->target.start[e->count] - e->count);
    for (size_t i = 0; e->goals && i < e->count; i++)
        out.targets += (double)e->goals[i] - 1;
    for (size_t i = 0; e->target.start && i < e->count; i++) {
        size_t n;
        const char *text = oa_rows_cell(e->rows, i, 1, &n);
        out.bytes += (double)n;
        out.characters += (double)oa_text_characters(text, n);
    }
    return out;
}

const struct oa_examples *oa_workload_examples(const struct oa_workload *w, enum oa_side side)
{
    return side == OA_TRAINING ? &w->train : side == OA_VALIDATION ? &w->valid : &w->test;
}

struct oa_extent oa_workload_side(const struct oa_workload *w, enum oa_side side)
{
    if (w->train.rows)
        return of_examples(oa_workload_examples(w, side));
    return of_text(side == OA_TRAINING     ? &w->corpus.train
                   : side == OA_VALIDATION ? &w->corpus.valid
                                           : &w->corpus.test);
}

/* ---- special tokens ---- */

static enum oa_error name_specials(oa_context *c, const struct oa_tokenizer *tok,
                                   const uint8_t *had, struct oa_labels *out)
{
    int32_t size = oa_tokenizer_size(tok);
    const char **name = oa_alloc(c, ((size_t)size + 1) * sizeof *name);
    long count = 0;
    for (int32_t id = 0; name && id < size; id++)
        if (had[id])
            name[count++] = oa_tokenizer_piece(tok, id);
    enum oa_error e =
        name ? oa_labels_copy(c, (char *const *)(uintptr_t)name, count, out) : OA_NO_MEMORY;
    oa_free(name);
    return e;
}

enum oa_error oa_workload_specials(oa_context *c, const struct oa_workload *w,
                                   struct oa_labels *out)
{
    enum { SPECIAL = 1, HAD = 2 };
    int32_t size = oa_tokenizer_size(w->tokenizer);
    const struct oa_tokens *text = &w->corpus.train;
    *out = (struct oa_labels){ 0 };
    if (!oa_is_language_model(&w->form) || w->train.rows) /* examples spell no special tokens */
        return OA_OK;
    uint8_t *mark = oa_alloc(c, (size_t)size + 1);
    if (!mark)
        return OA_NO_MEMORY;
    oa_tokenizer_mark_special(w->tokenizer, mark);
    bool any = memchr(mark, SPECIAL, (size_t)size) != NULL;
    for (size_t i = 0; any && text->ids && i < text->count; i++)
        mark[text->ids[i]] |= HAD;
    for (int32_t id = 0; !text->ids && id < size; id++)
        mark[id] |= HAD; /* a text in files may have any token */
    for (int32_t id = 0; id < size; id++)
        mark[id] = mark[id] == (SPECIAL | HAD);
    enum oa_error e = any ? name_specials(c, w->tokenizer, mark, out) : OA_OK;
    oa_free(mark);
    return e;
}
