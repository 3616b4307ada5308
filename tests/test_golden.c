/* SPDX-License-Identifier: Apache-2.0
 * Every reference vector of tests/golden, tests/golden-relative and tests/golden-heads through
 * oa_attend: outputs, gradients and maps, in f64, f32 and bf16; and its spec and alias through the
 * parser. */
#include "base/safetensors.h"
#include "testing.h"

#include "attention/attention.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How many files a folder has, and how many of them go by steps. */
static const struct folder {
    const char *path;
    int cases, steps;
} folders[] = { { SOURCE_DIR "/tests/golden", 144, 62 },
                { SOURCE_DIR "/tests/golden-relative", 40, 19 },
                { SOURCE_DIR "/tests/golden-heads", 61, 39 } };

struct precision {
    const char *name;
    double tolerance; /* of every tensor by itself, relative to its own size */
};
static const struct precision f64 = { "f64", 1e-11 }, f32 = { "f32", 2e-5 },
                              bf16 = { "bf16", 3e-2 };

/* bf16 rounds activations to 8 bits. Features of both signs make denominators that nearly cancel,
 * which multiplies the rounding; a sketch is rounded and then raised to the fourth power; logits
 * and log features beyond 88 are off by 0.2; the size of a cosformer query with one positive
 * channel cancels; the norm of an output divides small outputs, and the roundings in them, by their
 * size; gradients of a few numbers are sums that cancel; so do those of entmax, whose rows have few
 * weights. */
static const struct {
    const char *file, *tensor;
    double tolerance;
} beyond_bf16[] = {
    { "block-local-causal-t5", "grad.query.weight", 0.036 },
    { "conv-cross", "grad.memory", 0.032 },
    { "conv-cross", "grad.query.conv", 0.039 },
    { "conv-cross", "grad.value.weight", 0.098 },
    { "cosformer-causal", "grad.query.weight", 0.037 },
    { "cosformer-cross", "grad.query.weight", 0.61 },
    { "cosformer-cross", "grad.x", 0.4 },
    { "cosformer-default-length", "grad.query.weight", 0.037 },
    { "deltanet", "grad.beta.bias", 0.045 },
    { "deltanet", "grad.query.bias", 0.037 },
    { "entmax-cross-empty", "grad.query.weight", 0.038 },
    { "entmax-cross-empty", "grad.x", 0.036 },
    { "gated-deltanet-kv-empty", "grad.decay.bias", 0.044 },
    { "gated-deltanet-kv-empty", "grad.decay.rate", 0.036 },
    { "gated-deltanet-kv-empty", "grad.key.conv", 0.12 },
    { "gated-deltanet-kv-empty", "grad.key.weight", 0.071 },
    { "gated-deltanet-kv-empty", "grad.query.conv", 0.1 },
    { "gated-deltanet-kv-empty", "grad.query.weight", 0.12 },
    { "gated-deltanet-kv-empty", "grad.x", 0.043 },
    { "gla", "grad.query.weight", 0.032 },
    { "groups-performer-mix", "grad.group.1.mix.theta", 0.14 },
    { "groups-retention", "grad.group.1.key.weight", 0.081 },
    { "groups-retention", "grad.group.1.query.weight", 0.13 },
    { "groups-retention", "grad.group.1.value.weight", 0.044 },
    { "groups-retention", "grad.x", 0.095 },
    { "linear-cos-causal", "grad.key.weight", 0.091 },
    { "linear-cos-causal", "grad.output.weight", 0.049 },
    { "linear-cos-causal", "grad.query.weight", 0.4 },
    { "linear-cos-causal", "grad.value.weight", 0.071 },
    { "linear-cos-causal", "grad.x", 0.37 },
    { "linear-cos-causal", "y", 0.069 },
    { "linear-power", "grad.key.weight", 0.19 },
    { "linear-power", "grad.output.weight", 0.063 },
    { "linear-power", "grad.query.weight", 0.21 },
    { "linear-power", "grad.value.weight", 0.077 },
    { "linear-power", "grad.x", 0.2 },
    { "linear-power", "y", 0.056 },
    { "linear-power-causal", "grad.key.weight", 0.083 },
    { "linear-power-causal", "grad.query.weight", 0.083 },
    { "linear-power-causal", "grad.x", 0.087 },
    { "linear-unit-cross-empty", "grad.query.weight", 0.14 },
    { "linear-unit-cross-empty", "grad.x", 0.071 },
    { "mix-sigmoid", "grad.mix.theta", 0.3 },
    { "orthogonal-temperature", "grad.query.temperature", 0.043 },
    { "performer-large", "grad.key.weight", 0.29 },
    { "performer-large", "grad.query.weight", 0.54 },
    { "performer-large", "grad.x", 0.22 },
    { "polynomial-zero-row", "grad.key.weight", 0.039 },
    { "polynomial-zero-row", "grad.query.weight", 0.038 },
    { "polynomial-zero-row", "grad.x", 0.035 },
    { "polysketch", "grad.key.weight", 0.037 },
    { "polysketch", "grad.query.weight", 0.16 },
    { "polysketch", "grad.x", 0.16 },
    { "polysketch-causal", "grad.key.weight", 0.053 },
    { "polysketch-causal", "grad.query.weight", 0.093 },
    { "polysketch-causal", "grad.x", 0.072 },
    { "qknorm-kv-jl-causal", "grad.query.weight", 0.032 },
    { "retention", "grad.key.weight", 0.038 },
    { "retention", "grad.output.norm.weight", 0.088 },
    { "retention", "grad.query.weight", 0.052 },
    { "retention", "grad.x", 0.055 },
    { "softmax-large", "grad.key.weight", 0.19 },
    { "softmax-large", "grad.query.weight", 0.19 },
    { "softmax-large", "grad.x", 0.13 },
    { "softmax-nan-padding", "grad.key.weight", 0.04 },
    { "softmax-nan-padding", "grad.query.bias", 0.043 },
};

