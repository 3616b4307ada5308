/* SPDX-License-Identifier: Apache-2.0
 * Every number that train, eval, generate, plan and bench print, against something else: a closed
 * form where the model is known (one that knows nothing costs ln V), what follows from the log-odds
 * of the same model, counts of the text, of parameters and of products by hand, the run's own log.
 */
#include "printed.h"

static enum oa_error plan_of(oa_context *c, const struct oa_options *o, long vocabulary,
                             struct oa_plan *out)
{
    struct oa_model_form form = oa_language_model_form(vocabulary);
    struct oa_step_shape shape = oa_language_model_step_shape(o);
    return oa_plan_make(c, o, &form, &shape, out);
}

static const struct oa_output as_text = { .sink = catch_text };

static const char text_file[] = "test_numbers_text.txt", folder[] = "test_numbers_run";

enum { LETTERS = 3000 };
static char text[4 * LETTERS];
static size_t text_length;

/* Words of a few letters, some of which take two or three bytes. */
static int make_text(void **state)
{
    static const char *const letters[] = { "e", "t", "a",  "o", "ß", "i",
                                           "n", "—", "\n", " ", " ", "é" };
    struct oa_stream stream = oa_stream_named(1, "text");
    (void)state;
    for (uint64_t i = 0; i < LETTERS; i++) {
        const char *letter = letters[oa_random_below(stream, i, 12)];
        memcpy(text + text_length, letter, strlen(letter));
        text_length += strlen(letter);
    }
    FILE *f = fopen(text_file, "wb");
    fwrite(text, 1, text_length, f);
    return fclose(f);
}

