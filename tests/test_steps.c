/* SPDX-License-Identifier: Apache-2.0
 * Decoding states, next to what `orthant verify` proves of them: they are as small as is claimed,
 * allocate nothing once they are warm, are copied and used again, do not depend on threads; tables
 * end where they end. */
#include "testing.h"

#include "verify/verify.h"

#include <math.h>
#include <string.h>

static oa_context *context;
static struct oa_proof all; /* the attentions that are looked at */

static int collect(void **state)
{
    (void)state;
    context = oa_open(&(struct oa_settings){ .threads = 2 });
    all = (struct oa_proof){ .context = context };
    return context && oa_proof_collect(&all) == OA_OK ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    oa_proof_free(&all);
    oa_close(context);
    return 0;
}

/* ---- cases
 * ----------------------------------------------------------------------------------------------------------
 */

static void check(const struct oa_attention_case *a)
{
    const char *sentence;
    if (oa_last_error(a->context, &sentence) != OA_OK)
        fail_msg("%s (%s): %s", a->setup.spec, oa_mode_name(a->setup.mode), sentence);
}

static struct oa_state *open_state(const struct oa_attention_case *a)
{
    struct oa_state *s;
    oa_layer_state_open(&a->single.layer, a->T, &s);
    check(a);
    return s;
}

static void steps(struct oa_attention_case *a, struct oa_state *s, long b, long from, long to,
                  long chunk, double *y)
{
    for (long t = from; t < to; t += chunk) {
        oa_case_step(a, s, b, t, oa_min(chunk, to - t), y + t * a->D);
        check(a);
    }
}

static bool needs_all(const struct oa_layer *l)
{
    for (int g = 0; g < l->groups; g++)
        if (l->group[g].needs_all)
            return true;
    return false;
}

typedef void property(struct oa_attention_case *a);

/* Every attention that can go by steps in that mode; returns how many there are. */
static int for_all(struct oa_setup setup, enum oa_mode mode, property *p)
{
    int cases = 0;
    for (int i = 0; i < all.spec_count; i++) {
        struct oa_attention_case a;
        setup.spec = all.specs[i];
        setup.mode = mode;
        if (oa_case_open(context, &setup, &a) == OA_OK && !needs_all(&a.single.layer)) {
            p(&a);
            cases++;
        }
        oa_case_close(&a);
        oa_clear_error(context);
    }
    return cases;
}

/* ---- what is kept
 * ---------------------------------------------------------------------------------------------------
 */

static double claimed(const struct oa_layer *l, long t)
{
    double sum = 0;
    for (int g = 0; g < l->groups; g++)
        sum += l->group[g].mechanism->state_numbers(&l->group[g], t);
    return sum;
}

/* The tables of the mechanisms say how many numbers are kept, at every token. */
static void keeps_what_is_claimed(struct oa_attention_case *a)
{
    double *y = oa_case_array(a, a->T * a->D);
    struct oa_state *s = open_state(a);
    for (long t = 0; t < a->T; t++) {
        steps(a, s, 0, t, t + 1, 1, y);
        double want = claimed(&a->single.layer, a->memory ? a->S : t + 1),
               got = oa_layer_state_numbers(&a->single.layer, s);
        if (want != got)
            fail_msg("%s (%s): %g numbers are kept after token %ld, %g are claimed", a->setup.spec,
                     oa_mode_name(a->setup.mode), got, t, want);
    }
    oa_layer_state_close(&a->single.layer, s);
}

static void cache_sizes_match_the_tables(void **state)
{
    (void)state;
    struct oa_setup setup = { .queries = 17, .keys = 7, .length = 17 };
    assert_true(for_all(setup, OA_MODE_CAUSAL, keeps_what_is_claimed) > 100);
    assert_true(for_all(setup, OA_MODE_CROSS, keeps_what_is_claimed) > 50);
}

static double most_claimed(const struct oa_layer *l, long from, long to)
{
    double most = 0;
    for (long t = from; t <= to; t++)
        most = fmax(most, claimed(l, t));
    return most;
}

/* Later tokens allocate nothing until memory doubles, at 256 tokens, and it is near what is
 * claimed, also where there could be 1000 tokens. */
