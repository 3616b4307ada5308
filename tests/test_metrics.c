/* SPDX-License-Identifier: Apache-2.0
 * Metrics against the packages whose numbers they have to be: vectors in tests/metrics, made by
 * make_vectors.py, which says with what versions. */
#include "testing.h"

#include "metrics/metrics_parts.h"

#include <jansson.h>
#include <math.h>

static oa_context *context;

static json_t *load(const char *name)
{
    char path[512];
    json_error_t error;
    snprintf(path, sizeof path, SOURCE_DIR "/tests/metrics/%s", name);
    json_t *root = json_load_file(path, 0, &error);
    if (!root)
        fail_msg("%s: %s", path, error.text);
    return root;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value))
        fail_msg("there is no number %s", key);
    return json_number_value(value);
}

static const char *word(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));
    assert_non_null(s);
    return s;
}

static void near(const char *what, double found, double expected, double bound)
{
    if (!(fabs(found - expected) <= bound))
        fail_msg("%s: found %.17g, expected %.17g", what, found, expected);
}

/* ---- texts
 * -------------------------------------------------------------------------------------------------------
 */

static struct oa_line line_of(const json_t *string)
{
    return (struct oa_line){ json_string_value(string), json_string_length(string) };
}

static struct oa_line *lines_of(const json_t *array)
{
    struct oa_line *lines = malloc((json_array_size(array) + 1) * sizeof *lines);
    for (size_t i = 0; i < json_array_size(array); i++)
        lines[i] = line_of(json_array_get(array, i));
    return lines;
}

struct corpus {
    struct oa_line *system[2], *reference[3];
    const struct oa_line *references[3];
    long count;
};

static struct corpus corpus_of(const json_t *root)
{
    struct corpus c;
    const json_t *system = json_object_get(root, "system"),
                 *reference = json_object_get(root, "reference");
    bool two = json_is_array(json_array_get(system, 0));
    c.system[0] = lines_of(two ? json_array_get(system, 0) : system);
    c.system[1] = lines_of(two ? json_array_get(system, 1) : system);
    for (size_t i = 0; i < 3; i++)
        c.references[i] = c.reference[i] = lines_of(json_array_get(reference, i));
    c.count = (long)json_array_size(json_array_get(reference, 0));
    return c;
}

static void free_corpus(struct corpus *c)
{
    for (int i = 0; i < 2; i++)
        free(c->system[i]);
    for (int i = 0; i < 3; i++)
        free(c->reference[i]);
}

static struct oa_metric_options options_of(const json_t *given)
{
    struct oa_metric_options o;
    oa_metric_defaults(&o);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)given, key, value)
    {
        double x = json_number_value(value);
#define SET(field, type)                                                                           \
    if (strcmp(key, #field) == 0) {                                                                \
        o.field = (type)x;                                                                         \
        continue;                                                                                  \
    }
        SET(bleu_tokens, enum oa_bleu_tokens)
        SET(bleu_smooth, enum oa_bleu_smooth)
        SET(bleu_smooth_value, double)
        SET(bleu_order, int)
        SET(bleu_lowercase, bool)
        SET(chrf_characters, int)
        SET(chrf_words, int)
        SET(chrf_beta, int)
        SET(chrf_lowercase, bool)
        SET(chrf_whitespace, bool)
        SET(chrf_eps_smoothing, bool)
        SET(ter_normalized, bool)
        SET(ter_no_punctuation, bool)
        SET(ter_asian, bool)
        SET(ter_case_sensitive, bool)
        SET(rouge_stemmer, bool)
        fail_msg("no option %s", key);
    }
    return o;
}

static struct oa_statistics take(const struct corpus *c, const char *metric,
                                 const struct oa_metric_options *o, const struct oa_line *system,
                                 int references)
{
    struct oa_statistics s;
    const struct oa_metric *m = oa_metric_find(metric);
    assert_non_null(m);
    if (oa_statistics_take(context, m, o, system, c->references, references, c->count, &s) != OA_OK)
        fail_msg("%s was refused", metric);
    return s;
}

static void check_lines(const struct oa_statistics *s, const json_t *expected, const char *what,
                        double bound)
{
    char name[128];
    assert_int_equal(json_array_size(expected), s->count);
    for (long i = 0; i < s->count; i++) {
        snprintf(name, sizeof name, "%s, line %ld", what, i + 1);
        near(name, s->metric->score(s->options, s->row + i * s->numbers, false),
             json_number_value(json_array_get(expected, (size_t)i)), bound);
    }
}

