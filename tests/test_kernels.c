/* SPDX-License-Identifier: Apache-2.0
 *
 * Every version of every kernel against the f64 one (kernel_cases.h says what may differ), over awkward sizes, strides
 * and numbers. `test_kernels --bench` prints how fast they are instead.
 */
#include "kernels/kernel_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const long lengths[] = { 97, 127, 128, 129, 191, 255, 256, 257, 511, 1021, 1025, 2051 };
static const long heights[] = { 1, 2, 3, 4, 5, 7, 8, 17 };
enum { LENGTHS = sizeof lengths / sizeof *lengths, HEIGHTS = sizeof heights / sizeof *heights, SMALL = 67 };

/* m, n, k: below, at and above the tiles (4 … 12 by 4 … 32) and blocks (128, 240, 256) of our own products. */
static const long products[][3] = {
    { 1, 1, 1 },    { 1, 7, 3 },     { 5, 1, 9 },     { 3, 5, 7 },     { 4, 8, 16 },
    { 7, 9, 0 },    { 12, 32, 5 },   { 13, 33, 17 },  { 16, 16, 16 },  { 17, 15, 31 },
    { 64, 64, 64 }, { 65, 63, 33 },  { 1, 300, 64 },  { 300, 1, 64 },  { 128, 129, 11 },
    { 241, 31, 8 }, { 239, 257, 3 }, { 31, 33, 257 }, { 37, 41, 600 }, { 241, 259, 261 },
};
enum { PRODUCTS = sizeof products / sizeof *products };

struct version {
    char name[64];
    struct oa_kernels table;
};
enum { MOST_VERSIONS = 12 };

struct fixture {
    oa_context *context;
    int count;
    struct version version[MOST_VERSIONS];
};

static void add_version(struct fixture *f, const char *name, const struct oa_kernels *k)
{
    struct version *v = &f->version[f->count++];
    v->table = *k;
    snprintf(v->name, sizeof v->name, "%s %s", name, oa_precision_name(k->precision));
}

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){ .context = oa_open(NULL) };
    enum oa_isa best = oa_cpu_isa(oa_context_cpu(f.context));
    for (int p = OA_PRECISION_F32; p <= OA_PRECISION_BF16; p++) {
        struct oa_kernels k;
        oa_kernels_ref(&k, (enum oa_precision)p);
        add_version(&f, "ref", &k);
#ifdef __x86_64__
        if (best >= OA_ISA_AVX2) {
            oa_kernels_avx2(&k);
            add_version(&f, "avx2", &k);
        }
        if (best >= OA_ISA_AVX512) {
            oa_kernels_avx512(&k);
            add_version(&f, "avx512", &k);
        }
#endif
        oa_kernels_init(&k, (enum oa_precision)p, best, oa_context_cpu(f.context));
        add_version(&f, k.gemm_name, &k);
    }
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    oa_close(((struct fixture *)*state)->context);
    return 0;
}

/* Has an earlier version of this precision the same function? */
static bool seen_before(const struct fixture *f, int version, const struct kernel_case *c)
{
    const struct oa_kernels *k = &f->version[version].table;
    for (int i = 0; i < version; i++)
        if (f->version[i].table.precision == k->precision &&
            oa_kernel_slot(&f->version[i].table, c) == oa_kernel_slot(k, c))
            return true;
    return false;
}

static void check(struct fixture *f, int version, const struct kernel_problem *p, bool in_place)
{
    double worst;
    char where[OA_CASE_TEXT];
    struct version *v = &f->version[version];
    enum oa_error e = oa_kernel_check(f->context, p, &v->table, in_place, &worst, where);
    if (e != OA_OK) {
        const char *sentence;
        oa_last_error(f->context, &sentence);
        fail_msg("%s %s: %s", p->what->name, v->name, sentence);
    }
    if (worst > 1)
        fail_msg("%s %s, rows %ld, columns %ld, depth %ld, variant %d, %s%s: %g times the bound; %s", p->what->name,
                 v->name, p->rows, p->cols, p->depth, p->variant, p->awkward ? "awkward" : "plain",
                 in_place ? ", in place" : "", worst, where);
}

static void check_size(struct fixture *f, int version, const struct kernel_case *c, long rows, long cols)
{
    struct kernel_problem p;
    for (int variant = 0; variant < c->variants; variant++) {
        oa_kernel_problem(&p, c, rows, cols, 0, variant, true);
        check(f, version, &p, false);
        if (c->same[1])
            check(f, version, &p, true);
    }
}

static void check_products(struct fixture *f, int version, const struct kernel_case *c)
{
    struct kernel_problem p;
    for (int i = 0; i < PRODUCTS; i++)
        for (int variant = 0; variant < c->variants; variant++) {
            oa_kernel_problem(&p, c, products[i][0], products[i][1], products[i][2], variant, i % 3 != 0);
            check(f, version, &p, false);
        }
}

static void check_case(struct fixture *f, int version, const struct kernel_case *c)
{
    if (strcmp(c->name, "gemm") == 0) {
        check_products(f, version, c);
        return;
    }
    for (long n = 1; n <= SMALL; n++)
        check_size(f, version, c, heights[n % HEIGHTS], n);
    for (int i = 0; i < LENGTHS; i++)
        check_size(f, version, c, heights[i % HEIGHTS], lengths[i]);
}

static void test_versions(void **state)
{
    struct fixture *f = *state;
    int count;
    const struct kernel_case *c = oa_kernel_cases(&count);
    for (int i = 0; i < count; i++)
        for (int v = 0; v < f->count; v++)
            if (!seen_before(f, v, &c[i]))
                check_case(f, v, &c[i]);
}

/* ---- what the cases cannot say ---- */

static void test_names(void **state)
{
    enum oa_precision p;
    (void)state;
    assert_true(oa_precision_parse("bf16", &p));
    assert_int_equal(p, OA_PRECISION_BF16);
    assert_string_equal(oa_precision_name(p), "bf16");
    assert_false(oa_precision_parse("fp16", &p));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_names),
    };
    (void)argc;
    (void)argv;
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