static void allocates_nothing(struct oa_attention_case *a)
{
    enum { WARM = 140, MORE = 180 };
    double *y = oa_case_array(a, MORE * a->D);
    struct oa_state *s = open_state(a);
    steps(a, s, 0, 0, WARM, 1, y);
    oa_device_settle(a->single.device);
    long before = oa_allocations(a->context);
    size_t bytes = oa_layer_state_bytes(&a->single.layer, s);
    steps(a, s, 0, WARM, MORE, 1, y);
    if (oa_allocations(a->context) != before)
        fail_msg("%s: %ld allocations in %d tokens", a->setup.spec,
                 oa_allocations(a->context) - before, MORE - WARM);
    assert_true(oa_layer_state_bytes(&a->single.layer, s) == bytes);
    double numbers = most_claimed(&a->single.layer, WARM, MORE);
    bool bounded = most_claimed(&a->single.layer, 3 * WARM, 3 * MORE) == numbers;
    if ((double)bytes > (bounded ? 2 : 3) * 8 * (numbers + 2 * (double)a->D))
        fail_msg("%s: %zu bytes are held for %g numbers", a->setup.spec, bytes, numbers);
    oa_layer_state_close(&a->single.layer, s);
}

static void allocations(void **state)
{
    (void)state;
    struct oa_setup setup = { .queries = 1000, .length = 1000, .batch = 1 };
    assert_true(for_all(setup, OA_MODE_CAUSAL, allocates_nothing) > 100);
}

/* ---- copies
 * ---------------------------------------------------------------------------------------------------------
 */

/* A copy goes on as the original would have, bit for bit, whatever it held before or if it has only
 * the memory it needs, and whatever the original does. */
static void copies_go_on(struct oa_attention_case *a)
{
    long half = a->T / 2, rest = (a->T - half) * a->D;
    double *want = oa_case_array(a, a->T * a->D), *y = oa_case_array(a, a->T * a->D);
    struct oa_state *s = open_state(a), *copies[] = { open_state(a), open_state(a) };
    steps(a, copies[0], 1, 0, a->T, 3, y);
    steps(a, s, 0, 0, a->T, 1, want);
    oa_layer_state_reset(&a->single.layer, s);
    steps(a, s, 0, 0, half, 1, y);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(oa_layer_state_copy(&a->single.layer, s, copies[i]), OA_OK);
        assert_true(oa_layer_state_numbers(&a->single.layer, s) ==
                    oa_layer_state_numbers(&a->single.layer, copies[i]));
    }
    steps(a, s, 1, half, a->T, 1, y); /* other tokens */
    for (int i = 0; i < 2; i++) {
        steps(a, copies[i], 0, half, a->T, 1, y);
        if (memcmp(y + half * a->D, want + half * a->D, (size_t)rest * sizeof *y) != 0)
            fail_msg("%s (%s): a copied state goes on otherwise", a->setup.spec,
                     oa_mode_name(a->setup.mode));
        oa_layer_state_close(&a->single.layer, copies[i]);
    }
    oa_layer_state_close(&a->single.layer, s);
}

static void copies(void **state)
{
    (void)state;
    struct oa_setup setup = { .queries = 12, .keys = 7, .length = 12 };
    assert_true(for_all(setup, OA_MODE_CAUSAL, copies_go_on) > 100);
    assert_true(for_all(setup, OA_MODE_CROSS, copies_go_on) > 50);
}

/* ---- summaries
 * ------------------------------------------------------------------------------------------------------
 */

/* `sparse(fixed)` over n tokens, so many that only the summaries of most strides are left. */
enum { SUMMARY_TOKENS = 61 };
struct summaries {
    long stride, summary;
};

static double distance(const struct oa_attention_case *a, const double *x, const double *y)
{
    double size = 0, error = 0;
    for (long i = 0; i < a->T * a->D; i++) {
        size += x[i] * x[i];
        error += (x[i] - y[i]) * (x[i] - y[i]);
    }
    return sqrt(error / size);
}

/* At any time there are the summaries and two strides at most. */
static void holds_summaries(const struct oa_attention_case *a, const struct oa_state *s,
                            const struct summaries *c)
{
    double rows = (double)(2 * c->stride + c->summary * (a->T / c->stride));
    double most = rows * 2 * (double)a->D * (double)a->single.device->numbers.act_size;
    if ((double)oa_layer_state_bytes(&a->single.layer, s) > most)
        fail_msg("%s: %zu bytes are held, %g would do", a->setup.spec,
                 oa_layer_state_bytes(&a->single.layer, s), most);
}

