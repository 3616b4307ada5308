/* SPDX-License-Identifier: Apache-2.0
 * Whole models of every form: losses, outputs and gradients against those that PyTorch made in
 * float64 (tests/golden-tasks); that padding says nothing; what their files keep; what is refused.
 */
#include "base/safetensors.h"
#include "testing.h"

#include "model/model.h"

#include <math.h>
#include <stdio.h>

#define GOLDEN SOURCE_DIR "/tests/golden-tasks/"

static const char *const cases[] = { "translation",  "translation-post", "pairs",
                                     "classes-mean", "classes-last",     "number",
                                     "masked",       "language-post",    "patches" };
enum { CASES = sizeof cases / sizeof *cases, MOST = 64 };

struct golden {
    oa_context *c;
    const char *name;
    struct oa_tensors *file;
    struct oa_device *device;
    struct oa_options options;
    struct oa_model_form form;
    struct oa_model *model;
    oa_tape tape;
    struct oa_batch batch;
    int32_t ids[8][MOST]; /* of the batch */
    uint8_t pixels[MOST];
    double value[MOST];
};

static void assert_ok(oa_context *c, const char *what)
{
    const char *sentence;
    if (oa_last_error(c, &sentence) != OA_OK)
        fail_msg("%s: %s", what, sentence);
}

/* ---- a case ---- */

static const int32_t *numbers(struct golden *g, const char *name, int slot)
{
    char whole[64];
    snprintf(whole, sizeof whole, "batch.%s", name);
    const struct oa_array *a = oa_tensors_find(g->file, whole);
    long count = 1;
    if (!a)
        return NULL;
    for (int i = 0; i < a->dims; i++)
        count *= a->dim[i];
    assert_true(count <= MOST);
    for (long i = 0; i < count; i++)
        g->ids[slot][i] = (int32_t)oa_array_value(a, (size_t)i);
    return g->ids[slot];
}

static const uint8_t *read_pixels(struct golden *g)
{
    const int32_t *read = numbers(g, "pixels", 7);
    for (int i = 0; read && i < MOST; i++)
        g->pixels[i] = (uint8_t)read[i];
    return read ? g->pixels : NULL;
}

static void read_batch(struct golden *g)
{
    const struct oa_array *input = oa_tensors_find(g->file, "batch.input"),
                          *source = oa_tensors_find(g->file, "batch.source"),
                          *value = oa_tensors_find(g->file, "batch.value");
    g->batch = (struct oa_batch){ .rows = (int)input->dim[0],
                                  .length = (int)input->dim[1],
                                  .source_length = source ? (int)source->dim[1] : 0,
                                  .input = numbers(g, "input", 0),
                                  .target = numbers(g, "target", 1),
                                  .lengths = numbers(g, "lengths", 2),
                                  .segments = numbers(g, "segments", 3),
                                  .source = numbers(g, "source", 4),
                                  .source_lengths = numbers(g, "source_lengths", 5),
                                  .label = numbers(g, "label", 6),
                                  .pixels = read_pixels(g) };
    for (int i = 0; value && i < g->batch.rows; i++)
        g->value[i] = oa_array_value(value, (size_t)i);
    g->batch.value = value ? g->value : NULL;
}

static void read_options(struct golden *g)
{
    const struct oa_option_row *row;
    oa_options_default(&g->options);
    for (int i = 0; (row = oa_option_at(i)); i++) {
        char key[64];
        snprintf(key, sizeof key, "%s.%s", row->section, row->name);
        const char *value = oa_tensors_metadata(g->file, key);
        if (value)
            assert_int_equal(oa_options_set(g->c, &g->options, key, value), OA_OK);
    }
    assert_true(oa_architecture_parse(oa_tensors_metadata(g->file, "architecture"), &g->form));
    assert_true(oa_output_parse(oa_tensors_metadata(g->file, "output"), &g->form.output));
    g->form.vocabulary = strtol(oa_tensors_metadata(g->file, "vocabulary"), NULL, 10);
    g->form.classes = strtol(oa_tensors_metadata(g->file, "classes"), NULL, 10);
    g->form.segments = strcmp(oa_tensors_metadata(g->file, "segments"), "true") == 0;
    const char *patch = oa_tensors_metadata(g->file, "patch");
    g->form.patch = patch ? strtol(patch, NULL, 10) : 0;
}

