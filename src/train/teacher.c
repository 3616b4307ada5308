/* SPDX-License-Identifier: Apache-2.0 */
#include "train/teacher.h"

#include "model/pretrained.h"

#include <string.h>

/* ---- opening ---- */

static enum oa_error teacher_find(oa_context *c, const char *run, struct oa_pretrained *out)
{
    if (!oa_file_exists(run))
        return oa_fail(c, OA_IO, "distil.teacher = %s: no such run; give the folder of one", run);
    return oa_pretrained_find(c, run, out);
}

static enum oa_error teacher_check_tokenizer(oa_context *c, const struct oa_pretrained *files,
                                             const struct oa_tokenizer *ours,
                                             const struct oa_tokenizer *theirs)
{
    struct oa_digest a, b;
    OA_TRY(oa_tokenizer_digest(c, ours, &a));
    OA_TRY(oa_tokenizer_digest(c, theirs, &b));
    if (strcmp(a.hex, b.hex) == 0)
        return OA_OK;
    return oa_fail(c, OA_ARGUMENT,
                   "distil.teacher: the teacher has another tokenizer; give data.tokenizer %s",
                   files->tokenizer);
}

static enum oa_error teacher_open_model(struct oa_teacher *k, const struct oa_tokenizer *tokenizer)
{
    struct oa_model *student = k->student;
    oa_context *c = student->context;
    struct oa_pretrained files;
    struct oa_tokenizer *own = NULL;
    OA_TRY(teacher_find(c, student->options.distil_teacher, &files));
    if (student->device->dry) {
        OA_TRY(oa_pretrained_describe(student->device, &files, &k->model));
        return oa_store_allocate(&k->model->store, 0, false);
    }
    enum oa_error e = oa_pretrained_tokenizer(c, &files, &own);
    if (e == OA_OK)
        e = teacher_check_tokenizer(c, &files, tokenizer, own);
    if (e == OA_OK)
        e = oa_pretrained_open(student->device, &files, own, &k->model);
    oa_tokenizer_close(own);
    return e;
}

static enum oa_error refuse_pair(const struct oa_teacher *k, const char *what, long theirs,
                                 long ours)
{
    return oa_fail(k->student->context, OA_ARGUMENT,
                   "distil.teacher: %s is %ld in the teacher and %ld here; give the same", what,
                   theirs, ours);
}

/* Probabilities of classes are compared by their numbers. */
static enum oa_error teacher_check_classes(const struct oa_teacher *k)
{
    oa_context *c = k->student->context;
    char *const *ours = k->student->form.labels;
    struct oa_pretrained files;
    struct oa_options theirs;
    struct oa_model_form form;
    struct oa_labels labels;
    if (k->model->form.classes != k->student->form.classes)
        return refuse_pair(k, "the number of classes", k->model->form.classes,
                           k->student->form.classes);
    oa_options_default(&theirs);
    OA_TRY(teacher_find(c, k->student->options.distil_teacher, &files));
    OA_TRY(oa_config_load(c, files.config, &theirs, &form));
    OA_TRY(oa_config_labels(c, files.config, &form, &labels));
    enum oa_error e = OA_OK;
    for (long i = 0; e == OA_OK && ours && i < labels.count; i++)
        if (strcmp(labels.name[i], ours[i]) != 0)
            e = oa_fail(c, OA_ARGUMENT,
                        "distil.teacher: class %ld is \"%.60s\" in the teacher and \"%.60s\" "
                        "here; give data with the same classes",
                        i + 1, labels.name[i], ours[i]);
    oa_labels_free(&labels);
    return e;
}

static enum oa_error teacher_check_kind(const struct oa_teacher *k)
{
    const struct oa_model_form *f = &k->student->form, *g = &k->model->form;
    bool probabilities = f->output == OA_OUTPUT_TOKENS || f->output == OA_OUTPUT_CLASSES;
    if (!probabilities || f->patch || (f->encoder && f->decoder) || f->encoder != g->encoder ||
        f->decoder != g->decoder || g->output != f->output)
        return oa_fail(k->student->context, OA_UNSUPPORTED,
                       "distil.teacher: only language models, masked language models and "
                       "classifiers of texts learn from a teacher, which must be of the same kind");
    return f->output == OA_OUTPUT_CLASSES ? teacher_check_classes(k) : OA_OK;
}