static void check_text(const char *what, const char *expected, struct oa_text *text)
{
    if (strcmp(text->s ? text->s : "", expected) != 0)
        fail_msg("%s is \"%s\", not \"%s\"", what, text->s ? text->s : "", expected);
    oa_text_cut(text, 0);
}

/* Name, signature and details as sacreBLEU words them. */
static void check_words(const struct oa_statistics *s, const json_t *c)
{
    struct oa_text text;
    double sum[OA_MOST_STATISTICS];
    oa_text_init(&text, context);
    oa_metric_title(s->metric, s->options, &text);
    check_text("the name", word(c, "name"), &text);
    if (s->options->bleu_order ==
        4) { /* another order is in our signature, and in sacreBLEU's not */
        s->metric->signature(s->options, &text);
        check_text("the signature", word(c, "signature"), &text);
    }
    oa_statistics_sum(s, sum);
    if (s->metric->verbose)
        s->metric->verbose(s->options, sum, &text);
    check_text("the detail", word(c, "verbose"), &text);
    oa_text_free(&text);
}

static void scores_equal_sacrebleus(void **state)
{
    (void)state;
    json_t *root = load("translation.json"), *c;
    struct corpus corpus = corpus_of(root);
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, c)
    {
        struct oa_metric_options o = options_of(json_object_get(c, "options"));
        struct oa_statistics s =
            take(&corpus, word(c, "metric"), &o, corpus.system[0], (int)number(c, "references"));
        char what[64];
        snprintf(what, sizeof what, "%s, case %zu", word(c, "metric"), i);
        near(what, oa_statistics_score(&s), number(c, "score"), 1e-12);
        check_words(&s, c);
        o.bleu_effective_order = true;
        check_lines(&s, json_object_get(c, "lines"), what, 1e-9);
        oa_statistics_free(&s);
    }
    assert_int_equal(i, 40);
    free_corpus(&corpus);
    json_decref(root);
}

static void check_rouge(const json_t *root)
{
    struct corpus corpus = corpus_of(root);
    json_t *c;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, c)
    {
        struct oa_metric_options o = options_of(json_object_get(c, "options"));
        o.rouge_newline = "<n>";
        struct oa_statistics s =
            take(&corpus, word(c, "metric"), &o, corpus.system[0], (int)number(c, "references"));
        double means[3];
        check_lines(&s, json_object_get(c, "lines"), word(c, "metric"), 1e-11);
        oa_rouge_means(&s, means);
        for (size_t k = 0; k < 3; k++)
            near(word(c, "metric"), means[k],
                 json_number_value(json_array_get(json_object_get(c, "means"), k)), 1e-13);
        near("F", oa_statistics_score(&s), means[2], 0);
        oa_statistics_free(&s);
    }
    assert_int_equal(i, 16);
    free_corpus(&corpus);
}

static void scores_equal_rouge_scores(void **state)
{
    (void)state;
    json_t *root = load("rouge.json");
    check_rouge(root);
    check_rouge(json_object_get(root, "odd"));
    json_decref(root);
}

/* Words of up to three letters are not stemmed: "was" would be "wa". */
static void short_words_are_not_stemmed(void **state)
{
    (void)state;
    const struct oa_line hypothesis = { "was cats", 8 }, expected = { "wa cat", 6 };
    const struct oa_line *reference = &expected;
    struct oa_metric_options o;
    struct oa_statistics s;
    oa_metric_defaults(&o);
    o.rouge_stemmer = true;
    assert_int_equal(oa_statistics_take(context, &oa_rouge1, &o, &hypothesis, &reference, 1, 1, &s),
                     OA_OK);
    near("ROUGE-1", oa_statistics_score(&s), 0.5, 0);
    oa_statistics_free(&s);
}

static void stems_equal_nltks(void **state)
{
    (void)state;
    json_t *root = load("numbers.json"), *stem;
    const char *from;
    char s[64];
    json_object_foreach(json_object_get(root, "stems"), from, stem)
    {
        assert_true(strlen(from) < sizeof s);
        strcpy(s, from);
        s[oa_porter_stem(s, strlen(from))] = 0;
        if (strcmp(s, json_string_value(stem)) != 0)
            fail_msg("the stem of %s is %s, not %s", from, s, json_string_value(stem));
    }
    assert_true(json_object_size(json_object_get(root, "stems")) > 1500);
    json_decref(root);
}

