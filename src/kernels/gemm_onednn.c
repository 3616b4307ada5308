/* SPDX-License-Identifier: Apache-2.0
 * Matrix products by oneDNN: the one place that knows its two interfaces (2.x in Debian 12, 3.x in
 * Debian 13).
 *
 * oneDNN compiles a "primitive" for one shape, one set of strides and one number of threads, which
 * costs about a millisecond; running it costs about half a microsecond in addition to the
 * arithmetic. So every worker caches the primitives it has used in a hash table, with their memory
 * objects and arguments; a call only changes three pointers. Everything runs on the calling thread:
 * OpenMP is set to one thread around each call, since oneDNN reads the number of threads both when
 * it creates a primitive and when it runs one. Results therefore do not depend on the number of
 * threads. Products of a single row, batch-invariant products, and shapes for which oneDNN creates
 * no primitive use the kernel of this library (vector_gemm_row.h). On a processor with AMX the bf16
 * products use it; base/processor.c requests the permission of the operating system. */
#include "kernels/kernels.h"

#include <dnnl.h>
#include <stddef.h>
#include <sys/mman.h>

enum {
    MOST_PRIMITIVES = 1024
}; /* a full table is cleared, so that ever new shapes do not fill the memory */

#define CODE_ROOM ((size_t)8 << 20) /* bytes */

struct onednn_product {
    struct oa_gemm shape;
    dnnl_primitive_t primitive;
    dnnl_memory_t a, b, c, scratch;
    dnnl_exec_arg_t arguments[4];
};

struct oa_gemm_state {
    oa_context *context;
    struct oa_kernels own; /* for products that oneDNN does not get */
    struct oa_gemm_state *own_state;
    dnnl_data_type_t act;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    struct onednn_product **table; /* open addressing; size is a power of two, at most half full */
    size_t size, count;
    struct onednn_product *last;
    void *scratch;
    size_t scratch_bytes;
};

/* ---- threads ---- */

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
/* From OpenMP; <omp.h> is of one compiler, these two functions are in all implementations. */
int omp_get_max_threads(void);
void omp_set_num_threads(int n);
#else
#define omp_get_max_threads() 1
#define omp_set_num_threads(n) ((void)(n))
#endif

static int one_thread(void)
{
    int before = omp_get_max_threads();
    if (before != 1)
        omp_set_num_threads(1);
    return before;
}

static void restore_threads(int before)
{
    if (before != 1)
        omp_set_num_threads(before);
}

/* ---- the two interfaces ---- */

struct onednn_descriptions {
    dnnl_primitive_desc_t primitive;
#if DNNL_VERSION_MAJOR >= 3
    dnnl_memory_desc_t a, b, c;
    const_dnnl_memory_desc_t scratch;
#else
    dnnl_memory_desc_t a, b, c;
    const dnnl_memory_desc_t *scratch;
#endif
};

/* A logical rows × cols matrix; transposed: stored cols × rows. */
static dnnl_status_t describe_matrix(dnnl_memory_desc_t *d, dnnl_data_type_t type, long rows,
                                     long cols, long ld, bool transposed)
{
    dnnl_dims_t dims = { rows, cols }, strides = { transposed ? 1 : ld, transposed ? ld : 1 };
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_memory_desc_create_with_strides(d, 2, dims, type, strides);
#else
    return dnnl_memory_desc_init_by_strides(d, 2, dims, type, strides);
#endif
}

static dnnl_status_t describe_primitive(struct onednn_descriptions *d, dnnl_engine_t engine,
                                        dnnl_primitive_attr_t attributes)
{
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_matmul_primitive_desc_create(&d->primitive, engine, d->a, d->b, NULL, d->c,
                                             attributes);
#else
    dnnl_matmul_desc_t matmul;
    dnnl_status_t status = dnnl_matmul_desc_init(&matmul, &d->a, &d->b, NULL, &d->c);
    if (status != dnnl_success)
        return status;
    return dnnl_primitive_desc_create(&d->primitive, &matmul, attributes, engine, NULL);
#endif
}

static size_t describe_scratch(struct onednn_descriptions *d)
{
#if DNNL_VERSION_MAJOR >= 3
    d->scratch = dnnl_primitive_desc_query_md(d->primitive, dnnl_query_scratchpad_md, 0);
    return dnnl_memory_desc_get_size(d->scratch);
#else
    d->scratch = dnnl_primitive_desc_query_md(d->primitive, dnnl_query_scratchpad_md, 0);
    return d->scratch ? dnnl_memory_desc_get_size(d->scratch) : 0;
#endif
}

