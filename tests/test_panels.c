/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands of attention in panels (cpu_tiles_operands.c), on tiles in plain C, so on every
 * processor: a product with a part of a packed matrix is the product of that part, and attention
 * has the bits that it has where every product packs its operands itself, also where a tile of it
 * is one call (tile_attention.h). That those are right is for test_kernels and test_mechanisms.
 */
#include "plain_tiles.h"
#include "testing.h"

#include "device/cpu/cpu_logits.h"
#include "kernels/attention_tile.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum {
    BATCH = 2,
    HEADS = 2,
    LENGTH = 150,
    SECOND = 71,
    MOST_WIDTH = 40,
    NUMBERS = BATCH * LENGTH * HEADS * MOST_WIDTH
};

/* A tile of attention in one call; product by product with operands in panels; the same without
 * panels. */
enum table { WHOLE, PANELS, UNPACKED, TABLES };
enum array { Q, K, V, DO, O, DQ, DK, DV, ARRAYS };
enum form { PRODUCT, WITH_TABLE, FOLDED, FORMS };
enum { TABLE_NUMBERS = HEADS * LENGTH * LENGTH };

struct fixture {
    oa_context *context;
    struct oa_kernels table[TABLES];
    uint16_t *x[TABLES][ARRAYS]; /* what each reads and makes */
    float *lse[TABLES];
    float *logits, *dlogits[TABLES]; /* a table of logits, and its gradients */
    void *packed;
};

static void use(struct fixture *f, const struct oa_kernels *k)
{
    f->table[WHOLE] = *k;
    f->table[WHOLE].key_block = 64; /* so that there are several tiles */
    f->table[WHOLE].query_block = OA_ATTENTION_ROWS;
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
        f.lse[i] = oa_alloc(f.context, 2 * BATCH * HEADS * LENGTH * sizeof(float));
        f.dlogits[i] = oa_alloc(f.context, TABLE_NUMBERS * sizeof(float));
    }
    f.packed = oa_alloc(f.context, 1 << 20);
    f.logits = oa_alloc(f.context, TABLE_NUMBERS * sizeof(float));
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
        oa_free(f->dlogits[i]);
    }
    oa_free(f->packed);
    oa_free(f->logits);
    oa_close(f->context);
    return 0;
}