/* Words of a whole book, by NLTK's stemmer as rouge-score has it. */
static void stems_of_a_vocabulary_equal_nltks(void **state)
{
    (void)state;
    FILE *f = fopen(SOURCE_DIR "/tests/metrics/stems.txt", "r");
    char from[64], to[64], s[64];
    int count = 0;
    assert_non_null(f);
    for (; fscanf(f, "%63s %63s", from, to) == 2; count++) {
        strcpy(s, from);
        s[oa_porter_stem(s, strlen(from))] = 0;
        if (strcmp(s, to) != 0)
            fail_msg("the stem of %s is %s, not %s", from, s, to);
    }
    assert_true(count > 5000);
    fclose(f);
}

/* Punctuation and symbols of all of Unicode next to letters, digits, marks and each other, by
 * sacreBLEU. */
static void intl_tokens_equal_sacrebleus(void **state)
{
    (void)state;
    json_t *root = load("intl.json"), *tokens;
    const struct oa_metric_options o = { .bleu_tokens = OA_TOKENS_INTL };
    struct oa_arena a;
    struct oa_word_list words;
    const char *from;
    oa_arena_init(&a, context, false);
    json_object_foreach(json_object_get(root, "texts"), from, tokens)
    {
        struct oa_text found;
        oa_text_init(&found, context);
        assert_true(oa_bleu_words(&o, &a, (struct oa_line){ from, strlen(from) }, &words));
        for (long i = 0; i < words.count; i++)
            oa_text_printf(&found, "%s%.*s", i ? " " : "", (int)words.word[i].length,
                           words.word[i].s);
        check_text(from, json_string_value(tokens), &found);
        oa_text_free(&found);
        oa_arena_reset(&a);
    }
    assert_true(json_object_size(json_object_get(root, "texts")) > 700);
    oa_arena_free(&a);
    json_decref(root);
}

/* What Python 3.11 says of str.lower(), rstrip() and split(). */
static void text_is_split_and_lowered_as_in_python(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        { "ΟΔΥΣΣΕΥΣ Σ", "οδυσσευς σ" },
        { "ΑΣ. ΑΣΑ ΑΣ'Α", "ας. ασα ασ'α" },
        { "ⅠΣ 1Σ", "ⅰς 1σ" },
        { "İI\u212a", "i̇ik" },
        { "ẞǅΩ", "ßǆω" },
    };
    struct oa_arena a;
    struct oa_word_list words;
    oa_arena_init(&a, context, false);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct oa_line lower =
            oa_python_lower(&a, (struct oa_line){ pairs[i][0], strlen(pairs[i][0]) });
        if (lower.length != strlen(pairs[i][1]) || memcmp(lower.s, pairs[i][1], lower.length) != 0)
            fail_msg("%s in lower case is %.*s", pairs[i][0], (int)lower.length, lower.s);
    }
    const char *text = " a\x1c\u00a0b\u3000\u200bc \u2029";
    assert_int_equal(oa_python_rstrip((struct oa_line){ text, strlen(text) }).length,
                     strlen(text) - 4);
    assert_true(oa_python_split(&a, (struct oa_line){ text, strlen(text) }, &words));
    assert_int_equal(words.count, 3); /* U+200B is no white space */
    oa_arena_free(&a);
}

/* The closed form of one line: of 4 words 3 are right, of 3 pairs 2, of 2 triples 1, and no run
 * of 4. */
static void bleu_equals_a_calculation_by_hand(void **state)
{
    (void)state;
    const struct oa_line hypothesis = { "a b c x", 7 }, expected = { "a b c d e", 9 };
    const struct oa_line *reference = &expected;
    struct oa_metric_options o;
    struct oa_statistics s;
    oa_metric_defaults(&o);
    assert_int_equal(oa_statistics_take(context, &oa_bleu, &o, &hypothesis, &reference, 1, 1, &s),
                     OA_OK);
    double precisions = 0.75 * (2.0 / 3) * 0.5 * (1.0 / 2);
    near("BLEU", oa_statistics_score(&s), 100 * exp(1 - 5.0 / 4) * pow(precisions, 0.25), 1e-12);
    oa_statistics_free(&s);
}

/* ---- resampling
 * --------------------------------------------------------------------------------------------------
 */

