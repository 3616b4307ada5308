/* SPDX-License-Identifier: Apache-2.0
 * forward: runs a whole model on tensors of a file, to compare it with any other program, tensor by
 * tensor. */
#include "api/api.h"
#include "base/safetensors.h"

#include <math.h>
#include <string.h>

enum { RESULTS = 4, LEADING = 4, LOGIT_ROWS = 64 }; /* rows of logits computed at a time */

struct forward_pass {
    struct oa_trained trained;
    const struct oa_forward_request *request;
    struct oa_tensors *file;
    struct oa_arena arena;          /* host memory of inputs and results */
    struct oa_sequences in, source; /* source: of an encoder-decoder */
    struct oa_array result[RESULTS];
    int results;
};

/* ---- input ---- */

/* OA_ARGUMENT: the file has a tensor that this model does not read. */
static enum oa_error check_forward_names(const struct forward_pass *f)
{
    const struct oa_model_form *form = &f->trained.model->form;
    bool two = form->encoder && form->decoder;
    bool image = form->patch > 0;
    const struct {
        const char *name;
        bool read;
    } known[] = { { "input_ids", !image },
                  { "lengths", !image },
                  { "pixel_values", image },
                  { "attention_mask", true },
                  { "token_type_ids", f->trained.model->segment != NULL },
                  { "decoder_input_ids", two },
                  { "decoder_lengths", two },
                  { "decoder_attention_mask", two } };
    for (int i = 0; i < oa_tensors_count(f->file); i++) {
        const char *name = oa_tensors_at(f->file, i)->name;
        bool read = strncmp(name, "expect.", 7) == 0;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            read |= known[k].read && strcmp(name, known[k].name) == 0;
        if (!read)
            return oa_fail(f->trained.context, OA_ARGUMENT,
                           "%s: this model has no input %s; rename it to begin with \"expect.\" "
                           "to have it passed over",
                           f->request->in, name);
    }
    return OA_OK;
}

static enum oa_error refuse_shape(const struct forward_pass *f, const char *name,
                                  const char *expected)
{
    return oa_fail(f->trained.context, OA_SHAPE, "%s: %s must be integers (I32 or I64) %s",
                   f->request->in, name, expected);
}

/* The integers of a tensor, each from `least` to `most`; padding, beyond the length of its row, is
 * 0. lengths NULL: no padding. */
static const int32_t *read_integers(struct forward_pass *f, const char *name, long rows,
                                    long columns, const int32_t *lengths, long least, long most)
{
    const struct oa_array *a = oa_tensors_find(f->file, name);
    oa_context *c = f->trained.context;
    int32_t *out = oa_arena_take(&f->arena, (size_t)(rows * columns) * sizeof *out);
    for (long i = 0; out && i < rows * columns; i++) {
        double x = oa_array_value(a, (size_t)i);
        bool padding = lengths && i % columns >= lengths[i / columns];
        if (!padding && !(x >= (double)least && x <= (double)most)) {
            oa_fail(c, OA_SHAPE, "%s: element %ld of %s is %.0f; expected %ld to %ld",
                    f->request->in, i, name, x, least, most);
            return NULL;
        }
        out[i] = padding ? 0 : (int32_t)x;
    }
    return out;
}

/* ids [rows, length] and their lengths; rows 0: any number. */
static enum oa_error read_id_rows(struct forward_pass *f, const char *ids, const char *lengths,
                                  long most, struct oa_sequences *out)
{
    const struct oa_array *a = oa_tensors_find(f->file, ids),
                          *n = oa_tensors_find(f->file, lengths);
    oa_context *c = f->trained.context;
    if (!a)
        return oa_fail(c, OA_FORMAT, "%s: tensor %s is missing", f->request->in, ids);
    if ((a->type != OA_I32 && a->type != OA_I64) || a->dims != 2 || a->dim[0] < 1 ||
        a->dim[1] < 1 || (out->rows && a->dim[0] != out->rows))
        return refuse_shape(f, ids, "[B, T], B and T above 0");
    if (a->dim[1] > most)
        return oa_fail(c, OA_SHAPE, "%s: %s has rows of %ld tokens; the model reads %ld",
                       f->request->in, ids, a->dim[1], most);
    out->rows = a->dim[0];
    out->length = a->dim[1];
    if (n && ((n->type != OA_I32 && n->type != OA_I64) || n->dims != 1 || n->dim[0] != out->rows))
        return refuse_shape(f, lengths, "[B]");
    if (n)
        out->lengths = read_integers(f, lengths, 1, out->rows, NULL, 1, out->length);
    OA_TRY(oa_status(c));
    out->ids = read_integers(f, ids, out->rows, out->length, out->lengths, 0,
                             f->trained.model->vocabulary - 1);
    return oa_status(c);
}

