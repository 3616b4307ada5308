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
    if (e == OA_OK && !oa_tokenizers_agree(own, tokenizer))
        e = oa_fail(c, OA_ARGUMENT,
                    "distil.teacher: the teacher has another tokenizer; give data.tokenizer %s",
                    files.tokenizer);
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

/* What both read and write. */
static enum oa_error teacher_check_kind(const struct oa_teacher *k)
{
    const struct oa_model_form *f = &k->student->form, *g = &k->model->form;
    oa_context *c = k->student->context;
    struct oa_image ours = oa_form_image(f), theirs = oa_form_image(g);
    if (f->output == OA_OUTPUT_STATES || f->encoder != g->encoder || f->decoder != g->decoder ||
        g->output != f->output)
        return oa_fail(
            c, OA_UNSUPPORTED,
            "distil.teacher: a model learns from one of its own kind, but the teacher is "
            "\"%s\" with output \"%s\" and the student \"%s\" with output \"%s\"",
            oa_architecture_name(g), oa_output_name(g->output), oa_architecture_name(f),
            oa_output_name(f->output));
    if (f->patch != g->patch || (f->patch && memcmp(&ours, &theirs, sizeof ours) != 0))
        return oa_fail(c, OA_ARGUMENT,
                       "distil.teacher: the teacher and the student read other images, or one of "
                       "them reads none; give the same files and data.tokenizer");
    return f->output == OA_OUTPUT_CLASSES ? teacher_check_classes(k) : OA_OK;
}

/* Targets of encoder-decoders begin and end with tokens. */
static enum oa_error teacher_check_targets(const struct oa_teacher *k)
{
    const struct oa_options *a = &k->model->options, *b = &k->student->options;
    bool begin = strcmp(a->model_begin_token, b->model_begin_token) == 0;
    if (oa_model_source_context(a) < oa_model_source_context(b))
        return refuse_pair(k, "the context of sources (model.source_context)",
                           oa_model_source_context(a), oa_model_source_context(b));
    if (begin && strcmp(a->model_end_token, b->model_end_token) == 0)
        return OA_OK;
    return oa_fail(k->student->context, OA_ARGUMENT,
                   "distil.teacher: model.%s_token is \"%s\" in the teacher and \"%s\" here; give "
                   "the same",
                   begin ? "end" : "begin", begin ? a->model_end_token : a->model_begin_token,
                   begin ? b->model_end_token : b->model_begin_token);
}

static const struct oa_stack *stack_with(const struct oa_model *m, enum oa_stack_role role)
{
    return role == OA_STACK_ENCODER ? &m->encoder : &m->decoder;
}

/* Layers are compared one by one. */
static enum oa_error teacher_check_layers(const struct oa_teacher *k)
{
    static const char *const names[] = { "the number of layers of the encoder",
                                         "the number of layers of the decoder" };
    for (enum oa_stack_role role = OA_STACK_ENCODER; role <= OA_STACK_DECODER; role++) {
        long theirs = stack_with(k->model, role)->shape.layers,
             ours = stack_with(k->student, role)->shape.layers;
        bool both = k->student->form.encoder && k->student->form.decoder;
        if (theirs != ours)
            return refuse_pair(k, both ? names[role] : "model.layers", theirs, ours);
    }
    long theirs = k->model->options.model_width, ours = k->student->options.model_width;
    return theirs == ours ? OA_OK : refuse_pair(k, "model.width", theirs, ours);
}

static enum oa_error teacher_check_pair(const struct oa_teacher *k)
{
    const struct oa_options *a = &k->model->options, *b = &k->student->options;
    OA_TRY(teacher_check_kind(k));
    if (k->model->vocabulary != k->student->vocabulary)
        return refuse_pair(k, "model.vocabulary", k->model->vocabulary, k->student->vocabulary);
    if (a->model_context < b->model_context)
        return refuse_pair(k, "model.context", a->model_context, b->model_context);
    if (k->student->form.encoder && k->student->form.decoder)
        OA_TRY(teacher_check_targets(k));
    if (b->distil_learn == OA_LEARN_ATTENTION)
        return teacher_check_layers(k);
    if (b->train_label_smoothing > 0)
        return oa_fail(k->student->context, OA_ARGUMENT,
                       "train.label_smoothing = %g cannot be combined with distil.teacher, whose "
                       "probabilities are the targets; use 0",
                       b->train_label_smoothing);
    return b->distil_soft + b->distil_hard > 0
               ? OA_OK
               : oa_fail(k->student->context, OA_ARGUMENT,
                         "distil.soft and distil.hard are both 0: nothing is learned");
}