static dnnl_status_t make_memory(struct onednn_descriptions *d, dnnl_engine_t engine,
                                 struct onednn_product *p)
{
    dnnl_status_t status = dnnl_success;
#if DNNL_VERSION_MAJOR >= 3
    const_dnnl_memory_desc_t a = d->a, b = d->b, c = d->c;
#else
    const dnnl_memory_desc_t *a = &d->a, *b = &d->b, *c = &d->c;
#endif
    if (status == dnnl_success)
        status = dnnl_memory_create(&p->a, a, engine, DNNL_MEMORY_NONE);
    if (status == dnnl_success)
        status = dnnl_memory_create(&p->b, b, engine, DNNL_MEMORY_NONE);
    if (status == dnnl_success)
        status = dnnl_memory_create(&p->c, c, engine, DNNL_MEMORY_NONE);
    if (status == dnnl_success && d->scratch)
        status = dnnl_memory_create(&p->scratch, d->scratch, engine, DNNL_MEMORY_NONE);
    return status;
}

static void forget_descriptions(struct onednn_descriptions *d)
{
    if (d->primitive)
        dnnl_primitive_desc_destroy(d->primitive);
#if DNNL_VERSION_MAJOR >= 3
    if (d->a)
        dnnl_memory_desc_destroy(d->a);
    if (d->b)
        dnnl_memory_desc_destroy(d->b);
    if (d->c)
        dnnl_memory_desc_destroy(d->c);
#endif
}

/* Scratch memory is ours; accumulate = C is added to the product. */
static dnnl_status_t make_attributes(bool accumulate, dnnl_primitive_attr_t *out)
{
    dnnl_status_t status = dnnl_primitive_attr_create(out);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
#if DNNL_VERSION_MAJOR > 2 ||                                                                      \
    DNNL_VERSION_MINOR >= 5 /* else an environment variable may select bf16 for products of f32 */
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_fpmath_mode(*out, dnnl_fpmath_mode_strict);
#endif
    if (status != dnnl_success || !accumulate)
        return status;
    dnnl_post_ops_t operations;
    status = dnnl_post_ops_create(&operations);
    if (status != dnnl_success)
        return status;
#if DNNL_VERSION_MAJOR >= 3
    status = dnnl_post_ops_append_sum(operations, 1.0f, 0, dnnl_data_type_undef);
#else
    status = dnnl_post_ops_append_sum(operations, 1.0f);
#endif
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_post_ops(*out, operations);
    dnnl_post_ops_destroy(operations);
    return status;
}

/* ---- products ---- */

static void free_product(struct onednn_product *p)
{
    if (!p)
        return;
    dnnl_memory_t memory[] = { p->a, p->b, p->c, p->scratch };
    for (int i = 0; i < 4; i++)
        if (memory[i])
            dnnl_memory_destroy(memory[i]);
    if (p->primitive)
        dnnl_primitive_destroy(p->primitive);
    oa_free(p);
}

static dnnl_status_t grow_scratch(struct oa_gemm_state *s, size_t bytes)
{
    if (bytes <= s->scratch_bytes)
        return dnnl_success;
    oa_free(s->scratch);
    s->scratch_bytes = 0;
    s->scratch = oa_alloc(s->context, bytes);
    if (!s->scratch)
        return dnnl_out_of_memory;
    s->scratch_bytes = bytes;
    return dnnl_success;
}

static dnnl_status_t fill_product(struct oa_gemm_state *s, struct onednn_product *p,
                                  struct onednn_descriptions *d, dnnl_primitive_attr_t attributes)
{
    const struct oa_gemm *g = &p->shape;
    dnnl_status_t status = describe_matrix(&d->a, s->act, g->m, g->k, g->lda, g->ta);
    if (status == dnnl_success)
        status = describe_matrix(&d->b, s->act, g->k, g->n, g->ldb, g->tb);
    if (status == dnnl_success)
        status = describe_matrix(&d->c, g->real_out ? dnnl_f32 : s->act, g->m, g->n, g->ldc, false);
    if (status == dnnl_success)
        status = describe_primitive(d, s->engine, attributes);
    if (status == dnnl_success)
        status = grow_scratch(s, describe_scratch(d));
    if (status == dnnl_success)
        status = dnnl_primitive_create(&p->primitive, d->primitive);
    if (status == dnnl_success)
        status = make_memory(d, s->engine, p);
    return status;
}

