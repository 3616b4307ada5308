/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands of attention in panels (cpu_tiles.c), on tiles in plain C, so on every processor: a product with a part of a
 * packed matrix is the product of that part, and attention has the bits that it has where every product packs its
 * operands itself, also where a tile of it is one call (tile_attention.h). That those are right is for test_kernels and
 * test_mechanisms.
 */
#include "testing.h"

#include "device/cpu.h"

#include <math.h>
#include <string.h>

enum { BATCH = 2, HEADS = 2, LENGTH = 150, MOST_WIDTH = 40, NUMBERS = BATCH * LENGTH * HEADS * MOST_WIDTH };

/* A tile of attention in one call; product by product with operands in panels; the same without panels. */
enum table { WHOLE, PANELS, UNPACKED, TABLES };
enum array { Q, K, V, DO, O, DQ, DK, DV, ARRAYS };

struct fixture {
    oa_context *context;
    struct oa_kernels table[TABLES];
    uint16_t *x[TABLES][ARRAYS]; /* what each reads and makes */
    float *lse[TABLES];
    void *packed;
};

static void use(struct fixture *f, const struct oa_kernels *k)
{
    f->table[WHOLE] = *k;
    f->table[WHOLE].key_block = 64; /* so that there are several tiles */
    f->table[PANELS] = f->table[WHOLE];
    f->table[PANELS].attention_tile = NULL;
    f->table[UNPACKED] = f->table[PANELS];
    f->table[UNPACKED].gemm_part = NULL;
}

static void use_plain_tiles(struct fixture *f)
{
    struct oa_kernels k;
    oa_kernels_ref(&k, OA_PRECISION_BF16);
    oa_kernels_tiles(&k);
    use(f, &k);
}

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){ .context = oa_open(NULL) };
    use_plain_tiles(&f);
    for (int i = 0; i < TABLES; i++) {
        for (int n = 0; n < ARRAYS; n++)
            f.x[i][n] = oa_alloc(f.context, NUMBERS * sizeof(uint16_t));
        f.lse[i] = oa_alloc(f.context, BATCH * HEADS * LENGTH * sizeof(float));
    }
    f.packed = oa_alloc(f.context, 1 << 20);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < TABLES; i++) {
        for (int n = 0; n < ARRAYS; n++)
            oa_free(f->x[i][n]);
        oa_free(f->lse[i]);
    }
    oa_free(f->packed);
    oa_close(f->context);
    return 0;
}

/* Numbers about 1; the same for all. */
static void fill(struct fixture *f)
{
    for (int n = 0; n < ARRAYS; n++)
        for (long i = 0; i < NUMBERS; i++) {
            uint32_t r[4];
            oa_random_block((struct oa_stream){ 11, (uint64_t)n }, (uint64_t)i, r);
            for (int which = 0; which < TABLES; which++)
                f->x[which][n][i] = oa_float_to_bf16((float)(int32_t)r[0] * 0x1p-30f);
        }
}

/* ---- products ---- */

/* Rows 64 … 159 of a B of 160 rows, 70 wide: whole numbers, so that every sum is exact. */
static void a_part_of_a_packed_matrix(void **state)
{
    struct fixture *f = *state;
    enum { M = 33, N = 70, ALL = 160, FIRST = 64, REST = ALL - FIRST };
    const struct oa_kernels *k = &f->table[WHOLE];
    struct oa_gemm whole = { .m = M, .n = N, .k = ALL, .lda = REST, .ldb = N, .ldc = N, .real_out = true };
    struct oa_gemm part = whole;
    float c[M * N];
    for (long i = 0; i < M * REST; i++)
        f->x[0][Q][i] = oa_float_to_bf16((float)(i % 7 - 3));
    for (long i = 0; i < ALL * N; i++)
        f->x[0][K][i] = oa_float_to_bf16((float)(i % 5 - 2));
    assert_true(k->gemm_packed_bytes(&whole) <= 1 << 20);
    k->gemm_pack(&whole, &(struct oa_gemm_part){ .rows = ALL, .cols = N }, f->x[0][K], f->packed);
    part.k = REST;
    part.packed_k = ALL;
    struct oa_gemm_state *s = k->gemm_open(f->context, OA_PRECISION_BF16);
    assert_non_null(s);
    size_t before = k->gemm_packed_bytes(&(struct oa_gemm){ .n = 1, .k = FIRST });
    k->gemm_part(s, &part, &(struct oa_gemm_part){ .rows = M, .cols = N }, f->x[0][Q], NULL,
                 (const char *)f->packed + before, c);
    k->gemm_close(s);
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            long sum = 0;
            for (long p = 0; p < REST; p++)
                sum += ((i * REST + p) % 7 - 3) * (((FIRST + p) * N + j) % 5 - 2);
            assert_true(c[i * N + j] == (float)sum);
        }
}

/* ---- attention ---- */

