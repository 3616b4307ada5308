/* SPDX-License-Identifier: Apache-2.0
 * Imported models against transformers in float64 (tests/golden-hf): logits, hidden states and
 * pooled ones of padded rows, rows alone, log-probabilities, greedy continuations by the decoding
 * path. Then what is refused. */
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

#define T5 "softmax(relative=t5, buckets=32, distance=128, share=layers)"

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
    { "gpt_neo", "gpt_neo", "softmax ; local(window=4)" },
    { "gemma2", "gemma2", "local(window=4, kv=2) ; softmax(kv=2)" },
    { "qwen3", "qwen3", "softmax(kv=2, qknorm=rms)" },
    { "bert-mlm", "bert-mlm", "softmax" },
    { "bert-mlm-old", "bert-mlm", "softmax" },
    { "bert-cls", "bert-cls", "softmax" },
    { "distilbert-cls", "distilbert-cls", "softmax" },
    { "roberta-cls", "roberta-cls", "softmax" },
    { "olmo2", "olmo2", "softmax(qknorm=joint)" },
    { "vit", "vit", "softmax" },
    { "deit", "deit", "softmax" },
    { "modernbert-mlm", "modernbert-mlm", "softmax ; local(window=3) ; local(window=3)" },
    { "modernbert-mlm-old", "modernbert-mlm", "softmax ; local(window=3) ; local(window=3)" },
    { "marian", "marian", "softmax" },
    { "t5", "t5", T5 },
    { "t5v11", "t5v11", T5 },
    { "t5v11-old", "t5v11", T5 },
};
enum { CASES = sizeof cases / sizeof *cases };

static const char *file_of(const char *name, const char *file)
{
    static char path[400];
    snprintf(path, sizeof path, GOLDEN "%s/%s", name, file);
    return path;
}