/* Every trained tensor of the model is in the file, with its shape; what is frozen the model makes
 * itself. */
static void read_weights(struct golden *g)
{
    int trained = 0;
    for (int i = 0; i < g->model->store.count; i++) {
        const struct oa_parameter *p = g->model->store.parameter[i];
        const struct oa_array *a = oa_tensors_find(g->file, p->name);
        struct oa_view v;
        if (!p->trainable)
            continue;
        if (!a || a->dim[0] != p->dim[0] || (long)(a->bytes / sizeof(double)) != p->count)
            fail_msg("%s: %s is not in the file as the model has it", g->name, p->name);
        void *host = oa_view_open(&v, g->device, p->value,
                                  (size_t)p->count * g->device->numbers.real_size, OA_VIEW_WRITE);
        for (long k = 0; k < p->count; k++)
            oa_real_set(g->device, host, k, oa_array_value(a, (size_t)k));
        oa_view_close(&v);
        trained++;
    }
    for (int i = 0; i < oa_tensors_count(g->file); i++)
        trained -= strncmp(oa_tensors_at(g->file, i)->name, "gradient.", 9) == 0;
    assert_int_equal(trained, 0);
    oa_store_refresh_all(&g->model->store);
}

static void open_golden(struct golden *g, const char *name, enum oa_precision p, int threads)
{
    char path[200];
    memset(g, 0, sizeof *g);
    g->name = name;
    g->c = oa_open(&(struct oa_settings){ .threads = threads });
    snprintf(path, sizeof path, GOLDEN "%s.safetensors", name);
    oa_tensors_open(g->c, path, &g->file);
    assert_ok(g->c, name);
    read_options(g);
    oa_device_open(g->c, p, false, &g->device);
    oa_model_open(g->device, &g->options, &g->form, true, &g->model);
    assert_ok(g->c, name);
    oa_tape_init(&g->tape, g->device);
    read_weights(g);
    read_batch(g);
}

static void close_golden(struct golden *g)
{
    oa_tape_free(&g->tape);
    oa_model_close(g->model);
    oa_device_close(g->device);
    oa_tensors_close(g->file);
    oa_close(g->c);
}

static double loss(struct golden *g, bool train)
{
    oa_tape_reset(&g->tape, train, train, oa_stream_named(1, "step"));
    double sum = oa_model_loss(&g->tape, g->model, &g->batch, 1);
    assert_ok(g->c, g->name);
    return sum;
}

static double training_step(struct golden *g)
{
    oa_store_zero_gradients(&g->model->store);
    double sum = loss(g, true);
    oa_tape_backward(&g->tape);
    assert_ok(g->c, g->name);
    return sum;
}

/* ---- against PyTorch ---- */

static const struct oa_array *expected(const struct golden *g, const char *kind, const char *name)
{
    char whole[200];
    snprintf(whole, sizeof whole, "%s.%s", kind, name);
    return oa_tensors_find(g->file, whole);
}

static void assert_near(const struct golden *g, const char *what, double got, double want,
                        double tolerance)
{
    if (!(fabs(got - want) <= tolerance * (1 + fabs(want))))
        fail_msg("%s: %s is %.17g, PyTorch has %.17g", g->name, what, got, want);
}

static void check_gradients(const struct golden *g, double tolerance)
{
    for (int i = 0; i < g->model->store.count; i++) {
        const struct oa_parameter *p = g->model->store.parameter[i];
        struct oa_view v;
        if (!p->trainable)
            continue;
        const struct oa_array *want = expected(g, "gradient", p->name);
        const void *host =
            oa_view_open(&v, g->device, p->gradient,
                         (size_t)p->count * g->device->numbers.real_size, OA_VIEW_READ);
        for (long k = 0; k < p->count; k++)
            assert_near(g, p->name, oa_real_get(g->device, host, k),
                        oa_array_value(want, (size_t)k), tolerance);
        oa_view_close(&v);
    }
}

