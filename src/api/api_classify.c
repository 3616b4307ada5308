/* SPDX-License-Identifier: Apache-2.0
 * classify: the class, or the number, that an encoder predicts for each of many texts, block by
 * block. A block is several batches, of texts of similar length. */
#include "api/input_lines.h"
#include "decode/characters.h"
#include "tasks/tasks.h"

#include <math.h>
#include <string.h>

enum { BATCH = 32, BATCHES = 16 }; /* texts of a batch unless told; batches of a block */

struct classification {
    struct oa_trained t;
    const struct oa_classify_request *r;
    const struct oa_output *out;
    struct oa_input_lines lines;
    struct oa_input_files *files;
    long batch, width;            /* texts of a batch; numbers for each */
    struct oa_coded_line *source; /* [most] */
    int most, count;              /* lines of a block; of that at hand */
    double *answer;               /* [most][width], of those that were read */
};

/* ---- opening ---- */

static enum oa_error check_classifier_run(const struct classification *x, const char *folder,
                                          const struct oa_task *task)
{
    const struct oa_model_form *f = &x->t.model->form;
    OA_TRY(oa_trained_check_output(&x->t, folder));
    if (!task || !task->layout || f->output == OA_OUTPUT_TOKENS)
        return oa_fail(x->t.context, OA_ARGUMENT,
                       "%s was trained for the task \"%s\"; classify needs a run of classify or "
                       "regress",
                       folder, x->t.options.data_task);
    if (f->output == OA_OUTPUT_CLASSES && !f->labels)
        return oa_fail(x->t.context, OA_FORMAT, "%s: " OA_NO_LABELS, folder);
    if (x->r->scores && f->output == OA_OUTPUT_NUMBER)
        return oa_fail(x->t.context, OA_ARGUMENT,
                       "--scores has no effect: %s predicts numbers, which have no probabilities",
                       folder);
    return OA_OK;
}

static enum oa_error check_pictures(const struct classification *x, const char *folder)
{
    bool pictures = oa_holds_pictures(x->t.options.data_train),
         given = x->r->files && oa_holds_pictures(x->r->files);
    if (pictures == given)
        return OA_OK;
    return oa_fail(x->t.context, OA_ARGUMENT,
                   pictures ? "%s was trained on images: give image files (*.bin) with --data"
                            : "%s was trained on texts, but --data names images (*.bin)",
                   folder);
}

static int next_of_files(void *argument, const char **line, size_t *length)
{
    struct classification *x = argument;
    bool first, there = oa_input_files_next(x->files, line, length);
    x->lines.file = oa_input_files_name(x->files, &first);
    if (there && first) {
        x->lines.before = x->lines.lines;
        oa_input_columns_begin(x->lines.columns);
    }
    return there;
}

static enum oa_error open_lines(struct classification *x, const struct oa_task *task)
{
    oa_context *c = x->t.context;
    const struct oa_classify_request *r = x->r;
    /* what an imported model was trained on is not known: two columns are a pair, and so are those
     * of a table */
    bool pairs = !x->t.options.data_train[0] &&
                 (r->columns ? strchr(r->columns, ',') != NULL
                             : r->files && oa_input_files_tables(c, r->files));
    x->lines = (struct oa_input_lines){ .context = c,
                                        .tokenizer = x->t.tokenizer,
                                        .layout = oa_example_layout_of(&x->t.options, task),
                                        .next = r->files ? next_of_files : r->next,
                                        .argument = r->files ? x : r->argument,
                                        .pictures = oa_holds_pictures(x->t.options.data_train),
                                        .all = r->files ? oa_input_files_bytes(c, r->files)
                                                        : (double)r->bytes,
                                        .blanks = true,
                                        .title = "classifying" };
    x->lines.layout.refuse_long = false;
    OA_TRY(oa_input_columns_open(c, r->columns, x->t.model->form.segments || pairs ? 2 : 1,
                                 task->answer, &x->lines.columns));
    return r->files ? oa_input_files_open(c, r->files, oa_input_columns_whole(x->lines.columns),
                                          &x->files)
                    : OA_OK;
}

