/* SPDX-License-Identifier: Apache-2.0
 * The guarded device against the CPU, bit for bit: layers forward and backward, decoding by steps,
 * training with checkpoint and resume, generation, scores. And the guard itself: what it is there
 * for ends the program. */
#include "testing.h"

#include "base/concurrent.h"
#include "guarded.h"
#include "model/model.h"
#include "verify/verify.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CPU, GUARDED, DEVICES };
static oa_context *context[DEVICES];

static int open_contexts(void **state)
{
    (void)state;
    const struct oa_settings settings = { .threads = 2 };
    context[CPU] = oa_open(&settings);
    context[GUARDED] = oa_guarded_open(&settings);
    return context[CPU] && context[GUARDED] ? 0 : -1;
}

static int close_contexts(void **state)
{
    (void)state;
    for (int d = 0; d < DEVICES; d++)
        oa_close(context[d]);
    return 0;
}

/* ---- layers ---- */

/* How many rows of decoding are in `y`; 0: the layer does not go token by token. */
static long decode(struct oa_attention_case *a, double *y)
{
    struct oa_state *state;
    if (oa_layer_state_open(&a->single.layer, a->T, &state) != OA_OK) {
        oa_clear_error(a->context);
        return 0;
    }
    for (long first = 0; first < a->T; first += 2) {
        long count = oa_min(2, a->T - first);
        assert_int_equal(oa_case_step(a, state, 0, first, count, y + first * a->D), OA_OK);
    }
    oa_layer_state_close(&a->single.layer, state);
    return a->T;
}

/* What a layer gives on a device: results, then rows of decoding. NULL: this mode is refused. */
static double *numbers_of(oa_context *c, const struct oa_setup *setup, size_t *bytes)
{
    struct oa_attention_case a;
    long count = 0, steps = 0;
    double *out = NULL;
    if (oa_case_open(c, setup, &a) == OA_OK) {
        if (oa_case_run(&a) == OA_OK) {
            const double *results = oa_case_results(&a, &count);
            out = calloc((size_t)(count + a.T * a.D), sizeof *out);
            memcpy(out, results, (size_t)count * sizeof *out);
            steps = a.lengths ? 0 : decode(&a, out + count) * a.D;
        }
    }
    *bytes = (size_t)(count + steps) * sizeof *out;
    oa_case_close(&a);
    oa_clear_error(c);
    return out;
}

static bool compare(const struct oa_setup *setup)
{
    double *out[DEVICES];
    size_t bytes[DEVICES];
    for (int d = 0; d < DEVICES; d++)
        out[d] = numbers_of(context[d], setup, &bytes[d]);
    if (!out[CPU] != !out[GUARDED] || bytes[CPU] != bytes[GUARDED] ||
        (out[CPU] && memcmp(out[CPU], out[GUARDED], bytes[CPU]) != 0))
        fail_msg("%s (mode %d, precision %d) is another on the guarded device", setup->spec,
                 (int)setup->mode, (int)setup->precision);
    bool ran = out[CPU];
    for (int d = 0; d < DEVICES; d++)
        free(out[d]);
    return ran;
}

static void layers_have_the_same_bits(void **state)
{
    (void)state;
    const struct oa_setup setups[] = {
        { .precision = OA_PRECISION_F64, .padding = true, .bias = true, .batch = 3 },
        { .precision = OA_PRECISION_F32, .rotary = true },
        { .precision = OA_PRECISION_BF16, .dropout = 0.2, .queries = 7 }
    };
    struct oa_proof all = { .context = context[CPU], .quick = true };
    long ran = 0;
    assert_int_equal(oa_proof_collect(&all), OA_OK);
    for (int i = 0; i < all.spec_count; i++) {
        for (size_t s = 0; s < sizeof setups / sizeof *setups; s++) {
            for (int mode = OA_MODE_BOTH; mode <= OA_MODE_CROSS; mode++) {
                struct oa_setup setup = setups[s];
                setup.spec = all.specs[i];
                setup.mode = (enum oa_mode)mode;
                ran += compare(&setup);
            }
        }
    }
    assert_true(ran > 4 * all.spec_count);
    oa_proof_free(&all);
}

/* What is opened for work side by side, the jobs of a comparison, computes where its parent does.
 */
