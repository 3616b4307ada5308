/* SPDX-License-Identifier: Apache-2.0
 * Normal numbers: their bits, and the logarithm, sine and cosine that they are made of. */
#include "base/base.h"
#include "testing.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/normal_plain.h"

enum { DRAWS = 200000 };

/* Made with Python's integers and floats, and mpmath 1.3 at 200 bits for the logarithm, the sine
 * and the cosine, each rounded to nearest: Philox, the uniforms and the order of products as
 * random.c says. */
static void bits_are_those_of_exact_functions(void **state)
{
    (void)state;
    static const double known[] = {
        -0x1.2e3a618832a53p-1, -0x1.779d1a6eba9f9p-2, -0x1.877495f261b05p-4, -0x1.8819355a12a74p-1,
        0x1.d80afde10838fp-1,  -0x1.65b0e63436ea4p-1, -0x1.fb90f055e25d5p-1, -0x1.370bcc177a3afp-1,
        0x1.c0a538990c02fp-2,  0x1.649c85f843e4dp-1,  0x1.9c04fadf24ec4p-1,  0x1.b1778d8243a03p-3,
        -0x1.e81b82fbcad14p+0, 0x1.e468f6a75c04ep-8,  0x1.71af5888d40a7p+0,  -0x1.3bc7886a5504bp+0,
    };
    struct oa_stream s = oa_stream_named(3, "words");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_true(oa_random_normal(s, i) == known[i]);
}

static void many_are_the_same_as_one_by_one(void **state)
{
    (void)state;
    struct oa_stream s = oa_stream_named(4, "many");
    double x[8];
    for (long n = 0; n <= 7; n++) {
        x[n] = -1;
        oa_random_normals(s, 10, n, x);
        assert_true(x[n] == -1);
        for (long i = 0; i < n; i++)
            assert_true(x[i] == oa_random_normal(s, 10 + (uint64_t)i));
    }
}

/* In units of the last place of `right`. */
static double off(double x, long double right)
{
    double size = fabs((double)right);
    return (double)fabsl(x - right) / (nextafter(size, INFINITY) - size);
}

/* Words that make uniforms of all sizes, down to 2⁻⁵³, and all distances from 1. */
static uint64_t hard_word(struct oa_stream s, uint64_t i)
{
    uint64_t w = oa_random_below(s, i, UINT64_MAX);
    return i % 3 == 0 ? w : i % 3 == 1 ? w >> i % 60 : ~(w >> i % 60);
}

/* Around the multiples of π/64, to within 2⁻⁵⁰, and anywhere. */
static uint64_t hard_turn(struct oa_stream s, uint64_t i)
{
    uint64_t w = oa_random_below(s, i, UINT64_MAX), part = (uint64_t)1 << 57;
    return i % 2 ? w : w / part * part + (w >> i % 60) / 256 - ((w >> i % 60) >> 9);
}

/* The C library's functions of more digits, where it has such; otherwise of as many, wrong by
 * nearly a unit themselves.
 */
static void functions_are_nearly_exact(void **state)
{
    (void)state;
    double most = LDBL_MANT_DIG > DBL_MANT_DIG + 10 ? 0.52 : 1.6;
    struct oa_stream logs = oa_stream_named(1, "logs"), turns = oa_stream_named(1, "turns");
    for (uint64_t i = 0; i < DRAWS; i++) {
        double u = lanes_uniform(hard_word(logs, i)), sine, cosine;
        assert_true(off(lanes_log(u), logl(u)) < most);
        double angle = 0x1.921fb54442d18p2 * lanes_uniform(hard_turn(turns, i));
        lanes_sine_cosine(angle, &sine, &cosine);
        assert_true(off(sine, sinl(angle)) < most);
        assert_true(off(cosine, cosl(angle)) < most);
    }
}

static void functions_are_exact_at_the_ends_of_their_range(void **state)
{
    (void)state;
    double sine, cosine;
    assert_true(lanes_uniform(0) == 0x1p-53 && lanes_uniform(UINT64_MAX) == 1 - 0x1p-53);
    assert_true(lanes_log(0x1p-53) == -0x1.25e4f7b2737fap+5); /* −53 log 2, by mpmath */
    assert_true(lanes_log(1 - 0x1p-53) == -0x1p-53);
    lanes_sine_cosine(0, &sine, &cosine);
    assert_true(sine == 0 && cosine == 1);
    lanes_sine_cosine(0x1.921fb54442d18p1, &sine, &cosine);
    assert_true(sine == 0x1.1a62633145c07p-53 &&
                cosine == -1); /* the double next to π, by mpmath */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_those_of_exact_functions),
        cmocka_unit_test(many_are_the_same_as_one_by_one),
        cmocka_unit_test(functions_are_nearly_exact),
        cmocka_unit_test(functions_are_exact_at_the_ends_of_their_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
