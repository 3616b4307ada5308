/* SPDX-License-Identifier: Apache-2.0 */
#include "tasks/example_task.h"

#include "tasks/writer.h"

#include <math.h>
#include <string.h>

const struct oa_preset oa_answer_preset[] = {
    { .key = "data.tokenizer", .value = "bpe", .unless = "train.init" },
    { .key = "model.context", .value = "256" },
    { .key = "model.dropout", .value = "0.1" },
    { .key = "model.pool", .value = "mean" },
    { .key = "train.batch", .value = "32", .unless = "train.batch_tokens" },
    { .key = NULL }
};

/* ---- reading ---- */

static enum oa_error encode_side_rows(struct oa_workload *w, const struct oa_rows *rows,
                                      struct oa_examples *out)
{
    return rows->count ? oa_examples_encode(w->tokenizer, &w->texts, rows, &w->layout, out) : OA_OK;
}

static void add_target_spacing(const struct oa_rows *rows, struct oa_spacing *spacing)
{
    for (size_t i = 0; i < rows->count; i++)
        for (int cell = 1; cell < oa_rows_cells(rows, i); cell++) {
            struct oa_line line;
            line.s = oa_rows_cell(rows, i, cell, &line.length);
            oa_spacing_add(spacing, line);
        }
}

static void choose_bleu_tokens(oa_context *c, const struct oa_options *o,
                               const struct oa_spacing *targets, struct oa_workload *w)
{
    w->bleu_tokenize = o->data_bleu_tokenize;
    if (w->bleu_tokenize != OA_BLEU_TOKENIZE_AUTO)
        return;
    w->bleu_tokenize = oa_is_unspaced(targets) ? OA_BLEU_TOKENIZE_CHAR : OA_BLEU_TOKENIZE_13A;
    if (w->bleu_tokenize == OA_BLEU_TOKENIZE_CHAR)
        oa_log(c, 0,
               "most targets are of scripts without spaces between words: BLEU counts characters "
               "(data.bleu_tokenize = char)");
}

static bool has_rouge(const struct oa_task *task)
{
    for (const struct oa_measure *m = task->measures; m->name; m++)
        if (strncmp(m->name, "rouge", 5) == 0)
            return true;
    return false;
}

/* Counts training and validation rows together, so that the choice does not depend on their split.
 * An evaluation without training rows counts the rows that it has. */
static void look_at_targets(oa_context *c, const struct oa_options *o, struct oa_workload *w)
{
    struct oa_spacing targets = { 0 };
    if (!oa_task_writes(w->task))
        return;
    add_target_spacing(&w->texts.train, &targets);
    add_target_spacing(&w->texts.valid, &targets);
    if (!w->texts.train.count)
        add_target_spacing(&w->texts.test, &targets);
    choose_bleu_tokens(c, o, &targets, w);
    if (has_rouge(w->task) && oa_is_unread_by_rouge(&targets))
        oa_log(
            c, 0,
            "ROUGE ignores all but letters a to z and digits, and most characters of the targets "
            "are others: choose another measure (--metric bleu)");
}

static struct oa_example_request data_request(const struct oa_options *o,
                                              const struct oa_task *task)
{
    return (struct oa_example_request){ .train = o->data_train,
                                        .valid = o->data_valid,
                                        .test = o->data_test,
                                        .columns = o->data_columns,
                                        .answer = task->answer,
                                        .dialogues = task->dialogues,
                                        .valid_fraction = o->data_valid_fraction,
                                        .split_seed = oa_chance_seed(o, OA_CHANCE_SPLIT),
                                        .stratify = o->data_stratify,
                                        .refuse_unknown =
                                            o->data_unknown_labels == OA_UNKNOWN_REFUSED };
}

struct oa_example_layout oa_example_layout_of(const struct oa_options *o,
                                              const struct oa_task *task)
{
    struct oa_example_layout layout = *task->layout;
    bool writes = task->answer == OA_ANSWER_TEXT;
    layout.source_limit = writes ? oa_model_source_context(o) : o->model_context;
    layout.target_limit = writes ? o->model_context : 0;
    layout.refuse_long = o->data_long == OA_TOO_LONG_REFUSED;
    if (*layout.target_begin) { /* not [CLS] and [SEP] */
        memcpy(layout.target_begin, o->model_begin_token, sizeof layout.target_begin);
        memcpy(layout.source_end, o->model_end_token, sizeof layout.source_end);
        memcpy(layout.target_end, o->model_end_token, sizeof layout.target_end);
    }
    return layout;
}

