/* SPDX-License-Identifier: Apache-2.0
 * Generation. Sampling: frequencies are the probabilities, cuts cut, and a draw is a function of
 * seed and index alone. Reading on: a model that reads token by token says what it says of the
 * whole text, whatever its attention, also when its context is full; copies go their own way;
 * nothing is allocated. */
#include "setups.h"

#include "decode/decode.h"
#include "device/device.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 6, DRAWS = 60000 };
static const float logits[TOKENS] = { 1.0f, -INFINITY, 2.0f, 0.0f, 2.0f, -3.0f };

static struct oa_sampler *sampler(oa_context *c, double temperature, long top_k, double top_p,
                                  uint64_t seed)
{
    struct oa_sampling how = {
        .temperature = temperature, .top_k = top_k, .top_p = top_p, .seed = seed
    };
    struct oa_sampler *s;
    assert_int_equal(oa_sampler_open(c, &how, TOKENS, &s), OA_OK);
    return s;
}

static void count_draws(struct oa_sampler *s, long count[TOKENS])
{
    memset(count, 0, TOKENS * sizeof *count);
    for (uint64_t i = 0; i < DRAWS; i++) {
        int32_t token;
        assert_int_equal(oa_sample(s, logits, i, &token), OA_OK);
        assert_in_range(token, 0, TOKENS - 1);
        count[token]++;
    }
}

/* Frequencies against probabilities, within five standard deviations. */
static void check_frequencies(const long count[TOKENS], const double p[TOKENS])
{
    for (int i = 0; i < TOKENS; i++)
        assert_true(fabs((double)count[i] - DRAWS * p[i]) <= 5 * sqrt(DRAWS * p[i] * (1 - p[i])));
}

static void expected(double temperature, const bool kept[TOKENS], double p[TOKENS])
{
    double sum = 0;
    for (int i = 0; i < TOKENS; i++)
        sum += p[i] = kept[i] ? exp((double)logits[i] / temperature) : 0;
    for (int i = 0; i < TOKENS; i++)
        p[i] /= sum;
}

static void draws_have_the_expected_frequencies(void **state)
{
    static const struct {
        double temperature;
        long top_k;
        double top_p;
        bool kept[TOKENS];
    } cases[] = {
        { 1, 0, 1, { true, false, true, true, true, true } },
        { 0.5, 0, 1, { true, false, true, true, true, true } },
        { 3, 0, 1, { true, false, true, true, true, true } },
        { 1, 3, 1, { true, false, true, false, true, false } },
        { 1, 2, 1, { false, false, true, false, true, false } },
        { 1, 100, 1, { true, false, true, true, true, true } },
        { 1,
          0,
          0.80,
          { false, false, true, false, true, false } }, /* the two best have 0.799… of it */
        { 1, 0, 0.5, { false, false, true, false, true, false } },
        { 1,
          0,
          0.3,
          { false, false, true, false, false, false } }, /* of equals the lower id comes first */
        { 1, 3, 0.99, { true, false, true, false, true, false } },
    };
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double p[TOKENS];
        long count[TOKENS];
        if (i == 6) /* just below the share of the two best */
            expected(1, cases[0].kept, p);
        double top_p = i == 6 ? p[2] + p[4] - 1e-6 : cases[i].top_p;
        struct oa_sampler *s = sampler(c, cases[i].temperature, cases[i].top_k, top_p, 7 + i);
        count_draws(s, count);
        expected(cases[i].temperature, cases[i].kept, p);
        check_frequencies(count, p);
        oa_sampler_close(s);
    }
    oa_close(c);
}

/* ---- against a reference that sorts all tokens, in double ---- */

enum { MANY = 3000 };
static float many[MANY];
static int order[MANY];

static int by_logit(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return many[x] != many[y] ? (many[x] < many[y] ? 1 : -1) : x - y;
}