static oa_context *context;
static char scratch[256];

static void assert_ok(enum oa_error e, const char *what)
{
    const char *sentence;
    oa_last_error(context, &sentence);
    if (e != OA_OK)
        fail_msg("%s: %s", what, sentence);
}

/* ---- comparison
 * -------------------------------------------------------------------------------------------------
 */

static double norm(const struct oa_array *a, const struct oa_array *b)
{
    double sum = 0;
    for (size_t i = 0; i < a->bytes / oa_type_size(a->type); i++) {
        double x = oa_array_value(a, i) - (b ? oa_array_value(b, i) : 0);
        sum += x * x;
    }
    return sqrt(sum);
}

static double largest_gradient(const struct oa_tensors *in)
{
    double largest = 0;
    for (int i = 0; i < oa_tensors_count(in); i++) {
        const struct oa_array *t = oa_tensors_at(in, i);
        if (strncmp(t->name, "expect.grad.", 12) == 0)
            largest = fmax(largest, norm(t, NULL));
    }
    return largest;
}

static double allowed(const char *file, const struct precision *p, const char *tensor)
{
    size_t name = strlen(file) - strlen(".safetensors");
    for (size_t i = 0; p == &bf16 && i < sizeof beyond_bf16 / sizeof beyond_bf16[0]; i++) {
        if (strlen(beyond_bf16[i].file) == name && strncmp(file, beyond_bf16[i].file, name) == 0 &&
            strcmp(tensor, beyond_bf16[i].tensor) == 0)
            return beyond_bf16[i].tolerance;
    }
    return p->tolerance;
}

/* What an error is relative to: the tensor itself. A gradient that is 0 in theory (of key.bias: a
 * softmax does not see a shift) is a rounding in the reference too, and is held against the largest
 * gradient. */
static double size_of(const struct oa_array *want, double largest)
{
    double size = norm(want, NULL);
    bool gradient = strncmp(want->name, "expect.grad.", 12) == 0;
    return gradient && size < 1e-12 * largest ? largest : size;
}

static void compare(const char *file, const struct precision *p, const struct oa_tensors *in,
                    const struct oa_tensors *out, double *worst)
{
    double largest = largest_gradient(in);
    int expected = 0;
    for (int i = 0; i < oa_tensors_count(in); i++) {
        const struct oa_array *want = oa_tensors_at(in, i);
        if (strncmp(want->name, "expect.", 7) != 0)
            continue;
        const struct oa_array *got = oa_tensors_find(out, want->name + 7);
        if (!got || got->dims != want->dims ||
            memcmp(got->dim, want->dim, (size_t)want->dims * sizeof *want->dim))
            fail_msg("%s in %s: %s is missing or has another shape", file, p->name, want->name + 7);
        double tolerance = allowed(file, p, want->name + 7);
        double error = norm(got, want) == 0 ? 0 : norm(got, want) / size_of(want, largest);
        *worst = fmax(*worst, error);
        if (!(error <= tolerance))
            fail_msg("%s in %s: %s is off by %.3g; %.3g is allowed", file, p->name, want->name + 7,
                     error, tolerance);
        expected++;
    }
    assert_int_equal(oa_tensors_count(out), expected);
}

