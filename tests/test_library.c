/* SPDX-License-Identifier: Apache-2.0
 * The library as programs use it: attention layers against the reference vectors of an independent
 * implementation, and a trained model that is opened, scored and stepped.
 */
#include "testing.h"

#include "base/base.h"
#include "base/safetensors.h"
#include "orthant/orthant.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- layers ---- */

#define GOLDEN SOURCE_DIR "/tests/golden"
enum { MOST = 4096, VECTORS = 144, FITTING = 138 }; /* the others: see fits() */

static const char *find_text(const struct oa_tensors *f, const char *key)
{
    const char *s = oa_tensors_metadata(f, key);
    return s ? s : "";
}

static long dim_of(const struct oa_tensors *f, const char *name, int i)
{
    const struct oa_array *a = oa_tensors_find(f, name);
    return a ? a->dim[i] : 0;
}

static double *read_reals(const struct oa_tensors *f, const char *name, double *out)
{
    const struct oa_array *a = oa_tensors_find(f, name);
    if (!a)
        return NULL;
    size_t count = a->bytes / oa_type_size(a->type);
    assert_true(count <= MOST);
    for (size_t i = 0; i < count; i++)
        out[i] = oa_array_value(a, i);
    return out;
}

/* A layer of a program knows no word numbers, is shaped by its form alone (head widths, no
 * statistics from a file), and has its fast transforms as signs, not as the matrices of these
 * files. */
static bool fits(oa_attention *a, const struct oa_tensors *f)
{
    struct oa_weights w;
    if (oa_tensors_find(f, "word_ids"))
        return false;
    for (int i = 0; oa_attention_weights(a, i, &w); i++) {
        const struct oa_array *stored = oa_tensors_find(f, w.name);
        if (!stored || stored->dims != w.dims ||
            memcmp(stored->dim, w.dim, (size_t)w.dims * sizeof *w.dim) != 0)
            return false;
    }
    return true;
}