/* ---- layers ---- */

/* Both are used in turn by the layers of a model. */
static bool same_attention(const struct oa_spec *a, const struct oa_spec *b, long layer)
{
    return oa_layer_same_function(&a->layer[layer % a->layers], &b->layer[layer % b->layers]);
}

static enum oa_error find_replaced(struct oa_teacher *k)
{
    const struct oa_stack_specs *ours = &k->student->attention, *theirs = &k->model->attention;
    oa_context *c = k->student->context;
    for (enum oa_stack_role role = OA_STACK_ENCODER; role < OA_STACK_ROLES; role++) {
        long layers = stack_with(k->student, role)->shape.layers;
        if (!(ours->has & OA_STACK(role)))
            continue;
        bool *replaced = k->replaced[role] = oa_alloc(c, (size_t)layers * sizeof *replaced);
        if (!replaced)
            return OA_NO_MEMORY;
        for (long i = 0; i < layers; i++) {
            replaced[i] = !same_attention(&ours->spec[role], &theirs->spec[role], i);
            k->replacements += replaced[i];
        }
    }
    if (k->replacements)
        return oa_status(c);
    return oa_fail(
        c, OA_ARGUMENT,
        "distil.learn = attention: every layer has the attention of the teacher, \"%s\"; "
        "give another one",
        k->model->options.model_attention);
}

/* Adds patterns of the parameters of the layers of one stack, or of its cross-attention: one, where
 * all are replaced. */
static void name_layers_of(const struct oa_stack_specs *ours, const struct oa_stack_specs *theirs,
                           enum oa_stack_role role, long layers, struct oa_text *out)
{
    const char *stack = role == OA_STACK_ENCODER ? "encoder" : "decoder",
               *kind = role == OA_STACK_CROSS ? "cross_attention" : "attention";
    const struct oa_spec *a = &ours->spec[role], *b = &theirs->spec[role];
    long replaced = 0;
    for (long i = 0; i < layers; i++)
        replaced += !same_attention(a, b, i);
    if (replaced == layers)
        oa_text_printf(out, "%s%s.layers.*.%s.*", out->length ? "," : "", stack, kind);
    for (long i = 0; replaced < layers && i < layers; i++)
        if (!same_attention(a, b, i))
            oa_text_printf(out, "%s%s.layers.%ld.%s.*", out->length ? "," : "", stack, i, kind);
}

/* Patterns of the parameters of the layers with another attention, for train.only; "" where there
 * is none. */