enum oa_error oa_example_task_open(oa_context *c, const struct oa_options *o,
                                   struct oa_workload *out)
{
    enum oa_answer answer = out->task->answer;
    struct oa_example_request r = data_request(o, out->task);
    bool writes = answer == OA_ANSWER_TEXT, turns = answer == OA_ANSWER_TOKENS;
    out->layout = oa_example_layout_of(o, out->task);
    OA_TRY(oa_example_texts_open(c, &r, &out->texts));
    look_at_targets(c, o, out);
    if (!out->tokenizer)
        OA_TRY(oa_example_texts_tokenizer(c, &out->texts, o->data_tokenizer, &out->tokenizer));
    OA_TRY(encode_side_rows(out, &out->texts.train, &out->train));
    OA_TRY(encode_side_rows(out, &out->texts.valid, &out->valid));
    OA_TRY(encode_side_rows(out, &out->texts.test, &out->test));
    long tokens = oa_tokenizer_size(out->tokenizer); /* with those around texts */
    if (oa_task_writes(out->task))
        OA_TRY(oa_writer_check(c, o, out->tokenizer, oa_max(tokens, o->model_vocabulary)));
    out->form =
        (struct oa_model_form){ .encoder = !turns,
                                .decoder = writes || turns,
                                .output = writes || turns              ? OA_OUTPUT_TOKENS
                                          : answer == OA_ANSWER_NUMBER ? OA_OUTPUT_NUMBER
                                                                       : OA_OUTPUT_CLASSES,
                                .vocabulary = tokens,
                                .classes = answer == OA_ANSWER_CLASS ? out->texts.classes.count : 0,
                                .labels = out->texts.classes.name,
                                .segments = out->train.split != NULL,
                                .patch = (long)out->train.patch };
    return oa_status(c);
}

/* The model's form and the names of its training files say what it reads. */
static enum oa_error check_model_kind(oa_context *c, const struct oa_options *o,
                                      const struct oa_workload *w, const struct oa_rows *rows)
{
    const char *wanted = oa_holds_pictures(o->data_train) ? "pictures"
                         : w->form.segments               ? "pairs of texts"
                                                          : "single texts";
    /* what an imported model was trained on is not known */
    bool either = !o->data_train[0] && !rows->pictures;
    if (either || rows->count == 0 || rows->answer == OA_ANSWER_TEXT ||
        rows->answer == OA_ANSWER_TOKENS || strcmp(wanted, oa_rows_kind(rows)) == 0)
        return OA_OK;
    return oa_fail(c, OA_FORMAT, "%s has %s, but the model was trained on %s", rows->file[0],
                   oa_rows_kind(rows), wanted);
}

enum oa_error oa_example_task_open_measured(oa_context *c, const struct oa_options *o,
                                            const struct oa_measured_data *data,
                                            struct oa_workload *out, enum oa_side *side)
{
    struct oa_example_request r = data_request(o, out->task);
    struct oa_labels known = { (char **)(uintptr_t)out->form.labels,
                               out->form.labels ? out->form.classes : 0, false };
    if (data->files) {
        r.test = data->files;
        r.test_columns = data->columns;
    }
    *side = r.test[0] ? OA_TEST : OA_VALIDATION;
    if (out->task->answer == OA_ANSWER_CLASS && !known.count)
        return oa_fail(c, OA_FORMAT, OA_NO_LABELS);
    OA_TRY(oa_example_texts_open_measured(c, &r, &known, &out->texts));
    out->layout = oa_example_layout_of(o, out->task);
    const struct oa_rows *rows = *side == OA_TEST ? &out->texts.test : &out->texts.valid;
    OA_TRY(check_model_kind(c, o, out, rows));
    look_at_targets(c, o, out);
    out->train.rows = &out->texts.train; /* marks a task on examples */
    return encode_side_rows(out, rows, *side == OA_TEST ? &out->test : &out->valid);
}

/* A fixed seed: the same split in all trials. */
enum oa_error oa_example_task_hold_out(const struct oa_workload *w, double fraction,
                                       struct oa_workload *out)
{
    enum { SEED = 1 };
    *out = (struct oa_workload){ .task = w->task,
                                 .tokenizer = w->tokenizer,
                                 .lent = true,
                                 .form = w->form,
                                 .start = w->start,
                                 .layout = w->layout,
                                 .bleu_tokenize = w->bleu_tokenize };
    OA_TRY(oa_example_texts_hold_out(&w->texts, fraction, SEED, &out->texts));
    OA_TRY(encode_side_rows(out, &out->texts.train, &out->train));
    OA_TRY(encode_side_rows(out, &out->texts.valid, &out->valid));
    out->train.rows = &out->texts.train; /* also of an empty side */
    return OA_OK;
}

