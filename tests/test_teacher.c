/* SPDX-License-Identifier: Apache-2.0
 * Learning from another run: the loss of an output layer against loops in double; the gradients of
 * both losses against differences; losses that are known because student and teacher are the same
 * function; runs that go on with the same bits; refusals. */
#include "base/safetensors.h"
#include "compare/comparison.h"
#include "model/pretrained.h"
#include "setups.h"
#include "train/initial.h"
#include "train/teacher.h"
#include "train/train.h"

#include <math.h>
#include <string.h>

static char *own;
static char error[1024];

static void is_near(double x, double wanted, double tolerance)
{
    if (!(fabs(x - wanted) <= tolerance))
        fail_msg("%.17g instead of %.17g", x, wanted);
}

static struct oa_options with_attention(const char *attention, long steps)
{
    struct oa_options o = small_model("text.txt", steps);
    set_option(&o, "model.attention", attention);
    set_option(&o, "train.precision", "f64");
    set_option(&o, "train.schedule", "constant");
    o.model_layers = 3;
    o.train_batch = 3;
    o.train_eval_every = 0;
    o.train_final_tokens = 200;
    o.train_warmup = 0;
    return o;
}

static enum oa_error try_train(const struct oa_options *o, const char *folder, bool resume,
                               double *loss)
{
    struct oa_workload w = { 0 };
    struct oa_run run = { 0 };
    oa_context *c = oa_open(NULL);
    struct oa_train_request r = {
        .options = o, .workload = &w, .folder = folder, .resume = resume, .keep = true
    };
    enum oa_error e = oa_workload_open(c, o, &w);
    if (e == OA_OK)
        e = oa_train_run(c, &r, &run);
    const char *why;
    oa_last_error(c, &why);
    snprintf(error, sizeof error, "%s", e == OA_OK ? "" : why);
    *loss = run.points ? run.curve[0].train_loss : NAN; /* of the first step */
    oa_run_free(&run);
    oa_workload_close(&w);
    oa_close(c);
    return e;
}

static double train(const struct oa_options *o, const char *folder, bool resume)
{
    double loss;
    if (try_train(o, folder, resume, &loss) != OA_OK)
        fail_msg("%s: %s", folder, error);
    return loss;
}

static int make_teacher(void **state)
{
    (void)state;
    own = enter_own_folder();
    if (!own || write_foxes_and_cats("text.txt", 100) != 0)
        return -1;
    struct oa_options o = with_attention("softmax", 60);
    o.train_lr = 5e-3;
    train(&o, "teacher", false);
    return 0;
}

static int remove_teacher(void **state)
{
    (void)state;
    return leave_own_folder(own);
}

static struct oa_options student(const char *attention, const char *learn, long steps)
{
    struct oa_options o = with_attention(attention, steps);
    set_option(&o, "train.init", "teacher");
    set_option(&o, "distil.teacher", "teacher");
    set_option(&o, "distil.learn", learn);
    return o;
}

/* ---- the loss of an output layer ---- */

enum { ROWS = 4, D = 5, E = 3, V = 7 };
static const int32_t target[ROWS] = { 2, -1, 6, 0 };

struct output {
    oa_context *c;
    struct oa_device *d;
    struct oa_store store;
    oa_tape tape;
    double x[ROWS * D], other[ROWS * E];
    struct oa_parameter *w, *b, *w2, *b2;
};

static struct oa_parameter *add_normal(struct output *o, const char *name, long rows, long cols)
{
    struct oa_parameter p = { .dims = cols ? 2 : 1,
                              .dim = { rows, cols },
                              .trainable = true,
                              .matrix = cols > 0,
                              .init = OA_INIT_NORMAL,
                              .scale = 1 };
    snprintf(p.name, sizeof p.name, "%s", name);
    return oa_store_add(&o->store, &p);
}

static void open_output(struct output *o)
{
    *o = (struct output){ .c = oa_open(NULL) };
    assert_int_equal(oa_device_open(o->c, OA_PRECISION_F64, false, &o->d), OA_OK);
    oa_store_init(&o->store, o->d);
    o->w = add_normal(o, "w", V, D);
    o->b = add_normal(o, "b", V, 0);
    o->w2 = add_normal(o, "w2", V, E);
    o->b2 = add_normal(o, "b2", V, 0);
    assert_int_equal(oa_store_allocate(&o->store, 3, true), OA_OK);
    oa_tape_init(&o->tape, o->d);
    struct oa_stream s = oa_stream_named(5, "rows");
    for (int i = 0; i < ROWS * D; i++)
        o->x[i] = oa_random_normal(s, (uint64_t)i);
    for (int i = 0; i < ROWS * E; i++)
        o->other[i] = oa_random_normal(s, (uint64_t)(1000 + i));
}