static enum oa_error read_segments(struct forward_pass *f)
{
    const struct oa_model *m = f->trained.model;
    const struct oa_array *a = oa_tensors_find(f->file, "token_type_ids");
    if (!a && !m->form.segments)
        return OA_OK; /* all 0 */
    if (!a)
        return oa_fail(f->trained.context, OA_FORMAT,
                       "%s: tensor token_type_ids is missing; the model tells two texts apart",
                       f->request->in);
    if ((a->type != OA_I32 && a->type != OA_I64) || a->dims != 2 || a->dim[0] != f->in.rows ||
        a->dim[1] != f->in.length)
        return refuse_shape(f, "token_type_ids", "[B, T], as input_ids");
    f->in.segments = read_integers(f, "token_type_ids", f->in.rows, f->in.length, f->in.lengths, 0,
                                   m->segment->dim[0] - 1);
    return oa_status(f->trained.context);
}

/* ---- images ---- */

/* The tokens before the patches: of an imported model all ids but that of patches, of one that was
 * trained here [CLS]. */
static long leading_ids(const struct forward_pass *f, int32_t out[LEADING])
{
    const struct oa_tokenizer *tok = f->trained.tokenizer;
    long n = 1;
    if (oa_tokenizer_kind_of(tok) != OA_TOKENIZER_IDS) {
        out[0] = oa_tokenizer_find(tok, "[CLS]");
        return n;
    }
    for (n = 0; n < LEADING && n + 1 < f->trained.model->vocabulary; n++)
        out[n] = (int32_t)(n + 1);
    return n;
}

/* Patch `index` of image `row`: channel by channel, in each row by row. */
static void cut_patch(const struct oa_array *pixels, const struct oa_image *i, long row, long index,
                      double *out)
{
    long wide = i->width / i->side, top = index / wide * i->side, left = index % wide * i->side;
    for (long c = 0; c < i->channels; c++)
        for (long y = 0; y < i->side; y++)
            for (long x = 0; x < i->side; x++) {
                long line = (row * i->channels + c) * i->height + top + y;
                *out++ = oa_array_value(pixels, (size_t)(line * i->width + left + x));
            }
}

static enum oa_error check_images(const struct forward_pass *f, const struct oa_array *a,
                                  const struct oa_image *i)
{
    oa_context *c = f->trained.context;
    if (!a)
        return oa_fail(c, OA_FORMAT, "%s: tensor pixel_values is missing", f->request->in);
    if ((a->type != OA_F32 && a->type != OA_F64) || a->dims != 4 || a->dim[0] < 1 ||
        a->dim[1] != i->channels || a->dim[2] != i->height || a->dim[3] != i->width)
        return oa_fail(
            c, OA_SHAPE,
            "%s: pixel_values must be numbers (F32 or F64) [B, %ld, %ld, %ld], B above 0",
            f->request->in, i->channels, i->height, i->width);
    for (long k = 0; k < a->dim[0] * i->channels * i->height * i->width; k++)
        if (!isfinite(oa_array_value(a, (size_t)k)))
            return oa_fail(c, OA_FORMAT, "%s: element %ld of pixel_values is not finite",
                           f->request->in, k);
    return OA_OK;
}