/* The token that `uniform` draws. */
static int32_t reference_token(const struct oa_sampling *how, double uniform)
{
    static double weight[MANY];
    bool cut = how->top_k > 0 || how->top_p < 1;
    int count = how->top_k > 0 && how->top_k < MANY ? (int)how->top_k : MANY;
    double sum = 0, have = 0;
    for (int i = 0; i < MANY; i++)
        order[i] = i;
    if (cut)
        qsort(order, MANY, sizeof *order, by_logit);
    for (int i = 0; i < count; i++)
        sum += weight[i] = exp((double)many[order[i]] / how->temperature);
    for (int i = 0; i < count && how->top_p < 1; i++) {
        have += weight[i];
        if (have >= how->top_p * sum) {
            count = i + 1;
            sum = have;
        }
    }
    have = uniform * sum;
    for (int i = 0; i < count; i++)
        if ((have -= weight[i]) < 0)
            return order[i];
    return order[count - 1];
}

static void draws_are_those_of_all_tokens_sorted(void **state)
{
    static const double temperatures[] = { 1, 0.3, 5, 1000 }, shares[] = { 1, 0.5, 0.9, 0.999 };
    static const long tops[] = { 0, 1, 7, 500, MANY };
    static const double spreads[] = { 1, 6 };
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    for (int i = 0; i < 2 * 4 * 4 * 5; i++) {
        int32_t token;
        struct oa_sampler *s;
        const struct oa_sampling how = { .temperature = temperatures[i / 2 % 4],
                                         .top_p = shares[i / 8 % 4],
                                         .top_k = tops[i / 32],
                                         .seed = (uint64_t)i };
        struct oa_stream draws = oa_stream_named((uint64_t)i, "sample"),
                         values = oa_stream_named(4, "test_decode");
        for (int k = 0; k < MANY; k++) /* some are equal */
            many[k] = (float)(spreads[i % 2] * oa_random_normal(values, (uint64_t)(k - k % 3)));
        assert_int_equal(oa_sampler_open(c, &how, MANY, &s), OA_OK);
        for (uint64_t k = 0; k < 50; k++) {
            assert_int_equal(oa_sample(s, many, k, &token), OA_OK);
            assert_int_equal(token, reference_token(&how, oa_random_uniform(draws, k)));
        }
        oa_sampler_close(s);
    }
    oa_close(c);
}

/* Holtzman et al. 2020: the smallest set whose probability is at least top_p. Of four equal tokens
 * two have one half, and three have three quarters, without any rounding. */
static void a_share_that_is_met_exactly_is_enough(void **state)
{
    static const float equal[TOKENS] = { 0, 0, 0, 0, -INFINITY, -INFINITY };
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    for (int kept = 1; kept <= 4; kept++) {
        struct oa_sampler *s = sampler(c, 1, 0, kept / 4.0, 3);
        bool seen[TOKENS] = { false };
        for (uint64_t i = 0; i < 400; i++) {
            int32_t token;
            assert_int_equal(oa_sample(s, equal, i, &token), OA_OK);
            seen[token] = true;
        }
        for (int k = 0; k < TOKENS; k++)
            assert_int_equal(seen[k], k < kept);
        oa_sampler_close(s);
    }
    oa_close(c);
}

static void temperature_zero_is_greedy(void **state)
{
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    int32_t token;
    struct oa_sampler *s = sampler(c, 0, 0, 1, 1);
    for (uint64_t i = 0; i < 10; i++) {
        assert_int_equal(oa_sample(s, logits, i, &token), OA_OK);
        assert_int_equal(token, 2);
    }
    oa_sampler_close(s);
    /* wherever the best is in a vocabulary that vectors read; of equals the first */
    const struct oa_sampling greedy = { .top_p = 1 };
    for (long vocabulary = 1; vocabulary <= 70; vocabulary += 3) {
        assert_int_equal(oa_sampler_open(c, &greedy, vocabulary, &s), OA_OK);
        for (long at = 0; at < vocabulary; at++) {
            for (long i = 0; i < vocabulary; i++)
                many[i] = -1 - (float)(i * 7 % 5);
            many[at] = many[vocabulary - 1] = 0.5F;
            assert_int_equal(oa_sample(s, many, 0, &token), OA_OK);
            assert_int_equal(token, at);
        }
        oa_sampler_close(s);
    }
    oa_close(c);
}