static void close_output(struct output *o)
{
    oa_tape_free(&o->tape);
    oa_store_free(&o->store);
    oa_device_close(o->d);
    oa_close(o->c);
}

/* Capped logits and probabilities of a row. */
static void row_of(const double *x, long width, const struct oa_parameter *w,
                   const struct oa_parameter *b, double cap, double z[V], double p[V])
{
    double sum = 0;
    for (int v = 0; v < V; v++) {
        z[v] = ((double *)b->value)[v];
        for (long j = 0; j < width; j++)
            z[v] += ((double *)w->value)[v * width + j] * x[j];
        z[v] = cap > 0 ? cap * tanh(z[v] / cap) : z[v];
        sum += exp(z[v]);
    }
    for (int v = 0; v < V; v++)
        p[v] = exp(z[v]) / sum;
}

static void check_output(double cap, double soft_cap, double hard, double soft)
{
    struct output o;
    const double scale = 0.3;
    double want = 0, dx[ROWS * D] = { 0 }, dw[V * D] = { 0 }, db[V] = { 0 };
    open_output(&o);
    for (int i = 0; i < ROWS; i++) {
        double z[V], p[V], y[V], q[V];
        if (target[i] < 0)
            continue;
        row_of(o.x + i * D, D, o.w, o.b, cap, z, p);
        row_of(o.other + i * E, E, o.w2, o.b2, soft_cap, y, q);
        want -= hard * log(p[target[i]]);
        for (int v = 0; v < V; v++) {
            want += soft * q[v] * (log(q[v]) - log(p[v]));
            double dz = hard * (p[v] - (v == target[i])) + soft * (p[v] - q[v]);
            dz *= scale * (cap > 0 ? 1 - z[v] * z[v] / (cap * cap) : 1);
            db[v] += dz;
            for (int j = 0; j < D; j++) {
                dx[i * D + j] += dz * ((double *)o.w->value)[v * D + j];
                dw[v * D + j] += dz * o.x[i * D + j];
            }
        }
    }
    oa_store_zero_gradients(&o.store);
    oa_tape_reset(&o.tape, true, true, oa_stream_named(5, "step"));
    oa_tensor *in = oa_tensor_from(&o.tape, o.x, ROWS, D, D, true);
    struct oa_soft_targets s = { .x = oa_tensor_from(&o.tape, o.other, ROWS, E, E, false),
                                 .w = o.w2,
                                 .b = o.b2,
                                 .cap = soft_cap,
                                 .hard = hard,
                                 .soft = soft };
    struct oa_targets t = { .id = target, .cap = cap, .scale = scale, .soft = &s };
    is_near(oa_linear_loss_op(&o.tape, in, o.w, o.b, &t), want, 1e-12);
    for (int i = 0; i < ROWS * D; i++)
        is_near(((double *)in->gradient)[i], dx[i], 1e-13);
    for (int i = 0; i < V * D; i++)
        is_near(((double *)o.w->gradient)[i], dw[i], 1e-13);
    for (int v = 0; v < V; v++)
        is_near(((double *)o.b->gradient)[v], db[v], 1e-13);
    close_output(&o);
}

static void output_layer(void **state)
{
    (void)state;
    check_output(0, 0, 0, 1);
    check_output(0, 0, 0.3, 0.7);
    check_output(2, 0, 0.3, 0.7);
    check_output(0, 1.5, 0, 1);
    check_output(1.5, 2.5, 1, 2);
}

/* ---- gradients ---- */

struct learning {
    oa_context *c;
    struct oa_device *d;
    struct oa_workload w;
    struct oa_model *m;
    struct oa_teacher k;
    struct oa_batches *batches;
    struct oa_batch batch;
    oa_tape tape;
};