static void check_outputs(struct golden *g, double tolerance)
{
    const struct oa_array *want = expected(g, "expected", "outputs");
    double out[MOST];
    if (!want)
        return;
    oa_tape_reset(&g->tape, false, false, (struct oa_stream){ 0 });
    assert_int_equal(oa_model_outputs(&g->tape, g->model, &g->batch, out), OA_OK);
    for (long i = 0; i < want->dim[0] * want->dim[1]; i++)
        assert_near(g, "an output", out[i], oa_array_value(want, (size_t)i), tolerance);
}

static void check_golden(const char *name, enum oa_precision p, double tolerance)
{
    static struct golden g;
    open_golden(&g, name, p, 2);
    assert_near(&g, "the loss", loss(&g, false),
                oa_array_value(expected(&g, "expected", "loss"), 0), tolerance);
    assert_near(&g, "the training loss", training_step(&g),
                oa_array_value(expected(&g, "expected", "training_loss"), 0), tolerance);
    check_gradients(&g, tolerance);
    check_outputs(&g, tolerance);
    close_golden(&g);
}

static void equal_pytorch_in_f64(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++)
        check_golden(cases[i], OA_PRECISION_F64, 1e-12);
}

static void equal_pytorch_in_f32(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++)
        check_golden(cases[i], OA_PRECISION_F32, 1e-4);
}

/* ---- padding ---- */

/* Other ids behind the true lengths. */
static void change_padding(struct golden *g)
{
    for (int b = 0; b < g->batch.rows; b++) {
        for (int i = g->batch.lengths[b]; i < g->batch.length; i++)
            g->ids[0][b * g->batch.length + i] =
                (g->ids[0][b * g->batch.length + i] + 3) % (int32_t)g->form.vocabulary;
        for (int i = g->batch.source ? g->batch.source_lengths[b] : 0; i < g->batch.source_length;
             i++)
            g->ids[4][b * g->batch.source_length + i] ^= 1;
    }
}

static void read_gradients(const struct golden *g, void *out)
{
    const struct oa_store *s = &g->model->store;
    g->device->ops->download(g->device, (size_t)s->updated * g->device->numbers.real_size,
                             s->gradients, out);
}

/* Bits: of the loss and of all gradients. */
static void padding_changes_no_result(void **state)
{
    static struct golden g;
    static const enum oa_precision precisions[] = { OA_PRECISION_F64, OA_PRECISION_F32,
                                                    OA_PRECISION_BF16 };
    (void)state;
    for (int i = 0; i < CASES * 3; i++) {
        open_golden(&g, cases[i / 3], precisions[i % 3], 1 + i % 2);
        size_t bytes = (size_t)g.model->store.updated * g.device->numbers.real_size;
        char *first = calloc(2, bytes);
        double before = training_step(&g);
        read_gradients(&g, first);
        change_padding(&g);
        assert_true(training_step(&g) == before);
        read_gradients(&g, first + bytes);
        assert_memory_equal(first, first + bytes, bytes);
        free(first);
        close_golden(&g);
    }
}

/* ---- word numbers ---- */

/* They reach the layers: the same tokens in other words give another loss. */
static void check_words(const char *name, const char *attention)
{
    static struct golden g;
    static const int32_t words[2][21] = {
        { 0, 0, 1, 1, 2, 2, 3, 0, 1, 1, 2, 3, 3, 4, 0, 0, 1, 1, 1, 2, 2 },
        { 0, 1, 1, 1, 2, 3, 3, 0, 0, 0, 1, 2, 2, 3, 0, 0, 1, 1, 1, 2, 2 }
    };
    double sum[2];
    open_golden(&g, name, OA_PRECISION_F64, 1);
    struct oa_options o = g.options;
    struct oa_model *m;
    snprintf(o.model_attention, sizeof o.model_attention, "%s", attention);
    oa_model_open(g.device, &o, &g.form, false, &m);
    assert_ok(g.c, name);
    for (int i = 0; i < 2; i++) {
        g.batch.source_words = g.batch.words = words[i];
        oa_tape_reset(&g.tape, false, false, (struct oa_stream){ 0 });
        sum[i] = oa_model_loss(&g.tape, m, &g.batch, 1);
        assert_ok(g.c, name);
    }
    assert_true(sum[0] != sum[1]);
    oa_model_close(m);
    close_golden(&g);
}

static void words_reach_the_encoder(void **state)
{
    (void)state;
    check_words("masked", "pattern(previous, unit=word)");
    check_words("translation", "encoder: pattern(previous, unit=word)");
}