/* ‖a − b‖ / ‖b‖ over the true positions of [B, T, C], or of [B, C]. */
static double relative_distance(const struct oa_array *a, const struct oa_array *b,
                                const struct oa_array *lengths)
{
    double difference = 0, size = 0;
    long row = a->dim[1] * (a->dims == 3 ? a->dim[2] : 1);
    assert_int_equal(a->dims, b->dims);
    for (int i = 0; i < a->dims; i++)
        assert_int_equal(a->dim[i], b->dim[i]);
    for (long i = 0; i < a->dim[0] * row; i++) {
        double x = oa_array_value(a, (size_t)i), y = oa_array_value(b, (size_t)i);
        bool padding = a->dims == 3 && lengths &&
                       i % row / a->dim[2] >= (long)oa_array_value(lengths, (size_t)(i / row));
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
    static const char *const tensors[] = { "logits", "last_hidden_state", "pooler_output",
                                           "encoder_last_hidden_state" };
    struct oa_tensors *wanted, *made;
    succeed(oa_forward(context, RUN,
                       &(struct oa_forward_request){ .in = expected,
                                                     .out = RUN "/out.safetensors",
                                                     .precision = precision }));
    succeed(oa_tensors_open(context, expected, &wanted));
    succeed(oa_tensors_open(context, RUN "/out.safetensors", &made));
    for (int i = 0; i < 4; i++) {
        const struct oa_array *target = oa_tensors_find(wanted, "decoder_lengths");
        char with_prefix[64];
        snprintf(with_prefix, sizeof with_prefix, "expect.%s", tensors[i]);
        if (i >= 2 && !oa_tensors_find(wanted, with_prefix))
            continue;
        double d = relative_distance(oa_tensors_find(made, tensors[i]),
                                     oa_tensors_find(wanted, with_prefix),
                                     i < 2 && target ? target : oa_tensors_find(wanted, "lengths"));
        if (!(d < tolerance))
            fail_msg("%s in %s: %s differ by %g", name, precision, tensors[i], d);
    }
    oa_tensors_close(wanted);
    oa_tensors_close(made);
}

/* Row r of a tensor [B, T, …] of four bytes an element, its first `length` places. */
static struct oa_array row_of(const struct oa_array *a, long r, long length)
{
    struct oa_array row = *a;
    long place = a->dims == 4 ? a->dim[2] * a->dim[3] : 1;
    row.dim[0] = 1;
    row.dim[1] = a->dims == 4 ? a->dim[1] : length;
    row.data = (const char *)a->data + (size_t)(r * a->dim[1] * place) * 4;
    row.bytes = (size_t)(row.dim[1] * place) * 4;
    return row;
}

/* A row alone, without padding, has the logits that it has in a batch with padding. */
static void check_rows_alone(const char *name, const char *expected)
{
    static const char *const inputs[] = { "input_ids", "token_type_ids", "pixel_values",
                                          "decoder_input_ids" };
    struct oa_tensors *wanted, *made;
    succeed(oa_tensors_open(context, expected, &wanted));
    const struct oa_array *lengths = oa_tensors_find(wanted, "lengths"),
                          *target = oa_tensors_find(wanted, "decoder_lengths"),
                          *logits = oa_tensors_find(wanted, "expect.logits");
    for (long r = 0; r < logits->dim[0]; r++) {
        struct oa_array in[4];
        long source = lengths ? (long)oa_array_value(lengths, (size_t)r) : 0, n = 0;
        long length = target ? (long)oa_array_value(target, (size_t)r) : source;
        for (int i = 0; i < 4; i++)
            if (oa_tensors_find(wanted, inputs[i]))
                in[n++] = row_of(oa_tensors_find(wanted, inputs[i]), r, i == 3 ? length : source);
        succeed(oa_tensors_write(context, RUN "/in.safetensors", in, (int)n, NULL));
        succeed(oa_forward(context, RUN,
                           &(struct oa_forward_request){ .in = RUN "/in.safetensors",
                                                         .out = RUN "/out.safetensors",
                                                         .precision = "f64" }));
        succeed(oa_tensors_open(context, RUN "/out.safetensors", &made));
        const struct oa_array *got = oa_tensors_find(made, "logits");
        long columns = got->dim[got->dims - 1], places = got->dims == 3 ? length : 1,
             from = r * (logits->dims == 3 ? logits->dim[1] : 1) * columns;
        for (long i = 0; i < places * columns; i++)
            if (fabs(oa_array_value(got, (size_t)i) - oa_array_value(logits, (size_t)(from + i))) >
                1e-12)
                fail_msg("%s: row %ld alone has another logit %ld", name, r, i);
        oa_tensors_close(made);
    }
    oa_tensors_close(wanted);
}

static int32_t best_of(const float *logits, long n)
{
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}

/* What follows the begin token, with the end token and without what fills up. Marian's config.json
 * has forced_eos_token_id: the last of 14 tokens, the most there, is no choice of the model. */
static void check_targets(const char *name, struct oa_trained *t, struct oa_tensors *wanted)
{
    const struct oa_array *ids = oa_tensors_find(wanted, "input_ids"),
                          *lengths = oa_tensors_find(wanted, "lengths"),
                          *greedy = oa_tensors_find(wanted, "expect.greedy");
    struct oa_decoding decoding;
    long most = greedy->dim[1] - (strcmp(name, "marian") == 0), compared = 0;
    int32_t end = oa_tokenizer_find(t->tokenizer, t->options.model_end_token);
    succeed(oa_decoding_open(t->model, &decoding));
    for (long row = 0; row < ids->dim[0]; row++) {
        int32_t source[64], next = oa_tokenizer_find(t->tokenizer, t->options.model_begin_token);
        float logits[1024];
        long n = (long)oa_array_value(lengths, (size_t)row), from = row * greedy->dim[1];
        for (long i = 0; i < n; i++)
            source[i] = (int32_t)oa_array_value(ids, (size_t)(row * ids->dim[1] + i));
        succeed(oa_decoding_source(&decoding, source, NULL, n));
        assert_int_equal(source[n - 1], end);
        assert_int_equal(next, (int32_t)oa_array_value(greedy, (size_t)from));
        for (long i = 1; i < most && next != end; i++, compared++) {
            succeed(oa_decoding_read(&decoding, &next, 1, logits));
            next = best_of(logits, t->model->vocabulary);
            int32_t right = (int32_t)oa_array_value(greedy, (size_t)(from + i));
            if (next != right)
                fail_msg("%s: token %ld of row %ld is %d, not %d", name, i, row, next, right);
        }
    }
    assert_true(compared > 12);
    oa_decoding_close(&decoding);
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
    bool targets = oa_tensors_find(wanted, "decoder_input_ids") != NULL;
    if (greedy && targets)
        check_targets(name, &t, wanted);
    if (!greedy || targets) {
        oa_tensors_close(wanted);
        oa_trained_close(&t);
        return; /* an encoder */
    }
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
        succeed(oa_import_model(context, folder, RUN, NULL, &made));
        assert_string_equal(made.options.model_attention, cases[i].attention);
        check_tensors(cases[i].name, expected, "f32", 2e-6);
        check_tensors(cases[i].name, expected, "f64", 1e-13);
        check_rows_alone(cases[i].name, expected);
        check_continuations(cases[i].name, expected);
        remove_run();
    }
}

