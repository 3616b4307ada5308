/* SPDX-License-Identifier: Apache-2.0
 *
 * GELU and SiLU by look-up: of every number that bf16 has, the bits of the version that computes.
 * That this is right is for test_kernels. It is used where there is AMX, and needs AVX512_BF16
 * alone.
 */
#include "testing.h"

#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

enum { NUMBERS = 1 << 16, GRADIENTS = 7, FEW = 40 };

struct fixture {
    oa_context *context;
    bool there;
    struct oa_kernels computed, looked_up;
    uint16_t x[NUMBERS], dy[NUMBERS], out[2][NUMBERS];
};

static int set_up(void **state)
{
    static struct fixture f;
    f.context = oa_open(NULL);
    const struct oa_cpu *cpu = oa_context_cpu(f.context);
#ifdef __x86_64__
    f.there = oa_cpu_isa(cpu) >= OA_ISA_AVX512 && cpu->avx512_bf16;
    if (f.there) { /* the table is filled by its instructions */
        oa_kernels_without_amx(&f.computed, OA_PRECISION_BF16, OA_ISA_AVX512, cpu);
        f.looked_up = f.computed;
        oa_kernels_gelu_amx(&f.looked_up);
    }
#else
    (void)cpu;
#endif
    for (int i = 0; i < NUMBERS; i++)
        f.x[i] = (uint16_t)i;
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    oa_close(((struct fixture *)*state)->context);
    return 0;
}

static void need_bf16(const struct fixture *f)
{
    if (!f->there)
        skip();
    assert_ptr_not_equal(f->computed.gelu, f->looked_up.gelu);
    assert_ptr_not_equal(f->computed.gelu_gradient, f->looked_up.gelu_gradient);
    assert_ptr_not_equal(f->computed.silu, f->looked_up.silu);
    assert_ptr_not_equal(f->computed.silu_gradient, f->looked_up.silu_gradient);
}

/* What is no number may be any that is none: which one depends on the order in which a compiler has
 * factors. */
static void assert_same(const struct fixture *f)
{
    for (int i = 0; i < NUMBERS; i++) {
        uint16_t computed = f->out[0][i], looked_up = f->out[1][i];
        bool nan = isnan(oa_bf16_to_float(computed)) && isnan(oa_bf16_to_float(looked_up));
        if (computed != looked_up && !nan)
            fail_msg("number %d of 0x%04x: 0x%04x is looked up, 0x%04x computed", i, f->x[i],
                     looked_up, computed);
    }
}

static void values_by_table_have_the_bits_of_vectors(void **state)
{
    struct fixture *f = *state;
    need_bf16(f);
    f->computed.gelu(NUMBERS, f->x, f->out[0]);
    f->looked_up.gelu(NUMBERS, f->x, f->out[1]);
    assert_same(f);
    f->computed.silu(NUMBERS, f->x, f->out[0]);
    f->looked_up.silu(NUMBERS, f->x, f->out[1]);
    assert_same(f);
}

/* Gradients of both signs, that round up and down, and that make denormals, infinities and NaN. */
static void gradients_by_table_have_the_bits_of_vectors(void **state)
{
    static const float gradients[GRADIENTS] = { 1, -0.77f,          3.1e-39f,  -1.7e38f,
                                                0, (float)INFINITY, (float)NAN };
    struct fixture *f = *state;
    need_bf16(f);
    for (int g = 0; g < GRADIENTS; g++) {
        for (int i = 0; i < NUMBERS; i++)
            f->dy[i] = oa_float_to_bf16(gradients[g]);
        f->computed.gelu_gradient(NUMBERS, f->x, f->dy, f->out[0]);
        f->looked_up.gelu_gradient(NUMBERS, f->x, f->dy, f->out[1]);
        assert_same(f);
        f->computed.silu_gradient(NUMBERS, f->x, f->dy, f->out[0]);
        f->looked_up.silu_gradient(NUMBERS, f->x, f->dy, f->out[1]);
        assert_same(f);
    }
}

/* Whole vectors and what is left over; what follows is not touched. */
static void short_arrays_are_written_exactly(void **state)
{
    struct fixture *f = *state;
    need_bf16(f);
    for (int i = 0; i < FEW; i++)
        f->dy[i] = oa_float_to_bf16(0.5f - (float)i);
    for (int n = 0; n < FEW; n++)
        for (int gradient = 0; gradient < 2; gradient++) {
            memset(f->out, 0x5a, sizeof f->out);
            if (gradient) {
                f->computed.gelu_gradient(n, f->x + 0x3f00, f->dy, f->out[0]);
                f->looked_up.gelu_gradient(n, f->x + 0x3f00, f->dy, f->out[1]);
            } else {
                f->computed.gelu(n, f->x + 0x3f00, f->out[0]);
                f->looked_up.gelu(n, f->x + 0x3f00, f->out[1]);
            }
            assert_memory_equal(f->out[0], f->out[1], 2 * FEW * sizeof **f->out);
            assert_int_equal(f->out[1][n], 0x5a5a);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_by_table_have_the_bits_of_vectors),
        cmocka_unit_test(gradients_by_table_have_the_bits_of_vectors),
        cmocka_unit_test(short_arrays_are_written_exactly),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