static void draws_are_a_function_of_seed_and_index(void **state)
{
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    struct oa_sampler *a = sampler(c, 1, 0, 1, 5), *b = sampler(c, 1, 0, 1, 5),
                      *other = sampler(c, 1, 0, 1, 6);
    int differ = 0;
    for (uint64_t i = 0; i < 200; i++) {
        int32_t x, y, z;
        assert_int_equal(oa_sample(a, logits, i, &x), OA_OK);
        assert_int_equal(oa_sample(b, logits, 199 - i, &y), OA_OK); /* in another order */
        assert_int_equal(oa_sample(b, logits, i, &y), OA_OK);
        assert_int_equal(oa_sample(other, logits, i, &z), OA_OK);
        assert_int_equal(x, y);
        differ += x != z;
    }
    assert_true(differ > 50);
    oa_sampler_close(a);
    oa_sampler_close(b);
    oa_sampler_close(other);
    oa_close(c);
}

static void logits_that_are_not_finite_are_rejected(void **state)
{
    static const float bad[3][TOKENS] = { { 0, 0, NAN },
                                          { 0, INFINITY },
                                          { -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY,
                                            -INFINITY } };
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 1 });
    struct oa_sampler *s = sampler(c, 1, 0, 1, 1);
    for (int i = 0; i < 3; i++) {
        int32_t token;
        assert_int_equal(oa_sample(s, bad[i], 0, &token), OA_DIVERGED);
        oa_clear_error(c);
    }
    /* wherever it is in a vocabulary that vectors read */
    struct oa_sampler *of_many;
    const struct oa_sampling how = { .temperature = 1, .top_p = 1 };
    assert_int_equal(oa_sampler_open(c, &how, MANY, &of_many), OA_OK);
    memset(many, 0, sizeof many);
    for (int at = 0; at < MANY; at += 7)
        for (int i = 0; i < 2; i++) {
            int32_t token;
            many[at] = i ? NAN : INFINITY;
            assert_int_equal(oa_sample(of_many, many, 0, &token), OA_DIVERGED);
            oa_clear_error(c);
            many[at] = 0;
        }
    oa_sampler_close(of_many);
    float huge[TOKENS] = { 3e38f, -3e38f, 0, 0, 0, 0 };
    int32_t token;
    assert_int_equal(oa_sample(s, huge, 0, &token), OA_OK);
    assert_int_equal(token, 0);
    long before = oa_allocations(c);
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(oa_sample(s, logits, i, &token), OA_OK);
    assert_int_equal(oa_allocations(c), before);
    oa_sampler_close(s);
    oa_close(c);
}

/* ---- reading on
 * ----------------------------------------------------------------------------------------------------
 */

enum { CONTEXT = 12, VOCABULARY = 11, TEXT = 40 };

struct reading {
    oa_context *c;
    struct oa_device *device;
    struct oa_model *model;
    struct oa_decoding decoding;
    int32_t ids[TEXT];
};

/* False where the attention has no causal form. */
static bool open_reading(struct reading *r, const char *attention, const char *position)
{
    struct oa_options o;
    oa_options_default(&o);
    o.model_layers = 2;
    o.model_width = 16;
    o.model_heads = 2;
    o.model_context = CONTEXT;
    snprintf(o.model_attention, sizeof o.model_attention, "%s", attention);
    set_option(&o, "model.position", position);
    *r = (struct reading){ .c = oa_open(&(struct oa_settings){ .threads = 2 }) };
    for (int i = 0; i < TEXT; i++)
        r->ids[i] = (i * i + 3 * i) % VOCABULARY;
    return oa_device_open(r->c, OA_PRECISION_F64, false, &r->device) == OA_OK &&
           oa_model_open(r->device, &o,
                         (struct oa_model_form[]){ oa_language_model_form(VOCABULARY) }, false,
                         &r->model) == OA_OK &&
           oa_decoding_open(r->model, &r->decoding) == OA_OK;
}

static void close_reading(struct reading *r)
{
    oa_decoding_close(&r->decoding);
    oa_model_close(r->model);
    oa_device_close(r->device);
    oa_close(r->c);
}

/* What the whole model says of ids[first … end−1] at every token: logits [end − first, VOCABULARY].
 */