static enum oa_error read_images(struct forward_pass *f)
{
    const struct oa_model *m = f->trained.model;
    const struct oa_image i = oa_form_image(&m->form);
    const struct oa_array *a = oa_tensors_find(f->file, "pixel_values");
    int32_t lead[LEADING];
    long leading = leading_ids(f, lead), patches = (i.height / i.side) * (i.width / i.side),
         length = leading + patches, patch = m->form.patch;
    OA_TRY(check_images(f, a, &i));
    if (length > m->options.model_context)
        return oa_fail(f->trained.context, OA_SHAPE,
                       "images of %ld patches are longer than the context of %ld", patches,
                       m->options.model_context);
    int32_t *ids = oa_arena_take(&f->arena, (size_t)(a->dim[0] * length) * sizeof *ids);
    double *values =
        oa_arena_take(&f->arena, (size_t)(a->dim[0] * length * patch) * sizeof *values);
    if (!ids || !values)
        return OA_NO_MEMORY;
    memset(values, 0, (size_t)(a->dim[0] * length * patch) * sizeof *values);
    for (long t = 0; t < a->dim[0] * length; t++) {
        long place = t % length;
        ids[t] = place < leading ? lead[place] : 0;
        if (place >= leading)
            cut_patch(a, &i, t / length, place - leading, values + t * patch);
    }
    f->in =
        (struct oa_sequences){ .rows = a->dim[0], .length = length, .ids = ids, .values = values };
    return OA_OK;
}

static enum oa_error read_forward_input(struct forward_pass *f)
{
    struct oa_model *m = f->trained.model;
    OA_TRY(oa_tensors_open(f->trained.context, f->request->in, &f->file));
    OA_TRY(check_forward_names(f));
    if (m->form.patch)
        return read_images(f);
    if (!m->form.encoder || !m->form.decoder)
        OA_TRY(read_id_rows(f, "input_ids", "lengths", m->options.model_context, &f->in));
    else {
        OA_TRY(read_id_rows(f, "input_ids", "lengths", oa_model_source_context(&m->options),
                            &f->source));
        f->in.rows = f->source.rows;
        OA_TRY(read_id_rows(f, "decoder_input_ids", "decoder_lengths", m->options.model_context,
                            &f->in));
    }
    return m->segment ? read_segments(f) : OA_OK;
}

/* ---- results ---- */

/* [rows, length, columns] of zeros, or [rows, columns]; NULL after a failure. */
static void *add_forward_result(struct forward_pass *f, const char *name, long rows, long length,
                                long columns)
{
    const struct oa_numbers *numbers = &f->trained.device->numbers;
    struct oa_array *a = &f->result[f->results++];
    *a = (struct oa_array){ .name = (char *)(uintptr_t)name,
                            .type = numbers->real,
                            .dims = length ? 3 : 2,
                            .dim = { rows, length ? length : columns, columns },
                            .bytes = (size_t)(rows * (length ? length : 1) * columns) *
                                     numbers->real_size };
    void *host = oa_arena_take(&f->arena, a->bytes);
    if (host)
        memset(host, 0, a->bytes);
    a->data = host;
    return host;
}

static char *result_row(const struct forward_pass *f, void *result, long row, long columns)
{
    return (char *)result + (size_t)(row * columns) * f->trained.device->numbers.real_size;
}

static long true_length(const struct oa_sequences *s, long row)
{
    return s->lengths ? s->lengths[row] : s->length;
}

static enum oa_error add_hidden(struct forward_pass *f, const char *name,
                                const struct oa_sequences *s, const oa_tensor *hidden)
{
    struct oa_device *d = f->trained.device;
    void *out = add_forward_result(f, name, s->rows, s->length, hidden->cols);
    for (long i = 0; out && i < s->rows; i++)
        for (long j = 0; j < true_length(s, i); j++) {
            long row = i * s->length + j;
            oa_acts_download(d, hidden->cols, oa_act_at(d, hidden->data, row * hidden->ld),
                             result_row(f, out, row, hidden->cols));
        }
    return oa_status(f->trained.context);
}

static enum oa_error add_token_logits(struct forward_pass *f, oa_tensor *hidden)
{
    struct oa_trained *t = &f->trained;
    long vocabulary = t->model->vocabulary;
    hidden = oa_model_head(&t->tape, t->model, hidden);
    OA_TRY(oa_status(t->context));
    void *out = add_forward_result(f, "logits", f->in.rows, f->in.length, vocabulary);
    for (long i = 0; out && i < f->in.rows; i++)
        for (long j = 0, n; j < true_length(&f->in, i); j += n) {
            long left = true_length(&f->in, i) - j, row = i * f->in.length + j;
            n = left < LOGIT_ROWS ? left : LOGIT_ROWS;
            const void *logits = oa_model_logits(&t->tape, t->model, hidden, row, n);
            OA_TRY(oa_status(t->context));
            t->device->ops->download(t->device,
                                     (size_t)(n * vocabulary) * t->device->numbers.real_size,
                                     logits, result_row(f, out, row, vocabulary));
        }
    return oa_status(t->context);
}

