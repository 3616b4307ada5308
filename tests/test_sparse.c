/* SPDX-License-Identifier: Apache-2.0
 * Supports of sparse attention: pairs against the known counts, rectangles against a look at every
 * pair, two-hop reachability, what bigbird draws, and layouts from files. */
#include "testing.h"

#include "device/cpu/cpu_logits.h"
#include "device/key_sets.h"
#include "verify/attention_case.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static oa_context *context;

static double count(struct oa_support s, long n, long head)
{
    struct oa_attention_shape a = {
        .batch = 1, .queries = n, .keys = n, .heads = 2, .causal = true
    };
    return oa_support_pairs(&s, &a, head);
}

/* Causal pairs for (n, l, c): band, strided, their union; cell, summary, their union. */
static void known_counts(void **state)
{
    (void)state;
    static const struct {
        long n, l, c;
        double band, strided, both, cell, summary, united;
    } rows[] = { { 16, 4, 1, 58, 40, 82, 40, 28, 64 },
                 { 64, 8, 2, 484, 288, 708, 288, 472, 736 },
                 { 1024, 32, 8, 32272, 16896, 48144, 16896, 128128, 143872 } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        long n = rows[i].n, l = rows[i].l, c = rows[i].c;
        assert_true(count(oa_support_sparse(false, l, c, true), n, 0) == rows[i].band);
        assert_true(count(oa_support_sparse(false, l, c, true), n, 1) == rows[i].strided);
        assert_true(count(oa_support_sparse(false, l, c, false), n, 0) == rows[i].both);
        assert_true(count(oa_support_sparse(true, l, c, true), n, 0) == rows[i].cell);
        assert_true(count(oa_support_sparse(true, l, c, true), n, 1) == rows[i].summary);
        assert_true(count(oa_support_sparse(true, l, c, false), n, 0) == rows[i].united);
    }
}

static bool any_pair(const struct oa_key_sets *k, bool causal, long i0, long i1, long j0, long j1)
{
    for (long i = i0; i < i1; i++) {
        for (long j = j0; j < j1; j++) {
            if (oa_keys_hold(k, causal, i, j))
                return true;
        }
    }
    return false;
}

static void rectangles_are_exact(void **state)
{
    (void)state;
    struct oa_stream s = oa_stream_named(1, "rectangles");
    for (uint64_t r = 0; r < 40000; r++) {
        struct oa_stream one = oa_stream_child(s, r);
        struct oa_key_sets k = { .sets = 1 + (unsigned)oa_random_below(one, 0, 15),
                                 .stride = 1 + (long)oa_random_below(one, 1, 9),
                                 .summary = 1 + (long)oa_random_below(one, 2, 4) };
        long i0 = (long)oa_random_below(one, 3, 30), i1 = i0 + 1 + (long)oa_random_below(one, 4, 8);
        long j0 = (long)oa_random_below(one, 5, 30), j1 = j0 + 1 + (long)oa_random_below(one, 6, 8);
        bool causal = r % 2;
        assert_int_equal(oa_keys_meet(&k, causal, i0, i1, j0, j1),
                         any_pair(&k, causal, i0, i1, j0, j1));
    }
}

static long smallest(long a, long b)
{
    return a < b ? a : b;
}

/* Decoding: the summaries of `blocks` strides stand in front of what follows these. */
static long position_of(const struct oa_support *s, long blocks, long row)
{
    long l = s->horizon.block, c = s->horizon.summary, front = blocks * c;
    return row < front ? row / c * l + l - c + row % c : row - front + blocks * l;
}

/* Rows i0 … i1 − 1 and j0 … j1 − 1 of those kept see what their positions see in the whole, no tile
 * is passed over or taken in vain, a range begins with what is seen or at 0, and so many pairs are
 * counted. */