/* ---- cases
 * ------------------------------------------------------------------------------------------------------
 */

static void check_language(const char *file, const struct oa_tensors *in)
{
    const char *texts[] = { oa_tensors_metadata(in, "spec"), oa_tensors_metadata(in, "alias") };
    for (int i = 0; i < 2 && texts[i]; i++) {
        struct oa_spec spec;
        struct oa_text out;
        oa_text_init(&out, context);
        assert_ok(oa_spec_parse(context, texts[i], &spec), file);
        oa_spec_print(&spec, &out);
        assert_string_equal(out.s, texts[0]);
        oa_spec_free(&spec);
        oa_text_free(&out);
    }
}

/* Is there a path from token to token? Causal layers, and cross-attention that is not fitted to all
 * queries. */
static bool goes_by_steps(const struct oa_tensors *in)
{
    const char *spec = oa_tensors_metadata(in, "spec");
    bool fitted = strstr(spec, "favor++") || strstr(spec, "derf");
    return strcmp(oa_tensors_metadata(in, "causal"), "true") == 0 ||
           (oa_tensors_find(in, "memory") && !fitted);
}

static bool run_case(const struct folder *f, const char *file, const struct precision *p,
                     bool steps, double *worst)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", f->path, file);
    struct oa_tensors *in, *out;
    assert_ok(oa_tensors_open(context, path, &in), file);
    check_language(file, in);
    if (steps && !goes_by_steps(in)) {
        oa_tensors_close(in);
        return false;
    }
    struct oa_attend_options o = { .spec = oa_tensors_metadata(in, "spec"),
                                   .in = path,
                                   .out = scratch,
                                   .causal = strcmp(oa_tensors_metadata(in, "causal"), "true") == 0,
                                   .precision = p->name,
                                   .weights = oa_tensors_find(in, "expect.weights") != NULL,
                                   .steps = steps };
    assert_ok(oa_attend(context, &o), file);
    assert_ok(oa_tensors_open(context, scratch, &out), file);
    compare(file, p, in, out, worst);
    oa_tensors_close(out);
    oa_tensors_close(in);
    return true;
}

/* All files of a folder, or those that go by steps. */
static void run_folder(const struct folder *f, const struct precision *p, bool steps)
{
    DIR *folder = opendir(f->path);
    assert_non_null(folder);
    const struct dirent *entry;
    double worst = 0;
    int cases = 0;
    while ((entry = readdir(folder))) {
        if (!strstr(entry->d_name, ".safetensors"))
            continue;
        cases += run_case(f, entry->d_name, p, steps, &worst);
    }
    closedir(folder);
    print_message("%d cases in %s, worst error %.3g\n", cases, p->name, worst);
    assert_int_equal(cases, steps ? f->steps : f->cases);
}

static void run_all(const struct precision *p, bool steps)
{
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        run_folder(&folders[i], p, steps);
}

/* On a GPU device operations are compared with the CPU's, word by word, which takes long.
 * IN_F64_ONLY: layers in f64. EMULATED: also by steps, and in the long form in bf16. */
#if defined IN_F64_ONLY
enum { STEPS = 0, F32 = 0, BF16 = 0 };
#elif defined EMULATED
enum { STEPS = 1, F32 = 0, BF16 = 1 };
#else
enum { STEPS = 1, F32 = 1, BF16 = 1 };
#endif

static void in_f64(void **state)
{
    (void)state;
    run_all(&f64, false);
}

static void in_f32(void **state)
{
    (void)state;
    if (!F32)
        skip();
    run_all(&f32, false);
}

static void in_bf16(void **state)
{
    (void)state;
    if (!BF16 || (!F32 && short_form()))
        skip();
    run_all(&bf16, false);
}

/* The decoding path: one token at a time. */
static void by_steps(void **state)
{
    (void)state;
    if (!STEPS)
        skip();
    run_all(&f64, true);
    if (!F32)
        return;
    run_all(&f32, true);
    run_all(&bf16, true);
}

static int open_context(void **state)
{
    (void)state;
    snprintf(scratch, sizeof scratch, "golden-%ld.safetensors", (long)getpid());
    context = oa_open(NULL);
    return context ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    remove(scratch);
    oa_close(context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_f64),
        cmocka_unit_test(in_f32),
        cmocka_unit_test(in_bf16),
        cmocka_unit_test(by_steps),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