/* oneDNN does not check the allocation of memory for generated code, and crashes without it. */
static bool has_room_for_code(struct oa_gemm_state *s)
{
    void *room = mmap(NULL, CODE_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) {
        oa_fail(s->context, OA_NO_MEMORY,
                "out of memory: %zu bytes are needed for the code of a matrix product", CODE_ROOM);
        return false;
    }
    munmap(room, CODE_ROOM);
    return true;
}

static struct onednn_product *make_product(struct oa_gemm_state *s, const struct oa_gemm *g)
{
    struct onednn_product *p = has_room_for_code(s) ? oa_alloc(s->context, sizeof *p) : NULL;
    if (!p)
        return NULL;
    p->shape = *g;
    struct onednn_descriptions d = { 0 };
    dnnl_primitive_attr_t attributes = NULL;
    int threads = one_thread();
    dnnl_status_t status = make_attributes(g->accumulate, &attributes);
    if (status == dnnl_success)
        status = fill_product(s, p, &d, attributes);
    if (attributes)
        dnnl_primitive_attr_destroy(attributes);
    forget_descriptions(&d);
    restore_threads(threads);
    if (status != dnnl_success) {
        free_product(p);
        return NULL;
    }
    p->arguments[0] = (dnnl_exec_arg_t){ DNNL_ARG_SRC, p->a };
    p->arguments[1] = (dnnl_exec_arg_t){ DNNL_ARG_WEIGHTS, p->b };
    p->arguments[2] = (dnnl_exec_arg_t){ DNNL_ARG_DST, p->c };
    p->arguments[3] = (dnnl_exec_arg_t){ DNNL_ARG_SCRATCHPAD, p->scratch };
    return p;
}

/* ---- the table ---- */

static bool is_same_product(const struct oa_gemm *a, const struct oa_gemm *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->lda == b->lda && a->ldb == b->ldb &&
           a->ldc == b->ldc && a->ta == b->ta && a->tb == b->tb && a->accumulate == b->accumulate &&
           a->real_out == b->real_out;
}

static size_t hash_shape(const struct oa_gemm *g)
{
    uint64_t h = (uint64_t)g->m;
    h = h * 0x9e3779b97f4a7c15u + (uint64_t)g->n;
    h = h * 0x9e3779b97f4a7c15u + (uint64_t)g->k;
    h = h * 0x9e3779b97f4a7c15u + (uint64_t)(g->lda ^ g->ldb << 20 ^ g->ldc << 40);
    h = h * 0x9e3779b97f4a7c15u +
        (uint64_t)(g->ta | g->tb << 1 | g->accumulate << 2 | g->real_out << 3);
    h *= 0x9e3779b97f4a7c15u;
    return (size_t)(h >> 32);
}

static struct onednn_product **find_table_place(struct onednn_product **table, size_t size,
                                                const struct oa_gemm *g)
{
    size_t at = hash_shape(g) & (size - 1);
    while (table[at] && !is_same_product(&table[at]->shape, g))
        at = (at + 1) & (size - 1);
    return &table[at];
}

static bool grow_table(struct oa_gemm_state *s)
{
    size_t size = s->size ? s->size * 2 : 128;
    struct onednn_product **table = oa_alloc(s->context, size * sizeof *table);
    if (!table)
        return false;
    for (size_t i = 0; i < s->size; i++)
        if (s->table[i])
            *find_table_place(table, size, &s->table[i]->shape) = s->table[i];
    oa_free(s->table);
    s->table = table;
    s->size = size;
    return true;
}

static void empty_table(struct oa_gemm_state *s)
{
    for (size_t i = 0; i < s->size; i++) {
        free_product(s->table[i]);
        s->table[i] = NULL;
    }
    s->count = 0;
    s->last = NULL;
}

static struct onednn_product *find_product(struct oa_gemm_state *s, const struct oa_gemm *g)
{
    if (s->last && is_same_product(&s->last->shape, g))
        return s->last;
    struct onednn_product **place = find_table_place(s->table, s->size, g);
    if (!*place) {
        if (s->count >= MOST_PRIMITIVES)
            empty_table(s);
        if (s->count * 2 >= s->size && !grow_table(s))
            return NULL;
        place = find_table_place(s->table, s->size, g);
        *place = make_product(s, g);
        s->count += *place != NULL;
    }
    s->last = *place;
    return *place;
}

/* ---- the kernels ---- */

static void onednn_close(struct oa_gemm_state *s)
{
    if (!s)
        return;
    empty_table(s);
    if (s->stream)
        dnnl_stream_destroy(s->stream);
    if (s->engine)
        dnnl_engine_destroy(s->engine);
    if (s->own_state)
        s->own.gemm_close(s->own_state);
    oa_free(s->table);
    oa_free(s->scratch);
    oa_free(s);
}