static void whole(struct reading *r, long first, long end, float *logits_of)
{
    oa_tape t;
    oa_tape_init(&t, r->device);
    oa_tape_reset(&t, false, false, (struct oa_stream){ 0 });
    const oa_tensor *h = oa_model_hidden(
        &t, r->model,
        &(struct oa_sequences){ .rows = 1, .length = end - first, .ids = r->ids + first }, NULL,
        NULL);
    assert_int_equal(oa_status(r->c), OA_OK);
    const double *x = h->data, *w = r->model->embedding->value;
    for (long i = 0; i < end - first; i++)
        for (long v = 0; v < VOCABULARY; v++) {
            double sum = 0;
            for (long k = 0; k < h->cols; k++)
                sum += x[i * h->ld + k] * w[v * h->cols + k];
            logits_of[i * VOCABULARY + v] = (float)sum;
        }
    oa_tape_free(&t);
}

static void assert_same(const char *what, const float *want, const float *got)
{
    for (int v = 0; v < VOCABULARY; v++)
        if (!(fabsf(want[v] - got[v]) <= 1e-6F * (1 + fabsf(want[v]))))
            fail_msg("%s: a logit is %.9g, that of the whole text %.9g", what, (double)got[v],
                     (double)want[v]);
}

/* Token by token, and a chunk at first. */
static void reads_as_a_whole(struct reading *r, const char *what)
{
    float want[CONTEXT * VOCABULARY], got[VOCABULARY];
    whole(r, 0, CONTEXT, want);
    for (long chunk = 1; chunk < CONTEXT; chunk += 4) {
        oa_decoding_reset(&r->decoding);
        assert_int_equal(oa_decoding_read(&r->decoding, r->ids, chunk, got), OA_OK);
        assert_same(what, want + (chunk - 1) * VOCABULARY, got);
        for (long t = chunk; t < CONTEXT; t++) {
            assert_int_equal(oa_decoding_read(&r->decoding, r->ids + t, 1, got), OA_OK);
            assert_same(what, want + t * VOCABULARY, got);
        }
    }
}

static void test_reading(void **state)
{
    static const char *const positions[] = { "learned", "sinusoidal", "rotary", "none" };
    (void)state;
    const struct oa_mechanism *m;
    int read = 0;
    for (int i = 0; (m = oa_mechanism_at(i)); i++) {
        struct reading r;
        if (open_reading(&r, strcmp(m->name, "mix") == 0 ? "dense + softmax" : m->name,
                         positions[i % 4])) {
            reads_as_a_whole(&r, m->name);
            read++;
        }
        close_reading(&r);
    }
    assert_true(read >= 20);
}

/* A full context begins again with its last half. From the second time on nothing is allocated. */
static void slides(struct reading *r, const char *what)
{
    float want[CONTEXT * VOCABULARY], got[VOCABULARY];
    long first = 0, times = 0;
    for (long n = 3; n <= TEXT; n++) {
        if (n - first > CONTEXT) {
            first = n - CONTEXT / 2;
            times++;
        }
        long before = oa_allocations(r->c);
        assert_int_equal(oa_decoding_continue(&r->decoding, r->ids, n, got), OA_OK);
        if (times > 2)
            assert_int_equal(oa_allocations(r->c), before);
        oa_device_settle(r->device);
        whole(r, first, n, want);
        assert_same(what, want + (n - 1 - first) * VOCABULARY, got);
    }
    assert_true(times >= 4);
}

static void a_full_context_slides(void **state)
{
    static const char *const attentions[] = { "softmax ; linear", "local(window=3) ; random",
                                              "mixer ; performer" };
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct reading r;
        assert_true(open_reading(&r, attentions[i], "learned"));
        slides(&r, attentions[i]);
        close_reading(&r);
    }
}

static void branches_are_independent(void **state)
{
    (void)state;
    struct reading r;
    struct oa_decoding other;
    float want[CONTEXT * VOCABULARY], got[VOCABULARY];
    assert_true(open_reading(&r, "softmax:1 | pattern(left):1", "rotary"));
    assert_int_equal(oa_decoding_open(r.model, &other), OA_OK);
    assert_int_equal(oa_decoding_read(&other, r.ids + 9, 7, NULL), OA_OK);
    assert_int_equal(oa_decoding_read(&r.decoding, r.ids, 5, NULL), OA_OK);
    assert_int_equal(oa_decoding_copy(&r.decoding, &other), OA_OK);
    assert_int_equal(oa_decoding_read(&r.decoding, r.ids + 20, 3, NULL), OA_OK);
    whole(&r, 0, CONTEXT, want);
    for (long t = 5; t < CONTEXT; t++) {
        assert_int_equal(oa_decoding_read(&other, r.ids + t, 1, got), OA_OK);
        assert_same("a branch", want + t * VOCABULARY, got);
    }
    oa_decoding_close(&other);
    close_reading(&r);
}