static bool begins_letter(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

/* Where the last tenth of the letters begins. */
static size_t validation_start(void)
{
    size_t at = 0;
    for (long left = LETTERS / 10 * 9 + 1; left > 0; at++)
        left -= begins_letter(text[at]);
    return at - 1;
}

/* ---- a run to look at */

enum { BATCH = 3, ACCUMULATE = 2, CONTEXT = 8, STEPS = 12, WIDTH = 16, HEADS = 2, LAYERS = 2 };

static oa_config *config_of(oa_context *c, const char *const *more)
{
    static const char *const pairs[] = { "model.layers",
                                         "2",
                                         "model.width",
                                         "16",
                                         "model.heads",
                                         "2",
                                         "model.context",
                                         "8",
                                         "data.train",
                                         text_file,
                                         "data.tokenizer",
                                         "char",
                                         "train.batch",
                                         "3",
                                         "train.accumulate",
                                         "2",
                                         "train.steps",
                                         "12",
                                         "train.warmup",
                                         "4",
                                         "train.lr",
                                         "0.01",
                                         "train.schedule",
                                         "constant",
                                         "train.log_every",
                                         "1",
                                         "train.eval_every",
                                         "0",
                                         "train.precision",
                                         "f64",
                                         NULL };
    oa_config *config = oa_config_new(c);
    set_options(config, pairs);
    if (more)
        set_options(config, more);
    return config;
}

static json_t *train(oa_context *c, const char *where, bool resume, const char *const *more)
{
    oa_config *config = config_of(c, more);
    if (!resume)
        remove_folder(where);
    assert_int_equal(oa_train(config, where, resume, NULL, &as_json), OA_OK);
    oa_config_free(config);
    return printed_json();
}

/* ---- the scores of a text */

/* The number after `label` in a text. */
static double number_after(const char *said, const char *label)
{
    const char *at = strstr(said, label);
    if (!at)
        fail_msg("there is no \"%s\" in what was printed", label);
    return strtod(at + strlen(label), NULL);
}

/* A model whose last norm gives 0 says that all V tokens are equally likely. */
static void forget_everything(oa_context *c)
{
    struct oa_trained t;
    char path[128];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    assert_int_equal(oa_trained_open(c, folder, &t), OA_OK);
    memset(t.model->decoder.norm.gain->value, 0,
           (size_t)t.model->decoder.norm.gain->count * sizeof(double));
    assert_int_equal(oa_model_save(t.model, t.tokenizer, path, false), OA_OK);
    oa_trained_close(&t);
}

static void knowing_nothing_costs_ln_v(void **state)
{
    (void)state;
    oa_context *c = open_context();
    json_decref(train(c, folder, false,
                      (const char *const[]){ "data.tokenizer", "byte", "train.steps", "1", NULL }));
    forget_everything(c);
    size_t start = validation_start(), targets = text_length - start - 1, letters = 0;
    for (size_t i = start + 1; i < text_length; i++)
        letters += begins_letter(text[i]);
    assert_int_equal(oa_eval(c, folder, NULL, NULL, &as_json), OA_OK);
    json_t *scores = printed_json();
    close_to("tokens", number_at(scores, "tokens"), (double)targets, 0);
    close_to("loss", number_at(scores, "loss"), log(256), 1e-12);
    close_to("perplexity", number_at(scores, "perplexity"), 256, 1e-11);
    close_to("bits a byte", number_at(scores, "bits_per_byte"), 8, 1e-12);
    close_to("bits a letter", number_at(scores, "bits_per_character"),
             8 * (double)targets / (double)letters, 1e-12);
    json_decref(scores);
    assert_int_equal(oa_eval(c, folder, NULL, NULL, &as_text), OA_OK);
    const char *said = printed();
    assert_true(number_after(said, "loss            ") == 5.5452);
    assert_true(number_after(said, "perplexity      ") == 256);
    assert_true(number_after(said, "bits/byte       ") == 8);
    close_to("bits a letter, as text", number_after(said, "bits/character  "),
             8 * (double)targets / (double)letters, 1e-4);
    oa_close(c);
}

/* −ln of the probability that log-odds give to a token. */
static double surprise(const float *logits, long n, int32_t token)
{
    double sum = 0;
    for (long i = 0; i < n; i++)
        sum += exp((double)logits[i] - (double)logits[token]);
    return log(sum);
}

/* Each token but the first once, from what comes before it in its window, read token by token. */
static double surprise_of_text(struct oa_trained *t, const int32_t *ids, size_t count)
{
    struct oa_decoding decoding;
    float logits[300];
    double sum = 0;
    assert_int_equal(oa_decoding_open(t->model, &decoding), OA_OK);
    for (size_t i = 0; i + 1 < count; i++) {
        if (i % CONTEXT == 0)
            oa_decoding_reset(&decoding);
        assert_int_equal(oa_decoding_read(&decoding, ids + i, 1, logits), OA_OK);
        sum += surprise(logits, t->model->vocabulary, ids[i + 1]);
    }
    oa_decoding_close(&decoding);
    return sum;
}

/* What train and eval say of a text of so many ids and letters, of which the first is not
 * predicted. */
static void check_scores(json_t *scores, double nats, double targets, double letters, double bytes)
{
    close_to("loss", number_at(scores, "loss"), nats / targets, 1e-6);
    close_to("perplexity", number_at(scores, "perplexity"), exp(nats / targets), 1e-6);
    close_to("bits a letter", number_at(scores, "bits_per_character"), nats / log(2) / letters,
             1e-6);
    close_to("bits a byte", number_at(scores, "bits_per_byte"), nats / log(2) / bytes, 1e-6);
}

static void scores_follow_from_the_logits(void **state)
{
    static const char *const more[] = { "model.dropout", "0.2", "model.attention",
                                        "softmax ; linear", NULL };
    (void)state;
    oa_context *c = open_context();
    json_t *trained = train(c, folder, false, more);
    struct oa_trained t;
    struct oa_ids ids;
    size_t start = validation_start(), first = 1;
    oa_ids_init(&ids, c);
    assert_int_equal(oa_trained_open(c, folder, &t), OA_OK);
    assert_int_equal(oa_tokenizer_encode(t.tokenizer, text + start, text_length - start, &ids),
                     OA_OK);
    assert_int_equal(ids.count, LETTERS / 10);
    while (!begins_letter(text[start + first]))
        first++;
    double nats = surprise_of_text(&t, ids.id, ids.count), letters = (double)ids.count - 1;
    double bytes = (double)(text_length - start - first);
    assert_true(bytes > letters);
    check_scores(trained, nats, letters, letters, bytes);
    assert_int_equal(oa_eval(c, folder, NULL, NULL, &as_json), OA_OK);
    json_t *evaluated = printed_json();
    check_scores(evaluated, nats, letters, letters, bytes);
    json_decref(trained);
    json_decref(evaluated);
    oa_ids_free(&ids);
    oa_trained_close(&t);
    oa_close(c);
}

/* ---- what a run says of itself */

struct log_line {
    double step, tokens, seconds, lr, loss;
};

static int read_log(const char *where, struct log_line line[64])
{
    char path[128], row[1024];
    int count = 0;
    snprintf(path, sizeof path, "%s/log.jsonl", where);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(row, sizeof row, f)) {
        json_t *o = json_loads(row, 0, NULL);
        assert_true(o && count < 64);
        line[count++] = (struct log_line){ .step = number_at(o, "step"),
                                           .tokens = number_at(o, "tokens"),
                                           .seconds = number_at(o, "seconds"),
                                           .lr = number_at(o, "lr"),
                                           .loss = number_at(o, "loss") };
        json_decref(o);
    }
    fclose(f);
    return count;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the times of the steps after the first, from the seconds in the log. */
static double median_step(const struct log_line *line, int count)
{
    double time[64];
    for (int i = 1; i < count; i++)
        time[i - 1] = line[i].seconds - line[i - 1].seconds;
    qsort(time, (size_t)count - 1, sizeof *time, ascending);
    return time[(count - 1) / 2];
}

static void a_run_counts_right(void **state)
{
    const double a_step = BATCH * ACCUMULATE * CONTEXT;
    struct log_line line[64];
    (void)state;
    oa_context *c = open_context();
    json_t *run = train(c, folder, false, (const char *const[]){ "train.seed", "5", NULL });
    assert_int_equal(read_log(folder, line), STEPS);
    for (int i = 0; i < STEPS; i++) {
        assert_true(line[i].step == i + 1);
        assert_true(line[i].tokens == a_step * (i + 1));
        close_to("lr", line[i].lr, 0.01 * fmin(1, (i + 1) / 4.0), 1e-8);
        assert_true(i == 0 || line[i].seconds > line[i - 1].seconds);
    }
    assert_true(number_at(run, "seed") == 5 && number_at(run, "steps") == STEPS);
    assert_true(number_at(run, "training_tokens") == a_step * STEPS);
    close_to("seconds", number_at(run, "seconds"), line[STEPS - 1].seconds, 1e-3);
    /* the log has microseconds */
    double median = median_step(line, STEPS);
    close_to("tokens a second", number_at(run, "tokens_per_second"), a_step / median,
             0.01 + 4e-6 / median);
    oa_config *config = config_of(c, NULL);
    assert_int_equal(oa_plan_training(config, NULL, 0, &as_json), OA_OK);
    json_t *plan = printed_json(), *row = json_array_get(json_object_get(plan, "attentions"), 0);
    struct oa_plan counted;
    assert_int_equal(plan_of(c, &config->options, 11, &counted), OA_OK);
    assert_true(number_at(plan, "vocabulary") == 11 && number_at(plan, "steps") == STEPS);
    assert_true(number_at(plan, "tokens_per_step") == a_step && counted.tokens == a_step);
    assert_true(number_at(row, "trainable") == counted.trainable &&
                number_at(row, "frozen") == counted.frozen);
    assert_true(number_at(row, "flops_per_step") == counted.flops);
    assert_true(number_at(row, "computed_flops_per_step") == counted.computed &&
                number_at(row, "bytes_per_step") == counted.bytes);
    assert_true(number_at(row, "memory_parameters") == counted.memory_parameters);
    assert_true(counted.memory_scratch > 0 &&
                number_at(row, "memory_step") ==
                    counted.memory_activations + counted.memory_scratch);
    close_to("FLOPs", number_at(run, "flops"), STEPS * number_at(row, "flops_per_step"), 1e-12);
    close_to("all seconds", number_at(row, "seconds"), STEPS * number_at(row, "seconds_per_step"),
             1e-12);
    /* The time is measured; another program may have had the core for most of either. */
    json_t *time = json_object_get(row, "time");
    assert_string_equal(json_string_value(json_object_get(time, "source")), "measured");
    assert_true(number_at(time, "least") <= number_at(row, "seconds_per_step"));
    assert_true(number_at(time, "most") >= number_at(row, "seconds_per_step"));
    double processor = number_at(run, "processor_seconds") / STEPS;
    assert_true(number_at(time, "processor") > processor / 20 &&
                number_at(time, "processor") < 20 * processor);
    oa_config_free(config);
    json_decref(plan);
    json_decref(run);
    oa_close(c);
}

/* A run in two sittings has the counts and losses of one in one, to the bit. */
static void going_on_counts_on(void **state)
{
    static const char parts[] = "test_numbers_parts";
    static const char *const half[] = { "train.steps", "5", NULL };
    struct log_line whole[64], cut[64];
    (void)state;
    oa_context *c = open_context();
    json_t *one = train(c, folder, false, NULL), *first = train(c, parts, false, half);
    json_t *two = train(c, parts, true, NULL);
    assert_true(number_at(first, "training_tokens") == 5.0 * BATCH * ACCUMULATE * CONTEXT);
    assert_true(number_at(two, "training_tokens") == number_at(one, "training_tokens"));
    assert_true(number_at(two, "steps") == STEPS);
    assert_true(number_at(two, "flops") == number_at(one, "flops"));
    assert_true(number_at(two, "seconds") > number_at(first, "seconds"));
    assert_true(number_at(two, "loss") == number_at(one, "loss"));
    assert_int_equal(read_log(folder, whole), STEPS);
    assert_int_equal(read_log(parts, cut), STEPS);
    for (int i = 0; i < STEPS; i++) {
        assert_true(cut[i].step == whole[i].step && cut[i].tokens == whole[i].tokens &&
                    cut[i].loss == whole[i].loss);
        assert_true(i == 0 || cut[i].seconds > cut[i - 1].seconds);
    }
    json_decref(one);
    json_decref(first);
    json_decref(two);
    remove_folder(parts);
    oa_close(c);
}

/* Losses of a model that hangs and always gets the same rows: all that changes is what is
 * dropped. */
static void losses_of_masks(oa_context *c, const char *dropout, const char *accumulate,
                            double losses[STEPS])
{
    static const char one_row[] = "test_numbers_row.txt";
    struct log_line line[64];
    FILE *f = fopen(one_row, "wb");
    fputs("eat a tea", f); /* a row, and the letter after it */
    fclose(f);
    json_decref(train(c, folder, false,
                      (const char *const[]){ "data.train", one_row, "data.valid_fraction", "0",
                                             "train.lr", "0", "model.dropout", dropout,
                                             "train.accumulate", accumulate, NULL }));
    assert_int_equal(read_log(folder, line), STEPS);
    for (int i = 0; i < STEPS; i++)
        losses[i] = line[i].loss;
}

static void masks_change(void **state)
{
    double none[STEPS], single[STEPS], twofold[STEPS];
    (void)state;
    oa_context *c = open_context();
    losses_of_masks(c, "0", "1", none);
    losses_of_masks(c, "0.5", "1", single);
    losses_of_masks(c, "0.5", "2", twofold);
    for (int i = 0; i < STEPS; i++) {
        close_to("a loss without dropout", none[i], none[0], 1e-12);
        assert_true(fabs(single[i] - none[0]) > 1e-6);
        assert_true(fabs(twofold[i] - single[i]) > 1e-6);
        for (int k = 0; k < i; k++)
            assert_true(fabs(single[i] - single[k]) > 1e-9);
    }
    oa_close(c);
}

/* ---- generation */

/* Log-odds after ids[0 … n−1], from the whole text at once and products made here. */
static void whole_logits(struct oa_trained *t, const int32_t *ids, long n, double *logits)
{
    oa_tape_reset(&t->tape, false, false, (struct oa_stream){ 0 });
    const oa_tensor *h =
        oa_model_hidden(&t->tape, t->model,
                        &(struct oa_sequences){ .rows = 1, .length = n, .ids = ids }, NULL, NULL);
    assert_non_null(h);
    const double *x = (const double *)h->data + (n - 1) * h->ld, *w = t->model->embedding->value;
    for (long v = 0; v < t->model->vocabulary; v++) {
        logits[v] = 0;
        for (long k = 0; k < h->cols; k++)
            logits[v] += x[k] * w[v * h->cols + k];
    }
}

static const char *generate(oa_context *c, const char *const *pairs)
{
    oa_config *config = oa_config_new(c);
    set_options(config, pairs);
    assert_int_equal(oa_generate(config, folder, NULL, &as_text), OA_OK);
    oa_config_free(config);
    return printed();
}

static void greedy_text_is_the_likeliest(void **state)
{
    (void)state;
    oa_context *c = open_context();
    json_decref(train(c, folder, false, NULL));
    const char *said =
        generate(c, (const char *const[]){ "generate.prompt", "ato", "generate.tokens", "5",
                                           "generate.temperature", "0", NULL });
    struct oa_trained t;
    struct oa_ids ids;
    struct oa_text expected;
    double logits[64];
    oa_ids_init(&ids, c);
    oa_text_init(&expected, c);
    assert_int_equal(oa_trained_open(c, folder, &t), OA_OK);
    assert_int_equal(oa_tokenizer_encode(t.tokenizer, "ato", 3, &ids), OA_OK);
    while (ids.count < CONTEXT) {
        int32_t best = 0;
        whole_logits(&t, ids.id, (long)ids.count, logits);
        for (int32_t v = 0; v < t.model->vocabulary; v++)
            best = logits[v] > logits[best] ? v : best;
        assert_int_equal(oa_ids_add(&ids, best), OA_OK);
    }
    assert_int_equal(oa_tokenizer_decode(t.tokenizer, ids.id, ids.count, &expected), OA_OK);
    oa_text_add(&expected, "\n", 1);
    assert_string_equal(said, expected.s);
    oa_text_free(&expected);
    oa_ids_free(&ids);
    oa_trained_close(&t);
    oa_close(c);
}

/* How often each letter follows, over many seeds, within five standard deviations of its
 * probability. */
static void draws_have_the_probabilities(void **state)
{
    enum { DRAWS = 300 };
    static const double temperature = 0.5;
    (void)state;
    oa_context *c = open_context();
    json_decref(train(c, folder, false, NULL));
    struct oa_trained t;
    int32_t ids[64] = { 0 };
    long drawn[64] = { 0 };
    double logits[64], sum = 0;
    assert_int_equal(oa_trained_open(c, folder, &t), OA_OK);
    ids[0] = oa_tokenizer_find(t.tokenizer, "e");
    whole_logits(&t, ids, 1, logits);
    for (long v = 0; v < t.model->vocabulary; v++)
        sum += exp(logits[v] / temperature);
    for (int i = 0; i < DRAWS; i++) {
        char seed[16];
        snprintf(seed, sizeof seed, "%d", i);
        const char *said = generate(
            c, (const char *const[]){ "generate.prompt", "e", "generate.tokens", "1",
                                      "generate.temperature", "0.5", "generate.seed", seed, NULL });
        struct oa_ids next;
        oa_ids_init(&next, c);
        assert_int_equal(oa_tokenizer_encode(t.tokenizer, said + 1, strlen(said) - 2, &next),
                         OA_OK);
        assert_int_equal(next.count, 1);
        drawn[next.id[0]]++;
        oa_ids_free(&next);
    }
    for (long v = 0; v < t.model->vocabulary; v++) {
        double p = exp(logits[v] / temperature) / sum;
        assert_true(fabs((double)drawn[v] - DRAWS * p) <= 5 * sqrt(DRAWS * p * (1 - p)) + 1);
    }
    oa_trained_close(&t);
    oa_close(c);
}

/* A temperature that makes all rows of the embedding equally likely draws only those that stand for
 * a letter. */
static void draws_letters_only(void **state)
{
    static const char *const wider[] = { "model.vocabulary", "12",
                                         NULL }; /* the text has eleven letters */
    (void)state;
    oa_context *c = open_context();
    json_decref(train(c, folder, false, wider));
    const char *said =
        generate(c, (const char *const[]){ "generate.prompt", "e", "generate.tokens", "200",
                                           "generate.temperature", "100", NULL });
    size_t letters = 0;
    for (const char *at = said; *at; at++)
        letters += begins_letter(*at);
    assert_int_equal(letters, 1 + 200 + 1);
    oa_close(c);
}

/* ---- plan and bench, by hand */

static struct oa_plan planned(const char *attention, const char *const *more)
{
    static const char *const pairs[] = { "model.layers",  "2",  "model.width", "64",
                                         "model.heads",   "4",  "model.ffn",   "96",
                                         "model.context", "32", "data.train",  text_file,
                                         "train.batch",   "16", NULL };
    struct oa_plan plan;
    oa_context *c = open_context();
    oa_config *config = oa_config_new(c);
    set_options(config, pairs);
    set_options(config, more);
    assert_int_equal(oa_config_set(config, "model.attention", attention), OA_OK);
    assert_int_equal(plan_of(c, &config->options, 256, &plan), OA_OK);
    oa_config_free(config);
    oa_close(c);
    return plan;
}

static const char *const nothing[] = { NULL };
enum { V = 256, D = 64, F = 96, N = 32, H = 4, L = 2, B = 16 };
static const double around =
    V * D + N * D + L * (2 * D + 2 * D * F) + D; /* what is not attention */

static void parameters_by_hand(void **state)
{
    static const char *const bias[] = { "model.bias", "true", NULL }, *const rotary[] = {
        "model.position", "rotary", NULL
    };
    (void)state;
    assert_true(planned("softmax", nothing).trainable == around + L * 4 * D * D);
    assert_true(planned("softmax", nothing).frozen == 0);
    assert_true(planned("softmax", bias).trainable ==
                around + L * (4 * D * D + 4 * D + 2 * D + F + D) + D);
    assert_true(planned("softmax", rotary).trainable == around - N * D + L * 4 * D * D);
    assert_true(planned("softmax", rotary).frozen == 2 * N * (D / H / 2));
    assert_true(planned("random", nothing).trainable == around + L * (2 * D * D + H * N * N));
    assert_true(planned("orthogonal", nothing).trainable == around + L * 2 * D * D);
    assert_true(planned("orthogonal", nothing).frozen == L * 2 * D * D);
}

/* Values, gradients and two moments, four bytes each; bf16 has a copy of two bytes more. Each
 * tensor may be filled up to a cache line. */
static void memory_by_hand(void **state)
{
    static const char *const bf16[] = { "train.precision", "bf16", NULL }, *const f64[] = {
        "train.precision", "f64", NULL
    };
    double parameters = around + L * 4 * D * D;
    (void)state;
    double single = planned("softmax", nothing).memory_parameters;
    assert_true(single >= 16 * parameters && single < 16 * parameters * 1.03 + 4096);
    close_to("f64", planned("softmax", f64).memory_parameters, 2 * single, 0.01);
    close_to("bf16", planned("softmax", bf16).memory_parameters, single + 2 * parameters, 0.03);
}

/* Products: 2 a multiply-add, three of them a weight and token (forward, and the gradients of both
 * factors). What is left, norms and the like, is a few percent. Pairs of a query and a key that it
 * sees: all that differs between a sequence of 2n and two of n is their number, and so between
 * softmax and a window. */
static void flops_by_hand(void **state)
{
    static const char *const
        longer[] = { "model.position", "none", "model.context", "64", "train.batch", "8", NULL },
        *const shorter[] = { "model.position", "none", NULL },
        *const twice[] = { "model.position", "none", "train.accumulate", "2", NULL };
    double tokens = (double)B * N, weights = V * D + L * (4.0 * D * D + 2.0 * D * F),
           all = around + L * 4 * D * D;
    (void)state;
    double flops = planned("softmax", shorter).flops, pairs = (double)B * L * H * N * (N + 1) / 2;
    double products = 6 * tokens * weights, widths = (double)D / H * pairs;
    assert_true(flops > products + 12 * widths);
    assert_true(flops < 1.05 * products + 20 * widths + 20 * all);
    double more = planned("softmax", longer).flops - flops;
    double a_pair = more / ((double)L * H * (8 * 64 * 65 / 2 - 16 * 32 * 33 / 2));
    assert_true(a_pair >= 12.0 * D / H && a_pair < 20.0 * D / H);
    double seen = 0;
    for (int i = 0; i < N; i++)
        seen += i < 5 ? i + 1 : 5;
    double fewer = flops - planned("local(window=5)", shorter).flops;
    close_to("a window", fewer, a_pair * B * L * H * (N * (N + 1) / 2.0 - seen), 1e-9);
    double both = planned("softmax", twice).flops;
    assert_true(both < 2 * flops && both > 2 * flops - 20 * all);
}

static json_t *bench_row(json_t *root, int attention, int length)
{
    json_t *series = json_array_get(json_object_get(root, "attentions"), (size_t)attention);
    return json_array_get(json_object_get(series, "lengths"), (size_t)length);
}

static void bench_has_the_right_units(void **state)
{
    static const char *const attentions[] = { "softmax", "local(window=4)" };
    static const long lengths[] = { 32, 64 };
    const struct oa_bench_request r = { .attentions = attentions,
                                        .count = 2,
                                        .length = lengths,
                                        .lengths = 2,
                                        .tokens = 128,
                                        .width = 64,
                                        .heads = 4,
                                        .causal = 1 };
    (void)state;
    oa_context *c = open_context();
    assert_int_equal(oa_bench_attention(c, &r, &as_json), OA_OK);
    json_t *root = printed_json();
    for (int i = 0; i < 4; i++) {
        json_t *row = bench_row(root, i / 2, i % 2), *softmax = bench_row(root, 0, i % 2);
        double length = number_at(row, "length"), batch = number_at(row, "batch"),
               seconds = number_at(row, "seconds");
        double flops = number_at(row, "flops"), products = 6 * length * batch * 4 * 64 * 64;
        assert_true(length == (double)lengths[i % 2] && batch == 128 / length);
        assert_true(flops > products && flops < 1.5 * products);
        close_to("share", number_at(row, "of_peak"),
                 flops / seconds / number_at(root, "peak_flops"), 1e-9);
        close_to("time", number_at(row, "time_of_softmax"), seconds / number_at(softmax, "seconds"),
                 1e-9);
        close_to("FLOPs", number_at(row, "flops_of_softmax"), flops / number_at(softmax, "flops"),
                 1e-9);
        close_to("memory", number_at(row, "memory_parameters"), 16.0 * 4 * 64 * 64, 0.05);
    }
    /* the peak is measured twice, in FLOP/s and in GFLOP/s; other programs may have had the core */
    assert_int_equal(oa_bench_peak(c, &as_json), OA_OK);
    json_t *peak = printed_json();
    double gigas = number_at(root, "peak_flops") / number_at(peak, "f32_all") / 1e9;
    assert_true(gigas > 1.0 / 30 && gigas < 30);
    json_decref(peak);
    json_t *first = json_array_get(json_object_get(root, "attentions"), 0);
    double growth = number_at(bench_row(root, 0, 1), "seconds") /
                    number_at(bench_row(root, 0, 0), "seconds") * 2;
    close_to("exponent", number_at(first, "time_exponent"), log(growth) / log(2), 1e-9);
    json_decref(root);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knowing_nothing_costs_ln_v),
        cmocka_unit_test(scores_follow_from_the_logits),
        cmocka_unit_test(a_run_counts_right),
        cmocka_unit_test(going_on_counts_on),
        cmocka_unit_test(masks_change),
        cmocka_unit_test(greedy_text_is_the_likeliest),
        cmocka_unit_test(draws_have_the_probabilities),
        cmocka_unit_test(draws_letters_only),
        cmocka_unit_test(parameters_by_hand),
        cmocka_unit_test(memory_by_hand),
        cmocka_unit_test(flops_by_hand),
        cmocka_unit_test(bench_has_the_right_units),
    };
    return cmocka_run_group_tests(tests, make_text, NULL);
}