/* ---- plans ---- */

/* A step on the plan device, which is given shapes, takes the memory of a real one in which every
 * token is a target. */
static size_t memory_of(struct golden *g, struct oa_device *d, struct oa_model *m,
                        const struct oa_batch *b)
{
    oa_tape t;
    oa_tape_init(&t, d);
    oa_tape_reset(&t, true, true, oa_stream_named(1, "step"));
    oa_store_zero_gradients(&m->store);
    oa_model_loss(&t, m, b, 1);
    oa_tape_backward(&t);
    assert_ok(g->c, g->name);
    size_t bytes = t.arena.peak + m->store.arena.peak + d->scratch.peak;
    oa_tape_free(&t);
    return bytes;
}

static void plans_know_the_memory(void **state)
{
    static struct golden g;
    (void)state;
    for (int i = 0; i < CASES; i++) {
        struct oa_device *plan;
        struct oa_model *m;
        open_golden(&g, cases[i], OA_PRECISION_F32, 1);
        struct oa_batch shape = { .rows = g.batch.rows,
                                  .length = g.batch.length,
                                  .source_length = g.batch.source_length };
        for (int k = 0; k < g.batch.rows * g.batch.length; k++)
            g.ids[1][k] = 1;
        g.batch.lengths = g.batch.source_lengths = NULL;
        oa_device_open(g.c, OA_PRECISION_F32, true, &plan);
        oa_model_open(plan, &g.options, &g.form, true, &m);
        size_t planned = memory_of(&g, plan, m, &shape),
               taken = memory_of(&g, g.device, g.model, &g.batch);
        if (g.device->ops->shared) /* elsewhere what is lent is copied */
            assert_int_equal(planned, taken);
        oa_model_close(m);
        oa_device_close(plan);
        close_golden(&g);
    }
}

/* ---- files ---- */

static void assert_same_form(const struct oa_model_form *a, const struct oa_model_form *b)
{
    assert_int_equal(a->encoder, b->encoder);
    assert_int_equal(a->decoder, b->decoder);
    assert_int_equal(a->output, b->output);
    assert_int_equal(a->vocabulary, b->vocabulary);
    assert_int_equal(a->classes, b->classes);
    assert_int_equal(a->segments, b->segments);
}

static void check_file(struct golden *g)
{
    static const char model[] = "test_forms.safetensors", config[] = "test_forms.json",
                      checkpoint[] = "test_forms_checkpoint.safetensors";
    struct oa_tokenizer *tokenizer;
    struct oa_model_form form;
    struct oa_options options;
    struct oa_model *again, *mine = g->model;
    struct oa_progress progress = { .step = 1 };
    oa_tokenizer_open(g->c, "ids:11", NULL, NULL, &tokenizer);
    oa_model_save(g->model, tokenizer, model, true);
    oa_model_save_config(g->model, NULL, config);
    oa_checkpoint_save(g->model, &progress, checkpoint);
    oa_options_default(&options);
    oa_config_load(g->c, config, &options, &form);
    assert_ok(g->c, g->name);
    assert_same_form(&form, &g->model->form);
    oa_model_open_saved(g->device, model, &options, &form, tokenizer, &again);
    assert_ok(g->c, g->name);
    double before = loss(g, false);
    g->model = again;
    assert_true(loss(g, false) == before);
    g->model = mine;
    oa_model_close(again);
    form.segments = !form.segments; /* another model, if there is one */
    if (oa_check_form(g->c, &form, &options) == OA_OK)
        assert_int_not_equal(
            oa_model_open_saved(g->device, model, &options, &form, tokenizer, &again), OA_OK);
    oa_clear_error(g->c);
    oa_tokenizer_close(tokenizer);
    remove(model);
    remove(config);
    remove(checkpoint);
}

static void files_keep_the_form(void **state)
{
    static struct golden g;
    (void)state;
    for (int i = 0; i < CASES; i++) {
        open_golden(&g, cases[i], OA_PRECISION_F32, 1);
        check_file(&g);
        close_golden(&g);
    }
}

static enum oa_error accept_all(void *argument, const struct oa_progress *p)
{
    (void)argument, (void)p;
    return OA_OK;
}