static void open_learning(struct learning *l, const struct oa_options *o)
{
    *l = (struct learning){ .c = oa_open(NULL) };
    struct oa_initial start;
    assert_int_equal(oa_workload_open(l->c, o, &l->w), OA_OK);
    assert_int_equal(oa_device_open(l->c, OA_PRECISION_F64, false, &l->d), OA_OK);
    assert_int_equal(oa_model_open(l->d, o, &l->w.form, true, &l->m), OA_OK);
    assert_int_equal(oa_initial_open(l->m, &l->w, true, &start), OA_OK);
    assert_int_equal(oa_transfer_copy(&start.transfer), OA_OK);
    oa_initial_close(&start);
    assert_int_equal(oa_teacher_open(l->m, l->w.tokenizer, &l->k), OA_OK);
    assert_int_equal(l->w.task->batches(l->c, o, &l->w, OA_TRAINING, 1, &l->batches), OA_OK);
    assert_int_equal(oa_batches_random(l->batches, 1, 1, 0, &l->batch), OA_OK);
    oa_tape_init(&l->tape, l->d);
}

static void close_learning(struct learning *l)
{
    oa_tape_free(&l->tape);
    oa_batches_close(l->batches);
    oa_teacher_close(&l->k);
    oa_model_close(l->m);
    oa_device_close(l->d);
    oa_workload_close(&l->w);
    oa_close(l->c);
}

static double loss_of(struct learning *l, bool backward)
{
    oa_store_refresh_all(&l->m->store);
    oa_store_zero_gradients(&l->m->store);
    oa_tape_reset(&l->tape, true, true, oa_stream_named(1, "step"));
    double loss = oa_teacher_loss(&l->k, &l->tape, &l->batch, 0.01, 0.5);
    if (backward)
        oa_tape_backward(&l->tape);
    assert_int_equal(oa_status(l->c), OA_OK);
    return loss;
}

/* Of the largest gradients of each tensor; others that are trained have none. */
static int check_gradients(struct learning *l, const char *part, const char *but)
{
    const double h = 1e-5;
    int checked = 0;
    assert_true(loss_of(l, true) > 0);
    double *all = malloc((size_t)l->m->store.live * sizeof *all);
    memcpy(all, l->m->store.gradients, (size_t)l->m->store.live * sizeof *all);
    for (int i = 0; i < l->m->store.count; i++) {
        const struct oa_parameter *p = l->m->store.parameter[i];
        if (!p->trainable)
            continue;
        const double *g = all + ((double *)p->gradient - (double *)l->m->store.gradients);
        long at = 0;
        for (long j = 0; j < p->count; j++)
            at = fabs(g[j]) > fabs(g[at]) ? j : at;
        double *value = (double *)p->value + at, was = *value;
        *value = was + h;
        double up = loss_of(l, false);
        *value = was - h;
        double slope = (up - loss_of(l, false)) / (2 * h);
        *value = was;
        if (!(fabs(slope - g[at]) <= 1e-6 * fabs(slope) + 1e-9))
            fail_msg("%s: gradient %g instead of %g", p->name, g[at], slope);
        assert_int_equal(g[at] != 0, strstr(p->name, part) && !strstr(p->name, but));
        checked += g[at] != 0;
    }
    free(all);
    return checked;
}

static void gradients_of_attention(void **state)
{
    (void)state;
    struct oa_options o =
        student("hedgehog ; softmax ; local(window=3):1 | orthogonal", "attention", 1);
    struct learning l;
    open_learning(&l, &o);
    assert_int_equal(l.k.replacements, 2);
    assert_true(check_gradients(&l, ".attention.", ".1.attention.") >= 10);
    close_learning(&l);
}

static void gradients_of_the_output(void **state)
{
    (void)state;
    struct oa_options o = student("hedgehog ; softmax", "output", 1);
    struct learning l;
    open_learning(&l, &o);
    check_gradients(&l, "", "nothing");
    close_learning(&l);
}

/* ---- runs ---- */

/* A window as long as the context: each layer's output is the teacher's, and so are the
 * probabilities. What is left is the cross-entropy of the text, which a run that goes on has. */
static void the_same_function_has_nothing_to_learn(void **state)
{
    (void)state;
    struct oa_options o = student("local(window=16)", "attention", 1);
    assert_true(train(&o, "same", false) < 1e-25);
    remove_folder("same");
    o = student("local(window=16)", "output", 1);
    o.distil_hard = 0;
    assert_true(fabs(train(&o, "same", false)) < 1e-13);
    remove_folder("same");
    o.distil_hard = 0.5;
    double half = train(&o, "same", false);
    remove_folder("same");
    set_option(&o, "distil.teacher", "");
    double whole = train(&o, "same", false);
    is_near(half, whole / 2, 1e-12);
    remove_folder("same");
}