/* Fed byte by byte: what is handed on is the text before the first stop text, and nothing is handed
 * on too early. */
static void fed(const char *text, const char *const *stop, int stops, const char *wanted,
                int wanted_stop)
{
    char held[64], said[64] = "";
    size_t length = 0, all = 0;
    int found = -1;
    for (const char *s = text; *s && found < 0; s++) {
        held[length++] = *s;
        size_t settled = oa_before_stop(held, length, stop, stops, &found);
        memcpy(said + all, held, settled);
        all += settled;
        length -= settled;
        memmove(held, held + settled, length);
    }
    if (found < 0) {
        memcpy(said + all, held, length);
        all += length;
    }
    said[all] = 0;
    assert_string_equal(said, wanted);
    assert_int_equal(found, wanted_stop);
}

static void output_ends_before_a_stop_text(void **state)
{
    (void)state;
    static const char *const stop[] = { "abac", "END", "x" };
    int found;
    fed("one two", stop, 3, "one two", -1);
    fed("ababac end", stop, 3, "ab", 0); /* its beginning comes twice */
    fed("EEND", stop, 3, "E", 1);
    fed("aba EN", stop, 3, "aba EN", -1); /* beginnings that come to nothing */
    fed("", stop, 3, "", -1);
    fed("any", stop, 0, "any", -1);
    assert_int_equal(oa_before_stop("..x.END", 7, stop, 3, &found),
                     2); /* several in one piece: the first */
    assert_int_equal(found, 2);
    static const char *const alike[] = { "b", "ab", "a", "abc" };
    assert_int_equal(oa_before_stop("..abc", 5, alike, 4, &found), 2);
    assert_int_equal(found, 1); /* of those at one place the first that was given */
    assert_int_equal(oa_before_stop("..aba", 5, stop, 3, &found), 2);
    assert_int_equal(found, -1);
    assert_int_equal(oa_before_stop("", 0, stop, 3, &found), 0);
}

/* A copy goes on through a full context as what it was copied from would. */
static void test_branch_slides(void **state)
{
    (void)state;
    struct reading r;
    struct oa_decoding copy;
    float want[CONTEXT * VOCABULARY], got[VOCABULARY];
    assert_true(open_reading(&r, "softmax", "learned"));
    assert_int_equal(oa_decoding_open(r.model, &copy), OA_OK);
    assert_int_equal(oa_decoding_continue(&r.decoding, r.ids, CONTEXT - 1, got), OA_OK);
    assert_int_equal(oa_decoding_copy(&r.decoding, &copy), OA_OK);
    for (long n = CONTEXT; n <= CONTEXT + 2; n++) {
        long first = n > CONTEXT ? CONTEXT + 1 - CONTEXT / 2 : 0;
        assert_int_equal(oa_decoding_continue(&copy, r.ids, n, got), OA_OK);
        whole(&r, first, n, want);
        assert_same("a branch", want + (n - 1 - first) * VOCABULARY, got);
    }
    oa_decoding_close(&copy);
    close_reading(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_ends_before_a_stop_text),
        cmocka_unit_test(draws_have_the_expected_frequencies),
        cmocka_unit_test(draws_are_those_of_all_tokens_sorted),
        cmocka_unit_test(a_share_that_is_met_exactly_is_enough),
        cmocka_unit_test(temperature_zero_is_greedy),
        cmocka_unit_test(draws_are_a_function_of_seed_and_index),
        cmocka_unit_test(logits_that_are_not_finite_are_rejected),
        cmocka_unit_test(test_reading),
        cmocka_unit_test(a_full_context_slides),
        cmocka_unit_test(branches_are_independent),
        cmocka_unit_test(test_branch_slides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