static double distance(const double *a, const double *b, long n, double tiny)
{
    double apart = 0, size = 0;
    for (long i = 0; i < n; i++) {
        apart += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    return sqrt(apart) / (sqrt(size) + tiny);
}

static void expect_near(const struct oa_tensors *f, const char *file, const char *name,
                        const double *found)
{
    static double expected[MOST];
    char full[200];
    snprintf(full, sizeof full, "expect.%s", name);
    const struct oa_array *a = oa_tensors_find(f, full);
    if (!a)
        return;
    read_reals(f, full, expected);
    double apart =
        distance(found, expected, (long)(a->bytes / sizeof(double)), name[0] == 'g' ? 1e-3 : 1e-12);
    if (!(apart <= 1e-9))
        fail_msg("%s: %s differs by %g", file, name, apart);
}

static void read_weights(oa_attention *a, const struct oa_tensors *f)
{
    struct oa_weights w;
    for (int i = 0; oa_attention_weights(a, i, &w); i++)
        read_reals(f, w.name, w.value);
    oa_attention_changed(a);
    oa_attention_zero_gradients(a);
}

static void expect_gradients(oa_attention *a, const struct oa_tensors *f, const char *file)
{
    struct oa_weights w;
    char name[200];
    for (int i = 0; oa_attention_weights(a, i, &w); i++) {
        snprintf(name, sizeof name, "grad.%s", w.name);
        if (w.gradient)
            expect_near(f, file, name, w.gradient);
    }
}

static void run_vector(oa_attention *a, const struct oa_tensors *f, const char *file)
{
    static double x[MOST], memory[MOST], dy[MOST], y[MOST], dx[MOST], dmemory[MOST];
    struct oa_attention_input in = { .batch = dim_of(f, "x", 0),
                                     .tokens = dim_of(f, "x", 1),
                                     .x = read_reals(f, "x", x),
                                     .memory = read_reals(f, "memory", memory),
                                     .memory_tokens = dim_of(f, "memory", 1) };
    const struct oa_array *lengths = oa_tensors_find(f, "lengths");
    in.lengths = lengths ? lengths->data : NULL;
    read_weights(a, f);
    assert_int_equal(oa_attention_forward(a, &in, y), OA_OK);
    assert_int_equal(
        oa_attention_backward(a, read_reals(f, "dy", dy), dx, in.memory ? dmemory : NULL), OA_OK);
    expect_near(f, file, "y", y);
    expect_near(f, file, "grad.x", dx);
    expect_near(f, file, "grad.memory", dmemory);
    expect_gradients(a, f, file);
}

/* A layer whose tables are as long as those of the file: their length is not said there. NULL:
 * there is none. */
static oa_attention *open_fitting(oa_context *c, const struct oa_tensors *f,
                                  struct oa_attention_form *form)
{
    for (long longer = 0; longer < 8; longer++) {
        oa_attention *a = oa_attention_open(c, find_text(f, "spec"), form);
        oa_clear_error(c);
        if (a && fits(a, f))
            return a;
        oa_attention_close(a);
        form->length++;
        form->memory_length += form->cross;
    }
    return NULL;
}

/* Returns whether the vector fits a layer of a program. */
static bool try_vector(oa_context *c, const char *file)
{
    char path[512];
    struct oa_tensors *f;
    snprintf(path, sizeof path, GOLDEN "/%s", file);
    assert_int_equal(oa_tensors_open(c, path, &f), OA_OK);
    struct oa_attention_form form = { .width = dim_of(f, "x", 2),
                                      .heads = strtol(find_text(f, "heads"), NULL, 10),
                                      .length = dim_of(f, "x", 1),
                                      .memory_length = dim_of(f, "memory", 1),
                                      .causal = strcmp(find_text(f, "causal"), "true") == 0,
                                      .cross = oa_tensors_find(f, "memory") != NULL,
                                      .bias = oa_tensors_find(f, "output.bias") != NULL,
                                      .precision = "f64" };
    oa_attention *a = open_fitting(c, f, &form);
    if (a)
        run_vector(a, f, file);
    oa_attention_close(a);
    oa_tensors_close(f);
    return a != NULL;
}

static void reference_vectors(void **state)
{
    int files = 0, fitting = 0, crossed = 0;
    oa_context *c = oa_open(NULL);
    DIR *folder = opendir(GOLDEN);
    (void)state;
    assert_non_null(folder);
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        if (!strstr(e->d_name, ".safetensors"))
            continue;
        files++;
        bool fits_here = try_vector(c, e->d_name);
        fitting += fits_here;
        crossed += fits_here && strstr(e->d_name, "cross");
        if (!fits_here)
            printf("not a layer of a program: %s\n", e->d_name);
    }
    closedir(folder);
    printf("%d of %d vectors, %d of cross-attention\n", fitting, files, crossed);
    assert_int_equal(files, VECTORS);
    assert_int_equal(fitting, FITTING);
    oa_close(c);
}

/* A query that comes alone reads the memory that the first one read. */
static void cross_attention_steps(void **state)
{
    enum { TOKENS = 4, MEMORY = 6, WIDTH = 8 };
    static float x[TOKENS * WIDTH], memory[MEMORY * WIDTH], whole[TOKENS * WIDTH], y[WIDTH];
    oa_context *c = oa_open(NULL);
    (void)state;
    struct oa_attention_form form = {
        .width = WIDTH, .heads = 2, .length = TOKENS, .memory_length = MEMORY, .cross = 1
    };
    for (int i = 0; i < TOKENS * WIDTH; i++)
        x[i] = (float)sin(i);
    for (int i = 0; i < MEMORY * WIDTH; i++)
        memory[i] = (float)cos(3 * i);
    const int32_t length = MEMORY - 1;
    oa_attention *a = oa_attention_open(c, "softmax", &form);
    oa_attention_state *s = oa_attention_state_open(a);
    struct oa_attention_input in = {
        .batch = 1, .tokens = TOKENS, .x = x, .memory = memory, .memory_tokens = MEMORY
    };
    in.lengths = &length;
    assert_int_equal(oa_attention_forward(a, &in, whole), OA_OK);
    in.tokens = 1;
    for (int t = 0; t < TOKENS; t++) {
        in.x = x + (size_t)t * WIDTH;
        assert_int_equal(oa_attention_step(s, &in, y), OA_OK);
        for (int i = 0; i < WIDTH; i++)
            assert_true(fabsf(y[i] - whole[t * WIDTH + i]) < 1e-5F);
    }
    oa_attention_state_close(s);
    oa_attention_close(a);
    oa_close(c);
}

