/* SPDX-License-Identifier: Apache-2.0
 *
 * The only state a kernel has is that of matrix products: on several threads, each worker with its
 * own, they give the bits they give on one. A test of its own, because the thread sanitizer has
 * nothing to see in test_kernels.
 */
#include "testing.h"

#include "kernels/kernels.h"

enum { JOBS = 24, SIDE = 96 };
struct jobs {
    struct oa_kernels table;
    struct oa_gemm_state *state[4];
    float *operands, *out;
};

static void run_job(void *argument, long item, const struct oa_worker *worker)
{
    struct jobs *j = argument;
    long m = SIDE - item % 5, n = SIDE - item % 7, k = SIDE - item % 3;
    struct oa_gemm g = {
        .m = m, .n = n, .k = k, .lda = SIDE, .ldb = SIDE, .ldc = SIDE, .real_out = true
    };
    const char *a = (const char *)j->operands;
    for (int repeat = 0; repeat < 20; repeat++)
        j->table.gemm(j->state[worker->index], &g, a, a + SIDE * j->table.act_size,
                      j->out + item * SIDE * SIDE);
}

static void threads_give_the_same_bits(void **state)
{
    (void)state;
    oa_context *c = oa_open(&(struct oa_settings){ .threads = 4 });
    struct jobs j = { .operands = oa_alloc(c, SIDE * (SIDE + 1) * sizeof(float)) };
    float *one = oa_alloc(c, JOBS * SIDE * SIDE * sizeof(float)),
          *many = oa_alloc(c, JOBS * SIDE * SIDE * sizeof(float));
    for (long i = 0; i < SIDE * (SIDE + 1); i++)
        j.operands[i] = (float)oa_random_normal((struct oa_stream){ 3, 4 }, (uint64_t)i);
    oa_kernels_init(&j.table, OA_PRECISION_F32, oa_context_isa(c), oa_context_cpu(c));
    for (int i = 0; i < 4; i++)
        assert_non_null(j.state[i] = j.table.gemm_open(c, OA_PRECISION_F32));
    j.out = many;
    oa_parallel(c, JOBS, run_job, &j);
    j.out = one;
    for (long i = 0; i < JOBS; i++)
        run_job(&j, i, &(struct oa_worker){ 0 });
    assert_memory_equal(one, many, JOBS * SIDE * SIDE * sizeof(float));
    for (int i = 0; i < 4; i++)
        j.table.gemm_close(j.state[i]);
    oa_free(one);
    oa_free(many);
    oa_free(j.operands);
    oa_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(threads_give_the_same_bits) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