static void check_kept(const struct oa_support *s, const struct oa_attention_shape *kept,
                       long blocks, long head, const long at[4])
{
    struct oa_attention_shape whole = *kept, behind = *kept;
    const struct oa_support_functions *functions = oa_support_functions_of(s);
    bool any = false;
    long low, high, first = kept->keys, pairs = 0;
    behind.first = at[0];
    behind.queries = at[1] - at[0];
    whole.keys = position_of(s, blocks, kept->keys);
    whole.summaries = 0;
    functions->range(s, kept, head, at[0], at[1], &low, &high);
    for (long i = at[0]; i < at[1]; i++) {
        for (long j = 0; j < kept->keys; j++) {
            bool seen = oa_support_visible(s, kept, head, i, j);
            assert_int_equal(seen, oa_support_visible(s, &whole, head, position_of(s, blocks, i),
                                                      position_of(s, blocks, j)));
            assert_true(!seen || (j >= low && j < high));
            any |= seen && j >= at[2] && j < at[3];
            pairs += seen && j <= i;
            first = seen ? smallest(first, j) : first;
        }
    }
    assert_int_equal(functions->empty(s, kept, head, at[0], at[1], at[2], at[3]), !any);
    assert_true(low == first || low == 0);
    assert_true(at[0] == 0 || oa_support_pairs(s, &behind, head) == (double)pairs);
}

static void kept_rows_see_the_same(void **state)
{
    (void)state;
    struct oa_stream s = oa_stream_named(1, "kept rows");
    for (uint64_t r = 0; r < 4000; r++) {
        struct oa_stream one = oa_stream_child(s, r);
        long l = 2 + (long)oa_random_below(one, 0, 6),
             c = 1 + (long)oa_random_below(one, 1, (uint64_t)(l - 1));
        long blocks = (long)oa_random_below(one, 2, 5),
             rest = 1 + (long)oa_random_below(one, 3, 20), at[4];
        struct oa_support fixed = oa_support_sparse(true, l, c, r & 1);
        struct oa_attention_shape kept = {
            .batch = 1, .heads = 2, .causal = true, .summaries = blocks * c
        };
        kept.keys = kept.summaries + rest;
        at[0] = kept.summaries + (long)oa_random_below(one, 4, (uint64_t)rest);
        at[1] = smallest(kept.keys, at[0] + 1 + (long)oa_random_below(one, 5, 8));
        at[2] = (long)oa_random_below(one, 6, (uint64_t)kept.keys);
        at[3] = smallest(kept.keys, at[2] + 1 + (long)oa_random_below(one, 7, 8));
        check_kept(&fixed, &kept, blocks, (long)oa_random_below(one, 8, 2), at);
    }
}

static long place_in(const struct oa_row_order *o, long sequence, long i)
{
    return i / o->take * o->stride + o->first + sequence + i % o->take;
}

/* Adds the pairs of a piece to `seen` [n, n]; `cut`: causality is the engine's. */
static void mark_piece(const struct oa_piece *p, const struct oa_attention_shape *a, long head,
                       bool cut, int *seen)
{
    for (long r = 0; r < p->queries.sequences; r++) {
        long before[2] = { 0, 0 };
        for (long i = 0; place_in(&p->queries, r, i) < a->queries; i++) {
            long low, high, row = place_in(&p->queries, r, i);
            oa_support_functions_of(&p->support)->row(&p->support, a, head, i, &low, &high);
            assert_true(low >= before[0] && high >= before[1]);
            before[0] = low;
            before[1] = high;
            for (long j = low, column; j < high && (column = place_in(&p->keys, r, j)) < a->keys;
                 j++)
                seen[row * a->keys + column] += !cut || column <= row;
        }
    }
}

/* Every visible pair lies in one piece, and no other pair in any. */
static void pieces_are_a_partition(void **state)
{
    (void)state;
    enum { N = 31 };
    struct oa_stream stream = oa_stream_named(1, "pieces");
    for (uint64_t r = 0; r < 400; r++) {
        struct oa_stream one = oa_stream_child(stream, r);
        long n = 1 + (long)oa_random_below(one, 0, N), head = (long)oa_random_below(one, 1, 2);
        struct oa_support s = oa_support_sparse(r & 1, 1 + (long)oa_random_below(one, 2, 9),
                                                1 + (long)oa_random_below(one, 3, 4), r & 2);
        struct oa_attention_shape a = {
            .batch = 1, .queries = n, .keys = n, .heads = 2, .causal = r & 4
        };
        int seen[N * N] = { 0 };
        struct oa_piece p;
        for (int k = 0; oa_support_functions_of(&s)->piece(&s, &a, k, &p); k++)
            mark_piece(&p, &a, head, a.causal && k == 0, seen);
        for (long i = 0; i < n; i++)
            for (long j = 0; j < n; j++)
                assert_int_equal(seen[i * n + j], oa_support_visible(&s, &a, head, i, j));
    }
}

/* Causal softmax computes half a block a row more than is visible. Pieces compute far less than
 * that, where strides that cross every tile would make the whole as dear. */