/* ---- batches ---- */

static struct oa_example_batching batching(const struct oa_options *o, uint64_t seed)
{
    return (struct oa_example_batching){ .rows = o->train_batch,
                                         .tokens = o->train_batch_tokens,
                                         .seed = seed };
}

enum oa_error oa_example_task_batches(oa_context *c, const struct oa_options *o,
                                      const struct oa_workload *w, enum oa_side side, uint64_t seed,
                                      struct oa_batches **out)
{
    struct oa_example_batching how = batching(o, seed);
    struct oa_example_batches *b;
    OA_TRY(oa_example_batches_open(c, oa_workload_examples(w, side), &how, &b));
    return oa_batches_wrap(c, &oa_example_batches_kind, b, out);
}

static double mean_length(const struct oa_id_lists *x, size_t count)
{
    return x->start && count ? (double)x->start[count] / (double)count : 0;
}

static struct oa_batch planned_batch(bool writes, double rows, double source, double target)
{
    struct oa_batch b = { .rows = (int)fmax(1, round(rows)) };
    b.length = (int)ceil(writes ? target : source);
    b.source_length = writes ? (int)ceil(source) : 0;
    return b;
}

/* Means over the first epoch, which represents all: epochs only shuffle rows of similar length. */
enum oa_error oa_example_task_shape(oa_context *c, const struct oa_options *o,
                                    const struct oa_workload *w, struct oa_step_shape *out)
{
    const struct oa_examples *e = &w->train;
    const struct oa_example_batching how = batching(o, 0);
    struct oa_example_mean mean;
    bool writes = e->target.start != NULL;
    double source = mean_length(&e->source, e->count),
           target = writes ? mean_length(&e->target, e->count) - 1 : 0;
    double longest = (double)e->source.longest,
           longest_target = writes ? (double)e->target.longest - 1 : 0;
    OA_TRY(oa_example_batches_mean(c, e, &how, &mean));
    double chosen = 0; /* targets of a row */
    for (size_t i = 0; e->goals && i < e->count; i++)
        chosen += (double)e->goals[i] / (double)e->count;
    out->typical = planned_batch(writes, mean.rows, source, target);
    double rows = o->train_batch_tokens
                      ? floor((double)o->train_batch_tokens / fmax(longest, longest_target))
                      : (double)o->train_batch;
    out->largest = planned_batch(writes, rows, longest, longest_target);
    out->tokens = mean.tokens * (double)o->train_accumulate;
    out->typical.chosen = out->largest.chosen = e->goals != NULL;
    out->typical.planned_targets = (long)ceil(chosen * out->typical.rows);
    out->largest.planned_targets = (long)ceil(chosen * out->largest.rows);
    return OA_OK;
}

/* ---- outputs ---- */

enum oa_error oa_example_outputs(const struct oa_scoring *j, long width, struct oa_outputs *out)
{
    const struct oa_examples *e = oa_workload_examples(j->workload, j->side);
    *out = (struct oa_outputs){ .width = width };
    out->out = oa_alloc(j->context, e->count * (size_t)width * sizeof *out->out);
    out->label = oa_alloc(j->context, e->count * sizeof *out->label);
    out->value = oa_alloc(j->context, e->count * sizeof *out->value);
    out->row = oa_alloc(j->context, e->count * sizeof *out->row);
    if (!out->out || !out->label || !out->value || !out->row)
        return OA_NO_MEMORY;
    for (long i = 0; i < j->cover->batches; i++) {
        struct oa_batch batch;
        if (j->progress && j->progress(j->argument, i, j->cover->batches))
            return OA_INTERRUPTED;
        OA_TRY(oa_batches_window(j->batches, i, &batch));
        oa_tape_reset(j->tape, false, false, (struct oa_stream){ 0 });
        OA_TRY(oa_model_outputs(j->tape, j->model, &batch, out->out + out->rows * width));
        for (int r = 0; r < batch.rows; r++, out->rows++) {
            out->row[out->rows] = oa_batches_examples(j->batches, i)[r];
            out->label[out->rows] = batch.label ? batch.label[r] : 0;
            out->value[out->rows] = batch.value ? batch.value[r] : 0;
        }
    }
    return OA_OK;
}

long oa_likeliest(const double *x, long n)
{
    long best = 0;
    for (long i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

void oa_outputs_free(struct oa_outputs *o)
{
    oa_free(o->out);
    oa_free(o->label);
    oa_free(o->value);
    oa_free(o->row);
}