static void expect_refused(oa_context *c, enum oa_error found, enum oa_error code, const char *part)
{
    const char *sentence;
    assert_int_equal(found, code);
    assert_int_equal(oa_last_error(c, &sentence), code);
    if (!strstr(sentence, part))
        fail_msg("\"%s\" does not contain \"%s\"", sentence, part);
    oa_clear_error(c);
}

enum { PASS_TOKENS = 4, PASS_WIDTH = 8, PASS_COUNT = 2 * PASS_TOKENS * PASS_WIDTH };

static void draw_sines(float *x, float frequency)
{
    for (int i = 0; i < PASS_COUNT; i++)
        x[i] = sinf(frequency * (float)i);
}

/* dx of the layer's own pass, and the sum of all gradients of its parameters. */
static double own_gradients(oa_attention *a, const struct oa_attention_input *in, const float *dy,
                            float *dx)
{
    float y[PASS_COUNT];
    struct oa_weights w;
    double sum = 0;
    oa_attention_zero_gradients(a);
    assert_int_equal(oa_attention_forward(a, in, y), OA_OK);
    assert_int_equal(oa_attention_backward(a, dy, dx, NULL), OA_OK);
    for (int i = 0; oa_attention_weights(a, i, &w); i++)
        for (long j = 0; j < w.count; j++)
            sum += ((const float *)w.gradient)[j];
    return sum;
}

/* The caller's arrays are read during the forward call: they change before the backward call. */
static void passes_are_independent(void **state)
{
    static float x[2][PASS_COUNT], changing[PASS_COUNT], dy[PASS_COUNT], y[PASS_COUNT],
        dx[PASS_COUNT], expected[2][PASS_COUNT];
    int32_t lengths[2] = { PASS_TOKENS, 2 };
    oa_attention_pass *pass[2];
    double sums[2];
    oa_context *c = oa_open(NULL);
    (void)state;
    struct oa_attention_form form = { .width = PASS_WIDTH, .heads = 2, .length = PASS_TOKENS };
    oa_attention *a = oa_attention_open(c, "softmax", &form);
    draw_sines(dy, 3);
    for (int i = 0; i < 2; i++) {
        draw_sines(x[i], (float)i + 1);
        sums[i] = own_gradients(
            a, &(struct oa_attention_input){ 2, PASS_TOKENS, x[i], .lengths = lengths }, dy,
            expected[i]);
    }
    assert_true(fabs(sums[0] - sums[1]) > 1e-3);
    for (int i = 0; i < 2; i++) {
        pass[i] = oa_attention_pass_open(a);
        memcpy(changing, x[i], sizeof changing);
        struct oa_attention_input in = { 2, PASS_TOKENS, changing, .lengths = lengths };
        assert_int_equal(oa_attention_pass_forward(pass[i], &in, y), OA_OK);
    }
    lengths[1] = 1;
    memset(changing, 0, sizeof changing);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(oa_attention_pass_backward(pass[i], dy, dx, NULL), OA_OK);
        assert_memory_equal(dx, expected[i], sizeof dx);
    }
    expect_refused(c, oa_attention_pass_backward(pass[0], dy, dx, NULL), OA_ARGUMENT,
                   "needs a forward call");
    oa_attention_pass_close(pass[0]);
    oa_attention_pass_close(pass[1]);
    oa_attention_pass_close(NULL);
    oa_attention_close(a);
    oa_close(c);
}