static void cloned_contexts_use_the_same_device(void **state)
{
    (void)state;
    const struct oa_setup setup = { .spec = "softmax", .precision = OA_PRECISION_F32 };
    for (int d = 0; d < DEVICES; d++) {
        struct oa_device *opened;
        size_t bytes, bytes_beside;
        oa_context *beside = oa_context_clone(context[d], 1, NULL, NULL);
        assert_non_null(beside);
        assert_int_equal(oa_device_open(beside, OA_PRECISION_F32, false, &opened), OA_OK);
        assert_ptr_equal(opened->ops, d == GUARDED ? &oa_device_guarded : &oa_device_cpu);
        oa_device_close(opened);
        double *out = numbers_of(context[CPU], &setup, &bytes),
               *out_beside = numbers_of(beside, &setup, &bytes_beside);
        assert_true(bytes > 0 && bytes == bytes_beside);
        assert_memory_equal(out, out_beside, bytes);
        free(out);
        free(out_beside);
        oa_close(beside);
    }
}

/* Long enough for tiles, pieces and chunks, and for the features that need scratch. */
static void long_layers_have_the_same_bits(void **state)
{
    (void)state;
    static const char *const specs[] = { "softmax",
                                         "sparse(stride=16)",
                                         "sparse(fixed, stride=16, summary=3)",
                                         "linear",
                                         "bigbird(block=16)",
                                         "longformer(window=20, global=3)",
                                         "taylor",
                                         "performer(kernel=favor++)",
                                         "local(window=40)",
                                         "mixer",
                                         "random + softmax + dense",
                                         "linformer(rank=20)",
                                         "sparse(stride=16, relative=t5)",
                                         "longformer(window=20, global=3, relative=t5)" };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (int mode = OA_MODE_BOTH; mode <= OA_MODE_CAUSAL; mode++)
            compare(&(struct oa_setup){ .spec = specs[i],
                                        .mode = (enum oa_mode)mode,
                                        .precision = OA_PRECISION_F32,
                                        .width = 16,
                                        .queries = 150,
                                        .length = 150 });
}

/* ---- a model ---- */

static const char *const folder[DEVICES] = { "test_guarded_cpu", "test_guarded_guarded" };

static void make_text(void)
{
    FILE *f = fopen("test_guarded.txt", "w");
    assert_non_null(f);
    for (int i = 0; i < 400; i++)
        fprintf(f, "%d times %d is %d.\n", i, i % 7, i * (i % 7));
    fclose(f);
}

static oa_config *options(int device, const char *precision, const char *steps)
{
    const char *const set[][2] = {
        { "data.train", "test_guarded.txt" },
        { "model.layers", "2" },
        { "model.width", "32" },
        { "model.heads", "4" },
        { "model.context", "24" },
        { "model.dropout", "0.1" },
        { "model.attention",
          "performer(kernel=favor++):2 | bigbird(block=4):2 ; random + softmax" },
        { "train.batch", "3" },
        { "train.warmup", "1" },
        { "train.eval_every", "2" },
        { "train.eval_tokens", "200" },
        { "train.final_tokens", "200" },
        { "train.checkpoint_every", "2" },
        { "generate.tokens", "40" }
    };
    oa_config *config = oa_config_new(context[device]);
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        assert_int_equal(oa_config_set(config, set[i][0], set[i][1]), OA_OK);
    assert_int_equal(oa_config_set(config, "train.precision", precision), OA_OK);
    assert_int_equal(oa_config_set(config, "train.steps", steps), OA_OK);
    return config;
}

static void same_file(const char *name)
{
    char *data[DEVICES], path[200];
    size_t length[DEVICES];
    for (int d = 0; d < DEVICES; d++) {
        snprintf(path, sizeof path, "%s/%s", folder[d], name);
        assert_int_equal(oa_file_read(context[d], path, &data[d], &length[d]), OA_OK);
    }
    assert_int_equal(length[CPU], length[GUARDED]);
    assert_memory_equal(data[CPU], data[GUARDED], length[CPU]);
    for (int d = 0; d < DEVICES; d++)
        oa_free(data[d]);
}

struct told {
    char text[4096];
    size_t length;
};

static void tell(void *argument, const char *text, size_t length)
{
    struct told *t = argument;
    assert_true(t->length + length < sizeof t->text);
    memcpy(t->text + t->length, text, length);
    t->length += length;
}

static void generate(int device, const oa_config *config, struct told *out)
{
    const struct oa_output sink = { .sink = tell, .argument = out };
    *out = (struct told){ .length = 0 };
    assert_int_equal(oa_generate(config, folder[device],
                                 &(struct oa_generate_request){ .prompt = "7 times", .length = 7 },
                                 &sink),
                     OA_OK);
}

static void train(int device, const char *precision, const char *steps, int resume,
                  struct oa_scores *scores)
{
    oa_config *config = options(device, precision, steps);
    assert_int_equal(oa_train(config, folder[device], resume, scores, NULL), OA_OK);
    oa_config_free(config);
}