static enum oa_error teacher_check_pair(const struct oa_teacher *k)
{
    const struct oa_options *a = &k->model->options, *b = &k->student->options;
    OA_TRY(teacher_check_kind(k));
    if (k->model->vocabulary != k->student->vocabulary)
        return refuse_pair(k, "model.vocabulary", k->model->vocabulary, k->student->vocabulary);
    if (a->model_context < b->model_context)
        return refuse_pair(k, "model.context", a->model_context, b->model_context);
    if (b->distil_learn == OA_LEARN_OUTPUT && b->train_label_smoothing > 0)
        return oa_fail(k->student->context, OA_ARGUMENT,
                       "train.label_smoothing = %g cannot be combined with distil.teacher, whose "
                       "probabilities are the targets; use 0",
                       b->train_label_smoothing);
    if (b->distil_learn == OA_LEARN_OUTPUT)
        return b->distil_soft + b->distil_hard > 0
                   ? OA_OK
                   : oa_fail(k->student->context, OA_ARGUMENT,
                             "distil.soft and distil.hard are both 0: nothing is learned");
    if (a->model_layers != b->model_layers)
        return refuse_pair(k, "model.layers", a->model_layers, b->model_layers);
    return a->model_width == b->model_width
               ? OA_OK
               : refuse_pair(k, "model.width", a->model_width, b->model_width);
}

/* ---- layers ---- */

/* Both are used in turn by the layers of a model. */
static bool same_attention(const struct oa_spec *a, const struct oa_spec *b, long layer)
{
    return oa_layer_same_function(&a->layer[layer % a->layers], &b->layer[layer % b->layers]);
}

static enum oa_error find_replaced(struct oa_teacher *k)
{
    const struct oa_stack *ours = oa_model_stack(k->student), *theirs = oa_model_stack(k->model);
    oa_context *c = k->student->context;
    k->replaced = oa_alloc(c, (size_t)ours->shape.layers * sizeof *k->replaced);
    if (!k->replaced)
        return OA_NO_MEMORY;
    for (long i = 0; i < ours->shape.layers; i++) {
        k->replaced[i] = !same_attention(ours->shape.attention, theirs->shape.attention, i);
        k->replacements += k->replaced[i];
    }
    if (k->replacements)
        return oa_status(c);
    return oa_fail(
        c, OA_ARGUMENT,
        "distil.learn = attention: every layer has the attention of the teacher, \"%s\"; "
        "give another one",
        k->model->options.model_attention);
}

/* Patterns of the parameters of these layers, for train.only; "" where there is none. */
static enum oa_error name_replaced_layers(oa_context *c, struct oa_options *o,
                                          const struct oa_model_form *form)
{
    struct oa_pretrained files;
    struct oa_options theirs;
    struct oa_model_form other;
    struct oa_stack_specs a = { 0 }, b = { 0 };
    struct oa_text names;
    unsigned has = oa_form_stacks(form);
    enum oa_stack_role role = form->decoder ? OA_STACK_DECODER : OA_STACK_ENCODER;
    oa_options_default(&theirs);
    OA_TRY(teacher_find(c, o->distil_teacher, &files));
    OA_TRY(oa_config_load(c, files.config, &theirs, &other));
    oa_text_init(&names, c);
    enum oa_error e = oa_stacks_parse(c, o->model_attention, has, &a);
    if (e == OA_OK)
        e = oa_stacks_parse(c, theirs.model_attention, oa_form_stacks(&other), &b);
    for (long i = 0; e == OA_OK && i < o->model_layers; i++)
        if (!same_attention(&a.spec[role], &b.spec[role], i))
            oa_text_printf(&names, "%s*.%ld.attention.*", names.length ? "," : "", i);
    if (e == OA_OK)
        e = oa_options_set(c, o, "train.only", names.length ? names.s : "");
    oa_text_free(&names);
    oa_stacks_free(&a);
    oa_stacks_free(&b);
    return e;
}

enum oa_error oa_teacher_first_stage(oa_context *c, struct oa_options *o,
                                     const struct oa_model_form *form, bool *any)
{
    o->distil_learn = OA_LEARN_ATTENTION;
    o->train_steps = o->distil_attention_steps;
    o->train_lr = o->distil_attention_lr;
    o->train_seconds = 0;
    o->train_average = 0;
    o->train_keep_best = false;
    o->train_patience = 0;
    if (o->train_warmup > o->train_steps / 10)
        o->train_warmup = o->train_steps / 10;
    OA_TRY(name_replaced_layers(c, o, form));
    *any = o->train_only[0] != 0;
    return OA_OK;
}

/* ---- the output of a layer ---- */