/* Logits of classes, or a number, for each row; and what the layer of model.head makes of it. */
static enum oa_error add_outputs(struct forward_pass *f, oa_tensor *hidden)
{
    struct oa_trained *t = &f->trained;
    oa_tensor *x =
        oa_model_pool(&t->tape, t->model, hidden, f->in.rows, f->in.length, f->in.lengths);
    x = oa_model_head(&t->tape, t->model, x);
    OA_TRY(oa_status(t->context));
    if (t->model->head) {
        void *pooled = add_forward_result(f, "pooler_output", f->in.rows, 0, x->cols);
        for (long i = 0; pooled && i < f->in.rows; i++)
            oa_acts_download(t->device, x->cols, oa_act_at(t->device, x->data, i * x->ld),
                             result_row(f, pooled, i, x->cols));
    }
    if (!t->model->output)
        return OA_OK;
    long columns = t->model->output->dim[0];
    const void *logits = oa_model_logits(&t->tape, t->model, x, 0, x->rows);
    void *out = logits ? add_forward_result(f, "logits", f->in.rows, 0, columns) : NULL;
    if (out)
        t->device->ops->download(
            t->device, (size_t)(f->in.rows * columns) * t->device->numbers.real_size, logits, out);
    return oa_status(t->context);
}

static enum oa_error run_forward_pass(struct forward_pass *f)
{
    struct oa_trained *t = &f->trained;
    const struct oa_model_form *form = &t->model->form;
    struct oa_memory memory = { .length = f->source.length, .lengths = f->source.lengths };
    bool two = form->encoder && form->decoder;
    oa_tape_reset(&t->tape, false, false, (struct oa_stream){ 0 });
    if (two) {
        memory.x = oa_model_encode(&t->tape, t->model, &f->source);
        OA_TRY(oa_status(t->context));
        OA_TRY(add_hidden(f, "encoder_last_hidden_state", &f->source, memory.x));
    }
    oa_tensor *hidden = oa_model_hidden(&t->tape, t->model, &f->in, two ? &memory : NULL, NULL);
    OA_TRY(oa_status(t->context));
    OA_TRY(add_hidden(f, "last_hidden_state", &f->in, hidden));
    return form->output == OA_OUTPUT_TOKENS ? add_token_logits(f, hidden) : add_outputs(f, hidden);
}

/* ---- the command ---- */

static enum oa_error check_forward_request(oa_context *c, const struct oa_forward_request *r,
                                           enum oa_precision *precision)
{
    OA_TRY(oa_check_reserved(c, "oa_forward_request", r->reserved, 4));
    *precision = OA_PRECISION_F32;
    if (!r->in || !r->out)
        return oa_fail(c, OA_ARGUMENT, "forward needs an input file and an output file");
    if (r->precision)
        OA_TRY(oa_precision_read(c, r->precision, precision));
    if (oa_same_file(r->in, r->out))
        return oa_fail(c, OA_ARGUMENT, "%s and %s are the same file; choose another output file",
                       r->in, r->out);
    return oa_file_check(c, r->out);
}

enum oa_error oa_forward(oa_context *c, const char *run, const struct oa_forward_request *r)
{
    struct forward_pass f = { .request = r };
    enum oa_precision precision;
    OA_TRY(oa_status(c));
    OA_TRY(check_forward_request(c, r, &precision));
    oa_arena_init(&f.arena, c, false);
    enum oa_error e = oa_trained_open_in(c, run, precision, &f.trained);
    if (e == OA_OK)
        e = read_forward_input(&f);
    if (e == OA_OK)
        e = run_forward_pass(&f);
    if (e == OA_OK)
        e = oa_tensors_write(c, r->out, f.result, f.results, NULL);
    oa_tensors_close(f.file);
    oa_trained_close(&f.trained);
    oa_arena_free(&f.arena);
    return e;
}