static void misuse_is_refused(void **state)
{
    static float x[64];
    const int32_t beyond = 5;
    oa_context *c = oa_open(NULL);
    (void)state;
    struct oa_attention_form form = { .width = 8, .heads = 2, .length = 4, .memory_length = 3 };
    assert_null(oa_attention_open(c, "softmax", &form));
    expect_refused(c, OA_SHAPE, OA_SHAPE, "memory_length is");
    form.memory_length = 0;
    form.reserved[2] = 7;
    assert_null(oa_attention_open(c, "softmax", &form));
    expect_refused(c, OA_ARGUMENT, OA_ARGUMENT, "reserved[2] is 7");
    form.reserved[2] = 0;
    oa_attention *a = oa_attention_open(c, "softmax", &form);
    struct oa_attention_input in = {
        .batch = 1, .tokens = 4, .x = x, .memory = x, .memory_tokens = 4
    };
    expect_refused(c, oa_attention_forward(a, &in, x), OA_ARGUMENT, "self-attention has no memory");
    in.memory = NULL;
    in.lengths = &beyond;
    expect_refused(c, oa_attention_forward(a, &in, x), OA_SHAPE, "length 5");
    in.lengths = NULL;
    in.reserved[0] = 1;
    expect_refused(c, oa_attention_forward(a, &in, x), OA_ARGUMENT, "oa_attention_input");
    oa_attention_close(a);
    oa_config *config = oa_config_new(c);
    const struct oa_generate_request request = { .reserved = { [2] = 1 } };
    expect_refused(c, oa_generate(config, "nowhere", &request, NULL), OA_ARGUMENT,
                   "oa_generate_request");
    oa_config_free(config);
    oa_close(c);
}

/* ---- a trained model ---- */

static char folder[] = "library.XXXXXX", text[64], run[64];
static oa_context *context;
static oa_language_model *model;

/* A small run on `data`, with a tokenizer for it. */
static enum oa_error train_on(const char *data, const char *tokenizer, const char *out)
{
    const char *const settings[][2] = { { "model.layers", "2" }, { "model.width", "16" },
                                        { "model.heads", "2" },  { "model.context", "24" },
                                        { "train.steps", "30" }, { "train.batch", "4" },
                                        { "data.train", data },  { "data.tokenizer", tokenizer } };
    oa_config *config = oa_config_new(context);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        oa_config_set(config, settings[i][0], settings[i][1]);
    enum oa_error e = oa_train(config, out, 0, NULL, NULL);
    oa_config_free(config);
    return e;
}

static int train(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(text, sizeof text, "%s/text.txt", folder);
    snprintf(run, sizeof run, "%s/run", folder);
    FILE *f = fopen(text, "w");
    for (int i = 0; i < 150; i++)
        fprintf(f, "the %s saw %d of them\n", i % 3 ? "cat" : "dog", i * 7 % 10);
    fclose(f);
    context = oa_open(NULL);
    enum oa_error e = train_on(text, "char", run);
    model = oa_language_model_open(context, run);
    return e == OA_OK && model ? 0 : -1;
}

static int clean(void **state)
{
    char command[100];
    (void)state;
    oa_language_model_close(model);
    oa_close(context);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 ? 0 : -1;
}

static size_t encode(const char *what, int32_t *ids, size_t room)
{
    size_t count;
    assert_int_equal(oa_language_model_encode(model, what, strlen(what), ids, room, &count), OA_OK);
    return count;
}

static void ids_and_tokens(void **state)
{
    int32_t ids[64];
    struct oa_language_model_shape shape;
    char back[64] = "";
    size_t length, count = encode("the cat", ids, 64), needed;
    (void)state;
    oa_language_model_describe(model, &shape);
    assert_int_equal(count, 7);
    assert_int_equal(shape.context, 24);
    assert_int_equal(shape.layers, 2);
    assert_string_equal(shape.attention, "softmax");
    for (size_t i = 0; i < count; i++) {
        const char *bytes = oa_language_model_token(model, ids[i], &length);
        strncat(back, bytes, length);
    }
    assert_string_equal(back, "the cat");
    assert_null(oa_language_model_token(model, (int32_t)shape.vocabulary, &length));
    expect_refused(context, oa_language_model_encode(model, "the cat", 7, ids, 3, &needed),
                   OA_SHAPE, "room for 3");
    assert_int_equal(needed, 7);
}