static void tiles_are_counted(void **state)
{
    (void)state;
    enum { N = 2048 };
    struct oa_device *d;
    struct oa_support merged = oa_support_sparse(false, 46, 1, false);
    struct oa_logits_part part = { .kind = OA_PART_DOT };
    struct oa_logits a = {
        .shape = { .batch = 2, .queries = N, .keys = N, .heads = 3, .causal = true }, .parts = 1
    };
    a.part[0] = part;
    assert_int_equal(oa_device_open(context, OA_PRECISION_F32, true, &d), OA_OK);
    double block = (double)d->cpu->kernels.query_block, softmax = oa_tiles_pairs(d, &a);
    assert_true(softmax == 6 * (double)N / 2 * (N + block));
    a.support = merged;
    double visible = 6 * oa_support_pairs(&merged, &a.shape, 0);
    assert_true(oa_pieces_wanted(&a));
    assert_true(oa_pieces_pairs(d, &a) >= visible && oa_pieces_pairs(d, &a) < softmax / 3);
    assert_true(oa_tiles_pairs(d, &a) == softmax);
    oa_device_close(d);
}

/* Child et al.: two heads reach every earlier token in two hops. */
static void two_hops_reach_everything(void **state)
{
    (void)state;
    enum { N = 50 };
    for (int fixed = 0; fixed < 2; fixed++) {
        struct oa_key_sets near = { .sets = fixed ? OA_KEYS_CELL : OA_KEYS_BAND,
                                    .stride = 7,
                                    .summary = 1 };
        struct oa_key_sets far = { .sets = fixed ? OA_KEYS_SUMMARY : OA_KEYS_STRIDED,
                                   .stride = 7,
                                   .summary = 1 };
        for (long i = 0; i < N; i++) {
            for (long j = 0; j <= i; j++) {
                bool reached = false;
                for (long m = j; m <= i && !reached; m++)
                    reached = (oa_keys_hold(&far, true, i, m) || (fixed && m == i)) &&
                              oa_keys_hold(&near, true, m, j);
                assert_true(reached);
            }
        }
    }
}

static void bigbird_draws_what_it_says(void **state)
{
    (void)state;
    struct oa_attention_case a;
    struct oa_setup setup = { .spec = "bigbird(block=2, random=2)",
                              .precision = OA_PRECISION_F64,
                              .queries = 40,
                              .length = 40 };
    enum { P = 20 };
    bool differ = false;
    assert_int_equal(oa_case_open(context, &setup, &a), OA_OK);
    const double *layout = oa_store_find(&a.single.store, "block.layout")->value;
    for (long h = 0; h < 2; h++) {
        for (long p = 0; p < P; p++) {
            long extra = 0;
            for (long q = 0; q < P; q++) {
                bool on = layout[(h * P + p) * P + q] > 0,
                     due = p == 0 || q == 0 || p == P - 1 || q == P - 1;
                due |= labs(p - q) <= 1;
                assert_true(on || !due);
                extra += on && !due;
                differ |= layout[p * P + q] != layout[(P + p) * P + q];
            }
            assert_int_equal(extra, p == 0 || p == P - 1 ? 0 : 2);
        }
    }
    assert_true(differ); /* from head to head */
    oa_case_close(&a);
}

/* ---- layout files
 * ---------------------------------------------------------------------------------------------- */

static char file[64];

static enum oa_error open_layout(const char *text, struct oa_attention_case *a)
{
    char spec[128];
    FILE *f = text ? fopen(file, "w") : NULL;
    if (f) {
        fputs(text, f);
        fclose(f);
    } else {
        remove(file);
    }
    snprintf(spec, sizeof spec, "block-sparse(block=3, layout=%s)", file);
    struct oa_setup setup = { .spec = spec, .precision = OA_PRECISION_F64 };
    return oa_case_open(context, &setup, a); /* 6 tokens of 7: 3 × 3 blocks */
}

static void assert_layout_refused(const char *text, const char *part)
{
    struct oa_attention_case a;
    const char *sentence;
    enum oa_error e = open_layout(text, &a);
    if (e == OA_OK)
        e = oa_case_run(&a);
    oa_case_close(&a);
    assert_int_not_equal(e, OA_OK);
    oa_last_error(context, &sentence);
    if (!strstr(sentence, part))
        fail_msg("\"%s\" is not in: %s", part, sentence);
    oa_clear_error(context);
}