static enum oa_error open_classification(struct classification *x, const char *folder)
{
    oa_context *c = x->t.context;
    OA_TRY(oa_trained_open(c, folder, &x->t));
    const struct oa_task *task = oa_task_find(x->t.options.data_task);
    OA_TRY(check_classifier_run(x, folder, task));
    OA_TRY(check_pictures(x, folder));
    OA_TRY(open_lines(x, task));
    x->batch = x->r->batch > 0 ? x->r->batch : BATCH;
    x->width = x->t.model->form.output == OA_OUTPUT_CLASSES ? x->t.model->form.classes : 1;
    x->most = x->r->at_once ? 1 : (int)x->batch * BATCHES;
    x->source = oa_alloc(c, (size_t)x->most * sizeof *x->source);
    x->answer = oa_alloc(c, (size_t)(x->most * x->width) * sizeof *x->answer);
    return oa_status(c);
}

/* ---- computing ---- */

static enum oa_error ask(struct classification *x, struct oa_batches *b, long i, double *out)
{
    struct oa_batch batch;
    oa_context *c = x->t.context;
    if (oa_stop_requested(c))
        return oa_fail(c, OA_INTERRUPTED, "stopped by signal %d", oa_stop_requested(c));
    OA_TRY(oa_batches_window(b, i, &batch));
    oa_tape_reset(&x->t.tape, false, false, (struct oa_stream){ 0 });
    OA_TRY(oa_model_outputs_batch_invariant(&x->t.tape, x->t.model, &batch, out));
    const uint32_t *row = oa_batches_examples(b, i);
    for (int r = 0; r < batch.rows; r++)
        for (long k = 0; k < x->width; k++)
            x->answer[row[r] * x->width + k] = out[r * x->width + k];
    return OA_OK;
}

static enum oa_error ask_all(struct classification *x, const struct oa_examples *texts)
{
    struct oa_example_batching how = { .rows = x->batch, .alike = x->lines.layout.source_limit };
    struct oa_example_batches *kind;
    struct oa_batches *b;
    struct oa_cover cover;
    OA_TRY(oa_example_batches_open(x->t.context, texts, &how, &kind));
    OA_TRY(oa_batches_wrap(x->t.context, &oa_example_batches_kind, kind, &b));
    double *out = oa_alloc(x->t.context, (size_t)(x->batch * x->width) * sizeof *out);
    enum oa_error e = out ? oa_batches_cover(b, x->t.tokenizer, 0, &cover) : OA_NO_MEMORY;
    for (long i = 0; e == OA_OK && i < cover.batches; i++)
        e = ask(x, b, i, out);
    oa_free(out);
    oa_batches_close(b);
    return e;
}

static enum oa_error compute(struct classification *x)
{
    struct oa_examples all;
    const struct oa_examples **part = oa_alloc(x->t.context, ((size_t)x->count + 1) * sizeof *part);
    for (int i = 0; part && i < x->count; i++)
        part[i] = &x->source[i].coded;
    if (!part)
        return OA_NO_MEMORY;
    enum oa_error e = oa_sources_join(x->t.context, part, x->count, &all);
    if (e == OA_OK && all.count)
        e = ask_all(x, &all);
    oa_examples_close(&all);
    oa_free(part);
    return e;
}

/* ---- output ---- */

/* Log-odds become probabilities. */
static void softmax(double *x, long n)
{
    double top = x[oa_likeliest(x, n)], sum = 0;
    for (long i = 0; i < n; i++)
        sum += x[i] = exp(x[i] - top);
    for (long i = 0; i < n; i++)
        x[i] /= sum;
}

static void add_label(const struct classification *x, long i, struct oa_text *out)
{
    size_t from = out->length;
    oa_text_printf(out, "%s", x->t.labels.name[i]);
    oa_text_one_line(out, from, true);
}