/* −log of the probability that the logits give a token. */
static double surprise(const float *logits, long n, int32_t token)
{
    double sum = 0;
    for (long i = 0; i < n; i++)
        sum += exp((double)logits[i]);
    return log(sum) - (double)logits[token];
}

/* Scored at once, or token by token: the same. */
static void scores_are_those_of_the_steps(void **state)
{
    int32_t ids[32] = { 0 };
    float logits[300];
    double nats[32];
    struct oa_language_model_shape shape;
    size_t count = encode("the dog saw 3 of them", ids, 32);
    (void)state;
    oa_language_model_describe(model, &shape);
    assert_int_equal(oa_language_model_score(model, ids, count, nats), OA_OK);
    oa_language_model_state *s = oa_language_model_state_open(model),
                            *branch = oa_language_model_state_open(model);
    for (size_t i = 0; i + 1 < count; i++) {
        assert_int_equal(oa_language_model_step(s, &ids[i], 1, logits), OA_OK);
        assert_true(fabs(surprise(logits, shape.vocabulary, ids[i + 1]) - nats[i]) < 1e-4);
        if (i == 4)
            assert_int_equal(oa_language_model_state_copy(s, branch), OA_OK);
    }
    assert_int_equal(oa_language_model_step(branch, &ids[5], count - 6, logits),
                     OA_OK); /* the rest as a chunk */
    assert_true(fabs(surprise(logits, shape.vocabulary, ids[count - 1]) - nats[count - 2]) < 1e-4);
    oa_language_model_state_reset(s);
    assert_int_equal(oa_language_model_step(s, ids, 1, logits), OA_OK);
    assert_true(fabs(surprise(logits, shape.vocabulary, ids[1]) - nats[0]) < 1e-4);
    expect_refused(context, oa_language_model_step(s, ids, 24, logits), OA_SHAPE,
                   "at most 24 in all (context)");
    assert_int_equal(oa_language_model_step(s, ids, 23, NULL), OA_OK); /* 24: the context is full */
    expect_refused(context, oa_language_model_step(s, ids, 1, NULL), OA_SHAPE, "1 token after 24");
    ids[0] = (int32_t)shape.vocabulary;
    expect_refused(context, oa_language_model_step(s, ids, 1, NULL), OA_ARGUMENT, "token 0 has id");
    expect_refused(context, oa_language_model_score(model, ids, 2, nats), OA_ARGUMENT,
                   "token 0 has id");
    oa_language_model_state_close(branch);
    oa_language_model_state_close(s);
}

/* The mean over a whole text is what eval says of it. */
static void scores_add_up_to_the_evaluation(void **state)
{
    static int32_t ids[8000];
    static double nats[8000];
    static char content[8000];
    struct oa_scores scores;
    (void)state;
    FILE *f = fopen(text, "r");
    size_t length = fread(content, 1, sizeof content - 1, f), count;
    fclose(f);
    assert_int_equal(oa_language_model_encode(model, content, length, ids, 8000, &count), OA_OK);
    assert_int_equal(oa_language_model_score(model, ids, count, nats), OA_OK);
    const struct oa_eval_request request = { .files = text };
    assert_int_equal(oa_eval(context, run, &request, &scores, NULL), OA_OK);
    double sum = 0;
    for (size_t i = 0; i + 1 < count; i++)
        sum += nats[i];
    assert_int_equal((size_t)scores.tokens, count - 1);
    assert_true(fabs(sum / (double)(count - 1) - scores.loss) < 1e-5);
}