static struct oa_options masked(const char *attention)
{
    struct oa_options o = with_attention(attention, 2);
    set_option(&o, "data.task", "mlm");
    set_option(&o, "model.head", "gelu-exact");
    set_option(&o, "model.head_norm", "true");
    return o;
}

/* As above, of masked tokens and with a layer before the output. */
static void a_teacher_with_a_head(void **state)
{
    (void)state;
    struct oa_options o = masked("softmax");
    train(&o, "headed", false);
    o = masked("local(window=16)");
    set_option(&o, "train.init", "headed");
    set_option(&o, "distil.teacher", "headed");
    o.train_steps = 1;
    o.distil_hard = 0;
    assert_true(fabs(train(&o, "same", false)) < 1e-13);
    remove_folder("same");
    set_option(&o, "model.attention", "hedgehog");
    assert_true(train(&o, "other", false) > 1e-6);
    remove_folder("other");
    remove_folder("headed");
}

static void write_rows(const char *path, const char *other)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 90; i++)
        fprintf(f, "%s\t%s %c%c\n", i % 3 ? i % 3 == 1 ? "cat" : other : "ant",
                i % 3 ? i % 3 == 1 ? "mew" : "purr" : "fizz", 'a' + i % 7, 'a' + i % 5);
    assert_int_equal(fclose(f), 0);
}

static struct oa_options classes(const char *attention)
{
    struct oa_options o = with_attention(attention, 2);
    set_option(&o, "data.task", "classify");
    set_option(&o, "data.train", "rows.tsv");
    set_option(&o, "data.tokenizer", "byte");
    set_option(&o, "model.pool", "mean");
    set_option(&o, "model.head", "tanh");
    return o;
}

/* As above, of classes, in both stages. */
static void a_teacher_of_classes(void **state)
{
    (void)state;
    write_rows("rows.tsv", "dog");
    struct oa_options o = classes("softmax");
    train(&o, "classes", false);
    o = classes("local(window=16)");
    set_option(&o, "train.init", "classes");
    set_option(&o, "distil.teacher", "classes");
    o.train_steps = 1;
    o.distil_hard = 0;
    assert_true(fabs(train(&o, "same", false)) < 1e-13);
    remove_folder("same");
    o.distil_hard = 0.5;
    double half = train(&o, "same", false);
    remove_folder("same");
    set_option(&o, "distil.teacher", "");
    is_near(half, train(&o, "same", false) / 2, 1e-12);
    remove_folder("same");
    set_option(&o, "distil.teacher", "classes");
    set_option(&o, "distil.learn", "attention");
    assert_true(train(&o, "same", false) < 1e-25);
    remove_folder("same");
    set_option(&o, "model.attention", "hedgehog");
    assert_true(train(&o, "other", false) > 1e-3);
    remove_folder("other");
    write_rows("rows.tsv", "yak");
    double loss;
    assert_int_not_equal(try_train(&o, "x", false, &loss), OA_OK);
    assert_non_null(strstr(error, "class 3 is \"dog\" in the teacher and \"yak\" here"));
    remove_folder("classes");
}

static void only_new_layers_change(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_tensors *was, *is;
    struct oa_options o = student("softmax ; hedgehog ; softmax", "attention", 5);
    struct oa_model_form form = { .decoder = true };
    struct oa_options alike = student("softmax", "output", 5);
    bool any;
    o.distil_attention_steps = 5;
    o.distil_attention_lr = 2e-3;
    o.train_warmup = 3;
    o.train_steps = 70;
    assert_int_equal(oa_teacher_first_stage(c, &o, &form, &any), OA_OK);
    assert_true(any);
    assert_string_equal(o.train_only, "decoder.layers.1.attention.*");
    assert_int_equal(o.train_steps, 5);
    assert_int_equal(o.train_warmup, 0);
    assert_true(o.train_lr == 2e-3 && o.distil_learn == OA_LEARN_ATTENTION);
    assert_int_equal(oa_teacher_first_stage(c, &alike, &form, &any), OA_OK);
    assert_false(any);
    train(&o, "only", false);
    assert_int_equal(oa_tensors_open(c, "teacher/model.safetensors", &was), OA_OK);
    assert_int_equal(oa_tensors_open(c, "only/model.safetensors", &is), OA_OK);
    for (int i = 0; i < oa_tensors_count(was); i++) {
        const struct oa_array *a = oa_tensors_at(was, i), *b = oa_tensors_find(is, a->name);
        bool changes = strstr(a->name, ".1.attention.") != NULL;
        assert_int_equal(memcmp(a->data, b->data, a->bytes) != 0, changes);
    }
    oa_tensors_close(was);
    oa_tensors_close(is);
    oa_close(c);
    remove_folder("only");
}