/* One class and a number have the same tensors, and are not the same model. */
static void checkpoints_keep_the_form(void **state)
{
    static const char path[] = "test_forms_checkpoint.safetensors";
    static struct golden g;
    const char *sentence;
    struct oa_model *other;
    struct oa_progress p = { .step = 1 };
    (void)state;
    open_golden(&g, "classes-mean", OA_PRECISION_F32, 1);
    assert_int_equal(oa_checkpoint_save(g.model, &p, path), OA_OK);
    assert_int_equal(oa_checkpoint_load(g.model, &p, path, accept_all, NULL), OA_OK);
    struct oa_model_form form = g.form;
    form.classes = 3;
    oa_model_open(g.device, &g.options, &form, true, &other);
    assert_ok(g.c, "three classes");
    assert_int_not_equal(oa_checkpoint_load(other, &p, path, accept_all, NULL), OA_OK);
    oa_last_error(g.c, &sentence);
    assert_non_null(strstr(sentence, "classes = 4"));
    oa_model_close(other);
    close_golden(&g);
    remove(path);
}

/* A config.json that no program wrote. */
static void configurations_are_checked(void **state)
{
    static const char path[] = "test_forms.json";
    static const char *const wrong[][2] = {
        { "{\"architecture\": \"decodr\", \"vocabulary\": 5, \"options\": {}}",
          "\"encoder-decoder\"" },
        { "{\"architecture\": \"encoder\", \"output\": \"token\", \"vocabulary\": 5, \"options\": "
          "{}}",
          "\"number\"" },
        { "{\"architecture\": \"encoder\", \"output\": \"classes\", \"classes\": 2.5, "
          "\"vocabulary\": 5, \"options\": "
          "{}}",
          "\"classes\"" },
        { "{\"architecture\": \"encoder\", \"segments\": 1, \"vocabulary\": 5, \"options\": {}}",
          "\"segments\"" },
        { "{\"architecture\": \"encoder\", \"vocabulary\": 0, \"options\": {}}", "\"vocabulary\"" },
        { "{\"architecture\": \"encoder\", \"vocabulary\": 5}", "\"options\"" },
    };
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct oa_model_form form;
        struct oa_options o;
        const char *sentence;
        oa_options_default(&o);
        assert_int_equal(oa_file_write(c, path, wrong[i][0], strlen(wrong[i][0])), OA_OK);
        assert_int_equal(oa_config_load(c, path, &o, &form), OA_FORMAT);
        oa_last_error(c, &sentence);
        assert_non_null(strstr(sentence, wrong[i][1]));
        oa_clear_error(c);
    }
    remove(path);
    oa_close(c);
}

/* ---- refusals ---- */

static void check_refusal(oa_context *c, const struct oa_model_form *f, const char *key,
                          const char *value, const char *part)
{
    struct oa_options o;
    const char *sentence;
    oa_options_default(&o);
    if (key)
        assert_int_equal(oa_options_set(c, &o, key, value), OA_OK);
    assert_int_not_equal(oa_check_form(c, f, &o), OA_OK);
    oa_last_error(c, &sentence);
    if (!strstr(sentence, part))
        fail_msg("\"%s\" does not say \"%s\"", sentence, part);
    oa_clear_error(c);
}

static void options_without_effect_are_refused(void **state)
{
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    struct oa_model_form lm = oa_language_model_form(5), classes = {
        .encoder = true, .output = OA_OUTPUT_CLASSES, .vocabulary = 5, .classes = 2
    };
    struct oa_model_form number = classes, both = lm, causal = classes, single = classes;
    number.output = OA_OUTPUT_NUMBER;
    both.encoder = true;
    both.segments = true;
    causal.encoder = false;
    causal.decoder = true;
    single.classes = 1;
    (void)state;
    check_refusal(c, &lm, "model.pool", "mean", "model.pool = mean");
    check_refusal(c, &lm, "model.encoder_layers", "2", "model.encoder_layers = 2");
    check_refusal(c, &classes, "model.source_context", "9", "model.source_context = 9");
    check_refusal(c, &classes, "model.share_embeddings", "false", "model.share_embeddings = false");
    check_refusal(c, &number, "train.label_smoothing", "0.1", "train.label_smoothing = 0.1");
    check_refusal(c, &causal, NULL, NULL, "use last or mean");
    check_refusal(c, &both, NULL, NULL, "segments");
    check_refusal(c, &single, NULL, NULL, "at least 2 classes");
    oa_close(c);
}