/* Two steps, then two more from the checkpoint. */
static void a_model_has_the_same_bits(const char *precision)
{
    struct oa_scores scores[DEVICES];
    struct told told[DEVICES];
    assert_int_equal(system("rm -rf test_guarded_cpu test_guarded_guarded"), 0);
    for (int d = 0; d < DEVICES; d++) {
        train(d, precision, "4", 0, &scores[d]);
        oa_config *config = options(d, precision, "4");
        generate(d, config, &told[d]);
        oa_config_free(config);
    }
    same_file("model.safetensors");
    assert_true(scores[CPU].loss == scores[GUARDED].loss);
    assert_int_equal(told[CPU].length, told[GUARDED].length);
    assert_memory_equal(told[CPU].text, told[GUARDED].text, told[CPU].length);
    for (int d = 0; d < DEVICES; d++)
        train(d, precision, "8", 1, &scores[d]);
    same_file("model.safetensors");
    assert_true(scores[CPU].loss == scores[GUARDED].loss);
}

static void models_have_the_same_bits(void **state)
{
    (void)state;
    make_text();
    a_model_has_the_same_bits("f32");
    a_model_has_the_same_bits("bf16");
}

/* ---- the guard ---- */

/* The signal that ends a process which does this. */
static int end_of(void (*what)(struct oa_device *d, void *memory))
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct oa_device *d;
        signal(SIGSEGV, SIG_DFL);
        signal(SIGABRT, SIG_DFL);
        if (!freopen("/dev/null", "w", stderr) ||
            oa_device_open(context[GUARDED], OA_PRECISION_F64, false, &d) != OA_OK)
            _exit(1);
        what(d, d->ops->allocate(d, 64));
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void nothing(struct oa_device *d, void *memory)
{
    double ones[8], back[8];
    d->ops->constant(d, 8, 1, memory);
    d->ops->download(d, sizeof back, memory, back);
    oa_reals_read(d, 8, memory, ones);
    for (int i = 0; i < 8; i++)
        if (back[i] != 1 || ones[i] != 1)
            _exit(2);
    d->ops->release(d, memory);
    oa_device_close(d);
}

static void read_element(struct oa_device *d, void *memory)
{
    (void)d;
    volatile double x = *(volatile double *)memory;
    (void)x;
}

static void write_element(struct oa_device *d, void *memory)
{
    (void)d;
    *(volatile double *)memory = 1;
}

static void give_host_memory(struct oa_device *d, void *memory)
{
    double host[8] = { 0 };
    (void)memory;
    d->ops->constant(d, 8, 1, host);
}

static void leave_memory(struct oa_device *d, void *memory)
{
    (void)memory;
    oa_device_close(d);
}

static void use_released(struct oa_device *d, void *memory)
{
    d->ops->release(d, memory);
    d->ops->constant(d, 8, 1, memory);
}

static void invalid_accesses_end_the_program(void **state)
{
    (void)state;
    assert_int_equal(end_of(nothing), 0);
    assert_int_equal(end_of(read_element), SIGSEGV);
    assert_int_equal(end_of(write_element), SIGSEGV);
    assert_int_equal(end_of(give_host_memory), SIGABRT);
    assert_int_equal(end_of(leave_memory), SIGABRT);
    assert_int_equal(end_of(use_released), SIGABRT);
}

static void a_device_without_a_required_operation_is_refused(void **state)
{
    (void)state;
    struct oa_device_ops ops = oa_device_cpu;
    struct oa_device *d;
    const char *sentence;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    ops.name = "half";
    ops.weights_bytes = NULL; /* optional */
    ops.pack_weights = NULL;
    ops.put_heads = NULL;
    ops.logits_of_rows = NULL;
    ops.settle = NULL;
    oa_context_set_device(c, &ops);
    assert_int_equal(oa_device_open(c, OA_PRECISION_F32, false, &d), OA_OK);
    oa_device_settle(d);
    oa_device_close(d);
    ops.rotate = NULL;
    assert_int_equal(oa_device_open(c, OA_PRECISION_F32, false, &d), OA_UNSUPPORTED);
    oa_last_error(c, &sentence);
    assert_string_equal(sentence, "device half lacks operation rotate");
    oa_device_close(d);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_without_a_required_operation_is_refused),
        cmocka_unit_test(invalid_accesses_end_the_program),
        cmocka_unit_test(cloned_contexts_use_the_same_device),
        cmocka_unit_test(layers_have_the_same_bits),
        cmocka_unit_test(long_layers_have_the_same_bits),
        cmocka_unit_test(models_have_the_same_bits),
    };
    return cmocka_run_group_tests(tests, open_contexts, close_contexts);
}
