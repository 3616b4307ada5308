/* SPDX-License-Identifier: Apache-2.0
 * Imported models against transformers in float64 (tests/golden-hf): logits and hidden states of
 * padded rows, log-probabilities, greedy continuations by the decoding path. Then what is refused.
 */
#include "api/api.h"
#include "base/safetensors.h"
#include "families/families.h"
#include "testing.h"

#include <math.h>
#include <unistd.h>

#define GOLDEN SOURCE_DIR "/tests/golden-hf/"
#define RUN "test_families_run"

static oa_context *context;

static int open_context(void **state)
{
    (void)state;
    context = oa_open(NULL);
    return context ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    oa_close(context);
    return 0;
}

static void succeed(enum oa_error e)
{
    const char *why;
    oa_last_error(context, &why);
    if (e != OA_OK)
        fail_msg("%s", why);
}

static void remove_run(void)
{
    assert_int_equal(system("rm -rf " RUN), 0);
}

/* A case and the one whose expected values it has. */
static const struct {
    const char *name, *expected, *attention;
} cases[] = {
    { "gpt2", "gpt2", "softmax" },
    { "gpt2-old", "gpt2", "softmax" },
    { "gpt_neox", "gpt_neox", "softmax" },
    { "gpt_neox-old", "gpt_neox", "softmax" },
    { "opt", "opt", "softmax" },
    { "llama-bf16", "llama-bf16", "softmax" },
    { "llama-f16", "llama-f16", "softmax(kv=2)" },
    { "llama", "llama", "softmax(kv=2)" },
    { "llama-old", "llama", "softmax(kv=2)" },
    { "smollm2", "smollm2", "softmax(kv=1)" },
    { "mistral", "mistral", "local(window=4, kv=2)" },
    { "qwen2", "qwen2", "softmax(kv=2)" },
    { "qwen3", "qwen3", "softmax(kv=2, qknorm=rms)" },
};
enum { CASES = sizeof cases / sizeof *cases };

static const char *file_of(const char *name, const char *file)
{
    static char path[400];
    snprintf(path, sizeof path, GOLDEN "%s/%s", name, file);
    return path;
}

/* ‖a − b‖ / ‖b‖ over the true positions. */
static double relative_distance(const struct oa_array *a, const struct oa_array *b,
                                const struct oa_array *lengths)
{
    double difference = 0, size = 0;
    long row = a->dim[1] * a->dim[2];
    assert_int_equal(a->dims, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(a->dim[i], b->dim[i]);
    for (long i = 0; i < a->dim[0] * row; i++) {
        double x = oa_array_value(a, (size_t)i), y = oa_array_value(b, (size_t)i);
        bool padding = i % row / a->dim[2] >= (long)oa_array_value(lengths, (size_t)(i / row));
        if (padding) {
            assert_true(x == 0);
            continue;
        }
        difference += (x - y) * (x - y);
        size += y * y;
    }
    assert_true(size > 0);
    return sqrt(difference / size);
}

static void check_tensors(const char *name, const char *expected, const char *precision,
                          double tolerance)
{
    static const char *const tensors[] = { "logits", "last_hidden_state" };
    struct oa_tensors *wanted, *made;
    succeed(oa_forward(context, RUN,
                       &(struct oa_forward_request){ .in = expected,
                                                     .out = RUN "/out.safetensors",
                                                     .precision = precision }));
    succeed(oa_tensors_open(context, expected, &wanted));
    succeed(oa_tensors_open(context, RUN "/out.safetensors", &made));
    for (int i = 0; i < 2; i++) {
        char with_prefix[64];
        snprintf(with_prefix, sizeof with_prefix, "expect.%s", tensors[i]);
        double d = relative_distance(oa_tensors_find(made, tensors[i]),
                                     oa_tensors_find(wanted, with_prefix),
                                     oa_tensors_find(wanted, "lengths"));
        if (!(d < tolerance))
            fail_msg("%s in %s: %s differ by %g", name, precision, tensors[i], d);
    }
    oa_tensors_close(wanted);
    oa_tensors_close(made);
}

static int32_t best_of(const float *logits, long n)
{
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}

/* By decoding states, a token at a time; and the log-probability of the whole row. */
static void check_continuations(const char *name, const char *expected)
{
    struct oa_trained t;
    struct oa_decoding decoding;
    struct oa_tensors *wanted;
    succeed(oa_trained_open(context, RUN, &t));
    succeed(oa_tensors_open(context, expected, &wanted));
    const struct oa_array *ids = oa_tensors_find(wanted, "input_ids"),
                          *lengths = oa_tensors_find(wanted, "lengths"),
                          *greedy = oa_tensors_find(wanted, "expect.greedy"),
                          *sums = oa_tensors_find(wanted, "expect.logprob");
    succeed(oa_decoding_open(t.model, &decoding));
    for (long row = 0; row < ids->dim[0]; row++) {
        int32_t text[64];
        float logits[1024];
        double nats[64], sum = 0;
        long n = (long)oa_array_value(lengths, (size_t)row);
        for (long i = 0; i < n; i++)
            text[i] = (int32_t)oa_array_value(ids, (size_t)(row * ids->dim[1] + i));
        succeed(oa_model_score(&t.tape, t.model, text, n, nats));
        for (long i = 0; i + 1 < n; i++)
            sum -= nats[i];
        assert_float_equal(sum, oa_array_value(sums, (size_t)row), 1e-4 * fabs(sum));
        oa_decoding_reset(&decoding);
        succeed(oa_decoding_read(&decoding, text, n, logits));
        for (long i = 0; i < greedy->dim[1]; i++) {
            int32_t next = best_of(logits, t.model->vocabulary),
                    right = (int32_t)oa_array_value(greedy, (size_t)(row * greedy->dim[1] + i));
            if (next != right)
                fail_msg("%s: token %ld behind row %ld is %d, not %d", name, i, row, next, right);
            if (i + 1 < greedy->dim[1])
                succeed(oa_decoding_read(&decoding, &next, 1, logits));
        }
    }
    oa_decoding_close(&decoding);
    oa_tensors_close(wanted);
    oa_trained_close(&t);
}

static void models_equal_transformers(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        char folder[400], expected[400];
        struct oa_imported made;
        snprintf(folder, sizeof folder, GOLDEN "%s", cases[i].name);
        snprintf(expected, sizeof expected, "%s", file_of(cases[i].expected, "expect.safetensors"));
        succeed(oa_import_model(context, folder, RUN, &made));
        assert_string_equal(made.options.model_attention, cases[i].attention);
        check_tensors(cases[i].name, expected, "f32", 2e-6);
        check_tensors(cases[i].name, expected, "f64", 1e-13);
        check_continuations(cases[i].name, expected);
        remove_run();
    }
}

/* Every family has a case. */
static void families_have_cases(void **state)
{
    const struct oa_family *f;
    (void)state;
    for (int i = 0; (f = oa_family_at(i)); i++) {
        bool found = false;
        for (int k = 0; k < CASES; k++)
            found |= strncmp(cases[k].name, f->type, strlen(f->type)) == 0;
        assert_true(found);
        assert_ptr_equal(oa_family_find(f->type), f);
    }
    assert_null(oa_family_find("gpt3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(families_have_cases),
        cmocka_unit_test(models_equal_transformers),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