static enum oa_error name_replaced_layers(oa_context *c, struct oa_options *o,
                                          const struct oa_model_form *form)
{
    struct oa_pretrained files;
    struct oa_options theirs;
    struct oa_model_form other;
    struct oa_stack_specs a = { 0 }, b = { 0 };
    struct oa_text names;
    unsigned has = oa_form_stacks(form);
    oa_options_default(&theirs);
    OA_TRY(teacher_find(c, o->distil_teacher, &files));
    OA_TRY(oa_config_load(c, files.config, &theirs, &other));
    oa_text_init(&names, c);
    enum oa_error e = oa_stacks_parse(c, o->model_attention, has, &a);
    if (e == OA_OK)
        e = oa_stacks_parse(c, theirs.model_attention, oa_form_stacks(&other), &b);
    if (e == OA_OK && b.has != has)
        e = oa_fail(c, OA_UNSUPPORTED,
                    "distil.teacher: a model learns from one of its own kind, but the teacher is "
                    "\"%s\" and the student \"%s\"",
                    oa_architecture_name(&other), oa_architecture_name(form));
    for (enum oa_stack_role role = OA_STACK_ENCODER; e == OA_OK && role < OA_STACK_ROLES; role++) {
        bool own = role == OA_STACK_ENCODER && o->model_encoder_layers;
        if (has & OA_STACK(role))
            name_layers_of(&a, &b, role, own ? o->model_encoder_layers : o->model_layers, &names);
    }
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

static oa_tensor *without_gradient(oa_tape *t, const oa_tensor *x)
{
    return x ? oa_tensor_from(t, x->data, x->rows, x->cols, x->ld, false) : NULL;
}

/* What a cross-attention makes of the padding of a target is no part of its loss; in other layers
 * it is 0. */
static oa_tensor *without_padding(oa_tape *t, oa_tensor *y, const struct oa_layer_input *in)
{
    if (!y || !in->memory || !in->query_lengths)
        return y;
    return oa_select_rows(
        t, y, in->queries,
        oa_tape_upload(t, in->query_lengths, (size_t)in->batch * sizeof *in->query_lengths));
}

/* The number of an attention layer among all of the student. */
static uint64_t layer_place(const struct oa_teacher *k, enum oa_stack_role role, long layer)
{
    long encoder = k->student->encoder.shape.layers, decoder = k->student->decoder.shape.layers;
    return (uint64_t)(layer + (role != OA_STACK_ENCODER ? encoder : 0) +
                      (role == OA_STACK_CROSS ? decoder : 0));
}

/* The teacher's input is the student's, which gets no gradient. */
static void learn_layer(void *argument, const struct oa_stack *s, const struct oa_layer *l,
                        const struct oa_layer_input *in, const oa_tensor *y)
{
    struct oa_teacher *k = argument;
    oa_tape *t = k->learning;
    long layer = l->group->layer;
    enum oa_stack_role role = in->memory                ? OA_STACK_CROSS
                              : s == &k->model->encoder ? OA_STACK_ENCODER
                                                        : OA_STACK_DECODER;
    if (!t || !k->replaced[role][layer])
        return;
    const struct oa_stack *own = stack_with(k->student, role);
    const struct oa_block *block = &own->block[layer];
    oa_tape_reset(t, true, true, oa_stream_child(k->stream, layer_place(k, role, layer)));
    oa_tape_at(t, own->shape.role, in->memory ? "cross_attention" : "attention", (int)layer);
    struct oa_layer_input mine = *in;
    mine.x = without_gradient(t, in->x);
    mine.memory = without_gradient(t, in->memory);
    mine.dropout = k->student->options.model_attention_dropout;
    oa_tensor *output =
        mine.x ? oa_layer_forward(t, in->memory ? &block->cross : &block->attention, &mine) : NULL;
    output = without_padding(t, output, in);
    const oa_tensor *theirs = without_padding(t, without_gradient(t, y), in);
    if (!output || !theirs)
        return;
    k->loss += learn_output(t, output, theirs, k->share / k->replacements);
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

static double probability_loss(struct oa_teacher *k, oa_tape *t, const struct oa_batch *batch,
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

/* With m the mean of the label v and the teacher's number z', by their weights,
 *
 *     hard·(z − v)² + soft·(z − z')² = (hard + soft)·(z − m)² + hard·soft/(hard + soft)·(v − z')²
 */
static double number_loss(struct oa_teacher *k, oa_tape *t, const struct oa_batch *batch,
                          double scale)
{
    const struct oa_options *o = &k->student->options;
    double hard = o->distil_hard, soft = o->distil_soft, weight = hard + soft, rest = 0;
    size_t bytes = (size_t)batch->rows * sizeof(double);
    double *theirs = oa_tape_take_host(&k->tape, bytes), *mean = oa_tape_take_host(&k->tape, bytes);
    struct oa_batch mixed = *batch;
    if (!theirs || !mean || oa_model_outputs(&k->tape, k->model, batch, theirs) != OA_OK)
        return 0;
    for (int i = 0; batch->value && i < batch->rows; i++) { /* a plan has no values */
        double apart = batch->value[i] - theirs[i];
        mean[i] = (hard * batch->value[i] + soft * theirs[i]) / weight;
        rest += hard * soft / weight * apart * apart;
        mixed.value = mean;
    }
    return scale * (weight * oa_model_loss(t, k->student, &mixed, weight * scale) + rest);
}

double oa_teacher_loss(struct oa_teacher *k, oa_tape *t, const struct oa_batch *batch, double scale,
                       double share)
{
    oa_tape_reset(&k->tape, false, false, (struct oa_stream){ 0 });
    if (k->student->options.distil_learn == OA_LEARN_ATTENTION)
        return attention_loss(k, t, batch, share);
    return k->student->form.output == OA_OUTPUT_NUMBER ? number_loss(k, t, batch, scale)
                                                       : probability_loss(k, t, batch, scale);
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
    out->tape.hook = &out->hook;
    return find_replaced(out);
}

void oa_teacher_close(struct oa_teacher *k)
{
    if (k->student && k->student->options.distil_teacher[0])
        oa_tape_free(&k->tape);
    oa_model_close(k->model);
    for (int role = 0; role < OA_STACK_ROLES; role++)
        oa_free(k->replaced[role]);
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