/* Steps of so many tokens give the rows of the whole, which has been run. */
static void goes_as_the_whole(struct oa_attention_case *a, struct oa_state *s, long chunk)
{
    static const double allowed[] = {
        [OA_PRECISION_F32] = 2e-5, [OA_PRECISION_BF16] = 3e-2, [OA_PRECISION_F64] = 1e-13
    };
    double *y = oa_case_array(a, a->T * a->D);
    oa_layer_state_reset(&a->single.layer, s);
    steps(a, s, 0, 0, a->T, chunk, y);
    double d = distance(a, a->y, y);
    if (!(d <= allowed[a->setup.precision]))
        fail_msg("%s, %ld tokens at a time: %g away from the whole", a->setup.spec, chunk, d);
}

static void goes_on_from_summaries(struct oa_attention_case *a, const struct summaries *c)
{
    static const long chunks[] = { 1, 2, 3, 7, 20, SUMMARY_TOKENS };
    struct oa_state *s = open_state(a);
    a->no_gradients = true;
    assert_int_equal(oa_case_run(a), OA_OK);
    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
        goes_as_the_whole(a, s, chunks[i]);
        if (chunks[i] <= c->stride)
            holds_summaries(a, s, c);
    }
    oa_layer_state_close(&a->single.layer, s);
    copies_go_on(a);
}

static void summaries(void **state)
{
    (void)state;
    static const struct summaries of[] = { { 4, 1 },  { 5, 2 }, { 7, 4 }, { 3, 2 },
                                           { 10, 1 }, { 1, 1 }, { 4, 9 } };
    static const enum oa_precision precisions[] = { OA_PRECISION_F64, OA_PRECISION_F32,
                                                    OA_PRECISION_BF16 };
    for (int i = 0; i < (int)(sizeof of / sizeof of[0]) * 6; i++) {
        const struct summaries *c = &of[i / 6];
        char spec[80];
        snprintf(spec, sizeof spec, "sparse(fixed, stride=%ld, summary=%ld, heads=%s%s)", c->stride,
                 c->summary, i % 2 ? "split" : "merged", c->stride == 7 ? ", qk=haar" : "");
        struct oa_setup setup = { .spec = spec,
                                  .mode = OA_MODE_CAUSAL,
                                  .precision = precisions[i / 2 % 3],
                                  .rotary = i % 2,
                                  .queries = SUMMARY_TOKENS,
                                  .length = SUMMARY_TOKENS };
        struct oa_attention_case a;
        assert_int_equal(oa_case_open(context, &setup, &a), OA_OK);
        goes_on_from_summaries(&a, c);
        oa_case_close(&a);
    }
}

/* Up to 6 tokens polynomial attention of 4 channels has less in keys and values, 8 numbers each,
 * than in its sums, 51.
 */
static void keeps_the_less(const struct oa_setup *setup)
{
    struct oa_attention_case a;
    assert_int_equal(oa_case_open(context, setup, &a), OA_OK);
    struct oa_state *s = open_state(&a);
    a.no_gradients = true;
    assert_int_equal(oa_case_run(&a), OA_OK);
    goes_as_the_whole(&a, s, 7);
    goes_as_the_whole(&a, s, 1);
    assert_true(oa_layer_state_numbers(&a.single.layer, s) ==
                (setup->length == 6 ? 2 * 6 * 8 : 2 * 51));
    oa_layer_state_close(&a.single.layer, s);
    copies_go_on(&a);
    oa_case_close(&a);
}

static void polynomial_keeps_the_less(void **state)
{
    (void)state;
    static const enum oa_precision precisions[] = { OA_PRECISION_F64, OA_PRECISION_F32,
                                                    OA_PRECISION_BF16 };
    for (int i = 0; i < 24; i++) {
        long tokens = i % 2 ? 40 : 6;
        keeps_the_less(
            &(struct oa_setup){ .spec = i < 12 ? "polynomial" : "polynomial(bias=1, qk=haar)",
                                .mode = i / 6 % 2 ? OA_MODE_CROSS : OA_MODE_CAUSAL,
                                .precision = precisions[i / 2 % 3],
                                .heads = 2,
                                .queries = tokens,
                                .keys = tokens,
                                .length = tokens });
    }
}

/* ---- threads
 * --------------------------------------------------------------------------------------------------------
 */

enum { THREAD_TOKENS = 20, THREAD_WIDTH = 32 };