struct shape {
    const char *name;
    long width;
    bool causal;
    long window;
    double keep;
    bool ragged;
    long hole; /* a row of V that is no number, and which the first 64 queries do not see; 0: none */
};

static void open_device(oa_context *c, const struct oa_kernels *k, struct oa_device *d)
{
    *d = (struct oa_device){ .context = c, .ops = &oa_device_cpu, .numbers = oa_numbers_of(OA_PRECISION_BF16) };
    oa_device_arena(&d->scratch, d);
    assert_int_equal(d->ops->open(d), OA_OK);
    for (int i = 0; i < oa_thread_count(c); i++) {
        d->cpu->kernels.gemm_close(d->cpu->gemm[i]);
        d->cpu->gemm[i] = k->gemm_open(c, k->precision);
        assert_non_null(d->cpu->gemm[i]);
    }
    d->cpu->kernels = *k;
}

static void run(struct fixture *f, const struct shape *s, int which)
{
    static const int32_t lengths[BATCH] = { LENGTH, 71 };
    const struct oa_kernels *k = &f->table[which];
    uint16_t **x = f->x[which];
    long ld = HEADS * s->width;
    struct oa_device d;
    struct oa_logits a = {
        .shape = { .batch = BATCH,
                   .queries = LENGTH,
                   .keys = LENGTH,
                   .heads = HEADS,
                   .value_width = s->width,
                   .causal = s->causal,
                   .query_lengths = s->ragged ? lengths : NULL,
                   .key_lengths = s->ragged ? lengths : NULL },
        .parts = 1,
        .part = { { .kind = OA_PART_DOT,
                    .width = s->width,
                    .scale = 0.2,
                    .q = x[Q],
                    .ldq = ld,
                    .dq = x[DQ],
                    .k = x[K],
                    .ldk = ld,
                    .dk = x[DK] } },
        .keep = s->keep,
        .dropout = { 3, 5 },
        .v = x[V],
        .ldv = ld,
        .dv = x[DV],
        .o = x[O],
        .ldo = ld,
        .d_o = x[DO],
        .lse = f->lse[which],
    };
    if (s->window)
        a.support = oa_support_local(s->window, 1);
    open_device(f->context, k, &d);
    d.ops->logits(&d, &a);
    d.ops->logits_gradient(&d, &a);
    oa_arena_free(&d.scratch);
    d.ops->close(&d);
    assert_int_equal(oa_status(f->context), OA_OK);
}

/* Windows of odd widths make tiles begin and end within a panel, and lengths leave what is no number behind the end. */
static void compare_tables(struct fixture *f)
{
    static const struct shape shapes[] = {
        { "all keys", 40, false, 0, 1, false, 0 },
        { "causal", 16, true, 0, 1, false, 0 },
        { "narrow", 5, true, 0, 1, false, 0 },
        { "a window", 32, true, 17, 1, false, 0 },
        { "dropout", 16, false, 0, 0.7, false, 0 },
        { "a window and lengths", 40, true, 37, 0.9, true, 0 },
        { "lengths", 32, false, 0, 1, true, 0 },
        { "a window that ends within a panel", 32, false, 10, 1, false, 85 },
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct shape *s = &shapes[i];
        fill(f);
        for (int which = 0; which < TABLES && s->ragged; which++)
            for (int n = Q; n <= DO; n++)
                for (long row = LENGTH + 71; row < BATCH * LENGTH; row++)
                    f->x[which][n][row * HEADS * s->width] = 0x7fc0; /* no number */
        for (int which = 0; which < TABLES && s->hole; which++)
            f->x[which][V][s->hole * HEADS * s->width] = 0x7fc0;
        for (int which = 0; which < TABLES; which++)
            run(f, s, which);
        for (int which = 1; which < TABLES; which++)
            for (int n = O; n < ARRAYS; n++)
                if (memcmp(f->x[0][n], f->x[which][n], (size_t)(BATCH * LENGTH * HEADS * s->width) * 2) != 0)
                    fail_msg("%s: array %d differs with table %d", s->name, n, which);
        for (long row = 0; row < (s->hole ? 64 : LENGTH); row++)
            assert_false(isnan(oa_bf16_to_float(f->x[0][O][row * HEADS * s->width])));
    }
}

static void attention_has_the_bits_of_products_without_panels(void **state)
{
    compare_tables(*state);
}

/* The softmax of vectors, the tiles of the processor. */
static void so_it_has_on_the_processor(void **state)
{
    struct fixture *f = *state;
    const struct oa_cpu *cpu = oa_context_cpu(f->context);
    struct oa_kernels k;
    if (oa_cpu_isa(cpu) != OA_ISA_AMX)
        skip();
    oa_kernels_init(&k, OA_PRECISION_BF16, OA_ISA_AMX, cpu);
    use(f, &k);
    compare_tables(f);
    use_plain_tiles(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_of_a_packed_matrix),
        cmocka_unit_test(attention_has_the_bits_of_products_without_panels),
        cmocka_unit_test(so_it_has_on_the_processor),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