/* Trained on a file of ids, without a text: ids are spelt as numbers. */
static void a_model_of_ids(void **state)
{
    (void)state;
    char data[64], out[64];
    int32_t ids[8];
    double nats[8];
    size_t count, length;
    snprintf(data, sizeof data, "%s/ids.bin", folder);
    snprintf(out, sizeof out, "%s/ids", folder);
    FILE *f = fopen(data, "w");
    for (int i = 0; i < 2000; i++)
        fwrite((const unsigned char[]){ (unsigned char)(i * i % 13), 0 }, 1, 2, f);
    fclose(f);
    assert_int_equal(train_on(data, "ids", out), OA_OK);
    oa_language_model *m = oa_language_model_open(context, out);
    assert_non_null(m);
    assert_int_equal(oa_language_model_encode(m, "12 0\n3", 6, ids, 8, &count), OA_OK);
    assert_int_equal(count, 3);
    assert_memory_equal(ids, ((const int32_t[]){ 12, 0, 3 }), 3 * sizeof *ids);
    const char *bytes = oa_language_model_token(m, 12, &length);
    assert_int_equal(length, 3);
    assert_memory_equal(bytes, "12 ", 3);
    assert_null(oa_language_model_token(m, 13, &length));
    assert_int_equal(oa_language_model_score(m, ids, count, nats), OA_OK);
    assert_true(nats[0] > 0 && nats[1] > 0 && isfinite(nats[0] + nats[1]));
    oa_language_model_close(m);
}

static int one_line(void *argument, const char **line, size_t *length)
{
    int *left = argument;
    *line = "abc";
    *length = 3;
    return (*left)-- > 0;
}

static void count_line_ends(void *argument, const char *s, size_t length)
{
    for (size_t i = 0; i < length; i++)
        *(int *)argument += s[i] == '\n';
}

/* Options decode.* that are not given are those of the run: its beam is enough for six hypotheses,
 * the default one is not. */
static void translations_by_the_options_of_the_run(void **state)
{
    static const char *const settings[][2] = {
        { "data.task", "translate" }, { "data.tokenizer", "char" }, { "model.layers", "1" },
        { "model.width", "16" },      { "model.heads", "2" },       { "model.context", "16" },
        { "train.steps", "2" },       { "train.batch", "4" },       { "decode.beam", "7" }
    };
    char pairs[80], out[80];
    int lines = 0, left = 1;
    (void)state;
    snprintf(pairs, sizeof pairs, "%s/pairs.tsv", folder);
    snprintf(out, sizeof out, "%s/pairs", folder);
    FILE *f = fopen(pairs, "w");
    for (int i = 0; i < 40; i++)
        fprintf(f, "%cbc\tcb%c\n", 'a' + i % 9, 'a' + i % 9);
    fclose(f);
    oa_config *made = oa_config_new(context), *fresh = oa_config_new(context);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        assert_int_equal(oa_config_set(made, settings[i][0], settings[i][1]), OA_OK);
    assert_int_equal(oa_config_set(made, "data.train", pairs), OA_OK);
    assert_int_equal(oa_train(made, out, 0, NULL, NULL), OA_OK);
    struct oa_translate_request request = { .next = one_line, .argument = &left, .best = 6 };
    const struct oa_output output = { .sink = count_line_ends, .argument = &lines };
    assert_int_equal(oa_translate(fresh, out, &request, &output), OA_OK);
    assert_in_range(lines, 1, 6); /* as many as ended */
    left = 1;
    assert_int_equal(oa_config_set(fresh, "decode.beam", "5"), OA_OK);
    expect_refused(context, oa_translate(fresh, out, &request, &output), OA_ARGUMENT,
                   "6 hypotheses need decode.beam of at least as many; it is 5");
    oa_config_free(made);
    oa_config_free(fresh);
}

static void what_is_no_model_is_refused(void **state)
{
    (void)state;
    assert_null(oa_language_model_open(context, folder));
    expect_refused(context, OA_IO, OA_IO, "contains no run");
}

int main(void)
{
    const struct CMUnitTest layers[] = {
        cmocka_unit_test(reference_vectors),
        cmocka_unit_test(passes_are_independent),
        cmocka_unit_test(cross_attention_steps),
        cmocka_unit_test(misuse_is_refused),
    };
    const struct CMUnitTest models[] = {
        cmocka_unit_test(ids_and_tokens),
        cmocka_unit_test(scores_are_those_of_the_steps),
        cmocka_unit_test(scores_add_up_to_the_evaluation),
        cmocka_unit_test(a_model_of_ids),
        cmocka_unit_test(translations_by_the_options_of_the_run),
        cmocka_unit_test(what_is_no_model_is_refused),
    };
    return cmocka_run_group_tests(layers, NULL, NULL) +
           cmocka_run_group_tests(models, train, clean);
}