/* A model without an output layer: that of a case without its classifier. */
static void bare_models_have_states_and_a_pooler(void **state)
{
    static const char *const tensors[] = { "last_hidden_state", "pooler_output" };
    struct oa_imported imported;
    struct oa_tensors *all, *wanted, *made;
    struct oa_array kept[64];
    int count = 0;
    char expected[400];
    (void)state;
    assert_int_equal(system("rm -rf test_families_bare && mkdir test_families_bare && sed "
                            "s/BertForSequenceClassification/BertModel/ " GOLDEN
                            "bert-cls/config.json >test_families_bare/config.json"),
                     0);
    succeed(oa_tensors_open(context, file_of("bert-cls", "model.safetensors"), &all));
    for (int i = 0; i < oa_tensors_count(all); i++)
        if (strncmp(oa_tensors_at(all, i)->name, "classifier.", 11) != 0)
            kept[count++] = *oa_tensors_at(all, i);
    assert_int_equal(count, oa_tensors_count(all) - 2);
    succeed(oa_tensors_write(context, "test_families_bare/model.safetensors", kept, count, NULL));
    oa_tensors_close(all);
    succeed(oa_import_model(context, "test_families_bare", RUN, NULL, &imported));
    snprintf(expected, sizeof expected, "%s", file_of("bert-cls", "expect.safetensors"));
    succeed(oa_forward(context, RUN,
                       &(struct oa_forward_request){
                           .in = expected, .out = RUN "/out.safetensors", .precision = "f64" }));
    succeed(oa_tensors_open(context, expected, &wanted));
    succeed(oa_tensors_open(context, RUN "/out.safetensors", &made));
    assert_null(oa_tensors_find(made, "logits"));
    for (int i = 0; i < 2; i++) {
        char with_prefix[64];
        snprintf(with_prefix, sizeof with_prefix, "expect.%s", tensors[i]);
        assert_true(relative_distance(oa_tensors_find(made, tensors[i]),
                                      oa_tensors_find(wanted, with_prefix),
                                      oa_tensors_find(wanted, "lengths")) < 1e-13);
    }
    assert_int_equal(oa_eval(context, RUN, NULL, NULL, NULL), OA_UNSUPPORTED);
    oa_clear_error(context);
    oa_tensors_close(wanted);
    oa_tensors_close(made);
    remove_run();
    assert_int_equal(system("rm -rf test_families_bare"), 0);
}

/* ids[7] beyond the vocabulary of 300 is refused by its place. */
static void refuse_id(const struct oa_array *in, int32_t *ids, int32_t wrong)
{
    const char *why;
    int32_t right = ids[7];
    ids[7] = wrong;
    succeed(oa_tensors_write(context, RUN "/in.safetensors", in, 2, NULL));
    assert_int_equal(oa_forward(context, RUN,
                                &(struct oa_forward_request){ .in = RUN "/in.safetensors",
                                                              .out = RUN "/out.safetensors" }),
                     OA_SHAPE);
    oa_last_error(context, &why);
    assert_non_null(strstr(why, "element 7 of input_ids is "));
    assert_non_null(strstr(why, "expected 0 to 299"));
    oa_clear_error(context);
    ids[7] = right;
}