static void run_with(const struct oa_setup *setup, int threads,
                     double y[THREAD_TOKENS * THREAD_WIDTH])
{
    struct oa_attention_case a;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = threads });
    assert_int_equal(oa_case_open(c, setup, &a), OA_OK);
    struct oa_state *s = open_state(&a);
    steps(&a, s, 0, 0, a.T / 2, 1, y);
    steps(&a, s, 0, a.T / 2, a.T, 8, y);
    oa_layer_state_close(&a.single.layer, s);
    oa_case_close(&a);
    oa_close(c);
}

static void same_bits(struct oa_attention_case *a)
{
    static double one[THREAD_TOKENS * THREAD_WIDTH], three[THREAD_TOKENS * THREAD_WIDTH];
    run_with(&a->setup, 1, one);
    run_with(&a->setup, 3, three);
    if (memcmp(one, three, sizeof one) != 0)
        fail_msg("%s: the number of threads changes bits", a->setup.spec);
}

static void threads(void **state)
{
    (void)state;
    struct oa_setup setup = { .queries = THREAD_TOKENS,
                              .length = THREAD_TOKENS,
                              .width = THREAD_WIDTH,
                              .heads = 4,
                              .batch = 1 };
    assert_true(for_all(setup, OA_MODE_CAUSAL, same_bits) > 50);
}

/* ---- ends and refusals
 * ------------------------------------------------------------------------------------------------
 */

static void says(enum oa_error want, enum oa_error got, const char *words)
{
    const char *sentence;
    assert_int_equal(got, want);
    oa_last_error(context, &sentence);
    if (!strstr(sentence, words))
        fail_msg("\"%s\" does not say \"%s\"", sentence, words);
    oa_clear_error(context);
}

static void sequences_beyond_the_tables_are_refused(void **state)
{
    (void)state;
    static const char *const bound[] = {
        "dense", "random",           "factorized-dense",   "factorized-random",
        "mixer", "random + softmax", "softmax:1 | dense:1"
    };
    for (size_t i = 0; i < sizeof bound / sizeof bound[0]; i++) {
        struct oa_attention_case a;
        struct oa_setup setup = {
            .spec = bound[i], .mode = OA_MODE_CAUSAL, .queries = 9, .length = 8
        };
        assert_int_equal(oa_case_open(context, &setup, &a), OA_OK);
        double *y = oa_case_array(&a, 9 * a.D);
        struct oa_state *s = open_state(&a);
        steps(&a, s, 0, 0, 8, 1, y);
        says(OA_SHAPE, oa_case_step(&a, s, 0, 8, 1, y), "9 tokens is longer than the tables");
        oa_layer_state_close(&a.single.layer, s);
        oa_case_close(&a);
    }
}

static enum oa_error open_refused(const char *spec, enum oa_mode mode)
{
    struct oa_attention_case a;
    struct oa_state *s;
    struct oa_setup setup = { .spec = spec, .mode = mode };
    assert_int_equal(oa_case_open(context, &setup, &a), OA_OK);
    enum oa_error e = oa_layer_state_open(&a.single.layer, 9, &s);
    assert_null(s);
    oa_case_close(&a);
    return e;
}

static void refusals(void **state)
{
    (void)state;
    says(OA_UNSUPPORTED, open_refused("softmax", OA_MODE_BOTH), "needs causal self-attention");
    says(OA_UNSUPPORTED, open_refused("performer(kernel=sderf)", OA_MODE_CROSS),
         "all queries at once");
    struct oa_attention_case a;
    struct oa_state *s;
    struct oa_setup setup = { .spec = "softmax", .mode = OA_MODE_CAUSAL };
    assert_int_equal(oa_case_open(context, &setup, &a), OA_OK);
    double *y = oa_case_array(&a, 3 * a.D);
    assert_int_equal(oa_layer_state_open(&a.single.layer, 2, &s), OA_OK);
    steps(&a, s, 0, 0, 2, 2, y);
    says(OA_SHAPE, oa_case_step(&a, s, 0, 2, 1, y), "room for 2 tokens");
    oa_layer_state_close(&a.single.layer, s);
    oa_case_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(cache_sizes_match_the_tables),
                                        cmocka_unit_test(allocations),
                                        cmocka_unit_test(copies),
                                        cmocka_unit_test(summaries),
                                        cmocka_unit_test(polynomial_keeps_the_less),
                                        cmocka_unit_test(threads),
                                        cmocka_unit_test(sequences_beyond_the_tables_are_refused),
                                        cmocka_unit_test(refusals) };
    threads_only("threads");
    return cmocka_run_group_tests(tests, collect, close_context);
}