/* answer NULL: there is none. */
static void add_class_line(const struct classification *x, const double *answer,
                           struct oa_text *out)
{
    bool classes = x->t.labels.count > 0;
    if (answer && classes)
        add_label(x, oa_likeliest(answer, x->width), out);
    else if (answer)
        oa_text_printf(out, "%s", oa_real_rounded(*answer, 6).s);
    for (long i = 0; x->r->scores && i < x->width; i++) {
        oa_text_printf(out, "\t");
        if (answer)
            oa_text_printf(out, "%s", oa_real_rounded(answer[i], 6).s);
    }
    oa_text_printf(out, "\n");
}

static void add_class_json(const struct classification *x, uint64_t line, const double *answer,
                           struct oa_text *out)
{
    json_t *o = json_pack("{s:I}", "line", (json_int_t)line), *scores = json_object();
    char *const *label = x->t.labels.name;
    if (label)
        oa_json_set(out->context, o, "label",
                    answer ? json_string(label[oa_likeliest(answer, x->width)]) : json_null());
    else
        oa_json_set(out->context, o, "number", answer ? oa_json_number(*answer) : json_null());
    for (long i = 0; answer && label && i < x->width; i++)
        oa_json_set(out->context, scores, label[i], oa_json_number(answer[i]));
    if (x->r->scores)
        oa_json_set(x->t.context, o, "scores", answer ? json_incref(scores) : json_null());
    json_decref(scores);
    oa_trained_json(&x->t, o);
    oa_json_line(out, o);
}

static enum oa_error say_header(const struct classification *x)
{
    struct oa_text text;
    if (!x->r->scores || oa_wants_json(x->out))
        return OA_OK;
    oa_text_init(&text, x->t.context);
    oa_text_printf(&text, "label");
    for (long i = 0; i < x->width; i++) {
        oa_text_printf(&text, "\t");
        add_label(x, i, &text);
    }
    oa_text_printf(&text, "\n");
    return oa_emit(x->out, &text);
}

static enum oa_error say_block(const struct classification *x)
{
    struct oa_text text;
    double *next = x->answer;
    oa_text_init(&text, x->t.context);
    for (int i = 0; i < x->count; i++) {
        double *answer = x->source[i].coded.count ? next : NULL;
        next += answer ? x->width : 0;
        if (answer && x->t.labels.count)
            softmax(answer, x->width);
        if (oa_wants_json(x->out))
            add_class_json(x, x->source[i].line, answer, &text);
        else
            add_class_line(x, answer, &text);
    }
    return oa_emit(x->out, &text);
}

/* ---- the command ---- */

static enum oa_error next_classify_block(struct classification *x, bool *more)
{
    enum oa_error e = oa_input_lines_read(&x->lines, x->most, x->source, &x->count, more);
    if (e == OA_OK)
        e = compute(x);
    if (e == OA_OK)
        e = say_block(x);
    oa_input_lines_release(x->source, x->count);
    return e;
}

static enum oa_error classify(struct classification *x, const char *folder)
{
    bool more = true;
    OA_TRY(open_classification(x, folder));
    OA_TRY(say_header(x));
    while (more)
        OA_TRY(next_classify_block(x, &more));
    oa_input_lines_account(&x->lines);
    return OA_OK;
}

enum oa_error oa_classify(oa_context *c, const char *folder,
                          const struct oa_classify_request *request, const struct oa_output *out)
{
    struct classification x = { .t = { .context = c }, .r = request, .out = out };
    OA_TRY(oa_status(c));
    OA_TRY(oa_check_reserved(c, "oa_classify_request", request->reserved, 4));
    enum oa_error e = classify(&x, folder);
    oa_input_columns_close(x.lines.columns);
    oa_input_files_close(x.files);
    oa_free(x.source);
    oa_free(x.answer);
    oa_trained_close(&x.t);
    return e;
}