static void both_stages_resume(void **state)
{
    (void)state;
    static const char *const learn[] = { "attention", "output" };
    for (int i = 0; i < 2; i++) {
        struct oa_options o = student("hedgehog ; local(window=2)", learn[i], 7);
        o.train_accumulate = 2;
        o.model_dropout = o.model_attention_dropout = 0.1;
        train(&o, "whole", false);
        o.train_steps = 3;
        train(&o, "part", false);
        o.train_steps = 7;
        train(&o, "part", true);
        shell("cmp whole/model.safetensors part/model.safetensors");
        shell("cp -r teacher other && sed -i 's/x/x/' other/config.json");
        struct oa_options p = with_attention("softmax", 2);
        remove_folder("other");
        train(&p, "other", false);
        set_option(&o, "distil.teacher", "other");
        o.train_steps = 8;
        double loss;
        assert_int_not_equal(try_train(&o, "part", true, &loss), OA_OK);
        assert_non_null(strstr(error, "another teacher (distil.teacher)"));
        remove_folder("whole");
        remove_folder("part");
        remove_folder("other");
    }
}

/* The plan opens a teacher, too: its memory, and the work of its pass. */
static void plans_with_a_teacher(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_workload w = { 0 };
    struct oa_plan alone, output, attention;
    struct oa_options o = student("hedgehog", "output", 1);
    assert_int_equal(oa_workload_open(c, &o, &w), OA_OK);
    assert_int_equal(oa_plan_workload(c, &o, &w, &output), OA_OK);
    set_option(&o, "distil.learn", "attention");
    set_option(&o, "train.only", "*.attention.*");
    assert_int_equal(oa_plan_workload(c, &o, &w, &attention), OA_OK);
    set_option(&o, "distil.teacher", "");
    set_option(&o, "train.only", "");
    assert_int_equal(oa_plan_workload(c, &o, &w, &alone), OA_OK);
    /* a pass forward is about a third of a step, of softmax less than that; values are f64 */
    assert_true(output.flops > 1.15 * alone.flops && output.flops < 1.4 * alone.flops);
    assert_true(attention.flops < alone.flops);
    assert_true(output.memory_parameters > alone.memory_parameters + 8 * 3 * 12 * 16 * 16);
    assert_true(attention.memory_activations < alone.memory_activations / 2);
    oa_workload_close(&w);
    oa_close(c);
}

static void expect_refusal(const struct oa_options *o, const char *part)
{
    double loss;
    assert_int_not_equal(try_train(o, "x", false, &loss), OA_OK);
    if (!strstr(error, part))
        fail_msg("\"%s\" does not contain \"%s\"", error, part);
    assert_int_not_equal(access("x", F_OK), 0);
}

static void teacher_refusals(void **state)
{
    (void)state;
    struct oa_options o = student("softmax", "attention", 1);
    expect_refusal(&o, "every layer has the attention of the teacher");
    o = student("softmax(init=haar) ; softmax", "attention", 1);
    expect_refusal(&o, "every layer has the attention of the teacher");
    o = student("hedgehog", "attention", 1);
    o.model_layers = 2;
    expect_refusal(&o, "model.layers is 3 in the teacher and 2 here");
    o = student("hedgehog", "attention", 1);
    o.model_context = 32;
    expect_refusal(&o, "model.context is 16 in the teacher and 32 here");
    o = student("hedgehog", "output", 1);
    o.train_label_smoothing = 0.1;
    expect_refusal(&o, "train.label_smoothing = 0.1 cannot be combined");
    o = student("hedgehog", "output", 1);
    o.distil_soft = o.distil_hard = 0;
    expect_refusal(&o, "nothing is learned");
    o = student("hedgehog", "output", 1);
    set_option(&o, "train.init", "");
    set_option(&o, "data.tokenizer", "byte");
    expect_refusal(&o, "another tokenizer");
    o = student("hedgehog", "output", 1);
    set_option(&o, "distil.teacher", "nowhere");
    expect_refusal(&o, "distil.teacher = nowhere: no such run");
}