static void draws_equal_numpys(void **state)
{
    (void)state;
    json_t *root = load("translation.json"), *seed;
    const char *name;
    json_object_foreach(json_object_get(json_object_get(root, "resampled"), "seeds"), name, seed)
    {
        struct oa_numpy_random r;
        const json_t *draws = json_object_get(seed, "draws");
        oa_numpy_seed(&r, strtoull(name, NULL, 10));
        for (size_t i = 0; i < 60; i++)
            assert_int_equal(oa_numpy_below(&r, i < 40 ? 70 : 3000000000u),
                             json_integer_value(json_array_get(draws, i)));
        oa_numpy_seed(&r, strtoull(name, NULL, 10));
        for (size_t i = 0; i < 100; i++)
            assert_int_equal(oa_numpy_bit(&r), word(seed, "bits")[i] - '0');
    }
    json_decref(root);
}

static void check_resample(const char *what, const struct oa_resample *r, const json_t *expected)
{
    static const char *const key[] = { "score", "p", "mean", "half" };
    const double found[] = { r->score, r->strict_p, r->mean, r->half };
    for (int i = 0; i < 4; i++) {
        const json_t *value = json_object_get(expected, key[i]);
        if (!json_is_number(value))
            assert_true(isnan(found[i]) || !value);
        else
            near(what, found[i], json_number_value(value), 1e-12);
    }
}

static void intervals_equal_sacrebleus(void **state)
{
    (void)state;
    json_t *root = load("translation.json"), *c;
    struct corpus corpus = corpus_of(root);
    size_t i;
    json_array_foreach(json_object_get(json_object_get(root, "resampled"), "single"), i, c)
    {
        struct oa_metric_options o = options_of(json_object_get(c, "options"));
        struct oa_statistics s = take(&corpus, word(c, "metric"), &o, corpus.system[0], 2);
        struct oa_resample r;
        assert_int_equal(oa_bootstrap(context, &s, (long)number(c, "samples"), 12345, &r), OA_OK);
        check_resample(word(c, "metric"), &r, c);
        oa_statistics_free(&s);
    }
    assert_int_equal(i, 7);
    free_corpus(&corpus);
    json_decref(root);
}

static void check_paired(const struct corpus *corpus, const json_t *c)
{
    struct oa_metric_options o = options_of(json_object_get(c, "options"));
    struct oa_statistics s[3];
    struct oa_resample r[3];
    struct oa_line *third = malloc((size_t)corpus->count * sizeof *third);
    for (long i = 0; i < corpus->count; i++)
        third[i] = i < corpus->count - 9 ? corpus->system[1][i] : corpus->reference[0][i];
    s[0] = take(corpus, word(c, "metric"), &o, corpus->system[0], 2);
    s[1] = take(corpus, word(c, "metric"), &o, corpus->system[1], 2);
    s[2] = take(corpus, word(c, "metric"), &o, third, 2);
    bool bootstrap = strcmp(word(c, "test"), "bs") == 0;
    assert_int_equal((bootstrap ? oa_paired_bootstrap : oa_paired_randomisation)(
                         context, s, 3, (long)number(c, "samples"), 12345, r),
                     OA_OK);
    for (size_t k = 0; k < 3; k++) {
        check_resample(word(c, "metric"), &r[k], json_array_get(json_object_get(c, "systems"), k));
        oa_statistics_free(&s[k]);
    }
    free(third);
}

static void paired_tests_equal_sacrebleus(void **state)
{
    (void)state;
    json_t *root = load("translation.json"), *c;
    struct corpus corpus = corpus_of(root);
    size_t i;
    json_array_foreach(json_object_get(json_object_get(root, "resampled"), "paired"), i, c)
        check_paired(&corpus, c);
    assert_int_equal(i, 14);
    free_corpus(&corpus);
    json_decref(root);
}

/* The same bits for any number of threads. */
static void scores_do_not_depend_on_threads(void **state)
{
    (void)state;
    json_t *root = load("translation.json");
    struct corpus corpus = corpus_of(root);
    struct oa_metric_options o;
    struct oa_resample r[2];
    oa_metric_defaults(&o);
    for (int threads = 1; threads <= 4; threads += 3) {
        oa_context *before = context;
        context = oa_open(&(struct oa_settings){ .threads = threads });
        struct oa_statistics s = take(&corpus, "ter", &o, corpus.system[0], 3);
        assert_int_equal(oa_bootstrap(context, &s, 100, 7, &r[threads > 1]), OA_OK);
        oa_statistics_free(&s);
        oa_close(context);
        context = before;
    }
    assert_true(r[0].score == r[1].score && r[0].mean == r[1].mean && r[0].half == r[1].half);
    free_corpus(&corpus);
    json_decref(root);
}