/* Rows longer than those of the cases: logits are products of hidden states and the embedding,
 * which this model ties its output layer to. */
static void long_rows_have_the_logits_of_their_states(void **state)
{
    enum { ROWS = 2, LENGTH = 100 };
    struct oa_imported made;
    struct oa_tensors *out, *weights;
    int32_t ids[ROWS * LENGTH], lengths[ROWS] = { LENGTH, 70 };
    struct oa_array in[] = {
        { .name = "input_ids",
          .type = OA_I32,
          .dims = 2,
          .dim = { ROWS, LENGTH },
          .data = ids,
          .bytes = sizeof ids },
        { .name = "lengths",
          .type = OA_I32,
          .dims = 1,
          .dim = { ROWS },
          .data = lengths,
          .bytes = sizeof lengths },
    };
    (void)state;
    assert_int_equal(system("rm -rf test_families_long && cp -r " GOLDEN
                            "smollm2 test_families_long && "
                            "chmod -R u+w test_families_long && sed -i "
                            "'s/\\(\"max_position_embeddings\": \\)64/\\1128/' "
                            "test_families_long/config.json"),
                     0);
    for (int i = 0; i < ROWS * LENGTH; i++)
        ids[i] = (i * 37 + i / LENGTH) % 300;
    succeed(oa_import_model(context, "test_families_long", RUN, NULL, &made));
    assert_int_equal(made.options.model_context, 128);
    refuse_id(in, ids, 300);
    refuse_id(in, ids, -1);
    succeed(oa_tensors_write(context, RUN "/in.safetensors", in, 2, NULL));
    succeed(oa_forward(context, RUN,
                       &(struct oa_forward_request){ .in = RUN "/in.safetensors",
                                                     .out = RUN "/out.safetensors",
                                                     .precision = "f64" }));
    succeed(oa_tensors_open(context, RUN "/out.safetensors", &out));
    succeed(oa_tensors_open(context, RUN "/model.safetensors", &weights));
    const struct oa_array *logits = oa_tensors_find(out, "logits"),
                          *hidden = oa_tensors_find(out, "last_hidden_state"),
                          *embedding = oa_tensors_find(weights, "embedding.weight");
    long vocabulary = embedding->dim[0], width = embedding->dim[1];
    assert_int_equal(logits->dim[2], vocabulary);
    for (long i = 0; i < ROWS * LENGTH; i++)
        for (long v = 0; v < vocabulary; v++) {
            double sum = 0;
            for (long c = 0; c < width; c++)
                sum += oa_array_value(hidden, (size_t)(i * width + c)) *
                       oa_array_value(embedding, (size_t)(v * width + c));
            assert_float_equal(oa_array_value(logits, (size_t)(i * vocabulary + v)), sum, 1e-12);
        }
    oa_tensors_close(out);
    oa_tensors_close(weights);
    remove_run();
    assert_int_equal(system("rm -rf test_families_long"), 0);
}

/* ---- exporting ---- */

static void same_tensors(const char *name, const char *exported)
{
    char golden[400], path[400];
    struct oa_tensors *a, *b;
    snprintf(golden, sizeof golden, "%s", file_of(name, "model.safetensors"));
    snprintf(path, sizeof path, "%s/model.safetensors", exported);
    succeed(oa_tensors_open(context, golden, &a));
    succeed(oa_tensors_open(context, path, &b));
    assert_int_equal(oa_tensors_count(a), oa_tensors_count(b));
    for (int i = 0; i < oa_tensors_count(a); i++) {
        const struct oa_array *want = oa_tensors_at(a, i), *got = oa_tensors_find(b, want->name);
        if (!got || got->bytes != want->bytes || memcmp(got->data, want->data, got->bytes) != 0)
            fail_msg("%s: tensor %s is another", name, want->name);
    }
    oa_tensors_close(a);
    oa_tensors_close(b);
}