static void check_bad_batch(struct golden *g, const char *part)
{
    const char *sentence;
    oa_tape_reset(&g->tape, false, false, (struct oa_stream){ 0 });
    oa_model_loss(&g->tape, g->model, &g->batch, 1);
    if (oa_last_error(g->c, &sentence) == OA_OK || !strstr(sentence, part))
        fail_msg("no refusal that says \"%s\"", part);
    oa_clear_error(g->c);
    read_batch(g);
}

static void batches_are_checked(void **state)
{
    static struct golden g;
    (void)state;
    open_golden(&g, "pairs", OA_PRECISION_F64, 1);
    g.ids[6][1] = 3;
    check_bad_batch(&g, "row 2 of a batch has class 3");
    g.ids[2][2] = 0;
    check_bad_batch(&g, "row 3 of a batch has a text of 0 tokens");
    g.batch.segments = NULL;
    check_bad_batch(&g, "segments");
    g.batch.length = 7;
    check_bad_batch(&g, "7 tokens");
    close_golden(&g);
    open_golden(&g, "translation", OA_PRECISION_F64, 1);
    g.batch.source_length = 8;
    check_bad_batch(&g, "8 tokens");
    close_golden(&g);
}

/* What only language models do. */
static void texts_are_scored_by_language_models(void **state)
{
    static struct golden g;
    const int32_t ids[] = { 1, 2, 3 };
    double nats[2];
    struct oa_decoding d;
    (void)state;
    for (int i = 0; i < CASES; i++) {
        open_golden(&g, cases[i], OA_PRECISION_F64, 1);
        bool language = strcmp(cases[i], "language-post") == 0,
             tokens = g.form.decoder && !g.form.classes;
        assert_int_equal(oa_model_score(&g.tape, g.model, ids, 3, nats) == OA_OK, language);
        oa_clear_error(g.c);
        assert_int_equal(oa_decoding_open(g.model, &d) == OA_OK, tokens);
        oa_decoding_close(&d);
        oa_clear_error(g.c);
        close_golden(&g);
    }
}

/* Deviations: of branches of post-norm 1/inputs, of embeddings that are scaled 1/width. */
static void initial_values_follow_the_options(void **state)
{
    static struct golden g;
    (void)state;
    open_golden(&g, "language-post", OA_PRECISION_F64, 1);
    assert_true(fabs(oa_store_find(&g.model->store, "decoder.layers.1.ffn.out.weight")->scale -
                     sqrt(1.0 / 12)) < 1e-15);
    assert_true(fabs(oa_store_find(&g.model->store, "embedding.weight")->scale - sqrt(1.0 / 8)) <
                1e-15);
    assert_true(fabs(oa_store_find(&g.model->store, "position.weight")->scale - sqrt(1.0 / 8)) <
                1e-15);
    close_golden(&g);
}

/* Nothing to predict: no loss, and nothing flows. */
static void a_batch_may_have_no_target(void **state)
{
    static struct golden g;
    (void)state;
    open_golden(&g, "masked", OA_PRECISION_F64, 1);
    for (int i = 0; i < g.batch.rows * g.batch.length; i++)
        g.ids[1][i] = OA_IGNORED;
    assert_true(training_step(&g) == 0);
    close_golden(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_pytorch_in_f64),
        cmocka_unit_test(equal_pytorch_in_f32),
        cmocka_unit_test(padding_changes_no_result),
        cmocka_unit_test(words_reach_the_encoder),
        cmocka_unit_test(plans_know_the_memory),
        cmocka_unit_test(files_keep_the_form),
        cmocka_unit_test(checkpoints_keep_the_form),
        cmocka_unit_test(configurations_are_checked),
        cmocka_unit_test(options_without_effect_are_refused),
        cmocka_unit_test(batches_are_checked),
        cmocka_unit_test(a_batch_may_have_no_target),
        cmocka_unit_test(initial_values_follow_the_options),
        cmocka_unit_test(texts_are_scored_by_language_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