static void onednn_share(struct oa_gemm_state *const *states, int count)
{
    for (int from = 0; from < count; from++)
        for (size_t i = 0; i < states[from]->size; i++)
            for (int to = 0; states[from]->table[i] && to < count; to++)
                if (to != from)
                    find_product(states[to], &states[from]->table[i]->shape);
}

static struct oa_gemm_state *onednn_open(oa_context *c, enum oa_precision p)
{
    struct oa_gemm_state *s = oa_alloc(c, sizeof *s);
    if (!s)
        return NULL;
    s->context = c;
    s->act = p == OA_PRECISION_BF16 ? dnnl_bf16 : dnnl_f32;
    oa_kernels_own(&s->own, p, oa_context_isa(c), oa_context_cpu(c));
    s->own_state = s->own.gemm_open(c, p);
    if (!s->own_state || !grow_table(s)) {
        onednn_close(s);
        return NULL;
    }
    if (dnnl_engine_create(&s->engine, dnnl_cpu, 0) != dnnl_success ||
        dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags) != dnnl_success) {
        onednn_close(s);
        oa_fail(c, OA_INTERNAL, "oneDNN offers no CPU engine; --isa avx2 or ref does without it");
        return NULL;
    }
    return s;
}

static void onednn_gemm(struct oa_gemm_state *s, const struct oa_gemm *g, const void *a,
                        const void *b, void *c)
{
    if (g->m <= 0 || g->n <= 0)
        return;
    struct onednn_product *p =
        g->m > 1 && g->k > 0 && !g->invariant_rows ? find_product(s, g) : NULL;
    if (!p) {
        s->own.gemm(s->own_state, g, a, b, c);
        return;
    }
    dnnl_memory_set_data_handle(p->a, (void *)a);
    dnnl_memory_set_data_handle(p->b, (void *)b);
    dnnl_memory_set_data_handle(p->c, c);
    if (p->scratch)
        dnnl_memory_set_data_handle(p->scratch, s->scratch);
    int threads = one_thread();
    dnnl_status_t status =
        dnnl_primitive_execute(p->primitive, s->stream, p->scratch ? 4 : 3, p->arguments);
    restore_threads(threads);
    if (status != dnnl_success)
        oa_fail(s->context, OA_INTERNAL,
                "oneDNN failed on a matrix product of %ld x %ld x %ld (status %d)", g->m, g->n,
                g->k, (int)status);
}

/* ---- what this oneDNN uses here ---- */

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define ONEDNN                                                                                     \
    "onednn " TEXT(DNNL_VERSION_MAJOR) "." TEXT(DNNL_VERSION_MINOR) "." TEXT(DNNL_VERSION_PATCH) " "

/* From strong to weak: the bits of an instruction set include those of the sets that it contains.
 * */
static const struct level {
    unsigned bits;
    enum oa_isa f32, bf16; /* what it uses for products of this precision; OA_ISA_REF: it cannot */
    const char *name;
} levels[] = {
    { dnnl_cpu_isa_avx512_core_amx, OA_ISA_AVX512, OA_ISA_AMX, ONEDNN "avx512_core_amx" },
    { dnnl_cpu_isa_avx512_core_bf16, OA_ISA_AVX512, OA_ISA_AVX512, ONEDNN "avx512_core_bf16" },
    { dnnl_cpu_isa_avx512_core, OA_ISA_AVX512, OA_ISA_AVX512, ONEDNN "avx512_core" },
    { dnnl_cpu_isa_avx2, OA_ISA_AVX2, OA_ISA_REF, ONEDNN "avx2" },
};

/* oneDNN's limit on instruction sets applies to the whole process, and only before its first use;
 * for a level below its own choice it is not used at all. */
void oa_kernels_onednn(struct oa_kernels *k, enum oa_isa isa)
{
    if (k->precision == OA_PRECISION_F64)
        return;
    unsigned effective = (unsigned)dnnl_get_effective_cpu_isa();
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if ((effective & levels[i].bits) != levels[i].bits)
            continue;
        enum oa_isa used = k->precision == OA_PRECISION_BF16 ? levels[i].bf16 : levels[i].f32;
        if (used == OA_ISA_REF || used > isa)
            return;
        k->gemm_open = onednn_open;
        k->gemm_close = onednn_close;
        k->gemm_share = onednn_share;
        k->gemm = onednn_gemm;
        k->gemm_name = levels[i].name;
        if (used > k->isa)
            k->isa = used;
        return;
    }
}