static void layouts_are_read(void **state)
{
    (void)state;
    static const char one[] = "# for every head\n100 1\n1 1 0 0 # and a remark\n0111\n\n";
    static const double want[] = { 1, 0, 0, 1, 1, 0, 0, 1, 1 };
    struct oa_attention_case a;
    assert_int_equal(open_layout(one, &a), OA_OK);
    const double *layout = oa_store_find(&a.single.store, "block.layout")->value;
    for (int i = 0; i < 18; i++)
        assert_true(layout[i] == want[i % 9]);
    assert_int_equal(oa_case_run(&a), OA_OK);
    oa_case_close(&a);
    assert_int_equal(open_layout("111\n111\n111\n\n000\n010\n001\n", &a), OA_OK);
    layout = oa_store_find(&a.single.store, "block.layout")->value;
    assert_true(layout[8] == 1 && layout[9] == 0 && layout[13] == 1);
    oa_case_close(&a);
    assert_layout_refused("111\n1x1\n111\n", ":2: invalid character");
    assert_layout_refused("111\n11\n111\n", ":2: row too short");
    assert_layout_refused("111\n111\n", "too few rows in this head");
    assert_layout_refused("111\n111\n111\n\n111\n111\n111\n\n111\n", "too many heads");
    assert_layout_refused("", "too few heads");
    assert_layout_refused(NULL, "not found, and tensor");
}

static int open_context(void **state)
{
    (void)state;
    snprintf(file, sizeof file, "layout-%ld.txt", (long)getpid());
    context = oa_open(&(struct oa_settings){ .threads = 2 });
    return context ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    remove(file);
    oa_close(context);
    return 0;
}

/* ---- counting without computing ---- */

/* Pairs of pooled sets go by rows of blocks; here pair by pair, also where blocks are cut. */
static void pooled_pairs_one_by_one(void **state)
{
    (void)state;
    static const long blocks[] = { 1, 2, 3, 5, 7, 16, 64 };
    for (int k = 0; k < 7 * 3 * 2; k++) {
        long b = blocks[k / 6];
        bool causal = k % 2;
        for (long n = 1; n <= 70; n += 3) {
            struct oa_support s = k / 2 % 3 == 2 ? oa_support_pooled_local(b, n, b, causal)
                                                 : oa_support_pooled_sparse(b, n, k / 2 % 3);
            struct oa_attention_shape a = {
                .batch = 1, .queries = n, .keys = n, .heads = 1, .causal = causal
            };
            double pairs = 0;
            for (long i = 0; i < n; i++)
                for (long j = 0; j < (causal ? i + 1 : n); j++)
                    pairs += oa_support_visible(&s, &a, 0, i, j);
            if (oa_support_pairs(&s, &a, 0) != pairs)
                fail_msg("block %ld, n %ld, causal %d: %.0f pairs, one by one %.0f", b, n,
                         (int)causal, oa_support_pairs(&s, &a, 0), pairs);
        }
    }
}

/* Causal tiles of 64 queries: Σ_k 64·64(k + 1). Looked at one by one up to 512 blocks, from there
 * by a sample. */
static void tiles_of_long_sequences(void **state)
{
    (void)state;
    struct oa_device *d;
    assert_int_equal(oa_device_open(context, OA_PRECISION_F32, true, &d), OA_OK);
    for (long blocks = 256; blocks <= 16384; blocks *= 4) {
        long n = 64 * blocks;
        struct oa_logits a = {
            .shape = { .batch = 2, .queries = n, .keys = n, .heads = 3, .causal = true }, .parts = 1
        };
        double want = 6 * 4096.0 * (double)blocks * (double)(blocks + 1) / 2;
        double off = oa_tiles_pairs(d, &a) / want - 1;
        if (!(blocks < 512 ? off == 0 : off > -0.005 && off < 0.005))
            fail_msg("%ld tokens: pairs of tiles are off by %g", n, off);
    }
    oa_device_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_counts),
        cmocka_unit_test(rectangles_are_exact),
        cmocka_unit_test(kept_rows_see_the_same),
        cmocka_unit_test(pieces_are_a_partition),
        cmocka_unit_test(tiles_are_counted),
        cmocka_unit_test(two_hops_reach_everything),
        cmocka_unit_test(bigbird_draws_what_it_says),
        cmocka_unit_test(layouts_are_read),
        cmocka_unit_test(pooled_pairs_one_by_one),
        cmocka_unit_test(tiles_of_long_sequences),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