/* Keys that decide what is calculated; those that the export leaves out have these values there by
 * default. */
static void same_config(const char *name, const char *exported)
{
    static const char *const keys[] = { "model_type",
                                        "vocab_size",
                                        "tie_word_embeddings",
                                        "n_embd",
                                        "n_head",
                                        "n_layer",
                                        "n_positions",
                                        "layer_norm_epsilon",
                                        "activation_function",
                                        "hidden_size",
                                        "intermediate_size",
                                        "num_attention_heads",
                                        "num_hidden_layers",
                                        "num_key_value_heads",
                                        "max_position_embeddings",
                                        "layer_norm_eps",
                                        "rms_norm_eps",
                                        "hidden_act",
                                        "use_parallel_residual",
                                        "sliding_window",
                                        "attention_bias",
                                        "mlp_bias",
                                        "use_sliding_window",
                                        "type_vocab_size",
                                        "id2label",
                                        "d_model",
                                        "d_kv",
                                        "d_ff",
                                        "num_heads",
                                        "num_layers",
                                        "num_decoder_layers",
                                        "encoder_layers",
                                        "encoder_attention_heads",
                                        "encoder_ffn_dim",
                                        "decoder_layers",
                                        "decoder_attention_heads",
                                        "decoder_ffn_dim",
                                        "scale_embedding",
                                        "decoder_start_token_id",
                                        "pad_token_id",
                                        "eos_token_id",
                                        "feed_forward_proj",
                                        "scale_decoder_outputs",
                                        "relative_attention_num_buckets",
                                        "relative_attention_max_distance",
                                        "label2id" };
    char path[400];
    json_t *a, *b;
    snprintf(path, sizeof path, "%s/config.json", exported);
    succeed(oa_json_read(context, file_of(name, "config.json"), NULL, &a));
    succeed(oa_json_read(context, path, NULL, &b));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *want = json_object_get(a, keys[i]), *got = json_object_get(b, keys[i]);
        /* Of T5 transformers 5 always writes true, whether the output is tied or not. */
        bool tie = strcmp(keys[i], "tie_word_embeddings") == 0 && strcmp(name, "t5v11") == 0;
        if (!tie && want && got && !json_is_null(got) && !json_equal(want, got))
            fail_msg("%s: \"%s\" is another", name, keys[i]);
    }
    assert_true(
        json_equal(json_object_get(a, "architectures"), json_object_get(b, "architectures")));
    json_decref(a);
    json_decref(b);
}

/* What was imported is exported with the bytes that transformers wrote. */
static void exports_equal_what_was_imported(void **state)
{
    static const char *const names[] = { "gpt2",     "gpt_neox", "mistral", "qwen2", "smollm2",
                                         "bert-mlm", "bert-cls", "marian",  "t5",    "t5v11" };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char folder[400];
        struct oa_imported made;
        struct oa_exported exported;
        struct oa_trained t;
        snprintf(folder, sizeof folder, GOLDEN "%s", names[i]);
        succeed(oa_import_model(context, folder, RUN, NULL, &made));
        succeed(oa_trained_open_in(context, RUN, OA_PRECISION_F64, &t));
        succeed(oa_export_model(t.model, t.tokenizer, RUN, RUN "/hf", &exported));
        oa_trained_close(&t);
        assert_ptr_equal(exported.family, made.family);
        same_tensors(names[i], RUN "/hf");
        same_config(names[i], RUN "/hf");
        remove_run();
    }
}

/* Every family has a case. */
static void families_have_cases(void **state)
{
    const struct oa_model_family *f;
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
        cmocka_unit_test(bare_models_have_states_and_a_pooler),
        cmocka_unit_test(long_rows_have_the_logits_of_their_states),
        cmocka_unit_test(exports_equal_what_was_imported),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