/* Numbers about 1; the same for all. */
static void fill(struct fixture *f)
{
    for (long i = 0; i < TABLE_NUMBERS; i++)
        f->logits[i] = (float)(i * 7919 % 1009) / 500 - 1;
    for (int which = 0; which < TABLES; which++)
        memset(f->dlogits[which], 0, TABLE_NUMBERS * sizeof(float));
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
static void a_part_of_a_packed_matrix_is_its_product(void **state)
{
    struct fixture *f = *state;
    enum { M = 33, N = 70, ALL = 160, FIRST = 64, REST = ALL - FIRST };
    const struct oa_kernels *k = &f->table[WHOLE];
    struct oa_gemm whole = {
        .m = M, .n = N, .k = ALL, .lda = REST, .ldb = N, .ldc = N, .real_out = true
    };
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
    long hole; /* a row of V that is no number, and which the first block of queries does not see;
                  0: none */
    int32_t lengths[BATCH]; /* of the sequences where they are ragged; all have as many rows as the
                               first */
};

static void open_device(oa_context *c, const struct oa_kernels *k, struct oa_device *d)
{
    *d = (struct oa_device){ .context = c,
                             .ops = &oa_device_cpu,
                             .numbers = oa_numbers_of(OA_PRECISION_BF16) };
    oa_device_arena(&d->scratch, d);
    assert_int_equal(d->ops->open(d), OA_OK);
    for (int i = 0; i < oa_thread_count(c); i++) {
        d->cpu->kernels.gemm_close(d->cpu->gemm[i]);
        d->cpu->gemm[i] = k->gemm_open(c, k->precision);
        assert_non_null(d->cpu->gemm[i]);
    }
    d->cpu->kernels = *k;
}

/* The logits become a sum of product and table, or folds of the queries. */
static void change_form(struct fixture *f, enum form form, int which, struct oa_logits *a)
{
    static const float weights[2 * HEADS] = { 0.5f, 1.5f, -0.25f, 1 };
    struct oa_logits_part *p = &a->part[0];
    if (form == WITH_TABLE) {
        a->parts = 2;
        a->alpha = (void *)weights;
        a->part[1] = (struct oa_logits_part){ .kind = OA_PART_TABLE,
                                              .table = f->logits,
                                              .table_length = LENGTH,
                                              .dtable = f->dlogits[which] };
    } else if (form == FOLDED) {
        p->kind = OA_PART_FOLD;
        p->folds = oa_blocks(LENGTH, p->width);
        p->ldk = HEADS * p->folds;
    }
}

static struct oa_logits attention(struct fixture *f, const struct shape *s, int which)
{
    uint16_t **x = f->x[which];
    long ld = HEADS * s->width;
    struct oa_logits a = {
        .shape = { .batch = BATCH,
                   .queries = s->lengths[0],
                   .keys = s->lengths[0],
                   .heads = HEADS,
                   .value_width = s->width,
                   .causal = s->causal,
                   .query_lengths = s->ragged ? s->lengths : NULL,
                   .key_lengths = s->ragged ? s->lengths : NULL },
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
    return a;
}

static void run(struct fixture *f, const struct oa_logits *a, int which)
{
    struct oa_device d;
    open_device(f->context, &f->table[which], &d);
    d.ops->logits(&d, a);
    d.ops->logits_gradient(&d, a);
    oa_arena_free(&d.scratch);
    d.ops->close(&d);
    assert_int_equal(oa_status(f->context), OA_OK);
}

/* Windows of odd widths make tiles begin and end within a panel, and lengths leave what is no
 * number behind the end. */
static void compare_tables_of(struct fixture *f, enum form form)
{
    static const struct shape shapes[] = {
        { "all keys", 40, false, 0, 1, false, 0, { LENGTH, SECOND } },
        { "causal", 16, true, 0, 1, false, 0, { LENGTH, SECOND } },
        { "narrow", 5, true, 0, 1, false, 0, { LENGTH, SECOND } },
        { "a window", 32, true, 17, 1, false, 0, { LENGTH, SECOND } },
        { "dropout", 16, false, 0, 0.7, false, 0, { LENGTH, SECOND } },
        { "a window and lengths", 40, true, 37, 0.9, true, 0, { LENGTH, SECOND } },
        { "lengths", 32, false, 0, 1, true, 0, { LENGTH, SECOND } },
        { "a window that ends within a panel", 32, false, 10, 1, false, 148, { LENGTH, SECOND } },
        { "few keys", 32, true, 0, 1, false, 0, { 64, SECOND } },
        { "few keys, wide", 40, false, 0, 0.9, false, 0, { 112, SECOND } },
        { "few keys and lengths", 32, true, 0, 1, true, 0, { 112, 48 } },
        { "few keys and a length within a strip", 16, false, 0, 1, true, 0, { 128, SECOND } },
    };
    size_t step = only_memory() || only_threads() ? 3 : 1; /* each shape with some forms */
    for (size_t i = (size_t)form % step; i < sizeof shapes / sizeof *shapes; i += step) {
        const struct shape *s = &shapes[i];
        fill(f);
        for (int which = 0; which < TABLES && s->ragged; which++)
            for (int n = Q; n <= DO; n++)
                for (long row = s->lengths[0] + s->lengths[1]; row < BATCH * s->lengths[0]; row++)
                    f->x[which][n][row * HEADS * s->width] = 0x7fc0; /* no number */
        for (int which = 0; which < TABLES && s->hole; which++)
            f->x[which][V][s->hole * HEADS * s->width] = 0x7fc0;
        for (int which = 0; which < TABLES; which++) {
            struct oa_logits a = attention(f, s, which);
            change_form(f, form, which, &a);
            run(f, &a, which);
        }
        for (int which = 1; which < TABLES; which++)
            for (int n = O; n < ARRAYS; n++)
                if (memcmp(f->x[0][n], f->x[which][n],
                           (size_t)(BATCH * s->lengths[0] * HEADS * s->width) * 2) != 0)
                    fail_msg("%s, form %d: array %d differs with table %d", s->name, form, n,
                             which);
        for (int which = 1; which < TABLES; which++)
            if (memcmp(f->dlogits[0], f->dlogits[which], TABLE_NUMBERS * sizeof(float)) != 0)
                fail_msg("%s: the table's gradient differs with table %d", s->name, which);
        for (long row = 0; row < (s->hole ? OA_ATTENTION_ROWS : s->lengths[0]); row++)
            assert_false(isnan(oa_bf16_to_float(f->x[0][O][row * HEADS * s->width])));
    }
}

static void compare_tables(struct fixture *f)
{
    for (int form = PRODUCT; form < FORMS; form++)
        compare_tables_of(f, form);
}

static void attention_has_the_bits_of_products_without_panels(void **state)
{
    compare_tables(*state);
}

static void compare_on_the_processor(struct fixture *f, enum oa_isa isa)
{
    struct oa_kernels k;
    oa_kernels_init(&k, OA_PRECISION_BF16, isa, oa_context_cpu(f->context));
    use(f, &k);
    compare_tables(f);
    use_plain_tiles(f);
}

/* Keys are packed once for all lots, and blocks of a lot meet keys in two lots. */
static void attention_has_the_same_bits_in_lots_of_queries(void **state)
{
    struct fixture *f = *state;
    f->table[WHOLE].query_block = OA_ATTENTION_ROWS / OA_PACKED_BLOCKS; /* a lot has one block */
    compare_tables(f);
    use_plain_tiles(f);
}

/* The softmax of vectors, the tiles of the processor. */
static void attention_has_the_same_bits_on_hardware_tiles(void **state)
{
    struct fixture *f = *state;
    if (oa_cpu_isa(oa_context_cpu(f->context)) != OA_ISA_AMX)
        skip();
    compare_on_the_processor(f, OA_ISA_AMX);
}

/* Vectors that multiply pairs. */
static void attention_has_the_same_bits_by_vectors(void **state)
{
    struct fixture *f = *state;
    const struct oa_cpu *cpu = oa_context_cpu(f->context);
    if (oa_cpu_isa(cpu) < OA_ISA_AVX512 || !cpu->avx512_bf16)
        skip();
    compare_on_the_processor(f, OA_ISA_AVX512);
}

/* ---- the other engines that take panels ---- */

static struct oa_attention_shape ragged(long value_width, bool causal)
{
    static const int32_t lengths[BATCH] = { LENGTH, SECOND };
    return (struct oa_attention_shape){ .batch = BATCH,
                                        .queries = LENGTH,
                                        .keys = LENGTH,
                                        .heads = HEADS,
                                        .value_width = value_width,
                                        .causal = causal,
                                        .query_lengths = lengths,
                                        .key_lengths = lengths };
}

/* What is no number, in rows of padding. */
static void spoil(uint16_t **x, long ldq, long ldv)
{
    for (int n = Q; n <= DO; n++)
        for (long i = (LENGTH + SECOND) * (n == Q || n == K ? ldq : ldv); i < NUMBERS; i++)
            x[n][i] = 0x7fc0;
}

static void polynomial(struct oa_device *d, uint16_t **x, float *den, bool causal)
{
    enum { WIDTH = 20, VALUES = 33 };
    struct oa_polynomial a = { .shape = ragged(VALUES, causal),
                               .width = WIDTH,
                               .degree = 4,
                               .scale = 0.3,
                               .bias = 1,
                               .q = x[Q],
                               .k = x[K],
                               .v = x[V],
                               .ldq = HEADS * WIDTH,
                               .ldk = HEADS * WIDTH,
                               .ldv = HEADS * VALUES,
                               .dq = x[DQ],
                               .dk = x[DK],
                               .dv = x[DV],
                               .o = x[O],
                               .ldo = HEADS * VALUES,
                               .den = den };
    spoil(x, a.ldq, a.ldv);
    d->ops->polynomial(d, &a);
    a.d_o = x[DO];
    d->ops->polynomial_gradient(d, &a);
}

/* Features as they are, 23 of them, or made of rows of 6: 28. */
static void linear(struct oa_device *d, uint16_t **x, float *den, bool causal, long squared)
{
    enum { FEATURES = 23, VALUES = 33 };
    long columns = squared ? squared : FEATURES;
    struct oa_linear_attention a = { .shape = ragged(VALUES, causal),
                                     .features = FEATURES,
                                     .squared_width = squared,
                                     .squared = { 1, 0.5, 0.25 },
                                     .fq = x[Q],
                                     .fk = x[K],
                                     .ldfq = HEADS * columns,
                                     .ldfk = HEADS * columns,
                                     .dfq = x[DQ],
                                     .dfk = x[DK],
                                     .v = x[V],
                                     .ldv = HEADS * VALUES,
                                     .dv = x[DV],
                                     .o = x[O],
                                     .ldo = HEADS * VALUES,
                                     .den = den,
                                     .policy = OA_DENOMINATOR_ADD,
                                     .epsilon = 1 };
    if (squared)
        a.features = oa_quadratic_features(squared, a.squared);
    spoil(x, a.ldfq, a.ldv);
    d->ops->linear_attention(d, &a);
    a.d_o = x[DO];
    d->ops->linear_attention_gradient(d, &a);
}

static void run_engine(struct fixture *f, int engine, bool causal, int which)
{
    struct oa_device d;
    open_device(f->context, &f->table[which], &d);
    if (engine == 0)
        polynomial(&d, f->x[which], f->lse[which], causal);
    else
        linear(&d, f->x[which], f->lse[which], causal, engine == 1 ? 0 : 6);
    oa_arena_free(&d.scratch);
    d.ops->close(&d);
    assert_int_equal(oa_status(f->context), OA_OK);
}

/* The bits that they have where every product packs its operands itself. */
static void other_engines_have_the_bits_of_products_without_panels(void **state)
{
    struct fixture *f = *state;
    for (int n = 0; n < 6; n++) {
        fill(f);
        for (int which = PANELS; which < TABLES; which++)
            run_engine(f, n / 2, n % 2, which);
        for (int array = O; array < ARRAYS; array++)
            if (memcmp(f->x[PANELS][array], f->x[UNPACKED][array], NUMBERS * sizeof(uint16_t)) != 0)
                fail_msg("engine %d: array %d differs", n / 2, array);
        for (long i = 0; i < LENGTH; i++)
            assert_false(isnan(oa_bf16_to_float(f->x[PANELS][O][i * HEADS * 33])));
    }
}

static atomic_long pairs_met;
static void (*softmax_met)(const struct oa_softmax_pairs *x);

static void count_pairs(const struct oa_softmax_pairs *x)
{
    atomic_fetch_add(&pairs_met, x->rows * x->cols);
    softmax_met(x);
}

/* What a plan counts is what the kernel makes: of each group of rows the panels of keys that any of
 * them sees. So many heads that the backward pass meets each pair once. */
static void counted_pairs_are_those_computed(void **state)
{
    struct fixture *f = *state;
    static const struct shape shapes[] = {
        { "all keys", 20, false, 0, 1, false, 0, { LENGTH, SECOND } },
        { "causal", 16, true, 0, 1, false, 0, { LENGTH, SECOND } },
        { "a window", 20, true, 17, 1, false, 0, { LENGTH, SECOND } },
        { "a window to both sides", 9, false, 21, 1, false, 0, { LENGTH, SECOND } }
    };
    softmax_met = f->table[WHOLE].softmax_pairs;
    f->table[WHOLE].softmax_pairs = count_pairs;
    fill(f);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct oa_device d;
        struct oa_logits a = attention(f, &shapes[i], WHOLE);
        a.shape.batch = 2 * BATCH;
        pairs_met = 0;
        run(f, &a, WHOLE);
        open_device(f->context, &f->table[WHOLE], &d);
        double pairs = oa_tiles_pairs(&d, &a);
        oa_arena_free(&d.scratch);
        d.ops->close(&d);
        if (pairs != (double)pairs_met)
            fail_msg("%s: %.0f pairs, made %ld", shapes[i].name, pairs, (long)pairs_met);
    }
    f->table[WHOLE].softmax_pairs = softmax_met;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_of_a_packed_matrix_is_its_product),
        cmocka_unit_test(attention_has_the_bits_of_products_without_panels),
        cmocka_unit_test(other_engines_have_the_bits_of_products_without_panels),
        cmocka_unit_test(counted_pairs_are_those_computed),
        cmocka_unit_test(attention_has_the_same_bits_in_lots_of_queries),
        cmocka_unit_test(attention_has_the_same_bits_on_hardware_tiles),
        cmocka_unit_test(attention_has_the_same_bits_by_vectors),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