/* ---- encoder-decoders, images, numbers ---- */

static void write_pairs(const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 60; i++)
        fprintf(f, "%c%c%.*s\t%.*s%c\n", 'a' + i % 7, 'a' + i % 5, i % 4, "xyz", i % 6, "zyxwv",
                'a' + i % 7);
    assert_int_equal(fclose(f), 0);
}

static struct oa_options of_kind(const char *task, const char *data, const char *attention)
{
    struct oa_options o = with_attention(attention, 2);
    set_option(&o, "data.task", task);
    set_option(&o, "data.train", data);
    set_option(&o, "data.tokenizer", "byte");
    return o;
}

static struct oa_options pairs(const char *attention)
{
    struct oa_options o = of_kind("translate", "pairs.tsv", attention);
    o.model_encoder_layers = 2;
    o.train_batch = 5; /* rows of different lengths: with padding */
    return o;
}

static struct oa_options learning_from(struct oa_options o, const char *teacher, const char *learn)
{
    set_option(&o, "train.init", teacher);
    set_option(&o, "distil.teacher", teacher);
    set_option(&o, "distil.learn", learn);
    o.train_steps = 1;
    return o;
}

/* All three kinds of layers have the same function, and then another one. */
static void a_teacher_with_an_encoder(void **state)
{
    (void)state;
    static const char alike[] = "encoder: local(window=16) & decoder: local(window=16)",
                      other[] =
                          "encoder: softmax ; hedgehog & decoder: softmax ; hedgehog & cross: "
                          "softmax ; softmax ; linear";
    write_pairs("pairs.tsv");
    struct oa_options o = pairs("softmax");
    train(&o, "pairs", false);
    o = learning_from(pairs(alike), "pairs", "attention");
    assert_true(train(&o, "same", false) < 1e-25);
    remove_folder("same");
    o = learning_from(pairs(alike), "pairs", "output");
    o.distil_hard = 0;
    assert_true(fabs(train(&o, "same", false)) < 1e-13);
    remove_folder("same");
    struct learning l;
    o = learning_from(pairs(other), "pairs", "attention");
    set_option(&o, "train.only",
               "encoder.layers.1.attention.*, decoder.layers.1.attention.*, "
               "decoder.layers.2.cross_attention.*");
    open_learning(&l, &o);
    assert_int_equal(l.k.replacements, 3);
    assert_int_equal(check_gradients(&l, "attention.", "nothing"), 4 + 2 + 4 + 2 + 4);
    close_learning(&l);
    o = learning_from(pairs(other), "pairs", "output");
    open_learning(&l, &o);
    check_gradients(&l, "", "nothing");
    close_learning(&l);
}

/* What a decoder's row has after its end is no part of what cross-attention learns. */
static void padding_of_targets_does_not_matter(void **state)
{
    (void)state;
    struct oa_options o = learning_from(pairs("cross: linear"), "pairs", "attention");
    struct learning l;
    open_learning(&l, &o);
    double before = loss_of(&l, false);
    int padded = 0;
    int32_t *input = (int32_t *)(uintptr_t)l.batch.input;
    assert_non_null(l.batch.lengths);
    for (int i = 0; i < l.batch.rows; i++)
        for (int j = l.batch.lengths[i]; j < l.batch.length; j++, padded++)
            input[i * l.batch.length + j] = 'q';
    assert_true(padded > 0);
    assert_true(loss_of(&l, false) == before);
    close_learning(&l);
}