/* ---- labels and numbers
 * ------------------------------------------------------------------------------------------ */

static void check_f1(const struct oa_classes *k, const json_t *c, const char *name,
                     enum oa_average average)
{
    const json_t *expected = json_object_get(json_object_get(c, "average"), name);
    struct oa_f1 f;
    if (!expected)
        return;
    const char *positive = average == OA_AVERAGE_BINARY ? word(c, "positive") : "";
    assert_int_equal(
        oa_f1_of(context, k, average, (struct oa_line){ positive, strlen(positive) }, &f), OA_OK);
    near("precision", f.precision, json_number_value(json_array_get(expected, 0)), 1e-15);
    near("recall", f.recall, json_number_value(json_array_get(expected, 1)), 1e-15);
    near("F1", f.f1, json_number_value(json_array_get(expected, 2)), 1e-15);
}

static void label_metrics_equal_scikit_learns(void **state)
{
    (void)state;
    json_t *root = load("numbers.json"), *c;
    size_t i;
    json_array_foreach(json_object_get(root, "labels"), i, c)
    {
        struct oa_line *x = lines_of(json_object_get(c, "hypothesis")),
                       *y = lines_of(json_object_get(c, "reference"));
        struct oa_classes k;
        bool defined;
        assert_int_equal(oa_classes_count(context, x, y,
                                          (long)json_array_size(json_object_get(c, "reference")),
                                          &k),
                         OA_OK);
        near("accuracy", oa_accuracy(&k), number(c, "accuracy"), 0);
        near("MCC", oa_mcc(&k, &defined), number(c, "mcc"), 1e-15);
        assert_int_equal(defined, number(c, "mcc") != 0);
        check_f1(&k, c, "macro", OA_AVERAGE_MACRO);
        check_f1(&k, c, "micro", OA_AVERAGE_MICRO);
        check_f1(&k, c, "weighted", OA_AVERAGE_WEIGHTED);
        check_f1(&k, c, "binary", OA_AVERAGE_BINARY);
        oa_classes_free(&k);
        free(x);
        free(y);
    }
    json_decref(root);
}

static void expect_correlation(const char *what, double found, const json_t *expected)
{
    if (json_is_null(expected))
        assert_true(isnan(found));
    else
        near(what, found, json_number_value(expected), 4e-16 * 8);
}

static void correlations_equal_scipys(void **state)
{
    (void)state;
    json_t *root = load("numbers.json"), *c, *v;
    size_t i, k;
    json_array_foreach(json_object_get(root, "numbers"), i, c)
    {
        double x[400], y[400], r;
        json_array_foreach(json_object_get(c, "x"), k, v) x[k] = json_number_value(v);
        json_array_foreach(json_object_get(c, "y"), k, v) y[k] = json_number_value(v);
        assert_int_equal(oa_pearson(context, x, y, (long)k, &r), OA_OK);
        expect_correlation("Pearson", r, json_object_get(c, "pearson"));
        assert_int_equal(oa_spearman(context, x, y, (long)k, &r), OA_OK);
        expect_correlation("Spearman", r, json_object_get(c, "spearman"));
    }
    json_decref(root);
}

static int open_context(void **state)
{
    (void)state;
    context = oa_open(&(struct oa_settings){ .threads = 2 });
    return context ? 0 : 1;
}

static int close_context(void **state)
{
    (void)state;
    oa_close(context);
    return 0;
}

int main(void)
{
    threads_only("scores_do_not_depend_on_threads");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_equal_sacrebleus),
        cmocka_unit_test(scores_equal_rouge_scores),
        cmocka_unit_test(stems_equal_nltks),
        cmocka_unit_test(short_words_are_not_stemmed),
        cmocka_unit_test(text_is_split_and_lowered_as_in_python),
        cmocka_unit_test(bleu_equals_a_calculation_by_hand),
        cmocka_unit_test(draws_equal_numpys),
        cmocka_unit_test(intervals_equal_sacrebleus),
        cmocka_unit_test(paired_tests_equal_sacrebleus),
        cmocka_unit_test(stems_of_a_vocabulary_equal_nltks),
        cmocka_unit_test(intl_tokens_equal_sacrebleus),
        cmocka_unit_test(scores_do_not_depend_on_threads),
        cmocka_unit_test(label_metrics_equal_scikit_learns),
        cmocka_unit_test(correlations_equal_scipys),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