/* weight·‖mine − theirs‖²/‖theirs‖², and its gradient. */
static double learn_output(oa_tape *t, oa_tensor *mine, const oa_tensor *theirs, double weight)
{
    struct oa_device *d = t->device;
    long n = theirs->rows * theirs->ld;
    void *a = oa_tape_take(t, (size_t)n * d->numbers.real_size),
         *b = oa_tape_take(t, (size_t)n * d->numbers.real_size),
         *gradient = oa_tape_take(t, (size_t)n * d->numbers.act_size);
    if (!a || !b || !gradient)
        return 0;
    d->ops->real_from_act(d, n, mine->data, a);
    d->ops->real_from_act(d, n, theirs->data, b);
    double size = d->ops->sum_squares(d, n, b);
    if (!(size > 0) && !d->dry)
        return 0;
    d->ops->axpy(d, n, -1, b, a);
    double error = d->ops->sum_squares(d, n, a);
    d->ops->axpby(d, n, 0, b, d->dry ? 1 : 2 * weight / size, a);
    d->ops->act_from_real(d, n, a, gradient);
    mine->gradient = gradient;
    return d->dry ? 0 : weight * error / size;
}

/* The teacher's input is the student's, which gets no gradient. */
static void learn_layer(void *argument, const struct oa_stack *s, const struct oa_layer *l,
                        const struct oa_layer_input *in, const oa_tensor *y)
{
    struct oa_teacher *k = argument;
    oa_tape *t = k->learning;
    long layer = l->group->layer;
    (void)s;
    if (!t || !k->replaced[layer])
        return;
    oa_tape_reset(t, true, true, oa_stream_child(k->stream, (uint64_t)layer));
    oa_tape_at(t, oa_model_stack(k->student)->shape.role, "attention", (int)layer);
    struct oa_layer_input mine = *in;
    mine.x = oa_tensor_from(t, in->x->data, in->x->rows, in->x->cols, in->x->ld, false);
    mine.dropout = k->student->options.model_attention_dropout;
    oa_tensor *output =
        mine.x ? oa_layer_forward(t, &oa_model_stack(k->student)->block[layer].attention, &mine)
               : NULL;
    if (!output)
        return;
    k->loss += learn_output(t, output, y, k->share / k->replacements);
    oa_tape_backward(t);
}

static double attention_loss(struct oa_teacher *k, oa_tape *t, const struct oa_batch *batch,
                             double share)
{
    k->learning = t;
    k->stream = t->step;
    k->share = share;
    k->loss = 0;
    oa_model_batch_hidden(&k->tape, k->model, batch);
    k->learning = NULL;
    oa_tape_reset(t, true, true, k->stream);
    return k->loss;
}

/* ---- the output of the model ---- */

static double output_loss(struct oa_teacher *k, oa_tape *t, const struct oa_batch *batch,
                          double scale)
{
    const struct oa_options *o = &k->student->options;
    oa_tensor *hidden = oa_model_batch_hidden(&k->tape, k->model, batch);
    if (hidden && k->model->form.output == OA_OUTPUT_CLASSES)
        hidden =
            oa_model_pool(&k->tape, k->model, hidden, batch->rows, batch->length, batch->lengths);
    struct oa_soft_targets soft = { .x = oa_model_head(&k->tape, k->model, hidden),
                                    .w = k->model->output,
                                    .b = k->model->output_bias,
                                    .cap = k->model->options.model_output_cap,
                                    .hard = o->distil_hard,
                                    .soft = o->distil_soft };
    return scale * oa_model_taught_loss(t, k->student, batch, scale, &soft);
}

double oa_teacher_loss(struct oa_teacher *k, oa_tape *t, const struct oa_batch *batch, double scale,
                       double share)
{
    oa_tape_reset(&k->tape, false, false, (struct oa_stream){ 0 });
    return k->student->options.distil_learn == OA_LEARN_ATTENTION
               ? attention_loss(k, t, batch, share)
               : output_loss(k, t, batch, scale);
}

/* ---- opening and closing ---- */

enum oa_error oa_teacher_open(struct oa_model *student, const struct oa_tokenizer *tokenizer,
                              struct oa_teacher *out)
{
    *out = (struct oa_teacher){ .student = student };
    if (!student->options.distil_teacher[0])
        return OA_OK;
    oa_tape_init(&out->tape, student->device);
    OA_TRY(teacher_open_model(out, tokenizer));
    OA_TRY(teacher_check_pair(out));
    if (student->options.distil_learn == OA_LEARN_OUTPUT)
        return OA_OK;
    out->hook = (struct oa_attention_hook){ learn_layer, out };
    out->model->hook = &out->hook;
    return find_replaced(out);
}

void oa_teacher_close(struct oa_teacher *k)
{
    if (k->student && k->student->options.distil_teacher[0])
        oa_tape_free(&k->tape);
    oa_model_close(k->model);
    oa_free(k->replaced);
    *k = (struct oa_teacher){ 0 };
}

enum oa_error oa_teacher_digest(oa_context *c, const struct oa_options *o, struct oa_digest *out)
{
    struct oa_pretrained files;
    *out = (struct oa_digest){ 0 };
    if (!o->distil_teacher[0])
        return OA_OK;
    OA_TRY(teacher_find(c, o->distil_teacher, &files));
    return oa_digest_of_file(c, files.model, out);
}