static void only_layers_of_a_stack_change(void **state)
{
    (void)state;
    oa_context *c = oa_open(NULL);
    struct oa_tensors *was, *is;
    struct oa_options o = learning_from(
        pairs("encoder: hedgehog & decoder: softmax & cross: softmax ; linear ; softmax"), "pairs",
        "attention");
    const struct oa_model_form form = { .encoder = true, .decoder = true };
    bool any;
    o.distil_attention_steps = 3;
    assert_int_equal(oa_teacher_first_stage(c, &o, &form, &any), OA_OK);
    assert_string_equal(o.train_only,
                        "encoder.layers.*.attention.*,decoder.layers.1.cross_attention.*");
    train(&o, "only", false);
    assert_int_equal(oa_tensors_open(c, "pairs/model.safetensors", &was), OA_OK);
    assert_int_equal(oa_tensors_open(c, "only/model.safetensors", &is), OA_OK);
    for (int i = 0; i < oa_tensors_count(was); i++) {
        const struct oa_array *a = oa_tensors_at(was, i), *b = oa_tensors_find(is, a->name);
        bool changes = (strstr(a->name, "encoder.layers.") && strstr(a->name, ".attention.")) ||
                       strstr(a->name, "decoder.layers.1.cross_attention.");
        assert_int_equal(memcmp(a->data, b->data, a->bytes) != 0, changes);
    }
    oa_tensors_close(was);
    oa_tensors_close(is);
    oa_close(c);
    remove_folder("only");
    o = learning_from(pairs("hedgehog"), "pairs", "attention");
    o.model_encoder_layers = 1;
    expect_refusal(&o, "the number of layers of the encoder is 2 in the teacher and 1 here");
    o = learning_from(pairs("hedgehog"), "pairs", "attention");
    o.model_layers = 2;
    expect_refusal(&o, "the number of layers of the decoder is 3 in the teacher and 2 here");
    o = learning_from(pairs("hedgehog"), "pairs", "output");
    set_option(&o, "train.init", "");
    o.model_source_context = 32;
    expect_refusal(&o, "the context of sources (model.source_context) is 16 in the teacher and 32 "
                       "here");
    o.model_source_context = 12; /* more than any source has */
    assert_true(isfinite(train(&o, "short", false)));
    remove_folder("short");
    o = learning_from(pairs("hedgehog"), "pairs", "output");
    set_option(&o, "model.begin_token", "<b>");
    expect_refusal(&o, "model.begin_token is \"<s>\" in the teacher and \"<b>\" here");
    remove_folder("pairs");
}

static void write_pictures(const char *path)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    for (int i = 0; i < 20; i++) {
        assert_true(fputc(i % 2, f) == i % 2);
        for (int j = 0; j < 32 * 32; j++)
            assert_true(fputc(i % 2 ? (i * 37 + j) % 251 : (i * 11 + j / 32) % 241, f) != EOF);
    }
    assert_int_equal(fclose(f), 0);
}

static struct oa_options pictures(const char *attention, const char *tokenizer)
{
    struct oa_options o = of_kind("classify", "pictures.bin", attention);
    set_option(&o, "data.tokenizer", tokenizer);
    o.model_context = 32;
    return o;
}

static void a_teacher_of_images(void **state)
{
    (void)state;
    write_pictures("pictures.bin");
    struct oa_options o = pictures("softmax", "patch:8");
    train(&o, "images", false);
    o = learning_from(pictures("local(window=32)", "patch:8"), "images", "attention");
    assert_true(train(&o, "same", false) < 1e-25);
    remove_folder("same");
    o = learning_from(pictures("local(window=32)", "patch:8"), "images", "output");
    o.distil_hard = 0;
    assert_true(fabs(train(&o, "same", false)) < 1e-13);
    remove_folder("same");
    struct learning l;
    o = learning_from(pictures("hedgehog", "patch:8"), "images", "output");
    open_learning(&l, &o);
    check_gradients(&l, "", "nothing");
    close_learning(&l);
    o = learning_from(pictures("hedgehog", "patch:16"), "images", "output");
    set_option(&o, "train.init", "");
    expect_refusal(&o, "another tokenizer");
    remove_folder("images");
}

static void write_numbers(const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 40; i++)
        fprintf(f, "%.3f\t%c%.*s\n", 0.37 * (i % 9) - 1, 'a' + i % 7, i % 8, "mnopqrs");
    assert_int_equal(fclose(f), 0);
}

/* The loss by its definition, of the outputs of both models. */
static void a_teacher_of_numbers(void **state)
{
    (void)state;
    enum { MOST = 16 };
    write_numbers("numbers.tsv");
    struct oa_options o = of_kind("regress", "numbers.tsv", "softmax");
    train(&o, "numbers", false);
    o = learning_from(of_kind("regress", "numbers.tsv", "hedgehog"), "numbers", "output");
    o.distil_hard = 0.3;
    o.distil_soft = 0.8;
    struct learning l;
    open_learning(&l, &o);
    double ours[MOST], theirs[MOST], want = 0;
    assert_true(l.batch.rows <= MOST);
    double loss = loss_of(&l, false);
    oa_tape_reset(&l.tape, false, false, oa_stream_named(1, "outputs"));
    assert_int_equal(oa_model_outputs(&l.tape, l.m, &l.batch, ours), OA_OK);
    assert_int_equal(oa_model_outputs(&l.tape, l.k.model, &l.batch, theirs), OA_OK);
    for (int i = 0; i < l.batch.rows; i++)
        want +=
            0.01 * (0.3 * pow(ours[i] - l.batch.value[i], 2) + 0.8 * pow(ours[i] - theirs[i], 2));
    is_near(loss, want, 1e-14 * fabs(want) + 1e-15);
    check_gradients(&l, "", "nothing");
    close_learning(&l);
    o = learning_from(of_kind("regress", "numbers.tsv", "local(window=16)"), "numbers",
                      "attention");
    assert_true(train(&o, "same", false) < 1e-25);
    remove_folder("same");
    o = of_kind("classify", "rows.tsv", "hedgehog");
    set_option(&o, "distil.teacher", "numbers");
    expect_refusal(&o, "with output \"number\"");
    remove_folder("numbers");
}

/* ---- progress of a comparison ---- */

enum { LINES = 64 };
struct progress {
    int count;
    char line[LINES][256];
};

static void watch_progress(void *argument, int level, const char *line)
{
    struct progress *p = argument;
    if (level == 1 && strstr(line, ", attention: step") && p->count < LINES)
        snprintf(p->line[p->count++], sizeof *p->line, "%s", line);
}

/* A line at the first and at the last step of each first stage, which softmax has not. */
static void the_first_stage_has_progress(void **state)
{
    (void)state;
    static const char *const attentions[] = { "softmax", "hedgehog" };
    struct progress seen = { 0 };
    struct oa_options o = student("softmax", "output", 4);
    struct oa_comparison k;
    oa_context *c = oa_open(
        &(struct oa_settings){ .threads = 1, .log = watch_progress, .log_argument = &seen });
    o.distil_attention_steps = 5;
    o.compare_seeds = 3;
    o.compare_jobs = 1;
    o.compare_uniform_baseline = false;
    struct oa_comparison_request r = {
        .options = &o, .attentions = attentions, .count = 2, .folder = "compared"
    };
    assert_int_equal(oa_comparison_run(c, &r, &k), OA_OK);
    int last = 0;
    for (int i = 0; i < seen.count; i++) {
        int ended, step, n = 0;
        if (sscanf(seen.line[i], "%d of 6 runs", &ended) != 1)
            fail_msg("%s", seen.line[i]);
        char *rest = strstr(seen.line[i], "; [");
        assert_non_null(rest);
        if (sscanf(rest, "; [%d/6] linear(map=hedgehog), attention: step %d/5,", &n, &step) != 2)
            fail_msg("%s", seen.line[i]);
        assert_int_equal(n, ended + 1);
        assert_int_equal(n % 2, 0);
        last += step == 5;
    }
    assert_int_equal(last, 3);
    oa_comparison_free(&k);
    oa_close(c);
    remove_folder("compared");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_layer),
        cmocka_unit_test(gradients_of_attention),
        cmocka_unit_test(gradients_of_the_output),
        cmocka_unit_test(the_same_function_has_nothing_to_learn),
        cmocka_unit_test(a_teacher_with_a_head),
        cmocka_unit_test(a_teacher_of_classes),
        cmocka_unit_test(only_new_layers_change),
        cmocka_unit_test(both_stages_resume),
        cmocka_unit_test(plans_with_a_teacher),
        cmocka_unit_test(teacher_refusals),
        cmocka_unit_test(a_teacher_with_an_encoder),
        cmocka_unit_test(padding_of_targets_does_not_matter),
        cmocka_unit_test(only_layers_of_a_stack_change),
        cmocka_unit_test(a_teacher_of_images),
        cmocka_unit_test(a_teacher_of_numbers),
        cmocka_unit_test(the_first_stage_has_progress),
    };
    return cmocka_run_group_tests(tests, make_teacher, remove_teacher);
}
